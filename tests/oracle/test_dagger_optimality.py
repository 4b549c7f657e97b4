"""The product finds the true optimum where hours hang together or nodes are lost: the oracle's cost, audited clean."""

from __future__ import annotations

import pytest

from tests.helpers.dagger_compare import agreed_dagger_cost
from tests.helpers.random_dagger import DAGGERS, random_dagger_case


@pytest.mark.parametrize("seed", range(108))
def test_cost_is_the_optimum(seed: int) -> None:
    agreed_dagger_cost(random_dagger_case(seed))


@pytest.mark.parametrize("seed", range(5010, 5016))
@pytest.mark.parametrize("feature", DAGGERS)
def test_cost_is_the_optimum_of_each_feature_alone(feature: str, seed: int) -> None:
    agreed_dagger_cost(random_dagger_case(seed, [feature]))
