"""$/M tokens with its denominators, gap, buy list, sites and margins, against figures worked out by hand."""

from __future__ import annotations

import datetime

import pytest

from optimizer.candidates.option import Candidates
from optimizer.domain.hardware import Site
from optimizer.domain.workload import Contingency, Pool
from optimizer.plan.metrics import full_goodput_mtok_per_day, gap_frac, order_by, price_plan, site_uses
from optimizer.plan.plan import Baselines
from tests.plan.builders import (
    HOURS,
    RICH_COST,
    START,
    case,
    change,
    decision,
    goodput,
    load,
    node_type,
    offer,
    option,
    outcome,
    replicas,
    rich,
    seed1,
    seed2,
    workload,
)

BASELINES = Baselines(all_api=1.0, all_on_demand=None, reserved_at_peak=3360.0, reserved_at_trough=2.0)


def test_seed1_costs_9_72_per_million_of_its_own_forecast() -> None:
    built = seed1()
    plan = price_plan(built.case, built.candidates, outcome(built.decision, 3360.0), BASELINES)
    assert plan.cost.total == pytest.approx(3360.0)
    assert plan.output_mtok_per_day == pytest.approx(4000 * 86_400 / 1e6)
    assert plan.usd_per_mtok.forecast == pytest.approx(3360.0 / 345.6)
    assert round(plan.usd_per_mtok.forecast or 0, 2) == 9.72
    assert plan.usd_per_mtok.fleet == plan.usd_per_mtok.forecast
    assert plan.usd_per_mtok.api is None
    assert plan.usd_per_mtok.full_goodput == pytest.approx(140.0 / (7 * 2400 * 3600 / 1e6))
    assert plan.gap_frac == 0.0
    assert [(use.site, use.nodes, use.racks, use.kw) for use in plan.sites] == [("dc", 7, 2, pytest.approx(100.1))]
    (margin,) = plan.margins
    assert (margin.contingency, margin.pool, margin.day_type, margin.hour) == ("n+1", "chat", "day", 14)
    assert margin.margin_tps == pytest.approx(7 * 2400 - 2400 - 12_800)
    (line,) = plan.purchases
    assert (line.nodes_new, line.gpus, line.node_hours_used_per_day, line.peak_nodes_used) == (7, 56, 7 * 19, 7)
    assert (line.usd_per_day, line.order_by, line.site) == (pytest.approx(3360.0), "2027-01-01", "dc")
    assert plan.baselines == BASELINES


def test_seed2_is_thirty_gpus_at_1800_a_day() -> None:
    built = seed2()
    plan = price_plan(built.case, built.candidates, outcome(built.decision, 1700.0), BASELINES)
    (line,) = plan.purchases
    assert (line.gpus, plan.cost.total) == (30, pytest.approx(1800.0))
    assert plan.gap_frac == pytest.approx(100 / 1800)
    # 11 live replicas at 60 % of 1,400 serve 9,240.
    assert plan.margins[0].margin_tps == pytest.approx(240.0)


def test_fleet_and_api_have_their_own_denominators() -> None:
    built = rich()
    plan = price_plan(built.case, built.candidates, outcome(built.decision, RICH_COST), BASELINES)
    assert plan.usd_per_mtok.forecast == pytest.approx(RICH_COST / (2800 * 0.0864))
    assert plan.usd_per_mtok.fleet == pytest.approx((RICH_COST - 216.0) / (2550 * 0.0864))
    assert plan.usd_per_mtok.api == pytest.approx(10.0)


def test_rich_buy_list() -> None:
    built = rich()
    plan = price_plan(built.case, built.candidates, outcome(built.decision, RICH_COST), BASELINES)
    lines = {line.offer: line for line in plan.purchases}
    assert list(lines) == ["res8", "own4", "od8", "spot8"]
    assert lines["res8"].upfront_usd == 730.0
    assert lines["res8"].usd_per_day == pytest.approx(480 + 24 + 2 + 57.6 + 24)
    assert (lines["own4"].nodes_new, lines["own4"].nodes_existing, lines["own4"].gpus) == (0, 2, 8)
    assert lines["own4"].order_by is None
    assert (lines["od8"].gpus, lines["od8"].node_hours_used_per_day) == (8, pytest.approx(4.0))
    assert sum(line.usd_per_day for line in plan.purchases) == pytest.approx(RICH_COST - 216.0)
    assert [(use.nodes, use.racks, use.kw) for use in plan.sites] == [(4, 2, pytest.approx(36.0))]


def test_rich_margins_scale_the_whole_forecast() -> None:
    """n+1: 2,000 s chat less 200 and 200 s code on 4 replicas: 3.4 s - 0.25 = 4, s = 1.25. Surge: 4 + 350/800 of 4.42."""
    built = rich()
    plan = price_plan(built.case, built.candidates, outcome(built.decision, RICH_COST), BASELINES)
    margins = {line.contingency: line.margin_tps for line in plan.margins}
    surge = (4 + 350 * 0.00125) / (2600 * 0.00125 + 260 * 0.0045)
    assert margins == pytest.approx({"n+1": 550.0, "spot gone": 550.0, "surge": (surge - 1) * 2860})


def test_margin_is_that_of_the_tightest_hour() -> None:
    nodes, row = node_type(), goodput(100.0, 8)
    demand = [50.0] * 24
    demand[7], demand[20] = 180.0, 195.0
    built = case(
        workloads=[workload("a", demand)],
        contingencies=[Contingency(contingency="n+1", pools=("a",), replicas_lost=1)],
        node_types=[nodes],
        goodput_rows=[row],
    )
    chosen = option("a", {"a": row}, nodes)
    made = decision(replicas=[replicas("day", hour, chosen, 3) for hour in HOURS])
    plan = price_plan(built, Candidates(options=(chosen,), offers=()), outcome(made, 0.0), Baselines())
    assert [(line.hour, line.margin_tps) for line in plan.margins] == [(20, pytest.approx(5.0))]


def test_no_tokens_no_price() -> None:
    built = case(workloads=[workload("a", [0.0] * 24)], offers=[offer("res", held_usd_per_node_h=1.0)])
    plan = price_plan(built, Candidates(options=(), offers=built.offers), outcome(decision(new={"res": 1}), 24.0), Baselines())
    assert (plan.usd_per_mtok.forecast, plan.usd_per_mtok.fleet) == (None, None)
    assert (plan.usd_per_mtok.api, plan.usd_per_mtok.full_goodput) == (None, None)


def test_full_goodput_weighs_options_by_replica_hours_and_workloads_by_replica_time() -> None:
    """Option A (4 GPUs): 300 of x at 1,000 and 100 of y at 500 take 0.5 replicas: 800 tok/s. B (8 GPUs) only stands by: 2,000.

    2 A and 1 B all day: (2 x 800 + 2,000) / 16 GPUs = 225 tok/s per GPU; 3 nodes of 8 GPUs are paid.
    """
    nodes = node_type()
    fast, slow, large = goodput(1000.0, 4), goodput(500.0, 4, input_tokens=1.0, output_tokens=1.0), goodput(2000.0, 8)
    built = case(
        workloads=[
            workload("x", [300.0] * 24, pool="p"),
            workload("y", [100.0] * 24, pool="p", input_tokens=1.0, output_tokens=1.0),
        ],
        pools=[Pool(pool="p")],
        node_types=[nodes],
        offers=[offer("res"), offer("od", "on_demand")],
    )
    a, b = option("p", {"x": fast, "y": slow}, nodes), option("p", {"x": large}, nodes)
    made = decision(
        new={"res": 2},
        used={("day", hour, name): n for hour in HOURS for name, n in (("res", 1), ("od", 1))},
        replicas=[count for hour in HOURS for count in (replicas("day", hour, a, 2), replicas("day", hour, b, 1))],
        loads=[row for hour in HOURS for row in (load("day", hour, a, "x", 200.0, 100.0), load("day", hour, a, "y", 100.0))],
    )
    candidates = Candidates(options=(a, b), offers=built.offers)
    assert full_goodput_mtok_per_day(built, candidates, made) == pytest.approx(3 * 8 * 225 * 0.0864)


def test_gap() -> None:
    assert gap_frac(100.0, 99.0) == pytest.approx(0.01)
    assert gap_frac(0.0, 0.0) == 0.0
    assert gap_frac(3360.0, 3360.0 + 1e-4) == 0.0
    with pytest.raises(ValueError, match="above the cost"):
        gap_frac(3360.0, 3361.0)


def test_outcomes_without_a_plan_are_not_priced() -> None:
    built = seed1()
    empty = outcome(built.decision, 0.0).model_copy(update={"decision": None, "status": "infeasible"})
    with pytest.raises(ValueError, match="infeasible"):
        price_plan(built.case, built.candidates, empty, Baselines())


@pytest.mark.parametrize(("lead_weeks", "days"), [(0.0, 0), (4.0, 28), (0.5, 4), (1 / 7, 1)])
def test_order_by_is_never_too_late(lead_weeks: float, days: int) -> None:
    assert order_by(offer("o", lead_weeks=lead_weeks), START) == START - datetime.timedelta(days=days)


@pytest.mark.parametrize(
    ("site", "nodes", "racks"),
    [
        (Site(site="dc", kw_per_rack=60.0, slots_per_rack=4), 7, 2),
        (Site(site="dc", kw_per_rack=40.0, slots_per_rack=4), 7, 4),
        (Site(site="dc", slots_per_rack=4), 8, 2),
        (Site(site="dc", kw_per_rack=42.9), 6, 2),
        (Site(site="dc"), 9, 1),
    ],
)
def test_racks(site: Site, nodes: int, racks: int) -> None:
    built = case(
        workloads=[workload("a", [0.0] * 24)],
        node_types=[node_type(node_kw=14.3)],
        offers=[offer("res", site="dc")],
        sites=[site],
    )
    (use,) = site_uses(built, decision(new={"res": nodes}))
    assert (use.nodes, use.racks, use.kw) == (nodes, racks, pytest.approx(nodes * 14.3))


def test_nodes_that_fit_no_rack_are_not_counted_as_none() -> None:
    built = seed1()
    tight = built.case.model_copy(update={"sites": change(built.case.sites, lambda site: True, kw_per_rack=10.0)})
    with pytest.raises(ValueError, match="fits a rack"):
        site_uses(tight, built.decision)
