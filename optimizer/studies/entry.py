"""At which price an offer or a GPU generation that the plan leaves out would join it, by true re-solves, else by LP price.

A plan that uses the offers in question costs rest + f x paid, where paid is what they cost at list price and f scales it. The
highest f at which such a plan costs no more than the best one without is the largest (cost - rest) / paid over all plans. It is
found from below (Dinkelbach's method): solve at f, and go on with the ratio of the plan found until nothing improves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from optimizer.candidates.option import Candidates
from optimizer.domain.base import Frozen
from optimizer.domain.case import Case
from optimizer.domain.market import Offer
from optimizer.plan.ledger import build_ledger, node_rates
from optimizer.plan.plan import Decision
from optimizer.studies.limits import changed
from optimizer.studies.lp import EXACT_SHARE, LP_PRICE, LpPrices
from optimizer.studies.resolve import Clock, Reference, resolve

_ROUNDS = 12
_FIRST_FACTOR = 0.5
_SAME_FACTOR = 1e-6
_CLOSE = 0.01
_SCALED_PARTS = frozenset({"held", "used", "upfront"})
_UNKNOWN = frozenset({"not computed: time", "below the proof's tolerance"})


Entry = Literal["re-solved", "LP price", "at least", "at no price", "below the proof's tolerance", "not computed: time"]


class EntryPrice(Frozen):
    """Where an offer, or every offer of a GPU (kind gpu), would join the mix.

    usd_per_node_h: list price now, upfront spread; of a GPU that of its cheapest offer per GPU. factor: share of all list prices
    of it at which it joins, entry_usd_per_node_h = factor x list price; a plan that costs no more than the best is known there.
    most_factor: proven to stay out above this. found: `re-solved` (the two agree to 1 %); `at least` (it joins at factor, and the
    proof does not rule out that it does up to most_factor); `at no price` (proven: only for free, if at all); `LP price` (where
    the relaxation would take it, see `lp`: 0 = at no price, 1 = at list price already; no proof); `below the proof's tolerance`
    (no plan with it was found; above most_factor there is none); `not computed: time`.
    """

    kind: Literal["offer", "gpu"]
    name: str
    gpu: str
    offers: tuple[str, ...]
    usd_per_node_h: float
    factor: float | None = None
    most_factor: float = 1.0
    entry_usd_per_node_h: float | None = None
    found: Entry = "not computed: time"


def list_price(case: Case, offer: Offer) -> float:
    """$/node-hour at list price: of held offers per hour held, upfront spread over the term; of others per hour used."""
    rates = node_rates(case, offer)
    held = (rates.held_per_day + rates.upfront_per_day) / len(offer.hours) if offer.is_held else 0.0
    return held or rates.used_per_h


def entry_prices(
    case: Case, candidates: Candidates, decision: Decision, reference: Reference, clock: Clock, lp: LpPrices | None = None
) -> tuple[EntryPrice, ...]:
    """GPU generations first, then offers, cheapest per GPU first. Only what could be bought: offers of `candidates`."""
    rows = list(_unused(case, candidates, decision))
    prices = LpPrices(case) if lp is None else lp
    exact = clock.at_most(clock.left_s * EXACT_SHARE)
    found = [
        _found(case, candidates, row, reference, exact, len(rows) - place) if not exact.over and not prices.is_hard else row
        for place, row in enumerate(rows)
    ]
    return tuple(_lp_priced(row, prices, clock) if row.found in _UNKNOWN else row for row in found)


def _lp_priced(row: EntryPrice, prices: LpPrices, clock: Clock) -> EntryPrice:
    """The row with its LP price, where re-solves gave no figure."""
    factor = prices.entry_factor(row.offers, clock)
    if factor is None:
        return row
    return row.model_copy(update={
        "factor": factor, "entry_usd_per_node_h": factor * row.usd_per_node_h, "found": LP_PRICE,
    })


def _unused(case: Case, candidates: Candidates, decision: Decision) -> Iterator[EntryPrice]:
    taken = {row.offer for row in decision.nodes_new if row.nodes_new or row.nodes_existing}
    taken |= {row.offer for row in decision.node_uses if row.used}
    free = [row for row in candidates.offers if row.offer not in taken and (row.max_nodes is None or row.max_nodes > 0)]
    gpu_of = {row.node_type: row.gpu for row in case.node_types}
    per_gpu = {row.offer: list_price(case, row) / case.node_type(row.node_type).gpus_per_node for row in free}
    free.sort(key=lambda row: per_gpu[row.offer])
    gpus_taken = {gpu_of[case.offer(name).node_type] for name in taken}
    for gpu in dict.fromkeys(gpu_of[row.node_type] for row in free):
        offers = [row for row in free if gpu_of[row.node_type] == gpu]
        if gpu not in gpus_taken and len(offers) > 1:
            yield EntryPrice(
                kind="gpu", name=gpu, gpu=gpu, offers=tuple(row.offer for row in offers),
                usd_per_node_h=list_price(case, offers[0]),
            )
    for row in free:
        yield EntryPrice(
            kind="offer", name=row.offer, gpu=gpu_of[row.node_type], offers=(row.offer,), usd_per_node_h=list_price(case, row)
        )


def _scaled(case: Case, names: Iterable[str], factor: float) -> Case:
    """The case with all list prices of some offers multiplied."""
    offers = case.offers
    for name in names:
        offer = case.offer(name)
        offers = changed(
            offers, lambda row, name=name: row.offer == name,  # type: ignore[misc]
            held_usd_per_node_h=factor * offer.held_usd_per_node_h, used_usd_per_node_h=factor * offer.used_usd_per_node_h,
            upfront_usd_per_node=factor * offer.upfront_usd_per_node,
        )
    return case.model_copy(update={"offers": offers})


def _split(case: Case, candidates: Candidates, decision: Decision, names: frozenset[str]) -> tuple[float, float]:
    """What a plan pays for these offers at list price, and for everything else, $/day."""
    ledger = build_ledger(case, candidates, decision)
    paid = sum(line.usd_per_day for line in ledger.offers if line.offer in names and line.part in _SCALED_PARTS)
    total = sum(line.usd_per_day for lines in (ledger.offers, ledger.apis, ledger.discounts) for line in lines)
    return paid, total - paid


def _least_paid(case: Case, names: Iterable[str]) -> float:
    """The least that using any of these offers at all costs at list price, $/day; 0 where a discount may cover it."""
    least = []
    for name in names:
        offer = case.offer(name)
        if any(row.offer == name for row in case.discounts):
            return 0.0
        rates = node_rates(case, offer)
        if offer.is_held:
            lot = max(1, offer.lot_nodes)
            nodes = -(-max(offer.min_nodes, 1) // lot) * lot
            least.append(nodes * (rates.held_per_day + rates.upfront_per_day))
        else:
            least.append(rates.used_per_h * min(piece.weight for piece in case.slices))
    return min(least)


def _found(
    case: Case, candidates: Candidates, row: EntryPrice, reference: Reference, clock: Clock, rows_left: int
) -> EntryPrice:
    names, factor, best, most = frozenset(row.offers), _FIRST_FACTOR, None, 1.0
    least_paid, searched = _least_paid(case, names), False
    for _ in range(_ROUNDS):
        if clock.over:
            break
        solved = resolve(
            _scaled(case, names, factor), gap=reference.gap, time_limit_s=clock.share(rows_left), solver=clock.solver
        )
        if solved is None or solved.decision is None:
            break
        if least_paid > 0:
            most = min(most, factor + max(reference.cost - solved.bound, 0.0) / least_paid)
        paid, rest = _split(case, candidates, solved.decision, names)
        ratio = (reference.cost - rest) / paid if paid > 0 else None
        if ratio is not None and ratio >= factor * (1 - _SAME_FACTOR):
            if best is not None and ratio <= best * (1 + _SAME_FACTOR):
                break
            best = factor = min(ratio, 1.0)
            if best >= 1.0:
                break
        elif best is None and factor > 0:
            factor = 0.0
        else:
            searched = True
            break
    if best is None and not searched:
        return row
    if best is None or best <= _SAME_FACTOR:
        found = "at no price" if most <= _SAME_FACTOR else "below the proof's tolerance"
        return row.model_copy(update={"found": found, "most_factor": most})
    most = max(most, best)
    return row.model_copy(update={
        "found": "re-solved" if most <= best * (1 + _CLOSE) else "at least", "factor": best, "most_factor": most,
        "entry_usd_per_node_h": best * row.usd_per_node_h,
    })
