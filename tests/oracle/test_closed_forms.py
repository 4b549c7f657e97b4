"""Optima known in closed form: newsvendor, screening curves, caps, day types, lots, existing nodes, and the worked examples."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from optimizer.domain.case import Case
from optimizer.plan.plan import Decision
from tests.helpers.oracle_compare import agreed_cost, solved
from tests.helpers.refcase import case_from_tables

Row = dict[str, Any]

#: A day in replicas.
DAY = [4, 3, 3, 2, 2, 3, 4, 6, 8, 9, 10, 10, 9, 9, 10, 10, 9, 8, 8, 7, 7, 6, 5, 4]
#: Mean 4,000, peak 12,800 tok/s.
SEED_DAY = [
    1200, 950, 780, 700, 720, 980, 1650, 2900, 4600, 6300, 7600, 8200,
    8800, 10400, 12800, 9700, 6200, 3700, 2300, 1700, 1250, 1020, 850, 700,
]  # fmt: skip
#: $/M tokens of an API that costs 1 $/h for 1 tok/s.
USD_PER_MTOK_OF_1_USD_PER_H = 1_000_000 / 3600


def tables_of(
    profile: Sequence[float] | Mapping[str, Sequence[float]],
    offers: Sequence[Row],
    *,
    output_tps: float = 1.0,
    gpus: int = 1,
    days: Mapping[str, float] | None = None,
    workload: Row | None = None,
    pool: Row | None = None,
    contingencies: Sequence[Row] = (),
    goodput: Row | None = None,
    apis: Sequence[Row] = (),
    existing: Sequence[Row] = (),
    sites: Sequence[Row] = (),
    node_kw: float | None = None,
) -> dict[str, list[Row]]:
    """One pool, one workload, one option that takes a whole node of type `n`."""
    profiles = profile if isinstance(profile, Mapping) else {"": profile}
    demand = [
        {"workload": "w", "day_type": day, "hour": hour, "output_tps": tps}
        for day, values in profiles.items()
        for hour, tps in enumerate(values)
    ]
    api_ids = ";".join(row["api"] for row in apis)
    return {
        "Demand": demand,
        "DayTypes": [{"day_type": name, "days": count} for name, count in (days or {}).items()],
        "Workloads": [
            {"workload": "w", "pool": "p", "model": "m", "precision": "x", "api": api_ids, **(workload or {})},
        ],
        "Pools": [{"pool": "p", **(pool or {})}],
        "Contingencies": list(contingencies),
        "NodeTypes": [{"node_type": "n", "gpu": "G", "gpus_per_node": gpus, "gpu_memory_gb": 100, "node_kw": node_kw}],
        "Models": [{"model": "m", "precision": "x", "weights_gb": 1, "kv_gb_per_seq": 0.1}],
        "Goodput": [
            {"model": "m", "precision": "x", "gpu": "G", "gpus_per_replica": gpus, "output_tps": output_tps, **(goodput or {})}
        ],
        "Offers": list(offers),
        "ApiPrices": list(apis),
        "Existing": list(existing),
        "Sites": list(sites),
    }


def case_of(*args: Any, **kwargs: Any) -> Case:
    return case_from_tables(tables_of(*args, **kwargs))


def reserved(price: float, **fields: Any) -> Row:
    return {"offer": "res", "node_type": "n", "purchase": "reserved", "held_usd_per_node_h": price, "term_months": 12, **fields}


def on_demand(price: float, **fields: Any) -> Row:
    return {"offer": "od", "node_type": "n", "purchase": "on_demand", "used_usd_per_node_h": price, **fields}


def flex(held: float, used: float, **fields: Any) -> Row:
    return {
        "offer": "flex", "node_type": "n", "purchase": "flex", "held_usd_per_node_h": held, "used_usd_per_node_h": used,
        "term_months": 12, **fields,
    }  # fmt: skip


def api(usd_per_h_of_tps: float, **fields: Any) -> Row:
    return {"api": "api", "output_usd_per_mtok": usd_per_h_of_tps * USD_PER_MTOK_OF_1_USD_PER_H, **fields}


def bought(decision: Decision | None, offer: str) -> int:
    assert decision is not None
    return sum(row.nodes_new for row in decision.nodes_new if row.offer == offer)


def peak_live(decision: Decision | None) -> int:
    assert decision is not None
    return max((row.live for row in decision.replicas), default=0)


# ---------------------------------------------------------------------- one break-even


@pytest.mark.parametrize(
    ("offers", "usd"),
    [
        ([reserved(2), on_demand(4.5)], 438.0),
        ([on_demand(4.5)], 702.0),
        ([reserved(2)], 480.0),
    ],
)
def test_newsvendor(offers: list[Row], usd: float) -> None:
    assert agreed_cost(case_of(DAY, offers)) == pytest.approx(usd, rel=1e-9)


def test_newsvendor_keeps_the_units_that_run_long_enough() -> None:
    # unit k runs in h_k hours and is kept where h_k / 24 > 2 / 4.5; the 8th runs 11 hours, the 9th 8
    assert bought(solved(case_of(DAY, [reserved(2), on_demand(4.5)])).decision, "res") == 8


def envelope(profiles: Mapping[str, Sequence[float]], days: Mapping[str, float], tariffs: Sequence[tuple[float, float]]) -> float:
    """Sum over units of the cheapest two-part tariff (held $/h, used $/h) for the hours an average day runs that unit."""
    total = 0.0
    for unit in range(1, math.ceil(max(max(values) for values in profiles.values())) + 1):
        hours = sum(days[name] * sum(tps > unit - 1 for tps in values) for name, values in profiles.items()) / sum(days.values())
        total += min(held * 24 + used * hours for held, used in tariffs)
    return total


def test_screening_curves() -> None:
    offers = [
        reserved(2),
        flex(0.8, 1.7),
        flex(1.5, 1.7, offer="dominated"),
        on_demand(4),
    ]
    outcome = solved(case_of(DAY, offers, apis=[api(9)]))
    assert agreed_cost(case_of(DAY, offers, apis=[api(9)])) == pytest.approx(410.30, abs=1e-9)
    # breaks at 16.94 h and 8.35 h: 4 reserved, 4 flex, 2 on demand
    assert (bought(outcome.decision, "res"), bought(outcome.decision, "flex"), bought(outcome.decision, "dominated")) == (4, 4, 0)


@pytest.mark.parametrize("seed", range(15))
def test_envelope_of_tariffs_on_random_days(seed: int) -> None:
    rng = random.Random(seed)
    days = {"weekday": 5.0, "weekend": 2.0, "peak": float(rng.randint(1, 3))}
    profiles = {name: [float(rng.randint(0, 7)) for _ in range(24)] for name in days}
    tariffs = [(round(rng.uniform(1.2, 2.5), 2), 0.0), (round(rng.uniform(0.4, 1.1), 2), round(rng.uniform(0.8, 2), 2))]
    spot_price = round(rng.uniform(2.5, 5), 2)
    offers = [reserved(tariffs[0][0]), flex(*tariffs[1]), on_demand(spot_price)]
    expected = envelope(profiles, days, [*tariffs, (0.0, spot_price)])
    assert agreed_cost(case_of(profiles, offers, days=days)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("on_demand_max", "api_max", "usd", "kept"),
    [(1, 1.0, 450.0, 9), (None, 1.0, 438.0, 8)],
)
def test_caps_raise_what_is_reserved(on_demand_max: int | None, api_max: float, usd: float, kept: int) -> None:
    # neither the quantile (8) nor the peak less the caps (8) is right once both elastic sources are capped
    case = case_of(DAY, [reserved(2), on_demand(4.5, max_nodes=on_demand_max)], apis=[api(12, max_output_tps=api_max)])
    assert agreed_cost(case) == pytest.approx(usd, rel=1e-9)
    assert bought(solved(case).decision, "res") == kept


@pytest.mark.parametrize(("lot", "usd", "nodes"), [(1, 438.0, {8}), (3, 450.0, {6, 9}), (5, 469.5, {5})])
def test_lots(lot: int, usd: float, nodes: set[int]) -> None:
    case = case_of(DAY, [reserved(2, lot_nodes=lot), on_demand(4.5)])
    assert agreed_cost(case) == pytest.approx(usd, rel=1e-9)
    assert bought(solved(case).decision, "res") in nodes


@pytest.mark.parametrize("nodes", [0, 3, 8, 9])
def test_existing_nodes_are_topped_up_to_the_quantile(nodes: int) -> None:
    case = case_of(DAY, [reserved(2), on_demand(4.5)], existing=[{"offer": "res", "nodes": nodes}])
    assert bought(solved(case).decision, "res") == max(0, 8 - nodes)
    # existing nodes cost the same as bought ones: 438 up to the optimum; the ninth saves 8 hours of 4.5 and costs 48
    assert agreed_cost(case) == pytest.approx(438.0 if nodes <= 8 else 438.0 + 48 - 36, rel=1e-9)


@pytest.mark.parametrize(("expires", "new"), [("2026-12-31", 8), ("2027-01-01", 5), (None, 5)])
def test_expired_contracts_do_not_count(expires: str | None, new: int) -> None:
    case = case_of(DAY, [reserved(2), on_demand(4.5)], existing=[{"offer": "res", "nodes": 3, "expires": expires}])
    assert bought(solved(case).decision, "res") == new
    assert agreed_cost(case) == pytest.approx(438.0, rel=1e-9)


@pytest.mark.parametrize(("least", "nodes", "usd"), [(6, 8, 438.0), (9, 9, 450.0), (40, 0, 702.0)])
def test_minimum_is_none_or_at_least_so_many(least: int, nodes: int, usd: float) -> None:
    case = case_of(DAY, [reserved(2, min_nodes=least), on_demand(4.5)])
    assert bought(solved(case).decision, "res") == nodes
    assert agreed_cost(case) == pytest.approx(usd, rel=1e-9)


def test_upfront_is_spread_over_its_term() -> None:
    # 365 $ over 12 months is 1 $ a day
    case = case_of([3] * 24, [reserved(2, upfront_usd_per_node=365)])
    assert agreed_cost(case) == pytest.approx(3 * (48 + 1), rel=1e-9)


@pytest.mark.parametrize(("lead_weeks", "usd"), [(4, 3 * 48.0), (5, 3 * 24 * 4.5)])
def test_too_late_cannot_be_bought(lead_weeks: float, usd: float) -> None:
    # from 29 November to 1 January there are 33 days: four weeks are in time, five are not
    assert agreed_cost(case_of([3] * 24, [reserved(2, lead_weeks=lead_weeks), on_demand(4.5)])) == pytest.approx(usd, rel=1e-9)


def test_held_window_is_paid_and_usable_in_its_hours_alone() -> None:
    offers = [reserved(2, hours="8-20"), on_demand(4.5)]
    assert agreed_cost(case_of([5] * 24, offers)) == pytest.approx(5 * (12 * 2 + 12 * 4.5), rel=1e-9)


def test_spot_costs_its_price_over_what_it_does_of_its_hours() -> None:
    spot = {"offer": "spot", "node_type": "n", "purchase": "spot", "used_usd_per_node_h": 1.5, "effective_frac": 0.95}
    case = case_of(DAY, [spot, on_demand(3)], pool={"spot_max_frac": 1})
    assert agreed_cost(case) == pytest.approx(sum(DAY) * 1.5 / 0.95, rel=1e-9)


# ---------------------------------------------------------------------- worked examples


@pytest.mark.parametrize(
    ("contingency", "replicas"),
    [
        ({"replicas_lost": 1}, 7),
        ({"replicas_lost": 2}, 8),
        ({"nodes_lost": 1}, 7),
        ({"replicas_lost": 1, "demand_surge_frac": 0.25}, 8),
    ],
)
def test_flat_fleet_of_the_first_example(contingency: Row, replicas: int) -> None:
    # 12,800 at 2,400: six replicas, and one for the bad day: 56 GPUs at 2.50 $ are 140 $/h
    case = case_of(
        SEED_DAY, [reserved(20)], output_tps=2400, gpus=8, contingencies=[{"contingency": "bad day", **contingency}]
    )
    assert agreed_cost(case) == pytest.approx(replicas * 8 * 2.5 * 24, rel=1e-9)
    if replicas == 7:
        assert agreed_cost(case) == pytest.approx(3360.0, rel=1e-9)


@pytest.mark.parametrize(("lost", "usd"), [(1, 1888.0), (2, 2368.0)])
def test_cheapest_mix_of_the_first_example(lost: int, usd: float) -> None:
    contingencies = [{"contingency": "n+1", "replicas_lost": lost}]
    case = case_of(SEED_DAY, [reserved(20), on_demand(32)], output_tps=2400, gpus=8, contingencies=contingencies)
    assert agreed_cost(case) == pytest.approx(usd, rel=1e-9)


def test_second_example() -> None:
    # 9,000 at 1,400 and 0.6: 11, one more for the bad day, 25 % rollout of 12: 15 replicas, 30 GPUs, 1,800 $/day
    case = case_of(
        [9000] * 24,
        [reserved(5)],
        output_tps=1400,
        gpus=2,
        pool={"occupancy_frac": 0.6, "rollout_frac": 0.25},
        contingencies=[{"contingency": "n+1", "replicas_lost": 1}],
    )
    outcome = solved(case)
    assert agreed_cost(case) == pytest.approx(1800.0, rel=1e-9)
    assert outcome.decision is not None
    assert {(row.live, row.total) for row in outcome.decision.replicas} == {(12, 15)}


def test_light_medium_heavy_contracts() -> None:
    # published with demand of 12.2, 25.1 and 53.5 units for eight hours each
    offers = [
        flex(552 / 8760, 0.312, offer="light"),
        flex(1280 / 8760, 0.192, offer="medium"),
        flex(1560 / 8760, 0.128, offer="heavy"),
        on_demand(0.64),
    ]
    profiles = {"day": [12.2] * 8 + [25.1] * 8 + [53.5] * 8}
    tariffs = [(552 / 8760, 0.312), (1280 / 8760, 0.192), (1560 / 8760, 0.128), (0.0, 0.64)]
    expected = envelope(profiles, {"day": 1.0}, tariffs)
    assert agreed_cost(case_of(profiles["day"], offers)) == pytest.approx(expected, rel=1e-9)
    assert expected == pytest.approx(289.9164931506849, rel=1e-12)


def test_four_request_sizes_share_replicas() -> None:
    shapes = {"b00": (100, 100, 6.0, 2.0, 20.0), "b01": (100, 200, 3.0, 1.0, 20.0)}
    shapes |= {"b10": (200, 100, 15.0, 5.0, 40.0), "b11": (200, 200, 6.0, 2.0, 20.0)}
    tables = tables_of([0] * 24, [])
    tables["Demand"] = [
        {"workload": name, "hour": hour, "output_tps": shape[2]} for name, shape in shapes.items() for hour in range(24)
    ]
    tables["Workloads"] = [
        {"workload": name, "pool": "p", "model": "m", "precision": "x", "input_tokens": shape[0], "output_tokens": shape[1]}
        for name, shape in shapes.items()
    ]
    tables["NodeTypes"] = [{"node_type": gpu, "gpu": gpu, "gpus_per_node": 1, "gpu_memory_gb": 80} for gpu in ("A10G", "A100")]
    tables["Goodput"] = [
        {
            "model": "m", "precision": "x", "gpu": gpu, "gpus_per_replica": 1, "output_tps": shape[3 + index],
            "input_tokens": shape[0], "output_tokens": shape[1],
        }
        for shape in shapes.values()
        for index, gpu in enumerate(("A10G", "A100"))
    ]  # fmt: skip
    tables["Offers"] = [
        {"offer": gpu, "node_type": gpu, "purchase": "on_demand", "used_usd_per_node_h": usd}
        for gpu, usd in (("A10G", 1.01), ("A100", 3.67))
    ]
    # 4.68 $/h: one A100 and one A10G, with one size split over both
    assert agreed_cost(case_from_tables(tables)) == pytest.approx(112.32, rel=1e-9)


# ---------------------------------------------------------------------- capacity, power


@pytest.mark.parametrize(("hit", "replicas"), [(0.0, 9), (0.3, 8), (0.6, 7), (0.9, 6)])
def test_prefill_measured_apart_adds_work(hit: float, replicas: int) -> None:
    # 12,800 out and 90,000 in tok/s at 2,400 and 30,000 per replica
    shape = {"input_tokens": 90_000, "output_tokens": 12_800}
    case = case_of(
        [12_800] * 24,
        [reserved(1)],
        output_tps=2400,
        workload={**shape, "prefix_hit_frac": hit},
        goodput={**shape, "input_tps": 30_000},
    )
    assert agreed_cost(case) == pytest.approx(24 * replicas, rel=1e-9)


@pytest.mark.parametrize(("burst", "replicas"), [(1, 6), (1.1, 6), (1.25, 7), (1.5, 8)])
def test_bursts_inside_the_hour(burst: float, replicas: int) -> None:
    case = case_of([12_800] * 24, [reserved(1)], output_tps=2400, workload={"burst_factor": burst})
    assert peak_live(solved(case).decision) == replicas
    assert agreed_cost(case) == pytest.approx(24 * replicas, rel=1e-9)


@pytest.mark.parametrize(("demand", "goodput", "replicas"), [(4.2, 1.4, 3), (0.3, 0.1, 3), (1.1 * 3 * 0.7, 1.1 * 0.7, 3)])
def test_a_last_digit_of_floating_point_costs_no_replica(demand: float, goodput: float, replicas: int) -> None:
    assert agreed_cost(case_of([demand] * 24, [reserved(1)], output_tps=goodput)) == pytest.approx(24 * replicas, rel=1e-9)


@pytest.mark.parametrize(
    ("site", "feasible"),
    [
        ({"racks": 2, "kw_per_rack": 60}, True),
        ({"racks": 1, "kw_per_rack": 60}, False),
        ({"racks": 4, "kw_per_rack": 40}, True),
        ({"racks": 3, "kw_per_rack": 40}, False),
        ({"racks": 3, "slots_per_rack": 3}, True),
        ({"racks": 3, "slots_per_rack": 3, "kw_per_rack": 40}, False),
        ({"total_kw": 101.5, "pue": 1}, True),
        ({"total_kw": 90, "pue": 1}, False),
        ({"total_kw": 101.5, "pue": 1.1}, False),
        ({"total_kw": 111.7, "pue": 1.1}, True),
    ],
)
def test_racks_and_power(site: Row, feasible: bool) -> None:
    # seven nodes of 14.5 kW: 101.5 kW; 60 kW per rack take four, 40 kW two
    case = case_of(
        [12_800] * 24,
        [reserved(20, purchase="owned", site="dc")],
        output_tps=2400,
        gpus=8,
        node_kw=14.5,
        contingencies=[{"contingency": "n+1", "replicas_lost": 1}],
        sites=[{"site": "dc", **site}],
    )
    cost = agreed_cost(case)
    assert cost == pytest.approx(3360.0, rel=1e-9) if feasible else cost is None


def test_energy_and_kw_months_of_a_site() -> None:
    site = {"site": "dc", "pue": 1.2, "usd_per_kwh": 0.1, "usd_per_kw_month": 146}
    case = case_of([2] * 12 + [1] * 12, [reserved(1, purchase="owned", site="dc")], node_kw=10, sites=[site])
    # two nodes held; 36 node-hours used at 10 kW x 1.2 x 0.1 $; 20 kW at 146 x 12 / 365 $ a day
    assert agreed_cost(case) == pytest.approx(2 * 24 + 36 * 1.2 + 20 * 4.8, rel=1e-9)


# ---------------------------------------------------------------------- bad days, APIs, spot


@pytest.mark.parametrize(
    ("contingency", "api_fields", "nodes"),
    [
        # the plan sends 4 of 10 to the API; without absorbing, the API keeps those 4
        ({"replicas_lost": 1}, {}, 7),
        # the API has a limit of 8 and may take it on the bad day: 6 live replicas of which 5 stay, 5 + 8 > 10
        ({"replicas_lost": 1, "api_absorbs": "yes"}, {"max_output_tps": 8}, 6),
        # no stated limit: it absorbs nothing beyond the plan
        ({"replicas_lost": 1, "api_absorbs": "yes"}, {}, 7),
        # a surge of 50 % and a limit of 8: 15 - 8 = 7 must stay after the loss
        ({"replicas_lost": 1, "api_absorbs": "yes", "demand_surge_frac": 0.5}, {"max_output_tps": 8}, 8),
    ],
)
def test_what_the_api_may_absorb(contingency: Row, api_fields: Row, nodes: int) -> None:
    case = case_of(
        [10] * 24,
        [reserved(2)],
        workload={"api_max_frac": 0.4},
        apis=[api(0.0, **api_fields)],
        contingencies=[{"contingency": "bad day", **contingency}],
    )
    assert agreed_cost(case) == pytest.approx(nodes * 48, rel=1e-9)


def test_no_replica_at_all_is_a_plan() -> None:
    case = case_of([10] * 24, [reserved(2)], apis=[api(0.5)], contingencies=[{"contingency": "n+1", "replicas_lost": 1}])
    assert agreed_cost(case) == pytest.approx(10 * 24 * 0.5, rel=1e-9)


@pytest.mark.parametrize(
    ("lost", "spot_max", "usd"),
    [
        # all on spot at 1 $, nothing lost
        (0.0, 1, 10.0),
        # half of 10 on-spot replicas gone: 10 spot and 5 firm at 3 are 25; 20 spot are 20
        (0.5, 1, 20.0),
        # all spot gone: spot saves nothing
        (1.0, 1, 30.0),
        # 30 % of the load on spot
        (0.0, 0.3, 7 * 3 + 3 * 1.0),
        (0.0, 0, 30.0),
    ],
)
def test_spot_share_and_spot_lost(lost: float, spot_max: float, usd: float) -> None:
    spot = {"offer": "spot", "node_type": "n", "purchase": "spot", "used_usd_per_node_h": 1.0}
    contingencies = [{"contingency": "spot gone", "spot_lost_frac": lost}] if lost else []
    case = case_of([10] * 24, [spot, on_demand(3)], pool={"spot_max_frac": spot_max}, contingencies=contingencies)
    assert agreed_cost(case) == pytest.approx(24 * usd, rel=1e-9)


def test_loss_takes_any_one_option_not_each() -> None:
    # 6 of A at 2 tok/s each; one lost of whichever option: the spare of the better kind covers both kinds
    tables = tables_of([12] * 24, [])
    tables["NodeTypes"] = [{"node_type": gpu, "gpu": gpu, "gpus_per_node": 1, "gpu_memory_gb": 100} for gpu in ("A", "B")]
    tables["Goodput"] = [
        {"model": "m", "precision": "x", "gpu": gpu, "gpus_per_replica": 1, "output_tps": tps}
        for gpu, tps in (("A", 2), ("B", 1))
    ]
    tables["Offers"] = [
        {"offer": gpu, "node_type": gpu, "purchase": "on_demand", "used_usd_per_node_h": usd, "max_nodes": most}
        for gpu, usd, most in (("A", 1.0, 5), ("B", 0.6, None))
    ]
    tables["Contingencies"] = [{"contingency": "n+1", "replicas_lost": 1}]
    # 5 A and 4 B: 14 tok/s, less an A 12, less a B 13; a spare for each option would take 5 A and 5 B
    assert agreed_cost(case_from_tables(tables)) == pytest.approx(24 * (5 * 1.0 + 4 * 0.6), rel=1e-9)


@pytest.mark.parametrize(("places", "nodes"), [(("x", "x"), 4), (("x", "y"), None)])
def test_a_replica_larger_than_a_node_takes_its_nodes_from_one_place(places: tuple[str, str], nodes: int | None) -> None:
    # two replicas of two nodes each; three nodes and one make four, but in two places they make one pair only
    tables = tables_of([2] * 24, [])
    tables["NodeTypes"][0] |= {"gpus_per_node": 4, "replica_span_gpus": 8}
    tables["Goodput"][0] |= {"gpus_per_replica": 8}
    tables["Offers"] = [
        on_demand(1, offer=f"od{index}", max_nodes=most, provider="p", region=place)
        for index, (most, place) in enumerate(zip((3, 1), places, strict=True))
    ]
    assert agreed_cost(case_from_tables(tables)) == (None if nodes is None else pytest.approx(24 * nodes, rel=1e-9))


def test_pools_share_nodes_and_not_replicas() -> None:
    # two pools that need 2 and 3 of the 4 GPUs of a node: 5 GPUs are two nodes, not three
    tables = tables_of([2] * 24, [on_demand(8)])
    tables["NodeTypes"][0] |= {"gpus_per_node": 4}
    tables["Pools"].append({"pool": "q"})
    tables["Workloads"].append({**tables["Workloads"][0], "workload": "v", "pool": "q"})
    tables["Demand"] += [{"workload": "v", "hour": hour, "output_tps": 3} for hour in range(24)]
    assert agreed_cost(case_from_tables(tables)) == pytest.approx(24 * 16, rel=1e-9)
