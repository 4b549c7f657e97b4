"""Cells of a plan workbook against what they should hold: computed anew by LibreOffice, and written anew by fleetsheet."""

from __future__ import annotations

import datetime
import io
import math
import shutil
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from xlsxwriter.utility import xl_rowcol_to_cell

from optimizer.report.sheets.explained import ASK
from optimizer.report.sheets.inputs import INPUTS
from optimizer.report.sheets.log import LOG
from optimizer.report.sheets.options import REJECTIONS
from optimizer.report.sheets.summary import SUMMARY
from optimizer.report.writer import PlanSheet, excel_serial
from optimizer.workbook.schema import TABLES

#: LibreOffice computes from the very figures in the file.
RECALCULATED = 1e-9
#: The plan is worked out again from figures of 16 digits.
REWRITTEN = 1e-7
#: Sheets whose texts follow from the run and not from the plan: there only formulas are compared.
_FORMULAS_ONLY = frozenset({SUMMARY, INPUTS})
#: Sheets that are the record itself, or list what was set aside of whole catalogs.
_NOT_COMPARED = frozenset({LOG, REJECTIONS, *(table.sheet for table in TABLES)})


@dataclass(frozen=True)
class Difference:
    """One cell that is not as it should be. stored, expected: as texts; what: in words."""

    sheet: str
    cell: str
    stored: str
    expected: str
    what: str

    def sentence(self) -> str:
        """`Sheet!A1: ...` for a person."""
        return f"{self.sheet}!{self.cell}: {self.what}: holds {self.stored}, should be {self.expected}"


def open_cells(data: bytes, *, values: bool) -> Any:
    """A workbook in openpyxl, for its formulas or for what its cells show."""
    import openpyxl

    with warnings.catch_warnings():
        # It says of data bars that it would not save them; nothing is saved here.
        warnings.simplefilter("ignore", UserWarning)
        return openpyxl.load_workbook(io.BytesIO(data), data_only=values)


def has_libreoffice() -> bool:
    """Whether LibreOffice is there to compute formulas."""
    return (shutil.which("soffice") or shutil.which("libreoffice")) is not None


def formula_cells(formulas: Any) -> Iterator[tuple[str, str]]:
    """(sheet, address) of every formula of a workbook that openpyxl opened with its formulas."""
    for sheet in formulas.worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                if cell.data_type == "f":
                    yield sheet.title, cell.coordinate


def compare_recalculated(data: bytes, formulas: Any, values: Any, shown: str) -> list[Difference]:
    """Formulas whose stored value LibreOffice does not find too. Raises Refused where it fails."""
    from optimizer.workbook.recalc import recalculate

    computed = open_cells(recalculate(data, ".xlsx", shown), values=True)
    found = []
    for sheet, address in formula_cells(formulas):
        stored = values[sheet][address].value
        anew = computed[sheet][address].value if sheet in computed.sheetnames else None
        if not same(stored, anew, RECALCULATED):
            found.append(Difference(sheet, address, show(stored), show(anew), "value stored for a formula"))
    return found


def compare_rewritten(wanted: Mapping[str, PlanSheet], formulas: Any, values: Any | None) -> list[Difference]:
    """Cells that differ from the same plan written anew: formulas as text and, with `values`, what cells show."""
    found = []
    names = list(wanted)
    if formulas.sheetnames != names:
        found.append(
            Difference("", "", ", ".join(formulas.sheetnames), ", ".join(names), "names and order of the sheets")
        )
    for name, sheet in wanted.items():
        if name in _NOT_COMPARED or name not in formulas.sheetnames:
            continue
        there = formulas[name]
        for place, value in sorted(sheet.values.items()):
            text = sheet.formulas.get(place)
            if text is None and (name in _FORMULAS_ONLY or value == ASK):
                # ASK stands where the tables of --explain do, which are solved again and not worked out.
                continue
            address = xl_rowcol_to_cell(*place)
            if text is not None:
                stored_text = there[address].value
                if not (isinstance(stored_text, str) and stored_text.startswith("=")):
                    found.append(Difference(name, address, show(stored_text), text, "a formula was replaced"))
                    continue
                if plain_formula(stored_text) != plain_formula(text):
                    found.append(Difference(name, address, stored_text, text, "a formula was changed"))
                    continue
            if values is None:
                continue
            stored = values[name][address].value
            if not same(stored, value, REWRITTEN):
                what = "what the inputs and the decision come to" if text else "what was written"
                found.append(Difference(name, address, show(stored), show(value), what))
    return found


def plain_formula(text: str) -> str:
    """A formula without what programs add or leave out when they save it."""
    return text.removeprefix("=").replace("'", "").replace(" ", "").replace("_xlfn.", "")


def same(value: Any, other: Any, relative: float) -> bool:
    """Whether two cells show the same; numbers within `relative` of their size, of 1 where they are smaller."""
    value, other = _number(value), _number(other)
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=relative, abs_tol=relative)
    return bool(("" if value is None else value) == ("" if other is None else other))


def _number(value: Any) -> Any:
    """Numbers, logical values (which LibreOffice saves as 1 and 0) and dates as one kind of number."""
    if isinstance(value, datetime.datetime):
        value = value.date()
    if isinstance(value, datetime.date):
        return float(excel_serial(value))
    return float(value) if isinstance(value, (bool, int, float)) else value


def show(value: Any) -> str:
    """A cell as a person reads it."""
    if value is None or value == "":
        return "nothing"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime.datetime):
        return value.date().isoformat()
    return str(value)
