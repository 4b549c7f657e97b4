"""Options: every operating point that could serve, with its memory fit; Rejections: everything that could not, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.candidates.option import OperatingPoint, Option
from optimizer.report.figures import Figures, mtok
from optimizer.report.formulas import matching
from optimizer.report.grid import Col, Grid
from optimizer.report.writer import A3, PlanSheet

if TYPE_CHECKING:
    from optimizer.report.places import Places

OPTIONS, REJECTIONS = "Options", "Rejections"
_TOP = 4


def options_grid(figures: Figures) -> Grid:
    """A row for each workload that an option can serve."""
    cols = (
        Col("pool", "Pool", width=16), Col("option", "Option", width=36), Col("workload", "Workload", width=14),
        Col("node_type", "Node type", width=12), Col("gpu", "GPU", width=10),
        Col("gpus_taken", "GPUs per replica", "GPUs", "n2", 9), Col("per_node", "Replicas per node", "replicas", "int", 9),
        Col("output_tps", "Measured goodput", "tok/s per replica", "n1", 12),
        Col("input_tps", "Measured prefill", "tok/s per replica", "n1", 12),
        Col("concurrency", "Sequences in flight", "sequences", "n1", 10),
        Col("ttft", "TTFT measured", "ms", "n1", 9), Col("tpot", "TPOT measured", "ms", "n1", 9),
        Col("stat", "Latency statistic", width=9), Col("kind", "Kind", width=10),
        Col("usable", "Usable memory", "GB per replica", "n1", 10), Col("weights", "Weights", "GB", "n1", 9),
        Col("room", "Room for sequences", "GB", "n1", 10), Col("per_seq", "KV and state", "GB per sequence", "plain", 11),
        Col("left", "Sequences that fit", "sequences", "int", 10), Col("fits", "Fits", "TRUE/FALSE", "bool", 8),
        Col("run_h", "Runs", "replica-h/day", "n1", 11), Col("used", "In the plan", "TRUE/FALSE", "bool", 8),
        Col("mtok", "Serves", "M tok/day", "n2", 10),
        Col("replica_h", "Tokens / goodput", "replica-h/day", "n2", 11),
        Col("goodput", "Goodput over its workloads", "tok/s per replica", "n1", 12),
        Col("flags", "To know", width=30), Col("source", "Source", width=30), Col("as_of", "As of", style="date", width=11),
    )  # fmt: skip
    return Grid(OPTIONS, _TOP, cols, sum(len(option.points) for option in figures.candidates.options))


def rejections_grid(figures: Figures) -> Grid:
    """A row for each combination or offer that was set aside."""
    cols = (
        Col("code", "Code", width=24), Col("reason", "Reason", width=90), Col("workload", "Workload", width=14),
        Col("model", "Model", width=16), Col("precision", "Precision", width=10), Col("gpu", "GPU", width=10),
        Col("node_type", "Node type", width=14), Col("gpus_per_replica", "GPUs per replica", "GPUs", "int", 9),
        Col("engine", "Engine", width=10), Col("offer", "Offer", width=24), Col("numbers", "Numbers behind it", width=60),
    )  # fmt: skip
    return Grid(REJECTIONS, _TOP, cols, len(figures.candidates.rejections))


def fill_options(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """Operating points with fit, use and source."""
    grid = places.options
    sheet.title(
        "Options",
        "What could serve each workload: goodput as measured at its operating point, and whether it fits in memory there.",
    )
    sheet.header(grid)
    place = 0
    for option in figures.candidates.options:
        for point in option.points:
            _option_row(sheet, places, figures, option, point, place)
            place += 1
    if not place:
        sheet.text(grid.first + 1, 0, "Nothing was measured that could serve; see Rejections.", fmt=sheet.book.formats.note())
    sheet.show_flags(grid.first, grid.col("fits"), grid.last, grid.col("fits"))
    sheet.finish(freeze=(grid.first, 3), repeat=(0, grid.top + 1), paper=A3)
    sheet.raw.autofilter(grid.top + 1, 0, grid.last, grid.right)


def _option_row(sheet: PlanSheet, places: Places, figures: Figures, option: Option, point: OperatingPoint, place: int) -> None:
    grid, inputs = places.options, places.inputs
    row, measured, fit = grid.first + place, point.row, point.fit
    here = {col.key: grid.here(col.key, place) for col in grid.cols}
    for key, words in (
        ("pool", option.pool), ("option", option.option), ("workload", point.workload), ("node_type", option.node_type),
        ("gpu", option.gpu), ("stat", measured.latency_stat), ("kind", measured.kind), ("flags", point_flags(point)),
        ("source", measured.source),
    ):  # fmt: skip
        sheet.text(row, grid.col(key), words)
    origin = inputs.goodput_rows[measured]

    def measured_cell(key: str) -> str:
        return inputs.goodput.grid.ref(key, origin)

    shared = f"/{measured_cell('replicas_per_gpu')}" if option.replicas_per_gpu > 1 else ""
    sheet.formula(row, grid.col("gpus_taken"), f"={measured_cell('gpus_per_replica')}{shared}", option.gpus_taken, "n2")
    per_node = f"{inputs.node_types.ref('gpus_per_node', option.node_type)}/{here['gpus_taken']}"
    sheet.formula(row, grid.col("per_node"), f"=MAX(1,ROUNDDOWN({per_node}+rounding_hedge,0))", option.replicas_per_node, "int")
    sheet.formula(row, grid.col("output_tps"), f"={measured_cell('output_tps')}", point.output_tps, "n1")
    for key, column, value in (
        ("input_tps", "input_tps", point.input_tps), ("ttft", "ttft_ms", measured.ttft_ms), ("tpot", "tpot_ms", measured.tpot_ms),
    ):  # fmt: skip
        if value is not None:
            sheet.formula(row, grid.col(key), f"={measured_cell(column)}", value, "n1")
    sheet.formula(row, grid.col("concurrency"), f"={measured_cell('concurrency')}", measured.concurrency, "n1")
    memory = inputs.node_types.ref("gpu_memory_gb", option.node_type)
    overhead = inputs.policy.ref("value", "overhead_frac")
    sheet.formula(row, grid.col("usable"), f"={here['gpus_taken']}*{memory}*(1-{overhead})", fit.usable_gb, "n1")
    weights = inputs.model_cell(option, "weights_gb")
    if weights is None:
        sheet.number(row, grid.col("weights"), fit.weights_gb, "n1")
    else:
        sheet.formula(row, grid.col("weights"), f"={weights}", fit.weights_gb, "n1")
    sheet.formula(row, grid.col("room"), f"={here['usable']}-{here['weights']}", fit.usable_gb - fit.weights_gb, "n1")
    sheet.number(row, grid.col("per_seq"), fit.per_seq_gb, "plain")
    if fit.per_seq_gb > 0 and fit.sequences_left is not None:
        text = (
            f"=MAX(0,ROUNDDOWN({here['room']}/{here['per_seq']}+rounding_hedge*MAX(1,ABS({here['room']}/{here['per_seq']})),0))"
        )
        sheet.formula(row, grid.col("left"), text, max(0, fit.sequences_left), "int")
    demanded = f"{here['concurrency']}*{here['per_seq']}"
    sheet.formula(
        row, grid.col("fits"), f"=AND({here['room']}>=0,{here['room']}>={demanded}-tolerance*MAX(1,{demanded}))", fit.fits, "bool"
    )
    rows = places.replicas_of.get((option.pool, option.option), [])
    if rows:
        replicas = places.replicas
        runs = [(replicas.span(key), here[key]) for key in ("pool", "option")]
        target = f"{replicas.span('total')}*{replicas.span('weight')}"
        run_h = sum(item.count.total * figures.weights[item.place] for item in rows)
        sheet.formula(row, grid.col("run_h"), f"={matching(target, *runs)}", run_h, "n1")
    else:
        sheet.number(row, grid.col("run_h"), 0, "n1")
    sheet.formula(row, grid.col("used"), f"={here['run_h']}>0", bool(rows), "bool")
    loads = places.loads_of.get((option.option, point.workload), [])
    hours = sum((load.firm_tps + load.spot_tps) * figures.weights[figures.place_of[load.day_type, load.hour]] for load in loads)
    routing = places.routing
    if loads:
        same = [(routing.span(key), here[key]) for key in ("pool", "option", "workload")]
        sheet.formula(row, grid.col("mtok"), f"={matching(routing.span('mtok'), *same)}", mtok(hours), "n2")
        sheet.formula(
            row, grid.col("replica_h"), f"={matching(routing.span('replica_h'), *same)}", hours / point.output_tps, "n2"
        )
    else:
        sheet.number(row, grid.col("mtok"), 0, "n2")
        sheet.number(row, grid.col("replica_h"), 0, "n2")
    _goodput(sheet, places, figures, option, place)
    if measured.as_of is not None:
        sheet.date(row, grid.col("as_of"), measured.as_of)
    else:
        sheet.text(row, grid.col("as_of"), measured.as_of_text)


def _goodput(sheet: PlanSheet, places: Places, figures: Figures, option: Option, place: int) -> None:
    """Goodput over all workloads of the option: tokens / (tokens / goodput); the mean of its points where it serves nothing."""
    grid = places.options
    first = places.first_option_row[option.pool, option.option]
    last = first + len(option.points)
    value = figures.goodput_tps[option.pool, option.option]
    if len(option.points) == 1:
        text = grid.here("output_tps", place)
    elif any((option.option, point.workload) in places.loads_of for point in option.points):
        tokens, hours = grid.span_here("mtok", first, last), grid.span_here("replica_h", first, last)
        text = f"SUM({tokens})*tokens_per_mtok/seconds_per_hour/SUM({hours})"
    else:
        text = f"COUNT({grid.span_here('output_tps', first, last)})/SUMPRODUCT(1/{grid.span_here('output_tps', first, last)})"
    sheet.formula(grid.first + place, grid.col("goodput"), f"={text}", value, "n1")


def point_flags(point: OperatingPoint) -> str:
    """What a reader must know of an operating point, in words."""
    notes = []
    if point.row.kind != "measured":
        notes.append(f"{point.row.kind}, not measured")
    if point.shape_lighter:
        notes.append("measured at a lighter shape: optimistic")
    elif point.shape_distance > 0:
        notes.append("measured at the nearest shape, not this one")
    if point.unstated:
        notes.append(f"nobody states {', '.join(point.unstated)}")
    if point.latency_unknown:
        notes.append("latency statistic unknown")
    return "; ".join(notes)


def fill_rejections(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """Everything that was looked at and set aside, with reason and numbers."""
    grid = places.rejections
    sheet.title("Rejections", "What could have served and does not, with the reason and the numbers behind it.")
    sheet.header(grid)
    for place, item in enumerate(figures.candidates.rejections):
        row = grid.first + place
        for key in ("code", "reason", "workload", "model", "precision", "gpu", "node_type", "engine", "offer"):
            words = getattr(item, key)
            if words:
                sheet.text(row, grid.col(key), words)
        if item.gpus_per_replica is not None:
            sheet.number(row, grid.col("gpus_per_replica"), item.gpus_per_replica, "int")
        if item.numbers:
            sheet.text(row, grid.col("numbers"), "; ".join(f"{name} {value:,.6g}" for name, value in item.numbers))
    if not figures.candidates.rejections:
        sheet.text(grid.first + 1, 0, "Nothing was set aside.", fmt=sheet.book.formats.note())
    sheet.finish(freeze=(grid.first, 1), repeat=(0, grid.top + 1))
    sheet.raw.autofilter(grid.top + 1, 0, grid.last, grid.right)
