"""A whole load: second workbook, bare forecasts, policy, defaults, warnings that refuse."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from optimizer.errors import Refused
from optimizer.workbook.load import check_books, load_case
from optimizer.workbook.options import LoadOptions
from optimizer.workbook.policy import next_quarter
from optimizer.workbook.reader_options import ReaderOptions
from tests.helpers.casebook import book_of, write_casebook
from tests.helpers.tables import NO_CATALOGS, Rows, errors_of, load_tables, small_tables

TODAY = datetime.date(2026, 11, 29)
POLICY_SHEETS = ("Workloads", "Pools", "Contingencies", "Policy", "DayTypes")


def bare(**options: Any) -> LoadOptions:
    return LoadOptions(catalogs="none", today=TODAY, **options)


def forecast_and_rest() -> tuple[dict[str, Rows], dict[str, Rows]]:
    tables = small_tables()
    rest = {name: rows for name, rows in tables.items() if name not in ("Demand", "Workloads", "Pools", "Contingencies")}
    demand: Rows = [{"hour": row["hour"], "output tok/s": row["output_tps"]} for row in tables["Demand"]]
    return {"Demand": demand}, rest


def test_a_second_workbook_adds_its_sheets(tmp_path: Path) -> None:
    tables = small_tables()
    first = {name: rows for name, rows in tables.items() if name not in POLICY_SHEETS}
    second = {name: tables[name] for name in POLICY_SHEETS}
    policy = write_casebook(tmp_path / "policy.xlsx", second)
    forecast = write_casebook(tmp_path / "forecast.xlsx", first)
    loaded = load_case(forecast, LoadOptions(catalogs="none", policy=str(policy)))
    assert loaded.case.pools[0].origin.file == str(policy)
    assert [each.file for each in loaded.case.inputs] == [str(forecast), str(policy)]
    assert loaded.case.workloads[0].demand == load_tables(tables).case.workloads[0].demand


def test_a_sheet_in_both_workbooks_is_refused() -> None:
    tables = small_tables()
    errors = errors_of(tables, NO_CATALOGS, {"Pools": tables["Pools"]})
    assert [(error.code, error.file, error.sheet) for error in errors] == [("SHEET_IN_BOTH", "policy.xlsx", "Pools")]


def test_a_forecast_in_the_second_workbook_counts_only_where_the_first_has_none() -> None:
    tables = small_tables()
    demand = {"Demand": tables.pop("Demand")}
    assert load_tables(tables, NO_CATALOGS, demand).case.workloads[0].demand[0].output_tps[23] == 9000
    tables["Sheet1"] = [{"hour": 0, "output tok/s": 1}]
    assert [error.code for error in errors_of(tables, NO_CATALOGS, demand)] == ["SHEET_IN_BOTH"]


def test_both_files_are_tried_before_refusing(tmp_path: Path) -> None:
    with pytest.raises(Refused) as caught:
        load_case(tmp_path / "a.xlsx", LoadOptions(policy=str(tmp_path / "b.xlsx")))
    assert [(error.code, error.file) for error in caught.value.errors] == [
        ("FILE_MISSING", str(tmp_path / "a.xlsx")),
        ("FILE_MISSING", str(tmp_path / "b.xlsx")),
    ]


def test_sheets_of_a_plan_workbook_are_passed_over() -> None:
    tables = small_tables()
    tables["Summary"] = [{"what": "Cost", "usd": 1}]
    tables["Hourly"] = [{"hour": hour, "workload": "chat", "demand_tps": 1} for hour in range(24)]
    assert load_tables(tables).case == load_tables(small_tables()).case


def test_a_model_makes_a_workload_in_a_pool() -> None:
    forecast, rest = forecast_and_rest()
    rest["Goodput"][0].update(input_tokens=1000, output_tokens=200, ttft_ms=800, tpot_ms=30)
    options = bare(model="70B", precision="int8", input_tokens=1000, output_tokens=200, ttft_ms=900, tpot_ms=40, api=("hosted",))
    loaded = load_tables({**forecast, **rest}, options)
    workload, pool = loaded.case.workloads[0], loaded.case.pools[0]
    assert (workload.workload, workload.pool, workload.model, workload.precision) == ("demand", "demand", "70b", "int8")
    assert (workload.input_tokens, workload.output_tokens, workload.ttft_ms, workload.tpot_ms) == (1000, 200, 900, 40)
    assert workload.api == ("hosted",)
    assert (pool.pool, pool.kind, pool.occupancy_frac, pool.spot_max_frac) == ("demand", "interactive", 0.7, 0)
    bad_day = loaded.case.contingencies
    assert [(row.pools, row.replicas_lost, row.spot_lost_frac, row.assumed) for row in bad_day] == [(("demand",), 1, 0, True)]
    told = " ".join(loaded.case.assumptions)
    for word in ("--model", "one interactive pool", "occupancy 0.7", "no spot", "N+1"):
        assert word in told


def test_a_model_uses_the_only_pool_of_a_pools_sheet() -> None:
    forecast, rest = forecast_and_rest()
    rest["Pools"] = [{"pool": "p", "occupancy_frac": 0.5}]
    case = load_tables({**forecast, **rest}, bare(model="70b")).case
    assert (case.workloads[0].pool, case.pools[0].occupancy_frac) == ("p", 0.5)
    rest["Pools"].append({"pool": "q"})
    assert "OPTION_CLASH" in [error.code for error in errors_of({**forecast, **rest}, bare(model="70b"))]


def test_options_that_clash() -> None:
    assert [error.code for error in errors_of(small_tables(), bare(model="70b"))] == ["OPTION_CLASH"]
    errors = errors_of(small_tables(), bare(ttft_ms=100, api=("hosted",)))
    assert [error.code for error in errors] == ["OPTION_CLASH"]
    assert "--ttft-ms, --api" in errors[0].message


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"model": "8b"}, "UNKNOWN_MODEL"),
        ({"model": "70b", "api": ("x",)}, "UNKNOWN_API"),
        ({"model": "70b", "ttft_ms": -1}, "NEGATIVE_VALUE"),
    ],
)
def test_faults_of_the_command_line_name_no_cell(options: dict[str, Any], code: str) -> None:
    forecast, rest = forecast_and_rest()
    errors = errors_of({**forecast, **rest}, bare(**options))
    assert [(error.code, error.file, error.sheet, error.cell) for error in errors] == [(code, "command line", None, None)]


def test_a_bare_forecast_can_be_checked_but_not_planned(tmp_path: Path) -> None:
    forecast, _ = forecast_and_rest()
    checked = check_books([book_of(forecast)], NO_CATALOGS)
    assert checked.case is None
    assert [report.workload for report in checked.demand] == ["demand"]
    path = write_casebook(tmp_path / "forecast.xlsx", forecast)
    with pytest.raises(Refused) as caught:
        load_case(path, NO_CATALOGS)
    assert [(error.code, error.file) for error in caught.value.errors] == [("MODEL_MISSING", str(path))]


def test_a_workloads_sheet_without_rows_is_refused() -> None:
    tables = small_tables()
    tables["Workloads"] = []
    assert ("NO_WORKLOADS", "Workloads") in [(error.code, error.sheet) for error in errors_of(tables)]


def test_without_pools_every_pool_named_has_the_defaults() -> None:
    tables = small_tables()
    del tables["Pools"]
    case = load_tables(tables).case
    assert [(pool.pool, pool.kind, pool.occupancy_frac, pool.origin.file) for pool in case.pools] == [
        ("chat", "interactive", 1, None)
    ]
    assert any("no sheet Pools" in sentence for sentence in case.assumptions)


def test_an_empty_pools_sheet_has_no_pools() -> None:
    tables = small_tables()
    tables["Pools"] = []
    assert [(error.code, error.cell) for error in errors_of(tables)] == [("UNKNOWN_POOL", "B2")]


def test_without_contingencies_interactive_pools_survive_a_loss_and_the_loss_of_spot() -> None:
    tables = small_tables()
    del tables["Contingencies"]
    tables["Pools"] = [
        {"pool": "chat", "spot_max_frac": 0.5},
        {"pool": "calm", "spot_max_frac": 0},
        {"pool": "jobs", "kind": "batch", "spot_max_frac": 1},
    ]
    for pool in ("calm", "jobs"):
        tables["Workloads"].append({**tables["Workloads"][0], "workload": pool, "pool": pool})
        tables["Demand"] += [{"workload": pool, "hour": hour, "output_tps": 5.0} for hour in range(24)]
    loaded = load_tables(tables)
    found = [(row.pools, row.replicas_lost, row.spot_lost_frac) for row in loaded.case.contingencies]
    assert found == [(("chat", "calm"), 1, 0), (("chat",), 0, 1)]
    assert all(row.assumed for row in loaded.case.contingencies)
    assert loaded.warnings == ()


def test_a_contingency_without_pools_is_for_the_interactive_ones() -> None:
    tables = small_tables()
    tables["Pools"].append({"pool": "jobs", "kind": "batch"})
    tables["Workloads"].append({**tables["Workloads"][0], "workload": "jobs", "pool": "jobs"})
    tables["Demand"] += [{"workload": "jobs", "hour": hour, "output_tps": 5.0} for hour in range(24)]
    tables["Contingencies"].append({"contingency": "node", "nodes_lost": 1, "pool": "jobs", "api_absorbs": "yes"})
    rows = load_tables(tables).case.contingencies
    assert [(row.pools, row.nodes_lost, row.api_absorbs, row.assumed) for row in rows] == [
        (("chat",), 0, False, False),
        (("jobs",), 1, True, False),
    ]


def test_without_day_types_there_is_one_day() -> None:
    tables = small_tables()
    del tables["DayTypes"]
    case = load_tables(tables).case
    assert [(day.day_type, day.days, day.origin.sheet) for day in case.day_types] == [("day", 1, None)]
    assert any("no DayTypes" in sentence for sentence in case.assumptions)


def test_demand_follows_the_day_types() -> None:
    tables = small_tables()
    tables["DayTypes"] = [{"day_type": "weekday", "days": 65}, {"day_type": "weekend", "days": 26}]
    tables["Demand"] = [
        {"workload": "chat", "day_type": day, "hour": hour, "output_tps": tps + hour}
        for day, tps in (("weekend", 100.0), ("weekday", 1000.0))
        for hour in range(24)
    ]
    workload = load_tables(tables).case.workloads[0]
    assert [(day.day_type, day.output_tps[0]) for day in workload.demand] == [("weekday", 1000), ("weekend", 100)]


@pytest.mark.parametrize(
    ("day", "start"),
    [((2026, 11, 29), (2027, 1, 1)), ((2027, 1, 1), (2027, 4, 1)), ((2027, 3, 31), (2027, 4, 1)), ((2027, 9, 30), (2027, 10, 1))],
)
def test_the_next_quarter(day: tuple[int, int, int], start: tuple[int, int, int]) -> None:
    assert next_quarter(datetime.date(*day)) == datetime.date(*start)


def test_dates_that_nobody_stated() -> None:
    tables = small_tables()
    del tables["Policy"]
    case = load_tables(tables, bare()).case
    assert (case.policy.today, case.policy.start_date) == (TODAY, datetime.date(2027, 1, 1))
    assert any("2027-01-01" in sentence for sentence in case.assumptions)


def policy_tables(*rows: tuple[str, Any]) -> dict[str, Rows]:
    tables = small_tables()
    tables["Policy"] = [{"key": key, "value": value} for key, value in rows]
    return tables


def test_every_policy_key_is_read() -> None:
    tables = policy_tables(
        ("Overhead_Frac", 0.2),
        ("gap", 0.01),
        ("time_limit_s", 5),
        ("price_stale_days", 30),
        ("shape", "Nearest"),
        ("goodput_kinds", "measured;estimated"),
        ("currency", "EUR"),
        ("start_date", datetime.date(2027, 4, 1)),
        ("today", "2026-12-01"),
        ("UTC offset (hours)", 1),
        ("gpus", "80-g"),
        ("purchases", "On-demand;reserved"),
        ("providers", None),
    )
    policy = load_tables(tables).case.policy
    assert (policy.overhead_frac, policy.gap, policy.time_limit_s, policy.price_stale_days) == (0.2, 0.01, 5, 30)
    assert (policy.shape, policy.goodput_kinds, policy.currency) == ("nearest", ("measured", "estimated"), "EUR")
    assert (policy.start_date, policy.today) == (datetime.date(2027, 4, 1), datetime.date(2026, 12, 1))
    assert (policy.utc_offset_h, policy.gpus, policy.purchases, policy.providers) == (1, ("80G",), ("on_demand", "reserved"), ())


@pytest.mark.parametrize(
    ("row", "code", "cell"),
    [
        (("overhead_frac", 10), "FRACTION_OUT_OF_RANGE", "B2"),
        (("time_limit_s", "a minute"), "NOT_A_NUMBER", "B2"),
        (("start_date", "1/4/2027"), "NOT_A_DATE", "B2"),
        (("shape", "closest"), "UNKNOWN_CHOICE", "B2"),
        (("purchases", "rented"), "UNKNOWN_CHOICE", "B2"),
        (("overhead_fraction", 0.2), "UNKNOWN_KEY", "A2"),
        (("gpus", "B300"), "UNKNOWN_GPU", "B2"),
        (("providers", "Acme"), "UNKNOWN_PROVIDER", "B2"),
        (("regions", "moon"), "UNKNOWN_REGION", "B2"),
    ],
)
def test_policy_rows_that_are_refused(row: tuple[str, Any], code: str, cell: str) -> None:
    errors = errors_of(policy_tables(row), bare())
    assert [(error.code, error.sheet, error.cell) for error in errors] == [(code, "Policy", cell)]


def test_policy_rows_that_are_warned_of() -> None:
    tables = policy_tables(
        ("approved by", "finance"), ("today", "2026-11-29"), ("start_date", "2026-10-01"), ("gpus", "80g;B300")
    )
    warnings = load_tables(tables, bare()).warnings
    assert [(warning.code, warning.cell) for warning in warnings] == [
        ("UNKNOWN_KEY", "A2"),
        ("START_IN_THE_PAST", "B4"),
        ("UNKNOWN_GPU", "B5"),
    ]


def test_a_policy_key_stated_twice() -> None:
    errors = errors_of(policy_tables(("gap", 0.1), ("Gap", 0.2)), bare())
    assert [(error.code, error.cell) for error in errors] == [("DUPLICATE_KEY", "A3")]


def test_the_command_line_wins_over_the_policy() -> None:
    tables = policy_tables(("gap", 0.1), ("time_limit_s", 5), ("providers", "x"), ("today", "2026-11-29"))
    for offer in tables["Offers"]:
        offer.update(provider="Acme", region="Mars")
    policy = load_tables(
        tables, bare(gap=0.002, time_limit_s=7.0, providers=("acme",), regions=("mars",), gpus=("80g",))
    ).case.policy
    assert (policy.gap, policy.time_limit_s) == (0.002, 7)
    assert (policy.providers, policy.regions, policy.gpus) == (("acme",), ("mars",), ("80G",))


def test_strict_turns_warnings_into_refusals() -> None:
    tables = small_tables()
    tables["Offers"][0]["Colour"] = "red"
    for options in (bare(strict=True), bare(reader=ReaderOptions(strict=True))):
        assert [error.code for error in errors_of(tables, options)] == ["UNKNOWN_COLUMN"]
    assert len(load_tables(tables, bare()).warnings) == 1


def test_existing_contracts_reach_the_case() -> None:
    case = load_tables(small_tables()).case
    assert case.nodes_existing("reserved") == 1
    tables = small_tables()
    tables["Existing"][0]["expires"] = "2026-12-31"
    assert load_tables(tables).case.nodes_existing("reserved") == 0
