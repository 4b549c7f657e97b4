"""Everything that explains a plan, in one call: why each line, what binds, what headroom costs, what would join and when."""

from __future__ import annotations

from optimizer.candidates.option import Candidates
from optimizer.domain.base import Frozen
from optimizer.domain.case import Case
from optimizer.milp.solver import HIGHS
from optimizer.plan.plan import Plan
from optimizer.studies.entry import EntryPrice, entry_prices
from optimizer.studies.headroom import cost_of_headroom
from optimizer.studies.lp import LpPrices
from optimizer.studies.resolve import Clock, Reference, sharpen
from optimizer.studies.why import WhyLine, why_lines
from optimizer.studies.worth import Worth, worth_of_limits

#: Wall seconds for all re-solves together.
BUDGET_S = 30.0
#: A re-solve may take so many times as long as the plan did before another row gets its turn.
_TIMES_THE_PLAN = 2.0


class PlanExplanation(Frozen):
    """Results of the studies. cost and bound: what they compare with, $/day; the proof may be tighter than the plan's own, and
    the cost lower than the plan's where the search for a tighter proof found a cheaper plan inside the plan's gap."""

    why: tuple[WhyLine, ...]
    headroom: tuple[Worth, ...]
    worth: tuple[Worth, ...]
    entry: tuple[EntryPrice, ...]
    cost_usd_per_day: float
    bound_usd_per_day: float


def explain_plan(
    case: Case, candidates: Candidates, plan: Plan, *, budget_s: float = BUDGET_S, solver: str = HIGHS
) -> PlanExplanation:
    """All studies of a plan within about `budget_s` wall seconds; what the time is too short for says so in its row.

    The time is shared: a quarter to sharpen the proof, then headroom, limits and entry prices get equal parts of what is left.
    A program that is too large for that is not solved again: its rows get LP prices.
    """
    clock = Clock.of(budget_s, one_solve_s=max(1.0, _TIMES_THE_PLAN * plan.solver.seconds), solver=solver)
    lp = LpPrices(case)
    known = Reference(plan.cost.total, min(plan.bound_usd_per_day, plan.cost.total))
    reference = known if lp.is_hard else sharpen(case, known, clock.left_s / 4, solver=solver)
    headroom = cost_of_headroom(case, reference, clock.at_most(clock.left_s / 3), lp)
    worth = worth_of_limits(case, candidates, plan.decision, reference, clock.at_most(clock.left_s / 2), lp)
    entry = entry_prices(case, candidates, plan.decision, reference, clock, lp)
    return PlanExplanation(
        why=why_lines(case, candidates, plan), headroom=headroom, worth=worth, entry=entry, cost_usd_per_day=reference.cost,
        bound_usd_per_day=reference.bound,
    )
