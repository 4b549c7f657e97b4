"""One cell to one value: what is read, and what is refused with which code."""

from __future__ import annotations

import datetime
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.workbook.book import Cell
from optimizer.workbook.columns import Column, Kind
from optimizer.workbook.schema import POLICY_KEYS, TABLES
from optimizer.workbook.values import BadCell, Reading, parse_cell

PLAIN = Reading()


def column(kind: Kind, **changed: Any) -> Column:
    return Column("figure", "Figure", kind, "A figure.", **changed)


def read(kind: Kind, value: Any, reading: Reading = PLAIN, *, number_format: str = "", **changed: Any) -> Any:
    return parse_cell(column(kind, **changed), Cell(value, number_format=number_format), reading)


def refusal(kind: Kind, value: Any, reading: Reading = PLAIN, **changed: Any) -> str:
    with pytest.raises(BadCell) as caught:
        read(kind, value, reading, **changed)
    assert "figure" in caught.value.message
    return caught.value.code


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12.0), (" 12.5 ", 12.5), ("-3", -3.0), ("1e3", 1000.0), (".5", 0.5), ("1,234,567", 1234567.0),
        ("12,800.00", 12800.0), ("12.800,50", 12800.5), ("1.234.567", 1234567.0), ("12,5", 12.5), ("0,125", 0.125),
        ("0.125", 0.125), ("1234.567", 1234.567),
        ("12\u00a0800", 12800.0), ("12\u202f800,5", 12800.5), ("12'800", 12800.0), ("\u22125", -5.0), ("\uff11\uff12", 12.0),
    ],
)
def test_text_numbers_that_read_one_way(text: str, number: float) -> None:
    assert read("number", text) == number


@pytest.mark.parametrize("text", ["12,800", "12.800", "-1,000", "2.500"])
def test_a_text_number_that_reads_two_ways_is_refused_until_a_locale_settles_it(text: str) -> None:
    assert refusal("number", text) == "AMBIGUOUS_NUMBER"
    comma = read("number", text, Reading(comma_decimal=True))
    point = read("number", text, Reading(comma_decimal=False))
    assert {abs(comma), abs(point)} == {abs(float(text.replace(",", "."))), abs(float(text.replace(",", "").replace(".", "")))}
    assert (abs(comma) > abs(point)) == ("." in text)


@pytest.mark.parametrize(
    "text", ["12k", "$20", "20 USD", "14.3 kW", "nan", "inf", "-inf", "1e999", "abc", "1,23,456", "--5", "70%", "n/a"]
)
def test_what_is_no_bare_number_is_refused(text: str) -> None:
    assert refusal("number", text) == "NOT_A_NUMBER"


@pytest.mark.parametrize("value", [math.nan, math.inf, 10**400, True, datetime.date(2026, 8, 12), datetime.time(8)])
def test_values_that_are_no_finite_number_are_refused(value: Any) -> None:
    assert refusal("number", value) == "NOT_A_NUMBER"


def test_catalog_numbers_are_plain() -> None:
    assert read("number", "12.800", Reading(machine=True)) == 12.8
    assert refusal("number", "12,800", Reading(machine=True)) == "NOT_A_NUMBER"


def test_none_is_the_default_of_a_limit_only() -> None:
    assert read("whole", "none") is None
    assert refusal("whole", "none", default=1) == "NOT_A_NUMBER"
    assert refusal("whole", "none", required=True) == "NOT_A_NUMBER"


@pytest.mark.parametrize(
    ("value", "fraction"), [(0.7, 0.7), ("70%", 0.7), ("70 %", 0.7), ("0.7", 0.7), (1, 1.0), (0, 0.0), ("12,5%", 0.125)]
)
def test_fractions(value: Any, fraction: float) -> None:
    assert read("fraction", value, low=0, high=1) == fraction


def test_a_percent_formatted_fraction_is_its_stored_value() -> None:
    assert read("fraction", 0.7, number_format="0%", low=0, high=1) == 0.7


def test_seventy_is_no_fraction_and_the_sentence_says_why() -> None:
    with pytest.raises(BadCell) as caught:
        read("fraction", 70, low=0, high=1)
    assert caught.value.code == "FRACTION_OUT_OF_RANGE"
    assert "70 means 7000 %" in caught.value.message
    assert caught.value.fix == "Write 0.7 for 70 %."


def test_percent_is_for_shares_and_ratios() -> None:
    assert read("number", "115%", unit="ratio", low=1) == 1.15
    assert refusal("number", "115%", unit="kW") == "NOT_A_NUMBER"


@pytest.mark.parametrize(
    ("kind", "value", "limits", "code"),
    [
        ("number", -1, {"low": 0}, "NEGATIVE_VALUE"),
        ("number", 0, {"low": 0, "low_open": True}, "OUT_OF_RANGE"),
        ("number", 0.5, {"low": 1}, "OUT_OF_RANGE"),
        ("whole", 24, {"low": 0, "high": 23}, "OUT_OF_RANGE"),
        ("fraction", -0.1, {"low": 0, "high": 1}, "NEGATIVE_VALUE"),
        ("fraction", 1.01, {"low": 0, "high": 1}, "FRACTION_OUT_OF_RANGE"),
        ("occupancy", 0, {"low": 0, "low_open": True, "high": 1}, "FRACTION_OUT_OF_RANGE"),
        ("whole", 2.5, {"low": 0}, "NOT_WHOLE"),
    ],
)
def test_ranges(kind: Kind, value: float, limits: dict[str, Any], code: str) -> None:
    assert refusal(kind, value, **limits) == code


def test_a_whole_number_may_carry_the_dust_of_a_formula() -> None:
    found = read("whole", 7.9999999999999)
    assert found == 8
    assert isinstance(found, int)


def test_occupancy_may_be_auto() -> None:
    assert read("occupancy", "Auto", default=1.0) is None
    assert read("occupancy", None, default=1.0) == 1.0


@pytest.mark.parametrize(
    ("value", "answer"),
    [("yes", True), ("No", False), (True, True), (False, False), (1, True), (0, False), ("TRUE", True), ("0", False)],
)
def test_yes_and_no(value: Any, answer: bool) -> None:
    assert read("yes_no", value) is answer


@pytest.mark.parametrize("value", ["maybe", 2, 0.5, "yes!"])
def test_neither_yes_nor_no(value: Any) -> None:
    assert refusal("yes_no", value) == "NOT_YES_NO"


@pytest.mark.parametrize(
    "value", [datetime.date(2027, 1, 31), datetime.datetime(2027, 1, 31), "2027-01-31", "2027-01-31T00:00:00"]
)
def test_dates(value: Any) -> None:
    assert read("date", value) == datetime.date(2027, 1, 31)


@pytest.mark.parametrize("value", ["31.1.2027", "1/2/2027", "2027-02-30", "soon", 46357, 46357.5])
def test_dates_that_are_none_or_read_two_ways(value: Any) -> None:
    assert refusal("date", value) == "NOT_A_DATE"


@pytest.mark.parametrize(
    ("value", "date", "words"),
    [
        ("2026-11-01", datetime.date(2026, 11, 1), ""),
        (datetime.datetime(2026, 11, 1), datetime.date(2026, 11, 1), ""),
        ("2026-11 (package release)", datetime.date(2026, 11, 1), "2026-11 (package release)"),
        ("2026-11-05, list price", datetime.date(2026, 11, 5), "2026-11-05, list price"),
        ("2026 mid", None, "2026 mid"),
        (2026, None, "2026"),
        ("2026-13", None, "2026-13"),
    ],
)
def test_as_of_keeps_its_words_and_never_looks_younger(value: Any, date: datetime.date | None, words: str) -> None:
    assert read("as_of", value) == (date, words)


def test_hours_with_a_utc_window() -> None:
    assert read("hours", "22-2;8-10") == frozenset({22, 23, 0, 1, 8, 9})
    assert read("hours", "0-2Z", Reading(utc_offset_h=-8)) == frozenset({16, 17})
    assert read("hours", None, default="0-24") == frozenset(range(24))


@pytest.mark.parametrize("value", [datetime.datetime(2026, 8, 12), datetime.date(2026, 8, 12), datetime.time(8)])
def test_a_window_that_became_a_date_is_refused(value: Any) -> None:
    assert refusal("hours", value) == "HOURS_READ_AS_DATE"


@pytest.mark.parametrize("value", ["8", "25-26", "day", 8, "8-8"])
def test_hours_that_cannot_be_read(value: Any) -> None:
    assert refusal("hours", value) == "NOT_HOURS"


def test_names_and_lists() -> None:
    assert read("id", 70) == "70"
    assert read("id", 70.0) == "70"
    assert read("id", " a\u00a0 b\u200b") == "a b"
    assert read("list", "a; b ;;a") == ("a", "b")
    assert read("list", 7) == ("7",)
    assert read("list", None, default=()) == ()
    assert refusal("id", "a;b") == "NOT_A_NAME"
    assert refusal("id", True) == "NOT_A_NAME"
    assert refusal("id", datetime.date(2026, 3, 4)) == "NOT_A_NAME"


def test_choices() -> None:
    words = ("owned", "on_demand")
    assert read("choice", "On-Demand", choices=words) == "on_demand"
    assert read("list", "on demand;OWNED", choices=words) == ("on_demand", "owned")
    assert refusal("choice", "spto", choices=words) == "UNKNOWN_CHOICE"


def test_an_empty_required_cell_an_error_and_a_formula_without_value() -> None:
    needed = column("number", required=True)
    for cell, code in (
        (None, "MISSING_VALUE"),
        (Cell("  "), "MISSING_VALUE"),
        (Cell(None, error="#N/A"), "CELL_ERROR"),
        (Cell(None, formula="=A1*2"), "FORMULA_NO_VALUE"),
    ):
        with pytest.raises(BadCell) as caught:
            parse_cell(needed, cell, PLAIN)
        assert caught.value.code == code
    with pytest.raises(BadCell, match="#N/A"):
        parse_cell(needed, Cell(None, error="#N/A"), PLAIN)


def test_a_formula_with_its_value_is_its_value() -> None:
    assert parse_cell(column("number"), Cell(4.5, formula="=A1*2"), PLAIN) == 4.5


def test_every_default_of_the_schema_is_a_value_the_column_accepts() -> None:
    for each in [*POLICY_KEYS, *(column for table in TABLES for column in table.columns)]:
        if each.default is None or each.required:
            continue
        words = ";".join(each.default) if isinstance(each.default, tuple) else each.default
        typed = parse_cell(each, Cell(words), PLAIN)
        assert typed == parse_cell(each, None, PLAIN), each.key


_ANY = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=True, allow_infinity=True), st.text(max_size=12),
                 st.datetimes(), st.dates(), st.times())
_COLUMNS = [*POLICY_KEYS, *(each for table in TABLES for each in table.columns)]


@given(st.sampled_from(_COLUMNS), _ANY, st.sampled_from([None, True, False]))
def test_any_cell_gives_a_value_of_its_kind_or_a_sentence(each: Column, value: Any, comma: bool | None) -> None:
    try:
        found = parse_cell(each, Cell(value), Reading(comma_decimal=comma))
    except BadCell as error:
        assert error.code.isupper()
        assert each.key in error.message
        return
    if found is None or found == each.default:
        return
    if each.kind in ("number", "whole", "fraction", "occupancy"):
        assert isinstance(found, (int, float))
        assert math.isfinite(found)
        assert each.low is None or found >= each.low
        assert each.high is None or found <= each.high
    kinds: dict[str, type | tuple[type, ...]] = {
        "text": str, "id": str, "choice": str, "list": tuple, "yes_no": bool, "date": datetime.date, "as_of": tuple,
        "hours": frozenset, "whole": int, "number": float, "fraction": float, "occupancy": float,
    }
    assert isinstance(found, kinds[each.kind])


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12))
def test_a_number_survives_its_plain_text(number: float) -> None:
    assert read("number", repr(number), Reading(machine=True)) == number


@given(st.integers(min_value=1000, max_value=10**12), st.integers(min_value=0, max_value=99))
def test_grouped_text_with_decimals_reads_alike_in_both_styles(whole: int, cents: int) -> None:
    us = f"{whole:,}.{cents:02d}"
    eu = us.replace(",", "~").replace(".", ",").replace("~", ".")
    assert read("number", us) == read("number", eu) == float(f"{whole}.{cents:02d}")
