"""How the workbook reaches the disk: whole or not at all, never over a file that is not ours, and nothing left behind."""

from __future__ import annotations

import datetime
import math
import os
from pathlib import Path

import openpyxl
import pytest

from optimizer.errors import CannotWrite, ExitCode
from optimizer.report import writer
from optimizer.report.plan_book import write_plan_workbook
from optimizer.report.writer import PlanSheet, excel_serial, is_plan_workbook, lines_needed, new_book
from tests.report import plans


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_written_file_is_known_again_and_may_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "plan.xlsx"
    assert write_plan_workbook(path, plans.seed1()) == path
    assert is_plan_workbook(path)
    first = path.read_bytes()
    write_plan_workbook(path, plans.api_alone())
    assert path.read_bytes() != first and files(tmp_path) == ["plan.xlsx"]


def test_a_file_that_is_not_a_plan_is_kept_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "forecast.xlsx"
    book = openpyxl.Workbook()
    book.save(path)
    before = path.read_bytes()
    with pytest.raises(CannotWrite, match="not a plan"):
        write_plan_workbook(path, plans.seed1())
    assert path.read_bytes() == before
    write_plan_workbook(path, plans.seed1(), force=True)
    assert is_plan_workbook(path)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x05\x06" + b"\0" * 18])
def test_broken_files_are_not_plans(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "plan.xlsx"
    path.write_bytes(content)
    assert not is_plan_workbook(path)
    with pytest.raises(CannotWrite):
        write_plan_workbook(path, plans.seed1())
    assert path.read_bytes() == content


def test_targets_that_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "folder.xlsx"
    folder.mkdir()
    for path, words in (
        (folder, "is a folder"),
        (tmp_path / "missing" / "plan.xlsx", "does not exist"),
        (tmp_path / "plan.csv", "does not end in .xlsx"),
    ):
        with pytest.raises(CannotWrite, match=words) as caught:
            write_plan_workbook(path, plans.seed1(), force=True)
        assert caught.value.exit_code == ExitCode.CANNOT_WRITE
    assert files(tmp_path) == ["folder.xlsx"]


@pytest.mark.parametrize("lock", ["~$plan.xlsx", ".~lock.plan.xlsx#"])
def test_a_file_open_elsewhere_is_left_alone(lock: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.xlsx"
    write_plan_workbook(path, plans.seed1())
    before = path.read_bytes()
    (tmp_path / lock).write_bytes(b"somebody")
    with pytest.raises(CannotWrite, match="open in another program"):
        write_plan_workbook(path, plans.api_alone())
    assert path.read_bytes() == before


def test_nothing_is_lost_or_left_when_the_disk_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plan.xlsx"
    write_plan_workbook(path, plans.seed1())
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    for target, name in ((Path, "replace"), (os, "fsync")):
        with monkeypatch.context() as patched:
            patched.setattr(target, name, fail)
            with pytest.raises(CannotWrite, match="Permission denied"):
                write_plan_workbook(path, plans.api_alone())
    assert path.read_bytes() == before and files(tmp_path) == ["plan.xlsx"]


def test_a_read_only_file_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plan.xlsx"
    write_plan_workbook(path, plans.seed1())
    monkeypatch.setattr(writer.os, "access", lambda *_: False)
    with pytest.raises(CannotWrite, match="read-only"):
        write_plan_workbook(path, plans.api_alone())


def a_sheet() -> PlanSheet:
    book, _ = new_book("USD", footer="f", created=None, version="1")
    return book.add("A", "#000000")


def test_no_figure_that_is_not_finite_gets_in() -> None:
    sheet = a_sheet()
    for value in (math.nan, math.inf):
        with pytest.raises(ValueError, match="no figure"):
            sheet.number(0, 0, value, "n1")
        with pytest.raises(ValueError, match="shows"):
            sheet.formula(0, 0, "=1", value, "n1")


def test_long_text_is_cut_and_noted() -> None:
    sheet = a_sheet()
    sheet.book.keeps_cells = True
    sheet.text(0, 0, "x" * 40_000)
    assert len(str(sheet.values[0, 0])) == writer.TEXT_LIMIT
    assert sheet.book.stripped[0].at == "A!A1"


def test_small_helpers() -> None:
    assert excel_serial(datetime.date(2027, 1, 1)) == 46388
    assert lines_needed("Nodes in any hour", 7) == 3 and lines_needed("Cost", 9) == 1
