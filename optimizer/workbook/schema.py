"""The one schema of every input sheet and column: it drives reading, catalogs, the template's labels and the reference page.

Keys and meanings are the published interface. A header may be the key or the label; both are compared by `header_key`.
"""

from __future__ import annotations

from optimizer.workbook.columns import Column, Table, header_key
from optimizer.workbook.schema_machines import GOODPUT, MODELS, NODE_TYPES, SITES
from optimizer.workbook.schema_market import API_PRICES, DISCOUNTS, EXISTING, OFFERS
from optimizer.workbook.schema_service import CONTINGENCIES, DAY_TYPES, DEMAND, POLICY, POLICY_KEYS, POOLS, WORKLOADS

__all__ = [
    "API_PRICES",
    "CONTINGENCIES",
    "DAY_TYPES",
    "DEMAND",
    "DISCOUNTS",
    "EXISTING",
    "GOODPUT",
    "MODELS",
    "NODE_TYPES",
    "OFFERS",
    "POLICY",
    "POLICY_KEYS",
    "POOLS",
    "SITES",
    "TABLES",
    "WORKLOADS",
    "policy_key",
    "table_of",
]

#: Every input table in the order of the template and the reference page.
TABLES: tuple[Table, ...] = (
    DEMAND,
    DAY_TYPES,
    WORKLOADS,
    POOLS,
    CONTINGENCIES,
    POLICY,
    NODE_TYPES,
    MODELS,
    GOODPUT,
    OFFERS,
    EXISTING,
    DISCOUNTS,
    API_PRICES,
    SITES,
)


def table_of(sheet: str) -> Table | None:
    """The table of that sheet name, compared as headers are (`Node types` is NodeTypes); None where it is no input sheet."""
    wanted = header_key(sheet)
    return next((table for table in TABLES if header_key(table.sheet) == wanted), None)


def policy_key(key: str) -> Column:
    """The Policy key of that name; KeyError where there is none."""
    return next(column for column in POLICY_KEYS if column.key == key)
