"""Cheapest ways of any pool at given prices: every slice a small program of its own, kept in HiGHS between runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pulp

from optimizer.errors import SolverFailed
from optimizer.milp.column import COLUMN_FAMILIES, Care, Column, ColumnPrices, Need, Priced, asks
from optimizer.milp.explicit import add_explicit_pool
from optimizer.milp.frame import Frame, add_overflow
from optimizer.milp.prep import Prep
from optimizer.milp.program import Key, Program
from optimizer.milp.rounding import add_rounding_rows
from optimizer.milp.solver import solver_words_on_stderr

_GAPS = {Care.ROUGH: 0.05, Care.NORMAL: 2e-3, Care.FINE: 3e-4}
_TIME_LIMIT_S = 5.0
_NOISE = 1e-9
_INTEGRALITY = 1e-9  # such a program is small, and many ways are added up


class PoolHour:
    """One pool in one slice, its units and its overflow bought at prices. Not to be run twice at the same time."""

    def __init__(self, prep: Prep, p: int, t: int) -> None:
        pool = replace(prep.pools[p], slices=(prep.pools[p].slices[t],))
        self.pool, self.t = pool, t
        alone = replace(prep, groups=(prep.groups[t],), pools=(pool,))
        frame = Frame(alone, Program("pool_hour"))
        add_overflow(frame)
        add_explicit_pool(frame, pool)
        add_rounding_rows(frame)
        program = self.program = frame.program
        needs: list[Need] = []
        for kind, posted in (("firm", frame.firm), ("any_", frame.any_), ("spot", frame.spot)):
            for (node_type, _), terms in posted.items():
                need = program.add_variable(("need", kind, node_type))
                program.add_row(("need", kind, node_type), [*terms, (-1.0, need)], "<=", 0.0)
                program.add_cost(1.0, need)
                needs.append((kind, node_type))
        program.close_with_cost()
        self.columns: dict[Key, int] = program.column_numbers()
        self._needs = {need: self.columns[("need", *need)] for need in needs}
        self._sent = [
            [self.columns[key] for key in self.columns if key[:2] == ("overflow", row.workload)] for row in pool.workloads
        ]
        with solver_words_on_stderr():
            program.problem.solve(pulp.HiGHS(msg=False, timeLimit=0.0))  # no time to solve: only handed over
        self.highs: Any = program.problem.solverModel
        if self.highs.getNumRow() != program.row_count:
            raise SolverFailed(f"HiGHS took {self.highs.getNumRow()} of the {program.row_count} rows of a pool's hour")
        self.highs.setOptionValue("time_limit", _TIME_LIMIT_S)
        self.highs.setOptionValue("mip_feasibility_tolerance", _INTEGRALITY)

    def price(self, prices: ColumnPrices, gap: float) -> Priced:
        """The cheapest way at these prices, found to the gap, and what it costs at least."""
        self.highs.setOptionValue("mip_rel_gap", gap)
        for need, column in self._needs.items():
            self.highs.changeColCost(column, prices.unit[(need, self.t)])
        for w, numbers in enumerate(self._sent):
            for column in numbers:
                self.highs.changeColCost(column, prices.sent.get((self.pool.workloads[w].workload, self.t), 0.0))
        self.highs.clearSolver()
        self.highs.run()
        info = self.highs.getInfo()
        if int(info.primal_solution_status) != 2:
            bound = float(info.mip_dual_bound)
            if self.highs.getModelStatus().name == "kInfeasible":
                return Priced(self.pool.pool.pool, self.t, float("inf"), ())
            return Priced(self.pool.pool.pool, self.t, max(bound, 0.0) if bound == bound else 0.0, ())
        values = list(self.highs.getSolution().col_value)
        sent = tuple(sum(values[number] for number in numbers) for numbers in self._sent)
        kept = {
            (*key[:-1], self.t): values[number]
            for key, number in self.columns.items()
            if key[0] in COLUMN_FAMILIES and values[number] > _NOISE
        }
        units = {need: self._whole(values[number]) for need, number in self._needs.items()}
        needs = tuple(sorted((need, count) for need, count in units.items() if count > 0))
        way = Column(self.pool.pool.pool, self.t, needs, sent, kept)
        cost = sum(prices.unit[(need, self.t)] * count for need, count in needs)
        for row, tps in zip(self.pool.workloads, sent, strict=True):
            cost += prices.sent.get((row.workload, self.t), 0.0) * tps
        bound = float(info.mip_dual_bound)
        return Priced(self.pool.pool.pool, self.t, min(bound, cost) if bound == bound else 0.0, (way,))

    @staticmethod
    def _whole(units: float) -> float:
        return float(round(units)) if abs(units - round(units)) < 1e-4 else units


class PoolHourPricer:
    """Prices the named slices of one pool, one program each."""

    def __init__(self, prep: Prep, p: int, slices: tuple[int, ...]) -> None:
        self.hours = [PoolHour(prep, p, t) for t in slices if asks(prep.pools[p], t)]

    def price(self, prices: ColumnPrices, care: Care = Care.NORMAL, *, many: bool = False) -> list[Priced]:
        """One way per slice; `many` finds no more."""
        del many
        return [hour.price(prices, _GAPS[care]) for hour in self.hours]
