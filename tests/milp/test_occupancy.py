"""Occupancy `auto`: optima worked out by hand from the table of occupancies, and what must hold of any such plan."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest

from optimizer.candidates.enumerate import find_candidates
from optimizer.domain.case import Case
from optimizer.domain.waiting import occupancy_for
from optimizer.milp import solve as program
from optimizer.milp.solve import solve_case
from optimizer.plan.audit import audit_decision
from optimizer.plan.plan import SolveOutcome
from tests.helpers.oracle_compare import same_cost, solved_cost
from tests.helpers.random_auto import random_auto_case
from tests.helpers.refcase import case_from_tables

Tables = dict[str, list[dict[str, Any]]]
SOURCE = {"source": "hand", "as_of": "2026-11-01"}
GOODPUT_TPS = 1000.0
NODE_DAY = 20.0 * 24
#: Largest occupancy at which 1 % of the requests wait longer than half a service, by live replicas: a table of its own.
TABLE = {
    1: 0.01635, 2: 0.11622, 3: 0.22127, 4: 0.30719, 5: 0.37598, 6: 0.43175, 7: 0.47779, 8: 0.51644, 9: 0.54936,
    10: 0.57777, 12: 0.62439, 16: 0.69092,
}


def tables(demand_tps: list[float], **changes: Any) -> Tables:
    """One pool on replicas that are one node each, 1,000 tok/s, $20 per node-hour reserved; 1 % of the requests may wait."""
    found: Tables = {
        "Demand": [{"workload": "chat", "hour": hour, "output_tps": tps} for hour, tps in enumerate(demand_tps)],
        "Workloads": [{"workload": "chat", "pool": "chat", "model": "m", "precision": "fp8"}],
        "Pools": [{"pool": "chat", "kind": "interactive", "occupancy_frac": "auto"}],
        "Contingencies": [],
        "NodeTypes": [{"node_type": "n", "gpu": "G", "gpus_per_node": 8, "gpu_memory_gb": 100}],
        "Models": [{"model": "m", "precision": "fp8", "weights_gb": 70, "kv_gb_per_seq": 1.0}],
        "Goodput": [{"model": "m", "precision": "fp8", "gpu": "G", "gpus_per_replica": 8, "output_tps": GOODPUT_TPS, **SOURCE}],
        "Offers": [{"offer": "flat", "node_type": "n", "purchase": "reserved", "held_usd_per_node_h": 20.0, "term_months": 12,
                    **SOURCE}],
        "ApiPrices": [],
        "Sites": [],
    }
    found.update(changes)
    return found


def solved(case: Case) -> SolveOutcome:
    """The optimum at gap 0, audited."""
    candidates = find_candidates(case)
    outcome = solve_case(case, candidates, gap=0.0, time_limit_s=60)
    assert outcome.status == "optimal" and outcome.decision is not None and outcome.cost_usd_per_day is not None
    assert audit_decision(case, candidates, outcome.decision, outcome.cost_usd_per_day).violations == ()
    return outcome


def nodes(given: Tables) -> int:
    outcome = solved(case_from_tables(given))
    assert outcome.decision is not None
    return sum(row.nodes_new for row in outcome.decision.nodes_new)


def test_the_table_is_that_of_the_program() -> None:
    assert {live: pytest.approx(share, abs=6e-6) for live, share in TABLE.items()} == {c: occupancy_for(c, 0.01) for c in TABLE}


@pytest.mark.parametrize("live", [1, 2, 3, 4, 8, 10, 12, 16])
def test_the_fewest_replicas_that_carry_the_work(live: int) -> None:
    """n carry n x occupancy(n) x 1,000 tok/s, and a little more needs one more."""
    carries = live * TABLE[live] * GOODPUT_TPS
    assert nodes(tables([carries - 1] * 24)) == live
    assert nodes(tables([carries + 1] * 24)) == live + 1


def test_a_node_lost_is_lost_at_the_occupancy_of_before() -> None:
    """7 of 8 at 0.51644 carry 3,615 tok/s; 6 of 7 at 0.47777 carry 2,867."""
    lost = [{"contingency": "n+1", "replicas_lost": 1}]
    assert nodes(tables([2860.0] * 24, Contingencies=lost)) == 7
    assert nodes(tables([2870.0] * 24, Contingencies=lost)) == 8
    assert nodes(tables([3610.0] * 24, Contingencies=lost)) == 8
    # After the loss, 7 at their own occupancy of 0.47777 would carry 3,344 only.
    assert nodes(tables([3620.0] * 24, Contingencies=lost)) == 9


def test_a_surge_and_a_rollout() -> None:
    """10 at 0.57780 carry 5,778; 25 % more than 4,600 are 5,750. The surge of a rollout makes no replica busier: 10 + 5."""
    surge = [{"contingency": "busy", "demand_surge_frac": 0.25}]
    assert nodes(tables([4600.0] * 24, Contingencies=surge)) == 10
    assert nodes(tables([4630.0] * 24, Contingencies=surge)) == 11
    rollout = [{"pool": "chat", "kind": "interactive", "occupancy_frac": "auto", "rollout_frac": 0.5}]
    assert nodes(tables([5770.0] * 24, Pools=rollout)) == 15


def test_one_pool_carries_more_than_four() -> None:
    """16 replicas together carry 11,054 tok/s; four pools of 4 carry 4 x 1,228 = 4,915, and need 17 and more for 11,054."""
    assert nodes(tables([11_050.0] * 24)) == 16
    names = [f"p{number}" for number in range(4)]

    def four(tps: float) -> int:
        demand = [{"workload": name, "hour": hour, "output_tps": tps / 4} for name in names for hour in range(24)]
        return nodes(tables(
            [], Demand=demand,
            Workloads=[{"workload": name, "pool": name, "model": "m", "precision": "fp8"} for name in names],
            Pools=[{"pool": name, "kind": "interactive", "occupancy_frac": "auto"} for name in names],
        ))

    assert four(4_910.0) == 16
    assert four(11_050.0) == 4 * 7  # 2,762 each; 6 carry 2,590, 7 carry 3,344


def test_replicas_on_spot_count() -> None:
    """10 live carry 5,778, of which 30 % may be on spot: 3 spot nodes at $5 carry 1,733."""
    outcome = solved(case_from_tables(tables(
        [5770.0] * 24, Pools=[{"pool": "chat", "kind": "interactive", "occupancy_frac": "auto", "spot_max_frac": 0.3}],
        Offers=[*tables([])["Offers"],
                {"offer": "spot", "node_type": "n", "purchase": "spot", "used_usd_per_node_h": 5.0, **SOURCE}],
    )))
    assert outcome.cost_usd_per_day == pytest.approx(7 * NODE_DAY + 3 * 5 * 24)


def test_the_rest_goes_to_an_api() -> None:
    """At $1 per tok/s and hour a node at $20 an hour pays from 20 tok/s on: the 10 that 4 do not carry go to the API."""
    api = [{"api": "cloud", "output_usd_per_mtok": 1 / 0.0036, **SOURCE}]
    chat = [{"workload": "chat", "pool": "chat", "model": "m", "precision": "fp8", "api": "cloud"}]
    sent = 10.0
    outcome = solved(case_from_tables(tables([4 * TABLE[4] * GOODPUT_TPS + sent] * 24, Workloads=chat, ApiPrices=api)))
    assert outcome.cost_usd_per_day == pytest.approx(4 * NODE_DAY + sent * 24, rel=1e-3)
    alone = solved(case_from_tables(tables([15.0] * 24, Workloads=chat, ApiPrices=api)))
    assert alone.cost_usd_per_day == pytest.approx(15 * 24)


def test_a_replica_may_be_live_only_to_let_others_be_busier() -> None:
    """Two large replicas carry 2 x 0.11622 x 1,000 = 232 tok/s; a small one (100 tok/s, $15) beside them makes it 465."""
    given = tables(
        [460.0] * 24,
        NodeTypes=[*tables([])["NodeTypes"], {"node_type": "s", "gpu": "S", "gpus_per_node": 1, "gpu_memory_gb": 100}],
        Goodput=[*tables([])["Goodput"],
                 {"model": "m", "precision": "fp8", "gpu": "S", "gpus_per_replica": 1, "output_tps": 100.0, **SOURCE}],
        Offers=[*tables([])["Offers"], {"offer": "small", "node_type": "s", "purchase": "reserved", "held_usd_per_node_h": 15.0,
                                        "term_months": 12, **SOURCE}],
    )
    outcome = solved(case_from_tables(given))
    assert outcome.cost_usd_per_day == pytest.approx((2 * 20 + 15) * 24)


@pytest.mark.parametrize("seed", range(3000, 3012))
def test_fewer_that_may_wait_never_cost_less(seed: int) -> None:
    """The limits from 40 % down to 0.1 %."""
    case = random_auto_case(seed)
    costs = []
    for waiting in (0.4, 0.1, 0.01, 0.001):
        pools = tuple(row.model_copy(update={"wait_prob_max_frac": waiting}) for row in case.pools)
        costs.append(solved_cost(case.model_copy(update={"pools": pools})))
    numbers = [math.inf if cost is None else cost for cost in costs]
    assert all(low <= high * (1 + 1e-9) + 1e-9 for low, high in pairwise(numbers)), numbers


def test_fewer_that_may_wait_do_cost_more() -> None:
    costs = []
    for waiting in (0.4, 0.1, 0.01, 0.001):
        pools = [{"pool": "chat", "kind": "interactive", "occupancy_frac": "auto", "wait_prob_max_frac": waiting}]
        costs.append(nodes(tables([5000.0] * 24, Pools=pools)))
    assert costs == sorted(set(costs))


def test_all_may_wait_is_occupancy_one() -> None:
    pools = [{"pool": "chat", "kind": "interactive", "occupancy_frac": "auto", "wait_prob_max_frac": 1.0}]
    assert nodes(tables([5000.0] * 24, Pools=pools)) == nodes(tables([5000.0] * 24, Pools=[{"pool": "chat"}])) == 5


@pytest.mark.parametrize("seed", range(3100, 3130))
def test_menus_and_the_program_in_full_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = random_auto_case(seed)
    with_menus = solved_cost(case)
    monkeypatch.setattr(program, "can_use_menus", lambda prep, pool: False)
    assert same_cost(with_menus, solved_cost(case))


def test_a_large_fleet_closes_quickly() -> None:
    """24 hours, three options, a peak of about 40 replicas: optimal to 0.1 % well within the time limit."""
    demand = [48_000 * (1 + math.sin(hour / 24 * 2 * math.pi)) + 9_000 + 7 * hour for hour in range(24)]
    sizes = (("A", 4, 1000.0, 16.0), ("B", 2, 1150.0, 28.0), ("C", 4, 3300.0, 42.0))
    given = tables(
        demand, Contingencies=[{"contingency": "n+1", "replicas_lost": 1}],
        NodeTypes=[{"node_type": gpu, "gpu": gpu, "gpus_per_node": 8, "gpu_memory_gb": 100} for gpu, _, _, _ in sizes],
        Goodput=[{"model": "m", "precision": "fp8", "gpu": gpu, "gpus_per_replica": gpus, "output_tps": tps, **SOURCE}
                 for gpu, gpus, tps, _ in sizes],
        Offers=[{"offer": f"{gpu} {kind}", "node_type": gpu, "purchase": kind, "term_months": 12 if kind == "reserved" else None,
                 key: usd * factor, **SOURCE}
                for gpu, _, _, usd in sizes
                for kind, key, factor in (("reserved", "held_usd_per_node_h", 0.6), ("on_demand", "used_usd_per_node_h", 1.0))],
    )
    case = case_from_tables(given)
    outcome = solve_case(case, find_candidates(case), gap=0.001, time_limit_s=60)
    assert outcome.status == "optimal"
    assert outcome.decision is not None
    assert max(sum(row.live for row in outcome.decision.replicas if row.hour == hour) for hour in range(24)) >= 35
