"""Bad days that take nodes before replicas: a share of the on-demand nodes, or all nodes of one zone (INPUTS, "Bad day").

What is left of each node type is given out anew in whole replicas, to all named pools at once; then replicas are lost, pool by
pool. Whether some way of giving out survives is a small integer program of its own, solved with scipy. It only proposes the
replicas: whether they survive is then replayed in plain arithmetic like any other bad day.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import floor, lcm

from optimizer.domain.market import Offer
from optimizer.domain.workload import Contingency, Workload
from optimizer.plan.bad_day_terms import ROUNDING_HEDGE, on_one_node, overflow_on
from optimizer.plan.index import OptionKey, PlanIndex, SliceKey

#: Branch-and-bound nodes of the program that proposes replicas: a count, so that equal plans get equal answers.
NODE_LIMIT = 20_000
#: Relative gap at which a proposal is good enough; the replay forgives as much.
PROPOSAL_GAP = 1e-7

Place = tuple[str, str]


def takes_nodes(contingency: Contingency) -> bool:
    """True where nodes are lost before replicas, so that what is left is given out anew."""
    return contingency.scope == "zone" or contingency.on_demand_obtainable_frac < 1


def place_of(offer: Offer) -> Place:
    """The zone of an offer: its site, else provider and region."""
    return ("site", offer.site) if offer.site else (offer.provider or "", offer.region or "")


def zones(index: PlanIndex, contingency: Contingency, key: SliceKey) -> list[Place | None]:
    """The zones to lose in turn: places with nodes held or used in that slice; None where no zone is lost."""
    if contingency.scope != "zone":
        return [None]
    used = index.used.get(key, {})
    there: list[Place | None] = [
        place_of(offer)
        for offer in index.case.offers
        if used.get(offer.offer) or (index.held(offer.offer) and key[1] in offer.hours)
    ]
    return list(dict.fromkeys(there)) or [None]


def replicas_anew(
    index: PlanIndex,
    contingency: Contingency,
    key: SliceKey,
    zone: Place | None,
    asking: Sequence[tuple[str, Sequence[Workload]]],
) -> dict[OptionKey, int]:
    """Live replicas per option, firm and spot together, that serve the named pools best on the nodes that are left."""
    left = _NodesLeft.after(index, contingency, key, zone)
    program = _Program()
    scale = program.column(cost=-1.0)
    counts: dict[OptionKey, list[int]] = {}
    nothing: list[OptionKey | None] = [None]
    _give_out(index, contingency, key, zone, [pool for pool, _ in asking], left, program, counts)
    for pool, active in asking:
        options = [option for option in counts if option[0] == pool]
        losing: list[OptionKey | None] = [option for option in options if _can_lose(index, contingency, option)]
        for lost in losing or nothing:
            stays = {option: [(column, 1.0) for column in counts[option]] for option in options}
            if lost is not None:
                stays[lost] = _after_loss(index, contingency, lost, counts[lost], program)
            _serve(index, contingency, key, pool, active, stays, scale, program)
    solved = program.solve()
    return {option: sum(round(solved[column]) for column in columns) for option, columns in counts.items()}


@dataclass
class _NodesLeft:
    """Nodes by type and place after the loss: firm ones (held ones idle too), and spot."""

    firm: dict[str, dict[Place, int]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))
    spot: dict[str, dict[Place, int]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))

    @classmethod
    def after(cls, index: PlanIndex, contingency: Contingency, key: SliceKey, zone: Place | None) -> _NodesLeft:
        """Held nodes outside the zone stay, of each on-demand offer floor(q x nodes planned)."""
        left = cls()
        for offer in index.case.offers:
            place, used = place_of(offer), index.used.get(key, {}).get(offer.offer, 0)
            if place == zone:
                continue
            if offer.purchase == "spot":
                left.spot[offer.node_type][place] += used
            elif offer.purchase == "on_demand":
                left.firm[offer.node_type][place] += floor(contingency.on_demand_obtainable_frac * used + ROUNDING_HEDGE)
            elif key[1] in offer.hours:
                left.firm[offer.node_type][place] += index.held(offer.offer)
        return left


class _Program:
    """Columns and rows of a small integer program, collected for scipy."""

    def __init__(self) -> None:
        self.costs: list[float] = []
        self.tops: list[float] = []
        self.whole: list[int] = []
        self.terms: list[tuple[int, int, float]] = []
        self.limits: list[float] = []

    def column(self, *, cost: float = 0.0, top: float = float("inf"), whole: bool = False) -> int:
        """A variable from 0 to `top`; its number."""
        self.costs.append(cost)
        self.tops.append(top)
        self.whole.append(int(whole))
        return len(self.costs) - 1

    def row(self, terms: Iterable[tuple[int, float]], limit: float) -> None:
        """sum of terms <= limit."""
        self.terms += [(len(self.limits), column, value) for column, value in terms]
        self.limits.append(limit)

    def solve(self) -> list[float]:
        """The best values found. ArithmeticError where there are none, which would be a fault of ours: all 0 is feasible."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import coo_array

        rows, columns, values = zip(*self.terms, strict=True)
        matrix = coo_array((values, (rows, columns)), shape=(len(self.limits), len(self.costs))).tocsr()
        result = milp(
            self.costs,
            constraints=LinearConstraint(matrix, ub=self.limits),
            integrality=self.whole,
            bounds=Bounds(0, self.tops),
            options={"node_limit": NODE_LIMIT, "mip_rel_gap": PROPOSAL_GAP},
        )
        if result.x is None:
            raise ArithmeticError(f"replicas could not be given out anew after nodes were lost: {result.message}")
        return [float(value) for value in result.x]


def _give_out(
    index: PlanIndex,
    contingency: Contingency,
    key: SliceKey,
    zone: Place | None,
    pools: Sequence[str],
    left: _NodesLeft,
    program: _Program,
    counts: dict[OptionKey, list[int]],
) -> None:
    """Whole replicas per option within the nodes left; a replica larger than a node takes its nodes from one place."""
    by_type: dict[str, list[OptionKey]] = defaultdict(list)
    for pool in pools:
        for option in index.options_of[pool]:
            by_type[index.options[option].node_type].append(option)
    for name, options in by_type.items():
        per_node = index.node_types[name].gpus_per_node
        units = lcm(*(index.gpu_share(option) for option in options))
        room = sum(left.firm[name].values()) * per_node * units
        firm_row, spot_row = [], []
        place_rows: dict[Place, list[tuple[int, float]]] = defaultdict(list)
        spot_place_rows: dict[Place, list[tuple[int, float]]] = defaultdict(list)
        for option in options:
            gpus = index.options[option].gpus_per_replica
            size = gpus * units // index.gpu_share(option)
            counts[option] = []
            if room >= size:
                firm = program.column(top=room // size, whole=True)
                counts[option].append(firm)
                firm_row.append((firm, float(size)))
                if gpus > per_node:
                    parts = [(place, program.column(top=room // size, whole=True)) for place in left.firm[name]]
                    program.row([(firm, 1.0), *((part, -1.0) for _, part in parts)], 0.0)
                    for place, part in parts:
                        place_rows[place].append((part, float(gpus // per_node)))
            stays = floor((1.0 - contingency.spot_lost_frac) * index.counts(key, option).spot_live + ROUNDING_HEDGE)
            if stays > 0:
                spot = program.column(top=stays, whole=True)
                counts[option].append(spot)
                spot_row.append((spot, float(size)))
                if gpus > per_node and zone is not None:
                    parts = [(place, program.column(top=stays, whole=True)) for place in left.spot[name]]
                    program.row([(spot, 1.0), *((part, -1.0) for _, part in parts)], 0.0)
                    for place, part in parts:
                        spot_place_rows[place].append((part, float(gpus // per_node)))
        if firm_row:
            program.row(firm_row, room)
        if spot_row and zone is not None:
            program.row(spot_row, sum(left.spot[name].values()) * per_node * units)
        for place, terms in place_rows.items():
            program.row(terms, left.firm[name][place])
        for place, terms in spot_place_rows.items():
            program.row(terms, left.spot[name][place])


def _can_lose(index: PlanIndex, contingency: Contingency, option: OptionKey) -> bool:
    fixed = contingency.replicas_lost + contingency.nodes_lost * on_one_node(index, option)
    return fixed > 0 or contingency.replicas_lost_frac > 0


def _after_loss(
    index: PlanIndex, contingency: Contingency, option: OptionKey, columns: list[int], program: _Program
) -> list[tuple[int, float]]:
    """max(0, live - n), with n = max(replicas_lost, ceil(replicas_lost_frac x live)) + those on lost nodes."""
    if not columns:
        return []
    most = sum(program.tops[column] for column in columns)
    on_nodes = contingency.nodes_lost * on_one_node(index, option)
    big = most + contingency.replicas_lost + on_nodes
    left = program.column(top=most, whole=True)
    enough = program.column(top=1, whole=True)
    share = program.column(top=big, whole=True)
    live = [(column, 1.0) for column in columns]
    program.row([(share, -1.0)], -float(contingency.replicas_lost))
    if contingency.replicas_lost_frac > 0:
        program.row([(share, -1.0), *((c, contingency.replicas_lost_frac * v) for c, v in live)], ROUNDING_HEDGE * max(1.0, most))
    program.row([(left, 1.0), (enough, -most)], 0.0)
    program.row([(left, 1.0), (share, 1.0), (enough, big), *((c, -v) for c, v in live)], big - on_nodes)
    return [(left, 1.0)]


def _serve(
    index: PlanIndex,
    contingency: Contingency,
    key: SliceKey,
    pool: str,
    active: Sequence[Workload],
    stays: dict[OptionKey, list[tuple[int, float]]],
    scale: int,
    program: _Program,
) -> None:
    """What stays serves `scale` x the surged demand of every workload, less what APIs take; tok/s over all that is asked."""
    asked = [(1.0 + contingency.demand_surge_frac) * index.demand_tps(row.workload, key) for row in active]
    unit = sum(asked)
    sure, absorbers = overflow_on(index, contingency, pool, key, active)
    served: list[list[tuple[int, float]]] = [[(scale, tps / unit)] for tps in asked]
    for option, columns in stays.items():
        busy = []
        for position, row in enumerate(active):
            share = index.replica_per_tps(option, row.workload, key)
            if share is not None and columns:
                load = program.column()
                served[position].append((load, -1.0))
                busy.append((load, share * unit))
        if busy:
            program.row([*busy, *((column, -value) for column, value in columns)], 0.0)
    for absorber in absorbers:
        flows = {position: program.column() for position in absorber.workloads}
        for position, flow in flows.items():
            served[position].append((flow, -1.0))
        for limit in absorber.limits:
            program.row([(flow, limit.use[position]) for position, flow in flows.items()], limit.headroom / unit)
    for terms, tps in zip(served, sure, strict=True):
        program.row(terms, tps / unit)
