"""Finds the demand table by its words, not its position: hour column, header rows, data rows and what each column is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from optimizer.workbook.book import Cell, CellValue
from optimizer.workbook.demand_grid import Grid
from optimizer.workbook.demand_hours import looks_like_hour, parse_text
from optimizer.workbook.demand_units import UnitFound, find_unit, parse_unit
from optimizer.workbook.demand_words import (
    CACHED_WORDS,
    DEMAND_WORDS,
    INPUT_WORDS,
    OUTPUT_WORDS,
    clean,
    is_footer,
    is_hour_header,
    text_of,
    words,
)

Role = Literal[
    "hour", "date", "day_type", "workload", "unit", "output", "input", "mixed", "cached", "tokens_per_request", "other"
]

HEADER_LEVELS_MAX = 4
HOURS_MIN = 2
HOURS_IN_ORDER = 24

_TOKENS_PER_REQUEST = re.compile(r"\btok(?:en)?s?\s*(?:per|/)\s*(?:request|req|query|call)s?\b")
_ROLE_WORDS = re.compile(
    r"\b(output|out|generated|generation|completions?|decoded?|response|input|in|prompts?|prefill|context|demand|tokens?|toks?|"
    r"forecast|load|traffic|throughput|rate|mean|avg|average|hourly|requests?|volume|of)\b"
)


@dataclass(frozen=True)
class Column:
    """One column of a table. header: its joined header as written; words: the same without the unit; label: what is left of that
    when words such as `output` are gone (a workload, a scenario). header_at: (row, column) of its lowest header cell.
    unit_at: cell that states the unit, where it is not the header.
    """

    column: int
    role: Role
    header: str
    words: str
    label: str
    header_at: tuple[int, int]
    unit: UnitFound
    unit_cell: UnitFound | None = None
    unit_at: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """A table with hours down. rows: rows from the first to the last hour, footers and rows that cannot be read included."""

    grid: Grid
    top: int
    hour: Column
    columns: tuple[Column, ...]
    rows: tuple[int, ...]
    tail: tuple[int, ...] = ()
    by_words: bool = True
    has_totals_row: bool = False
    repeated_headers: tuple[int, ...] = field(default=())

    def of(self, *roles: Role) -> list[Column]:
        """The columns of those roles, left to right."""
        return [column for column in self.columns if column.role in roles]

    @property
    def is_demand(self) -> bool:
        """True where some column may be demand."""
        return bool(self.of("output", "mixed")) or bool(self.of("workload") and self.of("input"))

    @property
    def first_column(self) -> int:
        """The leftmost column of the header."""
        return min(column.column for column in (self.hour, *self.columns))

    @property
    def place(self) -> str:
        """The range of the table, header included."""
        last = max(column.column for column in (self.hour, *self.columns))
        return self.grid.span((self.top, self.first_column), (self.rows[-1], last))


def find_tables(grid: Grid, workloads: Sequence[str] = ()) -> list[Table]:
    """Every table of hours in the grid, upright ones first; where there is none, tables that lie on their side."""
    known = tuple(words(name) for name in workloads)
    for view in (grid, grid.turned()):
        tables = _by_header(view, known)
        if any(table.is_demand for table in tables):
            return tables
    for view in (grid.turned(), grid):
        tables = _by_values(view, known)
        if tables:
            return tables
    return _by_header(grid, known)


def _by_header(grid: Grid, known: tuple[str, ...]) -> list[Table]:
    """Tables whose hour column has a header such as `Hour` or `Timestamp`."""
    tables: list[Table] = []
    taken: set[tuple[int, int]] = set()
    for (row, column), cell in sorted(grid.cells.items()):
        if (row, column) in taken or not is_hour_header(text_of(cell.value)):
            continue
        if not _hours_below(grid, row, column):
            continue
        table = _build(grid, row, column, known)
        if table is None:
            continue
        taken.update((other, column) for other in (*table.rows, *table.repeated_headers))
        rivals = [other for other in tables if other.top == table.top]
        if rivals and not _separate(rivals[-1], table):
            better = _better(rivals[-1], table)
            tables[tables.index(rivals[-1])] = better
        else:
            tables.append(table)
    return _split_side_by_side(tables, known)


def _hours_below(grid: Grid, row: int, column: int) -> bool:
    below = [other for other in grid.columns[column] if other > row][:40]
    return sum(looks_like_hour(grid.cell(other, column)) for other in below) >= HOURS_MIN


def _separate(left: Table, right: Table) -> bool:
    """Two hour columns under one header row are two tables only where a demand column stands between them."""
    return any(left.hour.column < column.column < right.hour.column for column in left.of("output", "mixed"))


def _better(left: Table, right: Table) -> Table:
    """Of two hour columns of one table, the one that says local or beginning; a date column joins the other one's times."""

    def rank(table: Table) -> tuple[bool, bool, int]:
        said = words(table.hour.header)
        return (table.hour.role == "date", bool(re.search(r"\b(utc|gmt|ending|end|until|to)\b", said)), table.hour.column)

    winner, loser = sorted((left, right), key=rank)
    columns = tuple(
        Column(**{**column.__dict__, "role": "date" if loser.hour.role == "date" else "other"})
        if column.column == loser.hour.column
        else column
        for column in winner.columns
    )
    return Table(**{**winner.__dict__, "columns": columns})


def _split_side_by_side(tables: list[Table], known: tuple[str, ...]) -> list[Table]:
    """Give each of several tables under one header row only the columns up to the next one's hours."""
    result = []
    for table in tables:
        limit = min(
            (other.hour.column for other in tables if other.top == table.top and other.hour.column > table.hour.column),
            default=None,
        )
        start = (
            table.hour.column if any(other.top == table.top and other.hour.column < table.hour.column for other in tables) else 0
        )
        columns = tuple(column for column in table.columns if start <= column.column and (limit is None or column.column < limit))
        result.append(Table(**{**table.__dict__, "columns": columns}))
    return result


def _by_values(grid: Grid, known: tuple[str, ...]) -> list[Table]:
    """Tables without an hour header: a column that holds 24 hours in order, as times, text or plain numbers."""
    tables = []
    for column, rows in grid.columns.items():
        run: list[int] = []
        for row in rows:
            if looks_like_hour(grid.cell(row, column)):
                run.append(row)
            elif len(run) < HOURS_IN_ORDER:
                run = []
            else:
                break
        if len(run) < HOURS_IN_ORDER or not _in_order([grid.cell(row, column) for row in run[:HOURS_IN_ORDER]]):
            continue
        table = _build(grid, run[0] - 1, column, known, first=run[0])
        if table is not None and (table.of("output", "mixed", "other")):
            tables.append(table)
    starts = {table.top: table for table in reversed(tables)}
    return [table for table in tables if starts[table.top] is table]


def _in_order(cells: list[Cell]) -> bool:
    from optimizer.workbook.demand_hours import read_hours

    stamps = read_hours(cells, "").stamps
    hours = [stamp.second / 3600 if stamp is not None else -1 for stamp in stamps]
    return hours == [float(hour) for hour in range(HOURS_IN_ORDER)]


def _build(grid: Grid, header_row: int, hour_column: int, known: tuple[str, ...], first: int | None = None) -> Table | None:
    """The table whose hour column has its header at that place. first: the first row of hours, where it is known."""
    area = grid.merges.get((header_row, hour_column))
    bottom = area[2] if area else header_row
    rows_below = [row for row in grid.columns[hour_column] if row > bottom]
    header_text = words(str(grid.value(header_row, hour_column) or "")) if first is None else ""
    first = first or next((row for row in rows_below if looks_like_hour(grid.cell(row, hour_column))), None)
    if first is None:
        return None
    extent = _last_row(grid, hour_column, first, header_text)
    hours = [row for row in grid.columns[hour_column] if first <= row <= extent and looks_like_hour(grid.cell(row, hour_column))]
    if not hours:
        return None
    last_hour = hours[-1]
    used = sorted(
        {
            column
            for row in (*range(max(1, header_row), first), *hours[:HOURS_IN_ORDER], hours[-1])
            for column in grid.rows.get(row, [])
        }
        | {
            column
            for column in grid.columns
            if (header_row, column) in grid.merges
            and grid.merges[header_row, column][0] <= header_row
            and any(first <= row <= last_hour for row in grid.columns[column])
        }
    )
    levels, unit_row, top = _header_rows(grid, header_row, hour_column, first, used)
    rows = tuple(row for row in sorted(grid.rows) if first <= row <= last_hour)
    tail = tuple(row for row in sorted(grid.rows) if last_hour < row <= extent)
    repeated = tuple(row for row in rows if header_text and text_of(grid.value(row, hour_column)) == header_text)
    columns = []
    for column in used:
        if column != hour_column:
            columns.append(_column(grid, column, levels, unit_row, header_row, rows, known))
    hour = _column(grid, hour_column, levels, None, header_row, rows, known, is_hour=True)
    dates = [cell.value for cell in (grid.cell(row, hour_column) for row in hours[:HOURS_IN_ORDER])]
    if len(hours) > 1 and all(_is_date(value) for value in dates):
        hour = Column(**{**hour.__dict__, "role": "date"})
    return Table(
        grid,
        top,
        hour,
        tuple(columns),
        tuple(row for row in rows if row not in repeated),
        tail,
        by_words=bool(header_text),
        repeated_headers=repeated,
    )


def _is_date(value: CellValue) -> bool:
    """True for a date without a time of day, as a date or as text."""
    if isinstance(value, str):
        stamp = parse_text(value)
        return stamp is not None and stamp.second == 0 and (stamp.day or stamp.days_either) is not None and ":" not in value
    return getattr(value, "hour", None) in (0, None) and hasattr(value, "year")


def _last_row(grid: Grid, hour_column: int, first: int, header_text: str) -> int:
    """The last row that can belong to the table: before the next header of another table in the same column."""
    last = max(grid.rows)
    for row in grid.columns[hour_column]:
        if row <= first:
            continue
        text = text_of(grid.value(row, hour_column))
        if (
            text
            and text != header_text
            and is_hour_header(text)
            and not is_footer(text)
            and not looks_like_hour(grid.cell(row, hour_column))
            and _hours_below(grid, row, hour_column)
        ):
            return row - 1
    return last


def _header_rows(grid: Grid, header_row: int, hour_column: int, first: int, used: list[int]) -> tuple[list[int], int | None, int]:
    """Rows that make up the header, the unit row if there is one, and the top row."""
    others = [column for column in used if column != hour_column]
    levels: list[int] = []
    unit_row = None
    for row in range(max(1, header_row), first):
        texts = [text_of(grid.filled(row, column).value) for column in others]
        texts = [text for text in texts if text]
        hour_text = text_of(grid.value(row, hour_column))
        if not texts and row != header_row:
            continue
        units = [text for text in texts if parse_unit(text) is not None]
        if units and ((len(units) == len(texts) and row != header_row) or hour_text in ("unit", "units")):
            unit_row = row
        else:
            levels.append(row)
    top = min([*levels, first])
    row = top - 1
    while row >= 1 and len(levels) < HEADER_LEVELS_MAX:
        area = grid.merges.get((row, hour_column))
        covers_hours = area is not None and area[3] > hour_column
        hour_text = text_of(grid.value(row, hour_column))
        texts = [text_of(grid.filled(row, column).value) for column in others]
        over = [column for column in others if grid.value(row, column) is not None]
        if (
            covers_hours
            or not any(texts)
            or any(not isinstance(grid.value(row, column), str) for column in over)
            or (hour_text and not grid.transposed)
            or _is_setting(texts)
        ):
            break
        units = [text for text in texts if text and parse_unit(text) is not None]
        if unit_row is None and units and len(units) == len([text for text in texts if text]) and grid.transposed:
            unit_row = row
        else:
            levels.insert(0, row)
        top = row
        row -= 1
    return levels, unit_row, top


def _is_setting(texts: list[str]) -> bool:
    """A row above the header such as `Unit | tok/s` or `Owner | FP&A` is no level of the header."""
    filled = [text for text in texts if text]
    return any(
        re.match(r"(unit|units|owner|source|date|version|time zone|timezone|scenario)\s*:?(\s|$)", text) for text in filled
    )


def _column(
    grid: Grid,
    column: int,
    levels: list[int],
    unit_row: int | None,
    header_row: int,
    rows: tuple[int, ...],
    known: tuple[str, ...],
    is_hour: bool = False,
) -> Column:
    parts: list[str] = []
    at = (header_row, column)
    for row in levels:
        value = grid.filled(row, column).value
        if value is None:
            continue
        text = clean(str(value))
        if grid.cell(row, column).value is not None:
            at = (row, column)
        if text and (not parts or parts[-1] != text):
            parts.append(text)
    header = " / ".join(parts)
    area = grid.merges.get(at)
    if area:
        at = (area[0], area[1])
    unit_cell = None
    unit_at = None
    if unit_row is not None and isinstance(grid.value(unit_row, column), str):
        unit_cell = find_unit(str(grid.value(unit_row, column)))
        unit_at = (unit_row, column)
    said = words(header)
    prefix = next(
        (name for name in sorted(known, key=len, reverse=True) if re.match(rf"{re.escape(name)}(?![a-z0-9])", said)), ""
    )
    unit = find_unit(said[len(prefix) :] if prefix else header)
    if prefix:
        unit = UnitFound(unit.unit, f"{prefix} {unit.rest}".strip(), unit.ratio, unit.unclear)
    rest = unit.rest
    label = prefix or " ".join(_ROLE_WORDS.sub(" ", re.sub(r"[()\[\]:,/–—|]+|\s-\s", " ", rest)).split()).strip(" -")
    role: Role = "hour" if is_hour else _role(said, rest[len(prefix) :], unit, unit_cell, label, known, grid, column, rows)
    return Column(column, role, header, rest, label, at, unit, unit_cell, unit_at)


def _role(
    said: str,
    rest: str,
    unit: UnitFound,
    unit_cell: UnitFound | None,
    label: str,
    known: tuple[str, ...],
    grid: Grid,
    column: int,
    rows: tuple[int, ...],
) -> Role:
    if said in ("workload", "workloads", "workload name", "workload id"):
        return "workload"
    if said in ("day type", "daytype", "type of day", "day types"):
        return "day_type"
    if said in ("unit", "units", "uom", "einheit", "unite", "unidad"):
        return "unit"
    if _TOKENS_PER_REQUEST.search(said) and not INPUT_WORDS.search(said):
        return "tokens_per_request"
    if unit.ratio:
        return "other"
    stated = unit.unit or (unit_cell.unit if unit_cell else None)
    if CACHED_WORDS.search(said):
        return "cached"
    is_input = bool(INPUT_WORDS.search(rest))
    is_output = bool(OUTPUT_WORDS.search(rest))
    if (
        stated is not None
        and stated.kind == "share"
        and not ("peak" in said or "max" in said or not rest.strip() or DEMAND_WORDS.search(rest))
    ):
        return "other"
    if stated is None and not unit.unclear and not DEMAND_WORDS.search(said) and not (label and label in known) and not is_input:
        return "other"
    if stated is None and not unit.unclear and not _mostly_numbers(grid, column, rows):
        return "other"
    if is_input and is_output:
        return "mixed"
    return "input" if is_input else "output"


def _mostly_numbers(grid: Grid, column: int, rows: tuple[int, ...]) -> bool:
    filled = [grid.cell(row, column) for row in rows if (row, column) in grid.cells]
    good = [
        cell
        for cell in filled
        if not isinstance(cell.value, str) or re.search(r"\d", clean(cell.value)) or cell.formula or cell.error
    ]
    return 2 * len(good) >= len(filled) if filled else _awaits_numbers(grid, column, rows)


def _awaits_numbers(grid: Grid, column: int, rows: tuple[int, ...]) -> bool:
    """True for a first column beside the hours in a table that nobody has filled in."""
    first = min(column for row in rows for column in grid.rows.get(row, []))
    return column == first + 1 and not any((row, other) in grid.cells for row in rows for other in grid.columns if other > first)


def is_numeric_column(table: Table, column: Column) -> bool:
    """True where the column mostly holds numbers in the rows of the table."""
    return _mostly_numbers(table.grid, column.column, table.rows)
