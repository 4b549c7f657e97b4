"""True enumeration for tiny cases: every commitment, every count of live replicas in every hour, loads in closed form. No solver.

One pool, one workload, at most one API, no replica larger than a node. What it says is beyond doubt; it checks the oracle.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from optimizer.candidates.option import Candidates, Option
from optimizer.domain.case import Case
from optimizer.domain.market import ApiPrice, Offer

EPS = 1e-9


@dataclass(frozen=True)
class Fleet:
    """Live replicas of each option in one hour."""

    firm: tuple[int, ...]
    spot: tuple[int, ...]


class BruteForce:
    """`cost` enumerates. Raises ValueError for a case it does not cover."""

    def __init__(self, case: Case, candidates: Candidates) -> None:
        if len(case.pools) != 1 or len(case.workloads) != 1 or len(case.workloads[0].api) > 1:
            raise ValueError("one pool, one workload, at most one API")
        if any(option.gpus_per_replica > option.gpus_per_node for option in candidates.options):
            raise ValueError("no replica may span nodes")
        self.case = case
        self.pool = case.pools[0]
        self.workload = case.workloads[0]
        self.options = candidates.options
        self.rows = list(case.contingencies_of(self.pool.pool))
        self.days = sum(day.days for day in case.day_types)

    # ------------------------------------------------------------------ one hour

    def _ratio(self, day_type: str, hour: int) -> float:
        day = self.workload.demand_on(day_type)
        if day.input_tps is not None and day.output_tps[hour] > 0:
            return day.input_tps[hour] / day.output_tps[hour]
        return (self.workload.input_tokens or 0.0) / (self.workload.output_tokens or 1.0)

    def _carries(self, option: Option, ratio: float) -> float:
        """Mean tok/s of one live replica."""
        point = option.points[0]
        busy = self.workload.burst_factor / point.output_tps
        if point.input_tps is not None:
            busy += self.workload.burst_factor * (1 - self.workload.prefix_hit_frac) * ratio / point.input_tps
        return (self.pool.occupancy_frac or 1.0) / busy

    def _lost(self, number: int, option: Option) -> int:
        row = self.rows[number]
        return row.replicas_lost + row.nodes_lost * max(1, option.gpus_per_node // option.gpus_per_replica)

    def _api(self, hour: int) -> ApiPrice | None:
        apis = [self.case.api(name) for name in self.workload.api]
        return next((api for api in apis if hour in api.hours), None)

    def _api_limit(self, api: ApiPrice | None, ratio: float) -> float:
        if api is None:
            return 0.0
        limits = [math.inf]
        if api.max_output_tps is not None:
            limits.append(api.max_output_tps)
        if api.max_input_tps is not None and ratio > 0:
            limits.append(api.max_input_tps / ratio)
        if api.max_total_tps is not None:
            limits.append(api.max_total_tps / (1 + ratio))
        if api.max_rpm is not None:
            limits.append(api.max_rpm * (self.workload.output_tokens or 1.0) / 60)
        return min(limits)

    def _least_overflow(self, fleet: Fleet, carries: list[float], demand: float, hour: int, ratio: float) -> float | None:
        """The least tok/s that the API must take, or None where no amount helps."""
        api = self._api(hour)
        api_limit = self._api_limit(api, ratio)
        most = min(api_limit, self.workload.api_max_frac * demand)
        firm = sum(n * tps for n, tps in zip(fleet.firm, carries, strict=True))
        spot = sum(n * tps for n, tps in zip(fleet.spot, carries, strict=True))
        own = firm + spot
        if self.pool.spot_max_frac < 1:
            own = min(own, firm / (1 - self.pool.spot_max_frac))
        least = max(0.0, demand - own)
        if demand > 0:
            for number, row in enumerate(self.rows):
                stays = [math.floor((1 - row.spot_lost_frac) * n + EPS) for n in fleet.spot]
                left = [a + b for a, b in zip(fleet.firm, stays, strict=True)]
                whole = sum(n * tps for n, tps in zip(left, carries, strict=True))
                gone = [min(n, self._lost(number, option)) for n, option in zip(left, self.options, strict=True)]
                worst = max((n * tps for n, tps in zip(gone, carries, strict=True)), default=0.0)
                missing = (1 + row.demand_surge_frac) * demand - (whole - worst)
                if row.api_absorbs and api is not None and api.max_output_tps is not None:
                    if missing > api_limit * (1 + EPS) + EPS:
                        return None
                else:
                    least = max(least, missing)
        if least > most * (1 + EPS) + EPS * demand:
            return None
        return max(0.0, min(least, most))

    def _fleets(self, demand: float, carries: list[float]) -> Iterator[Fleet]:
        """Counts up to where one option alone, on one class, survives everything."""
        surge = max((row.demand_surge_frac for row in self.rows), default=0.0)
        kept = min((1 - row.spot_lost_frac for row in self.rows if row.spot_lost_frac < 1), default=1.0)
        firm_ranges, spot_ranges = [], []
        for option, tps in zip(self.options, carries, strict=True):
            lost = max((self._lost(number, option) for number in range(len(self.rows))), default=0)
            alone = math.ceil((1 + surge) * demand / tps) + lost
            firm_ranges.append(range(max(alone, self.pool.min_live) + 1))
            spot_ranges.append(range(max(math.ceil(alone / kept), self.pool.min_live) + 1 if self.pool.spot_max_frac > 0 else 1))
        for firm in itertools.product(*firm_ranges):
            for spot in itertools.product(*spot_ranges):
                if sum(firm) + sum(spot) >= self.pool.min_live:
                    yield Fleet(firm, spot)

    def _totals(self, fleet: Fleet, hour: int) -> Iterator[Fleet]:
        """The fleet with its rollout replicas, on firm or on spot nodes."""
        if self.pool.rollout_frac == 0 or hour not in self.pool.rollout_hours:
            yield fleet
            return
        extra = [
            math.ceil((1 + self.pool.rollout_frac) * (a + b) - EPS) - a - b for a, b in zip(fleet.firm, fleet.spot, strict=True)
        ]
        may_be_spot = self.pool.spot_max_frac > 0
        for on_spot in itertools.product(*(range(count + 1 if may_be_spot else 1) for count in extra)):
            yield Fleet(
                tuple(a + e - s for a, e, s in zip(fleet.firm, extra, on_spot, strict=True)),
                tuple(b + s for b, s in zip(fleet.spot, on_spot, strict=True)),
            )

    def _needs(self, demand: float, hour: int, ratio: float) -> dict[tuple[tuple[str, bool, int], ...], float]:
        """Nodes needed by (node type, spot) -> least API cost in $/h; dominated needs are dropped."""
        carries = [self._carries(option, ratio) for option in self.options]
        best: dict[tuple[tuple[str, bool, int], ...], float] = {}
        api = self._api(hour)
        usd_per_tps = 0.0
        if api is not None:
            hit = self.workload.prefix_hit_frac
            usd_mtok = api.output_usd_per_mtok + ratio * (
                (1 - hit) * api.input_usd_per_mtok + hit * api.cached_input_usd_per_mtok
            )
            usd_per_tps = usd_mtok * 0.0036
        types = sorted({option.node_type for option in self.options})
        for fleet in self._fleets(demand, carries):
            overflow = self._least_overflow(fleet, carries, demand, hour, ratio)
            if overflow is None:
                continue
            for total in self._totals(fleet, hour):
                need = []
                for name in types:
                    gpus = self.case.node_type(name).gpus_per_node
                    for spot, counts in ((False, total.firm), (True, total.spot)):
                        mine = [(n, o) for n, o in zip(counts, self.options, strict=True) if o.node_type == name]
                        asked = sum(n * option.gpus_per_replica for n, option in mine)
                        need.append((name, spot, -(-asked // gpus)))
                key = tuple(need)
                best[key] = min(best.get(key, math.inf), overflow * usd_per_tps)
        kept: dict[tuple[tuple[str, bool, int], ...], float] = {}
        for key, usd in sorted(best.items(), key=lambda item: (sum(count for _, _, count in item[0]), item[1])):
            needed = [count for _, _, count in key]
            if not any(
                other_usd <= usd and all(a <= b for (_, _, a), b in zip(other, needed, strict=True))
                for other, other_usd in kept.items()
            ):
                kept[key] = usd
        return kept

    # ------------------------------------------------------------------ money

    def _used_usd(self, offer: Offer) -> float:
        usd = offer.used_usd_per_node_h / offer.effective_frac
        if offer.site:
            site = self.case.site(offer.site)
            usd += (self.case.node_type(offer.node_type).node_kw or 0.0) * (site.pue or 1.0) * site.usd_per_kwh
        return usd

    def _hour_usd(self, needs: dict[tuple[tuple[str, bool, int], ...], float], hour: int, held: dict[str, int]) -> float:
        """Least $/h with these nodes held: needs are met from the cheapest offers first."""
        best = math.inf
        for need, api_usd in needs.items():
            usd = api_usd
            for node_type, spot, count in need:
                missing = count
                offers = [
                    offer
                    for offer in self.offers
                    if offer.node_type == node_type and (offer.purchase == "spot") == spot and hour in offer.hours
                ]
                for offer in sorted(offers, key=self._used_usd):
                    if missing == 0:
                        break
                    most = held.get(offer.offer, offer.max_nodes)
                    taken = missing if most is None else min(missing, most)
                    usd += taken * self._used_usd(offer)
                    missing -= taken
                if missing:
                    usd = math.inf
            best = min(best, usd)
        return best

    def _held_usd_per_day(self, offer: Offer) -> float:
        usd = offer.held_usd_per_node_h * len(offer.hours)
        if offer.upfront_usd_per_node:
            usd += offer.upfront_usd_per_node * 12 / (365 * (offer.term_months or 0.0))
        if offer.site:
            node_kw = self.case.node_type(offer.node_type).node_kw or 0.0
            usd += self.case.site(offer.site).usd_per_kw_month * node_kw * 12 / 365
        return usd

    def _sites_hold(self, held: dict[str, int]) -> bool:
        for site in self.case.sites:
            nodes: dict[str, int] = {}
            for name, count in held.items():
                offer = self.case.offer(name)
                if offer.site == site.site:
                    nodes[offer.node_type] = nodes.get(offer.node_type, 0) + count
            racks, kw = 0, 0.0
            for node_type, count in nodes.items():
                node_kw = self.case.node_type(node_type).node_kw or 0.0
                kw += count * node_kw * (site.pue or 1.0)
                per_rack = [site.slots_per_rack] if site.slots_per_rack is not None else []
                per_rack += [math.floor(site.kw_per_rack / node_kw + EPS)] if site.kw_per_rack is not None else []
                if site.racks is not None and count > 0:
                    if min(per_rack) == 0:
                        return False
                    racks += -(-count // min(per_rack))
            if site.racks is not None and racks > site.racks:
                return False
            if site.total_kw is not None and kw > site.total_kw + EPS:
                return False
        return True

    def _may_buy(self, offer: Offer) -> bool:
        days = (self.case.policy.start_date - self.case.policy.today).days
        return 7 * offer.lead_weeks <= days

    def cost(self) -> float | None:
        """Least $ per average day, or None where nothing is feasible."""
        case = self.case
        self.offers = [offer for offer in case.offers if offer.is_held or self._may_buy(offer)]
        hours: dict[tuple[object, ...], tuple[float, int, dict[tuple[tuple[str, bool, int], ...], float]]] = {}
        for day in case.day_types:
            for hour in range(24):
                demand = self.workload.demand_on(day.day_type).output_tps[hour]
                ratio = self._ratio(day.day_type, hour)
                windows = tuple(hour in offer.hours for offer in self.offers)
                api = self._api(hour)
                key = (demand, ratio, windows, api and api.api, hour in self.pool.rollout_hours)
                weight, _, needs = hours.get(key, (0.0, hour, None))
                hours[key] = (weight + day.days / self.days, hour, self._needs(demand, hour, ratio) if needs is None else needs)
        most: dict[str, int] = {}
        for _, _, needs in hours.values():
            for need in needs:
                for node_type, spot, count in need:
                    if not spot:
                        most[node_type] = max(most.get(node_type, 0), count)
        held_offers = [offer for offer in self.offers if offer.is_held]
        ranges = []
        for offer in held_offers:
            top = max(most.get(offer.node_type, 0), offer.min_nodes) + offer.lot_nodes - 1
            top = top if offer.max_nodes is None else min(top, offer.max_nodes)
            top = top if self._may_buy(offer) else 0
            choices = range(0, top + 1, offer.lot_nodes)
            ranges.append([count for count in choices if count == 0 or count >= offer.min_nodes])
        best = math.inf
        for bought in itertools.product(*ranges):
            held = {o.offer: n + case.nodes_existing(o.offer) for o, n in zip(held_offers, bought, strict=True)}
            if not self._sites_hold(held):
                continue
            usd = sum(self._held_usd_per_day(case.offer(name)) * count for name, count in held.items())
            for weight, hour, needs in hours.values():
                if usd >= best:
                    break
                usd += weight * self._hour_usd(needs, hour, held)
            best = min(best, usd)
        return None if best == math.inf else best


def bruteforce_cost(case: Case, candidates: Candidates) -> float | None:
    """Least $ per average day by enumeration; None where infeasible. Raises ValueError for a case it does not cover."""
    return BruteForce(case, candidates).cost()
