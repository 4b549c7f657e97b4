"""Bad days replayed, against figures worked out by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from optimizer.candidates.option import Candidates
from optimizer.domain.market import ApiPrice
from optimizer.domain.measurement import GoodputRow
from optimizer.domain.workload import Contingency, DemandDay, Pool, Workload
from optimizer.plan.audit_badday import Replayed, replay_bad_days
from optimizer.plan.index import PlanIndex
from optimizer.plan.plan import Overflow
from tests.plan.builders import case, decision, goodput, node_type, option, overflow, replicas, workload

G8 = node_type()


def replay(
    workloads: Iterable[Workload],
    counts: Iterable[tuple[dict[str, GoodputRow], int, int]],
    *,
    apis: Iterable[ApiPrice] = (),
    overflows: Iterable[Overflow] = (),
    pool: Pool | None = None,
    others: Iterable[Workload] = (),
    **bad_day: Any,
) -> Replayed:
    """One hour (0) of pool `p`: options with (rows by workload, firm live, spot live), one bad day."""
    options = [option("p", rows, G8) for rows, _, _ in counts]
    built = case(
        workloads=[*workloads, *others],
        pools=[pool or Pool(pool="p"), Pool(pool="q")],
        contingencies=[Contingency(contingency="bad", pools=("p",), **bad_day)],
        node_types=[G8],
        goodput_rows=[row for rows, _, _ in counts for row in rows.values()],
        apis=apis,
    )
    made = decision(
        replicas=[
            replicas("day", 0, chosen, firm + spot, spot_live=spot)
            for chosen, (_, firm, spot) in zip(options, counts, strict=True)
        ],
        overflows=overflows,
    )
    (row,) = replay_bad_days(PlanIndex(built, Candidates(options=tuple(options), offers=()), made))
    return row


def hour_0(tps: float) -> list[float]:
    return [tps] + [0.0] * 23


def asks(name: str, tps: float, **fields: Any) -> Workload:
    return workload(name, hour_0(tps), pool="p", **fields)


SMALL, LARGE = goodput(100.0, 4), goodput(250.0, 8)


def test_the_worst_loss_is_the_one_that_counts() -> None:
    """3 x 100 + 2 x 250 = 800; losing one small leaves 700, one large 550."""
    row = replay([asks("a", 600.0)], [({"a": SMALL}, 3, 0), ({"a": LARGE}, 2, 0)], replicas_lost=1)
    assert (row.lost, row.lost_replicas, row.margin_tps) == ("m|fp8|g8|8||", 1, pytest.approx(-50.0))
    assert not row.survived


def test_a_node_takes_the_replicas_on_it_and_at_least_one() -> None:
    """A node of 8 holds two of 4 GPUs: 100 x 5 - 2 x 100. nodes_lost 1 and replicas_lost 1 are three."""
    assert replay([asks("a", 300.0)], [({"a": SMALL}, 5, 0)], nodes_lost=1).margin_tps == pytest.approx(0.0)
    assert replay([asks("a", 300.0)], [({"a": SMALL}, 5, 0)], nodes_lost=1, replicas_lost=1).lost_replicas == 3
    spanning = goodput(500.0, 16)
    assert replay([asks("a", 300.0)], [({"a": spanning}, 2, 0)], nodes_lost=1).margin_tps == pytest.approx(200.0)


def test_replicas_that_share_a_gpu_are_lost_together_with_the_node() -> None:
    shared = goodput(10.0, 1, replicas_per_gpu=2)
    row = replay([asks("a", 40.0)], [({"a": shared}, 20, 0)], nodes_lost=1)
    assert (row.lost_replicas, row.margin_tps) == (16, pytest.approx(0.0))


def test_a_share_of_the_replicas_is_rounded_up_and_is_at_least_replicas_lost() -> None:
    """28 % of 25 is 7 (7.000000000000001 in floating point); 29 % is 8; at least 9 where replicas_lost says so."""
    for frac, lost, expected in ((0.28, 0, 7), (0.29, 0, 8), (0.29, 9, 9)):
        row = replay([asks("a", 100.0)], [({"a": SMALL}, 25, 0)], replicas_lost_frac=frac, replicas_lost=lost)
        assert row.lost_replicas == expected
    row = replay([asks("a", 100.0)], [({"a": SMALL}, 4, 6)], spot_lost_frac=1.0, replicas_lost_frac=0.5)
    assert row.lost_replicas == 2


def test_no_more_is_lost_than_is_live() -> None:
    row = replay([asks("a", 100.0)], [({"a": SMALL}, 1, 0), ({"a": LARGE}, 1, 0)], replicas_lost=5)
    assert (row.lost_replicas, row.margin_tps) == (1, pytest.approx(0.0))


def test_spot_goes_first_and_then_any_one_option() -> None:
    """10 spot at 90 % lost keep 1 (0.9999... of one), 2 firm: 3 left, one lost: 2 x 100."""
    row = replay([asks("a", 200.0)], [({"a": SMALL}, 2, 10)], spot_lost_frac=0.9, replicas_lost=1)
    assert (row.lost_replicas, row.margin_tps) == (1, pytest.approx(0.0))


def test_the_surge_holds_with_nothing_lost() -> None:
    row = replay([asks("a", 200.0)], [({"a": SMALL}, 2, 0)], demand_surge_frac=0.1)
    assert (row.lost, row.margin_tps, row.asked_tps) == ("", pytest.approx(-20.0), pytest.approx(220.0))


def test_a_pool_without_replicas_must_meet_the_surge_too() -> None:
    cloud = ApiPrice(api="cloud", output_usd_per_mtok=1.0)
    flows = [overflow("day", 0, "a", "cloud", 200.0)]
    calm = replay([asks("a", 200.0, api=("cloud",))], [], apis=[cloud], overflows=flows, replicas_lost=1)
    assert (calm.margin_tps, calm.survived) == (pytest.approx(0.0), True)
    surge = replay([asks("a", 200.0, api=("cloud",))], [], apis=[cloud], overflows=flows, demand_surge_frac=0.5)
    assert surge.margin_tps == pytest.approx(-100.0)


def test_an_absorbing_api_gives_its_limit_less_what_other_pools_plan() -> None:
    cloud = ApiPrice(api="cloud", output_usd_per_mtok=1.0, max_output_tps=150.0)
    other = workload("b", hour_0(60.0), pool="q", api=("cloud",))
    flows = [overflow("day", 0, "a", "cloud", 20.0), overflow("day", 0, "b", "cloud", 60.0)]
    row = replay([asks("a", 200.0, api=("cloud",))], [({"a": SMALL}, 2, 0)], apis=[cloud], overflows=flows, others=[other],
                 replicas_lost=1, api_absorbs=True)  # fmt: skip
    assert row.margin_tps == pytest.approx(100.0 + 90.0 - 200.0)


@pytest.mark.parametrize(
    ("limits", "absorbed"),
    [
        ({"max_output_tps": 150.0}, 150.0),
        ({"max_output_tps": 150.0, "max_input_tps": 200.0}, 100.0),
        ({"max_output_tps": 150.0, "max_total_tps": 240.0}, 80.0),
        ({"max_output_tps": 150.0, "max_rpm": 30.0}, 50.0),
        ({"max_input_tps": 200.0}, 20.0),
        ({"max_output_tps": 150.0, "hours": frozenset({5})}, 20.0),
    ],
)
def test_all_stated_limits_hold_for_what_is_absorbed(limits: dict[str, Any], absorbed: float) -> None:
    """2 input per output token, 100 output tokens a request; 20 tok/s are planned there."""
    cloud = ApiPrice(api="cloud", output_usd_per_mtok=1.0, **limits)
    asked = asks("a", 500.0, api=("cloud",), input_tokens=200.0, output_tokens=100.0)
    row = goodput(100.0, 4, input_tokens=200.0, output_tokens=100.0)
    flows = [overflow("day", 0, "a", "cloud", 20.0)]
    replayed = replay([asked], [({"a": row}, 1, 0)], apis=[cloud], overflows=flows, api_absorbs=True)
    assert replayed.margin_tps == pytest.approx(100.0 + absorbed - 500.0)


def test_a_limit_that_a_workload_does_not_speak_to_leaves_the_plan() -> None:
    cloud = ApiPrice(api="cloud", output_usd_per_mtok=1.0, max_output_tps=150.0, max_rpm=6000.0)
    flows = [overflow("day", 0, "a", "cloud", 20.0)]
    row = replay([asks("a", 200.0, api=("cloud",))], [({"a": SMALL}, 1, 0)], apis=[cloud], overflows=flows, api_absorbs=True)
    assert row.margin_tps == pytest.approx(100.0 + 20.0 - 200.0)


def test_two_workloads_that_share_an_absorbing_api_share_its_limit() -> None:
    """No replicas: 100 a and 100 b over an API of 150: scale 0.75, 50 short of 200. c, without demand, changes nothing."""
    cloud = ApiPrice(api="cloud", output_usd_per_mtok=1.0, max_output_tps=150.0)
    workloads = [asks(name, tps, api=("cloud",)) for name, tps in (("a", 100.0), ("b", 100.0), ("c", 0.0))]
    row = replay(workloads, [], apis=[cloud], api_absorbs=True)
    assert row.margin_tps == pytest.approx(-50.0)


def test_three_workloads_on_two_options() -> None:
    """a and b run on both, c on the large only: 2 small carry 200 of a + b, the large that is left the other 250."""
    rows_small = dict.fromkeys("ab", SMALL)
    rows_large = dict.fromkeys("abc", LARGE)
    workloads = [asks(name, 150.0) for name in "abc"]
    row = replay(workloads, [(rows_small, 2, 0), (rows_large, 2, 0)], replicas_lost=1)
    assert (row.lost, row.margin_tps) == ("m|fp8|g8|8||", pytest.approx(0.0, abs=1e-6))
    assert row.survived
    worse = replay([asks(name, 151.0) for name in "abc"], [(rows_small, 2, 0), (rows_large, 2, 0)], replicas_lost=1)
    assert worse.margin_tps == pytest.approx(-3.0)
    assert not worse.survived


def test_prefill_burst_and_occupancy_come_from_the_row_and_the_hour() -> None:
    """600 input tok/s beside 200 output: 1.5 / 0.5 x (1/100 + 0.5 x 3/50) = 0.12 replicas per tok/s; 30 carry 250."""
    row = goodput(100.0, 4, input_tps=50.0)
    day = DemandDay(day_type="day", output_tps=tuple(hour_0(200.0)), input_tps=tuple(hour_0(600.0)))
    asked = Workload(workload="a", pool="p", model="m", prefix_hit_frac=0.5, burst_factor=1.5, demand=(day,))
    replayed = replay([asked], [({"a": row}, 31, 0)], pool=Pool(pool="p", occupancy_frac=0.5), replicas_lost=1)
    assert replayed.margin_tps == pytest.approx(50.0)


def test_hours_without_demand_are_not_asked() -> None:
    built = case(
        workloads=[workload("a", hour_0(0.0), pool="p")],
        contingencies=[Contingency(contingency="bad", pools=("p",), replicas_lost=1)],
    )
    assert replay_bad_days(PlanIndex(built, Candidates(options=(), offers=()), decision())) == []
