"""What the long tables by hour share: columns of a slice, sums of named rows, page set-up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from optimizer.report.figures import Figures
from optimizer.report.grid import Col, Grid
from optimizer.report.writer import PlanSheet

if TYPE_CHECKING:
    from optimizer.report.places import Places

TABLE_TOP = 4
DAY = Col("day_type", "Day type", width=10)
HOUR = Col("hour", "Hour", "h", "hour", 6)
WEIGHT = Col("weight", "Weight", "h/day", "n2", 8)


def write_slice(sheet: PlanSheet, grid: Grid, row: int, places: Places, figures: Figures, slot: int) -> None:
    """Day type, hour and weight of a slice."""
    day_type, hour = figures.slices[slot]
    sheet.text(row, grid.col("day_type"), day_type)
    sheet.number(row, grid.col("hour"), hour, "hour")
    sheet.formula(row, grid.col("weight"), f"={places.hourly.ref('weight', slot)}", figures.weights[slot], "n2")


def write_ratio(
    sheet: PlanSheet, row: int, grid: Grid, places: Places, workload: str, key: tuple[str, int], value: float
) -> None:
    """Input tokens per output token; 0 where nobody states any input."""
    text = places.ratio(workload, key)
    if text is None:
        sheet.number(row, grid.col("ratio"), 0, "n2")
    else:
        sheet.formula(row, grid.col("ratio"), f"={text}", value, "n2")


def finish_rows(sheet: PlanSheet, grid: Grid, frozen: int) -> None:
    """Page set-up and filter of a sheet that is one long table."""
    sheet.finish(freeze=(grid.first, frozen), repeat=(0, grid.top + 1))
    sheet.raw.autofilter(grid.top + 1, grid.left, grid.last, grid.right)


def sum_cells(
    sheet: PlanSheet, row: int, col: int, source: Grid, key: str, rows: Sequence[int], value: float, style: str
) -> None:
    """A cell that adds up the rows named of another sheet's column; 0 where there are none."""
    if not rows:
        sheet.number(row, col, 0, style)
        return
    runs: list[list[int]] = []
    for number in sorted(rows):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    parts = [source.ref(key, first) if first == last else source.span(key, first, last + 1) for first, last in runs]
    text = parts[0] if len(parts) == 1 and runs[0][0] == runs[0][1] else f"SUM({','.join(parts)})"
    sheet.formula(row, col, f"={text}", value, style)
