"""Is a plan workbook true? Its formulas, its plan and its proof, worked out anew from its own input sheets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from optimizer import __version__
from optimizer.candidates.option import Candidates
from optimizer.domain.case import Case
from optimizer.errors import Problem, Refused
from optimizer.plan.plan import SolveOutcome, SolverInfo, Status
from optimizer.report.compare_cells import (
    Difference,
    compare_recalculated,
    compare_rewritten,
    formula_cells,
    has_libreoffice,
    open_cells,
)
from optimizer.report.read_back import StoredPlan, false_checks, read_plan
from optimizer.report.result import PlanResult, RunInfo
from optimizer.report.sheets.checks import CHECKS
from optimizer.report.writer import plan_version
from optimizer.workbook.options import LoadOptions

#: Costs that agree to this share are the same.
SAME_COST = 1e-6
_NO_SOLVER = SolverInfo(name="", version="", seconds=0.0, pulp="")


@dataclass(frozen=True)
class Resolved:
    """The case of the workbook solved again. fault: what cannot both be true, where the workbook itself is sound; else ""."""

    status: str
    cost_usd_per_day: float | None
    bound_usd_per_day: float | None
    seconds: float
    fault: str = ""


@dataclass(frozen=True)
class Verified:
    """What was found of a plan workbook.

    formulas: how many there are. recomputed_by: LibreOffice or None. differences: cells that are not as they should be.
    violations: limits that the decision in the workbook breaks. cost_stored, cost_found: as claimed, and from inputs and
    decision, $/day. solved: None where the case was not solved again. notes: what could not be looked at, in a sentence each.
    """

    file: str
    version: str
    currency: str
    formulas: int
    recomputed_by: str | None
    differences: tuple[Difference, ...] = ()
    problems: tuple[Problem, ...] = ()
    violations: tuple[str, ...] = ()
    cost_stored: float | None = None
    cost_found: float | None = None
    solved: Resolved | None = None
    notes: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """The workbook agrees with itself: formulas, inputs, decision and money."""
        return not (self.differences or self.problems or self.violations)

    @property
    def fault(self) -> str:
        """Why the program that wrote a sound workbook was wrong; "" where nothing says so."""
        return self.solved.fault if self.sound and self.solved is not None else ""

    @property
    def agrees(self) -> bool:
        """Nothing at all was found."""
        return self.sound and not self.fault


@dataclass
class _Look:
    """The workbook opened three ways."""

    path: str
    data: bytes
    formulas: Any
    values: Any
    case: Case
    candidates: Candidates
    stored: StoredPlan
    notes: list[str] = field(default_factory=list)


def verify_plan(path: str, *, solve: bool = True) -> Verified:
    """Check a plan workbook against itself and, unless told not to, solve its case again.

    Raises Refused: NOT_A_PLAN for any other file, and what a forecast is refused for where its input sheets do not read.
    """
    version = plan_version(Path(path)) if Path(path).is_file() else ""
    if version is None:
        raise Refused((Problem(
            "NOT_A_PLAN", "is not a plan workbook that fleetsheet wrote, or it is damaged.",
            "Give the workbook that fleetsheet plan wrote.", file=path,
        ),))  # fmt: skip
    look = _open(path)
    differences, recomputed_by = _recalculated(look)
    stored = look.stored
    violations, cost = _audited(look)
    differences += [
        Difference(CHECKS, cell, "FALSE", "TRUE", f"check {words!r}") for cell, words in false_checks(look.values)
    ]
    if cost is not None and stored.cost_usd_per_day is not None and not _near(cost, stored.cost_usd_per_day):
        differences.append(_claim("cost", stored.cost_usd_per_day, cost))
    bound = stored.bound_usd_per_day
    if cost is not None and bound is not None and bound > cost + SAME_COST * max(1.0, cost):
        differences.append(_claim("bound", bound, cost))
    if version != __version__:
        look.notes.append(
            f"It was written by fleetsheet {version or 'of unknown version'}, this is {__version__}: formulas were not compared "
            "with those that this version writes."
        )
    elif not violations and not stored.problems and cost is not None:
        differences += _rewritten(look, cost, values=not differences)
    verified = Verified(
        file=path, version=version, currency=look.case.policy.currency, formulas=sum(1 for _ in formula_cells(look.formulas)),
        recomputed_by=recomputed_by, differences=tuple(dict.fromkeys(differences)), problems=tuple(stored.problems),
        violations=violations, cost_stored=stored.cost_usd_per_day, cost_found=cost, notes=tuple(look.notes),
    )
    return replace(verified, solved=_solved(look)) if solve else verified


def _open(path: str) -> _Look:
    """Input sheets first, through every guard of a forecast; then the cells as formulas and as values."""
    from optimizer.candidates.enumerate import find_candidates
    from optimizer.workbook.load import load_case

    loaded = load_case(path, LoadOptions())
    candidates = find_candidates(loaded.case)
    data = Path(path).read_bytes()
    formulas, values = open_cells(data, values=False), open_cells(data, values=True)
    return _Look(path, data, formulas, values, loaded.case, candidates, read_plan(values, path, loaded.case))


def _recalculated(look: _Look) -> tuple[list[Difference], str | None]:
    if not has_libreoffice():
        look.notes.append("LibreOffice is not installed here: formulas were not recomputed, only compared with fleetsheet's own.")
        return [], None
    return compare_recalculated(look.data, look.formulas, look.values, look.path), "LibreOffice"


def _audited(look: _Look) -> tuple[tuple[str, ...], float | None]:
    """Limits that the decision breaks, and what it costs; no cost where its rows themselves are wrong."""
    from optimizer.plan.audit import audit_decision
    from optimizer.plan.ledger import price_decision

    stored = look.stored
    if stored.problems:
        return (), None
    try:
        cost = price_decision(look.case, look.candidates, stored.decision).total
    except KeyError:
        # An id that the inputs do not have; the audit names it.
        cost = None
    # With the cost found: that another one was claimed is a difference of its own.
    audit = audit_decision(look.case, look.candidates, stored.decision, cost or 0.0)
    return audit.violations, cost


def _claim(key: str, stored: float, found: float) -> Difference:
    from optimizer.report.sheets.log import claimed_ref

    sheet, cell = claimed_ref(key).replace("$", "").split("!")
    what = {
        "cost": "the cost of the plan, from its inputs and decision (was an input changed? then plan again)",
        "bound": "the proven bound, which the cost found cannot be below",
    }[key]
    return Difference(sheet, cell, f"{stored:,.6f}", f"{found:,.6f}", what)


def _near(value: float, other: float) -> bool:
    return abs(value - other) <= SAME_COST * max(1.0, abs(other))


def _rewritten(look: _Look, cost: float, *, values: bool) -> list[Difference]:
    """The same plan written anew by this program, compared cell by cell; `values` too where nothing was found before."""
    from optimizer.plan.audit import AuditResult
    from optimizer.plan.metrics import price_plan
    from optimizer.report.plan_book import plan_cells

    stored = look.stored
    status: Status = "gap_open" if (stored.gap_frac or 0.0) > look.case.policy.gap else "optimal"
    outcome = SolveOutcome(
        status=status, decision=stored.decision, cost_usd_per_day=cost,
        bound_usd_per_day=cost if stored.bound_usd_per_day is None else stored.bound_usd_per_day,
        solver=_NO_SOLVER.model_copy(update={"stopped": stored.stopped}),
    )
    plan = price_plan(look.case, look.candidates, outcome, stored.baselines)
    result = PlanResult(
        status=plan.status, run=RunInfo(version=__version__, command=""), case=look.case, candidates=look.candidates, plan=plan,
        audit=AuditResult(ok=True, violations=()),
    )
    return compare_rewritten(plan_cells(result), look.formulas, look.values if values else None)


def _solved(look: _Look) -> Resolved:
    """The case solved again; a plan below the bound that was proven, or a bound above the plan, is a fault."""
    from optimizer.milp.solve import solve_case

    outcome = solve_case(look.case, look.candidates)
    cost, bound = outcome.cost_usd_per_day, outcome.bound_usd_per_day
    claimed, proven = look.stored.cost_usd_per_day, look.stored.bound_usd_per_day
    fault = ""
    if outcome.status == "infeasible":
        fault = "the plan in the workbook meets every limit, but solving again finds no plan"
    elif cost is not None and proven is not None and cost < proven - SAME_COST * max(1.0, proven):
        fault = f"solving again finds a plan of {cost:,.2f} a day, below the {proven:,.2f} that was proven"
    elif bound is not None and claimed is not None and bound > claimed + SAME_COST * max(1.0, claimed):
        fault = f"solving again proves that no plan is below {bound:,.2f} a day, but the workbook has one of {claimed:,.2f}"
    return Resolved(outcome.status, cost, bound, outcome.solver.seconds, fault)


# ---------------------------------------------------------------------- for people and programs

_SHOWN = 10


def verified_lines(found: Verified) -> list[str]:
    """What a person needs to know, most important first."""
    from optimizer.report.words import money

    lines = ["The workbook agrees with itself." if found.sound else "The workbook does not agree with itself."]
    if found.recomputed_by:
        wrong = sum(1 for row in found.differences if row.what == "value stored for a formula")
        lines.append(f"Formulas: {found.formulas:,} recomputed by {found.recomputed_by}, {wrong:,} differ.")
    else:
        lines.append(f"Formulas: {found.formulas:,}, not recomputed.")
    if found.cost_found is not None and found.cost_stored is not None:
        lines.append(
            f"Cost: {money(found.cost_stored, found.currency)} a day written, {money(found.cost_found, found.currency)} from "
            "inputs and decision."
        )
    if found.problems:
        lines.append("Decision: some cells do not hold what was written.")
    else:
        lines.append("Decision: " + ("breaks limits." if found.violations else "meets every limit and bad day."))
    if found.solved is not None:
        lines.append(_solved_words(found.solved, found.currency, sound=found.sound))
    rows = [row.sentence() for row in found.differences] + [row.sentence() for row in found.problems] + list(found.violations)
    lines += [f"  {row}" for row in rows[:_SHOWN]]
    if len(rows) > _SHOWN:
        lines.append(f"  and {len(rows) - _SHOWN:,} more")
    return [*lines, *found.notes]


def _solved_words(solved: Resolved, currency: str, *, sound: bool) -> str:
    from optimizer.report.words import money

    if solved.fault and sound:
        return f"Solved again: {solved.fault}."
    if solved.status == "infeasible":
        return "Solved again, with the inputs as they are now: no plan meets every limit."
    if solved.cost_usd_per_day is None or solved.bound_usd_per_day is None:
        return "Solved again: no plan within the time limit, so nothing to compare with."
    same = ": the same within the gaps" if not solved.fault else ", with the inputs as they are now"
    return (
        f"Solved again: {money(solved.cost_usd_per_day, currency)} a day, none below "
        f"{money(solved.bound_usd_per_day, currency)}{same}."
    )


def verified_json(found: Verified) -> dict[str, Any]:
    """The same as one object; every key always present."""
    solved = found.solved
    return {
        "status": "agrees" if found.agrees else "fault" if found.fault else "differs",
        "file": found.file,
        "version": found.version,
        "formulas": {"count": found.formulas, "recomputed_by": found.recomputed_by},
        "differences": [
            *(_cell_json(row.sheet, row.cell, row.stored, row.expected, row.what) for row in found.differences),
            *(_cell_json(row.sheet, row.cell, None, None, row.message) for row in found.problems),
        ],
        "audit": {"ok": not found.violations and not found.problems, "violations": list(found.violations)},
        "cost_usd_per_day": {"stored": found.cost_stored, "found": found.cost_found},
        "solved": None if solved is None else {
            "status": solved.status, "cost_usd_per_day": solved.cost_usd_per_day, "bound_usd_per_day": solved.bound_usd_per_day,
            "seconds": solved.seconds, "fault": solved.fault or None,
        },
        "notes": list(found.notes),
        "errors": [],
    }  # fmt: skip


def refused_json(path: str, refused: Refused) -> dict[str, Any]:
    """The object for a file that is no plan workbook, or whose input sheets do not read."""
    from optimizer.report.json_result import problem_rows

    empty = verified_json(Verified(path, "", "", 0, None))
    nothing: dict[str, Any] = {"ok": None, "violations": []}
    return {**empty, "status": "refused", "version": None, "audit": nothing, "errors": problem_rows(refused.errors)}


def _cell_json(sheet: str | None, cell: str | None, stored: str | None, expected: str | None, what: str) -> dict[str, Any]:
    return {"sheet": sheet or None, "cell": cell or None, "stored": stored, "expected": expected, "what": what}
