"""`oracle_compare` for cases whose hours hang together or that lose nodes: product and oracle agree, and the plan is audited."""

from __future__ import annotations

from optimizer.domain.case import Case
from tests.helpers.oracle_candidates import plain_candidates
from tests.helpers.oracle_compare import SAME, TIME_LIMIT_S, same_cost, solved
from tests.helpers.oracle_dagger import dagger_oracle_cost


def agreed_dagger_cost(case: Case) -> float | None:
    """Cost in $/day on which product and oracle agree; None where both find the case infeasible. Fails where they differ."""
    outcome = solved(case)
    truth = dagger_oracle_cost(case, plain_candidates(case), outcome.cost_usd_per_day, TIME_LIMIT_S)
    assert same_cost(outcome.cost_usd_per_day, truth), f"product {outcome.cost_usd_per_day}, oracle {truth}"
    if truth is not None:
        assert outcome.bound_usd_per_day is not None
        assert outcome.bound_usd_per_day <= truth + SAME * max(1.0, truth)
    return outcome.cost_usd_per_day
