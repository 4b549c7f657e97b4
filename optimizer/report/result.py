"""What a report is written from: the outcome of a run as one frozen object, whatever its status."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING

from optimizer.candidates.option import Candidates
from optimizer.domain.case import Case, InputFile
from optimizer.errors import Problem
from optimizer.plan.plan import InfeasibleLimit, Plan, SolverInfo, Status

if TYPE_CHECKING:
    from optimizer.plan.audit import AuditResult
    from optimizer.studies.explanation import PlanExplanation


@dataclass(frozen=True)
class RunInfo:
    """How the run was started and with what.

    version: of fleetsheet. command: as typed. start_date: first day of the plan, None where the input was refused before.
    inputs: files read, with their SHA-256. output: workbook written, None where none is. solver: None where nothing was solved.
    run_utc: when, in UTC; None leaves the time out of the workbook.
    """

    version: str
    command: str
    start_date: datetime.date | None = None
    inputs: tuple[InputFile, ...] = ()
    output: str | None = None
    solver: SolverInfo | None = None
    run_utc: datetime.datetime | None = None


@dataclass(frozen=True)
class PlanResult:
    """Outcome of `plan`: what was asked, what could serve, what was decided, and everything that was said on the way.

    plan: present exactly where status is optimal or gap_open. case and candidates: None where the input was refused before they
    existed. bound_usd_per_day: proven bound where there is no plan (a plan carries its own). infeasible: the limits that clash.
    explanation: re-solved worth of limits, headroom and offers, where it was asked for.
    """

    status: Status
    run: RunInfo
    case: Case | None = None
    candidates: Candidates | None = None
    plan: Plan | None = None
    audit: AuditResult | None = None
    warnings: tuple[Problem, ...] = ()
    errors: tuple[Problem, ...] = ()
    infeasible: tuple[InfeasibleLimit, ...] = ()
    bound_usd_per_day: float | None = None
    explanation: PlanExplanation | None = None

    def __post_init__(self) -> None:
        has_plan = self.status in {"optimal", "gap_open"}
        if has_plan != (self.plan is not None):
            raise ValueError(f"a result that is {self.status} must {'carry a' if has_plan else 'not carry a'} plan")
        if has_plan and (self.case is None or self.candidates is None):
            raise ValueError("a plan is reported with its case and candidates")
