"""Pools whose occupancy is `auto` and that are written out in full: the occupancy follows from how many replicas are live.

For every number c of live replicas that may be right for a slice a whole 0/1 variable z_c, exactly one of them 1:
  sum_c z_c = 1,   sum_k (live + spot_live) >= sum_c c z_c         (more than c are no harm: the occupancy never falls with c)
Whatever is divided by the occupancy is split over the numbers, each part 0 where its z_c is 0:
  load[k,w] = sum_c load_at[k,w,c],  overflow[w] = sum_c overflow_at[w,c]
  sum_k load_at[k,w,c] + overflow_at[w,c] = demand[w] x z_c        (<= most that can run x z_c for deferrable work)
  sum_w sum_c load_at[k,w,c] / (mean[k,w] x occupancy(c)) <= live[k]
With one workload, no spot apart and no deferrable work loads are not needed:
  sum_k mean[k] x live[k] >= sum_c (demand x z_c - overflow_at[c]) / occupancy(c)
mean[k,w] is at occupancy 1. With c = 0 nothing is served: all overflows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from optimizer.milp.bounds import least_live, most_pool_live
from optimizer.milp.prep import PoolData
from optimizer.milp.program import Key, Term
from optimizer.milp.writer import LiveClass, Writer


@dataclass(frozen=True)
class Loads:
    """served[w]: what the pool's own replicas serve of workload w; on_spot: what of it is on spot."""

    served: list[list[Term]]
    on_spot: list[Term]


def add_live_classes(writer: Writer, live: list[Any], spot: list[Any]) -> tuple[LiveClass, ...]:
    """The variables z_c, the row that chooses one of them, and the row that so many replicas are live."""
    pool, program, t = writer.pool, writer.frame.program, writer.t
    least = least_live(pool, writer.piece)
    classes = tuple(
        LiveClass(c, pool.pool.occupancy(c), program.add_variable(("live_class", writer.name, c, t), up=1, integer=True))
        for c in range(least, max(least, most_pool_live(pool, writer.piece)) + 1)
    )
    program.add_row(("one_live_class", writer.name, t), [(1.0, each.chosen) for each in classes], "==", 1.0)
    every: list[Term] = [(1.0, variable) for variable in (*live, *spot)]
    counts = [(-float(each.live), each.chosen) for each in classes if each.live]
    program.add_row(("class_live", writer.name, t), [*every, *counts], ">=", 0.0)
    return classes


def is_cover(pool: PoolData) -> bool:
    """True where one row per slice says that the replicas of an `auto` pool serve its demand, without loads."""
    one = len(pool.workloads) == 1 and not pool.workloads[0].deferrable_hours
    return pool.pool.is_auto and one and pool.spot_mode != "sep"


def add_cover(writer: Writer, live: list[Any]) -> None:
    """The row of a pool that `is_cover`."""
    program, piece = writer.frame.program, writer.piece
    demand = piece.demand_tps[0]
    sent = overflow_at(writer, 0)
    terms: list[Term] = [(piece.mean_tps[k][0] / demand, variable) for k, variable in enumerate(live)]
    for i, each in enumerate(writer.classes):
        if each.occupancy > 0:
            terms.append((-1.0 / each.occupancy, each.chosen))
            terms += [(c / (demand * each.occupancy), v) for c, v in sent[i]]
        else:
            row: list[Term] = [(c / demand, v) for c, v in sent[i]]
            program.add_row(("all_sent", writer.name, 0, writer.t), [*row, (-1.0, each.chosen)], ">=", 0.0)
    program.add_row(("cover", writer.name, writer.t), terms, ">=", 0.0)


def add_loads(writer: Writer, live: list[Any], spot: list[Any]) -> Loads:
    """Loads and their parts, the capacity of every option, firm and spot, and what each part must add up to."""
    program, piece, t, classes = writer.frame.program, writer.piece, writer.t, writer.classes
    workloads = range(len(writer.pool.workloads))
    loads = Loads([[] for _ in workloads], [])
    parts: dict[tuple[int, int], list[Term]] = {(w, i): [] for w in workloads for i in range(len(classes))}
    for family, replicas in (("load", live), ("spot_load", spot)):
        for k, variable in enumerate(replicas):
            busy: list[Term] = []
            for w, mean in enumerate(piece.mean_tps[k]):
                if mean <= 0 or piece.serve_max_tps[w] <= 0:
                    continue
                load = program.add_variable((family, writer.name, k, w, t), up=piece.serve_max_tps[w])
                loads.served[w].append((1.0, load))
                if family == "spot_load":
                    loads.on_spot.append((1.0, load))
                split: list[Term] = []
                for i, each in enumerate(classes):
                    if each.occupancy > 0:
                        key = (f"{family}_at", writer.name, k, w, each.live, t)
                        part = program.add_variable(key, up=piece.serve_max_tps[w])
                        split.append((1.0, part))
                        parts[w, i].append((1.0, part))
                        busy.append((1.0 / (mean * each.occupancy), part))
                program.add_row((f"{family}_parts", writer.name, k, w, t), [*split, (-1.0, load)], "==", 0.0)
            if busy:
                program.add_row((f"{family}_capacity", writer.name, k, t), [*busy, (-1.0, variable)], "<=", 0.0)
    for w, workload in enumerate(writer.pool.workloads):
        most = piece.serve_max_tps[w]
        if most <= 0:
            continue
        sent = [[] for _ in classes] if workload.deferrable_hours else overflow_at(writer, w)
        for i, each in enumerate(classes):
            terms = [(c / most, v) for c, v in (*parts[w, i], *sent[i])]
            sense = "<=" if workload.deferrable_hours else "=="
            program.add_row(("class_load", writer.name, w, each.live, t), [*terms, (-1.0, each.chosen)], sense, 0.0)
    return loads


def overflow_at(writer: Writer, w: int) -> list[list[Term]]:
    """Planned overflow of workload w, which cannot wait, by live class; written at the first call."""
    return _split(writer, ("overflow_at", writer.name, w, writer.t), writer.overflow_terms(w), writer.piece.overflow_max_tps[w])


def relief_at(writer: Writer, key: Key, w: int, absorbed: list[Term] | None, most_tps: float) -> list[list[Term]]:
    """What APIs take of workload w on a bad day, by live class: what is planned (absorbed None), or what they absorb."""
    if absorbed is None:
        return overflow_at(writer, w)
    return _split(writer, ("absorbed_at", writer.name, key, w, writer.t), absorbed, most_tps)


def _split(writer: Writer, key: Key, terms: list[Term], most_tps: float) -> list[list[Term]]:
    """Parts of a flow of at most most_tps, one per live class and only where that is chosen; they add up to the flow."""
    program = writer.frame.program
    if not terms or most_tps <= 0:
        return [[] for _ in writer.classes]
    known = (*key, "sum")
    parts: list[list[Term]] = []
    for each in writer.classes:
        part = program.variables.get((*key, each.live))
        if part is None:
            part = program.add_variable((*key, each.live), up=most_tps)
            program.add_row((*key, each.live, "if"), [(1.0 / most_tps, part), (-1.0, each.chosen)], "<=", 0.0)
        parts.append([(1.0, part)])
    if not program.has_row(known):
        scaled = [(c / most_tps, v) for c, v in (*(term for part in parts for term in part), *((-c, v) for c, v in terms))]
        program.add_row(known, scaled, "==", 0.0)
    return parts


def worth_rows(
    writer: Writer, key: Key, left: list[Term], asked_tps: float, surged: float, relief: list[tuple[float, list[list[Term]]]]
) -> None:
    """At one set of prices: what is left is worth what is asked less relief, both divided by the occupancy of the live class.

    left: worth of what is left at occupancy 1. asked_tps x surged is asked; relief: (price, parts by class) per workload.
    """
    terms = [(c / asked_tps, v) for c, v in left]
    for i, each in enumerate(writer.classes):
        if each.occupancy > 0:
            terms.append((-surged / each.occupancy, each.chosen))
            terms += [(price * c / (asked_tps * each.occupancy), v) for price, parts in relief for c, v in parts[i]]
    writer.frame.program.add_row(("bad_day", *key), terms, ">=", 0.0)


def all_relieved(writer: Writer, key: Key, w: int, asked_tps: float, relief: list[list[Term]]) -> None:
    """Where no replica is live the bad day of workload w is all the APIs'."""
    for i, each in enumerate(writer.classes):
        if each.occupancy <= 0:
            terms = [(c / asked_tps, v) for c, v in relief[i]]
            writer.frame.program.add_row(("bad_day_sent", *key, w), [*terms, (-1.0, each.chosen)], ">=", 0.0)
