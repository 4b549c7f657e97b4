"""Discounts: a commitment in $/h that pays for used nodes at lower rates and adds no capacity."""

from __future__ import annotations

from optimizer.domain.market import Offer
from optimizer.milp.frame import Frame
from optimizer.milp.program import Term
from optimizer.units import HOURS_PER_DAY


def add_discounts(frame: Frame) -> None:
    """Commitments in $/h: covered nodes pay the discounted price out of the commitment instead of the use price.

    sum over offers of discounted price x covered <= commitment in every hour; the commitment is paid in every hour, used or not.
    Covered nodes may be fractional (providers apply commitments to part of an hour). Source: INPUTS Discounts, science.md 1.2.
    """
    prep, program = frame.prep, frame.program
    offers = {offer.offer: offer for offer in prep.offers}
    covered_of: dict[tuple[str, int], list[Term]] = {}
    for name in dict.fromkeys(row.discount for row in prep.case.discounts):
        rows = [row for row in prep.case.discounts if row.discount == name and row.offer in offers]
        if not rows:
            continue
        stated = [row for row in prep.case.discounts if row.discount == name]
        limits = [row.max_commit_usd_per_h for row in stated if row.max_commit_usd_per_h is not None]
        commitment = program.add_variable(("commitment", name), up=min(limits) if limits else None)
        program.add_cost(float(HOURS_PER_DAY), commitment)
        least = max(row.min_commit_usd_per_h for row in stated)
        if least > 0:
            most = min(limits) if limits else _most_spend(frame, [offers[row.offer] for row in rows])
            taken = program.add_variable(("commitment_taken", name), up=1, integer=True)
            program.add_row(("commitment_least", name), [(1.0, commitment), (-least, taken)], ">=", 0.0)
            program.add_row(("commitment_if", name), [(1.0, commitment), (-max(most, least), taken)], "<=", 0.0)
        for t in range(len(prep.groups)):
            spent: list[Term] = []
            for row in rows:
                used = program.variables.get(("used", row.offer, t))
                if used is None:
                    continue
                covered = program.add_variable(("covered", name, row.offer, t))
                covered_of.setdefault((row.offer, t), []).append((1.0, covered))
                spent.append((row.discounted_usd_per_node_h, covered))
                offer = offers[row.offer]
                price = offer.used_usd_per_node_h / offer.effective_frac
                program.add_cost(-price * prep.groups[t].weight, covered)
            program.add_row(("commitment_hour", name, t), [*spent, (-1.0, commitment)], "<=", 0.0)
    for (name, t), terms in covered_of.items():
        program.add_row(("covered_used", name, t), [*terms, (-1.0, program.variables[("used", name, t)])], "<=", 0.0)


def _most_spend(frame: Frame, offers: list[Offer]) -> float:
    """More than any hour could spend at list price on these offers, $/h."""
    return sum(
        offer.used_usd_per_node_h / offer.effective_frac * max(
            (frame.program.variables[("used", offer.offer, t)].upBound or 0.0)
            for t in range(len(frame.prep.groups)) if ("used", offer.offer, t) in frame.program.variables
        )
        for offer in offers
        if any(("used", offer.offer, t) in frame.program.variables for t in range(len(frame.prep.groups)))
    )
