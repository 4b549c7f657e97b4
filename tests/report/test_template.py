"""The blank forecast template: what it holds, that its checks are right, and that the reader takes it without options."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import openpyxl
import pytest
from openpyxl.formula import Tokenizer
from openpyxl.worksheet.worksheet import Worksheet

from optimizer.errors import Refused
from optimizer.report.template import TEMPLATE_VERSION, UNITS, write_template
from optimizer.workbook.demand_units import parse_unit
from optimizer.workbook.load import LoadOptions, check_inputs, load_case
from tests.helpers.recalc import differences, recalculated, shown_values

CHECKOUT = Path(__file__).resolve().parents[2]
FIRST, LAST = 14, 37
FIGURES = [1000.0 + 137 * ((hour * 7) % 24) for hour in range(24)]


@pytest.fixture
def blank(tmp_path: Path) -> Path:
    path = tmp_path / "forecast.xlsx"
    write_template(path)
    return path


def fill(blank: Path, unit: str, figures: list[float | str | None], prompt: list[float] | None = None) -> Path:
    """The template as a person hands it in."""
    book = openpyxl.load_workbook(blank)
    sheet = book["Demand"]
    sheet["B5"], sheet["B6"], sheet["B9"] = "2027-04-05", "Europe/Berlin", "sales plan v3"
    if unit:
        sheet["B4"] = unit
    for hour in range(24):
        sheet.cell(FIRST + hour, 2, figures[hour])
        if prompt:
            sheet.cell(FIRST + hour, 3, prompt[hour])
    path = blank.parent / "filled.xlsx"
    book.save(path)
    return path


def cells_of(path: Path, *, values: bool) -> dict[str, dict[str, object]]:
    book = openpyxl.load_workbook(path, data_only=values)
    return {sheet.title: {cell.coordinate: cell.value for row in sheet.iter_rows() for cell in row if cell.value is not None}
            for sheet in book.worksheets}


def test_the_shipped_template_is_what_the_code_writes(blank: Path) -> None:
    shipped = CHECKOUT / "templates" / "forecast.xlsx"
    for values in (True, False):
        assert cells_of(shipped, values=values) == cells_of(blank, values=values)


def test_sheets_table_version_and_no_surprises(blank: Path) -> None:
    book = openpyxl.load_workbook(blank)
    assert book.sheetnames == ["Instructions", "Demand", "Example", "Units"]
    assert all(sheet.sheet_state == "visible" and not sheet.merged_cells.ranges for sheet in book.worksheets)
    demand = book["Demand"]
    assert demand.tables["tblDemand"].ref == f"A13:D{LAST}"
    assert [demand.cell(FIRST + hour, 1).value for hour in range(24)] == list(range(24))
    assert demand["A10"].value == "Template version" and demand["B10"].value == TEMPLATE_VERSION
    with zipfile.ZipFile(blank) as parts:
        assert not any("vba" in name.casefold() or "externalLink" in name for name in parts.namelist())


def test_what_is_to_fill_in_is_unlocked_blue_on_yellow_and_the_rest_locked_without_a_password(blank: Path) -> None:
    sheet = openpyxl.load_workbook(blank)["Demand"]
    inputs = {f"B{row}" for row in range(4, 10)} | {f"{letter}{row}" for letter in "BCD" for row in range(FIRST, LAST + 1)}
    for row in sheet.iter_rows():
        for cell in row:
            assert cell.protection.locked == (cell.coordinate not in inputs), cell.coordinate
            if cell.coordinate in inputs:
                assert cell.font.color.rgb == "FF0000FF" and cell.fill.fgColor.rgb == "FFFFFBE0"
    assert sheet.protection.sheet and sheet.protection.password is None


def test_figures_and_unit_are_validated_with_messages(blank: Path) -> None:
    sheet = openpyxl.load_workbook(blank)["Demand"]
    rules = {str(rule.sqref): rule for rule in sheet.data_validations.dataValidation}
    figures = rules[f"B{FIRST}:B{LAST}"]
    assert (figures.type, figures.operator, figures.formula1, figures.errorStyle) == ("decimal", "greaterThanOrEqual", "0", None)
    assert figures.showErrorMessage and figures.error and figures.prompt
    unit = rules["B4"]
    assert unit.type == "list" and unit.formula1 == "Units!$A$2:$A$6" and unit.error
    assert sheet["B4"].value is None
    red = [rule for ranges in sheet.conditional_formatting for rule in ranges.rules if rule.formula]
    assert any(f"NOT(ISNUMBER($B{FIRST}))" in rule.formula[0] for rule in red)


def test_the_drop_down_offers_units_that_the_reader_knows(blank: Path) -> None:
    sheet = openpyxl.load_workbook(blank)["Units"]
    offered = [(sheet.cell(row, 1).value, sheet.cell(row, 2).value) for row in range(2, 2 + len(UNITS))]
    assert [unit for unit, _ in offered] == list(UNITS)
    for name, factor in offered:
        unit = parse_unit(str(name))
        assert unit is not None and unit.kind == "tokens" and factor == pytest.approx(unit.factor, rel=1e-12)


def test_checks_of_the_blank_and_of_the_example_have_their_values(blank: Path) -> None:
    book = openpyxl.load_workbook(blank, data_only=True)
    empty, example = book["Demand"], book["Example"]
    assert empty["F1"].value == "Ready to send" and empty["G1"].value == "NOT YET"
    assert [empty[f"G{row}"].value or 0 for row in range(4, 14)] == [0] * 10
    output = [example.cell(FIRST + hour, 2).value for hour in range(24)]
    peak, mean = max(output), sum(output) / 24
    assert example["G1"].value == "OK"
    assert [example[f"G{row}"].value for row in range(4, 14)] == [
        24, 0, 0, 0, 1, peak, output.index(peak), pytest.approx(mean), pytest.approx(peak / mean), peak]


def formulas(sheet: Worksheet) -> list[str]:
    return [str(cell.value) for row in sheet.iter_rows() for cell in row if cell.data_type == "f"]


def test_formulas_hold_no_number_but_0_and_1(blank: Path) -> None:
    found = [formula for sheet in openpyxl.load_workbook(blank).worksheets for formula in formulas(sheet)]
    assert len(found) >= 30
    for formula in found:
        tokens = Tokenizer(formula).items
        numbers = [token.value for token in tokens if token.type == "OPERAND" and token.subtype == "NUMBER"]
        assert set(numbers) <= {"0", "1"}, formula


@pytest.mark.parametrize("unit", UNITS)
def test_the_filled_template_is_read_without_options(unit: str, blank: Path) -> None:
    factor = parse_unit(unit)
    assert factor is not None
    path = fill(blank, unit, [figure / factor.factor for figure in FIGURES], [8 * figure / factor.factor for figure in FIGURES])
    read = check_inputs(path)
    assert read.warnings == ()
    (demand,) = read.demand
    assert demand.demand_tps["day"] == pytest.approx(FIGURES)
    assert demand.input_tps["day"] == pytest.approx([8 * figure for figure in FIGURES])
    assert demand.peak_tps == pytest.approx(max(FIGURES))


def test_the_filled_template_plans_with_a_model(blank: Path) -> None:
    path = fill(blank, "tok/s", list(FIGURES))
    options = LoadOptions(
        model="MiniMax-M2.5", precision="fp8", input_tokens=8192, output_tokens=1024, ttft_ms=1500, tpot_ms=50
    )
    case = load_case(path, options).case
    assert case.workloads[0].demand[0].output_tps == pytest.approx(FIGURES)


@pytest.mark.parametrize(
    ("hour", "value", "code"), [(7, None, "MISSING_VALUE"), (14, "12.8k", "NOT_A_NUMBER"), (3, -5.0, "NEGATIVE_DEMAND")]
)
def test_a_fault_is_refused_at_its_cell(hour: int, value: float | str | None, code: str, blank: Path) -> None:
    figures: list[float | str | None] = list(FIGURES)
    figures[hour] = value
    with pytest.raises(Refused) as refused:
        check_inputs(fill(blank, "tok/s", figures))
    assert [(problem.code, problem.cell) for problem in refused.value.errors] == [(code, f"B{FIRST + hour}")]


def test_the_blank_template_and_a_missing_unit_are_refused(blank: Path) -> None:
    with pytest.raises(Refused):
        check_inputs(blank)
    with pytest.raises(Refused) as refused:
        check_inputs(fill(blank, "", list(FIGURES)))
    assert {problem.code for problem in refused.value.errors} == {"UNIT_MISSING"}


def test_no_text_can_become_a_formula(blank: Path) -> None:
    with zipfile.ZipFile(blank) as parts:
        shared = parts.read("xl/sharedStrings.xml").decode()
    assert "Output tokens" in shared and not re.search(r"<t[^>]*>=", shared)


@pytest.mark.libreoffice
def test_libreoffice_agrees_with_every_stored_value(blank: Path) -> None:
    assert differences(shown_values(blank), recalculated(blank)) == []


@pytest.mark.libreoffice
def test_the_checks_follow_what_is_typed(blank: Path) -> None:
    figures: list[float | str | None] = [figure / 277.0 for figure in FIGURES]
    cells = recalculated(fill(blank, "M tok/h", figures))["Demand"]
    peak = max(FIGURES) / 277.0
    assert cells["G1"] == "OK" and cells["G4"] == 24
    assert cells["G9"] == pytest.approx(peak) and cells["G13"] == pytest.approx(peak * 1e6 / 3600)
    figures[5] = "n/a"
    cells = recalculated(fill(blank, "M tok/h", figures))["Demand"]
    assert cells["G1"] == "NOT YET" and cells["G4"] == 23 and cells["G5"] == 1
