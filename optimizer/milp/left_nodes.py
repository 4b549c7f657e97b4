"""What is left of the nodes after a bad day has taken on-demand nodes or a zone; replicas given out anew must fit on it."""

from __future__ import annotations

from optimizer.domain.market import Offer
from optimizer.milp.frame import Frame
from optimizer.milp.program import Term
from optimizer.units import ROUNDING_HEDGE


def add_left_nodes(frame: Frame) -> None:
    """After on-demand nodes or a zone are lost: what is given out anew fits on held nodes (idle ones too) and what is left of the
    on-demand nodes planned; spot nodes likewise outside the zone."""
    prep, program = frame.prep, frame.program
    for key, need in frame.anew_firm.items():
        _, zone, node_type, t, obtainable = key
        offers = [offer for offer in prep.firm_offers(node_type) if offer.place != zone]
        terms, constant = _left(frame, offers, t, obtainable)
        capacity = float(prep.capacity_units(node_type))
        program.add_row(("anew_firm", *key), [*need, *((-capacity * c, v) for c, v in terms)], "<=", capacity * constant)
    for key, need in frame.anew_place.items():
        _, zone, node_type, t, obtainable, place = key
        offers = [offer for offer in prep.firm_offers(node_type) if offer.place == place]
        terms, constant = ([], 0.0) if place == zone else _left(frame, offers, t, obtainable)
        program.add_row(("anew_place", *key), [*need, *((-c, v) for c, v in terms)], "<=", constant)
    for key, need in frame.anew_spot.items():
        _, zone, node_type, t = key
        capacity = float(prep.capacity_units(node_type))
        terms = [
            term for offer in prep.spot_offers(node_type) if offer.place != zone for term in frame.spot_nodes(offer, t)
        ]
        program.add_row(("anew_spot", *key), [*need, *((-capacity * c, v) for c, v in terms)], "<=", 0.0)
    for key, need in frame.anew_spot_place.items():
        _, zone, node_type, t, place = key
        terms = [
            term for offer in prep.spot_offers(node_type) if offer.place == place != zone for term in frame.spot_nodes(offer, t)
        ]
        program.add_row(("anew_spot_place", *key), [*need, *((-c, v) for c, v in terms)], "<=", 0.0)


def _left(frame: Frame, offers: list[Offer], t: int, obtainable_frac: float) -> tuple[list[Term], float]:
    """Nodes left of firm offers where only floor(obtainable_frac x planned) of each on-demand offer can be had."""
    program = frame.program
    terms: list[Term] = []
    constant = 0.0
    for offer in offers:
        if offer.is_held:
            held, existing = frame.held_nodes(offer, t)
            terms += held
            constant += existing
            continue
        used, _ = frame.firm_nodes(offer, t)
        if obtainable_frac >= 1 or not used:
            terms += used
            continue
        key = ("obtained", offer.offer, obtainable_frac, t)
        left = program.variables.get(key)
        if left is None:
            left = program.add_variable(key, integer=True)
            share = obtainable_frac * (1 + ROUNDING_HEDGE)
            program.add_row(("obtained_most", *key[1:]), [(1.0, left), *((-share * c, v) for c, v in used)], "<=", ROUNDING_HEDGE)
        terms.append((1.0, left))
    return terms, constant
