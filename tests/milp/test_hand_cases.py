"""Optima that can be worked out by hand, one per rule of the program."""

from __future__ import annotations

from typing import Any

import pytest

from optimizer.candidates.enumerate import find_candidates
from optimizer.milp.solve import solve_case
from optimizer.plan.audit import audit_decision
from optimizer.plan.plan import SolveOutcome
from tests.helpers.refcase import case_from_tables

Tables = dict[str, list[dict[str, Any]]]
SOURCE = {"source": "hand", "as_of": "2026-11-01"}


def tables(demand: list[float], **changes: Any) -> Tables:
    """One pool on one node type of 8 GPUs, goodput 2,400 per 8-GPU replica, $20 per node-hour reserved."""
    found: Tables = {
        "Demand": [{"workload": "chat", "hour": hour, "output_tps": tps} for hour, tps in enumerate(demand)],
        "Workloads": [{"workload": "chat", "pool": "chat", "model": "m", "precision": "fp8"}],
        "Pools": [{"pool": "chat", "kind": "interactive"}],
        "Contingencies": [],
        "NodeTypes": [{"node_type": "b300x8", "gpu": "B300", "gpus_per_node": 8, "gpu_memory_gb": 288.4}],
        "Models": [{"model": "m", "precision": "fp8", "weights_gb": 760, "kv_gb_per_seq": 1.0}],
        "Goodput": [{"model": "m", "precision": "fp8", "gpu": "B300", "gpus_per_replica": 8, "output_tps": 2400, **SOURCE}],
        "Offers": [{"offer": "flat", "node_type": "b300x8", "purchase": "reserved", "held_usd_per_node_h": 20.0,
                    "term_months": 12, **SOURCE}],
        "ApiPrices": [],
        "Sites": [],
    }
    found.update(changes)
    return found


def solved(case_tables: Tables) -> SolveOutcome:
    """The optimum at gap 0, audited."""
    case = case_from_tables(case_tables)
    candidates = find_candidates(case)
    outcome = solve_case(case, candidates, gap=0.0, time_limit_s=60)
    if outcome.decision is not None and outcome.cost_usd_per_day is not None:
        assert audit_decision(case, candidates, outcome.decision, outcome.cost_usd_per_day).violations == ()
    return outcome


def nodes(outcome: SolveOutcome) -> int:
    assert outcome.decision is not None
    return sum(row.nodes_new for row in outcome.decision.nodes_new)


PEAK = [12_800.0] * 24


@pytest.mark.parametrize(("contingency", "replicas"), [
    ({}, 6),
    ({"replicas_lost": 1}, 7),
    ({"replicas_lost": 2}, 8),
    ({"nodes_lost": 1}, 7),
    ({"replicas_lost": 1, "nodes_lost": 1}, 8),
    ({"demand_surge_frac": 0.2}, 7),
    ({"replicas_lost": 1, "demand_surge_frac": 0.2}, 8),
])
def test_spares_of_one_option(contingency: dict[str, Any], replicas: int) -> None:
    rows = [{"contingency": "bad day", **contingency}] if contingency else []
    outcome = solved(tables(PEAK, Contingencies=rows))
    assert nodes(outcome) == replicas
    assert outcome.cost_usd_per_day == pytest.approx(replicas * 20 * 24)


def test_failure_rollout_and_peak_of_the_brief() -> None:
    case = tables(
        [9000.0] * 24, Pools=[{"pool": "chat", "occupancy_frac": 0.6, "rollout_frac": 0.25}],
        Contingencies=[{"contingency": "n+1", "replicas_lost": 1}],
        Goodput=[{"model": "m", "precision": "fp8", "gpu": "B300", "gpus_per_replica": 8, "output_tps": 1400, **SOURCE}],
    )
    outcome = solved(case)
    assert outcome.decision is not None
    assert {(row.live, row.total) for row in outcome.decision.replicas} == {(12, 15)}


def test_an_hour_without_demand_needs_nothing() -> None:
    demand = [0.0] * 12 + [2400.0] * 12
    on_demand = {"offer": "od", "node_type": "b300x8", "purchase": "on_demand", "used_usd_per_node_h": 30.0, **SOURCE}
    outcome = solved(tables(demand, Offers=[on_demand]))
    assert outcome.cost_usd_per_day == pytest.approx(12 * 30)


def test_two_kinds_of_replica_are_worth_having_where_two_of_one_kind_may_be_lost() -> None:
    """One replica is needed after two of any one kind are lost: three of one kind, or one each of two kinds."""
    goodput = [
        {"model": "m", "precision": "fp8", "gpu": "B300", "gpus_per_replica": 8, "output_tps": 2400, "engine": engine, **SOURCE}
        for engine in ("one", "other")
    ]
    outcome = solved(tables([2400.0] * 24, Goodput=goodput, Contingencies=[{"contingency": "two", "replicas_lost": 2}]))
    assert nodes(outcome) == 2


def test_deferrable_work_fills_the_valley() -> None:
    """4,800 tok/s arrive in 12 hours and may wait 12: one node all day does in 24 hours what two would do in 12."""
    demand = [4800.0] * 12 + [0.0] * 12
    workloads = [{"workload": "chat", "pool": "chat", "model": "m", "precision": "fp8", "deferrable_hours": 12}]
    case = tables(demand, Workloads=workloads, Pools=[{"pool": "chat", "kind": "batch"}])
    outcome = solved(case)
    assert nodes(outcome) == 1
    assert outcome.decision is not None
    run = [0.0] * 24
    for row in outcome.decision.loads:
        run[row.hour] += row.firm_tps
    assert run == pytest.approx([2400.0] * 24)


@pytest.mark.parametrize("waiting", [0, 1, 2, 3])
def test_work_that_may_wait_a_little(waiting: int) -> None:
    """One hour of 9,600 tok/s spread over waiting + 1 hours needs 4 / (waiting + 1) nodes, rounded up."""
    demand = [0.0] * 23 + [9600.0]  # around midnight
    workloads = [{"workload": "chat", "pool": "chat", "model": "m", "precision": "fp8", "deferrable_hours": waiting}]
    outcome = solved(tables(demand, Workloads=workloads, Pools=[{"pool": "chat", "kind": "batch"}]))
    assert nodes(outcome) == -(-4 // (waiting + 1))


@pytest.mark.parametrize(("zones", "replicas"), [(2, 16), (3, 12), (4, 11)])
def test_zones(zones: int, replicas: int) -> None:
    """Eight replicas must be left after any one zone is lost: 16, 12 and 11 over 2, 3 and 4 zones."""
    offers = [
        {"offer": f"z{zone}", "node_type": "b300x8", "purchase": "reserved", "held_usd_per_node_h": 20.0, "term_months": 12,
         "provider": "p", "region": f"r{zone}", **SOURCE}
        for zone in range(zones)
    ]
    case = tables([8 * 2400.0] * 24, Offers=offers, Contingencies=[{"contingency": "zone", "scope": "zone"}])
    assert nodes(solved_unaudited(case)) == replicas


def solved_unaudited(case_tables: Tables) -> SolveOutcome:
    case = case_from_tables(case_tables)
    return solve_case(case, find_candidates(case), gap=0.0, time_limit_s=60)


@pytest.mark.parametrize(("frac", "replicas"), [(0.25, 8), (0.5, 12), (0.1, 7)])
def test_a_share_of_replicas_lost(frac: float, replicas: int) -> None:
    """6 must be left of n after ceil(frac x n) are lost."""
    case = tables(PEAK, Contingencies=[{"contingency": "share", "replicas_lost_frac": frac}])
    assert nodes(solved_unaudited(case)) == replicas


def test_on_demand_shortage_counts_idle_held_nodes() -> None:
    """Half the on-demand nodes obtainable: 4 needed at peak; r held, u on demand with r + u >= 4 and r + floor(u / 2) >= 4."""
    demand = [4 * 2400.0] + [2400.0] * 23
    offers = [
        {"offer": "held", "node_type": "b300x8", "purchase": "reserved", "held_usd_per_node_h": 20.0, "term_months": 12,
         **SOURCE},
        {"offer": "od", "node_type": "b300x8", "purchase": "on_demand", "used_usd_per_node_h": 40.0, **SOURCE},
    ]
    case = tables(demand, Offers=offers, Contingencies=[{"contingency": "short", "on_demand_obtainable_frac": 0.5}])
    outcome = solved_unaudited(case)
    # One node held serves the other hours; at the peak 3 must be left of on-demand: 6 nodes planned for one hour at $40.
    assert outcome.cost_usd_per_day == pytest.approx(20 * 24 + 6 * 40)


def test_standing_quota_takes_nodes() -> None:
    pools = [
        {"pool": "chat", "kind": "interactive"},
        {"pool": "lab", "kind": "experiments", "fixed_nodes": 2, "fixed_node_type": "b300x8"},
    ]
    assert nodes(solved_unaudited(tables(PEAK, Pools=pools))) == 8


def test_replicas_are_paid_before_they_are_ready() -> None:
    demand = [0.0] * 12 + [2400.0] + [0.0] * 11
    on_demand = {"offer": "od", "node_type": "b300x8", "purchase": "on_demand", "used_usd_per_node_h": 30.0, **SOURCE}
    case = tables(demand, Offers=[on_demand], Pools=[{"pool": "chat", "ready_hours": 2}])
    assert solved_unaudited(case).cost_usd_per_day == pytest.approx(3 * 30)
