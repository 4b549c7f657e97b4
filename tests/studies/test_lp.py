"""LP prices against closed forms, and where they stand in for re-solves."""

from __future__ import annotations

import math

import pytest

from optimizer.candidates.enumerate import find_candidates
from optimizer.domain.case import Case
from optimizer.milp.relaxation import Relaxation
from optimizer.milp.solve import solve_case
from optimizer.plan.metrics import price_plan
from optimizer.plan.plan import Baselines
from optimizer.studies import lp, worth
from optimizer.studies.entry import EntryPrice, entry_prices
from optimizer.studies.explanation import explain_plan
from optimizer.studies.headroom import cost_of_headroom
from optimizer.studies.resolve import Clock, Reference
from optimizer.studies.worth import Worth, worth_of_limits
from tests.helpers.random_dagger import random_dagger_case
from tests.studies.cases import NEWSVENDOR, PEAK, case, goodput, offer, replicas, several_pools, solved_plan, workload

LONG = 600.0
HELD = offer("held", held_usd_per_node_h=2.0)
#: Both sold without a fleet: $20 and $50 a million, the cheaper at most 5,000 tok/s.
TWO_APIS = {
    "Workloads": [workload(api="cheap;dear")], "Offers": [],
    "ApiPrices": [
        {"api": "cheap", "output_usd_per_mtok": 20.0, "max_output_tps": 5_000.0}, {"api": "dear", "output_usd_per_mtok": 50.0},
    ],
}


@pytest.fixture
def hard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every program counts as too large to be solved again."""
    monkeypatch.setattr(lp, "MANY_WHOLE", -1)


def worths(given: Case, cost: float | None = None) -> dict[str, Worth]:
    candidates, plan = solved_plan(given)
    known = Reference(plan.cost.total, plan.cost.total if cost is None else cost)
    return {row.words: row for row in worth_of_limits(given, candidates, plan.decision, known, Clock.of(LONG))}


def entries(given: Case) -> dict[str, EntryPrice]:
    candidates, plan = solved_plan(given)
    known = Reference(plan.cost.total, plan.bound_usd_per_day)
    return {row.name: row for row in entry_prices(given, candidates, plan.decision, known, Clock.of(LONG))}


# ---------------------------------------------------------------------- the relaxation


@pytest.mark.parametrize("seed", range(40))
def test_the_relaxation_costs_no_more_than_the_plan(seed: int) -> None:
    given = random_dagger_case(seed)
    candidates = find_candidates(given)
    outcome = solve_case(given, candidates, gap=0.0, time_limit_s=60.0)
    least = Relaxation(given, candidates).least_cost(time_limit_s=60.0)
    assert least is not None
    assert least <= (math.inf if outcome.cost_usd_per_day is None else outcome.cost_usd_per_day * (1 + 1e-7) + 1e-6)


def test_costs_of_the_relaxation() -> None:
    """APIs alone have no whole numbers: the relaxation is the program. Without any plan it costs more than anything."""
    given = case([6_000.0] * 24, **TWO_APIS)
    assert Relaxation(given, find_candidates(given)).least_cost(time_limit_s=60.0) == pytest.approx(
        (5_000 * 20 + 1_000 * 50) * 86_400 / 1e6
    )
    nothing = case([6_000.0] * 24, Offers=[offer(max_nodes=0)])
    assert Relaxation(nothing, find_candidates(nothing)).least_cost(time_limit_s=60.0) == math.inf
    assert Relaxation(given, find_candidates(given)).least_cost(time_limit_s=0.0) is None


# ---------------------------------------------------------------------- worth


def test_one_tok_per_s_of_an_api_is_worth_the_same_either_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A linear program: 50 tok/s more (1 % of 5,000) go to the cheaper API all day, $30 a million less."""
    given = case([6_000.0] * 24, **TWO_APIS)
    saved = 50 * 86_400 / 1e6 * (50 - 20)
    solved = worths(given)["+50 output tok/s at API cheap"]
    assert (solved.found, solved.usd_per_day) == ("re-solved", pytest.approx(-saved))
    monkeypatch.setattr(lp, "MANY_WHOLE", -1)
    priced = worths(given)["+50 output tok/s at API cheap"]
    assert (priced.found, priced.usd_per_day) == ("LP price", pytest.approx(-saved))
    assert (priced.least_usd_per_day, priced.most_usd_per_day) == (None, None)


@pytest.mark.usefixtures("hard")
def test_power_is_worth_the_nodes_that_it_would_carry() -> None:
    """Six nodes are needed, five of 14.3 kW fit into 80 kW. The relaxation holds 80 / 14.3 of them at $20 instead of $30, so
    5.8 kW are worth the rest of the sixth only. One kW is no node: that is known without any solve."""
    site = {"site": "dc", "total_kw": 80.0}
    given = case(PEAK, Offers=[offer("own", "owned", site="dc"), offer("od", "on_demand")], Sites=[site])
    found = worths(given)
    assert (found["+1 kW at site dc"].found, found["+1 kW at site dc"].usd_per_day) == ("no node fits into it", 0.0)
    row = found["+5.8 kW at site dc"]
    assert (row.found, row.usd_per_day) == ("LP price", pytest.approx(-(6 - 80 / 14.3) * 240, rel=1e-6))


@pytest.mark.usefixtures("hard")
def test_one_more_node_and_one_per_cent_more_demand() -> None:
    """The newsvendor day, of which the relaxation is exact: the ninth node costs the same as before, a full one more $48."""
    given = case(replicas(*NEWSVENDOR), Offers=[{**HELD, "max_nodes": 7}, offer("od", "on_demand", used_usd_per_node_h=4.5)])
    found = worths(given)
    hours = sum(1 for count in NEWSVENDOR if count >= 8)
    assert found["+1 node of offer held"].usd_per_day == pytest.approx(48 - 4.5 * hours)
    more = found["1 % more demand of chat"]
    assert more.found == "LP price" and more.usd_per_day is not None and more.usd_per_day > 0


@pytest.mark.usefixtures("hard")
def test_headroom_without_a_solve() -> None:
    given = case(
        replicas(*NEWSVENDOR), Offers=[HELD, offer("od", "on_demand", used_usd_per_node_h=4.5)],
        Contingencies=[{"contingency": "n+1", "replicas_lost": 1}],
    )
    _, plan = solved_plan(given)
    (row,) = cost_of_headroom(given, Reference(plan.cost.total, plan.cost.total), Clock.of(LONG))
    assert (row.found, row.removed, row.usd_per_day) == ("LP price", True, pytest.approx(-48.0))


@pytest.mark.usefixtures("hard")
def test_the_first_per_cent_on_spot_is_not_credited_with_another_shape_of_the_program() -> None:
    """N+1 on two full replicas: allowing spot tells spot replicas apart, and the relaxation of that lies lower by itself.

    Spot is not cheaper here, so it is worth nothing.
    """
    given = case(
        replicas(*[2] * 24), Offers=[offer(), offer("spot", "spot", used_usd_per_node_h=40.0)],
        Contingencies=[{"contingency": "n+1", "nodes_lost": 1}, {"contingency": "spot", "spot_lost_frac": 1}],
    )
    row = worths(given)["allow 1 % more of pool chat on spot"]
    assert (row.found, row.usd_per_day) == ("LP price", 0.0)


@pytest.mark.usefixtures("hard")
def test_no_plan_even_without_whole_numbers() -> None:
    row = worths(case(replicas(*[6] * 24), Offers=[offer(max_nodes=6)]))["1 % more demand of chat"]
    assert (row.found, row.usd_per_day) == ("no plan", None)


# ---------------------------------------------------------------------- entry


@pytest.mark.usefixtures("hard")
def test_entry_prices_without_a_solve() -> None:
    """A dearer twin joins at $20 of $25, on demand at what holding costs, one hour that saves no node at no price."""
    dear = offer("dear", held_usd_per_node_h=15.0, upfront_usd_per_node=87_600.0)
    found = entries(case(PEAK, Offers=[offer(), dear, offer("od", "on_demand")]))
    assert {row.found for row in found.values()} == {"LP price"}
    assert found["dear"].entry_usd_per_node_h == pytest.approx(20.0, rel=1e-5)
    assert found["od"].entry_usd_per_node_h == pytest.approx(20.0, rel=1e-5)
    idle = entries(case(replicas(*[6] * 24), Offers=[offer(), offer("hour", "on_demand", hours="3-4")]))["hour"]
    assert (idle.found, idle.factor, idle.entry_usd_per_node_h) == ("LP price", 0.0, 0.0)


@pytest.mark.usefixtures("hard")
def test_a_generation_joins_where_its_cheapest_offer_does() -> None:
    """An H200 node does half of a B300 node of $20, so the relaxation takes it at $10."""
    offers = [
        offer(), offer("h one", node_type="h200x8", held_usd_per_node_h=22.0),
        offer("h two", node_type="h200x8", held_usd_per_node_h=26.0),
    ]
    models = [{"model": "m", "precision": "fp8", "weights_gb": 700, "kv_gb_per_seq": 1.0}]
    rates = [goodput("B300", 2400.0), goodput("H200", 1200.0)]
    found = entries(case(replicas(*[6] * 24), Offers=offers, Models=models, Goodput=rates))
    for name, price in (("H200", 22.0), ("h one", 22.0), ("h two", 26.0)):
        assert (found[name].found, found[name].factor) == ("LP price", pytest.approx(10 / price, rel=1e-4)), name


# ---------------------------------------------------------------------- which way


def test_a_hard_case_leaves_no_row_without_a_figure() -> None:
    given = several_pools()
    assert lp.LpPrices(given).is_hard
    candidates = find_candidates(given)
    outcome = solve_case(given, candidates, gap=0.05, time_limit_s=60.0)
    told = explain_plan(given, candidates, price_plan(given, candidates, outcome, Baselines()), budget_s=LONG)
    rows = [*told.worth, *told.headroom]
    assert len(rows) >= 10 and told.entry
    assert {row.found for row in (*rows, *told.entry)} <= {"LP price", "no node fits into it"}
    assert all(row.usd_per_day is not None for row in rows)
    assert any(row.usd_per_day for row in rows)


def test_where_a_re_solve_cannot_tell_the_lp_price_stands_in_beside_what_is_proven() -> None:
    """One more node saves $40; proven to $80 only, it may save nothing."""
    given = case(PEAK, Offers=[offer(max_nodes=5), offer("od", "on_demand", used_usd_per_node_h=20 + 40 / 24)])
    row = worths(given, 5 * 480 + 520.0 - 80)["+1 node of offer flat"]
    assert (row.found, row.usd_per_day) == ("LP price", pytest.approx(-40))
    assert (row.least_usd_per_day, row.most_usd_per_day) == pytest.approx((-40, 0))


def test_rows_that_re_solves_do_not_reach_in_time_get_lp_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worth, "resolve", lambda *_, **__: None)
    given = case(PEAK, Offers=[offer(max_nodes=5), offer("od", "on_demand")])
    assert {row.found for row in worths(given).values()} == {"LP price"}
