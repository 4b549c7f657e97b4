"""How much of a surged demand a set of replicas can serve: the largest scale of the asked tok/s that can be dispatched.

One active workload: a sum. Two: the serviceable set is a sum of one triangle per option, so it is enough to ask in the directions
(1, 0), (0, 1) and (1/g_k1, 1/g_k2) of every option k, which are the normals of its facets. Three or more, or APIs whose limits
couple workloads: linear programs, solved together in one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """One stated limit of an API: sum over workloads of use[w] x absorbed tok/s <= headroom."""

    headroom: float
    use: tuple[float, ...]


@dataclass(frozen=True)
class Absorber:
    """An API that may absorb: which workloads (by position) may go there, and its limits."""

    workloads: tuple[int, ...]
    limits: tuple[Limit, ...]


@dataclass(frozen=True)
class Task:
    """What is asked in one slice, for the workloads with demand.

    tps_per_replica[option][workload]: mean tok/s of one live replica, 0 = cannot serve it. asked_tps[workload] > 0.
    overflow_tps[workload]: what an API takes for certain. absorbers: APIs with limits that couple several workloads.
    """

    tps_per_replica: tuple[tuple[float, ...], ...]
    asked_tps: tuple[float, ...]
    overflow_tps: tuple[float, ...]
    absorbers: tuple[Absorber, ...] = ()

    @property
    def closed_form(self) -> bool:
        """True where no linear program is needed."""
        return len(self.asked_tps) <= 2 and not self.absorbers


def largest_scales(task: Task, lefts: Sequence[Sequence[int]]) -> list[float]:
    """For each set of live replicas left, the largest scale of `asked_tps` that can be served. Only for `closed_form` tasks."""
    directions = _directions(task)
    gains = [
        [max(weight * tps for weight, tps in zip(direction, row, strict=True)) for row in task.tps_per_replica]
        for direction in directions
    ]
    scales = []
    for left in lefts:
        scales.append(
            min(
                _scale_in_direction(task, direction, sum(count * gain for count, gain in zip(left, row, strict=True)))
                for direction, row in zip(directions, gains, strict=True)
            )
        )
    return scales


def _directions(task: Task) -> list[tuple[float, ...]]:
    if len(task.asked_tps) == 1:
        return [(1.0,)]
    facets = {(1.0 / first, 1.0 / second) for first, second in task.tps_per_replica if first > 0 and second > 0}
    return [(1.0, 0.0), (0.0, 1.0), *sorted(facets)]


def _scale_in_direction(task: Task, direction: Sequence[float], capacity: float) -> float:
    """The scale at which sum_w direction_w x (scale x asked_w - overflow_w) reaches the capacity.

    Overflow beyond what is asked of its workload counts here for the other one; the axis directions take that back, since only
    there one workload needs anything at all.
    """
    asked = sum(weight * tps for weight, tps in zip(direction, task.asked_tps, strict=True))
    overflow = sum(weight * tps for weight, tps in zip(direction, task.overflow_tps, strict=True))
    return (capacity + overflow) / asked


def largest_scales_by_lp(tasks: Sequence[tuple[Task, Sequence[int]]]) -> list[float]:
    """The same by one block-diagonal linear program for all (task, replicas left) pairs; each block is scaled by what it asks.

    Raises ArithmeticError where the program cannot be solved, which would be a fault of ours: scale 0 is always feasible.
    """
    if not tasks:
        return []
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    bounds_up: list[float] = []
    objective: list[float] = []

    def new_column(cost: float) -> int:
        objective.append(cost)
        return len(objective) - 1

    def new_row(terms: Sequence[tuple[int, float]], upper: float) -> None:
        for column, value in terms:
            rows.append(len(bounds_up))
            columns.append(column)
            values.append(value)
        bounds_up.append(upper)

    scale_columns = []
    for task, left in tasks:
        unit = sum(task.asked_tps)
        scale = new_column(-1.0)
        scale_columns.append(scale)
        served: list[list[tuple[int, float]]] = [[(scale, asked / unit)] for asked in task.asked_tps]
        for count, tps in zip(left, task.tps_per_replica, strict=True):
            terms = []
            for workload, per_replica in enumerate(tps):
                if count > 0 and per_replica > 0:
                    column = new_column(0.0)
                    served[workload].append((column, -1.0))
                    terms.append((column, 1.0 / (count * per_replica / unit)))
            if terms:
                new_row(terms, 1.0)
        for absorber in task.absorbers:
            absorbed = {workload: new_column(0.0) for workload in absorber.workloads}
            for workload, column in absorbed.items():
                served[workload].append((column, -1.0))
            for limit in absorber.limits:
                new_row([(column, limit.use[workload]) for workload, column in absorbed.items()], limit.headroom / unit)
        for terms, overflow in zip(served, task.overflow_tps, strict=True):
            new_row(terms, overflow / unit)
    matrix = coo_array((values, (rows, columns)), shape=(len(bounds_up), len(objective))).tocsr()
    result = linprog(objective, A_ub=matrix, b_ub=bounds_up, bounds=(0, None), method="highs")
    if result.status != 0:
        raise ArithmeticError(f"the dispatch after a loss could not be computed: {result.message}")
    return [float(result.x[column]) for column in scale_columns]
