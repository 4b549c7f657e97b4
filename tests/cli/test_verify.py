"""`fleetsheet verify`: a sound plan agrees, an edited one is told with its cells, a solver that contradicts it is a fault."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import optimizer.report.verify as room
from optimizer.plan.plan import SolveOutcome, SolverInfo
from optimizer.report.plan_book import plan_workbook_bytes
from tests.cli.running import invoke, invoke_json, write_small
from tests.report import plans

KEYS = [
    "status", "file", "version", "formulas", "differences", "audit", "cost_usd_per_day", "solved", "notes", "errors",
]  # fmt: skip


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plan")
    path = folder / "plan.xlsx"
    done = invoke("plan", write_small(folder / "forecast.xlsx"), "-o", path, "--no-baselines")
    assert done.exit_code == 0, done.output
    return path


@pytest.fixture
def without_libreoffice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "has_libreoffice", lambda: False)


def edited(plan: Path, folder: Path, sheet: str, change: Callable[[str], str]) -> Path:
    """A copy whose sheet was changed in its XML; what formulas showed stays stored, as other programs than Excel leave it."""
    number = openpyxl.load_workbook(plan, read_only=True).sheetnames.index(sheet) + 1
    part, target = f"xl/worksheets/sheet{number}.xml", folder / "edited.xlsx"
    with zipfile.ZipFile(plan) as source, zipfile.ZipFile(target, "w") as copy:
        for name in source.namelist():
            data = source.read(name)
            if name == part:
                text = data.decode()
                data = change(text).encode()
                assert data.decode() != text
            copy.writestr(name, data)
    return target


def holding(cell: str, value: float) -> Callable[[str], str]:
    """Puts a number into a cell, over a number or over a formula."""
    return lambda text: re.sub(rf'(<c r="{cell}"[^>]*>).*?</c>', rf"\g<1><v>{value}</v></c>", text, count=1)


def found_cells(document: dict[str, Any]) -> list[str]:
    return [f"{row['sheet']}!{row['cell']}" for row in document["differences"]]


def cell_under(plan: Path, sheet: str, header: str, row: int, header_row: int = 5) -> str:
    """Address of a cell in the column of a header."""
    page = openpyxl.load_workbook(plan)[sheet]
    return next(f"{cell.column_letter}{row}" for cell in page[header_row] if cell.value == header)


@pytest.mark.libreoffice
def test_a_plan_agrees_with_libreoffice_and_with_solving_again(plan: Path) -> None:
    document = invoke_json("verify", plan)
    assert list(document) == KEYS
    assert document["status"] == "agrees" and document["differences"] == [] and document["notes"] == []
    assert document["formulas"]["recomputed_by"] == "LibreOffice" and document["formulas"]["count"] > 1000
    assert document["audit"] == {"ok": True, "violations": []}
    assert document["cost_usd_per_day"]["found"] == pytest.approx(document["cost_usd_per_day"]["stored"], rel=1e-9)
    assert document["solved"]["cost_usd_per_day"] == pytest.approx(document["cost_usd_per_day"]["stored"], rel=1e-6)


@pytest.mark.libreoffice
def test_a_stored_value_that_its_formula_does_not_give_is_found(plan: Path, tmp_path: Path) -> None:
    row = next(
        number for number, cells in enumerate(openpyxl.load_workbook(plan)["Summary"].iter_rows(max_col=1), 1)
        if cells[0].value == "Cost"
    )  # fmt: skip
    wrong = lambda text: re.sub(rf'(<c r="B{row}"[^>]*><f>[^<]*</f>)<v>[^<]*</v>', r"\1<v>1</v>", text)  # noqa: E731
    document = invoke_json("verify", edited(plan, tmp_path, "Summary", wrong), "--no-solve", code=3)
    assert found_cells(document) == [f"Summary!B{row}"]
    assert document["differences"][0]["stored"] == "1" and document["solved"] is None


def test_without_libreoffice_the_plan_is_still_worked_out_anew(plan: Path, without_libreoffice: None) -> None:
    done = invoke("verify", plan)
    assert done.exit_code == 0, done.output
    assert "not recomputed" in done.stdout and "LibreOffice is not installed" in done.stdout
    assert "meets every limit" in done.stdout and "Solved again" in done.stdout


@pytest.mark.parametrize("name", ["seed1", "api_alone", "deferred", "discounted", "auto"])
def test_plans_of_every_kind_agree(name: str, tmp_path: Path, without_libreoffice: None) -> None:
    """A plan workbook is planned again from itself, and the new one verified."""
    source, target = tmp_path / "source.xlsx", tmp_path / "plan.xlsx"
    source.write_bytes(plan_workbook_bytes(plans.RESULTS[name]()))
    again = invoke_json("plan", source, "-o", target, "--no-baselines")
    document = invoke_json("verify", target, "--no-solve")
    assert document["status"] == "agrees"
    assert document["cost_usd_per_day"]["found"] == pytest.approx(again["cost_usd_per_day"], rel=1e-9)


def test_replicas_taken_away_break_limits(plan: Path, tmp_path: Path, without_libreoffice: None) -> None:
    path = edited(plan, tmp_path, "Replicas", holding(cell_under(plan, "Replicas", "Live", 7), 1))
    document = invoke_json("verify", path, "--no-solve", code=3)
    assert document["status"] == "differs" and not document["audit"]["ok"]
    assert any("capacity of pool chat" in words for words in document["audit"]["violations"])


def test_a_changed_price_is_told_by_the_cost(plan: Path, tmp_path: Path, without_libreoffice: None) -> None:
    cell = cell_under(plan, "Offers", "held_usd_per_node_h", 6)
    document = invoke_json("verify", edited(plan, tmp_path, "Offers", holding(cell, 5.5)), "--no-solve", code=3)
    assert found_cells(document) == ["Log!B6"]
    assert document["cost_usd_per_day"]["found"] > document["cost_usd_per_day"]["stored"] and document["audit"]["ok"]


def test_a_number_typed_over_a_formula_is_found(plan: Path, tmp_path: Path, without_libreoffice: None) -> None:
    cell = cell_under(plan, "Purchases", "Cost", 7)
    document = invoke_json("verify", edited(plan, tmp_path, "Purchases", holding(cell, 1.0)), "--no-solve", code=3)
    assert found_cells(document) == [f"Purchases!{cell}"]
    assert document["differences"][0]["what"] == "a formula was replaced"


def test_a_decision_that_is_no_whole_number_is_named(plan: Path, tmp_path: Path, without_libreoffice: None) -> None:
    cell = cell_under(plan, "Replicas", "Live", 8)
    path = edited(plan, tmp_path, "Replicas", holding(cell, 2.5))
    done = invoke("verify", path, "--no-solve")
    assert done.exit_code == 3 and f"Replicas!{cell}" in done.stdout and "2.5" in done.stdout


def test_an_input_sheet_that_does_not_read_is_refused(plan: Path, tmp_path: Path) -> None:
    cell = cell_under(plan, "Pools", "occupancy_frac", 6)
    document = invoke_json("verify", edited(plan, tmp_path, "Pools", holding(cell, 7)), "--no-solve", code=3)
    assert list(document) == KEYS and document["status"] == "refused"
    assert [(row["sheet"], row["cell"]) for row in document["errors"]] == [("Pools", cell)]


@pytest.mark.parametrize("name", ["forecast.xlsx", "missing.xlsx"])
def test_another_file_is_refused(plan: Path, name: str) -> None:
    document = invoke_json("verify", plan.parent / name, code=3)
    assert [row["code"] for row in document["errors"]] == ["NOT_A_PLAN" if name == "forecast.xlsx" else "FILE_MISSING"]


def test_another_version_wrote_it(plan: Path, without_libreoffice: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "__version__", "99.0")
    document = invoke_json("verify", plan, "--no-solve")
    assert document["status"] == "agrees" and any("99.0" in words for words in document["notes"])


@pytest.mark.parametrize(
    ("status", "share_of_cost", "words"),
    [("infeasible", None, "finds no plan"), ("optimal", 0.5, "below"), ("optimal", 2.0, "proves")],
)
def test_solving_again_contradicts_a_sound_workbook(
    status: Any, share_of_cost: float | None, words: str, plan: Path, without_libreoffice: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = room.verify_plan(str(plan), solve=False)
    assert found.cost_stored is not None
    cost = None if share_of_cost is None else found.cost_stored * share_of_cost
    outcome = SolveOutcome(
        status=status, decision=None, cost_usd_per_day=cost, bound_usd_per_day=cost,
        solver=SolverInfo(name="s", version="1", seconds=0.0, pulp="p"),
    )  # fmt: skip
    monkeypatch.setattr("optimizer.milp.solve.solve_case", lambda *_: outcome)
    document = invoke_json("verify", plan, code=1)
    assert document["status"] == "fault" and words in document["solved"]["fault"]
