"""A workbook as sparse cells that know their address: what every reader of sheets works on, whatever library opened the file."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field

from optimizer.errors import Problem

CellValue = str | int | float | bool | datetime.datetime | datetime.date | datetime.time | datetime.timedelta | None


def column_letters(column: int) -> str:
    """Spreadsheet letters of a 1-based column number.

    >>> column_letters(1), column_letters(28)
    ('A', 'AB')
    """
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def address(row: int, column: int) -> str:
    """A1-style address of a 1-based row and column.

    >>> address(2, 2)
    'B2'
    """
    return f"{column_letters(column)}{row}"


@dataclass(frozen=True)
class Cell:
    """One non-empty cell. value: the cached value (None = a formula that was never computed). formula: its text, "" where
    there is none.

    number_format: Excel format code, "" unknown. error: the error text (#N/A) where the cell holds one.
    """

    value: CellValue
    formula: str = ""
    number_format: str = ""
    error: str = ""


@dataclass
class Sheet:
    """One sheet: cells by (row, column), both 1-based; only non-empty cells are present.

    hidden_rows, hidden_columns: 1-based. merges: (first row, first column, last row, last column). tables: ListObject name ->
    (first row, first column, last row, last column), header row included. visible: False for hidden and very hidden sheets.
    """

    name: str
    cells: dict[tuple[int, int], Cell] = field(default_factory=dict)
    visible: bool = True
    hidden_rows: frozenset[int] = frozenset()
    hidden_columns: frozenset[int] = frozenset()
    merges: tuple[tuple[int, int, int, int], ...] = ()
    tables: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    tables_with_totals: frozenset[str] = frozenset()

    def value(self, row: int, column: int) -> CellValue:
        """The value at that address; None where the cell is empty."""
        cell = self.cells.get((row, column))
        return None if cell is None else cell.value


@dataclass
class Book:
    """An opened file. file: the path as the user gave it. limited: True where formulas, hidden rows and formats were not
    seen.

    defined_names: name -> reference text such as `Model!$D$8:$D$31`. sha256: of the file's bytes. kind: what the bytes are
    (xlsx, xlsb, ods, xls, text). dates_1904: the old Mac date system. warnings: what opening it found.
    """

    file: str
    sha256: str
    sheets: list[Sheet]
    defined_names: dict[str, str] = field(default_factory=dict)
    limited: bool = False
    kind: str = "xlsx"
    dates_1904: bool = False
    warnings: list[Problem] = field(default_factory=list)

    def sheet(self, name: str) -> Sheet | None:
        """The sheet of that name, compared without case and surrounding blanks; None where there is none."""
        wanted = name.strip().casefold()
        for sheet in self.sheets:
            if sheet.name.strip().casefold() == wanted:
                return sheet
        return None
