"""Programs taken apart: which are, what Ctrl-C leaves, and that costs and bounds of a larger case hold together."""

from __future__ import annotations

from typing import Any

import pytest

from optimizer.candidates.enumerate import find_candidates
from optimizer.domain.case import Case
from optimizer.milp import apart, by_columns, by_hour
from optimizer.milp.solve import build, solve_case
from optimizer.plan.audit import audit_decision
from tests.benchmarks.make import mixed
from tests.helpers.refcase import case_from_tables


@pytest.fixture(scope="module")
def case() -> Case:
    """A benchmark case cut to one day type and few hours of work: quick, and every part of the search has something to do."""
    tables = mixed(1)
    tables["DayTypes"] = [{"day_type": "weekday", "days": 5}]
    busy = {9, 10, 11, 12, 18, 19, 20, 21}
    tables["Demand"] = [
        {**row, "output_tps": row["output_tps"] if row["hour"] in busy else 0.0}
        for row in tables["Demand"]
        if row["day_type"] == "weekday"
    ]
    for workload in tables["Workloads"]:
        workload["deferrable_hours"] = min(workload["deferrable_hours"], 3)
    return case_from_tables(tables)


@pytest.fixture(autouse=True)
def taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "_MANY_INTEGERS", 0)
    monkeypatch.setattr(apart, "_AT_ONCE_SHARE", 0.0)
    monkeypatch.setattr(apart, "_LOOK_SHARE", 0.0)


def test_hours_that_hang_together_otherwise_are_not_taken_apart(case: Case) -> None:
    candidates = find_candidates(case)
    assert apart.can_go_apart(build(case, candidates)[0])
    pools = tuple(pool.model_copy(update={"ready_hours": 1}) for pool in case.pools)
    ready = case.model_copy(update={"pools": pools})
    assert not apart.can_go_apart(build(ready, find_candidates(ready))[0])


@pytest.mark.parametrize("large_hour", [0, 10**9], ids=["columns", "columns, then hours"])
def test_the_plan_passes_the_audit_and_the_bound_is_below(case: Case, large_hour: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "_LARGE_HOUR", large_hour)
    candidates = find_candidates(case)
    outcome = solve_case(case, candidates, gap=0.05, time_limit_s=20)
    assert outcome.decision is not None and outcome.cost_usd_per_day is not None and outcome.bound_usd_per_day is not None
    audit = audit_decision(
        case, candidates, outcome.decision, outcome.cost_usd_per_day, claimed_bound=outcome.bound_usd_per_day
    )
    assert audit.violations == ()
    assert 0.8 * outcome.cost_usd_per_day <= outcome.bound_usd_per_day <= outcome.cost_usd_per_day


@pytest.mark.parametrize(("search", "large_hour"), [(by_columns, 0), (by_hour, 10**9)], ids=["columns", "hours"])
def test_ctrl_c_keeps_the_best_plan(
    case: Case, search: Any, large_hour: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user stops the search right after its first plan; that plan comes out, with a bound, and says it was stopped."""
    monkeypatch.setattr(apart, "_LARGE_HOUR", large_hour)
    evaluate = search._Search._evaluate

    def once(self: Any, *args: Any, **options: Any) -> Any:
        evaluate(self, *args, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(search._Search, "_evaluate", once)
    candidates = find_candidates(case)
    outcome = solve_case(case, candidates, gap=0.0, time_limit_s=60)
    assert outcome.solver.stopped
    assert outcome.status == "gap_open"
    assert outcome.decision is not None and outcome.cost_usd_per_day is not None
    audit = audit_decision(
        case, candidates, outcome.decision, outcome.cost_usd_per_day, claimed_bound=outcome.bound_usd_per_day
    )
    assert audit.violations == ()
    assert outcome.bound_usd_per_day is not None and outcome.bound_usd_per_day > 0


@pytest.mark.parametrize(("module", "name"), [(by_columns, "_pricers"), (by_hour, "Hour"), (by_hour, "Master")])
def test_ctrl_c_anywhere_in_the_searches_ends_them(case: Case, module: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, name, stop)
    if module is by_hour:
        monkeypatch.setattr(apart, "solve_by_columns", lambda *_, **__: None)
        monkeypatch.setattr(apart, "_LARGE_HOUR", 10**9)
    outcome = solve_case(case, find_candidates(case), gap=0.0, time_limit_s=20)
    assert outcome.solver.stopped
    assert outcome.status in ("no_plan", "gap_open")
