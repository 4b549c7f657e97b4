"""Bad days of a pool with one workload, without big-M: choose how much each bad day may take, and obey the bounds that follow.

For every combination of loss levels (see menu.py) one whole 0/1 variable w; exactly one is chosen.
  live[k] <= sum over levels of w x most live replicas of option k whose loss stays within the level
  sum_k mean x live + overflow >= sum over levels of w x ((1 + surge) x demand + taken)        for every bad day
The relaxation then pays the average loss of the options it mixes, where a row per option lost would pay next to nothing.
"""

from __future__ import annotations

from typing import Any

from optimizer.milp.bounds import replica_bound
from optimizer.milp.menu import MAX_LEVELS, asking, loss_levels
from optimizer.milp.program import Term
from optimizer.milp.writer import Writer


def add_levels(writer: Writer, live: list[Any]) -> bool:
    """Write all bad days of the pool in this slice; False (nothing written) where levels do not apply or are too many."""
    pool, piece, program, t = writer.pool, writer.piece, writer.frame.program, writer.t
    if len(pool.workloads) != 1 or pool.spot_mode == "sep" or any(day.regiven or day.lost_frac >= 1 for day in pool.bad_days):
        return False
    if any(day.api_absorbs for day in pool.bad_days) and piece.apis[0]:
        return False
    days = asking(pool.bad_days)
    if not days:
        return True
    most = tuple(replica_bound(pool, piece, k) for k in range(len(live)))
    count = 1
    for day in days:
        count *= 1 + sum(day.lost(k, bound) for k, bound in enumerate(most))
    if count > MAX_LEVELS:
        return False
    mean_tps = tuple(row[0] for row in piece.mean_tps)
    levels = loss_levels(days, mean_tps, most)
    chosen = [program.add_variable(("level", writer.name, i, t), up=1, integer=True) for i in range(len(levels))]
    program.add_row(("one_level", writer.name, t), [(1.0, variable) for variable in chosen], "==", 1.0)
    for k, variable in enumerate(live):
        bounds = [most[k] if level.bounds[k] is None else min(level.bounds[k] or 0, most[k]) for level in levels]
        if min(bounds) < most[k]:
            terms: list[Term] = [(1.0, variable), *((-float(b), w) for b, w in zip(bounds, chosen, strict=True))]
            program.add_row(("level_live", writer.name, k, t), terms, "<=", 0.0)
    demand = piece.demand_tps[0]
    serve: list[Term] = [(mean / demand, variable) for mean, variable in zip(mean_tps, live, strict=True)]
    serve += [(c / demand, v) for c, v in writer.overflow_terms(0)]
    for q, day in enumerate(days):
        asked = [(-(1 + day.surge_frac) - level.taken_tps[q] / demand, w) for level, w in zip(levels, chosen, strict=True)]
        program.add_row(("level_serve", writer.name, q, t), [*serve, *asked], ">=", 0.0)
    return True
