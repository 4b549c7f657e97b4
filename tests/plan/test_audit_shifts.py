"""Deferrable work in the audit: what arrives runs within its hours of waiting, and waits on the bad day."""

from __future__ import annotations

from typing import Any

import pytest

from optimizer.candidates.option import Candidates
from optimizer.domain.case import Case
from optimizer.domain.market import ApiPrice
from optimizer.domain.workload import Contingency, DemandDay, Pool
from optimizer.plan.audit import AuditResult, audit_decision
from optimizer.plan.metrics import price_plan
from optimizer.plan.plan import Baselines, Shift
from tests.plan.builders import (
    HOURS,
    Built,
    case,
    change,
    decision,
    goodput,
    load,
    node_type,
    offer,
    option,
    outcome,
    overflow,
    replicas,
    workload,
)

COST = 48.0 + 2 * 10.0 * 0.0036


def shift(hour: int, run_hour: int, tps: float, name: str = "late") -> Shift:
    return Shift(day_type="day", hour=hour, run_hour=run_hour, workload=name, tps=tps)


def deferred() -> Built:
    """late: 200 tok/s arrive in hours 22 and 23 and may wait 4 h; 100 of each run in 23 and in 2 (over midnight), 2 on the API.

    live: 100 tok/s all day, with a spare. Two nodes at 1 $/h used all day; what waits is not asked for on a bad day.
    """
    nodes, row = node_type(), goodput(100.0, 4)
    late = [0.0] * 22 + [200.0, 200.0]
    built = case(
        workloads=[
            workload("live", [100.0] * 24, pool="p"),
            workload("late", late, pool="p", deferrable_hours=4, api=("x",), api_max_frac=0.01),
        ],
        pools=[Pool(pool="p")],
        contingencies=[Contingency(contingency="n+1", pools=("p",), replicas_lost=3)],
        node_types=[nodes],
        goodput_rows=[row],
        offers=[offer("od", "on_demand", used_usd_per_node_h=1.0)],
        apis=[ApiPrice(api="x", output_usd_per_mtok=10.0)],
    )
    chosen = option("p", {"live": row, "late": row}, nodes)
    runs = {23: 200.0, 2: 200.0}
    made = decision(
        used={("day", hour, "od"): 2 for hour in HOURS},
        replicas=[replicas("day", hour, chosen, 4) for hour in HOURS],
        loads=[load("day", hour, chosen, "live", 100.0) for hour in HOURS]
        + [load("day", hour, chosen, "late", tps - 1.0) for hour, tps in runs.items()],
        overflows=[overflow("day", hour, "late", "x", 1.0) for hour in runs],
    )
    moved = tuple(shift(hour, run, 100.0) for hour in (22, 23) for run in (23, 2))
    return Built(built, Candidates(options=(chosen,), offers=built.offers), made.model_copy(update={"shifts": moved}))


def audit(built: Built, **tables: Any) -> AuditResult:
    made = built.decision.model_copy(update=tables)
    return audit_decision(built.case, built.candidates, made, COST)


def recased(built: Built, **tables: Any) -> Built:
    return built._replace(case=Case(**{field: getattr(built.case, field) for field in Case.model_fields} | tables))


def test_work_that_waits_over_midnight_passes() -> None:
    assert audit(deferred()).violations == ()


def test_the_headline_is_per_forecast_token_wherever_it_runs() -> None:
    built = deferred()
    plan = price_plan(built.case, built.candidates, outcome(built.decision, COST), Baselines())
    assert plan.cost.total == pytest.approx(COST)
    assert plan.usd_per_mtok.forecast == pytest.approx(COST / (2800 * 0.0036))
    # Four replicas of 100 less the three that are lost serve the 100 of `live`; `late` waits.
    assert [margin.margin_tps for margin in plan.margins] == [pytest.approx(0.0)]


SHIFTS = deferred().decision.shifts


@pytest.mark.parametrize(
    ("shifts", "words"),
    [
        (SHIFTS[1:], "shift of late, day hour 22: 100 of the 200 tok/s that arrive run some time, 100 are lost"),
        ((*SHIFTS, shift(22, 22, 5.0)), "205 of the 200 tok/s that arrive run some time, 5 too many"),
        ((*SHIFTS[:3], shift(23, 4, 100.0)), "shift of late, day hour 23: 100 tok/s wait 5 hours, 1 more than deferrable_hours"),
        ((*SHIFTS[:3], shift(23, 22, 100.0)), "100 tok/s wait 23 hours"),
        ((*SHIFTS[:3], shift(23, 1, 100.0)), "demand of late, day hour 1: 0 of 100 tok/s served, 100 short"),
        ((*SHIFTS[:3], shift(23, 1, 100.0)), "demand of late, day hour 2: 200 of 100 tok/s served, 100 too many"),
        ((*SHIFTS, shift(3, 4, 50.0, "live")), "shift of live, day hour 3: 50 tok/s wait 1 hours"),
        ((*SHIFTS, shift(3, 4, 50.0, "ghost")), "shifts: workload ghost is not in the case"),
        ((*SHIFTS[:3], shift(23, 24, 100.0)), "shifts: run hour 24 is not in the case"),
        ((*SHIFTS[:3], shift(24, 2, 100.0)), "shifts: day hour 24 is not in the case"),
        ((*SHIFTS, SHIFTS[0]), "shifts: day 22 23 late has two rows"),
        ((*SHIFTS[:3], shift(23, 2, -100.0)), "is -100.0 tok/s"),
    ],
)
def test_broken_shifts_are_caught(shifts: tuple[Shift, ...], words: str) -> None:
    result = audit(deferred(), shifts=shifts)
    assert any(words in message for message in result.violations), result.violations


def test_the_share_of_the_api_is_of_what_runs() -> None:
    """2.0 % of 200 tok/s run there in hour 2, where nothing arrives; 1 % is allowed."""
    built = deferred()
    flows = change(built.decision.overflows, lambda row: row.hour == 2, tps=4.0)
    loads = change(built.decision.loads, lambda row: row.hour == 2 and row.workload == "late", firm_tps=196.0)
    result = audit(built, overflows=flows, loads=loads)
    assert "overflow of late, day hour 2: 4 tok/s is 2 above api_max_frac" in result.violations


def test_input_of_an_hour_in_which_nothing_arrives_is_not_taken_as_none() -> None:
    built = deferred()
    day = built.case.workload("late").demand[0]
    with_input = DemandDay(day_type="day", output_tps=day.output_tps, input_tps=tuple(10 * tps for tps in day.output_tps))
    unknown = recased(built, workloads=change(built.case.workloads, lambda row: row.workload == "late", demand=(with_input,)))
    result = audit(unknown)
    assert any("hour 2, in which none arrives, so its input tokens are not known" in text for text in result.violations)
    assert not any("hour 23, in which none arrives" in text for text in result.violations)
