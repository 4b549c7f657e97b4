"""Every rule of the catalog check finds its fault, names its cell, and lets a sound folder pass."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from optimizer.errors import ProblemList
from optimizer.workbook.catalog_checks import check_catalogs

SOUND: dict[str, list[dict[str, str]]] = {
    "node_types.csv": [
        {"node_type": "h100-x8", "gpu": "H100 SXM", "gpus_per_node": "8", "gpu_memory_gb": "85.9", "node_kw": "10.2",
         "gpu_tdp_w": "700", "source": "vendor", "as_of": "2026-07-05"},
    ],
    "models.csv": [
        {"model": "M-1", "precision": "fp8", "weights_gb": "70", "total_params_b": "68", "active_params_b": "10",
         "kv_bytes_per_token": "100000", "source": "config", "as_of": "2026-09-01"},
    ],
    "goodput.csv": [
        {"model": "M-1", "precision": "fp8", "gpu": "h100_sxm", "gpus_per_replica": "2", "output_tps": "970",
         "input_tokens": "1024", "output_tokens": "1024", "concurrency": "32", "ttft_ms": "200", "tpot_ms": "32.8",
         "source": "sweep", "as_of": "2026-04-01"},
    ],
    "offers.csv": [
        {"offer": "a-od", "node_type": "h100-x8", "purchase": "on_demand", "used_usd_per_node_h": "32", "provider": "A",
         "region": "eu", "site": "", "source": "price page", "as_of": "2026-09-20"},
        {"offer": "a-spot", "node_type": "h100-x8", "purchase": "spot", "used_usd_per_node_h": "20", "provider": "A",
         "region": "eu", "site": "", "source": "price page", "as_of": "2026-09-20"},
    ],
    "api_prices.csv": [
        {"api": "x", "model": "M-1", "output_usd_per_mtok": "1.2", "source": "price page", "as_of": "2026-10-25"},
    ],
    "sites.csv": [{"site": "hall", "racks": "2", "kw_per_rack": "30", "source": "lease", "as_of": "2026-01-01"}],
    "aliases.csv": [{"alias": "H100", "name": "H100 SXM", "kind": "gpu"}],
}


def write(folder: Path, changes: dict[tuple[str, int, str], str], extra: dict[str, dict[str, str]] | None = None) -> ProblemList:
    """A sound folder with some cells changed and rows added; what the check finds in it."""
    for name, rows in SOUND.items():
        rows = [dict(row) for row in rows] + ([extra[name]] if extra and name in extra else [])
        for (file, at, column), value in changes.items():
            if file == name:
                rows[at][column] = value
        with (folder / name).open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return check_catalogs(folder)


def test_a_sound_folder_has_no_problem(tmp_path: Path) -> None:
    found = write(tmp_path, {})
    assert found.errors == [] and found.warnings == []


@pytest.mark.parametrize(
    ("change", "code", "file", "cell"),
    [
        ({("goodput.csv", 0, "model"): "M-2"}, "UNKNOWN_NAME", "goodput.csv", "A2"),
        ({("goodput.csv", 0, "precision"): "fp4"}, "UNKNOWN_NAME", "goodput.csv", "A2"),
        ({("goodput.csv", 0, "gpu"): "B200"}, "UNKNOWN_NAME", "goodput.csv", "C2"),
        ({("offers.csv", 1, "node_type"): "h200-x8"}, "UNKNOWN_NAME", "offers.csv", "B3"),
        ({("offers.csv", 0, "site"): "cellar"}, "UNKNOWN_NAME", "offers.csv", "G2"),
        ({("models.csv", 0, "source"): ""}, "MISSING_SOURCE", "models.csv", "G2"),
        ({("api_prices.csv", 0, "as_of"): ""}, "MISSING_DATE", "api_prices.csv", "E2"),
        ({("sites.csv", 0, "as_of"): "last spring"}, "MISSING_DATE", "sites.csv", "E2"),
        ({("node_types.csv", 0, "node_kw"): "5.5"}, "NODE_KW_UNDER_GPUS", "node_types.csv", "E2"),
        ({("models.csv", 0, "weights_gb"): "79"}, "WEIGHTS_OFF", "models.csv", "C2"),
        ({("models.csv", 0, "active_params_b"): "69"}, "ACTIVE_OVER_TOTAL", "models.csv", "E2"),
        ({("goodput.csv", 0, "output_tps"): "996"}, "GOODPUT_OVER_CEILING", "goodput.csv", "E2"),
        ({("goodput.csv", 0, "output_tps"): "860"}, "GOODPUT_OFF_LATENCY", "goodput.csv", "E2"),
        ({("offers.csv", 1, "offer"): "a-od"}, "DUPLICATE_KEY", "offers.csv", "A3"),
    ],
)
def test_each_rule_names_the_cell(
    change: dict[tuple[str, int, str], str], code: str, file: str, cell: str, tmp_path: Path
) -> None:
    found = write(tmp_path, change)
    assert [(problem.code, Path(problem.file or "").name, problem.cell) for problem in found.errors] == [(code, file, cell)]
    assert found.errors[0].fix


def test_spot_at_the_price_of_on_demand_is_flagged(tmp_path: Path) -> None:
    found = write(tmp_path, {("offers.csv", 1, "used_usd_per_node_h"): "32"})
    assert found.errors == []
    assert [(problem.code, problem.cell) for problem in found.warnings] == [("SPOT_OVER_ON_DEMAND", "D3")]


def test_a_name_spelled_differently_is_the_same_key(tmp_path: Path) -> None:
    twin = {**SOUND["goodput.csv"][0], "model": "m_1", "gpu": "H100-SXM"}
    found = write(tmp_path, {}, {"goodput.csv": twin})
    assert [(problem.code, problem.cell) for problem in found.errors] == [("DUPLICATE_KEY", "A3")]


def test_an_alias_to_nowhere_is_found(tmp_path: Path) -> None:
    found = write(tmp_path, {("aliases.csv", 0, "name"): "H300"})
    assert [problem.code for problem in found.errors] == ["UNKNOWN_NAME"]
    assert (found.errors[0].file or "").endswith("aliases.csv")


def test_the_ceiling_forgives_two_percent_and_no_more(tmp_path: Path) -> None:
    ceiling = 32 * 1000 / 32.8
    inside = write(tmp_path, {("goodput.csv", 0, "output_tps"): str(ceiling * 1.0199), ("goodput.csv", 0, "ttft_ms"): "0.001"})
    assert inside.errors == []
    outside = write(tmp_path, {("goodput.csv", 0, "output_tps"): str(ceiling * 1.0201)})
    assert [problem.code for problem in outside.errors] == ["GOODPUT_OVER_CEILING"]


def test_a_folder_that_is_not_there_is_one_error(tmp_path: Path) -> None:
    assert [problem.code for problem in check_catalogs(tmp_path / "nowhere").errors] == ["CATALOGS_NOT_FOUND"]
