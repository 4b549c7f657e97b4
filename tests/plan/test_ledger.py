"""Money, part by part, against figures worked out by hand."""

from __future__ import annotations

from math import fsum

import pytest

from optimizer.candidates.option import Candidates
from optimizer.domain.hardware import Site
from optimizer.domain.market import ApiPrice
from optimizer.domain.workload import DemandDay, Pool, Workload
from optimizer.plan.ledger import API, IDLE, api_usd_per_mtok, build_ledger, node_rates, price_decision
from optimizer.plan.plan import CostParts
from tests.plan.builders import (
    HOURS,
    RICH_COST,
    RICH_PARTS,
    Built,
    case,
    decision,
    goodput,
    load,
    node_type,
    offer,
    option,
    overflow,
    replicas,
    rich,
    seed1,
    seed2,
    workload,
)


@pytest.mark.parametrize(("built", "usd_per_day"), [(seed1(), 3360.0), (seed2(), 1800.0), (rich(), RICH_COST)])
def test_totals_by_hand(built: Built, usd_per_day: float) -> None:
    assert price_decision(*built).total == pytest.approx(usd_per_day, rel=1e-12)


@pytest.mark.parametrize("part", list(CostParts.model_fields))
def test_every_part_by_hand(part: str) -> None:
    assert getattr(price_decision(*rich()), part) == pytest.approx(RICH_PARTS[part], rel=1e-12)


def test_lines_by_offer_and_part() -> None:
    lines = {(line.offer, line.part): line.usd_per_day for line in build_ledger(*rich()).offers}
    assert lines == pytest.approx(
        {
            ("res8", "held"): 480.0,
            ("res8", "used"): 24.0,
            ("res8", "upfront"): 2.0,
            ("res8", "energy"): 57.6,
            ("res8", "site"): 24.0,
            ("own4", "held"): 12.0,
            ("own4", "energy"): 28.8,
            ("own4", "site"): 12.0,
            ("od8", "used"): 120.0,
            ("spot8", "used"): 240.0,
        }
    )


def test_lines_by_api_and_workload() -> None:
    lines = {(line.api, line.workload): (line.usd_per_day, line.mtok_per_day) for line in build_ledger(*rich()).apis}
    assert lines[("cloud", "chat")] == pytest.approx((172.8, 17.28))
    assert lines[("cloud", "bulk")] == pytest.approx((43.2, 4.32))
    assert len(lines) == 2


@pytest.mark.parametrize("built", [seed1(), seed2(), rich()])
def test_both_sides_of_the_ledger_sum_to_the_cost(built: Built) -> None:
    ledger = build_ledger(*built)
    paid = fsum([line.usd_per_day for line in ledger.offers] + [line.usd_per_day for line in ledger.apis])
    caused = fsum(line.usd_per_day for line in ledger.pools)
    assert paid == pytest.approx(caused, rel=1e-12)
    assert paid == pytest.approx(price_decision(*built).total, rel=1e-12)


def test_seed1_idles_five_hours_of_the_day() -> None:
    lines = {(line.pool, line.gpu): (line.usd_per_day, line.gpu_hours_per_day) for line in build_ledger(*seed1()).pools}
    assert lines == {("chat", "B300"): (pytest.approx(140.0 * 19), 56 * 19), (IDLE, "B300"): (pytest.approx(140.0 * 5), 56 * 5)}


def test_shared_nodes_are_split_by_gpus_and_api_by_pool() -> None:
    """One node at 8 $/h in hours 0-11: 4 GPUs of a, 2 of b, 2 free, so a pays two thirds. Another at 2 $/h idles all day."""
    nodes = node_type()
    row_a, row_b = goodput(100.0, 4), goodput(100.0, 2)
    built = case(
        workloads=[workload("a", [100.0] * 24, api=("cloud",)), workload("b", [100.0] * 24)],
        node_types=[nodes],
        goodput_rows=[row_a, row_b],
        offers=[offer("od", "on_demand", used_usd_per_node_h=8.0), offer("flex", "flex", held_usd_per_node_h=2.0)],
        apis=[ApiPrice(api="cloud", output_usd_per_mtok=1.0)],
    )
    a, b = option("a", {"a": row_a}, nodes), option("b", {"b": row_b}, nodes)
    hours = range(12)
    made = decision(
        new={"flex": 1},
        used={("day", hour, "od"): 1 for hour in hours},
        replicas=[count for hour in hours for count in (replicas("day", hour, a, 1), replicas("day", hour, b, 1))],
        overflows=[overflow("day", 12, "a", "cloud", 100.0)],
    )
    ledger = build_ledger(built, Candidates(options=(a, b), offers=built.offers), made)
    lines = {(line.pool, line.gpu): line.usd_per_day for line in ledger.pools}
    assert lines == pytest.approx({("a", "G"): 64.0, ("b", "G"): 32.0, (IDLE, "G"): 48.0, ("a", API): 0.36})


def test_nodes_held_and_not_used_are_idle_and_only_those() -> None:
    """3 nodes held at 2 $/h, 1 of them used in 6 hours: 12 $ and 48 GPU-hours in use, 132 $ and 528 GPU-hours idle."""
    nodes, row = node_type(), goodput(100.0, 8)
    built = case(
        workloads=[workload("a", [100.0] * 24)],
        node_types=[nodes],
        goodput_rows=[row],
        offers=[offer("res", held_usd_per_node_h=2.0)],
    )
    a = option("a", {"a": row}, nodes)
    made = decision(
        new={"res": 3},
        used={("day", hour, "res"): 1 for hour in range(6)},
        replicas=[replicas("day", hour, a, 1) for hour in range(6)],
    )
    ledger = build_ledger(built, Candidates(options=(a,), offers=built.offers), made)
    lines = {line.pool: (line.usd_per_day, line.gpu_hours_per_day) for line in ledger.pools}
    assert lines == {"a": pytest.approx((12.0, 48.0)), IDLE: pytest.approx((132.0, 528.0))}


def test_spot_and_firm_nodes_are_shared_apart() -> None:
    nodes = node_type()
    row = goodput(100.0, 8)
    built = case(
        workloads=[workload("a", [100.0] * 24), workload("b", [100.0] * 24)],
        node_types=[nodes],
        goodput_rows=[row],
        offers=[
            offer("od", "on_demand", used_usd_per_node_h=8.0),
            offer("spot", "spot", used_usd_per_node_h=3.0, effective_frac=0.5),
        ],
    )
    a, b = option("a", {"a": row}, nodes), option("b", {"b": row}, nodes)
    made = decision(
        used={("day", 0, "od"): 1, ("day", 0, "spot"): 1},
        replicas=[replicas("day", 0, a, 1), replicas("day", 0, b, 1, spot_live=1)],
    )
    ledger = build_ledger(built, Candidates(options=(a, b), offers=built.offers), made)
    assert {line.pool: line.usd_per_day for line in ledger.pools} == {"a": 8.0, "b": 6.0}


def test_replicas_that_share_a_gpu_count_for_their_share() -> None:
    nodes = node_type(gpus_per_node=1, name="g1")
    row = goodput(50.0, 1, replicas_per_gpu=2)
    built = case(
        workloads=[workload("a", [50.0] * 24)],
        node_types=[nodes],
        goodput_rows=[row],
        offers=[offer("od", "on_demand", node_type="g1", used_usd_per_node_h=1.0)],
    )
    half = option("a", {"a": row}, nodes)
    made = decision(used={("day", 0, "od"): 1}, replicas=[replicas("day", 0, half, 1)])
    (line,) = build_ledger(built, Candidates(options=(half,), offers=built.offers), made).pools
    assert (line.usd_per_day, line.gpu_hours_per_day) == (1.0, 0.5)


def test_day_types_weigh_what_is_used_and_not_what_is_held() -> None:
    """Held all days: 24 $. Used 1 h of weekdays (5 of 7) at 7 $ and 1 h of weekends (2 of 7) at 3 nodes: 5 + 6 = 11 $."""
    built = case(
        workloads=[workload("a", [0.0] * 24, days=("weekday", "weekend"))],
        days={"weekday": 5.0, "weekend": 2.0},
        offers=[offer("res", held_usd_per_node_h=1.0), offer("od", "on_demand", used_usd_per_node_h=7.0)],
    )
    made = decision(new={"res": 1}, used={("weekday", 3, "od"): 1, ("weekend", 3, "od"): 3})
    parts = price_decision(built, Candidates(options=(), offers=built.offers), made)
    assert (parts.held, parts.used) == (pytest.approx(24.0), pytest.approx(5.0 + 6.0))


def test_held_offers_pay_in_their_hours_only_for_new_and_existing_alike() -> None:
    built = case(
        workloads=[workload("a", [0.0] * 24)],
        offers=[
            offer(
                "flex",
                "flex",
                held_usd_per_node_h=3.0,
                hours=frozenset({22, 23, 0, 1}),
                upfront_usd_per_node=73.0,
                term_months=12.0,
            )
        ],
    )
    made = decision(new={"flex": 2}, existing={"flex": 1})
    parts = price_decision(built, Candidates(options=(), offers=built.offers), made)
    assert parts.held == pytest.approx(3 * 3.0 * 4)
    assert parts.upfront == pytest.approx(3 * 73.0 / 365.0)


def test_elastic_offers_at_a_site_pay_energy_and_no_rent() -> None:
    built = case(
        workloads=[workload("a", [0.0] * 24)],
        node_types=[node_type(node_kw=10.0)],
        offers=[offer("od", "on_demand", used_usd_per_node_h=1.0, site="dc")],
        sites=[Site(site="dc", pue=1.5, usd_per_kwh=0.2, usd_per_kw_month=100.0)],
    )
    parts = price_decision(built, Candidates(options=(), offers=built.offers), decision(used={("day", 0, "od"): 2}))
    assert (parts.used, parts.energy, parts.site) == (2.0, pytest.approx(2 * 10 * 1.5 * 0.2), 0.0)


API_PRICE = ApiPrice(api="x", output_usd_per_mtok=10.0, input_usd_per_mtok=2.0, cached_input_usd_per_mtok=0.5)


def test_api_price_counts_input_by_the_shape_and_cached_input_by_the_hit_share() -> None:
    """8 input tokens per output token, a quarter cached: 10 + 8 x (0.75 x 2 + 0.25 x 0.5) = 23."""
    asked = workload("a", [1.0] * 24, input_tokens=800.0, output_tokens=100.0, prefix_hit_frac=0.25)
    assert api_usd_per_mtok(API_PRICE, asked, "day", 0) == pytest.approx(23.0)


def test_api_price_counts_the_input_of_the_hour_where_the_forecast_has_it() -> None:
    day = DemandDay(day_type="day", output_tps=(100.0,) * 24, input_tps=(300.0, *(100.0,) * 23))
    asked = Workload(workload="a", pool="a", model="m", input_tokens=800.0, output_tokens=100.0, demand=(day,))
    assert api_usd_per_mtok(API_PRICE, asked, "day", 0) == pytest.approx(16.0)
    assert api_usd_per_mtok(API_PRICE, asked, "day", 1) == pytest.approx(12.0)


def test_api_that_prices_input_needs_to_know_it() -> None:
    with pytest.raises(ValueError, match="states none"):
        api_usd_per_mtok(API_PRICE, workload("a", [1.0] * 24), "day", 0)
    free_input = API_PRICE.model_copy(update={"input_usd_per_mtok": 0.0, "cached_input_usd_per_mtok": 0.0})
    assert api_usd_per_mtok(free_input, workload("a", [1.0] * 24), "day", 0) == 10.0


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"upfront_usd_per_node": 1.0}, "no term"),
        ({"site": "bare"}, "no node_kw"),
        ({"site": "unknown", "node_type": "kw"}, "no pue"),
    ],
)
def test_rates_refuse_to_guess_what_is_missing(fields: dict[str, object], match: str) -> None:
    built = case(
        workloads=[workload("a", [0.0] * 24)],
        node_types=[node_type(), node_type("kw", node_kw=1.0)],
        offers=[offer("res", **fields)],
        sites=[Site(site="bare"), Site(site="unknown", usd_per_kwh=0.1)],
    )
    with pytest.raises(ValueError, match=match):
        node_rates(built, built.offers[0])


def test_an_unknown_offer_is_not_priced_as_nothing() -> None:
    built = seed1()
    stray = built.decision.model_copy(update={"nodes_new": (*built.decision.nodes_new, *decision(new={"other": 1}).nodes_new)})
    with pytest.raises(KeyError, match="other"):
        price_decision(built.case, built.candidates, stray)


def test_loads_cost_nothing_by_themselves() -> None:
    built = seed1()
    (chosen,) = built.candidates.options
    more = built.decision.model_copy(update={"loads": tuple(load("day", hour, chosen, "chat", 1.0) for hour in HOURS)})
    assert price_decision(built.case, built.candidates, more).total == pytest.approx(3360.0)


def test_pools_keep_their_own_line_where_options_share_an_id() -> None:
    nodes, row = node_type(), goodput(100.0, 8)
    built = case(
        workloads=[workload("a", [1.0] * 24), workload("b", [1.0] * 24)],
        pools=[Pool(pool="a"), Pool(pool="b")],
        node_types=[nodes],
        goodput_rows=[row],
        offers=[offer("od", "on_demand", used_usd_per_node_h=1.0)],
    )
    a, b = option("a", {"a": row}, nodes), option("b", {"b": row}, nodes)
    made = decision(used={("day", 0, "od"): 3}, replicas=[replicas("day", 0, a, 1), replicas("day", 0, b, 2)])
    ledger = build_ledger(built, Candidates(options=(a, b), offers=built.offers), made)
    assert {line.pool: line.usd_per_day for line in ledger.pools} == pytest.approx({"a": 1.0, "b": 2.0})
