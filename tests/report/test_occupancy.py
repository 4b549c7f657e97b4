"""Sheet Occupancy: how busy so many live replicas may be, proven by formula; and what the other sheets make of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimizer.domain.waiting import occupancy_for
from optimizer.report.plan_book import plan_cells, plan_workbook_bytes
from optimizer.report.sheets.occupancy import OCCUPANCY, fewest_live
from optimizer.workbook.load import load_case
from optimizer.workbook.options import LoadOptions
from tests.helpers.recalc import edit_cells, recalculated
from tests.report import plans

FIRST_ROW = 6
POOL, LIVE, SHARE, _, _, WAITS, LIMIT, KEEPS = range(8)


def test_a_row_for_every_number_of_live_replicas() -> None:
    sheet = plan_cells(plans.auto())[OCCUPANCY]
    rows = [[sheet.values[row, col] for col in range(8)] for row in range(FIRST_ROW, FIRST_ROW + 12)]
    assert [row[LIVE] for row in rows] == list(range(1, 13))
    assert [row[SHARE] for row in rows] == [occupancy_for(live, 0.01) for live in range(1, 13)]
    assert all(row[WAITS] == pytest.approx(0.01, rel=1e-9) and row[LIMIT] == 0.01 and row[KEEPS] is True for row in rows)
    assert (FIRST_ROW + 12, LIVE) not in sheet.values


def test_no_sheet_where_nothing_is_auto() -> None:
    assert OCCUPANCY not in plan_cells(plans.seed1())


def test_every_hour_looks_its_occupancy_up() -> None:
    sheets = plan_cells(plans.auto())
    hours = sheets["Pool hours"]
    column = next(col for (row, col), value in hours.values.items() if value == "Planned occupancy")
    assert hours.values[FIRST_ROW, column] == occupancy_for(12, 0.01)
    assert "INDEX(Occupancy!$C$7:$C$18," in hours.formulas[FIRST_ROW, column]
    texts = [value for value in sheets["Constraints"].values.values() if isinstance(value, str)]
    assert "chat, of the auto one" in texts


def test_sizing_counts_the_rows_that_carry_too_little() -> None:
    """11 at 0.60256 carry 6.63 replicas' worth of work, 10 carry 5.78; 12 less the one lost carry 6.87. 9,000 tok/s are 6.43."""
    sheet = plan_cells(plans.auto())["Sizing"]
    steps = {sheet.values[row, 0]: sheet.values.get((row, 2)) for row, col in sheet.values if col == 0}
    assert (steps["Replicas at peak"], steps["Replicas for the bad day"], steps["Replicas in all"]) == (11, 12, 15)
    assert steps["Planned occupancy"] == occupancy_for(12, 0.01)


def test_fewest_live() -> None:
    pool = plans.auto().case.pools[0]  # type: ignore[union-attr]
    assert [fewest_live(pool, 6.43), fewest_live(pool, 6.43, 1), fewest_live(pool, 0.0)] == [11, 12, 0]


def test_the_plan_workbook_reads_back_as_auto(tmp_path: Path) -> None:
    path = tmp_path / "plan.xlsx"
    path.write_bytes(plan_workbook_bytes(plans.auto()))
    (pool,) = load_case(str(path), LoadOptions()).case.pools
    assert (pool.occupancy_frac, pool.wait_prob_max_frac) == (None, 0.01)


@pytest.mark.libreoffice
@pytest.mark.parametrize("value", [0.6250, 0.66])
def test_an_occupancy_that_is_too_high_is_told_by_the_workbook(value: float, tmp_path: Path) -> None:
    path, changed = tmp_path / "plan.xlsx", tmp_path / "changed.xlsx"
    path.write_bytes(plan_workbook_bytes(plans.auto()))
    edit_cells(path, changed, {(OCCUPANCY, "C18"): value})
    found = recalculated(changed)[OCCUPANCY]
    assert found["F18"] > 0.01005
    assert (found["H17"], found["H18"], found["B2"]) == (True, False, False)
