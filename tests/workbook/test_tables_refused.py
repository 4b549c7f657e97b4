"""What is wrong in a table is refused with its code, sheet and exact cell, and everything wrong at once."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.errors import Refused
from optimizer.workbook.book import Cell, column_letters
from optimizer.workbook.load import load_case
from optimizer.workbook.schema import DEMAND, POLICY, TABLES
from tests.helpers import tables as helper
from tests.helpers.casebook import headers_of, write_casebook
from tests.helpers.tables import NO_CATALOGS, errors_of, load_tables

CHECKED = [table for table in TABLES if table is not DEMAND]


def small_tables() -> dict[str, Any]:
    """The small tables with a discount, so that every table is filled."""
    discount = {"discount": "plan", "offer": "hourly", "discounted_usd_per_node_h": 5.5}
    return {**helper.small_tables(), "Discounts": [{**discount, "min_commit_usd_per_h": 2, "max_commit_usd_per_h": 100}]}


def cell_of(tables: dict[str, Any], sheet: str, key: str, number: int = 0) -> str:
    return f"{column_letters(headers_of(sheet, tables[sheet]).index(key) + 1)}{number + 2}"


def only_error(tables: dict[str, Any]) -> tuple[str, str | None, str | None]:
    errors = errors_of(tables)
    assert len(errors) == 1, [error.sentence() for error in errors]
    assert errors[0].file == "case.xlsx"
    return errors[0].code, errors[0].sheet, errors[0].cell


def test_the_small_tables_load_without_a_warning() -> None:
    assert [warning.sentence() for warning in load_tables(small_tables()).warnings] == []


@pytest.mark.parametrize(("sheet", "key"), [(table.sheet, column.key) for table in CHECKED for column in table.required])
def test_a_missing_column(sheet: str, key: str) -> None:
    tables = small_tables()
    for row in tables[sheet]:
        row.pop(key)
    code, found, cell = only_error(tables)
    assert (code, found, cell) == ("MISSING_COLUMN", sheet, None)


@pytest.mark.parametrize(("sheet", "key"), [(table.sheet, column.key) for table in CHECKED for column in table.required])
def test_an_empty_required_cell(sheet: str, key: str) -> None:
    tables = small_tables()
    last = len(tables[sheet])
    tables[sheet].append({**tables[sheet][0], key: None, "note": "x"})
    errors = errors_of(tables)
    assert ("MISSING_VALUE", sheet, cell_of(tables, sheet, key, last)) in {(each.code, each.sheet, each.cell) for each in errors}


def wrong_cells() -> list[tuple[str, str, Any, str]]:
    found: list[tuple[str, str, Any, str]] = []
    for table in CHECKED:
        if table is POLICY:
            continue
        for column in table.columns:
            if column.kind in ("number", "whole", "fraction", "occupancy"):
                found += [
                    (table.sheet, column.key, "a few", "NOT_A_NUMBER"),
                    (table.sheet, column.key, "nan", "NOT_A_NUMBER"),
                    (table.sheet, column.key, "12,800", "AMBIGUOUS_NUMBER"),
                ]
                if column.low == 0:
                    found.append((table.sheet, column.key, -1, "NEGATIVE_VALUE"))
                if column.high == 1:
                    found.append((table.sheet, column.key, 70, "FRACTION_OUT_OF_RANGE"))
            if column.kind == "whole":
                found.append((table.sheet, column.key, 1.5, "NOT_WHOLE"))
            if column.kind == "choice":
                found.append((table.sheet, column.key, "whatever", "UNKNOWN_CHOICE"))
            if column.kind == "hours":
                found += [
                    (table.sheet, column.key, datetime.date(2026, 8, 12), "HOURS_READ_AS_DATE"),
                    (table.sheet, column.key, "8 to noon", "NOT_HOURS"),
                ]
            if column.kind == "date":
                found.append((table.sheet, column.key, "next year", "NOT_A_DATE"))
            if column.kind == "yes_no":
                found.append((table.sheet, column.key, "perhaps", "NOT_YES_NO"))
    return found


@pytest.mark.parametrize(("sheet", "key", "value", "code"), wrong_cells())
def test_a_wrong_cell_of_any_column_is_named(sheet: str, key: str, value: Any, code: str) -> None:
    tables = small_tables()
    tables[sheet][0][key] = value
    assert only_error(tables) == (code, sheet, cell_of(tables, sheet, key))


@pytest.mark.parametrize(
    ("sheet", "key", "value", "code"),
    [
        ("Workloads", "pool", "chatt", "UNKNOWN_POOL"),
        ("Workloads", "model", "7b", "UNKNOWN_MODEL"),
        ("Workloads", "precision", "fp8", "UNKNOWN_MODEL"),
        ("Workloads", "api", "hosted;other", "UNKNOWN_API"),
        ("Pools", "node_types", "80gx2;b300x8", "UNKNOWN_NODE_TYPE"),
        ("Contingencies", "pool", "chat;batch", "UNKNOWN_POOL"),
        ("Goodput", "model", "7b", "UNKNOWN_MODEL"),
        ("Goodput", "precision", "fp8", "UNKNOWN_MODEL"),
        ("Offers", "node_type", "b300x8", "UNKNOWN_NODE_TYPE"),
        ("Offers", "site", "cellar", "UNKNOWN_SITE"),
        ("Existing", "offer", "old", "UNKNOWN_OFFER"),
        ("Existing", "offer", "hourly", "EXISTING_NOT_HELD"),
        ("Discounts", "offer", "old", "UNKNOWN_OFFER"),
        ("Discounts", "offer", "reserved", "DISCOUNT_NOT_COVERED"),
    ],
)
def test_ids_that_nobody_defines(sheet: str, key: str, value: str, code: str) -> None:
    tables = small_tables()
    tables["Workloads"][0].update(input_tokens=1000, output_tokens=100)
    tables["Goodput"][0].update(input_tokens=1000, output_tokens=100)
    tables[sheet][0][key] = value
    assert only_error(tables) == (code, sheet, cell_of(tables, sheet, key))


@pytest.mark.parametrize("sheet", [table.sheet for table in CHECKED])
def test_a_repeated_key_names_both_rows(sheet: str) -> None:
    tables = small_tables()
    if sheet == "Existing":
        tables[sheet][0]["expires"] = datetime.date(2027, 12, 31)
    tables[sheet].append(dict(tables[sheet][0]))
    key = "key" if sheet == "Policy" else {"Models": "model", "Goodput": "model"}.get(sheet, headers_of(sheet, tables[sheet])[0])
    where = cell_of(tables, sheet, key, len(tables[sheet]) - 1)
    errors = errors_of(tables)
    assert [(error.code, error.sheet, error.cell) for error in errors] == [("DUPLICATE_KEY", sheet, where)]
    first = "B2" if sheet == "Policy" else cell_of(tables, sheet, key)
    assert first.lstrip("AB") in errors[0].message


def test_models_repeat_under_another_spelling() -> None:
    tables = small_tables()
    tables["Models"].append({**tables["Models"][0], "model": "70-B", "precision": "INT 8"})
    assert only_error(tables) == ("DUPLICATE_KEY", "Models", "A3")


def row_rules() -> list[tuple[str, dict[str, Any], str, str]]:
    return [
        ("NodeTypes", {"replica_span_gpus": 1}, "SPAN_UNDER_NODE", "replica_span_gpus"),
        ("Models", {"weights_gb": None, "total_params_b": 70}, "WEIGHTS_MISSING", "weights_gb"),
        ("Models", {"kv_gb_per_seq": None}, "KV_MISSING", "kv_gb_per_seq"),
        ("Goodput", {"tp": 4}, "TP_OVER_GPUS", "tp"),
        ("Goodput", {"replicas_per_gpu": 2}, "SHARE_NEEDS_ONE_GPU", "replicas_per_gpu"),
        ("Offers", {"min_nodes": 200}, "MIN_OVER_MAX", "min_nodes"),
        ("Offers", {"upfront_usd_per_node": 10, "term_months": None}, "TERM_MISSING", "term_months"),
        ("Offers", {"purchase": "spot"}, "PRICE_NOT_USED", "held_usd_per_node_h"),
        (
            "Offers",
            {"purchase": "on_demand", "held_usd_per_node_h": 0, "used_usd_per_node_h": 1, "upfront_usd_per_node": 5},
            "PRICE_NOT_USED",
            "upfront_usd_per_node",
        ),
        ("Sites", {"total_kw": 100}, "PUE_MISSING", "pue"),
        ("Sites", {"usd_per_kwh": 0.1}, "PUE_MISSING", "pue"),
        ("Sites", {"kw_per_rack": None, "slots_per_rack": None}, "RACK_SIZE_MISSING", "kw_per_rack"),
        ("Pools", {"fixed_nodes": 2, "fixed_node_type": None}, "FIXED_NODE_TYPE_MISSING", "fixed_node_type"),
        ("Pools", {"fixed_nodes": None, "fixed_node_type": "80gx2"}, "FIXED_NODES_MISSING", "fixed_nodes"),
        ("Discounts", {"min_commit_usd_per_h": 11, "max_commit_usd_per_h": 10}, "MIN_OVER_MAX", "min_commit_usd_per_h"),
    ]


@pytest.mark.parametrize(("sheet", "changes", "code", "key"), row_rules())
def test_figures_that_need_or_contradict_each_other(sheet: str, changes: dict[str, Any], code: str, key: str) -> None:
    tables = small_tables()
    if sheet == "Offers":
        tables["Existing"] = []
    tables[sheet][0].update(changes)
    tables[sheet][0].setdefault(key, None)
    assert only_error(tables) == (code, sheet, cell_of(tables, sheet, key))


def test_free_energy_needs_no_pue() -> None:
    tables = small_tables()
    tables["Sites"][0]["usd_per_kwh"] = 0
    assert load_tables(tables).case.sites[0].pue is None


@pytest.mark.parametrize("written", ["auto", "AUTO", " Auto "])
def test_occupancy_may_be_auto(written: str) -> None:
    tables = small_tables()
    tables["Pools"][0].update(occupancy_frac=written, wait_prob_max_frac=None)
    loaded = load_tables(tables)
    assert (loaded.case.pools[0].occupancy_frac, loaded.case.pools[0].wait_prob_max_frac) == (None, 0.01)
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("waiting", "code"),
    [
        (0, "FRACTION_OUT_OF_RANGE"),
        (-0.1, "NEGATIVE_VALUE"),
        (1e-7, "WAIT_PROB_TOO_SMALL"),
        (1.01, "FRACTION_OUT_OF_RANGE"),
    ],
)
def test_waiting_that_no_replica_could_keep_or_that_is_no_share(waiting: float, code: str) -> None:
    tables = small_tables()
    tables["Pools"][0].update(occupancy_frac="auto", wait_prob_max_frac=waiting)
    assert only_error(tables) == (code, "Pools", cell_of(tables, "Pools", "wait_prob_max_frac"))


def test_all_may_wait() -> None:
    tables = small_tables()
    tables["Pools"][0].update(occupancy_frac="auto", wait_prob_max_frac=1)
    assert load_tables(tables).case.pools[0].occupancy(1) == 1


def test_waiting_without_auto_is_warned_of() -> None:
    tables = small_tables()
    tables["Pools"][0]["wait_prob_max_frac"] = 0.05
    (warning,) = load_tables(tables).warnings
    assert (warning.code, warning.cell) == ("WAIT_PROB_UNUSED", cell_of(tables, "Pools", "wait_prob_max_frac"))


def test_its_defaults_are_accepted() -> None:
    tables = small_tables()
    tables["Workloads"][0]["deferrable_hours"] = 0
    tables["Pools"][0].update(wait_prob_max_frac=0.01, ready_hours=0, fixed_nodes=0, fixed_node_type=None)
    tables["Contingencies"][0].update(replicas_lost_frac=0, scope="pool", on_demand_obtainable_frac=1)
    tables["Discounts"] = []
    assert load_tables(tables).case.pools[0].wait_prob_max_frac == 0.01


def test_an_offer_that_costs_nothing_to_use_has_nothing_to_discount() -> None:
    tables = small_tables()
    tables["Offers"][0]["purchase"] = "flex"
    tables["Discounts"][0]["offer"] = "reserved"
    assert only_error(tables) == ("DISCOUNT_NOT_COVERED", "Discounts", "B2")
    tables["Offers"][0]["used_usd_per_node_h"] = 7.0
    assert load_tables(tables).case.discounts[0].offer == "reserved"


def test_the_rows_of_a_discount_state_one_commitment() -> None:
    tables = small_tables()
    tables["Offers"].append({**tables["Offers"][1], "offer": "hourly elsewhere"})
    second = {"discount": "plan", "offer": "hourly elsewhere", "discounted_usd_per_node_h": 6.0}
    tables["Discounts"].append({**second, "min_commit_usd_per_h": 3, "max_commit_usd_per_h": None, "term_months": 12})
    assert only_error(tables) == ("DISCOUNT_ROWS_DIFFER", "Discounts", cell_of(tables, "Discounts", "min_commit_usd_per_h", 1))
    tables["Discounts"][1].update(min_commit_usd_per_h=None)
    assert len(load_tables(tables).case.discounts) == 2
    tables["Discounts"][0].update(max_commit_usd_per_h=None)
    tables["Discounts"][1].update(max_commit_usd_per_h=1)
    assert only_error(tables) == ("MIN_OVER_MAX", "Discounts", cell_of(tables, "Discounts", "min_commit_usd_per_h"))


@pytest.mark.parametrize(("price", "code"), [(8.0, "DISCOUNT_SAVES_NOTHING"), (7.99, None), (0, "PRICE_ZERO")])
def test_a_discount_that_saves_nothing_or_everything_is_worth_a_word(price: float, code: str | None) -> None:
    tables = small_tables()
    tables["Discounts"][0]["discounted_usd_per_node_h"] = price
    warnings = [(warning.code, warning.sheet, warning.cell) for warning in load_tables(tables).warnings]
    assert warnings == ([(code, "Discounts", "C2")] if code else [])


def test_what_is_paid_for_part_of_an_hour_may_be_discounted_from_the_whole() -> None:
    tables = small_tables()
    tables["Offers"][1]["effective_frac"] = 0.8
    tables["Discounts"][0]["discounted_usd_per_node_h"] = 9.0
    assert load_tables(tables).warnings == ()


def test_a_standing_quota_needs_no_workload() -> None:
    tables = small_tables()
    tables["Pools"].append({"pool": "lab", "kind": "experiments", "fixed_nodes": 2, "fixed_node_type": "80gx2"})
    loaded = load_tables(tables)
    assert loaded.warnings == ()
    assert (loaded.case.pools[1].fixed_nodes, loaded.case.pools[1].fixed_node_type) == (2, "80gx2")


def test_a_quota_of_an_unknown_type() -> None:
    tables = small_tables()
    tables["Pools"][0].update(fixed_nodes=1, fixed_node_type="b300x8")
    assert only_error(tables) == ("UNKNOWN_NODE_TYPE", "Pools", cell_of(tables, "Pools", "fixed_node_type"))


def test_a_quota_that_nobody_sells_is_worth_a_word() -> None:
    tables = small_tables()
    tables["NodeTypes"].append({**tables["NodeTypes"][0], "node_type": "bench", "gpu": "Z"})
    tables["Pools"].append({"pool": "lab", "kind": "experiments", "fixed_nodes": 2, "fixed_node_type": "bench"})
    where = cell_of(tables, "Pools", "fixed_nodes", 1)
    assert [(warning.code, warning.cell) for warning in load_tables(tables).warnings] == [("FIXED_NODES_NOT_SOLD", where)]
    tables["Offers"].append({**tables["Offers"][1], "offer": "bench by the hour", "node_type": "bench"})
    assert load_tables(tables).warnings == ()


def test_a_quota_of_no_nodes_is_a_statement_too() -> None:
    tables = small_tables()
    tables["Pools"][0].update(fixed_nodes=0, fixed_node_type="80gx2")
    assert load_tables(tables).case.pools[0].fixed_nodes == 0


def test_offers_that_stand_nowhere_are_one_zone() -> None:
    tables = small_tables()
    tables["Contingencies"].append({"contingency": "zone", "scope": "zone"})
    assert [(warning.code, warning.cell) for warning in load_tables(tables).warnings] == [("ZONE_UNNAMED", "C3")]
    for offer in tables["Offers"]:
        offer["region"] = "north"
    assert load_tables(tables).warnings == ()


def deferrable_with_input(night_tps: float = 0.0) -> dict[str, Any]:
    """Work that may wait two hours, with input in the forecast and no request shape; little or nothing arrives from hour 20."""
    tables = small_tables()
    tables["Workloads"][0].update(deferrable_hours=2, api="hosted", output_tokens=None)
    for row in tables["Demand"]:
        row["output_tps"] = night_tps if row["hour"] >= 20 else row["output_tps"]
        row["input_tps"] = 4 * row["output_tps"]
    tables["Goodput"][0]["input_tps"] = None
    return tables


@pytest.mark.parametrize(
    ("goodput", "price"),
    [
        ({}, {}),
        ({}, {"input_usd_per_mtok": 0, "max_input_tps": 1000}),
        ({}, {"input_usd_per_mtok": 0, "max_total_tps": 1000}),
        ({"input_tps": 20000}, {"input_usd_per_mtok": 0}),
    ],
)
def test_work_shifted_to_an_hour_without_arrivals_needs_a_shape(goodput: dict[str, Any], price: dict[str, Any]) -> None:
    tables = deferrable_with_input()
    tables["Goodput"][0].update(goodput)
    tables["ApiPrices"][0].update(price)
    errors = errors_of(tables)
    assert [(error.code, error.cell) for error in errors] == [
        ("INPUT_RATIO_UNKNOWN", cell_of(tables, "Workloads", "deferrable_hours"))
    ]
    assert "hour 20" in errors[0].message


def test_no_shape_is_needed_where_something_arrives_in_every_hour_or_nothing_counts_input() -> None:
    assert load_tables(deferrable_with_input(night_tps=1.0)).warnings == ()
    tables = deferrable_with_input()
    tables["ApiPrices"][0]["input_usd_per_mtok"] = 0
    assert load_tables(tables).warnings == ()
    tables = deferrable_with_input()
    tables["Workloads"][0]["deferrable_hours"] = 0
    assert load_tables(tables).warnings == ()


def test_pools_serve_one_model() -> None:
    tables = small_tables()
    tables["Models"].append({**tables["Models"][0], "model": "8b"})
    tables["Workloads"].append({"workload": "batch", "pool": "chat", "model": "8b", "precision": "int8"})
    tables["Demand"] += [{"workload": "batch", "hour": hour, "output_tps": 1.0} for hour in range(24)]
    assert only_error(tables) == ("POOL_SEVERAL_MODELS", "Workloads", "C3")


def test_several_precisions_must_be_chosen_from() -> None:
    tables = small_tables()
    tables["Models"].append({**tables["Models"][0], "precision": "fp16"})
    tables["Workloads"][0]["precision"] = None
    assert only_error(tables) == ("PRECISION_MISSING", "Workloads", "D2")


@pytest.mark.parametrize(
    ("changes", "price"),
    [
        ({}, {}),
        ({"input_tokens": 1000}, {}),
        ({}, {"input_usd_per_mtok": 0, "max_input_tps": 1000}),
        ({}, {"input_usd_per_mtok": 0, "max_total_tps": 1000}),
        ({}, {"input_usd_per_mtok": 0, "max_rpm": 60}),
    ],
)
def test_an_api_that_counts_input_or_requests_needs_a_shape(changes: dict[str, Any], price: dict[str, Any]) -> None:
    tables = small_tables()
    tables["Workloads"][0].update(api="hosted", **changes)
    tables["ApiPrices"][0].update(price)
    assert only_error(tables) == ("API_NEEDS_SHAPE", "Workloads", cell_of(tables, "Workloads", "api"))


def test_an_api_without_input_price_needs_no_shape() -> None:
    tables = small_tables()
    tables["Workloads"][0]["api"] = "hosted"
    tables["ApiPrices"][0]["input_usd_per_mtok"] = 0
    assert load_tables(tables).case.workloads[0].api == ("hosted",)


def test_input_in_the_forecast_is_a_shape() -> None:
    tables = small_tables()
    tables["Workloads"][0]["api"] = "hosted"
    for row in tables["Demand"]:
        row["input_tps"] = row["output_tps"] * 4
    workload = load_tables(tables).case.workloads[0]
    assert workload.input_per_output("day", 3) == pytest.approx(4)


def test_a_site_needs_the_power_of_its_nodes() -> None:
    tables = small_tables()
    tables["NodeTypes"][0]["node_kw"] = None
    tables["Offers"][0]["site"] = "hall"
    assert only_error(tables) == ("SITE_NEEDS_NODE_KW", "Offers", cell_of(tables, "Offers", "site"))


def test_a_pool_without_workload_cannot_be_live() -> None:
    tables = small_tables()
    tables["Pools"].append({"pool": "lab", "kind": "experiments", "min_live": 1})
    assert only_error(tables) == ("POOL_WITHOUT_WORKLOAD", "Pools", "E3")


def test_twenty_three_hours() -> None:
    tables = small_tables()
    del tables["Demand"][7]
    errors = errors_of(tables)
    assert {error.sheet for error in errors} == {"Demand"}
    assert "MISSING_HOUR" in {error.code for error in errors}


def test_a_workload_without_demand() -> None:
    tables = small_tables()
    tables["Workloads"].append({**tables["Workloads"][0], "workload": "search"})
    errors = errors_of(tables)
    assert {error.sheet for error in errors} <= {"Demand", "Workloads"}
    assert any("search" in error.message for error in errors)


def test_five_faults_are_five_problems() -> None:
    tables = small_tables()
    tables["Workloads"][0]["pool"] = "nowhere"
    tables["Pools"][0]["occupancy_frac"] = 60
    tables["Offers"][0]["held_usd_per_node_h"] = "twenty"
    tables["Offers"][1]["node_type"] = "b300x8"
    tables["Sites"][0]["racks"] = -1
    found = {(error.code, error.sheet, error.cell) for error in errors_of(tables)}
    assert found == {
        ("UNKNOWN_POOL", "Workloads", "B2"),
        ("FRACTION_OUT_OF_RANGE", "Pools", "C2"),
        ("NOT_A_NUMBER", "Offers", "D2"),
        ("UNKNOWN_NODE_TYPE", "Offers", "B3"),
        ("NEGATIVE_VALUE", "Sites", "B2"),
    }


def test_a_refused_table_blames_nobody_who_names_it() -> None:
    tables = small_tables()
    for row in tables["NodeTypes"]:
        del row["node_type"]
    for row in tables["Models"]:
        del row["precision"]
    assert [(error.code, error.sheet) for error in errors_of(tables)] == [
        ("MISSING_COLUMN", "NodeTypes"),
        ("MISSING_COLUMN", "Models"),
    ]


def edited(folder: Path, edit: Any) -> list[tuple[str, str | None, str | None]]:
    """Problems of the small tables after an edit by hand in openpyxl."""
    path = write_casebook(folder / "case.xlsx", small_tables())
    book = openpyxl.load_workbook(path)
    edit(book)
    book.save(path)
    with pytest.raises(Refused) as caught:
        load_case(path, NO_CATALOGS)
    return [(error.code, error.sheet, error.cell) for error in caught.value.errors]


def test_a_formula_that_was_never_computed(tmp_path: Path) -> None:
    def edit(book: Any) -> None:
        book["Offers"]["D2"] = "=2*2.5"

    assert edited(tmp_path, edit) == [("FORMULA_NO_VALUE", "Offers", "D2")]


def test_an_error_value(tmp_path: Path) -> None:
    def edit(book: Any) -> None:
        book["NodeTypes"]["D2"] = "#N/A"
        book["NodeTypes"]["D2"].data_type = "e"

    assert edited(tmp_path, edit) == [("CELL_ERROR", "NodeTypes", "D2")]


def test_merged_cells(tmp_path: Path) -> None:
    def edit(book: Any) -> None:
        book["Offers"].merge_cells("B2:B3")

    assert ("MERGED_CELLS", "Offers", "B2:B3") in edited(tmp_path, edit)


def test_hidden_rows_are_asked_about(tmp_path: Path) -> None:
    def edit(book: Any) -> None:
        book["Offers"].row_dimensions[3].hidden = True

    assert edited(tmp_path, edit) == [("HIDDEN_ROWS", "Offers", "A3")]


def test_a_hidden_sheet_is_asked_about(tmp_path: Path) -> None:
    def edit(book: Any) -> None:
        book["Offers"].sheet_state = "hidden"

    assert edited(tmp_path, edit) == [("HIDDEN_SHEET", "Offers", None)]


def test_a_column_named_twice(tmp_path: Path) -> None:
    def edit(book: Any) -> None:
        book["Offers"]["M1"] = "At most (nodes)"

    assert edited(tmp_path, edit) == [("DUPLICATE_COLUMN", "Offers", "M1")]


def test_a_sheet_without_a_header(tmp_path: Path) -> None:
    def edit(book: Any) -> None:
        for cell in book["Pools"][1]:
            cell.value = None

    assert edited(tmp_path, edit) == [("NO_HEADER", "Pools", None)]


def test_nothing_infinite_reaches_the_case() -> None:
    case = load_tables(small_tables()).case
    assert all(math.isfinite(value) for value in case.workloads[0].demand[0].output_tps)


_CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**6),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(max_size=8),
    st.sampled_from(["70%", "12,800", "auto", "none", "a;b", "0-24", "22-6;8-12Z", "2027-01-31", "chat", "80gx2", "70b", "#N/A"]),
    st.datetimes(datetime.datetime(1990, 1, 1), datetime.datetime(2090, 1, 1)),
    st.times(),
    st.builds(Cell, st.none(), formula=st.just("=A1")),
    st.builds(Cell, st.none(), error=st.just("#REF!")),
)
_PLACES = [(table.sheet, column.key) for table in CHECKED for column in table.columns]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(_PLACES), _CELLS), min_size=1, max_size=3))
def test_no_cell_whatever_it_holds_ends_in_anything_but_a_case_or_a_refusal(changes: list[tuple[tuple[str, str], Any]]) -> None:
    tables = small_tables()
    for (sheet, key), value in changes:
        tables[sheet][0][key] = value
    try:
        loaded = load_tables(tables)
    except Refused as refused:
        assert all(error.code and error.sheet for error in refused.errors)
        return
    for problem in loaded.warnings:
        assert problem.file == "case.xlsx"
    assert {offer.node_type for offer in loaded.case.offers} <= {row.node_type for row in loaded.case.node_types}
    assert {workload.pool for workload in loaded.case.workloads} <= {pool.pool for pool in loaded.case.pools}
    assert {workload.model for workload in loaded.case.workloads} <= {model.model for model in loaded.case.models}
