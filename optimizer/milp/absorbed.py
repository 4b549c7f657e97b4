"""Bad days that ask nothing of a pool, because the APIs take all of it by their stated limits; they need no rows at all."""

from __future__ import annotations

from dataclasses import replace

from optimizer.milp.frame import api_limits
from optimizer.milp.prep import BadDay, PoolData, Prep


def drop_absorbed_days(prep: Prep) -> Prep:
    """Leave out bad days of which the APIs take everything in every slice, even if other pools planned all they may there.

    Exact: on such a day no replica needs to be left (INPUTS, Bad day: up to the stated limits less what other pools plan).
    """
    return replace(prep, pools=tuple(
        replace(pool, bad_days=tuple(day for day in pool.bad_days if not _asks_nothing(prep, pool, day))) for pool in prep.pools
    ))


def _asks_nothing(prep: Prep, pool: PoolData, day: BadDay) -> bool:
    return day.api_absorbs and all(
        _takes_all(prep, pool, day, t) for t, piece in enumerate(pool.slices) if piece.total_firm_tps > 0
    )


def _takes_all(prep: Prep, pool: PoolData, day: BadDay, t: int) -> bool:
    """True where the first API with a stated limit of each workload has room for all of it."""
    piece = pool.slices[t]
    flows: dict[str, list[tuple[float, float, float]]] = {}  # tok/s, input per output, requests/min per tok/s
    for w, tps in enumerate(piece.firm_tps):
        if tps <= 0:
            continue
        stated = [api for api in piece.apis[w] if prep.case.api(api.api).max_output_tps is not None]
        if not stated:
            return False
        api = stated[0]
        flows.setdefault(api.api, []).append(((1 + day.surge_frac) * tps, api.input_per_output, api.rpm_per_tps))
    for name, own in flows.items():
        every = own + [
            (other.slices[t].overflow_max_tps[w], api.input_per_output, api.rpm_per_tps)
            for other in prep.pools
            if other is not pool
            for w in range(len(other.workloads))
            for api in other.slices[t].apis[w]
            if api.api == name
        ]
        for coefficients, limit in api_limits(prep, name, [(ratio, rpm) for _, ratio, rpm in every]).values():
            if sum(c * tps for c, (tps, _, _) in zip(coefficients, every, strict=True)) > limit:
                return False
    return True
