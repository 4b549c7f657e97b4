"""The curve on Sizing: $/M tokens of a fleet against its utilisation, and the API beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.report.constants import CURVE_POINTS
from optimizer.report.grid import cell_here, range_ref
from optimizer.report.writer import PlanSheet
from optimizer.units import SECONDS_PER_HOUR, TOKENS_PER_MTOK

if TYPE_CHECKING:
    from optimizer.report.places import Places
    from optimizer.report.sheets.sizing import PoolSizing


def draw_curve(sheet: PlanSheet, places: Places, priced: list[PoolSizing]) -> None:
    """$/M tokens against utilisation for the pool with most demand, of those with a price, and its API price as a flat line."""
    if not priced:
        return
    pool = max(priced, key=lambda item: float(item.values["mean"]))
    name, top = pool.pool.pool, places.sizing.curve_top
    formats = sheet.book.formats
    sheet.text(top - 1, 0, f"Cost against utilisation: {name}, the fleet sized above", fmt=formats.heading())
    has_api = pool.pair is not None
    for col, (label, style) in enumerate(
        (("Utilisation, share of peak", "pct"), ("Fleet, $/M", "usd_mtok"), ("API, $/M", "usd_mtok"))
    ):
        if col < 2 or has_api:
            sheet.text(top, col, label, fmt=formats.header(style))
    here = places.sizing.here
    at_peak = f"{here('peak', name)}*seconds_per_hour/tokens_per_mtok"
    values = pool.values
    for place, point in enumerate(CURVE_POINTS):
        row = top + 1 + place
        sheet.formula(row, 0, f"={places.curve_cells[place]}", point, "pct")
        price = values["usd_h"] / (values["peak"] * SECONDS_PER_HOUR / TOKENS_PER_MTOK * point)
        sheet.formula(row, 1, f"={here('usd_h', name)}/({at_peak}*{cell_here(row, 0)})", price, "usd_mtok")
        if has_api:
            sheet.formula(row, 2, f"={here('api_price', name)}", values["api_price"], "usd_mtok")
    last = top + len(CURVE_POINTS)
    chart = sheet.book.workbook.add_chart({"type": "scatter", "subtype": "straight_with_markers"})
    chart.add_series(
        {
            "name": [sheet.name, top, 1],
            "categories": f"={range_ref(sheet.name, top + 1, 0, last, 0)}",
            "values": f"={range_ref(sheet.name, top + 1, 1, last, 1)}",
            "line": {"color": "#0072B2", "width": 2},
            "marker": {"type": "circle", "size": 5, "fill": {"color": "#0072B2"}},
        }
    )
    if has_api:
        chart.add_series(
            {
                "name": [sheet.name, top, 2],
                "categories": f"={range_ref(sheet.name, top + 1, 0, last, 0)}",
                "values": f"={range_ref(sheet.name, top + 1, 2, last, 2)}",
                "line": {"color": "#CC79A7", "width": 2.25, "dash_type": "dash"},
                "marker": {"type": "none"},
            }
        )
    chart.set_title({"name": f"$/M output tokens against utilisation, {name}", "name_font": {"size": 11}})
    chart.set_x_axis({"name": "Utilisation, share of peak demand", "num_format": "0%", "min": 0, "max": 1})
    chart.set_y_axis(
        {"name": "$/M output tokens", "num_format": "0.00", "major_gridlines": {"visible": True, "line": {"color": "#D9E2E5"}}}
    )
    chart.set_legend({"position": "bottom"})
    chart.set_size({"width": 620, "height": 300})
    sheet.raw.insert_chart(
        top + len(CURVE_POINTS) + 2,
        0,
        chart,
        {
            "description": f"Cost per million output tokens of the fleet of pool {name} at utilisations from 10 to 100 % of peak"
            + (", with the API price as a flat line." if has_api else ".")
        },
    )
