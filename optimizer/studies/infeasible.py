"""Why no plan exists: which single limit, loosened by how much, would give one, and what that plan would cost.

Every limit is loosened alone. Where that makes the case solvable, the least loosening that does is found by bisection on true
re-solves, so the amounts are real and not shadow prices. Where no single limit is enough, a smallest set that is enough together
is found by putting limits back one by one. Besides, what is missing in nodes and tok/s, where and when.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from optimizer.candidates.option import Candidates
from optimizer.domain.case import Case
from optimizer.milp.solver import HIGHS
from optimizer.plan.plan import Decision, InfeasibleLimit
from optimizer.studies.infeasible_missing import demand_hour, missing_nodes, quotas_that_nothing_sells, without_any_option
from optimizer.studies.infeasible_rules import purchase_rules
from optimizer.studies.limits import Limit, machine_limits
from optimizer.studies.limits_service import api_openings, demand_growth, service_limits
from optimizer.studies.resolve import Clock, resolve
from optimizer.studies.wording import hours_words, number
from optimizer.units import ceil_hedged

#: Wall seconds spent on explanations in all; what is not reached by then is left out.
BUDGET_S = 60.0
_SOLVE_S = 15.0
_ONE_SOLVE_S = 6.0
#: Any plan will do while the least loosening is searched; the cost shown comes from a solve to the policy's gap.
_ANY_PLAN = 0.5
_BISECTIONS = 24
#: Shares of the time that is left: for lifting every limit, and for tightening or joining before less demand is looked at.
_LIFTING = 0.5
_BEFORE_DEMAND = 0.85
#: Put back first where several limits must be loosened together: a choice of risk or of policy stays as it is if it can.
_PUT_BACK_FIRST = frozenset({
    "contingency", "replicas_lost", "demand_surge_frac", "occupancy_frac", "wait_prob_max_frac", "rollout_frac", "min_live",
    "burst_factor", "ready_hours", "fixed_nodes", "gpus", "purchases", "providers", "regions", "node_types", "lead_weeks",
    "start_date", "overhead_frac",
})
#: Amounts are rounded up to this share of the smallest change that is told apart: solver noise must not make them too small.
_ROUNDING = 0.001


@dataclass(frozen=True)
class _Found:
    """A loosening that gives a plan: the value, a plan with it and its cost. least: nothing smaller gives one, as far as told."""

    value: float
    decision: Decision
    cost: float | None
    least: bool = True


def explain(
    case: Case, candidates: Candidates, *, budget_s: float = BUDGET_S, solver: str = HIGHS
) -> tuple[InfeasibleLimit, ...]:
    """Rows for the result: what nothing serves or sells, relaxations by rising cost, then what is missing where and when.

    Takes about `budget_s` wall seconds at most: first every limit is lifted, then those that gave a plan are tightened again,
    the one with the cheapest plan first. A row holds one relaxation; where several limits must be loosened together, the rows
    name each other and share one cost.
    """
    clock = Clock.of(budget_s, one_solve_s=_ONE_SOLVE_S, solver=solver)
    rows = list(without_any_option(case, candidates))
    quotas = list(quotas_that_nothing_sells(case, candidates))
    nodes = [] if rows or quotas else list(missing_nodes(case, min(_SOLVE_S, budget_s / 6), solver))
    worst = (nodes[0].day_type, nodes[0].hour) if nodes else (None, None)
    limits = [*machine_limits(case, candidates), *service_limits(case), *api_openings(case), *purchase_rules(case, candidates)]
    singles = _singles(case, limits, worst, clock)
    loosened = singles or _together(case, limits, worst, clock.at_most(clock.left_s * _BEFORE_DEMAND))
    rows += [*quotas, *loosened]
    rows += nodes if loosened else [row.model_copy(update={"relaxation": _more_offers(row)}) for row in nodes]
    rows += _less_demand(case, worst, clock)
    return tuple(rows) or (_contradiction(),)


def _singles(
    case: Case, limits: list[Limit], worst: tuple[str | None, int | None], clock: Clock
) -> list[InfeasibleLimit]:
    """Limits that are enough alone, by rising cost of the plan with the least loosening."""
    lifting = clock.at_most(clock.left_s * _LIFTING)
    lifted: list[tuple[Limit, _Found]] = []
    for place, limit in enumerate(limits):
        found = _any_plan(limit.at(case, limit.free), lifting, lifting.share(len(limits) - place))
        if found is not None:
            value = _taken(case, limit, found.decision, limit.free)
            if math.isfinite(value):
                lifted.append((limit, replace(found, value=value)))
    lifted.sort(key=lambda pair: _order(pair[1].cost))
    tightening = clock.at_most(clock.left_s * _BEFORE_DEMAND)
    rows = []
    for place, (limit, found) in enumerate(lifted):
        least = _least(case, limit, found, tightening.at_most(tightening.share(len(lifted) - place)))
        rows.append(_row(case, limit, least, worst, limit.words(least.value) + _when(case, limit, least)))
    return sorted(rows, key=lambda row: _order(row.usd_per_day))


def _order(usd_per_day: float | None) -> float:
    return math.inf if usd_per_day is None else usd_per_day


def _more_offers(row: InfeasibleLimit) -> str:
    """Where no limit stands in the way, only more to buy helps."""
    return f"add offers: no loosening of limits was found that gives a plan, and it takes {number(row.missing)} {row.unit} more"


def _contradiction() -> InfeasibleLimit:
    return InfeasibleLimit(
        limit="commitments", missing=0.0, unit="",
        relaxation="no loosening was found in the time; existing nodes, standing quotas and sites may contradict each other",
    )


def _less_demand(case: Case, worst: tuple[str | None, int | None], clock: Clock) -> Iterator[InfeasibleLimit]:
    """How much less of one workload would do, in tok/s of the hour that is worst off."""
    for workload in case.workloads:
        limit = demand_growth(workload)
        lifted = _any_plan(limit.at(case, limit.free), clock, clock.left_s)
        if lifted is None:
            continue
        found = _least(case, limit, replace(lifted, value=limit.free), clock)
        if not found.least or found.value >= limit.free:
            continue  # to serve nothing at all is no advice
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


def _when(case: Case, limit: Limit, found: _Found) -> str:
    """The hours in which the plan goes over the limit as it was, where it holds hour by hour; and whether less would do."""
    words = ""
    over = limit.hours_over(case, found.decision) if limit.hours_over else {}
    if over:
        words = f" {hours_words(over, (row.day_type for row in case.day_types))}"
    return words if found.least else f"{words} (less may do: the time was too short to look for the least)"


def _least(case: Case, limit: Limit, lifted: _Found, clock: Clock) -> _Found:
    """The least loosening of one limit that gives a plan, by bisection down from one that does; and a plan with it, priced."""
    found = lifted
    tight = limit.start
    for _ in range(_BISECTIONS):
        steps = int(abs(found.value - tight) / limit.fine - 1e-6)
        if steps < 1:
            break
        if clock.over:
            found = replace(found, least=False)
            break
        middle = tight + math.copysign((steps + 1) // 2 * limit.fine, found.value - tight)
        better = _any_plan(limit.at(case, middle), clock, clock.left_s)
        if better is None:
            tight = middle
        else:
            found = replace(better, value=_taken(case, limit, better.decision, middle))
    priced = None
    if not clock.over:
        priced = resolve(
            limit.at(case, found.value), gap=case.policy.gap, time_limit_s=min(_SOLVE_S, clock.left_s), solver=clock.solver
        )
    if priced is None or priced.decision is None:
        return found
    return replace(found, decision=priced.decision, cost=priced.cost)


def _taken(case: Case, limit: Limit, decision: Decision, value: float) -> float:
    """What a plan needs of a limit that is at `value`: never more than that, nor less than the limit as it was."""
    if limit.used is None:
        return value
    unit = limit.fine * _ROUNDING
    return max(min(ceil_hedged(limit.used(case, decision) / unit) * unit, value), limit.start)


def _any_plan(case: Case, clock: Clock, time_limit_s: float) -> _Found | None:
    """Some plan and its cost; None where there is none, or none was found in the time."""
    if clock.over:
        return None
    found = resolve(case, gap=_ANY_PLAN, time_limit_s=min(_SOLVE_S, time_limit_s), solver=clock.solver)
    if found is None or found.decision is None:
        return None
    return _Found(math.nan, found.decision, found.cost)


def _together(
    case: Case, limits: list[Limit], worst: tuple[str | None, int | None], clock: Clock
) -> list[InfeasibleLimit]:
    """Limits that must be loosened together: all are lifted, then put back one by one where a plan is left without lifting it."""
    if _any_plan(_lifted(case, limits), clock, clock.left_s) is None:
        return []
    needed = sorted(limits, key=lambda limit: limit.limit not in _PUT_BACK_FIRST)
    for limit in list(needed):
        without = [other for other in needed if other is not limit]
        if clock.over:
            return []
        if _any_plan(_lifted(case, without), clock, clock.left_s) is not None:
            needed = without
    settled, found = case, list[tuple[Limit, _Found]]()
    for limit in needed:
        others = needed[len(found) + 1:]
        opened = _lifted(settled, others)
        lifted = _any_plan(limit.at(opened, limit.free), clock, clock.left_s)
        if lifted is None:
            return []
        least = _least(opened, limit, replace(lifted, value=_taken(opened, limit, lifted.decision, limit.free)), clock)
        found.append((limit, least))
        settled = limit.at(settled, least.value)
    last = found[-1][1]
    words = [limit.words(least.value) for limit, least in found]
    rows = []
    for place, (limit, least) in enumerate(found):
        others_words = [text for other, text in enumerate(words) if other != place]
        relaxation = words[place] + (f", together with {' and '.join(others_words)}" if others_words else "")
        rows.append(_row(case, limit, replace(last, value=least.value), worst, relaxation))
    return rows


def _lifted(case: Case, limits: Iterable[Limit]) -> Case:
    for limit in limits:
        case = limit.at(case, limit.free)
    return case
