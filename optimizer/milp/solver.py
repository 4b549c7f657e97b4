"""Where the whole program is solved: HiGHS in-process through PuLP, with status, bound and gap taken from HiGHS itself.

PuLP's own status is never read (3.3.2 calls a time-limited incumbent Optimal). The thread count is never passed: HiGHS keeps one
scheduler per process and refuses to run with another count later.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pulp

from optimizer.errors import SolverFailed
from optimizer.milp.program import Program

#: Whole numbers are accepted within this distance; below HiGHS' default, so that goodput x distance stays far below a token.
INTEGRALITY = 1e-7
#: How often whoever watches is told.
_WATCH_EVERY_S = 0.2


HIGHS = "HiGHS"

#: Told (best plan so far, bound, seconds); None where there is none yet.
Watch = Callable[[float | None, float | None, float], None]


@dataclass(frozen=True)
class Solved:
    """What one run gave. status: optimal (gap closed), gap_open, no_plan or infeasible.

    objective, bound: of the ledger without constants, None where there is none. iterations: simplex iterations, the same on every
    run of the same program, and so a measure of its hardness that does not depend on the machine. stopped: by Ctrl-C.
    """

    status: str
    objective: float | None
    bound: float | None
    seconds: float
    iterations: int = 0
    stopped: bool = False


def solver_version() -> str:
    """Version of HiGHS in use."""
    import highspy

    return str(highspy.Highs().version())  # type: ignore[no-untyped-call]


def pulp_version() -> str:
    """Version of PuLP in use."""
    return str(pulp.__version__)


def available_solvers() -> tuple[str, ...]:
    """Names of the solvers that PuLP finds on this machine."""
    return tuple(pulp.listSolvers(onlyAvailable=True))


class _Watched(pulp.HiGHS):  # type: ignore[misc]
    """HiGHS that reports how far it is, and ends with its best plan on Ctrl-C."""

    watch: Watch | None = None

    def callSolver(self, lp: Any) -> None:  # noqa: N802 (a name of PuLP)
        """Run HiGHS on a thread of its own, so that Ctrl-C reaches it."""
        highs, watch = lp.solverModel, self.watch
        highs.HandleKeyboardInterrupt = True
        if watch is not None:
            # Not the logging callback: a quiet HiGHS never calls it. This one comes at every check for an interrupt.
            highs.cbMipInterrupt += _now_and_then(watch)
        with contextlib.redirect_stdout(sys.stderr):
            highs.solve()


def _now_and_then(watch: Watch) -> Callable[[Any], None]:
    """Tell `watch` how far HiGHS is, a few times a second at most."""
    told_s = [-_WATCH_EVERY_S]

    def told(event: Any) -> None:
        found = event.data_out
        if found.running_time - told_s[0] >= _WATCH_EVERY_S:
            told_s[0] = found.running_time
            watch(_known(found.mip_primal_bound), _known(found.mip_dual_bound), found.running_time)

    return told


def _known(value: float) -> float | None:
    return None if value in (float("inf"), float("-inf")) or value != value else float(value)


def solve(
    program: Program, *, gap: float, time_limit_s: float, max_nodes: int | None = None, solver: str = HIGHS,
    watch: Watch | None = None,
) -> Solved:
    """Run a solver on a closed program. `gap` is relative, 0 asks for a full proof.

    watch: told (best plan, bound, seconds) now and then, without constants; with it Ctrl-C ends the search with the best plan.
    Raises SolverFailed where a solver ends neither with a plan, nor infeasible, nor at its limit, and for a solver unknown here.
    """
    if solver.casefold() != HIGHS.casefold():
        return _solve_with(program, solver, gap, time_limit_s)
    options: dict[str, object] = {"mip_feasibility_tolerance": INTEGRALITY}
    if max_nodes is not None:
        options["mip_max_nodes"] = max_nodes
    kind = pulp.HiGHS if watch is None else _Watched
    engine = kind(msg=False, gapRel=gap, gapAbs=1e-9, timeLimit=max(time_limit_s, 0.0), **options)
    if watch is not None:
        engine.watch = watch
    started = time.perf_counter()
    with solver_words_on_stderr(), contextlib.suppress(KeyError, IndexError):
        # PuLP 3.3.2 has no name for a node limit and raises KeyError after it has stored the values; both raise IndexError where
        # HiGHS holds fewer rows than the program, which is looked at next.
        program.problem.solve(engine)
    seconds = time.perf_counter() - started
    highs = program.problem.solverModel
    if highs.getNumRow() != program.row_count:
        raise SolverFailed(f"HiGHS took {highs.getNumRow()} of the program's {program.row_count} rows")
    status = highs.getModelStatus().name
    info = highs.getInfo()
    has_solution = int(info.primal_solution_status) == 2  # kSolutionStatusFeasible
    is_mip = any(variable.cat == "Integer" for variable in program.variables.values())
    objective = float(info.objective_function_value) if has_solution else None
    bound = _known(float(info.mip_dual_bound)) if is_mip else objective
    if status in ("kInfeasible", "kUnboundedOrInfeasible"):
        return Solved("infeasible", None, None, seconds)
    iterations = int(info.simplex_iteration_count)
    if status in ("kOptimal", "kModelEmpty"):
        value = objective if objective is not None else 0.0
        return Solved("optimal", value, bound if bound is not None else value, seconds, iterations)
    if status in ("kTimeLimit", "kSolutionLimit", "kIterationLimit", "kInterrupt"):
        stopped = status == "kInterrupt"
        return Solved("gap_open" if has_solution else "no_plan", objective, bound, seconds, iterations, stopped)
    raise SolverFailed(f"HiGHS ended with {status}")


def _solve_with(program: Program, name: str, gap: float, time_limit_s: float) -> Solved:
    """Another solver that PuLP finds. Only a plan it calls optimal has a bound: its cost less the gap that was asked for."""
    known = {solver.casefold(): solver for solver in available_solvers()}
    known.update({solver.removeprefix("PULP_").removesuffix("_CMD").casefold(): solver for solver in available_solvers()})
    if name.casefold() not in known:
        raise SolverFailed(f"no solver {name} was found here; there are: {', '.join(sorted(known.values()))}")
    engine = pulp.getSolver(known[name.casefold()], msg=False, gapRel=gap, timeLimit=max(time_limit_s, 1e-3))
    started = time.perf_counter()
    with solver_words_on_stderr():
        result = program.problem.solve(engine)
    seconds = time.perf_counter() - started
    if hasattr(result, "has_solution"):  # PuLP 4
        has_solution, is_optimal = bool(result.has_solution), result.status.name == "Optimal"
        is_infeasible = result.status.name == "Infeasible"
    else:  # PuLP 3: its status calls a plan at the time limit optimal, sol_status does not
        has_solution, is_optimal = program.problem.sol_status in (1, 2), program.problem.sol_status == 1
        is_infeasible = result == -1
    if is_infeasible:
        return Solved("infeasible", None, None, seconds)
    if not has_solution:
        return Solved("no_plan", None, None, seconds)
    objective = float(program.problem.objective.value() or 0.0)
    return Solved("optimal", objective, objective - gap * abs(objective), seconds) if is_optimal else Solved(
        "gap_open", objective, None, seconds
    )


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
