"""Why no plan exists: which single limit, loosened by how much, would give one, and what that plan would cost.

Every limit is loosened alone. Where that makes the case solvable, the least loosening that does is found by bisection on true
re-solves, so the amounts are real and not shadow prices. Where no single limit is enough, a smallest set that is enough together
is found by putting limits back one by one. Besides, what is missing in nodes and tok/s, where and when.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from optimizer.candidates.option import Candidates
from optimizer.domain.case import Case
from optimizer.plan.plan import Decision, InfeasibleLimit
from optimizer.studies.infeasible_missing import demand_hour, missing_nodes, without_any_option
from optimizer.studies.infeasible_rules import purchase_rules
from optimizer.studies.limits import Limit, machine_limits
from optimizer.studies.limits_service import api_openings, demand_growth, service_limits
from optimizer.studies.resolve import Clock, resolve
from optimizer.studies.wording import hours_words
from optimizer.units import ceil_hedged

#: Wall seconds spent on explanations in all; what is not reached by then is left out.
BUDGET_S = 60.0
_SOLVE_S = 15.0
#: Any plan will do while the least loosening is searched; the cost shown comes from a solve to the policy's gap.
_ANY_PLAN = 0.5
_BISECTIONS = 24
#: Put back first where several limits must be loosened together: a choice of risk or of policy stays as it is if it can.
_PUT_BACK_FIRST = frozenset({
    "contingency", "replicas_lost", "demand_surge_frac", "occupancy_frac", "rollout_frac", "min_live", "burst_factor",
    "ready_hours", "fixed_nodes", "gpus", "purchases", "providers", "regions", "node_types", "lead_weeks",
})
#: Amounts are rounded up to this share of the smallest change that is told apart: solver noise must not make them too small.
_ROUNDING = 0.001


@dataclass(frozen=True)
class _Found:
    """The least loosening: the value that gives a plan, and a plan with it; cost None where the clock ran out before."""

    value: float
    decision: Decision
    cost: float | None


def explain(case: Case, candidates: Candidates, *, budget_s: float = BUDGET_S) -> tuple[InfeasibleLimit, ...]:
    """Rows for the result: workloads that nothing can serve, relaxations by rising cost, then what is missing where and when.

    Takes about `budget_s` wall seconds at most. A row holds one relaxation; where several limits must be loosened together, the
    rows name each other and share one cost.
    """
    clock = Clock.of(budget_s)
    rows = list(without_any_option(case, candidates))
    nodes = [] if rows else list(missing_nodes(case, min(_SOLVE_S, budget_s / 4)))
    worst = (nodes[0].day_type, nodes[0].hour) if nodes else (None, None)
    limits = [*machine_limits(case), *service_limits(case), *api_openings(case), *purchase_rules(case, candidates)]
    singles = [row for limit in limits if (row := _alone(case, limit, worst, clock)) is not None]
    singles.sort(key=lambda row: math.inf if row.usd_per_day is None else row.usd_per_day)
    rows += singles or _together(case, limits, worst, clock)
    rows += nodes
    rows += _less_demand(case, worst, clock)
    return tuple(rows) or (_contradiction(),)


def _contradiction() -> InfeasibleLimit:
    return InfeasibleLimit(
        limit="commitments", missing=0.0, unit="",
        relaxation="no loosening was found in the time; existing nodes, standing quotas and sites may contradict each other",
    )


def _alone(case: Case, limit: Limit, worst: tuple[str | None, int | None], clock: Clock) -> InfeasibleLimit | None:
    """The row of one limit loosened alone; None where even without it there is no plan, or none was found in the time."""
    found = _least(case, limit, clock)
    if found is None:
        return None
    return _row(case, limit, found, worst, limit.words(found.value) + _when(case, limit, found.decision))


def _less_demand(case: Case, worst: tuple[str | None, int | None], clock: Clock) -> Iterator[InfeasibleLimit]:
    """How much less of one workload would do, in tok/s of the hour that is worst off."""
    for workload in case.workloads:
        limit = demand_growth(workload)
        found = _least(case, limit, clock)
        if found is None:
            continue
        day_type, hour, tps = demand_hour(workload, worst)
        yield InfeasibleLimit(
            limit=limit.limit, pool=limit.pool, day_type=day_type, hour=hour, missing=found.value * tps, unit="tok/s",
            relaxation=limit.words(found.value), usd_per_day=found.cost,
        )


def _row(
    case: Case, limit: Limit, found: _Found, worst: tuple[str | None, int | None], relaxation: str
) -> InfeasibleLimit:
    day_type, hour = worst
    over = limit.hours_over(case, found.decision) if limit.hours_over else {}
    if over and hour not in over.get(day_type or "", ()):
        day_type, hours = next(iter(over.items()))
        hour = min(hours)
    return InfeasibleLimit(
        limit=limit.limit, pool=limit.pool, site=limit.site, day_type=day_type, hour=hour, missing=limit.shown(found.value),
        unit=limit.unit, relaxation=relaxation, usd_per_day=found.cost,
    )


def _when(case: Case, limit: Limit, decision: Decision) -> str:
    """The hours in which the plan goes over the limit as it was, where the limit holds hour by hour."""
    if limit.hours_over is None:
        return ""
    over = limit.hours_over(case, decision)
    if not over:
        return ""
    if len(case.day_types) > 1 and len(over) == 1:
        return f" on {next(iter(over))} {hours_words(over)}"
    return f" {hours_words(over)}"


def _least(case: Case, limit: Limit, clock: Clock) -> _Found | None:
    """The least loosening of one limit that gives a plan, by bisection, and the cost of a plan with it."""
    decision = _any_plan(limit.at(case, limit.free), clock)
    if decision is None:
        return None
    tight, loose = limit.start, _taken(case, limit, decision, limit.free)
    for _ in range(_BISECTIONS):
        steps = int(abs(loose - tight) / limit.fine - 1e-6) if math.isfinite(loose) else 0
        if steps < 1 or clock.over:
            break
        middle = tight + math.copysign((steps + 1) // 2 * limit.fine, loose - tight)
        better = _any_plan(limit.at(case, middle), clock)
        if better is None:
            tight = middle
        else:
            decision, loose = better, _taken(case, limit, better, middle)
    priced = resolve(limit.at(case, loose), gap=case.policy.gap, time_limit_s=min(_SOLVE_S, clock.left_s))
    if priced is None or priced.decision is None:
        return _Found(loose, decision, None)
    return _Found(loose, priced.decision, priced.cost)


def _taken(case: Case, limit: Limit, decision: Decision, value: float) -> float:
    """What a plan needs of a limit that is at `value`: never more than that, nor less than the limit as it was."""
    if limit.used is None:
        return value
    unit = limit.fine * _ROUNDING
    return max(min(ceil_hedged(limit.used(case, decision) / unit) * unit, value), limit.start)


def _any_plan(case: Case, clock: Clock) -> Decision | None:
    if clock.over:
        return None
    found = resolve(case, gap=_ANY_PLAN, time_limit_s=min(_SOLVE_S, clock.left_s))
    return found.decision if found is not None else None


def _together(
    case: Case, limits: list[Limit], worst: tuple[str | None, int | None], clock: Clock
) -> list[InfeasibleLimit]:
    """Limits that must be loosened together: all are lifted, then put back one by one where a plan is left without lifting it."""
    if _any_plan(_lifted(case, limits), clock) is None:
        return []
    needed = sorted(limits, key=lambda limit: limit.limit not in _PUT_BACK_FIRST)
    for limit in list(needed):
        without = [other for other in needed if other is not limit]
        if clock.over:
            return []
        if _any_plan(_lifted(case, without), clock) is not None:
            needed = without
    settled, found = case, list[tuple[Limit, _Found]]()
    for limit in needed:
        others = needed[len(found) + 1:]
        least = _least(_lifted(settled, others), limit, clock)
        if least is None:
            return []
        found.append((limit, least))
        settled = limit.at(settled, least.value)
    last = found[-1][1]
    words = [limit.words(least.value) for limit, least in found]
    rows = []
    for place, (limit, least) in enumerate(found):
        others_words = [text for other, text in enumerate(words) if other != place]
        relaxation = words[place] + (f", together with {' and '.join(others_words)}" if others_words else "")
        rows.append(_row(case, limit, _Found(least.value, last.decision, last.cost), worst, relaxation))
    return rows


def _lifted(case: Case, limits: Iterable[Limit]) -> Case:
    for limit in limits:
        case = limit.at(case, limit.free)
    return case
