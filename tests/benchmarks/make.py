"""Larger cases in the tables of the interface: `python -m tests.benchmarks.make SEED [mixed|wide] [-o FILE.xlsx]`.

mixed: 4 pools x 12 options x 3 day types, with work that waits, spot and bad days. wide: 40 pools x 8 node types x 2 day types.
The same seed gives the same case. Without -o the tables are printed as JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from pathlib import Path
from typing import Any

from tests.helpers.casebook import write_casebook

Tables = dict[str, list[dict[str, Any]]]
DATED = {"source": "made for a benchmark", "as_of": "2026-11-01"}


def mixed(seed: int) -> Tables:
    """Four pools on four generations, three day types; one pool waits, one may use spot, one has two workloads."""
    rng = random.Random(seed)
    tables = _market(rng, generations=4, gpus=(4, 8))
    tables["DayTypes"] = [
        {"day_type": "weekday", "days": 5},
        {"day_type": "weekend", "days": 1.5},
        {"day_type": "peak", "days": 0.5},
    ]
    tables["Pools"] = [
        {"pool": "p0", "kind": "interactive", "occupancy_frac": 0.7},
        {"pool": "p1", "kind": "interactive", "occupancy_frac": 0.75, "rollout_frac": 0.25, "rollout_hours": "9-11"},
        {"pool": "p2", "kind": "interactive", "occupancy_frac": 0.8, "spot_max_frac": 0.3},
        {"pool": "p3", "kind": "batch", "occupancy_frac": 0.9, "spot_max_frac": 1},
    ]
    tables["Contingencies"] = [
        {"contingency": "n+1", "replicas_lost": 1},
        {"contingency": "surge", "demand_surge_frac": 0.1, "api_absorbs": "yes"},
        {"contingency": "spot gone", "pool": "p2", "spot_lost_frac": 1},
    ]
    shares = {"p0": (1,), "p1": (0.6, 0.4), "p2": (1,), "p3": (1,)}
    for p, (pool, parts) in enumerate(shares.items()):
        options = _model(rng, tables, pool, options=12)
        peak = rng.uniform(15, 40) * options
        for w, part in enumerate(parts):
            name = f"w{p}{w}"
            deferrable = 8 if pool == "p3" else 0
            api = f"api{p}" if pool in {"p0", "p2"} else None
            tables["Workloads"].append(
                {
                    "workload": name,
                    "pool": pool,
                    "model": f"m-{pool}",
                    "precision": "fp8",
                    "burst_factor": rng.choice([1, 1.15]),
                    "deferrable_hours": deferrable,
                    "api": api,
                    "api_max_frac": 0.25,
                }
            )
            for day in tables["DayTypes"]:
                _demand(rng, tables, name, day["day_type"], peak * part)
    return tables


def wide(seed: int) -> Tables:
    """Forty pools of one workload on eight node types, two day types, N+1 and an API each; five pools are batch."""
    rng = random.Random(seed)
    tables = _market(rng, generations=8, gpus=(8,))
    tables["DayTypes"] = [{"day_type": "weekday", "days": 5}, {"day_type": "weekend", "days": 2}]
    tables["Contingencies"] = [{"contingency": "n+1", "replicas_lost": 1}]
    for p in range(40):
        pool = f"p{p:02}"
        tables["Pools"].append(
            {"pool": pool, "kind": "batch" if p < 5 else "interactive", "occupancy_frac": rng.choice([0.6, 0.7, 0.8])}
        )
        unit = _model(rng, tables, pool, options=10)
        tables["Workloads"].append(
            {
                "workload": f"w{p:02}",
                "pool": pool,
                "model": f"m-{pool}",
                "precision": "fp8",
                "api": f"api{p}",
            }
        )
        for day in tables["DayTypes"]:
            _demand(rng, tables, f"w{p:02}", day["day_type"], rng.uniform(3, 40) * unit)
    return tables


def _market(rng: random.Random, generations: int, gpus: tuple[int, ...]) -> Tables:
    tables: Tables = {
        name: []
        for name in (
            "Demand",
            "DayTypes",
            "Workloads",
            "Pools",
            "Contingencies",
            "NodeTypes",
            "Models",
            "Goodput",
            "Offers",
            "ApiPrices",
            "Sites",
        )
    }
    tables["Sites"] = [{"site": "dc", "total_kw": 4000, "pue": 1.2}]
    for g in range(generations):
        count = rng.choice(gpus)
        node = f"g{g}x{count}"
        list_price = 1.8 * 1.45**g * count * rng.uniform(0.9, 1.1)
        tables["NodeTypes"].append(
            {
                "node_type": node,
                "gpu": f"G{g}",
                "gpus_per_node": count,
                "gpu_memory_gb": 80 + 40 * g,
                "node_kw": round(0.8 * count + g, 1),
                **DATED,
            }
        )
        prices = {
            "on_demand": list_price,
            "spot": list_price * rng.uniform(0.35, 0.5),
            "reserved": list_price * rng.uniform(0.45, 0.65),
        }
        for purchase, price in prices.items():
            held = purchase == "reserved"
            tables["Offers"].append(
                {
                    "offer": f"g{g}-{purchase}",
                    "node_type": node,
                    "purchase": purchase,
                    "term_months": 12 if held else None,
                    ("held_usd_per_node_h" if held else "used_usd_per_node_h"): round(price, 2),
                    "max_nodes": {"on_demand": 40, "spot": rng.randint(2, 8), "reserved": 60}[purchase],
                    "effective_frac": 0.9 if purchase == "spot" else 1,
                    "site": "dc" if held and rng.random() < 0.3 else None,
                    **DATED,
                }
            )
    return tables


def _model(rng: random.Random, tables: Tables, pool: str, options: int) -> float:
    """A model with measured layouts on every node type; tok/s of the smallest one."""
    tables["Models"].append({"model": f"m-{pool}", "precision": "fp8", "weights_gb": 40, "kv_gb_per_seq": 0.2, **DATED})
    layouts = [(row, size) for row in tables["NodeTypes"] for size in (1, 2, 4, 8) if row["gpus_per_node"] % size == 0]
    least = math.inf
    for row, size in rng.sample(layouts, min(options, len(layouts))):
        generation = int(str(row["gpu"])[1:])
        tps = round(220 * 1.6**generation * size ** rng.uniform(0.85, 1.05) * rng.uniform(0.8, 1.2), 1)
        least = min(least, tps)
        tables["Goodput"].append(
            {
                "model": f"m-{pool}",
                "precision": "fp8",
                "gpu": row["gpu"],
                "gpus_per_replica": size,
                "output_tps": tps,
                "concurrency": 8,
                "kind": "measured",
                **DATED,
            }
        )
    number = len(tables["Models"]) - 1
    tables["ApiPrices"].append(
        {
            "api": f"api{number}",
            "model": f"m-{pool}",
            "output_usd_per_mtok": round(rng.uniform(2, 9), 2),
            "max_output_tps": 1e6,
            **DATED,
        }
    )
    return least


def _demand(rng: random.Random, tables: Tables, workload: str, day_type: str, peak: float) -> None:
    level = {"weekday": 1.0, "weekend": 0.6, "peak": 1.25}[day_type] * peak
    top = rng.uniform(11, 17)
    for hour in range(24):
        shape = 0.25 + 0.75 * math.cos((hour - top) / 24 * math.pi) ** 2
        tps = round(level * shape * rng.uniform(0.93, 1.07), 1)
        tables["Demand"].append({"workload": workload, "day_type": day_type, "hour": hour, "output_tps": tps})


KINDS = {"mixed": mixed, "wide": wide}


def main() -> None:
    """Write or print one case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("kind", nargs="?", choices=sorted(KINDS), default="mixed")
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args()
    tables = KINDS[chosen.kind](chosen.seed)
    if chosen.output:
        write_casebook(chosen.output, tables)
    else:
        sys.stdout.write(json.dumps(tables, indent=1) + "\n")


if __name__ == "__main__":
    main()
