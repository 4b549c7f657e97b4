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
#: Kinds of variables that stand for a way to serve, besides firm nodes.
_MEANS = frozenset({"spot_live", "spot_total", "spot_load", "overflow"})
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

    def change(self, changed: Case, clock: Clock) -> float | None:
        """What the relaxation of the changed case costs more, $/day (below 0: less); inf where no plan exists even so.

        Where the change brings in means that the case has not (the first per cent on spot, or at an API), both costs are of the
        changed program, once without those means: written out with them a program relaxes further, which is no worth of theirs.
        None where the time ran out, a case is refused, or the case itself has no plan.
        """
        try:
            relaxation = Relaxation(changed, find_candidates(changed))
            new = frozenset(key for key in relaxation.shape - self._relaxation.shape if key[0] in _MEANS)
            if new:
                before = relaxation.least_cost(time_limit_s=clock.left_s, solver=clock.solver, without=new)
            else:
                before = self._base(clock)
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
