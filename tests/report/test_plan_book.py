"""The plan workbook against the checklist of finance-model standards: each line of it is a test over the written file."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from functools import cache
from typing import Any

import openpyxl
import pytest
from openpyxl.cell.cell import Cell
from openpyxl.formula import Tokenizer
from openpyxl.formula.tokenizer import Token
from openpyxl.worksheet.worksheet import Worksheet

from optimizer.report.input_tables import HEADER_ROW
from optimizer.report.json_result import plan_json
from optimizer.report.plan_book import CONTROL, RESULTS, WORKINGS, plan_workbook_bytes
from optimizer.report.result import PlanResult
from optimizer.workbook.schema import TABLES
from tests.report import plans

ORDER = ("Summary", "Purchases", "Sizing", "Hourly", "Cost", "Bad day", "Constraints", "Options", "Inputs", "Checks", "Log")
CASES = pytest.mark.parametrize("name", list(plans.RESULTS))
INPUT_SHEETS = {table.sheet for table in TABLES}


@cache
def content(name: str) -> bytes:
    return plan_workbook_bytes(plans.RESULTS[name](), "plan & more.xlsx")


@cache
def book(name: str, *, values: bool = False) -> openpyxl.Workbook:
    return openpyxl.load_workbook(io.BytesIO(content(name)), data_only=values)


def formulas(name: str) -> Iterator[tuple[Worksheet, Cell]]:
    for sheet in book(name).worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                if cell.data_type == "f":
                    yield sheet, cell


def shown(name: str, sheet: str, address: str) -> Any:
    return book(name, values=True)[sheet][address].value


def find(name: str, sheet: str, words: str, *, column: int = 1) -> int:
    """Row whose cell in that column begins with the words."""
    for row in book(name, values=True)[sheet].iter_rows(min_col=column, max_col=column):
        if str(row[0].value or "").startswith(words):
            return int(row[0].row)
    raise AssertionError(f"{sheet} has no row {words!r}")


# ---------------------------------------------------------------------- 1 order and names


@CASES
def test_1_sheets_stand_in_order_and_have_legal_names(name: str) -> None:
    names = book(name).sheetnames
    places = [names.index(sheet) for sheet in ORDER]
    assert places == sorted(places)
    for sheet in names:
        assert len(sheet) <= 31 and not re.search(r"[\[\]:*?/\\]", sheet) and sheet.strip("'") == sheet and sheet != "History"
    tables = [sheet for sheet in names if sheet in INPUT_SHEETS]
    assert names.index("Inputs") < names.index(tables[0]) and names.index(tables[-1]) < names.index("Checks")
    assert {"Demand", "Workloads", "Pools", "Policy", "Offers", "ApiPrices", "Goodput", "Existing", "Sites"} <= set(tables)


# ---------------------------------------------------------------------- 2 summary


@CASES
def test_2_summary_is_one_landscape_page_with_the_figures_that_matter(name: str) -> None:
    sheet, plan = book(name)["Summary"], plans.RESULTS[name]().plan
    assert plan is not None
    assert sheet.page_setup.orientation == "landscape" and {sheet.page_setup.fitToHeight, sheet.page_setup.fitToWidth} <= {
        None,
        1,
    }
    row = find(name, "Summary", "Output tokens of the forecast")
    assert shown(name, "Summary", f"B{row}") == pytest.approx(plan.usd_per_mtok.forecast, rel=1e-12)
    row = find(name, "Summary", "Cost")
    day = plan.cost.total
    for offset, value in enumerate((day, day * 365 / 12, day * 365 / 4, day * 365)):
        assert shown(name, "Summary", f"B{row + offset}") == pytest.approx(value, rel=1e-12)
    total = find(name, "Summary", "Total")
    assert shown(name, "Summary", f"I{total}") == pytest.approx(day, rel=1e-12)
    words = " ".join(str(cell.value) for cells in sheet.iter_rows(max_row=6) for cell in cells if cell.value)
    assert "a day" in words and "best possible" in words
    assert len(sheet._charts) == 2


@CASES
def test_2_summary_shows_the_peak_and_what_headroom_makes_of_it(name: str) -> None:
    case = plans.RESULTS[name]().case
    assert case is not None
    hours = [(day.day_type, hour) for day in case.day_types for hour in range(24)]
    peak = max(sum(row.demand_on(day).output_tps[hour] for row in case.workloads) for day, hour in hours)
    row = find(name, "Summary", "Peak demand", column=7)
    assert shown(name, "Summary", f"I{row}") == pytest.approx(peak) and shown(name, "Summary", f"J{row}") == "tok/s"
    assert shown(name, "Summary", f"I{row + 1}") >= shown(name, "Summary", f"I{row}") * (name not in {"deferred", "api_alone"})


def test_2_seed1_has_two_racks_of_ten_and_says_from_whom() -> None:
    row = find("seed1", "Summary", "Racks at dc")
    assert (shown("seed1", "Summary", f"B{row}"), shown("seed1", "Summary", f"C{row}")) == (2, 10)
    assert book("seed1")["Summary"][f"C{row}"].number_format == '"of "#,##0" racks"'
    row = find("mixed", "Summary", "own4")
    assert shown("mixed", "Summary", f"K{row}") == "dc"


def test_2_baselines_show_the_money_between() -> None:
    cost = plans.mixed().plan
    assert cost is not None
    row = find("mixed", "Summary", "Everything from the API", column=7)
    assert shown("mixed", "Summary", f"J{row}") == pytest.approx(cost.cost.total, rel=1e-12)
    assert shown("mixed", "Summary", f"I{row + 3}") == "not possible"


def test_2_time_limit_is_never_called_optimal() -> None:
    words = " ".join(str(cell.value) for row in book("mixed", values=True)["Summary"].iter_rows() for cell in row if cell.value)
    assert "gap open" in words and "optimal" not in words


# ---------------------------------------------------------------------- 3 units


@CASES
def test_3_every_column_of_figures_has_a_unit(name: str) -> None:
    values = book(name, values=True)
    for title in (*WORKINGS, "Purchases", "Hourly", "Bad day", "Constraints", "Options"):
        sheet = values[title]
        for col in range(1, sheet.max_column + 1):
            if isinstance(sheet.cell(7, col).value, (int, float)) and sheet.cell(5, col).value:
                assert sheet.cell(6, col).value, f"{title}: {sheet.cell(5, col).value} has no unit"


# ---------------------------------------------------------------------- 4, 5 inputs and colours


def colour(cell: Cell) -> str:
    return str(cell.font.color.rgb)[-6:] if cell.font.color is not None else "000000"


@CASES
def test_4_inputs_are_blue_on_yellow_and_unlocked(name: str) -> None:
    for title in INPUT_SHEETS & set(book(name).sheetnames):
        sheet = book(name)[title]
        keys = {
            cell.column
            for cell in sheet[HEADER_ROW + 1]
            if cell.value in {column.key for table in TABLES for column in table.columns}
        }
        for row in sheet.iter_rows(min_row=HEADER_ROW + 2):
            for cell in row:
                if cell.column in keys and cell.value is not None and (title, cell.column) != ("Policy", 1):
                    assert not cell.protection.locked and colour(cell) == "0000FF" and cell.fill.fgColor.rgb == "FFFFFBE0"


@CASES
def test_5_formulas_are_black_or_green_and_read_no_other_file(name: str) -> None:
    for sheet, cell in formulas(name):
        assert "[" not in str(cell.value), f"{sheet.title}!{cell.coordinate}"
        if "!" in str(cell.value):
            assert colour(cell) in {"00703C", "1F2933"}
        else:
            assert colour(cell) == "1F2933"
    parts = zipfile.ZipFile(io.BytesIO(content(name))).namelist()
    assert not [part for part in parts if "externalLink" in part or "vbaProject" in part]
    assert find(name, "Inputs", "Colours")


# ---------------------------------------------------------------------- 6, 7 formulas


@CASES
def test_6_no_formula_holds_a_literal_but_0_and_1(name: str) -> None:
    found = []
    for sheet, cell in formulas(name):
        for token in Tokenizer(str(cell.value)).items:
            literal = token.type == Token.OPERAND and token.subtype in {Token.NUMBER, Token.TEXT, Token.LOGICAL, Token.ERROR}
            if literal and token.value not in {"0", "1"}:
                found.append(f"{sheet.title}!{cell.coordinate}: {cell.value}")
    assert not found


@CASES
def test_7_every_formula_has_a_cached_value_and_none_is_an_error(name: str) -> None:
    for sheet, cell in formulas(name):
        value = shown(name, sheet.title, cell.coordinate)
        assert value is not None and not str(value).startswith("#"), (
            f"{sheet.title}!{cell.coordinate}: {cell.value} shows {value!r}"
        )


def test_7_decisions_are_values() -> None:
    sheet = book("mixed")["Purchases"]
    column = next(cell.column for cell in sheet[5] if cell.value == "Nodes to buy")
    assert {sheet.cell(row, column).value for row in (7, 8)} == {0, 2}
    for title, headers in (("Replicas", ("Live", "Total")), ("Routing", ("On firm replicas",)), ("API hours", ("Overflow",))):
        sheet = book("mixed")[title]
        for header in headers:
            column = next(cell.column for cell in sheet[5] if cell.value == header)
            assert isinstance(sheet.cell(7, column).value, (int, float))


# ---------------------------------------------------------------------- 8 names, merges, hidden parts


@CASES
def test_8_names_are_scalar_inputs_only(name: str) -> None:
    workbook = book(name)
    for defined in workbook.defined_names.values():
        sheet, address = str(defined.attr_text).replace("$", "").split("!")
        assert sheet == "Inputs" and ":" not in address
        assert shown(name, sheet, address) is not None


@CASES
def test_8_nothing_is_merged_hidden_or_circular(name: str) -> None:
    for sheet in book(name).worksheets:
        assert not sheet.merged_cells.ranges and sheet.sheet_state == "visible"
        assert not [key for key, row in sheet.row_dimensions.items() if row.hidden]
        assert not [key for key, column in sheet.column_dimensions.items() if column.hidden]


# ---------------------------------------------------------------------- 9 checks


@CASES
def test_9_every_check_holds_and_the_master_is_in_every_frozen_head(name: str) -> None:
    rows = [row for row in book(name, values=True)["Checks"].iter_rows(min_row=9, values_only=True) if isinstance(row[1], bool)]
    assert len(rows) >= 10 and all(row[1] for row in rows)
    for sheet in book(name).worksheets:
        assert sheet["A2"].value == "All checks pass" and sheet["B2"].value == "=Checks!$B$5"
        assert shown(name, sheet.title, "B2") is True
        assert sheet.freeze_panes is not None and int(re.sub(r"\D", "", sheet.freeze_panes)) > 2


@CASES
def test_9_tolerance_is_an_input(name: str) -> None:
    row = find(name, "Inputs", "tolerance")
    assert shown(name, "Inputs", f"B{row}") == 1e-6
    assert not book(name)["Inputs"][f"B{row}"].protection.locked


# ---------------------------------------------------------------------- 10 log


@CASES
def test_10_log_says_how_the_plan_was_made(name: str) -> None:
    result = plans.RESULTS[name]()
    rows = [
        [str(value) for value in row if value is not None] for row in book(name, values=True)["Log"].iter_rows(values_only=True)
    ]
    flat = {cell for row in rows for cell in row}
    assert {"9.9.9", result.run.command, "forecast.xlsx", "ab" * 32, "2026-11-29 08:30:00"} <= flat
    for problem in result.warnings:
        assert any(problem.code in row and problem.message in row for row in rows)
    assert any("SCALED_FORMAT" in row and "B2" in row for row in rows)


# ---------------------------------------------------------------------- 11 print


@CASES
def test_11_pages_are_set_up(name: str) -> None:
    for sheet in book(name).worksheets:
        assert sheet.page_setup.orientation == "landscape" or sheet.title == "Sizing"
        assert sheet.sheet_properties.pageSetUpPr.fitToPage and sheet.page_setup.fitToWidth in {None, 1}
        assert sheet.print_area
        assert sheet.oddFooter.left.text == "plan && more.xlsx" and "Page &P of &N" in sheet.oddFooter.right.text
        if sheet.title != "Summary":
            assert sheet.print_title_rows


# ---------------------------------------------------------------------- 12 numbers


@CASES
def test_12_numbers_have_formats(name: str) -> None:
    for sheet in book(name).worksheets:
        if sheet.title in INPUT_SHEETS or sheet.title in {"Inputs", "Log"}:
            continue
        for row in sheet.iter_rows(min_row=4):
            for cell in row:
                value = shown(name, sheet.title, cell.coordinate)
                if isinstance(value, float) and value != int(value):
                    assert cell.number_format != "General" or cell.column_letter in {"K", "P", "R"}, (
                        f"{sheet.title}!{cell.coordinate}"
                    )


# ---------------------------------------------------------------------- 13 text


def test_13_text_that_looks_like_a_formula_stays_text() -> None:
    for title, column, expected in (
        ("Workloads", "workload", plans.HOSTILE_WORKLOAD), ("Pools", "pool", plans.HOSTILE_POOL),
        ("ApiPrices", "api", plans.HOSTILE_API),
        ("ApiPrices", "source", "=1+1"),
    ):  # fmt: skip
        sheet = book("api_alone")[title]
        number = next(cell.column for cell in sheet[HEADER_ROW + 1] if cell.value == column)
        cell = sheet.cell(HEADER_ROW + 2, number)
        assert cell.value == expected and cell.data_type == "s"


def test_13_control_characters_are_taken_out_and_logged() -> None:
    sheet = book("api_alone")["ApiPrices"]
    number = next(cell.column for cell in sheet[HEADER_ROW + 1] if cell.value == "provider")
    assert sheet.cell(HEADER_ROW + 2, number).value == "somebody"
    heading = find("api_alone", "Log", "Characters taken out of texts")
    assert "U+000B" in {shown("api_alone", "Log", f"B{row}") for row in range(heading + 1, heading + 4)}


# ---------------------------------------------------------------------- 14, 15 charts and protection


@CASES
def test_14_charts_have_titles_axes_sources_and_alternative_text(name: str) -> None:
    package = zipfile.ZipFile(io.BytesIO(content(name)))
    charts = [part for part in package.namelist() if re.fullmatch(r"xl/charts/chart\d+\.xml", part)]
    assert charts
    for part in charts:
        xml = package.read(part).decode()
        assert xml.count("<c:title>") == 3 and "<c:numCache>" in xml
        assert set(re.findall(r"<c:f>'?([A-Za-z ]+)'?!", xml)) <= {"Hourly", "Cost", "Sizing"}
    drawings = [part for part in package.namelist() if re.fullmatch(r"xl/drawings/drawing\d+\.xml", part)]
    assert sum(package.read(part).decode().count(' descr="') for part in drawings) == len(charts)


@CASES
def test_15_sheets_are_protected_without_a_password(name: str) -> None:
    for sheet in book(name).worksheets:
        assert sheet.protection.sheet and sheet.protection.password is None
    locked = [cell for _, cell in formulas(name) if not cell.protection.locked]
    assert not locked


# ---------------------------------------------------------------------- the figures


@CASES
def test_cost_is_the_same_in_json_workbook_and_ledger(name: str) -> None:
    result = plans.RESULTS[name]()
    assert result.plan is not None
    document = plan_json(result)
    row = find(name, "Cost", "Total")
    titles = [cell.value for cell in book(name)["Cost"][6]]
    total = shown(name, "Cost", f"{openpyxl.utils.get_column_letter(titles.index('Total') + 1)}{row}")
    assert total == pytest.approx(result.plan.cost.total, rel=1e-12) == document["cost_usd_per_day"]
    for part, label in (
        ("held", "Held"),
        ("used", "Used"),
        ("upfront", "Upfront"),
        ("energy", "Energy"),
        ("site", "Site"),
        ("api", "API"),
    ):
        column = openpyxl.utils.get_column_letter(titles.index(label) + 1)
        assert shown(name, "Cost", f"{column}{row}") == pytest.approx(
            document["cost_parts_usd_per_day"][part], rel=1e-12, abs=1e-12
        )


@CASES
def test_usd_per_mtok_with_each_denominator(name: str) -> None:
    plan = plans.RESULTS[name]().plan
    assert plan is not None
    row = find(name, "Cost", "Forecast tokens (the headline)")
    for offset, key in enumerate(("forecast", "fleet", "api", "full_goodput")):
        wanted = getattr(plan.usd_per_mtok, key)
        found = shown(name, "Cost", f"D{row + offset}")
        assert found == "n/a" if wanted is None else found == pytest.approx(wanted, rel=1e-12)


def test_sizing_repeats_the_brief() -> None:
    """12,800; 6; 7; 56; 7; 2; $140/h; 15.19, 7.60, 4.34 at 20, 40, 70 % of peak; $9.72 at the forecast mean."""
    sheet = book("seed1", values=True)["Sizing"]
    cells = {str(row[0]): row[2] for row in sheet.iter_rows(min_row=5, max_row=53, values_only=True) if row[0]}
    assert cells["Peak output"] == pytest.approx(12_800)
    assert cells["Replicas at peak"] == 6 and cells["Replicas for the bad day"] == 7 and cells["Replicas in all"] == 7
    assert cells["GPUs"] == 56 and cells["Nodes, whole"] == 7 and cells["Racks"] == 2
    assert cells["Power, IT"] == pytest.approx(100.1) and cells["Cost"] == pytest.approx(140)
    costs = [row[2] for row in sheet.iter_rows(min_row=5, max_row=53, values_only=True) if row[0] == "Cost at that utilisation"]
    assert [round(cost, 2) for cost in costs] == [15.19, 7.60, 4.34]
    mean = sum(plans.seed1().case.workloads[0].demand[0].output_tps) / 24  # type: ignore[union-attr]
    assert cells["Cost at the forecast mean (the headline)"] == pytest.approx(140e6 / (mean * 3600))


def test_bad_day_shows_asked_left_and_margin() -> None:
    plan = plans.mixed().plan
    assert plan is not None
    rows = [row for row in book("mixed", values=True)["Bad day"].iter_rows(min_row=7, values_only=True) if row[0]]
    assert [row[12] for row in rows] == pytest.approx([margin.margin_tps for margin in plan.margins])
    for row in rows:
        assert row[11] == pytest.approx(row[10] + row[12]) and row[13] is True
    surge = next(row for row in rows if row[0] == "surge")
    assert surge[10] == pytest.approx(surge[9] * 1.3) and surge[6] == "yes"


def test_constraints_show_what_binds() -> None:
    rows = {
        (row[0], row[1]): row
        for row in book("mixed", values=True)["Constraints"].iter_rows(min_row=7, values_only=True)
        if row[0]
    }
    assert rows["Site: racks", "dc"][3:7] == (2, 2, 0, True)
    assert rows["Site: facility power", "dc"][3:7] == (36, pytest.approx(36), pytest.approx(0), True)
    assert rows["API: max_output_tps", "cloud"][3:7] == (400, pytest.approx(250), pytest.approx(150), False)
    assert all(row[7] for row in rows.values() if isinstance(row[7], bool))


def test_rejections_are_listed() -> None:
    row = [cell.value for cell in book("api_alone")["Rejections"][7]]
    assert row[:3] == ["NO_OFFER", "-1 node types are sold.", plans.HOSTILE_WORKLOAD] and row[10] == "offers 0"


def test_many_pools_stay_on_one_sheet_each() -> None:
    assert len(RESULTS) + len(WORKINGS) + len(CONTROL) == 16


def test_a_result_without_plan_has_no_workbook() -> None:
    with pytest.raises(ValueError, match="no figures"):
        plan_workbook_bytes(PlanResult(status="refused", run=plans.RUN))


@CASES
def test_the_same_result_gives_the_same_cells(name: str) -> None:
    again = openpyxl.load_workbook(io.BytesIO(plan_workbook_bytes(plans.RESULTS[name](), "plan & more.xlsx")))
    for sheet in book(name).worksheets:
        assert [[cell.value for cell in row] for row in sheet.iter_rows()] == [
            [cell.value for cell in row] for row in again[sheet.title].iter_rows()
        ]
