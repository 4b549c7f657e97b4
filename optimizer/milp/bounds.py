"""How much of anything can be useful: replica bounds per option and slice, node bounds per type.

An option that can serve a set of workloads never needs more replicas than serve all of their demand alone on the worst day:
with that many, any replica beyond changes nothing, since every other requirement on those workloads is already met.
"""

from __future__ import annotations

from optimizer.milp.prep import BadDay, PoolData, PoolSlice, Prep
from optimizer.units import ceil_hedged

_NO_LIMIT = 10**9


def replica_bound(pool: PoolData, piece: PoolSlice, k: int) -> int:
    """Largest useful number of live firm replicas of option k in that slice (spot needs at most this too, see `spot_bound`)."""
    return min(alone_bound(pool, piece, k), *_stated(pool.most_live[k], _supply(pool, k)), _NO_LIMIT)


def alone_bound(pool: PoolData, piece: PoolSlice, k: int) -> int:
    """Live replicas of option k that serve all its workloads alone, every bad day included, whatever can be had of them."""
    most = ceil_hedged(_alone(piece.serve_max_tps, piece.mean_tps[k]))
    if piece.total_firm_tps > 0:
        for day in pool.bad_days:
            needed = ceil_hedged((1 + day.surge_frac) * _alone(piece.firm_tps, piece.mean_tps[k]))
            most = max(most, _enough_after_loss(day, k, needed))
    return most + pool.pool.min_live


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
    return sum(
        size * total_replicas(
            replica_bound(pool, piece, k) + (spot_bound(pool, piece, k) if pool.spot_mode == "sep" else 0), piece.rollout_frac
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
