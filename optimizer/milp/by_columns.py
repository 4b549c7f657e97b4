"""Large programs: pools priced slice by slice, then commitments, then every hour on its own.

1. Every pool's slices are priced on their own at the prices of nodes and overflow; what is found becomes a column of a master
   program (column_master.py), whose prices are the next ones. Its value less what columns could still save is a lower bound.
2. Commitments become whole over the columns known, columns are completed at these commitments, and every hour chooses one whole
   way per pool. What waits runs when the continuous program says.
3. For the ways chosen, commitments and the work that waits are decided once more, all hours at once (refit.py).
Sources: solver.md section 3, steps 2 to 4, and section 5.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import ceil, floor

from optimizer.milp.by_hour import work_of
from optimizer.milp.column import COLUMN_FAMILIES, Care, Column, ColumnPrices, Need, Priced, Pricer, asks, can_use_columns
from optimizer.milp.column_master import ColumnMaster
from optimizer.milp.covering import CoveringPricer, can_cover
from optimizer.milp.extract import decision_of
from optimizer.milp.hour import Hour
from optimizer.milp.master import HourPrices
from optimizer.milp.pool_hour import PoolHourPricer
from optimizer.milp.prep import PoolData, Prep
from optimizer.milp.program import Key
from optimizer.milp.refit import refit
from optimizer.milp.sharing import Sharing
from optimizer.milp.solver import solver_words_on_stderr
from optimizer.plan.ledger import node_rates
from optimizer.plan.plan import Decision

_THREADS = 2
#: Slices that one task prices with programs of their own; small, so that both threads have work to the end.
_SLICES_PER_TASK = 6
#: Pricing ends where columns could save no more than this share of the gap asked for.
_SAVING_SHARE = 0.05
_SLOW_SHARE = 1e-3
_STALLED_SHARE = 1e-5
_DONE_SHARE = 1e-6
_PRICING_TIME_SHARE = 0.45
_WHOLE_LOTS_TIME_SHARE = 0.1
_MISSED = 1e-6
_START_GAPS = (1e-2, 1e-4)
_FIXED_ROUNDS = 3
_WAYS_PER_POOL = 20
_HOUR_GAP_SHARE = 0.5
_HOURS_TIME_SHARE = 0.8
_LEAST_HOUR_S = 0.2
_REFIT_TIME_SHARE = 0.15
_QUICK_REFIT_SHARE = 0.03
#: With less time than this hours choose among the ways known first; making them complete takes long.
_SHORT_S = 150.0
_ROUNDED_GAP = 0.03
#: Looking finely takes about so many times what looking roughly does, with what must come after it.
_FINE_COSTS = 12
#: Families of variables of an hour that the whole plan is read from.
_SLICED = COLUMN_FAMILIES | {"overflow", "used", "place_firm", "place_spot"}


@dataclass
class Columns:
    """What pricing left behind: the bound (without constants), and the best plan with its cost (with constants).

    starts: commitments and flows of waiting work that were, or are worth being, evaluated, best last; prices: of lots and work.
    """

    bound: float = 0.0
    cost: float = float("inf")
    decision: Decision | None = None
    starts: list[tuple[dict[str, int], dict[Key, float]]] = field(default_factory=list)
    stopped: bool = False
    prices: list[HourPrices] | None = None


def solve_by_columns(
    prep: Prep, *, gap: float, deadline: float, known_cost: float, cost_of: Callable[[Decision], float],
    told: Callable[[float, float], None], plans: bool = True,
) -> Columns | None:
    """The best plan found and a bound; None where no pool can be priced on its own.

    deadline: of time.perf_counter. known_cost: of a plan known already, inf without. cost_of: $/day of a decision. told: is
    called with the cost (inf: none yet) and the bound now and then. plans: False leaves it at bound, prices and commitments to
    start with.
    """
    pools = tuple(pool for pool in prep.pools if can_use_columns(prep, pool))
    if not pools:
        return None
    with solver_words_on_stderr(), ThreadPoolExecutor(_THREADS) as threads:
        search = _Search(prep, pools, threads, gap, deadline, cost_of, told)
        try:
            search.run(known_cost, plans=plans)
        except KeyboardInterrupt:
            # What was found so far stands.
            search.found.stopped = True
            threads.shutdown(wait=False, cancel_futures=True)
            for hour in search.hours:
                hour.cancel()
        return search.found


class _Search:
    def __init__(
        self, prep: Prep, pools: tuple[PoolData, ...], threads: ThreadPoolExecutor, gap: float, deadline: float,
        cost_of: Callable[[Decision], float], told: Callable[[float, float], None],
    ) -> None:
        self.prep, self.pools, self.threads, self.told = prep, pools, threads, told
        self.gap, self.deadline, self.cost_of = gap, deadline, cost_of
        self.started = time.perf_counter()
        self.pricers = _pricers(prep, pools)
        self.sharing = Sharing(tuple(pool for pool in pools if not can_cover(pool)))
        self.shelf: list[Column] = []
        self.hours: list[Hour] = []
        self.found = Columns()

    def left_s(self) -> float:
        return self.deadline - time.perf_counter()

    def run(self, known_cost: float, *, plans: bool) -> None:
        total_s = self.left_s()
        seeds = [(priced, priced.bound) for priced in self._price(_first_prices(self.prep, self.pools), Care.ROUGH)]
        if any(priced.bound == float("inf") for priced, _ in seeds):
            return  # a pool that nothing can serve in some slice
        self.master = ColumnMaster(self.prep, self.pools, seeds)
        self._share([column for priced, _ in seeds for column in priced.columns])
        self._price_out(self.started + total_s * _PRICING_TIME_SHARE)
        if not self.master.solved or self.left_s() <= 0:
            return
        self.found.prices = self.master.hour_prices()
        if not plans:
            self._find_starts(total_s)
            return
        lots = self.master.whole_lots(self.gap, total_s * _WHOLE_LOTS_TIME_SHARE)
        tried: list[dict[str, int]] = []
        took_s = 0.0
        if lots is not None and total_s < _SHORT_S:
            lots = self._evaluate(lots, total_s, quickly=True) or lots
        while lots is not None and self.left_s() > took_s and not self._closed(known_cost):
            began = time.perf_counter()
            tried.append(lots)
            better = self._evaluate(lots, total_s)
            took_s = time.perf_counter() - began
            lots = better if better is not None and better not in tried else self._next(tried)

    def _next(self, tried: list[dict[str, int]]) -> dict[str, int] | None:
        """Commitments one lot away from the best, the cheapest of them for the columns known."""
        if not self.found.starts:
            return None
        best = self.found.starts[-1][0]
        most = self.master.most_lots()
        values: list[tuple[float, int, dict[str, int]]] = []
        for i, (name, by) in enumerate((name, by) for name in best for by in (1, -1)):
            near = {**best, name: best[name] + by}
            if near not in tried and 0 <= near[name] <= most[name] and self.left_s() > 0:
                self.master.hold(near)
                if self.master.solve(self.left_s()) and self.master.missed() <= _MISSED:
                    values.append((self.master.value, i, near))
        self.master.hold(None)
        return min(values)[2] if values else None

    def _find_starts(self, total_s: float) -> None:
        """Commitments that are good for the columns known, found roughly and more exactly; they often differ."""
        self.found.starts.clear()
        for gap in _START_GAPS:
            lots = self.master.whole_lots(gap, total_s * _WHOLE_LOTS_TIME_SHARE)
            if lots is not None and all(lots != other for other, _ in self.found.starts):
                self.master.hold(lots)
                if self.master.solve(self.left_s()):
                    self.found.starts.append((lots, self.master.values(("flow",))))
                self.master.hold(None)
        # A first plan soon: hours solved exactly may take longer than there is time.
        starts = list(self.found.starts)
        for lots, _ in starts:
            if self.found.decision is None and self.left_s() > 0:
                self._evaluate(lots, total_s, quickly=True)
        self.found.starts = starts

    def _closed(self, known_cost: float) -> bool:
        cost = min(self.found.cost, known_cost)
        return cost < float("inf") and (cost - self.found.bound) <= self.gap * cost

    def _price(self, prices: ColumnPrices, care: Care, *, many: bool = False) -> list[Priced]:
        results = self.threads.map(lambda pricer: pricer.price(prices, care, many=many), self.pricers)
        return [priced for result in results for priced in result]

    def _price_out(self, until: float) -> None:
        """Columns and bound, until columns could save next to nothing."""
        care, master, found = Care.ROUGH, self.master, self.found
        last, took_s = float("inf"), 0.0
        while self.left_s() > 0 and master.solve(self.left_s()):
            if found.decision is None:
                self._round()
            began = time.perf_counter()
            priced = self._price(master.prices(), care)
            took_s = time.perf_counter() - began
            found.bound = max(found.bound, master.value + sum(master.saving(one) for one in priced))
            self.told(found.cost, found.bound)
            ways = [column for one in priced for column in one.columns]
            added = master.add(ways) + self._share(ways)
            saved, last = last - master.value, master.value
            if master.value - found.bound <= _SAVING_SHARE * self.gap * master.value:
                break
            if care is Care.FINE and (not added or saved <= _DONE_SHARE * master.value):
                break
            # The more exactly ways are looked for, the longer it takes: only once those found roughly save little any more.
            late = time.perf_counter() + took_s > until
            if late and (care is Care.FINE or self.left_s() < _FINE_COSTS * took_s):
                break
            if late or (care is Care.NORMAL and saved <= _STALLED_SHARE * master.value):
                care = Care.FINE
            elif care is Care.ROUGH and (not added or saved <= _SLOW_SHARE * master.value):
                care = Care.NORMAL
        if self.master.solve(self.left_s()):
            self._round()

    def _round(self) -> None:
        """A first plan at once: of every slice the way with the largest share, and everything else fitted to these ways."""
        if self.master.missed() > _MISSED:
            return
        limit_s = max(self.left_s() * _QUICK_REFIT_SHARE, 1.0)
        refitted = refit(self.prep, self.pools, self.master.largest(), _ROUNDED_GAP, limit_s)
        if refitted is not None:
            self._keep(*refitted)

    def _share(self, ways: list[Column]) -> int:
        """Add what these and earlier ways can do in other slices, where that would save anything at the last solution."""
        shelf = [*self.shelf, *self.sharing.spread(ways)]
        good = dict.fromkeys(column for column in shelf if not self.master.solved or self.master.reduced(column) < 0)
        self.shelf = [column for column in shelf if column not in good]
        return self.master.add(good)

    def _evaluate(self, lots: dict[str, int], total_s: float, *, quickly: bool = False) -> dict[str, int] | None:
        """Hours at these commitments, then everything but the ways once more; the commitments that come out.

        quickly: with the ways known, and little time for the second.
        """
        prep, master = self.prep, self.master
        master.hold(lots)
        try:
            ways = self._known_ways() if quickly else self._complete()
            flows = master.values(("flow",)) if ways is not None else {}
        finally:
            master.hold(None)
        if ways is None:
            return None
        self.hours = hours = []
        for t in range(len(prep.groups)):
            hours.append(Hour(prep, t, {}, {name: ways[(name, t)] for name, at in ways if at == t}))
        work = [work_of(prep, flows, t) for t in range(len(prep.groups))]
        each_s = max(self.left_s() * _THREADS / len(hours) * _HOURS_TIME_SHARE, _LEAST_HOUR_S)
        results = list(self.threads.map(
            lambda t: hours[t].with_lots(lots, work[t], self.gap * _HOUR_GAP_SHARE, each_s), range(len(hours))
        ))
        if any(result.value == float("inf") for result in results):
            return None
        values: dict[Key, float] = {("lots", name): float(count) for name, count in lots.items()}
        values.update(flows)
        for t, hour in enumerate(hours):
            values.update({(*key[:-1], t): value for key, value in hour.values().items() if key[0] in _SLICED})
        self._keep(values, lots)
        chosen = [way for hour in hours for way in hour.chosen()]
        share = _QUICK_REFIT_SHARE if quickly else _REFIT_TIME_SHARE
        refitted = refit(prep, self.pools, chosen, self.gap, min(total_s * share, self.left_s()))
        if refitted is None:
            return None
        values, better = refitted
        self._keep(values, better)
        return better

    def _known_ways(self) -> dict[tuple[str, int], list[Column]] | None:
        master = self.master
        if not master.solve(self.left_s()) or master.missed() > _MISSED:
            return None
        return master.good_columns(_WAYS_PER_POOL)

    def _complete(self) -> dict[tuple[str, int], list[Column]] | None:
        """Ways worth having at the commitments held: with parts of nodes, and with nodes used rounded down and up.

        The last solution is the one with parts of nodes. None where time is out, or something cannot be served.
        """
        master = self.master
        ways: dict[tuple[str, int], list[Column]] = {}
        used: dict[Key, float] = {}
        for rounding in (None, floor, ceil, None):
            master.use(None if rounding is None else {key: float(rounding(count)) for key, count in used.items()})
            for _ in range(_FIXED_ROUNDS):
                if self.left_s() <= 0 or not master.solve(self.left_s()):
                    return None
                priced = self._price(master.prices(), Care.ROUGH, many=True)
                if not master.add(column for one in priced for column in one.columns):
                    break
            if not master.solve(self.left_s()):
                return None
            if rounding is None:
                if master.missed() > _MISSED:
                    return None
                used = {key: count - 1e-6 for key, count in master.values(("used",)).items()}
            for key, good in master.good_columns(_WAYS_PER_POOL).items():
                ways[key] = list(dict.fromkeys([*ways.get(key, []), *good]))
        return ways

    def _keep(self, values: dict[Key, float], lots: dict[str, int]) -> None:
        decision = decision_of(self.prep, values)
        cost = self.cost_of(decision)
        if cost < self.found.cost:
            self.found.cost, self.found.decision = cost, decision
            self.told(cost, self.found.bound)
            self.found.starts.append((lots, {key: tps for key, tps in values.items() if key[0] == "flow"}))


def _pricers(prep: Prep, pools: tuple[PoolData, ...]) -> list[Pricer]:
    pricers: list[Pricer] = []
    for p, pool in enumerate(prep.pools):
        if pool not in pools:
            continue
        rest = [t for t in range(len(pool.slices)) if asks(pool, t)]
        if can_cover(pool):
            pricers.append(CoveringPricer(pool))
            rest = [t for t in rest if pool.slices[t].rollout_frac > 0]
        pricers += [PoolHourPricer(prep, p, tuple(rest[i:i + _SLICES_PER_TASK])) for i in range(0, len(rest), _SLICES_PER_TASK)]
    return pricers


def _first_prices(prep: Prep, pools: tuple[PoolData, ...]) -> ColumnPrices:
    """Every node at the mean of its cheapest and dearest price of an hour, every token of overflow at its cheapest API."""
    unit: dict[tuple[Need, int], float] = {}
    sent: dict[tuple[str, int], float] = {}
    for t, group in enumerate(prep.groups):
        for row in prep.node_types:
            rates = [node_rates(prep.case, offer) for offer in prep.offers if offer.node_type == row.node_type]
            hourly = [rate.holding_per_day / 24 + rate.using_per_h for rate in rates]
            price = group.weight * (min(hourly) + max(hourly)) / 2 / prep.capacity_units(row.node_type) if hourly else 0.0
            unit.update({((kind, row.node_type), t): price for kind in ("firm", "any_", "spot")})
        for pool in pools:
            for w, workload in enumerate(pool.workloads):
                if pool.slices[t].apis[w]:
                    sent[(workload.workload, t)] = group.weight * min(api.usd_per_h_per_tps for api in pool.slices[t].apis[w])
    return ColumnPrices(unit, sent)
