"""Cost: the bill of a day by offer and part, purchase type, node type, GPU and pool; $/M tokens with each denominator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.plan.ledger import API, IDLE
from optimizer.report.constants import DAYS_PER_YEAR, QUARTERS_PER_YEAR
from optimizer.report.figures import Figures, mtok
from optimizer.report.formulas import matching
from optimizer.report.grid import Grid
from optimizer.report.plan_lines import Line
from optimizer.report.sheets.cost_layout import DENOMINATORS, PART_LABELS, api_pairs, mean_ratio, node_type_usd, pair_price
from optimizer.report.sheets.hourly_layout import market_key
from optimizer.report.sheets.purchases import energy_text
from optimizer.report.words import PURCHASE_LABELS
from optimizer.report.writer import PlanSheet
from optimizer.units import DAYS_PER_MONTH, HOURS_PER_DAY

if TYPE_CHECKING:
    from optimizer.report.places import Places


def fill_cost(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """All tables of the sheet."""
    sheet.title(
        "Cost",
        "An average day of the horizon. Prices come from Offers, ApiPrices and Sites: change one there and every total follows.",
    )
    heading = sheet.book.formats.heading()
    tables = places.cost
    for grid, words in (
        (tables.offers, "By offer and part of the bill"), (tables.parts, "By part of the bill"),
        (tables.types, "By purchase type"),
        (tables.gpus, "By GPU"), (tables.node_types, "By node type"),
        (tables.pools, "By pool: nodes in use are shared hour by hour by the GPUs of the replicas on them"),
        (tables.mtok, "Cost of a million output tokens, each with its denominator"),
        (tables.pairs, "API prices for these requests, input included"),
    ):  # fmt: skip
        sheet.text(grid.top - 1, 0, words, fmt=heading)
        sheet.header(grid)
    _offers(sheet, places, figures)
    _parts(sheet, places, figures)
    _sums(sheet, places, figures)
    _node_types(sheet, places, figures)
    _pools(sheet, places, figures)
    _mtok(sheet, places, figures)
    _pairs(sheet, places, figures)
    sheet.finish(freeze=(3, 1), repeat=(0, 2), area=(0, 0, tables.pairs.last, tables.offers.right))


def part_texts(places: Places, line: Line, place: int) -> dict[str, tuple[str, float]]:
    """Formula and value of each part of an offer's cost that can differ from 0."""
    purchases = places.purchases
    here = {col.key: purchases.ref(col.key, place) for col in purchases.cols}
    texts = {"used": (f"{here['used_price']}*({here['used_h']}-{here['covered_h']})", line.used_usd)}
    if line.offer.is_held:
        texts["held"] = (f"{here['held_price']}*{here['held_h']}", line.held_usd)
        spread = f"IF({here['term']}=0,0,{here['upfront']}*{here['held']}/({here['term']}*days_per_month))"
        texts["upfront"] = (spread, line.upfront_usd)
    if line.site is not None and energy_text(places, line) is not None:
        texts["energy"] = (f"{here['energy_rate']}*{here['used_h']}", line.energy_usd)
        if line.offer.is_held:
            rent = places.inputs.sites.ref("usd_per_kw_month", line.site.site)
            node_kw = places.inputs.node_types.ref("node_kw", line.node_type.node_type)
            texts["site"] = (f"{rent}*{node_kw}*{here['held']}/days_per_month", line.site_usd)
    return texts


def _offers(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    grid = places.cost.offers
    total = figures.plan.cost.total
    for place, line in enumerate(figures.lines):
        row = grid.first + place
        for key, words in (
            ("name", line.offer.offer), ("kind", PURCHASE_LABELS[line.offer.purchase]), ("node_type", line.node_type.node_type),
            ("gpu", line.node_type.gpu),
        ):  # fmt: skip
            sheet.text(row, grid.col(key), words)
        texts = part_texts(places, line, place)
        for part in figures.cost_parts:
            if part in texts:
                sheet.formula(row, grid.col(part), f"={texts[part][0]}", texts[part][1], "usd2")
            else:
                sheet.number(row, grid.col(part), 0, "usd2")
        _row_total(sheet, grid, place, line.usd, total)
    for offset, name in enumerate(places.cost.apis):
        place = len(figures.lines) + offset
        row = grid.first + place
        usd = sum(item.usd_per_day for item in figures.plan.ledger.apis if item.api == name)
        for key, words in (("name", name), ("kind", PURCHASE_LABELS["api"]), ("node_type", ""), ("gpu", API)):
            sheet.text(row, grid.col(key), words)
        for part in figures.cost_parts[:-1]:
            sheet.number(row, grid.col(part), 0, "usd2")
        same = (places.api_hours.span("api"), grid.here("name", place))
        sheet.formula(row, grid.col("api"), f"={matching(places.api_hours.span('usd_day'), same)}", usd, "usd2")
        _row_total(sheet, grid, place, usd, total)
    for offset, bought in enumerate(figures.commitments):
        place = len(figures.lines) + len(places.cost.apis) + offset
        row = grid.first + place
        node_type = figures.commitment_node_type(bought.discount)
        for key, words in (
            ("name", bought.discount), ("kind", PURCHASE_LABELS["discount"]), ("node_type", node_type.node_type),
            ("gpu", node_type.gpu),
        ):  # fmt: skip
            sheet.text(row, grid.col(key), words)
        for part in figures.cost_parts:
            sheet.number(row, grid.col(part), 0, "usd2")
        usd = bought.usd_per_h * HOURS_PER_DAY
        sheet.formula(row, grid.col("discounts"), f"={places.commitments.ref('usd_day', offset)}", usd, "usd2")
        _row_total(sheet, grid, place, usd, total)
    row = places.cost.total_row
    for key in ("name", "kind", "node_type", "gpu", "share"):
        sheet.raw.write_blank(row, grid.col(key), None, sheet.book.formats.cell("text", "total"))
    sheet.text(row, 0, "Total", fmt=sheet.book.formats.cell("text", "total"))
    for part in (*figures.cost_parts, "total"):
        value = total if part == "total" else getattr(figures.plan.cost, part)
        sheet.formula(row, grid.col(part), f"=SUM({grid.span_here(part)})", value, "usd2", "total")


def _row_total(sheet: PlanSheet, grid: Grid, place: int, usd: float, total: float) -> None:
    row = grid.first + place
    sheet.formula(row, grid.col("total"), f"=SUM({grid.across(['held', 'api'], place)})", usd, "usd2")
    whole = f"SUM({grid.span_here('total')})"
    sheet.formula(
        row, grid.col("share"), f"=IF({whole}=0,0,{grid.here('total', place)}/{whole})", usd / total if total else 0.0, "pct"
    )


def _horizon(sheet: PlanSheet, places: Places, grid: Grid, place: int, text: str, usd: float, total: float) -> None:
    """$/day, its share, and the same for a month, a quarter and a year."""
    row = grid.first + place
    here = grid.here("usd", place)
    sheet.formula(row, grid.col("usd"), f"={text}", usd, "usd2")
    whole = places.cost_total_here
    sheet.formula(row, grid.col("share"), f"=IF({whole}=0,0,{here}/{whole})", usd / total if total else 0.0, "pct")
    year = usd * DAYS_PER_YEAR
    sheet.formula(row, grid.col("month"), f"={here}*days_per_month", usd * DAYS_PER_MONTH, "usd0")
    sheet.formula(row, grid.col("quarter"), f"={here}*days_per_year/quarters_per_year", year / QUARTERS_PER_YEAR, "usd0")
    sheet.formula(row, grid.col("year"), f"={here}*days_per_year", year, "usd0")


def _parts(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    grid, offers, total = places.cost.parts, places.cost.offers, figures.plan.cost.total
    for place, part in enumerate(figures.cost_parts):
        sheet.text(grid.first + place, grid.col("name"), PART_LABELS[part])
        _horizon(sheet, places, grid, place, f"SUM({offers.span_here(part)})", getattr(figures.plan.cost, part), total)


def _sums(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """By purchase type and by GPU: sums over the offers table."""
    offers, total = places.cost.offers, figures.plan.cost.total
    api_usd = figures.plan.cost.api
    for place, kind in enumerate(places.cost.kinds):
        grid = places.cost.types
        sheet.text(grid.first + place, grid.col("name"), PURCHASE_LABELS[kind])
        usd = sum(line.usd for line in figures.lines if line.offer.purchase == kind)
        usd += {"api": api_usd, "discount": figures.plan.cost.discounts}.get(kind, 0.0)
        text = matching(offers.span_here("total"), (offers.span_here("kind"), grid.here("name", place)))
        _horizon(sheet, places, grid, place, text, usd, total)
    for place, gpu in enumerate(places.cost.gpu_names):
        grid = places.cost.gpus
        sheet.text(grid.first + place, grid.col("name"), gpu)
        usd = api_usd if gpu == API else sum(node_type_usd(figures, row) for row in figures.node_types if row.gpu == gpu)
        text = matching(offers.span_here("total"), (offers.span_here("gpu"), grid.here("name", place)))
        _horizon(sheet, places, grid, place, text, usd, total)


def _node_types(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    grid, offers, purchases, replicas = places.cost.node_types, places.cost.offers, places.purchases, places.replicas
    for place, node_type in enumerate(figures.node_types):
        row = grid.first + place
        here = {col.key: grid.here(col.key, place) for col in grid.cols}
        lines = [line for line in figures.lines if line.node_type == node_type]
        name = node_type.node_type
        usd, paid_h = node_type_usd(figures, node_type), sum(line.paid_node_hours for line in lines)
        paid_gpu_h = paid_h * node_type.gpus_per_node
        rows = [item for item in figures.replica_rows if item.option.node_type == name]
        run = sum((item.firm_gpus + item.spot_gpus) * figures.weights[item.place] for item in rows)
        sheet.text(row, grid.col("node_type"), name)
        sheet.text(row, grid.col("gpu"), node_type.gpu)
        sheet.formula(
            row,
            grid.col("gpus_per_node"),
            f"={places.inputs.node_types.ref('gpus_per_node', name)}",
            node_type.gpus_per_node,
            "int",
        )
        same = (offers.span_here("node_type"), here["node_type"])
        sheet.formula(row, grid.col("usd"), f"={matching(offers.span_here('total'), same)}", usd, "usd2")
        same = (purchases.span("node_type"), here["node_type"])
        sheet.formula(row, grid.col("paid_h"), f"={matching(purchases.span('paid_h'), same)}", paid_h, "n1")
        sheet.formula(row, grid.col("paid_gpu_h"), f"={here['paid_h']}*{here['gpus_per_node']}", paid_gpu_h, "n1")
        same = (replicas.span("node_type"), here["node_type"])
        taken = f"({replicas.span('firm_gpus')}+{replicas.span('spot_gpus')})*{replicas.span('weight')}"
        sheet.formula(row, grid.col("run_gpu_h"), f"={matching(taken, same)}", run, "n1")
        sheet.formula(
            row,
            grid.col("use"),
            f"=IF({here['paid_gpu_h']}=0,0,{here['run_gpu_h']}/{here['paid_gpu_h']})",
            run / paid_gpu_h if paid_gpu_h else 0.0,
            "pct",
        )
        tps = figures.tps_per_gpu[name]
        running = matching(f"{replicas.span('running')}*{replicas.span('weight')}", same)
        sheet.formula(row, grid.col("tps_per_gpu"), f"=IF({here['run_gpu_h']}=0,0,{running}/{here['run_gpu_h']})", tps, "n1")
        sheet.formula(
            row,
            grid.col("mtok"),
            f"={here['paid_gpu_h']}*{here['tps_per_gpu']}*seconds_per_hour/tokens_per_mtok",
            mtok(paid_gpu_h * tps),
            "n2",
        )
        for key, per, hours in (("usd_gpu_h", "paid_gpu_h", paid_gpu_h), ("usd_node_h", "paid_h", paid_h)):
            sheet.formula(
                row, grid.col(key), f"=IF({here[per]}=0,0,{here['usd']}/{here[per]})", usd / hours if hours else 0.0, "usd2"
            )


def _pools(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    grid, replicas, api_hours = places.cost.pools, places.replicas, places.api_hours
    total = figures.plan.cost.total
    fleet_usd = sum(line.usd for line in figures.lines) + figures.plan.cost.discounts
    shared = 0.0
    for place, pool in enumerate(figures.case.pools):
        row = grid.first + place
        here = {col.key: grid.here(col.key, place) for col in grid.cols}
        lines = [item for item in figures.plan.ledger.pools if item.pool == pool.pool]
        fleet = sum(item.usd_per_day for item in lines if item.gpu != API)
        api = sum(item.usd_per_day for item in lines if item.gpu == API)
        tokens = sum(hour.mtok for hour in places.pools.hours[pool.pool])
        shared += fleet
        sheet.text(row, grid.col("pool"), pool.pool)
        nodes = matching(replicas.span("usd"), (replicas.span("pool"), here["pool"]))
        if pool in figures.quota_pools:
            hourly = places.hourly
            rate = hourly.span(f"rate:{market_key(pool.fixed_node_type or '', False)}")
            nodes += f"+SUMPRODUCT({hourly.span('weight')}*{rate})*{places.quota_text(pool)}"
        sheet.formula(row, grid.col("fleet"), f"={nodes}", fleet, "usd2")
        sheet.formula(
            row, grid.col("api"), f"={matching(api_hours.span('usd_day'), (api_hours.span('pool'), here['pool']))}", api, "usd2"
        )
        hours = places.pool_hours
        sheet.formula(row, grid.col("mtok"), f"={matching(hours.span('mtok'), (hours.span('pool'), here['pool']))}", tokens, "n2")
        price = (fleet + api) / tokens if tokens else "n/a"
        sheet.formula(
            row, grid.col("price"), f"=IF({here['mtok']}=0,not_applicable,{here['total']}/{here['mtok']})", price, "usd_mtok"
        )
        _pool_total(sheet, places, grid, place, fleet + api, total)
    place = len(figures.case.pools)
    row = grid.first + place
    sheet.text(row, grid.col("pool"), f"{IDLE} (nodes held and not used)")
    whole = f"SUM({places.cost.offers.span_here('total')})-SUM({places.cost.offers.span_here('api')})"
    idle = fleet_usd - shared
    sheet.formula(row, grid.col("fleet"), f"={whole}-SUM({grid.span_here('fleet', 0, place)})", idle, "usd2")
    sheet.number(row, grid.col("api"), 0, "usd2")
    _pool_total(sheet, places, grid, place, idle, total)


def _pool_total(sheet: PlanSheet, places: Places, grid: Grid, place: int, usd: float, total: float) -> None:
    row = grid.first + place
    sheet.formula(row, grid.col("total"), f"={grid.here('fleet', place)}+{grid.here('api', place)}", usd, "usd2")
    whole = places.cost_total_here
    sheet.formula(
        row, grid.col("share"), f"=IF({whole}=0,0,{grid.here('total', place)}/{whole})", usd / total if total else 0.0, "pct"
    )


def _mtok(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    grid, offers, plan = places.cost.mtok, places.cost.offers, figures.plan
    whole, api = f"SUM({offers.span_here('total')})", f"SUM({offers.span_here('api')})"
    served = sum(mtok((load.firm_tps + load.spot_tps) * figures.weights[figures.place_of[load.day_type, load.hour]])
                 for load in figures.load_rows)  # fmt: skip
    to_api = sum(item.mtok_per_day for item in plan.ledger.apis)
    full = sum(
        mtok(line.paid_node_hours * line.node_type.gpus_per_node * figures.tps_per_gpu[line.node_type.node_type])
        for line in figures.lines
    )
    fleet = plan.cost.total - plan.cost.api
    rows = {
        "forecast": (whole, plan.cost.total, f"SUM({places.workload_hours.span('mtok')})", plan.output_mtok_per_day),
        "fleet": (f"{whole}-{api}", fleet, f"SUM({places.routing.span('mtok')})", served),
        "api": (api, plan.cost.api, f"SUM({places.api_hours.span('mtok')})", to_api),
        "full_goodput": (f"{whole}-{api}", fleet, f"SUM({places.cost.node_types.span_here('mtok')})", full),
    }
    for place, (key, label, meaning) in enumerate(DENOMINATORS):
        row = grid.first + place
        usd_text, usd, mtok_text, tokens = rows[key]
        sheet.text(row, grid.col("name"), label)
        sheet.formula(row, grid.col("usd"), f"={usd_text}", usd, "usd2")
        sheet.formula(row, grid.col("mtok"), f"={mtok_text}", tokens, "n2")
        price = getattr(plan.usd_per_mtok, key)
        text = f"=IF({grid.here('mtok', place)}=0,not_applicable,{grid.here('usd', place)}/{grid.here('mtok', place)})"
        sheet.formula(row, grid.col("price"), text, "n/a" if price is None else price, "usd_mtok")
        sheet.text(row, grid.col("meaning"), meaning, fmt=sheet.book.formats.note())


def _pairs(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    grid, inputs = places.cost.pairs, places.inputs
    pairs = api_pairs(figures)
    if not pairs:
        sheet.text(grid.first, 0, "No API price is known for these models, or for the input that comes with them.",
                   fmt=sheet.book.formats.note())  # fmt: skip
        return
    for place, pair in enumerate(pairs):
        row = grid.first + place
        name = pair.workload.workload
        here = {col.key: grid.here(col.key, place) for col in grid.cols}
        sheet.text(row, grid.col("workload"), name)
        sheet.text(row, grid.col("api"), pair.api.api)
        sheet.flag(row, grid.col("allowed"), pair.allowed)
        for key, column, value in (
            ("output", "output_usd_per_mtok", pair.api.output_usd_per_mtok),
            ("input", "input_usd_per_mtok", pair.api.input_usd_per_mtok),
            ("cached", "cached_input_usd_per_mtok", pair.api.cached_input_usd_per_mtok),
        ):
            sheet.formula(row, grid.col(key), f"={inputs.api_prices.ref(column, pair.api.api)}", value, "usd_mtok")
        sheet.formula(
            row, grid.col("hit"), f"={inputs.workloads.ref('prefix_hit_frac', name)}", pair.workload.prefix_hit_frac, "pct"
        )
        first, last = places.workload_block(name)
        hours = places.workload_hours
        tokens, ratios = hours.span("mtok", first, last), hours.span("ratio", first, last)
        sheet.formula(
            row,
            grid.col("ratio"),
            f"=IF(SUM({tokens})=0,0,SUMPRODUCT({tokens},{ratios})/SUM({tokens}))",
            mean_ratio(figures, pair.workload),
            "n2",
        )
        price = pair_price(figures, pair)
        text = f"={here['output']}+{here['ratio']}*((1-{here['hit']})*{here['input']}+{here['hit']}*{here['cached']})"
        sheet.formula(row, grid.col("price"), text, price, "usd_mtok")
        amount = mtok(sum(figures.demand(pair.workload, slot) * weight for slot, weight in enumerate(figures.weights)))
        sheet.formula(row, grid.col("mtok"), f"=SUM({tokens})", amount, "n2")
        sheet.formula(row, grid.col("usd"), f"={here['price']}*{here['mtok']}", price * amount, "usd2")
        mine = [number for number, other in enumerate(pairs) if other.workload is pair.workload]
        span = grid.span_here("price", mine[0], mine[-1] + 1)
        best = min(pair_price(figures, pairs[number]) for number in mine)
        sheet.formula(row, grid.col("best"), f"={here['price']}=MIN({span})", price == best, "bool")
