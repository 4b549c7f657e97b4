"""A pool written out in full: replicas per option and slice, loads per workload, and (bad_day.py) every bad day.

Variables per slice t (firm and, where the pool is `sep`, spot):
  live[p,k,t], spot_live[p,k,t]      whole live replicas
  total[p,k,t], spot_total[p,k,t]    whole replicas that are paid, where a rollout or look-ahead asks for more than are live
  load[p,k,w,t], spot_load[p,k,w,t]  mean output tok/s
  flow[w,t,t']                       arrivals of hour t that run in hour t', of deferrable workloads
Rows:
  serve:     sum_k (load + spot_load) + sum_a overflow = demand, or = sum_t flow[w,t,t'] for deferrable work, for every w
  capacity:  sum_w load / mean <= live                                                 for every k, firm and spot apart
  spot:      sum spot_load <= spot_max_frac x sum (load + spot_load)
  rollout:   total + spot_total >= (1 + rollout_frac) x (live + spot_live)
  ready:     total[t] >= live[t'] for t' = t..t + ready_hours, around midnight, firm and spot apart
Where the pool's occupancy is `auto`, capacity and bad days are those of occupancy.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from optimizer.domain.workload import Workload
from optimizer.milp.bad_day import add_bad_day
from optimizer.milp.bounds import replica_bound, spot_bound, total_replicas
from optimizer.milp.frame import Frame
from optimizer.milp.levels import add_levels
from optimizer.milp.occupancy import Loads, add_cover, add_live_classes, add_loads, is_cover
from optimizer.milp.prep import PoolData, arrival_hours, run_hours
from optimizer.milp.program import Term
from optimizer.milp.writer import Writer
from optimizer.units import HOURS_PER_DAY


def add_explicit_pool(frame: Frame, pool: PoolData) -> None:
    """Write the pool out in every slice and post what it needs of each node type."""
    for t, piece in enumerate(pool.slices):
        writer = Writer(frame, pool, piece, t)
        live = _replicas(writer, "live", "total")
        spot = _replicas(writer, "spot_live", "spot_total") if pool.spot_mode == "sep" else []
        _rollout(writer, live, spot)
        if pool.pool.is_auto and piece.total_serve_tps > 0:
            writer = replace(writer, classes=add_live_classes(writer, live, spot))
        _normal_hour(writer, live, spot)
        if pool.pool.min_live > 0:
            every = [(1.0, variable) for variable in (*live, *spot)]
            frame.program.add_row(("min_live", writer.name, t), every, ">=", float(pool.pool.min_live))
        if piece.total_firm_tps > 0 and (pool.pool.is_auto or not add_levels(writer, live, spot)):
            for c, day in enumerate(pool.bad_days):
                add_bad_day(writer, c, day, live, spot)
    if pool.pool.ready_hours:
        _ready(frame, pool)


def _replicas(writer: Writer, live_family: str, total_family: str) -> list[Any]:
    """Live replicas per option; totals too in rollout hours. Posts the need in units and, for spanning replicas, by place."""
    frame, pool, piece, t = writer.frame, writer.pool, writer.piece, writer.t
    program = frame.program
    is_spot = live_family == "spot_live"
    live: list[Any] = []
    for k, (option, size) in enumerate(zip(pool.options, pool.sizes, strict=True)):
        most = spot_bound(pool, piece, k) if is_spot else replica_bound(pool, piece, k)
        variable = program.add_variable((live_family, writer.name, k, t), up=most, integer=True)
        live.append(variable)
        held = variable
        if piece.rollout_frac > 0 or pool.pool.ready_hours:
            held = program.add_variable((total_family, writer.name, k, t), up=_most_total(pool, k, t), integer=True)
            program.add_row((f"{total_family}_live", writer.name, k, t), [(1.0, held), (-1.0, variable)], ">=", 0.0)
        needs = frame.spot if is_spot else frame.any_ if pool.spot_mode == "any" else frame.firm
        needs.setdefault((option.node_type, t), []).append((float(size), held))
        offers = frame.prep.spot_offers(option.node_type) if is_spot else frame.prep.firm_offers(option.node_type)
        posts, family = (frame.place_spot, "place_spot") if is_spot else (frame.place_firm, "place_firm")
        frame.split_over_places((family, writer.name, k, t), option, held, offers, posts, (option.node_type, t))
    return live


def _most_total(pool: PoolData, k: int, t: int) -> int:
    """Most replicas of option k that a rollout or the look-ahead can ask for in slice t."""
    pieces = pool.slices if pool.pool.ready_hours else (pool.slices[t],)
    most = max(replica_bound(pool, piece, k) + (spot_bound(pool, piece, k) if pool.spot_mode == "sep" else 0) for piece in pieces)
    return total_replicas(most, max(piece.rollout_frac for piece in pieces)) + 1


def _ready(frame: Frame, pool: PoolData) -> None:
    """Replicas live in hour t' are paid from ready_hours before it, within the day type and around midnight."""
    program, name = frame.program, pool.pool.pool
    group_of = {member: t for t, group in enumerate(frame.prep.groups) for member in group.members}
    for t, group in enumerate(frame.prep.groups):
        day_type, hour = group.members[0]
        for ahead in range(1, min(pool.pool.ready_hours, HOURS_PER_DAY - 1) + 1):
            later = group_of[(day_type, (hour + ahead) % HOURS_PER_DAY)]
            for live, total in (("live", "total"), ("spot_live", "spot_total")):
                for k in range(len(pool.options)):
                    if (live, name, k, later) in program.variables:
                        terms = [
                            (1.0, program.variables[(total, name, k, t)]), (-1.0, program.variables[(live, name, k, later)]),
                        ]
                        program.add_row((f"ready_{live}", name, k, t, ahead), terms, ">=", 0.0)


def _rollout(writer: Writer, live: list[Any], spot: list[Any]) -> None:
    frac, t, program = writer.piece.rollout_frac, writer.t, writer.frame.program
    if frac <= 0:
        return
    for k in range(len(live)):
        terms: list[Term] = [(1.0, program.variables[("total", writer.name, k, t)]), (-(1 + frac), live[k])]
        if spot:
            terms += [(1.0, program.variables[("spot_total", writer.name, k, t)]), (-(1 + frac), spot[k])]
        program.add_row(("rollout", writer.name, k, t), terms, ">=", 0.0)


def _loads(writer: Writer, live: list[Any], spot: list[Any]) -> Loads:
    program, piece, t = writer.frame.program, writer.piece, writer.t
    loads = Loads([[] for _ in writer.pool.workloads], [])
    for family, replicas in (("load", live), ("spot_load", spot)):
        for k, variable in enumerate(replicas):
            busy: list[Term] = []
            for w, mean in enumerate(piece.mean_tps[k]):
                if mean > 0 and piece.serve_max_tps[w] > 0:
                    load = program.add_variable((family, writer.name, k, w, t), up=piece.serve_max_tps[w])
                    loads.served[w].append((1.0, load))
                    busy.append((1.0 / mean, load))
                    if family == "spot_load":
                        loads.on_spot.append((1.0, load))
            if busy:
                program.add_row((f"{family}_capacity", writer.name, k, t), [*busy, (-1.0, variable)], "<=", 0.0)
    return loads


def _normal_hour(writer: Writer, live: list[Any], spot: list[Any]) -> None:
    program, piece, t = writer.frame.program, writer.piece, writer.t
    if writer.classes and is_cover(writer.pool):
        add_cover(writer, live)
        return
    loads = add_loads(writer, live, spot) if writer.classes else _loads(writer, live, spot)
    for w, workload in enumerate(writer.pool.workloads):
        terms = [*loads.served[w], *writer.overflow_terms(w)]
        if workload.deferrable_hours:
            _serve_deferred(writer, w, terms)
            continue
        demand = piece.demand_tps[w]
        scale = 1.0 / demand if demand > 0 else 1.0
        row = [(c * scale, v) for c, v in terms]
        program.add_row(("serve", writer.name, w, t), row, "==", 1.0 if demand > 0 else 0.0)
    share = writer.pool.pool.spot_max_frac
    if loads.on_spot and share < 1:
        own = [(-share, load) for served in loads.served for _, load in served]
        program.add_row(("spot_share", writer.name, t), [*loads.on_spot, *own], "<=", 0.0)


def serve_scale(workload: Workload, day_type: str) -> float:
    """What the serve rows of a deferrable workload are multiplied by: one over its largest demand of the day."""
    most = max(workload.demand_on(day_type).output_tps)
    return 1.0 / most if most > 0 else 1.0


def _serve_deferred(writer: Writer, w: int, terms: list[Term]) -> None:
    """What runs here is what arrived in the last deferrable_hours and waited until now; the API takes its share of what runs."""
    program, t = writer.frame.program, writer.t
    workload = writer.pool.workloads[w]
    day_type, hour = writer.frame.prep.groups[t].members[0]
    scale = serve_scale(workload, day_type)
    runs = [(scale, flow(writer.frame, writer.pool, w, day_type, arrival, hour)) for arrival in arrival_hours(workload, hour)]
    minus = [(-coefficient, variable) for coefficient, variable in runs]
    program.add_row(("serve", writer.name, w, t), [*((c * scale, v) for c, v in terms), *minus], "==", 0.0)
    if workload.api_max_frac < 1 and writer.overflow_terms(w):
        sent = [(c * scale, v) for c, v in writer.overflow_terms(w)]
        share = [(-workload.api_max_frac * c, v) for c, v in runs]
        program.add_row(("overflow_share", writer.name, w, t), [*sent, *share], "<=", 0.0)


def flow(frame: Frame, pool: PoolData, w: int, day_type: str, arrival: int, run: int) -> Any:
    """The flow variable of a deferrable workload; with its first use, the row that all arrivals of that hour run some time."""
    program, workload = frame.program, pool.workloads[w]
    key = ("flow", workload.workload, day_type, arrival, run)
    known = program.variables.get(key)
    if known is not None:
        return known
    demand = workload.demand_on(day_type).output_tps[arrival]
    every: list[Term] = []
    for then in run_hours(workload, arrival):
        every.append((1.0, program.add_variable(("flow", workload.workload, day_type, arrival, then), up=demand)))
    scale = 1.0 / demand if demand > 0 else 1.0
    row = [(c * scale, v) for c, v in every]
    program.add_row(("all_run", workload.workload, day_type, arrival), row, "==", 1.0 if demand > 0 else 0.0)
    return program.variables[key]
