"""Catalogs: which tables they fill, what of them is kept, what is refused in them."""

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path
from typing import Any

import pytest

import optimizer
from optimizer.errors import ProblemList
from optimizer.workbook.catalogs import open_catalogs
from optimizer.workbook.options import LoadOptions
from optimizer.workbook.schema import TABLES
from tests.helpers.tables import Rows, errors_of, load_tables, small_tables

CATALOGED = ("NodeTypes", "Models", "Goodput", "Offers", "ApiPrices", "Sites")


def write_catalogs(folder: Path, tables: dict[str, Rows], aliases: Rows | None = None) -> LoadOptions:
    """The catalogs of these tables, and the options that point at them."""
    for table in TABLES:
        if table.sheet in tables and table.catalog:
            write_csv(folder / table.catalog, tables[table.sheet])
    if aliases is not None:
        write_csv(folder / "aliases.csv", aliases)
    return LoadOptions(catalogs=str(folder))


def write_csv(path: Path, rows: Rows) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)


def split(*sheets: str) -> tuple[dict[str, Rows], dict[str, Rows]]:
    """Small tables: those that stay in the workbook, and those of the sheets named, for catalogs."""
    tables = small_tables()
    tables["Existing"] = []
    return {name: rows for name, rows in tables.items() if name not in sheets}, {name: tables[name] for name in sheets}


def test_an_absent_sheet_takes_its_catalog(tmp_path: Path) -> None:
    workbook, catalogs = split("NodeTypes", "Models", "Goodput", "Offers")
    case = load_tables(workbook, write_catalogs(tmp_path, catalogs)).case
    assert [offer.offer for offer in case.offers] == ["reserved", "hourly"]
    assert case.offers[0].origin.file == f"{tmp_path}/offers.csv"
    assert (case.offers[0].origin.sheet, case.offers[0].origin.row) == ("Offers", 2)
    assert case.goodput[0].output_tps == 1400
    assert [each.file for each in case.inputs] == [
        "case.xlsx",
        *(f"{tmp_path}/{name}.csv" for name in ("node_types", "models", "goodput", "offers")),
    ]
    assert all(len(each.sha256) == 64 for each in case.inputs)


def test_a_sheet_that_is_present_is_the_whole_table_even_when_empty(tmp_path: Path) -> None:
    workbook, catalogs = split("Offers")
    options = write_catalogs(tmp_path, catalogs)
    workbook["Offers"] = []
    case = load_tables(workbook, options).case
    assert case.offers == ()
    assert [each.file for each in case.inputs] == ["case.xlsx"]


def test_without_catalogs_an_absent_sheet_is_empty() -> None:
    workbook, _ = split("Offers", "ApiPrices", "Sites")
    case = load_tables(workbook, LoadOptions(catalogs="none")).case
    assert (case.offers, case.api_prices, case.sites) == ((), (), ())


def test_added_catalogs_come_under_the_workbook_which_wins_by_key(tmp_path: Path) -> None:
    workbook, catalogs = split("Offers")
    options = write_catalogs(tmp_path, catalogs)
    workbook["Offers"] = [{**catalogs["Offers"][0], "held_usd_per_node_h": 4.5}]
    assert len(load_tables(workbook, options).case.offers) == 1
    workbook["Policy"].append({"key": "catalogs_add", "value": "offers"})
    offers = load_tables(workbook, options).case.offers
    assert [(offer.offer, offer.held_usd_per_node_h) for offer in offers] == [("reserved", 4.5), ("hourly", 0.0)]


def test_only_tables_with_catalogs_can_be_added(tmp_path: Path) -> None:
    workbook, catalogs = split("Offers")
    workbook["Policy"].append({"key": "catalogs_add", "value": "Offers;Existing"})
    errors = errors_of(workbook, write_catalogs(tmp_path, catalogs))
    assert [(error.code, error.sheet, error.cell) for error in errors] == [("UNKNOWN_TABLE", "Policy", "B4")]


@pytest.mark.parametrize("sheet", ["NodeTypes", "Models", "Goodput", "Offers"])
@pytest.mark.parametrize(("key", "code"), [("source", "MISSING_SOURCE"), ("as_of", "MISSING_DATE")])
def test_a_catalog_row_without_source_or_date_is_refused(tmp_path: Path, sheet: str, key: str, code: str) -> None:
    workbook, catalogs = split(sheet)
    catalogs[sheet][0][key] = ""
    errors = errors_of(workbook, write_catalogs(tmp_path, catalogs))
    column = chr(ord("A") + list(catalogs[sheet][0]).index(key))
    table = next(table for table in TABLES if table.sheet == sheet)
    assert [(error.code, error.file, error.cell) for error in errors] == [(code, f"{tmp_path}/{table.catalog}", f"{column}2")]


@pytest.mark.parametrize("sheet", ["NodeTypes", "Models", "Goodput", "Offers"])
def test_a_repeated_key_in_a_catalog_names_both_rows(tmp_path: Path, sheet: str) -> None:
    workbook, catalogs = split(sheet)
    catalogs[sheet].append(dict(catalogs[sheet][0]))
    errors = errors_of(workbook, write_catalogs(tmp_path, catalogs))
    assert [(error.code, error.cell) for error in errors] == [("DUPLICATE_KEY", f"A{len(catalogs[sheet]) + 1}")]
    assert " A2 " in errors[0].message


def test_catalog_faults_name_file_and_cell(tmp_path: Path) -> None:
    workbook, catalogs = split("Offers")
    catalogs["Offers"][1]["used_usd_per_node_h"] = "8,5"
    errors = errors_of(workbook, write_catalogs(tmp_path, catalogs))
    assert [(error.code, error.file, error.cell) for error in errors] == [("NOT_A_NUMBER", f"{tmp_path}/offers.csv", "E3")]


def test_catalogs_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    workbook, catalogs = split("Offers", "NodeTypes")
    catalogs["Offers"][1]["node_type"] = "lost"
    errors = errors_of(workbook, write_catalogs(tmp_path, catalogs))
    assert [(error.code, error.file, error.cell) for error in errors] == [
        ("UNKNOWN_NODE_TYPE", f"{tmp_path}/offers.csv", "B3"),
    ]


def test_catalog_offers_of_node_types_that_the_workbook_lacks_are_left_out(tmp_path: Path) -> None:
    workbook, catalogs = split("Offers")
    catalogs["Offers"][1]["node_type"] = "b300x8"
    loaded = load_tables(workbook, write_catalogs(tmp_path, catalogs))
    assert [offer.offer for offer in loaded.case.offers] == ["reserved"]
    assert [warning.code for warning in loaded.warnings] == ["CATALOG_OFFERS_LEFT_OUT"]
    assert "b300x8" in loaded.warnings[0].message


def test_catalog_rows_that_cannot_matter_are_left_out_and_offers_are_told_of(tmp_path: Path) -> None:
    workbook, catalogs = split("NodeTypes", "Models", "Goodput", "Offers", "ApiPrices")
    stamp: dict[str, Any] = {"source": "s", "as_of": "2026-10-01"}
    catalogs["Models"].append({"model": "8b", "precision": "fp8", "weights_gb": 8, "kv_gb_per_seq": 1, **stamp})
    catalogs["Goodput"].append({**catalogs["Goodput"][0], "model": "8b", "precision": "fp8", "gpu": "B300"})
    catalogs["NodeTypes"].append({**catalogs["NodeTypes"][0], "node_type": "b300x8", "gpu": "B300"})
    catalogs["Offers"].append({**catalogs["Offers"][1], "offer": "far", "node_type": "b300x8"})
    case = load_tables(workbook, write_catalogs(tmp_path, catalogs)).case
    assert {row.model for row in case.models} == {row.model for row in case.goodput} == {"70b"}
    assert [row.node_type for row in case.node_types] == ["80gx2"]
    assert [row.offer for row in case.offers] == ["reserved", "hourly"]
    assert case.api_prices == ()
    assert any("B300 (1)" in sentence for sentence in case.assumptions)


def test_a_catalog_offer_that_holds_nodes_already_is_kept(tmp_path: Path) -> None:
    workbook, catalogs = split("NodeTypes", "Goodput", "Offers")
    catalogs["NodeTypes"].append({**catalogs["NodeTypes"][0], "node_type": "b300x8", "gpu": "B300"})
    catalogs["Offers"].append({**catalogs["Offers"][0], "offer": "old", "node_type": "b300x8"})
    workbook["Existing"] = [{"offer": "old", "nodes": 2}]
    case = load_tables(workbook, write_catalogs(tmp_path, catalogs)).case
    assert "old" in [row.offer for row in case.offers]
    assert "b300x8" in [row.node_type for row in case.node_types]


def site_case(tmp_path: Path) -> tuple[dict[str, Rows], LoadOptions]:
    workbook, catalogs = split("Offers", "Sites")
    catalogs["Offers"][0]["site"] = "hall"
    catalogs["Offers"].append({**catalogs["Offers"][0], "offer": "own in hall", "purchase": "owned"})
    catalogs["Offers"].append({**catalogs["Offers"][0], "offer": "own anywhere", "purchase": "owned", "site": ""})
    return workbook, write_catalogs(tmp_path, catalogs)


def test_catalog_sites_and_owned_offers_are_examples(tmp_path: Path) -> None:
    workbook, options = site_case(tmp_path)
    case = load_tables(workbook, options).case
    assert [offer.offer for offer in case.offers] == ["hourly"]
    assert case.sites == ()


def test_they_count_where_the_workbook_names_the_site(tmp_path: Path) -> None:
    workbook, options = site_case(tmp_path)
    workbook["Sites"] = [{"site": "hall", "racks": 1, "slots_per_rack": 2}]
    case = load_tables(workbook, options).case
    assert [offer.offer for offer in case.offers] == ["reserved", "hourly", "own in hall"]
    assert case.sites[0].racks == 1


def test_an_offer_of_the_workbook_names_a_catalog_site(tmp_path: Path) -> None:
    workbook, catalogs = split("Offers", "Sites")
    workbook["Offers"] = [{**catalogs["Offers"][0], "site": "hall"}]
    case = load_tables(workbook, write_catalogs(tmp_path, catalogs)).case
    assert [site.site for site in case.sites] == ["hall"]
    assert case.sites[0].kw_per_rack == 40


def test_names_join_through_aliases(tmp_path: Path) -> None:
    workbook, catalogs = split("Models")
    workbook["Workloads"][0]["model"] = "Acme-70B-Instruct"
    workbook["Goodput"][0].update(model="acme 70b instruct", gpu="Eighty")
    aliases: Rows = [
        {"alias": "acme 70b instruct", "name": "70b", "kind": "model"},
        {"alias": "eighty", "name": "80 G", "kind": "gpu"},
    ]
    case = load_tables(workbook, write_catalogs(tmp_path, catalogs, aliases)).case
    assert case.workloads[0].model == case.models[0].model == case.goodput[0].model == "70b"
    assert case.goodput[0].gpu == "80G"


def test_an_alias_never_merges_two_gpus_of_the_workbook(tmp_path: Path) -> None:
    workbook, _ = split()
    workbook["NodeTypes"].append({**workbook["NodeTypes"][0], "node_type": "other", "gpu": "80G PCIe"})
    workbook["Goodput"].append({**workbook["Goodput"][0], "gpu": "80g-pcie", "output_tps": 900})
    options = write_catalogs(tmp_path, {}, [{"alias": "80G PCIe", "name": "80G", "kind": "gpu"}])
    case = load_tables(workbook, options).case
    assert [(row.gpu, row.output_tps) for row in case.goodput] == [("80G", 1400), ("80G PCIe", 900)]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    workbook, _ = split()
    errors = errors_of(workbook, LoadOptions(catalogs=str(tmp_path / "none-such")))
    assert [(error.code, error.file) for error in errors] == [("CATALOGS_NOT_FOUND", str(tmp_path / "none-such"))]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "NO_HEADER"),
        ("offer,purchase\na,spot\n", "MISSING_COLUMN"),
        ("offer,offer,node_type,purchase\na,b,80gx2,spot\n", "DUPLICATE_COLUMN"),
        ("offer,node_type,purchase\na,80gx2,spot,9,9\n", "RAGGED_ROW"),
    ],
)
def test_catalogs_with_a_broken_structure(tmp_path: Path, text: str, code: str) -> None:
    workbook, _ = split("Offers")
    (tmp_path / "offers.csv").write_text(text, encoding="utf-8")
    errors = errors_of(workbook, LoadOptions(catalogs=str(tmp_path)))
    assert (code, f"{tmp_path}/offers.csv", "Offers") in [(error.code, error.file, error.sheet) for error in errors]


def test_a_catalog_in_another_encoding(tmp_path: Path) -> None:
    workbook, _ = split("Offers")
    (tmp_path / "offers.csv").write_bytes("offer,node_type,purchase\nZürich,80gx2,spot\n".encode("latin-1"))
    errors = errors_of(workbook, LoadOptions(catalogs=str(tmp_path)))
    assert [(error.code, error.file) for error in errors] == [("WRONG_FORMAT", f"{tmp_path}/offers.csv")]


def test_a_quoted_line_break_does_not_shift_addresses(tmp_path: Path) -> None:
    workbook, catalogs = split("Offers")
    catalogs["Offers"][0]["source"] = "line one\nline two"
    catalogs["Offers"][1]["lot_nodes"] = "zero"
    errors = errors_of(workbook, write_catalogs(tmp_path, catalogs))
    assert [(error.code, error.cell) for error in errors] == [("NOT_A_NUMBER", "K3")]


def test_the_shipped_catalogs_are_those_of_the_checkout_or_the_package() -> None:
    catalogs = open_catalogs(None, ProblemList())
    assert catalogs.label == "catalogs"
    beside = Path(optimizer.__file__).resolve().parent.parent / "catalogs"
    assert catalogs.folder is None or catalogs.folder == beside or str(catalogs.folder).endswith("_data/catalogs")
    assert set(dataclasses.asdict(LoadOptions())) >= {"catalogs"}


def test_nodes_held_on_an_example_offer_are_asked_about(tmp_path: Path) -> None:
    workbook, options = site_case(tmp_path)
    workbook["Existing"] = [{"offer": "own in hall", "nodes": 1}, {"offer": "own anywhere", "nodes": 1}]
    errors = errors_of(workbook, options)
    assert [(error.code, error.sheet, error.cell) for error in errors] == [
        ("EXAMPLE_OFFER", "Existing", "A2"),
        ("EXAMPLE_OFFER", "Existing", "A3"),
    ]
    assert "hall" in errors[0].fix


def test_models_that_only_a_goodput_sheet_names_come_from_the_catalog(tmp_path: Path) -> None:
    workbook, catalogs = split("Models")
    catalogs["Models"].append({**catalogs["Models"][0], "model": "8b"})
    workbook["Goodput"].append({**workbook["Goodput"][0], "model": "8B"})
    case = load_tables(workbook, write_catalogs(tmp_path, catalogs)).case
    assert [row.model for row in case.models] == ["70b", "8b"]
    assert [row.model for row in case.goodput] == ["70b", "8b"]


def test_a_catalog_with_semicolons(tmp_path: Path) -> None:
    workbook, _ = split("Offers")
    (tmp_path / "offers.csv").write_text("offer;node_type;purchase\na;80gx2;spot\n", encoding="utf-8")
    errors = errors_of(workbook, LoadOptions(catalogs=str(tmp_path)))
    assert [(error.code, error.file) for error in errors] == [("WRONG_FORMAT", f"{tmp_path}/offers.csv")]


def test_aliases_without_their_columns(tmp_path: Path) -> None:
    workbook, _ = split()
    errors = errors_of(workbook, write_catalogs(tmp_path, {}, [{"alias": "a", "name": "b"}]))
    assert [(error.code, error.file) for error in errors] == [("MISSING_COLUMN", f"{tmp_path}/aliases.csv")]


def test_workloads_and_pools_may_be_catalogs_too(tmp_path: Path) -> None:
    workbook, catalogs = split("Workloads", "Pools")
    case = load_tables(workbook, write_catalogs(tmp_path, catalogs)).case
    assert [(row.workload, row.pool) for row in case.workloads] == [("chat", "chat")]
    assert case.pools[0].occupancy_frac == 0.6
