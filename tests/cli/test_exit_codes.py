"""Exit codes, and that nothing a person may do ends in a traceback, a lost file or a file left over."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from optimizer.errors import ExitCode
from tests.cli.running import ROOT, invoke, invoke_json, program, too_little_power, write_small

NO_CATALOGS = ("--catalogs", "none")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write_small(tmp_path / "small.xlsx")


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# 0, and what stdout holds


def test_0_and_one_object_on_stdout_while_a_solver_runs(small: Path) -> None:
    done = program("plan", small, *NO_CATALOGS, "--json", "-o", "plan.xlsx", cwd=small.parent)
    assert done.returncode == ExitCode.DONE
    document = json.loads(done.stdout)
    assert (document["status"], document["output"]) == ("optimal", "plan.xlsx")
    assert done.stdout.startswith("{\n") and done.stdout.endswith("}\n")
    assert names(small.parent) == {"small.xlsx", "plan.xlsx"}


def test_0_without_output_writes_nothing(small: Path) -> None:
    assert invoke("plan", small, *NO_CATALOGS, "--no-baselines").exit_code == ExitCode.DONE
    assert names(small.parent) == {"small.xlsx"}


def test_a_reader_that_leaves_early_is_no_failure(small: Path) -> None:
    command = [sys.executable, "-m", "optimizer", "check", str(small), *NO_CATALOGS, "--json"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None and running.stderr is not None
        running.stdout.close()
        words = running.stderr.read()
        assert (running.wait(), words) == (ExitCode.DONE, b"")


# 1


def test_1_what_was_not_foreseen_is_one_sentence(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> NoReturn:
        raise ZeroDivisionError("seven")

    monkeypatch.setattr("optimizer.milp.solve.solve_case", fail)
    monkeypatch.delenv("FLEETSHEET_TRACEBACK", raising=False)
    result = invoke("plan", small, *NO_CATALOGS, "-o", small.parent / "plan.xlsx")
    assert result.exit_code == ExitCode.OUR_BUG
    assert result.stderr.startswith("error: a fault of fleetsheet, not of your input: ZeroDivisionError: seven (fail, line ")
    assert result.stdout == ""
    assert names(small.parent) == {"small.xlsx"}


def test_1_a_plan_that_fails_its_audit_is_not_written(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from optimizer.plan.audit import AuditResult

    monkeypatch.setattr(
        "optimizer.plan.audit.audit_decision", lambda *_, **__: AuditResult(ok=False, violations=("hour 3 is not served",))
    )
    result = invoke("plan", small, *NO_CATALOGS, "-o", small.parent / "plan.xlsx")
    assert result.exit_code == ExitCode.OUR_BUG
    assert "hour 3 is not served" in result.stderr
    assert result.stdout == ""
    assert names(small.parent) == {"small.xlsx"}


# 2


@pytest.mark.parametrize(
    "words",
    [
        ("--gap", "nan"), ("--gap", "-1"), ("--gap", "1.5"), ("--gap", "inf"), ("--time-limit", "nan"), ("--time-limit", "inf"),
        ("--time-limit", "-0.1"), ("--time-limit", "a minute"), ("--peak", "nan"), ("--peak", "0"), ("--peak", "-3"),
        ("--tokens-per-request", "-1"), ("--input-tokens", "nan"), ("--output-tokens", "0"), ("--ttft-ms", "inf"),
        ("--tpot-ms", "-30"), ("--solver", "abacus"), ("--hidden", "perhaps"), ("--resample", "sum"), ("--recalc", "excel"),
        ("--no-such-option",), ("second.xlsx",),
    ],
    ids=" ".join,
)  # fmt: skip
def test_2_wrong_use(words: tuple[str, ...], small: Path) -> None:
    result = invoke("plan", small, *words, "--json")
    assert result.exit_code == ExitCode.USAGE
    assert result.stdout == ""
    assert "Error: " in result.stderr


@pytest.mark.parametrize("words", [("plan",), ("check",), ("template",), ("no-such-command",), ("catalog", "no-such-command")])
def test_2_something_is_missing(words: tuple[str, ...]) -> None:
    result = invoke(*words)
    assert (result.exit_code, result.stdout) == (ExitCode.USAGE, "")


# 3


@pytest.mark.parametrize("command", ["check", "plan"])
@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("missing.xlsx", None, "FILE_MISSING"),
        ("folder.xlsx", "folder", "WRONG_FORMAT"),
        ("empty.xlsx", b"", "CORRUPT_FILE"),
        ("junk.xlsx", bytes((7 * step * step + 3) % 251 for step in range(4000)), "CORRUPT_FILE"),
        ("picture.xlsx", PNG, "WRONG_FORMAT"),
        ("words.docx", b"PK\x03\x04 nothing that a workbook has", None),
    ],
)
def test_3_files_that_are_no_workbooks(command: str, name: str, content: Any, code: str | None, tmp_path: Path) -> None:
    path = tmp_path / name
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    before = names(tmp_path)
    document = invoke_json(command, path, code=ExitCode.REFUSED)
    assert document["status"] == "refused"
    (error,) = document["errors"]
    assert error["file"] == str(path)
    assert error["message"] and error["fix"]
    assert code is None or error["code"] == code
    plain = invoke(command, path)
    assert (plain.exit_code, plain.stdout) == (ExitCode.REFUSED, "")
    assert plain.stderr == f"error: {path}: {error['message']} {error['fix']} [{error['code']}]\n"
    assert names(tmp_path) == before


@pytest.mark.parametrize("option", ["--policy", "--catalogs"])
def test_3_other_inputs_that_are_missing(option: str, small: Path) -> None:
    missing = small.parent / "missing.xlsx"
    (error,) = invoke_json("plan", small, option, missing, code=ExitCode.REFUSED)["errors"]
    assert error["file"] == str(missing)


# 4 and 5


def test_4_nothing_is_written_where_no_plan_can_meet_it(tmp_path: Path) -> None:
    path = too_little_power(tmp_path / "dark.xlsx")
    result = invoke("plan", path, *NO_CATALOGS, "-o", tmp_path / "plan.xlsx")
    assert result.exit_code == ExitCode.INFEASIBLE
    assert result.stdout.startswith("No plan meets every limit.\n")
    assert names(tmp_path) == {"dark.xlsx"}


def test_5_no_time_no_plan_and_nothing_written(small: Path) -> None:
    document = invoke_json(
        "plan", small, *NO_CATALOGS, "--time-limit", "0", "-o", small.parent / "plan.xlsx", code=ExitCode.GAP_OPEN
    )
    assert (document["status"], document["output"], document["errors"]) == ("no_plan", None, [])
    assert names(small.parent) == {"small.xlsx"}


def test_5_a_plan_with_an_open_gap_is_written_and_never_called_optimal(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from optimizer.milp import solve

    solve_case = solve.solve_case

    def interrupted(*args: Any, **options: Any) -> Any:
        outcome = solve_case(*args, **options)
        return outcome.model_copy(update={"status": "gap_open", "bound_usd_per_day": 0.75 * outcome.cost_usd_per_day})

    monkeypatch.setattr(solve, "solve_case", interrupted)
    output = small.parent / "plan.xlsx"
    document = invoke_json("plan", small, *NO_CATALOGS, "--no-baselines", "-o", output, code=ExitCode.GAP_OPEN)
    assert (document["status"], document["output"]) == ("gap_open", str(output))
    assert document["gap_frac"] == pytest.approx(0.25)
    assert output.exists()
    words = invoke("plan", small, *NO_CATALOGS, "--no-baselines")
    assert words.exit_code == ExitCode.GAP_OPEN
    assert words.stdout.startswith("Time limit reached: ") and "25 %" in words.stdout and "Proven" not in words.stdout


def test_5_a_search_that_the_user_ended_says_so(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from optimizer.milp import solve

    solve_case = solve.solve_case

    def stopped(*args: Any, **options: Any) -> Any:
        outcome = solve_case(*args, **options)
        return outcome.model_copy(update={
            "status": "gap_open", "bound_usd_per_day": 0.75 * outcome.cost_usd_per_day,
            "solver": outcome.solver.model_copy(update={"stopped": True}),
        })

    output = small.parent / "plan.xlsx"
    with monkeypatch.context() as during:
        during.setattr(solve, "solve_case", stopped)
        words = invoke("plan", small, *NO_CATALOGS, "--no-baselines", "-o", output)
        document = invoke_json("plan", small, *NO_CATALOGS, "--no-baselines", code=ExitCode.GAP_OPEN)
    assert words.exit_code == ExitCode.GAP_OPEN
    assert words.stdout.startswith("Stopped by the user: ") and "Time limit" not in words.stdout
    assert (document["status"], set(document["solver"])) == ("gap_open", {"name", "version", "seconds", "pulp"})
    assert invoke("verify", output).exit_code == ExitCode.DONE


# 6


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (".", "is a folder"),
        ("folder.xlsx", "is a folder"),
        ("missing/plan.xlsx", "does not exist"),
        ("small.xlsx/plan.xlsx", "does not exist"),
        ("plan.csv", "does not end in .xlsx"),
        ("plan", "does not end in .xlsx"),
        ("n" * 300 + ".xlsx", "cannot be written"),
        ("notes.xlsx", "not a plan that fleetsheet wrote"),
        ("small.xlsx", "not a plan that fleetsheet wrote"),
    ],
)
def test_6_is_found_before_the_work(output: str, words: str, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("worked for nothing")

    monkeypatch.setattr("optimizer.workbook.load.load_case", work)
    folder = small.parent
    (folder / "folder.xlsx").mkdir()
    (folder / "notes.xlsx").write_bytes(b"my notes")
    before = names(folder)
    document = invoke_json("plan", small, "-o", folder / output, code=ExitCode.CANNOT_WRITE)
    (error,) = document["errors"]
    assert (error["code"], error["file"]) == ("CANNOT_WRITE", str(folder / output))
    assert words in error["message"] and error["fix"]
    assert document["output"] is None
    plain = invoke("plan", small, "-o", folder / output)
    assert (plain.exit_code, plain.stdout) == (ExitCode.CANNOT_WRITE, "")
    assert plain.stderr.startswith("error: ") and words in plain.stderr
    assert names(folder) == before
    assert (folder / "notes.xlsx").read_bytes() == b"my notes"


def test_6_an_input_is_never_overwritten(small: Path) -> None:
    content = small.read_bytes()
    for option in ((), ("--force",)):
        assert invoke("plan", small, *NO_CATALOGS, "-o", small, *option).exit_code == ExitCode.CANNOT_WRITE
    policy = write_small(small.parent / "policy.xlsx")
    before = policy.read_bytes()
    result = invoke("plan", small, *NO_CATALOGS, "--policy", policy, "-o", policy, "--force")
    assert result.exit_code == ExitCode.CANNOT_WRITE
    assert (small.read_bytes(), policy.read_bytes()) == (content, before)


def test_6_a_file_that_cannot_be_replaced_stays_and_the_plan_is_shown(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = small.parent / "plan.xlsx"
    assert invoke("plan", small, *NO_CATALOGS, "--no-baselines", "-o", output).exit_code == 0
    content = output.read_bytes()

    def held_open(*_: Any) -> NoReturn:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", held_open)
    document = invoke_json("plan", small, *NO_CATALOGS, "--no-baselines", "-o", output, code=ExitCode.CANNOT_WRITE)
    assert (document["status"], document["cost_usd_per_day"], document["output"]) == ("optimal", 1624.0, None)
    (error,) = document["errors"]
    assert error["code"] == "CANNOT_WRITE" and "Permission denied" in error["message"]
    words = invoke("plan", small, *NO_CATALOGS, "--no-baselines", "-o", output)
    assert words.exit_code == ExitCode.CANNOT_WRITE
    assert "$1,624.00/day" in words.stdout and "Workbook:" not in words.stdout
    assert "Permission denied" in words.stderr
    assert output.read_bytes() == content
    assert names(small.parent) == {"small.xlsx", "plan.xlsx"}


def test_6_a_full_disk_leaves_nothing_behind(small: Path) -> None:
    done = program("plan", small, *NO_CATALOGS, "--no-baselines", "-o", "plan.xlsx", cwd=small.parent, shell="ulimit -f 0")
    assert done.returncode == ExitCode.CANNOT_WRITE
    assert "$1,624.00/day" in done.stdout
    assert "[CANNOT_WRITE]" in done.stderr
    assert names(small.parent) == {"small.xlsx"}


def test_6_a_full_disk_under_stdout(small: Path) -> None:
    result = small.parent / "result.json"
    done = program("check", small, *NO_CATALOGS, "--json", cwd=small.parent, shell=f"ulimit -f 0; exec >{result.name}")
    assert done.returncode == ExitCode.CANNOT_WRITE
    assert done.stderr.startswith("error: the result cannot be written to stdout (")
