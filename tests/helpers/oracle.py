"""An independent oracle: the least cost of a Case, from a plain program written straight from the input interface.

Nothing clever: per merged hour a whole number of live and total replicas of every option on firm and on spot nodes, one load
variable per workload, option and class, and for every bad day and every option that may be lost a full re-dispatch of its own.
Solved with scipy's HiGHS at gap 0; shares no code with the milp room. For small cases only.
"""

from __future__ import annotations

import datetime
import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, brentq, milp
from scipy.sparse import coo_array
from scipy.stats import poisson

from optimizer.candidates.option import Candidates, Option
from optimizer.domain.case import Case
from optimizer.domain.market import ApiPrice, Offer
from optimizer.domain.workload import Contingency, Pool, Workload

HEDGE = 1e-9
FIRM, SPOT = "firm", "spot"
HELD_KINDS = ("owned", "reserved", "flex")
USD_PER_H_OF_TPS_PER_USD_MTOK = 3600 / 1_000_000


class OracleFailed(Exception):
    """HiGHS neither proved an optimum nor infeasibility."""


@dataclass(frozen=True)
class Hour:
    """Hours that are alike in everything the program can see, merged; weight = hours of an average day they stand for."""

    weight: float
    demand_tps: dict[str, float]
    input_per_output: dict[str, float]
    offers: frozenset[str]
    apis: frozenset[str]
    rollout: frozenset[str]


@dataclass
class Rows:
    """A linear program under construction: columns with bounds, cost and integrality; rows as lists of (column, factor)."""

    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)
    entries: list[tuple[int, int, float]] = field(default_factory=list)
    row_low: list[float] = field(default_factory=list)
    row_high: list[float] = field(default_factory=list)
    constant: float = 0.0

    def column(self, high: float, *, low: float = 0.0, cost: float = 0.0, whole: bool = False) -> int:
        self.low.append(low)
        self.high.append(high)
        self.cost.append(cost)
        self.whole.append(int(whole))
        return len(self.low) - 1

    def row(self, terms: Iterable[tuple[int, float]], low: float = -math.inf, high: float = math.inf) -> None:
        number = len(self.row_low)
        self.entries.extend((number, column, factor) for column, factor in terms)
        self.row_low.append(low)
        self.row_high.append(high)

    def solve(self, time_limit_s: float, *, presolve: bool = False) -> tuple[float, np.ndarray[Any, Any]] | None:
        """(cost, columns) of a proven optimum, or None where there is no solution."""
        self.row([(self.column(0.0), 1.0)])  # a program has at least a column and an entry
        rows, columns, factors = zip(*self.entries, strict=True)
        matrix = coo_array((factors, (rows, columns)), shape=(len(self.row_low), len(self.low))).tocsr()
        result = milp(
            np.array(self.cost),
            integrality=np.array(self.whole),
            bounds=Bounds(np.array(self.low), np.array(self.high)),
            constraints=LinearConstraint(matrix, np.array(self.row_low), np.array(self.row_high)),
            # no presolve: with it scipy 1.17.1 called 696.024 optimal where a plan of 622.944 exists; without it is as quick
            options={"mip_rel_gap": 0.0, "time_limit": time_limit_s, "presolve": presolve},
        )
        if result.status == 2:
            return None
        if result.status != 0:
            raise OracleFailed(result.message)
        return float(result.fun) + self.constant, result.x


def ratio_of(workload: Workload, day_type: str, hour: int) -> float | None:
    """Input per output tokens: of the forecast where it has input, else of the request shape."""
    day = next(day for day in workload.demand if day.day_type == day_type)
    if day.input_tps is not None and day.output_tps[hour] > 0:
        return day.input_tps[hour] / day.output_tps[hour]
    if workload.input_tokens is not None and workload.output_tokens is not None:
        return workload.input_tokens / workload.output_tokens
    return None


class _Sign(NamedTuple):
    """What tells two hours apart."""

    outputs: tuple[float, ...]
    ratios: tuple[float | None, ...]
    offers: frozenset[str]
    apis: frozenset[str]
    rollout: frozenset[str]


def merged_hours(case: Case) -> list[Hour]:
    """Hours of all day types; those with equal demand, windows and rollout are one, with their weights added."""
    days = sum(day.days for day in case.day_types)
    groups: dict[_Sign, list[tuple[str, int, float]]] = {}
    for day in case.day_types:
        for hour in range(24):
            sign = _Sign(
                outputs=tuple(workload.demand_on(day.day_type).output_tps[hour] for workload in case.workloads),
                ratios=tuple(ratio_of(workload, day.day_type, hour) for workload in case.workloads),
                offers=frozenset(offer.offer for offer in case.offers if hour in offer.hours),
                apis=frozenset(api.api for api in case.api_prices if hour in api.hours),
                rollout=frozenset(pool.pool for pool in case.pools if pool.rollout_frac > 0 and hour in pool.rollout_hours),
            )
            groups.setdefault(sign, []).append((day.day_type, hour, day.days / days))
    return [
        Hour(
            weight=math.fsum(weight for _, _, weight in members),
            demand_tps={w.workload: tps for w, tps in zip(case.workloads, sign.outputs, strict=True)},
            input_per_output={w.workload: ratio or 0.0 for w, ratio in zip(case.workloads, sign.ratios, strict=True)},
            offers=sign.offers,
            apis=sign.apis,
            rollout=sign.rollout,
        )
        for sign, members in groups.items()
    ]


def tps_of_one_replica(option: Option, workload: Workload, pool: Pool, ratio: float) -> float | None:
    """Mean output tok/s that one live replica carries; None where it cannot serve the workload."""
    for point in option.points:
        if point.workload == workload.workload:
            seconds = 1 / point.output_tps
            if point.input_tps is not None:
                seconds += (1 - workload.prefix_hit_frac) * ratio / point.input_tps
            # with `auto` the share that may be busy follows from the live replicas: `able`
            return (pool.occupancy_frac or 1.0) / (workload.burst_factor * seconds)
    return None


@functools.cache
def busy_share(live: int, wait_prob_max: float) -> float:
    """Highest share of the time that `live` replicas may be busy (M/M/c), from scipy's Poisson distribution by root finding."""

    def waiting(rho: float) -> float:
        work = live * rho
        full = poisson.pmf(live, work)
        return float(full / (full + (1 - rho) * poisson.cdf(live - 1, work)) * math.exp(-(live - work) / 2))

    if live == 0 or wait_prob_max >= 1:
        return float(live > 0)
    return float(brentq(lambda rho: waiting(rho) - wait_prob_max, 1e-12, 1 - 1e-12, xtol=1e-15, rtol=1e-14))


def replicas_at(need: float, pool: Pool) -> int:
    """Replicas that may be kept busy `need` times; with `auto` the fewest c with c x busy share of c >= need."""
    if not pool.is_auto:
        return math.ceil(need)
    live = math.ceil(need)
    while live * busy_share(live, pool.wait_prob_max_frac) < need:
        live += 1
    return live


def api_usd_per_mtok(api: ApiPrice, workload: Workload, ratio: float) -> float:
    """Price of one million output tokens with the input that comes with them."""
    hit = workload.prefix_hit_frac
    return api.output_usd_per_mtok + ratio * ((1 - hit) * api.input_usd_per_mtok + hit * api.cached_input_usd_per_mtok)


def place_of(offer: Offer) -> tuple[str, ...]:
    """Where its nodes stand: its site, else provider and region."""
    return ("site", offer.site) if offer.site else ("cloud", offer.provider or "", offer.region or "")


def too_late(case: Case, offer: Offer) -> bool:
    """True where the order would have to be placed before today."""
    return case.policy.start_date - datetime.timedelta(days=7 * offer.lead_weeks) < case.policy.today


def replicas_lost(row: Contingency, option: Option) -> int:
    """Live replicas of the option that the bad day takes at most."""
    return row.replicas_lost + row.nodes_lost * max(1, option.gpus_per_node // option.gpus_per_replica)


class Oracle:
    """Builds the program of one case; `solve` gives its least cost."""

    def __init__(self, case: Case, candidates: Candidates) -> None:
        self.case = case
        self.options = candidates.options
        self.offers = [offer for offer in case.offers if self._may_be_used(offer)]
        self.rows = Rows()
        self.hours = merged_hours(case)
        self.live: dict[tuple[str, str, str, int], int] = {}
        self.total: dict[tuple[str, str, str, int], int] = {}
        self.live_is: dict[tuple[str, int], list[int]] = {}
        self.overflow: dict[tuple[str, str, int], int] = {}
        self.used: dict[tuple[str, int], int] = {}
        self.lots: dict[str, int] = {}
        self._build()

    def _may_be_used(self, offer: Offer) -> bool:
        policy = self.case.policy
        lists = ((policy.providers, offer.provider), (policy.regions, offer.region), (policy.purchases, offer.purchase))
        if any(allowed and value not in allowed for allowed, value in lists):
            return False
        return not too_late(self.case, offer) or (offer.purchase in HELD_KINDS and self.case.nodes_existing(offer.offer) > 0)

    def solve(self, time_limit_s: float = 60.0) -> float | None:
        """Least cost in $ per average day, or None where the case is infeasible."""
        solution = self.rows.solve(time_limit_s)
        return None if solution is None else solution[0]

    def fewest_offers(self, cost: float, time_limit_s: float = 60.0) -> int:
        """The fewest offers in use at that cost (relative slack 1e-9). Spoils the program for `solve`.

        An offer with existing nodes is in use whatever is decided, and is not counted.
        """
        rows = self.rows
        terms = [(column, usd) for column, usd in enumerate(rows.cost) if usd]
        rows.row(terms, high=cost * (1 + 1e-9) - rows.constant)
        rows.cost = [0.0] * len(rows.cost)
        rows.constant = 0.0
        for offer in self.offers:
            if self.case.nodes_existing(offer.offer) > 0:
                continue
            in_use = rows.column(1, cost=1.0, whole=True)
            amounts = [column for (name, _), column in self.used.items() if name == offer.offer]
            if offer.offer in self.lots:
                amounts.append(self.lots[offer.offer])
            for column in amounts:
                rows.row([(column, 1.0), (in_use, -rows.high[column])], high=0.0)
        solution = rows.solve(time_limit_s)
        assert solution is not None
        return round(solution[0])

    # ------------------------------------------------------------------ bounds

    def _most_live(self, option: Option) -> int:
        """So many live replicas of one class that the option alone survives everything; more never helps."""
        pool = self.case.pool(option.pool)
        rows = list(self.case.contingencies_of(option.pool))
        surge = 1 + max((row.demand_surge_frac for row in rows), default=0.0)
        lost = max((replicas_lost(row, option) for row in rows), default=0)
        kept = min((1 - row.spot_lost_frac for row in rows if row.spot_lost_frac < 1), default=1.0)
        need = 0.0
        for hour in self.hours:
            here = 0.0
            for workload in self.case.workloads_of(option.pool):
                tps = tps_of_one_replica(option, workload, pool, hour.input_per_output[workload.workload])
                if tps is not None:
                    here += surge * hour.demand_tps[workload.workload] / tps
            need = max(need, here)
        return math.ceil((replicas_at(need, pool) + lost + 1) / kept) + pool.min_live + 1

    # ------------------------------------------------------------------ occupancy `auto`

    def _choose_live(self, index: int, pool: Pool) -> None:
        """One column for every number of live replicas that an `auto` pool may have in the hour; exactly that many are live."""
        if not pool.is_auto:
            return
        live = [self.live[key] for key in self.live if key[0] == pool.pool and key[3] == index]
        most = int(sum(self.rows.high[column] for column in live))
        chosen = [self.rows.column(1, whole=True) for _ in range(most + 1)]
        self.live_is[pool.pool, index] = chosen
        self.rows.row([(column, 1.0) for column in chosen], low=1.0, high=1.0)
        counted = [(column, -float(count)) for count, column in enumerate(chosen)]
        self.rows.row([*((column, 1.0) for column in live), *counted], low=0.0, high=0.0)

    def _able(self, index: int, pool: Pool, replicas: list[tuple[int, float]], most: float) -> list[tuple[int, float]]:
        """What these replicas may be kept busy: all; with `auto` the busy share of the hour's live replicas times them."""
        if not pool.is_auto:
            return replicas
        parts = []
        for count, chosen in enumerate(self.live_is[pool.pool, index]):
            part = self.rows.column(most)
            self.rows.row([(part, 1.0), (chosen, -float(most))], high=0.0)
            parts.append((part, busy_share(count, pool.wait_prob_max_frac)))
        self.rows.row([*((part, 1.0) for part, _ in parts), *((c, -factor) for c, factor in replicas)], high=0.0)
        return parts

    def _most_total(self, option: Option) -> int:
        return math.ceil(2 * self._most_live(option) * (1 + self.case.pool(option.pool).rollout_frac)) + 1

    def _most_nodes(self, node_type: str) -> int:
        options = [option for option in self.options if option.node_type == node_type]
        return sum(math.ceil(2 * self._most_total(o) * o.gpus_per_replica / o.gpus_per_node) + 1 for o in options)

    # ------------------------------------------------------------------ program

    def _build(self) -> None:
        self._commitments()
        self._sites()
        for index, hour in enumerate(self.hours):
            self._nodes_used(index, hour)
            self._api(index, hour)
            for pool in self.case.pools:
                self._pool(index, hour, pool)
            self._gpus(index)

    def _held(self, offer: Offer) -> tuple[list[tuple[int, float]], int]:
        """Nodes held as terms of columns, and a constant."""
        return [(self.lots[offer.offer], float(offer.lot_nodes))], self.case.nodes_existing(offer.offer)

    def _site_kw(self, offer: Offer) -> tuple[float, float]:
        """(IT kW, facility kW per IT kW) of a node of that offer."""
        node = self.case.node_type(offer.node_type)
        assert offer.site is not None and node.node_kw is not None
        return node.node_kw, self.case.site(offer.site).pue or 1.0

    def _commitments(self) -> None:
        for offer in self.offers:
            if offer.purchase not in HELD_KINDS:
                continue
            usd = offer.held_usd_per_node_h * len(offer.hours)
            if offer.upfront_usd_per_node:
                assert offer.term_months is not None
                usd += offer.upfront_usd_per_node / (offer.term_months * 365 / 12)
            if offer.site:
                usd += self.case.site(offer.site).usd_per_kw_month * self._site_kw(offer)[0] / (365 / 12)
            most = max(self._most_nodes(offer.node_type), offer.min_nodes + offer.lot_nodes)
            if offer.max_nodes is not None:
                most = min(most, offer.max_nodes)
            if too_late(self.case, offer):
                most = 0
            most_lots = -(-most // offer.lot_nodes) if offer.max_nodes is None else most // offer.lot_nodes
            lots = self.rows.column(most_lots, cost=usd * offer.lot_nodes, whole=True)
            self.lots[offer.offer] = lots
            self.rows.constant += usd * self.case.nodes_existing(offer.offer)
            if offer.min_nodes > 0:
                any_bought = self.rows.column(1, whole=True)
                self.rows.row([(lots, 1.0), (any_bought, -float(most_lots))], high=0.0)
                self.rows.row([(lots, float(offer.lot_nodes)), (any_bought, -float(offer.min_nodes))], low=0.0)

    def _sites(self) -> None:
        for site in self.case.sites:
            held = [offer for offer in self.offers if offer.site == site.site and offer.offer in self.lots]
            if site.racks is not None:
                racks_terms = []
                for node_type in {offer.node_type for offer in held}:
                    kw = self.case.node_type(node_type).node_kw
                    assert kw is not None
                    per_rack = math.inf
                    if site.slots_per_rack is not None:
                        per_rack = site.slots_per_rack
                    if site.kw_per_rack is not None:
                        per_rack = min(per_rack, math.floor(site.kw_per_rack / kw + HEDGE))
                    assert per_rack < math.inf
                    racks = self.rows.column(site.racks, whole=True)
                    terms, constant = [(racks, -float(per_rack))], 0
                    for offer in held:
                        if offer.node_type == node_type:
                            more, fixed = self._held(offer)
                            terms += more
                            constant += fixed
                    self.rows.row(terms, high=-float(constant))
                    racks_terms.append((racks, 1.0))
                self.rows.row(racks_terms, high=float(site.racks))
            if site.total_kw is not None:
                terms, constant_kw = [], 0.0
                for offer in held:
                    kw, pue = self._site_kw(offer)
                    more, fixed = self._held(offer)
                    terms += [(column, factor * kw * pue) for column, factor in more]
                    constant_kw += fixed * kw * pue
                self.rows.row(terms, high=site.total_kw - constant_kw)

    def _nodes_used(self, index: int, hour: Hour) -> None:
        for offer in self.offers:
            if offer.offer not in hour.offers:
                continue
            usd = offer.used_usd_per_node_h / offer.effective_frac
            if offer.site:
                kw, pue = self._site_kw(offer)
                usd += kw * pue * self.case.site(offer.site).usd_per_kwh
            most: float = self._most_nodes(offer.node_type)
            if offer.offer not in self.lots and offer.max_nodes is not None:
                most = min(most, offer.max_nodes)
            column = self.rows.column(most, cost=usd * hour.weight, whole=True)
            self.used[offer.offer, index] = column
            if offer.offer in self.lots:
                terms, constant = self._held(offer)
                self.rows.row([(column, 1.0)] + [(c, -factor) for c, factor in terms], high=float(constant))

    def _api(self, index: int, hour: Hour) -> None:
        """Columns are shares of the workload's demand in that hour."""
        for workload in self.case.workloads:
            demand = hour.demand_tps[workload.workload]
            if demand <= 0:
                continue
            for api_id in workload.api:
                if api_id not in hour.apis:
                    continue
                usd_mtok = api_usd_per_mtok(self.case.api(api_id), workload, hour.input_per_output[workload.workload])
                usd = usd_mtok * USD_PER_H_OF_TPS_PER_USD_MTOK * demand * hour.weight
                self.overflow[workload.workload, api_id, index] = self.rows.column(1.0, cost=usd)
            terms = [(c, 1.0) for (w, _, i), c in self.overflow.items() if w == workload.workload and i == index]
            if terms:
                self.rows.row(terms, high=workload.api_max_frac)
        for api in self.case.api_prices:
            planned = [
                (self.case.workload(w), column) for (w, a, i), column in self.overflow.items() if a == api.api and i == index
            ]
            self._api_limits(api, hour, planned)

    def _api_limits(self, api: ApiPrice, hour: Hour, shares: Sequence[tuple[Workload, int]]) -> None:
        """Each stated limit over columns that are shares of demand."""
        if not shares:
            return

        def limit(most: float | None, per_token: dict[str, float]) -> None:
            if most is not None:
                self.rows.row(
                    [(column, per_token[w.workload] * hour.demand_tps[w.workload] / most) for w, column in shares], high=1.0
                )

        ratio = hour.input_per_output
        limit(api.max_output_tps, {w.workload: 1.0 for w, _ in shares})
        limit(api.max_input_tps, {w.workload: ratio[w.workload] for w, _ in shares})
        limit(api.max_total_tps, {w.workload: 1.0 + ratio[w.workload] for w, _ in shares})
        if api.max_rpm is not None:
            per_token = {}
            for workload, _ in shares:
                assert workload.output_tokens is not None
                per_token[workload.workload] = 60 / workload.output_tokens
            limit(api.max_rpm, per_token)

    def _pool(self, index: int, hour: Hour, pool: Pool) -> None:
        options = [option for option in self.options if option.pool == pool.pool]
        classes = (FIRM, SPOT) if pool.spot_max_frac > 0 else (FIRM,)
        workloads = [w for w in self.case.workloads_of(pool.pool) if hour.demand_tps[w.workload] > 0]
        loads: dict[tuple[str, str, str], int] = {}
        for option in options:
            for kind in classes:
                live = self.rows.column(self._most_live(option), whole=True)
                total = self.rows.column(self._most_total(option), whole=True)
                self.live[pool.pool, option.option, kind, index] = live
                self.total[pool.pool, option.option, kind, index] = total
                self.rows.row([(total, 1.0), (live, -1.0)], low=0.0)
        self._choose_live(index, pool)
        for option in options:
            for kind in classes:
                live = self.live[pool.pool, option.option, kind, index]
                able = self._able(index, pool, [(live, 1.0)], self.rows.high[live])
                capacity = [(column, -factor) for column, factor in able]
                for workload in workloads:
                    tps = tps_of_one_replica(option, workload, pool, hour.input_per_output[workload.workload])
                    if tps is not None:
                        load = self.rows.column(1.0)
                        loads[workload.workload, option.option, kind] = load
                        capacity.append((load, hour.demand_tps[workload.workload] / tps))
                self.rows.row(capacity, high=0.0)
            if pool.pool in hour.rollout:
                both = [(self.total[pool.pool, option.option, kind, index], 1.0) for kind in classes]
                both += [(self.live[pool.pool, option.option, kind, index], -(1 + pool.rollout_frac)) for kind in classes]
                self.rows.row(both, low=-HEDGE)
        for workload in workloads:
            terms = [(column, 1.0) for (w, _, _), column in loads.items() if w == workload.workload]
            terms += [(c, 1.0) for (w, _, i), c in self.overflow.items() if w == workload.workload and i == index]
            self.rows.row(terms, low=1.0, high=1.0)
        if pool.min_live > 0:
            everywhere = [(self.live[pool.pool, option.option, kind, index], 1.0) for option in options for kind in classes]
            self.rows.row(everywhere, low=float(pool.min_live))
        if 0 < pool.spot_max_frac < 1:
            self.rows.row(
                [
                    (column, hour.demand_tps[w] * ((1.0 if kind == SPOT else 0.0) - pool.spot_max_frac))
                    for (w, _, kind), column in loads.items()
                ],
                high=0.0,
            )
        if workloads:
            for row in self.case.contingencies_of(pool.pool):
                self._bad_day(index, hour, pool, row, options, classes, workloads)

    def _bad_day(
        self,
        index: int,
        hour: Hour,
        pool: Pool,
        row: Contingency,
        options: Sequence[Option],
        classes: Sequence[str],
        workloads: Sequence[Workload],
    ) -> None:
        left: dict[str, list[tuple[int, float]]] = {}
        for option in options:
            terms = [(self.live[pool.pool, option.option, FIRM, index], 1.0)]
            if SPOT in classes and row.spot_lost_frac < 1:
                stays = self.rows.column(self._most_live(option), whole=True)
                spot_live = self.live[pool.pool, option.option, SPOT, index]
                self.rows.row([(stays, 1.0), (spot_live, -(1 - row.spot_lost_frac))], high=HEDGE)
                terms.append((stays, 1.0))
            left[option.option] = terms
        losers: list[Option | None] = [None]
        losers += [option for option in options if replicas_lost(row, option) > 0]
        for loser in losers:
            self._redispatch(index, hour, pool, row, options, workloads, left, loser)

    def _redispatch(
        self,
        index: int,
        hour: Hour,
        pool: Pool,
        row: Contingency,
        options: Sequence[Option],
        workloads: Sequence[Workload],
        left: dict[str, list[tuple[int, float]]],
        loser: Option | None,
    ) -> None:
        """What is left after `loser` lost its replicas serves the surged demand, as if dispatched anew."""
        served: dict[str, list[tuple[int, float]]] = {w.workload: [] for w in workloads}
        for option in options:
            lost = replicas_lost(row, option) if loser is not None and option.option == loser.option else 0
            most = 2 * self._most_live(option)
            stays = left[option.option]
            if lost and pool.is_auto:
                stays = self._remains(stays, lost, most)
            able = stays if lost and not pool.is_auto else self._able(index, pool, stays, most)
            terms = [(column, -factor) for column, factor in able]
            work: list[tuple[int, float]] = []
            for workload in workloads:
                tps = tps_of_one_replica(option, workload, pool, hour.input_per_output[workload.workload])
                if tps is not None:
                    load = self.rows.column(math.inf)
                    served[workload.workload].append((load, 1.0))
                    work.append((load, hour.demand_tps[workload.workload] / tps))
            if lost and not pool.is_auto:
                # what remains = max(left - lost, 0): either all are gone, or at least `lost` were there
                all_gone = self.rows.column(1, whole=True)
                self.rows.row([*work, *terms, (all_gone, -float(lost))], high=-float(lost))
                self.rows.row([*work, (all_gone, float(most))], high=float(most))
            else:
                self.rows.row([*work, *terms], high=0.0)
        if row.api_absorbs:
            self._absorb(index, hour, pool, workloads, served)
        else:
            for workload in workloads:
                served[workload.workload] += [
                    (c, 1.0) for (w, _, i), c in self.overflow.items() if w == workload.workload and i == index
                ]
        for workload in workloads:
            self.rows.row(served[workload.workload], low=1 + row.demand_surge_frac)

    def _remains(self, left: list[tuple[int, float]], lost: int, most: int) -> list[tuple[int, float]]:
        """max(left - lost, 0) as a column of its own."""
        remains, all_gone = self.rows.column(most), self.rows.column(1, whole=True)
        minus = [(column, -factor) for column, factor in left]
        self.rows.row([(remains, 1.0), *minus, (all_gone, -float(lost))], high=-float(lost))
        self.rows.row([(remains, 1.0), (all_gone, float(most))], high=float(most))
        return [(remains, 1.0)]

    def _absorb(
        self, index: int, hour: Hour, pool: Pool, workloads: Sequence[Workload], served: dict[str, list[tuple[int, float]]]
    ) -> None:
        mine = {workload.workload for workload in self.case.workloads_of(pool.pool)}
        for api in self.case.api_prices:
            taken: list[tuple[Workload, int]] = []
            for workload in workloads:
                planned = self.overflow.get((workload.workload, api.api, index))
                if planned is None:
                    continue
                column = self.rows.column(math.inf)
                if api.max_output_tps is None:
                    self.rows.row([(column, 1.0), (planned, -1.0)], high=0.0)
                served[workload.workload].append((column, 1.0))
                taken.append((workload, column))
            others = [
                (self.case.workload(w), column)
                for (w, a, i), column in self.overflow.items()
                if a == api.api and i == index and w not in mine
            ]
            if taken:
                self._api_limits(api, hour, taken + others)

    def _gpus(self, index: int) -> None:
        for node_type in {option.node_type for option in self.options} | {offer.node_type for offer in self.offers}:
            for kind in (FIRM, SPOT):
                offers = [
                    offer
                    for offer in self.offers
                    if offer.node_type == node_type
                    and (offer.purchase == "spot") == (kind == SPOT)
                    and (offer.offer, index) in self.used
                ]
                gpus = self.case.node_type(node_type).gpus_per_node
                supply = [(self.used[offer.offer, index], -float(gpus)) for offer in offers]
                need = []
                spanning: dict[tuple[str, ...], list[tuple[int, float]]] = {}
                for option in self.options:
                    column = self.total.get((option.pool, option.option, kind, index))
                    if option.node_type != node_type or column is None:
                        continue
                    need.append((column, float(option.gpus_per_replica)))
                    if option.gpus_per_replica > gpus:
                        here = [(column, -1.0)]
                        for place in {place_of(offer) for offer in offers}:
                            part = self.rows.column(self._most_total(option), whole=True)
                            here.append((part, 1.0))
                            spanning.setdefault(place, []).append((part, float(option.gpus_per_replica)))
                        self.rows.row(here, low=0.0)
                if need:
                    self.rows.row(need + supply, high=0.0)
                for place, parts in spanning.items():
                    there = [(self.used[offer.offer, index], -float(gpus)) for offer in offers if place_of(offer) == place]
                    self.rows.row(parts + there, high=0.0)


def oracle_cost(case: Case, candidates: Candidates, time_limit_s: float = 60.0) -> float | None:
    """Least cost in $ per average day of the case, proven at gap 0; None where infeasible. Else raises OracleFailed."""
    return Oracle(case, candidates).solve(time_limit_s)


def oracle_fewest_offers(case: Case, candidates: Candidates, cost: float, time_limit_s: float = 60.0) -> int:
    """Fewest offers in use among the plans of that cost; offers with existing nodes are not counted."""
    return Oracle(case, candidates).fewest_offers(cost, time_limit_s)
