"""Small random cases in which the occupancy of some pools is `auto`."""

from __future__ import annotations

import random
from collections.abc import Iterable

from optimizer.domain.case import Case
from tests.helpers.random_cases import random_case
from tests.helpers.random_dagger import random_dagger_case

#: With small pools as here a large share of waiting keeps the fleets, and the oracle's programs, small.
WAIT_PROBS = (0.01, 0.05, 0.05, 0.2, 0.4)


def with_auto(case: Case, seed: int) -> Case:
    """The case with occupancy `auto` in most of its pools, at least one; waiting differs by pool."""
    rng = random.Random(f"auto {seed}")
    sure = rng.randrange(len(case.pools))
    pools = [
        pool.model_copy(update={"occupancy_frac": None, "wait_prob_max_frac": rng.choice(WAIT_PROBS)})
        if number == sure or rng.random() < 0.6
        else pool
        for number, pool in enumerate(case.pools)
    ]
    return case.model_copy(update={"pools": tuple(pools)})


def random_auto_case(seed: int, features: Iterable[str] | None = None, *, replicas_at_peak: float = 1.5) -> Case:
    """`random_case` with `auto`."""
    return with_auto(random_case(seed, features, replicas_at_peak=replicas_at_peak), seed)


def random_auto_dagger_case(seed: int, features: Iterable[str] | None = None, *, replicas_at_peak: float = 1.0) -> Case:
    """`random_dagger_case` with `auto`."""
    return with_auto(random_dagger_case(seed, features, replicas_at_peak=replicas_at_peak), seed)
