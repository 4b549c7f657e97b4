"""Which input figures differ from the shipped catalog's row of the same name, so that a reader sees what somebody changed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from optimizer.errors import ProblemList
from optimizer.workbook.catalogs import open_catalogs
from optimizer.workbook.columns import Table
from optimizer.workbook.rows import TableRow, parse_rows
from optimizer.workbook.schema import API_PRICES, MODELS, NODE_TYPES, OFFERS, SITES
from optimizer.workbook.values import Reading

#: Tables whose rows have a name of their own in a catalog, and kinds of columns that are figures.
_COMPARED = frozenset(table.sheet for table in (OFFERS, API_PRICES, NODE_TYPES, MODELS, SITES))
_FIGURES = frozenset({"number", "whole", "fraction"})


@cache
def _shipped(table: Table) -> Mapping[tuple[Any, ...], TableRow]:
    raw = open_catalogs(None, ProblemList()).table(table)
    rows = parse_rows(raw, Reading(machine=True), ProblemList()).rows if raw is not None else ()
    return {tuple(row[key] for key in table.key_columns): row for row in rows}


def is_compared(table: Table) -> bool:
    """Whether rows of a table can be told by name in a catalog."""
    return table.sheet in _COMPARED


def changed_figures(table: Table, values: Mapping[str, Any]) -> dict[str, Any]:
    """What the shipped catalog says in the columns in which a row differs from it; empty for a row that it does not have.

    values: of the row, by column key. Only figures that the catalog states are compared.
    """
    if not is_compared(table):
        return {}
    row = _shipped(table).get(tuple(values.get(key) for key in table.key_columns))
    if row is None:
        return {}
    return {
        column.key: row[column.key]
        for column in table.columns
        if column.kind in _FIGURES and column.key in row.stated and _differ(values.get(column.key), row[column.key])
    }


def _differ(value: Any, other: Any) -> bool:
    if value is None or other is None:
        return value is not other
    return not math.isclose(value, other, rel_tol=1e-9, abs_tol=1e-12)


def changed_words(changed: Mapping[str, Any]) -> str:
    """`catalog: used_usd_per_node_h 31.92`, for a note beside the row.

    >>> changed_words({"used_usd_per_node_h": 31.92, "max_nodes": None})
    'catalog: used_usd_per_node_h 31.92; max_nodes empty'
    """
    parts = [f"{key} {'empty' if value is None else format(value, '.10g')}" for key, value in changed.items()]
    return f"catalog: {'; '.join(parts)}" if parts else ""
