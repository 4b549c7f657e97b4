"""The case as numbers the program is built from: merged slices, pools by slice, bad days by option. Plain Python, no PuLP.

Slices in which nothing differs (demand, windows, prices) are merged and their weights added: exact, since slices are coupled
only through the commitments, which are the same in all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from math import lcm

from optimizer.candidates.option import Candidates, Option, mean_tps_per_replica
from optimizer.domain.case import Case
from optimizer.domain.hardware import NodeType
from optimizer.domain.market import ApiPrice, Offer
from optimizer.domain.workload import Pool, Workload
from optimizer.plan.ledger import api_usd_per_mtok
from optimizer.units import HOURS_PER_DAY, ceil_hedged, usd_per_h_of_tps


@dataclass(frozen=True)
class BadDay:
    """One contingency as one pool sees it.

    What goes when option k is the one lost: max(replicas_lost, ceil(lost_frac x live)) + on_nodes[k], all where fewer are live.
    regiven: what is left of firm nodes is given out anew, since on-demand nodes (obtainable_frac < 1) or a zone are lost first.
    """

    contingency: str
    spot_lost_frac: float
    surge_frac: float
    api_absorbs: bool
    replicas_lost: int
    lost_frac: float
    on_nodes: tuple[int, ...]
    obtainable_frac: float = 1.0
    zone: bool = False

    @property
    def regiven(self) -> bool:
        """True where nodes are lost before replicas, so that what is left must be given out anew."""
        return self.obtainable_frac < 1 or self.zone

    def lost(self, k: int, live: int) -> int:
        """Replicas of option k that go where `live` of them are live."""
        return min(live, max(self.replicas_lost, ceil_hedged(self.lost_frac * live)) + self.on_nodes[k])

    def can_lose(self, k: int) -> bool:
        """True where losing option k takes anything."""
        return self.replicas_lost > 0 or self.lost_frac > 0 or self.on_nodes[k] > 0

    def keep_options(self, kept: list[int]) -> BadDay:
        """The same bad day for some of the options."""
        return replace(self, on_nodes=tuple(self.on_nodes[k] for k in kept))


@dataclass(frozen=True)
class ApiTerms:
    """One API as one workload sees it in one slice.

    usd_per_h_per_tps: cost of one mean output tok/s for an hour. input_per_output, requests_per_token: what a token of overflow
    takes of the input and request limits (0 where there is no such limit).
    """

    api: str
    usd_per_h_per_tps: float
    input_per_output: float
    rpm_per_tps: float


@dataclass(frozen=True)
class PoolSlice:
    """Everything that decides what one pool needs in one slice; equal objects mean equal problems.

    demand_tps[w]: what arrives; serve_max_tps[w]: the most that can run here (more than arrives only for deferrable work);
    firm_tps[w]: what a bad day must still serve (0 for deferrable work). mean_tps[k][w] per live replica (0 = that option cannot
    serve w); rollout_frac 0 outside rollout hours; apis[w]: open APIs; overflow_max_tps[w]: largest overflow that api_max_frac
    allows (0 without an open API).
    """

    demand_tps: tuple[float, ...]
    serve_max_tps: tuple[float, ...]
    firm_tps: tuple[float, ...]
    mean_tps: tuple[tuple[float, ...], ...]
    rollout_frac: float
    apis: tuple[tuple[ApiTerms, ...], ...]
    overflow_max_tps: tuple[float, ...]

    @property
    def total_serve_tps(self) -> float:
        """The most that all workloads of the pool can run in this slice."""
        return sum(self.serve_max_tps)

    @property
    def total_firm_tps(self) -> float:
        """What a bad day must still serve; bad days bind where this is above 0."""
        return sum(self.firm_tps)


@dataclass(frozen=True)
class PoolData:
    """One pool: what it may run on and what it must survive.

    most_live[k]: whole plans need no more live replicas of option k than this (None = no such limit; see dominance).
    firm_supply[k], spot_supply[k]: replicas of option k that fit on all nodes that can be had (None = no stated limit).
    sizes[k]: what a replica of option k takes of its node type, in units (a GPU is `units_per_gpu` of them).
    spot_mode: none (no spot), any (spot and firm need not be told apart), sep (spot replicas of their own).
    """

    pool: Pool
    workloads: tuple[Workload, ...]
    options: tuple[Option, ...]
    sizes: tuple[int, ...]
    bad_days: tuple[BadDay, ...]
    spot_mode: str
    slices: tuple[PoolSlice, ...]
    most_live: tuple[int | None, ...]
    firm_supply: tuple[int | None, ...]
    spot_supply: tuple[int | None, ...]


@dataclass(frozen=True)
class SliceGroup:
    """Merged slices: (day_type, hour) members, hours of the day they are, and their total weight in hours of an average day."""

    members: tuple[tuple[str, int], ...]
    weight: float

    @property
    def hour(self) -> int:
        """An hour of the group; windows are the same for every member."""
        return self.members[0][1]


@dataclass(frozen=True)
class Prep:
    """The whole case as the program sees it; the last index of every per-slice tuple is the slice group."""

    case: Case
    groups: tuple[SliceGroup, ...]
    pools: tuple[PoolData, ...]
    offers: tuple[Offer, ...]
    node_types: tuple[NodeType, ...]
    units_per_gpu: dict[str, int]

    def capacity_units(self, node_type: str) -> int:
        """Units on one node of that type."""
        for row in self.node_types:
            if row.node_type == node_type:
                return row.gpus_per_node * self.units_per_gpu[node_type]
        raise KeyError(node_type)

    def fixed_nodes(self, node_type: str) -> int:
        """Standing quota of all pools on that node type, in nodes, held in every hour."""
        return sum(row.fixed_nodes for row in self.case.pools if row.fixed_node_type == node_type)

    def firm_offers(self, node_type: str) -> tuple[Offer, ...]:
        """Held and on-demand offers of that node type."""
        return tuple(offer for offer in self.offers if offer.node_type == node_type and offer.purchase != "spot")

    def spot_offers(self, node_type: str) -> tuple[Offer, ...]:
        """Spot offers of that node type."""
        return tuple(offer for offer in self.offers if offer.node_type == node_type and offer.purchase == "spot")


def prepare(case: Case, candidates: Candidates) -> Prep:
    """Build the numbers of the program. Hours in which no pool, window or price differs become one group."""
    used_types = {option.node_type for option in candidates.options} | {offer.node_type for offer in candidates.offers}
    used_types |= {pool.fixed_node_type for pool in case.pools if pool.fixed_nodes and pool.fixed_node_type}
    node_types = tuple(row for row in case.node_types if row.node_type in used_types)
    units_per_gpu = {row.node_type: 1 for row in node_types}
    for option in candidates.options:
        units_per_gpu[option.node_type] = lcm(units_per_gpu[option.node_type], option.replicas_per_gpu)

    shifts = any(workload.deferrable_hours > 0 for workload in case.workloads) or any(pool.ready_hours for pool in case.pools)
    per_slice: list[tuple[tuple[object, ...], tuple[str, int], float, tuple[PoolSlice, ...]]] = []
    for piece in case.slices:
        pool_slices = tuple(_pool_slice(case, candidates, pool, piece.day_type, piece.hour) for pool in case.pools)
        windows = tuple(piece.hour in offer.hours for offer in candidates.offers)
        # Deferrable work and look-ahead couple the hours of a day, so none of them may be merged.
        key: tuple[object, ...] = (windows, pool_slices, (piece.day_type, piece.hour) if shifts else None)
        per_slice.append((key, (piece.day_type, piece.hour), piece.weight, pool_slices))
    merged: dict[object, int] = {}
    members: list[list[tuple[str, int]]] = []
    weights: list[float] = []
    contents: list[tuple[PoolSlice, ...]] = []
    for key, member, weight, pool_slices in per_slice:
        index = merged.setdefault(key, len(members))
        if index == len(members):
            members.append([])
            weights.append(0.0)
            contents.append(pool_slices)
        members[index].append(member)
        weights[index] += weight
    groups = tuple(SliceGroup(tuple(names), weight) for names, weight in zip(members, weights, strict=True))
    pools = tuple(
        _pool_data(case, candidates, pool, units_per_gpu, tuple(content[p] for content in contents))
        for p, pool in enumerate(case.pools)
    )
    return Prep(case, groups, pools, candidates.offers, node_types, units_per_gpu)


def settle_spot_modes(prep: Prep) -> Prep:
    """Say of every pool whether it must tell spot from firm replicas; asked once it is known which options are left.

    A pool may leave open what is on spot only where no pool with spot replicas of its own shares a node type with it.
    Otherwise both kinds of node could be left with room too small for one of its replicas although the sum would do.
    """
    settled = [replace(pool, spot_mode=_spot_mode(prep, pool)) for pool in prep.pools]
    changed = True
    while changed:
        changed = False
        apart = {option.node_type for pool in settled if pool.spot_mode == "sep" for option in pool.options}
        for p, pool in enumerate(settled):
            if pool.spot_mode == "any" and apart & {option.node_type for option in pool.options}:
                settled[p] = replace(pool, spot_mode="sep")
                changed = True
    return replace(prep, pools=tuple(settled))


def _pool_slice(case: Case, candidates: Candidates, pool: Pool, day_type: str, hour: int) -> PoolSlice:
    workloads = case.workloads_of(pool.pool)
    demand = tuple(workload.demand_on(day_type).output_tps[hour] for workload in workloads)
    mean = tuple(
        tuple(
            mean_tps_per_replica(point, workload, pool, day_type, hour) if (point := option.point(workload.workload)) else 0.0
            for workload in workloads
        )
        for option in candidates.options_of(pool.pool)
    )
    absorbs = any(row.api_absorbs for row in case.contingencies_of(pool.pool))
    apis = tuple(
        _worth_having(
            case,
            tuple(api_terms(case.api(api), workload, day_type, hour) for api in workload.api if hour in case.api(api).hours),
            all_of_them=absorbs,
        )
        for workload in workloads
    )
    serve_max = tuple(_serve_max(workload, day_type, hour) for workload in workloads)
    firm = tuple(0.0 if workload.deferrable_hours else tps for workload, tps in zip(workloads, demand, strict=True))
    overflow_max = tuple(
        workload.api_max_frac * tps if open_apis else 0.0
        for workload, tps, open_apis in zip(workloads, serve_max, apis, strict=True)
    )
    rollout_frac = pool.rollout_frac if hour in pool.rollout_hours else 0.0
    return PoolSlice(demand, serve_max, firm, mean, rollout_frac, apis, overflow_max)


def _worth_having(case: Case, apis: tuple[ApiTerms, ...], *, all_of_them: bool) -> tuple[ApiTerms, ...]:
    """Without those that an API without limits undercuts or equals; where a bad day counts on stated limits, all of them."""
    unlimited = [api for api in apis if not _is_limited(case.api(api.api))]
    if all_of_them or not unlimited:
        return apis
    cheapest = min(unlimited, key=lambda api: api.usd_per_h_per_tps)
    return tuple(api for api in apis if api is cheapest or api.usd_per_h_per_tps < cheapest.usd_per_h_per_tps)


def _is_limited(row: ApiPrice) -> bool:
    limits = (row.max_output_tps, row.max_input_tps, row.max_total_tps, row.max_rpm)
    return any(limit is not None for limit in limits)


def arrival_hours(workload: Workload, hour: int) -> tuple[int, ...]:
    """Hours of the day whose arrivals may run in `hour`: the last deferrable_hours, around midnight, and the hour itself."""
    return tuple((hour - wait) % HOURS_PER_DAY for wait in range(min(workload.deferrable_hours, HOURS_PER_DAY - 1) + 1))


def run_hours(workload: Workload, arrival: int) -> tuple[int, ...]:
    """Hours of the day in which arrivals of that hour may run: the hour itself and the next deferrable_hours, around midnight."""
    return tuple((arrival + wait) % HOURS_PER_DAY for wait in range(min(workload.deferrable_hours, HOURS_PER_DAY - 1) + 1))


def _serve_max(workload: Workload, day_type: str, hour: int) -> float:
    day = workload.demand_on(day_type)
    return sum(day.output_tps[arrival] for arrival in arrival_hours(workload, hour))


def api_terms(api: ApiPrice, workload: Workload, day_type: str, hour: int) -> ApiTerms:
    """Price and limit use of one output tok/s of overflow."""
    ratio = workload.input_per_output(day_type, hour) or 0.0
    usd_per_mtok = api_usd_per_mtok(api, workload, day_type, hour)
    rpm_per_tps = 60.0 / workload.output_tokens if api.max_rpm is not None and workload.output_tokens else 0.0
    return ApiTerms(api.api, usd_per_h_of_tps(usd_per_mtok), ratio, rpm_per_tps)


def _pool_data(
    case: Case, candidates: Candidates, pool: Pool, units_per_gpu: dict[str, int], slices: tuple[PoolSlice, ...]
) -> PoolData:
    options = candidates.options_of(pool.pool)
    sizes = tuple(
        option.gpus_per_replica * units_per_gpu[option.node_type] // option.replicas_per_gpu for option in options
    )
    bad_days = tuple(
        BadDay(
            row.contingency,
            row.spot_lost_frac,
            row.demand_surge_frac,
            row.api_absorbs,
            row.replicas_lost,
            row.replicas_lost_frac,
            tuple(row.nodes_lost * option.replicas_per_node for option in options),
            row.on_demand_obtainable_frac,
            row.scope == "zone",
        )
        for row in case.contingencies_of(pool.pool)
    )
    types = {option.node_type for option in options}
    has_spot = pool.spot_max_frac > 0 and any(o.purchase == "spot" and o.node_type in types for o in candidates.offers)
    mode = "sep" if has_spot else "none"
    supply = [
        tuple(
            None if nodes is None else nodes * option.gpus_per_node * units_per_gpu[option.node_type] // size
            for option, size in zip(options, sizes, strict=True)
            for nodes in [_most_nodes(case, candidates, option.node_type, spot=spot)]
        )
        for spot in (False, True)
    ]
    return PoolData(
        pool, case.workloads_of(pool.pool), options, sizes, bad_days, mode, slices, (None,) * len(options), supply[0], supply[1]
    )


def _most_nodes(case: Case, candidates: Candidates, node_type: str, *, spot: bool) -> int | None:
    """Nodes of that type that can be had at once, firm or spot; None where an offer states no limit."""
    total = 0
    for offer in candidates.offers:
        if offer.node_type == node_type and (offer.purchase == "spot") == spot:
            if offer.max_nodes is None:
                return None
            total += offer.max_nodes + case.nodes_existing(offer.offer)
    return total


def _spot_mode(prep: Prep, pool: PoolData) -> str:
    if pool.spot_mode == "none":
        return "none"
    free = pool.pool.spot_max_frac >= 1 and not pool.pool.ready_hours
    free = free and not any(day.spot_lost_frac > 0 or day.regiven for day in pool.bad_days)
    types = {option.node_type for option in pool.options}
    if free and not any(option.spans_nodes for option in pool.options) and _sizes_pack(prep, types):
        return "any"
    return "sep"


def _sizes_pack(prep: Prep, types: set[str]) -> bool:
    """True where all replicas of these node types, of every pool, have sizes that divide each other: then they fill whole nodes.

    Only then may firm and spot needs of a pool be added up (solver.md section 2, "any").
    """
    for node_type in types:
        sizes = sorted({
            size for pool in prep.pools for option, size in zip(pool.options, pool.sizes, strict=True)
            if option.node_type == node_type
        })
        if any(big % small for small, big in pairwise(sizes)):
            return False
    return True
