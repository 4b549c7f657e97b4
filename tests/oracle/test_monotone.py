"""A dearer price never lowers the cost, a looser limit never raises it, more demand never costs less.

Each change is tried on the first random cases that it applies to: on six of them, and on more until it has mattered in one.
"""

from __future__ import annotations

import math
from functools import cache

import pytest

from optimizer.domain.case import Case
from optimizer.domain.hours import ALL_DAY
from optimizer.domain.market import ApiPrice, Offer
from tests.helpers.oracle_compare import SAME, solved_cost
from tests.helpers.random_cases import random_case
from tests.helpers.reshape import Change, change_rows, map_demand, more_of, scale_field, set_field, with_fields

#: Cases tried per change, at least.
TRIES = 6
FIRST_SEED = 5000


@cache
def base_case(seed: int) -> Case:
    return random_case(seed, without=("three_workloads",), replicas_at_peak=3.0)


@cache
def base_cost(seed: int) -> float:
    return known(base_case(seed))


def known(case: Case) -> float:
    """Cost of the case; infinite where it is infeasible."""
    cost = solved_cost(case)
    return math.inf if cost is None else cost


def check(change: Change, *, dearer: bool) -> None:
    tried, matters = 0, False
    for seed in range(FIRST_SEED, FIRST_SEED + 400):
        changed = change(base_case(seed))
        if changed is None:
            continue
        before, after = base_cost(seed), known(changed)
        low, high = (before, after) if dearer else (after, before)
        assert low <= high + SAME * max(1.0, low if low < math.inf else 1.0), f"seed {seed}: {before} became {after}"
        matters |= high > low + SAME * max(1.0, low)
        tried += 1
        if tried >= TRIES and matters:
            return
    raise AssertionError(f"tried in {tried} cases; a change that never matters tests nothing")


PRICES: dict[str, Change] = {
    "held": scale_field("offers", "held_usd_per_node_h", 1.3),
    "used": scale_field("offers", "used_usd_per_node_h", 1.3),
    "upfront": scale_field("offers", "upfront_usd_per_node", 1.3),
    "effective share": change_rows("offers", lambda row: with_fields(row, effective_frac=row.effective_frac * 0.8)),
    "api output": scale_field("api_prices", "output_usd_per_mtok", 1.3),
    "api input": scale_field("api_prices", "input_usd_per_mtok", 1.3),
    "api cached input": scale_field("api_prices", "cached_input_usd_per_mtok", 1.3),
    "energy": scale_field("sites", "usd_per_kwh", 1.3),
    "kW-month": scale_field("sites", "usd_per_kw_month", 1.3),
    "pue": scale_field("sites", "pue", 1.2),
}


def held_only(field: str, extra: int) -> Change:
    def change(row: Offer) -> Offer:
        if not row.is_held or row.max_nodes is None:
            return row
        return with_fields(row, max_nodes=row.max_nodes + extra)

    return change_rows("offers", change)


def elastic_all_day(row: Offer) -> Offer:
    # a held offer would be paid for the added hours
    return row if row.is_held else with_fields(row, hours=ALL_DAY)


def one_more_api(case: Case) -> Case | None:
    if not any(workload.api == () for workload in case.workloads):
        return None
    price = ApiPrice(api="new-api", output_usd_per_mtok=3.0, max_output_tps=60.0)
    return with_fields(
        case,
        api_prices=(*case.api_prices, price),
        workloads=tuple(with_fields(row, api=(*row.api, "new-api")) for row in case.workloads),
    )


def one_more_offer(case: Case) -> Case:
    node = case.node_types[0]
    offer = Offer(
        offer="new offer", node_type=node.node_type, purchase="reserved", held_usd_per_node_h=1.1 * node.gpus_per_node,
        term_months=12, max_nodes=2,
    )  # fmt: skip
    return with_fields(case, offers=(*case.offers, offer))


def without_last_contingency(case: Case) -> Case | None:
    return with_fields(case, contingencies=case.contingencies[:-1]) if case.contingencies else None


def spot_share_up(case: Case) -> Case | None:
    if not any(offer.purchase == "spot" for offer in case.offers):
        return None
    steps = {0.0: 0.3, 0.3: 1.0, 1.0: 1.0}
    return change_rows("pools", lambda row: with_fields(row, spot_max_frac=steps[row.spot_max_frac]))(case)


LOOSER: dict[str, Change] = {
    "max_nodes": more_of("offers", "max_nodes", 1),
    "max_nodes of held offers": held_only("max_nodes", 2),
    "no max_nodes": set_field("offers", "max_nodes", None),
    "lots": set_field("offers", "lot_nodes", 1),
    "min_nodes": set_field("offers", "min_nodes", 0),
    "lead": set_field("offers", "lead_weeks", 0.0),
    "hours of elastic offers": change_rows("offers", elastic_all_day),
    "racks": more_of("sites", "racks", 1),
    "slots": more_of("sites", "slots_per_rack", 1),
    "kW per rack": scale_field("sites", "kw_per_rack", 1.6),
    "kW": scale_field("sites", "total_kw", 1.3),
    "no racks and kW": change_rows("sites", lambda row: with_fields(row, racks=None, total_kw=None)),
    "node kW": scale_field("node_types", "node_kw", 0.8),
    "api output limit": scale_field("api_prices", "max_output_tps", 1.3),
    "api input limit": scale_field("api_prices", "max_input_tps", 1.3),
    "api total limit": scale_field("api_prices", "max_total_tps", 1.3),
    "api requests limit": scale_field("api_prices", "max_rpm", 1.3),
    "api hours": set_field("api_prices", "hours", ALL_DAY),
    "api_max_frac": set_field("workloads", "api_max_frac", 1.0),
    "spot_max_frac": spot_share_up,
    "a contingency less": without_last_contingency,
    "replicas lost": set_field("contingencies", "replicas_lost", 0),
    "nodes lost": set_field("contingencies", "nodes_lost", 0),
    "spot lost": scale_field("contingencies", "spot_lost_frac", 0.5),
    "surge": set_field("contingencies", "demand_surge_frac", 0.0),
    "rollout": set_field("pools", "rollout_frac", 0.0),
    "min_live": set_field("pools", "min_live", 0),
    "occupancy": change_rows("pools", lambda row: with_fields(row, occupancy_frac=min(1.0, row.occupancy_frac * 1.2))),
    "burst": set_field("workloads", "burst_factor", 1.0),
    "goodput": scale_field("goodput", "output_tps", 1.15),
    "prefill rate": scale_field("goodput", "input_tps", 1.5),
    "node types of a pool": set_field("pools", "node_types", ()),
    "one more offer": one_more_offer,
    "one more api": one_more_api,
}


def more_everywhere(case: Case) -> Case:
    return map_demand(case, lambda _w, _d, _h, tps: tps * 1.15)


def more_of_one_workload(case: Case) -> Case | None:
    """With 0 < spot_max_frac < 1 less of one workload can strand the spot share of another, so such pools are left out."""
    workload = case.workloads[-1]
    shares = len(case.workloads_of(workload.pool)) > 1
    if shares and 0 < case.pool(workload.pool).spot_max_frac < 1:
        return None
    day = case.day_types[-1].day_type
    peak = max(range(24), key=lambda hour: workload.demand_on(day).output_tps[hour])
    return map_demand(case, lambda w, d, h, tps: tps * 1.4 if (w, d, h) == (workload.workload, day, peak) else tps)


MORE_DEMAND: dict[str, Change] = {"everywhere": more_everywhere, "one workload in one hour": more_of_one_workload}


@pytest.mark.parametrize("price", PRICES)
def test_a_dearer_price_never_lowers_the_cost(price: str) -> None:
    check(PRICES[price], dearer=True)


@pytest.mark.parametrize("limit", LOOSER)
def test_a_looser_limit_never_raises_the_cost(limit: str) -> None:
    check(LOOSER[limit], dearer=False)


@pytest.mark.parametrize("demand", MORE_DEMAND)
def test_more_demand_never_costs_less(demand: str) -> None:
    check(MORE_DEMAND[demand], dearer=True)
