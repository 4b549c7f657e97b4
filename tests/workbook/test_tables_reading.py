"""Tables as people lay them out: titles above, labels for keys, odd spellings, extra columns, filters."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from optimizer.errors import ProblemList
from optimizer.workbook.book import Cell, Sheet
from optimizer.workbook.columns import header_key
from optimizer.workbook.load import check_books, load_case
from optimizer.workbook.options import LoadOptions
from optimizer.workbook.reader_options import ReaderOptions
from optimizer.workbook.reference import reference_page
from optimizer.workbook.schema import OFFERS, POLICY_KEYS, TABLES
from optimizer.workbook.tables import read_sheet
from tests.helpers.casebook import book_of, write_casebook
from tests.helpers.tables import NO_CATALOGS, errors_of, load_tables, small_tables


def codes(warnings: Any) -> list[tuple[str, str | None, str | None]]:
    return [(warning.code, warning.sheet, warning.cell) for warning in warnings]


def hidden(answer: Any) -> LoadOptions:
    return LoadOptions(catalogs="none", reader=ReaderOptions(hidden=answer))


def test_a_workbook_on_disk_is_the_same_case(tmp_path: Path) -> None:
    path = write_casebook(tmp_path / "case.xlsx", small_tables())
    loaded = load_case(path, NO_CATALOGS)
    assert [each.demand for each in loaded.case.workloads] == [each.demand for each in load_tables(small_tables()).case.workloads]
    assert loaded.case.offers[0].held_usd_per_node_h == 5.0
    assert loaded.case.inputs[0].file == str(path)
    assert len(loaded.case.inputs[0].sha256) == 64


def test_labels_are_headers_too() -> None:
    tables = small_tables()
    for table in TABLES:
        if table.sheet == "Demand" or table.sheet not in tables:
            continue
        labels = {column.key: column.label for column in table.columns}
        tables[table.sheet] = [{labels[key].upper(): value for key, value in row.items()} for row in tables[table.sheet]]
    assert load_tables(tables).case.offers == load_tables(small_tables()).case.offers


def test_no_header_of_a_table_means_two_columns() -> None:
    for table in TABLES:
        words = [header_key(word) for column in table.columns for word in {column.key, column.label}]
        keys = {header_key(column.key): column.key for column in table.columns}
        for column in table.columns:
            assert keys.get(header_key(column.label), column.key) == column.key
        assert len(set(words)) >= len(table.columns)
        assert len(table.by_header()) == len(set(words))


@pytest.mark.parametrize("rows_above", [1, 4, 12])
def test_titles_may_stand_above_the_header(rows_above: int) -> None:
    book = book_of(small_tables(), first_row=rows_above + 1)
    plain = book_of(small_tables())
    for sheet in book.sheets:
        if sheet.name == "Demand":
            sheet.cells = plain.sheet("Demand").cells  # type: ignore[union-attr]
            continue
        sheet.cells[1, 1] = Cell(f"{sheet.name}: what was used")
        sheet.cells[rows_above, 2] = Cell("offer")
    case = check_books([book], NO_CATALOGS).case
    assert case is not None
    assert [offer.origin.row for offer in case.offers] == [rows_above + 2, rows_above + 3]


def test_the_row_that_names_most_columns_is_the_header_when_one_is_missing() -> None:
    problems = ProblemList()
    words = {(1, 1): "Offers of the quarter", (3, 1): "offer", (3, 2): "purchase", (4, 1): "a", (4, 2): "spot"}
    cells = {place: Cell(word) for place, word in words.items()}
    read_sheet(OFFERS, Sheet("Offers", cells), "f.xlsx", None, problems)
    assert [(problem.code, problem.message) for problem in problems.errors] == [
        ("MISSING_COLUMN", "Offers has no column node_type in its header (row 3)."),
    ]


def test_blank_rows_are_skipped_and_addresses_stay_true() -> None:
    tables = small_tables()
    tables["Offers"].insert(1, {})
    tables["Offers"][2]["used_usd_per_node_h"] = "dear"
    assert codes(errors_of(tables)) == [("NOT_A_NUMBER", "Offers", "E4")]


def test_unknown_columns_are_warned_of_and_notes_are_not() -> None:
    tables = small_tables()
    tables["Offers"][0].update(max_node=3, note="from the quote", Colour="red")
    loaded = load_tables(tables)
    assert codes(loaded.warnings) == [("UNKNOWN_COLUMN", "Offers", "K1"), ("UNKNOWN_COLUMN", "Offers", "M1")]
    assert "max_nodes" in loaded.warnings[0].fix
    assert loaded.warnings[1].fix == ""


def test_values_under_no_header_are_warned_of() -> None:
    book = book_of(small_tables())
    book.sheet("Offers").cells[3, 14] = Cell(7)  # type: ignore[union-attr]
    assert codes(check_books([book], NO_CATALOGS).warnings) == [("UNKNOWN_COLUMN", "Offers", "N3")]


def test_a_blank_sheet_is_an_empty_table() -> None:
    book = book_of(small_tables())
    book.sheet("ApiPrices").cells.clear()  # type: ignore[union-attr]
    checked = check_books([book], NO_CATALOGS)
    assert codes(checked.warnings) == [("EMPTY_SHEET", "ApiPrices", None)]
    assert checked.case is not None
    assert checked.case.api_prices == ()


@pytest.mark.parametrize(("answer", "offers"), [("include", 2), ("exclude", 1)])
def test_hidden_rows_count_as_told(answer: str, offers: int) -> None:
    book = book_of(small_tables())
    book.sheet("Offers").hidden_rows = frozenset({3})  # type: ignore[union-attr]
    case = check_books([book], hidden(answer)).case
    assert case is not None
    assert len(case.offers) == offers


@pytest.mark.parametrize(("answer", "prices"), [("include", 1), ("exclude", 0)])
def test_hidden_sheets_count_as_told(answer: str, prices: int) -> None:
    book = book_of(small_tables())
    book.sheet("ApiPrices").visible = False  # type: ignore[union-attr]
    case = check_books([book], hidden(answer)).case
    assert case is not None
    assert len(case.api_prices) == prices


def test_the_totals_row_of_a_table_is_no_row() -> None:
    book = book_of(small_tables())
    sheet = book.sheet("Offers")
    assert sheet is not None
    sheet.cells[4, 1] = Cell("Total")
    sheet.tables = {"tblOffers": (1, 1, 4, 11)}
    sheet.tables_with_totals = frozenset({"tblOffers"})
    case = check_books([book], NO_CATALOGS).case
    assert case is not None
    assert len(case.offers) == 2


def test_text_numbers_and_scaled_formats_are_warned_of_once() -> None:
    tables = small_tables()
    tables["Offers"][0]["held_usd_per_node_h"] = "5.25"
    tables["Offers"][1]["used_usd_per_node_h"] = "8.5"
    tables["Goodput"][0]["output_tps"] = Cell(1400, number_format="#,##0.0,")
    loaded = load_tables(tables)
    assert codes(loaded.warnings) == [("SCALED_FORMAT", "Goodput", "E2"), ("TEXT_NUMBERS", "Offers", "D2")]
    assert [offer.held_usd_per_node_h for offer in loaded.case.offers] == [5.25, 0.0]


def test_a_locale_settles_text_numbers() -> None:
    tables = small_tables()
    tables["Goodput"][0]["output_tps"] = "1.400"
    options = LoadOptions(catalogs="none", reader=ReaderOptions(locale="de-DE"))
    assert load_tables(tables, options).case.goodput[0].output_tps == 1400
    assert codes(errors_of(tables)) == [("AMBIGUOUS_NUMBER", "Goodput", "E2")]


def test_percent_cells_are_shares(tmp_path: Path) -> None:
    path = write_casebook(tmp_path / "case.xlsx", small_tables(), formats={"occupancy_frac": "0%", "rollout_frac": "0%"})
    pool = load_case(path, NO_CATALOGS).case.pools[0]
    assert (pool.occupancy_frac, pool.rollout_frac) == (0.6, 0.25)


def test_excel_dates(tmp_path: Path) -> None:
    path = write_casebook(tmp_path / "case.xlsx", small_tables())
    book = openpyxl.load_workbook(path)
    book["Existing"]["C2"] = datetime.date(2027, 6, 30)
    book["Offers"]["J2"] = datetime.datetime(2026, 11, 20)
    book.save(path)
    case = load_case(path, NO_CATALOGS).case
    assert case.existing[0].expires == datetime.date(2027, 6, 30)
    assert case.offers[0].as_of == datetime.date(2026, 11, 20)


def test_models_and_gpus_join_without_case_spaces_hyphens() -> None:
    tables = small_tables()
    tables["Workloads"][0].update(model="70-B", precision="INT8")
    tables["Goodput"][0].update(model="70_b", gpu="80 g")
    tables["NodeTypes"].append({**tables["NodeTypes"][0], "node_type": "80gx4", "gpu": "80-G", "gpus_per_node": 4})
    case = load_tables(tables).case
    assert (case.workloads[0].model, case.workloads[0].precision) == ("70b", "int8")
    assert (case.goodput[0].model, case.goodput[0].gpu) == ("70b", "80G")
    assert [node_type.gpu for node_type in case.node_types] == ["80G", "80G"]


def test_defaults_that_follow_other_columns() -> None:
    tables = small_tables()
    tables["Models"][0].update(weights_gb=None, total_params_b=70.5, bytes_per_param=2)
    tables["Workloads"][0]["precision"] = None
    case = load_tables(tables).case
    assert case.models[0].weights_gb == 141
    assert case.workloads[0].precision == "int8"
    assert case.goodput[0].tp == 2
    assert case.node_types[0].replica_span_gpus == 2
    assert case.api_prices[0].cached_input_usd_per_mtok == 0.5
    assert case.offers[0].lot_nodes == 1
    assert case.offers[0].hours == frozenset(range(24))


def test_hours_in_utc_are_shifted_by_the_policy() -> None:
    tables = small_tables()
    tables["Policy"].append({"key": "utc_offset_h", "value": -8})
    tables["Offers"][1]["hours"] = "0-2Z"
    tables["Pools"][0]["rollout_hours"] = "22-2"
    case = load_tables(tables).case
    assert case.offers[1].hours == frozenset({16, 17})
    assert case.pools[0].rollout_hours == frozenset({22, 23, 0, 1})


def test_the_place_of_every_row_is_kept() -> None:
    case = load_tables(small_tables()).case
    assert (case.offers[1].origin.file, case.offers[1].origin.sheet, case.offers[1].origin.row) == ("case.xlsx", "Offers", 3)
    assert case.offers[0].source == "quote"
    assert case.offers[0].as_of == datetime.date(2026, 11, 1)


def test_missing_source_and_date_are_one_warning_per_sheet() -> None:
    tables = small_tables()
    for row in tables["Offers"]:
        row.update(source=None, as_of=None)
    warnings = load_tables(tables).warnings
    assert codes(warnings) == [("MISSING_SOURCE", "Offers", None), ("MISSING_DATE", "Offers", None)]
    assert "2 of 2 rows" in warnings[0].message


def test_words_around_a_date_are_kept() -> None:
    tables = small_tables()
    tables["Offers"][0]["as_of"] = "2026-11 (package release)"
    offer = load_tables(tables).case.offers[0]
    assert (offer.as_of, offer.as_of_text) == (datetime.date(2026, 11, 1), "2026-11 (package release)")


def test_different_figures_for_the_same_conditions_are_warned_of() -> None:
    tables = small_tables()
    tables["Goodput"].append({**tables["Goodput"][0], "output_tps": 1500})
    assert codes(load_tables(tables).warnings) == [("SAME_CONDITIONS", "Goodput", "E3")]


@pytest.mark.parametrize(
    ("sheet", "changes", "code"),
    [
        ("Offers", {"purchase": "on_demand", "held_usd_per_node_h": 0, "used_usd_per_node_h": 0}, "PRICE_ZERO"),
        ("Offers", {"held_usd_per_node_h": 0}, "PRICE_ZERO"),
        ("ApiPrices", {"output_usd_per_mtok": 0, "input_usd_per_mtok": 0}, "PRICE_ZERO"),
        ("Goodput", {"gpu": "90G"}, "UNKNOWN_GPU"),
        ("Pools", {"spot_max_frac": 0.5}, "SPOT_COUNTED_FIRM"),
    ],
)
def test_what_is_doubtful_is_warned_of(sheet: str, changes: dict[str, Any], code: str) -> None:
    tables = small_tables()
    tables["Existing"] = []
    tables[sheet][0].update(changes)
    assert [(warning.code, warning.sheet) for warning in load_tables(tables).warnings] == [(code, sheet)]


def test_a_bad_day_that_takes_spot_away_silences_the_warning() -> None:
    tables = small_tables()
    tables["Pools"][0]["spot_max_frac"] = 0.5
    tables["Contingencies"].append({"contingency": "spot gone", "spot_lost_frac": 1})
    assert load_tables(tables).warnings == ()


def test_a_contingency_for_no_pool_is_warned_of() -> None:
    tables = small_tables()
    tables["Pools"][0]["kind"] = "batch"
    loaded = load_tables(tables)
    assert codes(loaded.warnings) == [("CONTINGENCY_WITHOUT_POOL", "Contingencies", "A2")]
    assert loaded.case.contingencies[0].pools == ()


def test_the_reference_names_every_column() -> None:
    page = reference_page()
    for table in TABLES:
        assert f"## {table.sheet}" in page
        for column in table.columns:
            assert f"| **{column.key}** |" in page or f"| {column.key} |" in page or f"| {column.key} † |" in page
            assert column.meaning and column.label
    for column in POLICY_KEYS:
        assert f"| {column.key} |" in page


@pytest.mark.parametrize(
    ("answer", "expected", "warned"),
    [(None, 100, [("HIDDEN_COLUMN", "Offers", "G1")]), ("include", 100, []), ("exclude", None, [])],
)
def test_hidden_columns_count_with_a_warning(answer: Any, expected: int | None, warned: list[Any]) -> None:
    book = book_of(small_tables())
    book.sheet("Offers").hidden_columns = frozenset({7})  # type: ignore[union-attr]
    checked = check_books([book], hidden(answer))
    assert codes(checked.warnings) == warned
    assert checked.case is not None
    assert checked.case.offers[0].max_nodes == expected


def test_sheet_names_may_have_spaces() -> None:
    tables = small_tables()
    tables["Node types"] = tables.pop("NodeTypes")
    tables["API prices"] = tables.pop("ApiPrices")
    loaded = load_tables(tables)
    assert loaded.warnings == ()
    assert (len(loaded.case.node_types), len(loaded.case.api_prices)) == (1, 1)


def test_a_sheet_that_is_almost_a_table_is_warned_of() -> None:
    tables = small_tables()
    tables["Site"] = tables.pop("Sites")
    tables["Offers (2)"] = []
    loaded = load_tables(tables)
    assert codes(loaded.warnings) == [("SHEET_NOT_READ", "Site", None)]
    assert "Sites" in loaded.warnings[0].fix


def test_two_sheets_of_one_table() -> None:
    tables = small_tables()
    tables["Node types"] = tables["NodeTypes"]
    assert codes(errors_of(tables)) == [("SHEET_TWICE", "Node types", None)]


def test_work_that_waits_quotas_zones_and_discounts_are_read() -> None:
    tables = small_tables()
    tables["Workloads"][0]["deferrable_hours"] = 30
    tables["Pools"][0].update(ready_hours=2, fixed_nodes=3, fixed_node_type="80gx2")
    tables["Contingencies"][0].update(replicas_lost_frac=0.2, scope="Zone", on_demand_obtainable_frac=0.5)
    for offer in tables["Offers"]:
        offer["region"] = "north"
    tables["Discounts"] = [
        {"discount": "plan", "offer": "hourly", "discounted_usd_per_node_h": 5.5, "max_commit_usd_per_h": 40, "term_months": 12}
    ]
    loaded = load_tables(tables)
    case = loaded.case
    assert [warning.sentence() for warning in loaded.warnings] == []
    assert case.workloads[0].deferrable_hours == 30
    pool, row, discount = case.pools[0], case.contingencies[0], case.discounts[0]
    assert (pool.ready_hours, pool.fixed_nodes, pool.fixed_node_type) == (2, 3, "80gx2")
    assert (row.replicas_lost_frac, row.scope, row.on_demand_obtainable_frac) == (0.2, "zone", 0.5)
    assert (discount.discount, discount.offer, discount.discounted_usd_per_node_h) == ("plan", "hourly", 5.5)
    assert (discount.min_commit_usd_per_h, discount.max_commit_usd_per_h, discount.term_months) == (0.0, 40.0, 12.0)
