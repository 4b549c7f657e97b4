"""How much of anything can be useful: replica bounds per option and slice, node bounds per type.

An option that can serve a set of workloads never needs more replicas than serve all of their demand alone on the worst day:
with that many, any replica beyond changes nothing, since every other requirement on those workloads is already met. With `auto`
this holds for options that serve all workloads of the pool, since the occupancy never falls with more replicas; where an option
serves some of them, or a bad day takes all of it or gives it out anew, more of it are allowed for, but not without end.
"""

from __future__ import annotations

from collections.abc import Callable

from optimizer.milp.prep import BadDay, PoolData, PoolSlice, Prep
from optimizer.units import ROUNDING_HEDGE, ceil_hedged

_NO_LIMIT = 10**9


def replica_bound(pool: PoolData, piece: PoolSlice, k: int) -> int:
    """Largest useful number of live firm replicas of option k in that slice (spot needs at most this too, see `spot_bound`)."""
    return min(alone_bound(pool, piece, k), *_stated(pool.most_live[k], _supply(pool, k)), _NO_LIMIT)


def alone_bound(pool: PoolData, piece: PoolSlice, k: int) -> int:
    """Live replicas of option k that serve all its workloads alone, every bad day included, whatever can be had of them."""
    if pool.pool.is_auto:
        most = _auto_alone(pool, piece, k)
        partial = any(tps > 0 and mean <= 0 for tps, mean in zip(piece.serve_max_tps, piece.mean_tps[k], strict=True))
        gone = piece.total_firm_tps > 0 and any(day.regiven or day.lost_frac >= 1 for day in pool.bad_days)
        if partial or gone:
            # It may also be live only to let others be busier: those of other workloads, or what is left of it all.
            most += max(_auto_alone(pool, piece, j) for j in range(len(pool.options)))
        return most + pool.pool.min_live
    most = ceil_hedged(_alone(piece.serve_max_tps, piece.mean_tps[k]))
    if piece.total_firm_tps > 0:
        for day in pool.bad_days:
            needed = ceil_hedged((1 + day.surge_frac) * _alone(piece.firm_tps, piece.mean_tps[k]))
            most = max(most, _enough_after_loss(day, k, needed))
    return most + pool.pool.min_live


def _auto_alone(pool: PoolData, piece: PoolSlice, k: int) -> int:
    """Fewest live replicas of option k that serve all its workloads alone, bad days included, at the occupancy of so many."""
    work, firm = _alone(piece.serve_max_tps, piece.mean_tps[k]), _alone(piece.firm_tps, piece.mean_tps[k])
    days = pool.bad_days if piece.total_firm_tps > 0 else ()

    def enough(live: int) -> bool:
        room = pool.pool.occupancy(live) * (1 + ROUNDING_HEDGE)
        kept = [(live if day.lost_frac >= 1 else live - day.lost(k, live), 1 + day.surge_frac) for day in days]
        return live * room >= work and all(left * room >= surged * firm for left, surged in kept)

    return _fewest(enough)


def _fewest(enough: Callable[[int], bool]) -> int:
    """Smallest whole number that is enough, where every larger one is too."""
    if enough(0):
        return 0
    high = 1
    while not enough(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def least_live(pool: PoolData, piece: PoolSlice) -> int:
    """Fewest live replicas of an `auto` pool with which the slice can be served, as if all were of the best option."""
    least = 0.0
    for w, workload in enumerate(pool.workloads):
        own = piece.demand_tps[w] - piece.overflow_max_tps[w]
        best = max((mean[w] for mean in piece.mean_tps), default=0.0)
        if not workload.deferrable_hours and own > 0 and best > 0:
            least += own / best
    return _fewest(lambda live: live * pool.pool.occupancy(live) * (1 + ROUNDING_HEDGE) >= least)


def most_pool_live(pool: PoolData, piece: PoolSlice) -> int:
    """Most live replicas of an `auto` pool that are looked at: those of every option together, or fewer.

    Let m_k replicas of option k serve all workloads alone without a loss, and M = max m_k: from M replicas on, those whose sum of
    live_k / m_k is at least 1 serve everything. So one can be spared where the sum is 1 + 1 / m_k + the most that a loss takes,
    or more. Spot replicas come on top where they are apart: they may go, and are live only beside firm ones that can do without.
    """
    apart = pool.spot_mode == "sep"
    every = sum(
        replica_bound(pool, piece, k) + (spot_bound(pool, piece, k) if apart else 0) for k in range(len(pool.options))
    )
    days = pool.bad_days if piece.total_firm_tps > 0 else ()
    partial = any(
        mean <= 0 < tps for means in piece.mean_tps for mean, tps in zip(means, piece.serve_max_tps, strict=True)
    )
    if partial or any(day.lost_frac >= 1 or day.regiven for day in days) or not pool.options:
        return every
    surged = max((1 + day.surge_frac for day in days), default=1.0)
    alone: list[int] = []
    for means in piece.mean_tps:
        work = max(_alone(piece.serve_max_tps, means), surged * _alone(piece.firm_tps, means))
        alone.append(_fewest(lambda live, work=work: live * pool.pool.occupancy(live) >= work))  # type: ignore[misc]
    stays = 1 - max((day.lost_frac for day in days), default=0.0)
    lost = max(
        ((day.replicas_lost + day.on_nodes[k] + (day.lost_frac > 0)) / alone[k] for day in days for k in range(len(alone))),
        default=0.0,
    )
    most = ceil_hedged(max(alone) * (1 + lost) / stays) + 1
    if apart:
        most += ceil_hedged(most / min((1 - day.spot_lost_frac for day in days if day.spot_lost_frac < 1), default=1.0)) + 1
    return min(every, max(most, pool.pool.min_live))


def anew_bound(pool: PoolData, piece: PoolSlice, k: int) -> int:
    """Most useful replicas of option k on the nodes that a bad day leaves; with `auto` at the least occupancy there can be."""
    if not pool.pool.is_auto:
        return replica_bound(pool, piece, k)
    firm = _alone(piece.firm_tps, piece.mean_tps[k]) / pool.pool.occupancy(max(1, least_live(pool, piece)))
    most = max((_enough_after_loss(day, k, ceil_hedged((1 + day.surge_frac) * firm)) for day in pool.bad_days), default=0)
    return min(max(most, replica_bound(pool, piece, k)), *_stated(pool.firm_supply[k]), _NO_LIMIT)


def _supply(pool: PoolData, k: int) -> int | None:
    """Replicas of option k that can be had: on firm nodes, and on spot nodes too where the pool need not tell them apart."""
    firm, spot = pool.firm_supply[k], pool.spot_supply[k]
    if pool.spot_mode != "any" or firm is None:
        return firm
    return None if spot is None else firm + spot


def _stated(*limits: int | None) -> list[int]:
    return [limit for limit in limits if limit is not None]


def _enough_after_loss(day: BadDay, k: int, needed: int) -> int:
    """Fewest replicas of option k of which `needed` are left after the loss; `needed` where a loss takes them all."""
    if day.lost_frac >= 1:
        return needed
    live = needed
    while live - day.lost(k, live) < needed:
        live += 1
    return live


def _alone(tps: tuple[float, ...], mean_tps: tuple[float, ...]) -> float:
    """Replicas that serve these rates alone, as a fraction; rates that the option cannot serve are left out."""
    return sum(rate / mean for rate, mean in zip(tps, mean_tps, strict=True) if mean > 0)


def spot_bound(pool: PoolData, piece: PoolSlice, k: int) -> int:
    """Largest useful number of live spot replicas: enough that what stays after the worst partial spot loss serves alone."""
    most = min(alone_bound(pool, piece, k), *_stated(pool.most_live[k]), _NO_LIMIT)
    partial = [day.spot_lost_frac for day in pool.bad_days if 0 < day.spot_lost_frac < 1]
    most = max([most, *(ceil_hedged(most / (1 - frac)) + 1 for frac in partial)])
    return min(most, *_stated(pool.spot_supply[k]), _NO_LIMIT)


def total_replicas(live: int, rollout_frac: float) -> int:
    """Replicas kept while rolling out: the smallest whole number at least (1 + rollout_frac) x live."""
    return ceil_hedged((1 + rollout_frac) * live)


def units_bound(pool: PoolData, piece: PoolSlice, node_type: str) -> int:
    """Units of that node type with which every option of the pool on it is at its bound."""
    firm_bound = anew_bound if any(day.regiven for day in pool.bad_days) else replica_bound
    return sum(
        size * total_replicas(
            firm_bound(pool, piece, k) + (spot_bound(pool, piece, k) if pool.spot_mode == "sep" else 0), piece.rollout_frac
        )
        for k, (option, size) in enumerate(zip(pool.options, pool.sizes, strict=True))
        if option.node_type == node_type
    )


def nodes_bound(prep: Prep, node_type: str) -> int:
    """Nodes of that type that no hour can ever need more of."""
    capacity = prep.capacity_units(node_type)
    most = 0
    for t in range(len(prep.groups)):
        units = sum(units_bound(pool, pool.slices[t], node_type) for pool in prep.pools)
        most = max(most, -(-units // capacity))
    return most + prep.fixed_nodes(node_type)
