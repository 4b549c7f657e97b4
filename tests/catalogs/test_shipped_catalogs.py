"""The shipped catalogs: sound, dated, and as wide as they promise to be."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from pathlib import Path

import pytest

from optimizer.domain.hours import parse_hours
from optimizer.domain.names import join_key
from optimizer.workbook.catalog_checks import check_catalogs
from optimizer.workbook.schema import TABLES

FOLDER = Path(__file__).resolve().parents[2] / "catalogs"
EXTRA = {"note", "label", "instance", "gpu_tdp_w", "nodes_per_rack_typical", "kv_kind", "kv_cache", "layers"}
FILES = ("node_types.csv", "models.csv", "goodput.csv", "offers.csv", "api_prices.csv", "sites.csv")


def rows_of(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_the_check_finds_nothing() -> None:
    found = check_catalogs(FOLDER)
    assert [problem.sentence() for problem in [*found.errors, *found.warnings]] == []


@pytest.mark.parametrize("name", FILES)
def test_columns_are_keys_of_the_schema_and_every_row_is_dated(name: str) -> None:
    table = next(table for table in TABLES if table.catalog == name)
    rows = rows_of(name)
    known = {column.key for column in table.columns}
    assert {column.key for column in table.required} <= set(rows[0])
    assert set(rows[0]) - known <= EXTRA
    for row in rows:
        assert row["source"].strip()
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", row["as_of"]), row
        assert None not in row and not any(value != value.strip() for value in row.values())


@pytest.mark.parametrize("name", FILES)
def test_nothing_marked_suspect_or_unfinished_is_in(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert not re.search(r"SUSPECT|\bWIP\b|wip=True|Offline|saturation", text)


def test_node_types_cover_the_generations() -> None:
    gpus = {row["gpu"] for row in rows_of("node_types.csv")}
    assert gpus >= {
        "A100 SXM 40GB", "A100 SXM 80GB", "L4", "L40S", "H100 SXM", "H100 NVL", "H200 SXM", "B200 SXM", "B300 SXM", "GB200 NVL72",
        "GB300 NVL72", "RTX PRO 6000", "MI300X", "MI325X", "MI355X",
    }


def test_usable_memory_is_bytes_over_a_billion() -> None:
    memory = {row["node_type"]: float(row["gpu_memory_gb"]) for row in rows_of("node_types.csv")}
    assert memory["h100-sxm-x8"] == pytest.approx(85.9, abs=0.01)
    assert memory["h200-sxm-x8"] == pytest.approx(151.4, abs=0.01)
    assert memory["b200-sxm-x8"] == pytest.approx(192.3, abs=0.05)
    assert memory["b300-sxm-x8"] == pytest.approx(288.4, abs=0.01)


def test_models_are_many_and_state_what_memory_needs() -> None:
    rows = rows_of("models.csv")
    assert len({row["model"] for row in rows}) >= 25
    for row in rows:
        assert row["weights_gb"] or (row["total_params_b"] and row["bytes_per_param"])
        assert row["kv_bytes_per_token"] and row["context_tokens"] and row["layers"] and row["attention_heads"]
        assert row["kv_heads"] if row["attention"] == "gqa" else row["attention"] == "mla"


def test_goodput_is_whole_measured_sweeps_of_many_models_and_gpus() -> None:
    rows = rows_of("goodput.csv")
    assert len({row["model"] for row in rows}) >= 8
    assert len({row["gpu"] for row in rows}) >= 6
    sweeps: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in rows:
        assert row["kind"] == "measured" and row["latency_stat"] == "unknown"
        assert all(row[part] for part in ("ttft_ms", "tpot_ms", "input_tokens", "output_tokens", "engine", "config"))
        assert int(row["gpus_per_replica"]) % int(row["tp"]) == 0
        key = ("model", "precision", "gpu", "gpus_per_replica", "engine", "config", "input_tokens", "output_tokens")
        sweeps[tuple(row[part] for part in key)].append(float(row["concurrency"]))
    assert min(len(points) for points in sweeps.values()) >= 3
    assert all(len(points) == len(set(points)) for points in sweeps.values())


def test_measured_points_fit_in_memory_by_the_catalogs_own_figures() -> None:
    models = {(row["model"], row["precision"]): row for row in rows_of("models.csv")}
    memory = {row["gpu"]: float(row["gpu_memory_gb"]) for row in rows_of("node_types.csv")}
    for row in rows_of("goodput.csv"):
        model = models[row["model"], row["precision"]]
        weights = float(model["weights_gb"] or float(model["total_params_b"]) * float(model["bytes_per_param"]))
        tp = int(row["tp"])
        copies = tp if model["attention"] == "mla" else max(1.0, tp / int(model["kv_heads"]))
        tokens = float(row["input_tokens"]) + float(row["output_tokens"])
        each = float(model["kv_bytes_per_token"]) * tokens / 1e9 * copies + float(model["state_gb_per_seq"])
        assert int(row["gpus_per_replica"]) * memory[row["gpu"]] * 0.9 - weights >= float(row["concurrency"]) * each, row
        assert int(model["attention_heads"]) % tp == 0, row


def test_offers_sell_whole_instances_under_stable_names() -> None:
    rows = rows_of("offers.csv")
    assert {row["purchase"] for row in rows} >= {"owned", "reserved", "on_demand", "spot"}
    for row in rows:
        assert re.fullmatch(r"[a-z0-9_\-]+", row["offer"])
        assert row["offer"].rsplit("-", 1)[1] == row["purchase"] or f"-{row['purchase']}-" in row["offer"]
        assert row["provider"]
        if row["purchase"] in ("on_demand", "spot"):
            assert float(row["used_usd_per_node_h"]) > 0 and not row["upfront_usd_per_node"]
        if row["upfront_usd_per_node"]:
            assert row["term_months"]
        assert bool(row["site"]) == (row["purchase"] == "owned")


def test_api_prices_come_from_several_providers_with_windows_that_cover_a_day() -> None:
    rows = rows_of("api_prices.csv")
    assert len({row["provider"] for row in rows}) >= 5
    assert any(row["cached_input_usd_per_mtok"] for row in rows) and any(row["max_rpm"] for row in rows)
    windows: dict[tuple[str, str], list[frozenset[int]]] = defaultdict(list)
    for row in rows:
        if row["hours"]:
            windows[row["model"], row["provider"]].append(parse_hours(row["hours"], 0))
    assert windows
    for parts in windows.values():
        assert sum(len(part) for part in parts) == 24 and frozenset().union(*parts) == frozenset(range(24))


def test_aliases_are_unambiguous_and_lead_somewhere() -> None:
    rows = rows_of("aliases.csv")
    known = {
        "model": {join_key(row["model"]) for row in rows_of("models.csv")},
        "gpu": {join_key(row["gpu"]) for row in rows_of("node_types.csv")},
    }
    keys = [(row["kind"], join_key(row["alias"])) for row in rows]
    assert len(keys) == len(set(keys))
    for row in rows:
        assert join_key(row["name"]) in known[row["kind"]]
        assert join_key(row["alias"]) not in known[row["kind"]]
