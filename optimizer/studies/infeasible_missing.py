"""What is missing where no plan exists: workloads that nothing can serve, and nodes that cannot be had, where and when."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from optimizer.candidates.offers import allowed
from optimizer.candidates.option import Candidates, Rejection
from optimizer.domain.case import Case
from optimizer.domain.market import Offer
from optimizer.domain.names import join_key
from optimizer.domain.workload import Workload
from optimizer.plan.plan import InfeasibleLimit
from optimizer.studies.resolve import resolve

#: Nodes from nowhere, in two places so that no zone holds them all. They cost so many times the dearest real node.
_NOWHERE = ("(nowhere 1)", "(nowhere 2)")
_DEARER = 1000.0
_GAP = 0.001
#: So many reasons are told in a row; all are among the rejections of the result.
_REASONS_TOLD = 8


def without_any_option(case: Case, candidates: Candidates) -> Iterator[InfeasibleLimit]:
    """Workloads that no option serves and no API may carry whole, each with the reasons why."""
    for workload in case.workloads:
        if any(option.point(workload.workload) for option in candidates.options_of(workload.pool)):
            continue
        own_frac = 1.0 - workload.api_max_frac if workload.api else 1.0
        day_type, hour, tps = demand_hour(workload, (None, None))
        if own_frac <= 0 or tps <= 0:
            continue
        reasons = _reasons(candidates, workload)
        told = "; ".join(reasons[:_REASONS_TOLD])
        more = f"; and {len(reasons) - _REASONS_TOLD} more rejections" if len(reasons) > _REASONS_TOLD else ""
        why = f". Looked at: {told}{more}" if reasons else ""
        yield InfeasibleLimit(
            limit="options", pool=workload.pool, day_type=day_type, hour=hour, missing=own_frac * tps, unit="tok/s",
            relaxation=f"measure a goodput of {workload.model} that meets the SLO of {workload.workload} on nodes that can be "
                       f"had, or let an API carry all of it{why}",
        )


def quotas_that_nothing_sells(case: Case, candidates: Candidates) -> Iterator[InfeasibleLimit]:
    """Standing quotas (fixed_nodes) of a node type that no offer sells for certain: on-demand and held offers, existing nodes."""
    for pool in case.pools:
        node_type = pool.fixed_node_type
        if not pool.fixed_nodes or node_type is None:
            continue
        firm = [offer for offer in candidates.offers if offer.node_type == node_type and offer.purchase != "spot"]
        if any(offer.max_nodes is None or offer.max_nodes > 0 for offer in firm):
            continue
        missing = pool.fixed_nodes - sum(case.nodes_existing(offer.offer) for offer in firm)
        if missing <= 0:
            continue
        reasons = [_reason(row) for row in candidates.rejections if row.offer and row.node_type == node_type]
        why = f". Looked at: {'; '.join(reasons[:_REASONS_TOLD])}" if reasons else ""
        yield InfeasibleLimit(
            limit="fixed_nodes", pool=pool.pool, missing=float(missing), unit=f"nodes of {node_type}",
            relaxation=f"no offer sells {node_type} other than on spot, of which pool {pool.pool} keeps {pool.fixed_nodes} "
                       f"{'node' if pool.fixed_nodes == 1 else 'nodes'} as a standing quota: add an offer of {node_type}, name "
                       f"another fixed_node_type, or set fixed_nodes to {pool.fixed_nodes - missing} in Pools{why}",
        )


def _reasons(candidates: Candidates, workload: Workload) -> list[str]:
    """`CODE where: reason` of everything that was looked at for a workload, and of the offers it would have needed."""
    mine = [row for row in candidates.rejections if row.workload == workload.workload]
    types = {row.node_type for row in mine if row.node_type}
    offers = [row for row in candidates.rejections if row.offer and row.node_type in types]
    return list(dict.fromkeys(_reason(row) for row in (*mine, *offers)))


def _reason(row: Rejection) -> str:
    where = " ".join(part for part in (row.precision, row.node_type or row.gpu) if part and not row.offer)
    return f"{row.code}{f' {where}' if where else ''}: {row.reason.rstrip('.')}"


def demand_hour(workload: Workload, wanted: tuple[str | None, int | None]) -> tuple[str, int, float]:
    """The wanted hour where the workload has demand then, else its peak: day type, hour, tok/s."""
    day_type, hour = wanted
    if day_type is not None and hour is not None:
        tps = workload.demand_on(day_type).output_tps[hour]
        if tps > 0:
            return day_type, hour, tps
    hours = ((day.day_type, hour, tps) for day in workload.demand for hour, tps in enumerate(day.output_tps))
    return max(hours, key=lambda item: item[2])


def missing_nodes(case: Case, time_limit_s: float, solver: str) -> Iterator[InfeasibleLimit]:
    """Fewest node-hours from nowhere with which there is a plan: per node type the hour that lacks most, worst first.

    Nothing where no number of nodes is enough, or none was found in the time.
    """
    dearest = max((row.held_usd_per_node_h + row.used_usd_per_node_h / row.effective_frac for row in case.offers), default=0.0)
    stand_ins = tuple(
        Offer(
            offer=f"{node_type.node_type} {place}", node_type=node_type.node_type, purchase="flex",
            used_usd_per_node_h=_DEARER * (dearest + 1) * node_type.gpus_per_node, provider=place,
        )
        for node_type in case.node_types
        if any(join_key(row.gpu) == join_key(node_type.gpu) for row in case.goodput)
        for place in _NOWHERE
    )
    policy = case.policy.model_copy(update={"providers": (), "regions": (), "purchases": ()})
    kept = tuple(
        offer if _allowed(case, offer) else offer.model_copy(update={"min_nodes": 0, "max_nodes": 0}) for offer in case.offers
    )
    opened = case.model_copy(update={"offers": (*kept, *stand_ins), "policy": policy})
    found = resolve(opened, gap=_GAP, time_limit_s=time_limit_s, solver=solver)
    if found is None or found.decision is None:
        return
    type_of = {offer.offer: offer.node_type for offer in stand_ins}
    lacking: dict[str, Counter[tuple[str, int]]] = defaultdict(Counter)
    for row in found.decision.node_uses:
        if row.offer in type_of:
            lacking[type_of[row.offer]][row.day_type, row.hour] += row.used
    worst = sorted(((*hours.most_common(1)[0], node_type) for node_type, hours in lacking.items()), key=lambda row: -row[1])
    for (day_type, hour), nodes, node_type in worst:
        yield InfeasibleLimit(
            limit="nodes", day_type=day_type, hour=hour, missing=float(nodes), unit=f"nodes of {node_type}",
        )


def _allowed(case: Case, offer: Offer) -> bool:
    """True where the policy's lists let the offer in."""
    policy = case.policy
    return (
        allowed(policy.providers, offer.provider) and allowed(policy.regions, offer.region)
        and allowed(policy.purchases, offer.purchase)
    )
