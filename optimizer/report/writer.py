"""The only way into the plan workbook: cells of each kind, page set-up, protection; and the file, written whole or not at all.

A formula is always written with its cached value, text is always text, and no number that is not finite gets in.
"""

from __future__ import annotations

import datetime
import math
import os
import re
import secrets
import zipfile
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import xlsxwriter
from xlsxwriter.utility import xl_rowcol_to_cell

from optimizer.errors import CannotWrite
from optimizer.report.grid import Grid, cell_here, cell_ref
from optimizer.report.style import (
    ALARM_FILL,
    ALARM_INK,
    GOOD_FILL,
    GOOD_INK,
    Formats,
    Role,
)

#: Custom document property by which a plan workbook is known again.
MARK_PROPERTY = "fleetsheet plan"
TEXT_LIMIT = 32_767
FORMULA_LIMIT = 8_192
MASTER_ROW = 1
A4, A3 = 9, 8
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_MARK = re.compile(f'name="{MARK_PROPERTY}"[^>]*>\\s*<vt:lpwstr>([^<]*)<')
_UNDATED = datetime.datetime(2000, 1, 1)

Value = float | int | bool | str | datetime.date


@dataclass(frozen=True)
class Stripped:
    """Characters that no sheet can hold were taken out of a text. at: `Sheet!A1`; what: code points, or a note on its length."""

    at: str
    what: str


class PlanSheet:
    """One sheet. Rows and columns are 0-based.

    `values` and `formulas` keep what every cell shows and is computed by, where the book was asked to keep cells.
    """

    def __init__(self, book: PlanBook, name: str, sheet: Any) -> None:
        self.book = book
        self.name = name
        self.raw = sheet
        self.values: dict[tuple[int, int], Value] = {}
        self.formulas: dict[tuple[int, int], str] = {}
        self._widths: dict[int, float] = {}
        self._last_row = self._last_col = 0

    # ------------------------------------------------------------------ cells

    def text(self, row: int, col: int, value: str, style: str = "text", role: Role = "calc", *, fmt: Any = None) -> None:
        """Text as text, whatever it begins with; control characters are taken out and noted."""
        clean = self._clean(row, col, value)
        chosen = fmt if fmt is not None else self.book.formats.cell(style, role, indent=1 if col else 0)
        if clean == "":
            self.raw.write_blank(row, col, None, chosen)
            return
        self.raw.write_string(row, col, clean, chosen)
        self._wrote(row, col, clean)

    def number(self, row: int, col: int, value: float, style: str, role: Role = "calc", *, fmt: Any = None) -> None:
        """A finite number; ValueError for anything else."""
        if not math.isfinite(value):
            raise ValueError(f"{self.name}!{cell_here(row, col)}: {value!r} is no figure that a sheet may hold")
        self.raw.write_number(row, col, value + 0, fmt if fmt is not None else self.book.formats.cell(style, role))
        self._wrote(row, col, value)

    def flag(self, row: int, col: int, value: bool, role: Role = "calc", *, fmt: Any = None) -> None:
        """TRUE or FALSE."""
        self.raw.write_boolean(row, col, value, fmt if fmt is not None else self.book.formats.cell("bool", role))
        self._wrote(row, col, value)

    def date(self, row: int, col: int, value: datetime.date, role: Role = "calc") -> None:
        """A calendar date."""
        moment = datetime.datetime(value.year, value.month, value.day)
        self.raw.write_datetime(row, col, moment, self.book.formats.cell("date", role))
        self._wrote(row, col, value)

    def blank(self, row: int, col: int, style: str = "plain", role: Role = "calc") -> None:
        """An empty cell with its format."""
        self.raw.write_blank(row, col, None, self.book.formats.cell(style, role))

    def formula(
        self, row: int, col: int, text: str, value: Value, style: str, role: Role | None = None, *, fmt: Any = None
    ) -> None:
        """A live formula and what it shows now. Without a role it is green where it reads another sheet, else black."""
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{self.name}!{cell_here(row, col)}: {text} shows {value!r}")
        if len(text) > FORMULA_LIMIT:
            raise ValueError(f"{self.name}!{cell_here(row, col)}: a formula of {len(text)} characters is more than Excel takes")
        chosen = fmt if fmt is not None else self.book.formats.cell(style, role or ("cross" if "!" in text else "calc"))
        cached: Any = value
        if isinstance(value, datetime.date):
            cached = excel_serial(value)
        elif isinstance(value, str):
            cached = self._clean(row, col, value)
        elif not isinstance(value, bool):
            cached = value + 0
        self.raw.write_formula(row, col, text, chosen, cached)
        if self.book.keeps_cells:
            self.formulas[row, col] = text
        self._wrote(row, col, value)

    def jump(self, row: int, col: int, target: str, label: str) -> None:
        """A link to another sheet of this workbook."""
        fmt = self.book.formats.custom(font_color="#0B5394", underline=1)
        quoted = target.replace("'", "''")
        self.raw.write_url(row, col, f"internal:'{quoted}'!A1", fmt, label)
        self._wrote(row, col, label)

    def _wrote(self, row: int, col: int, value: Value) -> None:
        self._last_row, self._last_col = max(self._last_row, row), max(self._last_col, col)
        if self.book.keeps_cells:
            self.values[row, col] = value

    # ------------------------------------------------------------------ tables and pages

    def title(self, words: str, note: str = "") -> None:
        """Title, the master check, and a line that says what the sheet shows: rows 0 to 2, the frozen head of every sheet."""
        self.text(0, 0, words, fmt=self.book.formats.title())
        self.raw.set_row(0, 24)
        self.width(0, 16)
        self.text(MASTER_ROW, 0, "All checks pass", fmt=self.book.formats.custom(bold=True))
        if self.book.master is not None:
            self._master(*self.book.master)
        if note:
            self.text(2, 0, note, fmt=self.book.formats.note())

    def _master(self, address: str, value: bool) -> None:
        """The master check in the frozen head."""
        formats = self.book.formats
        fmt = formats.custom(bold=True, align="center", border=1, border_color="#5F6B73", num_format=formats.number("bool"))
        self.formula(MASTER_ROW, 1, f"={address}", value, "bool", fmt=fmt)
        self.show_flags(MASTER_ROW, 1, MASTER_ROW, 1)

    def show_flags(self, first_row: int, first_col: int, last_row: int, last_col: int) -> None:
        """TRUE on green, FALSE on red."""
        for wanted, ink, fill in (("TRUE", GOOD_INK, GOOD_FILL), ("FALSE", ALARM_INK, ALARM_FILL)):
            fmt = self.book.workbook.add_format({"font_color": ink, "bg_color": fill})
            self.raw.conditional_format(
                first_row,
                first_col,
                last_row,
                last_col,
                {"type": "cell", "criteria": "==", "value": wanted, "format": fmt},
            )

    def header(self, grid: Grid, *, height: float | None = None) -> None:
        """Header and units of a grid, and the widths of its columns (the widest wish wins)."""
        for col in grid.cols:
            self.width(grid.col(col.key), col.width)
        longest = max(lines_needed(col.label, self._widths[grid.col(col.key)]) for col in grid.cols)
        self.raw.set_row(grid.top, height or 14.0 * longest + 2)
        # Row by row: a sheet that is written as it goes takes nothing for rows it has left.
        for col in grid.cols:
            place = grid.col(col.key)
            self.text(grid.top, place, col.label, fmt=self.book.formats.header(col.style, indent=1 if place else 0))
        for col in grid.cols if grid.unit_row else ():
            self.text(grid.top + 1, grid.col(col.key), col.unit, fmt=self.book.formats.unit(col.style))

    def width(self, col: int, width: float) -> None:
        """Make a column at least so wide, in characters."""
        if width > self._widths.get(col, 0.0):
            self._widths[col] = width
            self.raw.set_column(col, col, width)

    def finish(
        self,
        *,
        freeze: tuple[int, int],
        repeat: tuple[int, int] | None = None,
        area: tuple[int, int, int, int] | None = None,
        paper: int = A4,
        one_page: bool = False,
        portrait: bool = False,
    ) -> None:
        """Freeze panes, print set-up and protection (no password: nothing is secret, nothing is overwritten by accident)."""
        sheet = self.raw
        sheet.freeze_panes(*freeze)
        if portrait:
            sheet.set_portrait()
        else:
            sheet.set_landscape()
        sheet.set_paper(paper)
        sheet.fit_to_pages(1, 1 if one_page else 0)
        sheet.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.6)
        sheet.set_footer(f"&L&8{footer_text(self.book.footer)}&C&8&A&R&8Page &P of &N, printed &D")
        if repeat is not None:
            sheet.repeat_rows(*repeat)
        sheet.print_area(*(area or (0, 0, self._last_row, self._last_col)))
        sheet.hide_gridlines(2)
        # Sums of named rows differ from line to line by design, and ids may look like numbers: no green corners for that.
        everything = f"A1:{xl_rowcol_to_cell(self._last_row + 1, self._last_col + 1)}"
        sheet.ignore_errors({"formula_differs": everything, "number_stored_as_text": everything})
        sheet.protect("", {"format_columns": True, "format_rows": True, "autofilter": True, "sort": True})

    def _clean(self, row: int, col: int, value: str) -> str:
        clean = _CONTROL.sub("", value)
        at = f"{self.name}!{cell_here(row, col, fixed_row=False).lstrip('$')}"
        if clean != value:
            found = ", ".join(f"U+{ord(ch):04X}" for ch in dict.fromkeys(_CONTROL.findall(value)))
            self.book.stripped.append(Stripped(at, found))
        if len(clean) > TEXT_LIMIT:
            self.book.stripped.append(Stripped(at, f"{len(clean)} characters, cut to {TEXT_LIMIT}"))
            clean = clean[: TEXT_LIMIT - 1] + "\u2026"
        return clean


@dataclass
class PlanBook:
    """A workbook being written. footer: file name in the footer; stripped: what had to be taken out of texts.

    keeps_cells: sheets remember their cells, for a comparison one by one. master: address and value of the master check.
    """

    workbook: Any
    formats: Formats
    footer: str = ""
    stripped: list[Stripped] = field(default_factory=list)
    sheets: dict[str, PlanSheet] = field(default_factory=dict)
    keeps_cells: bool = False
    master: tuple[str, bool] | None = None

    def add(self, name: str, tab: str, *, long: bool = False) -> PlanSheet:
        """A new sheet after the others. tab: colour of its tab. long: it goes to a temporary file as its rows are written, in
        order, so that a hundred thousand rows take no more memory than one."""
        self.workbook.constant_memory = long
        raw = self.workbook.add_worksheet(name)
        self.workbook.constant_memory = False
        # XlsxWriter looks for 30 newer functions in every formula, which takes half of the time; this workbook uses none of them.
        raw._prepare_formula = _without_equals_sign
        raw.set_tab_color(tab)
        self.sheets[name] = PlanSheet(self, name, raw)
        return self.sheets[name]

    def name_cell(self, name: str, sheet: str, row: int, col: int) -> None:
        """Give a scalar input a name."""
        self.workbook.define_name(name, f"={cell_ref(sheet, row, col)}")


def _without_equals_sign(formula: str, expand_future_functions: bool = False) -> str:
    return formula.removeprefix("=")


def new_book(currency: str, *, footer: str, created: datetime.datetime | None, version: str) -> tuple[PlanBook, BytesIO]:
    """An empty plan workbook that is built in memory, and the buffer it will be in once closed."""
    buffer = BytesIO()
    options = {"strings_to_numbers": False, "strings_to_formulas": False, "strings_to_urls": False}
    workbook = xlsxwriter.Workbook(buffer, options)
    workbook.set_properties({"title": "Fleet plan", "comments": "", "created": created or _UNDATED})
    workbook.set_custom_property(MARK_PROPERTY, version, "text")
    workbook.set_calc_mode("auto")
    workbook.set_size(2400, 1400)
    return PlanBook(workbook, Formats(workbook, currency), footer=footer), buffer


def lines_needed(label: str, width: float) -> int:
    """Lines that a wrapped label takes in a column of that width."""
    lines, used = 1, 0
    for word in label.split():
        if used and used + 1 + len(word) > width:
            lines, used = lines + 1, len(word)
        else:
            used += len(word) + (1 if used else 0)
    return lines


def excel_serial(day: datetime.date) -> int:
    """A date as the number Excel keeps (1900 system)."""
    return (day - datetime.date(1899, 12, 30)).days


def footer_text(text: str) -> str:
    """Text for a footer: ampersands doubled, since they are codes there, and cut to what Excel takes."""
    return _CONTROL.sub("", text)[:100].replace("&", "&&")


# ---------------------------------------------------------------------- the file


def is_plan_workbook(path: Path) -> bool:
    """True where the file is a workbook that fleetsheet wrote as a plan."""
    return plan_version(path) is not None


def plan_version(path: Path) -> str | None:
    """Version of fleetsheet that wrote a plan workbook ("" where it does not say); None for any other file."""
    try:
        with zipfile.ZipFile(path) as package:
            part = package.getinfo("docProps/custom.xml")
            text = package.read(part).decode("utf-8", "replace") if part.file_size < 1_000_000 else ""
    except (OSError, KeyError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
        return None
    if f'name="{MARK_PROPERTY}"' not in text:
        return None
    found = _MARK.search(text)
    return found[1] if found else ""


def check_target(path: Path, *, force: bool = False) -> None:
    """Raise CannotWrite where `path` cannot become a plan workbook, before any work is done.

    An existing file is replaced only where it is a plan workbook itself, or with `force`.
    """
    if path.is_dir():
        raise CannotWrite(f"{path} is a folder; name a file, for example {path / 'plan.xlsx'}")
    if path.suffix.lower() != ".xlsx":
        raise CannotWrite(f"{path} does not end in .xlsx, and a plan is an Excel workbook; name it {path.name}.xlsx")
    if not path.parent.is_dir():
        raise CannotWrite(f"the folder {path.parent} does not exist; make it, or write the plan elsewhere with -o")
    if not path.exists():
        return
    lock = open_elsewhere(path)
    if lock is not None and not force:
        raise CannotWrite(f"{path} is open in another program ({lock} lies beside it); close it and run again, or use --force")
    if not os.access(path, os.W_OK):
        raise CannotWrite(f"{path} is read-only; write the plan elsewhere with -o, or make it writable")
    if not force and not is_plan_workbook(path):
        raise CannotWrite(f"{path} exists and is not a plan that fleetsheet wrote; name another file with -o, or use --force")


def open_elsewhere(path: Path) -> str | None:
    """Name of the lock file that Excel or LibreOffice keeps beside an open workbook, or None."""
    excel = "~$" + (path.name if len(path.stem) < 7 else path.name[2:])
    for name in (f"~${path.name}", excel, f".~lock.{path.name}#"):
        if (path.parent / name).exists():
            return name
    return None


def replace_file(path: Path, content: bytes) -> None:
    """Write the file whole or not at all: to a temporary file in the same folder, then renamed. Raises CannotWrite."""
    temporary = path.parent / f".{path.stem[:40]}.{secrets.token_hex(6)}.tmp"
    try:
        with temporary.open("xb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(path)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        fix = "close it where it is open, or write elsewhere with -o"
        raise CannotWrite(f"{path} cannot be written ({reason}); {fix}") from problem
    finally:
        temporary.unlink(missing_ok=True)
