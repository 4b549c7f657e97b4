"""A workbook from tables of plain rows, as a person would write it: one sheet per table, headers in the first row."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import xlsxwriter

from optimizer.workbook.book import Book, Cell, Sheet
from optimizer.workbook.schema import table_of

Tables = Mapping[str, Sequence[Mapping[str, Any]]]


def write_casebook(path: Path, tables: Tables, *, first_row: int = 0, formats: Mapping[str, str] | None = None) -> Path:
    """Writes tables `{sheet: [row, ...]}`; an empty list gives a sheet with its headers only, None an empty cell.

    Lists in a cell are joined by `;`. first_row: 0-based row of the headers. formats: number format by column key.
    """
    with xlsxwriter.Workbook(str(path)) as book:
        styles = {key: book.add_format({"num_format": code}) for key, code in (formats or {}).items()}
        dates = book.add_format({"num_format": "yyyy-mm-dd"})
        for name, rows in tables.items():
            sheet = book.add_worksheet(name)
            headers = headers_of(name, rows)
            for column, header in enumerate(headers):
                sheet.write_string(first_row, column, header)
            for number, row in enumerate(rows, first_row + 1):
                for column, header in enumerate(headers):
                    _write(sheet, number, column, row.get(header), styles.get(header), dates)
    return path


def book_of(tables: Tables, file: str = "case.xlsx", *, first_row: int = 1) -> Book:
    """The same workbook without a file: what opening it would give. first_row: 1-based row of the headers."""
    return Book(file, sha256="0" * 64, sheets=[_sheet_of(name, rows, first_row) for name, rows in tables.items()])


def _sheet_of(name: str, rows: Sequence[Mapping[str, Any]], first_row: int) -> Sheet:
    headers = headers_of(name, rows)
    cells = {(first_row, column): Cell(header) for column, header in enumerate(headers, 1)}
    for number, row in enumerate(rows, first_row + 1):
        for column, header in enumerate(headers, 1):
            value = row.get(header)
            if isinstance(value, Cell):
                cells[number, column] = value
            elif value not in (None, ""):
                cells[number, column] = Cell(_typed(value))
    return Sheet(name, cells)


def _typed(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return ";".join(str(part) for part in value)
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value, datetime.time())
    return value


def headers_of(sheet: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Column keys in order of appearance; those of the schema where there are no rows."""
    headers = list(dict.fromkeys(key for row in rows for key in row))
    if headers:
        return headers
    table = table_of(sheet)
    return [column.key for column in table.columns] if table is not None else []


def _write(sheet: Any, row: int, column: int, value: Any, style: Any, dates: Any) -> None:
    if isinstance(value, (list, tuple)):
        value = ";".join(str(part) for part in value)
    if value is None or value == "":
        return
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value, style)
    elif isinstance(value, (int, float)):
        sheet.write_number(row, column, value, style)
    elif isinstance(value, (datetime.date, datetime.datetime)):
        sheet.write_datetime(row, column, value, dates)
    elif isinstance(value, str) and value.startswith("="):
        sheet.write_formula(row, column, value, style, value="")
    else:
        sheet.write_string(row, column, str(value), style)
