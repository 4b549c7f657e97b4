"""Menus: for a pool with one workload, every way worth having to serve one slice, as whole GPUs per node type and least overflow.

A line is (units per node type, least overflow in tok/s); only lines that no other line beats are kept. Bad days and rollout are
inside the lines, so the program needs neither big-M rows nor binaries per loss, and its bound sees whole replicas.
Method: solver.md section 2. A *level* bounds what one bad day may take away: with level L, an option whose loss could exceed L
is limited to the replicas that add up to L. Every plan satisfies exactly the bounds of its own worst losses, so the union over
all combinations of levels is exact. The combination of zeros (no replica at all, everything by API) is one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from optimizer.milp.bounds import alone_bound, replica_bound, total_replicas
from optimizer.milp.prep import BadDay, PoolData, PoolSlice, Prep
from optimizer.units import ROUNDING_HEDGE

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Combinations of loss levels above which a pool is written out in full instead.
MAX_LEVELS = 1_500
#: Grid cells x level combinations x slices above which a pool is written out in full instead.
MAX_MENU_WORK = 10_000_000


@dataclass(frozen=True)
class Line:
    """One way to serve a slice. units[i] of node_types[i] of the menu; overflow_tps is the least that must go to the API.

    bounds: most live replicas per option behind the line (None = free); see `replicas_of_line`.
    """

    units: tuple[int, ...]
    overflow_tps: float
    bounds: tuple[int | None, ...]


@dataclass(frozen=True)
class Menu:
    """All lines of one slice of one pool; node_types names the entries of Line.units."""

    node_types: tuple[str, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Level:
    """Bounds on replicas per option (None = free) and the tok/s each bad day then takes at most."""

    bounds: tuple[int | None, ...]
    taken_tps: tuple[float, ...]


def can_use_menus(prep: Prep, pool: PoolData) -> bool:
    """True where a menu is exact.

    That is: one workload, or two without an API; no deferrable work, no spot replicas of its own, no minimum of live replicas,
    nothing absorbed by an API on a bad day, and no replica that spans nodes of a type sold in several places.
    """
    if pool.spot_mode == "sep" or pool.pool.min_live > 0 or not pool.options:
        return False
    if pool.pool.ready_hours or any(day.regiven or day.lost_frac >= 1 for day in pool.bad_days):
        return False
    if any(workload.deferrable_hours for workload in pool.workloads):
        return False
    if len(pool.workloads) > 2 or (len(pool.workloads) == 2 and any(workload.api for workload in pool.workloads)):
        return False
    for option in pool.options:
        if option.spans_nodes and len({offer.place for offer in prep.firm_offers(option.node_type)}) > 1:
            return False
    return not any(day.api_absorbs for day in pool.bad_days) or not any(workload.api for workload in pool.workloads)


def menus(pool: PoolData, steps: dict[tuple[str, str], int]) -> tuple[Menu, ...] | None:
    """One menu per slice group; None where the grids would be too large (the pool is then written out in full).

    `steps`: see dominance.unit_steps.
    """
    node_types = tuple(dict.fromkeys(option.node_type for option in pool.options))
    step = tuple(steps[(pool.pool.pool, node_type)] for node_type in node_types)
    days = asking(pool.bad_days)
    most = tuple(max(replica_bound(pool, piece, k) for piece in pool.slices) for k in range(len(pool.options)))
    levels = level_count(days, most)
    if levels > MAX_LEVELS:
        return None
    work = 0
    shapes: list[tuple[int, ...]] = []
    for piece in pool.slices:
        shape = tuple(_grid_points(pool, piece, node_type, size) for node_type, size in zip(node_types, step, strict=True))
        shapes.append(shape)
        work += int(np.prod([float(n) for n in shape])) * levels
        if work > MAX_MENU_WORK:
            return None
    found: dict[PoolSlice, Menu] = {}
    grids: dict[tuple[tuple[tuple[float, ...], ...], float], tuple[int, ...]] = {}
    for piece, shape in zip(pool.slices, shapes, strict=True):
        key = (piece.mean_tps, piece.rollout_frac)
        grids[key] = tuple(max(a, b) for a, b in zip(grids.get(key, shape), shape, strict=True))
    for piece, shape in zip(pool.slices, shapes, strict=True):
        if piece not in found:
            full = grids[(piece.mean_tps, piece.rollout_frac)]
            found[piece] = _menu(pool, piece, days, most, node_types, step, shape, full)
    return tuple(found[piece] for piece in pool.slices)


def level_count(days: tuple[BadDay, ...], most: Sequence[int]) -> int:
    """Combinations of loss levels that at most so many replicas per option can make."""
    return prod(1 + sum(day.lost(k, bound) for k, bound in enumerate(most)) for day in days)


def asking(days: tuple[BadDay, ...]) -> tuple[BadDay, ...]:
    """Bad days that ask for more than the normal hour does, without repeats."""
    return without_repeats(tuple(
        day for day in days if day.surge_frac > 0 or any(day.can_lose(k) for k in range(len(day.on_nodes)))
    ))


def without_repeats(days: tuple[BadDay, ...]) -> tuple[BadDay, ...]:
    """Bad days that differ in what they ask and take of replicas that stay; one of each."""
    return tuple({(day.surge_frac, day.replicas_lost, day.lost_frac, day.on_nodes): day for day in days}.values())


def _grid_points(pool: PoolData, piece: PoolSlice, node_type: str, step: int) -> int:
    """Grid points 0..n-1 (in steps) along that node type: up to where its leanest option serves the whole slice alone."""
    if piece.total_serve_tps <= 0:
        return 1
    members = [k for k, option in enumerate(pool.options) if option.node_type == node_type and pool.most_live[k] is None]
    alone = min(pool.sizes[k] * total_replicas(alone_bound(pool, piece, k), piece.rollout_frac) for k in members)
    # All units that can be had, as if in one piece: a little more than fits is no harm, the node rows see to it.
    had = [pool.sizes[k] * (total_replicas(replica_bound(pool, piece, k), piece.rollout_frac) + 1) for k in members]
    return -(-min(alone, max(had)) // step) + 1


def _levels(days: tuple[BadDay, ...], mean_tps: tuple[float, ...], most: tuple[int, ...]) -> list[Level]:
    """All combinations of loss levels worth having (solver.md section 2, menu, point 2); most[k] bounds replicas of option k."""
    per_day: list[list[tuple[tuple[int | None, ...], float]]] = []
    for day in days:
        values = {0.0}
        for k, mean in enumerate(mean_tps):
            values.update(gone * mean for gone in range(1, day.lost(k, most[k]) + 1))
        entries: dict[tuple[int | None, ...], float] = {}
        for value in sorted(values):
            bounds = tuple(_most_within(day, k, mean, value, most[k]) for k, mean in enumerate(mean_tps))
            entries.setdefault(bounds, value)
        per_day.append(list(entries.items()))
    combined: dict[tuple[int | None, ...], list[tuple[float, ...]]] = {}
    for combination in product(*per_day):
        bounds = tuple(_tightest([entry[0][k] for entry in combination]) for k in range(len(mean_tps)))
        combined.setdefault(bounds, []).append(tuple(entry[1] for entry in combination))
    levels = [Level(bounds, taken) for bounds, all_taken in combined.items() for taken in _least(all_taken)]
    return [one for one in levels if not any(other is not one and _better(other, one) for other in levels)]


def _most_within(day: BadDay, k: int, mean_tps: float, level_tps: float, most: int) -> int | None:
    """Most replicas of option k whose loss stays within the level; None where even `most` of them do."""
    live = most
    while live > 0 and day.lost(k, live) * mean_tps > level_tps * (1 + ROUNDING_HEDGE):
        live -= 1
    return None if live == most else live


def _tightest(bounds: list[int | None]) -> int | None:
    stated = [bound for bound in bounds if bound is not None]
    return min(stated) if stated else None


def _least(vectors: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """Vectors that no other is below everywhere, each once."""
    unique = list(dict.fromkeys(vectors))
    return [v for v in unique if not any(o != v and all(a <= b for a, b in zip(o, v, strict=True)) for o in unique)]


def _better(one: Level, other: Level) -> bool:
    """True where `one` allows at least as much and takes no more (strictly better somewhere)."""
    looser = all(a is None or (b is not None and a >= b) for a, b in zip(one.bounds, other.bounds, strict=True))
    return looser and all(a <= b for a, b in zip(one.taken_tps, other.taken_tps, strict=True)) and one != other


def _menu(
    pool: PoolData, piece: PoolSlice, days: tuple[BadDay, ...], most: tuple[int, ...], node_types: tuple[str, ...],
    step: tuple[int, ...], shape: tuple[int, ...], full: tuple[int, ...],
) -> Menu:
    demand = piece.total_serve_tps
    if demand <= 0:
        return Menu(node_types, (Line((0,) * len(node_types), 0.0, (0,) * len(pool.options)),))
    mean_tps = tuple(row[0] for row in piece.mean_tps)
    cells = tuple(slice(0, n) for n in shape)
    best = np.full(shape, np.inf)
    which = np.zeros(shape, dtype=np.int64)
    levels = loss_levels(days, mean_tps, most)
    bounds = [tuple(_tightest([a, b]) for a, b in zip(level.bounds, pool.most_live, strict=True)) for level in levels]
    for index, level in enumerate(levels):
        capacity = _capacity_grid(pool, mean_tps, piece.rollout_frac, bounds[index], node_types, step, full)[cells]
        need = np.full(shape, demand)
        for day, taken in zip(days, level.taken_tps, strict=True):
            need = np.maximum(need, (1 + day.surge_frac) * demand + taken)
        overflow = need - capacity
        overflow[overflow <= ROUNDING_HEDGE * demand] = 0.0
        better = overflow < best
        best[better] = overflow[better]
        which[better] = index
    best[best > piece.overflow_max_tps[0] * (1 + ROUNDING_HEDGE)] = np.inf
    keep = np.isfinite(best)
    for axis, n in enumerate(shape):
        if n > 1:
            before = np.full(shape, np.inf)
            later: list[slice] = [slice(None)] * len(shape)
            earlier: list[slice] = [slice(None)] * len(shape)
            later[axis], earlier[axis] = slice(1, None), slice(None, -1)
            before[tuple(later)] = best[tuple(earlier)]
            keep &= best < before
    lines = tuple(
        Line(
            tuple(int(i) * s for i, s in zip(cell, step, strict=True)),
            float(best[tuple(cell)]),
            bounds[which[tuple(cell)]],
        )
        for cell in np.argwhere(keep)
    )
    return Menu(node_types, lines)


@lru_cache(maxsize=256)
def loss_levels(days: tuple[BadDay, ...], mean_tps: tuple[float, ...], most: tuple[int, ...]) -> tuple[Level, ...]:
    """Loss levels worth having for bad days that ask for something; remembered, since many slices share them."""
    return tuple(_levels(days, mean_tps, most))


def _capacity_grid(
    pool: PoolData, mean_tps: tuple[float, ...], rollout_frac: float, bounds: tuple[int | None, ...],
    node_types: tuple[str, ...], step: tuple[int, ...], shape: tuple[int, ...],
) -> NDArray[np.float64]:
    """Most tok/s from every grid point: the sum over node types of a grouped knapsack along each."""
    grid = np.zeros(shape)
    for axis, (node_type, size) in enumerate(zip(node_types, step, strict=True)):
        items = tuple(
            (mean_tps[k], pool.sizes[k], bounds[k])
            for k, option in enumerate(pool.options)
            if option.node_type == node_type
        )
        along = np.array(_knapsack(items, rollout_frac, (shape[axis] - 1) * size))[::size]
        grid += along.reshape([-1 if a == axis else 1 for a in range(len(shape))])
    return grid


@lru_cache(maxsize=4096)
def _knapsack(items: tuple[tuple[float, int, int | None], ...], rollout_frac: float, units: int) -> tuple[float, ...]:
    """Most tok/s from 0..units units; items are (tok/s per live replica, units per replica, most live replicas)."""
    best = np.zeros(units + 1)
    for mean, size, bound in items:
        after = best.copy()
        live = 1
        while (bound is None or live <= bound) and (cost := size * total_replicas(live, rollout_frac)) <= units:
            np.maximum(after[cost:], best[: units + 1 - cost] + live * mean, out=after[cost:])
            live += 1
        best = after
    return tuple(best.tolist())


def replicas_of_line(pool: PoolData, piece: PoolSlice, menu: Menu, line: Line) -> tuple[int, ...]:
    """Live replicas per option behind a line: most tok/s within its units and bounds, with the fewest replicas that reach it."""
    live = [0] * len(pool.options)
    for node_type, units in zip(menu.node_types, line.units, strict=True):
        members = [k for k, option in enumerate(pool.options) if option.node_type == node_type]
        items = [(piece.mean_tps[k][0], pool.sizes[k], line.bounds[k]) for k in members]
        for k, count in zip(members, _choice(items, piece.rollout_frac, units), strict=True):
            live[k] = count
    return tuple(live)


def _choice(items: list[tuple[float, int, int | None]], rollout_frac: float, units: int) -> list[int]:
    """The counts behind the last entry of `_knapsack`, by walking it backwards."""
    tables = [_knapsack(tuple(items[:n]), rollout_frac, units) for n in range(len(items) + 1)]
    counts = [0] * len(items)
    left = units
    for n in range(len(items), 0, -1):
        mean, size, bound = items[n - 1]
        target = tables[n][left]
        for live in range(bound + 1 if bound is not None else left + 1):
            cost = size * total_replicas(live, rollout_frac) if live else 0
            if cost > left:
                break
            if tables[n - 1][left - cost] + live * mean >= target * (1 - 1e-12):
                counts[n - 1] = live
                left -= cost
                break
    return counts
