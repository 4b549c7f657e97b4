"""Table rows with their cells understood: values by column key, and the address of each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from optimizer.domain.base import Origin
from optimizer.errors import ProblemList
from optimizer.workbook.book import address
from optimizer.workbook.columns import Table
from optimizer.workbook.tables import RawRow, RawTable
from optimizer.workbook.values import BadCell, Reading, Value, is_blank, is_scaled, parse_cell


@dataclass(frozen=True)
class TableRow:
    """One row. values: by column key, defaults filled in. bad: columns that were refused. stated: columns that were filled in."""

    table: Table
    file: str
    number: int
    columns: Mapping[str, int]
    values: Mapping[str, Value]
    bad: frozenset[str] = frozenset()
    stated: frozenset[str] = frozenset()
    catalog: bool = False

    def __getitem__(self, key: str) -> Any:
        """The value of a column; None where it was refused."""
        return self.values.get(key)

    def place(self, key: str) -> dict[str, str | None]:
        """file, sheet and cell of a column, as keywords of a problem; no cell for a row that was assumed."""
        return _place(self.table, self.file, self.number, self.columns, key)

    @property
    def origin(self) -> Origin:
        """Where the row was read; empty for a row that was assumed."""
        return Origin(file=self.file, sheet=self.table.sheet, row=self.number) if self.columns else Origin()


@dataclass(frozen=True)
class TableRows:
    """All rows of one input table. present: a sheet or catalog of it was read. usable: its structure was understood."""

    table: Table
    rows: tuple[TableRow, ...] = ()
    present: bool = False
    usable: bool = True
    from_workbook: bool = False

    def ids(self, key: str) -> dict[str, TableRow]:
        """Rows by the value of one column, first row first; rows whose value was refused are left out."""
        found: dict[str, TableRow] = {}
        for row in self.rows:
            if row[key] is not None:
                found.setdefault(row[key], row)
        return found


@dataclass
class _Hints:
    """Warnings that are given once per table."""

    text_numbers: str = ""
    scaled: dict[str, str] = field(default_factory=dict)


def parse_rows(raw: RawTable, reading: Reading, problems: ProblemList) -> TableRows:
    """Every row of a raw table, with a problem for each cell that cannot be read."""
    hints = _Hints()
    rows = tuple(_parse_row(raw, row, reading, hints, problems) for row in raw.rows) if raw.usable else ()
    place = {"file": raw.file, "sheet": raw.table.sheet}
    if hints.text_numbers:
        problems.warn("TEXT_NUMBERS", "Numbers are stored as text, and were read as numbers.",
                      "Format the cells as numbers.", cell=hints.text_numbers, **place)
    for key, cell in hints.scaled.items():
        problems.warn("SCALED_FORMAT",
                      f"The number format of {key} shows its values divided by 1000 or more; the stored value counts.",
                      "Compare the stored value with what you mean.", cell=cell, **place)
    return TableRows(raw.table, rows, present=True, usable=raw.usable, from_workbook=not raw.catalog)


def _parse_row(raw: RawTable, row: RawRow, reading: Reading, hints: _Hints, problems: ProblemList) -> TableRow:
    values: dict[str, Value] = {}
    bad: set[str] = set()
    stated: set[str] = set()
    for column in raw.table.columns:
        cell = row.cells.get(column.key)
        if cell is not None and not is_blank(cell):
            stated.add(column.key)
        where = _place(raw.table, raw.file, row.number, raw.columns, column.key)
        try:
            values[column.key] = parse_cell(column, cell, reading)
        except BadCell as error:
            bad.add(column.key)
            problems.error(error.code, error.message, error.fix, **where)
            continue
        if cell is not None and isinstance(values[column.key], (int, float)) and not isinstance(values[column.key], bool):
            if isinstance(cell.value, str) and not is_blank(cell) and not raw.catalog and not hints.text_numbers:
                hints.text_numbers = where["cell"] or ""
            if is_scaled(cell):
                hints.scaled.setdefault(column.key, where["cell"] or "")
    return TableRow(raw.table, raw.file, row.number, raw.columns, values, frozenset(bad), frozenset(stated), raw.catalog)


def _place(table: Table, file: str, number: int, columns: Mapping[str, int], key: str) -> dict[str, str | None]:
    if not columns:
        return {"file": file, "sheet": None, "cell": None}
    return {"file": file, "sheet": table.sheet, "cell": address(number, columns.get(key) or min(columns.values()))}


def refuse_duplicates(rows: Iterable[TableRow], key: Callable[[TableRow], Hashable], words: str, problems: ProblemList) -> None:
    """DUPLICATE_KEY for every row whose key an earlier row has; both rows are named."""
    first: dict[Hashable, TableRow] = {}
    for row in rows:
        if row.bad & set(row.table.key_columns):
            continue
        earlier = first.setdefault(key(row), row)
        if earlier is not row:
            column = row.table.key_columns[0]
            other = earlier.place(column)["cell"]
            where = f"{other}" if earlier.file == row.file else f"{other} of {earlier.file}"
            problems.error("DUPLICATE_KEY", f"This row repeats the {words} of {where} ({row[column]}).",
                           "Keep one of the two rows.", **row.place(column))
