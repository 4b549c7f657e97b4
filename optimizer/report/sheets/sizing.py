"""Sizing: the chain from forecast to racks and $/M tokens, step by step, for each pool on its own.

Forward only: mean, peak, goodput at the operating point, replicas, headroom, GPUs and nodes, racks and kW, then cost. The plan
may differ, since it mixes options and ways to pay and lets pools share nodes; its own figures stand in the last rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optimizer.candidates.offers import nodes_per_rack
from optimizer.candidates.option import Option
from optimizer.domain.hardware import NodeType, Site
from optimizer.domain.workload import Pool
from optimizer.report.constants import CURVE_POINTS, UTILISATIONS
from optimizer.report.figures import Figures, mtok
from optimizer.report.formulas import round_up
from optimizer.report.grid import cell_here, cell_ref
from optimizer.report.plan_lines import Line
from optimizer.report.pool_figures import PoolHour, replicas_lost
from optimizer.report.sheets.cost_layout import ApiPair, api_pairs, pair_price
from optimizer.report.sheets.occupancy import sized_replicas
from optimizer.report.sheets.sizing_curve import draw_curve
from optimizer.report.writer import PlanSheet
from optimizer.units import HOURS_PER_DAY, SECONDS_PER_HOUR, TOKENS_PER_MTOK, ceil_hedged

if TYPE_CHECKING:
    from optimizer.report.places import Places

SIZING = "Sizing"
_TOP = 4
_FIRST_POOL = 2
_CHART_ROWS = 19

#: (key, label, unit, style); a key that begins with # is a heading.
ROWS: tuple[tuple[str, str, str, str], ...] = (
    ("#1", "1  Peak demand", "", ""),
    ("mean", "Mean output over the day", "tok/s", "n1"),
    ("peak_to_mean", "Peak to mean, from the forecast", "x", "n2"),
    ("peak", "Peak output", "tok/s", "n1"),
    ("#2", "2  Goodput at the operating point", "", ""),
    ("option", "Option (the one the pool runs most)", "", "text"),
    ("goodput", "Goodput of one replica", "tok/s", "n1"),
    ("burst", "Burst factor", "x", "n2"),
    ("occupancy", "Planned occupancy", "share", "pct"),
    ("#3", "3  Replicas at peak", "", ""),
    ("replicas", "Replicas at peak", "replicas", "int"),
    ("#4", "4  Headroom", "", ""),
    ("bad_day", "Bad day that sizes the pool", "", "text"),
    ("surge", "Demand surge on that day", "share", "pct"),
    ("lost", "Replicas lost on that day", "replicas", "int"),
    ("with_spare", "Replicas for the bad day", "replicas", "int"),
    ("rollout_frac", "Rollout surge", "share", "pct"),
    ("total", "Replicas in all", "replicas", "int"),
    ("#5", "5  GPUs and nodes", "", ""),
    ("gpus_taken", "GPUs per replica", "GPUs", "n2"),
    ("gpus", "GPUs", "GPUs", "n1"),
    ("gpus_per_node", "GPUs per node", "GPUs", "int"),
    ("nodes", "Nodes, whole", "nodes", "int"),
    ("#6", "6  Racks and power", "", ""),
    ("site", "Site", "", "text"),
    ("per_rack", "Nodes per rack", "nodes", "int"),
    ("racks", "Racks", "racks", "int"),
    ("node_kw", "Power of a node", "kW", "n1"),
    ("kw", "Power, IT", "kW", "n1"),
    ("#7", "Cost of that fleet", "", ""),
    ("node_price", "Price of a node in the plan", "$/node-h", "usd2"),
    ("usd_h", "Cost", "$/h", "usd2"),
    ("low_at", "First utilisation (Inputs)", "share of peak", "pct"),
    ("low", "Cost at that utilisation", "$/M tokens", "usd_mtok"),
    ("mid_at", "Second utilisation (Inputs)", "share of peak", "pct"),
    ("mid", "Cost at that utilisation", "$/M tokens", "usd_mtok"),
    ("high_at", "Third utilisation (Inputs)", "share of peak", "pct"),
    ("high", "Cost at that utilisation", "$/M tokens", "usd_mtok"),
    ("forecast", "Cost at the forecast mean (the headline)", "$/M tokens", "usd_mtok"),
    ("mean_of_peak", "Forecast mean of peak", "share", "pct"),
    ("mean_of_goodput", "Forecast mean of installed goodput", "share", "pct"),
    ("#8", "Against an API", "", ""),
    ("api", "API (the cheapest for these requests)", "", "text"),
    ("api_price", "API price, input included", "$/M tokens", "usd_mtok"),
    ("crossover", "Volume at which the fleet costs the same", "M tok/h", "n2"),
    ("crossover_share", "That volume of peak", "share", "pct"),
    ("#9", "What the plan does instead", "", ""),
    ("plan_total", "Most replicas in the plan", "replicas", "int"),
    ("plan_api", "Share of tokens sent to an API", "share", "pct"),
)


class SizingPlaces:
    """Cells of the sheet: a row for each step, a column for each pool; and the table of the curve under them."""

    def __init__(self, figures: Figures) -> None:
        self._rows = {key: _TOP + 1 + place for place, (key, _, _, _) in enumerate(ROWS)}
        self._cols = {pool.pool: _FIRST_POOL + place for place, pool in enumerate(figures.case.pools)}
        self.curve_top = _TOP + len(ROWS) + 4

    def row(self, key: str) -> int:
        """Sheet row of a step."""
        return self._rows[key]

    def col(self, pool: str) -> int:
        """Sheet column of a pool."""
        return self._cols[pool]

    def here(self, key: str, pool: str) -> str:
        """Address of a step of a pool, from the same sheet."""
        return cell_here(self._rows[key], self._cols[pool])

    def ref(self, key: str, pool: str) -> str:
        """The same with its sheet."""
        return cell_ref(SIZING, self._rows[key], self._cols[pool])


@dataclass(frozen=True)
class PoolSizing:
    """The chain of one pool. Figures that need an option are None where the pool has none."""

    pool: Pool
    option: Option | None
    node_type: NodeType | None
    line: Line | None
    site: Site | None
    pair: ApiPair | None
    values: dict[str, Any]


def size_pool(places: Places, figures: Figures, pool: Pool) -> PoolSizing:
    """Values of every step, in plain arithmetic."""
    hours = places.pools.hours[pool.pool]
    mean = sum(hour.demand * weight for hour, weight in zip(hours, figures.weights, strict=True)) / HOURS_PER_DAY
    most = max(hour.demand for hour in hours)
    values: dict[str, Any] = {"mean": mean, "peak_to_mean": most / mean if mean else 0.0, "peak": most}
    option = main_option(figures, pool)
    pair = best_pair(figures, pool)
    values |= {"plan_total": max(hour.total for hour in hours), "plan_api": _api_share(hours, figures.weights)}
    if pair is not None:
        values |= {"api": pair.api.api, "api_price": pair_price(figures, pair)}
    if option is None:
        return PoolSizing(pool, None, None, None, None, pair, values)
    node_type = figures.case.node_type(option.node_type)
    goodput = figures.goodput_tps[pool.pool, option.option]
    burst = figures.case.workloads_of(pool.pool)[0].burst_factor
    bad_day = places.pools.bad_days[pool.pool]
    surge, lost = 0.0, 0
    if bad_day is not None and not bad_day.row.api_absorbs:
        surge, lost = bad_day.row.demand_surge_frac, replicas_lost(bad_day.row, option)
    if pool.is_auto:
        replicas, with_spare = sized_replicas(figures, places.pools, pool, option)
        occupancy = pool.occupancy(with_spare)
    else:
        occupancy = pool.occupancy(0)
        replicas = ceil_hedged(most * burst / (goodput * occupancy))
        with_spare = ceil_hedged(most * (1 + surge) * burst / (goodput * occupancy)) + lost
    total = ceil_hedged(with_spare * (1 + pool.rollout_frac))
    gpus = total * option.gpus_taken
    nodes = ceil_hedged(gpus / node_type.gpus_per_node)
    values |= {
        "option": option.option,
        "goodput": goodput,
        "burst": burst,
        "occupancy": occupancy,
        "replicas": replicas,
        "bad_day": bad_day.row.contingency if bad_day else "none",
        "surge": surge,
        "lost": lost,
        "with_spare": with_spare,
        "rollout_frac": pool.rollout_frac,
        "total": total,
        "gpus_taken": option.gpus_taken,
        "gpus": gpus,
        "gpus_per_node": node_type.gpus_per_node,
        "nodes": nodes,
    }
    line = next((line for line in figures.lines if line.node_type == node_type and line.site), None)
    site = line.site if line else None
    if site is not None:
        per_rack = nodes_per_rack(site, node_type)
        values["site"] = site.site
        if per_rack:
            values |= {"per_rack": per_rack, "racks": ceil_hedged(nodes / per_rack)}
    if node_type.node_kw is not None:
        values |= {"node_kw": node_type.node_kw, "kw": nodes * node_type.node_kw}
    price = places.node_price(figures, node_type)
    if price is not None:
        usd_h = nodes * price[1]
        hourly_mtok = most * SECONDS_PER_HOUR / TOKENS_PER_MTOK
        values |= {"node_price": price[1], "usd_h": usd_h}
        for key, name in (("low", "utilisation_low"), ("mid", "utilisation_mid"), ("high", "utilisation_high")):
            values[f"{key}_at"] = UTILISATIONS[name]
            values[key] = usd_h / (hourly_mtok * UTILISATIONS[name]) if most else "n/a"
        values["forecast"] = usd_h / mtok(mean) if mean else "n/a"
        if pair is not None:
            api_price = values["api_price"]
            values["crossover"] = usd_h / api_price if api_price else "n/a"
            values["crossover_share"] = usd_h / api_price / hourly_mtok if api_price and most else "n/a"
    values["mean_of_peak"] = mean / most if most else 0.0
    values["mean_of_goodput"] = mean / (total * goodput) if total else 0.0
    return PoolSizing(pool, option, node_type, line, site, pair, values)


def main_option(figures: Figures, pool: Pool) -> Option | None:
    """The option with most replica-hours in the plan; else the first that could serve the pool."""
    hours: dict[str, float] = {}
    for row in figures.replica_rows:
        if row.count.pool == pool.pool:
            hours[row.count.option] = hours.get(row.count.option, 0.0) + row.count.total * figures.weights[row.place]
    if hours:
        return figures.options[pool.pool, max(hours, key=lambda name: hours[name])]
    return next(iter(figures.candidates.options_of(pool.pool)), None)


def best_pair(figures: Figures, pool: Pool) -> ApiPair | None:
    """The cheapest API for the first workload of the pool that has one."""
    for workload in figures.case.workloads_of(pool.pool):
        pairs = [pair for pair in api_pairs(figures) if pair.workload is workload]
        if pairs:
            return min(pairs, key=lambda pair: pair_price(figures, pair))
    return None


def _api_share(hours: tuple[PoolHour, ...], weights: tuple[float, ...]) -> float:
    tokens = sum(hour.demand * weight for hour, weight in zip(hours, weights, strict=True))
    return sum(hour.api * weight for hour, weight in zip(hours, weights, strict=True)) / tokens if tokens else 0.0


def step_texts(places: Places, figures: Figures, sized: PoolSizing) -> dict[str, str]:
    """Formulas of the steps; a step that is missing here is a text, or does not apply."""
    name = sized.pool.pool
    inputs, hours = places.inputs, places.pool_hours
    first, last = places.pool_block(name)
    demand, weight = hours.span("demand", first, last), hours.span("weight", first, last)
    here = {key: places.sizing.here(key, name) for key, _, _, _ in ROWS}
    work = f"{here['burst']}/({here['goodput']}*{here['occupancy']})"
    texts = {
        "mean": f"SUMPRODUCT({demand},{weight})/hours_per_day",
        "peak_to_mean": f"IF({here['mean']}=0,0,MAX({demand})/{here['mean']})",
        "peak": f"{here['mean']}*{here['peak_to_mean']}",
        "plan_total": f"MAX({hours.span('total', first, last)})",
        "plan_api": (
            f"IF(SUMPRODUCT({demand},{weight})=0,0,"
            f"SUMPRODUCT({hours.span('api', first, last)},{weight})/SUMPRODUCT({demand},{weight}))"
        ),
    }
    if sized.pair is not None:
        texts["api_price"] = places.cost.pairs.ref("price", places.pair_row(figures, sized.pair))
    if sized.option is None or sized.node_type is None:
        return texts
    node_type = sized.node_type.node_type
    option_row = places.first_option_row[name, sized.option.option]
    workload = figures.case.workloads_of(name)[0].workload
    texts |= {
        "goodput": places.options.ref("goodput", option_row),
        "burst": inputs.workloads.ref("burst_factor", workload),
        "occupancy": places.occupancy_text(sized.pool, here["with_spare"]),
        "replicas": round_up(f"{here['peak']}*{work}"),
        "with_spare": f"{round_up(f'''{here['peak']}*(1+{here['surge']})*{work}''')}+{here['lost']}",
        "rollout_frac": inputs.pools.ref("rollout_frac", name),
        "total": round_up(f"{here['with_spare']}*(1+{here['rollout_frac']})"),
        "gpus_taken": places.options.ref("gpus_taken", option_row),
        "gpus": f"{here['total']}*{here['gpus_taken']}",
        "gpus_per_node": inputs.node_types.ref("gpus_per_node", node_type),
        "nodes": round_up(f"{here['gpus']}/{here['gpus_per_node']}"),
        "mean_of_peak": f"IF({here['peak']}=0,0,{here['mean']}/{here['peak']})",
        "mean_of_goodput": f"IF({here['total']}=0,0,{here['mean']}/({here['total']}*{here['goodput']}))",
    }
    if sized.pool.is_auto:
        busy = f"{here['peak']}*{here['burst']}/{here['goodput']}"
        texts["replicas"] = places.occupancy.fewest_text(name, busy)
        texts["with_spare"] = places.occupancy.fewest_text(name, f"({busy}*(1+{here['surge']}))", here["lost"])
    bad_day = places.pools.bad_days[name]
    if bad_day is not None and not bad_day.row.api_absorbs:
        row = inputs.contingencies.row_of(bad_day.row.contingency, name)
        cell = inputs.contingencies.grid.ref
        texts["surge"] = cell("demand_surge_frac", row)
        texts["lost"] = f"{cell('replicas_lost', row)}+{cell('nodes_lost', row)}*{places.options.ref('per_node', option_row)}"
    if "per_rack" in sized.values and sized.site is not None:
        texts["per_rack"] = places.per_rack_text(sized.site, sized.node_type)
        texts["racks"] = round_up(f"{here['nodes']}/{here['per_rack']}")
    if "node_kw" in sized.values:
        texts["node_kw"] = inputs.node_types.ref("node_kw", node_type)
        texts["kw"] = f"{here['nodes']}*{here['node_kw']}"
    price = places.node_price(figures, sized.node_type)
    if price is not None:
        texts["node_price"] = price[0]
        texts["usd_h"] = f"{here['nodes']}*{here['node_price']}"
        at_peak = f"{here['peak']}*seconds_per_hour/tokens_per_mtok"
        for key, point in (("low", "utilisation_low"), ("mid", "utilisation_mid"), ("high", "utilisation_high")):
            texts[f"{key}_at"] = point
            texts[key] = f"IF({here['peak']}=0,not_applicable,{here['usd_h']}/({at_peak}*{here[f'{key}_at']}))"
        texts["forecast"] = (
            f"IF({here['mean']}=0,not_applicable,{here['usd_h']}/({here['mean']}*seconds_per_hour/tokens_per_mtok))"
        )
        if sized.pair is not None:
            texts["crossover"] = f"IF({here['api_price']}=0,not_applicable,{here['usd_h']}/{here['api_price']})"
            texts["crossover_share"] = (
                f"IF({here['api_price']}*{here['peak']}=0,not_applicable,{here['usd_h']}/{here['api_price']}/({at_peak}))"
            )
    return texts


def fill_sizing(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """Steps down, pools across; then the curve of $/M tokens against utilisation."""
    formats = sheet.book.formats
    sheet.title(
        "Sizing", "From forecast to racks and $/M tokens, each pool alone on its main option. The plan itself mixes and shares."
    )
    sheet.width(0, 42)
    sheet.width(1, 12)
    sheet.text(_TOP, 0, "Step", fmt=formats.header("text"))
    sheet.text(_TOP, 1, "Unit", fmt=formats.header("text"))
    sized = [size_pool(places, figures, pool) for pool in figures.case.pools]
    for pool in sized:
        col = places.sizing.col(pool.pool.pool)
        sheet.width(col, 17)
        sheet.text(_TOP, col, pool.pool.pool, fmt=formats.header("int"))
    last_col = _FIRST_POOL + len(sized) - 1
    sheet.raw.set_row(places.sizing.row("option"), 44)
    for key, label, unit, _ in ROWS:
        row = places.sizing.row(key)
        if key.startswith("#"):
            for col in range(last_col + 1):
                sheet.raw.write_blank(row, col, None, formats.custom(bg_color="#E8F0F2"))
            sheet.text(row, 0, label, fmt=formats.custom(bold=True, bg_color="#E8F0F2", font_color="#1F4E5F"))
            continue
        sheet.text(row, 0, label)
        sheet.text(row, 1, unit, fmt=formats.note())
    right = formats.custom(align="right")
    for pool in sized:
        texts = step_texts(places, figures, pool)
        col = places.sizing.col(pool.pool.pool)
        for key, _, _, style in ROWS:
            if key.startswith("#"):
                continue
            row = places.sizing.row(key)
            value = pool.values.get(key)
            if key in texts and value is not None:
                sheet.formula(row, col, f"={texts[key]}", value, style)
            elif isinstance(value, str):
                # Option ids have no blanks at which a cell could break them.
                shown = value.replace("|", " | ") if key == "option" else value
                sheet.text(row, col, shown, fmt=formats.custom(align="right", text_wrap=True))
            elif value is not None:
                sheet.number(row, col, value, style)
            else:
                sheet.text(row, col, "n/a", fmt=right)
    draw_curve(sheet, places, [pool for pool in sized if "usd_h" in pool.values and pool.values["peak"]])
    bottom = places.sizing.curve_top + len(CURVE_POINTS) + _CHART_ROWS
    sheet.finish(
        freeze=(_TOP + 1, 2), repeat=(0, _TOP), area=(0, 0, bottom, max(last_col, 4)), one_page=True, portrait=len(sized) <= 4
    )
