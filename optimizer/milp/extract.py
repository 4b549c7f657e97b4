"""From a solved program to a Decision: whole numbers rounded, loads exact, nodes used filled in, slices expanded to hours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict

from optimizer.milp.bounds import total_replicas
from optimizer.milp.frame import Frame, use_costs
from optimizer.milp.menu import Menu, replicas_of_line
from optimizer.milp.menu_pairs import split_two
from optimizer.milp.occupancy import is_cover
from optimizer.milp.prep import PoolData, PoolSlice, Prep, arrival_hours, run_hours
from optimizer.milp.program import Key, Program
from optimizer.plan.plan import Commitment, Covered, Decision, Load, NodesNew, NodeUse, Overflow, ReplicaCount, Shift
from optimizer.units import HOURS_PER_DAY

#: Loads, overflows and flows below this share of the workload's largest demand of the day are rounding noise of the solver.
_NOISE_FRAC = 1e-7
#: (workload, day type, hour of arrival, hour it runs in).
_ShiftKey = tuple[str, str, int, int]


class _Discounts(TypedDict):
    commitments: tuple[Commitment, ...]
    covered: tuple[Covered, ...]


@dataclass
class _Fleet:
    """One pool in one slice. Lists run over options; loads are [option][workload], overflow (workload, api), in tok/s."""

    firm_live: list[int]
    spot_live: list[int]
    firm_total: list[int]
    spot_total: list[int]
    firm_tps: list[list[float]] = field(default_factory=list)
    spot_tps: list[list[float]] = field(default_factory=list)
    overflow_tps: dict[tuple[str, str], float] = field(default_factory=dict)


def extract(frame: Frame, menus: dict[str, tuple[Menu, ...]]) -> Decision:
    """Read the decision off a program that has a solution. `menus` holds the menus of the pools that use them, by pool name."""
    prep, program = frame.prep, frame.program
    nodes_new = {
        offer.offer: program.whole(("lots", offer.offer)) * offer.lot_nodes for offer in prep.offers if offer.is_held
    }
    fleets: dict[tuple[str, int], _Fleet] = {}
    used: dict[tuple[str, int], int] = {}
    shifts = _shifts(prep, program)
    for t in range(len(prep.groups)):
        for pool in prep.pools:
            fleets[(pool.pool.pool, t)] = _live(program, pool, t, menus.get(pool.pool.pool))
    for pool in prep.pools:
        _totals(prep, program, pool, fleets)
    for t in range(len(prep.groups)):
        for row in prep.node_types:
            _place_on_spot(prep, program, fleets, row.node_type, t)
            _use_nodes(prep, program, fleets, nodes_new, used, row.node_type, t)
        for pool in prep.pools:
            _loads(prep, program, pool, pool.slices[t], fleets[(pool.pool.pool, t)], t, shifts, pool.pool.pool in menus)
    return _expand(prep, program, nodes_new, used, fleets, shifts)


def decision_of(prep: Prep, values: dict[Key, float]) -> Decision:
    """The decision behind values of the whole program with every pool written out in full."""
    program = Program("plan")
    program.take_values(values)
    return extract(Frame(prep, program), {})


def _live(program: Program, pool: PoolData, t: int, menus: tuple[Menu, ...] | None) -> _Fleet:
    name, piece, count = pool.pool.pool, pool.slices[t], len(pool.options)
    if menus is not None:
        live = [0] * count
        for i, line in enumerate(menus[t].lines):
            if program.whole(("line", name, i, t)):
                one = len(pool.workloads) == 1 and not pool.pool.is_auto
                live = list(replicas_of_line(pool, piece, menus[t], line)) if one else [n or 0 for n in line.bounds]
        spot = [0] * count
    else:
        live = [program.whole(("live", name, k, t)) for k in range(count)]
        spot = [program.whole(("spot_live", name, k, t)) for k in range(count)]
    return _Fleet(live, spot, list(live), list(spot))


def _totals(prep: Prep, program: Program, pool: PoolData, fleets: dict[tuple[str, int], _Fleet]) -> None:
    """Replicas paid: those live now or within ready_hours, and the surge of a rollout, which stands where the program put it."""
    name = pool.pool.pool
    group_of = {member: t for t, group in enumerate(prep.groups) for member in group.members}
    for t, group in enumerate(prep.groups):
        fleet, frac = fleets[(name, t)], pool.slices[t].rollout_frac
        day_type, hour = group.members[0]
        soon = [
            fleets[(name, group_of[(day_type, (hour + ahead) % HOURS_PER_DAY)])]
            for ahead in range(min(pool.pool.ready_hours, HOURS_PER_DAY - 1) + 1)
        ] if pool.pool.ready_hours else [fleet]
        for k in range(len(pool.options)):
            firm = max(each.firm_live[k] for each in soon)
            spot = max(each.spot_live[k] for each in soon)
            both = max(total_replicas(fleet.firm_live[k] + fleet.spot_live[k], frac), firm + spot)
            fleet.spot_total[k] = spot
            if pool.spot_mode == "sep" and frac > 0:
                fleet.spot_total[k] = min(max(program.whole(("spot_total", name, k, t)), spot), both - firm)
            fleet.firm_total[k] = both - fleet.spot_total[k]


def _place_on_spot(
    prep: Prep, program: Program, fleets: dict[tuple[str, int], _Fleet], node_type: str, t: int
) -> None:
    """Put replicas of pools that may be anywhere on the spot nodes that are paid for, largest first; the rest is firm."""
    free = prep.capacity_units(node_type) * sum(
        program.whole(("used", offer.offer, t)) for offer in prep.spot_offers(node_type)
    )
    movable = [
        (pool.sizes[k], pool, k)
        for pool in prep.pools
        if pool.spot_mode == "any"
        for k, option in enumerate(pool.options)
        if option.node_type == node_type
    ]
    for size, pool, k in sorted(movable, key=lambda item: -item[0]):
        fleet = fleets[(pool.pool.pool, t)]
        moved = min(fleet.firm_total[k], free // size)
        free -= moved * size
        fleet.firm_total[k] -= moved
        fleet.spot_total[k] += moved
        live = min(fleet.firm_live[k], moved)
        fleet.firm_live[k] -= live
        fleet.spot_live[k] += live


def _use_nodes(
    prep: Prep, program: Program, fleets: dict[tuple[str, int], _Fleet], nodes_new: dict[str, int],
    used: dict[tuple[str, int], int], node_type: str, t: int,
) -> None:
    """Nodes used per offer: what the program paid for, then held nodes that cost nothing extra, as many as the replicas need."""
    capacity = prep.capacity_units(node_type)
    firm_units = capacity * prep.fixed_nodes(node_type)
    spot_units = 0
    for pool in prep.pools:
        fleet = fleets[(pool.pool.pool, t)]
        for k, option in enumerate(pool.options):
            if option.node_type == node_type:
                firm_units += pool.sizes[k] * fleet.firm_total[k]
                spot_units += pool.sizes[k] * fleet.spot_total[k]
    for offers, units in ((prep.spot_offers(node_type), spot_units), (prep.firm_offers(node_type), firm_units)):
        left = -(-units // capacity)
        for offer in offers:
            paid = program.whole(("used", offer.offer, t))
            used[(offer.offer, t)] = paid
            left -= paid
        spanning = _spanning_nodes(prep, program, node_type, t)
        free = [o for o in offers if o.is_held and not use_costs(prep, o) and prep.groups[t].hour in o.hours]
        # Replicas larger than a node first, each place its own; then as many as are still needed, from anywhere.
        for offer in sorted(free, key=lambda offer: offer.place not in spanning):
            wanted = left
            if offer.place in spanning:
                here = sum(used[(other.offer, t)] for other in offers if other.place == offer.place)
                wanted = max(spanning[offer.place] - here, 0)
            held = nodes_new[offer.offer] + prep.case.nodes_existing(offer.offer)
            used[(offer.offer, t)] = max(min(wanted, held), 0)
            left -= used[(offer.offer, t)]
        for offer in free:
            held = nodes_new[offer.offer] + prep.case.nodes_existing(offer.offer)
            more = max(min(left, held - used[(offer.offer, t)]), 0)
            used[(offer.offer, t)] += more
            left -= more


def _spanning_nodes(prep: Prep, program: Program, node_type: str, t: int) -> dict[tuple[str, str], int]:
    """Nodes that firm replicas larger than a node take in each place, where several places sell the type."""
    nodes: dict[tuple[str, str], int] = {}
    for pool in prep.pools:
        for k, option in enumerate(pool.options):
            if option.node_type == node_type and option.spans_nodes:
                for place in dict.fromkeys(offer.place for offer in prep.firm_offers(node_type)):
                    replicas = program.whole(("place_firm", pool.pool.pool, k, t, "at", place))
                    nodes[place] = nodes.get(place, 0) + replicas * option.nodes_per_replica
    return {place: count for place, count in nodes.items() if count}


def _noise_tps(peak_tps: float, demand_tps: float) -> float:
    """Below this a rate is noise; an hour with next to no demand keeps what it has."""
    return min(_NOISE_FRAC * peak_tps, 1e-3 * demand_tps)


def _shifts(prep: Prep, program: Program) -> dict[_ShiftKey, float]:
    """Flows of deferrable work without solver noise; what arrives in an hour runs exactly, no more and no less."""
    shifts: dict[_ShiftKey, float] = {}
    for workload in prep.case.workloads:
        if not workload.deferrable_hours:
            continue
        for day in workload.demand:
            for arrival, demand in enumerate(day.output_tps):
                if demand <= 0:
                    continue
                runs = run_hours(workload, arrival)
                flows = [max(program.value(("flow", workload.workload, day.day_type, arrival, run)), 0.0) for run in runs]
                flows = [tps if tps > _noise_tps(max(day.output_tps), demand) else 0.0 for tps in flows]
                total = sum(flows)
                for run, tps in zip(runs, flows, strict=True):
                    if tps > 0:
                        shifts[(workload.workload, day.day_type, arrival, run)] = tps * demand / total
    return shifts


def _loads(
    prep: Prep, program: Program, pool: PoolData, piece: PoolSlice, fleet: _Fleet, t: int, shifts: dict[_ShiftKey, float],
    has_menu: bool,
) -> None:
    """Overflow as solved without noise; loads spread so that load + overflow is the demand exactly."""
    name = pool.pool.pool
    count = len(pool.options)
    has_loads = not has_menu and not is_cover(pool)
    both: list[list[float]] | None = None
    if has_menu and len(pool.workloads) == 2:
        live = [firm + spot for firm, spot in zip(fleet.firm_live, fleet.spot_live, strict=True)]
        share = pool.pool.occupancy(sum(live)) if pool.pool.is_auto else 1.0
        carried = [tuple(share * tps for tps in row) for row in piece.mean_tps]
        both = split_two(carried, live, (piece.demand_tps[0], piece.demand_tps[1]))
    fleet.firm_tps = [[0.0] * len(pool.workloads) for _ in range(count)]
    fleet.spot_tps = [[0.0] * len(pool.workloads) for _ in range(count)]
    for w, workload in enumerate(pool.workloads):
        demand = piece.demand_tps[w]
        if workload.deferrable_hours:
            day_type, hour = prep.groups[t].members[0]
            demand = sum(
                shifts.get((workload.workload, day_type, arrival, hour), 0.0) for arrival in arrival_hours(workload, hour)
            )
        if demand <= 0:
            continue
        noise = _noise_tps(max(max(day.output_tps) for day in workload.demand), demand)
        flows = {api.api: program.value(("overflow", workload.workload, api.api, t)) for api in piece.apis[w]}
        flows = {api: min(tps, demand) for api, tps in flows.items() if tps > noise}
        sent = sum(flows.values())
        # What was shifted here is cleared of noise, and the API's share of it must follow.
        most = workload.api_max_frac * demand if workload.deferrable_hours else demand
        if sent > most:
            flows = {api: tps * most / sent for api, tps in flows.items()}
            sent = most
        fleet.overflow_tps.update({(workload.workload, api): tps for api, tps in flows.items()})
        own = demand - sent if demand - sent > noise else 0.0
        if own <= 0:
            continue
        firm = [program.value(("load", name, k, w, t)) for k in range(count)]
        spot = [program.value(("spot_load", name, k, w, t)) for k in range(count)]
        if len(pool.workloads) == 1 and pool.spot_mode != "sep" and not has_loads:
            firm = [live * piece.mean_tps[k][0] for k, live in enumerate(fleet.firm_live)]
            spot = [live * piece.mean_tps[k][0] for k, live in enumerate(fleet.spot_live)]
        if both is not None:
            firm = [loads[w] for loads in both]
        if pool.spot_mode == "any" and (both is not None or len(pool.workloads) > 1 or has_loads):
            shares = [s / (f + s) if f + s else 0.0 for f, s in zip(fleet.firm_live, fleet.spot_live, strict=True)]
            spot = [load * share for load, share in zip(firm, shares, strict=True)]
            firm = [load - on_spot for load, on_spot in zip(firm, spot, strict=True)]
        # A load on an option without a replica is noise too.
        firm = [tps if tps > noise and live else 0.0 for tps, live in zip(firm, fleet.firm_live, strict=True)]
        spot = [tps if tps > noise and live else 0.0 for tps, live in zip(spot, fleet.spot_live, strict=True)]
        total = sum(firm) + sum(spot)
        scale = own / total if total > 0 else 0.0
        for k in range(count):
            fleet.firm_tps[k][w] = firm[k] * scale
            fleet.spot_tps[k][w] = spot[k] * scale


def _expand(
    prep: Prep, program: Program, nodes_new: dict[str, int], used: dict[tuple[str, int], int],
    fleets: dict[tuple[str, int], _Fleet], shifts: dict[_ShiftKey, float],
) -> Decision:
    """Groups back to day types and hours, in the case's order."""
    group_of = {member: t for t, group in enumerate(prep.groups) for member in group.members}
    node_uses: list[NodeUse] = []
    replicas: list[ReplicaCount] = []
    loads: list[Load] = []
    overflows: list[Overflow] = []
    for piece in prep.case.slices:
        day, hour = piece.day_type, piece.hour
        if (day, hour) not in group_of:
            continue  # a decision for some of the hours only
        t = group_of[(day, hour)]
        for offer in prep.offers:
            if count := used.get((offer.offer, t), 0):
                node_uses.append(NodeUse(day_type=day, hour=hour, offer=offer.offer, used=count))
        for pool in prep.pools:
            fleet = fleets[(pool.pool.pool, t)]
            for k, option in enumerate(pool.options):
                total = fleet.firm_total[k] + fleet.spot_total[k]
                if total:
                    replicas.append(ReplicaCount(
                        day_type=day, hour=hour, pool=pool.pool.pool, option=option.option,
                        live=fleet.firm_live[k] + fleet.spot_live[k], total=total,
                        spot_live=fleet.spot_live[k], spot_total=fleet.spot_total[k],
                    ))
                for w, workload in enumerate(pool.workloads):
                    firm_tps, spot_tps = fleet.firm_tps[k][w], fleet.spot_tps[k][w]
                    if firm_tps > 0 or spot_tps > 0:
                        loads.append(Load(
                            day_type=day, hour=hour, workload=workload.workload, option=option.option,
                            firm_tps=firm_tps, spot_tps=spot_tps,
                        ))
            for (name, api), tps in fleet.overflow_tps.items():
                overflows.append(Overflow(day_type=day, hour=hour, workload=name, api=api, tps=tps))
    return Decision(
        nodes_new=tuple(
            NodesNew(offer=name, nodes_new=count, nodes_existing=prep.case.nodes_existing(name))
            for name, count in nodes_new.items()
        ),
        node_uses=tuple(node_uses), replicas=tuple(replicas), loads=tuple(loads), overflows=tuple(overflows),
        shifts=tuple(
            Shift(day_type=day, hour=hour, run_hour=run, workload=name, tps=tps)
            for (name, day, hour, run), tps in shifts.items()
        ),
        **_discounts(prep, program, group_of),
    )


def _discounts(prep: Prep, program: Program, group_of: dict[tuple[str, int], int]) -> _Discounts:
    """Commitments bought and the nodes they cover; a commitment is exactly what its busiest hour spends, or its minimum."""
    commitments: list[Commitment] = []
    covered: list[Covered] = []
    for name in dict.fromkeys(row.discount for row in prep.case.discounts):
        usd_per_h = program.value(("commitment", name))
        if usd_per_h <= _NOISE_FRAC:
            continue
        commitments.append(Commitment(discount=name, usd_per_h=usd_per_h))
        for (day, hour), t in group_of.items():
            nodes = {
                row.offer: max(program.value(("covered", name, row.offer, t)), 0.0)
                for row in prep.case.discounts if row.discount == name
            }
            spent = sum(
                row.discounted_usd_per_node_h * nodes[row.offer] for row in prep.case.discounts if row.discount == name
            )
            scale = min(1.0, usd_per_h / spent) if spent > 0 else 1.0
            covered += [
                Covered(day_type=day, hour=hour, discount=name, offer=offer, nodes=count * scale)
                for offer, count in nodes.items() if count > _NOISE_FRAC
            ]
    return {"commitments": tuple(commitments), "covered": tuple(covered)}
