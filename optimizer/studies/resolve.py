"""A changed case, solved anew: what a study may believe of its cost."""

from __future__ import annotations

import time
from dataclasses import dataclass

from optimizer.candidates.enumerate import find_candidates
from optimizer.domain.case import Case
from optimizer.errors import Refused, SolverFailed
from optimizer.milp.solve import solve_case
from optimizer.milp.solver import HIGHS
from optimizer.plan.plan import Decision

#: Gap that counts as closed in a study: costs are compared, so it is tighter than any policy's.
GAP = 1e-6


@dataclass(frozen=True)
class Resolved:
    """Outcome of one solve. infeasible: proven. cost and decision: of the best plan found, None where none was; no plan of the
    case can cost less than `bound` ($/day)."""

    infeasible: bool
    cost: float | None
    bound: float
    decision: Decision | None


def resolve(case: Case, *, gap: float, time_limit_s: float, solver: str = HIGHS) -> Resolved | None:
    """Find the candidates of a case and solve it; None where it is refused, or the solver gives up."""
    try:
        candidates = find_candidates(case)
        outcome = solve_case(
            case, candidates, gap=gap, time_limit_s=max(time_limit_s, 0.0), tie_break=False, solver=solver
        )
    except (Refused, SolverFailed):
        return None
    bound = outcome.bound_usd_per_day or 0.0
    return Resolved(outcome.status == "infeasible", outcome.cost_usd_per_day, bound, outcome.decision)


@dataclass(frozen=True)
class Clock:
    """Wall seconds that a study may take, and the solver that it takes them with."""

    deadline: float
    one_solve_s: float = 1.0
    solver: str = HIGHS

    @classmethod
    def of(cls, seconds: float, *, one_solve_s: float = 1.0, solver: str = HIGHS) -> Clock:
        """A clock that runs out after so many seconds from now. one_solve_s: no solve is given less while there is that much."""
        return cls(time.perf_counter() + seconds, one_solve_s, solver)

    @property
    def left_s(self) -> float:
        """Seconds left, below 0 when over."""
        return self.deadline - time.perf_counter()

    @property
    def over(self) -> bool:
        """True when nothing more may be started."""
        return self.left_s <= 0

    def share(self, number: int) -> float:
        """Seconds for one of so many solves that are left: three even parts, since most take less than one."""
        return min(max(3 * self.left_s / max(number, 1), self.one_solve_s), self.left_s)

    def at_most(self, seconds: float) -> Clock:
        """A clock that runs out after so many seconds, or when this one does."""
        return Clock(min(self.deadline, time.perf_counter() + seconds), self.one_solve_s, self.solver)


@dataclass(frozen=True)
class Reference:
    """What is known of the least cost of the case itself, $/day: a plan costs `cost`, none can cost less than `bound`."""

    cost: float
    bound: float

    @property
    def tolerance(self) -> float:
        """How far the plan's cost may be from the least cost."""
        return max(self.cost - self.bound, 0.0)

    @property
    def gap(self) -> float:
        """Relative gap to which changed cases are worth proving: no tighter than the case itself is."""
        return max(GAP, self.tolerance / self.cost) if self.cost > 0 else GAP


def sharpen(case: Case, known: Reference, time_limit_s: float, *, solver: str = HIGHS) -> Reference:
    """The same with a tighter proof, where the case can be solved to `GAP` in the time."""
    if known.tolerance <= GAP * known.cost or time_limit_s <= 0:
        return known
    again = resolve(case, gap=GAP, time_limit_s=time_limit_s, solver=solver)
    if again is None or again.cost is None:
        return known
    cost = min(known.cost, again.cost)
    return Reference(cost, min(max(known.bound, again.bound), cost))
