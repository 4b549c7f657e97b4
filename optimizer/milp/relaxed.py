"""The relaxation of the whole program: a first bound, first commitments, and what a lot is worth in every slice."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pulp

from optimizer.milp.explicit import serve_scale
from optimizer.milp.frame import Frame
from optimizer.milp.master import HourPrices
from optimizer.milp.prep import Prep
from optimizer.milp.program import Key, Program
from optimizer.milp.solver import solve, solver_words_on_stderr

_COMMITMENT = ("lots", "bought", "racks")
_GAP = 2e-3


@dataclass(frozen=True)
class Relaxed:
    """bound: proven, without constants. lots: whole lots per held offer. flows: of work that waits. prices: per slice."""

    bound: float
    lots: dict[str, int]
    flows: dict[Key, float]
    prices: list[HourPrices]


def relaxed_commitments(frame: Frame, *, time_limit_s: float) -> Relaxed:
    """Solve with only the commitments whole (bound and lots), then all continuous (prices). The program is left as it was."""
    program, prep = frame.program, frame.prep
    started = time.perf_counter()
    whole = {key for key, variable in program.variables.items() if variable.cat == "Integer"}
    try:
        for key in whole:
            program.variables[key].cat = "Continuous"
        with solver_words_on_stderr():
            program.problem.solve(pulp.HiGHS(msg=False))
        highs = program.problem.solverModel
        bound = float(highs.getInfo().objective_function_value) if highs.getModelStatus().name == "kOptimal" else 0.0
        duals = list(highs.getSolution().row_dual)
        prices = hour_prices(prep, program, duals)
        held = [offer for offer in prep.offers if offer.is_held]
        lots = {offer.offer: _up(program.value(("lots", offer.offer))) for offer in held}
        flows = {key: max(program.value(key), 0.0) for key in program.variables if key[0] == "flow"}
        for key in whole:
            if key[0] in _COMMITMENT:
                program.variables[key].cat = "Integer"
        left_s = time_limit_s - (time.perf_counter() - started)
        solved = solve(program, gap=_GAP, time_limit_s=left_s)
        if solved.objective is not None:
            lots = {offer.offer: program.whole(("lots", offer.offer)) for offer in held}
            flows = {key: max(program.value(key), 0.0) for key in flows}
        if solved.bound is not None:
            bound = max(bound, solved.bound)
    finally:
        for key in whole:
            program.variables[key].cat = "Integer"
    return Relaxed(bound, lots, flows, prices)


def hour_prices(prep: Prep, program: Program, duals: list[float]) -> list[HourPrices]:
    """Per slice, at these duals of the program's rows: what one more lot of every held offer saves there, and what one more tok/s
    of waiting work costs that runs there."""
    prices: list[HourPrices] = []

    def dual(key: Key) -> float:
        number = program.row_number(key) if program.has_row(key) else None
        return duals[number] if number is not None else 0.0

    for t, group in enumerate(prep.groups):
        lots: dict[str, float] = {}
        for offer in prep.offers:
            if offer.is_held:
                value = 0.0
                if group.hour in offer.hours:
                    value = -sum(dual((family, offer.node_type, t)) for family in ("firm_nodes", "all_nodes"))
                lots[offer.offer] = max(value, 0.0) * prep.capacity_units(offer.node_type) * offer.lot_nodes
        work = {
            workload.workload: max(dual(("serve", pool.pool.pool, w, t)), 0.0) * serve_scale(workload, group.members[0][0])
            for pool in prep.pools
            for w, workload in enumerate(pool.workloads)
            if workload.deferrable_hours
        }
        prices.append(HourPrices(lots, work))
    return prices


def _up(value: float) -> int:
    return int(value + 0.999)
