"""What each pool does in each hour, and the bad day that sizes it: cached values of Pool hours, Sizing and Bad day."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import fsum

from optimizer.candidates.option import Option
from optimizer.domain.workload import Contingency, Pool
from optimizer.report.figures import Figures, mtok
from optimizer.report.plan_lines import ReplicaRow


@dataclass(frozen=True)
class BadDay:
    """The bad day with the least margin of a pool, and the option whose loss weighs most. lost: its replicas lost."""

    row: Contingency
    option: Option | None
    lost: int


@dataclass(frozen=True)
class PoolHour:
    """One pool in one slice; tok/s unless said otherwise. prompt: demand that cannot wait; run: to serve after shifting.

    occupancy: as planned for that hour; factor: rollout; need: work and headroom, at goodput.
    """

    demand: float
    prompt: float
    run: float
    firm: float
    spot: float
    api: float
    mtok: float
    live: int
    total: int
    needed: int
    busy: float
    running: float
    working: float
    spot_running: float
    occupancy: float
    in_rollout: bool
    factor: float
    need: float

    @property
    def spare(self) -> int:
        """Live replicas beyond a normal hour's need."""
        return self.live - self.needed

    @property
    def rollout(self) -> int:
        """Replicas of a new version beside the live ones."""
        return self.total - self.live

    @property
    def use(self) -> float:
        """Work over live replicas; 0 where none is live."""
        return self.busy / self.live if self.live else 0.0

    @property
    def spot_share(self) -> float:
        """Share of the own tok/s that is on spot; 0 where none are."""
        own = self.firm + self.spot
        return self.spot / own if own else 0.0


class PoolFigures:
    """Hours and sizing bad day of every pool."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        rows: dict[tuple[str, int], list[ReplicaRow]] = defaultdict(list)
        for row in figures.replica_rows:
            rows[row.count.pool, row.place].append(row)
        used: dict[str, dict[str, Option]] = defaultdict(dict)
        for row in figures.replica_rows:
            used[row.count.pool][row.count.option] = row.option
        self.options_used: dict[str, tuple[Option, ...]] = {
            pool.pool: tuple(used[pool.pool].values()) for pool in figures.case.pools
        }
        self.bad_days: dict[str, BadDay | None] = {pool.pool: self._bad_day(pool) for pool in figures.case.pools}
        self.hours: dict[str, tuple[PoolHour, ...]] = {
            pool.pool: tuple(self._hour(pool, place, rows[pool.pool, place]) for place in range(len(figures.slices)))
            for pool in figures.case.pools
        }

    def _bad_day(self, pool: Pool) -> BadDay | None:
        figures = self._figures
        margins = [row for row in figures.plan.margins if row.pool == pool.pool]
        if not margins:
            return None
        tightest = min(margins, key=lambda row: row.margin_tps)
        row = next(row for row in figures.case.contingencies_of(pool.pool) if row.contingency == tightest.contingency)
        best, best_tps, best_lost = None, -1.0, 0
        for option in self.options_used[pool.pool]:
            lost = replicas_lost(row, option)
            tps = lost * figures.goodput_tps[option.pool, option.option]
            if tps > best_tps:
                best, best_tps, best_lost = option, tps, lost
        return BadDay(row, best, best_lost)

    def _hour(self, pool: Pool, place: int, rows: list[ReplicaRow]) -> PoolHour:
        figures = self._figures
        workloads = figures.case.workloads_of(pool.pool)
        demand = fsum(figures.demand(workload, place) for workload in workloads)
        prompt = fsum(figures.demand(workload, place) for workload in workloads if not workload.deferrable_hours)
        own = [figures.own_tps.get((workload.workload, place), (0.0, 0.0)) for workload in workloads]
        goodput = [figures.goodput_tps[row.count.pool, row.count.option] for row in rows]
        working = fsum(row.busy * tps for row, tps in zip(rows, goodput, strict=True))
        spot_running = fsum(row.count.spot_live * tps for row, tps in zip(rows, goodput, strict=True))
        in_rollout = pool.rollout_frac > 0 and figures.slices[place][1] in pool.rollout_hours
        factor = 1.0 + pool.rollout_frac if in_rollout else 1.0
        occupancy = figures.occupancy(pool.pool, place)
        need = working / occupancy if occupancy else 0.0
        bad_day = self.bad_days[pool.pool]
        if bad_day is not None and not bad_day.row.api_absorbs and prompt > 0 and occupancy:
            surge = bad_day.row.demand_surge_frac
            lost_tps = 0.0
            if bad_day.option is not None:
                lost_tps = bad_day.lost * figures.goodput_tps[pool.pool, bad_day.option.option]
            need = (working + surge * prompt) / occupancy
            need += lost_tps + bad_day.row.spot_lost_frac * spot_running
        return PoolHour(
            demand=demand,
            prompt=prompt,
            run=fsum(figures.run(workload, place) for workload in workloads),
            firm=fsum(firm for firm, _ in own),
            spot=fsum(spot for _, spot in own),
            api=fsum(figures.api_tps.get((workload.workload, place), 0.0) for workload in workloads),
            mtok=mtok(demand * figures.weights[place]),
            live=sum(row.count.live for row in rows),
            total=sum(row.count.total for row in rows),
            needed=sum(figures.needed(row) for row in rows),
            busy=fsum(row.busy for row in rows),
            running=fsum(row.count.total * tps for row, tps in zip(rows, goodput, strict=True)),
            working=working,
            spot_running=spot_running,
            occupancy=occupancy,
            in_rollout=in_rollout,
            factor=factor,
            need=need * factor,
        )


def replicas_lost(row: Contingency, option: Option) -> int:
    """Live replicas of an option that a bad day takes at most."""
    return row.replicas_lost + row.nodes_lost * option.replicas_per_node
