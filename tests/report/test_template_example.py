"""The example workbook: rebuilt cell for cell, every figure with its source, read without options, and worth planning."""

from __future__ import annotations

import csv
from pathlib import Path

import openpyxl
import pytest
from openpyxl.formula import Tokenizer

from optimizer.candidates.enumerate import find_candidates
from optimizer.report.template_example import example_tables, templates_folder, write_example
from optimizer.workbook.load import load_case
from optimizer.workbook.schema import table_of
from tests.helpers.recalc import differences, recalculated, shown_values
from tests.report.test_template import cells_of

CHECKOUT = Path(__file__).resolve().parents[2]
TABLES = CHECKOUT / "templates" / "example"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "example.xlsx"
    write_example(path)
    return path


def rows_of(name: str) -> list[dict[str, str]]:
    with (TABLES / name).open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_the_shipped_example_is_what_the_code_writes(example: Path) -> None:
    shipped = CHECKOUT / "templates" / "example.xlsx"
    for values in (True, False):
        assert cells_of(shipped, values=values) == cells_of(example, values=values)


def test_every_cell_of_the_tables_is_in_the_workbook(example: Path) -> None:
    book = openpyxl.load_workbook(example, data_only=True)
    assert book.sheetnames[0] == "Read me"
    for sheet in example_tables():
        page = book[sheet.table.sheet]
        assert [cell.value for cell in page[4]][: len(sheet.columns)] == [column.label for column in sheet.columns]
        for number, row in enumerate(sheet.rows, start=5):
            for column, text in enumerate(row, start=1):
                value = page.cell(number, column).value
                shown = "" if value is None else value.date().isoformat() if hasattr(value, "date") else value
                assert shown == text or float(shown) == float(text), (sheet.table.sheet, number, column)


def test_labels_are_those_of_the_schema_and_rows_say_where_figures_come_from() -> None:
    for sheet in example_tables():
        table = table_of(sheet.table.sheet)
        assert table is not None
        names = [column.key for column in sheet.columns]
        if table.sheet == "Demand":
            continue
        assert set(names) - {column.key for column in table.columns} <= {"note"}
        assert "note" in names
        for row in sheet.rows:
            cells = dict(zip(names, row, strict=True))
            if table.provenance or table.sheet == "Sites":
                assert cells["source"] and cells["as_of"], cells
            else:
                assert cells["note"], cells


def test_the_reader_takes_it_without_options_and_without_a_word(example: Path) -> None:
    loaded = load_case(example)
    assert loaded.warnings == ()
    case = loaded.case
    assert [day.days for day in case.day_types] == [65, 26]
    chat, bulk = case.workloads
    assert max(chat.demand_on("weekday").output_tps) == 29996 and max(chat.demand_on("weekend").output_tps) == 16877
    assert max(bulk.demand_on("weekday").output_tps) == 33522
    assert case.nodes_existing("example-dc-h100x8-owned") == 4
    assert case.pool("interactive").occupancy_frac == 0.7


def test_the_targets_decide_between_the_generations(example: Path) -> None:
    case = load_case(example).case
    found = find_candidates(case)
    best: dict[tuple[str, str], float] = {}
    for option in found.options:
        gpu = case.node_type(option.node_type).gpu
        for point in option.points:
            key = (point.workload, gpu)
            best[key] = max(best.get(key, 0.0), point.row.output_tps / option.gpus_per_replica)
    assert best["chat", "B300 SXM"] == pytest.approx(1319, abs=1)
    assert best["chat", "B200 SXM"] == pytest.approx(990, abs=1)
    assert best["chat", "H200 SXM"] == pytest.approx(381, abs=1)
    assert best["chat", "H100 SXM"] == pytest.approx(199, abs=1)
    assert set(best) == {(name, gpu) for name in ("chat", "bulk") for gpu in ("H100 SXM", "H200 SXM", "B200 SXM", "B300 SXM")}


def test_prices_and_measurements_are_those_of_the_catalogs() -> None:
    with (CHECKOUT / "catalogs" / "offers.csv").open(newline="", encoding="utf-8") as stream:
        shop = {row["offer"]: row for row in csv.DictReader(stream)}
    for row in rows_of("offers.csv"):
        if row["purchase"] == "owned":
            continue
        listed = shop[row["offer"]]
        for key in ("node_type", "purchase", "provider", "region", "term_months", "as_of"):
            assert row[key] == listed[key]
        for key in ("used_usd_per_node_h", "upfront_usd_per_node"):
            assert float(row[key] or 0) == float(listed[key] or 0)
    with (CHECKOUT / "catalogs" / "goodput.csv").open(newline="", encoding="utf-8") as stream:
        measured = {(row["source"], row["output_tps"], row["ttft_ms"], row["tpot_ms"]) for row in csv.DictReader(stream)}
    for row in rows_of("goodput.csv"):
        assert (row["source"], row["output_tps"], row["ttft_ms"], row["tpot_ms"]) in measured


def test_owned_rates_are_the_published_ones_less_what_the_site_charges() -> None:
    site = rows_of("sites.csv")[0]
    kw = {row["node_type"]: float(row["node_kw"] or 0) for row in rows_of("node_types.csv")}
    owned = [row for row in rows_of("offers.csv") if row["purchase"] == "owned"]
    for row, published in zip(owned, (8 * 1.69, 8 * 2.34), strict=True):
        energy = kw[row["node_type"]] * float(site["pue"]) * float(site["usd_per_kwh"])
        rent = kw[row["node_type"]] * float(site["usd_per_kw_month"]) / (365 / 12 * 24)
        assert float(row["held_usd_per_node_h"]) == pytest.approx(published - energy - rent, abs=0.005)


def test_checks_beside_the_demand_have_their_values_and_no_literals(example: Path) -> None:
    formulas = openpyxl.load_workbook(example)["Demand"]
    values = openpyxl.load_workbook(example, data_only=True)["Demand"]
    found = [cell for row in formulas.iter_rows() for cell in row if cell.data_type == "f"]
    assert len(found) == 16
    for cell in found:
        tokens = Tokenizer(str(cell.value)).items
        assert not [token for token in tokens if token.type == "OPERAND" and token.subtype == "NUMBER"]
    shown = [values.cell(5, column).value for column in range(7, 11)]
    assert shown == [24, 29996, pytest.approx(22272.46, abs=0.01), pytest.approx(1.3468, abs=1e-4)]


def test_missing_tables_are_said(tmp_path: Path) -> None:
    assert (templates_folder() / "example" / "demand.csv").is_file()
    with pytest.raises(FileNotFoundError):
        write_example(tmp_path / "x.xlsx", folder=tmp_path)


@pytest.mark.libreoffice
def test_libreoffice_agrees_with_every_stored_value(example: Path) -> None:
    assert differences(shown_values(example), recalculated(example)) == []
