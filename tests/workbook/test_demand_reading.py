"""What the reader makes of good forecasts: units, hours, numbers, workloads, day types, input, cache, warnings and the report."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.errors import Refused
from optimizer.workbook.book import Cell
from optimizer.workbook.demand_hours import parse_text, read_hours
from optimizer.workbook.demand_numbers import UnknownLocale, locale_marks, read_numbers
from optimizer.workbook.demand_text import chart, demand_lines, report_json
from optimizer.workbook.demand_units import find_unit, parse_unit
from optimizer.workbook.demand_words import clean, is_footer, is_hour_header, words
from tests.workbook.forge import PROFILE, Sheet, demand_sheet
from tests.workbook.forgeries import hour_forms
from tests.workbook.reading import TRUTH, place, read, refused, values, warned


@pytest.mark.parametrize(
    ("text", "factor"),
    [
        ("Output tok/s", 1),
        ("output_tps", 1),
        ("tokens per second", 1),
        ("tok s\u207b\u00b9", 1),
        ("k tok/s", 1e3),
        ("ktok/s", 1e3),
        ("'000 tok/s", 1e3),
        ("tok/s (thousands)", 1e3),
        ("tok/min", 1 / 60),
        ("tokens/h", 1 / 3600),
        ("k tokens/hour", 1e3 / 3600),
        ("Output (M tokens/h)", 1e6 / 3600),
        ("million tokens per hour", 1e6 / 3600),
        ("tokens/h in millions", 1e6 / 3600),
        ("mn tok/h", 1e6 / 3600),
        ("B tok/day", 1e9 / 86400),
        ("bn tokens per day", 1e9 / 86400),
        ("k tok/day", 1e3 / 86400),
        ("TPM", 1 / 60),
    ],
)
def test_units_of_tokens(text: str, factor: float) -> None:
    found = find_unit(text)
    assert found.unit is not None
    assert found.unit.kind == "tokens"
    assert found.unit.factor == pytest.approx(factor, rel=1e-12)


@pytest.mark.parametrize(
    "text",
    ["Demand", "tokens", "tok/month", "tokens per request", "tok/s per user", "tok/s/GPU", "1000 tok/s per k users", "t/s"],
)
def test_what_is_no_unit(text: str) -> None:
    assert find_unit(text).unit is None


@pytest.mark.parametrize(
    "text",
    ["M output tok/s", "10 tok/s", "1,000 tok/s", "T tok/day", "k tok/h (k)", "tok/s or tok/h", "hundred tok/s", "tok/h, '000"],
)
def test_units_that_are_refused_rather_than_guessed(text: str) -> None:
    found = find_unit(text)
    assert found.unit is None
    assert found.unclear


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("requests/s", "requests"),
        ("Requests per minute", "requests"),
        ("QPS", "requests"),
        ("% of peak", "share"),
        ("share of peak", "share"),
        ("tok/row", "tokens_per_row"),
    ],
)
def test_other_units(text: str, kind: str) -> None:
    unit = parse_unit(text)
    assert unit is not None
    assert unit.kind == kind


@given(st.text(alphabet=string.printable + "\u00a0\u200f\uff11\u0661", max_size=40))
def test_words_of_any_text_are_stable(text: str) -> None:
    assert clean(clean(text)) == clean(text)
    assert words(words(text)) == words(text)
    find_unit(text)
    parse_text(text)


@pytest.mark.parametrize(
    ("text", "hour_header", "footer"),
    [
        ("Hour", True, False),
        ("Local time", True, False),
        ("Timestamp (UTC)", True, False),
        ("Hour ending", True, False),
        ("Output tok/h", False, False),
        ("USD per hour", False, False),
        ("Total", False, True),
        ("Average", False, True),
        ("Peak hour", True, True),
        ("Pool", False, False),
    ],
)
def test_words_that_mark_rows_and_columns(text: str, hour_header: bool, footer: bool) -> None:
    assert is_hour_header(words(text)) is hour_header
    assert is_footer(words(text)) is footer


@pytest.mark.parametrize("form", sorted(hour_forms(0)))
def test_every_form_of_an_hour_is_read_as_that_hour(form: str) -> None:
    column = read_hours([Cell(hour_forms(hour)[form]) for hour in range(24)], "Hour")
    assert [stamp.second / 3600 if stamp else None for stamp in column.stamps] == list(range(24))


@given(st.integers(0, 23), st.sampled_from(sorted(hour_forms(0))))
def test_text_forms_alone(hour: int, form: str) -> None:
    text = hour_forms(hour)[form]
    if isinstance(text, str) and form not in ("ending_text", "he"):
        stamp = parse_text(text)
        assert stamp is not None
        assert stamp.second == 3600 * hour


@pytest.mark.parametrize(
    "text", ["25:00", "13 PM", "0 AM", "12:60", "24:01", "Total", "12800", "2026-13-01 00:00", "chat", "", "-1", "1.5e3"]
)
def test_text_that_is_no_hour(text: str) -> None:
    assert parse_text(text) is None


@given(st.lists(st.integers(1, 10**9), min_size=3, max_size=24), st.sampled_from(["us", "eu", "swiss", "french"]))
def test_written_numbers_are_read_back_or_refused(numbers: list[int], form: str) -> None:
    from tests.workbook.forgeries import NUMBER_FORMS

    write = NUMBER_FORMS[form]
    assert write is not None
    column = read_numbers([Cell(write(number / 100)) for number in numbers])
    assert not column.problems
    assert list(column.values) == pytest.approx([number / 100 for number in numbers])


@given(st.lists(st.from_regex(r"[0-9]{1,3}([.,' ][0-9]{3}){0,2}([.,][0-9]{1,3})?", fullmatch=True), min_size=1, max_size=5))
def test_a_number_is_only_read_where_one_reading_is_possible(texts: list[str]) -> None:
    both = [read_numbers([Cell(text) for text in texts], locale) for locale in ("en-US", "de-DE")]
    free = read_numbers([Cell(text) for text in texts])
    if not free.problems:
        possible = [column.values for column in both if not column.problems]
        assert free.values in possible
        assert all(column == possible[0] for column in possible)


def test_locales() -> None:
    assert locale_marks("en_GB") == locale_marks("zh-CN") == locale_marks("de-CH")
    assert locale_marks("pt-BR") == locale_marks("sv")
    with pytest.raises(UnknownLocale):
        locale_marks("xx")


def wide(**columns: list[Any]) -> Sheet:
    sheet = Sheet()
    sheet.put(0, 0, "hour")
    sheet.down(1, 0, range(24))
    for column, (header, numbers) in enumerate(columns.items(), 1):
        sheet.put(0, column, header)
        sheet.down(1, column, numbers)
    return sheet


def test_several_workloads_with_input(tmp_path: Path) -> None:
    sheet = wide(
        **{
            "chat output tok/s": list(PROFILE),
            "chat input tok/s": [4 * value for value in PROFILE],
            "Batch_Jobs output k tok/s": [1.0] * 24,
        }
    )
    demand = read(tmp_path, sheet, workloads=("chat", "batch jobs"))
    assert [(row.workload, row.day_type) for row in demand.series] == [("chat", "day"), ("batch jobs", "day")]
    assert values(demand, "chat") == TRUTH
    assert values(demand, "batch jobs") == (1000.0,) * 24
    assert demand.of("chat", "day").input_tps == tuple(4 * value for value in TRUTH)
    assert demand.of("batch jobs", "day").input_tps is None
    with pytest.raises(KeyError):
        demand.of("chat", "weekend")


def test_one_workload_needs_no_label_and_keeps_its_name(tmp_path: Path) -> None:
    assert values(read(tmp_path, demand_sheet(), workloads=("chat",)), "chat") == TRUTH


def test_long_form_with_day_types_in_any_order(tmp_path: Path) -> None:
    sheet = Sheet()
    for column, text in enumerate(("workload", "day_type", "hour", "output_tps", "input_tps")):
        sheet.put(0, column, text)
    rows = [
        (name, kind, hour, PROFILE[hour] * factor, PROFILE[hour] * factor * 2)
        for hour in range(24)
        for name, kind, factor in (("chat", "weekday", 1), ("chat", "weekend", 2), ("batch", None, 3))
    ]
    for index, cells in enumerate(rows, 1):
        for column, cell in enumerate(cells):
            if cell is not None:
                sheet.put(index, column, cell)
    demand = read(tmp_path, sheet, workloads=("chat", "batch"), day_types={"weekday": 5, "weekend": 2})
    assert values(demand, "chat", "weekend") == tuple(2 * value for value in TRUTH)
    assert values(demand, "batch", "weekday") == values(demand, "batch", "weekend") == tuple(3 * value for value in TRUTH)
    assert demand.of("chat", "weekday").input_tps == tuple(2 * value for value in TRUTH)
    assert demand.reports[0].mean_tps == pytest.approx(4000 * (5 * 1 + 2 * 2) / 7)
    assert not demand.warnings


def test_requests_take_the_tokens_of_workloads(tmp_path: Path) -> None:
    sheet = demand_sheet("Requests/s", [value / 200 for value in PROFILE])
    assert values(read(tmp_path, sheet, workloads=("chat",), known_tokens={"chat": 200.0}), "chat") == TRUTH
    assert (
        values(read(tmp_path, sheet, workloads=("chat",), known_tokens={"chat": 200.0}, tokens_per_request=400.0), "chat")[14]
        == 25_600
    )


def test_requests_beside_tokens_are_left_out_with_a_warning(tmp_path: Path) -> None:
    sheet = demand_sheet()
    sheet.put(0, 2, "Requests/s")
    sheet.down(1, 2, [1] * 24)
    demand = read(tmp_path, sheet)
    assert values(demand) == TRUTH
    assert warned(demand) == [("COLUMN_IGNORED", "Demand!C1")]


@pytest.mark.parametrize(
    ("header", "numbers", "number_format"),
    [("Cached %", [0.25] * 24, "0%"), ("Cache hit share", [0.25] * 24, ""), ("Cached input tok/s", list(PROFILE), "")],
)
def test_the_cached_share_is_reported(tmp_path: Path, header: str, numbers: list[float], number_format: str) -> None:
    sheet = demand_sheet()
    sheet.put(0, 2, "Input tok/s")
    sheet.down(1, 2, [4 * value for value in PROFILE])
    sheet.put(0, 3, header)
    sheet.down(1, 3, numbers, number_format)
    demand = read(tmp_path, sheet)
    assert demand.reports[0].cached_frac == pytest.approx(0.25)
    assert warned(demand) == [("CACHED_SHARE_REPORTED", "Demand!D1")]


def test_a_row_under_the_hours_that_is_no_total(tmp_path: Path) -> None:
    sheet = demand_sheet()
    sheet.put(25, 0, "Growth on last quarter")
    sheet.put(25, 1, 0.12)
    sheet.put(28, 0, "H100")
    sheet.put(28, 1, 2.5)
    demand = read(tmp_path, sheet)
    assert values(demand) == TRUTH
    assert warned(demand) == [("FOOTER_ROWS_IGNORED", "Demand!A26")]
    del sheet.cells[25, 0]
    assert place(refused(tmp_path, sheet)[0]) == ("TOTAL_DISAGREES", "Demand!B26")


def test_every_problem_is_reported_in_one_run(tmp_path: Path) -> None:
    sheet = demand_sheet("Demand")
    sheet.put(3, 1, "n/a")
    sheet.put(5, 1, -4)
    del sheet.cells[8, 1]
    problems = {place(problem) for problem in refused(tmp_path, sheet)}
    assert problems == {("UNIT_MISSING", "Demand!B1"), ("NOT_A_NUMBER", "Demand!B4"), ("MISSING_VALUE", "Demand!B9")}
    problems = {place(problem) for problem in refused(tmp_path, sheet, unit="tok/s")}
    assert problems == {("NEGATIVE_DEMAND", "Demand!B6"), ("NOT_A_NUMBER", "Demand!B4"), ("MISSING_VALUE", "Demand!B9")}


def test_strict_turns_warnings_into_refusals(tmp_path: Path) -> None:
    sheet = demand_sheet(hours=range(1, 25))
    assert warned(read(tmp_path, sheet)) == [("HOUR_ENDING", "Demand!A2")]
    with pytest.raises(Refused) as caught:
        read(tmp_path, sheet, strict=True)
    assert [place(problem) for problem in caught.value.errors] == [("HOUR_ENDING", "Demand!A2")]
    assert values(read(tmp_path, demand_sheet(), strict=True)) == TRUTH


def test_the_report_shows_the_peak_in_tok_s_whatever_the_unit(tmp_path: Path) -> None:
    demand = read(tmp_path, demand_sheet("Output (M tokens/h)", [value * 0.0036 for value in PROFILE]))
    lines = demand_lines(demand.reports)
    assert (
        lines[0] == "demand: peak 12,800 tok/s at 14:00, mean 4,000 tok/s, peak-to-mean 3.20 (read from Demand!B2:B25 in M tok/h)"
    )
    assert "|▁▁▁▁▁▁▂▂▃▄▅▆▆▇█▇▄▃▂▂▁▁▁▁|" in lines[1]
    assert len(lines) == 2
    record = report_json(demand.reports[0])
    assert list(record) == ["workload", "unit", "demand_tps", "peak_tps", "mean_tps", "peak_to_mean"]
    assert record["demand_tps"] == {"day": [pytest.approx(value) for value in TRUTH]}
    assert all(line.isascii() for line in demand_lines(demand.reports, ascii_only=True))


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=48))
def test_a_chart_has_one_character_for_each_value(numbers: list[float]) -> None:
    line = chart(numbers)
    assert len(line) == len(numbers)
    assert ("█" in line) == (max(numbers) > 0)
    assert all((mark == " ") == (value == 0) for mark, value in zip(line, numbers, strict=True))
