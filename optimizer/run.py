"""The verbs behind the commands: one function per command, from paths and options to a result that can be shown."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
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


@dataclass(frozen=True)
class PlanRequest:
    """What `plan` was asked. output: workbook to write, None = none. command: as typed, for the log."""

    forecast: str
    load: LoadOptions
    output: str | None = None
    baselines: bool = True
    force: bool = False
    solver: str = "HiGHS"
    command: str = ""


@dataclass(frozen=True)
class CheckResult:
    """What `check` found. lines: for a terminal. errors non-empty = refused."""

    workloads: tuple[DemandReport, ...]
    lines: tuple[str, ...]
    warnings: tuple[Problem, ...]
    errors: tuple[Problem, ...]


def run_check(forecast: str, options: LoadOptions) -> CheckResult:
    """Read a forecast as far as it goes and say what was understood; refusals are part of the result, not raised."""
    from optimizer.workbook.demand_text import demand_lines
    from optimizer.workbook.load import check_inputs

    try:
        checked = check_inputs(forecast, options)
    except Refused as refused:
        return CheckResult((), (), refused.warnings, refused.errors)
    return CheckResult(checked.demand, tuple(demand_lines(checked.demand)), checked.warnings, ())


def run_plan(request: PlanRequest) -> PlanResult:
    """Load, find candidates, solve, audit, price, compare with the baselines, and write the workbook.

    Refused and infeasible inputs are results. Raises AuditFailed (nothing is written), CannotWrite, SolverFailed.
    """
    from optimizer.candidates.enumerate import find_candidates
    from optimizer.milp.solve import solve_case
    from optimizer.report.result import PlanResult, RunInfo
    from optimizer.studies.infeasible import explain
    from optimizer.workbook.load import load_case

    run = RunInfo(version=__version__, command=request.command, run_utc=datetime.datetime.now(datetime.UTC))
    if request.output is not None:
        _check_target(request.output, force=request.force)
    warnings: tuple[Problem, ...] = ()
    try:
        loaded = load_case(request.forecast, request.load)
        warnings = loaded.warnings
        candidates = find_candidates(loaded.case)
        if request.load.strict and candidates.warnings:
            raise Refused(candidates.warnings, warnings)
    except Refused as refused:
        return PlanResult(status="refused", run=run, warnings=(*warnings, *refused.warnings), errors=refused.errors)
    case = loaded.case
    warnings = (*warnings, *candidates.warnings)
    outcome = solve_case(case, candidates)
    run = RunInfo(
        version=__version__, command=request.command, start_date=case.policy.start_date, inputs=case.inputs, output=None,
        solver=outcome.solver, run_utc=run.run_utc,
    )
    if outcome.decision is None:
        limits = explain(case, candidates) if outcome.status == "infeasible" else ()
        return PlanResult(
            status=outcome.status, run=run, case=case, candidates=candidates, warnings=warnings, infeasible=limits,
            bound_usd_per_day=outcome.bound_usd_per_day,
        )
    return _finish(request, run, case, candidates, outcome, warnings)


def _finish(
    request: PlanRequest, run: RunInfo, case: Case, candidates: Candidates, outcome: SolveOutcome, warnings: tuple[Problem, ...],
) -> PlanResult:
    """Audit, price and write a plan that was found."""
    from dataclasses import replace

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
    baselines = solve_baselines(case, candidates) if request.baselines else Baselines()
    plan = price_plan(case, candidates, outcome, baselines)
    result = PlanResult(
        status=plan.status, run=replace(run, output=request.output), case=case, candidates=candidates, plan=plan, audit=audit,
        warnings=(*warnings, *plan_warnings(case, candidates, plan)),
    )
    if request.output is not None:
        from optimizer.report.plan_book import write_plan_workbook

        write_plan_workbook(request.output, result, force=request.force)
    return result


def write_template_file(output: str, *, example: bool, force: bool) -> None:
    """Write the forecast template or the filled example; an existing file is kept unless `force`. Raises CannotWrite."""
    from optimizer.report.template import write_example, write_template

    _check_target(output, force=force, any_file=True)
    (write_example if example else write_template)(output)


def _check_target(output: str, *, force: bool, any_file: bool = False) -> None:
    """Fail before the work, not after it: folder missing, a folder in the way, or (any_file) an existing file."""
    path = Path(output)
    if path.is_dir():
        raise CannotWrite(f"{output} is a folder; name a file such as {Path(output) / 'plan.xlsx'}")
    if not path.parent.exists():
        raise CannotWrite(f"the folder {path.parent} does not exist; make it first")
    if any_file and path.exists() and not force:
        raise CannotWrite(f"{output} exists already; add --force to overwrite it")


