"""Small random cases as tables, with most columns of the interface in use; the same seed gives the same case."""

from __future__ import annotations

import random
from typing import Any

Rows = list[dict[str, Any]]


class _Dice(random.Random):
    def hit(self, chance: float) -> bool:
        return self.random() < chance

    def some(self, chance: float, **values: list[Any]) -> dict[str, Any]:
        """Columns that each appear with a chance, with one of their values."""
        return {key: self.choice(values[key]) for key in values if self.hit(chance)}


def random_tables(seed: int) -> dict[str, Rows]:
    """Tables of one case; without catalogs they are the whole case."""
    dice = _Dice(f"outside {seed}")
    cuts = sorted(dice.sample(range(24), dice.randint(2, 4)))
    windows = [f"{a}-{b}" for a in cuts for b in cuts if a != b]
    days = ["weekday", "weekend"] if dice.hit(0.3) else []
    tables: dict[str, Rows] = {"Policy": [{"key": "start_date", "value": "2027-01-01"}, {"key": "today", "value": "2026-11-29"}]}
    if days:
        tables["DayTypes"] = [{"day_type": "weekday", "days": 21.5}, {"day_type": "weekend", "days": 8}]
    sizes = dice.sample([1, 2, 4, 8], dice.choice([1, 2]))
    nodes: Rows = [
        {
            "node_type": f"N{size}",
            "gpu": f"G{size}",
            "gpus_per_node": size,
            "gpu_memory_gb": 100,
            "node_kw": dice.choice([2.5, 6, 10.2]),
        }
        for size in sizes
    ]
    tables["NodeTypes"] = nodes
    tables["Models"] = [{"model": "m", "precision": "fp8", "weights_gb": 60, "kv_gb_per_seq": 1}]
    tables["Goodput"] = [
        {
            "model": "m",
            "precision": "fp8",
            "gpu": node["gpu"],
            "gpus_per_replica": gpus,
            "kind": "measured",
            "source": "bench",
            "output_tps": round(dice.choice([150, 300]) * gpus**0.9 * dice.uniform(0.8, 1.3), 1),
            "input_tokens": 1000,
            "output_tokens": 250,
        }
        for node in nodes
        for gpus in dice.sample([g for g in (1, 2, 4, 8) if node["gpus_per_node"] % g == 0], 1)
    ]
    tables["ApiPrices"] = _apis(dice, windows)
    tables["Sites"] = []
    if dice.hit(0.6):
        site = {
            "site": "dc",
            "pue": dice.choice([1.1, 1.4]),
            **dice.some(0.6, usd_per_kwh=[0.1], usd_per_kw_month=[120], total_kw=[90]),
        }
        if dice.hit(0.6):
            site |= {"racks": dice.choice([4, 8]), "kw_per_rack": dice.choice([11, 24]), "slots_per_rack": dice.choice([2, 4])}
        tables["Sites"].append(site)
    tables["Offers"] = [offer for node in nodes for offer in _offers(dice, node, windows, bool(tables["Sites"]))]
    held = [offer["offer"] for offer in tables["Offers"] if offer["purchase"] in ("reserved", "owned", "flex")]
    tables["Existing"] = [
        {"offer": name, "nodes": 1, "expires": dice.choice([None, "2026-12-31", "2027-01-01", "2030-01-01"])}
        for name in held
        if dice.hit(0.3)
    ]
    tables["Pools"], tables["Workloads"], tables["Demand"] = [], [], []
    for number in range(dice.choice([1, 1, 2])):
        _pool(dice, tables, f"p{number}", cuts, windows, days)
    pools = [row["pool"] for row in tables["Pools"]]
    tables["Contingencies"] = [
        {
            "contingency": f"c{number}",
            **dice.some(0.3, pool=pools, nodes_lost=[1], spot_lost_frac=[0.5, 1], demand_surge_frac=[0.1, 0.3]),
            **dice.some(0.6, replicas_lost=[1, 2]),
            **dice.some(0.15, replicas_lost_frac=[0.34], on_demand_obtainable_frac=[0.5]),
        }
        for number in range(dice.choice([0, 1, 1, 2]))
    ]
    priced = [offer for offer in tables["Offers"] if offer["purchase"] == "on_demand"]
    if priced and dice.hit(0.2):
        price = round(priced[0]["used_usd_per_node_h"] * 0.6, 3)
        tables["Discounts"] = [
            {
                "discount": "savings",
                "offer": priced[0]["offer"],
                "discounted_usd_per_node_h": price,
                "max_commit_usd_per_h": 40,
                "term_months": 12,
            }
        ]
    return tables


def _apis(dice: _Dice, windows: list[str]) -> Rows:
    if dice.hit(0.4):
        return []
    limits = dice.some(0.2, max_output_tps=[150, 400], max_input_tps=[800], max_rpm=[60], hours=windows)
    prices = dice.some(0.4, input_usd_per_mtok=[0.3, 1], cached_input_usd_per_mtok=[0.1])
    return [{"api": "api", "output_usd_per_mtok": dice.choice([4, 12]), **prices, **limits}]


def _offers(dice: _Dice, node: dict[str, Any], windows: list[str], site: bool) -> Rows:
    name, usd = node["node_type"], node["gpus_per_node"] * dice.uniform(1.5, 4)
    offers: Rows = [
        {
            "offer": f"{name}-reserved",
            "node_type": name,
            "purchase": "reserved",
            "held_usd_per_node_h": round(usd * 0.6, 2),
            "term_months": 12,
            **dice.some(
                0.25,
                upfront_usd_per_node=[1000],
                lot_nodes=[2],
                min_nodes=[2],
                max_nodes=[4, 8],
                lead_weeks=[2, 3.5, 12],
                hours=windows,
            ),
        },
        {
            "offer": f"{name}-owned",
            "node_type": name,
            "purchase": "owned",
            "held_usd_per_node_h": round(usd * 0.35, 2),
            "term_months": 48,
            "max_nodes": dice.choice([2, 6]),
            **({"site": "dc"} if site else {}),
            **dice.some(0.3, upfront_usd_per_node=[20000]),
        },
        {
            "offer": f"{name}-flex",
            "node_type": name,
            "purchase": "flex",
            "held_usd_per_node_h": round(usd * 0.3, 2),
            "used_usd_per_node_h": round(usd * 0.5, 2),
            "provider": "cloud",
            "region": "eu",
        },
        {
            "offer": f"{name}-spot",
            "node_type": name,
            "purchase": "spot",
            "used_usd_per_node_h": round(usd * 0.4, 2),
            "max_nodes": 3,
        },
    ]
    demand = {"offer": f"{name}-od", "node_type": name, "purchase": "on_demand", "used_usd_per_node_h": round(usd, 2)}
    return [offer for offer in offers if dice.hit(0.5)] + [
        demand | dice.some(0.2, effective_frac=[0.95], hours=windows, max_nodes=[8])
    ]


def _pool(dice: _Dice, tables: dict[str, Rows], pool: str, cuts: list[int], windows: list[str], days: list[str]) -> None:
    rules = dice.some(
        0.3, rollout_frac=[0.1, 0.25], rollout_hours=windows, spot_max_frac=[0.3, 1], min_live=[1, 2], kind=["batch", "small"]
    )
    rules |= dice.some(0.1, ready_hours=[1, 2]) | dice.some(0.6, occupancy_frac=[0.6, 0.8])
    if dice.hit(0.1):
        rules |= {"fixed_nodes": 1, "fixed_node_type": tables["NodeTypes"][0]["node_type"]}
    tables["Pools"].append({"pool": pool, **rules})
    for number in range(dice.choice([1, 1, 2])):
        name, peak = f"{pool}-{number}", dice.choice([200, 600, 900])
        traits = dice.some(0.3, burst_factor=[1.15, 1.5], prefix_hit_frac=[0.3], api_max_frac=[0.1, 0.4]) | dice.some(
            0.1, deferrable_hours=[2, 6]
        )
        if tables["ApiPrices"] and dice.hit(0.8):
            traits["api"] = "api"
        tables["Workloads"].append(
            {"workload": name, "pool": pool, "model": "m", "input_tokens": 1000, "output_tokens": 250, **traits}
        )
        for day in days or [""]:
            levels = [0 if dice.hit(0.15) else round(peak * dice.random(), 1) for _ in cuts]
            levels[dice.randrange(len(levels))] = peak
            for hour in range(24):
                level = levels[sum(cut <= hour for cut in cuts) - 1]
                row = {"workload": name, "hour": hour, "output_tps": level}
                tables["Demand"].append(row | ({"day_type": day} if day else {}))
