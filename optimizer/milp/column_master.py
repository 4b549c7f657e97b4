"""The frame and the pools that are written out, all continuous, with every other pool a mixture of the columns found so far.

Rows per column pool p and slice t:  one: its shares sum to 1;  need: units of the mixture per kind of node and node type, bought
at the price the frame has for them;  sent: overflow over all APIs at least what the mixture sends.
Its value plus what the cheapest columns could still save bounds the whole program from below, whatever columns are missing: the
mixture relaxes "one whole way per slice", and everything else is relaxed to continuous.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import highspy
import numpy as np
import pulp

from optimizer.errors import SolverFailed
from optimizer.milp.column import Column, ColumnPrices, Need, Priced, asks
from optimizer.milp.explicit import add_explicit_pool
from optimizer.milp.frame import Frame, build_frame, close_frame
from optimizer.milp.left_nodes import add_left_nodes
from optimizer.milp.master import HourPrices
from optimizer.milp.prep import PoolData, Prep
from optimizer.milp.program import Key
from optimizer.milp.relaxed import hour_prices
from optimizer.milp.rounding import add_rounding_rows
from optimizer.milp.solver import solver_words_on_stderr

_COMMITMENT = ("lots", "bought", "racks")
#: What a slice without any column pays, as a multiple of its dearest known way.
_MISS = 20.0


class ColumnMaster:
    """Holds the model in HiGHS; columns are added to it and prices read from it."""

    def __init__(self, prep: Prep, column_pools: tuple[PoolData, ...], seeds: Iterable[tuple[Priced, float]]) -> None:
        """seeds: first ways of every pool and slice, with the cost of the dearest."""
        self.prep = prep
        self.frame: Frame = build_frame(prep)
        frame, program = self.frame, self.frame.program
        names = {pool.pool.pool for pool in column_pools}
        for pool in prep.pools:
            if pool.pool.pool not in names:
                add_explicit_pool(frame, pool)
        add_rounding_rows(frame)
        self._posts(column_pools)
        close_frame(frame)
        add_left_nodes(frame)
        misses = {(pool.pool.pool, t) for pool in column_pools for t in range(len(prep.groups)) if asks(pool, t)}
        seeds = list(seeds)
        dearest = {(priced.columns[0].pool, priced.t): cost for priced, cost in seeds if priced.columns}
        for name, t in sorted(misses):
            program.add_cost(_MISS * dearest.get((name, t), 1.0) + 1.0, program.variables[("miss", name, t)])
        program.close_with_cost()
        for variable in program.variables.values():
            variable.cat = "Continuous"
        with solver_words_on_stderr():
            program.problem.solve(pulp.HiGHS(msg=False, timeLimit=0.0))  # no time to solve: only handed over
        self.highs: Any = program.problem.solverModel
        if self.highs.getNumRow() != program.row_count:
            raise SolverFailed(f"HiGHS took {self.highs.getNumRow()} of the {program.row_count} rows of the columns' program")
        self.numbers = program.column_numbers()
        self.first_column = self.highs.getNumCol()
        self.columns: list[Column] = []
        self._known: set[Column] = set()
        self._duals: list[float] = []
        self.value = 0.0
        self.solved = False
        self.add(column for priced, _ in seeds for column in priced.columns)

    def _posts(self, column_pools: tuple[PoolData, ...]) -> None:
        """Rows that columns will be part of."""
        frame, program = self.frame, self.frame.program
        for pool in column_pools:
            name = pool.pool.pool
            kinds = ("any_",) if pool.spot_mode == "any" else ("firm", "spot") if pool.spot_mode == "sep" else ("firm",)
            for t, piece in enumerate(pool.slices):
                if not asks(pool, t):
                    continue
                miss = program.add_variable(("miss", name, t))
                program.add_row(("one", name, t), [(1.0, miss)], "==", 1.0)
                for node_type in dict.fromkeys(option.node_type for option in pool.options):
                    for kind in kinds:
                        if ("need", kind, node_type, t) not in program.variables:
                            need = program.add_variable(("need", kind, node_type, t))
                            program.add_row(("need", kind, node_type, t), [(-1.0, need)], "<=", 0.0)
                            getattr(frame, kind).setdefault((node_type, t), []).append((1.0, need))
                for w, workload in enumerate(pool.workloads):
                    if piece.apis[w]:
                        terms = [(1.0, program.variables[("overflow", workload.workload, api.api, t)]) for api in piece.apis[w]]
                        program.add_row(("sent", workload.workload, t), terms, ">=", 0.0)
        self._workloads = {pool.pool.pool: tuple(row.workload for row in pool.workloads) for pool in column_pools}

    def add(self, columns: Iterable[Column]) -> int:
        """Add the columns that are new; how many were."""
        fresh = [column for column in dict.fromkeys(columns) if column not in self._known]
        starts: list[int] = []
        indices: list[int] = []
        values: list[float] = []
        row_number = self.frame.program.row_number
        for column in fresh:
            self._known.add(column)
            starts.append(len(indices))
            entries: list[tuple[Key, float]] = [(("one", column.pool, column.t), 1.0)]
            entries += [(("need", *need, column.t), units) for need, units in column.needs]
            for workload, tps in zip(self._workloads[column.pool], column.sent_tps, strict=True):
                if tps > 0:
                    entries.append((("sent", workload, column.t), -tps))
            for key, value in entries:
                row = row_number(key)
                if row is None:
                    raise SolverFailed(f"a column needs row {key}, which was left out")
                indices.append(row)
                values.append(value)
        if fresh:
            count = len(fresh)
            status = self.highs.addCols(
                count, np.zeros(count), np.zeros(count), np.full(count, highspy.kHighsInf), len(indices),
                np.array(starts, dtype=np.int32), np.array(indices, dtype=np.int32), np.array(values, dtype=np.float64),
            )
            if status == highspy.HighsStatus.kError:
                raise SolverFailed("HiGHS refused columns")
            self.columns += fresh
        return len(fresh)

    def solve(self, time_limit_s: float) -> bool:
        """Solve the continuous program; False where time ran out. Prices and the value are known after it."""
        self.highs.setOptionValue("time_limit", self.highs.getRunTime() + max(time_limit_s, 0.01))
        with solver_words_on_stderr():
            self.highs.run()
        if self.highs.getModelStatus().name != "kOptimal":
            return False
        self.solved = True
        self.value = float(self.highs.getInfo().objective_function_value)
        self._duals = list(self.highs.getSolution().row_dual)
        return True

    def prices(self) -> ColumnPrices:
        """Prices of units and overflow at the last solution."""
        program = self.frame.program
        unit: dict[tuple[Need, int], float] = {}
        sent: dict[tuple[str, int], float] = {}
        for key in program.variables:
            if key[0] == "need":
                unit[((key[1], key[2]), key[3])] = max(-self._dual(key), 0.0)
        for names in self._workloads.values():
            for name in names:
                for t in range(len(self.prep.groups)):
                    if program.has_row(("sent", name, t)):
                        sent[(name, t)] = max(self._dual(("sent", name, t)), 0.0)
        return ColumnPrices(unit, sent)

    def saving(self, priced: Priced) -> float:
        """What the pool's ways in that slice could still save at most, $/day (0 or less)."""
        return min(priced.bound - self._dual(("one", priced.pool, priced.t)), 0.0)

    def reduced(self, column: Column) -> float:
        """Reduced cost of a column at the last solution, $/day."""
        cost = -self._dual(("one", column.pool, column.t))
        cost -= sum(self._dual(("need", *need, column.t)) * units for need, units in column.needs)
        for workload, tps in zip(self._workloads[column.pool], column.sent_tps, strict=True):
            if tps > 0:
                cost += self._dual(("sent", workload, column.t)) * tps
        return cost

    def hour_prices(self) -> list[HourPrices]:
        """Prices of lots and of waiting work at the last solution, per slice."""
        return hour_prices(self.prep, self.frame.program, self._duals)

    def missed(self) -> float:
        """How much of the slices has no column yet in the last solution."""
        values = self.highs.getSolution().col_value
        return float(sum(values[number] for key, number in self.numbers.items() if key[0] == "miss"))

    def whole_lots(self, gap: float, time_limit_s: float) -> dict[str, int] | None:
        """Commitments whole, everything else a mixture of the columns known: the best found in that time. No bound follows."""
        numbers = [number for key, number in self.numbers.items() if key[0] in _COMMITMENT]
        for number in numbers:
            self.highs.changeColIntegrality(number, highspy.HighsVarType.kInteger)
        self.highs.setOptionValue("mip_rel_gap", gap)
        self.highs.setOptionValue("time_limit", self.highs.getRunTime() + max(time_limit_s, 0.01))
        try:
            with solver_words_on_stderr():
                self.highs.run()
            if int(self.highs.getInfo().primal_solution_status) != 2:
                return None
            values = self.highs.getSolution().col_value
            return {key[1]: round(values[number]) for key, number in self.numbers.items() if key[0] == "lots"}
        finally:
            for number in numbers:
                self.highs.changeColIntegrality(number, highspy.HighsVarType.kContinuous)

    def most_lots(self) -> dict[str, int]:
        """Most lots of every held offer."""
        return {key[1]: int(self.frame.program.variables[key].upBound or 0) for key in self.numbers if key[0] == "lots"}

    def hold(self, lots: dict[str, int] | None) -> None:
        """Hold exactly these lots from now on; None: any number again."""
        for key, number in self.numbers.items():
            if key[0] == "lots":
                most = float(self.frame.program.variables[key].upBound or 0.0)
                low, up = (0.0, most) if lots is None else (float(lots[key[1]]), float(lots[key[1]]))
                self.highs.changeColBounds(number, low, up)

    def use(self, nodes: dict[Key, float] | None) -> None:
        """Use exactly these nodes from now on, by the keys of their variables; None: any number again."""
        for key, number in self.numbers.items():
            if key[0] == "used":
                most = float(self.frame.program.variables[key].upBound or 0.0)
                low, up = (0.0, most) if nodes is None else (max(nodes[key], 0.0), max(nodes[key], 0.0))
                self.highs.changeColBounds(number, low, up)

    def good_columns(self, most: int) -> dict[tuple[str, int], list[Column]]:
        """Per pool and slice the columns of least reduced cost at the last solution, at most so many."""
        reduced = self.highs.getSolution().col_dual
        by_slice: dict[tuple[str, int], list[tuple[float, int]]] = {}
        for i, column in enumerate(self.columns):
            by_slice.setdefault((column.pool, column.t), []).append((reduced[self.first_column + i], i))
        return {key: [self.columns[i] for _, i in sorted(ways)[:most]] for key, ways in by_slice.items()}

    def largest(self) -> list[Column]:
        """Per pool and slice the column with the largest share in the last solution."""
        values = self.highs.getSolution().col_value
        by_slice: dict[tuple[str, int], tuple[float, int]] = {}
        for i, column in enumerate(self.columns):
            share = values[self.first_column + i]
            if share > by_slice.get((column.pool, column.t), (-1.0, 0))[0]:
                by_slice[(column.pool, column.t)] = (share, i)
        return [self.columns[i] for _, i in by_slice.values()]

    def values(self, families: tuple[str, ...]) -> dict[Key, float]:
        """Values of the frame's variables of these families at the last solution."""
        values = self.highs.getSolution().col_value
        return {key: values[number] for key, number in self.numbers.items() if key[0] in families}

    def _dual(self, key: Key) -> float:
        number = self.frame.program.row_number(key)
        return self._duals[number] if number is not None else 0.0
