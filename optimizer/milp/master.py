"""What ties the hours together: cuts below (for the bound and the next commitments) and columns above (for the next prices)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pulp

from optimizer.milp.bounds import nodes_bound
from optimizer.milp.frame import Frame, add_held, add_sites
from optimizer.milp.program import Program, Term
from optimizer.milp.solver import solve, solver_words_on_stderr
from optimizer.plan.ledger import node_rates

#: Programs of commitments alone are solved in no time; this only keeps a fault from hanging.
_SMALL_S = 10.0


@dataclass(frozen=True)
class Cut:
    """One run of hour t at prices: v_t(n) >= bound - prices n for every n; and the lots and own cost of its solution."""

    t: int
    bound: float
    prices: dict[str, float]
    own_cost: float
    lots: dict[str, int]


class Master:
    """Holding costs, minimums, racks and power of the commitments, with the hours known through cuts and columns only."""

    def __init__(self, frame: Frame) -> None:
        self.prep = frame.prep
        self.cuts: list[Cut] = []
        self._bounds = {row.node_type: nodes_bound(self.prep, row.node_type) for row in self.prep.node_types}
        self._price = {
            offer.offer: node_rates(frame.prep.case, offer).holding_per_day * offer.lot_nodes
            for offer in frame.prep.offers
            if offer.is_held
        }

    def holding(self, lots: dict[str, int]) -> float:
        """What these lots cost to hold, $/day."""
        return sum(self._price[name] * count for name, count in lots.items())

    def allowed(self, lots: dict[str, int]) -> bool:
        """True where sites, minimums and caps allow these lots."""
        program = self._commitments()
        for name, count in lots.items():
            program.add_row(("given", name), [(1.0, program.variables[("lots", name)])], "==", float(count))
        program.close_with_cost()
        return solve(program, gap=1e-6, time_limit_s=_SMALL_S).objective is not None

    def even_prices(self) -> dict[str, float]:
        """Each lot's holding cost spread evenly over the slices, $/day."""
        return {name: price / len(self.prep.groups) for name, price in self._price.items()}

    def add(self, cut: Cut) -> None:
        """Remember one run of an hour."""
        self.cuts.append(cut)

    def best_commitments(self, *, time_limit_s: float) -> tuple[dict[str, int], float]:
        """Whole lots that minimise holding cost plus the highest cuts, and that minimum: a bound on the whole program."""
        program = self._commitments()
        for t in range(len(self.prep.groups)):
            program.add_cost(1.0, program.add_variable(("theta", t)))
        for i, cut in enumerate(self.cuts):
            terms: list[Term] = [(1.0, program.variables[("theta", cut.t)])]
            terms += [(price, program.variables[("lots", name)]) for name, price in cut.prices.items()]
            program.add_row(("cut", i), terms, ">=", cut.bound)
        program.close_with_cost()
        solved = solve(program, gap=1e-6, time_limit_s=time_limit_s)
        if solved.objective is None or solved.bound is None:
            return {}, 0.0
        return {name: program.whole(("lots", name)) for name in self._price}, solved.bound

    def value_at(self, prices: list[dict[str, float]], bounds: list[float]) -> float:
        """The Lagrangian value at these prices: hours at their bounds, and the lots that gain most where they are worth more."""
        program = self._commitments()
        terms = [
            (self._price[name] - sum(at.get(name, 0.0) for at in prices), program.variables[("lots", name)])
            for name in self._price
        ]
        program.close_with(terms)
        solved = solve(program, gap=1e-6, time_limit_s=_SMALL_S)
        return sum(bounds) + (solved.bound if solved.bound is not None else 0.0)

    def next_prices(self, center: list[dict[str, float]], box: float, *, time_limit_s: float) -> list[dict[str, float]]:
        """Prices at which the hours' known solutions, mixed at will, would be tied best; within the box around the center.

        Dual of: minimise holding cost plus mixed own costs, each hour's mixed lots at most the lots held. Leaving a price's box
        costs as much as its border, which is what the two slack columns say.
        """
        program = self._commitments(whole=False)
        groups = range(len(self.prep.groups))
        mixed: dict[tuple[int, str], list[Term]] = {(t, name): [] for t in groups for name in self._price}
        shares: dict[int, list[Term]] = {t: [] for t in groups}
        for i, cut in enumerate(self.cuts):
            share = program.add_variable(("share", i))
            program.add_cost(cut.own_cost, share)
            shares[cut.t].append((1.0, share))
            for name, count in cut.lots.items():
                if count:
                    mixed[(cut.t, name)].append((float(count), share))
        for t in groups:
            program.add_row(("mix", t), shares[t], "==", 1.0)
            for name, price in self._price.items():
                width = box * max(price / len(self.prep.groups), 1e-6)
                over = program.add_variable(("over", t, name))
                under = program.add_variable(("under", t, name))
                program.add_cost(center[t].get(name, 0.0) + width, over)
                program.add_cost(-max(center[t].get(name, 0.0) - width, 0.0), under)
                terms = [*mixed[(t, name)], (-1.0, program.variables[("lots", name)]), (-1.0, over), (1.0, under)]
                program.add_row(("tie", t, name), terms, "<=", 0.0)
        program.close_with_cost()
        with solver_words_on_stderr():
            program.problem.solve(pulp.HiGHS(msg=False, timeLimit=max(time_limit_s, 0.0)))
        highs = program.problem.solverModel
        if highs.getModelStatus().name != "kOptimal":
            return center
        duals = list(highs.getSolution().row_dual)
        prices = []
        for t in groups:
            at = {}
            for name in self._price:
                number = program.row_number(("tie", t, name))
                at[name] = max(-duals[number], 0.0) if number is not None else 0.0
            prices.append(at)
        return prices

    def _commitments(self, *, whole: bool = True) -> Program:
        """A program of commitments alone, with their cost and every row that concerns only them."""
        frame = Frame(replace(self.prep, groups=()), Program("commitments"))
        for offer in self.prep.offers:
            if offer.is_held:
                add_held(frame, offer, self._bounds[offer.node_type], holding=True)
        add_sites(frame)
        if not whole:
            for variable in frame.program.variables.values():
                variable.cat = "Continuous"
        return frame.program
