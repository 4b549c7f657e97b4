"""The whole program with every whole number let go: what it costs at least, and at which prices offers would enter it.

Its cost is a bound on the program's own, and differences of it are LP prices: worths of small changes, that know no whole nodes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator
from typing import Any

from optimizer.candidates.option import Candidates
from optimizer.domain.case import Case
from optimizer.milp.program import Term
from optimizer.milp.solve import build
from optimizer.milp.solver import HIGHS, solve
from optimizer.plan.ledger import node_rates

#: Rounds of the search for an entry price. It ends by itself after a few: every round goes to a corner of a concave curve.
_ROUNDS = 40
#: Costs closer than this share of them are the same: what a solver of linear programs leaves open.
SAME_REL = 1e-7


class Relaxation:
    """The program of a case without whole numbers.

    whole: how many variables the program itself keeps whole, its size. shape: which kinds of variables each pool, offer and
    workload has. Relaxations of another shape may lie further below their programs.
    """

    def __init__(self, case: Case, candidates: Candidates) -> None:
        self._frame, _ = build(case, candidates)
        self._case = case
        self.whole = 0
        for variable in self._frame.program.variables.values():
            if variable.cat == "Integer":
                self.whole += 1
                variable.cat = "Continuous"
        self.shape = frozenset(key[:2] for key in self._frame.program.variables)

    def least_cost(
        self, *, time_limit_s: float, solver: str = HIGHS, without: Collection[tuple[str, str]] = ()
    ) -> float | None:
        """Least cost in $/day, constants included; inf where there is no plan even so, None where the time ran out.

        without: of `shape`, what must not be used.
        """
        if time_limit_s <= 0:
            return None
        fixed = [(v, v.upBound) for key, v in self._frame.program.variables.items() if key[:2] in without]
        for variable, _ in fixed:
            variable.upBound = 0.0
        try:
            return self._least_cost(time_limit_s, solver)
        finally:
            for variable, most in fixed:
                variable.upBound = most

    def _least_cost(self, time_limit_s: float, solver: str) -> float | None:
        solved = solve(self._frame.program, gap=0.0, time_limit_s=time_limit_s, solver=solver)
        if solved.status == "infeasible":
            return math.inf
        if solved.status != "optimal" or solved.objective is None:
            return None
        return solved.objective + self._frame.program.constant_usd_per_day

    def entry_factor(self, offers: Collection[str], *, time_limit_s: float, solver: str = HIGHS) -> float | None:
        """The share of all list prices of these offers (held, used, upfront) below which the relaxation buys of them; at most 1.

        The least cost z(f) at the share f is concave and level from the share that is looked for: where its tangent at f reaches
        that level is a larger share, and never too large (Newton's method from below). None where the time ran out.
        """
        deadline = time.perf_counter() + time_limit_s
        listed = list(self._listed(offers))
        unused = {key[:2] for key, _ in self._columns(offers)}
        without = self.least_cost(time_limit_s=time_limit_s, solver=solver, without=unused)
        factor = 0.0
        try:
            for _ in range(_ROUNDS):
                cost = self._at_share(listed, factor, deadline - time.perf_counter(), solver)
                if cost is None or without is None:
                    return None
                if cost >= without - SAME_REL * abs(without):
                    break
                paid = sum(usd * float(variable.varValue or 0.0) for usd, variable in listed)
                if math.isinf(without) or paid <= 0:
                    return 1.0
                following = min(factor + (without - cost) / paid, 1.0)
                if following <= factor * (1 + SAME_REL):
                    break
                factor = following
                if factor >= 1:
                    break
        finally:
            self._frame.program.close_with_cost()
        return factor

    def _at_share(self, listed: list[Term], factor: float, time_limit_s: float, solver: str) -> float | None:
        self._frame.program.close_with([*self._frame.program.cost_terms, *((-(1 - factor) * usd, v) for usd, v in listed)])
        return self.least_cost(time_limit_s=time_limit_s, solver=solver)

    def _columns(self, offers: Collection[str]) -> Iterator[tuple[tuple[Any, ...], Any]]:
        for key, variable in self._frame.program.variables.items():
            if key[0] in ("lots", "used") and key[1] in offers:
                yield key, variable

    def _listed(self, offers: Collection[str]) -> Iterator[Term]:
        """$/day at list price per unit of each variable that pays for these offers; less what a commitment pays instead."""
        groups = self._frame.prep.groups
        rates = {offer.offer: (offer, node_rates(self._case, offer)) for offer in self._frame.prep.offers}
        for key, variable in self._columns(offers):
            offer, rate = rates[key[1]]
            if key[0] == "lots":
                yield offer.lot_nodes * (rate.held_per_day + rate.upfront_per_day), variable
            else:
                yield rate.used_per_h * groups[key[2]].weight, variable
        for key, variable in self._frame.program.variables.items():
            if key[0] == "covered" and key[2] in offers:
                yield -rates[key[2]][1].used_per_h * groups[key[3]].weight, variable
