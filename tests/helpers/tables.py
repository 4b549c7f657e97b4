"""Small valid tables for tests: one pool, one model, one GPU, one reserved offer; change a cell and see what happens."""

from __future__ import annotations

from typing import Any

import pytest

from optimizer.errors import Problem, Refused
from optimizer.workbook.load import LoadedCase, check_books
from optimizer.workbook.options import LoadOptions
from tests.helpers.casebook import Tables, book_of

Rows = list[dict[str, Any]]
PEAK_TPS = 9000.0
NO_CATALOGS = LoadOptions(catalogs="none")


def small_tables() -> dict[str, Rows]:
    """A case that loads without a warning and plans: every table filled, every id known. Fresh at every call."""
    return {
        "Demand": [{"workload": "chat", "hour": hour, "output_tps": PEAK_TPS - 200 * (23 - hour)} for hour in range(24)],
        "Workloads": [{"workload": "chat", "pool": "chat", "model": "70b", "precision": "int8"}],
        "Pools": [{"pool": "chat", "kind": "interactive", "occupancy_frac": 0.6, "rollout_frac": 0.25}],
        "Contingencies": [{"contingency": "n+1", "replicas_lost": 1}],
        "NodeTypes": [
            {
                "node_type": "80gx2",
                "gpu": "80G",
                "gpus_per_node": 2,
                "gpu_memory_gb": 85.9,
                "node_kw": 2.0,
                "source": "data sheet",
                "as_of": "2026-10-01",
            },
        ],
        "Models": [
            {
                "model": "70b",
                "precision": "int8",
                "weights_gb": 70,
                "kv_gb_per_seq": 1.6,
                "source": "config",
                "as_of": "2026-10-01",
            },
        ],
        "Goodput": [
            {
                "model": "70b",
                "precision": "int8",
                "gpu": "80G",
                "gpus_per_replica": 2,
                "output_tps": 1400,
                "concurrency": 40,
                "kind": "measured",
                "source": "own sweep",
                "as_of": "2026-10-01",
            },
        ],
        "Offers": [
            {
                "offer": "reserved",
                "node_type": "80gx2",
                "purchase": "reserved",
                "held_usd_per_node_h": 5.0,
                "used_usd_per_node_h": 0.0,
                "term_months": 12,
                "max_nodes": 100,
                "site": None,
                "source": "quote",
                "as_of": "2026-11-01",
            },
            {
                "offer": "hourly",
                "node_type": "80gx2",
                "purchase": "on_demand",
                "held_usd_per_node_h": 0.0,
                "used_usd_per_node_h": 8.0,
                "term_months": None,
                "max_nodes": 50,
                "site": None,
                "source": "list",
                "as_of": "2026-11-01",
            },
        ],
        "ApiPrices": [
            {
                "api": "hosted",
                "model": "70b",
                "output_usd_per_mtok": 2.0,
                "input_usd_per_mtok": 0.5,
                "source": "list",
                "as_of": "2026-11-01",
            },
        ],
        "Sites": [{"site": "hall", "racks": 10, "kw_per_rack": 40, "slots_per_rack": 4}],
        "Existing": [{"offer": "reserved", "nodes": 1, "expires": "2027-12-31"}],
        "DayTypes": [{"day_type": "day", "days": 91}],
        "Policy": [{"key": "today", "value": "2026-11-29"}, {"key": "start_date", "value": "2027-01-01"}],
    }


def load_tables(tables: Tables, options: LoadOptions = NO_CATALOGS, *more: Tables) -> LoadedCase:
    """The case of tables, and of a second workbook's tables; without catalogs unless options say otherwise."""
    books = [book_of(tables), *(book_of(each, "policy.xlsx") for each in more)]
    checked = check_books(books, options)
    assert checked.case is not None
    return LoadedCase(checked.case, checked.warnings, checked.demand)


def errors_of(tables: Tables, options: LoadOptions = NO_CATALOGS, *more: Tables) -> list[Problem]:
    """The errors with which the tables are refused; a test fails where they are not."""
    with pytest.raises(Refused) as caught:
        load_tables(tables, options, *more)
    return list(caught.value.errors)
