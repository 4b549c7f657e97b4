"""What ties the hours together: cuts below (for the bound and the next commitments) and columns above (for the next prices)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pulp

from optimizer.milp.bounds import nodes_bound
from optimizer.milp.frame import Frame, add_held, add_sites
from optimizer.milp.prep import run_hours
from optimizer.milp.program import Key, Program, Term
from optimizer.milp.solver import solve, solver_words_on_stderr
from optimizer.plan.ledger import node_rates

#: Programs of commitments alone are solved in no time; this only keeps a fault from hanging.
_SMALL_S = 10.0


@dataclass(frozen=True)
class Cut:
    """One run of hour t at prices: v_t(n, b) >= bound - prices n + work_prices b for all lots n and work b that waited and runs.

    own_cost, lots, work_tps: of its solution.
    """

    t: int
    bound: float
    prices: dict[str, float]
    work_prices: dict[str, float]
    own_cost: float
    lots: dict[str, int]
    work_tps: dict[str, float]


@dataclass(frozen=True)
class HourPrices:
    """Of one slice: $/day per lot of every held offer, and per tok/s of every deferrable workload that runs there."""

    lots: dict[str, float]
    work: dict[str, float]


class Master:
    """Holding costs, minimums, racks and power of the commitments, with the hours known through cuts and columns only."""

    def __init__(self, frame: Frame) -> None:
        self.prep = frame.prep
        self.cuts: list[Cut] = []
        self._bounds = {row.node_type: nodes_bound(self.prep, row.node_type) for row in self.prep.node_types}
        commitments = self._commitments()
        self._most = {
            offer.offer: int(commitments.variables[("lots", offer.offer)].upBound or 0)
            for offer in frame.prep.offers
            if offer.is_held
        }
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

    def best_commitments(self, *, time_limit_s: float) -> tuple[dict[str, int], dict[Key, float], float]:
        """Whole lots and flows that minimise holding cost plus the highest cuts, and that minimum: a bound on the program."""
        program = self._commitments()
        work = self._add_flows(program)
        for t in range(len(self.prep.groups)):
            program.add_cost(1.0, program.add_variable(("theta", t)))
        for i, cut in enumerate(self.cuts):
            terms: list[Term] = [(1.0, program.variables[("theta", cut.t)])]
            terms += [(price, program.variables[("lots", name)]) for name, price in cut.prices.items()]
            terms += [(-price * c, flow) for name, price in cut.work_prices.items() for c, flow in work.get((name, cut.t), [])]
            program.add_row(("cut", i), terms, ">=", cut.bound)
        program.close_with_cost()
        solved = solve(program, gap=1e-6, time_limit_s=time_limit_s)
        if solved.objective is None or solved.bound is None:
            return {}, {}, 0.0
        flows = {key: max(program.value(key), 0.0) for key in program.variables if key[0] == "flow"}
        return {name: program.whole(("lots", name)) for name in self._price}, flows, solved.bound

    def estimate(self, lots: dict[str, int], work: list[dict[str, float]]) -> float:
        """Least that a plan with these lots and this work per slice can cost, by the cuts known, $/day."""
        highest = [0.0] * len(self.prep.groups)
        for cut in self.cuts:
            value = cut.bound - sum(price * lots[name] for name, price in cut.prices.items())
            value += sum(price * work[cut.t].get(name, 0.0) for name, price in cut.work_prices.items())
            highest[cut.t] = max(highest[cut.t], value)
        return self.holding(lots) + sum(highest)

    def neighbours(self, lots: dict[str, int]) -> list[dict[str, int]]:
        """Commitments that differ by one lot more, one less, or one of one offer instead of one of another."""
        steps: list[dict[str, int]] = [{name: by} for name in lots for by in (1, -1)]
        steps += [{more: 1, less: -1} for more in lots for less in lots if more != less]
        found = []
        for step in steps:
            near = {name: count + step.get(name, 0) for name, count in lots.items()}
            if all(0 <= count <= self._most[name] for name, count in near.items()):
                found.append(near)
        return found

    def value_at(self, prices: list[HourPrices], bounds: list[float]) -> float:
        """The Lagrangian value at these prices: hours at their bounds, the lots that gain most where they are worth more, and
        work run where it earns least."""
        program = self._commitments()
        terms = [
            (self._price[name] - sum(at.lots.get(name, 0.0) for at in prices), program.variables[("lots", name)])
            for name in self._price
        ]
        for (name, t), flows in self._add_flows(program).items():
            terms += [(prices[t].work.get(name, 0.0) * c, flow) for c, flow in flows]
        program.close_with(terms)
        solved = solve(program, gap=1e-6, time_limit_s=_SMALL_S)
        return sum(bounds) + (solved.bound if solved.bound is not None else -float("inf"))

    def next_prices(self, center: list[HourPrices], box: float, *, time_limit_s: float) -> list[HourPrices]:
        """Prices at which the hours' known solutions, mixed at will, would be tied best; within the box around the center.

        Dual of: minimise holding cost plus mixed own costs, each hour's mixed lots at most the lots held and its mixed work at
        least what runs there. Leaving a price's box costs as much as its border, which is what the two slack columns say.
        """
        program = self._commitments(whole=False)
        work = self._add_flows(program)
        groups = range(len(self.prep.groups))
        mixed: dict[tuple[int, str], list[Term]] = {(t, name): [] for t in groups for name in self._price}
        done: dict[tuple[str, int], list[Term]] = {key: [] for key in work}
        shares: dict[int, list[Term]] = {t: [] for t in groups}
        for i, cut in enumerate(self.cuts):
            if cut.own_cost == float("inf"):
                continue  # a bound without a solution
            share = program.add_variable(("share", i))
            program.add_cost(cut.own_cost, share)
            shares[cut.t].append((1.0, share))
            for name, count in cut.lots.items():
                if count:
                    mixed[(cut.t, name)].append((float(count), share))
            for name, tps in cut.work_tps.items():
                if tps > 0 and (name, cut.t) in done:
                    done[(name, cut.t)].append((tps, share))
        for t in groups:
            program.add_row(("mix", t), shares[t], "==", 1.0)
            for name, price in self._price.items():
                width = box * max(price / len(self.prep.groups), 1e-6)
                at = center[t].lots.get(name, 0.0)
                slack = self._slack(program, ("lots", t, name), at, width)
                terms = [*mixed[(t, name)], (-1.0, program.variables[("lots", name)]), *slack]
                program.add_row(("tie", t, name), terms, "<=", 0.0)
        typical = {name: max([at.work.get(name, 0.0) for at in center] + [1e-9]) for name, _ in work}
        for (name, t), flows in work.items():
            slack = self._slack(program, ("work", t, name), center[t].work.get(name, 0.0), box * typical[name])
            terms = [*flows, *((-c, share) for c, share in done[(name, t)]), *slack]
            program.add_row(("do", t, name), terms, "<=", 0.0)
        program.close_with_cost()
        with solver_words_on_stderr():
            program.problem.solve(pulp.HiGHS(msg=False, timeLimit=max(time_limit_s, 0.0)))
        highs = program.problem.solverModel
        if highs.getModelStatus().name != "kOptimal":
            return center
        duals = list(highs.getSolution().row_dual)

        def price_of(key: Key) -> float:
            number = program.row_number(key)
            return max(-duals[number], 0.0) if number is not None else 0.0

        return [
            HourPrices(
                {name: price_of(("tie", t, name)) for name in self._price},
                {name: price_of(("do", t, name)) for name, at_t in work if at_t == t},
            )
            for t in groups
        ]

    @staticmethod
    def _slack(program: Program, key: Key, center: float, width: float) -> list[Term]:
        over = program.add_variable(("over", *key))
        under = program.add_variable(("under", *key))
        program.add_cost(center + width, over)
        program.add_cost(-max(center - width, 0.0), under)
        return [(-1.0, over), (1.0, under)]

    def _add_flows(self, program: Program) -> dict[tuple[str, int], list[Term]]:
        """Flows of deferrable work, all of it run some time; (workload, slice) -> what runs there."""
        slice_of = {member: t for t, group in enumerate(self.prep.groups) for member in group.members}
        work: dict[tuple[str, int], list[Term]] = {}
        for pool in self.prep.pools:
            for workload in pool.workloads:
                if not workload.deferrable_hours:
                    continue
                for day in workload.demand:
                    for arrival, demand in enumerate(day.output_tps):
                        if demand <= 0:
                            continue
                        every: list[Term] = []
                        for run in run_hours(workload, arrival):
                            flow = program.add_variable(("flow", workload.workload, day.day_type, arrival, run), up=demand)
                            every.append((1.0 / demand, flow))
                            work.setdefault((workload.workload, slice_of[(day.day_type, run)]), []).append((1.0, flow))
                        program.add_row(("all_run", workload.workload, day.day_type, arrival), every, "==", 1.0)
        return work

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
