"""Commitments against hours: hours are solved on their own, exactly, and tied together by the prices of the commitments.

Given the commitments n, and the work b that waited and runs there, every hour is a small program of value v_t(n, b). At prices
pi_t for the lots it uses and mu_t for the work it does, an hour's least cost L_t gives the cut
  v_t(n, b) >= L_t - pi_t n + mu_t b
which holds for all n and b; so holding cost plus the highest cuts, minimised over whole n and all ways to let work wait, is a
lower bound on the whole program. The prices come from a relaxation first, and then from a master over the hours' own solutions,
kept in a box around the best prices so far (solver.md section 3, step 4, and section 5). Plans: what the bound proposes, and
neighbours of the best that the cuts leave room for, are evaluated exactly, hour by hour; where work may wait, the ways chosen are
then fitted together once more (refit.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import isfinite

from optimizer.milp.column import Column, can_use_columns
from optimizer.milp.extract import decision_of
from optimizer.milp.frame import Frame
from optimizer.milp.hour import Hour, HourResult
from optimizer.milp.master import Cut, HourPrices, Master
from optimizer.milp.menu import Menu
from optimizer.milp.prep import Prep
from optimizer.milp.program import Key
from optimizer.milp.refit import refit
from optimizer.milp.relaxed import relaxed_commitments
from optimizer.milp.rounding import add_rounding_rows
from optimizer.milp.solver import solver_words_on_stderr
from optimizer.plan.plan import Decision

_THREADS = 2
#: An hour's own gap, as a share of the gap asked for; what is lost in the hours is lost in the sum.
_HOUR_GAP_SHARE = 0.2
_PLAN_GAP_SHARE = 0.5
_OPEN_SHARE = 0.04
_SLOW_TRY_SHARE = 0.08
_ROUGH_GAP = 0.01
#: Rounds after which the commitments that the bound proposes are worth evaluating.
_WILD_ROUNDS = 3
#: Commitments evaluated between two rounds of prices.
_TRIES = 3
_RELAXED_SHARE = 0.15
#: The best commitments are evaluated once more, more exactly, for at most so many times what an evaluation took; not where that
#: would be more than this share of the time.
_POLISH_SHARE = 1.5
_MOST_POLISH_SHARE = 0.2
_POLISH_GAP = 1e-6
_FIRST_BOX = 0.01  # of a commitment's mean price
_GOOD_BOX = 0.003  # where the prices come from the columns, which are near the best
_BOX_FLOOR = 0.002
_REFIT_SHARE = 0.1
#: Hours that time ran out on still give a bound; adding it up may take so long beyond the time.
_LAST_CUTS_S = 0.5


@dataclass(frozen=True)
class Known:
    """What is known before hours are solved apart, costs with constants.

    starts: commitments, and flows of waiting work, worth evaluating; cost: of the best plan, inf where there is none; prices: per
    slice, None where the relaxation must say.
    """

    bound: float
    cost: float = float("inf")
    starts: tuple[tuple[dict[str, int], dict[Key, float]], ...] = ()
    prices: list[HourPrices] | None = None


@dataclass(frozen=True)
class HoursApart:
    """decision: a new one, or None. bound: on the cost, constants included. stopped: by Ctrl-C."""

    decision: Decision | None
    bound: float
    stopped: bool


@dataclass
class Found:
    """The best plan and the best bound so far, without constant costs. value inf = no plan yet; decision: where it is new."""

    bound: float
    value: float = float("inf")
    lots: dict[str, int] = field(default_factory=dict)
    flows: dict[Key, float] = field(default_factory=dict)
    decision: Decision | None = None
    stopped: bool = False


def solve_by_hour(
    frame: Frame, menus: dict[str, tuple[Menu, ...]], *, gap: float, deadline: float, known: Known,
    cost_of: Callable[[Decision], float], told: Callable[[float, float], None],
) -> HoursApart:
    """A decision cheaper than the known one, if one is found, and a lower bound on the cost.

    frame: the whole program, closed; only its relaxation is solved. deadline: of time.perf_counter. cost_of: $/day of a decision.
    told: is called with the cost (inf: none yet) and the bound now and then, both without constants.
    """
    return _Search(frame, menus, gap, deadline, known, cost_of, told).run()


class _Search:
    def __init__(
        self, frame: Frame, menus: dict[str, tuple[Menu, ...]], gap: float, deadline: float, known: Known,
        cost_of: Callable[[Decision], float], told: Callable[[float, float], None],
    ) -> None:
        self.frame, self.prep, self.menus = frame, frame.prep, menus
        self.gap, self.deadline, self.known, self.cost_of, self.told = gap, deadline, known, cost_of, told
        self.constant = frame.program.constant_usd_per_day
        self.waits = any(workload.deferrable_hours for workload in self.prep.case.workloads)
        self.found = Found(known.bound - self.constant, known.cost - self.constant)
        self.master = Master(frame)
        self.polish_s = 0.0
        self.rounds = 0
        self.hours: list[Hour] = []
        self.total_s = deadline - time.perf_counter()
        self.tried: set[tuple[tuple[str, int], ...]] = set()

    def run(self) -> HoursApart:
        """The search, from the first prices to the deadline or the gap."""
        starts = list(self.known.starts)
        prices = self.known.prices
        if prices is None:
            add_rounding_rows(self.frame)
            relaxed = relaxed_commitments(self.frame, time_limit_s=max(self._left_s(), 0.0) * _RELAXED_SHARE)
            self.found.bound = max(self.found.bound, relaxed.bound)
            starts.append((relaxed.lots, relaxed.flows))
            prices = relaxed.prices
        with solver_words_on_stderr(), ThreadPoolExecutor(_THREADS) as threads:
            self.threads = threads
            try:
                self._run(starts, prices)
            except KeyboardInterrupt:  # what was found so far stands
                self.found.stopped = True
                threads.shutdown(wait=False, cancel_futures=True)
                for hour in self.hours:
                    hour.cancel()
        return HoursApart(self.found.decision, self.found.bound + self.constant, self.found.stopped)

    def _run(self, starts: list[tuple[dict[str, int], dict[Key, float]]], prices: list[HourPrices]) -> None:
        self.hours = [Hour(self.prep, t, self.menus) for t in range(len(self.prep.groups))]
        for lots, flows in starts:
            began = time.perf_counter()
            self._try(lots, flows)
            if time.perf_counter() - began > _SLOW_TRY_SHARE * self.total_s:
                break  # prices first: they say more than a second start
        self._rounds(prices)
        polish_s, self.polish_s = self.polish_s, 0.0
        if polish_s > 0 and self.found.decision is not None and self._left_s() > 0 and not self._closed():
            self._evaluate(self.found.lots, self.found.flows, 0, _POLISH_GAP)

    def _rounds(self, prices: list[HourPrices]) -> None:
        """Hours at prices, cuts, commitments, next prices, until the gap is closed or time is out."""
        found, master = self.found, self.master
        center, center_value = prices, -float("inf")
        box = _GOOD_BOX if self.known.prices is not None else _FIRST_BOX
        while not self._closed() and self._left_s() > 0:
            results = self._each(lambda t, at=prices: self.hours[t].at_prices(  # type: ignore[misc]
                at[t].lots, at[t].work, self._hour_gap(), self._left_s()
            ))
            if not all(isfinite(result.bound) for result in results):
                break  # out of time, or an hour that no commitment can serve
            for t, result in enumerate(results):
                own = result.value - _paid(prices[t].lots, result.lots) + _paid(prices[t].work, result.work_tps)
                master.add(Cut(t, result.bound, prices[t].lots, prices[t].work, own, result.lots, result.work_tps))
            lots, flows, bound = master.best_commitments(time_limit_s=max(self._left_s(), _LAST_CUTS_S))
            found.bound = max(found.bound, bound)
            self.told(found.value, found.bound)
            if any(result.value == float("inf") for result in results):
                break  # out of time: bounds are known of all hours, plans are not
            value = master.value_at(prices, [result.bound for result in results])
            if value > center_value:
                center, center_value = prices, value
                box = min(box * 1.15, 1.0)
            else:
                box = max(box * 0.6, _BOX_FLOOR)
            for _ in range(_TRIES):
                if not self._closed():
                    self._try(*self._next(lots, flows))
            if self._closed() or self._left_s() <= 0:
                break
            self.rounds += 1
            prices = master.next_prices(center, box, time_limit_s=self._left_s())

    def _hour_gap(self) -> float:
        """What an hour may leave open: little against what the whole leaves open."""
        open_frac = (self.found.value - self.found.bound) / self.found.value if 0 < self.found.value < float("inf") else 1.0
        return max(self.gap * _HOUR_GAP_SHARE, min(open_frac * _OPEN_SHARE, _ROUGH_GAP), 1e-6)

    def _next(self, lots: dict[str, int], flows: dict[Key, float]) -> tuple[dict[str, int], dict[Key, float]]:
        """What to evaluate next: what the bound proposes, which is wild at first, or the most promising neighbour of the best."""
        if not self.found.lots or (self.rounds >= _WILD_ROUNDS and _key(lots) not in self.tried):
            return lots, flows
        work = [work_of(self.prep, self.found.flows, t) for t in range(len(self.hours))]
        near = [other for other in self.master.neighbours(self.found.lots) if _key(other) not in self.tried]
        promising = [(self.master.estimate(other, work), i) for i, other in enumerate(near)]
        for estimate, i in sorted(promising):
            if estimate < self.found.value and self.master.allowed(near[i]):
                return near[i], self.found.flows
        return lots, flows

    def _closed(self) -> bool:
        total = self.found.value + self.constant
        return self.found.value < float("inf") and (total <= 0 or (self.found.value - self.found.bound) / total <= self.gap)

    def _left_s(self) -> float:
        """Seconds left, less what a last evaluation of the best commitments takes."""
        return self.deadline - self.polish_s - time.perf_counter()

    def _each(self, run: Callable[[int], HourResult]) -> list[HourResult]:
        return list(self.threads.map(run, range(len(self.hours))))

    def _try(self, lots: dict[str, int], flows: dict[Key, float]) -> None:
        key = _key(lots)
        if key not in self.tried and not self._closed() and self._left_s() > 0:
            self.tried.add(key)
            self._evaluate(lots, flows)

    def _evaluate(self, lots: dict[str, int], flows: dict[Key, float], repairs: int = 2, gap: float | None = None) -> None:
        """Hours exactly at these commitments, with the work that waits where the flows say."""
        started = time.perf_counter()
        work = [work_of(self.prep, flows, t) for t in range(len(self.hours))]
        results = self._each(lambda t: self.hours[t].with_lots(lots, work[t], gap or self.gap * _PLAN_GAP_SHARE, self._left_s()))
        took_s = _POLISH_SHARE * (time.perf_counter() - started)
        if took_s <= _MOST_POLISH_SHARE * self.total_s:
            self.polish_s = max(self.polish_s, took_s)
        short = [t for t, result in enumerate(results) if result.value == float("inf")]
        if short:
            # Some hours need more than these commitments: give them what they would buy themselves.
            even = self.master.even_prices()
            needed = [self.hours[t].at_prices(even, {}, _ROUGH_GAP, self._left_s()).lots for t in short]
            more = {name: max([count, *(at.get(name, 0) for at in needed)]) for name, count in lots.items()}
            if repairs and more != lots and self.master.allowed(more):
                self._evaluate(more, flows, repairs - 1)
            return
        value = self.master.holding(lots) + sum(result.value for result in results)
        if value < self.found.value:
            self.found.value, self.found.lots, self.found.flows = value, lots, flows
            self.found.decision = _joined([hour.decision(lots, flows) for hour in self.hours])
        if self.waits and self._left_s() > 0:
            self._refit()
        self.told(self.found.value, self.found.bound)

    def _refit(self) -> None:
        """Commitments and waiting work once more for the ways that the hours have just chosen."""
        pools = tuple(pool for pool in self.prep.pools if can_use_columns(self.prep, pool))
        ways: list[Column] = []
        for hour in self.hours:
            taken = hour.ways_taken(pools)
            if taken is None:
                return
            ways += taken
        refitted = refit(self.prep, pools, ways, self.gap, self._left_s() * _REFIT_SHARE)
        if refitted is None:
            return
        values, lots = refitted
        decision = decision_of(self.prep, values)
        value = self.cost_of(decision) - self.constant
        if value < self.found.value:
            self.found.value, self.found.lots, self.found.decision = value, lots, decision
            self.found.flows = {key: tps for key, tps in values.items() if key[0] == "flow"}


def work_of(prep: Prep, flows: dict[Key, float], t: int) -> dict[str, float]:
    """What runs in slice t of every deferrable workload, tok/s."""
    members = set(prep.groups[t].members)
    work: dict[str, float] = {}
    for (_, workload, day_type, _, run), tps in flows.items():
        if (day_type, run) in members:
            work[workload] = work.get(workload, 0.0) + max(tps, 0.0)
    return work


def _key(lots: dict[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(lots.items()))


def _paid(usd: dict[str, float], amounts: dict[str, int] | dict[str, float]) -> float:
    return sum(usd.get(name, 0.0) * amount for name, amount in amounts.items())


def _joined(parts: list[Decision]) -> Decision:
    """Decisions for different hours with the same commitments and flows, as one."""
    first = parts[0]
    return first.model_copy(update={
        "node_uses": tuple(row for part in parts for row in part.node_uses),
        "replicas": tuple(row for part in parts for row in part.replicas),
        "loads": tuple(row for part in parts for row in part.loads),
        "overflows": tuple(row for part in parts for row in part.overflows),
    })
