"""Solves a case with the product and with the oracle, audits the plan, and insists that all agree."""

from __future__ import annotations

from optimizer.candidates.enumerate import find_candidates
from optimizer.domain.case import Case
from optimizer.milp.solve import solve_case
from optimizer.plan.audit import audit_decision
from optimizer.plan.ledger import price_decision
from optimizer.plan.plan import SolveOutcome
from tests.helpers.oracle import oracle_cost
from tests.helpers.oracle_candidates import plain_candidates

#: Relative difference of cost below which two proven optima are the same.
SAME = 1e-6
#: Never reached by these cases; a case that does reach it fails.
TIME_LIMIT_S = 300.0


def solved(case: Case) -> SolveOutcome:
    """The product's answer at gap 0: optimal and audited clean, or infeasible."""
    candidates = find_candidates(case)
    outcome = solve_case(case, candidates, gap=0.0, time_limit_s=TIME_LIMIT_S)
    if outcome.status == "infeasible":
        assert outcome.decision is None
        return outcome
    assert outcome.status == "optimal"
    assert outcome.decision is not None and outcome.cost_usd_per_day is not None and outcome.bound_usd_per_day is not None
    cost, bound = outcome.cost_usd_per_day, outcome.bound_usd_per_day
    assert bound <= cost + SAME * max(1.0, cost)
    assert abs(price_decision(case, candidates, outcome.decision).total - cost) <= 1e-9 * max(1.0, cost)
    audit = audit_decision(case, candidates, outcome.decision, cost, claimed_bound=bound)
    assert audit.ok, audit.violations
    return outcome


def solved_cost(case: Case) -> float | None:
    """Cost of `solved`, $/day; None where the case is infeasible."""
    return solved(case).cost_usd_per_day


def same_cost(first: float | None, second: float | None) -> bool:
    """Both infeasible, or equal to 1e-6 relative."""
    if first is None or second is None:
        return first is second
    return abs(first - second) <= SAME * max(1.0, abs(first), abs(second))


def agreed_cost(case: Case) -> float | None:
    """Cost in $/day on which product and oracle agree; None where both find the case infeasible. Fails where they differ."""
    outcome = solved(case)
    truth = oracle_cost(case, plain_candidates(case), TIME_LIMIT_S)
    assert same_cost(outcome.cost_usd_per_day, truth), f"product {outcome.cost_usd_per_day}, oracle {truth}"
    if truth is not None:
        assert outcome.bound_usd_per_day is not None
        assert outcome.bound_usd_per_day <= truth + SAME * max(1.0, truth)
    return outcome.cost_usd_per_day
