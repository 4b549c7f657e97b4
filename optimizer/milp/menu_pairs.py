"""Menus of pools with two workloads and no API, or with occupancy `auto`: the least GPUs per node type that serve a slice.

A mix is a number of live replicas of each option on one node type. At the prices of `directions` a mix is worth C tok/s, and its
worst loss on a bad day is worth L; a fleet of mixes serves the slice iff at all prices the sum of C, less the largest L for each
bad day, covers what is asked. So mixes of different node types combine by sums and maxima, and every combination is tried.
With occupancy `auto` the worth is at occupancy 1, and what is asked is divided by the occupancy of the live replicas of all types
together; that number is then one more worth. One workload has one price, and what it is short of may go to an API.
Method: solver.md section 2, "Two workloads, no API".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from optimizer.milp.bounds import replica_bound, total_replicas
from optimizer.milp.menu import Line, Menu, asking
from optimizer.milp.prep import BadDay, PoolData, PoolSlice
from optimizer.milp.prices import directions
from optimizer.units import ROUNDING_HEDGE

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Combinations of mixes x prices x bad days x slices above which a pool is written out in full instead.
MAX_PAIR_WORK = 300_000_000
#: Mixes on one node type above which it is not worth sorting out those that others beat.
MAX_MIXES = 5_000


@dataclass(frozen=True)
class _Mixes:
    """Mixes on one node type, or of several combined: steps per node type, worth and worst loss, and the replicas behind them.

    steps [mix, type], worth [mix, price], loss [mix, bad day, price], live [mix, option].
    """

    def occupancy(self, pool: PoolData) -> NDArray[np.float64]:
        """[mix, 1]: what the worth of each mix is to be multiplied with; 1 where the occupancy is stated, and in the worth."""
        if not pool.pool.is_auto:
            return np.ones((len(self.live), 1))
        counts, place = np.unique(self.live.sum(axis=1), return_inverse=True)
        return np.array([pool.pool.occupancy(int(count)) for count in counts])[place.reshape(-1)].reshape(-1, 1)

    steps: NDArray[np.int64]
    worth: NDArray[np.float64]
    loss: NDArray[np.float64]
    live: NDArray[np.int64]


def pair_menus(pool: PoolData, steps: dict[tuple[str, str], int]) -> tuple[Menu, ...] | None:
    """One menu per slice group; None where there are too many combinations."""
    node_types = tuple(dict.fromkeys(option.node_type for option in pool.options))
    step = tuple(steps[(pool.pool.pool, node_type)] for node_type in node_types)
    days = asking(pool.bad_days)
    kinds: dict[tuple[tuple[tuple[float, ...], ...], float], list[int]] = {}
    for t, piece in enumerate(pool.slices):
        kinds.setdefault((piece.mean_tps, piece.rollout_frac), []).append(t)
    found: dict[int, Menu] = {}
    for members in kinds.values():
        piece = pool.slices[members[0]]
        bounds = [max(replica_bound(pool, pool.slices[t], k) for t in members) for k in range(len(pool.options))]
        most = MAX_PAIR_WORK // ((len(pool.options) + 2) * (len(days) + 1) * len(pool.slices))
        mixes = _all_mixes(pool, piece, days, node_types, step, bounds, most)
        if mixes is None:
            return None
        for t in members:
            found[t] = _menu(pool, pool.slices[t], days, node_types, step, mixes)
    return tuple(found[t] for t in range(len(pool.slices)))


def _all_mixes(
    pool: PoolData, piece: PoolSlice, days: tuple[BadDay, ...], node_types: tuple[str, ...], step: tuple[int, ...],
    bounds: list[int], most: int,
) -> _Mixes | None:
    """Every combination of mixes over the node types; None where there would be more than `most`."""
    prices = directions(len(pool.workloads), list(piece.mean_tps))
    combined: _Mixes | None = None
    for axis, (node_type, size) in enumerate(zip(node_types, step, strict=True)):
        members = [k for k, option in enumerate(pool.options) if option.node_type == node_type]
        count = 1
        for k in members:
            count *= bounds[k] + 1
        if count > MAX_MIXES:
            return None
        mixes = _mixes(pool, piece, days, prices, members, [bounds[k] for k in members], axis, len(node_types), size)
        if combined is None:
            combined = mixes
        elif len(combined.steps) * len(mixes.steps) > most:
            return None
        else:
            combined = _combine(combined, mixes)
    return combined


def _mixes(
    pool: PoolData, piece: PoolSlice, days: tuple[BadDay, ...], prices: list[tuple[float, ...]], members: list[int],
    bounds: list[int], axis: int, axes: int, step: int,
) -> _Mixes:
    """Every mix of the options on one node type, less those that another beats at no more GPUs."""
    counts = np.array(list(product(*(range(bound + 1) for bound in bounds))), dtype=np.int64)
    live = np.zeros((len(counts), len(pool.options)), dtype=np.int64)
    live[:, members] = counts
    units = np.zeros(len(counts), dtype=np.int64)
    for column, k in enumerate(members):
        totals = np.array([total_replicas(n, piece.rollout_frac) for n in range(bounds[column] + 1)], dtype=np.int64)
        units += pool.sizes[k] * totals[counts[:, column]]
    value = np.array([[max(p * m for p, m in zip(price, piece.mean_tps[k], strict=True)) for price in prices] for k in members])
    worth = counts @ value
    loss = np.zeros((len(counts), len(days), len(prices)))
    for q, day in enumerate(days):
        for column, k in enumerate(members):
            gone = np.array([day.lost(k, n) for n in range(bounds[column] + 1)], dtype=np.int64)
            lost = gone[counts[:, column]]
            loss[:, q, :] = np.maximum(loss[:, q, :], lost[:, None] * value[column][None, :])
    steps = np.zeros((len(counts), axes), dtype=np.int64)
    steps[:, axis] = -(-units // step)
    compared = np.column_stack([worth, live.sum(axis=1)]) if pool.pool.is_auto else worth
    keep = _not_beaten(steps[:, axis], compared, loss)
    return _Mixes(steps[keep], worth[keep], loss[keep], live[keep])


def _not_beaten(steps: NDArray[np.int64], worth: NDArray[np.float64], loss: NDArray[np.float64]) -> NDArray[np.int64]:
    """Indices of mixes that no other mix, with no more steps, is at least as good as in every worth and every loss."""
    order = np.lexsort((-worth.sum(axis=1), steps))
    flat_loss = loss.reshape(len(loss), -1)
    kept: list[int] = []
    for i in order:
        if kept:
            better = (worth[kept] >= worth[i] - 1e-9).all(axis=1) & (flat_loss[kept] <= flat_loss[i] + 1e-9).all(axis=1)
            if better.any():
                continue
        kept.append(int(i))
    return np.array(kept, dtype=np.int64)


def split_two(
    mean_tps: Sequence[tuple[float, ...]], live: list[int], served_tps: tuple[float, float]
) -> list[list[float]]:
    """Loads [option][workload] of two workloads on live replicas that can serve them: whoever is relatively best goes first.

    mean_tps: [option][workload] of one live replica. The first workload fills options in the order of its advantage over the
    second; the second takes the rest, evenly.
    """
    loads = [[0.0, 0.0] for _ in live]
    free = [float(count) for count in live]
    left = served_tps[0]
    order = sorted(range(len(live)), key=lambda k: _advantage(mean_tps[k]), reverse=True)
    for k in order:
        mean = mean_tps[k][0]
        if mean > 0 and left > 0:
            take = min(left, free[k] * mean)
            loads[k][0] = take
            free[k] -= take / mean
            left -= take
    room = sum(free[k] * mean_tps[k][1] for k in order)
    for k in order:
        if room > 0:
            loads[k][1] = served_tps[1] * free[k] * mean_tps[k][1] / room
    return loads


def _advantage(mean_tps: tuple[float, ...]) -> float:
    return mean_tps[0] / mean_tps[1] if mean_tps[1] > 0 else float("inf")


def _combine(first: _Mixes, second: _Mixes) -> _Mixes:
    a = np.repeat(np.arange(len(first.steps)), len(second.steps))
    b = np.tile(np.arange(len(second.steps)), len(first.steps))
    return _Mixes(
        first.steps[a] + second.steps[b], first.worth[a] + second.worth[b], np.maximum(first.loss[a], second.loss[b]),
        first.live[a] + second.live[b],
    )


def _menu(
    pool: PoolData, piece: PoolSlice, days: tuple[BadDay, ...], node_types: tuple[str, ...], step: tuple[int, ...], mixes: _Mixes
) -> Menu:
    if piece.total_serve_tps <= 0:
        return Menu(node_types, (Line((0,) * len(node_types), 0.0, (0,) * len(pool.options)),))
    prices = directions(len(pool.workloads), list(piece.mean_tps))
    asked = np.array([sum(p * d for p, d in zip(price, piece.demand_tps, strict=True)) for price in prices])
    short = _short(pool, piece, days, mixes, asked)
    index = np.flatnonzero(np.isfinite(short))
    if len(index) == 0:
        return Menu(node_types, ())
    shape = tuple(int(n) + 1 for n in mixes.steps[index].max(axis=0))
    flat = np.ravel_multi_index(tuple(mixes.steps[index].T), shape)
    grid = np.full(shape, np.inf)
    np.minimum.at(grid.ravel(), flat, short[index])
    reached = grid.copy()
    for axis in range(len(shape)):
        reached = np.minimum.accumulate(reached, axis=axis)
    least = np.isfinite(grid)
    for axis, n in enumerate(shape):
        if n > 1:
            later: list[slice] = [slice(None)] * len(shape)
            earlier: list[slice] = [slice(None)] * len(shape)
            later[axis], earlier[axis] = slice(1, None), slice(None, -1)
            least[tuple(later)] &= grid[tuple(later)] < reached[tuple(earlier)]
    # Of the mixes on one grid point, the one with least overflow, then with the fewest live replicas.
    fewest = np.lexsort((mixes.live[index].sum(axis=1), short[index], flat))
    _, first = np.unique(flat[fewest], return_index=True)
    lines = []
    for place in fewest[first]:
        cell = tuple(int(n) for n in mixes.steps[index[place]])
        if least[cell]:
            live = tuple(int(n) for n in mixes.live[index[place]])
            lines.append(Line(tuple(n * s for n, s in zip(cell, step, strict=True)), float(short[index[place]]), live))
    return Menu(node_types, tuple(lines))


def _short(
    pool: PoolData, piece: PoolSlice, days: tuple[BadDay, ...], mixes: _Mixes, asked: NDArray[np.float64]
) -> NDArray[np.float64]:
    """[mix]: least overflow in tok/s with which a mix serves the slice, infinite where it cannot. Two workloads have no API."""
    occupancy = mixes.occupancy(pool)
    lacking = asked - mixes.worth * occupancy
    for q, day in enumerate(days):
        lacking = np.maximum(lacking, (1 + day.surge_frac) * asked - (mixes.worth - mixes.loss[:, q, :]) * occupancy)
    lacking[lacking <= ROUNDING_HEDGE * asked] = 0.0
    short: NDArray[np.float64] = lacking.max(axis=1)
    most = piece.overflow_max_tps[0] * (1 + ROUNDING_HEDGE) if len(pool.workloads) == 1 else 0.0
    short[short > most] = np.inf
    return short
