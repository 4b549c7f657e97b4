"""The blank forecast workbook that finance fills in: instructions, 24 hours, a unit to choose, checks, and a filled example.

Everything but the cells to fill in is locked without a password. Every formula has its value, so that a viewer which computes
nothing shows the same as one that does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optimizer.report.template_example import example_tables, write_example
from optimizer.report.template_sheets import ALARM_FILL, ALARM_INK, BAND_FILL, LINE, Book, open_workbook, set_up_page
from optimizer.units import HOURS_PER_DAY
from optimizer.workbook.demand_units import parse_unit

__all__ = ["TEMPLATE_VERSION", "UNITS", "write_example", "write_template"]

#: Counts up when the layout changes; the importer shows it in messages about old templates.
TEMPLATE_VERSION = 1
#: Units the drop-down offers, as the reader of forecasts knows them.
UNITS = ("tok/s", "k tok/s", "tok/min", "M tok/h", "M tok/day")

_TITLE_ROW = 0
_FIRST_FIELD_ROW = 3
_HEADER_ROW = 12
_FIRST_ROW = _HEADER_ROW + 1
_LAST_ROW = _FIRST_ROW + HOURS_PER_DAY - 1
_CHECK_COLUMN = 5
_HEADERS = ("Hour", "Output tokens", "Prompt tokens (optional)", "Note")


@dataclass(frozen=True)
class Filled:
    """What a filled-in sheet holds: the fields by label, and 24 output figures."""

    fields: dict[str, str]
    output: tuple[float, ...]
    note: str = ""


@dataclass(frozen=True)
class Field:
    """A labelled cell above the table. hint: what to write. choices: range of a drop-down. required: must be chosen."""

    label: str
    hint: str
    choices: str = ""
    required: bool = False


FIELDS = (
    Field("Unit", "Choose the unit of the numbers below. It is never guessed.", choices="=Units!$A$2:$A$6", required=True),
    Field("Typical day", "A date (2027-04-05) or words: typical weekday, month end, sale day."),
    Field("Time zone", "Time zone of the hours below, e.g. UTC or Europe/Berlin."),
    Field("Scenario", "base, high, low, or your own word."),
    Field("Owner", "Who answers questions about these figures."),
    Field("Source", "Where the figures come from: model, file, version."),
)


def write_template(path: str | Path) -> None:
    """Writes the blank forecast workbook to `path`: sheets Instructions, Demand, Example and Units."""
    book = open_workbook(str(path), "fleetsheet forecast template")
    book.workbook.set_custom_property("fleetsheet template", TEMPLATE_VERSION)
    _instructions(book)
    _forecast_sheet(book, "Demand", None)
    _forecast_sheet(book, "Example", _filled_example())
    _units_sheet(book)
    book.workbook.close()


def _filled_example() -> Filled:
    """The weekday of the first workload of the example case."""
    demand = next(table for table in example_tables() if table.table.sheet == "Demand")
    column = next(column.key for column in demand.columns if column.key not in ("hour", "day_type"))
    days = demand.texts("day_type")
    output = tuple(float(text) for text, day in zip(demand.texts(column), days, strict=True) if day == days[0])
    fields = {
        "Unit": UNITS[0],
        "Typical day": "typical weekday",
        "Time zone": "UTC",
        "Scenario": "base",
        "Owner": "Capacity planning",
        "Source": "Azure LLM inference trace 2024, conversation, Monday 2024-05-13, output tokens x 10",
    }
    return Filled(fields, output, "public trace, scaled")


def _forecast_sheet(book: Book, name: str, filled: Filled | None) -> None:
    page = book.workbook.add_worksheet(name)
    set_up_page(page, name)
    page.hide_gridlines(2)
    page.set_tab_color("#F2C94C" if filled is None else "#B8C4C8")
    for column, width in enumerate((18, 24, 26, 38, 3, 30, 16, 44)):
        page.set_column(column, column, width)
    page.set_row(_TITLE_ROW, 28)
    title = "Demand forecast: one day, hour by hour" if filled is None else "Example: a forecast filled in (never planned)"
    page.write_string(_TITLE_ROW, 0, title, book.title())
    page.write_string(_TITLE_ROW + 1, 0, "Fill in blue on yellow. The rest is locked, without a password.", book.hint())
    _fields(book, page, filled)
    _hours(book, page, name, filled)
    _checks(book, page, filled)
    _chart(book, page, name)
    page.freeze_panes(_TITLE_ROW + 2, 0)
    page.print_area(0, 0, _LAST_ROW, _CHECK_COLUMN + 2)
    page.protect("", {"format_columns": True, "format_rows": True, "select_locked_cells": True, "select_unlocked_cells": True})


def _fields(book: Book, page: Any, filled: Filled | None) -> None:
    for step, field in enumerate(FIELDS):
        row = _FIRST_FIELD_ROW + step
        page.write_string(row, 0, field.label, book.label())
        value = filled.fields.get(field.label, "") if filled else ""
        if value:
            page.write_string(row, 1, value, book.input())
        else:
            page.write_blank(row, 1, None, book.input())
        page.write_string(row, 2, field.hint, book.hint())
        rule: dict[str, Any] = {"validate": "any", "input_title": field.label, "input_message": field.hint}
        if field.choices:
            rule.update(validate="list", source=field.choices, error_title="Unit", error_message="Choose one of the list.")
        page.data_validation(row, 1, row, 1, rule)
        if field.required:
            page.conditional_format(row, 1, row, 1, {"type": "blanks", "format": book.alarm()})
    row = _FIRST_FIELD_ROW + len(FIELDS)
    page.write_string(row, 0, "Template version", book.label())
    page.write_number(row, 1, TEMPLATE_VERSION, book.output("0"))


def _hours(book: Book, page: Any, name: str, filled: Filled | None) -> None:
    page.set_row(_HEADER_ROW, 20)
    page.add_table(_HEADER_ROW, 0, _LAST_ROW, len(_HEADERS) - 1, {
        "name": f"tbl{name}", "style": None, "autofilter": False,
        "columns": [{"header": text, "header_format": book.header(right=0 < at < 3)} for at, text in enumerate(_HEADERS)],
    })
    number = book.input("#,##0.###")
    for hour in range(HOURS_PER_DAY):
        row = _FIRST_ROW + hour
        page.write_number(row, 0, hour, book.format(bold=True, align="center", border=1, border_color=LINE, bg_color=BAND_FILL))
        if filled:
            page.write_number(row, 1, filled.output[hour], number)
        else:
            page.write_blank(row, 1, None, number)
        page.write_blank(row, 2, None, number)
        if filled and hour == 0:
            page.write_string(row, 3, filled.note, book.input())
        else:
            page.write_blank(row, 3, None, book.input())
    figure = {"validate": "decimal", "criteria": ">=", "value": 0, "error_title": "A number, 0 or more",
              "error_message": "Type a plain number without its unit: 12800, not 12.8k. The unit is chosen once, above."}
    page.data_validation(_FIRST_ROW, 1, _LAST_ROW, 1, {
        **figure, "input_title": "Output tokens",
        "input_message": "Mean rate of generated tokens in this hour, in the unit above."})
    page.data_validation(_FIRST_ROW, 2, _LAST_ROW, 2, {
        **figure, "input_title": "Prompt tokens (optional)",
        "input_message": "Mean rate of input tokens in this hour, in the same unit. Fill in all 24 hours or none."})
    page.conditional_format(_FIRST_ROW, 1, _LAST_ROW, 1, {
        "type": "formula", "criteria": f"=NOT(ISNUMBER($B{_FIRST_ROW + 1}))", "format": book.alarm()})
    page.conditional_format(_FIRST_ROW, 2, _LAST_ROW, 2, {
        "type": "formula", "criteria": f"=ISTEXT($C{_FIRST_ROW + 1})", "format": book.alarm()})


@dataclass(frozen=True)
class Check:
    """A line of the checks. rule: condition that must hold, "" for a figure to look at; holds: whether it does now."""

    label: str
    formula: str
    value: float | str
    number_format: str
    words: str
    rule: str = ""
    holds: bool = True


def _check_lines(filled: Filled | None) -> list[Check]:
    """Every check with the value its formula has for what is filled in; figures are blank while there is nothing to show."""
    out, prompt, hours = (f"${letter}${_FIRST_ROW + 1}:${letter}${_LAST_ROW + 1}" for letter in "BCA")
    names = ("count", "other", "negative", "prompt", "unit", "peak", "hour", "mean", "ratio", "tps")
    at = {name: f"$G${_FIRST_FIELD_ROW + 1 + step}" for step, name in enumerate(names)}
    unit_cell = f"$B${_FIRST_FIELD_ROW + 1}"
    units, factors = (f"Units!${letter}$2:${letter}${len(UNITS) + 1}" for letter in "AB")
    unit = filled.fields["Unit"] if filled else ""
    values = filled.output if filled else ()
    peak = max(values, default=0.0)
    mean = sum(values) / len(values) if values else 0.0
    empty = f"{at['count']}=0"
    return [
        Check("Hours filled in", f"=COUNT({out})", len(values), "0", "all 24 hours hold a number", f"{at['count']}=ROWS({out})",
              len(values) == HOURS_PER_DAY),
        Check("Cells that are no number", f"=COUNTA({out})-COUNT({out})", 0, "0", "no text and no errors", f"{at['other']}=0"),
        Check("Figures below zero", f'=COUNTIF({out},"<0")', 0, "0", "demand is 0 or more", f"{at['negative']}=0"),
        Check("Hours with prompt tokens", f"=COUNT({prompt})", 0, "0", "all 24 hours or none",
              f"OR({at['prompt']}=0,{at['prompt']}=ROWS({out}))"),
        Check("A unit chosen", f'=IF({unit_cell}="",0,1)', 1 if unit else 0, "0", "one unit for all figures", f"{at['unit']}=1",
              bool(unit)),
        Check("Peak", f'=IF({empty},"",MAX({out}))', peak if values else "", "#,##0.##", "in the unit chosen"),
        Check("Hour of the peak", f'=IF({empty},"",INDEX({hours},MATCH({at["peak"]},{out},0)))',
              values.index(peak) if values else "", "0", "is that when you expect it?"),
        Check("Mean of the day", f'=IF({empty},"",AVERAGE({out}))', mean if values else "", "#,##0.##", "in the unit chosen"),
        Check("Peak to mean", f'=IF({empty},"",IF({at["mean"]}=0,"",{at["peak"]}/{at["mean"]}))', peak / mean if mean else "",
              "0.00", "real days lie mostly between 1.2 and 3.5"),
        Check("Peak in tok/s", f'=IF(OR({empty},{unit_cell}=""),"",{at["peak"]}*INDEX({factors},MATCH({unit_cell},{units},0)))',
              peak * _factor(unit) if values and unit else "", "#,##0.##", "the figure that fleetsheet will read"),
    ]


def _checks(book: Book, page: Any, filled: Filled | None) -> None:
    """The checks beside the fields, and their sum beside the title, where it stays in sight."""
    first, lines = _FIRST_FIELD_ROW, _check_lines(filled)
    label, value, words = _CHECK_COLUMN, _CHECK_COLUMN + 1, _CHECK_COLUMN + 2
    page.write_string(first - 1, label, "Checks", book.heading())
    page.write_blank(first - 1, value, None, book.heading())
    page.write_blank(first - 1, words, None, book.heading())
    for row, check in enumerate(lines, start=first):
        page.write_string(row, label, check.label, book.label())
        page.write_formula(row, value, check.formula, book.output(check.number_format), check.value)
        if check.rule:
            page.write_formula(row, words, f'=IF({check.rule},"OK: ","NOT YET: ")&"{check.words}"', book.words(),
                               f"{'OK' if check.holds else 'NOT YET'}: {check.words}")
        else:
            page.write_string(row, words, check.words, book.hint())
    page.conditional_format(first, words, first + len(lines) - 1, words, {
        "type": "text", "criteria": "begins with", "value": "NOT YET", "format": book.alarm()})
    rules = [check for check in lines if check.rule]
    page.write_string(_TITLE_ROW, label, "Ready to send", book.label())
    page.write_formula(_TITLE_ROW, value, f'=IF(AND({",".join(check.rule for check in rules)}),"OK","NOT YET")',
                       book.format(bold=True, border=1, border_color=LINE, align="center", valign="vcenter"),
                       "OK" if all(check.holds for check in rules) else "NOT YET")
    for criteria, form in (("==", book.good()), ("!=", book.alarm())):
        page.conditional_format(_TITLE_ROW, value, _TITLE_ROW, value,
                                {"type": "cell", "criteria": criteria, "value": '"OK"', "format": form})


def _chart(book: Book, page: Any, name: str) -> None:
    chart = book.workbook.add_chart({"type": "column"})
    chart.add_series({
        "name": "Output tokens", "categories": [name, _FIRST_ROW, 0, _LAST_ROW, 0], "values": [name, _FIRST_ROW, 1, _LAST_ROW, 1],
        "fill": {"color": "#1F4E5F"}, "gap": 30,
    })
    chart.set_title({"name": "Output tokens by hour", "name_font": {"size": 12, "color": "#1F4E5F"}})
    chart.set_x_axis({"name": "Hour of the day", "num_font": {"size": 8}})
    chart.set_y_axis({"name": "in the unit chosen", "num_format": "#,##0", "min": 0,
                      "major_gridlines": {"visible": True, "line": {"color": "#D9E2E5"}}})
    chart.set_legend({"none": True})
    chart.set_size({"width": 640, "height": 400})
    page.insert_chart(_FIRST_ROW + 1, _CHECK_COLUMN, chart,
                      {"description": "Column chart of the output tokens filled in for each hour of the day."})


def _factor(unit: str) -> float:
    """tok/s of one `unit`, by the reader's own table."""
    found = parse_unit(unit)
    if found is None:
        raise ValueError(unit)
    return found.factor


def _units_sheet(book: Book) -> None:
    page = book.workbook.add_worksheet("Units")
    set_up_page(page, "Units", landscape=False)
    page.hide_gridlines(2)
    page.set_column(0, 0, 16)
    page.set_column(1, 1, 24)
    page.set_column(2, 2, 60)
    meanings = ("tokens per second", "thousand tokens per second", "tokens per minute", "million tokens per hour",
                "million tokens per day, at the rate of this hour")
    for column, text in enumerate(("Unit", "Tokens per second in one", "Meaning")):
        page.write_string(0, column, text, book.header(right=column == 1))
    for row, (unit, meaning) in enumerate(zip(UNITS, meanings, strict=True), start=1):
        page.write_string(row, 0, unit, book.output())
        page.write_number(row, 1, _factor(unit), book.output("#,##0.0000"))
        page.write_string(row, 2, meaning, book.output())
    page.protect("")


_INSTRUCTIONS = (
    ("Step by step", ""),
    ("1", "Open the sheet Demand. Choose the unit in the cell beside Unit."),
    ("2", "Type 24 figures: the mean rate of output tokens in each hour, hour 0 = 00:00 to 01:00. Not totals of the day, not "
          "peaks inside the hour."),
    ("3", "If you know them, add the prompt (input) tokens: all 24 hours or none. Prices and prefill depend on them."),
    ("4", "Say which day it is, in which time zone, which scenario, who owns it and where it comes from."),
    ("5", "Look at the checks: Ready to send must say OK, and the peak in tok/s must be the one you mean."),
    ("6", "Save as .xlsx. Then: fleetsheet check FILE, and fleetsheet plan FILE --model NAME."),
    ("What counts", ""),
    ("One day", "A real day or a typical one. A mean over many days hides the peak that capacity is bought for."),
    ("Hours", "Local hours of the time zone given. Days of 23 or 25 hours: give a normal day."),
    ("Growth", "Put growth into the figures, not into a note: they are planned as they stand."),
    ("Failures", "Do not add spare capacity here. Failures, rollouts and queueing are planned for separately."),
    ("Several services", "One workbook can hold several workloads, day types, pools and prices: see the example workbook that "
                         "comes with fleetsheet."),
    ("Colours", ""),
    ("Blue on yellow", "To fill in."),
    ("Black", "Computed, or fixed."),
    ("Red", "Missing, or not a number."),
)


def _instructions(book: Book) -> None:
    page = book.workbook.add_worksheet("Instructions")
    set_up_page(page, "Instructions", landscape=False)
    page.hide_gridlines(2)
    page.set_column(0, 0, 20)
    page.set_column(1, 1, 92)
    page.set_row(0, 30)
    page.write_string(0, 0, "Forecast for fleetsheet", book.title())
    page.write_string(1, 0, f"Template version {TEMPLATE_VERSION}", book.format(italic=True))
    row = 2
    for left, right in _INSTRUCTIONS:
        if not right:
            row += 1
            page.write_string(row, 0, left, book.heading())
            page.write_blank(row, 1, None, book.heading())
        else:
            form = {"Blue on yellow": book.input(), "Red": book.format(bg_color=ALARM_FILL, font_color=ALARM_INK)}
            page.set_row(row, 15 if len(right) <= 95 else 28)
            page.write_string(row, 0, left, form.get(left, book.format(bold=True)))
            page.write_string(row, 1, right, book.plain())
        row += 1
    page.protect("")
