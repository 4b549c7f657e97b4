"""The example workbook: a whole planning case of real, dated figures, built from the CSV tables beside the templates.

The tables are package data, so the workbook can be built again cell for cell wherever fleetsheet is installed.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optimizer.report.template_sheets import (
    CHART_COLOURS,
    HEADER_FILL,
    Book,
    column_width,
    is_number,
    list_object_name,
    open_workbook,
    row_height,
    set_up_page,
    validation,
    write_cell,
)
from optimizer.units import HOURS_PER_DAY
from optimizer.workbook.columns import Column, Table, header_key
from optimizer.workbook.schema import POLICY_KEYS, TABLES

_NOTE = Column("note", "Note", "text", "Anything a reader should know about the row.")
_HOUR = Column("hour", "Hour", "whole", "Start of the hour, local time of the forecast, 0 to 23.", unit="h", low=0, high=23)
_DAY_TYPE = Column("day_type", "Day type", "id", "The kind of day the row holds for, as on DayTypes.", names="DayTypes")
#: Title, explanation, an empty row, then the header of the table.
_HEADER_ROW = 3
_FIRST_ROW = _HEADER_ROW + 1
#: Rows under a table that already have its drop-downs and rules.
_SPARE_ROWS = 40
#: Characters in a column of sources or notes, and in the text of the Read me.
_TEXT_WIDTH = 58
_LINE_MAX = 118
_READ_ME_WIDTH = 100
_LONG_TEXTS = ("source", "note")
#: Tables with more columns than this print on A3.
_WIDE_TABLE = 9

_SHEET_WORDS = {
    "Demand": "Mean rate of each hour in tok/s, one column for each workload, one block of 24 rows for each day type.",
    "DayTypes": "How many days of each kind the quarter has.",
    "Workloads": "Streams of requests: the model they ask for, their shape, their latency targets, and whether an API may help.",
    "Pools": "Replicas that serve together, and how they are run.",
    "Contingencies": "Bad days the plan must survive, hour by hour.",
    "Policy": "Rules of the run. What is left out has its default.",
    "NodeTypes": "What offers sell and racks hold.",
    "Models": "What a model takes in memory.",
    "Goodput": "Measured points: what one replica sustained at which latency. The highest point that meets the targets counts.",
    "Offers": "Ways to pay for a node type.",
    "Existing": "Nodes already under contract: paid, used, not decided again.",
    "ApiPrices": "Hosted APIs that a workload may overflow to.",
    "Sites": "Own racks and power.",
}


@dataclass(frozen=True)
class SheetRows:
    """One table of the example: schema table, its columns in file order, and the cells as text."""

    table: Table
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]

    def texts(self, key: str) -> list[str]:
        """The cells of one column."""
        at = [column.key for column in self.columns].index(key)
        return [row[at] for row in self.rows]


def templates_folder() -> Path:
    """The folder of the shipped templates: beside the installed package, or the checkout's `templates`."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "_data" / "templates"
    return installed if installed.is_dir() else package.parent / "templates"


def example_tables(folder: Path | None = None) -> tuple[SheetRows, ...]:
    """The example's tables in the order of the schema, from `example/*.csv`. Raises FileNotFoundError where there are none."""
    source = (folder or templates_folder()) / "example"
    found = []
    for table in TABLES:
        path = source / _file_name(table)
        if not path.is_file():
            continue
        lines = _read_csv(path)
        columns = tuple(_column(table, name) for name in lines[0])
        found.append(SheetRows(table, columns, tuple(tuple(line) for line in lines[1:])))
    if not found:
        raise FileNotFoundError(str(source))
    return tuple(found)


def write_example(path: str | Path, *, folder: Path | None = None) -> None:
    """Writes the example workbook to `path`: a Read me, then every input table with its labels, units and validation."""
    tables = example_tables(folder)
    book = open_workbook(str(path), "fleetsheet example: one quarter of a MiniMax-M2.5 service")
    _read_me(book, _read_csv((folder or templates_folder()) / "example" / "read_me.csv"), tables)
    ranges = {sheet.table.sheet: _id_range(sheet) for sheet in tables if sheet.table.sheet != "Demand"}
    for sheet in tables:
        _table_sheet(book, sheet, ranges)
    book.workbook.close()


def _file_name(table: Table) -> str:
    name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in table.sheet).lstrip("_")
    return f"{name}.csv"


def _read_csv(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))


def _column(table: Table, name: str) -> Column:
    if table.sheet == "Demand":
        if name == _HOUR.key:
            return _HOUR
        if name == _DAY_TYPE.key:
            return _DAY_TYPE
        return Column(name, name, "number", "Mean output tokens per second in that hour.", unit="tok/s", low=0)
    return _NOTE if name == _NOTE.key else table.by_header()[header_key(name)]


def _id_range(sheet: SheetRows) -> str:
    return f"'{sheet.table.sheet}'!$A${_FIRST_ROW + 1}:$A${_FIRST_ROW + len(sheet.rows) + _SPARE_ROWS}"


def _table_sheet(book: Book, sheet: SheetRows, ranges: dict[str, str]) -> None:
    table = sheet.table
    page = book.workbook.add_worksheet(table.sheet)
    set_up_page(page, table.sheet, wide=len(sheet.columns) > _WIDE_TABLE)
    page.hide_gridlines(2)
    page.freeze_panes(_FIRST_ROW, 2 if table.sheet == "Demand" else 1)
    page.repeat_rows(_HEADER_ROW)
    page.set_row(0, 26)
    page.set_row(_HEADER_ROW, 46)
    page.set_tab_color("#F2C94C" if table.sheet == "Demand" else HEADER_FILL)
    page.write_string(0, 0, _spaced(table.sheet), book.title())
    page.write_string(1, 0, _SHEET_WORDS[table.sheet], book.hint())
    last = _HEADER_ROW + len(sheet.rows)
    page.add_table(_HEADER_ROW, 0, last, len(sheet.columns) - 1, {
        "name": list_object_name(table), "style": None, "autofilter": table.sheet != "Demand",
        "columns": [{"header": column.label, "header_format": book.header(right=is_number(column))} for column in sheet.columns],
    })
    if table.sheet != "Demand":
        long = [(at, column.key) for at, column in enumerate(sheet.columns) if column.key in _LONG_TEXTS]
        widths = {at: _text_width(sheet.texts(key)) for at, key in long}
        for row, cells in enumerate(sheet.rows):
            page.set_row(_FIRST_ROW + row, max(row_height([cells[at]], width) for at, width in widths.items()))
    for at, column in enumerate(sheet.columns):
        texts = sheet.texts(column.key)
        page.set_column(at, at, _text_width(texts) if column.key in _LONG_TEXTS else column_width(column, texts))
        for row, text in enumerate(texts):
            write_cell(book, page, _FIRST_ROW + row, at, text, _policy_cell(sheet, row, column))
        rule = validation(column, ids=ranges.get(column.names, ""))
        if rule and not (table.sheet == "Policy" and column.key == "value"):
            page.data_validation(_FIRST_ROW, at, last + _SPARE_ROWS, at, rule)
    if table.sheet == "Policy":
        _policy_rules(page, sheet)
    if table.sheet == "Demand":
        _demand_extras(book, page, sheet)


def _text_width(texts: list[str]) -> float:
    """Width of a column of sources or notes: one line where that is not too wide, else wrapped."""
    longest = max((len(text) for text in texts), default=0)
    return longest + 2 if longest <= _LINE_MAX else _TEXT_WIDTH


def _spaced(name: str) -> str:
    """`NodeTypes` as `Node types`, `ApiPrices` as `API prices`."""
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
    return ("API" + words[3:]) if words.startswith("api") else words[0].upper() + words[1:]


def _policy_cell(sheet: SheetRows, row: int, column: Column) -> Column:
    """The column that types a cell: on Policy the value has the type of its key."""
    if sheet.table.sheet == "Policy" and column.key == "value":
        key = sheet.texts("key")[row]
        return next((known for known in POLICY_KEYS if known.key == key), column)
    return column


def _policy_rules(page: Any, sheet: SheetRows) -> None:
    at = [column.key for column in sheet.columns].index("value")
    for row in range(len(sheet.rows)):
        rule = validation(_policy_cell(sheet, row, sheet.columns[at]))
        if rule:
            page.data_validation(_FIRST_ROW + row, at, _FIRST_ROW + row, at, rule)


def _demand_extras(book: Book, page: Any, sheet: SheetRows) -> None:
    """Right of the demand: the checks of each profile, with cached values, and a chart of each day type."""
    days = list(dict.fromkeys(sheet.texts("day_type")))
    profiles = [column for column in sheet.columns if column.key not in ("hour", "day_type")]
    first = len(sheet.columns) + 1
    page.set_column(first - 1, first - 1, 3)
    page.set_column(first, first, 34)
    page.set_column(first + 1, first + 4, 12)
    for step, text in enumerate(("Checks", "Hours", "Peak", "Mean", "Peak to mean")):
        page.write_string(_HEADER_ROW, first + step, text, book.header(right=step > 0))
    row = _FIRST_ROW
    for column in profiles:
        for number, day in enumerate(days):
            _profile_check(book, page, sheet, column, number, f"{column.label}, {day}", row, first)
            row += 1
    for number, day in enumerate(days):
        chart = _profile_chart(book, sheet, profiles, number, day)
        words = f"Line chart of output tok/s by hour on a {day}, one line for each workload."
        page.insert_chart(row + 1 + number * 16, first, chart, {"description": words})


def _profile_check(
    book: Book, page: Any, sheet: SheetRows, column: Column, number: int, words: str, row: int, first: int
) -> None:
    """Hours, peak, mean and peak to mean of one profile; `number` counts the day types."""
    top = _FIRST_ROW + number * HOURS_PER_DAY
    letter = _letter(sheet.columns.index(column))
    area = f"${letter}${top + 1}:${letter}${top + HOURS_PER_DAY}"
    values = [float(text) for text in sheet.texts(column.key)[number * HOURS_PER_DAY:(number + 1) * HOURS_PER_DAY]]
    peak, mean = max(values), sum(values) / len(values)
    page.write_string(row, first, words, book.words(boxed=True))
    page.write_formula(row, first + 1, f"=COUNT({area})", book.output("#,##0"), len(values))
    page.write_formula(row, first + 2, f"=MAX({area})", book.output("#,##0"), peak)
    page.write_formula(row, first + 3, f"=AVERAGE({area})", book.output("#,##0"), mean)
    ratio = f"={_letter(first + 2)}{row + 1}/{_letter(first + 3)}{row + 1}"
    page.write_formula(row, first + 4, ratio, book.output("0.00"), peak / mean)


def _profile_chart(book: Book, sheet: SheetRows, profiles: list[Column], number: int, day: str) -> Any:
    top = _FIRST_ROW + number * HOURS_PER_DAY
    bottom = top + HOURS_PER_DAY - 1
    chart = book.workbook.add_chart({"type": "line"})
    for step, column in enumerate(profiles):
        at = sheet.columns.index(column)
        chart.add_series({
            "name": ["Demand", _HEADER_ROW, at], "categories": ["Demand", top, 0, bottom, 0],
            "values": ["Demand", top, at, bottom, at],
            "line": {"color": CHART_COLOURS[step % len(CHART_COLOURS)], "width": 2.25},
        })
    chart.set_title({"name": f"Demand on a {day}", "name_font": {"size": 12, "color": HEADER_FILL}})
    chart.set_x_axis({"name": "Hour of the day", "num_font": {"size": 8}})
    chart.set_y_axis({"name": "Output tok/s", "num_format": "#,##0", "min": 0,
                      "major_gridlines": {"visible": True, "line": {"color": "#D9E2E5"}}})
    chart.set_legend({"position": "bottom"})
    chart.set_size({"width": 660, "height": 300})
    return chart


def _letter(column: int) -> str:
    from xlsxwriter.utility import xl_col_to_name

    return str(xl_col_to_name(column))


def _read_me(book: Book, lines: list[list[str]], tables: tuple[SheetRows, ...]) -> None:
    """The first sheet: what the case is, where every figure comes from, what was assumed, and what each sheet holds."""
    page = book.workbook.add_worksheet("Read me")
    set_up_page(page, "Read me", landscape=False)
    page.hide_gridlines(2)
    page.set_column(0, 0, 24)
    page.set_column(1, 1, 96)
    row = 0
    for kind, left, right in lines:
        if kind == "title":
            page.set_row(row, 30)
            page.write_string(row, 0, left, book.title())
        elif kind == "heading":
            row += 1
            page.write_string(row, 0, left, book.heading())
            page.write_blank(row, 1, None, book.heading())
        else:
            page.set_row(row, row_height([right], _READ_ME_WIDTH))
            page.write_string(row, 0, left, book.format(bold=True))
            page.write_string(row, 1, right, book.plain())
        row += 1
    row += 1
    page.write_string(row, 0, "Sheets", book.heading())
    page.write_blank(row, 1, None, book.heading())
    for sheet in tables:
        row += 1
        count = len(sheet.rows)
        text = f"{_SHEET_WORDS[sheet.table.sheet]} {count} {'row' if count == 1 else 'rows'}."
        page.set_row(row, row_height([text], _READ_ME_WIDTH))
        page.write_url(row, 0, f"internal:'{sheet.table.sheet}'!A1", book.link(), sheet.table.sheet)
        page.write_string(row, 1, text, book.plain())
