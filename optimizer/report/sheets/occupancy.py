"""Occupancy: for pools with `auto`, how busy so many live replicas may be, and the share of requests that then waits, by formula.

The occupancies are values that the program found; every cell beside them is worked out by the workbook from the Erlang C formula.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING

from optimizer.candidates.option import Option
from optimizer.domain.waiting import WAIT_IN_SERVICES, wait_prob
from optimizer.domain.workload import Pool
from optimizer.report.constants import TOLERANCE
from optimizer.report.figures import Figures
from optimizer.report.grid import Col, Grid
from optimizer.report.pool_figures import PoolFigures, replicas_lost
from optimizer.report.sheets.slices import TABLE_TOP, finish_rows
from optimizer.report.writer import PlanSheet
from optimizer.units import ROUNDING_HEDGE

if TYPE_CHECKING:
    from optimizer.report.places import Places

OCCUPANCY = "Occupancy"


def has_auto(figures: Figures) -> bool:
    """Whether any pool's occupancy is `auto`."""
    return any(pool.is_auto for pool in figures.case.pools)


@dataclass(frozen=True)
class Allowed:
    """Live replicas of a pool, the share of the time that they may be busy, and the share of requests that then waits."""

    pool: Pool
    live: int
    occupancy: float
    waits: float

    @property
    def keeps(self) -> bool:
        """Whether no more wait than may."""
        return self.waits <= self.pool.wait_prob_max_frac * (1 + TOLERANCE)


class OccupancyPlaces:
    """Rows of the sheet: for each `auto` pool 1 live replica, 2, ... up to the most that the plan or Sizing has."""

    def __init__(self, figures: Figures, pools: PoolFigures, options: dict[str, Option | None]) -> None:
        self.rows: list[Allowed] = []
        self._first: dict[str, int] = {}
        self._most: dict[str, int] = {}
        for pool in figures.case.pools:
            if pool.is_auto:
                option = options[pool.pool]
                most = max(1, *(hour.live for hour in pools.hours[pool.pool]))
                if option is not None:
                    most = max(most, *sized_replicas(figures, pools, pool, option))
                self._first[pool.pool], self._most[pool.pool] = len(self.rows), most
                for live in range(1, most + 1):
                    occupancy = pool.occupancy(live)
                    self.rows.append(Allowed(pool, live, occupancy, wait_prob(live, occupancy)))
        cols = (
            Col("pool", "Pool", width=16),
            Col("live", "Live replicas", "replicas", "int", 10),
            Col("occupancy", "Planned occupancy", "share of live", "pct2", 12),
            Col("work", "Work they carry", "replicas", "n2", 12),
            Col("delayed", "Requests that find all busy", "share", "pct2", 14),
            Col("waits", "That wait over half a service", "share", "pct2", 14),
            Col("limit", "May wait", "share", "pct2", 10),
            Col("keeps", "Keeps it", "TRUE/FALSE", "bool", 10),
        )
        self.grid = Grid(OCCUPANCY, TABLE_TOP, cols, len(self.rows))

    def span(self, pool: str, key: str) -> str:
        """Range of a column over the rows of one pool."""
        first = self._first[pool]
        return self.grid.span(key, first, first + self._most[pool])

    def lookup(self, pool: str, live: str) -> str:
        """Formula of the occupancy of so many live replicas of an `auto` pool; 0 where none is live."""
        return f"IF({live}=0,0,INDEX({self.span(pool, 'occupancy')},{live}))"

    def fewest_text(self, pool: str, work: str, lost: str = "0") -> str:
        """Formula of the fewest live replicas of which, after losing some, the rest carries that work."""
        able = f"({self.span(pool, 'live')}-{lost})*{self.span(pool, 'occupancy')}"
        return f"IF({work}=0,0,SUMPRODUCT(({able}<{work}*(1-rounding_hedge))*1)+1)"


def fewest_live(pool: Pool, work: float, lost: int = 0) -> int:
    """Fewest live replicas of an `auto` pool of which, after losing some, the rest carries `work` replicas' worth."""
    live = 0
    while work > 0 and (live == 0 or (live - lost) * pool.occupancy(live) < work * (1 - ROUNDING_HEDGE)):
        live += 1
    return live


def sized_replicas(figures: Figures, pools: PoolFigures, pool: Pool, option: Option) -> tuple[int, int]:
    """Replicas at peak and for the bad day of an `auto` pool alone on one option, as Sizing shows them."""
    most = max(hour.demand for hour in pools.hours[pool.pool])
    burst = figures.case.workloads_of(pool.pool)[0].burst_factor
    work = most * burst / figures.goodput_tps[pool.pool, option.option]
    bad_day = pools.bad_days[pool.pool]
    if bad_day is None or bad_day.row.api_absorbs:
        return fewest_live(pool, work), fewest_live(pool, work)
    surged = work * (1 + bad_day.row.demand_surge_frac)
    return fewest_live(pool, work), fewest_live(pool, surged, replicas_lost(bad_day.row, option))


def fill_occupancy(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """The table, with Erlang C from two Poisson probabilities (M/M/c)."""
    grid = places.occupancy.grid
    sheet.title(
        "Occupancy",
        "How busy so many live replicas may be with occupancy auto: few requests may wait longer than half a mean service "
        "(M/M/c).",
    )
    sheet.header(grid)
    for place, allowed in enumerate(places.occupancy.rows):
        row = grid.first + place
        here = {col.key: grid.here(col.key, place) for col in grid.cols}
        sheet.text(row, grid.col("pool"), allowed.pool.pool)
        sheet.number(row, grid.col("live"), allowed.live, "int")
        sheet.number(row, grid.col("occupancy"), allowed.occupancy, "pct2", "decision")
        work = allowed.live * allowed.occupancy
        sheet.formula(row, grid.col("work"), f"={here['live']}*{here['occupancy']}", work, "n2")
        all_busy = f"POISSON({here['live']},{here['work']},0)"
        fewer = f"POISSON({here['live']}-1,{here['work']},1)"
        delayed = allowed.waits * exp(WAIT_IN_SERVICES * (allowed.live - work))
        text = f"={all_busy}/({all_busy}+(1-{here['occupancy']})*{fewer})"
        sheet.formula(row, grid.col("delayed"), text, delayed, "pct2")
        text = f"={here['delayed']}*EXP(0-wait_in_services*({here['live']}-{here['work']}))"
        sheet.formula(row, grid.col("waits"), text, allowed.waits, "pct2")
        limit = places.inputs.pools.ref("wait_prob_max_frac", allowed.pool.pool)
        sheet.formula(row, grid.col("limit"), f"={limit}", allowed.pool.wait_prob_max_frac, "pct2")
        text = f"={here['waits']}<={here['limit']}*(1+tolerance)"
        sheet.formula(row, grid.col("keeps"), text, allowed.keeps, "bool")
    sheet.show_flags(grid.first, grid.col("keeps"), grid.last, grid.col("keeps"))
    finish_rows(sheet, grid, 2)
