"""Purchases: the buy list. What, how many, from whom, by when, for how much; and what goes to APIs."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from optimizer.domain.market import Offer
from optimizer.plan.metrics import order_by
from optimizer.report.figures import Figures
from optimizer.report.formulas import matching, round_up
from optimizer.report.grid import Col, Grid
from optimizer.report.plan_lines import Line
from optimizer.report.sheets.explained import write_entries, write_why
from optimizer.report.words import PURCHASE_LABELS
from optimizer.report.writer import PlanSheet
from optimizer.units import DAYS_PER_MONTH, HOURS_PER_DAY

if TYPE_CHECKING:
    from optimizer.report.places import Places

PURCHASES = "Purchases"
PURCHASES_TOP = 4
PURCHASES_COLS = (
    Col("offer", "Offer", width=26), Col("purchase", "Purchase type", width=12), Col("provider", "Provider", width=12),
    Col("region", "Region", width=12), Col("site", "Site", width=9), Col("gpu", "GPU", width=9),
    Col("new", "Nodes to buy", "nodes", "int", 8), Col("existing", "Held already", "nodes", "int", 8),
    Col("held", "Nodes held", "nodes", "int", 8), Col("peak", "Most nodes used", "nodes", "int", 8),
    Col("gpus", "GPUs", "GPUs", "int", 8), Col("order_by", "Order by", "date", "date", 11),
    Col("term", "Term", "months", "n1", 8), Col("held_price", "Held", "$/node-h", "usd2", 9),
    Col("used_price", "Used", "$/node-h", "usd2", 9), Col("upfront_total", "Upfront to pay", "$", "usd0", 11),
    Col("commitment", "Committed over the term", "$", "usd0", 13), Col("usd_day", "Cost", "$/day", "usd2", 11),
    Col("usd_month", "Cost", "$/month", "usd0", 11), Col("utilisation", "Used of paid", "share", "pct", 9),
    Col("node_type", "Node type", width=13), Col("gpus_per_node", "GPUs per node", "GPUs", "int", 8),
    Col("lead", "Lead time", "weeks", "n1", 8), Col("upfront", "Upfront", "$/node", "usd0", 10),
    Col("held_h", "Held", "node-h/day", "n1", 9), Col("used_h", "Used", "node-h/day", "n1", 9),
    Col("on_demand", "On demand, same node", "$/node-h", "usd2", 10), Col("break_even", "Break-even use", "share", "pct", 9),
    Col("paid_h", "Paid", "node-h/day", "n1", 9), Col("covered_h", "Covered by commitments", "node-h/day", "n1", 11),
    Col("holding_rate", "Holding all-in", "$/node-h", "usd2", 9),
    Col("energy_rate", "Energy", "$/node-h used", "usd2", 9), Col("tps_per_node", "Goodput of a node", "tok/s", "n1", 10),
    Col("source", "Source", width=34), Col("as_of", "As of", "date", "date", 11),
)  # fmt: skip
COMMITMENTS_COLS = (
    Col("discount", "Commitment", width=26), Col("covers", "Covers", width=12), Col("blank", "", width=12),
    Col("usd_h", "Committed", "$/h", "usd2", 9), Col("usd_day", "Cost", "$/day", "usd2", 9),
    Col("usd_month", "Cost", "$/month", "usd0", 9),
)  # fmt: skip


def purchases_grid(figures: Figures) -> Grid:
    """A row for each offer of which nodes are held or used."""
    return Grid(PURCHASES, PURCHASES_TOP, PURCHASES_COLS, len(figures.lines))


def api_lines_grid(figures: Figures) -> Grid:
    """A row for each API in use, under the offers."""
    cols = (
        Col("api", "API", width=26), Col("provider", "Provider", width=12), Col("workloads", "Workloads", width=12),
        Col("mtok", "Tokens", "M tok/day", "n2", 12), Col("usd_day", "Cost", "$/day", "usd2", 10),
        Col("price", "Average price", "$/M output", "usd_mtok", 13), Col("usd_month", "Cost", "$/month", "usd0", 9),
    )  # fmt: skip
    top = purchases_grid(figures).last + 5
    return Grid(PURCHASES, top, cols, len(dict.fromkeys(row.api for row in figures.api_rows)))


def commitments_grid(figures: Figures) -> Grid:
    """A row for each commitment bought, under the APIs."""
    return Grid(PURCHASES, api_lines_grid(figures).last + 4, COMMITMENTS_COLS, len(figures.commitments))


def cheapest_on_demand(figures: Figures, line: Line) -> Offer | None:
    """The cheapest on-demand offer of the same node type, for the break-even; None where nobody sells one."""
    offers = [
        offer
        for offer in figures.candidates.offers
        if offer.purchase == "on_demand" and offer.node_type == line.node_type.node_type
    ]
    return min(offers, key=lambda offer: offer.used_usd_per_node_h / offer.effective_frac, default=None)


def fill_purchases(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """Offers, totals, then APIs."""
    grid = places.purchases
    sheet.title(
        "Purchases",
        "The buy list. Nodes to buy are decisions of the solver; prices come from Offers, hours from Hourly, costs from Cost.",
    )
    sheet.header(grid)
    for place, line in enumerate(figures.lines):
        _line(sheet, places, figures, line, place)
    row = grid.last + 1
    total = sheet.book.formats.cell("text", "total")
    for col in range(grid.right + 1):
        sheet.raw.write_blank(row, col, None, total)
    sheet.text(row, 0, "Total", fmt=total)
    if figures.lines:
        values = {
            "upfront_total": sum(line.new * line.offer.upfront_usd_per_node for line in figures.lines if line.offer.is_held),
            "usd_day": sum(line.usd for line in figures.lines),
            "usd_month": sum(line.usd for line in figures.lines) * DAYS_PER_MONTH,
            "commitment": sum(commitment(line) for line in figures.lines),
            "gpus": sum(line.purchase.gpus for line in figures.lines),
        }
        for key, value in values.items():
            style = next(col.style for col in grid.cols if col.key == key)
            sheet.formula(row, grid.col(key), f"=SUM({grid.span_here(key)})", value, style, "total")
    else:
        sheet.text(grid.first, 0, "No nodes: the API serves everything.", fmt=sheet.book.formats.note())
    note = (
        "GPUs of elastic offers count at their most nodes used. Right of here: rates, break-even use (share of its hours in "
        "which a node must serve to be cheaper than on demand), sources."
    )
    sheet.text(row + 1, 0, note, fmt=sheet.book.formats.note())
    _apis(sheet, places, figures)
    _commitments(sheet, places, figures)
    under = places.commitments if figures.commitments else places.api_lines if figures.api_rows else grid
    last = write_why(sheet, under.last + (2 if under is not grid else 3), figures)
    explanation = figures.result.explanation
    if explanation is not None and explanation.entry:
        last = write_entries(sheet, last + 2, explanation.entry)
    sheet.finish(freeze=(grid.first, 1), repeat=(0, grid.top + 1), area=(0, 0, last + 1, grid.col("utilisation")))


def commitment(line: Line) -> float:
    """$ owed over the term for the nodes to buy, whether they are used or not; 0 for elastic offers and open terms."""
    if not line.offer.is_held or not line.offer.term_months:
        return 0.0
    by_day = line.offer.held_usd_per_node_h * len(line.offer.hours)
    return line.new * (line.offer.upfront_usd_per_node + by_day * line.offer.term_months * DAYS_PER_MONTH)


def _line(sheet: PlanSheet, places: Places, figures: Figures, line: Line, place: int) -> None:
    grid, offer, inputs = places.purchases, line.offer, places.inputs
    row = grid.first + place
    here = {col.key: grid.here(col.key, place) for col in grid.cols}

    def link(key: str, column: str, value: float | None, style: str) -> None:
        if value is not None:
            sheet.formula(row, grid.col(key), f"={inputs.offers.ref(column, offer.offer)}", value, style)

    sheet.text(row, grid.col("offer"), offer.offer)
    sheet.text(row, grid.col("purchase"), PURCHASE_LABELS[offer.purchase])
    for key, words in (("provider", offer.provider), ("region", offer.region), ("site", offer.site), ("gpu", line.node_type.gpu)):
        sheet.text(row, grid.col(key), words or "")
    sheet.text(row, grid.col("node_type"), line.node_type.node_type)
    gpus_per_node = inputs.node_types.ref("gpus_per_node", line.node_type.node_type)
    sheet.formula(row, grid.col("gpus_per_node"), f"={gpus_per_node}", line.node_type.gpus_per_node, "int")
    hourly_used = places.hourly.span(f"used:{offer.offer}")
    weights = places.hourly.span("weight")
    if offer.is_held:
        sheet.number(row, grid.col("new"), line.new, "int", "decision")
        refs = inputs.existing_refs(offer.offer)
        if refs:
            sheet.formula(row, grid.col("existing"), f"={'+'.join(refs)}", line.existing, "int")
        else:
            sheet.number(row, grid.col("existing"), line.existing, "int")
        sheet.formula(row, grid.col("held"), f"={here['new']}+{here['existing']}", line.nodes_held, "int")
        held_h = f"SUMPRODUCT({weights},{places.hourly.span(f'held:{offer.offer}')})"
        sheet.formula(row, grid.col("held_h"), f"={held_h}", line.held_node_hours, "n1")
        nodes = here["held"]
    else:
        nodes = here["peak"]
    peak = max(line.used)
    sheet.formula(row, grid.col("peak"), f"=MAX({hourly_used})", peak, "int")
    sheet.formula(row, grid.col("gpus"), f"={nodes}*{here['gpus_per_node']}", line.purchase.gpus, "int")
    if line.new or not offer.is_held:
        start = inputs.policy.ref("value", "start_date")
        by = order_by(offer, figures.case.policy.start_date)
        weeks = f"days_per_week*{here['lead']}"
        sheet.formula(row, grid.col("order_by"), f"={start}-{round_up(weeks)}", by, "date")
    else:
        sheet.text(row, grid.col("order_by"), "held already")
    link("term", "term_months", offer.term_months, "n1")
    link("lead", "lead_weeks", offer.lead_weeks, "n1")
    link("held_price", "held_usd_per_node_h", offer.held_usd_per_node_h, "usd2")
    used = inputs.offers.ref("used_usd_per_node_h", offer.offer)
    effective = inputs.offers.ref("effective_frac", offer.offer)
    sheet.formula(row, grid.col("used_price"), f"={used}/{effective}", line.used_usd_per_h, "usd2")
    link("upfront", "upfront_usd_per_node", offer.upfront_usd_per_node, "usd0")
    if offer.is_held:
        sheet.formula(
            row, grid.col("upfront_total"), f"={here['new']}*{here['upfront']}", line.new * offer.upfront_usd_per_node, "usd0"
        )
    if offer.is_held and offer.term_months:
        hours = f"IF({here['held']}=0,0,{here['held_h']}/{here['held']})"
        text = f"={here['new']}*({here['upfront']}+{here['held_price']}*{hours}*{here['term']}*days_per_month)"
        sheet.formula(row, grid.col("commitment"), text, commitment(line), "usd0")
    sheet.formula(row, grid.col("used_h"), f"=SUMPRODUCT({weights},{hourly_used})", line.used_node_hours, "n1")
    if any(line.covered):
        covered = places.covered
        text = matching(f"{covered.span('nodes')}*{covered.span('weight')}", (covered.span("offer"), here["offer"]))
        sheet.formula(row, grid.col("covered_h"), f"={text}", line.covered_node_hours, "n1")
    else:
        sheet.number(row, grid.col("covered_h"), 0, "n1")
    paid = here["held_h"] if offer.is_held else here["used_h"]
    sheet.formula(row, grid.col("paid_h"), f"={paid}", line.paid_node_hours, "n1")
    share = line.used_node_hours / line.paid_node_hours if line.paid_node_hours else 0.0
    sheet.formula(row, grid.col("utilisation"), f"=IF({here['paid_h']}=0,0,{here['used_h']}/{here['paid_h']})", share, "pct")
    cost = places.cost_offers
    sheet.formula(row, grid.col("usd_day"), f"={cost.ref('total', place)}", line.usd, "usd2")
    sheet.formula(row, grid.col("usd_month"), f"={here['usd_day']}*days_per_month", line.usd * DAYS_PER_MONTH, "usd0")
    if offer.is_held:
        holding = "+".join(cost.ref(part, place) for part in ("held", "upfront", "site"))
        text = f"=IF({here['held_h']}=0,0,({holding})/{here['held_h']})"
        sheet.formula(row, grid.col("holding_rate"), text, line.holding_usd_per_h, "usd2")
    else:
        sheet.number(row, grid.col("holding_rate"), 0, "usd2")
    energy = energy_text(places, line)
    if energy is None:
        sheet.number(row, grid.col("energy_rate"), 0, "usd2")
    else:
        sheet.formula(row, grid.col("energy_rate"), f"={energy}", line.energy_usd_per_h, "usd2")
    per_gpu = places.cost_node_types.ref("tps_per_gpu", places.node_type_row[line.node_type.node_type])
    sheet.formula(row, grid.col("tps_per_node"), f"={here['gpus_per_node']}*{per_gpu}", places.tps_per_node(line), "n1")
    rival = cheapest_on_demand(figures, line)
    if offer.is_held and rival is not None:
        price = rival.used_usd_per_node_h / rival.effective_frac
        text = f"={inputs.offers.ref('used_usd_per_node_h', rival.offer)}/{inputs.offers.ref('effective_frac', rival.offer)}"
        sheet.formula(row, grid.col("on_demand"), text, price, "usd2")
        text = f"=IF({here['on_demand']}=0,0,{here['holding_rate']}/{here['on_demand']})"
        sheet.formula(row, grid.col("break_even"), text, line.holding_usd_per_h / price if price else 0.0, "pct")
    sheet.text(row, grid.col("source"), offer.source)
    if isinstance(offer.as_of, datetime.date):
        sheet.date(row, grid.col("as_of"), offer.as_of)
    else:
        sheet.text(row, grid.col("as_of"), offer.as_of_text)


def energy_text(places: Places, line: Line) -> str | None:
    """Formula of the energy of one node-hour used; None away from own sites."""
    if line.site is None:
        return None
    node_kw = places.inputs.node_types.ref("node_kw", line.node_type.node_type)
    pue = places.inputs.sites.ref("pue", line.site.site)
    price = places.inputs.sites.ref("usd_per_kwh", line.site.site)
    return f"{node_kw}*IF({pue}=0,1,{pue})*{price}"


def _apis(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    grid, api_hours = places.api_lines, places.api_hours
    if not figures.api_rows:
        return
    sheet.text(grid.top - 1, 0, "Tokens sent to APIs", fmt=sheet.book.formats.heading())
    sheet.header(grid)
    for place, name in enumerate(dict.fromkeys(row.api for row in figures.api_rows)):
        row = grid.first + place
        flows = [item for item in figures.plan.ledger.apis if item.api == name]
        mtok, usd = sum(item.mtok_per_day for item in flows), sum(item.usd_per_day for item in flows)
        here = {col.key: grid.here(col.key, place) for col in grid.cols}
        sheet.text(row, grid.col("api"), name)
        sheet.text(row, grid.col("provider"), figures.case.api(name).provider)
        sheet.text(row, grid.col("workloads"), ", ".join(item.workload for item in flows))
        same = (api_hours.span("api"), here["api"])
        sheet.formula(row, grid.col("mtok"), f"={matching(api_hours.span('mtok'), same)}", mtok, "n2")
        sheet.formula(row, grid.col("usd_day"), f"={matching(api_hours.span('usd_day'), same)}", usd, "usd2")
        sheet.formula(
            row,
            grid.col("price"),
            f"=IF({here['mtok']}=0,0,{here['usd_day']}/{here['mtok']})",
            usd / mtok if mtok else 0.0,
            "usd_mtok",
        )
        sheet.formula(row, grid.col("usd_month"), f"={here['usd_day']}*days_per_month", usd * DAYS_PER_MONTH, "usd0")


def _commitments(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    grid = places.commitments
    if not figures.commitments:
        return
    sheet.text(grid.top - 1, 0, "Commitments at discounted prices, paid in every hour", fmt=sheet.book.formats.heading())
    sheet.header(grid)
    for place, bought in enumerate(figures.commitments):
        row = grid.first + place
        usd = bought.usd_per_h * HOURS_PER_DAY
        sheet.text(row, grid.col("discount"), bought.discount)
        offers = [item.offer for item in figures.case.discounts if item.discount == bought.discount]
        sheet.text(row, grid.col("covers"), ", ".join(offers))
        sheet.number(row, grid.col("usd_h"), bought.usd_per_h, "usd2", "decision")
        sheet.formula(row, grid.col("usd_day"), f"={grid.here('usd_h', place)}*hours_per_day", usd, "usd2")
        sheet.formula(row, grid.col("usd_month"), f"={grid.here('usd_day', place)}*days_per_month", usd * DAYS_PER_MONTH, "usd0")
