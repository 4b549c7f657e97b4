"""`fleetsheet check`: what was understood of a forecast, in words and as JSON, and every doubt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from optimizer.errors import ExitCode
from tests.cli.running import invoke, invoke_json, program, write_small
from tests.helpers.casebook import write_casebook
from tests.helpers.tables import small_tables

NO_CATALOGS = ("--catalogs", "none")
KEYS = ["status", "workloads", "warnings", "errors"]
WORKLOAD = ["workload", "unit", "demand_tps", "peak_tps", "mean_tps", "peak_to_mean"]
PROBLEM = {"code", "file", "sheet", "cell", "message", "fix"}


def bare(path: Path, header: str = "Output tok/s") -> Path:
    """24 hours and nothing else: 1,000 tok/s, and 25,000 at noon, which makes a mean of 2,000."""
    rows = [{"hour": hour, header: 25_000 if hour == 12 else 1_000} for hour in range(24)]
    return write_casebook(path, {"Demand": rows})


def test_keys_and_figures_of_a_bare_forecast_without_a_model(tmp_path: Path) -> None:
    document = invoke_json("check", bare(tmp_path / "bare.xlsx"))
    assert list(document) == KEYS
    assert (document["status"], document["warnings"], document["errors"]) == ("ok", [], [])
    (workload,) = document["workloads"]
    assert list(workload) == WORKLOAD
    assert workload["demand_tps"] == {"day": [1000.0] * 12 + [25_000.0] + [1000.0] * 11}
    assert (workload["peak_tps"], workload["mean_tps"], workload["peak_to_mean"]) == (25_000, 2_000, 12.5)
    assert workload["unit"] == "tok/s"


def test_keys_of_a_refusal(tmp_path: Path) -> None:
    document = invoke_json("check", bare(tmp_path / "bare.xlsx", "Demand"), code=ExitCode.REFUSED)
    assert list(document) == KEYS
    assert (document["status"], document["workloads"]) == ("refused", [])
    assert [set(error) for error in document["errors"]] == [PROBLEM]
    assert document["errors"][0]["code"] == "UNIT_MISSING"


def test_the_fix_that_a_refusal_names_settles_it(tmp_path: Path) -> None:
    path = bare(tmp_path / "bare.xlsx", "Demand")
    (workload,) = invoke_json("check", path, "--unit", "M tok/h")["workloads"]
    assert workload["peak_tps"] == pytest.approx(25_000 * 1e6 / 3600)


def test_words(tmp_path: Path) -> None:
    result = invoke("check", bare(tmp_path / "bare.xlsx"))
    assert result.exit_code == 0
    assert result.stdout.startswith("demand: peak 25,000 tok/s at 12:00, mean 2,000 tok/s, peak-to-mean 12.5")
    assert "Demand!B2:B25" in result.stdout
    assert result.stderr == ""


def test_one_object_on_stdout(tmp_path: Path) -> None:
    path = write_small(tmp_path / "small.xlsx")
    done = program("check", path.name, *NO_CATALOGS, "--json", cwd=tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["status"] == "ok"
    assert {each.name for each in tmp_path.iterdir()} == {"small.xlsx"}


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-8"])
def test_any_encoding_of_the_terminal(encoding: str, tmp_path: Path) -> None:
    """The sketch of the day has blocks that few encodings hold; names in JSON must survive all the same."""
    tables = small_tables()
    for row in (*tables["Demand"], *tables["Workloads"]):
        row["workload"] = "größe → ∞"
    path = write_casebook(tmp_path / "names.xlsx", tables)
    around = {"PYTHONIOENCODING": encoding}
    words = program("check", path.name, *NO_CATALOGS, cwd=tmp_path, env=around, shell="exec 2>&1 >/dev/null")
    assert (words.returncode, words.stdout) == (0, "")
    as_json = program("check", path.name, *NO_CATALOGS, "--json", cwd=tmp_path, env=around)
    assert as_json.returncode == 0
    assert json.loads(as_json.stdout)["workloads"][0]["workload"] == "größe → ∞"


def test_what_plan_would_refuse_for_want_of_a_measurement_is_refused_here(tmp_path: Path) -> None:
    tables = small_tables()
    tables["Goodput"][0].update(input_tokens=1000, output_tokens=500)
    path = write_casebook(tmp_path / "shapeless.xlsx", tables)
    document = invoke_json("check", path, *NO_CATALOGS, code=ExitCode.REFUSED)
    assert [error["code"] for error in document["errors"]] == ["SHAPE_MISSING"]
    assert document["workloads"][0]["peak_tps"] == 9000
    planned = invoke_json("plan", path, *NO_CATALOGS, code=ExitCode.REFUSED)
    assert planned["errors"] == document["errors"]


def test_numbers_are_never_guessed(tmp_path: Path) -> None:
    rows = [{"hour": hour, "Output tok/s": "12.8k" if hour == 3 else 1_000} for hour in range(24)]
    path = write_casebook(tmp_path / "typed.xlsx", {"Demand": rows})
    (error,) = invoke_json("check", path, code=ExitCode.REFUSED)["errors"]
    assert (error["sheet"], error["cell"]) == ("Demand", "B5")
    assert error["file"] == str(path)
