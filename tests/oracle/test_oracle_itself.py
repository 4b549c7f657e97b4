"""The oracle is checked against enumeration: no solver, no loads to optimise, nothing to trust."""

from __future__ import annotations

import pytest

from tests.helpers.bruteforce import bruteforce_cost
from tests.helpers.oracle import oracle_cost
from tests.helpers.oracle_candidates import plain_candidates
from tests.helpers.oracle_compare import same_cost
from tests.helpers.random_cases import random_case

TOO_MUCH_TO_ENUMERATE = (
    "two_pools", "shared_model", "no_option", "two_workloads", "three_workloads", "two_apis", "spanning", "three_options",
)  # fmt: skip


@pytest.mark.parametrize("seed", [seed for seed in range(121) if seed != 105])  # 105 takes long to enumerate
def test_oracle_equals_enumeration(seed: int) -> None:
    case = random_case(seed, without=TOO_MUCH_TO_ENUMERATE, replicas_at_peak=2.0)
    candidates = plain_candidates(case)
    assert same_cost(oracle_cost(case, candidates), bruteforce_cost(case, candidates))
