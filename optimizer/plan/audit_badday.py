"""Every bad day replayed, pool by pool and hour by hour, with every option lost in turn (INPUTS, "Bad day")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor

from optimizer.domain.workload import Contingency, Workload
from optimizer.plan.audit_regiven import Place, replicas_anew, takes_nodes, zones
from optimizer.plan.bad_day_terms import ROUNDING_HEDGE, overflow_on, replicas_lost
from optimizer.plan.dispatch import Task, largest_scales, largest_scales_by_lp
from optimizer.plan.index import OptionKey, PlanIndex, SliceKey

#: Shortfall that is rounding of continuous overflows: the solver's own feasibility tolerance is 1e-6 of a row.
SERVICE_REL = 1e-6
SERVICE_ABS_TPS = 1e-9


@dataclass(frozen=True)
class Replayed:
    """One bad day of one pool in one slice, at its worst loss.

    margin_tps: how much more than asked_tps (the surged demand, in the forecast's proportions) could be served; negative = short.
    nodes_lost: which nodes went first, in words ("" = none). lost: the option that then lost lost_replicas, "" where losing none
    is as bad as any.
    """

    contingency: str
    pool: str
    day_type: str
    hour: int
    asked_tps: float
    margin_tps: float
    nodes_lost: str
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
    nodes_lost: str
    task: Task
    losses: tuple[tuple[str, int], ...]
    lefts: tuple[tuple[int, ...], ...]


def replay_bad_days(index: PlanIndex) -> list[Replayed]:
    """The worst of every bad day, pool and slice, by contingency and slice. Only demand that cannot wait is asked for."""
    pending = [entry for row in index.case.contingencies for key in index.weights for entry in _pending_of(index, row, key)]
    programs = list(dict.fromkeys((entry.task, left) for entry in pending if not entry.task.closed_form for left in entry.lefts))
    solved = dict(zip(programs, largest_scales_by_lp(programs), strict=True))
    worst: dict[tuple[str, str, SliceKey], Replayed] = {}
    for entry in pending:
        if entry.task.closed_form:
            scales = largest_scales(entry.task, entry.lefts)
        else:
            scales = [solved[entry.task, left] for left in entry.lefts]
        tightest = min(range(len(scales)), key=scales.__getitem__)
        asked = sum(entry.task.asked_tps)
        margin = (scales[tightest] - 1.0) * asked
        where = (entry.contingency, entry.pool, entry.key)
        if where not in worst or margin < worst[where].margin_tps:
            worst[where] = Replayed(
                entry.contingency, entry.pool, *entry.key, asked, margin, entry.nodes_lost, *entry.losses[tightest]
            )
    return list(worst.values())


def check_bad_days(index: PlanIndex) -> list[str]:
    """One message for every bad day, pool and hour that is not survived."""
    messages = []
    for row in replay_bad_days(index):
        if not row.survived:
            lost = [row.nodes_lost] if row.nodes_lost else []
            lost += [f"{row.lost_replicas} of {row.lost}"] if row.lost else []
            loss = f"after losing {' and then '.join(lost)}" if lost else "with nothing lost"
            messages.append(
                f"contingency {row.contingency}, pool {row.pool}, {row.day_type} hour {row.hour}: {loss} the rest is "
                f"{-row.margin_tps:.6g} tok/s short of {row.asked_tps:.6g} tok/s"
            )
    return messages


def _pending_of(index: PlanIndex, contingency: Contingency, key: SliceKey) -> Iterator[_Pending]:
    """What has to be asked of one contingency in one slice: of every pool, and for every zone where one is lost."""
    asking = []
    for pool in index.case.pools:
        workloads = index.workloads_of[pool.pool]
        active = [row for row in workloads if not row.deferrable_hours and index.demand_tps(row.workload, key) > 0]
        if pool.pool in contingency.pools and active:
            asking.append((pool.pool, active))
    if not asking:
        return
    if not takes_nodes(contingency):
        for pool_name, active in asking:
            yield _pending(index, contingency, pool_name, key, active, "", _live_left(index, contingency, pool_name, key))
        return
    for zone in zones(index, contingency, key):
        anew = replicas_anew(index, contingency, key, zone, asking)
        for pool_name, active in asking:
            left = {option: count for option, count in anew.items() if option[0] == pool_name and count > 0}
            yield _pending(index, contingency, pool_name, key, active, _nodes_lost(contingency, zone), left)


def _nodes_lost(contingency: Contingency, zone: Place | None) -> str:
    words = []
    if contingency.on_demand_obtainable_frac < 1:
        words.append(f"{1 - contingency.on_demand_obtainable_frac:.0%} of the on-demand nodes")
    if zone is not None:
        words.append(f"all nodes of {' '.join(part for part in zone if part) or 'the zone without a name'}")
    return " and ".join(words)


def _live_left(index: PlanIndex, contingency: Contingency, pool: str, key: SliceKey) -> dict[OptionKey, int]:
    """Live replicas per option in use, after spot is lost: floor((1 - s) x n) of the spot ones stay."""
    left = {}
    for option, count in index.replicas.get(key, {}).items():
        if option[0] == pool and count.live > 0:
            spot_stays = floor((1.0 - contingency.spot_lost_frac) * count.spot_live + ROUNDING_HEDGE)
            left[option] = count.firm_live + spot_stays
    return left


def _pending(
    index: PlanIndex,
    contingency: Contingency,
    pool: str,
    key: SliceKey,
    active: list[Workload],
    nodes_lost: str,
    live: dict[OptionKey, int],
) -> _Pending:
    left = tuple(live.values())
    losses, lefts = [("", 0)], [left]
    for position, option in enumerate(live):
        lost = min(left[position], replicas_lost(index, contingency, option, left[position]))
        if lost > 0:
            losses.append((option[1], lost))
            lefts.append((*left[:position], left[position] - lost, *left[position + 1 :]))

    surge = 1.0 + contingency.demand_surge_frac
    overflow, absorbers = overflow_on(index, contingency, pool, key, active)
    per_replica = []
    for option in live:
        shares = (index.replica_per_tps(option, workload.workload, key) for workload in active)
        per_replica.append(tuple(1.0 / share if share else 0.0 for share in shares))
    task = Task(
        tps_per_replica=tuple(per_replica),
        asked_tps=tuple(surge * index.demand_tps(workload.workload, key) for workload in active),
        overflow_tps=overflow,
        absorbers=absorbers,
    )
    return _Pending(contingency.contingency, pool, key, nodes_lost, task, tuple(losses), tuple(lefts))
