"""The input tables inside the plan workbook: the rows that the plan rests on, under the names and keys of the input interface.

`fleetsheet plan` reads them back and solves the same case again. Columns come from the schema; two more say which file and row a
line was read from. Every other sheet takes prices and limits from these cells, so that a change here changes every total.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from optimizer.candidates.option import Option
from optimizer.domain.base import Row
from optimizer.domain.case import Case
from optimizer.domain.hours import format_hours
from optimizer.domain.names import join_key
from optimizer.report.changed_inputs import changed_figures, changed_words, is_compared
from optimizer.report.figures import Figures
from optimizer.report.grid import Col, Grid
from optimizer.report.style import Role
from optimizer.report.writer import A3, A4, PlanSheet
from optimizer.workbook.columns import Column, Table
from optimizer.workbook.schema import (
    API_PRICES,
    CONTINGENCIES,
    DAY_TYPES,
    DEMAND,
    DISCOUNTS,
    EXISTING,
    GOODPUT,
    MODELS,
    NODE_TYPES,
    OFFERS,
    POLICY,
    POLICY_KEYS,
    POOLS,
    SITES,
    WORKLOADS,
)

#: Row of the header: under title, master check, note and units.
HEADER_ROW = 4
_FILE = Col("file", "file", width=24)
_ROW = Col("row", "row", style="plain", width=6)
_NOTE = Col("note", "note", width=6)
_NOTE_WIDTH = 60.0
#: Past so many characters across, larger paper.
_WIDEST_ON_A4 = 170.0
_NUMERIC = frozenset({"number", "whole", "fraction", "occupancy"})
_WIDEST_NAME = 40.0
_WIDE = frozenset({"source", "evidence", "config", "meaning"})
#: Never written back: their rows are in the sheets already, and would be added twice.
_LEFT_OUT_POLICY = frozenset({"catalogs_add"})


@dataclass(frozen=True)
class InputTable:
    """One input sheet: its schema, the values of each row by column key, and where each row was read from."""

    table: Table
    grid: Grid
    rows: tuple[dict[str, Any], ...]
    origins: tuple[tuple[str, int | None], ...]
    keys: dict[tuple[Any, ...], int]

    def ref(self, key: str, *row_key: Any) -> str:
        """Absolute address of a cell, by the values that name its row."""
        return self.grid.ref(key, self.keys[row_key])

    def row_of(self, *row_key: Any) -> int:
        """Number of the row with that name."""
        return self.keys[row_key]


class InputTables:
    """All input tables of a plan, laid out."""

    def __init__(self, figures: Figures) -> None:
        self.case = figures.case
        used = _Used(figures)
        case = self.case
        self.demand = _demand_table(case)
        self.day_types = _table(DAY_TYPES, case.day_types, ("day_type",))
        self.workloads = _table(WORKLOADS, case.workloads, ("workload",))
        self.pools = _table(POOLS, case.pools, ("pool",))
        self.contingencies = _table(CONTINGENCIES, case.contingencies, (), rename={"pool": "pools"})
        self.contingencies.keys.update(
            {(row.contingency, pool): place for place, row in enumerate(case.contingencies) for pool in row.pools}
        )
        self.policy = _policy_table(case)
        self.node_types = _table(NODE_TYPES, used.node_types, ("node_type",))
        self.models = _table(MODELS, used.models, ("model", "precision"))
        self.goodput = _table(GOODPUT, used.goodput, ())
        self.goodput_rows = {row: place for place, row in reversed(list(enumerate(used.goodput)))}
        self.offers = _table(OFFERS, used.offers, ("offer",))
        self.existing = _table(EXISTING, case.existing, ())
        self.discounts = _table(DISCOUNTS, case.discounts, ("discount", "offer"))
        self.api_prices = _table(API_PRICES, used.api_prices, ("api",))
        self.sites = _table(SITES, used.sites, ("site",))
        #: Nobody gave day types: the sheet is left out, so that the plan read again rests on a single day again.
        self.day_types_given = any(day.origin.sheet is not None for day in case.day_types) or len(case.day_types) > 1

    def existing_refs(self, offer: str) -> list[str]:
        """Cells of the nodes held already on an offer, without contracts that expired before the start date."""
        start = self.case.policy.start_date
        return [
            self.existing.grid.ref("nodes", place)
            for place, row in enumerate(self.case.existing)
            if row.offer == offer and (row.expires is None or row.expires >= start)
        ]

    def model_cell(self, option: Option, column: str) -> str | None:
        """Cell of the model of an option; None where names join in another way than by spelling."""
        for place, row in enumerate(self.models.rows):
            same = join_key(str(row["model"])) == join_key(option.model)
            if same and join_key(str(row["precision"])) == join_key(option.precision):
                return self.models.grid.ref(column, place)
        return None

    @property
    def written(self) -> tuple[InputTable, ...]:
        """The tables that become sheets, in the order of the schema."""
        tables = [self.demand]
        if self.day_types_given:
            tables.append(self.day_types)
        tables += [
            self.workloads, self.pools, self.contingencies, self.policy, self.node_types, self.models, self.goodput, self.offers,
            self.existing, *((self.discounts,) if self.case.discounts else ()), self.api_prices, self.sites,
        ]  # fmt: skip
        return tuple(tables)


class _Used:
    """The catalog rows that the plan rests on: what could serve the workloads, not whole catalogs."""

    def __init__(self, figures: Figures) -> None:
        case, candidates = figures.case, figures.candidates
        offers = {offer.offer for offer in candidates.offers}
        offers |= {row.offer for row in case.existing} | {row.offer for row in case.discounts}
        offers |= {row.offer for row in candidates.rejections if row.offer}
        self.offers = [offer for offer in case.offers if offer.offer in offers]
        node_types = {offer.node_type for offer in self.offers} | {option.node_type for option in candidates.options}
        node_types |= {name for pool in case.pools for name in pool.node_types}
        node_types |= {pool.fixed_node_type for pool in case.pools if pool.fixed_node_type}
        self.node_types = [row for row in case.node_types if row.node_type in node_types]
        sites = {offer.site for offer in self.offers if offer.site}
        self.sites = [row for row in case.sites if row.site in sites]
        models = {join_key(workload.model) for workload in case.workloads}
        models |= {join_key(option.model) for option in candidates.options}
        self.models = [row for row in case.models if join_key(row.model) in models]
        self.goodput = [row for row in case.goodput if join_key(row.model) in models]
        named = {api for workload in case.workloads for api in workload.api}
        self.api_prices = [row for row in case.api_prices if row.api in named or join_key(row.model) in models]


def _style(column: Column) -> str:
    return "plain" if column.kind in _NUMERIC else "date" if column.kind in {"date", "as_of"} else "text"


def _columns(table: Table, *, provenance: bool) -> tuple[Col, ...]:
    cols = []
    for column in table.columns:
        width = 30.0 if column.key in _WIDE else min(22.0, max(len(column.key) + 1.0, 9.0))
        cols.append(Col(column.key, column.key, column.unit, _style(column), width))
    if not provenance:
        return tuple(cols)
    return (*cols, _FILE, _ROW, *((_NOTE,) if is_compared(table) else ()))


def _cell(column: Column, value: Any) -> Any:
    """A domain value as a person would type it."""
    if value is None:
        return "auto" if column.kind == "occupancy" else None
    if column.kind == "hours":
        return format_hours(value)
    if column.kind == "list":
        return ";".join(value)
    if column.kind == "yes_no":
        return "yes" if value else "no"
    return value


def _table(table: Table, rows: Any, names: tuple[str, ...], rename: dict[str, str] | None = None) -> InputTable:
    found: list[dict[str, Any]] = []
    origins: list[tuple[str, int | None]] = []
    for row in rows:
        values = {}
        for column in table.columns:
            value = getattr(row, (rename or {}).get(column.key, column.key))
            if column.kind == "as_of" and row.as_of_text:
                value = row.as_of if row.as_of and row.as_of_text == row.as_of.isoformat() else row.as_of_text
            values[column.key] = _cell(column, value)
        found.append(values)
        origins.append(_origin(row))
    keys = {tuple(values[name] for name in names): place for place, values in enumerate(found)} if names else {}
    grid = Grid(table.sheet, HEADER_ROW, _columns(table, provenance=True), len(found), unit_row=False)
    return InputTable(table, grid, tuple(found), tuple(origins), keys)


def _origin(row: Row) -> tuple[str, int | None]:
    origin = row.origin
    if origin.file is None and origin.sheet is None:
        return "", None
    sheet = origin.sheet or ""
    return f"{origin.file or ''}{', ' if origin.file and sheet else ''}{sheet}", origin.row


def _demand_table(case: Case) -> InputTable:
    found: list[dict[str, Any]] = []
    for workload in case.workloads:
        for piece in case.slices:
            day = workload.demand_on(piece.day_type)
            found.append(
                {
                    "workload": workload.workload,
                    "day_type": piece.day_type,
                    "hour": piece.hour,
                    "output_tps": day.output_tps[piece.hour],
                    "input_tps": None if day.input_tps is None else day.input_tps[piece.hour],
                }
            )
    keys = {(row["workload"], row["day_type"], row["hour"]): place for place, row in enumerate(found)}
    cols = _columns(DEMAND, provenance=False)
    if all(row["input_tps"] is None for row in found):
        # A column of input that nobody filled in would be read as values that are missing.
        cols = tuple(col for col in cols if col.key != "input_tps")
    grid = Grid(DEMAND.sheet, HEADER_ROW, cols, len(found), unit_row=False)
    return InputTable(DEMAND, grid, tuple(found), (("", None),) * len(found), keys)


def _policy_table(case: Case) -> InputTable:
    found = []
    for column in POLICY_KEYS:
        if column.key in _LEFT_OUT_POLICY:
            continue
        value = _cell(column, getattr(case.policy, column.key))
        found.append({"key": column.key, "value": value, "unit": column.unit, "meaning": column.meaning})
    keys = {(row["key"],): place for place, row in enumerate(found)}
    cols = (
        Col("key", "key", width=20),
        Col("value", "value", style="plain", width=26),
        Col("unit", "unit", width=10),
        Col("meaning", "meaning", width=80),
    )
    grid = Grid(POLICY.sheet, HEADER_ROW, cols, len(found), unit_row=False)
    return InputTable(POLICY, grid, tuple(found), (("", None),) * len(found), keys)


def _fitting(table: InputTable, col: Col) -> float:
    """Width for the longest text of a column of names, within reason."""
    if col.style != "text" or col.key in _WIDE:
        return col.width
    longest = max((len(str(values.get(col.key) or "")) for values in table.rows), default=0)
    return max(col.width, min(_WIDEST_NAME, longest + 2.0))


def fill_input_table(sheet: PlanSheet, table: InputTable) -> None:
    """Write one input table: units over the header, inputs unlocked, provenance in grey."""
    sheet.title(table.table.sheet, table.table.meaning)
    grid = table.grid
    for col in grid.cols:
        if col.unit:
            sheet.text(grid.top - 1, grid.col(col.key), col.unit, fmt=sheet.book.formats.unit(col.style))
    for col in grid.cols:
        sheet.width(grid.col(col.key), _fitting(table, col))
    sheet.header(grid)
    known = {column.key for column in table.table.columns}
    for place, values in enumerate(table.rows):
        row = grid.first + place
        changed = changed_figures(table.table, values)
        for col in grid.cols:
            if col.key in values:
                role: Role = "input" if col.key in known and col.key != "key" else "calc"
                _write(sheet, row, grid.col(col.key), values[col.key], col.style, "changed" if col.key in changed else role)
        if changed:
            sheet.width(grid.col("note"), _NOTE_WIDTH)
            sheet.text(row, grid.col("note"), changed_words(changed), fmt=sheet.book.formats.note())
        file, number = table.origins[place]
        if file and "file" in {col.key for col in grid.cols}:
            sheet.text(row, grid.col("file"), file, fmt=sheet.book.formats.note())
            if number is not None:
                sheet.number(row, grid.col("row"), number, "plain", fmt=sheet.book.formats.note())
    if not table.rows:
        sheet.text(grid.first + 1, 0, "", "text")
    names = sum(1 for col in grid.cols if table.table.columns[0].key == col.key)
    across = sum(_fitting(table, col) for col in grid.cols)
    sheet.finish(freeze=(grid.top + 1, names), repeat=(0, grid.top), paper=A3 if across > _WIDEST_ON_A4 else A4)
    if table.rows:
        sheet.raw.autofilter(grid.top, 0, grid.last, grid.right)


def _write(sheet: PlanSheet, row: int, col: int, value: Any, style: str, role: Role) -> None:
    if value is None or value == "":
        sheet.blank(row, col, style, role)
    elif isinstance(value, bool):
        sheet.text(row, col, "yes" if value else "no", "text", role)
    elif isinstance(value, (int, float)):
        sheet.number(row, col, value, "plain", role)
    elif isinstance(value, datetime.date):
        sheet.date(row, col, value, role)
    else:
        sheet.text(row, col, str(value), "text", role)
