"""Bad days that take nodes first: what is left is given out anew in whole replicas. Figures worked out by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from optimizer.candidates.option import Candidates
from optimizer.domain.hardware import NodeType
from optimizer.domain.market import Offer
from optimizer.domain.measurement import GoodputRow
from optimizer.domain.workload import Contingency
from optimizer.plan.audit_badday import check_bad_days, replay_bad_days
from optimizer.plan.index import PlanIndex
from tests.plan.builders import case, decision, goodput, node_type, offer, option, replicas, workload

G8 = node_type()
WHOLE, HALF = goodput(100.0, 8), goodput(60.0, 4)


def planned(
    demand: Mapping[str, float],
    counts: Iterable[tuple[str, GoodputRow, int, int]],
    offers: Iterable[Offer],
    used: Mapping[str, int],
    *,
    held: Mapping[str, int] | None = None,
    node: NodeType = G8,
    **bad_day: Any,
) -> PlanIndex:
    """Hour 0 of pools with their demand; (pool, measured row, firm live, spot live) each; nodes used and held by offer."""
    listed = list(counts)
    options = tuple(option(pool, {pool: row}, node) for pool, row, _, _ in listed)
    built = case(
        workloads=[workload(name, [tps] + [0.0] * 23) for name, tps in demand.items()],
        contingencies=[Contingency(**{"contingency": "bad", "pools": tuple(demand), **bad_day})],
        node_types=[node],
        goodput_rows=[row for _, row, _, _ in listed],
        offers=offers,
    )
    made = decision(
        new=held or {},
        used={("day", 0, name): nodes for name, nodes in used.items()},
        replicas=[
            replicas("day", 0, chosen, firm + spot, spot_live=spot)
            for chosen, (_, _, firm, spot) in zip(options, listed, strict=True)
        ],
    )
    return PlanIndex(built, Candidates(options=options, offers=built.offers), made)


def margins(index: PlanIndex) -> dict[str, float]:
    return {row.pool: row.margin_tps for row in replay_bad_days(index)}


OD, RES = offer("od", "on_demand", provider="p", region="r"), offer("res", site="dc")


def test_half_of_the_on_demand_nodes_and_idle_held_ones_stay() -> None:
    """floor(0.5 x 5) = 2 on-demand and 1 idle held node: 3 replicas of 100."""
    terms: dict[str, Any] = {"held": {"res": 1}, "on_demand_obtainable_frac": 0.5}
    assert margins(planned({"a": 300.0}, [("a", WHOLE, 5, 0)], [OD, RES], {"od": 5}, **terms)) == {
        "a": pytest.approx(0.0, abs=1e-4)
    }
    index = planned({"a": 310.0}, [("a", WHOLE, 5, 0)], [OD, RES], {"od": 5}, **terms)
    (message,) = check_bad_days(index)
    assert message == (
        "contingency bad, pool a, day hour 0: after losing 50% of the on-demand nodes the rest is 10 tok/s short of 310 tok/s"
    )


def test_a_share_is_forgiven_rounding() -> None:
    """0.28 x 25 nodes are 7 (7.000000000000001), 0.29 x 100 are 29 (28.999999999999996)."""
    for frac, nodes, left in ((0.28, 25, 7), (0.29, 100, 29)):
        index = planned({"a": 100.0}, [("a", WHOLE, nodes, 0)], [OD], {"od": nodes}, on_demand_obtainable_frac=frac)
        assert margins(index) == {"a": pytest.approx(left * 100.0 - 100.0)}


def test_nodes_that_are_left_may_be_given_out_in_another_size() -> None:
    """Three nodes hold three replicas of 100 or six of 60."""
    counts = [("a", WHOLE, 6, 0), ("a", HALF, 0, 0)]
    index = planned({"a": 300.0}, counts, [OD], {"od": 6}, on_demand_obtainable_frac=0.5)
    assert margins(index) == {"a": pytest.approx(60.0)}


def test_then_replicas_are_lost_of_any_one_option() -> None:
    """On three nodes: two whole and two half leave 220, three whole 200, six half 300, which is best."""
    counts = [("a", WHOLE, 6, 0), ("a", HALF, 0, 0)]
    index = planned({"a": 250.0}, counts, [OD], {"od": 6}, on_demand_obtainable_frac=0.5, replicas_lost=1)
    assert margins(index) == {"a": pytest.approx(50.0)}
    node_too = planned({"a": 250.0}, counts, [OD], {"od": 6}, on_demand_obtainable_frac=0.5, nodes_lost=1)
    # Losing a node takes one whole replica or two half ones: six half leave 240, three whole 200.
    assert margins(node_too) == {"a": pytest.approx(240.0 - 250.0)}


def test_a_share_of_what_is_given_out_is_lost() -> None:
    """Five whole replicas, of which ceil(0.3 x 5) = 2 are lost."""
    index = planned({"a": 300.0}, [("a", WHOLE, 9, 0)], [OD], {"od": 10}, on_demand_obtainable_frac=0.5, replicas_lost_frac=0.3)
    assert margins(index) == {"a": pytest.approx(0.0, abs=1e-4)}


def test_pools_share_what_is_left() -> None:
    """One node is left for both: two replicas of 4 GPUs serve 60 each; replicas of 8 GPUs would leave one pool with nothing."""
    both = {"a": 60.0, "b": 60.0}
    small = planned(both, [("a", HALF, 2, 0), ("b", HALF, 2, 0)], [OD], {"od": 2}, on_demand_obtainable_frac=0.5)
    assert margins(small) == {"a": pytest.approx(0.0, abs=1e-4), "b": pytest.approx(0.0, abs=1e-4)}
    large = planned(both, [("a", WHOLE, 1, 0), ("b", WHOLE, 1, 0)], [OD], {"od": 2}, on_demand_obtainable_frac=0.5)
    assert min(margins(large).values()) == pytest.approx(-60.0)


def test_pools_that_are_not_named_get_none_of_it() -> None:
    index = planned(
        {"a": 100.0, "b": 100.0}, [("a", WHOLE, 1, 0), ("b", WHOLE, 1, 0)], [OD], {"od": 2},
        pools=("a",), on_demand_obtainable_frac=0.5,
    )  # fmt: skip
    assert margins(index) == {"a": pytest.approx(0.0, abs=1e-4)}


def test_any_one_zone_is_lost() -> None:
    """Three nodes at the site and two elsewhere: losing the site leaves 200."""
    offers, used, held = [OD, RES], {"od": 2, "res": 3}, {"res": 3}
    index = planned({"a": 200.0}, [("a", WHOLE, 5, 0)], offers, used, held=held, scope="zone")
    assert margins(index) == {"a": pytest.approx(0.0, abs=1e-4)}
    index = planned({"a": 220.0}, [("a", WHOLE, 5, 0)], offers, used, held=held, scope="zone", replicas_lost=1)
    (message,) = check_bad_days(index)
    assert "after losing all nodes of site dc and then 1 of m|fp8|g8|8|| the rest is 120 tok/s short" in message


def test_offers_of_one_provider_and_region_are_one_zone() -> None:
    second = offer("od2", "on_demand", provider="p", region="r")
    elsewhere = offer("od3", "on_demand", provider="p", region="s")
    one = planned({"a": 100.0}, [("a", WHOLE, 2, 0)], [OD, second], {"od": 1, "od2": 1}, scope="zone")
    assert margins(one) == {"a": pytest.approx(-100.0)}
    two = planned({"a": 100.0}, [("a", WHOLE, 2, 0)], [OD, elsewhere], {"od": 1, "od3": 1}, scope="zone")
    assert margins(two) == {"a": pytest.approx(0.0, abs=1e-4)}


def test_idle_held_nodes_of_another_zone_step_in() -> None:
    index = planned({"a": 200.0}, [("a", WHOLE, 2, 0)], [OD, RES], {"od": 2}, held={"res": 2}, scope="zone")
    assert margins(index) == {"a": pytest.approx(0.0, abs=1e-4)}
    closed = offer("res", site="dc", hours=frozenset({5}))
    index = planned({"a": 200.0}, [("a", WHOLE, 2, 0)], [OD, closed], {"od": 2}, held={"res": 2}, scope="zone")
    assert margins(index) == {"a": pytest.approx(-200.0)}


def test_spot_nodes_of_the_zone_go_with_it() -> None:
    """Two spot nodes in one zone, one in another, and a firm node in the first: the worst leaves one spot replica, or none."""
    spot, other = offer("s1", "spot", provider="p", region="r"), offer("s2", "spot", provider="p", region="s")
    used = {"od": 1, "s1": 2, "s2": 1}
    index = planned({"a": 100.0}, [("a", WHOLE, 1, 3)], [OD, spot, other], used, scope="zone")
    assert margins(index) == {"a": pytest.approx(0.0, abs=1e-4)}
    index = planned({"a": 100.0}, [("a", WHOLE, 1, 3)], [OD, spot, other], used, scope="zone", spot_lost_frac=1.0)
    assert margins(index) == {"a": pytest.approx(-100.0)}


def test_spot_replicas_do_not_move_to_firm_nodes_nor_grow() -> None:
    spot = offer("s1", "spot", provider="p", region="r")
    index = planned({"a": 100.0}, [("a", WHOLE, 2, 1)], [OD, spot], {"od": 2, "s1": 4}, on_demand_obtainable_frac=0.5)
    assert margins(index) == {"a": pytest.approx(200.0 - 100.0)}


def test_a_replica_over_several_nodes_needs_them_in_one_place() -> None:
    """Two nodes at the site, one in each of two regions: without the site no place has two."""
    spanning = goodput(100.0, 16)
    g8 = node_type(replica_span_gpus=16)
    offers = [OD, offer("od2", "on_demand", provider="p", region="s"), RES]
    index = planned(
        {"a": 50.0}, [("a", spanning, 1, 0)], offers, {"od": 1, "od2": 1, "res": 2}, held={"res": 2}, node=g8, scope="zone"
    )
    assert margins(index) == {"a": pytest.approx(-50.0)}


def test_without_any_node_there_is_no_zone_to_lose() -> None:
    assert margins(planned({"a": 10.0}, [("a", WHOLE, 0, 0)], [OD], {}, scope="zone")) == {"a": pytest.approx(-10.0)}
