"""What explains a plan in its workbook: next source of each hour, why, worth of limits, entry prices, figures changed by hand."""

from __future__ import annotations

import io
import tracemalloc
from dataclasses import replace
from typing import Any

import openpyxl
import pytest

from optimizer.candidates.option import Candidates
from optimizer.report.changed_inputs import changed_figures, changed_words
from optimizer.report.compare_cells import compare_rewritten, open_cells
from optimizer.report.figures import Figures
from optimizer.report.marginal import FREE, IDLE, RUNNING, Marginal
from optimizer.report.plan_book import WORKINGS, plan_cells, plan_workbook_bytes
from optimizer.report.pool_figures import PoolFigures
from optimizer.report.result import PlanResult
from optimizer.report.summary import summary_lines
from optimizer.report.words import LP_NOTE
from optimizer.studies.entry import EntryPrice
from optimizer.studies.explanation import PlanExplanation
from optimizer.studies.worth import Worth
from optimizer.workbook.schema import GOODPUT, OFFERS
from tests.plan import builders
from tests.report import plans


def marginal(result: PlanResult) -> Marginal:
    figures = Figures(result)
    return Marginal(figures, PoolFigures(figures))


def words(result: PlanResult, pool: str) -> list[str]:
    return ["None" if source is None else source.words for source in marginal(result).by_pool[pool]]


def rows_of(result: PlanResult, sheet: str) -> list[list[Any]]:
    page = openpyxl.load_workbook(io.BytesIO(plan_workbook_bytes(result)), data_only=True)[sheet]
    return [[cell.value for cell in row] for row in page.iter_rows()]


# ---------------------------------------------------------------------- next source


def test_replicas_that_run_serve_the_next_token_where_headroom_leaves_room() -> None:
    """7 replicas of 2,400 less one lost leave 14,400: room in every running hour; nodes stand idle where nothing runs."""
    found = words(plans.seed1(), "chat")
    running = [hour for hour in range(24) if builders.SEED1_DEMAND[hour] > 0]
    assert [found[hour] for hour in running] == [RUNNING] * len(running)
    assert {found[hour] for hour in range(24) if hour not in running} == {IDLE}


def test_an_api_serves_the_next_token_where_it_has_room_and_nothing_else() -> None:
    source = marginal(plans.api_alone()).by_pool[plans.HOSTILE_POOL][5]
    assert source is not None and source.words == "API"
    # 600 tok/s of output; the price of one tok/s in an hour, input included.
    case = plans.api_alone().case
    assert case is not None
    ratio = (3 * 600 + 5) / 600
    price = 8.0 + ratio * (0.75 * 2.0 + 0.25 * 0.5)
    assert source.usd_per_h == pytest.approx(price * 3600 / 1e6)


def test_an_api_that_is_full_serves_no_more() -> None:
    built = plans.api_only()
    full = tuple(row.model_copy(update={"max_output_tps": 2400.0}) for row in built.case.api_prices)
    found = words(plans.result_of(built._replace(case=built.case.model_copy(update={"api_prices": full}))), plans.HOSTILE_POOL)
    assert found[22:] == ["API", "None"]


def test_the_dearest_pool_stands_for_the_fleet() -> None:
    """Pool bulk serves 550 of 600 tok/s on its only replica, and has room; chat lives on its headroom."""
    found = marginal(plans.mixed())
    chat, bulk = found.by_pool["chat"][12], found.by_pool["bulk"][12]
    fleet = found.of_fleet(12)
    known = [source.usd_per_h for source in (chat, bulk) if source is not None]
    assert fleet is not None and fleet.usd_per_h == max(known)
    assert bulk is not None and bulk.words == RUNNING


def test_gpus_left_free_on_nodes_in_use_come_before_idle_nodes() -> None:
    """A node holds two replicas of 4 GPUs. Three of them run on two nodes, with nothing to spare: a fourth has its place."""
    nodes, row = builders.node_type("g8"), builders.goodput(100.0, 4)
    chosen = builders.option("chat", {"chat": row}, nodes)
    built = builders.case(
        workloads=[builders.workload("chat", [300.0] * 24)], goodput_rows=[row],
        offers=[builders.offer("flat", held_usd_per_node_h=1.0, term_months=12.0)],
    )  # fmt: skip
    made = builders.decision(
        new={"flat": 3},
        used={("day", hour, "flat"): 2 for hour in builders.HOURS},
        replicas=[builders.replicas("day", hour, chosen, 3) for hour in builders.HOURS],
        loads=[builders.load("day", hour, chosen, "chat", 300.0) for hour in builders.HOURS],
    )
    candidates = Candidates(options=(chosen,), offers=built.offers)
    assert set(words(plans.result_of(builders.Built(built, candidates, made)), "chat")) == {FREE}


def test_it_stands_on_hourly_and_pool_hours() -> None:
    rows = rows_of(plans.seed1(), "Hourly")
    column = rows[4].index("Next tok/s from")
    assert [row[column] for row in rows[6:30]] == words(plans.seed1(), "chat")
    assert "Next tok/s: what would serve one more at least cost" in rows[2][0]


# ---------------------------------------------------------------------- why, worth, entry


def explained() -> PlanResult:
    result = plans.seed1()
    assert result.plan is not None
    rows = (
        Worth(limit="racks", what="site dc", words="+1 rack at site dc", amount=1, unit="racks", usd_per_day=-12.5,
              least_usd_per_day=-13.0, most_usd_per_day=-12.0, found="re-solved", site="dc"),
        Worth(limit="total_kw", what="site dc", words="+1 kW at site dc", amount=1, unit="kW"),
        Worth(limit="max_nodes", what="offer flat", words="+1 node of offer flat", amount=1, unit="nodes", usd_per_day=-3.25,
              found="LP price"),
    )  # fmt: skip
    entry = EntryPrice(kind="offer", name="other", gpu="B300", offers=("other",), usd_per_node_h=30.0, factor=0.5,
                       entry_usd_per_node_h=15.0, found="re-solved")  # fmt: skip
    fields = {"kind": "offer", "gpu": "B300", "usd_per_node_h": 12.0, "found": "LP price"}
    others = (
        EntryPrice(name="third", offers=("third",), factor=1.0, entry_usd_per_node_h=12.0, **fields),
        EntryPrice(name="fourth", offers=("fourth",), factor=0.0, entry_usd_per_node_h=0.0, **fields),
    )
    told = PlanExplanation(
        why=(), headroom=rows[:1], worth=rows, entry=(entry, *others), cost_usd_per_day=1.0, bound_usd_per_day=1.0
    )
    return replace(result, explanation=told)


def test_why_stands_on_summary_and_purchases_and_in_the_terminal() -> None:
    lines = summary_lines(plans.seed1())
    sentence = lines[lines.index("Why this mix:") + 1].strip()
    assert sentence.startswith("flat: 7 B300 nodes reserved")
    for sheet in ("Summary", "Purchases"):
        assert any(str(row[0]).startswith("flat: 7 B300 nodes reserved") for row in rows_of(plans.seed1(), sheet)), sheet


def test_worth_of_limits_and_headroom_stand_under_the_constraints() -> None:
    rows = rows_of(explained(), "Constraints")
    racks = [row for row in rows if row[0] == "+1 rack at site dc"]
    assert [row[3:7] for row in racks] == [[-12.5, -13, -12, "re-solved"]] * 2
    unknown = next(row for row in rows if row[0] == "+1 kW at site dc")
    assert unknown[3:7] == [None, None, None, "not computed: time"]
    place = next(number for number, row in enumerate(rows) if row[0] == "+1 node of offer flat")
    assert rows[place][3:7] == [-3.25, None, None, "LP price"]
    assert rows[place + 1][0] == LP_NOTE and [row[0] for row in rows].count(LP_NOTE) == 1
    assert not any("--explain" in str(row[0]) for row in rows)
    assert any("--explain" in str(row[0]) for row in rows_of(plans.seed1(), "Constraints"))


def test_explanations_are_no_difference_to_a_plan_without_them() -> None:
    content = plan_workbook_bytes(explained())
    formulas, values = open_cells(content, values=False), open_cells(content, values=True)
    assert compare_rewritten(plan_cells(plans.seed1()), formulas, values) == []
    assert compare_rewritten(plan_cells(plans.api_alone()), formulas, values) != []


def test_entry_prices_stand_under_the_purchases() -> None:
    row = next(row for row in rows_of(explained(), "Purchases") if row[0] == "other")
    assert row[:7] == ["other", "offer", "B300", 30, 15, 0.5, "re-solved"]
    column = [row[0] for row in rows_of(explained(), "Purchases")]
    assert column[column.index("other"):][:4] == ["other", "third", "fourth", LP_NOTE]


def test_the_terminal_tells_what_was_solved_again() -> None:
    text = "\n".join(summary_lines(explained()))
    assert "+1 rack at site dc: $12.50/day less" in text and "+1 kW at site dc: not computed: time" in text
    assert "other: at $15.00 a node-hour instead of $30.00" in text
    assert "third: at its list price of $12.00 a node-hour already (LP price)" in text and "fourth" not in text
    assert "+1 node of offer flat: $3.25/day less (LP price)" in text and text.count(LP_NOTE) == 1


# ---------------------------------------------------------------------- changed from catalog


LAMBDA = {"offer": "lambda-b200x8-on_demand", "used_usd_per_node_h": 60.0}


def test_a_price_that_differs_from_the_catalog_is_told() -> None:
    changed = changed_figures(OFFERS, LAMBDA)
    listed = changed["used_usd_per_node_h"]
    assert listed != 60.0 and f"used_usd_per_node_h {listed:.10g}" in changed_words(changed)
    assert "used_usd_per_node_h" not in changed_figures(OFFERS, {**LAMBDA, "used_usd_per_node_h": listed})


def test_rows_that_no_catalog_names_are_not_marked() -> None:
    assert changed_figures(OFFERS, {**LAMBDA, "offer": "ours"}) == {}
    assert changed_figures(GOODPUT, {"output_tps": 1.0}) == {}


def test_the_cell_is_marked_and_the_note_quotes_the_catalog() -> None:
    built = builders.seed1()
    offers = tuple(
        row.model_copy(update={"offer": LAMBDA["offer"], "held_usd_per_node_h": 20.0}) for row in built.case.offers
    )
    decision = built.decision.model_copy(update={
        "nodes_new": tuple(row.model_copy(update={"offer": LAMBDA["offer"]}) for row in built.decision.nodes_new),
        "node_uses": tuple(row.model_copy(update={"offer": LAMBDA["offer"]}) for row in built.decision.node_uses),
    })  # fmt: skip
    candidates = built.candidates.model_copy(update={"offers": offers})
    renamed = built._replace(case=built.case.model_copy(update={"offers": offers}), candidates=candidates, decision=decision)
    page = openpyxl.load_workbook(io.BytesIO(plan_workbook_bytes(plans.result_of(renamed))))["Offers"]
    header = {str(cell.value): f"{cell.column_letter}6" for cell in page[5] if cell.value}
    marked, plain = page[header["used_usd_per_node_h"]], page[header["lot_nodes"]]
    assert marked.border.left.style == "medium" and plain.border.left.style == "thin" and not marked.protection.locked
    assert str(page[header["note"]].value).startswith("catalog: ")


# ---------------------------------------------------------------------- long tables


def test_memory_does_not_grow_with_the_long_tables() -> None:
    """Long tables go to disk as their rows are written. Kept, a row would take 12 kB and more."""

    def peak(day_types: int) -> tuple[int, int]:
        result = plans.many(4, day_types)
        tracemalloc.start()
        content = plan_workbook_bytes(result)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        sheets = openpyxl.load_workbook(io.BytesIO(content), read_only=True)
        return most, sum(len(list(sheets[name].rows)) for name in WORKINGS)

    (small, few), (large, many) = peak(2), peak(8)
    assert many > 3.5 * few
    assert large - small < 4_000 * (many - few)
