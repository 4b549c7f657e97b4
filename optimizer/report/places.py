"""Where every figure stands that another sheet reads: all layouts of one plan workbook, worked out before a cell is written."""

from __future__ import annotations

import datetime
from collections import defaultdict
from functools import cached_property

from optimizer.domain.hardware import NodeType, Site
from optimizer.domain.workload import Pool
from optimizer.plan.metrics import order_by
from optimizer.plan.plan import Load
from optimizer.report.constants import SECONDS_PER_MINUTE
from optimizer.report.figures import Figures
from optimizer.report.grid import Grid
from optimizer.report.input_tables import InputTables
from optimizer.report.marginal import Marginal
from optimizer.report.plan_lines import Line, ReplicaRow
from optimizer.report.pool_figures import PoolFigures
from optimizer.report.sheets import (
    bad_day,
    checks,
    cost_layout,
    decisions,
    hourly_layout,
    hours,
    inputs,
    limits,
    log,
    occupancy,
    options,
    purchases,
    sizing,
)
from optimizer.units import usd_per_h_of_tps


class Places:
    """Grids of every sheet and the rows of their things, for one plan."""

    def __init__(self, figures: Figures, sheets: tuple[str, ...], inputs_: InputTables) -> None:
        self._figures = figures
        self.inputs = inputs_
        self.pools = PoolFigures(figures)
        self.marginal = Marginal(figures, self.pools)
        main = {pool.pool: sizing.main_option(figures, pool) for pool in figures.case.pools}
        self.occupancy = occupancy.OccupancyPlaces(figures, self.pools, main)
        self.replicas: Grid = hours.replicas_grid(figures)
        self.routing: Grid = decisions.routing_grid(figures)
        self.api_hours: Grid = decisions.api_hours_grid(figures)
        self.workload_hours: Grid = hours.workload_hours_grid(figures)
        self.pool_hours: Grid = hours.pool_hours_grid(figures)
        self.shifts: Grid = decisions.shifts_grid(figures)
        self.covered: Grid = decisions.covered_grid(figures)
        self.hourly: Grid = hourly_layout.hourly_grid(figures)
        self.purchases: Grid = purchases.purchases_grid(figures)
        self.api_lines: Grid = purchases.api_lines_grid(figures)
        self.commitments: Grid = purchases.commitments_grid(figures)
        self.cost = cost_layout.CostPlaces(figures)
        self.options: Grid = options.options_grid(figures)
        self.rejections: Grid = options.rejections_grid(figures)
        self.bad_day: Grid = bad_day.bad_day_grid(figures)
        self.constraints: Grid = limits.constraints_grid(figures)
        self.racks: Grid = limits.racks_grid(figures)
        self.sizing = sizing.SizingPlaces(figures)
        self.inputs_sheet = inputs.InputsPlaces(figures, sheets, inputs_.day_types_given)
        self.curve_cells = self.inputs_sheet.curve_cells()
        self.line_row = {line.offer.offer: place for place, line in enumerate(figures.lines)}
        self.node_type_row = {row.node_type: place for place, row in enumerate(figures.node_types)}
        if inputs_.day_types_given:
            days = inputs_.day_types
            self.day_cells = {day.day_type: days.ref("days", day.day_type) for day in figures.case.day_types}
            self.day_span = days.grid.span("days")
        else:
            self.day_cells = self.inputs_sheet.day_cells(figures)
            self.day_span = self.inputs_sheet.day_span(figures)
        self._index_options()
        self._index_rows()

    def _index_options(self) -> None:
        self.option_row: dict[tuple[str, str, str], int] = {}
        self.first_option_row: dict[tuple[str, str], int] = {}
        place = 0
        for option in self._figures.candidates.options:
            for point in option.points:
                self.option_row[option.pool, option.option, point.workload] = place
                self.first_option_row.setdefault((option.pool, option.option), place)
                place += 1

    def _index_rows(self) -> None:
        figures = self._figures
        self.routing_rows: dict[tuple[str, int], list[int]] = defaultdict(list)
        self.option_routing_rows: dict[tuple[str, str, int], list[int]] = defaultdict(list)
        self.loads_of: dict[tuple[str, str], list[Load]] = {}
        for place, load in enumerate(figures.load_rows):
            slot = figures.place_of[load.day_type, load.hour]
            self.routing_rows[load.workload, slot].append(place)
            pool = figures.case.workload(load.workload).pool
            self.option_routing_rows[pool, load.option, slot].append(place)
            self.loads_of.setdefault((load.option, load.workload), []).append(load)
        self.api_rows: dict[tuple[str, int], list[int]] = defaultdict(list)
        for place, flow in enumerate(figures.api_rows):
            self.api_rows[flow.workload, figures.place_of[flow.day_type, flow.hour]].append(place)
        self.replica_rows: dict[tuple[str, int], list[int]] = defaultdict(list)
        self.replicas_of: dict[tuple[str, str], list[ReplicaRow]] = {}
        for place, row in enumerate(figures.replica_rows):
            self.replica_rows[row.count.pool, row.place].append(place)
            self.replicas_of.setdefault((row.count.pool, row.count.option), []).append(row)
        self.shift_rows: dict[tuple[str, int], list[int]] = defaultdict(list)
        for place, shift in enumerate(figures.shift_rows):
            self.shift_rows[shift.workload, figures.place_of[shift.day_type, shift.run_hour]].append(place)
        self.workload_hour_rows: dict[tuple[str, int], list[int]] = defaultdict(list)
        self.prompt_hour_rows: dict[tuple[str, int], list[int]] = defaultdict(list)
        slices = len(figures.slices)
        for number, workload in enumerate(figures.case.workloads):
            for slot in range(slices):
                self.workload_hour_rows[workload.pool, slot].append(number * slices + slot)
                if not workload.deferrable_hours:
                    self.prompt_hour_rows[workload.pool, slot].append(number * slices + slot)

    # ------------------------------------------------------------------ blocks of rows

    def pool_block(self, pool: str) -> tuple[int, int]:
        """First row and row after the last of a pool on Pool hours."""
        slices = len(self._figures.slices)
        number = [row.pool for row in self._figures.case.pools].index(pool)
        return number * slices, (number + 1) * slices

    def pool_hour(self, pool: str, slot: int) -> int:
        """Row of one pool and slice on Pool hours."""
        return self.pool_block(pool)[0] + slot

    def workload_block(self, workload: str) -> tuple[int, int]:
        """First row and row after the last of a workload on Workload hours."""
        slices = len(self._figures.slices)
        number = [row.workload for row in self._figures.case.workloads].index(workload)
        return number * slices, (number + 1) * slices

    # ------------------------------------------------------------------ formulas that several sheets share

    def ratio(self, workload: str, key: tuple[str, int]) -> str | None:
        """Formula of input tokens per output token in a slice; None where it is 0 because nobody states any input."""
        row = self._figures.case.workload(workload)
        day = row.demand_on(key[0])
        if day.input_tps is not None and day.output_tps[key[1]] > 0:
            demand = self.inputs.demand
            return f"{demand.ref('input_tps', workload, *key)}/{demand.ref('output_tps', workload, *key)}"
        if row.input_tokens is not None and row.output_tokens:
            cells = self.inputs.workloads
            return f"{cells.ref('input_tokens', workload)}/{cells.ref('output_tokens', workload)}"
        return None

    def need_text(self, pool: str, here: dict[str, str]) -> str:
        """Formula of the need with headroom of a pool in a slice (Pool hours)."""
        planned = here["occupancy"]
        bad_day = self.pools.bad_days[pool]
        need = f"{here['working']}/{planned}"
        if bad_day is not None and not bad_day.row.api_absorbs:
            row = self.inputs.contingencies.row_of(bad_day.row.contingency, pool)
            cell = self.inputs.contingencies.grid.ref
            need = f"({here['working']}+{cell('demand_surge_frac', row)}*{here['prompt']})/{planned}"
            if bad_day.option is not None:
                option = self.first_option_row[pool, bad_day.option.option]
                lost = f"{cell('replicas_lost', row)}+{cell('nodes_lost', row)}*{self.options.ref('per_node', option)}"
                need += f"+({lost})*{self.options.ref('goodput', option)}"
            need += f"+{cell('spot_lost_frac', row)}*{here['spot_running']}"
            need = f"IF({here['prompt']}=0,{here['working']}/{planned},{need})"
        if self._figures.case.pool(pool).is_auto:
            need = f"IF({planned}=0,0,{need})"
        return f"({need})*{here['factor']}"

    def occupancy_text(self, pool: Pool, live: str) -> str:
        """Formula of the planned occupancy of a pool with so many live replicas."""
        return self.occupancy.lookup(pool.pool, live) if pool.is_auto else self.inputs.pools.ref("occupancy_frac", pool.pool)

    def per_rack_text(self, site: Site, node_type: NodeType | None) -> str:
        """Formula of the nodes of a type that fit a rack of a site, over what is stated."""
        parts = []
        if site.slots_per_rack is not None:
            parts.append(self.inputs.sites.ref("slots_per_rack", site.site))
        if site.kw_per_rack is not None and node_type is not None and node_type.node_kw:
            power = (
                f"{self.inputs.sites.ref('kw_per_rack', site.site)}/{self.inputs.node_types.ref('node_kw', node_type.node_type)}"
            )
            parts.append(f"ROUNDDOWN({power}+rounding_hedge*MAX(1,{power}),0)")
        return f"MIN({','.join(parts)})"

    def node_price(self, figures: Figures, node_type: NodeType) -> tuple[str, float] | None:
        """Formula and value of the price of a node-hour: what the plan pays on average, else the cheapest offer's."""
        lines = [line for line in figures.lines if line.node_type == node_type]
        hours = sum(line.paid_node_hours for line in lines)
        if hours:
            cell = self.cost.node_types.ref("usd_node_h", self.node_type_row[node_type.node_type])
            return cell, cost_layout.node_type_usd(figures, node_type) / hours
        offers = [offer for offer in figures.candidates.offers if offer.node_type == node_type.node_type]
        if not offers:
            return None
        best = min(offers, key=lambda offer: offer.held_usd_per_node_h + offer.used_usd_per_node_h / offer.effective_frac)
        cells = self.inputs.offers
        held, used = cells.ref("held_usd_per_node_h", best.offer), cells.ref("used_usd_per_node_h", best.offer)
        value = best.held_usd_per_node_h + best.used_usd_per_node_h / best.effective_frac
        return f"{held}+{used}/{cells.ref('effective_frac', best.offer)}", value

    def pair_row(self, figures: Figures, pair: cost_layout.ApiPair) -> int:
        """Row of a workload and API among the API prices on Cost."""
        return cost_layout.api_pairs(figures).index(pair)

    # ------------------------------------------------------------------ money

    @property
    def cost_offers(self) -> Grid:
        """The bill by offer on Cost."""
        return self.cost.offers

    @property
    def cost_node_types(self) -> Grid:
        """The table by node type on Cost."""
        return self.cost.node_types

    def cost_total_ref(self, key: str) -> str:
        """Total of a part of the bill."""
        return f"SUM({self.cost.offers.span(key)})"

    @property
    def cost_total(self) -> str:
        """The whole bill, $/day."""
        return f"SUM({self.cost.offers.span('total')})"

    @property
    def cost_total_here(self) -> str:
        """The whole bill, from the Cost sheet itself."""
        return f"SUM({self.cost.offers.span_here('total')})"

    def claimed(self, key: str) -> str:
        """A figure as it was proven."""
        return log.claimed_ref(key)

    def market_rate_ref(self, node_type: str, spot: bool, slot: int) -> str:
        """$ per GPU-hour taken in a market in a slice."""
        return self.hourly.ref(f"rate:{hourly_layout.market_key(node_type, spot)}", slot)

    def tps_per_node(self, line: Line) -> float:
        """Goodput of a node of an offer, tok/s."""
        return line.node_type.gpus_per_node * self._figures.tps_per_gpu[line.node_type.node_type]

    @cached_property
    def api_usd_h(self) -> tuple[float, ...]:
        """$/h of each row of API hours."""
        return tuple(row.tps * usd_per_h_of_tps(self._figures.api_price(row)) for row in self._figures.api_rows)

    def api_measure(self, api: str, measure: str, slot: int) -> float:
        """Tokens or requests sent to an API in a slice: tps, input_tps, both, or rpm."""
        figures, total = self._figures, 0.0
        for row in figures.api_rows:
            key = (row.day_type, row.hour)
            if row.api != api or figures.place_of[key] != slot:
                continue
            inputs_tps = row.tps * figures.input_per_output(row.workload, key)
            tokens = figures.case.workload(row.workload).output_tokens
            total += {
                "tps": row.tps,
                "input_tps": inputs_tps,
                "both": row.tps + inputs_tps,
                "rpm": SECONDS_PER_MINUTE * row.tps / tokens if tokens else 0.0,
            }[measure]
        return total

    def quota_text(self, pool: Pool) -> str:
        """GPUs of a pool's standing quota, as a formula: nodes x GPUs per node."""
        nodes, gpus = self.inputs.pools.ref("fixed_nodes", pool.pool), self.inputs.node_types.ref(
            "gpus_per_node", pool.fixed_node_type or ""
        )
        return f"{nodes}*{gpus}"

    def order_date(self, line: Line) -> datetime.date:
        """Last day to order the nodes of an offer."""
        return order_by(line.offer, self._figures.case.policy.start_date)

    @cached_property
    def check_rows(self) -> list[checks.Check]:
        """Every check."""
        return checks.checks(self, self._figures)

    @cached_property
    def checks(self) -> Grid:
        """The table of checks."""
        return checks.checks_grid(len(self.check_rows))
