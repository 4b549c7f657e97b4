"""Bad day: the tightest hour of each contingency; Constraints: every limit, how much of it is used, and which of them bind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from optimizer.domain.hardware import NodeType, Site
from optimizer.plan.metrics import nodes_per_rack
from optimizer.plan.plan import ContingencyMargin
from optimizer.report.constants import TOLERANCE
from optimizer.report.figures import Figures
from optimizer.report.grid import Col, Grid
from optimizer.report.sheets.hourly import SPOT, api_limits, market_key, spent_usd_per_h
from optimizer.report.sheets.workings import round_up
from optimizer.report.writer import PlanSheet
from optimizer.units import ceil_hedged

if TYPE_CHECKING:
    from optimizer.report.places import Places

BAD_DAY, CONSTRAINTS = "Bad day", "Constraints"
_TOP = 4


def bad_day_grid(figures: Figures) -> Grid:
    """A row for each contingency and pool."""
    cols = (
        Col("contingency", "Bad day", width=26), Col("pool", "Pool", width=16), Col("replicas_lost", "Replicas lost", "replicas", "int", 9),
        Col("nodes_lost", "Nodes lost", "nodes", "int", 9), Col("spot_lost", "Spot lost", "share", "pct", 9),
        Col("surge", "Demand surge", "share", "pct", 9), Col("absorbs", "API absorbs", "yes/no", "text", 9),
        Col("day_type", "Tightest day type", width=12), Col("hour", "Tightest hour", "h", "hour", 9),
        Col("demand", "Demand then, that cannot wait", "tok/s", "n1", 12), Col("asked", "Asked: surged demand", "tok/s", "n1", 12),
        Col("left", "Left: replicas and API could serve", "tok/s", "n1", 14), Col("margin", "Margin", "tok/s", "n1", 12),
        Col("survives", "Survives", "TRUE/FALSE", "bool", 10),
    )  # fmt: skip
    return Grid(BAD_DAY, _TOP, cols, len(figures.plan.margins))


def fill_bad_day(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """Tightest hours, replayed by the audit."""
    grid, inputs = places.bad_day, places.inputs
    sheet.title(
        "Bad day", "The tightest hour of each bad day. Margin comes from the audit, which replays every hour and the loss of every option."
    )
    sheet.header(grid)
    for place, margin in enumerate(figures.plan.margins):
        row = grid.first + place
        item = next(item for item in figures.case.contingencies_of(margin.pool) if item.contingency == margin.contingency)
        number = inputs.contingencies.row_of(margin.contingency, margin.pool)
        slot = figures.place_of[margin.day_type, margin.hour]
        here = {col.key: grid.here(col.key, place) for col in grid.cols}
        sheet.text(row, grid.col("contingency"), margin.contingency)
        sheet.text(row, grid.col("pool"), margin.pool)
        for key, column, value, style in (
            ("replicas_lost", "replicas_lost", item.replicas_lost, "int"), ("nodes_lost", "nodes_lost", item.nodes_lost, "int"),
            ("spot_lost", "spot_lost_frac", item.spot_lost_frac, "pct"), ("surge", "demand_surge_frac", item.demand_surge_frac, "pct"),
            ("absorbs", "api_absorbs", "yes" if item.api_absorbs else "no", "text"),
        ):  # fmt: skip
            sheet.formula(row, grid.col(key), f"={inputs.contingencies.grid.ref(column, number)}", value, style)
        sheet.text(row, grid.col("day_type"), margin.day_type)
        sheet.number(row, grid.col("hour"), margin.hour, "hour")
        demand = places.pools.hours[margin.pool][slot].prompt
        sheet.formula(row, grid.col("demand"), f"={places.pool_hours.ref('prompt', places.pool_hour(margin.pool, slot))}", demand, "n1")
        asked = asked_tps(places, figures, margin)
        sheet.formula(row, grid.col("asked"), f"={here['demand']}*(1+{here['surge']})", asked, "n1")
        sheet.formula(row, grid.col("left"), f"={here['asked']}+{here['margin']}", asked + margin.margin_tps, "n1")
        sheet.number(row, grid.col("margin"), margin.margin_tps, "n1", "decision")
        text = f"={here['margin']}>=0-tolerance*MAX(1,{here['asked']})"
        sheet.formula(row, grid.col("survives"), text, survives(places, figures, margin), "bool")
    if figures.plan.margins:
        sheet.show_flags(grid.first, grid.col("survives"), grid.last, grid.col("survives"))
    else:
        sheet.text(grid.first + 1, 0, "No bad day is asked for.", fmt=sheet.book.formats.note())
    sheet.finish(freeze=(grid.first, 2), repeat=(0, grid.top + 1))


def asked_tps(places: Places, figures: Figures, margin: ContingencyMargin) -> float:
    """Surged demand of the pool in the tightest hour."""
    row = next(row for row in figures.case.contingencies_of(margin.pool) if row.contingency == margin.contingency)
    slot = figures.place_of[margin.day_type, margin.hour]
    return places.pools.hours[margin.pool][slot].prompt * (1 + row.demand_surge_frac)


def survives(places: Places, figures: Figures, margin: ContingencyMargin) -> bool:
    """Whether the margin is not below 0 by more than rounding."""
    return margin.margin_tps >= -TOLERANCE * max(1.0, asked_tps(places, figures, margin))


@dataclass(frozen=True)
class Limit:
    """One limit as formulas and values. low: it is a least, not a most."""

    name: str
    of: str
    unit: str
    limit_text: str
    limit: float
    used_text: str
    used: float
    style: str = "n1"
    low: bool = False

    @property
    def slack(self) -> float:
        """What is left of the limit."""
        return self.used - self.limit if self.low else self.limit - self.used


@dataclass(frozen=True)
class RackRow:
    """Nodes of one type at one site."""

    site: Site
    node_type: NodeType
    nodes: int
    per_rack: int | None

    @property
    def racks(self) -> int:
        """Whole racks taken; one where no limit per rack is stated."""
        return ceil_hedged(self.nodes / self.per_rack) if self.per_rack else 1

    @property
    def kw(self) -> float:
        """IT power."""
        return self.nodes * (self.node_type.node_kw or 0.0)

    @property
    def pue(self) -> float:
        """Facility power per IT power, 1 where it is not stated."""
        return 1.0 if self.site.pue is None else self.site.pue


def rack_rows(figures: Figures) -> tuple[RackRow, ...]:
    """A row for each site and node type of which nodes are held."""
    found: dict[tuple[str, str], int] = {}
    for line in figures.lines:
        if line.site is not None and line.nodes_held:
            key = (line.site.site, line.node_type.node_type)
            found[key] = found.get(key, 0) + line.nodes_held
    return tuple(
        RackRow(site, node_type, found[site.site, node_type.node_type], nodes_per_rack(site, node_type))
        for site in figures.case.sites
        for node_type in figures.case.node_types
        if (site.site, node_type.node_type) in found
    )


def racks_grid(figures: Figures) -> Grid:
    """Racks and power by site and node type."""
    cols = (
        Col("site", "Site", width=26), Col("node_type", "Node type", width=30), Col("nodes", "Nodes held", "nodes", "int", 12),
        Col("per_rack", "Nodes per rack", "nodes", "int", 12), Col("racks", "Racks", "racks", "int", 12),
        Col("it_kw", "Power, IT", "kW", "n1", 12), Col("kw", "Power, facility", "kW", "n1", 12),
    )  # fmt: skip
    return Grid(CONSTRAINTS, constraints_grid_count(figures) + _TOP + 8, cols, len(rack_rows(figures)))


def constraints_grid(figures: Figures) -> Grid:
    """A row for each limit."""
    cols = (
        Col("name", "Limit", width=26), Col("of", "Of", width=30), Col("unit", "Unit", width=12),
        Col("limit", "Limit", "in unit", "n2", 12), Col("used", "Used", "in unit", "n2", 12), Col("slack", "Slack", "in unit", "n2", 12),
        Col("binds", "Binds", "TRUE/FALSE", "bool", 12), Col("holds", "Holds", "TRUE/FALSE", "bool", 10),
    )  # fmt: skip
    return Grid(CONSTRAINTS, _TOP, cols, constraints_grid_count(figures))


def constraints_grid_count(figures: Figures) -> int:
    """How many limits there are."""
    offers = sum(1 for line in figures.lines if line.offer.max_nodes is not None)
    offers += sum(1 for line in figures.lines if line.offer.is_held and line.new and line.offer.min_nodes)
    racks = rack_rows(figures)
    sites = {row.site.site: row.site for row in racks}
    stated = sum((site.racks is not None) + (site.total_kw is not None) for site in sites.values())
    pools = sum(2 if pool.min_live else 1 for pool in figures.case.pools)
    pools += sum(1 for pool in figures.case.pools if 0 < pool.spot_max_frac < 1)
    shares = sum(1 for workload in figures.case.workloads if workload.api)
    return offers + stated + pools + shares + len(figures.markets) + len(api_limits(figures)) + len(figures.commitments)


def limits(places: Places, figures: Figures) -> list[Limit]:
    """Every limit of the case that the plan touches."""
    inputs, found = places.inputs, []
    for line in figures.lines:
        name, number = line.offer.offer, places.line_row[line.offer.offer]
        purchases = places.purchases
        if line.offer.max_nodes is not None:
            key = "new" if line.offer.is_held else "peak"
            what = "nodes to buy, at most" if line.offer.is_held else "nodes in any hour, at most"
            used = line.new if line.offer.is_held else max(line.used)
            limit = inputs.offers.ref("max_nodes", name)
            found.append(Limit(f"Offer: {what}", name, "nodes", limit, line.offer.max_nodes, purchases.ref(key, number), used))
        if line.offer.is_held and line.new and line.offer.min_nodes:
            limit = inputs.offers.ref("min_nodes", name)
            found.append(
                Limit("Offer: nodes to buy, at least", name, "nodes", limit, line.offer.min_nodes, purchases.ref("new", number), line.new,
                      low=True)
            )  # fmt: skip
    found += _site_limits(places, figures)
    found += _pool_limits(places, figures)
    for node_type, spot in figures.markets:
        key = market_key(node_type, spot)
        span = places.hourly.span(f"free:{key}")
        least = min(
            sum(line.used[slot] * line.node_type.gpus_per_node for line in figures.lines
                if line.node_type.node_type == node_type and line.is_spot == spot)
            - figures.market_gpus.get((node_type, spot, slot), 0.0)
            for slot in range(len(figures.slices))
        )  # fmt: skip
        of = f"{node_type}, {SPOT if spot else 'firm'}: GPUs of nodes used less GPUs taken, tightest hour"
        found.append(Limit("Nodes cover replicas", of, "GPUs free", "0", 0.0, f"MIN({span})", least, low=True))
    for place, bought in enumerate(figures.commitments):
        most = max(spent_usd_per_h(figures, bought.discount, slot) for slot in range(len(figures.slices)))
        found.append(
            Limit("Commitment: spent in any hour", bought.discount, "$/h", places.commitments.ref("usd_h", place), bought.usd_per_h,
                  f"MAX({places.hourly.span(f'spent:{bought.discount}')})", most, "usd2")
        )  # fmt: skip
    for api, limit, measure in api_limits(figures):
        most = max(places.api_measure(api, measure, slot) for slot in range(len(figures.slices)))
        unit = "requests/min" if limit == "max_rpm" else "tok/s"
        found.append(
            Limit(f"API: {limit}", api, unit, inputs.api_prices.ref(limit, api), getattr(figures.case.api(api), limit),
                  f"MAX({places.hourly.span(f'limit:{api}:{limit}')})", most)
        )  # fmt: skip
    return found


def _site_limits(places: Places, figures: Figures) -> list[Limit]:
    found = []
    grid, rows = places.racks, rack_rows(figures)
    for site in dict.fromkeys(row.site for row in rows):
        mine = [place for place, row in enumerate(rows) if row.site == site]
        first, last = mine[0], mine[-1] + 1
        for column, key, used in (
            ("racks", "racks", float(sum(rows[place].racks for place in mine))),
            ("total_kw", "kw", sum(rows[place].kw * rows[place].pue for place in mine)),
        ):
            limit = getattr(site, column)
            if limit is not None:
                name, unit = ("Site: racks", "racks") if column == "racks" else ("Site: facility power", "kW")
                text = f"SUM({grid.span_here(key, first, last)})"
                found.append(Limit(name, site.site, unit, places.inputs.sites.ref(column, site.site), limit, text, used))
    return found


def _pool_limits(places: Places, figures: Figures) -> list[Limit]:
    found, inputs, grid = [], places.inputs, places.pool_hours
    for pool in figures.case.pools:
        hours = places.pools.hours[pool.pool]
        first, last = places.pool_block(pool.pool)
        occupancy = pool.occupancy_frac or 1.0
        found.append(
            Limit("Pool: occupancy", f"{pool.pool}, busiest hour", "share of live", inputs.pools.ref("occupancy_frac", pool.pool), occupancy,
                  f"MAX({grid.span('use', first, last)})", max(hour.use for hour in hours), "pct2")
        )  # fmt: skip
        if 0 < pool.spot_max_frac < 1:
            found.append(
                Limit("Pool: spot share", f"{pool.pool}, highest hour", "share of own tok/s", inputs.pools.ref("spot_max_frac", pool.pool),
                      pool.spot_max_frac, f"MAX({grid.span('spot_share', first, last)})", max(hour.spot_share for hour in hours), "pct2")
            )  # fmt: skip
        if pool.min_live:
            found.append(
                Limit("Pool: live replicas, at least", f"{pool.pool}, lowest hour", "replicas", inputs.pools.ref("min_live", pool.pool),
                      pool.min_live, f"MIN({grid.span('live', first, last)})", min(hour.live for hour in hours), low=True)
            )  # fmt: skip
    hours_grid = places.workload_hours
    for workload in figures.case.workloads:
        if workload.api:
            first, last = places.workload_block(workload.workload)
            most = max(
                figures.api_tps.get((workload.workload, slot), 0.0) / run if (run := figures.run(workload, slot)) else 0.0
                for slot in range(len(figures.slices))
            )
            found.append(
                Limit("Workload: API share", f"{workload.workload}, highest hour", "share of demand",
                      inputs.workloads.ref("api_max_frac", workload.workload), workload.api_max_frac,
                      f"MAX({hours_grid.span('api_share', first, last)})", most, "pct2")
            )  # fmt: skip
    return found


def fill_constraints(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """Limits, then racks and power."""
    grid = places.constraints
    sheet.title("Constraints", "Every limit that the plan meets: what it allows, what is used, what is left. Binds: nothing is left.")
    sheet.header(grid)
    rows = limits(places, figures)
    if len(rows) != grid.count:
        raise AssertionError(f"{len(rows)} limits on a sheet laid out for {grid.count}")
    for place, limit in enumerate(rows):
        row = grid.first + place
        here = {col.key: grid.here(col.key, place) for col in grid.cols}
        sheet.text(row, grid.col("name"), limit.name)
        sheet.text(row, grid.col("of"), limit.of)
        sheet.text(row, grid.col("unit"), limit.unit, fmt=sheet.book.formats.note())
        if limit.limit_text == "0":
            sheet.number(row, grid.col("limit"), 0, limit.style)
        else:
            sheet.formula(row, grid.col("limit"), f"={limit.limit_text}", limit.limit, limit.style)
        sheet.formula(row, grid.col("used"), f"={limit.used_text}", limit.used, limit.style)
        slack = f"{here['used']}-{here['limit']}" if limit.low else f"{here['limit']}-{here['used']}"
        sheet.formula(row, grid.col("slack"), f"={slack}", limit.slack, limit.style)
        room = TOLERANCE * max(1.0, abs(limit.limit))
        allowed = f"tolerance*MAX(1,ABS({here['limit']}))"
        sheet.formula(row, grid.col("binds"), f"={here['slack']}<={allowed}", limit.slack <= room, "bool")
        sheet.formula(row, grid.col("holds"), f"={here['slack']}>=0-{allowed}", limit.slack >= -room, "bool")
    if rows:
        sheet.show_flags(grid.first, grid.col("holds"), grid.last, grid.col("holds"))
        bold = sheet.book.workbook.add_format({"bold": True, "bg_color": "#FFF1D0"})
        sheet.raw.conditional_format(
            grid.first, grid.col("binds"), grid.last, grid.col("binds"), {"type": "cell", "criteria": "==", "value": "TRUE", "format": bold}
        )
    _racks(sheet, places, figures)
    sheet.finish(freeze=(grid.first, 1), repeat=(0, grid.top + 1))


def _racks(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    grid, rows = places.racks, rack_rows(figures)
    if not rows:
        return
    sheet.text(grid.top - 1, 0, "Racks and power: a rack holds one node type", fmt=sheet.book.formats.heading())
    sheet.header(grid)
    purchases, inputs = places.purchases, places.inputs
    for place, item in enumerate(rows):
        row = grid.first + place
        here = {col.key: grid.here(col.key, place) for col in grid.cols}
        sheet.text(row, grid.col("site"), item.site.site)
        sheet.text(row, grid.col("node_type"), item.node_type.node_type)
        nodes = (
            f"SUMPRODUCT(({purchases.span('site')}={here['site']})*({purchases.span('node_type')}={here['node_type']})"
            f"*{purchases.span('held')})"
        )
        sheet.formula(row, grid.col("nodes"), f"={nodes}", item.nodes, "int")
        if item.per_rack:
            sheet.formula(row, grid.col("per_rack"), f"={places.per_rack_text(item.site, item.node_type)}", item.per_rack, "int")
            sheet.formula(row, grid.col("racks"), f"={round_up(here['nodes'] + '/' + here['per_rack'])}", item.racks, "int")
        else:
            sheet.number(row, grid.col("racks"), 1, "int")
        node_kw = inputs.node_types.ref("node_kw", item.node_type.node_type)
        pue = inputs.sites.ref("pue", item.site.site)
        sheet.formula(row, grid.col("it_kw"), f"={here['nodes']}*{node_kw}", item.kw, "n1")
        sheet.formula(row, grid.col("kw"), f"={here['it_kw']}*IF({pue}=0,1,{pue})", item.kw * item.pue, "n1")
