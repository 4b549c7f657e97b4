"""Changes that cannot change the cost: units of throughput and money, order of rows, the clock, day types cut in two."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from optimizer.domain.case import Case
from tests.helpers.oracle_compare import same_cost, solved_cost
from tests.helpers.random_cases import random_case
from tests.helpers.reshape import rotate_day, scale_money, scale_throughput, shuffle_rows, split_day_types, with_fields

SEEDS = range(6000, 6012)

SAME_COST: dict[str, Callable[[Case], Case]] = {
    "throughput times 7": lambda case: scale_throughput(case, 7.0),
    "throughput by 1000": lambda case: scale_throughput(case, 0.001),
    "rows shuffled": lambda case: shuffle_rows(case, 1),
    "clock put on by 5 hours": lambda case: rotate_day(case, 5),
    "day types cut in two": split_day_types,
    "twice the days": lambda case: with_fields(
        case, day_types=tuple(with_fields(day, days=day.days * 2) for day in case.day_types)
    ),
}


@pytest.mark.parametrize("change", SAME_COST)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_cost_stays(seed: int, change: str) -> None:
    case = random_case(seed, without=("three_workloads",), replicas_at_peak=3.0)
    assert same_cost(solved_cost(SAME_COST[change](case)), solved_cost(case))


@pytest.mark.parametrize("seed", SEEDS)
def test_twice_the_prices_are_twice_the_cost(seed: int) -> None:
    case = random_case(seed, without=("three_workloads",), replicas_at_peak=3.0)
    cost = solved_cost(case)
    assert same_cost(solved_cost(scale_money(case, 2.0)), None if cost is None else 2 * cost)
