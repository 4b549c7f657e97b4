"""Money computed again, row by row of the decision and apart from the ledger, then compared with the ledger and the claim."""

from __future__ import annotations

from math import fsum

from optimizer.plan.index import PlanIndex
from optimizer.plan.ledger import price_decision
from optimizer.plan.plan import CostParts
from optimizer.units import HOURS_PER_DAY

#: Two sums of the same products in another order, and loads rounded to the solver's tolerance: 1e-6 of the cost.
MONEY_REL = 1e-6
#: Below this many $/day two costs are the same: a thousandth of a cent.
MONEY_ABS_USD_PER_DAY = 1e-5

MONTHS_PER_YEAR = 12.0
DAYS_PER_YEAR = 365.0
#: One tok/s for an hour is 3,600 tokens; prices are per million.
MTOK_PER_TPS_HOUR = 0.0036


def recount_cost(index: PlanIndex) -> CostParts:
    """The cost of the decision by part, $/day, from INPUTS "Money" directly. ValueError where a figure it needs is missing."""
    held, upfront, site_rent = [], [], []
    for new in index.decision.nodes_new:
        offer, nodes = index.offers[new.offer], new.nodes_new + new.nodes_existing
        held += [nodes * offer.held_usd_per_node_h for _ in offer.hours]
        if offer.upfront_usd_per_node > 0 and nodes:
            if not offer.term_months:
                raise ValueError(f"offer {offer.offer} has an upfront payment and no term")
            upfront.append(nodes * offer.upfront_usd_per_node * MONTHS_PER_YEAR / (offer.term_months * DAYS_PER_YEAR))
        if offer.site and nodes:
            kw_held = nodes * (index.node_types[offer.node_type].node_kw or 0.0)
            site_rent.append(kw_held * index.sites[offer.site].usd_per_kw_month * MONTHS_PER_YEAR / DAYS_PER_YEAR)
    used, energy = [], []
    for use in index.decision.node_uses:
        offer, node_hours = index.offers[use.offer], index.weights[use.day_type, use.hour] * use.used
        used.append(node_hours * offer.used_usd_per_node_h / offer.effective_frac)
        if offer.site and use.used and (usd_per_kwh := index.sites[offer.site].usd_per_kwh):
            pue = index.sites[offer.site].pue
            if pue is None:
                raise ValueError(f"site {offer.site} prices energy and has no pue")
            energy.append(node_hours * (index.node_types[offer.node_type].node_kw or 0.0) * pue * usd_per_kwh)
    for cover in index.decision.covered:
        offer = index.offers[cover.offer]
        saved = index.weights[cover.day_type, cover.hour] * cover.nodes * offer.used_usd_per_node_h / offer.effective_frac
        used.append(-saved)
    discounts = [row.usd_per_h for row in index.decision.commitments for _ in range(HOURS_PER_DAY)]
    api = []
    for flow in index.decision.overflows:
        workload, terms = index.workloads[flow.workload], index.apis[flow.api]
        mtok_out = index.weights[flow.day_type, flow.hour] * flow.tps * MTOK_PER_TPS_HOUR
        ratio = index.input_per_output(flow.workload, (flow.day_type, flow.hour))
        if ratio is None and flow.tps > 0 and (terms.input_usd_per_mtok or terms.cached_input_usd_per_mtok):
            raise ValueError(f"API {flow.api} prices input, and workload {flow.workload} states none")
        cached = mtok_out * (ratio or 0.0) * workload.prefix_hit_frac
        fresh = mtok_out * (ratio or 0.0) - cached
        api += [
            mtok_out * terms.output_usd_per_mtok,
            fresh * terms.input_usd_per_mtok,
            cached * terms.cached_input_usd_per_mtok,
        ]
    return CostParts(
        held=fsum(held),
        used=fsum(used),
        upfront=fsum(upfront),
        api=fsum(api),
        energy=fsum(energy),
        site=fsum(site_rent),
        discounts=fsum(discounts),
    )


def _differ(first: float, second: float, scale: float) -> bool:
    return abs(first - second) > MONEY_REL * abs(scale) + MONEY_ABS_USD_PER_DAY


def check_money(index: PlanIndex, claimed_cost_usd_per_day: float, claimed_bound: float | None) -> list[str]:
    """The recount against the ledger, part by part, and against the claimed cost; the claimed bound is not above the cost."""
    try:
        recount = recount_cost(index)
        ledger = price_decision(index.case, index.candidates, index.decision)
    except ValueError as error:
        return [f"money cannot be recounted: {error}"]
    total = recount.total
    messages = []
    for part in CostParts.model_fields:
        counted, booked = getattr(recount, part), getattr(ledger, part)
        if _differ(counted, booked, total):
            messages.append(f"money: {part} is {counted:.6f} $/day, the ledger says {booked:.6f}, {booked - counted:+.6f}")
    if _differ(total, claimed_cost_usd_per_day, total):
        messages.append(
            f"money: the decision costs {total:.6f} $/day, {claimed_cost_usd_per_day:.6f} is claimed, "
            f"{claimed_cost_usd_per_day - total:+.6f}"
        )
    if claimed_bound is not None and claimed_bound > total + MONEY_REL * abs(total) + MONEY_ABS_USD_PER_DAY:
        messages.append(f"money: the bound {claimed_bound:.6f} $/day is {claimed_bound - total:.6f} above the cost {total:.6f}")
    return messages
