"""The workings behind Hourly: who serves which tokens, on how many replicas, hour by hour, one decision per row.

Sheets: Pool hours, Workload hours, Replicas, Routing, API hours. Decisions are values; all else is worked out from them and from
the input tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from optimizer.report.figures import Figures, mtok
from optimizer.report.grid import Col, Grid
from optimizer.report.writer import PlanSheet
from optimizer.report.constants import SECONDS_PER_MINUTE
from optimizer.units import HOURS_PER_DAY, usd_per_h_of_tps

if TYPE_CHECKING:
    from optimizer.report.places import Places

POOL_HOURS, WORKLOAD_HOURS, REPLICAS, ROUTING, API_HOURS = "Pool hours", "Workload hours", "Replicas", "Routing", "API hours"
SHIFTS, COVERED = "Shifts", "Covered hours"
_TOP = 4
_DAY = Col("day_type", "Day type", width=10)
_HOUR = Col("hour", "Hour", "h", "hour", 6)
_WEIGHT = Col("weight", "Weight", "h/day", "n2", 8)


def replicas_grid(figures: Figures) -> Grid:
    """A row for each option of a pool in each hour in which it has replicas."""
    cols = (
        Col("pool", "Pool", width=12), Col("option", "Option", width=34), Col("node_type", "Node type", width=12), _DAY, _HOUR, _WEIGHT,
        Col("gpus_taken", "GPUs per replica", "GPUs", "n2", 9),
        Col("live", "Live", "replicas", "int", 8), Col("total", "Total", "replicas", "int", 8),
        Col("spot_live", "Of live, on spot", "replicas", "int", 8), Col("spot_total", "Of total, on spot", "replicas", "int", 8),
        Col("firm_gpus", "GPUs, firm", "GPUs", "n1", 8), Col("spot_gpus", "GPUs, spot", "GPUs", "n1", 8),
        Col("busy", "Work at full goodput", "replicas", "n2", 10), Col("occupancy", "Planned occupancy", "share", "pct", 10),
        Col("needed", "Needed in a normal hour", "replicas", "int", 10), Col("spare", "Spare for the bad day", "replicas", "int", 9),
        Col("rollout", "Rollout surge", "replicas", "int", 8), Col("goodput", "Goodput of a replica", "tok/s", "n1", 10),
        Col("running", "Goodput running", "tok/s", "n1", 11), Col("working", "Work at goodput", "tok/s", "n1", 11),
        Col("spot_running", "Live on spot, at goodput", "tok/s", "n1", 11), Col("usd", "Share of node cost", "$/day", "usd2", 11),
    )  # fmt: skip
    return Grid(REPLICAS, _TOP, cols, len(figures.replica_rows))


def routing_grid(figures: Figures) -> Grid:
    """A row for each workload on each option in each hour."""
    cols = (
        Col("workload", "Workload", width=14), Col("pool", "Pool", width=12), Col("option", "Option", width=34), _DAY, _HOUR, _WEIGHT,
        Col("firm", "On firm replicas", "tok/s", "n1", 11), Col("spot", "On spot replicas", "tok/s", "n1", 11),
        Col("burst", "Burst factor", "x", "n2", 8), Col("goodput", "Goodput of a replica", "tok/s", "n1", 10),
        Col("prefill", "Prefill per output token", "replica-s", "plain", 11),
        Col("busy", "Work at full goodput", "replicas", "n2", 10), Col("mtok", "Tokens", "M tok/day", "n2", 10),
        Col("replica_h", "Tokens / goodput", "replica-h/day", "n2", 12),
    )  # fmt: skip
    return Grid(ROUTING, _TOP, cols, len(figures.load_rows))


def api_hours_grid(figures: Figures) -> Grid:
    """A row for each workload at each API in each hour in which it overflows."""
    cols = (
        Col("workload", "Workload", width=14), Col("pool", "Pool", width=12), Col("api", "API", width=26), _DAY, _HOUR, _WEIGHT,
        Col("tps", "Overflow", "tok/s", "n1", 10), Col("ratio", "Input per output token", "tok/tok", "n2", 10),
        Col("input_tps", "Input", "tok/s", "n1", 10), Col("rpm", "Requests", "per minute", "n1", 10),
        Col("output_price", "Output price", "$/M tok", "usd_mtok", 10), Col("input_price", "Input price", "$/M tok", "usd_mtok", 10),
        Col("cached_price", "Cached input price", "$/M tok", "usd_mtok", 10), Col("hit", "Prefix hits", "share", "pct", 8),
        Col("price", "All-in price", "$/M output", "usd_mtok", 10), Col("usd_h", "Cost", "$/h", "usd2", 10),
        Col("usd_day", "Cost", "$/day", "usd2", 10), Col("mtok", "Tokens", "M tok/day", "n2", 10),
    )  # fmt: skip
    return Grid(API_HOURS, _TOP, cols, len(figures.api_rows))


def workload_hours_grid(figures: Figures) -> Grid:
    """A row for each workload in each hour."""
    cols = (
        Col("workload", "Workload", width=14), Col("pool", "Pool", width=12), _DAY, _HOUR, _WEIGHT,
        Col("demand", "Demand", "tok/s", "n1", 11), Col("run", "To run, after shifting", "tok/s", "n1", 11),
        Col("firm", "On firm replicas", "tok/s", "n1", 11), Col("spot", "On spot replicas", "tok/s", "n1", 11),
        Col("api", "API", "tok/s", "n1", 11), Col("gap", "Served less to run", "tok/s", "n1", 11), Col("api_share", "API share", "share", "pct", 8),
        Col("ratio", "Input per output token", "tok/tok", "n2", 10), Col("mtok", "Demand", "M tok/day", "n2", 10),
    )  # fmt: skip
    return Grid(WORKLOAD_HOURS, _TOP, cols, len(figures.case.workloads) * len(figures.slices))


def pool_hours_grid(figures: Figures) -> Grid:
    """A row for each pool in each hour."""
    cols = (
        Col("pool", "Pool", width=14), _DAY, _HOUR, _WEIGHT, Col("demand", "Demand", "tok/s", "n1", 11),
        Col("prompt", "Demand that cannot wait", "tok/s", "n1", 11), Col("run", "To run, after shifting", "tok/s", "n1", 11),
        Col("firm", "On firm replicas", "tok/s", "n1", 11), Col("spot", "On spot replicas", "tok/s", "n1", 11),
        Col("api", "API", "tok/s", "n1", 11), Col("spot_share", "Spot share of own", "share", "pct", 9),
        Col("live", "Live", "replicas", "int", 8), Col("total", "Total", "replicas", "int", 8),
        Col("needed", "Needed in a normal hour", "replicas", "int", 10), Col("spare", "Spare for the bad day", "replicas", "int", 9),
        Col("rollout", "Rollout surge", "replicas", "int", 8), Col("busy", "Work at full goodput", "replicas", "n2", 10),
        Col("use", "Occupancy", "share of live", "pct", 11), Col("running", "Goodput running", "tok/s", "n1", 11),
        Col("working", "Work at goodput", "tok/s", "n1", 11), Col("factor", "Rollout factor", "x", "n2", 8),
        Col("spot_running", "Live on spot, at goodput", "tok/s", "n1", 11), Col("need", "Need with headroom", "tok/s", "n1", 11), Col("mtok", "Demand", "M tok/day", "n2", 10),
    )  # fmt: skip
    return Grid(POOL_HOURS, _TOP, cols, len(figures.case.pools) * len(figures.slices))


def fill_routing(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """Tokens by workload, option and hour."""
    grid, inputs = places.routing, places.inputs
    sheet.title("Routing", "Which option serves which tokens in each hour. Tokens on firm and on spot replicas are decisions of the solver.")
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
        _slice(sheet, grid, row, places, figures, slot)
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
            row, grid.col("replica_h"), f"={tokens}*{grid.here('weight', place)}/{grid.here('goodput', place)}",
            total / point.output_tps, "n2",
        )
    _finish(sheet, grid, 3)


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
        _slice(sheet, grid, row, places, figures, slot)
        sheet.number(row, grid.col("tps"), flow.tps, "n1", "decision")
        ratio = figures.input_per_output(flow.workload, key)
        _ratio(sheet, row, grid, places, flow.workload, key, ratio)
        tps = grid.here("tps", place)
        sheet.formula(row, grid.col("input_tps"), f"={tps}*{grid.here('ratio', place)}", flow.tps * ratio, "n1")
        if workload.output_tokens:
            tokens = inputs.workloads.ref("output_tokens", flow.workload)
            sheet.formula(
                row, grid.col("rpm"), f"={tps}*seconds_per_minute/{tokens}", flow.tps * SECONDS_PER_MINUTE / workload.output_tokens, "n1"
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
        all_in = (
            f"={here['output_price']}+{here['ratio']}*((1-{here['hit']})*{here['input_price']}+{here['hit']}*{here['cached_price']})"
        )
        price = figures.api_price(flow)
        sheet.formula(row, grid.col("price"), all_in, price, "usd_mtok")
        usd_h = flow.tps * usd_per_h_of_tps(price)
        sheet.formula(row, grid.col("usd_h"), f"={tps}*seconds_per_hour/tokens_per_mtok*{here['price']}", usd_h, "usd2")
        sheet.formula(
            row, grid.col("usd_day"), f"={grid.here('usd_h', place)}*{grid.here('weight', place)}", usd_h * weight, "usd2"
        )
        sheet.formula(
            row, grid.col("mtok"), f"={tps}*{grid.here('weight', place)}*seconds_per_hour/tokens_per_mtok", mtok(flow.tps * weight), "n2"
        )
    if not figures.api_rows:
        sheet.text(grid.first + 1, 0, "No tokens are sent to an API.", fmt=sheet.book.formats.note())
    _finish(sheet, grid, 3)


def fill_workload_hours(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """Demand and who serves it, by workload and hour."""
    grid, routing, api = places.workload_hours, places.routing, places.api_hours
    sheet.title("Workload hours", "Demand of each workload in each hour, and who serves it. Served less to run must be 0.")
    sheet.header(grid)
    place = 0
    for workload in figures.case.workloads:
        for slot, key in enumerate(figures.slices):
            row = grid.first + place
            weight = figures.weights[slot]
            sheet.text(row, grid.col("workload"), workload.workload)
            sheet.text(row, grid.col("pool"), workload.pool)
            _slice(sheet, grid, row, places, figures, slot)
            demand = figures.demand(workload, slot)
            sheet.formula(row, grid.col("demand"), f"={places.inputs.demand.ref('output_tps', workload.workload, *key)}", demand, "n1")
            run = figures.run(workload, slot)
            if workload.deferrable_hours:
                moved = places.shift_rows[workload.workload, slot]
                sum_cells(sheet, row, grid.col("run"), places.shifts, "tps", moved, run, "n1")
            else:
                sheet.formula(row, grid.col("run"), f"={grid.here('demand', place)}", run, "n1")
            firm, spot = figures.own_tps.get((workload.workload, slot), (0.0, 0.0))
            overflow = figures.api_tps.get((workload.workload, slot), 0.0)
            loads = places.routing_rows[workload.workload, slot]
            sum_cells(sheet, row, grid.col("firm"), routing, "firm", loads, firm, "n1")
            sum_cells(sheet, row, grid.col("spot"), routing, "spot", loads, spot, "n1")
            sum_cells(sheet, row, grid.col("api"), api, "tps", places.api_rows[workload.workload, slot], overflow, "n1")
            here = {name: grid.here(name, place) for name in ("demand", "run", "firm", "spot", "api", "weight")}
            sheet.formula(
                row, grid.col("gap"), f"={here['firm']}+{here['spot']}+{here['api']}-{here['run']}",
                firm + spot + overflow - run, "n1",
            )
            sheet.formula(
                row, grid.col("api_share"), f"=IF({here['run']}=0,0,{here['api']}/{here['run']})",
                overflow / run if run else 0.0, "pct",
            )
            ratio = figures.input_per_output(workload.workload, key)
            _ratio(sheet, row, grid, places, workload.workload, key, ratio)
            text = f"={here['demand']}*{here['weight']}*seconds_per_hour/tokens_per_mtok"
            sheet.formula(row, grid.col("mtok"), text, mtok(demand * weight), "n2")
            place += 1
    _finish(sheet, grid, 4)


def shifts_grid(figures: Figures) -> Grid:
    """A row for each hour of arrival and hour of running of deferrable work."""
    cols = (
        Col("workload", "Workload", width=16), _DAY, Col("hour", "Arrives", "h", "hour", 8), Col("run_hour", "Runs", "h", "hour", 8),
        Col("waits", "Waits", "h", "int", 8), Col("tps", "Work", "tok/s", "n1", 11),
    )  # fmt: skip
    return Grid(SHIFTS, _TOP, cols, len(figures.shift_rows))


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
    _finish(sheet, grid, 2)


def covered_grid(figures: Figures) -> Grid:
    """A row for each discount, offer and hour in which a commitment covers nodes."""
    cols = (
        Col("discount", "Commitment", width=16), Col("offer", "Offer", width=24), Col("node_type", "Node type", width=13),
        Col("market", "Firm or spot", width=9), _DAY, _HOUR, _WEIGHT, Col("nodes", "Nodes covered", "nodes", "n2", 10),
        Col("list_price", "Price without", "$/node-h", "usd2", 10), Col("price", "Discounted price", "$/node-h", "usd2", 10),
        Col("list_h", "Not paid for use", "$/h", "usd2", 10), Col("spent_h", "Taken of the commitment", "$/h", "usd2", 11),
    )  # fmt: skip
    return Grid(COVERED, _TOP, cols, len(figures.covered_rows))


def fill_covered(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """Nodes whose use a commitment pays."""
    grid = places.covered
    sheet.title(COVERED, "Nodes used whose use is paid out of a commitment; may be part of a node. Nodes covered are decisions of the solver.")
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
        _slice(sheet, grid, row, places, figures, figures.place_of[item.day_type, item.hour])
        sheet.number(row, grid.col("nodes"), item.nodes, "n2", "decision")
        used_price = places.purchases.ref("used_price", places.line_row[item.offer])
        sheet.formula(row, grid.col("list_price"), f"={used_price}", list_price, "usd2")
        discounted = places.inputs.discounts.ref("discounted_usd_per_node_h", item.discount, item.offer)
        sheet.formula(row, grid.col("price"), f"={discounted}", price, "usd2")
        nodes = grid.here("nodes", place)
        sheet.formula(row, grid.col("list_h"), f"={nodes}*{grid.here('list_price', place)}", item.nodes * list_price, "usd2")
        sheet.formula(row, grid.col("spent_h"), f"={nodes}*{grid.here('price', place)}", item.nodes * price, "usd2")
    _finish(sheet, grid, 2)


def fill_replicas(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """Replicas by pool, option and hour: how many are needed, spare and in rollout, what they run and cost."""
    grid, routing = places.replicas, places.routing
    sheet.title("Replicas", "Replicas of each option in each hour. Live and total (spot included) are decisions of the solver.")
    sheet.header(grid)
    for place, item in enumerate(figures.replica_rows):
        row = grid.first + place
        count, option = item.count, item.option
        weight = figures.weights[item.place]
        pool = figures.case.pool(count.pool)
        option_row = places.first_option_row[count.pool, count.option]
        sheet.text(row, grid.col("pool"), count.pool)
        sheet.text(row, grid.col("option"), count.option)
        sheet.text(row, grid.col("node_type"), option.node_type)
        _slice(sheet, grid, row, places, figures, item.place)
        sheet.formula(row, grid.col("gpus_taken"), f"={places.options.ref('gpus_taken', option_row)}", option.gpus_taken, "n2")
        for name in ("live", "total", "spot_live", "spot_total"):
            sheet.number(row, grid.col(name), getattr(count, name), "int", "decision")
        here = {col.key: grid.here(col.key, place) for col in grid.cols}
        sheet.formula(
            row, grid.col("firm_gpus"), f"=({here['total']}-{here['spot_total']})*{here['gpus_taken']}", item.firm_gpus, "n1"
        )
        sheet.formula(row, grid.col("spot_gpus"), f"={here['spot_total']}*{here['gpus_taken']}", item.spot_gpus, "n1")
        loads = places.option_routing_rows[count.pool, count.option, item.place]
        sum_cells(sheet, row, grid.col("busy"), routing, "busy", loads, item.busy, "n2")
        occupancy = pool.occupancy_frac or 1.0
        sheet.formula(row, grid.col("occupancy"), f"={places.inputs.pools.ref('occupancy_frac', count.pool)}", occupancy, "pct")
        needed = figures.needed(item)
        work = f"{here['busy']}/{here['occupancy']}"
        sheet.formula(row, grid.col("needed"), f"={round_up(work)}", needed, "int")
        sheet.formula(row, grid.col("spare"), f"={here['live']}-{here['needed']}", count.live - needed, "int")
        sheet.formula(row, grid.col("rollout"), f"={here['total']}-{here['live']}", count.total - count.live, "int")
        goodput = figures.goodput_tps[count.pool, count.option]
        sheet.formula(row, grid.col("goodput"), f"={places.options.ref('goodput', option_row)}", goodput, "n1")
        sheet.formula(row, grid.col("running"), f"={here['total']}*{here['goodput']}", count.total * goodput, "n1")
        sheet.formula(row, grid.col("working"), f"={here['busy']}*{here['goodput']}", item.busy * goodput, "n1")
        sheet.formula(
            row, grid.col("spot_running"), f"={here['spot_live']}*{here['goodput']}", count.spot_live * goodput, "n1"
        )
        terms, value = [], 0.0
        for spot, gpus, name in ((False, item.firm_gpus, "firm_gpus"), (True, item.spot_gpus, "spot_gpus")):
            if (option.node_type, spot) in figures.markets:
                terms.append(f"{here[name]}*{places.market_rate_ref(option.node_type, spot, item.place)}")
                value += gpus * figures.market_rate(option.node_type, spot, item.place)
        sheet.formula(row, grid.col("usd"), f"={here['weight']}*({'+'.join(terms)})", weight * value, "usd2")
    if not figures.replica_rows:
        sheet.text(grid.first + 1, 0, "The plan runs no replicas.", fmt=sheet.book.formats.note())
    _finish(sheet, grid, 2)


def fill_pool_hours(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """Demand, replicas, occupancy and need with headroom, by pool and hour."""
    grid, workloads, replicas = places.pool_hours, places.workload_hours, places.replicas
    sheet.title(
        "Pool hours",
        "Need with headroom = work at goodput / planned occupancy, plus what the tightest bad day asks, times the rollout factor.",
    )
    sheet.header(grid)
    place = 0
    for pool in figures.case.pools:
        for slot, _ in enumerate(figures.slices):
            row = grid.first + place
            hour = places.pools.hours[pool.pool][slot]
            sheet.text(row, grid.col("pool"), pool.pool)
            _slice(sheet, grid, row, places, figures, slot)
            here = {col.key: grid.here(col.key, place) for col in grid.cols}
            asked = places.workload_hour_rows[pool.pool, slot]
            prompt = places.prompt_hour_rows[pool.pool, slot]
            sum_cells(sheet, row, grid.col("prompt"), workloads, "demand", prompt, hour.prompt, "n1")
            for name in ("demand", "run", "firm", "spot", "api", "mtok"):
                style = "n2" if name == "mtok" else "n1"
                sum_cells(sheet, row, grid.col(name), workloads, name, asked, getattr(hour, name), style)
            sheet.formula(
                row, grid.col("spot_share"),
                f"=IF({here['firm']}+{here['spot']}=0,0,{here['spot']}/({here['firm']}+{here['spot']}))", hour.spot_share, "pct",
            )
            for name, style in (
                ("live", "int"), ("total", "int"), ("needed", "int"), ("spare", "int"), ("rollout", "int"), ("busy", "n2"),
                ("running", "n1"), ("working", "n1"), ("spot_running", "n1"),
            ):  # fmt: skip
                sum_cells(sheet, row, grid.col(name), replicas, name, places.replica_rows[pool.pool, slot], getattr(hour, name), style)
            sheet.formula(row, grid.col("use"), f"=IF({here['live']}=0,0,{here['busy']}/{here['live']})", hour.use, "pct")
            if hour.in_rollout:
                text = f"=1+{places.inputs.pools.ref('rollout_frac', pool.pool)}"
                sheet.formula(row, grid.col("factor"), text, hour.factor, "n2")
            else:
                sheet.number(row, grid.col("factor"), 1, "n2")
            sheet.formula(row, grid.col("need"), f"={places.need_text(pool.pool, here)}", hour.need, "n1")
            place += 1
    sheet.raw.conditional_format(
        grid.first, grid.col("use"), grid.last, grid.col("use"),
        {"type": "data_bar", "bar_color": "#9CC3D5", "bar_solid": True, "min_type": "num", "min_value": 0, "max_type": "num", "max_value": 1},
    )
    _finish(sheet, grid, 3)


def _slice(sheet: PlanSheet, grid: Grid, row: int, places: Places, figures: Figures, slot: int) -> None:
    day_type, hour = figures.slices[slot]
    sheet.text(row, grid.col("day_type"), day_type)
    sheet.number(row, grid.col("hour"), hour, "hour")
    sheet.formula(row, grid.col("weight"), f"={places.hourly.ref('weight', slot)}", figures.weights[slot], "n2")


def _ratio(
    sheet: PlanSheet, row: int, grid: Grid, places: Places, workload: str, key: tuple[str, int], value: float
) -> None:
    text = places.ratio(workload, key)
    if text is None:
        sheet.number(row, grid.col("ratio"), 0, "n2")
    else:
        sheet.formula(row, grid.col("ratio"), f"={text}", value, "n2")


def _finish(sheet: PlanSheet, grid: Grid, frozen: int) -> None:
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


def matching(target: str, *pairs: tuple[str, str]) -> str:
    """Sum of a range over the rows in which other ranges equal cells. Not SUMIFS: a name that begins with = or * is no criterion."""
    return f"SUMPRODUCT({'*'.join(f'({span}={wanted})' for span, wanted in pairs)}*{target})"


def round_up(text: str) -> str:
    """ROUNDUP with the hedge of the program, for what is 0 or more: 4.2 / 1.4 is 3.0000000000000004 and means 3."""
    return f"ROUNDUP(MAX(0,{text}-rounding_hedge*MAX(1,{text})),0)"
