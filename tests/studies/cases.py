"""Cases that can be worked out by hand: one pool on one node type of 8 GPUs, one replica a node, goodput 2,400 tok/s."""

from __future__ import annotations

from typing import Any

from optimizer.candidates.enumerate import find_candidates
from optimizer.candidates.option import Candidates
from optimizer.domain.case import Case
from optimizer.milp.solve import solve_case
from optimizer.plan.metrics import price_plan
from optimizer.plan.plan import Baselines, Plan
from tests.helpers.refcase import case_from_tables

Tables = dict[str, list[dict[str, Any]]]
SOURCE = {"source": "hand", "as_of": "2026-11-01"}
REPLICA_TPS = 2400.0
#: Six replicas, with 1,600 tok/s to spare.
PEAK = [12_800.0] * 24

#: Replicas hour by hour of the newsvendor day of two prices; at $2 held and $4.50 used 8 are held and a day costs $438.
NEWSVENDOR = (4, 3, 3, 2, 2, 3, 4, 6, 8, 9, 10, 10, 9, 9, 10, 10, 9, 8, 8, 7, 7, 6, 5, 4)


def replicas(*counts: float, rest: float = 0.0) -> list[float]:
    """Demand that takes so many replicas hour by hour; `rest` in the hours that follow."""
    listed = [*counts, *[rest] * (24 - len(counts))]
    return [count * REPLICA_TPS for count in listed]


def offer(name: str = "flat", purchase: str = "reserved", **fields: Any) -> dict[str, Any]:
    """$20 per node-hour held, or $30 used on demand and $9 on spot."""
    price: dict[str, Any] = {"held_usd_per_node_h": 20.0, "term_months": 12}
    if purchase in {"on_demand", "spot"}:
        price = {"used_usd_per_node_h": 30.0 if purchase == "on_demand" else 9.0}
    return {"offer": name, "node_type": "b300x8", "purchase": purchase, **price, **SOURCE, **fields}


def case(demand: list[float], **tables: Any) -> Case:
    """The case; a keyword replaces a whole table."""
    found: Tables = {
        "Demand": [{"workload": "chat", "hour": hour, "output_tps": tps} for hour, tps in enumerate(demand)],
        "Workloads": [workload()],
        "Pools": [{"pool": "chat", "kind": "interactive"}],
        "Contingencies": [],
        "NodeTypes": [
            {"node_type": "b300x8", "gpu": "B300", "gpus_per_node": 8, "gpu_memory_gb": 288.4, "node_kw": 14.3},
            {"node_type": "h200x8", "gpu": "H200", "gpus_per_node": 8, "gpu_memory_gb": 151.4, "node_kw": 10.2},
        ],
        "Models": [{"model": "m", "precision": "fp8", "weights_gb": 760, "kv_gb_per_seq": 1.0}],
        "Goodput": [goodput("B300", REPLICA_TPS)],
        "Offers": [offer()],
        "ApiPrices": [],
        "Sites": [],
        "Policy": [{"key": "gap", "value": 0.0}],
    }
    found.update(tables)
    return case_from_tables(found)


def workload(**fields: Any) -> dict[str, Any]:
    return {"workload": "chat", "pool": "chat", "model": "m", "precision": "fp8", **fields}


def goodput(gpu: str, tps: float) -> dict[str, Any]:
    return {"model": "m", "precision": "fp8", "gpu": gpu, "gpus_per_replica": 8, "output_tps": tps, **SOURCE}


def several_pools() -> Case:
    """Four pools on two generations with N+1: too many whole variables to be solved again for each row."""
    tables: dict[str, list[dict[str, Any]]] = {"Demand": [], "Workloads": [], "Pools": []}
    for p in range(4):
        name = f"w{p}"
        tables["Workloads"].append(workload(workload=name, pool=name))
        tables["Pools"].append({"pool": name, "kind": "interactive", "occupancy_frac": 0.8, "min_live": 1, "rollout_frac": 0.25})
        shape = [3000.0 + 700 * p + 900 * ((hour * (p + 3)) % 11) + 13 * hour for hour in range(24)]
        tables["Demand"] += [{"workload": name, "hour": hour, "output_tps": tps} for hour, tps in enumerate(shape)]
    return case(
        PEAK, **tables, Models=[{"model": "m", "precision": "fp8", "weights_gb": 700, "kv_gb_per_seq": 1.0}],
        Goodput=[goodput("B300", 2400.0), goodput("H200", 1500.0)], Contingencies=[{"contingency": "n+1", "replicas_lost": 1}],
        Offers=[
            offer(max_nodes=12), offer("h", node_type="h200x8", held_usd_per_node_h=15.0, max_nodes=16),
            offer("od", "on_demand"), offer("far", "on_demand", used_usd_per_node_h=90.0),
        ],
        Policy=[{"key": "gap", "value": 0.05}],
    )


def solved_plan(given: Case) -> tuple[Candidates, Plan]:
    """The proven plan at gap 0 and its candidates."""
    candidates = find_candidates(given)
    outcome = solve_case(given, candidates, gap=0.0, time_limit_s=60.0)
    return candidates, price_plan(given, candidates, outcome, Baselines())
