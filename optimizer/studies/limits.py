"""Every limit and headroom rule of a case as a number that can be set otherwise. Nothing is solved here.

This page: the type, and what limits machines and prices (sites, offers, APIs). Pools, workloads and bad days: `limits_service`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from optimizer.candidates.codes import RejectionCode
from optimizer.candidates.offers import nodes_per_rack
from optimizer.candidates.option import Candidates
from optimizer.domain.case import Case
from optimizer.domain.hardware import Site
from optimizer.domain.market import ApiPrice, Offer
from optimizer.plan.plan import Decision
from optimizer.studies.wording import number
from optimizer.units import SECONDS_PER_MINUTE, floor_hedged

#: More nodes than any rack holds; where a limit per rack is lifted.
_NODES_IN_ANY_RACK = 64
#: Amounts are shown without the noise of floating point.
_SHOWN_DIGITS = 9


@dataclass(frozen=True)
class Limit:
    """One number of the inputs that holds a plan back.

    limit: the input column. what: whose limit, in words. value: as it is, in the units of the column; free: where it no longer
    holds anything back (inf: no limit at all; below `value` for rules that are loosened downwards).
    step: one more natural unit (a kW, a node or lot, a rack, a percentage point). bites: what one node more takes of it, by size,
    where that is not a unit (kW, lots). lumpy: it may hold back a plan that takes little of it. fine: the smallest change that is
    told apart where the least loosening is searched, counted from `base` (a cap of 6 with lots of 4 is a cap of 4).
    shown_per_value: what one of `value` is in `unit` (100 % for a share). at: the case with the limit at another value.
    used: what a decision takes of it, None where that cannot be said. words: the change from `value` to another value.
    headroom: a rule that keeps capacity spare; lifting it is a choice of risk, not of money.
    """

    limit: str
    what: str
    unit: str
    value: float
    free: float
    step: float
    at: Callable[[Case, float], Case]
    words: Callable[[float], str]
    used: Callable[[Case, Decision], float] | None = None
    bites: tuple[float, ...] = ()
    lumpy: bool = False
    fine: float = 1.0
    base: float | None = None
    shown_per_value: float = 1.0
    headroom: bool = False
    pool: str | None = None
    site: str | None = None
    hours_over: Callable[[Case, Decision], dict[str, set[int]]] | None = None

    @property
    def start(self) -> float:
        """The value that holds in effect."""
        return self.value if self.base is None else self.base

    def looser(self, amount: float) -> float:
        """The value that is looser by so much, never past `free`."""
        if self.free > self.value:
            return min(self.value + amount, self.free)
        return max(self.value - amount, self.free)

    def shown(self, value: float) -> float:
        """How far a value is from the present one, in `unit`."""
        return round(abs(value - self.value) * self.shown_per_value, _SHOWN_DIGITS)

    def binds(self, case: Case, decision: Decision) -> bool:
        """True where a plan could not take another node, or unit, of it; always where what it takes does not say."""
        if self.used is None or self.lumpy:
            return True
        return self.used(case, decision) + max(self.bites, default=self.step) > self.value * (1 + 1e-9)

    def same(self, value: float) -> bool:
        """True where nodes of one size only take of it, and as many fit at `value` as now: no plan is gained or lost."""
        if len(self.bites) != 1 or self.fine >= 1:
            return False
        return floor_hedged(value / self.bites[0]) == floor_hedged(self.value / self.bites[0])

    def next_values(self, case: Case, decision: Decision) -> tuple[float, ...]:
        """Looser values worth a look: by one natural unit, and those that let one node more in, by its size."""
        values = [self.looser(self.step)]
        if self.used is not None:
            taken = self.used(case, decision)
            values += [value for bite in self.bites if (value := taken + bite) > values[0] * (1 + 1e-9)]
        return tuple(dict.fromkeys(values))


_Row = TypeVar("_Row")


def changed(rows: tuple[_Row, ...], wanted: Callable[[_Row], bool], **fields: Any) -> tuple[_Row, ...]:
    """The rows with some fields changed in those that are wanted."""
    return tuple(row.model_copy(update=fields) if wanted(row) else row for row in rows)  # type: ignore[attr-defined]


def machine_limits(case: Case, candidates: Candidates) -> Iterator[Limit]:
    """Sites, then offers that nothing but their cap keeps out, then APIs that some workload may use."""
    out = {row.offer for row in candidates.rejections if row.offer and row.code != RejectionCode.NO_WHOLE_LOT}
    for site in case.sites:
        offers = [offer for offer in case.offers if offer.site == site.site and offer.is_held]
        if offers:
            yield from _site_limits(case, site, offers)
    for offer in case.offers:
        if offer.max_nodes is not None and offer.offer not in out:
            yield _offer_limit(offer)
    for api in case.api_prices:
        if any(api.api in workload.api for workload in case.workloads):
            yield from _api_limits(api)


def kw_per_node(case: Case, site: Site, node_type: str) -> float:
    """Facility power of one node, kW."""
    return (case.node_type(node_type).node_kw or 0.0) * (1.0 if site.pue is None else site.pue)


def _held(case: Case, decision: Decision, site: str) -> dict[str, int]:
    """Nodes held at a site, by node type."""
    nodes: dict[str, int] = defaultdict(int)
    for row in decision.nodes_new:
        offer = case.offer(row.offer)
        if offer.site == site:
            nodes[offer.node_type] += row.nodes_new + row.nodes_existing
    return nodes


def _site_limits(case: Case, site: Site, offers: list[Offer]) -> Iterator[Limit]:
    name = site.site
    types = {offer.node_type for offer in offers}

    def setting(field: str) -> Callable[[Case, float], Case]:
        def at(given: Case, value: float) -> Case:
            new: float | int | None = None if math.isinf(value) else value
            if field in {"racks", "slots_per_rack"} and new is not None:
                new = round(new)
            return given.model_copy(update={"sites": changed(given.sites, lambda row: row.site == name, **{field: new})})

        return at

    if site.total_kw is not None:
        now_kw = site.total_kw
        yield Limit(
            limit="total_kw", what=f"site {name}", unit="kW", value=now_kw, free=math.inf, step=1.0, fine=0.1, site=name,
            bites=tuple(sorted({kw_per_node(case, site, node_type) for node_type in types})), at=setting("total_kw"),
            used=lambda given, plan: sum(
                count * kw_per_node(given, given.site(name), node_type) for node_type, count in _held(given, plan, name).items()
            ),
            words=lambda value: f"+{number(value - now_kw)} kW at site {name}",
        )
    if site.racks is not None:
        now_racks = site.racks
        yield Limit(
            limit="racks", what=f"site {name}", unit="racks", value=float(now_racks), free=math.inf, step=1.0, site=name,
            at=setting("racks"), used=lambda given, plan: float(_racks(given, plan, name)),
            words=lambda value: f"+{number(value - now_racks)} rack{'s' if value - now_racks != 1 else ''} at site {name}",
        )
    sizes_kw = [kw for node_type in types if (kw := case.node_type(node_type).node_kw)]
    if site.kw_per_rack is not None and sizes_kw:
        now_rack_kw = site.kw_per_rack
        most_kw = (site.slots_per_rack or _NODES_IN_ANY_RACK) * max(sizes_kw)
        if most_kw > now_rack_kw:
            yield Limit(
                limit="kw_per_rack", what=f"site {name}", unit="kW per rack", value=now_rack_kw, free=most_kw,
                step=min((floor_hedged(now_rack_kw / kw) + 1) * kw - now_rack_kw for kw in sizes_kw), fine=0.1, site=name,
                at=setting("kw_per_rack"),
                words=lambda value: f"{number(value)} kW per rack at site {name} instead of {number(now_rack_kw)}",
            )
    if site.slots_per_rack is not None:
        now_slots = site.slots_per_rack
        yield Limit(
            limit="slots_per_rack", what=f"site {name}", unit="nodes per rack", value=float(now_slots),
            free=float(max(_NODES_IN_ANY_RACK, now_slots + 1)), step=1.0, site=name, at=setting("slots_per_rack"),
            words=lambda value: f"{number(value)} nodes per rack at site {name} instead of {now_slots}",
        )


def _racks(case: Case, decision: Decision, site: str) -> int:
    """Racks that the nodes held take; a type without a limit per rack takes none away."""
    racks = 0
    for node_type, count in _held(case, decision, site).items():
        per_rack = nodes_per_rack(case.site(site), case.node_type(node_type))
        if per_rack:
            racks += -(-count // per_rack)
    return racks


def _offer_limit(offer: Offer) -> Limit:
    name, now = offer.offer, offer.max_nodes or 0
    lot = max(1, offer.lot_nodes) if offer.is_held else 1
    base = now // lot * lot
    least = -(-max(offer.min_nodes, 1) // lot) * lot if offer.is_held else 1

    def at(given: Case, value: float) -> Case:
        cap = None if math.isinf(value) else round(value)
        return given.model_copy(update={"offers": changed(given.offers, lambda row: row.offer == name, max_nodes=cap)})

    def used(_: Case, decision: Decision) -> float:
        if offer.is_held:
            return float(sum(row.nodes_new for row in decision.nodes_new if row.offer == name))
        return float(max((row.used for row in decision.node_uses if row.offer == name), default=0))

    return Limit(
        limit="max_nodes", what=f"offer {name}", unit="nodes", value=float(now), free=math.inf,
        step=float(max(base + lot, least) - now), bites=(float(lot),), fine=float(lot), base=float(base), site=offer.site, at=at,
        used=used,
        words=lambda value: f"+{number(value - now)} node{'s' if value - now != 1 else ''} of offer {name}",
        hours_over=None if offer.is_held else lambda _, decision: _hours_above(name, now, decision),
    )


def _hours_above(offer: str, nodes: int, decision: Decision) -> dict[str, set[int]]:
    hours: dict[str, set[int]] = defaultdict(set)
    for row in decision.node_uses:
        if row.offer == offer and row.used > nodes:
            hours[row.day_type].add(row.hour)
    return hours


_API_LIMITS = {
    "max_output_tps": ("output tok/s", lambda ratio, _: 1.0),
    "max_input_tps": ("input tok/s", lambda ratio, _: ratio),
    "max_total_tps": ("tok/s in all", lambda ratio, _: 1.0 + ratio),
    "max_rpm": ("requests per minute", lambda _, output: SECONDS_PER_MINUTE / output if output else 0.0),
}


def _api_limits(api: ApiPrice) -> Iterator[Limit]:
    name = api.api
    for field, (unit, taken) in _API_LIMITS.items():
        value: float | None = getattr(api, field)
        if value is None:
            continue

        def at(given: Case, new: float, field: str = field) -> Case:
            rows = changed(given.api_prices, lambda row: row.api == name, **{field: None if math.isinf(new) else new})
            return given.model_copy(update={"api_prices": rows})

        def by_hour(
            given: Case, decision: Decision, taken: Callable[[float, float | None], float] = taken
        ) -> dict[tuple[str, int], float]:
            flows: dict[tuple[str, int], float] = defaultdict(float)
            for row in decision.overflows:
                if row.api == name:
                    workload = given.workload(row.workload)
                    ratio = workload.input_per_output(row.day_type, row.hour) or 0.0
                    flows[row.day_type, row.hour] += row.tps * taken(ratio, workload.output_tokens)
            return flows

        def used(given: Case, decision: Decision, flows: Callable[..., dict[tuple[str, int], float]] = by_hour) -> float:
            return max(flows(given, decision).values(), default=0.0)

        def hours_over(
            given: Case, decision: Decision, flows: Callable[..., dict[tuple[str, int], float]] = by_hour, now: float = value
        ) -> dict[str, set[int]]:
            hours: dict[str, set[int]] = defaultdict(set)
            for (day_type, hour), flow in flows(given, decision).items():
                if flow > now * (1 + 1e-6):
                    hours[day_type].add(hour)
            return hours

        yield Limit(
            limit=field, what=f"API {name}", unit=unit, value=value, free=math.inf, step=max(1.0, value / 100),
            fine=max(1.0, value / 1000), at=at, used=used, hours_over=hours_over,
            words=lambda new, now=value, unit=unit: f"+{number(new - now)} {unit} at API {name}",  # type: ignore[misc]
        )
