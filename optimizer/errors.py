"""What can go wrong, as data: problems with file, sheet, cell, reason, fix and code; and the exit codes of the command.

A problem is either an error (refuses the input) or a warning (is shown and recorded). All problems of an input are collected
and raised once, in `Refused`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of the command line (DESIGN section 9)."""

    DONE = 0
    OUR_BUG = 1
    USAGE = 2
    REFUSED = 3
    INFEASIBLE = 4
    GAP_OPEN = 5
    CANNOT_WRITE = 6


@dataclass(frozen=True)
class Problem:
    """One thing wrong or doubtful in an input, in words a person in finance can act on.

    code: stable identifier in capitals, e.g. MISSING_VALUE. message: what is wrong, with the numbers. fix: what to do.
    file: as the user gave it. sheet: sheet or catalog name. cell: A1 style or a range; None = the whole sheet or file.
    """

    code: str
    message: str
    fix: str = ""
    file: str | None = None
    sheet: str | None = None
    cell: str | None = None

    def sentence(self) -> str:
        """`file, Sheet!Cell: message Fix. [CODE]` on one line."""
        place = self.sheet or ""
        if self.cell:
            place = f"{place}!{self.cell}" if place else self.cell
        where = ", ".join(part for part in (self.file, place) if part)
        words = f"{self.message} {self.fix}".strip()
        return f"{where}: {words} [{self.code}]" if where else f"{words} [{self.code}]"


@dataclass
class ProblemList:
    """Collects errors and warnings while reading; `raise_if_errors` ends a stage with everything found in it."""

    errors: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def error(self, code: str, message: str, fix: str = "", *, file: str | None = None, sheet: str | None = None,
              cell: str | None = None) -> None:
        """Record an error; reading goes on so that every problem is reported in one run."""
        problem = Problem(code, message, fix, file, sheet, cell)
        if problem not in self.errors:
            self.errors.append(problem)

    def warn(self, code: str, message: str, fix: str = "", *, file: str | None = None, sheet: str | None = None,
             cell: str | None = None) -> None:
        """Record a warning once."""
        problem = Problem(code, message, fix, file, sheet, cell)
        if problem not in self.warnings:
            self.warnings.append(problem)

    def raise_if_errors(self) -> None:
        """Raise `Refused` with everything found so far, if there is any error."""
        if self.errors:
            raise Refused(tuple(self.errors), tuple(self.warnings))


class FleetsheetError(Exception):
    """A failure that is shown to the user as a sentence, never as a traceback."""

    exit_code: ExitCode = ExitCode.OUR_BUG


class Refused(FleetsheetError):
    """The input was refused; carries every problem found."""

    exit_code = ExitCode.REFUSED

    def __init__(self, errors: tuple[Problem, ...], warnings: tuple[Problem, ...] = ()) -> None:
        super().__init__("; ".join(problem.sentence() for problem in errors))
        self.errors = errors
        self.warnings = warnings


class CannotWrite(FleetsheetError):
    """The output file cannot be written (open in another program, no permission, folder missing)."""

    exit_code = ExitCode.CANNOT_WRITE


class SolverFailed(FleetsheetError):
    """The solver stopped in a way that is neither a plan, nor a proof of infeasibility, nor the time limit."""


class AuditFailed(FleetsheetError):
    """A plan failed its independent audit; it is never written."""

    def __init__(self, violations: tuple[str, ...]) -> None:
        words = "the plan failed its audit, which is a fault of fleetsheet, and was not written: "
        super().__init__(words + "; ".join(violations))
        self.violations = violations
