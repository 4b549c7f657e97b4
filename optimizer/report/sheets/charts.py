"""The charts of the first page: capacity against demand, and cost by part; colours per purchase type are the same everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optimizer.report.figures import Figures
from optimizer.report.grid import range_ref
from optimizer.report.sheets.hourly_layout import HOURLY, capacity_types
from optimizer.report.style import DEMAND_INK, NEED_INK, PAINTS, PART_COLOURS
from optimizer.report.writer import PlanSheet

if TYPE_CHECKING:
    from optimizer.report.places import Places


def capacity_chart(sheet: PlanSheet, places: Places, figures: Figures) -> Any:
    """Stacked columns without gaps (an hour is a block), demand and need as lines."""
    grid, workbook = places.hourly, sheet.book.workbook
    first, last = grid.first, grid.last
    axis = grid.col("axis")
    categories = f"={range_ref(HOURLY, first, axis, last, axis)}"
    columns = workbook.add_chart({"type": "column", "subtype": "stacked"})
    for kind in capacity_types(figures):
        col, paint = grid.col(f"cap:{kind}"), PAINTS[kind]
        series: dict[str, Any] = {
            "name": [HOURLY, grid.top, col],
            "categories": categories,
            "values": f"={range_ref(HOURLY, first, col, last, col)}",
            "gap": 0,
            "border": {"color": "#FFFFFF", "width": 0.5},
        }
        if paint.pattern:
            series["pattern"] = {"pattern": paint.pattern, "fg_color": paint.colour, "bg_color": paint.paper}
        else:
            series["fill"] = {"color": paint.colour, "transparency": paint.clear}
        columns.add_series(series)
    lines = workbook.add_chart({"type": "line"})
    for key, name, colour, dash, width in (
        ("need", "Need with headroom", NEED_INK, "dash", 2.25),
        ("demand", "Demand", DEMAND_INK, "solid", 2.5),
    ):
        col = grid.col(key)
        lines.add_series(
            {
                "name": name,
                "categories": categories,
                "values": f"={range_ref(HOURLY, first, col, last, col)}",
                "line": {"color": colour, "width": width, "dash_type": dash},
                "marker": {"type": "none"},
                "smooth": False,
            }
        )
    columns.combine(lines)
    columns.set_title(
        {
            "name": "Capacity paid for, at the goodput of what runs on it, against demand",
            "name_font": {"size": 11, "color": "#1F2933"},
            "overlay": False,
        }
    )
    columns.set_x_axis(
        {
            "name": "Hour of the day",
            "name_font": {"size": 9},
            "num_font": {"size": 8},
            "interval_unit": 1,
            "major_tick_mark": "none",
        }
    )
    columns.set_y_axis(
        {
            "name": "Output tokens per second",
            "name_font": {"size": 9},
            "num_font": {"size": 8},
            "num_format": "#,##0",
            "min": 0,
            "major_gridlines": {"visible": True, "line": {"color": "#E3E8EA", "width": 0.5}},
        }
    )
    columns.set_legend({"position": "bottom", "font": {"size": 9}})
    columns.set_plotarea({"layout": {"x": 0.09, "y": 0.11, "width": 0.89, "height": 0.62}})
    columns.set_size({"width": 800, "height": 330})
    columns.set_chartarea({"border": {"color": "#D0D7DA"}})
    return columns


def cost_chart(sheet: PlanSheet, places: Places, figures: Figures) -> Any:
    """Bars of cost by part of the bill."""
    grid = places.cost.parts
    chart = sheet.book.workbook.add_chart({"type": "bar"})
    chart.add_series(
        {
            "name": "$/day",
            "categories": f"={grid.span('name')}",
            "values": f"={grid.span('usd')}",
            "points": [{"fill": {"color": PART_COLOURS[part]}} for part in figures.cost_parts],
            "gap": 40,
            "data_labels": {"value": True, "num_format": '#,##0;-#,##0;"-"', "font": {"size": 8}},
        }
    )
    chart.set_title({"name": "Cost by part of the bill", "name_font": {"size": 11, "color": "#1F2933"}})
    chart.set_x_axis(
        {
            "name": "$/day",
            "name_font": {"size": 9},
            "num_font": {"size": 8},
            "num_format": "#,##0",
            "min": 0,
            "major_gridlines": {"visible": True, "line": {"color": "#E3E8EA", "width": 0.5}},
        }
    )
    chart.set_y_axis(
        {
            "name": "Part of the bill",
            "name_font": {"size": 9},
            "reverse": True,
            "crossing": "max",
            "num_font": {"size": 8},
        }
    )
    chart.set_legend({"none": True})
    chart.set_size({"width": 468, "height": 330})
    chart.set_chartarea({"border": {"color": "#D0D7DA"}})
    return chart
