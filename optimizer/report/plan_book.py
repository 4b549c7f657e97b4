"""The plan workbook: which sheets it has, in which order, and how it reaches the disk."""

from __future__ import annotations

from pathlib import Path

from optimizer.errors import CannotWrite
from optimizer.report.figures import Figures
from optimizer.report.grid import cell_ref
from optimizer.report.input_tables import InputTables, fill_input_table
from optimizer.report.places import Places
from optimizer.report.result import PlanResult
from optimizer.report.sheets.bad_day import BAD_DAY, fill_bad_day
from optimizer.report.sheets.checks import CHECKS, MASTER_CELL, fill_checks
from optimizer.report.sheets.cost import fill_cost
from optimizer.report.sheets.cost_layout import COST
from optimizer.report.sheets.decisions import (
    API_HOURS,
    COVERED,
    ROUTING,
    SHIFTS,
    fill_api_hours,
    fill_covered,
    fill_routing,
    fill_shifts,
)
from optimizer.report.sheets.hourly import fill_hourly
from optimizer.report.sheets.hourly_layout import HOURLY
from optimizer.report.sheets.hours import (
    POOL_HOURS,
    REPLICAS,
    WORKLOAD_HOURS,
    fill_pool_hours,
    fill_replicas,
    fill_workload_hours,
)
from optimizer.report.sheets.inputs import INPUTS, fill_inputs
from optimizer.report.sheets.limits import CONSTRAINTS, fill_constraints
from optimizer.report.sheets.log import LOG, fill_log
from optimizer.report.sheets.occupancy import OCCUPANCY, fill_occupancy, has_auto
from optimizer.report.sheets.options import OPTIONS, REJECTIONS, fill_options, fill_rejections
from optimizer.report.sheets.purchases import PURCHASES, fill_purchases
from optimizer.report.sheets.sizing import SIZING, fill_sizing
from optimizer.report.sheets.summary import SUMMARY, fill_summary
from optimizer.report.writer import PlanBook, PlanSheet, check_target, new_book, replace_file

RESULTS = (SUMMARY, PURCHASES, SIZING, HOURLY, COST, BAD_DAY, CONSTRAINTS, OPTIONS, REJECTIONS)
WORKINGS = (POOL_HOURS, WORKLOAD_HOURS, REPLICAS, ROUTING, API_HOURS)
CONTROL = (CHECKS, LOG)
_RESULT_TAB, _WORKING_TAB, _INPUT_TAB, _CONTROL_TAB = "#1F4E5F", "#9AA5AB", "#F0C800", "#7A4E9C"
_FILL = {
    PURCHASES: fill_purchases,
    SIZING: fill_sizing,
    HOURLY: fill_hourly,
    COST: fill_cost,
    BAD_DAY: fill_bad_day,
    CONSTRAINTS: fill_constraints,
    OCCUPANCY: fill_occupancy,
    OPTIONS: fill_options,
    REJECTIONS: fill_rejections,
    POOL_HOURS: fill_pool_hours,
    WORKLOAD_HOURS: fill_workload_hours,
    REPLICAS: fill_replicas,
    ROUTING: fill_routing,
    SHIFTS: fill_shifts,
    COVERED: fill_covered,
    API_HOURS: fill_api_hours,
    INPUTS: fill_inputs,
    SUMMARY: fill_summary,
}


def write_plan_workbook(path: Path | str, result: PlanResult, *, force: bool = False) -> Path:
    """Write the workbook of a plan whole or not at all, and return its path.

    Raises CannotWrite where the target cannot be replaced: a folder, a missing folder, a read-only file, a file open elsewhere,
    or, without `force`, a file that is not a plan workbook. Raises ValueError where the result carries no plan.
    """
    target = Path(path)
    check_target(target, force=force)
    try:
        content = plan_workbook_bytes(result, target.name)
    except OSError as problem:  # long tables go through temporary files
        raise CannotWrite(f"{target} cannot be written: no room for temporary files ({problem.strerror or problem})") from problem
    replace_file(target, content)
    return target


def plan_workbook_bytes(result: PlanResult, name: str = "plan.xlsx") -> bytes:
    """The workbook as bytes; `name` goes into its footers. Raises ValueError where the result carries no plan."""
    return _build(result, name, keep=False)[1]


def plan_cells(result: PlanResult) -> dict[str, PlanSheet]:
    """The sheets of the workbook in order, with what each cell shows and every formula; nothing is written."""
    return _build(result, "plan.xlsx", keep=True)[0].sheets


def _build(result: PlanResult, name: str, *, keep: bool) -> tuple[PlanBook, bytes]:
    figures = Figures(result)
    inputs = InputTables(figures)
    workings = (*WORKINGS, *((SHIFTS,) if figures.shift_rows else ()), *((COVERED,) if figures.covered_rows else ()))
    # Where no pool's occupancy is `auto` there is nothing to show of it.
    results = tuple(name for name in (*RESULTS[:-2], OCCUPANCY, *RESULTS[-2:]) if name != OCCUPANCY or has_auto(figures))
    names = (*results, *workings, INPUTS, *(table.table.sheet for table in inputs.written), *CONTROL)
    places = Places(figures, names, inputs)
    book, buffer = new_book(figures.currency, footer=name, created=result.run.run_utc, version=result.run.version)
    book.keeps_cells = keep
    # Its value is known before a cell is written; the checks themselves come last.
    master = all(check.ok for check in places.check_rows)
    book.master = cell_ref(CHECKS, *MASTER_CELL), master
    tables = {table.table.sheet: table for table in inputs.written}
    for sheet_name in names:
        tab = _RESULT_TAB if sheet_name in results else _WORKING_TAB if sheet_name in workings else _INPUT_TAB
        book.add(sheet_name, _CONTROL_TAB if sheet_name in CONTROL else tab, long=sheet_name in workings)
    for sheet_name, table in tables.items():
        fill_input_table(book.sheets[sheet_name], table)
    for sheet_name, fill in _FILL.items():
        if sheet_name in book.sheets:
            fill(book.sheets[sheet_name], places, figures)
    fill_checks(book.sheets[CHECKS], places, figures)
    # The Log comes last: it lists what had to be taken out of texts on the way.
    fill_log(book.sheets[LOG], places, figures)
    book.sheets[SUMMARY].raw.activate()
    book.workbook.close()
    return book, buffer.getvalue()
