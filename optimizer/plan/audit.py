"""The audit: a decision checked against its case in plain arithmetic, apart from the program that made it.

Nothing here reads a solver, a variable or a row of the program. Each check returns sentences that say what, where, when and by
how much. A plan with a violation is never written.
"""

from __future__ import annotations

from math import isfinite

from optimizer.candidates.option import Candidates
from optimizer.domain.base import Frozen
from optimizer.domain.case import Case
from optimizer.plan.audit_badday import check_bad_days
from optimizer.plan.audit_discounts import check_discounts
from optimizer.plan.audit_money import check_money
from optimizer.plan.audit_nodes import check_allowed, check_bought, check_existing, check_nodes, check_sites, check_use
from optimizer.plan.audit_options import check_options
from optimizer.plan.audit_rows import check_flows, check_ids, check_keys, check_whole
from optimizer.plan.audit_service import (
    check_api_limits,
    check_api_use,
    check_capacity,
    check_demand,
    check_min_live,
    check_ready,
    check_rollout,
    check_shifts,
    check_spot_share,
)
from optimizer.plan.audit_waiting import check_waiting
from optimizer.plan.index import PlanIndex
from optimizer.plan.plan import Decision


class AuditResult(Frozen):
    """ok: no violation. violations: what is wrong. notes: what could be neither proven nor excluded."""

    ok: bool
    violations: tuple[str, ...]
    notes: tuple[str, ...] = ()


def audit_decision(
    case: Case,
    candidates: Candidates,
    decision: Decision,
    claimed_cost_usd_per_day: float,
    *,
    claimed_bound: float | None = None,
) -> AuditResult:
    """Re-check a decision and its cost. Every violation is listed; where the rows themselves are wrong only those are."""
    violations = check_understood(case)
    violations += check_ids(case, candidates, decision)
    violations += check_keys(decision)
    violations += check_whole(decision)
    violations += check_flows(decision)
    if not isfinite(claimed_cost_usd_per_day) or (claimed_bound is not None and not isfinite(claimed_bound)):
        violations.append(f"money: cost {claimed_cost_usd_per_day} and bound {claimed_bound} are claimed")
    if violations:
        return AuditResult(ok=False, violations=tuple(violations))
    index = PlanIndex(case, candidates, decision)
    node_violations, notes = check_nodes(index)
    violations += check_options(index)
    violations += check_shifts(index)
    violations += check_demand(index)
    violations += check_api_use(index)
    violations += check_api_limits(index)
    violations += check_capacity(index)
    violations += check_waiting(index)
    violations += check_rollout(index)
    violations += check_ready(index)
    violations += check_min_live(index)
    violations += check_spot_share(index)
    violations += node_violations
    violations += check_use(index)
    violations += check_bought(index)
    violations += check_existing(index)
    violations += check_allowed(index)
    violations += check_sites(index)
    violations += check_discounts(index)
    violations += check_bad_days(index)
    violations += check_money(index, claimed_cost_usd_per_day, claimed_bound)
    return AuditResult(ok=not violations, violations=tuple(violations), notes=tuple(notes))


def check_understood(case: Case) -> list[str]:
    """Values that have no meaning: a plan for them cannot pass."""
    messages = []
    for pool in case.pools:
        if pool.is_auto and not 0 < pool.wait_prob_max_frac <= 1:
            messages.append(f"pool {pool.pool}: wait_prob_max_frac {pool.wait_prob_max_frac} is no share that may wait")
    for workload in case.workloads:
        if workload.pool not in {pool.pool for pool in case.pools}:
            messages.append(f"workload {workload.workload}: pool {workload.pool} is not in the case")
    return messages
