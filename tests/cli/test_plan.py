"""`fleetsheet plan`: its JSON key by key in every status, its words, its workbook, and what its options do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from optimizer import __version__
from optimizer.errors import ExitCode
from tests.cli.running import invoke, invoke_json, program, too_little_power, write_small
from tests.helpers.casebook import write_casebook
from tests.helpers.tables import small_tables

NO_CATALOGS = ("--catalogs", "none")
QUICK = (*NO_CATALOGS, "--no-baselines")

#: Keys of the object, and of the objects in it (INPUTS, `plan --json`).
KEYS = [
    "status", "cost_usd_per_day", "bound_usd_per_day", "gap_frac", "output_mtok_per_day", "usd_per_mtok",
    "cost_parts_usd_per_day", "day_types", "purchases", "sites", "nodes", "options", "hours", "replicas", "contingencies",
    "baselines_usd_per_day", "rejections", "infeasible", "audit", "warnings", "errors", "inputs", "start_date", "version",
    "command", "solver", "output",
]  # fmt: skip
PROBLEM = {"code", "file", "sheet", "cell", "message", "fix"}
FIELDS = {
    "usd_per_mtok": {"forecast", "fleet", "api", "full_goodput"},
    "cost_parts_usd_per_day": {"held", "used", "upfront", "api", "energy", "site", "discounts"},
    "baselines_usd_per_day": {"all_api", "all_on_demand", "reserved_at_peak", "reserved_at_trough"},
    "audit": {"ok", "violations"},
    "solver": {"name", "version", "seconds", "pulp"},
}
ROWS = {
    "day_types": {"day_type", "days"},
    "purchases": {
        "offer", "purchase", "node_type", "gpu", "provider", "region", "site", "nodes_new", "nodes_existing", "gpus",
        "term_months", "upfront_usd", "node_hours_used_per_day", "peak_nodes_used", "usd_per_day", "order_by",
    },
    "sites": {"site", "nodes", "racks", "kw"},
    "nodes": {"day_type", "hour", "offer", "used"},
    "options": {"option", "pool", "workload", "output_tps", "gpus_per_replica", "node_type", "concurrency", "source"},
    "hours": {"day_type", "hour", "workload", "demand_tps", "run_tps", "fleet_tps", "spot_tps", "api_tps"},
    "replicas": {"day_type", "hour", "pool", "option", "live", "total", "spot_live", "spot_total"},
    "contingencies": {"contingency", "pool", "day_type", "hour", "margin_tps"},
    "rejections": {
        "code", "workload", "model", "precision", "gpu", "node_type", "gpus_per_replica", "engine", "reason", "numbers",
    },
    "infeasible": {"limit", "pool", "site", "day_type", "hour", "missing", "unit", "relaxation", "usd_per_day"},
    "warnings": PROBLEM, "errors": PROBLEM, "inputs": {"file", "sha256"},
}  # fmt: skip


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write_small(tmp_path / "small.xlsx")


def everything(path: Path) -> Path:
    """The small case with a site, an API and a measurement that does not fit, so that every list has rows."""
    tables = small_tables()
    tables["Offers"][0]["site"] = "hall"
    tables["Workloads"][0].update(api="hosted", api_max_frac=0.1, input_tokens=1000, output_tokens=500)
    tables["Goodput"][0].update(input_tokens=1000, output_tokens=500)
    tables["Goodput"].append({**tables["Goodput"][0], "gpus_per_replica": 1, "output_tps": 900, "concurrency": 60})
    return write_casebook(path, tables)


def assert_keys(document: dict[str, Any]) -> None:
    assert list(document) == KEYS
    for key, fields in FIELDS.items():
        assert set(document[key]) == fields, key
    for key, fields in ROWS.items():
        for row in document[key]:
            assert set(row) == fields, key


# JSON


def test_keys_of_a_plan(tmp_path: Path) -> None:
    document = invoke_json("plan", everything(tmp_path / "all.xlsx"), *NO_CATALOGS)
    assert_keys(document)
    assert {key for key in ROWS if not document[key]} == {"infeasible", "errors"}
    assert all(isinstance(value, float) for value in document["baselines_usd_per_day"].values() if value is not None)
    assert document["baselines_usd_per_day"]["all_on_demand"] > document["cost_usd_per_day"]
    assert document["audit"] == {"ok": True, "violations": []}
    assert document["version"] == __version__
    assert document["solver"]["name"] == "HiGHS"


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        ("infeasible", ExitCode.INFEASIBLE, NO_CATALOGS),
        ("no_plan", ExitCode.GAP_OPEN, (*NO_CATALOGS, "--time-limit", "0")),
        ("refused", ExitCode.REFUSED, (*NO_CATALOGS, "--unit", "tok/h")),
        ("refused", ExitCode.CANNOT_WRITE, ("-o", "/")),
    ],
)
def test_keys_where_there_is_no_plan(status: str, code: ExitCode, words: tuple[str, ...], tmp_path: Path) -> None:
    path = too_little_power(tmp_path / "case.xlsx") if status == "infeasible" else write_small(tmp_path / "case.xlsx")
    document = invoke_json("plan", path, *words, code=code)
    assert_keys(document)
    assert document["status"] == status
    assert document["cost_usd_per_day"] is None
    assert set(document["cost_parts_usd_per_day"].values()) == {None}
    assert set(document["baselines_usd_per_day"].values()) == {None}
    assert document["audit"] == {"ok": None, "violations": []}
    assert document["purchases"] == document["hours"] == document["replicas"] == []
    assert document["output"] is None


def test_the_hand_case_in_figures(small: Path) -> None:
    """9,000 tok/s at 1,400 x 0.6 a replica: 11 live, 1 spare, a quarter more in rollout = 15 nodes; 12 are worth holding."""
    document = invoke_json("plan", small, *QUICK)
    assert document["cost_usd_per_day"] == pytest.approx(1624.0)
    assert document["bound_usd_per_day"] == pytest.approx(1624.0)
    held, hourly = document["purchases"]
    assert (held["nodes_new"], held["nodes_existing"], held["gpus"]) == (11, 1, 24)
    assert hourly["peak_nodes_used"] == 3
    peak = [row for row in document["replicas"] if row["hour"] == 23]
    assert [(row["live"], row["total"]) for row in peak] == [(12, 15)]
    assert document["usd_per_mtok"]["forecast"] == pytest.approx(1624 / (24 * 6700 * 3600 / 1e6))


def test_the_power_that_is_missing(tmp_path: Path) -> None:
    """15 nodes x 2 kW x 1.2 are 36 kW where the site has 20; at $5 an hour they cost $1,800 a day."""
    document = invoke_json("plan", too_little_power(tmp_path / "dark.xlsx"), *NO_CATALOGS, code=ExitCode.INFEASIBLE)
    (row,) = [row for row in document["infeasible"] if row["limit"] == "total_kw"]
    assert (row["site"], row["unit"]) == ("hall", "kW")
    assert (row["missing"], row["usd_per_day"]) == (pytest.approx(16), pytest.approx(1800))
    assert "16 kW" in row["relaxation"] and "hall" in row["relaxation"]


# refusals and warnings


def test_every_problem_is_said_at_once_with_its_cell_and_a_fix(tmp_path: Path) -> None:
    tables = small_tables()
    tables["Workloads"][0]["model"] = "80b"
    tables["Offers"][1]["node_type"] = "80gx3"
    tables["Goodput"][0]["output_tps"] = -5
    tables["Pools"][0]["occupancy_frac"] = 60
    path = write_casebook(tmp_path / "wrong.xlsx", tables)
    document = invoke_json("plan", path, *NO_CATALOGS, code=ExitCode.REFUSED)
    errors = document["errors"]
    assert {("Workloads", "C2"), ("Offers", "B3"), ("Goodput", "E2"), ("Pools", "C2")} <= {
        (error["sheet"], error["cell"]) for error in errors
    }
    for error in errors:
        assert error["file"] == str(path)
        assert error["message"] and error["fix"] and error["code"].isupper()
    plain = invoke("plan", path, *NO_CATALOGS)
    assert plain.stdout == ""
    lines = [line.removeprefix("error: ") for line in plain.stderr.splitlines() if line.startswith("error: ")]
    assert lines == [
        f"{each['file']}, {each['sheet']}!{each['cell']}: {each['message']} {each['fix']} [{each['code']}]" for each in errors
    ]


@pytest.mark.parametrize("command", ["plan", "check"])
def test_strict_refuses_what_else_is_a_warning(command: str, tmp_path: Path) -> None:
    tables = small_tables()
    tables["Offers"][0]["source"] = None
    path = write_casebook(tmp_path / "unsourced.xlsx", tables)
    quick = QUICK if command == "plan" else NO_CATALOGS
    warned = invoke_json(command, path, *quick)["warnings"]
    strict = invoke_json(command, path, *quick, "--strict", code=ExitCode.REFUSED)
    assert strict["status"] == "refused"
    assert strict["errors"] and all(error in warned for error in strict["errors"])
    assert {(error["sheet"], error["code"]) for error in strict["errors"]} == {("Offers", "MISSING_SOURCE")}


@pytest.mark.parametrize("command", ["plan", "check"])
def test_strict_refuses_doubts_about_measurements_too(command: str, tmp_path: Path) -> None:
    path = everything(tmp_path / "all.xlsx")
    quick = QUICK if command == "plan" else NO_CATALOGS
    assert "MEASURED_BUT_DOES_NOT_FIT" in {row["code"] for row in invoke_json(command, path, *quick)["warnings"]}
    strict = invoke_json(command, path, *quick, "--strict", code=ExitCode.REFUSED)
    assert [error["code"] for error in strict["errors"]] == ["MEASURED_BUT_DOES_NOT_FIT"]


@pytest.mark.parametrize("command", ["plan", "check"])
def test_strict_passes_what_has_no_warning(command: str, small: Path) -> None:
    quick = QUICK if command == "plan" else NO_CATALOGS
    assert invoke(command, small, *quick, "--strict").exit_code == 0


def test_what_nobody_stated_is_printed(tmp_path: Path) -> None:
    tables = small_tables()
    bare = {name: tables[name] for name in ("Demand", "NodeTypes", "Models", "Goodput", "Offers", "Policy")}
    for row in bare["Demand"]:
        del row["workload"]
    path = write_casebook(tmp_path / "bare.xlsx", bare)
    result = invoke("plan", path, *QUICK, "--model", "70b")
    assert result.exit_code == 0, result.stderr
    assumed = [line for line in result.stderr.splitlines() if line.startswith("assumed: ")]
    for words in ("(--model)", "one interactive pool", "occupancy 0.7", "no spot", "N+1"):
        assert any(words in line for line in assumed), words
    as_json = invoke("plan", path, *QUICK, "--model", "70b", "--json")
    assert [line for line in as_json.stderr.splitlines() if line.startswith("assumed: ")] == assumed
    checked = invoke("check", path, *NO_CATALOGS, "--model", "70b")
    assert [line for line in checked.stderr.splitlines() if line.startswith("assumed: ")] == assumed


def test_a_bare_forecast_needs_a_model(tmp_path: Path) -> None:
    path = write_casebook(tmp_path / "bare.xlsx", {"Demand": [{"hour": hour, "Output tok/s": 100} for hour in range(24)]})
    (error,) = invoke_json("plan", path, code=ExitCode.REFUSED)["errors"]
    assert error["code"] == "MODEL_MISSING" and "--model" in error["fix"]


# words


def test_words_for_a_person(small: Path) -> None:
    result = invoke("plan", small, *NO_CATALOGS)
    assert result.stdout.startswith("Proven: no plan is cheaper.\n")
    for words in ("$1,624.00/day", "/M output tokens of the forecast", "Everything on demand: $2,256.00/day"):
        assert words in result.stdout
    assert "\x1b" not in result.output


def test_no_baselines_skips_them(small: Path) -> None:
    document = invoke_json("plan", small, *QUICK)
    assert set(document["baselines_usd_per_day"].values()) == {None}
    assert "Everything on demand" not in invoke("plan", small, *QUICK).stdout


# the workbook


def test_the_log_holds_the_command_so_that_it_can_be_typed_again(small: Path) -> None:
    done = program("plan", small.name, "-o", "my plan.xlsx", *QUICK, "--json", cwd=small.parent)
    document = json.loads(done.stdout)
    typed = "fleetsheet plan small.xlsx -o 'my plan.xlsx' --catalogs none --no-baselines --json"
    assert (document["command"], document["output"]) == (typed, "my plan.xlsx")
    log = openpyxl.load_workbook(small.parent / "my plan.xlsx", read_only=True)["Log"]
    told = {row[0]: row[1] for row in log.iter_rows(max_col=2, values_only=True) if row[0]}
    assert told["Command"] == typed
    assert told["Workbook"] == "my plan.xlsx"
    assert told["small.xlsx"] == document["inputs"][0]["sha256"]


def test_a_plan_is_overwritten_and_other_files_only_with_force(small: Path) -> None:
    output = small.parent / "plan.xlsx"
    output.write_bytes(b"my notes")
    assert invoke("plan", small, *QUICK, "-o", output).exit_code == ExitCode.CANNOT_WRITE
    assert output.read_bytes() == b"my notes"
    assert invoke("plan", small, *QUICK, "-o", output, "--force").exit_code == 0
    content = output.read_bytes()
    assert content.startswith(b"PK")
    assert invoke("plan", small, *QUICK, "-o", output, "--gap", "0.5").exit_code == 0
    assert output.read_bytes() != content
    assert {path.name for path in small.parent.iterdir()} == {"small.xlsx", "plan.xlsx"}


# options


def test_gap_and_time_limit_reach_the_solver(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from optimizer.milp import solve

    asked: list[tuple[float, float]] = []
    solve_case = solve.solve_case

    def noted(case: Any, candidates: Any, **options: Any) -> Any:
        asked.append((case.policy.gap, case.policy.time_limit_s))
        return solve_case(case, candidates, **options)

    monkeypatch.setattr(solve, "solve_case", noted)
    invoke_json("plan", small, *QUICK, "--gap", "0.02", "--time-limit", "7.5")
    assert asked == [(0.02, 7.5)]


@pytest.mark.parametrize("said", [("--providers", "a;b"), ("--providers", "a, b"), ("--providers", "a", "--providers", "b")])
def test_lists_may_be_said_in_three_ways(said: tuple[str, ...], tmp_path: Path) -> None:
    tables = small_tables()
    for offer, provider in zip(tables["Offers"], ("a", "c"), strict=True):
        offer["provider"] = provider
    tables["Offers"].append({**tables["Offers"][1], "offer": "other", "provider": "b", "used_usd_per_node_h": 9.0})
    path = write_casebook(tmp_path / "three.xlsx", tables)
    document = invoke_json("plan", path, *QUICK, *said)
    assert {line["offer"] for line in document["purchases"]} == {"reserved", "other"}


def test_the_solver_by_name(small: Path) -> None:
    assert invoke_json("plan", small, *QUICK, "--solver", "highs")["solver"]["name"] == "HiGHS"


@pytest.mark.cbc
@pytest.mark.filterwarnings("ignore:PULP_CBC_CMD is deprecated:DeprecationWarning")
def test_everything_runs_on_the_solver_that_was_named(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from optimizer.milp import solver

    def asked(*_: Any, **__: Any) -> Any:
        raise AssertionError("HiGHS was asked")

    monkeypatch.setattr(solver.pulp, "HiGHS", asked)
    document = invoke_json("plan", small, *NO_CATALOGS, "--solver", "CBC", "--explain")
    assert document["solver"]["name"] == "CBC" and document["baselines_usd_per_day"]["reserved_at_peak"] is not None
    short = too_little_power(tmp_path / "short.xlsx")
    document = invoke_json("plan", short, *NO_CATALOGS, "--solver", "CBC", code=ExitCode.INFEASIBLE)
    assert any(row["limit"] == "total_kw" and row["usd_per_day"] for row in document["infeasible"])
