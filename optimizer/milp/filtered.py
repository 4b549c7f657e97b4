"""Menus with very many lines: the solver gets those whose reduced cost leaves them a chance, and the bound says so.

The relaxation of the whole program has the value z, and a line of reduced cost r is in no plan cheaper than z + r. So with the
lines of reduced cost at most w alone, the least of the solver's bound and z + w bounds the whole program (solver.md section 3,
step 2).
"""

from __future__ import annotations

import time
from dataclasses import replace

import pulp

from optimizer.milp.program import Program
from optimizer.milp.solver import Solved, Watch, solve, solver_words_on_stderr

#: Fewer lines are no trouble as they are.
_MANY_LINES = 1_000
#: Lines are kept up to this share of the relaxation's value.
_WINDOW_SHARE = 0.02
#: Where fewer can be left out than this share of all lines, it is not worth it.
_WORTH_LEAVING = 0.5
#: With less than this share of the time left all lines are not tried any more.
_WORTH_SHARE = 0.05


def solve_filtered(program: Program, *, gap: float, time_limit_s: float, watch: Watch | None = None) -> Solved:
    """Like `solve`, for HiGHS: the same plan to the gap asked for, and a bound that holds with all lines of all menus."""
    lines = [key for key in program.variables if key[0] == "line"]
    if len(lines) <= _MANY_LINES:
        return solve(program, gap=gap, time_limit_s=time_limit_s, watch=watch)
    started = time.perf_counter()
    relaxed = _relaxation(program, time_limit_s)
    if relaxed is None:
        return solve(program, gap=gap, time_limit_s=time_limit_s - (time.perf_counter() - started), watch=watch)
    value, reduced = relaxed
    window = _WINDOW_SHARE * abs(value)
    numbers = program.column_numbers()
    out = [key for key in lines if key in numbers and reduced[numbers[key]] > window]
    if len(out) < _WORTH_LEAVING * len(lines):
        return solve(program, gap=gap, time_limit_s=time_limit_s - (time.perf_counter() - started), watch=watch)
    for key in out:
        program.variables[key].upBound = 0
    try:
        solved = solve(program, gap=gap, time_limit_s=time_limit_s - (time.perf_counter() - started), watch=watch)
    finally:
        for key in out:
            program.variables[key].upBound = 1
    first = _with_least(solved, value + window, gap)
    left_s = time_limit_s - (time.perf_counter() - started)
    if first.stopped or first.status == "optimal" or left_s < _WORTH_SHARE * time_limit_s:
        return first
    kept = [(variable, variable.varValue) for variable in program.variables.values()]
    again = solve(program, gap=gap, time_limit_s=left_s, watch=watch)
    if first.objective is None or (again.objective is not None and again.objective <= first.objective):
        return again
    for variable, known in kept:
        variable.varValue = known
    return _closed_or_open(replace(first, bound=max(first.bound or 0.0, again.bound or 0.0), stopped=again.stopped), gap)


def _with_least(solved: Solved, least: float, gap: float) -> Solved:
    """A result for some of the lines as one for all of them: every plan with a line left out costs at least `least`."""
    if solved.status == "infeasible":
        return replace(solved, status="no_plan", bound=least)
    return _closed_or_open(replace(solved, bound=least if solved.bound is None else min(solved.bound, least)), gap)


def _closed_or_open(solved: Solved, gap: float) -> Solved:
    if solved.objective is None or solved.bound is None:
        return solved
    closed = solved.objective - solved.bound <= max(gap * abs(solved.objective), 1e-9)
    return replace(solved, status="optimal" if closed else "gap_open")


def _relaxation(program: Program, time_limit_s: float) -> tuple[float, list[float]] | None:
    """Value and reduced costs of the relaxation, or None where it is not solved."""
    whole = [variable for variable in program.variables.values() if variable.cat == "Integer"]
    try:
        for variable in whole:
            variable.cat = "Continuous"
        with solver_words_on_stderr():
            program.problem.solve(pulp.HiGHS(msg=False, timeLimit=max(time_limit_s, 0.0)))
        highs = program.problem.solverModel
        if highs.getNumRow() != program.row_count or highs.getModelStatus().name != "kOptimal":
            return None
        return float(highs.getInfo().objective_function_value), list(highs.getSolution().col_dual)
    finally:
        for variable in whole:
            variable.cat = "Integer"
