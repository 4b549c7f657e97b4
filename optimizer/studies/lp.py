"""LP prices: what a change is worth in the relaxation of the program, where solving the case itself again would take too long.

They are worths of small changes and no proof: the relaxation knows no whole nodes and replicas. A program counts as hard by its
size, not by the time a solve took, so that equal inputs are explained alike on every machine.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Literal

from optimizer.candidates.enumerate import find_candidates
from optimizer.domain.case import Case
from optimizer.errors import Refused, SolverFailed
from optimizer.milp.relaxation import SAME_REL, Relaxation
from optimizer.studies.resolve import Clock

#: How a figure was found, wherever one is labelled.
LP_PRICE: Literal["LP price"] = "LP price"
#: With more whole variables than this a case is not solved again for every row.
MANY_WHOLE = 600
#: Share of a clock that true re-solves may take, so that LP prices are left for the rows that they do not reach.
EXACT_SHARE = 0.7


class LpPrices:
    """LP prices of one case. The relaxation of the case itself is built and solved once."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._cost: float | None = None

    @cached_property
    def _relaxation(self) -> Relaxation:
        return Relaxation(self._case, find_candidates(self._case))

    @cached_property
    def is_hard(self) -> bool:
        """True where the program is too large to be solved again for every row."""
        return self._relaxation.whole > MANY_WHOLE

    def change(self, changed: Case, clock: Clock, begun: Case | None = None) -> float | None:
        """What the relaxation of the changed case costs more, $/day (below 0: less); inf where no plan exists even so.

        begun: the case with next to nothing of the change, where it comes in any amount. It is what the changed case is compared
        with where the change gives the program another shape (the first per cent on spot), and a part of the difference that is
        none of its worth. None where the time ran out, a case is refused, or the case itself has no plan.
        """
        try:
            relaxation = Relaxation(changed, find_candidates(changed))
            before = self._base(clock)
            if begun is not None and relaxation.shape != self._relaxation.shape:
                other = Relaxation(begun, find_candidates(begun))
                if other.shape == relaxation.shape:
                    before = other.least_cost(time_limit_s=clock.left_s, solver=clock.solver)
            if before is None or math.isinf(before):
                return None
            cost = relaxation.least_cost(time_limit_s=clock.left_s, solver=clock.solver)
        except (Refused, SolverFailed):
            return None
        if cost is None:
            return None
        change = cost - before
        return 0.0 if abs(change) <= SAME_REL * max(abs(before), 1.0) else change

    def _base(self, clock: Clock) -> float | None:
        """Least cost of the relaxation of the case itself, $/day."""
        if self._cost is None:
            self._cost = self._relaxation.least_cost(time_limit_s=clock.left_s, solver=clock.solver)
        return self._cost

    def entry_factor(self, offers: tuple[str, ...], clock: Clock) -> float | None:
        """The share of their list prices at which the relaxation would take of these offers; None where the time ran out."""
        if clock.over:
            return None
        try:
            return self._relaxation.entry_factor(offers, time_limit_s=clock.left_s, solver=clock.solver)
        except SolverFailed:
            return None
