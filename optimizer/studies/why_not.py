"""Why a line goes against its break-even, as far as the inputs say: limits at their bound, lots, bad days, standing quotas."""

from __future__ import annotations

from optimizer.candidates.option import Candidates
from optimizer.domain.case import Case
from optimizer.domain.market import Offer
from optimizer.plan.plan import Decision
from optimizer.studies.limits import machine_limits
from optimizer.studies.wording import number


def why_not_more(case: Case, candidates: Candidates, decision: Decision, offer: Offer) -> str:
    """What keeps more of a held offer out, where its break-even speaks for it."""
    bound = [
        f"{limit.limit} of {limit.what}"
        for limit in machine_limits(case, candidates)
        if limit.used is not None and limit.binds(case, decision)
        and (limit.what == f"offer {offer.offer}" or (offer.site is not None and limit.what == f"site {offer.site}"))
    ]
    if bound:
        return f"{' and '.join(bound)} {'is' if len(bound) == 1 else 'are'} at the bound"
    if offer.min_nodes > 1 and not any(row.nodes_new for row in decision.nodes_new if row.offer == offer.offer):
        return f"it is sold from {number(offer.min_nodes)} nodes on"
    if offer.lot_nodes > 1:
        return f"it is sold in lots of {number(offer.lot_nodes)}"
    return "no cheaper plan with more of it was found"


def why_not_fewer(case: Case, candidates: Candidates, decision: Decision, offer: Offer, alternative: Offer) -> str:
    """What keeps a held node that is used less than its break-even."""
    if offer.lot_nodes > 1:
        return f"it is sold in lots of {number(offer.lot_nodes)}"
    bought = sum(row.nodes_new for row in decision.nodes_new if row.offer == offer.offer)
    if 1 < bought <= offer.min_nodes:
        return f"it is sold from {number(offer.min_nodes)} nodes on"
    used = max((row.used for row in decision.node_uses if row.offer == alternative.offer), default=0)
    if alternative.max_nodes is not None and used >= alternative.max_nodes:
        return f"all that can be had of {alternative.offer} is in use"
    pools = {option.pool for option in candidates.options if option.node_type == offer.node_type}
    for row in case.contingencies:
        if pools & set(row.pools) and (row.scope == "zone" or row.on_demand_obtainable_frac < 1):
            return f"idle nodes held count in contingency {row.contingency}"
    return "no cheaper plan with fewer was found"


def quota_words(case: Case, node_type: str) -> str:
    """Nodes of the type that pools keep whatever runs; "" where there are none."""
    kept = [(pool.pool, pool.fixed_nodes) for pool in case.pools if pool.fixed_nodes and pool.fixed_node_type == node_type]
    return " and ".join(f"pool {pool} keeps {number(nodes)} of {node_type} as a standing quota" for pool, nodes in kept)
