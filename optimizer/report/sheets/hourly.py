"""Hourly: demand, who serves it, replicas, nodes by offer and cost, hour by hour; and the data of the capacity chart.

Left: what people read and print. Right, past the print area: capacity for the chart, nodes held, GPUs and their cost by market,
API limits. Under the hours: weighted totals of the day, and the rates by offer that the formulas use.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from optimizer.report.figures import Figures
from optimizer.report.formulas import matching
from optimizer.report.grid import Grid, cell_here
from optimizer.report.marginal import NOTHING, RULE
from optimizer.report.sheets.hourly_layout import (
    FIRM,
    RATES,
    SPOT,
    api_limits,
    axis_label,
    capacity_types,
    market_key,
    rate_row,
    spent_usd_per_h,
)
from optimizer.report.words import PURCHASE_LABELS
from optimizer.report.writer import A3, A4, PlanSheet
from optimizer.units import HOURS_PER_DAY

if TYPE_CHECKING:
    from optimizer.report.places import Places


#: Past so many columns the sheet asks for larger paper.
MOST_COLUMNS_ON_A4 = 22


class _Hourly:
    """Writes the sheet; short names for what its formulas share."""

    def __init__(self, sheet: PlanSheet, places: Places, figures: Figures) -> None:
        self.sheet, self.places, self.figures, self.grid = sheet, places, figures, places.hourly
        self.used = [f"used:{line.offer.offer}" for line in figures.lines]
        self.held = [f"held:{line.offer.offer}" for line in figures.lines if line.offer.is_held]

    def rates(self, key: str, columns: list[str]) -> str:
        """Range of a rate over the node columns named."""
        row = rate_row(self.grid, key)
        return f"{cell_here(row, self.grid.col(columns[0]))}:{cell_here(row, self.grid.col(columns[-1]))}"

    def times(self, key: str, columns: list[str], place: int) -> str:
        """Rate x nodes, summed over offers; "" where there are no such columns."""
        return f"SUMPRODUCT({self.rates(key, columns)},{self.grid.across(columns, place)})" if columns else ""

    def write(self, place: int) -> None:
        """One hour."""
        sheet, grid, figures, places = self.sheet, self.grid, self.figures, self.places
        row = grid.first + place
        day_type, hour = figures.slices[place]
        here = {col.key: grid.here(col.key, place) for col in grid.cols}
        pools = [hours[place] for hours in places.pools.hours.values()]
        sheet.text(row, grid.col("day_type"), day_type)
        sheet.number(row, grid.col("hour"), hour, "hour")
        several = len(figures.case.day_types) > 1
        sheet.text(row, grid.col("axis"), axis_label(day_type, hour, several))
        days = places.day_cells
        sheet.formula(row, grid.col("weight"), f"={days[day_type]}/SUM({places.day_span})", figures.weights[place], "n2")
        by_pool = [(places.pool_hours.span(key), here[key]) for key in ("day_type", "hour")]
        sums = {
            key: sum(getattr(item, key) for item in pools)
            for key in ("demand", "run", "firm", "spot", "api", "live", "total", "spare", "busy", "need")
        }
        for key, value in sums.items():
            style = "int" if key in {"live", "total", "spare"} else "n1"
            sheet.formula(row, grid.col(key), f"={matching(places.pool_hours.span(key), *by_pool)}", value, style)
        sheet.formula(
            row,
            grid.col("gap"),
            f"={here['firm']}+{here['spot']}+{here['api']}-{here['run']}",
            sums["firm"] + sums["spot"] + sums["api"] - sums["run"],
            "n1",
        )
        use = sums["busy"] / sums["live"] if sums["live"] else 0.0
        sheet.formula(row, grid.col("use"), f"=IF({here['live']}=0,0,{here['busy']}/{here['live']})", use, "pct")
        source = places.marginal.of_fleet(place)
        sheet.text(row, grid.col("next"), NOTHING if source is None else source.words)
        for line in figures.lines:
            sheet.number(row, grid.col(f"used:{line.offer.offer}"), line.used[place], "int", "decision")
            if line.offer.is_held:
                col = grid.col(f"held:{line.offer.offer}")
                if hour in line.offer.hours:
                    held = places.purchases.ref("held", places.line_row[line.offer.offer])
                    sheet.formula(row, col, f"={held}", line.held[place], "int")
                else:
                    sheet.number(row, col, 0, "int")
        self._cost(place, row, here)
        self._capacity(place, row)
        self._markets(place, row, here)

    def _cost(self, place: int, row: int, here: dict[str, str]) -> None:
        sheet, grid, figures, places = self.sheet, self.grid, self.figures, self.places
        lines = figures.lines
        api = sum(
            flow_usd
            for flow, flow_usd in zip(figures.api_rows, places.api_usd_h, strict=True)
            if (flow.day_type, flow.hour) == figures.slices[place]
        )
        values = {
            "held": sum(line.held[place] * line.offer.held_usd_per_node_h for line in lines),
            "used": sum(line.used[place] * line.used_usd_per_h for line in lines),
            "upfront": sum(line.upfront_usd for line in lines) / HOURS_PER_DAY,
            "energy": sum(line.used[place] * line.energy_usd_per_h for line in lines),
            "site": sum(line.site_usd for line in lines) / HOURS_PER_DAY,
            "api": api,
            "discounts": sum(row.usd_per_h for row in figures.commitments),
        }
        covered = [figures.covered.get((line.offer.offer, place), (0.0, 0.0))[0] for line in lines]
        values["used"] -= sum(nodes * line.used_usd_per_h for nodes, line in zip(covered, lines, strict=True))
        by_api = [(places.api_hours.span(key), here[key]) for key in ("day_type", "hour")]
        texts = {
            "held": self.times("held", self.held, place),
            "used": self.times("used", self.used, place),
            "upfront": f"{places.cost_total_ref('upfront')}/hours_per_day",
            "energy": self.times("energy", self.used, place),
            "site": f"{places.cost_total_ref('site')}/hours_per_day",
            "api": matching(places.api_hours.span("usd_h"), *by_api) if figures.api_rows else "",
            "discounts": f"SUM({places.commitments.span('usd_h')})",
        }
        if figures.covered_rows:
            by_hour = [(places.covered.span(key), here[key]) for key in ("day_type", "hour")]
            texts["used"] += f"-{matching(places.covered.span('list_h'), *by_hour)}"
        for part in figures.cost_parts:
            if texts[part]:
                sheet.formula(row, grid.col(f"cost_{part}"), f"={texts[part]}", values[part], "usd2")
            else:
                sheet.number(row, grid.col(f"cost_{part}"), 0, "usd2")
        total = sum(values[part] for part in figures.cost_parts)
        sheet.formula(row, grid.col("cost"), f"=SUM({grid.across(['cost_held', 'cost_api'], place)})", total, "usd2")
        sheet.formula(row, grid.col("cost_day"), f"={here['cost']}*{here['weight']}", total * figures.weights[place], "usd2")

    def _capacity(self, place: int, row: int) -> None:
        """Nodes paid for x goodput of what runs on them, by purchase type; for the API what is sent there."""
        sheet, grid, figures = self.sheet, self.grid, self.figures
        for kind in capacity_types(figures):
            col = grid.col(f"cap:{kind}")
            if kind == "api":
                value = sum(hours[place].api for hours in self.places.pools.hours.values())
                sheet.formula(row, col, f"={grid.here('api', place)}", value, "n1")
                continue
            lines = [line for line in figures.lines if line.offer.purchase == kind]
            columns = self.held if lines[0].offer.is_held else self.used
            of_kind = f"({self.rates('purchase', columns)}={cell_here(grid.top, col)})"
            parts, value = [], 0.0
            for node_type, spot in dict.fromkeys((line.node_type.node_type, line.is_spot) for line in lines):
                goodput = grid.col(f"tps:{market_key(node_type, spot)}")
                of_market = "*".join(
                    f"({self.rates(key, columns)}={cell_here(rate_row(grid, key), goodput)})" for key in ("node_type", "market")
                )
                gpus = f"SUMPRODUCT({of_kind}*{of_market}*{self.rates('gpus', columns)}*{grid.across(columns, place)})"
                parts.append(f"{gpus}*{grid.here(f'tps:{market_key(node_type, spot)}', place)}")
                paid = sum(
                    (line.held if line.offer.is_held else line.used)[place] * line.node_type.gpus_per_node
                    for line in lines
                    if (line.node_type.node_type, line.is_spot) == (node_type, spot)
                )
                value += paid * figures.market_tps_per_gpu(node_type, spot, place)
            sheet.formula(row, col, f"={'+'.join(parts)}", value, "n1")

    def _markets(self, place: int, row: int, here: dict[str, str]) -> None:
        sheet, grid, figures, places = self.sheet, self.grid, self.figures, self.places
        replicas = places.replicas
        for node_type, spot in figures.markets:
            key = market_key(node_type, spot)
            gpus = figures.market_gpus.get((node_type, spot, place), 0.0)
            same = [
                (replicas.span("node_type"), cell_here(rate_row(grid, "node_type"), grid.col(f"gpus:{key}"))),
                (replicas.span("day_type"), here["day_type"]),
                (replicas.span("hour"), here["hour"]),
            ]
            taken = matching(replicas.span("spot_gpus" if spot else "firm_gpus"), *same)
            quotas = "" if spot else "".join(
                f"+{places.quota_text(pool)}" for pool in figures.quota_pools if pool.fixed_node_type == node_type
            )
            sheet.formula(row, grid.col(f"gpus:{key}"), f"={taken}{quotas}", gpus, "n1")
            total, on_spot = replicas.span("total"), replicas.span("spot_total")
            count = on_spot if spot else f"({total}-{on_spot})"
            running = matching(f"{count}*{replicas.span('goodput')}", *same)
            of_day = places.cost.node_types.ref("tps_per_gpu", places.node_type_row[node_type])
            by_replicas = taken if quotas else here[f"gpus:{key}"]
            sheet.formula(
                row,
                grid.col(f"tps:{key}"),
                f"=IF({by_replicas}=0,{of_day},{running}/{by_replicas})",
                figures.market_tps_per_gpu(node_type, spot, place),
                "n1",
            )
            if not self.used:
                sheet.formula(row, grid.col(f"free:{key}"), f"=0-{here[f'gpus:{key}']}", -gpus, "n1")
                sheet.number(row, grid.col(f"rate:{key}"), 0, "usd2")
                continue
            market = (
                f"({self.rates('node_type', self.used)}={cell_here(rate_row(grid, 'node_type'), grid.col(f'free:{key}'))})"
                f"*({self.rates('market', self.used)}={cell_here(rate_row(grid, 'market'), grid.col(f'free:{key}'))})"
            )
            nodes = grid.across(self.used, place)
            lines = [line for line in figures.lines if line.node_type.node_type == node_type and line.is_spot == spot]
            offered = sum(line.used[place] * line.node_type.gpus_per_node for line in lines)
            sheet.formula(
                row,
                grid.col(f"free:{key}"),
                f"=SUMPRODUCT({market}*{self.rates('gpus', self.used)}*{nodes})-{here[f'gpus:{key}']}",
                offered - gpus,
                "n1",
            )
            per_node = f"({self.rates('used', self.used)}+{self.rates('energy', self.used)}+{self.rates('holding', self.used)})"
            usd = f"SUMPRODUCT({market}*{per_node}*{nodes})"
            if figures.covered_rows:
                covered = places.covered
                same = [
                    (covered.span("node_type"), cell_here(rate_row(grid, "node_type"), grid.col(f"rate:{key}"))),
                    (covered.span("market"), cell_here(rate_row(grid, "market"), grid.col(f"rate:{key}"))),
                    (covered.span("day_type"), here["day_type"]),
                    (covered.span("hour"), here["hour"]),
                ]
                usd += "+" + matching(f"({covered.span('spent_h')}-{covered.span('list_h')})", *same)
            sheet.formula(
                row,
                grid.col(f"rate:{key}"),
                f"=IF({here[f'gpus:{key}']}=0,0,({usd})/{here[f'gpus:{key}']})",
                figures.market_rate(node_type, spot, place),
                "usd2",
            )
        for api, limit, measure in api_limits(figures):
            col = grid.col(f"limit:{api}:{limit}")
            same = [
                (places.api_hours.span("api"), cell_here(rate_row(grid, "node_type"), col)),
                (places.api_hours.span("day_type"), here["day_type"]),
                (places.api_hours.span("hour"), here["hour"]),
            ]
            target = (
                places.api_hours.span(measure)
                if measure != "both"
                else (f"({places.api_hours.span('tps')}+{places.api_hours.span('input_tps')})")
            )
            sheet.formula(row, col, f"={matching(target, *same)}", places.api_measure(api, measure, place), "n1")

        for bought in figures.commitments:
            col = grid.col(f"spent:{bought.discount}")
            if not figures.covered_rows:
                sheet.number(row, col, 0, "usd2")
                continue
            same = [
                (places.covered.span("discount"), cell_here(grid.top, col)),
                (places.covered.span("day_type"), here["day_type"]),
                (places.covered.span("hour"), here["hour"]),
            ]
            text = matching(places.covered.span("spent_h"), *same)
            sheet.formula(row, col, f"={text}", spent_usd_per_h(figures, bought.discount, place), "usd2")

    def totals(self) -> None:
        """Weighted totals of an average day."""
        sheet, grid, figures = self.sheet, self.grid, self.figures
        row = grid.last + 1
        total = sheet.book.formats.cell("text", "total")
        for col in range(grid.col("cost_day") + 1):
            sheet.raw.write_blank(row, col, None, total)
        sheet.text(row, 0, "Average day", fmt=total)
        weights = grid.span_here("weight")
        sheet.formula(row, grid.col("weight"), f"=SUM({weights})", sum(figures.weights), "n2", "total")
        for line in figures.lines:
            key = f"used:{line.offer.offer}"
            sheet.formula(
                row, grid.col(key), f"=SUMPRODUCT({weights},{grid.span_here(key)})", line.used_node_hours, "n1", "total"
            )
        sheet.formula(row, grid.col("cost_day"), f"=SUM({grid.span_here('cost_day')})", figures.plan.cost.total, "usd2", "total")
        sheet.text(row + 1, 0, "Nodes: node-hours used per day. Cost: $/day.", fmt=sheet.book.formats.note())

    def rate_rows(self) -> None:
        """Rates by offer under the hours."""
        sheet, grid, figures, places = self.sheet, self.grid, self.figures, self.places
        for key, label in RATES:
            sheet.text(rate_row(grid, key), grid.col("use"), label, fmt=sheet.book.formats.note())
        for columns, held_only in ((self.used, False), (self.held, True)):
            lines = [line for line in figures.lines if line.offer.is_held or not held_only]
            for key, line in zip(columns, lines, strict=True):
                col, number = grid.col(key), places.line_row[line.offer.offer]
                kind = PURCHASE_LABELS[line.offer.purchase]
                purchases = places.purchases
                for rate, column, words in (
                    ("purchase", "purchase", kind),
                    ("node_type", "node_type", line.node_type.node_type),
                ):
                    sheet.formula(rate_row(grid, rate), col, f"={purchases.ref(column, number)}", words, "text")
                sheet.text(rate_row(grid, "market"), col, SPOT if line.is_spot else FIRM)
                for rate, column, value, style in (
                    ("gpus", "gpus_per_node", line.node_type.gpus_per_node, "int"),
                    ("held", "held_price", line.offer.held_usd_per_node_h, "usd2"),
                    ("used", "used_price", line.used_usd_per_h, "usd2"),
                    ("energy", "energy_rate", line.energy_usd_per_h, "usd2"),
                    ("holding", "holding_rate", line.holding_usd_per_h, "usd2"),
                ):
                    sheet.formula(rate_row(grid, rate), col, f"={purchases.ref(column, number)}", value, style)
        for node_type, spot in figures.markets:
            for part in ("gpus", "free", "rate", "tps"):
                col = grid.col(f"{part}:{market_key(node_type, spot)}")
                sheet.text(rate_row(grid, "node_type"), col, node_type)
                sheet.text(rate_row(grid, "market"), col, SPOT if spot else FIRM)
        for api, limit, _ in api_limits(figures):
            sheet.text(rate_row(grid, "node_type"), grid.col(f"limit:{api}:{limit}"), api)


def fill_hourly(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """The whole sheet."""
    grid = places.hourly
    sheet.title(
        "Hourly",
        f"Hourly means. Nodes used are decisions of the solver; right of Cost: data of the chart and workings. {RULE}",
    )
    sheet.header(grid)
    writer = _Hourly(sheet, places, figures)
    for place in range(len(figures.slices)):
        writer.write(place)
    writer.totals()
    writer.rate_rows()
    _shade(sheet, grid, (f"used:{line.offer.offer}" for line in figures.lines))
    sheet.finish(
        freeze=(grid.first, 2),
        repeat=(0, grid.top + 1),
        area=(0, 0, grid.last + 2, grid.col("cost_day")),
        paper=A3 if grid.col("cost_day") > MOST_COLUMNS_ON_A4 else A4,
    )


def _shade(sheet: PlanSheet, grid: Grid, keys: Iterable[str]) -> None:
    col = grid.col("use")
    sheet.raw.conditional_format(
        grid.first,
        col,
        grid.last,
        col,
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
    for key in keys:
        zero = sheet.book.workbook.add_format({"font_color": "#B0B7BB"})
        col = grid.col(key)
        sheet.raw.conditional_format(
            grid.first, col, grid.last, col, {"type": "cell", "criteria": "==", "value": 0, "format": zero}
        )
