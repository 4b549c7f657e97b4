"""Which offers can be bought or are held already, and why the others cannot."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable

from optimizer.candidates.codes import RejectionCode
from optimizer.candidates.option import Option, Rejection
from optimizer.domain.case import Case
from optimizer.domain.hardware import NodeType, Site
from optimizer.domain.market import Offer
from optimizer.domain.names import join_key
from optimizer.domain.policy import Policy
from optimizer.domain.workload import Pool
from optimizer.units import DAYS_PER_WEEK, ceil_hedged, floor_hedged

Verdict = tuple[RejectionCode, str, tuple[tuple[str, float], ...]]
Screened = tuple[tuple[Offer, ...], tuple[Rejection, ...]]


def order_by(offer: Offer, policy: Policy) -> datetime.date:
    """The last day to order: start_date - 7 x lead_weeks, whole days, never later than the lead time allows."""
    return policy.start_date - datetime.timedelta(days=ceil_hedged(DAYS_PER_WEEK * offer.lead_weeks))


def nodes_per_rack(site: Site, node_type: NodeType) -> int | None:
    """min(slots_per_rack, floor(kw_per_rack / node_kw)) over what is stated; None where nothing limits it."""
    limits = []
    if site.slots_per_rack is not None:
        limits.append(site.slots_per_rack)
    if site.kw_per_rack is not None and node_type.node_kw:
        limits.append(floor_hedged(site.kw_per_rack / node_type.node_kw))
    return min(limits) if limits else None


def usable_offers(case: Case) -> Screened:
    """The offers that the policy, the calendar, the lots and the racks leave, in order; and a rejection for each of the others.

    An offer with nodes held already stays with max_nodes 0 (nothing more is bought), so that its cost is counted.
    """
    return _keep(case, case.offers, lambda offer: _cannot_be_bought(case, offer))


def needed_offers(case: Case, offers: Iterable[Offer], options: Iterable[Option]) -> Screened:
    """Of the usable offers those on which some option could run, and firm ones of the node type of a standing quota.

    Nodes held already stay as in `usable_offers`.
    """
    used_by: dict[str, set[str]] = {}
    for option in options:
        used_by.setdefault(option.node_type, set()).add(option.pool)
    quotas = {pool.fixed_node_type for pool in case.pools if pool.fixed_nodes}
    spot_pools = {pool.pool for pool in case.pools if pool.spot_max_frac > 0}

    def not_needed(offer: Offer) -> Verdict | None:
        pools = used_by.get(offer.node_type)
        if offer.node_type in quotas and offer.purchase != "spot":
            return None
        if not pools:
            return RejectionCode.UNUSED_NODE_TYPE, f"no option runs on node type {offer.node_type}", ()
        if offer.purchase == "spot" and not pools & spot_pools:
            names = ", ".join(sorted(pools))
            reason = f"spot_max_frac is 0 in every pool that could run on {offer.node_type} ({names})"
            return RejectionCode.SPOT_NOT_ALLOWED, reason, ()
        return None

    return _keep(case, offers, not_needed)


def offer_serves(case: Case, offer: Offer, pool: Pool) -> bool:
    """True where a usable offer can give the pool at least one node."""
    if offer.purchase == "spot" and pool.spot_max_frac <= 0:
        return False
    return offer.max_nodes is None or offer.max_nodes > 0 or case.nodes_existing(offer.offer) > 0


def allowed(names: Iterable[str], name: str | None) -> bool:
    """True where an allow-list is empty or holds the name (joined without case, spaces, hyphens and underscores)."""
    keys = {join_key(each) for each in names}
    return not keys or (name is not None and join_key(name) in keys)


def _keep(case: Case, offers: Iterable[Offer], verdict_of: Callable[[Offer], Verdict | None]) -> Screened:
    kept: list[Offer] = []
    rejections: list[Rejection] = []
    for offer in offers:
        verdict = verdict_of(offer)
        if verdict is None:
            kept.append(offer)
            continue
        code, reason, numbers = verdict
        existing = case.nodes_existing(offer.offer) if offer.is_held else 0
        if existing:
            kept.append(offer.model_copy(update={"min_nodes": 0, "max_nodes": 0}))
            reason += f"; the {existing} nodes held already stay and are paid"
            numbers = (*numbers, ("nodes_existing", float(existing)))
        node_type = case.node_type(offer.node_type)
        rejections.append(
            Rejection(
                code=code.value,
                reason=f"Offer {offer.offer} is not bought: {reason}.",
                gpu=node_type.gpu,
                node_type=node_type.node_type,
                offer=offer.offer,
                numbers=numbers,
            )
        )
    return tuple(kept), tuple(rejections)


def _cannot_be_bought(case: Case, offer: Offer) -> Verdict | None:
    policy, node_type = case.policy, case.node_type(offer.node_type)
    if not allowed(policy.gpus, node_type.gpu):
        return RejectionCode.GPU_NOT_ALLOWED, f"GPU {node_type.gpu} is not in the policy's gpus ({_list(policy.gpus)})", ()
    if not allowed(policy.purchases, offer.purchase):
        listed = _list(policy.purchases)
        return RejectionCode.PURCHASE_NOT_ALLOWED, f"purchase {offer.purchase} is not in the policy's purchases ({listed})", ()
    if not allowed(policy.providers, offer.provider):
        who = f"provider {offer.provider}" if offer.provider else "an offer that names no provider"
        return RejectionCode.PROVIDER_NOT_ALLOWED, f"{who} is not in the policy's providers ({_list(policy.providers)})", ()
    if not allowed(policy.regions, offer.region):
        where = f"region {offer.region}" if offer.region else "an offer that names no region"
        return RejectionCode.REGION_NOT_ALLOWED, f"{where} is not in the policy's regions ({_list(policy.regions)})", ()
    return _too_late(offer, policy) or _no_whole_lot(offer) or _no_rack(case, offer, node_type)


def _too_late(offer: Offer, policy: Policy) -> Verdict | None:
    latest = order_by(offer, policy)
    if latest >= policy.today:
        return None
    return (
        RejectionCode.TOO_LATE,
        f"with {offer.lead_weeks:g} weeks of lead time it had to be ordered by {latest} to start on {policy.start_date}, "
        f"and today is {policy.today}",
        (("lead_weeks", offer.lead_weeks), ("days_late", float((policy.today - latest).days))),
    )


def _no_whole_lot(offer: Offer) -> Verdict | None:
    if offer.max_nodes is None:
        return None
    numbers = (("max_nodes", float(offer.max_nodes)),)
    if not offer.is_held:
        # Lots and minimums bind what is bought, and these are paid by the hour.
        return (RejectionCode.NO_WHOLE_LOT, "max_nodes is 0", numbers) if offer.max_nodes < 1 else None
    lot = max(1, offer.lot_nodes)
    largest = offer.max_nodes // lot * lot
    if largest >= max(lot, offer.min_nodes):
        return None
    return (
        RejectionCode.NO_WHOLE_LOT,
        f"lots of {lot} nodes, at least {offer.min_nodes} and at most {offer.max_nodes} nodes leave no whole lot to buy",
        (("lot_nodes", float(lot)), ("min_nodes", float(offer.min_nodes)), *numbers),
    )


def _no_rack(case: Case, offer: Offer, node_type: NodeType) -> Verdict | None:
    # Elastic offers do not stand in the site's racks (only nodes held do).
    if not offer.is_held or not offer.site:
        return None
    site = case.site(offer.site)
    if nodes_per_rack(site, node_type) != 0:
        return None
    kw, rack_kw = node_type.node_kw or 0.0, site.kw_per_rack
    limits = f"slots_per_rack {site.slots_per_rack if site.slots_per_rack is not None else 'not stated'}, kw_per_rack " + (
        f"{rack_kw:g}" if rack_kw is not None else "not stated"
    )
    numbers: list[tuple[str, float]] = [("node_kw", kw)]
    if rack_kw is not None:
        numbers.append(("kw_per_rack", rack_kw))
    if site.slots_per_rack is not None:
        numbers.append(("slots_per_rack", float(site.slots_per_rack)))
    return RejectionCode.NO_RACK_FITS, f"no rack of site {site.site} holds a node of {kw:g} kW ({limits})", tuple(numbers)


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
