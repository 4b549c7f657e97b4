"""The only place where a solver runs: HiGHS in-process through PuLP, with status, bound and gap taken from HiGHS itself.

PuLP's own status is never read (3.3.2 calls a time-limited incumbent Optimal). The thread count is never passed: HiGHS keeps one
scheduler per process and refuses to run with another count later.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pulp

from optimizer.errors import SolverFailed
from optimizer.milp.program import Program

#: Whole numbers are accepted within this distance; below HiGHS' default, so that goodput x distance stays far below a token.
_INTEGRALITY = 1e-7


@dataclass(frozen=True)
class Solved:
    """What one run gave. status: optimal (gap closed), gap_open, no_plan or infeasible.

    objective, bound: of the ledger without constants, None where there is none. iterations: simplex iterations, the same on every
    run of the same program, and so a measure of its hardness that does not depend on the machine.
    """

    status: str
    objective: float | None
    bound: float | None
    seconds: float
    iterations: int = 0


def solver_version() -> str:
    """Version of HiGHS in use."""
    import highspy

    return str(highspy.Highs().version())  # type: ignore[no-untyped-call]


def pulp_version() -> str:
    """Version of PuLP in use."""
    return str(pulp.__version__)


def solve(program: Program, *, gap: float, time_limit_s: float, max_nodes: int | None = None) -> Solved:
    """Run HiGHS on a closed program. `gap` is relative, 0 asks for a full proof; raises SolverFailed on any other end."""
    options: dict[str, object] = {"mip_feasibility_tolerance": _INTEGRALITY}
    if max_nodes is not None:
        options["mip_max_nodes"] = max_nodes
    started = time.perf_counter()
    with solver_words_on_stderr(), contextlib.suppress(KeyError, IndexError):
        # PuLP 3.3.2 has no name for a node limit and raises KeyError after it has stored the values; and IndexError where HiGHS
        # gives no row values, as it may for an infeasible program. What HiGHS says is read below, whatever PuLP made of it.
        program.problem.solve(pulp.HiGHS(msg=False, gapRel=gap, gapAbs=1e-9, timeLimit=max(time_limit_s, 0.0), **options))
    seconds = time.perf_counter() - started
    highs = program.problem.solverModel
    status = highs.getModelStatus().name
    info = highs.getInfo()
    has_solution = int(info.primal_solution_status) == 2  # kSolutionStatusFeasible
    is_mip = any(variable.cat == "Integer" for variable in program.variables.values())
    objective = float(info.objective_function_value) if has_solution else None
    bound = float(info.mip_dual_bound) if is_mip else objective
    if bound is not None and (bound != bound or bound in (float("inf"), float("-inf"))):
        bound = None
    if status in ("kInfeasible", "kUnboundedOrInfeasible"):
        return Solved("infeasible", None, None, seconds)
    iterations = int(info.simplex_iteration_count)
    if status in ("kOptimal", "kModelEmpty"):
        value = objective if objective is not None else 0.0
        return Solved("optimal", value, bound if bound is not None else value, seconds, iterations)
    if status in ("kTimeLimit", "kSolutionLimit", "kIterationLimit", "kInterrupt"):
        return Solved("gap_open" if has_solution else "no_plan", objective, bound, seconds, iterations)
    raise SolverFailed(f"HiGHS ended with {status}")


@contextlib.contextmanager
def solver_words_on_stderr() -> Iterator[None]:
    """Point file descriptor 1 at stderr while a solver runs: HiGHS prints its banner there even when told to be quiet."""
    sys.stdout.flush()
    saved = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
