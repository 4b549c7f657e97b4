"""Constraints: every limit, how much of it is used, and which of them bind; racks and power by site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from optimizer.candidates.offers import nodes_per_rack
from optimizer.domain.hardware import NodeType, Site
from optimizer.report.constants import TOLERANCE
from optimizer.report.figures import Figures
from optimizer.report.formulas import round_up
from optimizer.report.grid import Col, Grid
from optimizer.report.sheets.explained import ASK, write_worth
from optimizer.report.sheets.hourly_layout import FIRM, SPOT, api_limits, market_key, spent_usd_per_h
from optimizer.report.writer import PlanSheet
from optimizer.units import ceil_hedged

if TYPE_CHECKING:
    from optimizer.report.places import Places

CONSTRAINTS = "Constraints"
_TOP = 4


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
        Col("site", "Site", width=26),
        Col("node_type", "Node type", width=30),
        Col("nodes", "Nodes held", "nodes", "int", 12),
        Col("per_rack", "Nodes per rack", "nodes", "int", 12),
        Col("racks", "Racks", "racks", "int", 12),
        Col("it_kw", "Power, IT", "kW", "n1", 12),
        Col("kw", "Power, facility", "kW", "n1", 12),
    )
    return Grid(CONSTRAINTS, constraints_grid_count(figures) + _TOP + 8, cols, len(rack_rows(figures)))


def constraints_grid(figures: Figures) -> Grid:
    """A row for each limit."""
    cols = (
        Col("name", "Limit", width=26),
        Col("of", "Of", width=30),
        Col("unit", "Unit", width=12),
        Col("limit", "Limit", "in unit", "n2", 12),
        Col("used", "Used", "in unit", "n2", 12),
        Col("slack", "Slack", "in unit", "n2", 12),
        Col("binds", "Binds", "TRUE/FALSE", "bool", 12),
        Col("holds", "Holds", "TRUE/FALSE", "bool", 10),
    )
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
                Limit(
                    "Offer: nodes to buy, at least",
                    name,
                    "nodes",
                    limit,
                    line.offer.min_nodes,
                    purchases.ref("new", number),
                    line.new,
                    low=True,
                )
            )
    found += _site_limits(places, figures)
    found += _pool_limits(places, figures)
    for node_type, spot in figures.markets:
        key = market_key(node_type, spot)
        span = places.hourly.span(f"free:{key}")
        least = min(
            sum(
                line.used[slot] * line.node_type.gpus_per_node
                for line in figures.lines
                if line.node_type.node_type == node_type and line.is_spot == spot
            )
            - figures.market_gpus.get((node_type, spot, slot), 0.0)
            for slot in range(len(figures.slices))
        )
        of = f"{node_type} {SPOT if spot else FIRM}, tightest hour"
        found.append(Limit("GPUs of nodes used: some free", of, "GPUs free", "0", 0.0, f"MIN({span})", least, low=True))
    for place, bought in enumerate(figures.commitments):
        most = max(spent_usd_per_h(figures, bought.discount, slot) for slot in range(len(figures.slices)))
        found.append(
            Limit(
                "Commitment: spent in any hour",
                bought.discount,
                "$/h",
                places.commitments.ref("usd_h", place),
                bought.usd_per_h,
                f"MAX({places.hourly.span(f'spent:{bought.discount}')})",
                most,
                "usd2",
            )
        )
    for api, limit, measure in api_limits(figures):
        most = max(places.api_measure(api, measure, slot) for slot in range(len(figures.slices)))
        unit = "requests/min" if limit == "max_rpm" else "tok/s"
        found.append(
            Limit(
                f"API: {limit}",
                api,
                unit,
                inputs.api_prices.ref(limit, api),
                getattr(figures.case.api(api), limit),
                f"MAX({places.hourly.span(f'limit:{api}:{limit}')})",
                most,
            )
        )
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
        use, planned = grid.span("use", first, last), grid.span("occupancy", first, last)
        if pool.is_auto:
            # Every hour has its own occupancy, so the limit is on the ratio.
            most = max(hour.use / (hour.occupancy or 1.0) for hour in hours)
            text = f"SUMPRODUCT(MAX({use}/({planned}+({planned}=0))))"
            of = f"{pool.pool}, of the auto one"
            found.append(Limit("Pool: occupancy", of, "ratio", "1", 1.0, text, most, "pct2"))
        else:
            limit, most = inputs.pools.ref("occupancy_frac", pool.pool), max(hour.use for hour in hours)
            of = f"{pool.pool}, busiest hour"
            found.append(
                Limit("Pool: occupancy", of, "share of live", limit, hours[0].occupancy, f"MAX({use})", most, "pct2")
            )
        if 0 < pool.spot_max_frac < 1:
            found.append(
                Limit(
                    "Pool: spot share",
                    f"{pool.pool}, highest hour",
                    "share of own tok/s",
                    inputs.pools.ref("spot_max_frac", pool.pool),
                    pool.spot_max_frac,
                    f"MAX({grid.span('spot_share', first, last)})",
                    max(hour.spot_share for hour in hours),
                    "pct2",
                )
            )
        if pool.min_live:
            found.append(
                Limit(
                    "Pool: live replicas, at least",
                    f"{pool.pool}, lowest hour",
                    "replicas",
                    inputs.pools.ref("min_live", pool.pool),
                    pool.min_live,
                    f"MIN({grid.span('live', first, last)})",
                    min(hour.live for hour in hours),
                    low=True,
                )
            )
    hours_grid = places.workload_hours
    for workload in figures.case.workloads:
        if workload.api:
            first, last = places.workload_block(workload.workload)
            most = max(
                figures.api_tps.get((workload.workload, slot), 0.0) / run if (run := figures.run(workload, slot)) else 0.0
                for slot in range(len(figures.slices))
            )
            found.append(
                Limit(
                    "Workload: API share",
                    f"{workload.workload}, highest hour",
                    "share of demand",
                    inputs.workloads.ref("api_max_frac", workload.workload),
                    workload.api_max_frac,
                    f"MAX({hours_grid.span('api_share', first, last)})",
                    most,
                    "pct2",
                )
            )
    return found


def fill_constraints(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """Limits, then racks and power."""
    grid = places.constraints
    sheet.title(
        "Constraints", "Every limit that the plan meets: what it allows, what is used, what is left. Binds: nothing is left."
    )
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
            grid.first,
            grid.col("binds"),
            grid.last,
            grid.col("binds"),
            {"type": "cell", "criteria": "==", "value": "TRUE", "format": bold},
        )
    _racks(sheet, places, figures)
    _explained(sheet, places, figures)
    sheet.finish(freeze=(grid.first, 1), repeat=(0, grid.top + 1))


def _explained(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """What one more unit of each limit is worth, and what headroom costs, under the racks."""
    row = places.racks.last + 3
    explanation = figures.result.explanation
    if explanation is None:
        sheet.text(row, 0, ASK, fmt=sheet.book.formats.note())
        return
    for heading, rows in (
        ("Worth of one more unit: the plan with one limit changed (values; negative saves)", explanation.worth),
        ("What headroom costs: the plan without one rule (values; negative saves)", explanation.headroom),
    ):
        if rows:
            row = write_worth(sheet, row, heading, rows) + 3


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
