"""`fleetsheet template`: a workbook to fill in, written whole or not at all, and what a newcomer does next."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import openpyxl
import pytest

from optimizer.errors import ExitCode
from tests.cli.running import invoke, invoke_json, program


def filled(path: Path) -> Path:
    """The form with a unit and 24 figures, as a person leaves it: 2,000 tok/s at midnight, 100 more each hour."""
    book = openpyxl.load_workbook(path)
    sheet = book["Demand"]
    rows = {str(sheet.cell(row, 1).value): row for row in range(1, sheet.max_row + 1)}
    sheet.cell(rows["Unit"], 2).value = "tok/s"
    for hour in range(24):
        sheet.cell(rows["Hour"] + 1 + hour, 2).value = 2000 + 100 * hour
    book.save(path)
    return path


def test_a_filled_form_is_checked_and_planned(tmp_path: Path) -> None:
    form = tmp_path / "forecast.xlsx"
    made = invoke("template", "-o", form)
    assert (made.exit_code, made.stdout) == (0, "")
    assert f"fleetsheet check {form}" in made.stderr
    filled(form)
    (workload,) = invoke_json("check", form)["workloads"]
    assert workload["unit"] == "tok/s"
    assert workload["demand_tps"] == {"day": [2000.0 + 100 * hour for hour in range(24)]}
    shape = ("--input-tokens", "1024", "--output-tokens", "1024", "--ttft-ms", "1000", "--tpot-ms", "30")
    plan = invoke_json("plan", form, "--model", "MiniMax-M2.5", *shape, "--no-baselines")
    assert plan["status"] == "optimal" and plan["audit"]["ok"]
    assert plan["output_mtok_per_day"] == pytest.approx(24 * 3150 * 3600 / 1e6)


def test_an_empty_form_is_refused(tmp_path: Path) -> None:
    form = tmp_path / "forecast.xlsx"
    invoke("template", "-o", form)
    assert invoke_json("check", form, code=ExitCode.REFUSED)["errors"]


def test_the_example_is_understood_without_options(tmp_path: Path) -> None:
    example = tmp_path / "my example.xlsx"
    made = invoke("template", "--example", "-o", example)
    assert f"fleetsheet plan '{example}' -o plan.xlsx" in made.stderr
    document = invoke_json("check", example)
    assert document["workloads"] and document["errors"] == []


def test_an_existing_file_is_kept(tmp_path: Path) -> None:
    form = tmp_path / "forecast.xlsx"
    form.write_bytes(b"my figures")
    result = invoke("template", "-o", form)
    assert result.exit_code == ExitCode.CANNOT_WRITE
    assert "--force" in result.stderr
    assert form.read_bytes() == b"my figures"
    assert invoke("template", "-o", form, "--force").exit_code == 0
    assert form.read_bytes().startswith(b"PK")


@pytest.mark.parametrize("name", ["missing/forecast.xlsx", ".", "forecast.csv", "forecast", "n" * 300 + ".xlsx"])
def test_places_where_no_workbook_can_be(name: str, tmp_path: Path) -> None:
    result = invoke("template", "-o", tmp_path / name, "--force")
    assert (result.exit_code, result.stdout) == (ExitCode.CANNOT_WRITE, "")
    assert result.stderr.startswith("error: ")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_replaced_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    form = tmp_path / "forecast.xlsx"
    form.write_bytes(b"my figures")

    def held_open(*_: Any) -> NoReturn:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", held_open)
    result = invoke("template", "-o", form, "--force")
    assert result.exit_code == ExitCode.CANNOT_WRITE
    assert form.read_bytes() == b"my figures"
    assert [path.name for path in tmp_path.iterdir()] == ["forecast.xlsx"]


def test_it_runs_as_a_program(tmp_path: Path) -> None:
    done = program("template", "-o", "forecast.xlsx", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "forecast.xlsx").exists()
