"""`plan --json` and `check --json`: keys exactly as the interface page, plain numbers, nulls where there is nothing."""

from __future__ import annotations

import datetime
import json
import math
from dataclasses import dataclass, field

import pytest

from optimizer.domain.case import InputFile
from optimizer.errors import Problem
from optimizer.plan.plan import InfeasibleLimit
from optimizer.report.json_result import check_json, plan_json
from optimizer.report.result import PlanResult, RunInfo
from tests.report import plans

PLAN_KEYS = [
    "status", "cost_usd_per_day", "bound_usd_per_day", "gap_frac", "output_mtok_per_day", "usd_per_mtok",
    "cost_parts_usd_per_day", "day_types", "purchases", "sites", "nodes", "options", "hours", "replicas", "contingencies",
    "baselines_usd_per_day", "rejections", "infeasible", "audit", "warnings", "errors", "inputs", "start_date", "version",
    "command", "solver", "output",
]  # fmt: skip
ROW_KEYS = {
    "day_types": ["day_type", "days"],
    "purchases": [
        "offer", "purchase", "node_type", "gpu", "provider", "region", "site", "nodes_new", "nodes_existing", "gpus",
        "term_months", "upfront_usd", "node_hours_used_per_day", "peak_nodes_used", "usd_per_day", "order_by",
    ],
    "sites": ["site", "nodes", "racks", "kw"],
    "nodes": ["day_type", "hour", "offer", "used"],
    "options": ["option", "pool", "workload", "output_tps", "gpus_per_replica", "node_type", "concurrency", "source"],
    "hours": ["day_type", "hour", "workload", "demand_tps", "run_tps", "fleet_tps", "spot_tps", "api_tps"],
    "replicas": ["day_type", "hour", "pool", "option", "live", "total", "spot_live", "spot_total"],
    "contingencies": ["contingency", "pool", "day_type", "hour", "margin_tps"],
    "rejections": [
        "code", "workload", "model", "precision", "gpu", "node_type", "gpus_per_replica", "engine", "reason", "numbers",
    ],
    "warnings": ["code", "file", "sheet", "cell", "message", "fix"],
    "inputs": ["file", "sha256"],
}  # fmt: skip
RUN = RunInfo(
    version="9.9", command="fleetsheet plan f.xlsx", start_date=datetime.date(2027, 1, 1),
    inputs=(InputFile(file="f.xlsx", sha256="ab" * 32),),
)  # fmt: skip
PROBLEM = Problem("UNIT_MISSING", "No unit.", "Add --unit.", file="f.xlsx", sheet="Demand", cell="B1")


def test_refused_has_every_key_in_order_and_nulls() -> None:
    document = plan_json(PlanResult(status="refused", run=RUN, errors=(PROBLEM,)))
    assert list(document) == PLAN_KEYS
    assert document["cost_usd_per_day"] is None
    assert document["usd_per_mtok"] == {"forecast": None, "fleet": None, "api": None, "full_goodput": None}
    assert list(document["cost_parts_usd_per_day"]) == ["held", "used", "upfront", "api", "energy", "site", "discounts"]
    assert document["baselines_usd_per_day"] == {
        "all_api": None, "all_on_demand": None, "reserved_at_peak": None, "reserved_at_trough": None,
    }  # fmt: skip
    assert document["audit"] == {"ok": None, "violations": []}
    assert document["solver"] == {"name": None, "version": None, "seconds": None, "pulp": None}
    assert document["errors"] == [
        {"code": "UNIT_MISSING", "file": "f.xlsx", "sheet": "Demand", "cell": "B1", "message": "No unit.", "fix": "Add --unit."}
    ]
    assert document["inputs"] == [{"file": "f.xlsx", "sha256": "ab" * 32}]
    assert document["start_date"] == "2027-01-01"


def test_infeasible_rows_and_the_bound_of_a_run_without_plan() -> None:
    row = InfeasibleLimit(limit="site power", site="dc", hour=14, missing=20.8, unit="kW", relaxation="20.8 kW more")
    document = plan_json(PlanResult(status="infeasible", run=RUN, infeasible=(row,)))
    assert document["infeasible"] == [
        {
            "limit": "site power", "pool": None, "site": "dc", "day_type": None, "hour": 14, "missing": 20.8, "unit": "kW",
            "relaxation": "20.8 kW more", "usd_per_day": None,
        }
    ]  # fmt: skip
    assert plan_json(PlanResult(status="no_plan", run=RUN, bound_usd_per_day=-0.0))["bound_usd_per_day"] == 0.0


def test_minus_zero_is_zero_and_nan_is_refused() -> None:
    document = plan_json(PlanResult(status="no_plan", run=RUN, bound_usd_per_day=-0.0))
    assert math.copysign(1.0, document["bound_usd_per_day"]) == 1.0
    with pytest.raises(ValueError, match="nan"):
        plan_json(PlanResult(status="no_plan", run=RUN, bound_usd_per_day=math.nan))


def test_a_result_carries_a_plan_exactly_where_its_status_says_so() -> None:
    with pytest.raises(ValueError, match="must carry a plan"):
        PlanResult(status="optimal", run=RUN)


@dataclass
class _Demand:
    workload: str = "chat"
    unit: str = "tok/s"
    demand_tps: dict[str, tuple[float, ...]] = field(default_factory=lambda: {"day": (1.0,) * 24})
    peak_tps: float = 1.0
    mean_tps: float = 1.0
    peak_to_mean: float | None = 1.0


def test_check_json() -> None:
    document = check_json([_Demand()], warnings=[PROBLEM])
    assert list(document) == ["status", "workloads", "warnings", "errors"]
    assert document["status"] == "ok"
    assert list(document["workloads"][0]) == ["workload", "unit", "demand_tps", "peak_tps", "mean_tps", "peak_to_mean"]
    assert document["workloads"][0]["demand_tps"] == {"day": [1.0] * 24}
    assert check_json([], errors=[PROBLEM])["status"] == "refused"
    json.dumps(document, allow_nan=False)


@pytest.mark.parametrize("name", list(plans.RESULTS))
def test_a_plan_has_every_key_of_every_row(name: str) -> None:
    document = plan_json(plans.RESULTS[name]())
    assert list(document) == PLAN_KEYS
    for table, keys in ROW_KEYS.items():
        for row in document[table]:
            assert list(row) == keys, table
    assert document["purchases"] or name == "api_alone"
    json.dumps(document, allow_nan=False)


def test_figures_of_a_plan() -> None:
    result = plans.mixed()
    assert result.plan is not None
    document = plan_json(result)
    assert document["status"] == "gap_open" and document["gap_frac"] == pytest.approx(100 / 1216.4)
    assert document["cost_usd_per_day"] == result.plan.cost.total
    assert math.fsum(document["cost_parts_usd_per_day"].values()) == pytest.approx(document["cost_usd_per_day"])
    hour = next(row for row in document["hours"] if (row["day_type"], row["hour"], row["workload"]) == ("weekend", 3, "chat"))
    assert hour == {
        "day_type": "weekend", "hour": 3, "workload": "chat", "demand_tps": 2000.0, "run_tps": 2000.0, "fleet_tps": 1800.0,
        "spot_tps": 400.0, "api_tps": 200.0,
    }  # fmt: skip
    assert len(document["hours"]) == 3 * 48 and len(document["nodes"]) == 2 * (24 * 3 + 4)
    assert document["baselines_usd_per_day"]["reserved_at_trough"] is None
    assert document["purchases"][0]["provider"] is None and document["audit"] == {"ok": True, "violations": []}
    replicas = next(row for row in document["replicas"] if row["pool"] == "chat" and row["hour"] == 3)
    assert (replicas["live"], replicas["total"], replicas["spot_live"], replicas["spot_total"]) == (5, 7, 1, 1)


def test_deferred_work_runs_when_it_was_shifted_to() -> None:
    rows = [row for row in plan_json(plans.deferred())["hours"] if row["workload"] == "late"]
    assert sum(row["run_tps"] for row in rows) == pytest.approx(sum(row["demand_tps"] for row in rows))
    assert any(row["run_tps"] != row["demand_tps"] for row in rows)
    assert all(row["fleet_tps"] + row["api_tps"] == pytest.approx(row["run_tps"]) for row in rows)
