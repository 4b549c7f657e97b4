"""`fleetsheet catalog`: tables, fits, ages, checks and imports as a person or a program calls them."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from optimizer.cli.main import main

SHIPPED = Path(__file__).resolve().parents[2] / "catalogs"
TODAY = "2026-11-29"
TABLES = ("node_types", "models", "goodput", "offers", "api_prices", "sites")


def run(*words: str) -> Result:
    result = CliRunner().invoke(main, ["catalog", *words])
    assert "Traceback" not in result.output
    assert "a fault of fleetsheet" not in result.output
    return result


def run_json(*words: str, code: int = 0) -> dict[str, Any]:
    result = run(*words, "--json")
    assert result.exit_code == code, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    assert document["status"] == ("refused" if code == 3 else "ok")
    assert bool(document["errors"]) == (code == 3)
    assert isinstance(document["warnings"], list)
    return document


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the shipped catalogs, to be broken; of the measurements only the first."""
    copy = Path(shutil.copytree(SHIPPED, tmp_path / "mine"))
    rows = (copy / "goodput.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (copy / "goodput.csv").write_text("".join(rows[:30]), encoding="utf-8")
    return copy


def change(folder: Path, file: str, row: int, column: str, value: str) -> None:
    """Set a cell; row as in the file (2 = first under the header)."""
    with (folder / file).open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    rows[row - 2][column] = value
    with (folder / file).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def small(folder: Path) -> str:
    """Catalogs of one 70B model at two precisions and of two 80 GB GPUs (10^9 bytes each)."""
    folder.mkdir()
    dated = "vendor,2026-11-01\n"
    (folder / "node_types.csv").write_text(
        f"node_type,gpu,gpus_per_node,gpu_memory_gb,source,as_of\n80gx2,80G,2,80,{dated}", encoding="utf-8"
    )
    (folder / "models.csv").write_text(
        f"model,precision,weights_gb,kv_gb_per_seq,source,as_of\n70b,int8,70,1.6,{dated}70b,fp16,140,1.6,{dated}",
        encoding="utf-8",
    )
    return str(folder)


# check


def test_the_shipped_catalogs_pass_and_old_prices_are_only_warnings() -> None:
    old = run_json("check", "--today", "2028-01-01")
    assert (old["status"], old["errors"]) == ("ok", [])
    assert {problem["code"] for problem in old["warnings"]} == {"PRICE_STALE"}
    assert len(old["warnings"]) == len(run_json("prices")["prices"])
    assert run("check", "--today", TODAY, "--stale-days", "400").stdout == "No problem found.\n"


def test_a_finding_names_file_row_and_column(folder: Path) -> None:
    change(folder, "offers.csv", 4, "node_type", "h300-x8")
    found = run_json("check", "--catalogs", str(folder), "--today", TODAY, code=3)
    (problem,) = found["errors"]
    assert (problem["code"], problem["row"], problem["column"], problem["sheet"]) == ("UNKNOWN_NAME", 4, "node_type", "Offers")
    assert problem["file"].endswith("offers.csv")
    spoken = run("check", "--catalogs", str(folder), "--today", TODAY)
    assert spoken.exit_code == 3
    assert "offers.csv row 4, column node_type: h300-x8 is not in NodeTypes." in spoken.stderr
    assert spoken.stdout.startswith("1 error")


@pytest.mark.parametrize(
    ("file", "row", "column", "value", "code"),
    [
        ("node_types.csv", 12, "gpu_tdp_w", "lots", "NOT_A_NUMBER"),
        ("node_types.csv", 12, "replica_span_gpus", "4", "SPAN_UNDER_NODE"),
        ("node_types.csv", 12, "node_kw", "5", "NODE_KW_UNDER_GPUS"),
        ("models.csv", 2, "weights_gb", "100", "WEIGHTS_OFF"),
        ("models.csv", 2, "kv_bytes_per_token", "", "KV_MISSING"),
        ("goodput.csv", 2, "output_tps", "5000", "GOODPUT_OVER_CEILING"),
        ("goodput.csv", 2, "output_tps", "10", "GOODPUT_OFF_LATENCY"),
        ("goodput.csv", 2, "gpu", "H300", "UNKNOWN_NAME"),
        ("offers.csv", 2, "used_usd_per_node_h", "cheap", "NOT_A_NUMBER"),
        ("offers.csv", 3, "offer", "aws-a100-40x8-us-east-1-on_demand", "DUPLICATE_KEY"),
        ("api_prices.csv", 2, "source", "", "MISSING_SOURCE"),
        ("api_prices.csv", 2, "as_of", "", "MISSING_DATE"),
        ("sites.csv", 2, "pue", "", "PUE_MISSING"),
    ],
)
def test_a_broken_row_is_an_error(folder: Path, file: str, row: int, column: str, value: str, code: str) -> None:
    change(folder, file, row, column, value)
    found = run_json("check", "--catalogs", str(folder), "--today", TODAY, code=3)
    assert code in {problem["code"] for problem in found["errors"]}


def test_on_demand_below_spot_is_a_warning(folder: Path) -> None:
    change(folder, "offers.csv", 8, "used_usd_per_node_h", "99")
    found = run_json("check", "--catalogs", str(folder), "--today", TODAY, "--stale-days", "400")
    assert [(problem["code"], problem["row"]) for problem in found["warnings"]] == [("SPOT_OVER_ON_DEMAND", 8)]


@pytest.mark.parametrize("file", [f"{name}.csv" for name in TABLES])
@pytest.mark.parametrize("junk", ["x;y", "-1", "nan", "2026-13-45", "9" * 400])
def test_no_cell_makes_it_fall_over(folder: Path, file: str, junk: str) -> None:
    with (folder / file).open(newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))
    rows[1] = [junk] * len(rows[0])
    with (folder / file).open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(rows[:40])
    assert run_json("check", "--catalogs", str(folder), "--today", TODAY, code=3)["errors"]
    assert run("fit", "GLM-5.3", "--catalogs", str(folder)).exit_code in (0, 3)
    assert run("prices", "--catalogs", str(folder)).exit_code in (0, 3)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    empty = run_json("check", "--catalogs", str(tmp_path), code=3)
    assert [problem["code"] for problem in empty["errors"]] == ["CATALOGS_NOT_FOUND"]
    assert run("list", "offers", "--catalogs", str(tmp_path / "nowhere")).exit_code == 3
    assert run("list", "offers", "--catalogs", "none").exit_code == 2


# list


@pytest.mark.parametrize("table", TABLES)
def test_every_catalog_can_be_listed(table: str) -> None:
    document = run_json("list", table)
    assert document["rows"]
    shown = run("list", table)
    assert shown.exit_code == 0
    assert shown.stdout.splitlines()[-1] == f"{len(document['rows'])} rows of catalogs/{table}.csv"


def test_offers_of_a_gpu_show_price_per_gpu_hour() -> None:
    found = run_json("list", "offers", "--gpu", "H200")
    assert {row["node_type"] for row in found["rows"]} == {"h200-sxm-x8"}
    assert all(isinstance(row["used_usd_per_node_h"], (float, type(None))) for row in found["rows"])
    lines = run("list", "offers", "--gpu", "H200", "--provider", "nebius").stdout.splitlines()
    assert lines[0].split()[-1] == "$/GPU-h"
    assert lines[1].split()[-1] == "5.400"
    assert lines[0].index("as_of") == lines[1].index("2026-10-24")


@pytest.mark.parametrize(
    ("words", "key", "values"),
    [
        (("goodput", "--model", "minimax m2.5", "--gpu", "b300"), "gpu", {"B300 SXM"}),
        (("api_prices", "--model", "zai-org/GLM-5"), "model", {"GLM-5"}),
        (("ApiPrices", "--provider", "novita"), "provider", {"Novita"}),
        (("node-types", "--gpu", "A100 80GB"), "gpu", {"A100 SXM 80GB", "A100 PCIe 80GB"}),
        (("offer", "--region", "US-EAST-1"), "region", {"us-east-1"}),
        (("models.csv", "--model", "llama"), "model", None),
    ],
)
def test_filters_find_names_as_people_write_them(words: tuple[str, ...], key: str, values: set[str] | None) -> None:
    found = {row[key] for row in run_json("list", *words)["rows"]}
    assert found == values if values is not None else len(found) >= 3


def test_what_is_not_there_is_said_with_a_suggestion() -> None:
    table = run("list", "ofers")
    assert table.exit_code == 2
    assert "Did you mean offers?" in table.stderr
    senseless = run("list", "sites", "--gpu", "H200")
    assert senseless.exit_code == 2
    assert "sites cannot be filtered by gpu" in senseless.stderr
    gpu = run("list", "offers", "--gpu", "H20O SXM")
    assert gpu.exit_code == 3
    assert "Did you mean 'H200 SXM'?" in gpu.stderr
    model = run("fit", "GLM-5.33")
    assert model.exit_code == 3
    assert "Did you mean 'GLM-5.3'?" in model.stderr
    assert [problem["code"] for problem in run_json("fit", "nothing-like-it", code=3)["errors"]] == ["UNKNOWN_NAME"]
    assert run("fit", "GLM-5.3", "--precision", "int3").exit_code == 3


# fit


def test_a_70b_on_two_gpus_of_80_gb(tmp_path: Path) -> None:
    rows = {
        (row["precision"], row["gpus_per_replica"]): row
        for row in run_json("fit", "70B", "--catalogs", small(tmp_path / "small"))["rows"]
    }
    eight, sixteen = rows["int8", 2], rows["fp16", 2]
    assert eight["room_gb"] == pytest.approx(74)
    assert eight["sequences_left"] == 46
    assert sixteen["room_gb"] == pytest.approx(4)
    assert sixteen["sequences_left"] == 2
    assert rows["fp16", 1]["code"] == "WEIGHTS_DO_NOT_FIT"
    asked = run_json("fit", "70b", "--sequences", "46", "--catalogs", str(tmp_path / "small"))["rows"]
    assert [row["code"] for row in asked] == ["SEQUENCES_DO_NOT_FIT", "", "WEIGHTS_DO_NOT_FIT", "SEQUENCES_DO_NOT_FIT"]
    text = run("fit", "70b", "--precision", "int8", "--catalogs", str(tmp_path / "small")).stdout
    assert "80gx2" in text and "74.0" in text and "46" in text


@pytest.mark.parametrize(
    ("weights", "gpu", "span", "alone", "size"),
    [("760", "H200", "8", 6, 8), ("760", "B300", "8", 3, 4), ("1619", "B300", "8", 7, 8), ("1619", "H200", "16", 12, 16)],
)
def test_weights_alone_of_large_sparse_models(weights: str, gpu: str, span: str, alone: int, size: int) -> None:
    found = run_json("fit", "GLM-5.3 or Kimi K3", "--weights-gb", weights, "--gpu", gpu, "--span-gpus", span)
    (smallest,) = found["smallest"]
    assert (smallest["gpus_for_weights"], smallest["gpus_per_replica"]) == (alone, size)


@pytest.mark.parametrize(("gpu", "alone", "size"), [("H200", 6, 8), ("B300", 3, 4)])
def test_the_catalogs_own_glm_needs_as_many(gpu: str, alone: int, size: int) -> None:
    found = run_json("fit", "zai-org/GLM-5.3-FP8", "--precision", "FP8", "--gpu", gpu)
    (smallest,) = found["smallest"]
    assert (smallest["gpus_for_weights"], smallest["gpus_per_replica_weights"]) == (alone, size)


def test_every_rejected_size_has_its_reason() -> None:
    rows = run_json("fit", "DeepSeek-R1", "--context", "9216", "--sequences", "64")["rows"]
    assert any(row["fits"] for row in rows)
    rejected = [row for row in rows if not row["fits"]]
    assert rejected
    assert all(row["code"] and row["reason"] for row in rejected)
    assert run("fit", "DeepSeek-R1", "--kv-gb-per-seq", "1").exit_code == 2
    assert run("fit", "x", "--weights-gb", "1", "--context", "1").exit_code == 2
    for number in ("nan", "inf", "0", "-1"):
        assert run("fit", "DeepSeek-R1", "--sequences", number).exit_code == 2


# prices, columns


def test_prices_are_listed_oldest_first_with_their_age() -> None:
    found = run_json("prices", "--today", TODAY)
    days = [price["days"] for price in found["prices"]]
    assert days == sorted(days, reverse=True)
    assert len(days) == len(run_json("list", "offers")["rows"]) + len(run_json("list", "api_prices")["rows"])
    oldest = found["prices"][0]
    assert (oldest["as_of"], oldest["days"], oldest["stale"]) == ("2026-05-08", 205, True)
    lines = run("prices", "--today", TODAY, "--stale-days", "300").stdout.splitlines()
    assert lines[-1] == f"{len(days)} prices, 0 of them older than 300 days"


def test_columns_document_every_column_with_unit_and_default() -> None:
    page = run("columns").stdout
    assert "| **gpu_memory_gb** |" in page and "| GB |" in page and "0-24" in page
    tables = {table["sheet"]: table for table in run_json("columns")["tables"]}
    offers = {column["key"]: column for column in tables["Offers"]["columns"]}
    assert offers["used_usd_per_node_h"]["unit"] == "$/node-h"
    assert offers["lot_nodes"]["default"] == "1"
    for table in tables.values():
        for column in table["columns"]:
            assert f"| {column['key']} " in page or f"| **{column['key']}**" in page


# import

SKY = (
    "InstanceType,AcceleratorName,AcceleratorCount,Price,SpotPrice,Region,AvailabilityZone\n"
    "p5.48xlarge,H100,8,60,30,us-east-9,z1\n"
    "p5.48xlarge,H100,8,60,34,us-east-9,z2\n"
    "gpu_8x_h100,H100,8,24,,us-east-9,z1\n"
)


def test_imported_api_prices_are_rows_of_the_catalog(tmp_path: Path) -> None:
    target = tmp_path / "api.csv"
    done = run("import", "genai-prices", "-o", str(target), "--today", TODAY)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ""
    assert "left out, models that the catalogs do not have:" in done.stderr
    with target.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) > 20
    assert all(row["source"].startswith("genai-prices ") and row["as_of"] for row in rows)
    again = run("import", "genai-prices", "-o", str(target), "--today", TODAY)
    assert again.exit_code == 6
    assert "exists already" in again.stderr
    assert run("import", "genai-prices", "-o", str(target), "--today", TODAY, "--force").exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["api.csv"]
    catalogs = shutil.copytree(SHIPPED, tmp_path / "mine")
    shutil.copy(target, catalogs / "api_prices.csv")
    assert run_json("check", "--catalogs", str(catalogs), "--today", TODAY)["errors"] == []


def test_imported_offers_go_to_stdout_and_pass_the_checks(tmp_path: Path) -> None:
    source = tmp_path / "vms.csv"
    source.write_text(SKY, encoding="utf-8")
    words = ("import", "skypilot", str(source), "--provider", "aws", "--as-of", "2026-11-20", "--today", TODAY)
    done = run(*words)
    assert done.exit_code == 0, done.stderr
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [(row["offer"], row["used_usd_per_node_h"], row["provider"]) for row in rows] == [
        ("aws-p5.48xlarge-us-east-9-on_demand", "60", "AWS"),
        ("aws-p5.48xlarge-us-east-9-spot", "32", "AWS"),
    ]
    assert "form factor not stated" in done.stderr and "gpu_8x_h100" in done.stderr
    mapped = run_json(*words, "--map", "H100=H100 SXM")
    assert len(mapped["rows"]) == 3 and mapped["left_out"] == []
    assert run(*words, "--map", "H100").exit_code == 3
    assert run(*words, "--gpu", "H999").exit_code == 3
    assert run("import", "skypilot", str(source)).exit_code == 2


def test_an_import_that_fails_its_checks_writes_nothing(tmp_path: Path) -> None:
    source, target = tmp_path / "vms.csv", tmp_path / "offers.csv"
    asked = ("import", "skypilot", str(source), "--provider", "aws", "--as-of", "2026-11-20", "--today", TODAY)
    source.write_text(SKY.replace(",30,", ",90,").replace(",34,", ",90,"), encoding="utf-8")
    warned = run_json(*asked, "-o", str(target))
    assert [problem["code"] for problem in warned["warnings"]] == ["SPOT_OVER_ON_DEMAND"]
    target.unlink()
    source.write_text(SKY + "p5.48xlarge,H100,8,sixty,,us-east-9,z3\n", encoding="utf-8")
    refused = run_json(*asked, "-o", str(target), code=3)
    assert [problem["code"] for problem in refused["errors"]] == ["NOT_A_NUMBER"]
    source.write_text(SKY.replace("p5.48xlarge", "p5.48;xlarge"), encoding="utf-8")
    assert run_json(*asked, "-o", str(target))["rows"][0]["offer"] == "aws-p5.48-xlarge-us-east-9-on_demand"
    target.unlink()
    source.write_text(SKY.replace(",60,", "," + "9" * 309 + ","), encoding="utf-8")
    assert run(*asked, "-o", str(target)).exit_code == 3
    assert not target.exists()


def test_gpuhunt_by_path(tmp_path: Path) -> None:
    source = tmp_path / "nebius.csv"
    source.write_text(
        "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size\n"
        "gpu-h200-sxm 8gpu,eu-north9,28.0,128,1600,8,H200,141.0,False,\n",
        encoding="utf-8",
    )
    found = run_json("import", "gpuhunt", str(source), "--provider", "Nebius", "--as-of", "2026-11-20", "--today", TODAY)
    assert [row["node_type"] for row in found["rows"]] == ["h200-sxm-x8"]
    assert found["errors"] == []
