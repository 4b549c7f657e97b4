"""What limits are worth: the change in $/day when one is loosened by one natural unit.

By a true re-solve of the changed case where the program is small enough and the time lasts, else by an LP price (`lp`).

A cost is known only as far as it is proven: the plan costs C and no plan costs less than B. If the changed case gives C' and B',
the change of the least cost lies between B' - C and C' - B, and no more than that is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

from optimizer.candidates.option import Candidates
from optimizer.domain.base import Frozen
from optimizer.domain.case import Case
from optimizer.plan.plan import Decision
from optimizer.studies.limits import Limit, machine_limits
from optimizer.studies.limits_service import demand_growth, service_limits
from optimizer.studies.lp import EXACT_SHARE, LP_PRICE, LpPrices
from optimizer.studies.resolve import Clock, Reference, resolve
from optimizer.studies.wording import number

Found = Literal["re-solved", "LP price", "below the proof's tolerance", "no node fits into it", "no plan", "not computed: time"]

#: A change below this share of the cost is rounding.
_NOISE_REL = 1e-9


class Worth(Frozen):
    """What changing one limit does to the least cost.

    limit: the input column; what: whose; words: the change, for example `+14.3 kW at site dc`; amount in `unit`.
    usd_per_day: change of the cost, negative = saves; None where it is not known. least, most: what is proven of it.
    found: `re-solved`; `LP price` (the change of the relaxation's cost: no proof, see `lp`; least and most are of a re-solve that
    could not tell); `below the proof's tolerance` (between least and most, which may be 0); `no node fits into it` (so the plans
    are the same); `no plan` (none exists then); or `not computed: time`.
    removed: the whole rule is taken away, not one unit of it.
    """

    limit: str
    what: str
    words: str
    amount: float
    unit: str
    usd_per_day: float | None = None
    least_usd_per_day: float | None = None
    most_usd_per_day: float | None = None
    found: Found = "not computed: time"
    removed: bool = False
    pool: str | None = None
    site: str | None = None


def worth_of_limits(
    case: Case, candidates: Candidates, decision: Decision, reference: Reference, clock: Clock, lp: LpPrices | None = None
) -> tuple[Worth, ...]:
    """Every limit at its bound in the plan by one unit (kW by one node, too), headroom rules by one unit, and 1 % more demand.

    Limits of which a plan could take one more are not listed. Rows that the clock leaves no time for say so.
    """
    changes: list[tuple[Limit, float, str]] = []
    for limit in (*machine_limits(case, candidates), *service_limits(case)):
        if limit.limit == "contingency" or not limit.binds(case, decision):
            continue
        changes += [(limit, value, limit.words(value)) for value in limit.next_values(case, decision)]
    for workload in case.workloads:
        limit = demand_growth(workload)
        changes.append((limit, -limit.step, f"{number(100 * limit.step)} % more demand of {workload.workload}"))
    return price_changes(case, changes, reference, clock, lp)


def price_changes(
    case: Case, changes: Iterable[tuple[Limit, float, str]], reference: Reference, clock: Clock, lp: LpPrices | None = None, *,
    removed: bool = False,
) -> tuple[Worth, ...]:
    """Each limit at its value: re-solved in order, sharing the time among those that are left, then LP prices for the rest.

    lp: the LP prices of the case, where they are shared with other studies.
    """
    listed = list(changes)
    prices = LpPrices(case) if lp is None else lp
    exact = clock.at_most(clock.left_s * EXACT_SHARE)
    rows = []
    for place, (limit, value, words) in enumerate(listed):
        row = Worth(
            limit=limit.limit, what=limit.what, words=words, amount=limit.shown(value), unit=limit.unit, removed=removed,
            pool=limit.pool, site=limit.site,
        )
        if limit.same(value):
            row = row.model_copy(update={
                "usd_per_day": 0.0, "least_usd_per_day": 0.0, "most_usd_per_day": 0.0, "found": "no node fits into it",
            })
        elif not exact.over and not prices.is_hard:
            row = _priced(row, limit.at(case, value), reference, exact, len(listed) - place, loosened=_loosens(limit, value))
        rows.append(row)
    return tuple(
        _lp_priced(row, case, limit, value, prices, clock) if row.usd_per_day is None else row
        for row, (limit, value, _) in zip(rows, listed, strict=True)
    )


def _loosens(limit: Limit, value: float) -> bool:
    return (value > limit.value) == (limit.free > limit.value)


def _lp_priced(row: Worth, case: Case, limit: Limit, value: float, prices: LpPrices, clock: Clock) -> Worth:
    """The row with its LP price, where a re-solve gave no figure. Loosening never costs more, and tightening never less."""
    if clock.over or row.found == "no plan":
        return row
    change = prices.change(limit.at(case, value), clock)
    if change is None:
        return row
    if math.isinf(change):
        return row.model_copy(update={"found": "no plan"})
    return row.model_copy(update={
        "usd_per_day": min(change, 0.0) if _loosens(limit, value) else max(change, 0.0), "found": LP_PRICE,
    })


def _priced(row: Worth, changed: Case, reference: Reference, clock: Clock, rows_left: int, *, loosened: bool) -> Worth:
    """The row with what a re-solve proves. A looser case never costs more than the case itself, a tighter one never less."""
    found = resolve(changed, gap=reference.gap, time_limit_s=clock.share(rows_left), solver=clock.solver)
    if found is None:
        return row
    if found.infeasible:
        return row.model_copy(update={"found": "no plan"})
    cost, bound = found.cost, found.bound
    if loosened:
        cost = reference.cost if cost is None else min(cost, reference.cost)
    else:
        bound = max(bound, reference.bound)
    if cost is None:
        return row
    noise = _NOISE_REL * max(abs(reference.cost), 1.0)
    least, most = bound - reference.cost, cost - reference.bound
    if loosened:
        least, most = min(least, 0.0), min(most, 0.0)
    else:
        least, most = max(least, 0.0), max(most, 0.0)
    proven: dict[str, float] = {"least_usd_per_day": least, "most_usd_per_day": most}
    tolerance = most - least
    if tolerance > noise and least <= 0 <= most:
        closed = found.cost is not None and found.cost - found.bound <= reference.gap * abs(found.cost) + noise
        return row.model_copy(update={**proven, "found": "below the proof's tolerance" if closed else row.found})
    change = cost - reference.cost
    usd_per_day = 0.0 if abs(change) <= noise else change
    return row.model_copy(update={**proven, "usd_per_day": usd_per_day, "found": "re-solved"})
