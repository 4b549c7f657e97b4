"""A way that serves one slice of a pool often serves others too: the same replicas, with the overflow that they leave there.

Only what is easily checked exactly: one workload, or two without an API and without spot replicas of their own; the same goodput
and rollout in both slices; no occupancy that depends on the replicas. Everything else simply is not shared.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import floor

from optimizer.milp.column import Column, asks
from optimizer.milp.menu_pairs import split_two
from optimizer.milp.prep import PoolData, PoolSlice
from optimizer.milp.prices import directions
from optimizer.milp.program import Key
from optimizer.units import ROUNDING_HEDGE


class Sharing:
    """Remembers which replicas of a pool are known already, so that each is spread over the slices once."""

    def __init__(self, pools: tuple[PoolData, ...]) -> None:
        self._pools = {pool.pool.pool: pool for pool in pools if _can_share(pool)}
        self._known: set[tuple[object, ...]] = set()

    def spread(self, columns: Iterable[Column]) -> list[Column]:
        """For replicas not seen before: a column in every other slice that they can serve."""
        found: list[Column] = []
        for column in columns:
            pool = self._pools.get(column.pool)
            if pool is None:
                continue
            like = pool.slices[column.t]
            firm, spot = _counts(pool, column, "live"), _counts(pool, column, "spot_live")
            key = (column.pool, like.mean_tps, like.rollout_frac, tuple(firm), tuple(spot), column.needs)
            if key in self._known:
                continue
            self._known.add(key)
            for t, piece in enumerate(pool.slices):
                same = piece.mean_tps == like.mean_tps and piece.rollout_frac == like.rollout_frac
                if t == column.t or not same or not asks(pool, t):
                    continue
                made = _column(pool, t, column, firm, spot)
                if made is not None:
                    found.append(made)
        return found


def _can_share(pool: PoolData) -> bool:
    if pool.pool.is_auto or any(day.regiven for day in pool.bad_days):
        return False
    has_api = any(workload.api for workload in pool.workloads)
    if has_api and any(day.api_absorbs for day in pool.bad_days):
        return False
    return len(pool.workloads) == 1 or (len(pool.workloads) == 2 and not has_api and pool.spot_mode != "sep")


def _counts(pool: PoolData, column: Column, family: str) -> list[int]:
    return [round(column.values.get((family, column.pool, k, column.t), 0.0)) for k in range(len(pool.options))]


def _column(pool: PoolData, t: int, like: Column, firm: list[int], spot: list[int]) -> Column | None:
    piece = pool.slices[t]
    if len(pool.workloads) == 1:
        sent = _least_sent(pool, piece, firm, spot)
        if sent is None:
            return None
        loads = _one_workload(piece, firm, spot, piece.demand_tps[0] - sent)
        sent_tps: tuple[float, ...] = (sent,)
    else:
        if not _serves_two(pool, piece, firm):
            return None
        split = split_two(piece.mean_tps, firm, (piece.demand_tps[0], piece.demand_tps[1]))
        loads = {("load", k, w): tps for k, row in enumerate(split) for w, tps in enumerate(row)}
        sent_tps = (0.0, 0.0)
    name = pool.pool.pool
    values: dict[Key, float] = {
        (*key[:-1], t): value for key, value in like.values.items() if key[0] not in ("load", "spot_load")
    }
    values.update({(family, name, k, w, t): tps for (family, k, w), tps in loads.items() if tps > 0})
    return Column(name, t, like.needs, sent_tps, values)


def _least_sent(pool: PoolData, piece: PoolSlice, firm: list[int], spot: list[int]) -> float | None:
    """Least overflow of the only workload with these replicas; None where it is more than may be."""
    demand, mean = piece.demand_tps[0], [row[0] for row in piece.mean_tps]
    on_firm = sum(count * tps for count, tps in zip(firm, mean, strict=True))
    on_spot = sum(count * tps for count, tps in zip(spot, mean, strict=True))
    sent = max(demand - on_firm - on_spot, 0.0)
    share = pool.pool.spot_max_frac if pool.spot_mode == "sep" else 1.0
    if share < 1:
        sent = max(sent, demand - on_firm / (1 - share))
    for day in pool.bad_days if piece.total_firm_tps > 0 else ():
        stays = [f + floor((1 - day.spot_lost_frac) * s + ROUNDING_HEDGE) for f, s in zip(firm, spot, strict=True)]
        left = sum(count * tps for count, tps in zip(stays, mean, strict=True))
        left -= max((day.lost(k, count) * mean[k] for k, count in enumerate(stays) if count), default=0.0)
        sent = max(sent, (1 + day.surge_frac) * demand - left)
    if sent <= ROUNDING_HEDGE * demand:
        sent = 0.0
    return sent if sent <= piece.overflow_max_tps[0] else None


def _one_workload(piece: PoolSlice, firm: list[int], spot: list[int], own: float) -> dict[tuple[str, int, int], float]:
    """The load on firm replicas first, on spot ones what is left."""
    loads: dict[tuple[str, int, int], float] = {}
    for family, counts in (("load", firm), ("spot_load", spot)):
        for k, count in enumerate(counts):
            take = min(count * piece.mean_tps[k][0], max(own, 0.0))
            loads[(family, k, 0)] = take
            own -= take
    return loads


def _serves_two(pool: PoolData, piece: PoolSlice, live: list[int]) -> bool:
    """True where the replicas are worth the demand at every price, on bad days too (prices.py)."""
    for prices in directions(2, [(row[0], row[1]) for row in piece.mean_tps]):
        worth = [max(price * tps for price, tps in zip(prices, row, strict=True)) for row in piece.mean_tps]
        every = sum(count * one for count, one in zip(live, worth, strict=True))
        asked = sum(price * tps for price, tps in zip(prices, piece.demand_tps, strict=True))
        if every < asked * (1 - ROUNDING_HEDGE):
            return False
        for day in pool.bad_days if piece.total_firm_tps > 0 else ():
            lost = max((day.lost(k, count) * worth[k] for k, count in enumerate(live) if count), default=0.0)
            if every - lost < (1 + day.surge_frac) * asked * (1 - ROUNDING_HEDGE):
                return False
    return True
