"""A plan workbook read back is the same case: what the plan rests on, no more and no less."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from optimizer.domain.case import Case
from optimizer.report.plan_book import plan_workbook_bytes
from optimizer.workbook.load import load_case
from optimizer.workbook.options import LoadOptions
from tests.report import plans

_APART = {"origin", "as_of", "as_of_text", "source", "assumed"}


def plain(rows: Any) -> list[dict[str, Any]]:
    return [row.model_dump(exclude=_APART) for row in rows]


def read_back(name: str, folder: Path) -> tuple[Case, Case]:
    path = folder / "plan.xlsx"
    path.write_bytes(plan_workbook_bytes(plans.RESULTS[name]()))
    case = plans.RESULTS[name]().case
    assert case is not None
    return case, load_case(path, LoadOptions(catalogs="none")).case


@pytest.mark.parametrize("name", list(plans.RESULTS))
def test_the_case_read_back_is_the_case_solved(name: str, tmp_path: Path) -> None:
    case, again = read_back(name, tmp_path)
    for table in ("day_types", "pools", "contingencies", "models", "goodput", "existing", "sites", "discounts"):
        assert plain(getattr(again, table)) == plain(getattr(case, table)), table
    # A workload that names no precision comes back with the model's only one.
    filled = [row.model_copy(update={"precision": row.precision or "fp8"}) for row in case.workloads]
    assert plain(again.workloads) == plain(filled)
    assert [row.api for row in again.api_prices] == [row.api for row in case.api_prices]
    if name != "api_alone":
        assert plain(again.node_types) == plain(case.node_types)
    candidates = plans.RESULTS[name]().candidates
    assert candidates is not None
    assert plain(again.offers) == plain(candidates.offers)
    assert again.policy == case.policy


def test_dates_and_sources_come_back(tmp_path: Path) -> None:
    case, again = read_back("mixed", tmp_path)
    assert [row.as_of for row in again.goodput] == [row.as_of for row in case.goodput]
    assert [row.source for row in again.offers] == [row.source for row in case.offers if row.offer != "res4"]


def test_a_single_day_stays_a_single_day(tmp_path: Path) -> None:
    """Without a DayTypes sheet none is written, so that the warning about a single day comes again."""
    _, again = read_back("seed1", tmp_path)
    assert all(day.origin.sheet is None for day in again.day_types)


def test_input_of_one_workload_alone_comes_back(tmp_path: Path) -> None:
    """The column of input is empty for the other workload, which has none."""
    case = plans.api_alone().case
    assert case is not None
    first = case.workloads[0]
    demand = tuple(day.model_copy(update={"input_tps": None}) for day in first.demand)
    second = first.model_copy(update={"workload": "other", "demand": demand})
    apis = tuple(row.model_copy(update={"max_output_tps": None, "max_input_tps": None, "max_total_tps": None, "max_rpm": None})
                 for row in case.api_prices)  # fmt: skip
    built = plans.api_only()
    flows = built.decision.overflows
    twice = (*flows, *(flow.model_copy(update={"workload": "other"}) for flow in flows))
    both = built._replace(
        case=case.model_copy(update={"workloads": (first, second), "api_prices": apis}),
        decision=built.decision.model_copy(update={"overflows": twice}),
    )
    path = tmp_path / "plan.xlsx"
    path.write_bytes(plan_workbook_bytes(plans.result_of(both)))
    again = load_case(path, LoadOptions(catalogs="none")).case
    assert [row.demand for row in again.workloads] == [first.demand, second.demand]
