"""Why this mix: one sentence per purchase line, from its numbers. A function of case, candidates and plan; nothing is solved.

Break-even of a held node: the hours of use a day from which holding it is cheaper than the cheapest on-demand offer of its type,
holding cost / (on-demand price - own price of use), with upfront, rent, energy, effective share and windows (science.md 1.4).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import fsum
from typing import Literal

from optimizer.candidates.option import Candidates
from optimizer.domain.base import Frozen
from optimizer.domain.case import Case
from optimizer.domain.market import Offer
from optimizer.plan.ledger import api_usd_per_mtok, node_rates
from optimizer.plan.plan import Plan, Purchase
from optimizer.studies.why_not import quota_words, why_not_fewer, why_not_more
from optimizer.studies.wording import hours_words, money, number, share
from optimizer.units import HOURS_PER_DAY, mtok_per_hour

Key = tuple[str, int]
_LABELS = {"owned": "owned", "reserved": "reserved", "flex": "as flex", "on_demand": "on demand", "spot": "on spot"}


class WhyLine(Frozen):
    """One purchase line with the numbers that explain it; None where a number does not apply.

    kind: held, elastic, api or commitment. name: the offer, API or discount. nodes: held, or at the peak. hours_per_node: hours
    of use of a node in an average day; first_node_hours, last_node_hours: hours in which at least one node, and all of them, are
    used. break_even_hours: hours a day from which holding a node pays (of a held line against `alternative`, an on-demand offer;
    of an elastic line that of holding `alternative` instead). usd_per_mtok: of the line's own tokens; alternative_usd_per_mtok:
    of an API that could serve them, or of an API line that of the fleet. token_share: of all output tokens. hours: when used.
    """

    kind: Literal["held", "elastic", "api", "commitment"]
    name: str
    sentence: str
    nodes: int | None = None
    hours_per_node: float | None = None
    first_node_hours: float | None = None
    last_node_hours: float | None = None
    break_even_hours: float | None = None
    alternative: str | None = None
    usd_per_mtok: float | None = None
    alternative_usd_per_mtok: float | None = None
    token_share: float | None = None
    hours: str = ""


@dataclass(frozen=True)
class _Use:
    """Nodes used of one offer by slice, and the weights of all slices in hours of an average day."""

    nodes: dict[Key, int]
    weights: dict[Key, float]

    def hours_with(self, count: int) -> float:
        """Hours of an average day in which at least so many nodes are used."""
        return fsum(self.weights[key] for key, used in self.nodes.items() if used >= max(count, 1))

    def words(self) -> str:
        """When it is used."""
        hours: dict[str, set[int]] = defaultdict(set)
        for day, hour in self.nodes:
            hours[day].add(hour)
        return hours_words(hours, dict.fromkeys(day for day, _ in self.weights))


@dataclass(frozen=True)
class _View:
    """Look-ups shared by the lines."""

    case: Case
    candidates: Candidates
    plan: Plan
    weights: dict[Key, float]

    def money(self, amount: float) -> str:
        """An amount in the currency of the case."""
        return money(amount, self.case.policy.currency)

    def use(self, offer: str) -> _Use:
        nodes = {(row.day_type, row.hour): row.used for row in self.plan.decision.node_uses if row.offer == offer and row.used}
        return _Use(nodes, self.weights)

    def node_type_mtok(self, node_type: str) -> dict[str, float]:
        """Output tokens served on a node type in an average day, by workload, in millions."""
        pools = {workload.workload: workload.pool for workload in self.case.workloads}
        on_type = {(row.pool, row.option) for row in self.candidates.options if row.node_type == node_type}
        mtok: dict[str, float] = defaultdict(float)
        for load in self.plan.decision.loads:
            if (pools[load.workload], load.option) in on_type:
                tokens = mtok_per_hour(load.firm_tps + load.spot_tps)
                mtok[load.workload] += self.weights[load.day_type, load.hour] * tokens
        return mtok


def why_lines(case: Case, candidates: Candidates, plan: Plan) -> tuple[WhyLine, ...]:
    """A line per purchase, per API used and per commitment, in the order of the buy list."""
    weights = {(piece.day_type, piece.hour): piece.weight for piece in case.slices}
    view = _View(case, candidates, plan, weights)
    held = [_held(view, line) for line in plan.purchases if case.offer(line.offer).is_held]
    elastic = [_elastic(view, line) for line in plan.purchases if not case.offer(line.offer).is_held]
    apis = [_api(view, api) for api in dict.fromkeys(row.api for row in plan.ledger.apis)]
    return (*held, *elastic, *apis, *_commitments(view))


def _label(line: Purchase, nodes: int, up_to: str = "") -> str:
    kind = _LABELS[line.purchase]
    if line.nodes_existing:
        kind += " already" if not line.nodes_new else f" ({number(line.nodes_new)} new)"
    return f"{line.offer}: {up_to}{number(nodes)} {line.gpu} node{'' if nodes == 1 else 's'} {kind}"


def _cheapest_on_demand(view: _View, offer: Offer, use: _Use) -> tuple[Offer, float, float] | None:
    """The on-demand offer of the type that would carry the line's hours at least cost: offer, $/node-hour, share of its hours.

    Only offers open in some of the hours in which the line is used (any hour where it is not used at all).
    """
    hours = {key: nodes * use.weights[key] for key, nodes in use.nodes.items()} or dict(use.weights)
    total = fsum(hours.values())
    best: tuple[Offer, float, float] | None = None
    for other in view.candidates.offers:
        if other.node_type != offer.node_type or other.purchase != "on_demand":
            continue
        covered = fsum(weight for key, weight in hours.items() if key[1] in other.hours) / total
        usd = node_rates(view.case, other).using_per_h
        if covered > 0 and (best is None or (-covered, usd) < (-best[2], best[1])):
            best = (other, usd, covered)
    return best


def _held(view: _View, line: Purchase) -> WhyLine:
    offer = view.case.offer(line.offer)
    nodes, use = line.nodes_new + line.nodes_existing, view.use(line.offer)
    hours = line.node_hours_used_per_day / nodes
    last = use.hours_with(nodes)
    fields: dict[str, object] = {"nodes": nodes, "hours_per_node": hours, "first_node_hours": use.hours_with(1)}
    sentence = f"{_label(line, nodes)}: used {number(round(hours, 2))} h a day"
    if nodes > 1:
        sentence += " each"
    if last < hours * (1 - 1e-9):
        sentence += f" (the last one {number(round(last, 2))} h)"
    rates = node_rates(view.case, offer)
    alternative = _cheapest_on_demand(view, offer, use)
    if alternative is not None:
        other, usd, covered = alternative
        fields |= {"alternative": other.offer}
        where = "" if covered > 1 - 1e-9 else f", which is open in {share(covered)} of its hours"
        dearer = usd - rates.using_per_h
        if dearer <= 0:
            sentence += f"; on demand from {other.offer} would cost less per hour of use{where}"
        else:
            even = rates.holding_per_day / dearer
            fields |= {"break_even_hours": even}
            sentence += f", break-even {number(round(even, 2))} h against {other.offer}{where}"
            if even > HOURS_PER_DAY:
                sentence += " (more than a day has)"
            if line.nodes_new and last < even * (1 - 1e-9):
                sentence += f"; {why_not_fewer(view.case, view.candidates, view.plan.decision, offer, other)}"
    else:
        sentence += _against_api(view, line, fields)
    if quota := quota_words(view.case, line.node_type):
        sentence += f"; {quota}"
    fields |= {"last_node_hours": last, "hours": use.words()}
    return WhyLine(kind="held", name=line.offer, sentence=f"{sentence}.", **fields)  # type: ignore[arg-type]


def _against_api(view: _View, line: Purchase, fields: dict[str, object]) -> str:
    """What a held line's tokens cost beside an API, where nothing sells the node type on demand.

    Tokens served on the node type belong to its offers in proportion to their node-hours.
    """
    mtok = view.node_type_mtok(line.node_type)
    on_type = fsum(row.node_hours_used_per_day for row in view.plan.purchases if row.node_type == line.node_type)
    total = fsum(mtok.values())
    own_mtok = total * line.node_hours_used_per_day / on_type if on_type > 0 else 0.0
    if own_mtok <= 0:
        return f"; nothing sells {line.node_type} on demand, and it serves no tokens in the plan"
    own = line.usd_per_day / own_mtok
    fields |= {"usd_per_mtok": own}
    prices = [(price, mtok[name]) for name in mtok if (price := _api_price(view, name)) is not None]
    served = fsum(weight for _, weight in prices)
    if served <= 0:
        return f"; {view.money(own)}/M tokens, and neither an on-demand offer of {line.node_type} nor an API could serve them"
    api = fsum(price * weight for price, weight in prices) / served
    fields |= {"alternative_usd_per_mtok": api}
    part = "" if served > total * (1 - 1e-9) else f" for {share(served / total)} of them"
    return f"; nothing sells {line.node_type} on demand, {view.money(own)}/M tokens against {view.money(api)} at an API{part}"


def _api_price(view: _View, name: str) -> float | None:
    """Cheapest listed API of a workload, $/M output tokens in the mean over its demand; None where it may use none."""
    workload = view.case.workload(name)
    if not workload.api or workload.api_max_frac <= 0:
        return None
    prices = []
    for api in workload.api:
        terms = view.case.api(api)
        demand = [(key, weight * workload.demand_on(key[0]).output_tps[key[1]]) for key, weight in view.weights.items()]
        tokens = fsum(tps for key, tps in demand if key[1] in terms.hours)
        if tokens > 0:
            usd = fsum(tps * api_usd_per_mtok(terms, workload, *key) for key, tps in demand if key[1] in terms.hours and tps > 0)
            prices.append(usd / tokens)
    return min(prices, default=None)


def _can_hold(view: _View, offer: Offer) -> bool:
    return any(
        other.is_held and other.node_type == offer.node_type and (other.max_nodes is None or other.max_nodes > 0)
        for other in view.candidates.offers
    )


def _cheapest_to_hold(view: _View, offer: Offer) -> tuple[Offer, float] | None:
    """The held offer of the type from whose break-even on holding a node would be cheaper: offer and hours a day."""
    price = node_rates(view.case, offer).using_per_h
    found: list[tuple[float, Offer]] = []
    for other in view.candidates.offers:
        if other.node_type == offer.node_type and other.is_held and (other.max_nodes is None or other.max_nodes > 0):
            rates = node_rates(view.case, other)
            if price > rates.using_per_h:
                found.append((rates.holding_per_day / (price - rates.using_per_h), other))
    if not found:
        return None
    even, other = min(found, key=lambda item: item[0])
    return other, even


def _elastic(view: _View, line: Purchase) -> WhyLine:
    offer, use = view.case.offer(line.offer), view.use(line.offer)
    first = use.hours_with(1)
    per_node = line.node_hours_used_per_day / line.peak_nodes_used if line.peak_nodes_used else 0.0
    node_hours, when = number(round(line.node_hours_used_per_day, 2)), use.words()
    unit = "node-hour" if node_hours == "1" else "node-hours"
    sentence = f"{_label(line, line.peak_nodes_used, 'up to ')}, {when}: {node_hours} {unit} a day"
    if line.peak_nodes_used > 1:
        sentence += f", its first node {number(round(first, 2))} h"
    fields: dict[str, object] = {
        "nodes": line.peak_nodes_used, "hours_per_node": per_node, "first_node_hours": first,
        "last_node_hours": use.hours_with(line.peak_nodes_used), "hours": when,
    }
    held = _cheapest_to_hold(view, offer)
    if held is None:
        sentence += "; holding a node instead would cost more at any use" if _can_hold(view, offer) else "; none can be held"
    else:
        other, even = held
        fields |= {"alternative": other.offer, "break_even_hours": even}
        never = " (more than a day has)" if even > HOURS_PER_DAY else ""
        sentence += f"; holding {other.offer} instead pays from {number(round(even, 2))} h a day{never}"
        held_hours = fsum(view.weights[key] for key in use.nodes if key[1] in other.hours)
        if held_hours > even * (1 + 1e-9):
            sentence += f", but {why_not_more(view.case, view.candidates, view.plan.decision, other)}"
    if offer.purchase != "spot" and (quota := quota_words(view.case, line.node_type)):
        sentence += f"; {quota}"
    return WhyLine(kind="elastic", name=line.offer, sentence=f"{sentence}.", **fields)  # type: ignore[arg-type]


def _api(view: _View, api: str) -> WhyLine:
    flows = [row for row in view.plan.decision.overflows if row.api == api and row.tps > 0]
    slices = {(row.day_type, row.hour): 1 for row in flows}
    bought = [row for row in view.plan.ledger.apis if row.api == api]
    usd, mtok = fsum(row.usd_per_day for row in bought), fsum(row.mtok_per_day for row in bought)
    part = mtok / view.plan.output_mtok_per_day if view.plan.output_mtok_per_day else 0.0
    use = _Use(slices, view.weights)
    per_mtok = usd / mtok if mtok > 0 else None
    price = "" if per_mtok is None else f", at {view.money(per_mtok)}/M"
    fleet = view.plan.usd_per_mtok.fleet
    beside = "" if fleet is None else f" beside {view.money(fleet)} on the fleet"
    hours = use.hours_with(1)
    sentence = (
        f"{api}: {share(part)} of output tokens in {number(round(hours, 2))} h a day, {use.words()}{price}{beside}."
    )
    return WhyLine(
        kind="api", name=api, sentence=sentence, first_node_hours=hours, usd_per_mtok=per_mtok, alternative_usd_per_mtok=fleet,
        token_share=part, hours=use.words(),
    )


def _commitments(view: _View) -> list[WhyLine]:
    """Commitments bought: how much of each is spent on nodes."""
    rates = {(row.discount, row.offer): row.discounted_usd_per_node_h for row in view.case.discounts}
    lines = []
    for bought in view.plan.decision.commitments:
        rows = [row for row in view.plan.decision.covered if row.discount == bought.discount]
        spent = fsum(view.weights[row.day_type, row.hour] * row.nodes * rates[row.discount, row.offer] for row in rows)
        listed = fsum(
            view.weights[row.day_type, row.hour] * row.nodes * node_rates(view.case, view.case.offer(row.offer)).used_per_h
            for row in rows
        )
        paid = bought.usd_per_h * HOURS_PER_DAY
        sentence = (
            f"{bought.discount}: {view.money(bought.usd_per_h)} an hour committed, {view.money(paid)} a day; "
            f"{share(spent / paid)} of it is spent, on nodes of {view.money(listed)} a day at list price."
        )
        lines.append(WhyLine(kind="commitment", name=bought.discount, sentence=sentence))
    return lines
