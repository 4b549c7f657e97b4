"""The frame every program has: what is held, what is used each hour, what overflows to APIs, racks and power; and its money.

Variables: lots[f] whole lots bought of held offers; bought[f] 0/1 where a minimum exists; used[f,t] whole nodes used of on-demand
and spot offers, and of held offers that cost something when used; overflow[w,a,t] tok/s; racks[site,n] whole racks.
Costs are $ per average day; t runs over slice groups, whose weight is in hours per average day.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from optimizer.candidates.offers import nodes_per_rack
from optimizer.candidates.option import Option
from optimizer.domain.hardware import Site
from optimizer.domain.market import Offer
from optimizer.milp.bounds import nodes_bound
from optimizer.milp.prep import Prep
from optimizer.milp.program import Key, Program, Term
from optimizer.plan.ledger import node_rates

Place = tuple[str, str]


@dataclass
class Frame:
    """A program with its frame; pools post what they need into `firm`, `any_` and `spot` by (node type, t), in units.

    place_firm, place_spot: needs of replicas that span nodes, by (node type, t, place), in whole nodes.
    anew_firm, anew_spot, anew_place: the same after a bad day has taken on-demand nodes or a zone, by (contingency, zone lost,
    node type, t, share of on-demand left), and place.
    """

    prep: Prep
    program: Program
    firm: dict[tuple[str, int], list[Term]] = field(default_factory=dict)
    any_: dict[tuple[str, int], list[Term]] = field(default_factory=dict)
    spot: dict[tuple[str, int], list[Term]] = field(default_factory=dict)
    place_firm: dict[Key, list[Term]] = field(default_factory=dict)
    place_spot: dict[Key, list[Term]] = field(default_factory=dict)
    anew_firm: dict[Key, list[Term]] = field(default_factory=dict)
    anew_spot: dict[Key, list[Term]] = field(default_factory=dict)
    anew_place: dict[Key, list[Term]] = field(default_factory=dict)
    anew_spot_place: dict[Key, list[Term]] = field(default_factory=dict)

    def zones(self) -> tuple[Place | None, ...]:
        """Every place that a zone contingency may take: sites, else provider and region."""
        return tuple(dict.fromkeys(offer.place for offer in self.prep.offers)) or (None,)

    def split_over_places(
        self, key: Key, option: Option, replicas: Any, offers: tuple[Offer, ...], posts: dict[Key, list[Term]], prefix: Key
    ) -> None:
        """A replica larger than a node takes all its nodes from one place: split `replicas` over the places of these offers.

        Posts whole nodes under (*prefix, place). Nothing to do where the option fits a node, or where there is one place only:
        then the node row of the type says it all.
        """
        places = tuple(dict.fromkeys(offer.place for offer in offers))
        if not option.spans_nodes or len(places) <= 1:
            return
        parts: list[Term] = []
        for place in places:
            part = self.program.add_variable((*key, "at", place), integer=True)
            parts.append((1.0, part))
            posts.setdefault((*prefix, place), []).append((float(option.nodes_per_replica), part))
        self.program.add_row((*key, "at all"), [*parts, (-1.0, replicas)], "==", 0.0)

    def firm_nodes(self, offer: Offer, t: int) -> tuple[list[Term], float]:
        """Nodes of that firm offer usable in slice t: terms and a constant (existing nodes)."""
        if self.prep.groups[t].hour not in offer.hours:
            return [], 0.0
        if not offer.is_held or use_costs(self.prep, offer):
            return [(1.0, self.program.variables[("used", offer.offer, t)])], 0.0
        return self.held_nodes(offer, t)

    def held_nodes(self, offer: Offer, t: int) -> tuple[list[Term], float]:
        """Nodes held of that offer in slice t, idle ones too: terms and a constant (existing nodes)."""
        if self.prep.groups[t].hour not in offer.hours:
            return [], 0.0
        existing = float(self.prep.case.nodes_existing(offer.offer))
        return [(float(offer.lot_nodes), self.program.variables[("lots", offer.offer)])], existing

    def spot_nodes(self, offer: Offer, t: int) -> list[Term]:
        """Nodes of that spot offer used in slice t."""
        if self.prep.groups[t].hour not in offer.hours:
            return []
        return [(1.0, self.program.variables[("used", offer.offer, t)])]


def use_costs(prep: Prep, offer: Offer) -> bool:
    """True where using a node costs something, so that the nodes used must be decided hour by hour."""
    return node_rates(prep.case, offer).using_per_h > 0


def build_frame(prep: Prep, *, holding: bool = True) -> Frame:
    """Variables and money of offers and APIs; the rows that join them to the pools come with `close_frame`.

    holding False leaves out what holding costs and the minimums: an hour on its own, whose commitments are priced elsewhere.
    """
    program = Program("fleetsheet")
    frame = Frame(prep, program)
    bound = {row.node_type: nodes_bound(prep, row.node_type) for row in prep.node_types}
    for offer in prep.offers:
        if offer.is_held:
            add_held(frame, offer, bound[offer.node_type], holding=holding)
        else:
            _add_elastic(frame, offer, bound[offer.node_type])
    add_overflow(frame)
    return frame


def add_held(frame: Frame, offer: Offer, bound: int, *, holding: bool) -> None:
    """Lots of one held offer, its minimum, and its hourly use where that costs. bound: nodes that no hour needs more of."""
    program, prep = frame.program, frame.prep
    existing = prep.case.nodes_existing(offer.offer)
    useful = max(bound, offer.min_nodes)
    most = -(-useful // offer.lot_nodes)
    if offer.max_nodes is not None:
        most = min(most, offer.max_nodes // offer.lot_nodes)
    lots = program.add_variable(("lots", offer.offer), up=most, integer=True)
    if holding:
        usd_per_day = node_rates(prep.case, offer).holding_per_day
        program.add_cost(usd_per_day * offer.lot_nodes, lots)
        program.add_constant_cost(usd_per_day * existing)
    if holding and offer.min_nodes > 0:
        bought = program.add_variable(("bought", offer.offer), up=1, integer=True)
        least = -(-offer.min_nodes // offer.lot_nodes)
        program.add_row(("at_least", offer.offer), [(1.0, lots), (-float(least), bought)], ">=", 0.0)
        program.add_row(("bought_if", offer.offer), [(1.0, lots), (-float(most), bought)], "<=", 0.0)
    if not use_costs(prep, offer):
        return
    for t, group in enumerate(prep.groups):
        if group.hour in offer.hours:
            used = program.add_variable(("used", offer.offer, t), up=most * offer.lot_nodes + existing, integer=True)
            program.add_cost(node_rates(prep.case, offer).using_per_h * group.weight, used)
            program.add_row(("used_held", offer.offer, t), [(1.0, used), (-float(offer.lot_nodes), lots)], "<=", float(existing))


def _add_elastic(frame: Frame, offer: Offer, bound: int) -> None:
    # Where only a share of on-demand nodes can be had on a bad day, more may be planned than the hour needs.
    shares = [row.on_demand_obtainable_frac for row in frame.prep.case.contingencies if 0 < row.on_demand_obtainable_frac < 1]
    if offer.purchase == "on_demand" and shares:
        bound = int(bound / min(shares)) + 1
    most = bound if offer.max_nodes is None else min(bound, offer.max_nodes)
    for t, group in enumerate(frame.prep.groups):
        if group.hour in offer.hours:
            used = frame.program.add_variable(("used", offer.offer, t), up=most, integer=True)
            frame.program.add_cost(node_rates(frame.prep.case, offer).using_per_h * group.weight, used)


def add_overflow(frame: Frame) -> None:
    """overflow[w,a,t] <= api_max_frac x demand in sum, and the API's stated limits over all workloads."""
    program, prep = frame.program, frame.prep
    for t, group in enumerate(prep.groups):
        by_api: dict[str, list[tuple[Any, float, float]]] = {}
        for pool in prep.pools:
            piece = pool.slices[t]
            for w, workload in enumerate(pool.workloads):
                terms: list[Term] = []
                for api in piece.apis[w]:
                    most = piece.overflow_max_tps[w]
                    flow = program.add_variable(("overflow", workload.workload, api.api, t), up=most)
                    program.add_cost(api.usd_per_h_per_tps * group.weight, flow)
                    terms.append((1.0, flow))
                    by_api.setdefault(api.api, []).append((flow, api.input_per_output, api.rpm_per_tps))
                if len(terms) > 1:
                    program.add_row(("overflow_max", workload.workload, t), terms, "<=", piece.overflow_max_tps[w])
        for name, flows in by_api.items():
            for limit, coefficients in api_limits(prep, name, [(ratio, rpm) for _, ratio, rpm in flows]).items():
                terms = [(coefficient, flow) for coefficient, (flow, _, _) in zip(coefficients[0], flows, strict=True)]
                program.add_row((f"api_{limit}", name, t), terms, "<=", coefficients[1])


def api_limits(prep: Prep, api: str, flows: list[tuple[float, float]]) -> dict[str, tuple[list[float], float]]:
    """Stated limits of an API: name -> (coefficient per flow, limit); a flow is (input per output, requests/min per tok/s)."""
    row = prep.case.api(api)
    limits: dict[str, tuple[list[float], float]] = {}
    if row.max_output_tps is not None:
        limits["output"] = ([1.0 for _ in flows], row.max_output_tps)
    if row.max_input_tps is not None:
        limits["input"] = ([ratio for ratio, _ in flows], row.max_input_tps)
    if row.max_total_tps is not None:
        limits["total"] = ([1.0 + ratio for ratio, _ in flows], row.max_total_tps)
    if row.max_rpm is not None:
        limits["rpm"] = ([rpm for _, rpm in flows], row.max_rpm)
    return limits


def close_frame(frame: Frame) -> None:
    """Join needs to supply (rows F, T, P of solver.md section 2, and places), and add racks and power."""
    prep, program = frame.prep, frame.program
    for row in prep.node_types:
        node_type = row.node_type
        capacity = float(prep.capacity_units(node_type))
        for t in range(len(prep.groups)):
            firm_need = frame.firm.get((node_type, t), [])
            any_need = frame.any_.get((node_type, t), [])
            spot_need = frame.spot.get((node_type, t), [])
            firm_terms: list[Term] = []
            firm_constant = 0.0
            for offer in prep.firm_offers(node_type):
                terms, constant = frame.firm_nodes(offer, t)
                firm_terms += [(-capacity * coefficient, variable) for coefficient, variable in terms]
                firm_constant += capacity * constant
            spot_terms = [
                (-capacity * coefficient, variable)
                for offer in prep.spot_offers(node_type)
                for coefficient, variable in frame.spot_nodes(offer, t)
            ]
            firm_constant -= capacity * prep.fixed_nodes(node_type)
            if firm_need or firm_constant < 0:
                program.add_row(("firm_nodes", node_type, t), firm_need + firm_terms, "<=", firm_constant)
            if spot_need:
                program.add_row(("spot_nodes", node_type, t), spot_need + spot_terms, "<=", 0.0)
            if any_need:
                every = firm_need + any_need + spot_need + firm_terms + spot_terms
                program.add_row(("all_nodes", node_type, t), every, "<=", firm_constant)
    for (node_type, t, place), need in frame.place_firm.items():
        supply: list[Term] = []
        constant = 0.0
        for offer in prep.firm_offers(node_type):
            if offer.place == place:
                terms, held = frame.firm_nodes(offer, t)
                supply += [(-coefficient, variable) for coefficient, variable in terms]
                constant += held
        program.add_row(("place_firm", node_type, place, t), need + supply, "<=", constant)
    for (node_type, t, place), need in frame.place_spot.items():
        supply = [
            (-coefficient, variable)
            for offer in prep.spot_offers(node_type)
            if offer.place == place
            for coefficient, variable in frame.spot_nodes(offer, t)
        ]
        program.add_row(("place_spot", node_type, place, t), need + supply, "<=", 0.0)
    add_sites(frame)


def add_sites(frame: Frame) -> None:
    """Racks and power of every site."""
    for site in frame.prep.case.sites:
        _add_site(frame, site)


def _add_site(frame: Frame, site: Site) -> None:
    """Racks hold one node type each; total_kw bounds the facility power of all nodes held."""
    program, prep = frame.program, frame.prep
    held = [offer for offer in prep.offers if offer.site == site.site and offer.is_held]
    if not held:
        return
    rack_terms: list[Term] = []
    for node_type in dict.fromkeys(offer.node_type for offer in held):
        per_rack = nodes_per_rack(site, prep.case.node_type(node_type))
        nodes, existing = _held_nodes(frame, [offer for offer in held if offer.node_type == node_type])
        if per_rack == 0:
            program.add_row(("no_rack", site.site, node_type), nodes, "<=", -existing)
            continue
        if site.racks is None or per_rack is None:
            continue
        racks = program.add_variable(("racks", site.site, node_type), up=site.racks, integer=True)
        program.add_row(("rack_slots", site.site, node_type), [*nodes, (-float(per_rack), racks)], "<=", -existing)
        rack_terms.append((1.0, racks))
    if rack_terms and site.racks is not None:
        program.add_row(("racks", site.site), rack_terms, "<=", float(site.racks))
    if site.total_kw is not None:
        power: list[Term] = []
        taken = 0.0
        for offer in held:
            nodes, existing = _held_nodes(frame, [offer])
            kw = (prep.case.node_type(offer.node_type).node_kw or 0.0) * (site.pue or 1.0)
            power += [(coefficient * kw, variable) for coefficient, variable in nodes]
            taken += existing * kw
        program.add_row(("site_kw", site.site), power, "<=", site.total_kw - taken)


def _held_nodes(frame: Frame, offers: list[Offer]) -> tuple[list[Term], float]:
    terms = [(float(offer.lot_nodes), frame.program.variables[("lots", offer.offer)]) for offer in offers]
    return terms, float(sum(frame.prep.case.nodes_existing(offer.offer) for offer in offers))
