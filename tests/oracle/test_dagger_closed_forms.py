"""Optima in closed form where hours hang together or nodes are lost: batch fill, look-ahead, discounts, quotas, bad days."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import pytest

from tests.helpers.dagger_compare import agreed_dagger_cost
from tests.helpers.oracle_compare import solved
from tests.helpers.refcase import case_from_tables
from tests.oracle.test_closed_forms import (
    DAY,
    USD_PER_MTOK_OF_1_USD_PER_H,
    bought,
    case_of,
    flex,
    on_demand,
    reserved,
    tables_of,
)

Row = dict[str, Any]

#: Fewest offers are looked for at up to 1e-9 above the least cost.
SAME = 3e-9


def discount(offer: str, price: float, **fields: Any) -> Row:
    return {"discount": "plan", "offer": offer, "discounted_usd_per_node_h": price, **fields}


def newsvendor_usd(day: Sequence[float], held: int, *, res: float = 2.0, od: float = 4.5) -> float:
    """Cost of a day in replicas with so many reserved nodes and the rest on demand."""
    return 24 * res * held + od * sum(max(0, need - held) for need in day)


# ---------------------------------------------------------------------- work that waits


def with_backlog(backlog_per_h: float, usd_per_replica_h: float, *, waits: int = 23) -> dict[str, list[Row]]:
    """The day of the newsvendor beside batch work that an API does for so much a replica-hour, if nothing idle does it first."""
    tables = tables_of(DAY, [reserved(2), on_demand(4.5)])
    tables["Workloads"].append(
        {
            "workload": "batch", "pool": "batch", "model": "m", "precision": "x", "deferrable_hours": waits, "api": "api",
        }
    )  # fmt: skip
    tables["Pools"].append({"pool": "batch", "kind": "batch"})
    tables["Demand"] += [{"workload": "batch", "day_type": "", "hour": hour, "output_tps": backlog_per_h} for hour in range(24)]
    tables["ApiPrices"] = [{"api": "api", "output_usd_per_mtok": usd_per_replica_h * USD_PER_MTOK_OF_1_USD_PER_H}]
    return tables


@pytest.mark.parametrize(("salvage", "held"), [(0.5, 8), (1.2, 9), (1.9, 10)])
def test_batch_work_that_fills_idle_nodes_lowers_the_break_even(salvage: float, held: int) -> None:
    """A node is worth holding from (r - s) / (p - s) of the day on, not from r / p: 10.67 h become 5.82 h at s = 1.2."""
    hours = 24 * (2 - salvage) / (4.5 - salvage)
    assert held == sum(1 for level in range(1, 11) if sum(need >= level for need in DAY) > hours)
    idle = sum(max(0, held - need) for need in DAY)
    usd = newsvendor_usd(DAY, held) + salvage * (24 * 10 - idle)
    case = case_from_tables(with_backlog(10.0, salvage))
    assert agreed_dagger_cost(case) == pytest.approx(usd, rel=SAME)
    assert bought(solved(case).decision, "res") == held


def test_batch_work_without_an_api_waits_for_idle_nodes() -> None:
    """48 replica-hours fit into what 8 nodes leave idle: nothing is bought for them. 60 do not, and a ninth node is."""
    for backlog, held in ((2.0, 8), (2.5, 9)):
        tables = with_backlog(backlog, 1.0)
        tables["Workloads"][1]["api"] = ""
        case = case_from_tables(tables)
        usd = newsvendor_usd(DAY, held)
        assert sum(max(0, held - need) for need in DAY) >= 24 * backlog
        assert agreed_dagger_cost(case) == pytest.approx(usd, rel=SAME)
        assert bought(solved(case).decision, "res") == held


@pytest.mark.parametrize(("waits", "nodes"), [(0, 8), (1, 4), (3, 2), (7, 1), (30, 1)])
def test_a_peak_is_spread_over_the_hours_that_it_may_wait(waits: int, nodes: int) -> None:
    """Eight replica-hours that arrive in the last hour run in 1 + waits hours, past midnight."""
    day = [0.0] * 23 + [8.0]
    case = case_of(day, [reserved(2)], workload={"deferrable_hours": waits})
    assert agreed_dagger_cost(case) == pytest.approx(48.0 * nodes, rel=SAME)


def test_waiting_work_asks_for_no_spare() -> None:
    lost = {"contingency": "n+1", "pool": "p", "replicas_lost": 1, "demand_surge_frac": 0.5}
    for waits, nodes in ((0, 4), (1, 2)):
        case = case_of([2.0] * 24, [reserved(2)], workload={"deferrable_hours": waits}, contingencies=[lost])
        assert agreed_dagger_cost(case) == pytest.approx(48.0 * nodes, rel=SAME)


# ---------------------------------------------------------------------- replicas that must be ready


@pytest.mark.parametrize("lead", [1, 2, 5])
def test_look_ahead_is_the_newsvendor_of_the_highest_hour_ahead(lead: int) -> None:
    ahead = [max(DAY[(hour + step) % 24] for step in range(lead + 1)) for hour in range(24)]
    usd = min(newsvendor_usd(ahead, held) for held in range(11))
    case = case_of(DAY, [reserved(2), on_demand(4.5)], pool={"ready_hours": lead})
    assert agreed_dagger_cost(case) == pytest.approx(usd, rel=SAME)


def test_an_hour_of_look_ahead_costs_3_percent() -> None:
    usd = agreed_dagger_cost(case_of(DAY, [reserved(2), on_demand(4.5)], pool={"ready_hours": 1}))
    assert usd is not None and usd / 438.0 - 1 == pytest.approx(0.031, abs=0.0005)


# ---------------------------------------------------------------------- discounts


def discounted_usd(day: Sequence[float], price: float, rate: float, committed: float) -> float:
    """On demand at `price`, with a commitment in $/h that pays nodes at `rate` first."""
    covered = committed / rate
    return 24 * committed + price * sum(max(0.0, need - covered) for need in day)


@pytest.mark.parametrize("rate", [4.4, 3.5, 3.0, 2.0, 1.0])
def test_one_discount_is_a_newsvendor_in_dollars(rate: float) -> None:
    """Commit for the k-th node where it is used in more than rate / price of the hours."""
    usd = min(discounted_usd(DAY, 4.5, rate, rate * nodes) for nodes in range(11))
    tables = tables_of(DAY, [on_demand(4.5)]) | {"Discounts": [discount("od", rate)]}
    assert agreed_dagger_cost(case_from_tables(tables)) == pytest.approx(usd, rel=SAME)


@pytest.mark.parametrize(
    ("limits", "committed"),
    [
        ({"max_commit_usd_per_h": 10.0}, 10.0),
        ({"max_commit_usd_per_h": 10.25}, 10.25),
        ({"min_commit_usd_per_h": 27.0}, 27.0),
        ({"min_commit_usd_per_h": 90.0}, 0.0),
    ],
)
def test_limits_of_a_commitment(limits: Row, committed: float) -> None:
    """At 3 $ for 4.5 $ seven nodes are worth 21 $/h. Nodes may be covered in part, and no commitment is always allowed."""
    tables = tables_of(DAY, [on_demand(4.5)]) | {"Discounts": [discount("od", 3.0, **limits)]}
    usd = discounted_usd(DAY, 4.5, 3.0, committed)
    assert agreed_dagger_cost(case_from_tables(tables)) == pytest.approx(usd, rel=SAME)


def fixed_fleets(prices: Sequence[tuple[float, float]], days: Sequence[Sequence[int]], committed: float) -> dict[str, list[Row]]:
    """Pools with an own node type each, so that nothing but coverage is to be decided; a commitment of just so many $/h."""
    tables = tables_of([0.0] * 24, [])
    for key in ("Demand", "Workloads", "Pools", "NodeTypes", "Goodput"):
        tables[key] = []
    tables["Discounts"] = []
    for number, ((price, rate), day) in enumerate(zip(prices, days, strict=True)):
        name = f"w{number}"
        tables["Demand"] += [{"workload": name, "day_type": "", "hour": hour, "output_tps": tps} for hour, tps in enumerate(day)]
        tables["Workloads"].append({"workload": name, "pool": name, "model": "m", "precision": "x"})
        tables["Pools"].append({"pool": name, "node_types": f"n{number}"})
        tables["NodeTypes"].append({"node_type": f"n{number}", "gpu": f"G{number}", "gpus_per_node": 1, "gpu_memory_gb": 100})
        tables["Goodput"].append({"model": "m", "precision": "x", "gpu": f"G{number}", "gpus_per_replica": 1, "output_tps": 1.0})
        tables["Offers"].append(on_demand(price, offer=f"od{number}", node_type=f"n{number}"))
        limits = {"min_commit_usd_per_h": committed, "max_commit_usd_per_h": committed}
        tables["Discounts"].append(discount(f"od{number}", rate, **limits))
    return tables


def highest_savings_first(prices: Sequence[tuple[float, float]], days: Sequence[Sequence[int]], committed: float) -> float:
    """As providers apply a commitment: hour by hour to the nodes with the highest share saved, until it is spent. $/day."""
    usd = 24 * committed
    for hour in range(24):
        left = committed
        for price, rate in sorted(prices, key=lambda pair: pair[1] / pair[0]):
            nodes = days[prices.index((price, rate))][hour]
            covered = min(float(nodes), left / rate)
            left -= covered * rate
            usd += price * (nodes - covered)
    return usd


@pytest.mark.parametrize("seed", range(6))
def test_a_commitment_goes_where_the_highest_share_is_saved(seed: int) -> None:
    rng = random.Random(f"savings {seed}")
    shares = rng.sample((0.45, 0.55, 0.6, 0.7), 3)
    prices = [(price, round(price * share, 2)) for price, share in zip((4.0, 7.0, 11.0), shares, strict=True)]
    days = [[rng.randint(0, 4) for _ in range(24)] for _ in prices]
    committed = round(rng.uniform(3.0, 8.0), 2)
    usd = min(
        highest_savings_first(prices, days, committed),
        sum(price * sum(day) for (price, _), day in zip(prices, days, strict=True)),
    )
    assert agreed_dagger_cost(case_from_tables(fixed_fleets(prices, days, committed))) == pytest.approx(usd, rel=SAME)


def test_a_discount_of_flex_nodes_replaces_their_use_price() -> None:
    """Flex held at 0.5 and used at 3: with a discount to 1 for what is used in more than a third of the day."""
    tables = tables_of(DAY, [flex(0.5, 3.0)]) | {"Discounts": [discount("flex", 1.0)]}
    usd = 24 * 0.5 * 10 + sum(min(24 * 1.0, 3.0 * sum(need >= level for need in DAY)) for level in range(1, 11))
    assert agreed_dagger_cost(case_from_tables(tables)) == pytest.approx(usd, rel=SAME)


# ---------------------------------------------------------------------- standing quotas


def test_a_standing_quota_is_there_in_every_hour_beside_the_work() -> None:
    """Two nodes of a pool without work are two more in every hour: the newsvendor with the day lifted by two."""
    lifted = [need + 2 for need in DAY]
    tables = tables_of(DAY, [reserved(2), on_demand(4.5)])
    tables["Pools"].append({"pool": "lab", "kind": "experiments", "fixed_nodes": 2, "fixed_node_type": "n"})
    usd = min(newsvendor_usd(lifted, held) for held in range(13))
    assert agreed_dagger_cost(case_from_tables(tables)) == pytest.approx(usd, rel=SAME)


def test_a_quota_of_a_type_that_nobody_else_uses() -> None:
    tables = tables_of(DAY, [reserved(2), on_demand(4.5)])
    tables["NodeTypes"].append({"node_type": "bench", "gpu": "Z", "gpus_per_node": 4, "gpu_memory_gb": 50})
    tables["Offers"].append(reserved(9, offer="bench", node_type="bench"))
    tables["Pools"].append({"pool": "lab", "kind": "experiments", "fixed_nodes": 3, "fixed_node_type": "bench"})
    assert agreed_dagger_cost(case_from_tables(tables)) == pytest.approx(438 + 24 * 27, rel=SAME)
    tables["Offers"][2]["max_nodes"] = 2
    assert agreed_dagger_cost(case_from_tables(tables)) is None


# ---------------------------------------------------------------------- bad days that take nodes


@pytest.mark.parametrize("obtainable", [1.0, 0.8, 0.5, 0.3])
@pytest.mark.parametrize("need", [1, 3, 4])
def test_on_demand_is_planned_so_that_what_can_be_had_does(obtainable: float, need: int) -> None:
    planned = next(nodes for nodes in range(1, 100) if math.floor(obtainable * nodes + 1e-9) >= need)
    short = {"contingency": "short", "pool": "p", "on_demand_obtainable_frac": obtainable}
    case = case_of([float(need)] * 24, [on_demand(4.5)], contingencies=[short])
    assert agreed_dagger_cost(case) == pytest.approx(24 * 4.5 * planned, rel=SAME)


def test_held_nodes_stay_when_on_demand_is_short() -> None:
    """Nothing can be had on demand in peak hours: every replica needs a held node, used or not."""
    short = {"contingency": "none to be had", "pool": "p", "on_demand_obtainable_frac": 0.0}
    case = case_of(DAY, [reserved(2), on_demand(4.5)], contingencies=[short])
    assert agreed_dagger_cost(case) == pytest.approx(480.0, rel=SAME)


def two_sites(need: float, *, bulk: float = 0.0, named: str = "p") -> dict[str, list[Row]]:
    """Work of two pools on nodes of two sites, one of which may be lost."""
    lost = {"contingency": "a zone", "pool": named, "scope": "zone"}
    north, south = reserved(2, offer="north", provider="a"), reserved(2.5, offer="south", provider="b")
    tables = tables_of([need] * 24, [north, south], contingencies=[lost])
    if bulk:
        tables["Workloads"].append({"workload": "bulk", "pool": "bulk", "model": "m", "precision": "x"})
        tables["Pools"].append({"pool": "bulk", "kind": "small"})
        tables["Demand"] += [{"workload": "bulk", "day_type": "", "hour": hour, "output_tps": bulk} for hour in range(24)]
    return tables


@pytest.mark.parametrize(
    ("bulk", "named", "nodes"),
    [
        (0.0, "p", (4, 4)),
        (6.0, "p", (6, 4)),  # the other pool gives way: ten nodes, of which four in either site
        (6.0, "p;bulk", (10, 10)),
    ],
)
def test_each_site_carries_all_that_must_survive_it(bulk: float, named: str, nodes: tuple[int, int]) -> None:
    case = case_from_tables(two_sites(4.0, bulk=bulk, named=named))
    usd = 24 * (2.0 * nodes[0] + 2.5 * nodes[1])
    assert agreed_dagger_cost(case) == pytest.approx(usd, rel=SAME)


def test_a_standing_quota_gives_way_when_a_zone_is_lost() -> None:
    tables = two_sites(4.0)
    tables["Pools"].append({"pool": "lab", "kind": "experiments", "fixed_nodes": 3, "fixed_node_type": "n"})
    assert agreed_dagger_cost(case_from_tables(tables)) == pytest.approx(24 * (2.0 * 4 + 2.5 * 4), rel=SAME)


@pytest.mark.parametrize(("share", "need", "live"), [(0.1, 5, 6), (0.3, 5, 8), (0.5, 5, 10), (0.5, 1, 2)])
def test_a_share_of_the_replicas_is_lost_rounded_up(share: float, need: int, live: int) -> None:
    assert live - math.ceil(share * live - 1e-9) >= need > live - 1 - math.ceil(share * (live - 1) - 1e-9)
    lost = {"contingency": "share", "pool": "p", "replicas_lost_frac": share}
    case = case_of([float(need)] * 24, [reserved(2)], contingencies=[lost])
    assert agreed_dagger_cost(case) == pytest.approx(48.0 * live, rel=SAME)


def test_the_larger_of_number_and_share_is_lost_and_nodes_besides() -> None:
    lost = {"contingency": "all", "pool": "p", "replicas_lost_frac": 0.25, "replicas_lost": 3, "nodes_lost": 1}
    for need, live in ((4, 8), (12, 18)):
        assert live - max(3, math.ceil(live / 4)) - 1 >= need > live - 1 - max(3, math.ceil((live - 1) / 4)) - 1
        case = case_of([float(need)] * 24, [reserved(2)], contingencies=[lost])
        assert agreed_dagger_cost(case) == pytest.approx(48.0 * live, rel=SAME)


def test_all_replicas_of_one_kind_may_be_lost() -> None:
    """Then two kinds must each do alone."""
    lost = {"contingency": "a bad driver", "pool": "p", "replicas_lost_frac": 1.0}
    tables = tables_of([3.0] * 24, [reserved(2)], contingencies=[lost])
    assert agreed_dagger_cost(case_from_tables(tables)) is None
    tables["NodeTypes"].append({"node_type": "k", "gpu": "K", "gpus_per_node": 1, "gpu_memory_gb": 100})
    tables["Goodput"].append({**tables["Goodput"][0], "gpu": "K", "output_tps": 3.0})
    tables["Offers"].append(reserved(7, offer="k", node_type="k"))
    case = case_from_tables(tables)
    assert agreed_dagger_cost(case) == pytest.approx(24 * (2 * 3 + 7), rel=SAME)
