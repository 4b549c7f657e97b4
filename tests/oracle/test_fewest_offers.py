"""Among plans of equal cost the product takes one with the fewest offers in use."""

from __future__ import annotations

import pytest

from optimizer.domain.case import Case
from optimizer.plan.plan import Decision
from tests.helpers.oracle import oracle_fewest_offers
from tests.helpers.oracle_candidates import plain_candidates
from tests.helpers.oracle_compare import solved
from tests.helpers.random_cases import random_case
from tests.helpers.reshape import with_fields


def with_twins(case: Case) -> Case:
    """Every offer a second time under another name: ties everywhere."""
    twins = tuple(with_fields(row, offer=f"{row.offer}-twin") for row in case.offers)
    return with_fields(case, offers=(*case.offers, *twins))


def offers_in_use(case: Case, decision: Decision) -> int:
    used = {row.offer for row in decision.node_uses if row.used > 0}
    used |= {row.offer for row in decision.nodes_new if row.nodes_new > 0}
    return sum(case.nodes_existing(name) == 0 for name in used)


@pytest.mark.parametrize("twins", [False, True])
@pytest.mark.parametrize("seed", range(7000, 7025))
def test_fewest_offers_at_the_least_cost(seed: int, twins: bool) -> None:
    case = random_case(seed, without=("three_workloads", "two_pools", "three_options"), replicas_at_peak=3.0)
    case = with_twins(case) if twins else case
    outcome = solved(case)
    if outcome.decision is None or outcome.cost_usd_per_day is None:
        assert outcome.status == "infeasible"
        return
    fewest = oracle_fewest_offers(case, plain_candidates(case), outcome.cost_usd_per_day)
    assert offers_in_use(case, outcome.decision) == fewest
