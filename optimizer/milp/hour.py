"""One slice on its own: a small program whose commitments are either given or bought at a price, solved again and again.

The PuLP problem is handed to HiGHS once; after that only the bounds and prices of its commitments change, on HiGHS' own model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pulp

from optimizer.errors import SolverFailed
from optimizer.milp.explicit import add_explicit_pool
from optimizer.milp.extract import extract
from optimizer.milp.frame import Frame, build_frame, close_frame
from optimizer.milp.left_nodes import add_left_nodes
from optimizer.milp.menu import Menu
from optimizer.milp.menu_rows import add_menu_pool
from optimizer.milp.prep import Prep
from optimizer.milp.program import Key
from optimizer.milp.rounding import add_rounding_rows
from optimizer.milp.solver import solver_words_on_stderr
from optimizer.plan.plan import Decision

#: Lines of one slice above which a pool is written out in full in its hour, which is then smaller.
_MAX_LINES = 400


@dataclass(frozen=True)
class HourResult:
    """What one run gave. value: cost of the best solution found, inf where none; bound: proven least; lots: per held offer."""

    value: float
    bound: float
    lots: dict[str, int]


class Hour:
    """Slice group t as a program of its own, kept in HiGHS between runs. Not to be run twice at the same time."""

    def __init__(self, prep: Prep, t: int, menus: dict[str, tuple[Menu, ...]]) -> None:
        pools = tuple(replace(pool, slices=(pool.slices[t],)) for pool in prep.pools)
        self.prep = replace(prep, groups=(prep.groups[t],), pools=pools)
        self.frame: Frame = build_frame(self.prep, holding=False)
        self.menus: dict[str, tuple[Menu, ...]] = {}
        for pool in self.prep.pools:
            made = menus.get(pool.pool.pool)
            if made is not None and len(made[t].lines) <= _MAX_LINES:
                self.menus[pool.pool.pool] = (made[t],)
                add_menu_pool(self.frame, pool, (made[t],))
            else:
                add_explicit_pool(self.frame, pool)
        add_rounding_rows(self.frame)
        close_frame(self.frame)
        add_left_nodes(self.frame)
        program = self.frame.program
        program.close_with_cost()
        self.columns: dict[Key, int] = program.column_numbers()
        self.lots = {key[1]: column for key, column in self.columns.items() if key[0] == "lots"}
        self.most = {name: int(program.variables[("lots", name)].upBound or 0) for name in self.lots}
        with solver_words_on_stderr():
            # No time to solve: PuLP only hands the model over.
            program.problem.solve(pulp.HiGHS(msg=False, timeLimit=0.0))
        self.highs: Any = program.problem.solverModel
        if self.highs.getNumRow() != program.row_count:
            raise SolverFailed(f"HiGHS took {self.highs.getNumRow()} of the {program.row_count} rows of an hour")
        self._solution: list[float] | None = None

    def at_prices(self, usd_per_lot: dict[str, float], gap: float, time_limit_s: float) -> HourResult:
        """Least cost where every lot used costs its price; the bound holds for the priced hour."""
        for name, column in self.lots.items():
            self.highs.changeColCost(column, usd_per_lot.get(name, 0.0))
            self.highs.changeColBounds(column, 0.0, float(self.most[name]))
        return self._run(gap, time_limit_s)

    def with_lots(self, lots: dict[str, int], gap: float, time_limit_s: float) -> HourResult:
        """Least cost of the hour where at most these lots are held, for nothing."""
        for name, column in self.lots.items():
            self.highs.changeColCost(column, 0.0)
            self.highs.changeColBounds(column, 0.0, float(min(lots.get(name, 0), self.most[name])))
        return self._run(gap, time_limit_s)

    def decision(self, lots: dict[str, int]) -> Decision:
        """The last solution as a decision for the hours of this slice, with the lots that are held."""
        if self._solution is None:
            raise SolverFailed("an hour was asked for its plan before it had one")
        values = {key: self._solution[column] for key, column in self.columns.items()}
        values.update({("lots", name): float(count) for name, count in lots.items()})
        self.frame.program.take_values(values)
        return extract(self.frame, self.menus)

    def _run(self, gap: float, time_limit_s: float) -> HourResult:
        self.highs.clearSolver()
        self.highs.setOptionValue("mip_rel_gap", gap)
        self.highs.setOptionValue("time_limit", max(time_limit_s, 0.01))
        self.highs.run()
        info = self.highs.getInfo()
        bound = float(info.mip_dual_bound)
        if int(info.primal_solution_status) != 2:
            infeasible = self.highs.getModelStatus().name == "kInfeasible"
            return HourResult(float("inf"), float("inf") if infeasible else max(bound, 0.0), {})
        self._solution = list(self.highs.getSolution().col_value)
        value = float(info.objective_function_value)
        if not self.lots and bound != bound:
            bound = value
        return HourResult(value, min(bound, value), {name: round(self._solution[column]) for name, column in self.lots.items()})
