"""What can be set aside before the program is built, exactly: options that others replace, and GPU steps nobody else can use.

Sources: solver.md section 1, ideas 1 and 2, with two corrections. Where a bad day takes n >= 2 replicas of one option, a few of a
second kind can be worth having although it is no better (losing two of either leaves the other): an option that is replaced in
bulk may still be used, but never n or more of it. And steps are given to the pools in the order that makes them largest.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from optimizer.milp.prep import PoolData, Prep

_TOLERANCE = 1e-12


def drop_dominated_options(prep: Prep) -> Prep:
    """Limit option k where m replicas of j on the same node type take no more GPUs and do as much for every workload.

    Swapping all x of k for m x of j leaves no less after any loss, provided x >= n, the most replicas of k that a bad day takes;
    so at most n - 1 of k are ever needed, and none where n <= 1: then k is left out.
    """
    return replace(prep, pools=tuple(_limit_dominated(pool) for pool in prep.pools))


def _limit_dominated(pool: PoolData) -> PoolData:
    if any(day.lost_frac > 0 or day.regiven for day in pool.bad_days):
        return pool  # what is lost then depends on how many there are, or on nodes; not worked out
    most_lost = [
        max((day.replicas_lost + day.on_nodes[k] for day in pool.bad_days), default=0) for k in range(len(pool.options))
    ]
    if pool.spot_mode != "none" and any(lost > 1 for lost in most_lost):
        return pool  # what stays of firm and spot together decides; not worked out
    limits: list[int | None] = [None] * len(pool.options)
    for k in range(len(pool.options)):
        if any(j != k and _replaces(pool, j, k) and not (_replaces(pool, k, j) and k < j) for j in range(len(pool.options))):
            limits[k] = max(most_lost[k] - 1, 0)
    kept = [k for k, limit in enumerate(limits) if limit != 0]
    return replace(
        pool,
        options=tuple(pool.options[k] for k in kept),
        sizes=tuple(pool.sizes[k] for k in kept),
        bad_days=tuple(day.keep_options(kept) for day in pool.bad_days),
        slices=tuple(replace(piece, mean_tps=tuple(piece.mean_tps[k] for k in kept)) for piece in pool.slices),
        most_live=tuple(limits[k] for k in kept),
        firm_supply=tuple(pool.firm_supply[k] for k in kept),
        spot_supply=tuple(pool.spot_supply[k] for k in kept),
    )


def _replaces(pool: PoolData, j: int, k: int) -> bool:
    """True where pool.sizes[k] / pool.sizes[j] replicas of j do the work of one k in every slice, and no bad day takes more."""
    if pool.options[j].node_type != pool.options[k].node_type or pool.sizes[k] % pool.sizes[j]:
        return False
    m = pool.sizes[k] // pool.sizes[j]
    if any(day.replicas_lost + day.on_nodes[j] > m * (day.replicas_lost + day.on_nodes[k]) for day in pool.bad_days):
        return False
    return all(
        m * mean_j >= mean_k * (1 - _TOLERANCE)
        for piece in pool.slices
        for mean_j, mean_k in zip(piece.mean_tps[j], piece.mean_tps[k], strict=True)
    )


def unit_steps(prep: Prep, in_steps: frozenset[str]) -> dict[tuple[str, str], int]:
    """(pool, node type) -> step to which that pool's need on that type may be rounded up, in units, for the pools named.

    What a pool leaves free below the next multiple of u = gcd(node capacity, sizes or steps of all other pools on the type)
    nobody else can use, so rounding up to u changes no plan. Pools with the largest u first, each seeing the steps already given.
    """
    steps: dict[tuple[str, str], int] = {}
    for row in prep.node_types:
        node_type = row.node_type
        capacity = prep.capacity_units(node_type)
        grains = {
            pool.pool.pool: gcd(*(
                size for option, size in zip(pool.options, pool.sizes, strict=True) if option.node_type == node_type
            ))
            for pool in prep.pools
            if any(option.node_type == node_type for option in pool.options)
        }
        waiting = [name for name in grains if name in in_steps]
        while waiting:
            others = {name: gcd(capacity, *(grain for other, grain in grains.items() if other != name)) for name in waiting}
            first = max(waiting, key=lambda name: others[name])
            steps[(first, node_type)] = others[first]
            grains[first] = others[first]
            waiting.remove(first)
    return steps
