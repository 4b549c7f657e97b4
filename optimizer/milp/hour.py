"""One slice on its own: a small program whose commitments are either given or bought at a price, solved again and again.

The PuLP problem is handed to HiGHS once; after that only the bounds and prices of its commitments change, on HiGHS' own model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import highspy
import pulp

from optimizer.domain.workload import Workload
from optimizer.errors import SolverFailed
from optimizer.milp.column import COLUMN_FAMILIES, Column, Need
from optimizer.milp.column_rows import add_column_pool
from optimizer.milp.explicit import add_explicit_pool
from optimizer.milp.extract import extract
from optimizer.milp.frame import Frame, build_frame, close_frame
from optimizer.milp.left_nodes import add_left_nodes
from optimizer.milp.menu import Menu
from optimizer.milp.menu_rows import add_menu_pool
from optimizer.milp.prep import PoolData, Prep, arrival_hours
from optimizer.milp.program import Key
from optimizer.milp.rounding import add_rounding_rows
from optimizer.milp.solver import INTEGRALITY, solver_words_on_stderr
from optimizer.plan.plan import Decision

#: Lines of one slice above which a pool is written out in full in its hour, which is then smaller.
_MAX_LINES = 400


@dataclass(frozen=True)
class HourResult:
    """What one run gave. value: cost of the best solution found, inf where none; bound: proven least; lots: per held offer.

    work_tps: what runs of every deferrable workload.
    """

    value: float
    bound: float
    lots: dict[str, int]
    work_tps: dict[str, float]


class Hour:
    """Slice group t as a program of its own, kept in HiGHS between runs. Not to be run twice at the same time."""

    def __init__(
        self, prep: Prep, t: int, menus: dict[str, tuple[Menu, ...]], columns: dict[str, list[Column]] | None = None
    ) -> None:
        """columns: pools that choose one of these ways; what is then found is a plan, but no bound."""
        self.t = t
        self.ways = columns or {}
        pools = tuple(replace(pool, slices=(pool.slices[t],)) for pool in prep.pools)
        self.prep = replace(prep, groups=(prep.groups[t],), pools=pools)
        self.frame: Frame = build_frame(self.prep, holding=False)
        self.menus: dict[str, tuple[Menu, ...]] = {}
        for pool in self.prep.pools:
            made = menus.get(pool.pool.pool)
            if pool.pool.pool in self.ways:
                add_column_pool(self.frame, pool, self.ways[pool.pool.pool])
            elif made is not None and len(made[t].lines) <= _MAX_LINES:
                self.menus[pool.pool.pool] = (made[t],)
                add_menu_pool(self.frame, pool, (made[t],))
            else:
                add_explicit_pool(self.frame, pool)
        add_rounding_rows(self.frame)
        self._add_work()
        close_frame(self.frame)
        add_left_nodes(self.frame)
        program = self.frame.program
        program.close_with_cost()
        self.columns: dict[Key, int] = program.column_numbers()
        self.lots = {key[1]: column for key, column in self.columns.items() if key[0] == "lots"}
        self.work = {key[1]: column for key, column in self.columns.items() if key[0] == "work"}
        self.most = {name: int(program.variables[("lots", name)].upBound or 0) for name in self.lots}
        with solver_words_on_stderr():
            # No time to solve: PuLP only hands the model over.
            program.problem.solve(pulp.HiGHS(msg=False, timeLimit=0.0))
        self.highs: Any = program.problem.solverModel
        if self.highs.getNumRow() != program.row_count:
            raise SolverFailed(f"HiGHS took {self.highs.getNumRow()} of the {program.row_count} rows of an hour")
        self.highs.setOptionValue("mip_allow_restart", False)
        self.highs.setOptionValue("mip_feasibility_tolerance", INTEGRALITY)
        self.highs.HandleUserInterrupt = True
        self._solution: list[float] | None = None

    def _add_work(self) -> None:
        """work[w]: what runs here of each deferrable workload, tok/s; it hangs together with other hours."""
        program = self.frame.program
        for pool in self.prep.pools:
            for workload in pool.workloads:
                if workload.deferrable_hours and (flows := self._flows(workload)):
                    work = program.add_variable(("work", workload.workload))
                    program.add_row(("work", workload.workload), [*((1.0, flow) for flow in flows), (-1.0, work)], "==", 0.0)

    def _flows(self, workload: Workload) -> list[Any]:
        day_type, hour = self.prep.groups[0].members[0]
        keys = (("flow", workload.workload, day_type, arrival, hour) for arrival in arrival_hours(workload, hour))
        return [self.frame.program.variables[key] for key in keys if key in self.frame.program.variables]

    def at_prices(
        self, usd_per_lot: dict[str, float], usd_per_tps: dict[str, float], gap: float, time_limit_s: float
    ) -> HourResult:
        """Least cost where every lot used costs its price and every tok/s of waiting work that runs here earns its price."""
        for name, column in self.lots.items():
            self.highs.changeColCost(column, usd_per_lot.get(name, 0.0))
            self.highs.changeColBounds(column, 0.0, float(self.most[name]))
        for name, column in self.work.items():
            self.highs.changeColCost(column, -usd_per_tps.get(name, 0.0))
            self.highs.changeColBounds(column, 0.0, highspy.kHighsInf)
        return self._run(gap, time_limit_s)

    def with_lots(self, lots: dict[str, int], work_tps: dict[str, float], gap: float, time_limit_s: float) -> HourResult:
        """Least cost of the hour where at most these lots are held, for nothing, and so much waiting work runs."""
        for name, column in self.lots.items():
            self.highs.changeColCost(column, 0.0)
            self.highs.changeColBounds(column, 0.0, float(min(lots.get(name, 0), self.most[name])))
        for name, column in self.work.items():
            self.highs.changeColCost(column, 0.0)
            self.highs.changeColBounds(column, work_tps.get(name, 0.0), work_tps.get(name, 0.0))
        return self._run(gap, time_limit_s)

    def cancel(self) -> None:
        """End the run that another thread is in, if any."""
        self.highs.cancelSolve()

    def values(self) -> dict[Key, float]:
        """The last solution, by the keys of a program of this hour alone with every pool written out in full."""
        if self._solution is None:
            raise SolverFailed("an hour was asked for its plan before it had one")
        values = {key: self._solution[column] for key, column in self.columns.items()}
        for name, ways in self.ways.items():
            for i, way in enumerate(ways):
                if values.get(("way", name, i), 0.0) > 0.5:
                    values.update({(*key[:-1], 0): value for key, value in way.values.items()})
        return values

    def chosen(self) -> list[Column]:
        """The ways chosen in the last solution."""
        if self._solution is None:
            return []
        number = self.columns
        return [
            way
            for name, ways in self.ways.items()
            for i, way in enumerate(ways)
            if self._solution[number[("way", name, i)]] > 0.5
        ]

    def ways_taken(self, pools: tuple[PoolData, ...]) -> list[Column] | None:
        """What these pools took in the last solution, as columns; None where one of them has a menu here."""
        if any(pool.pool.pool in self.menus for pool in pools):
            return None
        values = self.values()
        columns: list[Column] = []
        for pool in pools:
            name = pool.pool.pool
            kinds = {"any_" if pool.spot_mode == "any" else "firm": ("live", "total"), "spot": ("spot_live", "spot_total")}
            kept = {(*key[:-1], self.t): value for key, value in values.items() if key[0] in COLUMN_FAMILIES and key[1] == name}
            needs: dict[Need, float] = {}
            for kind, (live, total) in kinds.items():
                for k, (option, size) in enumerate(zip(pool.options, pool.sizes, strict=True)):
                    count = round(max(values.get((live, name, k, 0), 0.0), values.get((total, name, k, 0), 0.0)))
                    if count:
                        needs[(kind, option.node_type)] = needs.get((kind, option.node_type), 0.0) + count * size
            sent = tuple(
                sum(values.get(("overflow", row.workload, api.api, 0), 0.0) for api in pool.slices[self.t].apis[w])
                for w, row in enumerate(pool.workloads)
            )
            columns.append(Column(name, self.t, tuple(sorted(needs.items())), sent, kept))
        return columns

    def decision(self, lots: dict[str, int], flows: dict[Key, float]) -> Decision:
        """The last solution as a decision for the hours of this slice, with the lots held and all flows of waiting work."""
        values = {key: value for key, value in self.values().items() if key[0] != "flow"}
        values.update(flows)
        values.update({("lots", name): float(count) for name, count in lots.items()})
        self.frame.program.take_values(values)
        return extract(self.frame, self.menus)

    def _run(self, gap: float, time_limit_s: float) -> HourResult:
        self.highs.clearSolver()
        self.highs.setOptionValue("mip_rel_gap", gap)
        self.highs.setOptionValue("mip_abs_gap", 1e-9)
        self.highs.setOptionValue("time_limit", max(time_limit_s, 0.01))
        self.highs.run()
        info = self.highs.getInfo()
        bound = float(info.mip_dual_bound)
        if int(info.primal_solution_status) != 2:
            infeasible = self.highs.getModelStatus().name == "kInfeasible"
            known = bound if isfinite(bound) else -float("inf")  # out of time: what is proven so far holds all the same
            return HourResult(float("inf"), float("inf") if infeasible else known, {}, {})
        self._solution = list(self.highs.getSolution().col_value)
        value = float(info.objective_function_value)
        if not self.lots and bound != bound:
            bound = value
        return HourResult(
            value, min(bound, value), {name: round(self._solution[column]) for name, column in self.lots.items()},
            {name: max(self._solution[column], 0.0) for name, column in self.work.items()},
        )
