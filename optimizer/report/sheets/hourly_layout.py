"""Where the columns of Hourly stand, and the rates under its hours."""

from __future__ import annotations

from optimizer.report.figures import PURCHASE_ORDER, Figures
from optimizer.report.grid import Col, Grid
from optimizer.report.words import PURCHASE_LABELS

HOURLY = "Hourly"
HOURLY_TOP = 4
#: Unit of the columns that hold decisions, by which they are known again.
NODES_USED = "nodes used"
COST_LABELS = {
    "held": "Held",
    "used": "Used",
    "upfront": "Upfront",
    "energy": "Energy",
    "site": "Site",
    "discounts": "Commitments",
    "api": "API",
}
#: Rates by offer, one row each, under the hours: key and label.
RATES = (
    ("purchase", "Purchase type"),
    ("node_type", "Node type"),
    ("market", "Firm or spot"),
    ("gpus", "GPUs per node"),
    ("held", "Held, $/node-h"),
    ("used", "Used, $/node-h"),
    ("energy", "Energy, $/node-h used"),
    ("holding", "Holding all-in, $/node-h"),
)
FIRM, SPOT = "firm", "spot"


def capacity_types(figures: Figures) -> tuple[str, ...]:
    """Purchase types of the plan in the order in which charts stack them, the API last."""
    found = {line.offer.purchase for line in figures.lines}
    return (*(kind for kind in PURCHASE_ORDER if kind in found), *(("api",) if figures.api_rows else ()))


def api_limits(figures: Figures) -> tuple[tuple[str, str, str], ...]:
    """(api, column of ApiPrices, column of API hours) for every stated limit of an API in use."""
    used = dict.fromkeys(row.api for row in figures.api_rows)
    found = []
    for name in used:
        api = figures.case.api(name)
        for limit, measure in (
            ("max_output_tps", "tps"),
            ("max_input_tps", "input_tps"),
            ("max_total_tps", "both"),
            ("max_rpm", "rpm"),
        ):
            if getattr(api, limit) is not None:
                found.append((name, limit, measure))
    return tuple(found)


def hourly_grid(figures: Figures) -> Grid:
    """A row for each hour of each day type."""
    cols = [
        Col("day_type", "Day type", width=16),
        Col("hour", "Hour", "h", "hour", 8),
        Col("weight", "Weight", "h/day", "n2", 8),
        Col("demand", "Demand", "tok/s", "n1", 11),
        Col("run", "To run", "tok/s", "n1", 11),
        Col("firm", "On firm replicas", "tok/s", "n1", 11),
        Col("spot", "On spot replicas", "tok/s", "n1", 10),
        Col("api", "API", "tok/s", "n1", 10),
        Col("gap", "Served less to run", "tok/s", "n1", 9),
        Col("live", "Live", "replicas", "int", 8),
        Col("total", "Total", "replicas", "int", 8),
        Col("spare", "Spare", "replicas", "int", 8),
        Col("busy", "Work", "replicas", "n1", 8),
        Col("use", "Occupancy", "of live", "pct", 10),
        Col("next", "Next tok/s from", width=10),
    ]
    cols += [Col(f"used:{line.offer.offer}", line.offer.offer, NODES_USED, "int", 11) for line in figures.lines]
    cols += [
        Col(f"cost_{part}", COST_LABELS[part], "$/h", "usd2", 12 if part == "discounts" else 9) for part in figures.cost_parts
    ]
    cols += [Col("cost", "Cost", "$/h", "usd2", 10), Col("cost_day", "Of the day", "$/day", "usd2", 11)]
    cols += [Col("axis", "Label of the chart", width=12)]
    cols += [Col("need", "Need with headroom", "tok/s", "n1", 11)]
    cols += [Col(f"cap:{kind}", PURCHASE_LABELS[kind], "tok/s capacity", "n1", 11) for kind in capacity_types(figures)]
    cols += [
        Col(f"held:{line.offer.offer}", line.offer.offer, "nodes held", "int", 11) for line in figures.lines if line.offer.is_held
    ]
    for node_type, spot in figures.markets:
        name = f"{node_type} {SPOT if spot else FIRM}"
        key = market_key(node_type, spot)
        cols += [
            Col(f"gpus:{key}", name, "GPUs taken", "n1", 11),
            Col(f"free:{key}", name, "GPUs free", "n1", 11),
            Col(f"rate:{key}", name, "$/GPU-h taken", "usd2", 11),
            Col(f"tps:{key}", name, "tok/s per GPU", "n1", 11),
        ]
    cols += [
        Col(f"limit:{api}:{limit}", f"{api} {limit}", "requests/min" if limit == "max_rpm" else "tok/s", "n1", 12)
        for api, limit, _ in api_limits(figures)
    ]
    cols += [Col(f"spent:{row.discount}", row.discount, "$/h of commitment", "usd2", 12) for row in figures.commitments]
    return Grid(HOURLY, HOURLY_TOP, tuple(cols), len(figures.slices))


def spent_usd_per_h(figures: Figures, discount: str, place: int) -> float:
    """$/h of a commitment that nodes take in a slice."""
    return sum(
        row.nodes * figures.discounted_price(discount, row.offer)
        for row in figures.covered_rows
        if row.discount == discount and figures.place_of[row.day_type, row.hour] == place
    )


def axis_label(day_type: str, hour: int, several: bool) -> str:
    """Label under the chart: every hour of one day; of several days their names, and every sixth hour between."""
    if not several:
        return f"{hour:02d}"
    return day_type if hour == 0 else f"{hour:02d}" if hour % 6 == 0 else ""


def market_key(node_type: str, spot: bool) -> str:
    """Name of a market in column keys."""
    return f"{node_type}:{SPOT if spot else FIRM}"


def rate_row(grid: Grid, key: str) -> int:
    """Sheet row of a rate, under the hours and their totals."""
    return grid.last + 4 + [name for name, _ in RATES].index(key)
