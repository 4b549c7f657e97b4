"""Builds forecast files of every shape in memory, and knows the 24 numbers in them.

`Sheet` is a plain grid of cells with what a spreadsheet can say about them; `write_xlsx` makes it a file with XlsxWriter.
"""

from __future__ import annotations

import datetime
import io
import zipfile
from dataclasses import dataclass, field
from typing import Any

import xlsxwriter

#: A day of demand in tok/s: peak 12,800 at 14:00, mean 4,000.
PROFILE = (
    1200,
    950,
    780,
    700,
    720,
    980,
    1650,
    2900,
    4600,
    6300,
    7600,
    8200,
    8800,
    10400,
    12800,
    9700,
    6200,
    3700,
    2300,
    1700,
    1250,
    1020,
    850,
    700,
)
#: The day of dated rows, a Tuesday.
DAY = datetime.datetime(2026, 12, 1)


@dataclass
class Formula:
    """A formula with the value saved for it; None = never computed."""

    text: str
    value: Any = None


@dataclass
class Error:
    """An error value such as #N/A."""

    text: str


@dataclass
class Sheet:
    """cells: (row, column), 0-based -> value. formats: (row, column) -> number format."""

    name: str = "Demand"
    cells: dict[tuple[int, int], Any] = field(default_factory=dict)
    formats: dict[tuple[int, int], str] = field(default_factory=dict)
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    merges: list[tuple[int, int, int, int]] = field(default_factory=list)
    hidden: bool = False
    table: tuple[str, int, int, int, int] | None = None
    filter: tuple[int, int, int, int] | None = None

    def put(self, row: int, column: int, value: Any, number_format: str = "") -> None:
        """Set a cell."""
        self.cells[row, column] = value
        if number_format:
            self.formats[row, column] = number_format

    def down(self, row: int, column: int, values: Any, number_format: str = "") -> None:
        """Set cells downwards."""
        for offset, value in enumerate(values):
            self.put(row + offset, column, value, number_format)

    def turned(self) -> Sheet:
        """Rows and columns exchanged."""
        return Sheet(
            self.name,
            {(column, row): value for (row, column), value in self.cells.items()},
            {(column, row): value for (row, column), value in self.formats.items()},
            set(self.hidden_columns),
            set(self.hidden_rows),
            [(left, top, right, bottom) for top, left, bottom, right in self.merges],
            self.hidden,
        )


def demand_sheet(
    header: str = "Output tok/s",
    values: Any = PROFILE,
    hours: Any = range(24),
    hour_header: str = "Hour",
    name: str = "Demand",
    number_format: str = "",
    hour_format: str = "",
) -> Sheet:
    """The plainest forecast: hours in A, demand in B, headers in row 1."""
    sheet = Sheet(name)
    sheet.put(0, 0, hour_header)
    sheet.put(0, 1, header)
    sheet.down(1, 0, hours, hour_format)
    sheet.down(1, 1, values, number_format)
    return sheet


def write_xlsx(*sheets: Sheet, names: dict[str, str] | None = None, date_1904: bool = False) -> bytes:
    """The sheets as the bytes of an xlsx file."""
    stream = io.BytesIO()
    book = xlsxwriter.Workbook(stream, {"in_memory": True, "date_1904": date_1904})
    formats: dict[str, Any] = {}
    for sheet in sheets:
        page = book.add_worksheet(sheet.name)
        for (row, column), value in sheet.cells.items():
            code = sheet.formats.get((row, column), "")
            if isinstance(value, datetime.datetime | datetime.date | datetime.time | datetime.timedelta) and not code:
                code = "yyyy-mm-dd hh:mm" if isinstance(value, datetime.date) else "[h]:mm"
            style = formats.setdefault(code, book.add_format({"num_format": code})) if code else None
            _write(page, row, column, value, style)
        for row in sheet.hidden_rows:
            page.set_row(row, None, None, {"hidden": True})
        for column in sheet.hidden_columns:
            page.set_column(column, column, None, None, {"hidden": True})
        for top, left, bottom, right in sheet.merges:
            page.merge_range(top, left, bottom, right, "")
            if (top, left) in sheet.cells:
                _write(page, top, left, sheet.cells[top, left], None)
        if sheet.table:
            name, top, left, bottom, right = sheet.table
            columns = [{"header": str(sheet.cells[top, column])} for column in range(left, right + 1)]
            page.add_table(top, left, bottom, right, {"name": name, "columns": columns})
        if sheet.filter:
            page.autofilter(*sheet.filter)
        if sheet.hidden:
            page.hide()
    for name, reference in (names or {}).items():
        book.define_name(name, reference)
    visible = next((index for index, sheet in enumerate(sheets) if not sheet.hidden), 0)
    book.worksheets()[visible].activate()
    if visible:
        book.worksheets()[visible].set_first_sheet()
    book.close()
    return stream.getvalue()


def _write(page: Any, row: int, column: int, value: Any, style: Any) -> None:
    if value is None:
        page.write_blank(row, column, None, style)
    elif isinstance(value, Formula):
        page.write_formula(row, column, value.text, style, "" if value.value is None else value.value)
    elif isinstance(value, Error):
        page.write_formula(row, column, "=NA()" if value.text == "#N/A" else "=1/0", style, value.text)
    elif isinstance(value, bool):
        page.write_boolean(row, column, value, style)
    elif isinstance(value, int | float):
        page.write_number(row, column, value, style)
    elif isinstance(value, datetime.datetime | datetime.date | datetime.time | datetime.timedelta):
        page.write_datetime(row, column, value, style)
    else:
        page.write_string(row, column, str(value), style)


def repack(data: bytes, change: dict[str, bytes | None]) -> bytes:
    """The package with parts replaced (bytes), added, or removed (None)."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target:
        for info in source.infolist():
            if info.filename not in change:
                target.writestr(info.filename, source.read(info))
        for name, content in change.items():
            if content is not None:
                target.writestr(name, content)
    return stream.getvalue()


def part(data: bytes, name: str) -> bytes:
    """One part of the package."""
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        return package.read(name)
