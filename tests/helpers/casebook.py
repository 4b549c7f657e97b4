"""A workbook from tables of plain rows, as a person would write it: one sheet per table, headers in the first row."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import xlsxwriter

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
