"""Occupancy `auto`: the product finds the true optimum, the cost of the independent oracle, audited clean."""

from __future__ import annotations

import pytest

from tests.helpers.dagger_compare import agreed_dagger_cost
from tests.helpers.oracle_compare import agreed_cost
from tests.helpers.random_auto import random_auto_case, random_auto_dagger_case

#: Feature sets that put much weight on one part of the program.
FOCUS: dict[str, str] = {
    "spot": "two_node_types two_workloads reserved on_demand spot spot_lost replicas_lost rollout surge",
    "api": "two_node_types reserved on_demand api two_apis api_limits api_max_frac replicas_lost surge",
    "api absorbs": "two_workloads on_demand reserved api api_limits api_absorbs replicas_lost surge",
    "two workloads": "two_node_types two_workloads partial_option prefill_apart burst reserved on_demand replicas_lost",
    "dominated": "three_options two_pools reserved on_demand replicas_lost nodes_lost second_contingency",
}
#: The oracle takes more than ten seconds, or half a minute, over these.
SLOW = {23, 30, 33, 37, 45, 79, 97}


@pytest.mark.parametrize("seed", [seed for seed in range(100) if seed not in SLOW])
def test_cost_is_the_optimum(seed: int) -> None:
    agreed_cost(random_auto_case(seed))


@pytest.mark.parametrize("seed", range(1000, 1010))
@pytest.mark.parametrize("focus", FOCUS)
def test_cost_is_the_optimum_where_one_part_matters(focus: str, seed: int) -> None:
    agreed_cost(random_auto_case(seed, FOCUS[focus].split()))


@pytest.mark.parametrize("seed", [seed for seed in range(60) if seed not in SLOW])
def test_cost_is_the_optimum_of_days_that_hang_together_or_lose_nodes(seed: int) -> None:
    agreed_dagger_cost(random_auto_dagger_case(seed))
