"""Cheapest ways of a pool with one workload at given prices: one covering dynamic program for all its slices at once.

Goodput is cut into cells, rounded up, and demand never up, so values are lower bounds; the ways found are checked against the
exact numbers and mended where the cells flattered them. Bad days are in it by loss levels (menu.py): a level allows so many
replicas of every option and takes so much; options in order of goodput make the levels share most of their tables.
Source: solver.md section 3, step 3.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from optimizer.milp.bounds import replica_bound
from optimizer.milp.column import Care, Column, ColumnPrices, Need, Priced, asks
from optimizer.milp.menu import MAX_LEVELS, Level, asking, level_count, loss_levels
from optimizer.milp.prep import PoolData
from optimizer.units import ROUNDING_HEDGE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = NDArray[np.float64]

#: Cells per replica of the smallest option, and the most cells in all; what is lost is about half a cell per replica.
_CELLS_PER_REPLICA = 300
_MOST_CELLS = 24_000
_FINER = 4
#: Slices worked on at once; keeps the tables small.
_AT_ONCE = 12


def can_cover(pool: PoolData) -> bool:
    """True where a pool's slices outside a rollout are plain covers with loss levels."""
    if len(pool.workloads) != 1 or pool.spot_mode == "sep" or pool.pool.min_live > 0 or pool.pool.is_auto:
        return False
    if any(day.regiven or day.lost_frac >= 1 or (day.api_absorbs and pool.workloads[0].api) for day in pool.bad_days):
        return False
    return level_count(asking(pool.bad_days), _most(pool)) <= MAX_LEVELS


def _most(pool: PoolData) -> tuple[int, ...]:
    return tuple(max(replica_bound(pool, piece, k) for piece in pool.slices) for k in range(len(pool.options)))


class CoveringPricer:
    """Prices the slices of one pool that have no rollout."""

    def __init__(self, pool: PoolData) -> None:
        self.pool = pool
        self.days = asking(pool.bad_days)
        self.kind = "any_" if pool.spot_mode == "any" else "firm"
        self.slices = tuple(t for t, piece in enumerate(pool.slices) if asks(pool, t) and piece.rollout_frac <= 0)
        self._same: dict[tuple[float, ...], list[int]] = {}
        for t in self.slices:
            self._same.setdefault(tuple(row[0] for row in pool.slices[t].mean_tps), []).append(t)
        self._most = _most(pool)

    def price(self, prices: ColumnPrices, care: Care = Care.NORMAL, *, many: bool = False) -> list[Priced]:
        """The least cost of every slice (a lower bound) and the ways found; with `many` the best of every loss level."""
        found: list[Priced] = []
        at_once = _AT_ONCE if care is not Care.FINE else _AT_ONCE // _FINER
        for mean_tps, slices in self._same.items():
            usable = tuple(k for k in np.argsort(mean_tps, kind="stable").tolist() if mean_tps[k] > 0)
            levels = loss_levels(self.days, mean_tps, self._most)
            for start in range(0, len(slices), at_once):
                found += self._some(prices, mean_tps, usable, levels, slices[start:start + at_once], care, many)
        return found

    def _some(
        self, prices: ColumnPrices, mean_tps: tuple[float, ...], usable: tuple[int, ...], levels: tuple[Level, ...],
        slices: list[int], care: Care, many: bool,
    ) -> list[Priced]:
        pool = self.pool
        name = pool.workloads[0].workload
        demand = np.array([pool.slices[t].demand_tps[0] for t in slices])
        most_sent = np.array([pool.slices[t].overflow_max_tps[0] for t in slices])
        sent_usd = np.array([prices.sent.get((name, t), 0.0) for t in slices])
        usd: dict[int, Table] = {}
        for k in usable:
            need = (self.kind, pool.options[k].node_type)
            usd[k] = pool.sizes[k] * np.array([prices.unit[(need, t)] for t in slices])
        needs = np.array([self._asked(demand, level) for level in levels])  # level, slice
        smallest = min((mean_tps[k] for k in usable), default=1.0)
        finer = _FINER if care is Care.FINE else 1
        cell = max(smallest / _CELLS_PER_REPLICA, float(needs.max()) / _MOST_CELLS) / finer
        width = {k: max(ceil(mean_tps[k] / cell - ROUNDING_HEDGE), 1) for k in usable}
        count = ceil(float(needs.max()) / cell) + 1
        tables: dict[tuple[int | None, ...], Table] = {(): np.full((len(slices), count + 1), np.inf)}
        tables[()][:, 0] = 0.0
        at = np.arange(count + 1)
        best: list[list[tuple[float, int, int]]] = [[] for _ in slices]  # cost, level, cell
        for number, level in enumerate(levels):
            bounds = self._bounds(level, usable)
            table = self._table(tables, bounds, usable, width, usd)
            # Capacity c costs table[c]; what is short of the need is sent, up to the most that may be.
            short = needs[number][:, None] - at[None, :] * cell
            total = table + np.maximum(short, 0.0) * sent_usd[:, None]
            total[short > most_sent[:, None] + ROUNDING_HEDGE * demand[:, None]] = np.inf
            cells = np.argmin(total, axis=1)
            for i, c in enumerate(cells.tolist()):
                best[i].append((float(total[i, c]), number, c))
        found: list[Priced] = []
        for i, t in enumerate(slices):
            ways = sorted(way for way in best[i] if way[0] < np.inf)
            columns: list[Column] = []
            for _, number, c in ways if many else ways[:1]:
                live = self._walk_back(tables, self._bounds(levels[number], usable), usable, width, usd, i, c)
                column = self._column(t, live)
                if column is not None:
                    columns.append(column)
            found.append(Priced(pool.pool.pool, t, ways[0][0] if ways else float("inf"), tuple(dict.fromkeys(columns))))
        return found

    def _asked(self, demand: Table, level: Level) -> Table:
        need = demand.copy()
        for day, taken in zip(self.days, level.taken_tps, strict=True):
            need = np.maximum(need, (1 + day.surge_frac) * demand + taken)
        return need

    def _bounds(self, level: Level, usable: tuple[int, ...]) -> tuple[int | None, ...]:
        """Most live replicas per usable option, None = free."""
        found: list[int | None] = []
        for k in usable:
            stated = [bound for bound in (level.bounds[k], self.pool.most_live[k]) if bound is not None]
            found.append(min(stated) if stated else None)
        return tuple(found)

    def _table(
        self, tables: dict[tuple[int | None, ...], Table], bounds: tuple[int | None, ...], usable: tuple[int, ...],
        width: dict[int, int], usd: dict[int, Table],
    ) -> Table:
        """[slice, cells] -> least cost of at least so many cells, with the first len(bounds) options under these bounds."""
        known = tables.get(bounds)
        if known is not None:
            return known
        before = self._table(tables, bounds[:-1], usable, width, usd)
        k = usable[len(bounds) - 1]
        bound, step, cost = bounds[-1], width[k], usd[k][:, None]
        if bound == 0:
            tables[bounds] = before
            return before
        table = before.copy()
        size = table.shape[1]
        if bound is None:
            table[:, 1:step + 1] = np.minimum(table[:, 1:step + 1], table[:, :1] + cost)
            for start in range(step + 1, size, step):
                stop = min(start + step, size)
                np.minimum(table[:, start:stop], table[:, start - step:stop - step] + cost, out=table[:, start:stop])
        else:
            for live in range(1, bound + 1):
                reach = min(live * step, size - 1)
                table[:, 1:reach + 1] = np.minimum(table[:, 1:reach + 1], before[:, :1] + live * cost)
                if reach + 1 < size:
                    np.minimum(
                        table[:, reach + 1:], before[:, 1:size - reach] + live * cost, out=table[:, reach + 1:]
                    )
        tables[bounds] = table
        return table

    def _walk_back(
        self, tables: dict[tuple[int | None, ...], Table], bounds: tuple[int | None, ...], usable: tuple[int, ...],
        width: dict[int, int], usd: dict[int, Table], i: int, c: int,
    ) -> list[int]:
        """Replicas per option behind cell c of slice number i."""
        live = [0] * len(self.pool.options)
        for n in range(len(bounds), 0, -1):
            k, bound = usable[n - 1], bounds[n - 1]
            if bound == 0:
                continue
            target, before = tables[bounds[:n]][i, c], tables[bounds[:n - 1]][i]
            most = -(-c // width[k])
            counts = np.arange((most if bound is None else min(bound, most)) + 1)
            values = before[np.maximum(c - counts * width[k], 0)] + counts * usd[k][i]
            live[k] = int(np.argmax(values <= target + 1e-9 * (1.0 + abs(target))))
            c = max(c - live[k] * width[k], 0)
        return live

    def _column(self, t: int, live: list[int]) -> Column | None:
        """The exact column of these replicas, mended where the cells flattered them; None where it cannot be."""
        pool, piece = self.pool, self.pool.slices[t]
        demand, mean_tps = piece.demand_tps[0], [row[0] for row in piece.mean_tps]
        for _ in range(4):
            served = sum(count * mean for count, mean in zip(live, mean_tps, strict=True))
            need = demand
            for day in self.days:
                taken = max((day.lost(k, count) * mean_tps[k] for k, count in enumerate(live) if count), default=0.0)
                need = max(need, (1 + day.surge_frac) * demand + taken)
            sent = max(need - served, 0.0)
            if sent <= ROUNDING_HEDGE * demand:
                sent = 0.0
            if sent <= piece.overflow_max_tps[0]:
                break
            used = [k for k, count in enumerate(live) if count and (self.pool.most_live[k] is None)]
            if not used:
                return None
            live[min(used, key=lambda k: mean_tps[k])] += 1
        else:
            return None
        needs: dict[Need, float] = {}
        own = max(demand - sent, 0.0)
        values: dict[tuple[object, ...], float] = {}
        for k, count in enumerate(live):
            if count:
                need_key = (self.kind, pool.options[k].node_type)
                needs[need_key] = needs.get(need_key, 0.0) + count * pool.sizes[k]
                values[("live", pool.pool.pool, k, t)] = float(count)
                values[("load", pool.pool.pool, k, 0, t)] = own * count * mean_tps[k] / served
        return Column(pool.pool.pool, t, tuple(sorted(needs.items())), (sent,), values)
