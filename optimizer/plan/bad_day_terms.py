"""Terms of a bad day that every way of replaying it shares: replicas lost, planned overflow, and what APIs may absorb."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from optimizer.domain.workload import Contingency, Workload
from optimizer.plan.audit_api import api_limits
from optimizer.plan.dispatch import Absorber, Limit
from optimizer.plan.index import OptionKey, PlanIndex, SliceKey

#: Before floor and ceil: (1 - 0.9) x 10 is 0.9999999999999998 in floating point and means one replica that stays.
ROUNDING_HEDGE = 1e-9


def on_one_node(index: PlanIndex, option: OptionKey) -> int:
    """Replicas of an option on one node, at least one."""
    row = index.options[option]
    return max(1, index.node_types[row.node_type].gpus_per_node * index.gpu_share(option) // row.gpus_per_replica)


def replicas_lost(index: PlanIndex, contingency: Contingency, option: OptionKey, live: int) -> int:
    """Replicas of one option that the bad day takes where `live` of them are live.

    max(replicas_lost, ceil(replicas_lost_frac x live)) + nodes_lost x the replicas on one node, at least one each.
    """
    share = ceil(contingency.replicas_lost_frac * live - ROUNDING_HEDGE * max(1.0, live))
    return max(contingency.replicas_lost, share) + contingency.nodes_lost * on_one_node(index, option)


def overflow_on(
    index: PlanIndex, contingency: Contingency, pool: str, key: SliceKey, active: Sequence[Workload]
) -> tuple[tuple[float, ...], tuple[Absorber, ...]]:
    """Per active workload what APIs take for certain, and the APIs whose limits couple several of them."""
    planned = index.overflows.get(key, {})
    sure = [0.0] * len(active)
    absorbers = []
    apis = dict.fromkeys(api for workload in active for api in workload.api)
    for name in apis:
        api = index.apis[name]
        users = tuple(position for position, workload in enumerate(active) if name in workload.api)
        limits = _headrooms(index, name, pool, key, active) if contingency.api_absorbs and key[1] in api.hours else None
        if limits is None:
            for position in users:
                sure[position] += planned.get((active[position].workload, name), 0.0)
        elif len(users) == 1:
            uses = [(limit.headroom, limit.use[users[0]]) for limit in limits]
            sure[users[0]] += min(headroom / use for headroom, use in uses if use > 0)
        else:
            absorbers.append(Absorber(users, limits))
    return tuple(sure), tuple(absorbers)


def _headrooms(index: PlanIndex, name: str, pool: str, key: SliceKey, active: Sequence[Workload]) -> tuple[Limit, ...] | None:
    """The stated limits of an API less what other pools plan there; None where it absorbs nothing beyond the plan.

    That is where it states no max_output_tps, or a workload does not say what it takes of a stated limit.
    """
    api = index.apis[name]
    if api.max_output_tps is None:
        return None
    planned = index.overflows.get(key, {})
    limits = []
    for limit in api_limits(index, api, key):
        if any(limit.uses[workload.workload] is None for workload in active if name in workload.api):
            return None
        others = sum(
            tps * (limit.uses[workload] or 0.0)
            for (workload, api_name), tps in planned.items()
            if api_name == name and index.workloads[workload].pool != pool
        )
        uses = tuple(limit.uses[workload.workload] or 0.0 for workload in active)
        limits.append(Limit(max(0.0, limit.limit - others), uses))
    return tuple(limits)
