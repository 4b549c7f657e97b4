"""Rules of purchase and policy (lead times, start date, allow-lists, memory overhead) as limits; used where no plan exists."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from optimizer.candidates.codes import RejectionCode
from optimizer.candidates.offers import order_by
from optimizer.candidates.option import Candidates
from optimizer.domain.case import Case
from optimizer.domain.market import Offer
from optimizer.studies.limits import Limit, changed
from optimizer.studies.wording import number, share

#: Code of a rejected offer -> the policy's list that left it out, and what of the offer must be in it.
_LISTS = {
    RejectionCode.PROVIDER_NOT_ALLOWED: ("providers", "provider"),
    RejectionCode.REGION_NOT_ALLOWED: ("regions", "region"),
    RejectionCode.PURCHASE_NOT_ALLOWED: ("purchases", "purchase"),
    RejectionCode.GPU_NOT_ALLOWED: ("gpus", "gpu"),
}
#: Codes of options that the memory set aside may keep out.
_MISFITS = frozenset({RejectionCode.WEIGHTS_DO_NOT_FIT, RejectionCode.SEQUENCES_DO_NOT_FIT})


def purchase_rules(case: Case, candidates: Candidates) -> Iterator[Limit]:
    """Offers that are too late to order, the start date, memory overhead, names and node types that lists leave out."""
    seen: set[tuple[str, str]] = set()
    late = [case.offer(row.offer) for row in candidates.rejections if row.offer and row.code == RejectionCode.TOO_LATE]
    if late:
        yield _start(case, late)
    if case.policy.overhead_frac > 0 and any(row.code in _MISFITS for row in candidates.rejections):
        yield _overhead(case)
    for rejection in candidates.rejections:
        if not rejection.offer:
            continue
        offer = case.offer(rejection.offer)
        if rejection.code == RejectionCode.TOO_LATE:
            yield _late(case, offer)
            continue
        for code, (field, attribute) in _LISTS.items():
            if rejection.code == code:
                name = case.node_type(offer.node_type).gpu if attribute == "gpu" else getattr(offer, attribute)
                if name and (field, name) not in seen:
                    seen.add((field, name))
                    yield _listed(field, attribute, name)
    for pool in case.pools:
        if pool.node_types:
            yield _any_node_type(pool.pool)


def _start(case: Case, late: list[Offer]) -> Limit:
    """A later start of the plan, which leaves time to order."""
    now = case.policy.start_date
    days = [float((case.policy.today - order_by(offer, case.policy)).days) for offer in late]

    def start(value: float) -> datetime.date:
        return now + datetime.timedelta(days=round(value))

    def at(given: Case, value: float) -> Case:
        return given.model_copy(update={"policy": given.policy.model_copy(update={"start_date": start(value)})})

    return Limit(
        limit="start_date", what="the policy", unit="days", value=0.0, free=max(days), step=min(days), at=at,
        words=lambda value: f"start on {start(value)} instead of {now} (Policy start_date)",
    )


def _overhead(case: Case) -> Limit:
    """A smaller share of GPU memory set aside, where something does not fit."""
    now = case.policy.overhead_frac

    def at(given: Case, value: float) -> Case:
        return given.model_copy(update={"policy": given.policy.model_copy(update={"overhead_frac": value})})

    return Limit(
        limit="overhead_frac", what="the policy", unit="% of GPU memory", value=now, free=0.0, step=0.01, fine=0.001,
        shown_per_value=100.0, at=at,
        words=lambda value: f"{share(value)} instead of {share(now)} of GPU memory set aside (Policy overhead_frac)",
    )


def _late(case: Case, offer: Offer) -> Limit:
    name, latest = offer.offer, order_by(offer, case.policy)
    days = (case.policy.today - latest).days

    def at(given: Case, value: float) -> Case:
        if value > 0:
            return given
        return given.model_copy(update={"offers": changed(given.offers, lambda row: row.offer == name, lead_weeks=0.0)})

    return Limit(
        limit="lead_weeks", what=f"offer {name}", unit="days", value=float(days), free=0.0, step=float(days), fine=float(days),
        at=at, site=offer.site,
        words=lambda _: f"offer {name} although it had to be ordered by {latest} ({number(days)} days ago)",
    )


def _listed(field: str, attribute: str, name: str) -> Limit:
    def at(given: Case, value: float) -> Case:
        if value > 0:
            return given
        names = (*getattr(given.policy, field), name)
        return given.model_copy(update={"policy": given.policy.model_copy(update={field: names})})

    label = attribute.upper() if attribute == "gpu" else attribute
    return Limit(
        limit=field, what="the policy", unit="name", value=1.0, free=0.0, step=1.0, at=at,
        words=lambda _: f"allow {label} {name}",
    )


def _any_node_type(pool: str) -> Limit:
    def at(given: Case, value: float) -> Case:
        if value > 0:
            return given
        return given.model_copy(update={"pools": changed(given.pools, lambda row: row.pool == pool, node_types=())})

    return Limit(
        limit="node_types", what=f"pool {pool}", unit="list", value=1.0, free=0.0, step=1.0, at=at, pool=pool,
        words=lambda _: f"allow every node type for pool {pool}",
    )
