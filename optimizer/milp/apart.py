"""Programs that are too large for one run of the solver: when that is, and which searches then share the time.

First pools are priced slice by slice (by_columns.py): a bound, prices, and plans for any number of pools. Then, with those
prices, hours are solved exactly and apart (by_hour.py): it sees whole nodes, and so closes what the first search leaves open,
where an hour is small enough.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from optimizer.candidates.option import Candidates
from optimizer.domain.case import Case
from optimizer.milp.by_columns import solve_by_columns
from optimizer.milp.by_hour import Known, solve_by_hour
from optimizer.milp.extract import extract
from optimizer.milp.frame import Frame
from optimizer.milp.menu import Menu
from optimizer.milp.program import Key
from optimizer.milp.solver import Watch, solve
from optimizer.plan.ledger import price_decision
from optimizer.plan.plan import Decision

#: A program with more whole variables (lines of menus left out) is given to the solver at once for a share of the time only.
_MANY_INTEGERS = 600
_AT_ONCE_SHARE = 0.15
#: One with still more for a short look: enough to see that it cannot be met.
_TOO_MANY_INTEGERS = 3_000
_LOOK_SHARE = 0.03
#: Fewer slices are not worth taking apart.
_FEW_HOURS = 6
#: Hours with more whole variables than this are not solved exactly apart from each other.
_LARGE_HOUR = 400
_COLUMNS_TIME_SHARE = 0.5


@dataclass(frozen=True)
class Best:
    """The best plan known, its cost and the best bound, $/day; no decision: cost inf. stopped: by Ctrl-C."""

    decision: Decision | None
    cost: float
    bound: float
    stopped: bool = False


def can_go_apart(frame: Frame) -> bool:
    """True where hours hang together through commitments and waiting work only, and the program is large enough."""
    case = frame.prep.case
    if case.discounts or any(pool.ready_hours for pool in case.pools) or len(frame.prep.groups) < _FEW_HOURS:
        return False
    return _integers(frame) > _MANY_INTEGERS


def at_once_share(frame: Frame) -> float:
    """Share of the time that the solver gets for the whole program, before it is taken apart."""
    return _LOOK_SHARE if _integers(frame) > _TOO_MANY_INTEGERS else _AT_ONCE_SHARE


def _integers(frame: Frame) -> int:
    """Whole variables without the lines of menus, of which a great many are no trouble: their bound sees whole replicas."""
    return sum(1 for key, variable in frame.program.variables.items() if variable.cat == "Integer" and key[0] != "line")


def solve_apart(
    case: Case, candidates: Candidates, frame: Frame, menus: dict[str, tuple[Menu, ...]], best: Best, *, gap: float,
    deadline: float, watch: Watch | None = None,
) -> Best:
    """The better of what is known and what the searches find. frame: the whole program, closed. deadline: of perf_counter.

    Ctrl-C ends it with what is known by then.
    """
    known = [best]
    try:
        _searches(case, candidates, frame, menus, known, gap, deadline, watch)
    except KeyboardInterrupt:
        return replace(known[-1], stopped=True)
    return known[-1]


def _searches(
    case: Case, candidates: Candidates, frame: Frame, menus: dict[str, tuple[Menu, ...]], known: list[Best], gap: float,
    deadline: float, watch: Watch | None,
) -> None:
    """Append to `known` what is better than its last."""
    best = known[-1]

    def cost_of(decision: Decision) -> float:
        return price_decision(case, candidates, decision).total

    constant = frame.program.constant_usd_per_day
    prices = None
    starts = _starts(frame, best.decision)
    started = time.perf_counter()

    def tell(cost: float, bound: float) -> None:
        """cost with constants, bound without."""
        if watch is not None:
            cost, bound = min(cost, best.cost), max(bound + constant, best.bound)
            watch(cost if cost < float("inf") else None, bound if bound > 0 else None, time.perf_counter() - started)

    def tell_value(value: float, bound: float) -> None:
        tell(value + constant, bound)

    small = _integers(frame) <= _LARGE_HOUR * len(frame.prep.groups)
    until = started + (deadline - started) * _COLUMNS_TIME_SHARE if small else deadline
    found = solve_by_columns(
        frame.prep, gap=gap, deadline=until, known_cost=best.cost, cost_of=cost_of, told=tell, plans=not small
    )
    if found is not None:
        prices = found.prices
        starts = (*found.starts, *starts)
        bound = max(best.bound, found.bound + constant)
        if found.cost < best.cost:
            best = Best(found.decision, found.cost, min(bound, found.cost), found.stopped)
        else:
            best = Best(best.decision, best.cost, min(bound, best.cost), found.stopped)
        known.append(best)
    if best.stopped or _closed(best, gap) or time.perf_counter() >= deadline:
        return
    if small or prices is None:
        start = Known(best.bound, best.cost, starts, prices)
        hours = solve_by_hour(frame, menus, gap=gap, deadline=deadline, known=start, cost_of=cost_of, told=tell_value)
        bound = max(best.bound, hours.bound)
        if hours.decision is not None and (cost := cost_of(hours.decision)) < best.cost:
            best = Best(hours.decision, cost, min(bound, cost), hours.stopped)
        else:
            best = Best(best.decision, best.cost, min(bound, best.cost), hours.stopped)
        known.append(best)
    if best.decision is None and not best.stopped and time.perf_counter() < deadline:
        # Neither search found a plan: the solver has what time is left, and may prove that there is none.
        solved = solve(frame.program, gap=gap, time_limit_s=deadline - time.perf_counter())
        if solved.objective is not None:
            decision = extract(frame, menus)
            cost = cost_of(decision)
            known.append(Best(decision, cost, min(max(best.bound, (solved.bound or 0.0) + constant), cost)))


def _closed(best: Best, gap: float) -> bool:
    return best.decision is not None and (best.cost <= 0 or (best.cost - best.bound) / best.cost <= gap + 1e-9)


def _starts(frame: Frame, decision: Decision | None) -> tuple[tuple[dict[str, int], dict[Key, float]], ...]:
    """Lots and flows of waiting work of a decision."""
    if decision is None:
        return ()
    lot_nodes = {offer.offer: offer.lot_nodes for offer in frame.prep.offers}
    lots = {row.offer: row.nodes_new // lot_nodes[row.offer] for row in decision.nodes_new}
    return ((lots, {("flow", row.workload, row.day_type, row.hour, row.run_hour): row.tps for row in decision.shifts}),)
