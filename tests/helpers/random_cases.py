"""Small random cases that use every feature of the program often; the same seed gives the same case.

The day falls into two to four blocks of equal hours, and all windows are made of blocks, so that the independent oracle is quick.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterable

from optimizer.domain.case import Case
from optimizer.domain.hardware import NodeType, Site
from optimizer.domain.hours import ALL_DAY
from optimizer.domain.market import ApiPrice, Existing, Offer, Purchase
from optimizer.domain.measurement import GoodputRow
from optimizer.domain.model import ServedModel
from optimizer.domain.policy import Policy
from optimizer.domain.workload import Contingency, DayType, DemandDay, Pool, Workload

START_DATE = datetime.date(2027, 1, 1)
TODAY = datetime.date(2026, 11, 29)

#: Chance that a case has the feature, where the caller does not say which features it wants.
FEATURES: dict[str, float] = {
    "two_node_types": 0.75,
    "node_of_six": 0.12,
    "two_pools": 0.45,
    "two_workloads": 0.45,
    "three_workloads": 0.15,
    "shared_model": 0.15,
    "no_option": 0.05,
    "three_options": 0.30,
    "partial_option": 0.25,
    "spanning": 0.20,
    "prefill_apart": 0.20,
    "prefix_hit": 0.30,
    "forecast_input": 0.20,
    "burst": 0.40,
    "occupancy": 0.60,
    "exact_demand": 0.25,
    "zero_demand": 0.25,
    "day_types": 0.30,
    "reserved": 0.75,
    "flex": 0.35,
    "owned": 0.35,
    "on_demand": 0.75,
    "on_demand_max": 0.50,
    "spot": 0.45,
    "upfront": 0.35,
    "effective_frac": 0.20,
    "free_offer": 0.08,
    "offer_hours": 0.25,
    "lots": 0.30,
    "min_nodes": 0.25,
    "max_nodes": 0.40,
    "existing": 0.30,
    "late": 0.15,
    "site_elastic": 0.10,
    "racks": 0.60,
    "total_kw": 0.50,
    "energy": 0.60,
    "kw_month": 0.40,
    "api": 0.60,
    "two_apis": 0.30,
    "api_limits": 0.60,
    "api_unlimited": 0.30,
    "api_hours": 0.25,
    "api_max_frac": 0.30,
    "replicas_lost": 0.55,
    "nodes_lost": 0.25,
    "spot_lost": 0.50,
    "surge": 0.35,
    "api_absorbs": 0.35,
    "second_contingency": 0.30,
    "rollout": 0.35,
    "rollout_window": 0.50,
    "min_live": 0.20,
    "node_type_allowed": 0.10,
}

_SIZES = (1, 2, 4, 8)


def _windows(rng: random.Random, blocks: list[list[int]]) -> frozenset[int]:
    """Some of the blocks of the day, not all and not none."""
    chosen = rng.sample(blocks, rng.randint(1, max(1, len(blocks) - 1)))
    return frozenset(hour for block in chosen for hour in block)


def _blocks(rng: random.Random) -> list[list[int]]:
    """The day cut at two to four hours; the last block runs over midnight."""
    count = rng.randint(2, 4)
    cuts = sorted(rng.sample(range(24), count))
    return [[(hour % 24) for hour in range(a, b)] for a, b in zip(cuts, [*cuts[1:], cuts[0] + 24], strict=True)]


class _Maker:
    def __init__(self, seed: int, features: Iterable[str] | None, without: Iterable[str], replicas_at_peak: float) -> None:
        self.rng = random.Random(f"fleet {seed}")
        unknown = (set(features or ()) | set(without)) - FEATURES.keys()
        if unknown:
            raise ValueError(f"no such features: {sorted(unknown)}")
        drawn = {name for name, chance in FEATURES.items() if self.rng.random() < chance}
        self.on = (drawn if features is None else set(features)) - set(without)
        self.blocks = _blocks(self.rng)
        self.replicas_at_peak = replicas_at_peak
        if not self.on & {"reserved", "flex", "owned", "on_demand", "spot", "api"}:
            self.on.add("on_demand")

    def has(self, feature: str, chance: float = 1.0) -> bool:
        """The case has the feature, and this row of it gets it."""
        return feature in self.on and (chance >= 1.0 or self.rng.random() < chance)

    # ------------------------------------------------------------------ hardware and speed

    def node_types(self) -> list[NodeType]:
        rng = self.rng
        count = 2 if self.has("two_node_types") else 1
        same_gpu = count == 2 and rng.random() < 0.2
        sizes = rng.sample(_SIZES, count)
        if self.has("node_of_six"):
            sizes[0] = 6
        nodes = []
        for index, size in enumerate(sizes):
            gpu = "A" if index == 0 or same_gpu else "B"
            nodes.append(
                NodeType(
                    node_type=f"{gpu}{index}x{size}",
                    gpu=gpu,
                    gpus_per_node=size,
                    gpu_memory_gb=100.0,
                    replica_span_gpus=size * (2 if self.has("spanning") else 1),
                    node_kw=round(1.2 * size + rng.uniform(0.1, 2.0), 1),
                )
            )
        return nodes

    def layouts(self, nodes: list[NodeType]) -> list[tuple[str, int]]:
        """(gpu, GPUs per replica) of the options of one pool."""
        possible: set[tuple[str, int]] = set()
        spanning: set[tuple[str, int]] = set()
        for node in nodes:
            size = node.gpus_per_node
            possible |= {(node.gpu, gpus) for gpus in range(1, size + 1) if size % gpus == 0}
            if node.replica_span_gpus > size:
                spanning.add((node.gpu, node.replica_span_gpus))
        count = 3 if self.has("three_options") else self.rng.choice((1, 2, 2))
        ordered = sorted(possible)
        chosen = self.rng.sample(ordered, min(count, len(ordered)))
        if spanning and self.rng.random() < 0.7:
            chosen[0] = self.rng.choice(sorted(spanning))
        return sorted(set(chosen))

    # ------------------------------------------------------------------ work

    def pools(self, nodes: list[NodeType]) -> list[Pool]:
        rng = self.rng
        names = ["chat", "bulk"] if self.has("two_pools") else ["chat"]
        pools = []
        for name in names:
            spot = rng.choice((0.0, 0.3, 0.3, 1.0, 1.0)) if self.has("spot") else 0.0
            pools.append(
                Pool(
                    pool=name,
                    kind="interactive" if name == "chat" or rng.random() < 0.5 else "small",
                    occupancy_frac=rng.choice((0.6, 0.7, 0.85)) if self.has("occupancy", 0.8) else 1.0,
                    rollout_frac=rng.choice((0.25, 0.5)) if self.has("rollout", 0.8) else 0.0,
                    rollout_hours=_windows(rng, self.blocks) if self.has("rollout_window") else ALL_DAY,
                    spot_max_frac=spot,
                    min_live=rng.randint(1, 3) if self.has("min_live", 0.8) else 0,
                    node_types=(rng.choice(nodes).node_type,) if self.has("node_type_allowed", 0.6) else (),
                )
            )
        return pools

    def workloads(self, pools: list[Pool], days: list[DayType], base_tps: dict[str, float]) -> list[Workload]:
        rng = self.rng
        workloads: list[Workload] = []
        for pool in pools:
            count = 1
            if pool is pools[0] or rng.random() < 0.3:
                count = 3 if self.has("three_workloads") else 2 if self.has("two_workloads") else 1
            shares_model = self.has("shared_model")
            for number in range(count):
                output_tokens = float(rng.choice((200, 250, 500, 1000)) + number)
                input_tokens = float(rng.choice((500, 1000, 2000, 4000)))
                if shares_model and number == 0 and workloads:
                    output_tokens, input_tokens = workloads[0].output_tokens or 1.0, workloads[0].input_tokens or 1.0
                apis = [f"{pool.pool}-api{k}" for k in range(2 if self.has("two_apis") else 1)] if self.has("api", 0.85) else []
                if apis and self.has("api", 0.25):
                    apis = [*apis[:-1], "any-api"]
                burst = rng.choice((1.1, 1.25)) if self.has("burst", 0.8) else 1.0
                unit = base_tps[pool.pool] * (pool.occupancy_frac or 1.0) / burst
                peak = rng.uniform(0.5, self.replicas_at_peak) / count**0.7
                workloads.append(
                    Workload(
                        workload=f"{pool.pool}{number}",
                        pool=pool.pool,
                        model="model-chat" if shares_model else f"model-{pool.pool}",
                        precision="fp8",
                        input_tokens=input_tokens,
                        output_tokens=output_tokens,
                        prefix_hit_frac=rng.choice((0.3, 0.5)) if self.has("prefix_hit", 0.8) else 0.0,
                        burst_factor=burst,
                        api=tuple(apis),
                        api_max_frac=rng.choice((0.2, 0.5, 0.9)) if self.has("api_max_frac", 0.8) else 1.0,
                        demand=self.demand(days, unit, peak, input_tokens / output_tokens),
                    )
                )
        return workloads

    def demand(self, days: list[DayType], unit: float, peak: float, ratio: float) -> tuple[DemandDay, ...]:
        """A level per block; a second day type takes the levels of the first, or scales them."""
        rng = self.rng
        exact = self.has("exact_demand")
        levels = [peak, *(peak * rng.choice((0.1, 0.25, 0.4, 0.6, 0.8, 1.0)) for _ in self.blocks[1:])]
        rng.shuffle(levels)
        if exact:
            levels = [float(max(1, round(level))) for level in levels]
        if self.has("zero_demand", 0.7):
            levels[rng.randrange(len(levels))] = 0.0
        rows = []
        for index, day in enumerate(days):
            scale = 1.0 if index == 0 else rng.choice((0.5, 0.7))
            tps = [0.0] * 24
            inputs = [0.0] * 24
            for level, block in zip(levels, self.blocks, strict=True):
                block_ratio = ratio * rng.choice((0.5, 1.0, 1.0, 2.0))
                for hour in block:
                    tps[hour] = level * scale * unit
                    inputs[hour] = tps[hour] * block_ratio
            has_input = self.has("forecast_input")
            rows.append(DemandDay(day_type=day.day_type, output_tps=tuple(tps), input_tps=tuple(inputs) if has_input else None))
        return tuple(rows)

    def goodput(
        self, workloads: list[Workload], layouts: dict[str, list[tuple[str, int]]], speed: dict[str, float]
    ) -> list[GoodputRow]:
        rng = self.rng
        rows = []
        unserved = rng.choice(sorted(layouts)) if self.has("no_option") else None
        for pool, chosen in layouts.items():
            if pool == unserved:
                continue
            mine = [workload for workload in workloads if workload.pool == pool]
            for position, (gpu, gpus) in enumerate(chosen):
                served = list(mine)
                if len(mine) > 1 and position > 0 and self.has("partial_option", 0.7):
                    served = [rng.choice(mine)]
                for workload in served:
                    tps = speed[gpu] * gpus ** rng.choice((0.85, 1.0, 1.1)) * rng.uniform(0.7, 1.2)
                    if workload is mine[0] and position == 0:
                        tps = speed[gpu] * gpus
                    assert workload.input_tokens is not None and workload.output_tokens is not None
                    work = workload.input_tokens / workload.output_tokens
                    rows.append(
                        GoodputRow(
                            model=workload.model,
                            precision="fp8",
                            gpu=gpu,
                            gpus_per_replica=gpus,
                            output_tps=tps if self.has("exact_demand") else round(tps, 1),
                            input_tokens=workload.input_tokens,
                            output_tokens=workload.output_tokens,
                            input_tps=round(tps * work * rng.uniform(2, 5), 1) if self.has("prefill_apart", 0.7) else None,
                            tp=gpus,
                            engine="engine",
                            config="c",
                            latency_stat="p99",
                        )
                    )
        return rows

    # ------------------------------------------------------------------ market

    def offers(self, nodes: list[NodeType], sites: list[Site]) -> list[Offer]:
        rng = self.rng
        offers: list[Offer] = []
        for node in nodes:
            fair = node.gpus_per_node * rng.uniform(1.5, 3.0) * (1.4 if node.gpu == "B" else 1.0)
            kinds: list[Purchase] = []
            for kind in ("reserved", "flex", "owned", "on_demand", "spot"):
                if self.has(kind, 0.85):
                    kinds.append(kind)
            if self.has("reserved", 0.25):
                kinds.append("reserved")
            if self.has("on_demand", 0.2):
                kinds.append("on_demand")
            for kind in kinds:
                offers.append(self.offer(f"{node.node_type}-{kind}-{len(offers)}", node, kind, fair, sites))
        if not offers:
            offers.append(self.offer(f"{nodes[0].node_type}-last", nodes[0], "on_demand", nodes[0].gpus_per_node * 3.0, sites))
        return offers

    def offer(self, name: str, node: NodeType, kind: Purchase, fair: float, sites: list[Site]) -> Offer:
        rng = self.rng
        held_part, used_part = {
            "reserved": (rng.uniform(0.5, 0.8), 0.0),
            "flex": (rng.uniform(0.2, 0.4), rng.uniform(0.3, 0.6)),
            "owned": (rng.uniform(0.1, 0.4), 0.0),
            "on_demand": (0.0, rng.uniform(0.9, 1.6)),
            "spot": (0.0, rng.uniform(0.3, 0.7)),
        }[kind]
        held = kind in ("reserved", "flex", "owned")
        upfront = held and self.has("upfront", 0.6)
        site = kind == "owned" or (not held and self.has("site_elastic", 0.4))
        free = held and self.has("free_offer", 0.5)
        most = None
        if (held and self.has("max_nodes", 0.7)) or (not held and self.has("on_demand_max", 0.8)) or kind == "spot":
            most = rng.randint(1, 6)
        return Offer(
            offer=name,
            node_type=node.node_type,
            purchase=kind,
            held_usd_per_node_h=0.0 if free else round(fair * held_part, 3),
            used_usd_per_node_h=round(fair * used_part, 3),
            upfront_usd_per_node=round(fair * rng.uniform(200, 1500)) if upfront else 0.0,
            term_months=float(rng.choice((6, 12, 36))) if held else None,
            lead_weeks=float(rng.choice((5, 8))) if self.has("late", 0.4) else float(rng.choice((0, 2))),
            lot_nodes=rng.choice((2, 3)) if held and self.has("lots", 0.7) else 1,
            min_nodes=rng.randint(2, 4) if held and self.has("min_nodes", 0.7) else 0,
            max_nodes=most,
            effective_frac=rng.choice((0.85, 0.9, 0.95)) if kind == "spot" or self.has("effective_frac", 0.7) else 1.0,
            hours=_windows(rng, self.blocks) if self.has("offer_hours", 0.4) else ALL_DAY,
            site=sites[rng.randrange(len(sites))].site if site and sites else None,
            provider=rng.choice(("north", "south")),
            region=rng.choice(("r1", "r2")),
        )

    def sites(self, nodes: list[NodeType]) -> list[Site]:
        if not (self.has("owned") or self.has("site_elastic")):
            return []
        rng = self.rng
        sites = []
        most_kw = max(node.node_kw or 0.0 for node in nodes)
        for name in ("dc1", "dc2") if rng.random() < 0.25 else ("dc1",):
            racks = self.has("racks", 0.8)
            by_kw = rng.random() < 0.7
            sites.append(
                Site(
                    site=name,
                    racks=rng.randint(1, 3) if racks else None,
                    kw_per_rack=round(most_kw * rng.uniform(0.9, 2.5), 1) if racks and by_kw else None,
                    slots_per_rack=rng.randint(1, 3) if racks and (not by_kw or rng.random() < 0.5) else None,
                    total_kw=round(most_kw * rng.uniform(1.0, 5.0), 1) if self.has("total_kw", 0.8) else None,
                    pue=rng.choice((1.0, 1.2, 1.35)),
                    usd_per_kwh=rng.choice((0.05, 0.12, 0.3)) if self.has("energy", 0.8) else 0.0,
                    usd_per_kw_month=rng.choice((90.0, 180.0)) if self.has("kw_month", 0.8) else 0.0,
                )
            )
        return sites

    def existing(self, offers: list[Offer]) -> list[Existing]:
        rng = self.rng
        rows = []
        for offer in offers:
            if offer.is_held and self.has("existing", 0.5):
                expires = rng.choice((None, datetime.date(2028, 6, 30), datetime.date(2026, 12, 31), START_DATE))
                nodes = 1 if offer.site else rng.randint(1, 3)
                rows.append(Existing(offer=offer.offer, nodes=nodes, expires=expires))
        return rows

    def apis(self, workloads: list[Workload], fair_usd_mtok: dict[str, float]) -> list[ApiPrice]:
        rng = self.rng
        prices = []
        for name in sorted({api for workload in workloads for api in workload.api}):
            users = [workload for workload in workloads if name in workload.api]
            peak = max(max(day.output_tps) for workload in users for day in workload.demand) or 1.0
            ratio = max((workload.input_tokens or 0.0) / (workload.output_tokens or 1.0) for workload in users)
            fair = max(fair_usd_mtok[workload.pool] for workload in users)
            # the input that comes with a token costs about a fifth of its rate in output
            output = fair * rng.uniform(0.3, 2.0) / (1 + ratio / 5)
            limits = self.has("api_limits", 0.85)
            has_output_limit = limits and not self.has("api_unlimited", 0.6)
            prices.append(
                ApiPrice(
                    api=name,
                    output_usd_per_mtok=round(output, 3),
                    input_usd_per_mtok=round(output / 5, 3),
                    cached_input_usd_per_mtok=round(output / 20, 3) if rng.random() < 0.5 else round(output / 5, 3),
                    max_output_tps=round(peak * rng.uniform(0.1, 1.0), 1) if has_output_limit else None,
                    max_input_tps=round(peak * ratio * rng.uniform(0.1, 0.9), 1) if limits and rng.random() < 0.4 else None,
                    max_total_tps=round(peak * (1 + ratio) * rng.uniform(0.1, 0.9), 1) if limits and rng.random() < 0.4 else None,
                    max_rpm=round(60 * peak / 500 * rng.uniform(0.1, 0.9), 1) if limits and rng.random() < 0.3 else None,
                    hours=_windows(rng, self.blocks) if self.has("api_hours", 0.6) else ALL_DAY,
                )
            )
        return prices

    def contingencies(self, pools: list[Pool]) -> list[Contingency]:
        rng = self.rng
        names = [pool.pool for pool in pools]
        rows: list[Contingency] = []
        for number in range(2 if self.has("second_contingency") else 1):
            fields = {
                "replicas_lost": rng.choice((1, 1, 1, 2)) if self.has("replicas_lost", 0.8) else 0,
                "nodes_lost": 1 if self.has("nodes_lost", 0.7) else 0,
                "spot_lost_frac": rng.choice((1.0, 1.0, 0.5, 0.3)) if self.has("spot_lost", 0.7) else 0.0,
                "demand_surge_frac": rng.choice((0.1, 0.25)) if self.has("surge", 0.7) else 0.0,
            }
            if any(fields.values()):
                rows.append(
                    Contingency(
                        contingency=f"bad day {number}",
                        pools=tuple(names if rng.random() < 0.5 else [rng.choice(names)]),
                        api_absorbs=self.has("api_absorbs", 0.6),
                        replicas_lost=int(fields["replicas_lost"]),
                        nodes_lost=int(fields["nodes_lost"]),
                        spot_lost_frac=float(fields["spot_lost_frac"]),
                        demand_surge_frac=float(fields["demand_surge_frac"]),
                    )
                )
        return rows

    # ------------------------------------------------------------------ the case

    def case(self) -> Case:
        rng = self.rng
        nodes = self.node_types()
        speed = {"A": float(rng.choice((100, 140, 240))), "B": float(rng.choice((200, 350, 500)))}
        days = [DayType(day_type="weekday", days=5), DayType(day_type="weekend", days=2)]
        days = days if self.has("day_types") else [DayType(day_type="day", days=1)]
        pools = self.pools(nodes)
        layouts = {}
        for pool in pools:
            allowed = [node for node in nodes if not pool.node_types or node.node_type in pool.node_types]
            layouts[pool.pool] = self.layouts(allowed)
        base_tps = {pool: speed[chosen[0][0]] * chosen[0][1] for pool, chosen in layouts.items()}
        workloads = self.workloads(pools, days, base_tps)
        sites = self.sites(nodes)
        offers = self.offers(nodes, sites)
        # what a token costs on a well used replica at about 2 $ per GPU and hour
        fair = {pool: 2.0 * chosen[0][1] / (base_tps[pool] * 0.0036) for pool, chosen in layouts.items()}
        return Case(
            day_types=tuple(days),
            workloads=tuple(workloads),
            pools=tuple(pools),
            contingencies=tuple(self.contingencies(pools)),
            policy=Policy(start_date=START_DATE, today=TODAY, gap=0.0),
            node_types=tuple(nodes),
            models=tuple(
                ServedModel(model=f"model-{pool.pool}", precision="fp8", weights_gb=10.0, kv_gb_per_seq=0.1) for pool in pools
            ),
            goodput=tuple(self.goodput(workloads, layouts, speed)),
            offers=tuple(offers),
            existing=tuple(self.existing(offers)),
            api_prices=tuple(self.apis(workloads, fair)),
            sites=tuple(sites),
        )


def random_case(
    seed: int, features: Iterable[str] | None = None, *, without: Iterable[str] = (), replicas_at_peak: float = 4.0
) -> Case:
    """A small case. features: exactly these (None = each by its chance in FEATURES); without: never these.

    replicas_at_peak: roughly how many replicas of its first option a pool asks for at peak. Raises ValueError for unknown names.
    """
    return _Maker(seed, features, without, replicas_at_peak).case()
