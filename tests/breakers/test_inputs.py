"""Each test is an input that was once read wrong without a word, or refused with a sentence that did not help."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from optimizer.errors import Problem, Refused
from optimizer.workbook.book import Book, Cell, Sheet
from optimizer.workbook.demand_units import find_unit
from optimizer.workbook.load import CheckedInputs, check_books
from optimizer.workbook.options import LoadOptions
from optimizer.workbook.reader_options import ReaderOptions
from tests.helpers.casebook import book_of
from tests.helpers.tables import NO_CATALOGS, errors_of, load_tables, small_tables

HOURS = range(24)
TITLE_ROWS = 2


def sheet_of(rows: list[list[Any]], name: str = "Demand", *, visible: bool = True) -> Sheet:
    """A sheet of rows; None leaves a cell empty."""
    cells = {
        (row, column): value if isinstance(value, Cell) else Cell(value)
        for row, line in enumerate(rows, 1)
        for column, value in enumerate(line, 1)
        if value is not None
    }
    return Sheet(name, cells, visible=visible)


def forecast(header: str, *above: list[Any], below: list[list[Any]] | None = None) -> Sheet:
    """24 hours of 100, 101, ... under a header, with rows above and below."""
    return sheet_of([*above, ["Hour", header], *[[hour, 100.0 + hour] for hour in HOURS], *(below or [])])


def check(*sheets: Sheet, **reader: Any) -> CheckedInputs:
    """What a bare forecast is read as."""
    book = Book("forecast.xlsx", sha256="0" * 64, sheets=list(sheets))
    return check_books([book], LoadOptions(catalogs="none", reader=ReaderOptions(**reader)))


def first_hours(checked: CheckedInputs) -> float:
    """tok/s of hour 0."""
    return checked.demand[0].demand_tps["day"][0]


def refused(*sheets: Sheet, **reader: Any) -> list[Problem]:
    """The errors of a forecast that must be refused."""
    with pytest.raises(Refused) as caught:
        check(*sheets, **reader)
    return list(caught.value.errors)


def at(problems: list[Problem], code: str) -> list[str | None]:
    """Cells of the problems with that code."""
    return [problem.cell for problem in problems if problem.code == code]


def codes(problems: Any) -> set[str]:
    """Codes of problems."""
    return {problem.code for problem in problems}


MULTIPLES = {
    1e3: (
        "k", "thousand", "thousands", "thous.", "thou", "kilo", "Tsd", "Tsd.", "thsd", "tausend", "milliers", "mille", "mil",
        "miles", "'000", "000s", "x1000", "1000", "1,000", "1.000", "1k", "10^3", "10E3", "1e3", "e3", "ks", "K's",
    ),
    1e6: (
        "M", "MM", "mn", "mio", "Mio.", "million", "mill", "Millionen", "millones", "mega", "meg", "mln", "mln.", "1M", "10^6",
        "1e6", "1,000,000", "millón",
    ),
    1e9: ("B", "bn", "bln", "bil", "billion", "giga", "mrd", "Milliarden", "milliards", "mia", "md", "1B", "10^9"),
    1e12: ("tera", "trillion", "tn", "1e12"),
    1e2: ("hundred", "hecto", "100"),
    1e5: ("lakh", "lac"),
    1e7: ("crore", "cr"),
}
PLACES = (
    "Output {} tok/s", "Output tok/s ({})", "Output tok/s [{}]", "Output tok/s in {}", "Output tok/s {}", "Output ({}) tok/s",
    "{} output tok/s", "{} tok/s", "Output tok/s, {}", "Output tok/s - {}", "Output ({} tok/s)", "Output, {}, tok/s",
    "output_tps_{}", "Output in {} tok/s", "Output tok/s (in {})", "Output tok/s (figures in {})",
)


@pytest.mark.parametrize(("scale", "word"), [(scale, word) for scale, found in MULTIPLES.items() for word in found])
def test_multiple_beside_a_unit_counts_or_leaves_the_unit_unclear(scale: float, word: str) -> None:
    """`Output kilo tok/s` was read as tok/s."""
    for place in PLACES:
        unit = find_unit(place.format(word)).unit
        assert unit is None or unit.kind != "tokens" or unit.factor == scale, place.format(word)


@pytest.mark.parametrize(
    "header", ["Demand (k)", "Demand (thousands)", "Demand in millions", "Output M tokens", "Demand ('000)", "Demand, kilo"]
)
def test_multiple_in_a_header_may_not_contradict_a_unit_said_elsewhere(header: str) -> None:
    assert at(refused(forecast(header), unit="tok/s"), "UNIT_CONFLICT") == ["B1"]
    assert at(refused(forecast(header, ["Unit", "tok/s"])), "UNIT_CONFLICT") == ["B2"]


def test_unclear_header_is_settled_by_the_option_and_not_by_a_cell() -> None:
    assert at(refused(forecast("Output kilo tok/s", ["Unit", "tok/s"])), "UNIT_CONFLICT") == ["B2"]
    assert first_hours(check(forecast("Output kilo tok/s"), unit="k tok/s")) == 100_000.0


def test_multiple_in_a_header_and_the_unit_with_it_agree() -> None:
    assert first_hours(check(forecast("Demand (k)"), unit="k tok/s")) == 100_000.0


@pytest.mark.parametrize(
    "note",
    [
        "All figures in thousands", "(in thousands)", "in '000s", "Figures in k tok/s", "Numbers are millions of tokens per hour",
        "Values x1000", "in Tsd.", "Scale: 1000", "Demand forecast (k)", "Units in thousands", "Multiplier = 1,000",
    ],
)
def test_note_of_a_multiple_may_not_contradict_the_header(note: str) -> None:
    """Finance writes the multiple once, above or below the table."""
    assert at(refused(forecast("Output tok/s", [note], [])), "UNIT_CONFLICT") == ["A1"]
    assert at(refused(forecast("Output tok/s", below=[[], [note]])), "UNIT_CONFLICT") == ["A27"]
    assert first_hours(check(forecast("Output tok/s", [note], []), unit="tok/s")) == 100.0


@pytest.mark.parametrize("cells", [["Scale", 1000], ["Unit", "thousands"], ["Units:", "in millions"]])
def test_cell_beside_a_label_may_not_contradict_the_header(cells: list[Any]) -> None:
    assert at(refused(forecast("Output tok/s", cells)), "UNIT_CONFLICT") == ["B1"]


@pytest.mark.parametrize(
    "note",
    [
        "Demand forecast 2027", "Prepared in May by M. Kahn", "USD in thousands", "Revenue (in millions)", "Scenario: base",
        "Served in 3 regions", "Unit: EMEA", "Peak of 1000 requests",
    ],
)
def test_other_notes_say_nothing_about_the_unit(note: str) -> None:
    assert first_hours(check(forecast("Output tok/s", [note], []))) == 100.0


def test_note_that_agrees_with_the_unit_is_fine() -> None:
    assert first_hours(check(forecast("Output k tok/s", ["All figures in thousands"], []))) == 100_000.0


def test_unit_cell_is_named_by_its_own_address() -> None:
    (problem,) = refused(forecast("Output", ["Unit", "tok/s"]), unit="k tok/s")
    assert "B1 says tok/s" in problem.message


def test_a_template_that_was_not_filled_in_asks_for_the_numbers() -> None:
    """It was told that no column reads as demand, and to rename a locked header."""
    empty = sheet_of([["Unit", None], ["Hour", "Output tokens", "Note"], *[[hour] for hour in HOURS]])
    assert at(refused(empty), "MISSING_VALUE")[0] == "B3"


def test_unit_that_is_missing_points_at_the_empty_unit_cell() -> None:
    (problem,) = refused(forecast("Output tokens", ["Unit", None]))
    assert problem.code == "UNIT_MISSING"
    assert "B1" in problem.fix
    assert ",," not in problem.fix


def dated(date: str) -> Sheet:
    """Dates as text in one column, hours in the next."""
    return sheet_of([["Date", "Hour", "Output tok/s"], *[[date, hour, 100.0 + hour] for hour in HOURS]])


@pytest.mark.parametrize("date", ["2027-03-04", "4 March 2027", "20270304", "04.03.2027", "Thu 2027-03-04", "03/04/2027"])
def test_dates_as_text_beside_hours_are_dates(date: str) -> None:
    """The column of dates was taken for the hours, and every hour for 00:00."""
    assert check(dated(date)).demand[0].demand_tps["day"] == tuple(100.0 + hour for hour in HOURS)


# Tables

HEADERS = [
    ("Offers", "used_usd_per_node_h", "used_usd_per_gpu_h"),
    ("Offers", "used_usd_per_node_h", "Used ($/GPU-hour)"),
    ("Offers", "held_usd_per_node_h", "held_usd_per_node_month"),
    ("Offers", "held_usd_per_node_h", "held_eur_per_node_h"),
    ("Offers", "max_nodes", "max_gpus"),
    ("Offers", "term_months", "term_years"),
    ("Offers", "term_months", "Term (years)"),
    ("NodeTypes", "node_kw", "node_w"),
    ("Models", "kv_gb_per_seq", "kv_gib_per_seq"),
    ("Pools", "occupancy_frac", "occupancy_pct"),
    ("Sites", "kw_per_rack", "w_per_rack"),
    ("ApiPrices", "input_usd_per_mtok", "input_usd_per_ktok"),
]


@pytest.mark.parametrize(("sheet", "key", "header"), HEADERS)
def test_column_in_another_unit_is_refused_and_not_passed_over(sheet: str, key: str, header: str) -> None:
    """A price per GPU-hour was passed over, the plan came out free, and the advice was to rename the header."""
    tables = small_tables()
    tables[sheet] = [{header if each == key else each: value for each, value in row.items()} for row in tables[sheet]]
    found = [problem for problem in errors_of(tables) if problem.code == "COLUMN_UNIT"]
    assert [problem.sheet for problem in found] == [sheet]
    assert "Convert" in found[0].fix
    assert key in found[0].fix


def test_column_in_another_unit_beside_the_right_one_is_only_passed_over() -> None:
    tables = small_tables()
    tables["Offers"] = [{**row, "used_usd_per_gpu_h": 1.0} for row in tables["Offers"]]
    assert "UNKNOWN_COLUMN" in codes(load_tables(tables).warnings)


@pytest.mark.parametrize(
    ("name", "table"),
    [("Policies", "Policy"), ("Existing nodes", "Existing"), ("Node offers", "Offers"), ("My contracts", "Existing"),
     ("Offers 2027", "Offers"), ("API", "ApiPrices")],
)
def test_sheet_that_looks_like_an_absent_table_is_named(name: str, table: str) -> None:
    """Rules and contracts on such a sheet were passed over without a word."""
    tables = small_tables()
    book = book_of(tables)
    for sheet in book.sheets:
        if sheet.name == table:
            sheet.name = name
    try:
        warnings = list(check_books([book], NO_CATALOGS).warnings)
    except Refused as refusal:
        warnings = [*refusal.warnings]
    assert [problem.sheet for problem in warnings if problem.code == "SHEET_NOT_READ"] == [name]


def test_sheets_of_words_are_passed_over_in_silence() -> None:
    book = book_of(small_tables())
    book.sheets.append(sheet_of([["Notes on offers"], ["Talk to sales"]], "Notes"))
    book.sheets.append(sheet_of([["Month", "Revenue"], ["Jan", 5]], "Budget"))
    assert "SHEET_NOT_READ" not in codes(check_books([book], NO_CATALOGS).warnings)


def test_workloads_that_differ_by_case_are_refused_where_they_stand() -> None:
    """Demand joins names without case: the refusal said that the second had no demand."""
    tables = small_tables()
    tables["Workloads"].append({**tables["Workloads"][0], "workload": "Chat"})
    tables["Demand"] += [{**row, "workload": "Chat"} for row in tables["Demand"]]
    assert at(errors_of(tables), "DUPLICATE_KEY") == ["A3"]


@pytest.mark.parametrize("other", ["Reserved", "RESERVED ", "re-served", "re served"])
def test_offers_that_differ_by_case_or_blanks_are_named(other: str) -> None:
    """They double what can be bought."""
    tables = small_tables()
    tables["Offers"].append({**tables["Offers"][0], "offer": other})
    assert [p.cell for p in load_tables(tables).warnings if p.code == "ALMOST_SAME_NAME"] == ["A4"]


def test_ids_that_differ_in_more_than_case_are_fine() -> None:
    tables = small_tables()
    tables["Offers"].append({**tables["Offers"][0], "offer": "reserved2"})
    assert "ALMOST_SAME_NAME" not in codes(load_tables(tables).warnings)


def test_measurements_of_one_condition_are_found_under_other_spellings() -> None:
    tables = small_tables()
    tables["Goodput"].append({**tables["Goodput"][0], "model": "70B", "gpu": "80 g", "precision": "INT-8", "output_tps": 2800})
    assert "SAME_CONDITIONS" in codes(load_tables(tables).warnings)


def test_places_join_without_case() -> None:
    """A zone is lost whole, and a replica over nodes stays in one place, however the provider is spelled."""
    tables = small_tables()
    for row, provider in zip(tables["Offers"], ("AWS", "aws "), strict=True):
        row.update(provider=provider, region="US-East 1" if provider == "AWS" else "us-east1")
    assert len({offer.place for offer in load_tables(tables).case.offers}) == 1


# Money


def with_format(code: str, currency: str | None = None) -> dict[str, Any]:
    tables: dict[str, Any] = small_tables()
    tables["Offers"][1]["used_usd_per_node_h"] = Cell(8.0, number_format=code)
    if currency:
        tables["Policy"].append({"key": "currency", "value": currency})
    return tables


@pytest.mark.parametrize(
    "code", ['[$\u20ac-407] #,##0.00', '#,##0.00 "\u20ac"', '"EUR" 0.00', '[$\u00a3-809]0.00', '0.00\\ \u20ac']
)
def test_price_shown_in_another_currency_is_named(code: str) -> None:
    assert [p.cell for p in load_tables(with_format(code)).warnings if p.code == "CURRENCY_DIFFERS"] == ["E3"]


@pytest.mark.parametrize(("code", "currency"), [('"$"#,##0.00', None), ('[$$-409]#,##0.00', None), ("0.00", None),
                                               ('[$\u20ac-407] #,##0.00', "EUR"), ('#,##0.00 "\u20ac"', "\u20ac")])
def test_price_shown_in_the_currency_of_the_policy_is_fine(code: str, currency: str | None) -> None:
    assert "CURRENCY_DIFFERS" not in codes(load_tables(with_format(code, currency)).warnings)


@pytest.mark.parametrize("code", ['0.00" k"', '0.00" k$"', '0.0" thousand"', '0.0"M"'])
def test_price_shown_with_a_multiple_that_is_not_stored_is_refused(code: str) -> None:
    assert at(errors_of(with_format(code)), "SCALED_FORMAT") == ["E3"]


def test_catalog_prices_are_not_added_to_prices_in_another_currency() -> None:
    bare = forecast("Output tok/s")
    policy = sheet_of([["key", "value"], ["currency", "EUR"], ["today", "2026-11-29"]], "Policy")
    options = LoadOptions(model="MiniMax-M2.5", input_tokens=1024, output_tokens=1024, ttft_ms=1000, tpot_ms=30)
    with pytest.raises(Refused) as caught:
        check_books([Book("f.xlsx", sha256="0" * 64, sheets=[bare, policy])], options)
    assert at(list(caught.value.errors), "CURRENCY_DIFFERS") == ["B2"]
    check_books([Book("f.xlsx", sha256="0" * 64, sheets=[bare])], options)


# Hidden sheets


def test_a_hidden_table_is_reported_once_and_truly() -> None:
    """`is hidden and was not read` stood beside a refusal, and beside a plan made of it."""
    choices: tuple[tuple[Literal["include"] | None, bool], ...] = (("include", True), (None, False))
    for hidden, read in choices:
        book = book_of(small_tables())
        for sheet in book.sheets:
            sheet.visible = sheet.name != "Offers"
        options = LoadOptions(catalogs="none", reader=ReaderOptions(hidden=hidden))
        try:
            warnings = list(check_books([book], options).warnings)
            assert read
        except Refused as refusal:
            warnings = list(refusal.warnings)
            assert not read
        assert "HIDDEN_SHEET_IGNORED" not in codes(warnings)


# Fixes that work


def test_an_unknown_api_is_told_what_the_catalog_has() -> None:
    """It was told that ApiPrices has no rows."""
    tables = small_tables()
    del tables["ApiPrices"]
    tables["Workloads"][0]["api"] = "deepinfra-deepseek-r"
    (problem,) = [each for each in errors_of(tables, LoadOptions()) if each.code == "UNKNOWN_API"]
    assert "deepinfra-deepseek-r1" in problem.fix


def test_an_unknown_node_type_is_told_what_the_catalog_has() -> None:
    tables = small_tables()
    del tables["NodeTypes"]
    (problem, *_) = [each for each in errors_of(tables, LoadOptions()) if each.code == "UNKNOWN_NODE_TYPE"]
    assert "no rows" not in problem.fix


def test_an_unknown_model_is_told_its_near_names_in_the_catalog() -> None:
    tables = small_tables()
    del tables["Models"], tables["Goodput"]
    tables["Workloads"][0]["model"] = "MiniMax-M25"
    (problem,) = [each for each in errors_of(tables, LoadOptions()) if each.code == "UNKNOWN_MODEL"]
    assert "MiniMax-M2.5" in problem.fix


@pytest.mark.parametrize("key", ["providers", "regions", "gpus"])
def test_an_allow_list_with_commas_is_told_of_semicolons(key: str) -> None:
    tables = small_tables()
    tables["Policy"].append({"key": key, "value": "AWS,GCP"})
    (problem,) = [each for each in errors_of(tables) if each.code.startswith("UNKNOWN_")]
    assert "';'" in problem.fix


def test_an_allow_list_of_unknown_gpus_is_told_which_there_are() -> None:
    tables = small_tables()
    tables["Policy"].append({"key": "gpus", "value": "TPU"})
    (problem,) = errors_of(tables)
    assert "80G" in problem.fix


def test_a_share_just_above_one_is_not_told_to_be_a_hundredth() -> None:
    tables = small_tables()
    tables["Workloads"][0]["prefix_hit_frac"] = 1.0001
    (problem,) = errors_of(tables)
    assert "0.010001" not in problem.fix


def test_the_forecast_as_its_own_policy_is_told_to_leave_it_out() -> None:
    book = book_of(small_tables())
    with pytest.raises(Refused) as caught:
        check_books([book, book], NO_CATALOGS)
    assert [(each.code, "--policy" in each.fix) for each in caught.value.errors] == [("OPTION_CLASH", True)]


def test_several_precisions_of_the_model_option_name_the_option() -> None:
    book = Book("f.xlsx", sha256="0" * 64, sheets=[forecast("Output tok/s")])
    with pytest.raises(Refused) as caught:
        check_books([book], LoadOptions(model="GLM-5"))
    (problem,) = caught.value.errors
    assert problem.code == "PRECISION_MISSING"
    assert "--precision" in problem.fix


def test_a_note_under_a_table_may_be_removed() -> None:
    book = book_of(small_tables())
    next(sheet for sheet in book.sheets if sheet.name == "Offers").cells[9, 1] = Cell("* prices as quoted")
    with pytest.raises(Refused) as caught:
        check_books([book], NO_CATALOGS)
    assert all("or empty the row" in problem.fix for problem in caught.value.errors)
