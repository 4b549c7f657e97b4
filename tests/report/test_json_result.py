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

PLAN_KEYS = [
    "status", "cost_usd_per_day", "bound_usd_per_day", "gap_frac", "output_mtok_per_day", "usd_per_mtok",
    "cost_parts_usd_per_day", "day_types", "purchases", "sites", "nodes", "options", "hours", "replicas", "contingencies",
    "baselines_usd_per_day", "rejections", "infeasible", "audit", "warnings", "errors", "inputs", "start_date", "version",
    "command", "solver", "output",
]  # fmt: skip
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
