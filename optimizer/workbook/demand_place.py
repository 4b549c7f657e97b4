"""Where in a book the demand stands: the sheet, the range or the table, by the options or by its words; one candidate or a
refusal with the names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from optimizer.errors import ProblemList
from optimizer.units import HOURS_PER_DAY
from optimizer.workbook.book import Book, Sheet, address
from optimizer.workbook.demand_find import Table, find_tables
from optimizer.workbook.demand_grid import Grid, grid_of
from optimizer.workbook.demand_hours import looks_like_hour
from optimizer.workbook.demand_words import words
from optimizer.workbook.reader_options import ReaderOptions
from optimizer.workbook.schema import DEMAND, table_of

Area = tuple[int, int, int, int]

#: Sheets of the interface that never hold demand, and the template's worked example.
_OTHER_SHEETS = frozenset(
    (
        "workloads",
        "pools",
        "contingencies",
        "policy",
        "daytypes",
        "day types",
        "nodetypes",
        "node types",
        "models",
        "goodput",
        "offers",
        "existing",
        "discounts",
        "apiprices",
        "api prices",
        "sites",
        "instructions",
        "example",
    )
)
_ROWS_MAX, _COLUMNS_MAX = 1_048_576, 16_384
_REFERENCE = re.compile(r"\$?([A-Za-z]{1,3})?\$?(\d{1,7})?(?::\$?([A-Za-z]{1,3})?\$?(\d{1,7})?)?$")


@dataclass(frozen=True)
class BareRange:
    """24 numbers without a header: cells in order of the hours. name: how the range was named."""

    grid: Grid
    cells: tuple[tuple[int, int], ...]
    name: str


@dataclass(frozen=True)
class Place:
    """Either a table or a bare range. explicit: the person named it, or the sheet is called Demand."""

    sheet: Sheet
    table: Table | None
    bare: BareRange | None
    explicit: bool


def find_place(book: Book, options: ReaderOptions, workloads: Sequence[str], problems: ProblemList) -> Place | None:
    """The one place where the demand stands; None with an error in `problems` where there is none or more than one."""
    if options.range:
        return _by_range(book, options, workloads, problems)
    sheets = [sheet for sheet in book.sheets if sheet.visible]
    explicit = False
    if options.sheet:
        chosen = book.sheet(options.sheet)
        if chosen is None:
            problems.error(
                "SHEET_NOT_FOUND",
                f"has no sheet {options.sheet!r}; it has {_names(book.sheets)}.",
                "Say --sheet with one of these.",
                file=book.file,
            )
            return None
        sheets, explicit = [chosen], True
    else:
        for sheet in book.sheets:
            # A hidden input table is reported where tables are read.
            if not sheet.visible and sheet.cells and table_of(sheet.name) in (None, DEMAND):
                problems.warn(
                    "HIDDEN_SHEET_IGNORED",
                    "is hidden and was not read.",
                    "Say --sheet to read it.",
                    file=book.file,
                    sheet=sheet.name,
                )
        named = book.sheet("Demand")
        if named is not None and named.visible:
            sheets, explicit = [named], True
        elif book.kind == "text":
            explicit = True
        else:
            sheets = [sheet for sheet in sheets if words(sheet.name) not in _OTHER_SHEETS]
    found: list[tuple[Sheet, Table]] = []
    for sheet in sheets:
        found += [(sheet, table) for table in _tables_on(sheet, workloads, explicit)]
    if len(found) == 1:
        return Place(found[0][0], found[0][1], None, explicit)
    if not found:
        return _by_defined_name(book, sheets, options, problems)
    if len({sheet.name for sheet, _ in found}) > 1:
        names = ", ".join(dict.fromkeys(repr(sheet.name) for sheet, _ in found))
        problems.error(
            "SEVERAL_SHEETS",
            f"has a demand table on each of the sheets {names}.",
            f"Say which: --sheet {_quoted(found[0][0].name)}.",
            file=book.file,
        )
        return None
    places = [table.place for _, table in found]
    problems.error(
        "SEVERAL_TABLES",
        f"holds {len(found)} demand tables ({', '.join(places)}).",
        f"Say which: --range {_quoted(places[0])}.",
        file=book.file,
        sheet=found[0][0].name,
        cell=places[1],
    )
    return None


def _tables_on(sheet: Sheet, workloads: Sequence[str], explicit: bool) -> list[Table]:
    """Demand tables of a sheet; a ListObject whose name says demand is preferred."""
    named = [area for name, area in sheet.tables.items() if "demand" in name.casefold()]
    for area in named if len(named) == 1 else []:
        tables = list(find_tables(grid_of(sheet, area), workloads))
        if tables:
            return tables[:1]
    tables = find_tables(grid_of(sheet), workloads)
    demand = [table for table in tables if table.is_demand]
    if demand:
        return demand
    return [table for table in tables if table.columns][:1] if explicit else []


def _by_range(book: Book, options: ReaderOptions, workloads: Sequence[str], problems: ProblemList) -> Place | None:
    resolved = _resolve(book, options)
    if resolved is None:
        known = [*book.defined_names, *(name for sheet in book.sheets for name in sheet.tables)]
        names = f"; named ranges and tables: {', '.join(known[:10])}" if known else ""
        problems.error(
            "RANGE_NOT_FOUND",
            f"has no range {options.range!r}{names}.",
            "Say --range as 'Sheet!A1:B25', or a name from the workbook.",
            file=book.file,
        )
        return None
    sheet, area = resolved
    top, left, bottom, right = area
    inside = grid_of(sheet, area)
    if not inside.cells:
        problems.error(
            "RANGE_EMPTY",
            "is empty.",
            "Say --range with the cells that hold the demand.",
            file=book.file,
            sheet=sheet.name,
            cell=f"{address(top, left)}:{address(bottom, right)}",
        )
        return None
    name = str(options.range)
    bare = _bare(inside, name)
    if bare is not None:
        return _table_around(sheet, area, bare, workloads) or Place(sheet, None, bare, True)
    grid = grid_of(sheet, area)
    tables = find_tables(grid, workloads)
    if not any(table.by_words for table in tables):
        # The header may stand just above the range.
        tables = find_tables(grid_of(sheet, (max(1, top - 3), left, bottom, right)), workloads) or tables
    demand = [table for table in tables if table.is_demand] or [table for table in tables if table.columns]
    if len(demand) == 1:
        return Place(sheet, demand[0], None, True)
    if not demand:
        _no_table(book, [sheet], problems, area)
        return None
    places = [table.place for table in demand]
    problems.error(
        "SEVERAL_TABLES",
        f"holds {len(demand)} demand tables ({', '.join(places)}).",
        f"Say which: --range {_quoted(places[0])}.",
        file=book.file,
        sheet=sheet.name,
        cell=places[1],
    )
    return None


def _table_around(sheet: Sheet, area: Area, bare: BareRange, workloads: Sequence[str]) -> Place | None:
    """The table whose hours stand beside a range of 24 numbers; hours written there decide the order, never the position."""
    top, left, bottom, right = area
    for table in find_tables(grid_of(sheet), workloads):
        turned = table.grid.transposed
        lane = left if not turned else top
        first, last = (top, bottom) if not turned else (left, right)
        rows = tuple(row for row in table.rows if first <= row <= last)
        columns = tuple(
            column for column in table.columns if column.column == lane or column.role in ("day_type", "workload", "unit", "date")
        )
        if len(rows) >= HOURS_PER_DAY and any(column.column == lane for column in columns) and (left == right or top == bottom):
            wanted = tuple(
                column if column.column != lane or column.role in ("output", "mixed") else _as_output(column)
                for column in columns
            )
            return Place(sheet, Table(**{**table.__dict__, "columns": wanted, "rows": rows, "tail": ()}), None, True)
    return None


def _as_output(column: object) -> object:
    from optimizer.workbook.demand_find import Column

    return Column(**{**column.__dict__, "role": "output"})


def _bare(grid: Grid, name: str) -> BareRange | None:
    """The range as 24 numbers, if it is one row or one column of exactly 24 filled cells and nothing in it reads as a header."""
    for view in (grid, grid.turned()):
        if len(view.columns) == 1 and len(view.cells) == HOURS_PER_DAY:
            keys = tuple(sorted(view.cells))
            if all(not isinstance(view.cells[key].value, str) or re.search(r"\d", str(view.cells[key].value)) for key in keys):
                return BareRange(view, keys, name)
    return None


def _by_defined_name(book: Book, sheets: list[Sheet], options: ReaderOptions, problems: ProblemList) -> Place | None:
    """Where no table is found by its words: a defined name that says demand and points at 24 numbers."""
    found = []
    for name in book.defined_names:
        if not re.search(r"demand|forecast|profile|load", name, re.IGNORECASE):
            continue
        resolved = _resolve(book, ReaderOptions(range=name))
        if resolved is not None and resolved[0].visible:
            bare = _bare(grid_of(*resolved), name)
            if bare is not None:
                found.append((resolved[0], bare))
    if len(found) == 1:
        sheet, bare = found[0]
        return Place(sheet, None, bare, False)
    if found:
        problems.error(
            "SEVERAL_TABLES",
            f"has several named ranges of 24 numbers ({', '.join(bare.name for _, bare in found)}).",
            f"Say which: --range {found[0][1].name} --unit tok/s.",
            file=book.file,
        )
        return None
    _no_table(book, sheets, problems, None)
    return None


def _no_table(book: Book, sheets: list[Sheet], problems: ProblemList, area: Area | None) -> None:
    hidden = [
        sheet.name for sheet in book.sheets if not sheet.visible and any(table.is_demand for table in find_tables(grid_of(sheet)))
    ]
    fix = "Put `Hour` and `Output tok/s` as headers over 24 rows, or point at the numbers with --range and --unit."
    if hidden:
        fix = f"A hidden sheet has one: --sheet {_quoted(hidden[0])}. Otherwise: " + fix
    where = ", ".join(sheet.name for sheet in sheets[:5]) or "any visible sheet"
    lonely = _lonely_numbers(sheets) if area is None else ""
    if lonely:
        fix = f"Write the hours beside {lonely}, or, if these are 0 to 23 in order, say --range {_quoted(lonely)} --unit tok/s."
    problems.error(
        "NO_DEMAND_TABLE",
        f"has no table with hours and a demand column on {where}.",
        fix,
        file=book.file,
        sheet=sheets[0].name if len(sheets) == 1 else None,
        cell=f"{address(area[0], area[1])}:{address(area[2], area[3])}" if area else None,
    )


def _lonely_numbers(sheets: list[Sheet]) -> str:
    """A column of exactly 24 numbers in a row without hours: what the person most likely meant."""
    for sheet in sheets:
        grid = grid_of(sheet)
        for column, rows in grid.columns.items():
            numbers = [row for row in rows if isinstance(grid.value(row, column), int | float)]
            if len(numbers) == HOURS_PER_DAY and numbers[-1] - numbers[0] == HOURS_PER_DAY - 1:
                return f"{sheet.name}!{address(numbers[0], column)}:{address(numbers[-1], column)}"
    return ""


def _resolve(book: Book, options: ReaderOptions) -> tuple[Sheet, Area] | None:
    """The sheet and area that --range names: a defined name, a table, or an address."""
    text = str(options.range).strip()
    for name, reference in book.defined_names.items():
        if name.casefold() == text.casefold():
            return _reference(book, reference, None)
    for sheet in book.sheets:
        for name, area in sheet.tables.items():
            if name.casefold() == text.casefold():
                return sheet, area
    default = book.sheet(options.sheet) if options.sheet else book.sheet("Demand")
    if default is None:
        visible = [sheet for sheet in book.sheets if sheet.visible]
        default = visible[0] if len(visible) == 1 else None
    return _reference(book, text, default)


def _reference(book: Book, text: str, default: Sheet | None) -> tuple[Sheet, Area] | None:
    sheet_name, mark, cells = text.rpartition("!")
    sheet = book.sheet(sheet_name.strip().strip("'").replace("''", "'")) if mark else default
    match = _REFERENCE.match(cells.strip())
    if sheet is None or match is None or not cells.strip():
        return None
    left = _column_number(match[1]) if match[1] else 1
    top = int(match[2]) if match[2] else 1
    if ":" in cells:
        right = _column_number(match[3]) if match[3] else _COLUMNS_MAX
        bottom = int(match[4]) if match[4] else _ROWS_MAX
    else:
        if not (match[1] and match[2]):
            return None
        right, bottom = left, top
    area = (min(top, bottom), min(left, right), max(top, bottom), max(left, right))
    return (sheet, area) if area[0] >= 1 and area[2] <= _ROWS_MAX and area[3] <= _COLUMNS_MAX else None


def _column_number(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def _quoted(text: str) -> str:
    return f"'{text}'" if re.search(r"[^\w:.\-]", text) else text


def _names(sheets: Sequence[Sheet]) -> str:
    return ", ".join(sheet.name for sheet in sheets[:10]) or "none"


def hours_beside(bare: BareRange) -> bool:
    """True where a cell before the first of the bare numbers reads as an hour."""
    row, column = bare.cells[0]
    grid = grid_of(bare.grid.sheet)
    grid = grid.turned() if bare.grid.transposed else grid
    return any(
        looks_like_hour(grid.cell(row, other)) and isinstance(grid.value(row, other), str)
        for other in range(max(1, column - 3), column)
    )
