"""Log: how the plan was made, so that somebody else can make it again; every warning with its cell; what was assumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.report.figures import Figures
from optimizer.report.grid import cell_ref
from optimizer.report.words import status_words
from optimizer.report.writer import PlanSheet

if TYPE_CHECKING:
    from optimizer.report.places import Places

LOG = "Log"
_TOP = 4
#: Rows of the figures that the solver claimed, which Summary and Checks compare with.
CLAIMED = {"cost": _TOP + 1, "bound": _TOP + 2, "gap": _TOP + 3}
#: Row of the status in words.
STATUS_ROW = _TOP + 4


def claimed_ref(key: str) -> str:
    """Address of a figure as it was proven."""
    return cell_ref(LOG, CLAIMED[key], 1)


def fill_log(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """Proof, run, files, warnings, assumptions, and what had to be taken out of texts."""
    result, plan, formats = figures.result, figures.plan, sheet.book.formats
    sheet.title("Log", "How this plan was made. The figures of the proof are values: they do not follow a change of prices.")
    sheet.width(0, 26)
    sheet.width(1, 34)
    sheet.text(_TOP, 0, "Proof", fmt=formats.heading())
    left = formats.custom(align="left")
    for key, label, value, style in (
        ("cost", "Cost, $/day", plan.cost.total, "usd2"), ("bound", "Proven lower bound, $/day", plan.bound_usd_per_day, "usd2"),
        ("gap", "Gap", plan.gap_frac, "pct2"),
    ):  # fmt: skip
        sheet.text(CLAIMED[key], 0, label)
        sheet.number(CLAIMED[key], 1, value, style, "decision")
    row = STATUS_ROW
    run, solver = result.run, plan.solver
    audit = result.audit
    lines: list[tuple[str, str]] = [
        ("Status", f"{plan.status}: {status_words(plan.status, plan.gap_frac, stopped=plan.solver.stopped)}"),
        ("Audit", "not run" if audit is None else "passed" if audit.ok else f"{len(audit.violations)} violations"),
        ("fleetsheet", run.version),
        ("Command", run.command),
        ("Run at (UTC)", run.run_utc.strftime("%Y-%m-%d %H:%M:%S") if run.run_utc else ""),
        ("First day of the plan", run.start_date.isoformat() if run.start_date else ""),
        ("Solver", f"{solver.name} {solver.version}, through PuLP {solver.pulp}"),
        ("Solver seconds", f"{solver.seconds:.2f}"),
        ("Workbook", run.output or ""),
    ]
    for label, words in lines:
        sheet.text(row, 0, label)
        sheet.text(row, 1, words, fmt=left)
        row += 1
    row = _section(sheet, row, "Files read, with their SHA-256", [(item.file, item.sha256) for item in run.inputs])
    if audit is not None:
        row = _section(sheet, row, "What the audit found", [("violation", words) for words in audit.violations])
        row = _section(sheet, row, "What the audit could not settle", [("note", words) for words in audit.notes])
    sheet.text(row + 1, 0, "Warnings", fmt=formats.heading())
    row += 2
    heads = ("Code", "File", "Sheet", "Cell", "What", "What to do")
    for col, label in enumerate(heads):
        sheet.text(row, col, label, fmt=formats.header("text"))
    sheet.width(2, 16)
    sheet.width(3, 10)
    sheet.width(4, 90)
    sheet.width(5, 60)
    row += 1
    for problem in result.warnings:
        cells = (problem.code, problem.file, problem.sheet, problem.cell, problem.message, problem.fix)
        for col, cell in enumerate(cells):
            sheet.text(row, col, cell or "", fmt=formats.plain())
        row += 1
    if not result.warnings:
        sheet.text(row, 0, "None.")
        row += 1
    row = _section(sheet, row, "Assumptions: nobody stated these", [("assumed", words) for words in figures.case.assumptions])
    stripped = [(item.at, item.what) for item in sheet.book.stripped]
    _section(sheet, row, "Characters taken out of texts", stripped)
    sheet.finish(freeze=(3, 1), repeat=(0, 2))


def _section(sheet: PlanSheet, row: int, heading: str, lines: list[tuple[str, str]]) -> int:
    """A heading and two columns under it, where there is anything to say; returns the next free row."""
    if not lines:
        return row
    formats = sheet.book.formats
    sheet.text(row + 1, 0, heading, fmt=formats.heading())
    row += 2
    for label, words in lines:
        sheet.text(row, 0, label)
        sheet.text(row, 1, words, fmt=formats.plain())
        row += 1
    return row
