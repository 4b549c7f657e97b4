"""Studies run on the solver that was chosen, like the plan itself."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

from optimizer.candidates.enumerate import find_candidates
from optimizer.milp import solver
from optimizer.milp.solve import solve_case
from optimizer.plan.metrics import price_plan
from optimizer.studies import lp
from optimizer.studies.baselines import solve_baselines
from optimizer.studies.explanation import explain_plan
from optimizer.studies.infeasible import explain
from tests.studies.cases import PEAK, case, offer

CBC = "CBC"
#: PuLP 3 warns of the CBC that it carries.
pytestmark = [pytest.mark.cbc, pytest.mark.filterwarnings("ignore:PULP_CBC_CMD is deprecated:DeprecationWarning")]
BUDGET_S = 600.0


@pytest.fixture
def cbc_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS fails where it is asked for."""
    def asked(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("HiGHS was asked")

    monkeypatch.setattr(solver.pulp, "HiGHS", asked)


@pytest.mark.usefixtures("cbc_alone")
def test_baselines_and_explanations() -> None:
    """Five nodes at $20 and one on demand at $30; a sixth saves $240. Without a cap $2,880, on demand $4,320."""
    given = case(PEAK, Offers=[offer(max_nodes=5), offer("od", "on_demand"), offer("dear", held_usd_per_node_h=36.0)])
    candidates = find_candidates(given)
    outcome = solve_case(given, candidates, gap=0.0, time_limit_s=60.0, solver=CBC)
    baselines = solve_baselines(given, candidates, solver=CBC)
    assert baselines.all_on_demand == pytest.approx(6 * 30 * 24)
    assert baselines.reserved_at_peak == pytest.approx((5 * 20 + 36) * 24)
    told = explain_plan(given, candidates, price_plan(given, candidates, outcome, baselines), budget_s=BUDGET_S, solver=CBC)
    worth = {row.words: row for row in told.worth}
    assert worth["+1 node of offer flat"].usd_per_day == pytest.approx(-240)
    (dear,) = told.entry
    assert (dear.found, dear.entry_usd_per_node_h) == ("re-solved", pytest.approx(30.0, rel=1e-4))


@pytest.mark.usefixtures("cbc_alone")
def test_lp_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lp, "MANY_WHOLE", -1)
    given = case(PEAK, Offers=[offer(max_nodes=5), offer("od", "on_demand")])
    candidates = find_candidates(given)
    outcome = solve_case(given, candidates, gap=0.0, time_limit_s=60.0, solver=CBC)
    baselines = solve_baselines(given, candidates, solver=CBC)
    told = explain_plan(given, candidates, price_plan(given, candidates, outcome, baselines), budget_s=BUDGET_S, solver=CBC)
    (row,) = (row for row in told.worth if row.words == "+1 node of offer flat")
    assert (row.found, row.usd_per_day) == ("LP price", pytest.approx(-240))


@pytest.mark.usefixtures("cbc_alone")
def test_infeasible() -> None:
    given = case(PEAK, Offers=[offer(max_nodes=5)])
    (row,) = (row for row in explain(given, find_candidates(given), budget_s=BUDGET_S, solver=CBC) if row.limit == "max_nodes")
    assert (row.missing, row.usd_per_day) == (1.0, pytest.approx(6 * 480))
