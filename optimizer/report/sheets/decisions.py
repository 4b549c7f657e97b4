"""Decisions of the solver, one per row: which option serves which tokens, what goes to APIs, what waits, what commitments cover.

Decisions are values; prices and all else come from the input tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.report.constants import SECONDS_PER_MINUTE
from optimizer.report.figures import Figures, mtok
from optimizer.report.grid import Col, Grid
from optimizer.report.sheets.slices import DAY, HOUR, TABLE_TOP, WEIGHT, finish_rows, write_ratio, write_slice
from optimizer.report.writer import PlanSheet
from optimizer.units import HOURS_PER_DAY, usd_per_h_of_tps

if TYPE_CHECKING:
    from optimizer.report.places import Places

ROUTING, API_HOURS, SHIFTS, COVERED = "Routing", "API hours", "Shifts", "Covered hours"
ROUTING_COLS = (
    Col("workload", "Workload", width=14), Col("pool", "Pool", width=12), Col("option", "Option", width=34), DAY, HOUR,
    WEIGHT,
    Col("firm", "On firm replicas", "tok/s", "n1", 11), Col("spot", "On spot replicas", "tok/s", "n1", 11),
    Col("burst", "Burst factor", "x", "n2", 8), Col("goodput", "Goodput of a replica", "tok/s", "n1", 10),
    Col("prefill", "Prefill per output token", "replica-s", "plain", 11),
    Col("busy", "Work at full goodput", "replicas", "n2", 10), Col("mtok", "Tokens", "M tok/day", "n2", 10),
    Col("replica_h", "Tokens / goodput", "replica-h/day", "n2", 12),
)  # fmt: skip
API_HOURS_COLS = (
    Col("workload", "Workload", width=14), Col("pool", "Pool", width=12), Col("api", "API", width=26), DAY, HOUR, WEIGHT,
    Col("tps", "Overflow", "tok/s", "n1", 10), Col("ratio", "Input per output token", "tok/tok", "n2", 10),
    Col("input_tps", "Input", "tok/s", "n1", 10), Col("rpm", "Requests", "per minute", "n1", 10),
    Col("output_price", "Output price", "$/M tok", "usd_mtok", 10),
    Col("input_price", "Input price", "$/M tok", "usd_mtok", 10),
    Col("cached_price", "Cached input price", "$/M tok", "usd_mtok", 10), Col("hit", "Prefix hits", "share", "pct", 8),
    Col("price", "All-in price", "$/M output", "usd_mtok", 10), Col("usd_h", "Cost", "$/h", "usd2", 10),
    Col("usd_day", "Cost", "$/day", "usd2", 10), Col("mtok", "Tokens", "M tok/day", "n2", 10),
)  # fmt: skip
SHIFTS_COLS = (
    Col("workload", "Workload", width=16), DAY, Col("hour", "Arrives", "h", "hour", 8),
    Col("run_hour", "Runs", "h", "hour", 8),
    Col("waits", "Waits", "h", "int", 8), Col("tps", "Work", "tok/s", "n1", 11),
)  # fmt: skip
COVERED_COLS = (
    Col("discount", "Commitment", width=16), Col("offer", "Offer", width=24), Col("node_type", "Node type", width=13),
    Col("market", "Firm or spot", width=9), DAY, HOUR, WEIGHT, Col("nodes", "Nodes covered", "nodes", "n2", 10),
    Col("list_price", "Price without", "$/node-h", "usd2", 10), Col("price", "Discounted price", "$/node-h", "usd2", 10),
    Col("list_h", "Not paid for use", "$/h", "usd2", 10), Col("spent_h", "Taken of the commitment", "$/h", "usd2", 11),
)  # fmt: skip


def routing_grid(figures: Figures) -> Grid:
    """A row for each workload on each option in each hour."""
    return Grid(ROUTING, TABLE_TOP, ROUTING_COLS, len(figures.load_rows))


def api_hours_grid(figures: Figures) -> Grid:
    """A row for each workload at each API in each hour in which it overflows."""
    return Grid(API_HOURS, TABLE_TOP, API_HOURS_COLS, len(figures.api_rows))


def shifts_grid(figures: Figures) -> Grid:
    """A row for each hour of arrival and hour of running of deferrable work."""
    return Grid(SHIFTS, TABLE_TOP, SHIFTS_COLS, len(figures.shift_rows))


def covered_grid(figures: Figures) -> Grid:
    """A row for each discount, offer and hour in which a commitment covers nodes."""
    return Grid(COVERED, TABLE_TOP, COVERED_COLS, len(figures.covered_rows))


def fill_routing(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """Tokens by workload, option and hour."""
    grid, inputs = places.routing, places.inputs
    sheet.title(
        "Routing",
        "Which option serves which tokens in each hour. Tokens on firm and on spot replicas are decisions of the solver.",
    )
    sheet.header(grid)
    for place, load in enumerate(figures.load_rows):
        row = grid.first + place
        key = (load.day_type, load.hour)
        slot = figures.place_of[key]
        weight = figures.weights[slot]
        workload = figures.case.workload(load.workload)
        point = figures.point_of(load)
        sheet.text(row, grid.col("workload"), load.workload)
        sheet.text(row, grid.col("pool"), workload.pool)
        sheet.text(row, grid.col("option"), load.option)
        write_slice(sheet, grid, row, places, figures, slot)
        sheet.number(row, grid.col("firm"), load.firm_tps, "n1", "decision")
        sheet.number(row, grid.col("spot"), load.spot_tps, "n1", "decision")
        burst = inputs.workloads.ref("burst_factor", load.workload)
        sheet.formula(row, grid.col("burst"), f"={burst}", workload.burst_factor, "n2")
        option_row = places.option_row[workload.pool, load.option, load.workload]
        sheet.formula(row, grid.col("goodput"), f"={places.options.ref('output_tps', option_row)}", point.output_tps, "n1")
        ratio_text = places.ratio(load.workload, key)
        if point.input_tps is None or ratio_text is None:
            sheet.number(row, grid.col("prefill"), 0, "n2")
        else:
            hit = inputs.workloads.ref("prefix_hit_frac", load.workload)
            text = f"=(1-{hit})*{ratio_text}/{places.options.ref('input_tps', option_row)}"
            sheet.formula(row, grid.col("prefill"), text, figures.prefill_per_token(load), "plain")
        tokens = f"({grid.here('firm', place)}+{grid.here('spot', place)})"
        busy = f"={grid.here('burst', place)}*{tokens}*(1/{grid.here('goodput', place)}+{grid.here('prefill', place)})"
        sheet.formula(row, grid.col("busy"), busy, figures.busy_replicas(load), "n2")
        total = (load.firm_tps + load.spot_tps) * weight
        sheet.formula(
            row, grid.col("mtok"), f"={tokens}*{grid.here('weight', place)}*seconds_per_hour/tokens_per_mtok", mtok(total), "n2"
        )
        sheet.formula(
            row,
            grid.col("replica_h"),
            f"={tokens}*{grid.here('weight', place)}/{grid.here('goodput', place)}",
            total / point.output_tps,
            "n2",
        )
    finish_rows(sheet, grid, 3)


def fill_api_hours(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """API overflow by workload, API and hour, with its price."""
    grid, inputs = places.api_hours, places.inputs
    sheet.title("API hours", "Tokens sent to an API in each hour, and what they cost with the input that comes with them.")
    sheet.header(grid)
    for place, flow in enumerate(figures.api_rows):
        row = grid.first + place
        key = (flow.day_type, flow.hour)
        slot = figures.place_of[key]
        weight = figures.weights[slot]
        workload, api = figures.case.workload(flow.workload), figures.case.api(flow.api)
        sheet.text(row, grid.col("workload"), flow.workload)
        sheet.text(row, grid.col("pool"), workload.pool)
        sheet.text(row, grid.col("api"), flow.api)
        write_slice(sheet, grid, row, places, figures, slot)
        sheet.number(row, grid.col("tps"), flow.tps, "n1", "decision")
        ratio = figures.input_per_output(flow.workload, key)
        write_ratio(sheet, row, grid, places, flow.workload, key, ratio)
        tps = grid.here("tps", place)
        sheet.formula(row, grid.col("input_tps"), f"={tps}*{grid.here('ratio', place)}", flow.tps * ratio, "n1")
        if workload.output_tokens:
            tokens = inputs.workloads.ref("output_tokens", flow.workload)
            sheet.formula(
                row,
                grid.col("rpm"),
                f"={tps}*seconds_per_minute/{tokens}",
                flow.tps * SECONDS_PER_MINUTE / workload.output_tokens,
                "n1",
            )
        for col, column, price in (
            ("output_price", "output_usd_per_mtok", api.output_usd_per_mtok),
            ("input_price", "input_usd_per_mtok", api.input_usd_per_mtok),
            ("cached_price", "cached_input_usd_per_mtok", api.cached_input_usd_per_mtok),
        ):
            sheet.formula(row, grid.col(col), f"={inputs.api_prices.ref(column, flow.api)}", price, "usd_mtok")
        hit = inputs.workloads.ref("prefix_hit_frac", flow.workload)
        sheet.formula(row, grid.col("hit"), f"={hit}", workload.prefix_hit_frac, "pct")
        here = {name: grid.here(name, place) for name in ("output_price", "ratio", "hit", "input_price", "cached_price", "price")}
        blended = f"(1-{here['hit']})*{here['input_price']}+{here['hit']}*{here['cached_price']}"
        all_in = f"={here['output_price']}+{here['ratio']}*({blended})"
        price = figures.api_price(flow)
        sheet.formula(row, grid.col("price"), all_in, price, "usd_mtok")
        usd_h = flow.tps * usd_per_h_of_tps(price)
        sheet.formula(row, grid.col("usd_h"), f"={tps}*seconds_per_hour/tokens_per_mtok*{here['price']}", usd_h, "usd2")
        sheet.formula(
            row, grid.col("usd_day"), f"={grid.here('usd_h', place)}*{grid.here('weight', place)}", usd_h * weight, "usd2"
        )
        sheet.formula(
            row,
            grid.col("mtok"),
            f"={tps}*{grid.here('weight', place)}*seconds_per_hour/tokens_per_mtok",
            mtok(flow.tps * weight),
            "n2",
        )
    if not figures.api_rows:
        sheet.text(grid.first + 1, 0, "No tokens are sent to an API.", fmt=sheet.book.formats.note())
    finish_rows(sheet, grid, 3)


def fill_shifts(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """Deferrable work by hour of arrival and hour of running."""
    grid = places.shifts
    sheet.title("Shifts", "Deferrable work: when it arrives and when it runs, inside the same day type. Decisions of the solver.")
    sheet.header(grid)
    for place, shift in enumerate(figures.shift_rows):
        row = grid.first + place
        sheet.text(row, grid.col("workload"), shift.workload)
        sheet.text(row, grid.col("day_type"), shift.day_type)
        sheet.number(row, grid.col("hour"), shift.hour, "hour")
        sheet.number(row, grid.col("run_hour"), shift.run_hour, "hour")
        waits = f"=MOD({grid.here('run_hour', place)}-{grid.here('hour', place)},hours_per_day)"
        sheet.formula(row, grid.col("waits"), waits, (shift.run_hour - shift.hour) % HOURS_PER_DAY, "int")
        sheet.number(row, grid.col("tps"), shift.tps, "n1", "decision")
    finish_rows(sheet, grid, 2)


def fill_covered(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """Nodes whose use a commitment pays."""
    grid = places.covered
    sheet.title(
        COVERED,
        "Nodes used whose use is paid out of a commitment; may be part of a node. Nodes covered are decisions of the solver.",
    )
    sheet.header(grid)
    for place, item in enumerate(figures.covered_rows):
        row = grid.first + place
        offer = figures.case.offer(item.offer)
        price = figures.discounted_price(item.discount, item.offer)
        list_price = offer.used_usd_per_node_h / offer.effective_frac
        for key, words in (
            ("discount", item.discount), ("offer", item.offer), ("node_type", offer.node_type),
            ("market", "spot" if offer.purchase == "spot" else "firm"),
        ):  # fmt: skip
            sheet.text(row, grid.col(key), words)
        write_slice(sheet, grid, row, places, figures, figures.place_of[item.day_type, item.hour])
        sheet.number(row, grid.col("nodes"), item.nodes, "n2", "decision")
        used_price = places.purchases.ref("used_price", places.line_row[item.offer])
        sheet.formula(row, grid.col("list_price"), f"={used_price}", list_price, "usd2")
        discounted = places.inputs.discounts.ref("discounted_usd_per_node_h", item.discount, item.offer)
        sheet.formula(row, grid.col("price"), f"={discounted}", price, "usd2")
        nodes = grid.here("nodes", place)
        sheet.formula(row, grid.col("list_h"), f"={nodes}*{grid.here('list_price', place)}", item.nodes * list_price, "usd2")
        sheet.formula(row, grid.col("spent_h"), f"={nodes}*{grid.here('price', place)}", item.nodes * price, "usd2")
    finish_rows(sheet, grid, 2)
