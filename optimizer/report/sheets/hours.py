"""Hour by hour: demand and who serves it by workload, replicas by option, and all of it by pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.report.figures import Figures, mtok
from optimizer.report.formulas import round_up
from optimizer.report.grid import Col, Grid
from optimizer.report.marginal import NOTHING
from optimizer.report.sheets.slices import DAY, HOUR, TABLE_TOP, WEIGHT, finish_rows, sum_cells, write_ratio, write_slice
from optimizer.report.writer import PlanSheet

if TYPE_CHECKING:
    from optimizer.report.places import Places

POOL_HOURS, WORKLOAD_HOURS, REPLICAS = "Pool hours", "Workload hours", "Replicas"
REPLICAS_COLS = (
    Col("pool", "Pool", width=12), Col("option", "Option", width=34), Col("node_type", "Node type", width=12), DAY, HOUR,
    WEIGHT,
    Col("gpus_taken", "GPUs per replica", "GPUs", "n2", 9),
    Col("live", "Live", "replicas", "int", 8), Col("total", "Total", "replicas", "int", 8),
    Col("spot_live", "Of live, on spot", "replicas", "int", 8), Col("spot_total", "Of total, on spot", "replicas", "int", 8),
    Col("firm_gpus", "GPUs, firm", "GPUs", "n1", 8), Col("spot_gpus", "GPUs, spot", "GPUs", "n1", 8),
    Col("busy", "Work at full goodput", "replicas", "n2", 10), Col("occupancy", "Planned occupancy", "share", "pct", 10),
    Col("needed", "Needed in a normal hour", "replicas", "int", 10),
    Col("spare", "Spare for the bad day", "replicas", "int", 9),
    Col("rollout", "Rollout surge", "replicas", "int", 8), Col("goodput", "Goodput of a replica", "tok/s", "n1", 10),
    Col("running", "Goodput running", "tok/s", "n1", 11), Col("working", "Work at goodput", "tok/s", "n1", 11),
    Col("spot_running", "Live on spot, at goodput", "tok/s", "n1", 11), Col("usd", "Share of node cost", "$/day", "usd2", 11),
)  # fmt: skip


def workload_hours_grid(figures: Figures) -> Grid:
    """A row for each workload in each hour."""
    cols = (
        Col("workload", "Workload", width=14), Col("pool", "Pool", width=12), DAY, HOUR, WEIGHT,
        Col("demand", "Demand", "tok/s", "n1", 11), Col("run", "To run, after shifting", "tok/s", "n1", 11),
        Col("firm", "On firm replicas", "tok/s", "n1", 11), Col("spot", "On spot replicas", "tok/s", "n1", 11),
        Col("api", "API", "tok/s", "n1", 11), Col("gap", "Served less to run", "tok/s", "n1", 11),
        Col("api_share", "API share", "share", "pct", 8),
        Col("ratio", "Input per output token", "tok/tok", "n2", 10), Col("mtok", "Demand", "M tok/day", "n2", 10),
    )  # fmt: skip
    return Grid(WORKLOAD_HOURS, TABLE_TOP, cols, len(figures.case.workloads) * len(figures.slices))


def replicas_grid(figures: Figures) -> Grid:
    """A row for each option of a pool in each hour in which it has replicas."""
    return Grid(REPLICAS, TABLE_TOP, REPLICAS_COLS, len(figures.replica_rows))


def pool_hours_grid(figures: Figures) -> Grid:
    """A row for each pool in each hour."""
    cols = (
        Col("pool", "Pool", width=14), DAY, HOUR, WEIGHT, Col("demand", "Demand", "tok/s", "n1", 11),
        Col("prompt", "Demand that cannot wait", "tok/s", "n1", 11), Col("run", "To run, after shifting", "tok/s", "n1", 11),
        Col("firm", "On firm replicas", "tok/s", "n1", 11), Col("spot", "On spot replicas", "tok/s", "n1", 11),
        Col("api", "API", "tok/s", "n1", 11), Col("spot_share", "Spot share of own", "share", "pct", 9),
        Col("live", "Live", "replicas", "int", 8), Col("total", "Total", "replicas", "int", 8),
        Col("needed", "Needed in a normal hour", "replicas", "int", 10),
        Col("spare", "Spare for the bad day", "replicas", "int", 9),
        Col("rollout", "Rollout surge", "replicas", "int", 8), Col("busy", "Work at full goodput", "replicas", "n2", 10),
        Col("occupancy", "Planned occupancy", "share of live", "pct", 10),
        Col("use", "Occupancy", "share of live", "pct", 11), Col("running", "Goodput running", "tok/s", "n1", 11),
        Col("working", "Work at goodput", "tok/s", "n1", 11), Col("factor", "Rollout factor", "x", "n2", 8),
        Col("spot_running", "Live on spot, at goodput", "tok/s", "n1", 11),
        Col("need", "Need with headroom", "tok/s", "n1", 11), Col("mtok", "Demand", "M tok/day", "n2", 10),
        Col("next", "Next tok/s from", width=11), Col("next_usd", "Next tok/s at", "$/h", "usd_mtok", 9),
    )  # fmt: skip
    return Grid(POOL_HOURS, TABLE_TOP, cols, len(figures.case.pools) * len(figures.slices))


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
            write_slice(sheet, grid, row, places, figures, slot)
            demand = figures.demand(workload, slot)
            sheet.formula(
                row, grid.col("demand"), f"={places.inputs.demand.ref('output_tps', workload.workload, *key)}", demand, "n1"
            )
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
                row,
                grid.col("gap"),
                f"={here['firm']}+{here['spot']}+{here['api']}-{here['run']}",
                firm + spot + overflow - run,
                "n1",
            )
            sheet.formula(
                row,
                grid.col("api_share"),
                f"=IF({here['run']}=0,0,{here['api']}/{here['run']})",
                overflow / run if run else 0.0,
                "pct",
            )
            ratio = figures.input_per_output(workload.workload, key)
            write_ratio(sheet, row, grid, places, workload.workload, key, ratio)
            text = f"={here['demand']}*{here['weight']}*seconds_per_hour/tokens_per_mtok"
            sheet.formula(row, grid.col("mtok"), text, mtok(demand * weight), "n2")
            place += 1
    finish_rows(sheet, grid, 4)


def fill_replicas(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """Replicas by pool, option and hour: how many are needed, spare and in rollout, what they run and cost."""
    grid, routing = places.replicas, places.routing
    sheet.title("Replicas", "Replicas of each option in each hour. Live and total (spot included) are decisions of the solver.")
    sheet.header(grid)
    for place, item in enumerate(figures.replica_rows):
        row = grid.first + place
        count, option = item.count, item.option
        weight = figures.weights[item.place]
        option_row = places.first_option_row[count.pool, count.option]
        sheet.text(row, grid.col("pool"), count.pool)
        sheet.text(row, grid.col("option"), count.option)
        sheet.text(row, grid.col("node_type"), option.node_type)
        write_slice(sheet, grid, row, places, figures, item.place)
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
        planned = places.pool_hours.ref("occupancy", places.pool_hour(count.pool, item.place))
        sheet.formula(row, grid.col("occupancy"), f"={planned}", figures.occupancy(count.pool, item.place), "pct")
        needed = figures.needed(item)
        # Surge beside no live replica has nothing to do, and with `auto` no occupancy.
        work = f"{here['busy']}/({here['occupancy']}+({here['occupancy']}=0))"
        sheet.formula(row, grid.col("needed"), f"={round_up(work)}", needed, "int")
        sheet.formula(row, grid.col("spare"), f"={here['live']}-{here['needed']}", count.live - needed, "int")
        sheet.formula(row, grid.col("rollout"), f"={here['total']}-{here['live']}", count.total - count.live, "int")
        goodput = figures.goodput_tps[count.pool, count.option]
        sheet.formula(row, grid.col("goodput"), f"={places.options.ref('goodput', option_row)}", goodput, "n1")
        sheet.formula(row, grid.col("running"), f"={here['total']}*{here['goodput']}", count.total * goodput, "n1")
        sheet.formula(row, grid.col("working"), f"={here['busy']}*{here['goodput']}", item.busy * goodput, "n1")
        sheet.formula(row, grid.col("spot_running"), f"={here['spot_live']}*{here['goodput']}", count.spot_live * goodput, "n1")
        terms, value = [], 0.0
        for spot, gpus, name in ((False, item.firm_gpus, "firm_gpus"), (True, item.spot_gpus, "spot_gpus")):
            if (option.node_type, spot) in figures.markets:
                terms.append(f"{here[name]}*{places.market_rate_ref(option.node_type, spot, item.place)}")
                value += gpus * figures.market_rate(option.node_type, spot, item.place)
        sheet.formula(row, grid.col("usd"), f"={here['weight']}*({'+'.join(terms)})", weight * value, "usd2")
    if not figures.replica_rows:
        sheet.text(grid.first + 1, 0, "The plan runs no replicas.", fmt=sheet.book.formats.note())
    finish_rows(sheet, grid, 2)


def fill_pool_hours(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """Demand, replicas, occupancy and need with headroom, by pool and hour."""
    grid, workloads, replicas = places.pool_hours, places.workload_hours, places.replicas
    sheet.title(
        "Pool hours",
        "Need with headroom = (work at goodput / planned occupancy + what the tightest bad day asks) x rollout factor. "
        "Next tok/s: see Hourly.",
    )
    sheet.header(grid)
    place = 0
    for pool in figures.case.pools:
        for slot, _ in enumerate(figures.slices):
            row = grid.first + place
            hour = places.pools.hours[pool.pool][slot]
            sheet.text(row, grid.col("pool"), pool.pool)
            write_slice(sheet, grid, row, places, figures, slot)
            here = {col.key: grid.here(col.key, place) for col in grid.cols}
            asked = places.workload_hour_rows[pool.pool, slot]
            prompt = places.prompt_hour_rows[pool.pool, slot]
            sum_cells(sheet, row, grid.col("prompt"), workloads, "demand", prompt, hour.prompt, "n1")
            for name in ("demand", "run", "firm", "spot", "api", "mtok"):
                style = "n2" if name == "mtok" else "n1"
                sum_cells(sheet, row, grid.col(name), workloads, name, asked, getattr(hour, name), style)
            sheet.formula(
                row,
                grid.col("spot_share"),
                f"=IF({here['firm']}+{here['spot']}=0,0,{here['spot']}/({here['firm']}+{here['spot']}))",
                hour.spot_share,
                "pct",
            )
            for name, style in (
                ("live", "int"), ("total", "int"), ("needed", "int"), ("spare", "int"), ("rollout", "int"), ("busy", "n2"),
                ("running", "n1"), ("working", "n1"), ("spot_running", "n1"),
            ):  # fmt: skip
                sum_cells(
                    sheet, row, grid.col(name), replicas, name, places.replica_rows[pool.pool, slot], getattr(hour, name), style
                )
            text = f"={places.occupancy_text(pool, here['live'])}"
            sheet.formula(row, grid.col("occupancy"), text, hour.occupancy, "pct")
            sheet.formula(row, grid.col("use"), f"=IF({here['live']}=0,0,{here['busy']}/{here['live']})", hour.use, "pct")
            if hour.in_rollout:
                text = f"=1+{places.inputs.pools.ref('rollout_frac', pool.pool)}"
                sheet.formula(row, grid.col("factor"), text, hour.factor, "n2")
            else:
                sheet.number(row, grid.col("factor"), 1, "n2")
            sheet.formula(row, grid.col("need"), f"={places.need_text(pool.pool, here)}", hour.need, "n1")
            source = places.marginal.by_pool[pool.pool][slot]
            sheet.text(row, grid.col("next"), NOTHING if source is None else source.words)
            if source is not None:
                sheet.number(row, grid.col("next_usd"), source.usd_per_h, "usd_mtok")
            place += 1
    sheet.raw.conditional_format(
        grid.first,
        grid.col("use"),
        grid.last,
        grid.col("use"),
        {
            "type": "data_bar",
            "bar_color": "#9CC3D5",
            "bar_solid": True,
            "min_type": "num",
            "min_value": 0,
            "max_type": "num",
            "max_value": 1,
        },
    )
    finish_rows(sheet, grid, 3)
