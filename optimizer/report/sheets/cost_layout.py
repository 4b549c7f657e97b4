"""Where the tables of Cost stand, and the API prices that they compare."""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.domain.hardware import NodeType
from optimizer.domain.market import ApiPrice
from optimizer.domain.names import join_key
from optimizer.domain.workload import Workload
from optimizer.plan.ledger import API
from optimizer.report.figures import Figures
from optimizer.report.grid import Col, Grid
from optimizer.report.sheets.hourly_layout import COST_LABELS, capacity_types
from optimizer.units import HOURS_PER_DAY

COST = "Cost"
PART_LABELS = {
    "held": "Held, by the hour",
    "used": "Used, by the hour",
    "upfront": "Upfront, spread over the term",
    "energy": "Energy",
    "site": "Rent on power",
    "discounts": "Commitments at discounted prices",
    "api": "API",
}
DENOMINATORS = (
    ("forecast", "Forecast tokens (the headline)", "All cost over all output tokens of the forecast."),
    ("fleet", "Tokens served by the fleet", "Cost without API over the tokens that own replicas serve."),
    ("api", "Tokens served by APIs", "API cost over the tokens that APIs serve."),
    ("full_goodput", "Tokens at full goodput", "Fleet cost over what every paid GPU-hour would serve at its options' goodput."),
)
_GAP = 4


@dataclass(frozen=True)
class ApiPair:
    """An API price that a workload may use (allowed), or that is shown beside for the same model."""

    workload: Workload
    api: ApiPrice
    allowed: bool


def api_pairs(figures: Figures) -> tuple[ApiPair, ...]:
    """API prices compared: those a workload may overflow to; where it names none, those of its model."""
    found = []
    for workload in figures.case.workloads:
        named = [figures.case.api(name) for name in workload.api]
        prices = named or [row for row in figures.case.api_prices if join_key(row.model) == join_key(workload.model)]
        for api in prices:
            stated = workload.input_per_output(figures.slices[0][0], 0) is not None
            if stated or (api.input_usd_per_mtok == 0 and api.cached_input_usd_per_mtok == 0):
                found.append(ApiPair(workload, api, bool(named)))
    return tuple(found)


def node_type_usd(figures: Figures, node_type: NodeType) -> float:
    """$/day of a node type: its offers, and the commitments that stand under it."""
    usd = sum(line.usd for line in figures.lines if line.node_type == node_type)
    return usd + sum(
        row.usd_per_h * HOURS_PER_DAY for row in figures.commitments if figures.commitment_node_type(row.discount) == node_type
    )


def mean_ratio(figures: Figures, workload: Workload) -> float:
    """Input tokens per output token over the day, weighted by output tokens; the shape's where there are none."""
    weighted = total = 0.0
    for place, key in enumerate(figures.slices):
        tokens = figures.demand(workload, place) * figures.weights[place]
        weighted += tokens * figures.input_per_output(workload.workload, key)
        total += tokens
    return weighted / total if total else 0.0


def pair_price(figures: Figures, pair: ApiPair) -> float:
    """$/M output tokens of an API for a workload, input included."""
    hit = pair.workload.prefix_hit_frac
    blended = (1 - hit) * pair.api.input_usd_per_mtok + hit * pair.api.cached_input_usd_per_mtok
    return pair.api.output_usd_per_mtok + mean_ratio(figures, pair.workload) * blended


class CostPlaces:
    """Where the tables of the sheet stand, one under the other."""

    def __init__(self, figures: Figures) -> None:
        usd = [Col(part, COST_LABELS[part], "$/day", "usd2", 12) for part in figures.cost_parts]
        self.apis = tuple(dict.fromkeys(row.api for row in figures.api_rows))
        names = (Col("name", "Offer or API", width=30), Col("kind", "Purchase type", width=13),
                 Col("node_type", "Node type", width=13), Col("gpu", "GPU", width=10))  # fmt: skip
        cols = (*names, *usd, Col("total", "Total", "$/day", "usd2", 12), Col("share", "Share", "of cost", "pct", 9))
        self.offers = Grid(COST, 5, cols, len(figures.lines) + len(self.apis) + len(figures.commitments))
        self.kinds = (*capacity_types(figures), *(("discount",) if figures.commitments else ()))
        horizon = (
            Col("usd", "Cost", "$/day", "usd2", 12), Col("share", "Share", "of cost", "pct", 9),
            Col("month", "Cost", "$/month", "usd0", 12), Col("quarter", "Cost", "$/quarter", "usd0", 12),
            Col("year", "Cost", "$/year", "usd0", 12),
        )  # fmt: skip
        self.parts = Grid(
            COST, self._under(self.offers), (Col("name", "Part of the bill", width=30), *horizon), len(figures.cost_parts)
        )
        self.types = Grid(COST, self._under(self.parts), (Col("name", "Purchase type", width=30), *horizon), len(self.kinds))
        self.gpu_names = (*dict.fromkeys(row.gpu for row in figures.node_types), *((API,) if self.apis else ()))
        self.gpus = Grid(COST, self._under(self.types), (Col("name", "GPU", width=30), *horizon), len(self.gpu_names))
        self.node_types = Grid(
            COST, self._under(self.gpus),
            (
                Col("node_type", "Node type", width=30), Col("gpu", "GPU", width=13),
                Col("gpus_per_node", "GPUs per node", "GPUs", "int", 9),
                Col("usd", "Cost", "$/day", "usd2", 12), Col("paid_h", "Paid", "node-h/day", "n1", 12),
                Col("paid_gpu_h", "Paid", "GPU-h/day", "n1", 12), Col("run_gpu_h", "Taken by replicas", "GPU-h/day", "n1", 12),
                Col("use", "Taken of paid", "share", "pct", 9), Col("tps_per_gpu", "Goodput of a GPU", "tok/s", "n1", 12),
                Col("mtok", "At full goodput", "M tok/day", "n2", 12), Col("usd_gpu_h", "Paid", "$/GPU-h", "usd2", 12),
                Col("usd_node_h", "Paid", "$/node-h", "usd2", 12),
            ),
            len(figures.node_types),
        )  # fmt: skip
        self.pools = Grid(
            COST, self._under(self.node_types),
            (
                Col("pool", "Pool", width=30), Col("fleet", "Nodes", "$/day", "usd2", 13), Col("api", "API", "$/day", "usd2", 13),
                Col("total", "Total", "$/day", "usd2", 12), Col("share", "Share", "of cost", "pct", 9),
                Col("mtok", "Forecast", "M tok/day", "n2", 12), Col("price", "Price", "$/M tokens", "usd_mtok", 12),
            ),
            len(figures.case.pools) + 1,
        )  # fmt: skip
        self.mtok = Grid(
            COST, self._under(self.pools),
            (
                Col("name", "Denominator", width=30), Col("usd", "Cost", "$/day", "usd2", 13),
                Col("mtok", "Tokens", "M tok/day", "n2", 13),
                Col("price", "Price", "$/M tokens", "usd_mtok", 12), Col("meaning", "Meaning", width=12),
            ),
            len(DENOMINATORS),
        )  # fmt: skip
        self.pairs = Grid(
            COST, self._under(self.mtok),
            (
                Col("workload", "Workload", width=30), Col("api", "API", width=13),
                Col("allowed", "Overflow allowed", "TRUE/FALSE", "bool", 13),
                Col("output", "Output price", "$/M tok", "usd_mtok", 12), Col("input", "Input price", "$/M tok", "usd_mtok", 12),
                Col("cached", "Cached input price", "$/M tok", "usd_mtok", 12), Col("hit", "Prefix hits", "share", "pct", 9),
                Col("ratio", "Input per output token", "tok/tok", "n2", 12),
                Col("price", "All-in price", "$/M output", "usd_mtok", 12),
                Col("mtok", "Forecast", "M tok/day", "n2", 12), Col("usd", "If all went there", "$/day", "usd2", 12),
                Col("best", "Cheapest", "TRUE/FALSE", "bool", 10),
            ),
            len(api_pairs(figures)),
        )  # fmt: skip
        self.figures = figures

    @staticmethod
    def _under(grid: Grid) -> int:
        return grid.last + _GAP

    @property
    def total_row(self) -> int:
        """Sheet row of the totals under the offers."""
        return self.offers.last + 1
