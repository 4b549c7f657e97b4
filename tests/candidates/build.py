"""The smallest case that has an option, and ways to change one table of it."""

from __future__ import annotations

from typing import Any

from optimizer.candidates.enumerate import find_candidates
from optimizer.candidates.option import Candidates
from optimizer.domain.case import Case
from optimizer.domain.measurement import GoodputRow
from optimizer.domain.workload import DemandDay, Workload
from optimizer.errors import Problem, Refused
from tests.helpers.refcase import case_from_tables

Row = dict[str, Any]

WORKLOAD: Row = {"workload": "chat", "pool": "chat", "model": "70b", "precision": "int8"}
POOL: Row = {"pool": "chat", "kind": "interactive"}
NODE_TYPE: Row = {"node_type": "80gx8", "gpu": "G80", "gpus_per_node": 8, "gpu_memory_gb": 80}
MODEL: Row = {"model": "70b", "precision": "int8", "weights_gb": 70, "kv_gb_per_seq": 1.6}
GOODPUT: Row = {"model": "70b", "precision": "int8", "gpu": "G80", "gpus_per_replica": 2, "output_tps": 1400, "concurrency": 46}
OFFER: Row = {"offer": "flat", "node_type": "80gx8", "purchase": "reserved", "held_usd_per_node_h": 20, "term_months": 12}


def case(**tables: list[Row]) -> Case:
    """The small case with whole tables replaced, by lower-case name (workloads, pools, node_types, models, goodput, ...)."""
    names = {
        "workloads": "Workloads",
        "pools": "Pools",
        "node_types": "NodeTypes",
        "models": "Models",
        "goodput": "Goodput",
        "offers": "Offers",
        "existing": "Existing",
        "sites": "Sites",
        "policy": "Policy",
        "demand": "Demand",
    }
    rows: dict[str, list[Row]] = {
        "Workloads": [WORKLOAD],
        "Pools": [POOL],
        "NodeTypes": [NODE_TYPE],
        "Models": [MODEL],
        "Goodput": [GOODPUT],
        "Offers": [OFFER],
    }
    rows.update({names[name]: table for name, table in tables.items()})
    if "Demand" not in rows:
        rows["Demand"] = [
            {"workload": workload["workload"], "hour": hour, "output_tps": 1000}
            for workload in rows["Workloads"]
            for hour in range(24)
        ]
    return case_from_tables(rows)


def policy(**values: Any) -> list[Row]:
    """Rows of the sheet Policy."""
    return [{"key": key, "value": value} for key, value in values.items()]


def find(**tables: list[Row]) -> Candidates:
    """Candidates of the small case with tables replaced."""
    return find_candidates(case(**tables))


def refusals(**tables: list[Row]) -> list[Problem]:
    """The errors with which the case is refused; none where it is not."""
    try:
        find(**tables)
    except Refused as refused:
        return list(refused.errors)
    return []


def codes(candidates: Candidates) -> list[str]:
    """Rejection codes in order."""
    return [rejection.code for rejection in candidates.rejections]


def row(**values: Any) -> GoodputRow:
    """A goodput row of one GPU; tp follows gpus_per_replica."""
    fields: Row = {"model": "m", "precision": "p", "gpu": "G", "gpus_per_replica": 1, "output_tps": 100.0, **values}
    fields.setdefault("tp", fields["gpus_per_replica"])
    return GoodputRow(**fields)


def workload(**values: Any) -> Workload:
    """A workload of flat demand without shape or limits."""
    fields: Row = {"workload": "w", "pool": "p", "model": "m", "demand": (DemandDay(day_type="day", output_tps=(1.0,) * 24),)}
    return Workload(**{**fields, **values})
