"""What limits and headroom are worth, against costs worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from optimizer.domain.case import Case
from optimizer.studies.headroom import cost_of_headroom
from optimizer.studies.resolve import Clock, Reference, sharpen
from optimizer.studies.worth import Worth, worth_of_limits
from tests.studies.cases import NEWSVENDOR, PEAK, case, offer, replicas, solved_plan, workload

LONG = 600.0
HELD = offer("held", held_usd_per_node_h=2.0)
ON_DEMAND = offer("od", "on_demand", used_usd_per_node_h=4.5)
#: $12 an hour for the tok/s of one replica.
API = {"api": "cloud", "output_usd_per_mtok": 12 / (2400 * 0.0036), "max_output_tps": 2400.0}


def worths(given: Case, reference: Reference | None = None, seconds: float = LONG) -> dict[str, Worth]:
    candidates, plan = solved_plan(given)
    known = reference or Reference(plan.cost.total, plan.bound_usd_per_day)
    return {row.words: row for row in worth_of_limits(given, candidates, plan.decision, known, Clock.of(seconds))}


def headrooms(given: Case) -> dict[str, Worth]:
    _, plan = solved_plan(given)
    rows = cost_of_headroom(given, Reference(plan.cost.total, plan.bound_usd_per_day), Clock.of(LONG))
    assert all(row.removed for row in rows)
    return {row.words: row for row in rows}


def test_one_more_node_on_demand() -> None:
    """One node on demand and an API for one replica: $450; a second node on demand brings it to $438."""
    given = case(
        replicas(*NEWSVENDOR), Offers=[HELD, {**ON_DEMAND, "max_nodes": 1}], Workloads=[workload(api="cloud")], ApiPrices=[API]
    )
    found = worths(given)
    row = found["+1 node of offer od"]
    assert (row.limit, row.amount, row.unit, row.found) == ("max_nodes", 1, "nodes", "re-solved")
    assert row.usd_per_day == pytest.approx(438 - 450)
    assert (row.least_usd_per_day, row.most_usd_per_day) == pytest.approx((-12, -12))
    assert not any("cloud" in words for words in found)  # the API is not used, so its limit does not bind


def test_one_per_cent_more_demand() -> None:
    """Whole replicas are full, so 1 % more takes one more in every hour: $48."""
    row = worths(case(replicas(*NEWSVENDOR), Offers=[HELD, ON_DEMAND]))["1 % more demand of chat"]
    assert (row.amount, row.unit) == (pytest.approx(240), "tok/s")
    assert row.usd_per_day == pytest.approx(48)


@pytest.mark.parametrize(("site", "words", "amount", "unit", "change"), [
    ({"total_kw": 71.5}, "+1 kW at site dc", 1, "kW", 0),
    ({"total_kw": 71.5}, "+14.3 kW at site dc", 14.3, "kW", -240),
    ({"total_kw": 80.0}, "+5.8 kW at site dc", 5.8, "kW", -240),
    ({"racks": 1, "slots_per_rack": 5}, "+1 rack at site dc", 1, "racks", -240),
    ({"racks": 1, "slots_per_rack": 5}, "6 nodes per rack at site dc instead of 5", 1, "nodes per rack", -240),
])
def test_a_site(site: dict[str, Any], words: str, amount: float, unit: str, change: float) -> None:
    """Six nodes are needed, five fit the site at $20, one is on demand at $30."""
    given = case(
        PEAK, Offers=[offer("own", "owned", site="dc"), offer("od", "on_demand")], Sites=[{"site": "dc", **site}],
    )
    row = worths(given)[words]
    assert (row.amount, row.unit, row.usd_per_day, row.site) == (pytest.approx(amount), unit, pytest.approx(change), "dc")


def test_a_kw_that_no_node_fits_into_is_worth_nothing_without_a_solve() -> None:
    given = case(PEAK, Offers=[offer("own", "owned", site="dc", max_nodes=9), offer("od", "on_demand")],
                 Sites=[{"site": "dc", "total_kw": 71.5, "racks": 9, "kw_per_rack": 20.0}])
    found = worths(given, seconds=0.0)
    kw = found["+1 kW at site dc"]
    assert (kw.found, kw.usd_per_day, kw.amount) == ("no node fits into it", 0.0, pytest.approx(1))
    assert found["+14.3 kW at site dc"].found == "not computed: time"
    assert "28.6 kW per rack at site dc instead of 20" in found


def test_a_site_with_room_is_not_listed() -> None:
    given = case(PEAK, Offers=[offer("own", "owned", site="dc")], Sites=[{"site": "dc", "total_kw": 200.0, "racks": 9}])
    assert set(worths(given)) == {"1 % more demand of chat"}


def test_a_lot_is_the_unit_of_an_offer_sold_in_lots() -> None:
    """Lots of 2, at most 5: four are held; two more replace two on demand, $240 each."""
    row = worths(case(PEAK, Offers=[offer(lot_nodes=2, max_nodes=5), offer("od", "on_demand")]))["+1 node of offer flat"]
    assert (row.amount, row.usd_per_day) == (1, pytest.approx(-480))


def test_the_cap_of_an_offer_that_something_else_keeps_out_is_not_listed() -> None:
    found = worths(case(PEAK, Offers=[offer(max_nodes=6), offer("slow", max_nodes=1, lot_nodes=1, lead_weeks=52)]))
    assert {row.what for row in found.values()} == {"offer flat", "workload chat"}


def test_what_the_proof_leaves_open_is_not_claimed() -> None:
    """One more node saves $40. Proven to $30 it is known to save $10 at least; proven to $80 it may be nothing."""
    given = case(PEAK, Offers=[offer(max_nodes=5), offer("od", "on_demand", used_usd_per_node_h=20 + 40 / 24)])
    cost = 5 * 480 + 520.0
    known = worths(given, Reference(cost, cost - 30))["+1 node of offer flat"]
    assert (known.usd_per_day, known.least_usd_per_day, known.most_usd_per_day) == pytest.approx((-40, -40, -10))
    unknown = worths(given, Reference(cost, cost - 80))["+1 node of offer flat"]
    assert unknown.found == "LP price"
    assert (unknown.least_usd_per_day, unknown.most_usd_per_day) == pytest.approx((-40, 0))


def test_a_loose_proof_is_sharpened() -> None:
    given = case(PEAK)
    assert sharpen(given, Reference(2880.0, 2000.0), LONG) == Reference(2880.0, 2880.0)
    assert sharpen(given, Reference(3360.0, 2000.0), LONG) == Reference(2880.0, 2880.0)
    assert sharpen(given, Reference(3360.0, 2000.0), 0.0) == Reference(3360.0, 2000.0)


def test_more_demand_than_there_is_capacity() -> None:
    row = worths(case(replicas(*[6] * 24), Offers=[offer(max_nodes=6)]))["1 % more demand of chat"]
    assert (row.found, row.usd_per_day) == ("no plan", None)


def test_without_time_nothing_is_claimed() -> None:
    given = case(PEAK, Offers=[offer(max_nodes=6)])
    rows = worths(given, seconds=0.0)
    assert {row.found for row in rows.values()} == {"not computed: time"}
    assert {row.usd_per_day for row in rows.values()} == {None}


def test_the_cost_of_each_headroom_rule() -> None:
    """A spare replica in every hour is held all day: $48 of $486."""
    given = case(
        replicas(*NEWSVENDOR), Offers=[HELD, ON_DEMAND], Contingencies=[{"contingency": "n+1", "replicas_lost": 1}],
        Pools=[{"pool": "chat", "kind": "interactive", "min_live": 3}],
    )
    found = headrooms(given)
    assert found["do without contingency n+1"].usd_per_day == pytest.approx(438 - 486)
    assert found["live replicas of pool chat at least 0 instead of 3"].usd_per_day == 0.0


def test_the_cost_of_occupancy_burst_and_rollout() -> None:
    """12,000 tok/s are 5 replicas; occupancy of a half makes them 10 (and 15 with a burst of 1.5, 23 with half of them more)."""
    given = case(
        [12_000.0] * 24, Workloads=[workload(burst_factor=1.5)],
        Pools=[{"pool": "chat", "kind": "interactive", "occupancy_frac": 0.5, "rollout_frac": 0.5}],
    )
    found = headrooms(given)
    assert {words: row.usd_per_day for words, row in found.items()} == {
        "burst factor of chat 1 instead of 1.5": pytest.approx((15 - 23) * 480),
        "occupancy of pool chat 100 % instead of 50 %": pytest.approx((12 - 23) * 480),  # 7.5 are 8, and half of them more
        "rollout of pool chat 0 % instead of 50 %": pytest.approx((15 - 23) * 480),
    }


def test_one_point_of_headroom() -> None:
    """12,000 of 6 x 2,400 x 0.83 = 11,952 do not fit; at 84 % they do."""
    given = case([12_000.0] * 24, Pools=[{"pool": "chat", "kind": "interactive", "occupancy_frac": 0.83}])
    row = worths(given)["occupancy of pool chat 84 % instead of 83 %"]
    assert (row.amount, row.unit, row.usd_per_day) == (pytest.approx(1), "% of goodput", pytest.approx(-480))


def test_a_share_of_spot() -> None:
    """One of two full replicas may be on spot, at $9 instead of $20, once half of the tok/s may be."""
    given = case(
        replicas(*[2] * 24), Offers=[offer(), offer("spot", "spot")],
        Pools=[{"pool": "chat", "kind": "interactive", "spot_max_frac": 0.49}],
    )
    row = worths(given)["allow 1 % more of pool chat on spot"]
    assert row.usd_per_day == pytest.approx(24 * (9 - 20))


def test_what_may_wait_is_headroom() -> None:
    """2,400 x 2 tok/s need 6 replicas where 1 % may wait (6 x 0.43175 = 2.59, 5 carry 1.88), and 2 where all may."""
    given = case(replicas(*[2] * 24), Pools=[{"pool": "chat", "kind": "interactive", "occupancy_frac": "auto"}])
    row = headrooms(given)["100 % instead of 1 % of the requests of pool chat may wait"]
    assert row.usd_per_day == pytest.approx((2 - 6) * 480)
