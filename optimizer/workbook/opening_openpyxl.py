"""Opens xlsx and xlsm with openpyxl, once for values and once for formulas, as sparse cells with formats, merges, tables and
hidden rows."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

from optimizer.workbook.book import Cell, CellValue, Sheet

if TYPE_CHECKING:
    from openpyxl.workbook.workbook import Workbook

HIDDEN_COLUMNS_MAX = 16_384


def read_with_openpyxl(data: bytes, *, has_formulas: bool) -> tuple[list[Sheet], dict[str, str], bool]:
    """Sheets, defined names, and whether the 1904 date system is used. Raises whatever openpyxl raises on a package it cannot
    read.

    Without formulas in the package one pass shows both values and formulas.
    """
    values = _load(data, data_only=True)
    formulas = _load(data, data_only=False) if has_formulas else None
    sheets = [
        _sheet(values[name], formulas[name] if formulas is not None else None)
        for name in values.sheetnames
        if hasattr(values[name], "_cells")
    ]
    if not sheets:
        raise ValueError("the package holds no sheets")
    names: dict[str, str] = {}
    for sheet in values.worksheets:
        names.update({name: str(defined.attr_text or "") for name, defined in sheet.defined_names.items()})
    names.update({name: str(defined.attr_text or "") for name, defined in values.defined_names.items()})
    return sheets, names, values.epoch.year == 1904


def _load(data: bytes, *, data_only: bool) -> Workbook:
    import openpyxl

    with warnings.catch_warnings():
        # openpyxl warns of every extension it drops on reading, which frightens people and loses nothing here.
        warnings.simplefilter("ignore")
        return openpyxl.load_workbook(io.BytesIO(data), data_only=data_only, keep_links=False)


def _sheet(values: Any, formulas: Any) -> Sheet:
    """One worksheet; `_cells` is the sparse store, because walking rows visits every cell up to the last formatted one."""
    formula_cells = {} if formulas is None else formulas._cells
    cells: dict[tuple[int, int], Cell] = {}
    for key, cell in values._cells.items():
        twin = formula_cells.get(key)
        formula = ""
        if twin is not None and twin.data_type == "f":
            formula = twin.value if isinstance(twin.value, str) else str(getattr(twin.value, "text", None) or "=")
        value = cell.value
        if value is None and not formula:
            continue
        error = str(value) if cell.data_type == "e" else ""
        cells[key] = Cell(_plain(value), formula, cell.number_format or "", error)
    tables = {}
    with_totals = set()
    for table in values.tables.values():
        tables[table.name] = _bounds(table.ref)
        if table.totalsRowCount:
            with_totals.add(table.name)
    return Sheet(
        name=values.title,
        cells=cells,
        visible=values.sheet_state == "visible",
        hidden_rows=frozenset(row for row, size in values.row_dimensions.items() if size.hidden or size.ht == 0),
        hidden_columns=_hidden_columns(values),
        merges=tuple((area.min_row, area.min_col, area.max_row, area.max_col) for area in values.merged_cells.ranges),
        tables=tables,
        tables_with_totals=frozenset(with_totals),
    )


def _plain(value: Any) -> CellValue:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if hasattr(value, "isoformat") or hasattr(value, "total_seconds"):
        result: CellValue = value
        return result
    return str(value)


def _bounds(reference: str) -> tuple[int, int, int, int]:
    from openpyxl.utils.cell import range_boundaries

    left, top, right, bottom = range_boundaries(reference)
    return (top or 1, left or 1, bottom or 1, right or 1)


def _hidden_columns(sheet: Any) -> frozenset[int]:
    hidden: set[int] = set()
    for size in sheet.column_dimensions.values():
        if size.hidden or size.width == 0:
            last = min(size.max or size.min or 0, HIDDEN_COLUMNS_MAX)
            hidden.update(range(size.min or 1, last + 1))
    return frozenset(hidden)
