"""Waiting in M/M/c against scipy's Poisson distribution, and the occupancies that follow."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from scipy.stats import poisson

from optimizer.domain.waiting import occupancy_for, wait_prob
from optimizer.domain.workload import Pool

WAITS = (1e-6, 0.001, 0.01, 0.1, 0.5, 0.99)


@pytest.mark.parametrize("live", [1, 2, 5, 40, 300, 3000])
@pytest.mark.parametrize("busy", [0.001, 0.1, 0.5, 0.9, 0.99])
def test_waiting_is_that_of_the_textbook(live: int, busy: float) -> None:
    work = live * busy
    full = poisson.pmf(live, work)
    erlang_c = full / (full + (1 - busy) * poisson.cdf(live - 1, work))
    assert wait_prob(live, busy) == pytest.approx(erlang_c * math.exp(-(live - work) / 2), rel=1e-9, abs=1e-280)


def test_a_single_server() -> None:
    """M/M/1: a request waits with probability rho, and then longer than half a service with exp(-(1 - rho) / 2)."""
    assert wait_prob(1, 0.3) == pytest.approx(0.3 * math.exp(-0.35))


def test_the_ends() -> None:
    assert (wait_prob(4, 0.0), wait_prob(4, 1.0), wait_prob(0, 0.5)) == (0.0, 1.0, 1.0)
    assert (occupancy_for(0, 0.01), occupancy_for(7, 1.0)) == (0.0, 1.0)


def test_occupancies_at_one_percent() -> None:
    found = [round(occupancy_for(live, 0.01), 3) for live in (1, 2, 4, 8, 16, 32, 64, 128)]
    assert found == [0.016, 0.116, 0.307, 0.516, 0.691, 0.815, 0.895, 0.942]
    assert (round(16 * occupancy_for(16, 0.01), 1), round(16 * occupancy_for(4, 0.01), 1)) == (11.1, 4.9)


@pytest.mark.parametrize("waits", WAITS)
def test_occupancy_is_the_largest_that_keeps_the_limit_and_grows(waits: float) -> None:
    found = [occupancy_for(live, waits) for live in range(1, 200)]
    assert all(low < high for low, high in pairwise(found))
    for live, share in enumerate(found, 1):
        assert wait_prob(live, share) <= waits < wait_prob(live, share * (1 + 1e-9))


def test_thousands_of_replicas() -> None:
    assert 0.99 < occupancy_for(5000, 0.01) < 1


def test_the_occupancy_of_a_pool() -> None:
    assert Pool(pool="p", occupancy_frac=0.7).occupancy(3) == 0.7
    auto = Pool(pool="p", occupancy_frac=None, wait_prob_max_frac=0.05)
    assert auto.is_auto and auto.occupancy(3) == occupancy_for(3, 0.05)
