"""Every bad day replayed, pool by pool and hour by hour, with every option lost in turn (INPUTS, "Bad day")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor

from optimizer.domain.workload import Contingency, Workload
from optimizer.plan.audit_api import api_limits
from optimizer.plan.dispatch import Absorber, Limit, Task, largest_scales, largest_scales_by_lp
from optimizer.plan.index import OptionKey, PlanIndex, SliceKey

#: Shortfall that is rounding of continuous overflows: the solver's own feasibility tolerance is 1e-6 of a row.
SERVICE_REL = 1e-6
SERVICE_ABS_TPS = 1e-9
#: Before floor and ceil: (1 - 0.9) x 10 is 0.9999999999999998 in floating point and means one replica that stays.
ROUNDING_HEDGE = 1e-9


@dataclass(frozen=True)
class Replayed:
    """One bad day of one pool in one slice, at its worst loss.

    margin_tps: how much more than asked_tps (the surged demand, in the forecast's proportions) could be served; negative = short.
    lost: the option that lost lost_replicas, "" where losing none is as bad as any.
    """

    contingency: str
    pool: str
    day_type: str
    hour: int
    asked_tps: float
    margin_tps: float
    lost: str
    lost_replicas: int

    @property
    def survived(self) -> bool:
        """True where what is asked is served, but for rounding."""
        return self.margin_tps >= -(SERVICE_REL * self.asked_tps + SERVICE_ABS_TPS)


@dataclass(frozen=True)
class _Pending:
    """A bad day, pool and slice with its task and, per loss, the replicas left."""

    contingency: str
    pool: str
    key: SliceKey
    task: Task
    losses: tuple[tuple[str, int], ...]
    lefts: tuple[tuple[int, ...], ...]


def replay_bad_days(index: PlanIndex) -> list[Replayed]:
    """All bad days in the order contingency, pool, day type, hour. Only demand that cannot wait is asked for."""
    pending = list(_all_pending(index))
    programs = list(dict.fromkeys((entry.task, left) for entry in pending if not entry.task.closed_form for left in entry.lefts))
    solved = dict(zip(programs, largest_scales_by_lp(programs), strict=True))
    replayed = []
    for entry in pending:
        if entry.task.closed_form:
            scales = largest_scales(entry.task, entry.lefts)
        else:
            scales = [solved[entry.task, left] for left in entry.lefts]
        worst = min(range(len(scales)), key=scales.__getitem__)
        asked = sum(entry.task.asked_tps)
        lost, lost_replicas = entry.losses[worst]
        day_type, hour = entry.key
        margin = (scales[worst] - 1.0) * asked
        replayed.append(Replayed(entry.contingency, entry.pool, day_type, hour, asked, margin, lost, lost_replicas))
    return replayed


def check_bad_days(index: PlanIndex) -> list[str]:
    """One message for every bad day, pool and hour that is not survived."""
    messages = []
    for row in replay_bad_days(index):
        if not row.survived:
            loss = f"after losing {row.lost_replicas} of {row.lost}" if row.lost else "with nothing lost"
            messages.append(
                f"contingency {row.contingency}, pool {row.pool}, {row.day_type} hour {row.hour}: {loss} the rest is "
                f"{-row.margin_tps:.6g} tok/s short of {row.asked_tps:.6g} tok/s"
            )
    return messages


def _all_pending(index: PlanIndex) -> Iterator[_Pending]:
    for contingency in index.case.contingencies:
        for pool in index.case.pools:
            if pool.pool not in contingency.pools:
                continue
            for key in index.weights:
                active = [
                    row
                    for row in index.workloads_of[pool.pool]
                    if not row.deferrable_hours and index.demand_tps(row.workload, key) > 0
                ]
                if active:
                    yield _pending(index, contingency, pool.pool, key, active)


def _pending(index: PlanIndex, contingency: Contingency, pool: str, key: SliceKey, active: list[Workload]) -> _Pending:
    in_use = [option for option, count in index.replicas.get(key, {}).items() if option[0] == pool and count.live > 0]
    left = []
    for option in in_use:
        count = index.counts(key, option)
        spot_stays = floor((1.0 - contingency.spot_lost_frac) * count.spot_live + ROUNDING_HEDGE)
        left.append(count.firm_live + spot_stays)
    losses, lefts = [("", 0)], [tuple(left)]
    for position, option in enumerate(in_use):
        lost = min(left[position], replicas_lost(index, contingency, option, left[position]))
        if lost > 0:
            losses.append((option[1], lost))
            lefts.append((*left[:position], left[position] - lost, *left[position + 1 :]))

    surge = 1.0 + contingency.demand_surge_frac
    overflow, absorbers = _overflow(index, contingency, pool, key, active)
    per_replica = []
    for option in in_use:
        shares = (index.replica_per_tps(option, workload.workload, key) for workload in active)
        per_replica.append(tuple(1.0 / share if share else 0.0 for share in shares))
    task = Task(
        tps_per_replica=tuple(per_replica),
        asked_tps=tuple(surge * index.demand_tps(workload.workload, key) for workload in active),
        overflow_tps=overflow,
        absorbers=absorbers,
    )
    return _Pending(contingency.contingency, pool, key, task, tuple(losses), tuple(lefts))


def replicas_lost(index: PlanIndex, contingency: Contingency, option: OptionKey, live: int) -> int:
    """Replicas of one option that the bad day takes where `live` of them are live.

    max(replicas_lost, ceil(replicas_lost_frac x live)) + nodes_lost x the replicas on one node, at least one each.
    """
    row = index.options[option]
    gpus_per_node = index.node_types[row.node_type].gpus_per_node
    on_one_node = max(1, gpus_per_node * index.gpu_share(option) // row.gpus_per_replica)
    share = ceil(contingency.replicas_lost_frac * live - ROUNDING_HEDGE * max(1.0, live))
    return max(contingency.replicas_lost, share) + contingency.nodes_lost * on_one_node


def _overflow(
    index: PlanIndex, contingency: Contingency, pool: str, key: SliceKey, active: list[Workload]
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


def _headrooms(index: PlanIndex, name: str, pool: str, key: SliceKey, active: list[Workload]) -> tuple[Limit, ...] | None:
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
