"""The relaxation of the whole program: a first bound, first commitments, and what a lot is worth in every slice."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pulp

from optimizer.milp.frame import Frame
from optimizer.milp.solver import solve, solver_words_on_stderr

_COMMITMENT = ("lots", "bought", "racks")
_GAP = 2e-3


@dataclass(frozen=True)
class Relaxed:
    """bound: proven, without constants. lots: whole lots per held offer. prices[t][offer]: worth of one lot in slice t, $/day."""

    bound: float
    lots: dict[str, int]
    prices: list[dict[str, float]]


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
        prices: list[dict[str, float]] = []
        held = [offer for offer in prep.offers if offer.is_held]
        for t, group in enumerate(prep.groups):
            worth: dict[str, float] = {}
            for offer in held:
                value = 0.0
                for family in ("firm_nodes", "all_nodes"):
                    key = (family, offer.node_type, t)
                    number = program.row_number(key) if program.has_row(key) else None
                    if number is not None and group.hour in offer.hours:
                        value -= duals[number] * prep.capacity_units(offer.node_type)
                worth[offer.offer] = max(value, 0.0) * offer.lot_nodes
            prices.append(worth)
        lots = {offer.offer: _up(program.value(("lots", offer.offer))) for offer in held}
        for key in whole:
            if key[0] in _COMMITMENT:
                program.variables[key].cat = "Integer"
        left_s = time_limit_s - (time.perf_counter() - started)
        solved = solve(program, gap=_GAP, time_limit_s=left_s)
        if solved.objective is not None:
            lots = {offer.offer: program.whole(("lots", offer.offer)) for offer in held}
        if solved.bound is not None:
            bound = max(bound, solved.bound)
    finally:
        for key in whole:
            program.variables[key].cat = "Integer"
    return Relaxed(bound, lots, prices)


def _up(value: float) -> int:
    return int(value + 0.999)
