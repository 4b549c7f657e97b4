"""Bad day: the tightest hour of each contingency, as the audit replayed it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.plan.plan import ContingencyMargin
from optimizer.report.constants import TOLERANCE
from optimizer.report.figures import Figures
from optimizer.report.grid import Col, Grid
from optimizer.report.sheets.slices import TABLE_TOP
from optimizer.report.writer import PlanSheet

if TYPE_CHECKING:
    from optimizer.report.places import Places

BAD_DAY = "Bad day"


def bad_day_grid(figures: Figures) -> Grid:
    """A row for each contingency and pool."""
    cols = (
        Col("contingency", "Bad day", width=26),
        Col("pool", "Pool", width=16),
        Col("replicas_lost", "Replicas lost", "replicas", "int", 9),
        Col("nodes_lost", "Nodes lost", "nodes", "int", 9),
        Col("spot_lost", "Spot lost", "share", "pct", 9),
        Col("surge", "Demand surge", "share", "pct", 9),
        Col("absorbs", "API absorbs", "yes/no", "text", 9),
        Col("day_type", "Tightest day type", width=12),
        Col("hour", "Tightest hour", "h", "hour", 9),
        Col("demand", "Demand then, that cannot wait", "tok/s", "n1", 12),
        Col("asked", "Asked: surged demand", "tok/s", "n1", 12),
        Col("left", "Left: replicas and API could serve", "tok/s", "n1", 14),
        Col("margin", "Margin", "tok/s", "n1", 12),
        Col("survives", "Survives", "TRUE/FALSE", "bool", 10),
    )
    return Grid(BAD_DAY, TABLE_TOP, cols, len(figures.plan.margins))


def asked_tps(places: Places, figures: Figures, margin: ContingencyMargin) -> float:
    """Surged demand of the pool in the tightest hour."""
    row = next(row for row in figures.case.contingencies_of(margin.pool) if row.contingency == margin.contingency)
    slot = figures.place_of[margin.day_type, margin.hour]
    return places.pools.hours[margin.pool][slot].prompt * (1 + row.demand_surge_frac)


def survives(places: Places, figures: Figures, margin: ContingencyMargin) -> bool:
    """Whether the margin is not below 0 by more than rounding."""
    return margin.margin_tps >= -TOLERANCE * max(1.0, asked_tps(places, figures, margin))


def fill_bad_day(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """Tightest hours, replayed by the audit."""
    grid, inputs = places.bad_day, places.inputs
    sheet.title(
        "Bad day",
        "The tightest hour of each bad day. Margin comes from the audit, which replays every hour and the loss of every option.",
    )
    sheet.header(grid)
    for place, margin in enumerate(figures.plan.margins):
        row = grid.first + place
        item = next(item for item in figures.case.contingencies_of(margin.pool) if item.contingency == margin.contingency)
        number = inputs.contingencies.row_of(margin.contingency, margin.pool)
        slot = figures.place_of[margin.day_type, margin.hour]
        here = {col.key: grid.here(col.key, place) for col in grid.cols}
        sheet.text(row, grid.col("contingency"), margin.contingency)
        sheet.text(row, grid.col("pool"), margin.pool)
        for key, column, value, style in (
            ("replicas_lost", "replicas_lost", item.replicas_lost, "int"),
            ("nodes_lost", "nodes_lost", item.nodes_lost, "int"),
            ("spot_lost", "spot_lost_frac", item.spot_lost_frac, "pct"),
            ("surge", "demand_surge_frac", item.demand_surge_frac, "pct"),
            ("absorbs", "api_absorbs", "yes" if item.api_absorbs else "no", "text"),
        ):
            sheet.formula(row, grid.col(key), f"={inputs.contingencies.grid.ref(column, number)}", value, style)
        sheet.text(row, grid.col("day_type"), margin.day_type)
        sheet.number(row, grid.col("hour"), margin.hour, "hour")
        demand = places.pools.hours[margin.pool][slot].prompt
        sheet.formula(
            row, grid.col("demand"), f"={places.pool_hours.ref('prompt', places.pool_hour(margin.pool, slot))}", demand, "n1"
        )
        asked = asked_tps(places, figures, margin)
        sheet.formula(row, grid.col("asked"), f"={here['demand']}*(1+{here['surge']})", asked, "n1")
        sheet.formula(row, grid.col("left"), f"={here['asked']}+{here['margin']}", asked + margin.margin_tps, "n1")
        sheet.number(row, grid.col("margin"), margin.margin_tps, "n1", "decision")
        text = f"={here['margin']}>=0-tolerance*MAX(1,{here['asked']})"
        sheet.formula(row, grid.col("survives"), text, survives(places, figures, margin), "bool")
    if figures.plan.margins:
        sheet.show_flags(grid.first, grid.col("survives"), grid.last, grid.col("survives"))
    else:
        sheet.text(grid.first + 1, 0, "No bad day is asked for.", fmt=sheet.book.formats.note())
    sheet.finish(freeze=(grid.first, 2), repeat=(0, grid.top + 1))
