"""The oracle for cases whose hours hang together: deferrable work, look-ahead, standing quotas, zones, short supply, discounts.

The same plain program as `oracle`, written again hour by hour without merging, in units of each workload's peak: what runs in an
hour is then a variable. Bad days that take nodes before replicas get counts of their own. Shares no code with the milp room.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from optimizer.candidates.option import Candidates, Option
from optimizer.domain.case import Case
from optimizer.domain.market import ApiPrice, Offer
from optimizer.domain.workload import Contingency, Pool, Workload
from tests.helpers.oracle import (
    FIRM,
    HEDGE,
    HELD_KINDS,
    SPOT,
    USD_PER_H_OF_TPS_PER_USD_MTOK,
    Hour,
    Oracle,
    api_usd_per_mtok,
    busy_share,
    merged_hours,
    place_of,
    ratio_of,
    replicas_at,
    replicas_lost,
    tps_of_one_replica,
)
from tests.helpers.oracle_compare import same_cost

Terms = list[tuple[int, float]]
Place = tuple[str, ...]


@dataclass(frozen=True)
class Slot(Hour):
    """One hour of one day type, or hours merged where nothing ties them together (day_type and hour are then of the first)."""

    day_type: str = ""
    hour: int = -1


def hangs_together(case: Case) -> bool:
    """True where an hour of the day matters to another one."""
    return any(workload.deferrable_hours for workload in case.workloads) or any(pool.ready_hours for pool in case.pools)


def slots_of(case: Case) -> list[Slot]:
    """Every hour of every day type; merged where the case allows it."""
    if not hangs_together(case):
        return [Slot(**vars(hour)) for hour in merged_hours(case)]
    days = sum(day.days for day in case.day_types)
    return [
        Slot(
            weight=day.days / days,
            demand_tps={w.workload: w.demand_on(day.day_type).output_tps[hour] for w in case.workloads},
            input_per_output={w.workload: ratio_of(w, day.day_type, hour) or 0.0 for w in case.workloads},
            offers=frozenset(offer.offer for offer in case.offers if hour in offer.hours),
            apis=frozenset(api.api for api in case.api_prices if hour in api.hours),
            rollout=frozenset(pool.pool for pool in case.pools if pool.rollout_frac > 0 and hour in pool.rollout_hours),
            day_type=day.day_type,
            hour=hour,
        )
        for day in case.day_types
        for hour in range(24)
    ]


def takes_nodes(row: Contingency) -> bool:
    """True where nodes are lost before replicas, and what is left is given out anew."""
    return row.scope == "zone" or row.on_demand_obtainable_frac < 1


class DaggerOracle(Oracle):
    """Every figure of work is a multiple of the workload's unit: its highest demand in any hour."""

    def __init__(self, case: Case, candidates: Candidates) -> None:
        self.slots = slots_of(case)
        self.unit = {w.workload: max(max(day.output_tps) for day in w.demand) or 1.0 for w in case.workloads}
        self.run: dict[tuple[str, int], Terms] = {}
        self.load: dict[tuple[str, str, str, int], int] = {}
        super().__init__(case, candidates)

    def _build(self) -> None:
        self.hours = list(self.slots)
        self._commitments()
        self._sites()
        self._shifts()
        for index, hour in enumerate(self.slots):
            self._nodes_used(index, hour)
            self._api(index, hour)
            for pool in self.case.pools:
                self._replicas(index, hour, pool)
            self._gpus(index)
            self._quotas(index)
        self._ready()
        self._discounts()
        for index in range(len(self.slots)):
            for row in self.case.contingencies:
                self._bad_hour(index, row)

    # ------------------------------------------------------------------ bounds

    def _runs_at_most(self, workload: Workload, hour: Slot) -> float:
        """tok/s that could run in the hour: all that arrived in the hours it may have waited from."""
        if not workload.deferrable_hours:
            return hour.demand_tps[workload.workload]
        tps = workload.demand_on(hour.day_type).output_tps
        return sum(tps[(hour.hour - wait) % 24] for wait in range(min(workload.deferrable_hours, 23) + 1))

    def _most_live(self, option: Option) -> int:
        pool = self.case.pool(option.pool)
        rows = list(self.case.contingencies_of(option.pool))
        surge = 1 + max((row.demand_surge_frac for row in rows), default=0.0)
        lost = max((replicas_lost(row, option) for row in rows), default=0)
        kept = min((1 - row.spot_lost_frac for row in rows if row.spot_lost_frac < 1), default=1.0)
        kept *= min((1 - row.replicas_lost_frac for row in rows if row.replicas_lost_frac < 1), default=1.0)
        need = 0.0
        for hour in self.slots:
            here = 0.0
            for workload in self.case.workloads_of(option.pool):
                tps = tps_of_one_replica(option, workload, pool, hour.input_per_output[workload.workload])
                if tps is not None:
                    here += surge * self._runs_at_most(workload, hour) / tps
            need = max(need, here)
        more = replicas_at(need, pool) if pool.is_auto else 0  # live only to let others be busier
        return math.ceil((replicas_at(need, pool) + lost + 2) / kept) + more + pool.min_live + 1

    def _most_anew(self, option: Option) -> int:
        """With `auto` the nodes that are left may be given to more replicas: the occupancy is that of few, larger ones."""
        pool, most = self.case.pool(option.pool), self._most_live(option)
        return math.ceil(most / busy_share(1, pool.wait_prob_max_frac)) if pool.is_auto else most

    def _most_nodes(self, node_type: str) -> int:
        """With short supply so many more nodes that what can be had of them would still do."""
        shares = [row.on_demand_obtainable_frac for row in self.case.contingencies if row.on_demand_obtainable_frac > 0]
        quota = sum(pool.fixed_nodes for pool in self.case.pools if pool.fixed_node_type == node_type)
        return quota + math.ceil((super()._most_nodes(node_type) + 1) / min([1.0, *shares]))

    # ------------------------------------------------------------------ what runs when

    def _shifts(self) -> None:
        """run: what runs in an hour, in units; a constant is a column with equal bounds."""
        at = {(slot.day_type, slot.hour): index for index, slot in enumerate(self.slots)}
        for workload in self.case.workloads:
            name = workload.workload
            for index, slot in enumerate(self.slots):
                share = slot.demand_tps[name] / self.unit[name]
                if not workload.deferrable_hours:
                    self.run[name, index] = [(self.rows.column(share, low=share), 1.0)] if share > 0 else []
                    continue
                waits = range(min(workload.deferrable_hours, 23) + 1) if share > 0 else ()
                parts: Terms = []
                for wait in waits:
                    part = self.rows.column(share)
                    parts.append((part, 1.0))
                    self.run.setdefault((name, at[slot.day_type, (slot.hour + wait) % 24]), []).append((part, 1.0))
                if parts:
                    self.rows.row(parts, low=share, high=share)
                self.run.setdefault((name, index), [])

    # ------------------------------------------------------------------ a normal hour

    def _api(self, index: int, hour: Hour) -> None:
        for workload in self.case.workloads:
            name = workload.workload
            run = self.run[name, index]
            mine: Terms = []
            for api_id in workload.api if run else ():
                if api_id in hour.apis:
                    usd = api_usd_per_mtok(self.case.api(api_id), workload, hour.input_per_output[name])
                    usd *= USD_PER_H_OF_TPS_PER_USD_MTOK * self.unit[name] * hour.weight
                    column = self.rows.column(math.inf, cost=usd)
                    self.overflow[name, api_id, index] = column
                    mine.append((column, 1.0))
            if mine:
                self.rows.row([*mine, *((column, -workload.api_max_frac * factor) for column, factor in run)], high=0.0)
        for api in self.case.api_prices:
            planned = [(self.case.workload(w), c) for (w, a, i), c in self.overflow.items() if (a, i) == (api.api, index)]
            self._api_limits(api, replace(hour, demand_tps=self.unit), planned)

    def _replicas(self, index: int, hour: Slot, pool: Pool) -> None:
        classes = (FIRM, SPOT) if pool.spot_max_frac > 0 else (FIRM,)
        workloads = [w for w in self.case.workloads_of(pool.pool) if self.run[w.workload, index]]
        options = [option for option in self.options if option.pool == pool.pool]
        share: Terms = []
        for option, kind in itertools.product(options, classes):
            live = self.rows.column(self._most_live(option), whole=True)
            total = self.rows.column(self._most_total(option), whole=True)
            self.live[pool.pool, option.option, kind, index] = live
            self.total[pool.pool, option.option, kind, index] = total
            self.rows.row([(total, 1.0), (live, -1.0)], low=0.0)
        self._choose_live(index, pool)
        for option, kind in itertools.product(options, classes):
            live = self.live[pool.pool, option.option, kind, index]
            busy: Terms = [(c, -factor) for c, factor in self._able(index, pool, [(live, 1.0)], self.rows.high[live])]
            for workload in workloads:
                tps = tps_of_one_replica(option, workload, pool, hour.input_per_output[workload.workload])
                if tps is not None:
                    unit = self.unit[workload.workload]
                    load = self.rows.column(math.inf)
                    self.load[workload.workload, option.option, kind, index] = load
                    busy.append((load, unit / tps))
                    share.append((load, unit * ((1.0 if kind == SPOT else 0.0) - pool.spot_max_frac)))
            self.rows.row(busy, high=0.0)
        for option in options if pool.pool in hour.rollout else ():
            both = [(self.total[pool.pool, option.option, kind, index], 1.0) for kind in classes]
            both += [(self.live[pool.pool, option.option, kind, index], -(1 + pool.rollout_frac)) for kind in classes]
            self.rows.row(both, low=-HEDGE)
        for workload in workloads:
            terms = [(c, 1.0) for (w, _, _, i), c in self.load.items() if (w, i) == (workload.workload, index)]
            terms += [(c, 1.0) for (w, _, i), c in self.overflow.items() if (w, i) == (workload.workload, index)]
            run = self.run[workload.workload, index]
            self.rows.row([*terms, *((column, -factor) for column, factor in run)], low=0.0, high=0.0)
        if pool.min_live > 0:
            everywhere = [(self.live[pool.pool, o.option, kind, index], 1.0) for o, kind in itertools.product(options, classes)]
            self.rows.row(everywhere, low=float(pool.min_live))
        if 0 < pool.spot_max_frac < 1:
            self.rows.row(share, high=0.0)

    def _quotas(self, index: int) -> None:
        """Standing quotas take nodes of their type out of what is used, in every hour, beside all replicas."""
        for node in self.case.node_types:
            quota = sum(pool.fixed_nodes for pool in self.case.pools if pool.fixed_node_type == node.node_type)
            if not quota:
                continue
            gpus = float(node.gpus_per_node)
            terms: Terms = [(column, gpus) for offer, column in self._firm_used(node.node_type, index)]
            terms += [
                (self.total[option.pool, option.option, FIRM, index], -float(option.gpus_per_replica))
                for option in self.options
                if option.node_type == node.node_type
            ]
            self.rows.row(terms, low=quota * gpus)

    def _firm_used(self, node_type: str, index: int) -> list[tuple[Offer, int]]:
        return [
            (offer, self.used[offer.offer, index])
            for offer in self.offers
            if offer.node_type == node_type and offer.purchase != "spot" and (offer.offer, index) in self.used
        ]

    def _ready(self) -> None:
        """What is live in an hour is paid in each of the hours before it, on the same kind of node."""
        at = {(slot.day_type, slot.hour): index for index, slot in enumerate(self.slots)}
        for (pool, option, kind, index), live in self.live.items():
            slot = self.slots[index]
            for ahead in range(1, min(self.case.pool(pool).ready_hours, 23) + 1):
                before = at[slot.day_type, (slot.hour - ahead) % 24]
                self.rows.row([(self.total[pool, option, kind, before], 1.0), (live, -1.0)], low=0.0)

    def _discounts(self) -> None:
        """A commitment, paid around the clock, out of which covered nodes pay their lower price instead of the use price."""
        covered_by: dict[tuple[str, int], Terms] = {}
        for name in {row.discount for row in self.case.discounts}:
            rows = [row for row in self.case.discounts if row.discount == name]
            most = min((row.max_commit_usd_per_h for row in rows if row.max_commit_usd_per_h is not None), default=1e6)
            least = max(row.min_commit_usd_per_h for row in rows)
            commitment = self.rows.column(most, cost=24.0)
            if least > 0:
                any_made = self.rows.column(1, whole=True)
                self.rows.row([(commitment, 1.0), (any_made, -least)], low=0.0)
                self.rows.row([(commitment, 1.0), (any_made, -most)], high=0.0)
            for index, slot in enumerate(self.slots):
                spent: Terms = [(commitment, -1.0)]
                for row in rows:
                    if (row.offer, index) not in self.used:
                        continue
                    offer = self.case.offer(row.offer)
                    saved = offer.used_usd_per_node_h / offer.effective_frac
                    column = self.rows.column(math.inf, cost=-saved * slot.weight)
                    covered_by.setdefault((row.offer, index), []).append((column, 1.0))
                    spent.append((column, row.discounted_usd_per_node_h))
                self.rows.row(spent, high=0.0)
        for (offer_name, index), terms in covered_by.items():
            self.rows.row([*terms, (self.used[offer_name, index], -1.0)], high=0.0)

    # ------------------------------------------------------------------ bad days

    def _bad_hour(self, index: int, row: Contingency) -> None:
        """One contingency in one hour, for all its pools that have work which cannot wait."""
        hour = self.slots[index]
        asking: list[tuple[Pool, list[Workload]]] = []
        for pool in self.case.pools:
            workloads = [
                w for w in self.case.workloads_of(pool.pool) if not w.deferrable_hours and hour.demand_tps[w.workload] > 0
            ]
            if pool.pool in row.pools and workloads:
                asking.append((pool, workloads))
        zones: list[Place | None] = [None]
        if row.scope == "zone":
            zones = list(dict.fromkeys(place_of(offer) for offer in self.offers)) or [None]
        for zone in zones if asking else ():
            left: dict[tuple[str, str], Terms] = {}
            for pool, _ in asking:
                for option in self.options:
                    if option.pool == pool.pool:
                        left[pool.pool, option.option] = self._spot_left(index, pool, option, row)
            if takes_nodes(row):
                left = self._anew(index, row, zone, [pool for pool, _ in asking], left)
            else:
                for (pool_name, option_name), terms in left.items():
                    terms.append((self.live[pool_name, option_name, FIRM, index], 1.0))
            for pool, workloads in asking:
                options = [option for option in self.options if option.pool == pool.pool]
                mine = {option.option: left[pool.pool, option.option] for option in options}
                for loser in (None, *options):
                    if loser is None or replicas_lost(row, loser) or row.replicas_lost_frac:
                        self._survive(index, pool, row, options, workloads, mine, loser)

    def _spot_left(self, index: int, pool: Pool, option: Option, row: Contingency) -> Terms:
        if pool.spot_max_frac <= 0 or row.spot_lost_frac >= 1:
            return []
        stays = self.rows.column(self._most_live(option), whole=True)
        live = self.live[pool.pool, option.option, SPOT, index]
        self.rows.row([(stays, 1.0), (live, -(1 - row.spot_lost_frac))], high=HEDGE)
        return [(stays, 1.0)]

    def _anew(
        self, index: int, row: Contingency, zone: Place | None, pools: Sequence[Pool], spot_left: dict[tuple[str, str], Terms]
    ) -> dict[tuple[str, str], Terms]:
        """Whole replicas on the nodes that are left, to all pools at once."""
        named = {pool.pool for pool in pools}
        given: dict[tuple[str, str], Terms] = {}
        for node_type in {option.node_type for option in self.options if option.pool in named}:
            options = [option for option in self.options if option.node_type == node_type and option.pool in named]
            firm: dict[Place, Terms] = {}
            constant: dict[Place, int] = {}
            spot: dict[Place, Terms] = {}
            for offer in self.offers:
                place = place_of(offer)
                if offer.node_type != node_type or place == zone or (offer.offer, index) not in self.used:
                    continue
                used = self.used[offer.offer, index]
                if offer.purchase == "spot":
                    spot.setdefault(place, []).append((used, 1.0))
                elif offer.purchase in HELD_KINDS:
                    terms, fixed = self._held(offer)
                    firm.setdefault(place, []).extend(terms)
                    constant[place] = constant.get(place, 0) + fixed
                else:
                    had = self.rows.column(self.rows.high[used], whole=True)
                    self.rows.row([(had, 1.0), (used, -row.on_demand_obtainable_frac)], high=HEDGE)
                    firm.setdefault(place, []).append((had, 1.0))
            counts = {(o.pool, o.option): self.rows.column(self._most_anew(o), whole=True) for o in options}
            self._fit(options, counts, firm, constant)
            given.update({key: [(column, 1.0)] for key, column in counts.items()})
            if zone is None:
                for key in counts:
                    given[key] += spot_left[key]
                continue
            moved = {key: self.rows.column(self.rows.high[spot_left[key][0][0]], whole=True) for key in counts if spot_left[key]}
            for key, column in moved.items():
                self.rows.row([(column, 1.0), *((c, -factor) for c, factor in spot_left[key])], high=0.0)
                given[key].append((column, 1.0))
            self._fit([o for o in options if (o.pool, o.option) in moved], moved, spot, {})
        return given

    def _fit(
        self, options: Sequence[Option], counts: dict[tuple[str, str], int], nodes: dict[Place, Terms], constant: dict[Place, int]
    ) -> None:
        """Replicas on nodes: GPUs in sum; a replica of several nodes takes them from one place."""
        if not options:
            return
        gpus = options[0].gpus_per_node
        supply = [(column, -gpus * factor) for terms in nodes.values() for column, factor in terms]
        need = [(counts[option.pool, option.option], float(option.gpus_per_replica)) for option in options]
        self.rows.row(need + supply, high=float(gpus * sum(constant.values())))
        there: dict[Place, Terms] = {place: [] for place in nodes}
        for option in options:
            if option.gpus_per_replica <= gpus:
                continue
            parts: Terms = [(counts[option.pool, option.option], -1.0)]
            for needs in there.values():
                part = self.rows.column(self._most_anew(option), whole=True)
                parts.append((part, 1.0))
                needs.append((part, float(option.gpus_per_replica // gpus)))
            self.rows.row(parts, low=0.0)
        for place, needs in there.items():
            if needs:
                minus = [(column, -factor) for column, factor in nodes[place]]
                self.rows.row(needs + minus, high=float(constant.get(place, 0)))

    def _survive(
        self,
        index: int,
        pool: Pool,
        row: Contingency,
        options: Sequence[Option],
        workloads: Sequence[Workload],
        left: dict[str, Terms],
        loser: Option | None,
    ) -> None:
        """What is left after `loser` lost its replicas serves the surged demand, dispatched anew."""
        hour = self.slots[index]
        served: dict[str, Terms] = {w.workload: [] for w in workloads}
        for option in options:
            busy: Terms = []
            for workload in workloads:
                tps = tps_of_one_replica(option, workload, pool, hour.input_per_output[workload.workload])
                if tps is not None:
                    load = self.rows.column(math.inf)
                    served[workload.workload].append((load, 1.0))
                    busy.append((load, self.unit[workload.workload] / tps))
            stays = [(column, -factor) for column, factor in left[option.option]]
            most = self._most_live(option) + self._most_anew(option)
            if pool.is_auto and not (loser is not None and option.option == loser.option):
                able = self._able(index, pool, left[option.option], most)
                self.rows.row([*busy, *((column, -factor) for column, factor in able)], high=0.0)
            elif loser is not None and option.option == loser.option:
                big = float(2 * most + replicas_lost(row, option))
                gone = self.rows.column(1, whole=True)
                on_nodes = replicas_lost(row, option) - row.replicas_lost
                lost = self.rows.column(big, low=float(row.replicas_lost), whole=True)
                self.rows.row(
                    [(lost, 1.0), *((c, factor * row.replicas_lost_frac) for c, factor in stays)], low=-HEDGE
                )
                if pool.is_auto:
                    remains = self.rows.column(most)
                    able = self._able(index, pool, [(remains, 1.0)], most)
                    self.rows.row([*busy, *((column, -factor) for column, factor in able)], high=0.0)
                    busy = [(remains, 1.0)]
                self.rows.row([*busy, *stays, (lost, 1.0), (gone, -big)], high=-float(on_nodes))
                self.rows.row([*busy, (gone, float(most))], high=float(most))
            else:
                self.rows.row([*busy, *stays], high=0.0)
        if row.api_absorbs:
            self._absorb_units(index, pool, workloads, served)
        else:
            for workload in workloads:
                served[workload.workload] += [
                    (c, 1.0) for (w, _, i), c in self.overflow.items() if (w, i) == (workload.workload, index)
                ]
        for workload in workloads:
            share = hour.demand_tps[workload.workload] / self.unit[workload.workload]
            self.rows.row(served[workload.workload], low=(1 + row.demand_surge_frac) * share)

    def _absorb_units(self, index: int, pool: Pool, workloads: Sequence[Workload], served: dict[str, Terms]) -> None:
        """APIs take up to their stated limits less what other pools plan there; one without an output limit what is planned."""
        hour = replace(self.slots[index], demand_tps=self.unit)
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
            if taken:
                self._api_limits(api, hour, taken + self._others(api, index, mine))

    def _others(self, api: ApiPrice, index: int, mine: set[str]) -> list[tuple[Workload, int]]:
        return [
            (self.case.workload(w), column)
            for (w, a, i), column in self.overflow.items()
            if (a, i) == (api.api, index) and w not in mine
        ]


def dagger_oracle_cost(case: Case, candidates: Candidates, claimed: float | None, time_limit_s: float = 60.0) -> float | None:
    """Least cost in $ per average day of the case, proven at gap 0; None where infeasible. Else raises OracleFailed.

    Where it is not the cost claimed by another, it is asked again without presolve, and the lower answer counts (it is a plan):
    scipy 1.17.1 calls plans optimal that are not, now with presolve and now without (94.614 for 88.957, 4940 for 190.968).
    """
    rows = DaggerOracle(case, candidates).rows
    found: list[float | None] = []
    for presolve in (True, False):
        solution = rows.solve(time_limit_s, presolve=presolve)
        found.append(None if solution is None else solution[0])
        if same_cost(found[-1], claimed):
            break
    costs = [cost for cost in found if cost is not None]
    return min(costs) if costs else None
