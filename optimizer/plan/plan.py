"""What was decided, as plain frozen data: decisions, proof, money. No solver, no sheet.

Rows that are zero may be left out of a Decision (a missing row means 0), except `NodesNew`: every usable held offer has a row.
"""

from __future__ import annotations

from typing import Literal

from optimizer.domain.base import Frozen

Status = Literal["optimal", "gap_open", "no_plan", "infeasible", "refused"]


class NodesNew(Frozen):
    """Nodes newly bought on one held offer; nodes_existing are held besides."""

    offer: str
    nodes_new: int
    nodes_existing: int = 0


class NodeUse(Frozen):
    """Whole nodes of one offer used in one hour (held offers too)."""

    day_type: str
    hour: int
    offer: str
    used: int


class ReplicaCount(Frozen):
    """Replicas of one option of one pool in one hour; `live` and `total` include spot."""

    day_type: str
    hour: int
    pool: str
    option: str
    live: int
    total: int
    spot_live: int = 0
    spot_total: int = 0


class Load(Frozen):
    """Mean output tok/s of one workload on one option in one hour, on firm and on spot replicas."""

    day_type: str
    hour: int
    workload: str
    option: str
    firm_tps: float
    spot_tps: float = 0.0


class Overflow(Frozen):
    """Mean output tok/s of one workload sent to one API in one hour."""

    day_type: str
    hour: int
    workload: str
    api: str
    tps: float


class Shift(Frozen):
    """Deferrable work: mean output tok/s of one workload that arrive in `hour` and run in `run_hour` of the same day type."""

    day_type: str
    hour: int
    run_hour: int
    workload: str
    tps: float


class Commitment(Frozen):
    """A discount bought: $/h paid in every hour, used or not."""

    discount: str
    usd_per_h: float


class Covered(Frozen):
    """Nodes used of one offer in one hour that pay the discounted price out of a commitment (may be part of a node)."""

    day_type: str
    hour: int
    discount: str
    offer: str
    nodes: float


class Decision(Frozen):
    """Everything that was decided, nothing derived. shifts: of deferrable workloads only, waiting 0 hours included."""

    nodes_new: tuple[NodesNew, ...]
    node_uses: tuple[NodeUse, ...]
    replicas: tuple[ReplicaCount, ...]
    loads: tuple[Load, ...]
    overflows: tuple[Overflow, ...]
    shifts: tuple[Shift, ...] = ()
    commitments: tuple[Commitment, ...] = ()
    covered: tuple[Covered, ...] = ()


class SolverInfo(Frozen):
    """Which solver ran, for how long (wall seconds), under which PuLP. stopped: a user ended the search (Ctrl-C)."""

    name: str
    version: str
    seconds: float
    pulp: str
    stopped: bool = False


class SolveOutcome(Frozen):
    """What the milp room returns.

    status: optimal, gap_open, no_plan or infeasible. decision: None where there is no plan.
    cost_usd_per_day: objective of the decision; bound_usd_per_day: proven lower bound on the cost of any plan of the program.
    """

    status: Status
    decision: Decision | None
    cost_usd_per_day: float | None
    bound_usd_per_day: float | None
    solver: SolverInfo


class CostParts(Frozen):
    """Cost of an average day of the horizon, in $/day, by part."""

    held: float = 0.0
    used: float = 0.0
    upfront: float = 0.0
    api: float = 0.0
    energy: float = 0.0
    site: float = 0.0
    discounts: float = 0.0

    @property
    def total(self) -> float:
        """Sum of all parts, $/day."""
        return self.held + self.used + self.upfront + self.api + self.energy + self.site + self.discounts


class OfferCost(Frozen):
    """What one offer costs in one part of the bill, $/day. part: held, used, upfront, energy or site."""

    offer: str
    part: str
    usd_per_day: float


class ApiCost(Frozen):
    """What one workload spends at one API, $/day, and the output tokens it buys there, M tokens/day."""

    api: str
    workload: str
    usd_per_day: float
    mtok_per_day: float


class DiscountCost(Frozen):
    """What one commitment costs, $/day, used or not."""

    discount: str
    usd_per_day: float


class PoolCost(Frozen):
    """What one pool costs on one GPU generation, $/day, and the GPU-hours of an average day that its replicas take there.

    Nodes in use are shared hour by hour in proportion to the GPUs of the replicas on them, per node type, firm and spot apart.
    Standing nodes of a pool count as in use. pool "idle": nodes held and commitments bought that are not used. gpu "API": what
    the pool spends on API overflow.
    """

    pool: str
    gpu: str
    usd_per_day: float
    gpu_hours_per_day: float


class CostLedger(Frozen):
    """Every dollar of a day: `offers`, `apis` and `discounts` say who is paid, `pools` who causes it; both sum to the cost."""

    offers: tuple[OfferCost, ...] = ()
    apis: tuple[ApiCost, ...] = ()
    discounts: tuple[DiscountCost, ...] = ()
    pools: tuple[PoolCost, ...] = ()


class UsdPerMtok(Frozen):
    """$/M output tokens, each with its own denominator (INPUTS, "$/M tokens"); None where the denominator is 0."""

    forecast: float | None
    fleet: float | None
    api: float | None
    full_goodput: float | None


class Purchase(Frozen):
    """One line of the buy list: an offer, what of it is held and used, and what it costs in $/day (all parts that it causes)."""

    offer: str
    purchase: str
    node_type: str
    gpu: str
    provider: str
    region: str
    site: str
    nodes_new: int
    nodes_existing: int
    gpus: int
    term_months: float | None
    upfront_usd: float
    node_hours_used_per_day: float
    peak_nodes_used: int
    usd_per_day: float
    order_by: str | None


class SiteUse(Frozen):
    """What the plan takes of one site: nodes held, racks (one node type each) and kW (IT kW x pue)."""

    site: str
    nodes: int
    racks: int
    kw: float


class ContingencyMargin(Frozen):
    """The tightest hour of one contingency for one pool.

    margin_tps: how much more output tok/s than asked (surged demand, in the forecast's proportions) what is left could serve.
    """

    contingency: str
    pool: str
    day_type: str
    hour: int
    margin_tps: float


class InfeasibleLimit(Frozen):
    """One limit that clashes where no plan exists: where, by how much, and the cheapest relaxation that would work.

    missing: in `unit` (kW, nodes, tok/s, ...). relaxation: in words. usd_per_day: cost of a plan with it; None = not known.
    """

    limit: str
    pool: str | None = None
    site: str | None = None
    day_type: str | None = None
    hour: int | None = None
    missing: float
    unit: str
    relaxation: str = ""
    usd_per_day: float | None = None


class Baselines(Frozen):
    """What people would do without fleetsheet, $/day; None = impossible or not computed."""

    all_api: float | None = None
    all_on_demand: float | None = None
    reserved_at_peak: float | None = None
    reserved_at_trough: float | None = None


class Plan(Frozen):
    """A priced decision with its proof; what the report shows. Money comes from the decision, not from the solver."""

    status: Status
    decision: Decision
    cost: CostParts
    bound_usd_per_day: float
    gap_frac: float
    output_mtok_per_day: float
    usd_per_mtok: UsdPerMtok
    purchases: tuple[Purchase, ...]
    sites: tuple[SiteUse, ...]
    margins: tuple[ContingencyMargin, ...]
    baselines: Baselines
    solver: SolverInfo
    ledger: CostLedger = CostLedger()
