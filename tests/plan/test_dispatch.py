"""Closed forms of what replicas can serve against the linear program, and both against hand figures."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.plan.dispatch import Absorber, Limit, Task, largest_scales, largest_scales_by_lp


def test_one_workload_is_a_sum() -> None:
    task = Task(tps_per_replica=((100.0,), (30.0,)), asked_tps=(400.0,), overflow_tps=(50.0,))
    assert largest_scales(task, [(3, 5), (0, 0)]) == [pytest.approx(500 / 400), pytest.approx(50 / 400)]


def test_two_workloads_share_in_the_cheapest_way() -> None:
    """Option 1 serves 100 of x or 10 of y, option 2 serves 10 of x or 100 of y: each does what it is good at."""
    task = Task(tps_per_replica=((100.0, 10.0), (10.0, 100.0)), asked_tps=(100.0, 100.0), overflow_tps=(0.0, 0.0))
    assert largest_scales(task, [(1, 1)]) == [pytest.approx(1.0)]
    # Two of option 1 alone: x and y take 1/100 and 1/10 of a replica per tok/s, 11 replicas for 100 of each.
    assert largest_scales(task, [(2, 0)]) == [pytest.approx(2 / 11)]


def test_overflow_of_one_workload_does_not_help_the_other() -> None:
    task = Task(tps_per_replica=((100.0, 100.0),), asked_tps=(100.0, 100.0), overflow_tps=(500.0, 0.0))
    assert largest_scales(task, [(1,)]) == [pytest.approx(1.0)]


def test_a_workload_nobody_can_serve_is_not_served() -> None:
    task = Task(tps_per_replica=((100.0, 0.0),), asked_tps=(100.0, 100.0), overflow_tps=(0.0, 25.0))
    assert largest_scales(task, [(9,)]) == [pytest.approx(0.25)]


def test_shared_api_limits_couple_workloads() -> None:
    """No replicas: 90 output tok/s in all, and 200 input at 1 and 3 per output: x + y <= 90, x + 3 y <= 200 at x = y: y = 45."""
    absorber = Absorber(workloads=(0, 1), limits=(Limit(90.0, (1.0, 1.0)), Limit(200.0, (1.0, 3.0))))
    task = Task(tps_per_replica=(), asked_tps=(100.0, 100.0), overflow_tps=(0.0, 0.0), absorbers=(absorber,))
    assert not task.closed_form
    assert largest_scales_by_lp([(task, ())]) == [pytest.approx(0.45)]
    tighter = Absorber(workloads=(0, 1), limits=(Limit(90.0, (1.0, 1.0)), Limit(120.0, (1.0, 3.0))))
    task = Task(tps_per_replica=(), asked_tps=(100.0, 100.0), overflow_tps=(0.0, 0.0), absorbers=(tighter,))
    assert largest_scales_by_lp([(task, ())]) == [pytest.approx(0.30)]


def test_three_workloads_by_linear_program() -> None:
    """2 replicas of 100 of any, 300 asked, 50 overflow: 250 / 300. Where nothing serves the third it gets its overflow."""
    even = Task(tps_per_replica=((100.0, 100.0, 100.0),), asked_tps=(100.0, 100.0, 100.0), overflow_tps=(50.0, 0.0, 0.0))
    blind = Task(tps_per_replica=((100.0, 100.0, 0.0),), asked_tps=(10.0, 10.0, 10.0), overflow_tps=(0.0, 0.0, 5.0))
    assert largest_scales_by_lp([(even, (2,)), (blind, (2,))]) == [pytest.approx(250 / 300), pytest.approx(0.5)]
    assert largest_scales_by_lp([]) == []


tps = st.one_of(st.just(0.0), st.floats(0.1, 5000.0))
asked = st.floats(0.1, 20_000.0)


@st.composite
def tasks(draw: st.DrawFn) -> tuple[Task, tuple[int, ...]]:
    workloads = draw(st.integers(1, 2))
    options = draw(st.integers(0, 5))
    task = Task(
        tps_per_replica=tuple(tuple(draw(tps) for _ in range(workloads)) for _ in range(options)),
        asked_tps=tuple(draw(asked) for _ in range(workloads)),
        overflow_tps=tuple(draw(st.one_of(st.just(0.0), asked)) for _ in range(workloads)),
    )
    return task, tuple(draw(st.integers(0, 6)) for _ in range(options))


@settings(derandomize=True, deadline=None)
@given(tasks())
def test_closed_form_equals_the_linear_program(question: tuple[Task, tuple[int, ...]]) -> None:
    task, left = question
    (scale,) = largest_scales(task, [left])
    (by_lp,) = largest_scales_by_lp([(task, left)])
    assert scale == pytest.approx(by_lp, rel=1e-6, abs=1e-7)
