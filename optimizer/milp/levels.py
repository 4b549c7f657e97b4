"""Bad days of a pool without big-M: choose how much each bad day may take, and obey the bounds that follow.

What is left serves one or two workloads iff it is worth their demand at all prices of `directions` (prices.py). At each of them,
for every combination of loss levels (see menu.py, worth instead of tok/s) one whole 0/1 variable w; exactly one is chosen.
  live[k] <= sum over levels of w x most live replicas of option k whose loss stays within the level
  sum_k worth x live + overflow at its price >= sum over levels of w x ((1 + surge) x demand + taken)    for every bad day
The relaxation then pays the average loss of the options it mixes, where a row per option lost would pay next to nothing.
"""

from __future__ import annotations

from typing import Any

from optimizer.milp.bounds import replica_bound, spot_bound
from optimizer.milp.menu import MAX_LEVELS, asking, level_count, loss_levels, without_repeats
from optimizer.milp.prep import BadDay
from optimizer.milp.prices import directions
from optimizer.milp.program import Term
from optimizer.milp.writer import Writer


def add_levels(writer: Writer, live: list[Any], spot: list[Any]) -> bool:
    """Write all bad days of the pool in this slice; False (nothing written) where levels do not apply or are too many.

    live, spot: firm and spot replicas per option (spot empty: none apart). Days that leave spot alone and days that take all of
    it choose their levels apart: the first bound firm and spot replicas together, the others firm ones only.
    """
    pool, piece = writer.pool, writer.piece
    firm = [w for w, tps in enumerate(piece.firm_tps) if tps > 0]
    if len(firm) > 2 or any(day.regiven or day.lost_frac >= 1 for day in pool.bad_days):
        return False
    if any(day.api_absorbs for day in pool.bad_days) and any(piece.apis[w] for w in firm):
        return False
    if spot and any(0 < day.spot_lost_frac < 1 for day in pool.bad_days):
        return False
    firm_most = [replica_bound(pool, piece, k) for k in range(len(live))]
    both_most = [most + (spot_bound(pool, piece, k) if spot else 0) for k, most in enumerate(firm_most)]
    days = tuple(day for day in pool.bad_days if not spot or day.spot_lost_frac <= 0)
    with_spot = asking(days)
    lost = tuple(day for day in pool.bad_days if spot and day.spot_lost_frac >= 1)
    both: list[list[Any]] = [[variable, *([spot[k]] if spot else [])] for k, variable in enumerate(live)]
    alone = [[variable] for variable in live]
    groups = (("", with_spot, both, both_most), ("spot_lost", without_repeats(lost), alone, firm_most))
    if any(level_count(days, most) > MAX_LEVELS for _, days, _, most in groups):
        return False
    for label, days, replicas, most in groups:
        if days:
            for i, prices in enumerate(directions(len(firm), [tuple(mean[w] for w in firm) for mean in piece.mean_tps])):
                _add_group(writer, (label, i), days, replicas, tuple(most), dict(zip(firm, prices, strict=True)))
    return True


def _add_group(
    writer: Writer, label: tuple[str, int], days: tuple[BadDay, ...], replicas: list[list[Any]], most: tuple[int, ...],
    prices: dict[int, float],
) -> None:
    """prices: of the workloads that a bad day must serve."""
    piece, program, t = writer.piece, writer.frame.program, writer.t
    demand = sum(price * piece.firm_tps[w] for w, price in prices.items())
    worth = tuple(max(price * mean[w] for w, price in prices.items()) / demand for mean in piece.mean_tps)
    levels = loss_levels(days, worth, most)
    name = (writer.name, *label)
    chosen = [program.add_variable(("level", *name, i, t), up=1, integer=True) for i in range(len(levels))]
    program.add_row(("one_level", *name, t), [(1.0, variable) for variable in chosen], "==", 1.0)
    for k, variables in enumerate(replicas):
        bounds = [most[k] if level.bounds[k] is None else min(level.bounds[k] or 0, most[k]) for level in levels]
        if min(bounds) < most[k]:
            terms: list[Term] = [(-float(b), w) for b, w in zip(bounds, chosen, strict=True)]
            program.add_row(("level_live", *name, k, t), [*((1.0, variable) for variable in variables), *terms], "<=", 0.0)
    serve: list[Term] = [(one, v) for one, variables in zip(worth, replicas, strict=True) for v in variables]
    sent = [(price * c / demand, v) for w, price in prices.items() for c, v in writer.overflow_terms(w)]
    for q, day in enumerate(days):
        needs = [1 + day.surge_frac + level.taken_tps[q] for level in levels]
        asked = [(-need, w) for need, w in zip(needs, chosen, strict=True)]
        program.add_row(("level_serve", *name, q, t), [*serve, *sent, *asked], ">=", 0.0)
