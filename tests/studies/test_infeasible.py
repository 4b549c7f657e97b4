"""Cases without a plan: what is missing and what loosening one limit costs, by hand."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from optimizer.candidates.enumerate import find_candidates
from optimizer.domain.case import Case
from optimizer.milp.solve import solve_case
from optimizer.plan.plan import InfeasibleLimit
from optimizer.studies.infeasible import explain
from tests.studies.cases import PEAK, case, goodput, offer, replicas, workload

BUDGET_S = 600.0
NODE_DAY = 20.0 * 24
OWNED = offer("own", "owned", site="dc")
API = {"api": "cloud", "model": "m", "output_usd_per_mtok": 10.0}
USD_PER_TPS_H = 0.036


def rows(given: Case) -> list[InfeasibleLimit]:
    candidates = find_candidates(given)
    assert solve_case(given, candidates).status == "infeasible"
    return list(explain(given, candidates, budget_s=BUDGET_S))


def the(found: list[InfeasibleLimit], limit: str) -> InfeasibleLimit:
    matching = [row for row in found if row.limit == limit]
    assert len(matching) == 1, [row.limit for row in found]
    return matching[0]


@pytest.mark.parametrize(("site", "limit", "missing", "unit", "words"), [
    ({"total_kw": 71.5}, "total_kw", 14.3, "kW", "+14.3 kW at site dc"),
    ({"total_kw": 80.0}, "total_kw", 5.8, "kW", "+5.8 kW at site dc"),
    ({"total_kw": 100.0, "pue": 1.2}, "total_kw", 6 * 14.3 * 1.2 - 100, "kW", "+2.96 kW at site dc"),
    ({"racks": 1, "slots_per_rack": 4}, "racks", 1, "racks", "+1 rack at site dc"),
    ({"racks": 1, "slots_per_rack": 4}, "slots_per_rack", 2, "nodes per rack", "6 nodes per rack at site dc instead of 4"),
    ({"racks": 3, "kw_per_rack": 20.0}, "kw_per_rack", 8.6, "kW per rack", "28.6 kW per rack at site dc instead of 20"),
    ({"racks": 3, "kw_per_rack": 20.0}, "racks", 3, "racks", "+3 racks at site dc"),
])
def test_a_site_that_is_too_small(site: dict[str, Any], limit: str, missing: float, unit: str, words: str) -> None:
    """Six owned nodes of 14.3 kW are needed."""
    row = the(rows(case(PEAK, Offers=[OWNED], Sites=[{"site": "dc", **site}])), limit)
    assert (row.site, row.unit, row.relaxation) == ("dc", unit, words)
    assert row.missing == pytest.approx(missing)
    assert row.usd_per_day == pytest.approx(6 * NODE_DAY)


def test_racks_and_power_that_must_be_loosened_together() -> None:
    found = rows(case(PEAK, Offers=[OWNED], Sites=[{"site": "dc", "racks": 1, "slots_per_rack": 4, "total_kw": 57.2}]))
    site = [row for row in found if row.site == "dc"]
    assert {row.limit for row in site} in ({"racks", "total_kw"}, {"slots_per_rack", "total_kw"})
    power = the(found, "total_kw")
    assert power.missing == pytest.approx(28.6)
    assert power.relaxation.startswith("+28.6 kW at site dc, together with ")
    assert [row.usd_per_day for row in site] == pytest.approx([6 * NODE_DAY] * 2)


def test_lots_are_respected() -> None:
    """At most 6 nodes in lots of 4 are 4; 6 are needed, so 8 must be allowed: 2 more than 6."""
    row = the(rows(case(PEAK, Offers=[offer(lot_nodes=4, max_nodes=6)])), "max_nodes")
    assert (row.missing, row.unit, row.relaxation) == (2, "nodes", "+2 nodes of offer flat")
    assert row.usd_per_day == pytest.approx(8 * NODE_DAY)


def test_a_search_over_several_lots_ends_on_the_least() -> None:
    """Lots of 4, 10 allowed are 8; 15 replicas need 16: 6 more than 10."""
    row = the(rows(case(replicas(*[15] * 24), Offers=[offer(lot_nodes=4, max_nodes=10)])), "max_nodes")
    assert (row.missing, row.usd_per_day) == (6, pytest.approx(16 * NODE_DAY))


def test_an_elastic_offer_names_the_hours() -> None:
    """Two on demand all day, three from 13:00 to 16:00."""
    demand = replicas(*[2] * 13, 3, 3, 3, rest=2)
    found = rows(case(demand, Offers=[offer("od", "on_demand", max_nodes=2)]))
    row = the(found, "max_nodes")
    assert (row.missing, row.hour, row.day_type) == (1, 13, "day")
    assert row.relaxation == "+1 node of offer od 13:00-16:00"
    assert row.usd_per_day == pytest.approx((21 * 2 + 3 * 3) * 30)
    nodes = the(found, "nodes")
    assert (nodes.missing, nodes.unit, nodes.hour) == (1, "nodes of b300x8", 13)


OVER = replicas(*[2] * 13, 2.5, 2.5, 2.5, rest=2)


def test_api_overflow_names_the_hours() -> None:
    """Two nodes at most; 1,200 of 6,000 tok/s are over them in three hours: 20 %, and 10 % are allowed."""
    given = case(OVER, Offers=[offer(max_nodes=2)], Workloads=[workload(api="cloud", api_max_frac=0.1)], ApiPrices=[API])
    row = the(rows(given), "api_max_frac")
    assert row.missing == pytest.approx(10.0, abs=1e-3)
    assert row.relaxation == "allow 10 % more API overflow of chat 13:00-16:00"
    assert row.usd_per_day == pytest.approx(2 * NODE_DAY + 3 * 1200 * USD_PER_TPS_H)


def test_an_api_that_was_not_allowed_at_all() -> None:
    found = rows(case(OVER, Offers=[offer(max_nodes=2)], ApiPrices=[API, {**API, "api": "other model", "model": "n"}]))
    row = the(found, "api_max_frac")
    assert row.missing == pytest.approx(20.0, abs=1e-3)
    assert row.relaxation == "allow 20 % API overflow of chat to cloud 13:00-16:00"
    assert row.usd_per_day == pytest.approx(2 * NODE_DAY + 3 * 1200 * USD_PER_TPS_H)
    demand = the(found, "demand")
    assert (demand.missing, demand.unit, demand.hour) == (pytest.approx(1200), "tok/s", 13)
    assert found[0] == min((r for r in found if r.usd_per_day is not None and r.limit != "demand"), key=lambda r: r.usd_per_day)


@pytest.mark.parametrize(("limit", "value", "taken", "words"), [
    ("max_output_tps", 800.0, 1200.0, "+400 output tok/s at API cloud 13:00-16:00"),
    ("max_input_tps", 4800.0, 7200.0, "+2,400 input tok/s at API cloud 13:00-16:00"),
    ("max_total_tps", 5600.0, 8400.0, "+2,800 tok/s in all at API cloud 13:00-16:00"),
    ("max_rpm", 96.0, 144.0, "+48 requests per minute at API cloud 13:00-16:00"),
])
def test_an_api_limit(limit: str, value: float, taken: float, words: str) -> None:
    """1,200 tok/s of requests of 3,000 + 500 tokens go to the API in three hours."""
    shape = {"input_tokens": 3000, "output_tokens": 500}
    given = case(
        OVER, Offers=[offer(max_nodes=2)], Workloads=[workload(api="cloud", **shape)],
        Goodput=[{**goodput("B300", 2400.0), **shape}], ApiPrices=[{**API, limit: value}],
    )
    row = the(rows(given), limit)
    assert row.missing == pytest.approx(taken - value, rel=1e-4)
    assert row.relaxation == words
    assert row.usd_per_day == pytest.approx(2 * NODE_DAY + 3 * 1200 * USD_PER_TPS_H)


def test_a_bad_day_is_dropped() -> None:
    given = case(PEAK, Offers=[offer(max_nodes=6)], Contingencies=[{"contingency": "n+1", "replicas_lost": 1}])
    found = rows(given)
    dropped, more = the(found, "contingency"), the(found, "max_nodes")
    assert (dropped.relaxation, dropped.usd_per_day) == ("do without contingency n+1", pytest.approx(6 * NODE_DAY))
    assert (more.missing, more.usd_per_day) == (1, pytest.approx(7 * NODE_DAY))
    assert found.index(dropped) < found.index(more)


@pytest.mark.parametrize(("pool", "contingency", "limit", "missing", "words"), [
    # 6 live and 25 % surge are 8; 7 are 16 %.
    ({"rollout_frac": 0.25}, {}, "rollout_frac", 9, "rollout of pool chat 16 % instead of 25 %"),
    ({"min_live": 9}, {}, "min_live", 2, "live replicas of pool chat at least 7 instead of 9"),
    # 7 x 2,400 x 0.762 is the first thousandth that serves 12,800.
    ({"occupancy_frac": 0.5}, {}, "occupancy_frac", 26.2, "occupancy of pool chat 76.2 % instead of 50 %"),
    # Seven must be busy 0.76190 of the time, at which 17.798 % wait.
    ({"occupancy_frac": "auto"}, {}, "wait_prob_max_frac", 16.8, "17.8 % instead of 1 % of the requests of pool chat may wait"),
    # 16,800 are 131.25 % of 12,800.
    ({}, {"demand_surge_frac": 0.5}, "demand_surge_frac", 18.8, "a surge of 31.2 % instead of 50 % in contingency bad day"),
    ({}, {"replicas_lost": 3}, "replicas_lost", 2, "1 instead of 3 replicas lost in contingency bad day"),
])
def test_headroom_is_loosened_no_more_than_needed(
    pool: dict[str, Any], contingency: dict[str, Any], limit: str, missing: float, words: str
) -> None:
    """Seven nodes at most."""
    given = case(
        PEAK, Offers=[offer(max_nodes=7)], Pools=[{"pool": "chat", "kind": "interactive", **pool}],
        Contingencies=[{"contingency": "bad day", **contingency}] if contingency else [],
    )
    row = the(rows(given), limit)
    assert row.missing == pytest.approx(missing)
    assert row.relaxation == words
    assert row.pool == "chat"
    assert row.usd_per_day == pytest.approx(7 * NODE_DAY)


def test_spot_that_was_not_allowed() -> None:
    """Six replicas, at most 4 of them reserved: a third must be on spot at $9."""
    found = rows(case(replicas(*[6] * 24), Offers=[offer(max_nodes=4), offer("spot", "spot")]))
    row = the(found, "spot_max_frac")
    assert row.missing == pytest.approx(100 / 3, abs=1)
    assert row.usd_per_day == pytest.approx(4 * NODE_DAY + 2 * 9 * 24)


def test_an_offer_that_is_too_late() -> None:
    """Nothing else sells the node type, so nothing serves the pool before the solver starts."""
    found = rows(case(PEAK, Offers=[offer("slow", lead_weeks=52)]))
    row = the(found, "lead_weeks")
    assert row.relaxation == "offer slow although it had to be ordered by 2026-01-02 (331 days ago)"
    assert (row.missing, row.unit, row.usd_per_day) == (331, "days", pytest.approx(6 * NODE_DAY))
    assert "TOO_LATE" in the(found, "options").relaxation


def test_a_provider_that_the_policy_leaves_out() -> None:
    given = case(PEAK, Offers=[offer(provider="far")], Policy=[{"key": "providers", "value": "near"}])
    row = the(rows(given), "providers")
    assert (row.relaxation, row.usd_per_day) == ("allow provider far", pytest.approx(6 * NODE_DAY))


def test_a_workload_without_any_option_says_why() -> None:
    row = the(rows(case(PEAK, Goodput=[], Workloads=[workload(api="cloud", api_max_frac=0.5)], ApiPrices=[API])), "options")
    assert (row.pool, row.missing, row.unit) == ("chat", 6400, "tok/s")
    assert "NO_GOODPUT" in row.relaxation


def test_nothing_to_loosen_asks_for_more_offers() -> None:
    """On demand is sold in half of the hours only, and nothing else is sold."""
    found = rows(case(PEAK, Offers=[offer("od", "on_demand", hours="0-12")]))
    row = the(found, "nodes")
    assert (row.missing, row.unit, row.hour) == (6, "nodes of b300x8", 12)
    assert row.relaxation.startswith("add offers: ")
    assert row.relaxation.endswith("it takes 6 nodes of b300x8 more")


def test_time_that_runs_out_is_no_error() -> None:
    given = case(PEAK, Offers=[offer(max_nodes=5)])
    found = explain(given, find_candidates(given), budget_s=0.0)
    assert len(found) == 1
    assert found[0].limit == "commitments"
    assert found[0].usd_per_day is None


def test_a_start_that_leaves_no_time_to_order() -> None:
    """Today is 2026-11-29, the plan starts on 2027-01-01: 33 days. Six weeks of lead are 42, so nine days later will do."""
    found = rows(case(PEAK, Offers=[offer("slow", lead_weeks=6), offer("slower", lead_weeks=52)]))
    row = the(found, "start_date")
    assert row.relaxation == "start on 2027-01-10 instead of 2027-01-01 (Policy start_date)"
    assert (row.missing, row.unit, row.usd_per_day) == (9, "days", pytest.approx(6 * NODE_DAY))


def test_a_start_in_the_past() -> None:
    policy = [{"key": "gap", "value": 0.0}, {"key": "start_date", "value": datetime.date(2026, 10, 1)}]
    found = rows(case(PEAK, Offers=[offer()], Policy=policy))
    row = the(found, "start_date")
    assert row.relaxation == "start on 2026-11-29 instead of 2026-10-01 (Policy start_date)"
    assert not any(other.limit == "demand" for other in found)  # to serve nothing is a plan, and no advice
    assert row.usd_per_day == pytest.approx(6 * NODE_DAY)


def test_memory_set_aside_that_leaves_no_room() -> None:
    """2,307.2 GB of eight GPUs hold 2,215.2 of weights and 1 of a sequence once no more than 3.94 % is set aside."""
    models = [{"model": "m", "precision": "fp8", "weights_gb": 2215.2, "kv_gb_per_seq": 1.0}]
    found = rows(case(PEAK, Models=models))
    row = the(found, "overhead_frac")
    assert row.relaxation == "3.9 % instead of 10 % of GPU memory set aside (Policy overhead_frac)"
    assert (row.missing, row.unit, row.usd_per_day) == (pytest.approx(6.1), "% of GPU memory", pytest.approx(6 * NODE_DAY))
    assert "WEIGHTS_DO_NOT_FIT" in the(found, "options").relaxation


def quota(**fields: Any) -> dict[str, Any]:
    return {"pool": "chat", "kind": "interactive", "fixed_nodes": 2, "fixed_node_type": "h200x8", **fields}


@pytest.mark.parametrize("others", [[], [offer("h spot", "spot", node_type="h200x8")]])
def test_a_quota_of_a_type_that_nothing_sells(others: list[dict[str, Any]]) -> None:
    found = rows(case(PEAK, Pools=[quota()], Offers=[offer(), *others]))
    told, dropped = [row for row in found if row.limit == "fixed_nodes"]
    assert (told.pool, told.missing, told.unit, told.usd_per_day) == ("chat", 2, "nodes of h200x8", None)
    assert told.relaxation is not None and "no offer sells h200x8" in told.relaxation and "fixed_node_type" in told.relaxation
    assert dropped.relaxation == "standing quota of pool chat 0 instead of 2 nodes"
    assert dropped.usd_per_day == pytest.approx(6 * NODE_DAY)


def test_a_quota_that_is_sold_too_late_says_so() -> None:
    late = offer("h", node_type="h200x8", lead_weeks=52)
    found = rows(case(PEAK, Pools=[quota()], Offers=[offer(), late]))
    told = next(row for row in found if row.limit == "fixed_nodes" and row.usd_per_day is None)
    assert told.relaxation is not None and "TOO_LATE" in told.relaxation
    assert the(found, "start_date").usd_per_day == pytest.approx(8 * NODE_DAY)


def test_a_quota_beyond_a_cap_is_a_matter_of_the_cap() -> None:
    found = rows(case(PEAK, Pools=[quota()], Offers=[offer(), offer("h", node_type="h200x8", max_nodes=1)]))
    assert the(found, "max_nodes").usd_per_day == pytest.approx(8 * NODE_DAY)
    assert all(row.usd_per_day is not None for row in found if row.limit == "fixed_nodes")
