"""The catalogue of how demand files go wrong, row by row: each trouble in a file of its own, and what the reader does."""

from __future__ import annotations

import datetime
import hashlib
from pathlib import Path

import pytest

from tests.workbook.forge import DAY, PROFILE, Error, Formula, Sheet, demand_sheet, part, repack, write_xlsx
from tests.workbook.formats import inline_xlsx, ods, ole, package, strict_xlsx, xls, xlsb, zipped
from tests.workbook.reading import TRUTH, place, read, refused, values, warned


def times(start: datetime.datetime = DAY, count: int = 24, minutes: int = 60) -> list[datetime.datetime]:
    return [start + datetime.timedelta(minutes=minutes * step) for step in range(count)]


def test_row_01_numbers_as_text(tmp_path: Path) -> None:
    sheet = demand_sheet(values=[f"{value:,.2f}" for value in PROFILE])
    demand = read(tmp_path, sheet)
    assert values(demand) == TRUTH
    assert warned(demand) == [("TEXT_NUMBERS", "Demand!B2")]
    sheet.down(1, 1, PROFILE[:5])
    demand = read(tmp_path, sheet)
    assert values(demand) == TRUTH
    assert warned(demand) == [("TEXT_NUMBERS", "Demand!B7")]


def test_row_02_european_numbers_where_the_column_decides(tmp_path: Path) -> None:
    european = [f"{value:,}".replace(",", ".") for value in PROFILE]
    demand = read(tmp_path, demand_sheet(values=[*european[:23], "700,50"]))
    assert values(demand) == (*TRUTH[:23], 700.5)
    assert [place(problem) for problem in refused(tmp_path, demand_sheet(values=["12.800,50", *["12,800.50"] * 23]))] == [
        ("MIXED_NUMBERS", "Demand!B3")
    ]


@pytest.mark.parametrize(("locale", "first"), [("en-US", 12_800.0), ("de-DE", 12.8), ("de-CH", 12_800.0), ("fr", 12.8)])
def test_row_03_a_comma_alone_is_refused_until_the_locale_is_said(tmp_path: Path, locale: str, first: float) -> None:
    sheet = demand_sheet(values=["12,800", *["950"] * 23])
    (problem,) = refused(tmp_path, sheet)
    assert place(problem) == ("AMBIGUOUS_NUMBER", "Demand!B2")
    assert "--locale" in problem.fix
    assert values(read(tmp_path, sheet, locale=locale))[0] == first


@pytest.mark.parametrize("mark", ["\u00a0", "\u202f", "\u2009", " ", "'", "\u2019"])
def test_row_04_blanks_and_apostrophes_only_before_three_digits(tmp_path: Path, mark: str) -> None:
    demand = read(tmp_path, demand_sheet(values=[f"{value:,}".replace(",", mark) for value in PROFILE]))
    assert values(demand) == TRUTH
    (problem,) = refused(tmp_path, demand_sheet(values=[f"12{mark}80", *PROFILE[1:]]))
    assert place(problem) == ("NOT_A_NUMBER", "Demand!B2")


@pytest.mark.parametrize("header", ["% of peak", "Demand"])
def test_row_05_percent_is_a_share_of_peak_and_needs_it(tmp_path: Path, header: str) -> None:
    for sheet in (
        demand_sheet(header, [value / 12_800 for value in PROFILE], number_format="0.0%"),
        demand_sheet(header, [f"{value / 128:.6f}%" for value in PROFILE]),
    ):
        (problem,) = refused(tmp_path, sheet)
        assert place(problem) == ("UNIT_NEEDS_PEAK", "Demand!B1")
        assert values(read(tmp_path, sheet, peak=12_800.0)) == pytest.approx(TRUTH, rel=1e-5)


def test_row_05_percent_contradicts_a_unit(tmp_path: Path) -> None:
    (problem,) = refused(tmp_path, demand_sheet("Output tok/s", [value / 12_800 for value in PROFILE], number_format="0%"))
    assert place(problem) == ("UNIT_CONFLICT", "Demand!B1")


@pytest.mark.parametrize(("number_format", "shown"), [("#,##0.0,", 1000), ("#,##0,,", 1_000_000), ('0.0,"k"', 1000)])
def test_row_06_scaled_number_format_warns_and_is_refused_beside_a_multiple(
    tmp_path: Path, number_format: str, shown: int
) -> None:
    demand = read(tmp_path, demand_sheet(number_format=number_format))
    assert values(demand) == TRUTH
    assert warned(demand) == [("SCALED_FORMAT", "Demand!B2")]
    assert f"{shown:,}" in demand.warnings[0].message
    assert place(refused(tmp_path, demand_sheet("Output k tok/s", number_format=number_format))[0]) == (
        "SCALED_FORMAT",
        "Demand!B2",
    )
    assert place(refused(tmp_path, demand_sheet("Demand", number_format=number_format), unit="M tok/h")[0]) == (
        "SCALED_FORMAT",
        "Demand!B2",
    )


def test_row_06_a_k_in_the_format_that_is_not_in_the_file(tmp_path: Path) -> None:
    problems = refused(tmp_path, demand_sheet(values=[value / 1000 for value in PROFILE], number_format='0.0"k"'))
    assert place(problems[0]) == ("SCALED_FORMAT", "Demand!B2")
    problems = refused(tmp_path, demand_sheet(values=[value / 1000 for value in PROFILE], number_format='0.0" M tok/h"'))
    assert place(problems[0]) == ("UNIT_CONFLICT", "Demand!B2")


@pytest.mark.parametrize(
    ("header", "factor"),
    [
        ("Output tok/s", 1.0),
        ("Output k tok/s", 1e3),
        ("Output (M tokens/h)", 1e6 / 3600),
        ("B tokens/day", 1e9 / 86400),
        ("k tok/h", 1e3 / 3600),
        ("tok/min", 1 / 60),
    ],
)
def test_row_07_only_named_units_are_converted_and_the_peak_is_echoed(tmp_path: Path, header: str, factor: float) -> None:
    demand = read(tmp_path, demand_sheet(header, [value / factor for value in PROFILE]))
    assert values(demand) == TRUTH
    assert demand.reports[0].peak_tps == pytest.approx(12_800)
    assert demand.reports[0].peak_to_mean == pytest.approx(3.2)


def test_row_07_without_a_unit_it_is_refused(tmp_path: Path) -> None:
    sheet = demand_sheet("Demand")
    (problem,) = refused(tmp_path, sheet)
    assert place(problem) == ("UNIT_MISSING", "Demand!B1")
    assert values(read(tmp_path, sheet, unit="k tok/s"))[14] == 12_800_000
    assert place(refused(tmp_path, demand_sheet(), unit="k tok/s")[0]) == ("UNIT_CONFLICT", "Demand!B1")


def test_row_08_title_rows_above_the_header(tmp_path: Path) -> None:
    sheet = Sheet("FY27 Q1")
    sheet.put(0, 0, "LLM demand forecast FY27 Q1")
    sheet.put(1, 0, "Prepared by FP&A, hourly load")
    sheet.put(4, 2, "Hour")
    sheet.put(4, 3, "Output tok/s")
    sheet.down(5, 2, range(24))
    sheet.down(5, 3, PROFILE)
    demand = read(tmp_path, sheet)
    assert values(demand) == TRUTH
    assert not demand.warnings
    assert demand.reports[0].place == "FY27 Q1!D6:D29"


def test_row_09_merged_headers_are_filled_and_joined(tmp_path: Path) -> None:
    sheet = Sheet()
    for column, text in enumerate(("Hour", "Chat", "", "Total", "")):
        sheet.put(0, column, text or None)
    for column, text in enumerate(("Output tok/s", "Prompt tok/s", "Output tok/s", "Prompt tok/s"), 1):
        sheet.put(1, column, text)
    sheet.merges = [(0, 0, 1, 0), (0, 1, 0, 2), (0, 3, 0, 4)]
    sheet.down(2, 0, range(24))
    for column, factor in enumerate((0.5, 2, 1, 4), 1):
        sheet.down(2, column, [value * factor for value in PROFILE])
    (problem,) = refused(tmp_path, sheet)
    assert place(problem) == ("SEVERAL_DEMAND_COLUMNS", "Demand!B2")
    assert "--column 'Total / Output tok/s'" in problem.fix
    demand = read(tmp_path, sheet, column="Total / Output tok/s")
    assert values(demand) == TRUTH
    assert demand.series[0].input_tps == tuple(4 * value for value in TRUTH)


def test_row_10_merged_data_cells(tmp_path: Path) -> None:
    sheet = demand_sheet()
    sheet.merges = [(4, 1, 5, 1)]
    del sheet.cells[5, 1]
    assert place(refused(tmp_path, sheet)[0]) == ("MERGED_CELLS", "Demand!B5:B6")


def footers(total: float = sum(PROFILE), mean: float = sum(PROFILE) / 24, peak: float = max(PROFILE)) -> Sheet:
    sheet = demand_sheet()
    sheet.down(25, 0, ["Total", "Average", "Peak"])
    sheet.down(25, 1, [total, mean, peak])
    return sheet


def test_row_11_totals_are_left_out_where_they_agree(tmp_path: Path) -> None:
    demand = read(tmp_path, footers())
    assert values(demand) == TRUTH
    assert warned(demand) == [("FOOTER_ROWS_IGNORED", "Demand!A26")]
    tokens_of_the_day_in_millions = sum(PROFILE) * 3600 / 1e6
    assert values(read(tmp_path, footers(total=tokens_of_the_day_in_millions))) == TRUTH


@pytest.mark.parametrize(
    ("wrong", "cell"), [({"total": 97_000.0}, "B26"), ({"mean": 4100.0}, "B27"), ({"peak": 12_000.0}, "B28")]
)
def test_row_11_totals_that_disagree_are_refused(tmp_path: Path, wrong: dict[str, float], cell: str) -> None:
    (problem,) = refused(tmp_path, footers(**wrong))
    assert place(problem) == ("TOTAL_DISAGREES", f"Demand!{cell}")
    assert "--range Demand!A1:B25" in problem.fix
    assert values(read(tmp_path, footers(**wrong), range="Demand!A1:B25")) == TRUTH


def test_row_11_subtotals_between_the_hours(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.put(0, 0, "Hour")
    sheet.put(0, 1, "Output tok/s")
    row = 1
    for hour, value in enumerate(PROFILE):
        sheet.put(row, 0, hour)
        sheet.put(row, 1, value)
        row += 1
        if hour in (11, 23):
            sheet.put(row, 0, "Subtotal")
            sheet.put(row, 1, sum(PROFILE[hour - 11 : hour + 1]))
            row += 1
    demand = read(tmp_path, sheet)
    assert values(demand) == TRUTH
    assert warned(demand) == [("FOOTER_ROWS_IGNORED", "Demand!A14")]


def test_row_12_blank_rows_keep_true_addresses(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.put(2, 0, "Hour")
    sheet.put(2, 1, "Output tok/s")
    for hour, value in enumerate(PROFILE):
        row = 4 + hour + hour // 6
        sheet.put(row, 0, hour)
        sheet.put(row, 1, value)
    demand = read(tmp_path, sheet)
    assert values(demand) == TRUTH
    assert not demand.warnings
    sheet.put(4 + 20 + 3, 1, "n/a")
    assert place(refused(tmp_path, sheet)[0]) == ("NOT_A_NUMBER", "Demand!B28")


def scenarios() -> Sheet:
    sheet = Sheet()
    for column, text in enumerate(("Scenario", "Hour", "Output tok/s")):
        sheet.put(0, column, text)
    for block, (name, factor) in enumerate((("Base", 1), ("High", 2))):
        for hour, value in enumerate(PROFILE):
            for column, cell in enumerate((name, hour, value * factor)):
                sheet.put(1 + 24 * block + hour, column, cell)
    return sheet


def test_row_13_hidden_rows_are_refused_until_it_is_said_what_they_are(tmp_path: Path) -> None:
    sheet = scenarios()
    sheet.hidden_rows = set(range(25, 49))
    sheet.filter = (0, 0, 48, 2)
    (problem,) = refused(tmp_path, sheet)
    assert place(problem) == ("HIDDEN_ROWS", "Demand!A26:A49")
    assert values(read(tmp_path, sheet, hidden="exclude")) == TRUTH
    assert refused(tmp_path, sheet, hidden="include")[0].code == "DUPLICATE_HOUR"
    one = demand_sheet()
    one.hidden_rows = {7}
    assert values(read(tmp_path, one, hidden="include")) == TRUTH


def test_row_13_hidden_columns(tmp_path: Path) -> None:
    sheet = demand_sheet()
    sheet.put(0, 2, "High output tok/s")
    sheet.down(1, 2, [2 * value for value in PROFILE])
    sheet.hidden_columns = {2}
    assert place(refused(tmp_path, sheet)[0]) == ("HIDDEN_COLUMNS", "Demand!C1")
    assert values(read(tmp_path, sheet, hidden="exclude")) == TRUTH


def test_row_14_a_hidden_first_sheet_is_ignored_with_a_warning(tmp_path: Path) -> None:
    old = demand_sheet(values=[value / 2 for value in PROFILE], name="Demand_old")
    old.hidden = True
    demand = read(tmp_path, [old, demand_sheet()])
    assert values(demand) == TRUTH
    assert warned(demand) == [("HIDDEN_SHEET_IGNORED", "Demand_old")]
    assert values(read(tmp_path, [old, demand_sheet()], sheet="Demand_old"))[14] == 6400


def test_row_15_one_sheet_or_a_refusal_with_the_names(tmp_path: Path) -> None:
    sheets = [demand_sheet(name="Base"), demand_sheet(values=[2 * value for value in PROFILE], name="High case")]
    (problem,) = refused(tmp_path, sheets)
    assert problem.code == "SEVERAL_SHEETS"
    assert "'Base', 'High case'" in problem.message
    assert values(read(tmp_path, sheets, sheet="Base")) == TRUTH
    prices = Sheet("Prices", {(0, 0): "GPU", (0, 1): "USD/h", (1, 0): "H100", (1, 1): 2.5})
    assert values(read(tmp_path, [prices, demand_sheet(name="FY27")])) == TRUTH


@pytest.mark.parametrize(
    "header",
    [
        "Output\ntok/s\u00a0 ",
        "  OUTPUT TOK/S",
        "Output\u200b tok/s",
        "\uff2futput tok/s",
        "Output_x000D_ tok/s",
        "\u202bOutput tok/s\u202c",
    ],
)
def test_row_16_dirty_headers(tmp_path: Path, header: str) -> None:
    demand = read(tmp_path, demand_sheet(header, hour_header="\u00a0Hour "))
    assert values(demand) == TRUTH


def test_row_17_duplicate_columns_name_both_cells(tmp_path: Path) -> None:
    sheet = demand_sheet()
    sheet.put(0, 2, "output  tok/s")
    sheet.down(1, 2, [2 * value for value in PROFILE])
    (problem,) = refused(tmp_path, sheet)
    assert place(problem) == ("DUPLICATE_COLUMNS", "Demand!C1")
    assert "B1 and C1" in problem.message
    assert values(read(tmp_path, sheet, column="B")) == TRUTH


def formulas(value_of: object) -> Sheet:
    sheet = demand_sheet("Users (k)", [value / 10 for value in PROFILE])
    sheet.put(0, 2, "tok/s per k users")
    sheet.down(1, 2, [10] * 24)
    sheet.put(0, 3, "Output tok/s")
    sheet.down(1, 3, [Formula(f"=B{row}*C{row}", value_of(row) if callable(value_of) else value_of) for row in range(2, 26)])
    return sheet


def without_saved_values(data: bytes) -> bytes:
    return repack(
        data,
        {"xl/worksheets/sheet1.xml": part(data, "xl/worksheets/sheet1.xml").replace(b' t="str"', b"").replace(b"<v></v>", b"")},
    )


def test_row_18_formulas_without_saved_values(tmp_path: Path) -> None:
    assert values(read(tmp_path, formulas(lambda row: PROFILE[row - 2]))) == TRUTH
    data = without_saved_values(write_xlsx(formulas(None)))
    (problem,) = refused(tmp_path, data)
    assert place(problem) == ("FORMULA_NO_VALUE", "Demand!D2")
    assert "--recalc libreoffice" in problem.fix


@pytest.mark.libreoffice
def test_row_18_recalculated_on_a_private_copy(tmp_path: Path) -> None:
    data = without_saved_values(write_xlsx(formulas(None)))
    assert values(read(tmp_path, data, recalc="libreoffice")) == TRUTH
    assert (tmp_path / "forecast.xlsx").read_bytes() == data
    assert [path.name for path in tmp_path.iterdir()] == ["forecast.xlsx"]


def test_row_19_saved_zeros_of_every_formula_are_refused(tmp_path: Path) -> None:
    (problem,) = refused(tmp_path, formulas(0))
    assert place(problem) == ("FORMULA_ZERO", "Demand!D2")
    zeros_that_were_typed = read(tmp_path, demand_sheet(values=[0] * 24))
    assert values(zeros_that_were_typed) == (0.0,) * 24
    assert zeros_that_were_typed.reports[0].peak_to_mean is None


@pytest.mark.libreoffice
def test_row_19_recalculated(tmp_path: Path) -> None:
    assert values(read(tmp_path, formulas(0), recalc="libreoffice")) == TRUTH


def test_row_20_error_cells_are_named(tmp_path: Path) -> None:
    sheet = demand_sheet()
    sheet.put(9, 1, Error("#N/A"))
    sheet.put(18, 1, Error("#DIV/0!"))
    problems = refused(tmp_path, sheet)
    assert [place(problem) for problem in problems] == [("CELL_ERROR", "Demand!B10"), ("CELL_ERROR", "Demand!B19")]
    assert "#N/A" in problems[0].message


def test_row_21_external_links_use_the_saved_value_and_warn_with_the_file(tmp_path: Path) -> None:
    links = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/externalLinkPath" '
        'Target="file:///C:/plans/Master%20plan.xlsx" TargetMode="External"/></Relationships>'
    )
    data = repack(
        write_xlsx(demand_sheet()),
        {
            "xl/externalLinks/externalLink1.xml": b"<externalLink/>",
            "xl/externalLinks/_rels/externalLink1.xml.rels": links.encode(),
        },
    )
    demand = read(tmp_path, data)
    assert values(demand) == TRUTH
    assert [warning.code for warning in demand.warnings] == ["EXTERNAL_LINKS"]
    assert "Master plan.xlsx" in demand.warnings[0].message


def test_row_22_the_1904_date_system(tmp_path: Path) -> None:
    sheet = demand_sheet(hours=times(), hour_header="Timestamp")
    data = write_xlsx(sheet, date_1904=True)
    assert values(read(tmp_path, data)) == TRUTH
    assert values(read(tmp_path, data, day="2026-12-01")) == TRUTH
    serials = write_xlsx(
        demand_sheet(hours=[46357 - 1462 + hour / 24 for hour in range(24)], hour_header="Timestamp"), date_1904=True
    )
    assert values(read(tmp_path, serials, day="2026-12-01")) == TRUTH


@pytest.mark.parametrize("digits", [4, 10])
def test_row_23_serials_without_a_date_format(tmp_path: Path, digits: int) -> None:
    demand = read(tmp_path, demand_sheet(hours=[round(46357 + hour / 24, digits) for hour in range(24)], hour_header="Timestamp"))
    assert values(demand) == TRUTH
    assert warned(demand) == [("SERIAL_DATES", "Demand!A2")]


def test_row_24_midnight_in_every_form_in_one_column(tmp_path: Path) -> None:
    hours = [
        datetime.time(0),
        "01:00",
        datetime.timedelta(hours=2),
        datetime.time(3),
        "4 AM",
        *[datetime.time(hour) for hour in range(5, 24)],
    ]
    assert values(read(tmp_path, demand_sheet(hours=hours))) == TRUTH
    sheet = demand_sheet(hours=[hour / 24 for hour in range(24)], hour_format="yyyy-mm-dd hh:mm")
    assert values(read(tmp_path, sheet)) == TRUTH
    assert values(read(tmp_path, demand_sheet(hours=[DAY.date(), *times()[1:]], hour_header="Timestamp"))) == TRUTH


@pytest.mark.parametrize(
    "hours",
    [
        range(1, 25),
        [f"{hour:02d}:00" for hour in range(1, 25)],
        [f"HE{hour}" for hour in range(1, 25)],
        [datetime.timedelta(hours=hour) for hour in range(1, 25)],
        [100 * hour for hour in range(1, 25)],
    ],
)
def test_row_25_hour_ending(tmp_path: Path, hours: object) -> None:
    demand = read(tmp_path, demand_sheet(hours=hours))
    assert values(demand) == TRUTH
    assert warned(demand) == [("HOUR_ENDING", "Demand!A2")]


def test_row_25_hour_ending_by_the_header(tmp_path: Path) -> None:
    hours = [*[f"{hour:02d}:00" for hour in range(1, 24)], "00:00"]
    assert values(read(tmp_path, demand_sheet(hours=hours, hour_header="Hour ending"))) == TRUTH
    dated = demand_sheet(hours=times(DAY + datetime.timedelta(hours=1)), hour_header="Hour ending")
    assert values(read(tmp_path, dated)) == TRUTH
    unclear = demand_sheet(hours=times(DAY + datetime.timedelta(hours=1)), hour_header="Timestamp")
    assert place(refused(tmp_path, unclear)[0]) == ("HOUR_ENDING_UNCLEAR", "Demand!A2")
    assert place(refused(tmp_path, demand_sheet(hours=range(25), values=[*PROFILE, 1]))[0]) == ("HOURS_0_AND_24", "Demand!A26")


def test_row_26_the_day_of_23_hours_is_refused_and_the_gap_named(tmp_path: Path) -> None:
    hours = [moment for moment in times(datetime.datetime(2027, 3, 14)) if moment.hour != 2]
    (problem,) = refused(tmp_path, demand_sheet(hours=hours, values=PROFILE[:23], hour_header="Local time"))
    assert place(problem) == ("MISSING_HOUR", "Demand!A4")
    assert "02:00" in problem.message


def test_row_27_the_day_of_25_hours_is_refused_never_added_or_dropped(tmp_path: Path) -> None:
    hours = [
        *times(datetime.datetime(2026, 11, 1))[:2],
        datetime.datetime(2026, 11, 1, 1),
        *times(datetime.datetime(2026, 11, 1))[2:],
    ]
    (problem,) = refused(tmp_path, demand_sheet(hours=hours, values=[*PROFILE[:2], 960, *PROFILE[2:]], hour_header="Local time"))
    assert place(problem) == ("DUPLICATE_HOUR", "Demand!A4")
    assert "A3" in problem.message


def test_row_28_time_zones_are_kept_local_and_mixtures_refused(tmp_path: Path) -> None:
    texts = [f"2026-12-01T{hour:02d}:00:00-08:00" for hour in range(24)]
    demand = read(tmp_path, demand_sheet(hours=texts, hour_header="Timestamp"))
    assert values(demand) == TRUTH
    assert warned(demand) == [("TIMEZONE_KEPT_LOCAL", "Demand!A2")]
    mixed = [*texts[:12], *[text.replace("-08:00", "Z") for text in texts[12:]]]
    assert place(refused(tmp_path, demand_sheet(hours=mixed, hour_header="Timestamp"))[0]) == ("MIXED_TIMEZONES", "Demand!A14")


@pytest.mark.parametrize(
    ("data", "name"), [(xls(), "f.xls"), (xls(), "f.xlsx"), (ods(), "f.ods"), (xlsb(), "f.xlsb"), (xlsb(), "f.xlsx")]
)
def test_rows_29_and_30_other_formats_by_their_content(tmp_path: Path, data: bytes, name: str) -> None:
    demand = read(tmp_path, data, name=name)
    assert values(demand) == TRUTH
    assert [warning.code for warning in demand.warnings] == ["LIMITED_CHECKS"]


def test_row_30_ods_named_xlsx(tmp_path: Path) -> None:
    demand = read(tmp_path, ods(), name="forecast.xlsx")
    assert values(demand) == TRUTH
    assert [warning.code for warning in demand.warnings] == ["LIMITED_CHECKS"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"<html><body><table><tr><th>Hour</th></tr></table></body></html>", "HTML"),
        (b"<!DOCTYPE html>\n<html></html>", "HTML"),
        (b"Hour;Output tok/s\n0;1200\n1;950\n", "CSV"),
        (b"%PDF-1.7 ...", "PDF"),
        (b'{"error": "login"}', "JSON"),
        (b'<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"/>', "2003 XML"),
        (zipped({"a.txt": "x"}), "zip"),
        (zipped({"[Content_Types].xml": "x", "word/document.xml": "x"}), "Word"),
        (zipped({"Index/Document.iwa": "x"}), "Numbers"),
    ],
)
def test_row_31_something_else_named_xlsx_is_called_what_it_is(tmp_path: Path, data: bytes, said: str) -> None:
    (problem,) = refused(tmp_path, data)
    assert problem.code == "WRONG_FORMAT"
    assert said in problem.message


@pytest.mark.parametrize(("delimiter", "encoding"), [(";", "utf-8-sig"), ("\t", "utf-16"), (",", "utf-8"), ("|", "cp1252")])
def test_row_32_csv(tmp_path: Path, delimiter: str, encoding: str) -> None:
    point = "." if delimiter == "," else ","
    lines = [f"Hour{delimiter}Output tok/s", *(f"{hour}{delimiter}{value}{point}0" for hour, value in enumerate(PROFILE))]
    demand = read(tmp_path, "\r\n".join(lines).encode(encoding), name="forecast.csv")
    assert values(demand) == TRUTH
    assert not demand.warnings


def test_row_32_csv_with_commas_inside_quotes_and_a_separator_line(tmp_path: Path) -> None:
    lines = ["Hour,Output tok/s", *(f'{hour},"{value:,.2f}"' for hour, value in enumerate(PROFILE))]
    assert values(read(tmp_path, "\n".join(lines).encode(), name="a.csv")) == TRUTH
    lines = ["sep=;", "Hour;Output tok/s", *(f"{hour};{value}" for hour, value in enumerate(PROFILE))]
    assert values(read(tmp_path, "\n".join(lines).encode(), name="b.csv")) == TRUTH


@pytest.mark.parametrize("data", [ole("EncryptionInfo", "EncryptedPackage"), ods(encrypted=True)])
def test_row_33_password(tmp_path: Path, data: bytes) -> None:
    (problem,) = refused(tmp_path, data)
    assert problem.code == "PASSWORD_PROTECTED"
    assert "password" in problem.message


def test_row_34_truncated_or_empty(tmp_path: Path) -> None:
    data = write_xlsx(demand_sheet())
    for broken in (b"", data[: len(data) // 2], data[:40], b"PK\x03\x04" + bytes(50), bytes(5000)):
        assert [problem.code for problem in refused(tmp_path, broken)] == ["CORRUPT_FILE"]


def test_row_35_macros_are_neither_kept_nor_run(tmp_path: Path) -> None:
    data = repack(write_xlsx(demand_sheet()), {"xl/vbaProject.bin": bytes(512)})
    demand = read(tmp_path, data, name="forecast.xlsm")
    assert values(demand) == TRUTH
    assert [warning.code for warning in demand.warnings] == ["MACROS_IGNORED"]
    assert (tmp_path / "forecast.xlsm").read_bytes() == data


def test_row_36_strict_open_xml(tmp_path: Path) -> None:
    demand = read(tmp_path, strict_xlsx())
    assert values(demand) == TRUTH
    assert [warning.code for warning in demand.warnings] == ["LIMITED_CHECKS"]


@pytest.mark.parametrize("tag", ["", '<dimension ref="A1"/>', '<dimension ref="A1:XFD1048576"/>'])
def test_row_37_the_dimension_tag_is_never_trusted(tmp_path: Path, tag: str) -> None:
    data = write_xlsx(demand_sheet())
    text = part(data, "xl/worksheets/sheet1.xml").replace(b'<dimension ref="A1:B25"/>', tag.encode())
    assert values(read(tmp_path, repack(data, {"xl/worksheets/sheet1.xml": text}))) == TRUTH


def test_row_38_a_declared_part_that_is_missing(tmp_path: Path) -> None:
    demand = read(tmp_path, inline_xlsx(declare_strings=True))
    assert values(demand) == TRUTH
    assert [warning.code for warning in demand.warnings] == ["LIMITED_CHECKS"]
    data = write_xlsx(demand_sheet())
    assert refused(tmp_path, repack(data, {"xl/worksheets/sheet1.xml": None}))
    assert refused(tmp_path, repack(data, {"xl/sharedStrings.xml": None}))


def test_row_39_a_colour_that_is_none(tmp_path: Path) -> None:
    data = write_xlsx(demand_sheet(number_format="0.0"))
    styles = part(data, "xl/styles.xml").replace(b'<color theme="1"/>', b'<color rgb="not a colour"/>')
    demand = read(tmp_path, repack(data, {"xl/styles.xml": styles}))
    assert values(demand) == TRUTH
    assert [warning.code for warning in demand.warnings] == ["LIMITED_CHECKS"]


def formatted_rows(count: int) -> bytes:
    """A sheet whose rows are formatted far beyond the 24 hours."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    filled = [(1, '<c r="A1" t="inlineStr"><is><t>Hour</t></is></c><c r="B1" t="inlineStr"><is><t>Output tok/s</t></is></c>')]
    filled += [
        (hour + 2, f'<c r="A{hour + 2}"><v>{hour}</v></c><c r="B{hour + 2}"><v>{value}</v></c>')
        for hour, value in enumerate(PROFILE)
    ]
    rows = [f'<row r="{row}">{cells}</row>' for row, cells in filled]
    rows += [f'<row r="{row}"><c r="A{row}"/><c r="B{row}"/></row>' for row in range(26, count + 1)]
    return package(f'<worksheet xmlns="{main}"><sheetData>{"".join(rows)}</sheetData></worksheet>')


def test_row_40_rows_formatted_without_end(tmp_path: Path) -> None:
    demand = read(tmp_path, formatted_rows(150_000))
    assert values(demand) == TRUTH
    assert [warning.code for warning in demand.warnings] == ["LIMITED_CHECKS"]
    assert values(read(tmp_path, formatted_rows(2_000))) == TRUTH


def test_row_41_zip_and_entity_bombs(tmp_path: Path) -> None:
    import io
    import zipfile

    stream = io.BytesIO(write_xlsx(demand_sheet()))
    with (
        zipfile.ZipFile(stream, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as bomb,
        bomb.open("xl/worksheets/sheet2.xml", "w") as target,
    ):
        for _ in range(26):
            target.write(b" " * 10_000_000)
    (problem,) = refused(tmp_path, stream.getvalue())
    assert problem.code == "FILE_TOO_LARGE"
    data = write_xlsx(demand_sheet())
    for encoding in ("utf-8", "utf-16"):
        text = ('<?xml version="1.0"?><!--' + "x" * 3000 + '--><!DOCTYPE lolz [<!ENTITY a "b">]><worksheet/>').encode(encoding)
        (problem,) = refused(tmp_path, repack(data, {"xl/worksheets/sheet1.xml": text}))
        assert problem.code == "UNSAFE_FILE"


def test_row_42_text_that_looks_like_a_formula_stays_text(tmp_path: Path) -> None:
    sheet = demand_sheet()
    sheet.put(0, 2, "Pool")
    sheet.down(1, 2, ["=cmd|' /C calc'!A0", "+1+1", "@SUM(1)"])
    demand = read(tmp_path, sheet)
    assert values(demand) == TRUTH
    assert not demand.warnings
    sheet.put(3, 1, "=1+1")
    assert place(refused(tmp_path, sheet)[0]) == ("NOT_A_NUMBER", "Demand!B4")


def test_row_43_control_characters_are_stripped_and_said(tmp_path: Path) -> None:
    demand = read(tmp_path, demand_sheet("Output\x0b tok/s"))
    assert values(demand) == TRUTH
    assert warned(demand) == [("CONTROL_CHARACTERS", "Demand!B1")]


def busy() -> Sheet:
    sheet = Sheet("Inputs")
    sheet.put(0, 0, "Price book")
    sheet.down(2, 0, ["GPU", "H100", "B300"])
    sheet.down(2, 1, ["USD/h", 2.5, 4.1])
    sheet.put(9, 5, "Hour")
    sheet.put(9, 6, "Output tok/s")
    sheet.down(10, 5, range(24))
    sheet.down(10, 6, PROFILE)
    return sheet


def test_row_44_tables_and_names(tmp_path: Path) -> None:
    sheet = busy()
    sheet.put(9, 9, "Hour")
    sheet.put(9, 10, "Output tok/s")
    sheet.down(10, 9, range(24))
    sheet.down(10, 10, [2 * value for value in PROFILE])
    assert refused(tmp_path, sheet)[0].code == "SEVERAL_TABLES"
    assert values(read(tmp_path, sheet, range="F10:G34")) == TRUTH
    sheet.table = ("tblDemand", 9, 5, 33, 6)
    assert values(read(tmp_path, sheet)) == TRUTH
    sheet.table = ("tblOther", 9, 5, 33, 6)
    assert values(read(tmp_path, sheet, range="tblOther")) == TRUTH


def test_row_44_a_name_that_points_at_24_numbers(tmp_path: Path) -> None:
    sheet = Sheet("Model", {(6, 1): "hourly profile"})
    sheet.down(7, 3, PROFILE)
    data = write_xlsx(sheet, names={"DemandProfile": "=Model!$D$8:$D$31"})
    (problem,) = refused(tmp_path, data)
    assert place(problem) == ("UNIT_MISSING", "Model!D8")
    assert values(read(tmp_path, data, range="DemandProfile", unit="tok/s")) == TRUTH


def test_row_45_nothing_is_ever_written_into_the_users_file(tmp_path: Path) -> None:
    data = write_xlsx(footers())
    path = tmp_path / "forecast.xlsx"
    read(tmp_path, data)
    path.chmod(0o444)
    before = (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
    from optimizer.workbook.demand import read_demand
    from optimizer.workbook.opening import open_book

    read_demand(open_book(path))
    assert (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest()) == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["forecast.xlsx"]


def test_row_46_sheet_names_past_31_characters_are_read(tmp_path: Path) -> None:
    data = write_xlsx(demand_sheet())
    long = b"Demand forecast of the whole fleet for FY27 Q1"
    data = repack(data, {"xl/workbook.xml": part(data, "xl/workbook.xml").replace(b'name="Demand"', b'name="' + long + b'"')})
    assert values(read(tmp_path, data)) == TRUTH


def test_row_47_lock_files_are_refused_by_name(tmp_path: Path) -> None:
    for name in ("~$forecast.xlsx", ".~lock.forecast.xlsx#"):
        with pytest.raises(Exception, match="LOCK_FILE") as caught:
            read(tmp_path, bytes(165), name=name)
        assert "forecast.xlsx" in str(caught.value)


def test_row_48_inline_strings_are_read_like_shared_ones(tmp_path: Path) -> None:
    demand = read(tmp_path, inline_xlsx())
    assert values(demand) == TRUTH
    assert not demand.warnings
