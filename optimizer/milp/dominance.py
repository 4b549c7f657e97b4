"""What can be set aside before the program is built, exactly: options that others replace, and GPU steps nobody else can use.

Sources: solver.md section 1, ideas 1 and 2. The option rule is narrower here than there: where a bad day takes two or more
replicas of one option, a second kind of replica can be worth having although it is no better (losing two of either leaves the
other), so such pools keep all their options.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from optimizer.milp.prep import PoolData, Prep

_TOLERANCE = 1e-12


def drop_dominated_options(prep: Prep) -> Prep:
    """Leave out option k where m replicas of j on the same node type take no more GPUs and do as much for every workload.

    After every k is swapped for m j's, losing any one option leaves no less, as long as a bad day takes at most one replica.
    """
    return replace(prep, pools=tuple(_without_dominated(pool) for pool in prep.pools))


def _without_dominated(pool: PoolData) -> PoolData:
    if any(lost > 1 for day in pool.bad_days for lost in day.lost):
        return pool
    kept = list(range(len(pool.options)))
    for k in range(len(pool.options)):
        if any(j != k and _replaces(pool, j, k) and not (_replaces(pool, k, j) and k < j) for j in kept):
            kept.remove(k)
    if len(kept) == len(pool.options):
        return pool
    return replace(
        pool,
        options=tuple(pool.options[k] for k in kept),
        sizes=tuple(pool.sizes[k] for k in kept),
        bad_days=tuple(replace(day, lost=tuple(day.lost[k] for k in kept)) for day in pool.bad_days),
        slices=tuple(replace(piece, mean_tps=tuple(piece.mean_tps[k] for k in kept)) for piece in pool.slices),
    )


def _replaces(pool: PoolData, j: int, k: int) -> bool:
    """True where pool.sizes[k] / pool.sizes[j] replicas of j do the work of one k in every slice."""
    if pool.options[j].node_type != pool.options[k].node_type or pool.sizes[k] % pool.sizes[j]:
        return False
    if any(day.lost[j] > day.lost[k] for day in pool.bad_days):
        return False
    m = pool.sizes[k] // pool.sizes[j]
    return all(
        m * mean_j >= mean_k * (1 - _TOLERANCE)
        for piece in pool.slices
        for mean_j, mean_k in zip(piece.mean_tps[j], piece.mean_tps[k], strict=True)
    )


def unit_steps(prep: Prep) -> dict[tuple[str, str], int]:
    """(pool, node type) -> step to which that pool's need on that type may be rounded up, in units.

    What a pool leaves free below the next multiple of u = gcd(node capacity, sizes or steps of all other pools on the type)
    nobody else can use, so rounding up to u changes no plan. Pools in order, each seeing the steps already given.
    """
    steps: dict[tuple[str, str], int] = {}
    for row in prep.node_types:
        node_type = row.node_type
        capacity = prep.capacity_units(node_type)
        for pool in prep.pools:
            if node_type not in {option.node_type for option in pool.options}:
                continue
            step = capacity
            for other in prep.pools:
                if other is pool:
                    continue
                given = steps.get((other.pool.pool, node_type))
                if given is not None:
                    step = gcd(step, given)
                else:
                    for option, size in zip(other.options, other.sizes, strict=True):
                        if option.node_type == node_type:
                            step = gcd(step, size)
            steps[(pool.pool.pool, node_type)] = step
    return steps
