"""The look of the workbooks people fill in, and how a schema column becomes a width, a number format and a validation rule.

Blue on pale yellow is for filling in; everything else is black. Text is always written as text, never as a formula; a formula is
always written with its value.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any

from optimizer.workbook.columns import Column, Table

INK = "#1F2933"
INPUT_INK = "#0000FF"
INPUT_FILL = "#FFFBE0"
HEADER_FILL = "#1F4E5F"
BAND_FILL = "#E8F0F2"
ALARM_FILL = "#F8C9C4"
ALARM_INK = "#9C0006"
GOOD_FILL = "#D5EDDA"
GOOD_INK = "#1B5E20"
LINE = "#B8C4C8"
CHART_COLOURS = ("#1F4E5F", "#E08E45", "#5B8C5A", "#8A5A83")
#: Height of one line of 10-point text.
LINE_POINTS = 13.0
#: Excel's numbers of paper sizes.
A3_PAPER, A4_PAPER = 8, 9
#: Fixed so that the same content gives the same file.
CREATED = datetime.datetime(2026, 11, 29)
#: Excel's limits on the texts of a validation rule.
TITLE_LIMIT, MESSAGE_LIMIT = 32, 255

_NUMBER_KINDS = ("number", "whole", "fraction", "occupancy")


@dataclass
class Book:
    """An XlsxWriter workbook with formats made on demand (each combination once)."""

    workbook: Any
    _formats: dict[tuple[tuple[str, Any], ...], Any] = field(default_factory=dict)

    def format(self, **properties: Any) -> Any:
        """The format with these properties on top of the house font."""
        key = tuple(sorted(properties.items()))
        if key not in self._formats:
            self._formats[key] = self.workbook.add_format(
                {"font_name": "Calibri", "font_size": 10, "font_color": INK, "valign": "top", **properties}
            )
        return self._formats[key]

    def label(self) -> Any:
        """A label before a value."""
        return self.format(bold=True, valign="vcenter")

    def plain(self) -> Any:
        """Running text, wrapped."""
        return self.format(text_wrap=True)

    def title(self) -> Any:
        """The title of a sheet."""
        return self.format(bold=True, font_size=16, font_color=HEADER_FILL, valign="vcenter")

    def heading(self) -> Any:
        """A heading inside a sheet."""
        return self.format(bold=True, font_size=11, font_color=HEADER_FILL, bottom=1, bottom_color=HEADER_FILL)

    def header(self, *, right: bool = False) -> Any:
        """The header of a table column."""
        return self.format(
            bold=True, font_color="#FFFFFF", bg_color=HEADER_FILL, text_wrap=True, valign="vcenter",
            align="right" if right else "left", indent=0 if right else 1,
        )

    def input(self, number_format: str = "", *, wrap: bool = False) -> Any:
        """A cell to fill in: blue on pale yellow, unlocked; text keeps a little distance from the number before it."""
        properties: dict[str, Any] = {
            "font_color": INPUT_INK, "bg_color": INPUT_FILL, "border": 1, "border_color": LINE, "locked": False, "text_wrap": wrap
        }
        if number_format:
            properties["num_format"] = number_format
        else:
            properties.update(align="left", indent=1)
        return self.format(**properties)

    def words(self, *, boxed: bool = False) -> Any:
        """Text after a number, at a little distance from it."""
        box = {"border": 1, "border_color": LINE} if boxed else {}
        return self.format(align="left", indent=1, **box)

    def output(self, number_format: str = "") -> Any:
        """A computed cell: black, locked."""
        properties: dict[str, Any] = {"border": 1, "border_color": LINE, "bg_color": "#FFFFFF"}
        if number_format:
            properties["num_format"] = number_format
        return self.format(**properties)

    def hint(self) -> Any:
        """A word of explanation beside a cell."""
        return self.format(italic=True, font_color="#6B7A80", align="left", indent=1)

    def link(self) -> Any:
        """A link to another sheet."""
        return self.format(font_color="#0B5394", underline=1)

    def alarm(self) -> Any:
        """Conditional format of what is wrong."""
        return self.workbook.add_format({"bg_color": ALARM_FILL, "font_color": ALARM_INK})

    def good(self) -> Any:
        """Conditional format of a check that holds."""
        return self.workbook.add_format({"bg_color": GOOD_FILL, "font_color": GOOD_INK, "bold": True})


def open_workbook(path: str, title: str) -> Book:
    """A new workbook with fixed document properties; nothing a person typed can become a formula or a link."""
    import xlsxwriter

    workbook = xlsxwriter.Workbook(path, {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False})
    workbook.set_properties({"title": title, "author": "fleetsheet", "company": "", "created": CREATED})
    return Book(workbook)


def set_up_page(sheet: Any, title: str, *, landscape: bool = True, wide: bool = False) -> None:
    """A4 (A3 where `wide`), one page wide, footer with file, sheet and page."""
    if landscape:
        sheet.set_landscape()
    sheet.set_paper(A3_PAPER if wide else A4_PAPER)
    sheet.fit_to_pages(1, 0)
    sheet.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.6)
    sheet.set_footer(f"&L&8&F&C&8{title}&R&8&P / &N")


def number_format(column: Column) -> str:
    """The number format of a column: whole numbers with thousands, shares as shares, money with two decimals."""
    if column.kind == "whole":
        return "#,##0"
    if column.kind in ("date", "as_of"):
        return "yyyy-mm-dd"
    if column.kind in ("fraction", "occupancy"):
        return "0.00##"
    if column.unit.startswith("$"):
        return "#,##0.00##"
    if column.kind == "number":
        return "#,##0.###"
    return ""


def is_number(column: Column) -> bool:
    """Whether the cells of the column are numbers (`auto` aside)."""
    return column.kind in _NUMBER_KINDS


def column_width(column: Column, texts: list[str]) -> float:
    """A width in characters that shows the usual cell on one line and the header on at most three."""
    longest = max((len(text) for text in texts), default=0)
    header = max((len(word) for word in column.label.split()), default=8)
    return min(max(header + 2, longest + 2, len(column.label) / 3 + 2, 9), 48)


def explain(column: Column) -> str:
    """What the column means, with its unit, range and default: the input message of its cells."""
    parts = [column.meaning]
    if column.unit:
        parts.append(f"Unit: {column.unit}.")
    if column.choices and column.kind != "list":
        parts.append("One of: " + ", ".join(column.choices) + ".")
    default = column.default_words()
    if column.required:
        parts.append("Required.")
    elif default:
        parts.append(f"Empty = {default}.")
    else:
        parts.append("May stay empty.")
    return " ".join(parts)[:MESSAGE_LIMIT]


def validation(column: Column, *, ids: str = "") -> dict[str, Any] | None:
    """The XlsxWriter data validation of a column; None where anything goes. ids: range with the ids of the table it names."""
    rule: dict[str, Any]
    low, high = column.low, column.high
    if column.kind == "choice":
        rule = {"validate": "list", "source": list(column.choices)}
        wrong = "Choose one of the list."
    elif column.kind == "yes_no":
        rule = {"validate": "list", "source": ["yes", "no"]}
        wrong = "yes or no."
    elif column.kind == "id" and ids:
        rule = {"validate": "list", "source": f"={ids}", "error_type": "warning"}
        wrong = f"The sheet {column.names} has no such name."
    elif column.kind in ("number", "whole", "fraction"):
        rule = {"validate": "integer" if column.kind == "whole" else "decimal"}
        if low is not None and high is not None:
            rule.update(criteria="between", minimum=low, maximum=high)
            wrong = f"A number from {low:g} to {high:g}."
        else:
            floor = 0.0 if low is None else low
            rule.update(criteria=">" if column.low_open else ">=", value=floor)
            wrong = f"A number {'above' if column.low_open else 'of at least'} {floor:g}."
    elif column.kind == "date":
        rule = {"validate": "date", "criteria": ">=", "value": datetime.date(2000, 1, 1)}
        wrong = "A date, such as 2027-04-01."
    else:
        rule = {"validate": "any"}
        wrong = ""
    rule["ignore_blank"] = True
    rule["input_title"] = column.label[:TITLE_LIMIT]
    rule["input_message"] = explain(column)
    if wrong:
        rule["error_title"] = column.key[:TITLE_LIMIT]
        rule["error_message"] = wrong
    return rule


def write_cell(book: Book, sheet: Any, row: int, column: int, text: str, kind: Column) -> None:
    """Writes one CSV value into an input cell with the type of its column; text that is no number or date stays text."""
    wide = kind.key in ("source", "note")
    if text == "":
        sheet.write_blank(row, column, None, book.input(number_format(kind), wrap=wide))
        return
    if is_number(kind):
        value = _number(text)
        if value is not None:
            sheet.write_number(row, column, value, book.input(number_format(kind)))
            return
    if kind.kind in ("date", "as_of"):
        try:
            sheet.write_datetime(row, column, datetime.datetime.fromisoformat(text), book.input(number_format(kind)))
            return
        except ValueError:
            pass
    sheet.write_string(row, column, text, book.input(wrap=wide))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def row_height(texts: list[str], width: float) -> float:
    """Points a row needs to show texts wrapped in columns `width` characters wide, with a little air."""
    lines = max((-(-len(text) // int(width)) for text in texts), default=1)
    return LINE_POINTS * max(1, lines) + 2


def list_object_name(table: Table) -> str:
    """The name of the Excel table on a sheet: `tblDemand`, `tblNodeTypes`."""
    return f"tbl{table.sheet}"
