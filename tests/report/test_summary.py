"""The terminal summary: what to buy, what it costs, against what; in words that never claim more than was proven."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import openpyxl
import pytest

from optimizer.errors import Problem
from optimizer.plan.plan import Baselines, InfeasibleLimit
from optimizer.report.plan_book import plan_workbook_bytes
from optimizer.report.result import PlanResult
from optimizer.report.summary import summary_lines
from optimizer.report.words import decision_sentences, group_warnings
from tests.report import plans


def text_of(result: PlanResult) -> str:
    return "\n".join(summary_lines(result))


def cells_of(result: PlanResult, sheet: str) -> list[Any]:
    page = openpyxl.load_workbook(io.BytesIO(plan_workbook_bytes(result)), data_only=True)[sheet]
    return [cell.value for row in page.iter_rows() for cell in row]


def test_seed1() -> None:
    text = text_of(plans.seed1())
    assert "Proven: no plan is cheaper." in text
    assert "within $0.00/day of the best possible" in text
    assert "Site dc: 7 nodes, 2 racks, 100.1 kW" in text
    assert "Everything from the API: $6,720.00/day, $3,360.00/day more (100 %)" in text
    assert "Reserve the trough, rest on demand: not possible" in text
    line = next(line for line in summary_lines(plans.seed1()) if line.startswith("flat"))
    assert line.split() == ["flat", "Reserved", "7", "B300", "56", "$3,360.00", "2027-01-01"]
    assert text.endswith("Workbook: plan.xlsx")


def test_a_gap_left_open_is_not_called_optimal() -> None:
    text = text_of(plans.mixed())
    assert "Time limit reached" in text and "optimal" not in text.casefold() and "Proven" not in text
    assert "within $100.00/day of the best possible" in text
    assert "up to 1" in text and "M tok/day" in text


def test_a_search_that_the_user_ended_is_not_called_a_time_limit() -> None:
    result = plans.mixed()
    assert result.plan is not None
    solver = result.plan.solver.model_copy(update={"stopped": True})
    stopped = replace(result, plan=result.plan.model_copy(update={"solver": solver}))
    text = text_of(stopped)
    assert text.startswith("Stopped by the user: a plan that works") and "Time limit" not in text
    pages = {name: {str(cell) for cell in cells_of(stopped, name)} for name in ("Summary", "Log")}
    assert "stopped, gap open" in pages["Summary"] and not any("ime limit" in cell for cell in pages["Summary"])
    assert any(cell.startswith("gap_open: Stopped by the user") for cell in pages["Log"])
    none = replace(
        stopped, status="no_plan", plan=None, bound_usd_per_day=12.0, run=replace(stopped.run, solver=solver),
    )
    text = text_of(none)
    assert text.startswith("Stopped by the user before any plan was found") and "--time-limit" not in text


def test_denominators_are_named() -> None:
    text = text_of(plans.mixed())
    assert "/M output tokens of the forecast" in text
    assert "/M tokens it serves" in text and "ran at full goodput" in text


def test_baselines_that_were_skipped_are_not_shown() -> None:
    result = plans.seed1()
    assert result.plan is not None
    skipped = replace(result, plan=result.plan.model_copy(update={"baselines": Baselines()}))
    assert "not possible" not in text_of(skipped)


def test_other_currency() -> None:
    result = plans.seed1()
    assert result.case is not None
    policy = result.case.policy.model_copy(update={"currency": "EUR"})
    text = text_of(replace(result, case=result.case.model_copy(update={"policy": policy})))
    assert "EUR 3,360.00/day" in text and "$" not in text.split("Warnings")[0].replace("$/", "")


def test_refused_infeasible_and_no_plan() -> None:
    problem = Problem("UNIT_MISSING", "No unit.", "Add --unit.", file="f.xlsx", sheet="Demand", cell="B1")
    assert "f.xlsx, Demand!B1: No unit. Add --unit. [UNIT_MISSING]" in text_of(
        PlanResult(status="refused", run=plans.RUN, errors=(problem,))
    )
    limit = InfeasibleLimit(
        limit="Site power", site="dc", hour=14, missing=20.8, unit="kW", relaxation="20.8 kW more", usd_per_day=99.0
    )
    text = text_of(PlanResult(status="infeasible", run=plans.RUN, infeasible=(limit,)))
    assert "Site power (dc, 14:00): 20.8 kW missing" in text and "would work: 20.8 kW more, $99.00/day" in text
    assert "$12.00/day" in text_of(PlanResult(status="no_plan", run=plans.RUN, bound_usd_per_day=12.0))


def test_decision_in_two_sentences() -> None:
    plan = plans.mixed().plan
    assert plan is not None
    what, cost = decision_sentences(plan, "USD")
    assert what == (
        "Keep 2 H nodes already under contract, reserve 2 G nodes, use up to 1 G node on demand, use up to 1 G node on spot "
        "and send 8.9 % of output tokens to an API."
    )
    assert cost.startswith("It costs $1,216.40 a day, ") and cost.endswith("within $100.00/day of the best possible.")
    plan = plans.seed1().plan
    assert plan is not None and decision_sentences(plan, "USD")[0] == "Reserve 7 B300 nodes."


def test_warnings_are_grouped_and_the_ones_that_matter_come_first() -> None:
    stale = Problem("PRICE_STALE", "a"), Problem("PRICE_STALE", "b")
    groups = group_warnings([Problem("SCALED_FORMAT", "x"), *stale, Problem("OCCUPANCY_ONE", "y")])
    assert [(group.code, group.number, group.matters) for group in groups] == [
        ("OCCUPANCY_ONE", 1, True), ("PRICE_STALE", 2, True), ("SCALED_FORMAT", 1, False),
    ]  # fmt: skip
    assert groups[1].words() == "a [PRICE_STALE] (and 1 more like it)"


@pytest.mark.parametrize("name", list(plans.RESULTS))
def test_lines_are_plain(name: str) -> None:
    for line in summary_lines(plans.RESULTS[name]()):
        assert "\x1b" not in line and "\n" not in line and line == line.rstrip()
