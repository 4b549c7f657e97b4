"""Inputs: an index of the workbook, the legend of colours, the named constants, and what was assumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.report.constants import CURVE_POINTS, SCALARS
from optimizer.report.figures import Figures
from optimizer.report.grid import cell_ref, range_ref
from optimizer.report.writer import PlanSheet

if TYPE_CHECKING:
    from optimizer.report.places import Places

INPUTS = "Inputs"
_TOP = 4
SHEET_WORDS = {
    "Summary": "The decision, its cost and its proof on one page.",
    "Purchases": "The buy list: what, how many, from whom, by when, for how much.",
    "Sizing": "From forecast to racks and $/M tokens, step by step, pool by pool.",
    "Hourly": "Demand, replicas, nodes by offer and cost, hour by hour.",
    "Cost": "The bill by offer, part, purchase type, GPU and pool; $/M tokens with each denominator.",
    "Bad day": "The tightest hour of each bad day.",
    "Constraints": "Every limit: used, left, binding or not.",
    "Occupancy": "How busy so many live replicas may be, where occupancy is auto, and the requests that then wait.",
    "Options": "What could serve, at which goodput, and whether it fits in memory.",
    "Rejections": "What could not serve, and why.",
    "Pool hours": "Workings: each pool in each hour.",
    "Workload hours": "Workings: each workload in each hour.",
    "Replicas": "Decisions: replicas of each option in each hour.",
    "Routing": "Decisions: which option serves which tokens.",
    "Shifts": "Decisions: when deferrable work runs.",
    "Covered hours": "Decisions: nodes whose use a commitment pays.",
    "API hours": "Decisions: which tokens go to an API.",
    "Inputs": "This page.",
    "Checks": "The workbook checks itself.",
    "Log": "How the plan was made: command, files, solver, warnings, assumptions.",
}


class InputsPlaces:
    """Rows of the sheet: index, then legend, then constants, then day types where nobody gave them, then assumptions."""

    def __init__(self, figures: Figures, sheets: tuple[str, ...], day_types_given: bool) -> None:
        self.sheets = sheets
        self.legend_top = _TOP + len(sheets) + 3
        self.scalar_top = self.legend_top + 8
        self.curve_row = self.scalar_top + len(SCALARS) + 1
        self.day_top = self.curve_row + 3
        self.assumption_top = self.day_top + (0 if day_types_given else len(figures.case.day_types) + 3)

    def scalar_row(self, name: str) -> int:
        """Sheet row of a named cell."""
        return self.scalar_top + 1 + [scalar.name for scalar in SCALARS].index(name)

    def curve_cells(self) -> tuple[str, ...]:
        """Addresses of the points of the utilisation curve."""
        return tuple(cell_ref(INPUTS, self.curve_row, 1 + place) for place in range(len(CURVE_POINTS)))

    def day_cells(self, figures: Figures) -> dict[str, str]:
        """Addresses of the days of each day type, where nobody gave a DayTypes sheet."""
        return {day.day_type: cell_ref(INPUTS, self.day_top + 1 + place, 1) for place, day in enumerate(figures.case.day_types)}

    def day_span(self, figures: Figures) -> str:
        """Range of those cells."""
        return range_ref(INPUTS, self.day_top + 1, 1, self.day_top + len(figures.case.day_types), 1)


def fill_inputs(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """The whole page."""
    formats, at = sheet.book.formats, places.inputs_sheet
    sheet.title(
        "Inputs",
        "Change a blue cell on any input sheet and every total follows. The plan itself is not solved again: run fleetsheet.",
    )
    sheet.width(0, 22)
    sheet.width(1, 14)
    sheet.text(_TOP - 1, 0, "Sheets", fmt=formats.heading())
    tables = {table.table.sheet: table for table in places.inputs.written}
    for place, name in enumerate(at.sheets):
        row = _TOP + place
        sheet.jump(row, 0, name, name)
        words = SHEET_WORDS.get(name) or tables[name].table.meaning.replace("`", "")
        if name in tables:
            sheet.number(row, 1, len(tables[name].rows), "int")
            sheet.text(row, 2, "rows", fmt=formats.note())
        sheet.text(row, 3, words, fmt=formats.plain())
    row = at.legend_top
    sheet.text(row, 0, "Colours", fmt=formats.heading())
    sheet.number(row + 1, 0, 1234, "int", "input")
    sheet.text(row + 1, 1, "An input: may be changed (not locked).", fmt=formats.plain())
    sheet.number(row + 2, 0, 1234, "int", "decision")
    sheet.text(row + 2, 1, "A decision of the solver: a value.", fmt=formats.plain())
    sheet.formula(row + 3, 0, "=days_per_year", 365, "int")
    sheet.text(row + 3, 1, "A formula.", fmt=formats.plain())
    scalar_row = at.scalar_row("days_per_year")
    sheet.formula(row + 4, 0, f"={cell_ref(INPUTS, scalar_row, 1)}", 365, "int", "cross")
    sheet.text(row + 4, 1, "A formula that reads another sheet.", fmt=formats.plain())
    sheet.number(row + 5, 0, 1234, "int", "changed")
    sheet.text(row + 5, 1, "An input that differs from the shipped catalog; a note beside it quotes that.", fmt=formats.plain())
    sheet.text(
        row + 6,
        0,
        "Costs are positive; $ is the currency of Policy; GB is 10^9 bytes; tokens are output tokens unless said otherwise.",
        fmt=formats.note(),
    )
    _scalars(sheet, places)
    if not places.inputs.day_types_given:
        sheet.text(at.day_top, 0, "Day types (assumed: no DayTypes sheet was given)", fmt=formats.heading())
        for place, day in enumerate(figures.case.day_types):
            sheet.text(at.day_top + 1 + place, 0, day.day_type)
            sheet.number(at.day_top + 1 + place, 1, day.days, "plain", "input")
            sheet.text(at.day_top + 1 + place, 2, "days", fmt=formats.note())
    sheet.text(at.assumption_top, 0, "Assumptions: nobody stated these", fmt=formats.heading())
    sentences = figures.case.assumptions or ("None.",)
    for place, sentence in enumerate(sentences):
        sheet.text(at.assumption_top + 1 + place, 0, sentence, fmt=formats.plain())
    sheet.finish(freeze=(3, 1), repeat=(0, 2), area=(0, 0, at.assumption_top + len(sentences), 14))


def _scalars(sheet: PlanSheet, places: Places) -> None:
    formats, at = sheet.book.formats, places.inputs_sheet
    sheet.text(at.scalar_top, 0, "Constants and tolerances", fmt=formats.heading())
    constant = formats.custom(font_color="#0000FF", align="right")
    for scalar in SCALARS:
        row = at.scalar_row(scalar.name)
        sheet.text(row, 0, scalar.name)
        if scalar.formula:
            sheet.formula(row, 1, scalar.formula, scalar.value, "plain")
        elif isinstance(scalar.value, str):
            sheet.text(row, 1, scalar.value, fmt=constant)
        elif scalar.free:
            sheet.number(row, 1, scalar.value, "plain", "input")
        else:
            sheet.number(row, 1, scalar.value, "plain", fmt=constant)
        sheet.book.name_cell(scalar.name, INPUTS, row, 1)
        sheet.text(row, 2, scalar.unit, fmt=formats.note())
        sheet.text(row, 4, scalar.note, fmt=formats.plain())
    sheet.text(at.curve_row, 0, "utilisation curve")
    for place, point in enumerate(CURVE_POINTS):
        sheet.number(at.curve_row, 1 + place, point, "plain", "input")
    sheet.text(at.curve_row, 2 + len(CURVE_POINTS), "share of peak", fmt=formats.note())
