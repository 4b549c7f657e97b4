"""Commitments against hours: hours are solved on their own, exactly, and tied together by the prices of the commitments.

Given the commitments n every hour is a small program of value v_t(n). At prices pi_t for the lots it uses, an hour's least cost
L_t gives the cut v_t(n) >= L_t - pi_t n, which holds for every n; so holding cost plus the highest cuts, minimised over whole n,
is a lower bound on the whole program. The prices come from the relaxation first, and then from a master over the hours' own
solutions, kept in a box around the best prices so far (solver.md section 3, step 4). Plans: every second n that the bound
proposes is evaluated exactly, hour by hour.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from optimizer.milp.frame import Frame
from optimizer.milp.hour import Hour, HourResult
from optimizer.milp.master import Cut, Master
from optimizer.milp.menu import Menu
from optimizer.milp.relaxed import relaxed_commitments
from optimizer.milp.rounding import add_rounding_rows
from optimizer.milp.solver import solver_words_on_stderr
from optimizer.plan.plan import Decision

_THREADS = 2
#: An hour's own gap, as a share of the gap asked for; what is lost in the hours is lost in the sum.
_HOUR_GAP_SHARE = 0.5
_ROUGH_GAP = 0.01
_RELAXED_SHARE = 0.15
#: The best commitments are evaluated once more, more exactly, for at most so many times what an evaluation took.
_POLISH_SHARE = 1.5
_POLISH_GAP = 1e-6
_FIRST_BOX = 0.01  # of a commitment's mean price
_BOX_FLOOR = 0.002


@dataclass
class Found:
    """The best plan and the best bound so far, both without constant costs. value inf = no plan yet."""

    bound: float
    value: float = float("inf")
    lots: dict[str, int] = field(default_factory=dict)
    parts: list[Decision] = field(default_factory=list)


def solve_by_hour(
    frame: Frame, menus: dict[str, tuple[Menu, ...]], *, gap: float, deadline: float, known_nodes: dict[str, int] | None,
    known_cost: float, known_bound: float,
) -> tuple[Decision | None, float]:
    """A decision cheaper than the known one, or None, and a lower bound on the cost; both with constant costs.

    frame: the whole program, closed; only its relaxation is solved. deadline: of time.perf_counter. known_nodes: nodes bought in
    the best plan known, None where there is none; known_cost (inf) and known_bound belong to it.
    """
    prep = frame.prep
    constant = frame.program.constant_usd_per_day
    add_rounding_rows(frame)
    relaxed = relaxed_commitments(frame, time_limit_s=max(deadline - time.perf_counter(), 0.0) * _RELAXED_SHARE)
    found = Found(bound=max(relaxed.bound, known_bound - constant), value=known_cost - constant)
    master = Master(frame)
    with solver_words_on_stderr(), ThreadPoolExecutor(_THREADS) as threads:
        hours = [Hour(prep, t, menus) for t in range(len(prep.groups))]
        hour_gap = max(gap * _HOUR_GAP_SHARE, 1e-6)

        def closed() -> bool:
            total = found.value + constant
            return found.value < float("inf") and (total <= 0 or (found.value - found.bound) / total <= gap)

        polish_s = [0.0]

        def left_s() -> float:
            """Seconds left, less what a last evaluation of the best commitments takes."""
            return deadline - polish_s[0] - time.perf_counter()

        def each(run: Callable[[int], HourResult]) -> list[HourResult]:
            return list(threads.map(run, range(len(hours))))

        def evaluate(lots: dict[str, int], repairs: int = 2, gap: float = hour_gap) -> None:
            started = time.perf_counter()
            results = each(lambda t: hours[t].with_lots(lots, gap, left_s()))
            polish_s[0] = max(polish_s[0], _POLISH_SHARE * (time.perf_counter() - started))
            short = [t for t, result in enumerate(results) if result.value == float("inf")]
            if short:
                # Some hours need more than these commitments: give them what they would buy themselves.
                needed = [hours[t].at_prices(master.even_prices(), _ROUGH_GAP, left_s()).lots for t in short]
                more = {name: max([count, *(lots.get(name, 0) for lots in needed)]) for name, count in lots.items()}
                if repairs and more != lots and master.allowed(more):
                    evaluate(more, repairs - 1)
                return
            value = master.holding(lots) + sum(result.value for result in results)
            if value < found.value:
                found.value, found.lots = value, lots
                found.parts = [hour.decision(lots) for hour in hours]

        tried: set[tuple[tuple[str, int], ...]] = set()
        starts = [relaxed.lots]
        if known_nodes is not None:
            lot_nodes = {offer.offer: offer.lot_nodes for offer in prep.offers}
            starts.insert(0, {name: count // lot_nodes[name] for name, count in known_nodes.items()})
        for lots in starts:
            if tuple(sorted(lots.items())) not in tried and not closed() and left_s() > 0:
                tried.add(tuple(sorted(lots.items())))
                evaluate(lots)
        prices, box = relaxed.prices, _FIRST_BOX
        center, center_value = prices, -float("inf")
        number = 0
        while not closed() and left_s() > 0:
            results = each(lambda t, prices=prices: hours[t].at_prices(prices[t], hour_gap, left_s()))  # type: ignore[misc]
            if any(result.value == float("inf") for result in results):
                break  # out of time, or an hour that no commitment can serve
            for t, result in enumerate(results):
                master.add(Cut(t, result.bound, prices[t], result.value - _paid(prices[t], result.lots), result.lots))
            lots, bound = master.best_commitments(time_limit_s=left_s())
            found.bound = max(found.bound, bound)
            value = master.value_at(prices, [result.bound for result in results])
            if value > center_value:
                center, center_value = prices, value
                box = min(box * 1.15, 1.0)
            else:
                box = max(box * 0.6, _BOX_FLOOR)
            key = tuple(sorted(lots.items()))
            if number % 2 == 0 and key not in tried and not closed() and left_s() > 0:
                tried.add(key)
                evaluate(lots)
            if closed() or left_s() <= 0:
                break
            prices = master.next_prices(center, box, time_limit_s=left_s())
            number += 1
        polish_s[0] = 0.0
        if found.parts and left_s() > 0 and not closed():
            evaluate(found.lots, 0, _POLISH_GAP)
    return _joined(found.parts) if found.parts else None, found.bound + constant


def _paid(usd_per_lot: dict[str, float], lots: dict[str, int]) -> float:
    return sum(usd_per_lot.get(name, 0.0) * count for name, count in lots.items())


def _joined(parts: list[Decision]) -> Decision:
    """Decisions for different hours with the same commitments, as one."""
    first = parts[0]
    return first.model_copy(update={
        "node_uses": tuple(row for part in parts for row in part.node_uses),
        "replicas": tuple(row for part in parts for row in part.replicas),
        "loads": tuple(row for part in parts for row in part.loads),
        "overflows": tuple(row for part in parts for row in part.overflows),
    })
