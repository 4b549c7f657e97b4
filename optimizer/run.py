"""The verbs behind the commands: one function per command, from paths and options to a result that can be shown."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from optimizer import __version__
from optimizer.errors import AuditFailed, CannotWrite, Problem, Refused
from optimizer.workbook.options import LoadOptions

if TYPE_CHECKING:
    from optimizer.candidates.option import Candidates
    from optimizer.domain.case import Case
    from optimizer.plan.plan import SolveOutcome
    from optimizer.report.result import PlanResult, RunInfo
    from optimizer.workbook.demand_model import DemandReport

#: Code of the error in a result whose workbook could not be written.
CANNOT_WRITE = "CANNOT_WRITE"


@dataclass(frozen=True)
class PlanRequest:
    """What `plan` was asked. output: workbook to write, None = none. command: as typed, for the log.

    solver: one of `solvers()`. watch: told (best $/day, bound $/day, seconds) while solving; Ctrl-C then keeps the best plan.
    explain: solve again for what limits, headroom and offers are worth, within the time limit of the plan once more.
    """

    forecast: str
    load: LoadOptions
    output: str | None = None
    baselines: bool = True
    force: bool = False
    command: str = ""
    solver: str = "HiGHS"
    watch: Callable[[float | None, float | None, float], None] | None = None
    explain: bool = False


@dataclass(frozen=True)
class CheckResult:
    """What `check` found. lines: for a terminal. assumptions: sentences. errors non-empty = refused."""

    workloads: tuple[DemandReport, ...]
    lines: tuple[str, ...]
    warnings: tuple[Problem, ...]
    errors: tuple[Problem, ...]
    assumptions: tuple[str, ...] = ()


def run_check(forecast: str, options: LoadOptions) -> CheckResult:
    """Read a forecast as far as it goes and say what was understood; refusals are part of the result, not raised.

    Where the file says which models serve the demand, what `plan` would refuse for want of a measurement is refused too.
    """
    from optimizer.workbook.demand_text import demand_lines
    from optimizer.workbook.load import check_inputs

    try:
        checked = check_inputs(forecast, options)
    except Refused as refused:
        return CheckResult((), (), refused.warnings, refused.errors)
    warnings, errors = checked.warnings, tuple[Problem, ...]()
    if checked.case is not None:
        try:
            warnings = (*warnings, *_candidates(checked.case, options).warnings)
        except Refused as refused:
            warnings, errors = (*warnings, *refused.warnings), refused.errors
    assumptions = checked.case.assumptions if checked.case else ()
    return CheckResult(checked.demand, tuple(demand_lines(checked.demand)), warnings, errors, assumptions)


def solvers() -> tuple[str, ...]:
    """Names that `--solver` takes here, as PuLP knows them and without its prefixes."""
    from optimizer.milp.solver import available_solvers

    return tuple(name.removeprefix("PULP_").removesuffix("_CMD") for name in available_solvers())


def run_plan(request: PlanRequest) -> PlanResult:
    """Load, find candidates, solve, audit, price, compare with the baselines, and write the workbook.

    Refused and infeasible inputs are results; so is a workbook that cannot be written: an error with code CANNOT_WRITE, found
    before the work where it can be, and beside the plan where not. Raises AuditFailed (nothing is written) and SolverFailed.
    """
    from optimizer.milp.solve import solve_case
    from optimizer.report.result import PlanResult, RunInfo
    from optimizer.studies.infeasible import explain
    from optimizer.workbook.load import load_case

    run = RunInfo(version=__version__, command=request.command, run_utc=datetime.datetime.now(datetime.UTC))
    warnings: tuple[Problem, ...] = ()
    try:
        _check_plan_target(request)
        loaded = load_case(request.forecast, request.load)
        warnings = loaded.warnings
        candidates = _candidates(loaded.case, request.load)
    except CannotWrite as failure:
        return PlanResult(status="refused", run=run, errors=(_unwritten(request, failure),))
    except Refused as refused:
        return PlanResult(status="refused", run=run, warnings=(*warnings, *refused.warnings), errors=refused.errors)
    case = loaded.case
    warnings = (*warnings, *candidates.warnings)
    outcome = solve_case(case, candidates, solver=request.solver, watch=request.watch)
    run = replace(run, start_date=case.policy.start_date, inputs=case.inputs, solver=outcome.solver)
    if outcome.decision is None:
        limits = explain(case, candidates, solver=request.solver) if outcome.status == "infeasible" else ()
        return PlanResult(
            status=outcome.status, run=run, case=case, candidates=candidates, warnings=warnings, infeasible=limits,
            bound_usd_per_day=outcome.bound_usd_per_day,
        )
    return _written(request, _priced(request, run, case, candidates, outcome, warnings))


def _candidates(case: Case, options: LoadOptions) -> Candidates:
    """Options and rejections of a case; raises Refused, with `strict` for warnings too."""
    from optimizer.candidates.enumerate import find_candidates

    candidates = find_candidates(case)
    if options.strict and candidates.warnings:
        raise Refused(candidates.warnings)
    return candidates


def _priced(
    request: PlanRequest, run: RunInfo, case: Case, candidates: Candidates, outcome: SolveOutcome, warnings: tuple[Problem, ...],
) -> PlanResult:
    """Audit and price a plan that was found, and compare it with the baselines."""
    from optimizer.plan.audit import audit_decision
    from optimizer.plan.metrics import price_plan
    from optimizer.plan.plan import Baselines
    from optimizer.plan.warnings import plan_warnings
    from optimizer.report.result import PlanResult
    from optimizer.studies.baselines import solve_baselines

    assert outcome.decision is not None and outcome.cost_usd_per_day is not None
    audit = audit_decision(
        case, candidates, outcome.decision, outcome.cost_usd_per_day, claimed_bound=outcome.bound_usd_per_day
    )
    if not audit.ok:
        raise AuditFailed(audit.violations)
    baselines = solve_baselines(case, candidates, solver=request.solver) if request.baselines else Baselines()
    plan = price_plan(case, candidates, outcome, baselines)
    explanation = None
    if request.explain:
        from optimizer.studies.explanation import explain_plan

        explanation = explain_plan(case, candidates, plan, budget_s=case.policy.time_limit_s, solver=request.solver)
    return PlanResult(
        status=plan.status, run=run, case=case, candidates=candidates, plan=plan, audit=audit,
        warnings=(*warnings, *plan_warnings(case, candidates, plan)), explanation=explanation,
    )


def _written(request: PlanRequest, result: PlanResult) -> PlanResult:
    """The result with its workbook, where one was asked for; a plan that cannot be written is still a result."""
    if request.output is None:
        return result
    from optimizer.report.plan_book import write_plan_workbook

    written = replace(result, run=replace(result.run, output=request.output))
    try:
        write_plan_workbook(request.output, written, force=request.force)
    except CannotWrite as failure:
        return replace(result, errors=(*result.errors, _unwritten(request, failure)))
    return written


def _unwritten(request: PlanRequest, failure: CannotWrite) -> Problem:
    """`what; how to mend it` as a problem of the output file."""
    message, _, fix = str(failure).partition("; ")
    return Problem(
        CANNOT_WRITE, f"{message.removeprefix(f'{request.output} ')}.", f"{fix[:1].upper()}{fix[1:]}.", file=request.output
    )


def write_template_file(output: str, *, example: bool, force: bool) -> None:
    """Write the forecast template or the filled example; an existing file is kept unless `force`. Raises CannotWrite."""
    import tempfile

    from optimizer.report.template import write_example, write_template
    from optimizer.report.writer import replace_file

    path = Path(output)
    _check_place(path, "forecast.xlsx")
    if path.exists() and not force:
        raise CannotWrite(f"{output} exists already; name another file, or add --force to overwrite it")
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / "draft.xlsx"
        (write_example if example else write_template)(draft)
        replace_file(path, draft.read_bytes())


def _check_plan_target(request: PlanRequest) -> None:
    """Fail before the work, not after it, where the plan could not be written or would overwrite what it is made from."""
    if request.output is None:
        return
    from optimizer.report.writer import check_target, is_plan_workbook

    path = Path(request.output)
    _check_place(path, "plan.xlsx")
    check_target(path, force=request.force)
    for name in (request.forecast, request.load.policy):
        if name is not None and path.exists() and Path(name).exists() and path.samefile(name) and not is_plan_workbook(path):
            raise CannotWrite(f"{request.output} is an input of this plan; name another file with -o")


def _check_place(path: Path, example: str) -> None:
    """Raise CannotWrite where no workbook can have this name: a folder, a missing folder, another ending, too long a name."""
    try:
        is_folder, has_folder = path.is_dir(), path.parent.is_dir()
    except OSError as problem:
        raise CannotWrite(f"{path} cannot be written ({problem.strerror or problem}); choose another name") from problem
    if is_folder:
        raise CannotWrite(f"{path} is a folder; name a file in it, for example {path / example}")
    if not has_folder:
        raise CannotWrite(f"the folder {path.parent} does not exist; make it, or write elsewhere with -o")
    if path.suffix.lower() != ".xlsx":
        raise CannotWrite(f"{path} does not end in .xlsx; name it {path.name}.xlsx")
