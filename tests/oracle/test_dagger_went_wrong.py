"""Cases of waiting work, lost nodes and discounts in which product and oracle once differed."""

from __future__ import annotations

import pytest

from tests.helpers.dagger_compare import agreed_dagger_cost
from tests.helpers.random_dagger import random_dagger_case
from tests.helpers.refcase import case_from_tables
from tests.oracle.test_closed_forms import api, case_of, tables_of


@pytest.mark.parametrize(
    ("seed", "features"),
    [
        # all replicas of one option lost: more of it do not help, and two options are needed at once
        (217, None),
        (307, None),
        (426, None),
        (520, None),
        (618, None),
        (1336, None),
        (5002, ["lost_frac"]),
        # a hundred-thousandth of a token was shifted
        (1295, None),
        # the limits of a discount stand in the row of an offer that nobody can use
        (5001, ["discounts"]),
    ],
)
def test_cost_is_the_optimum(seed: int, features: list[str] | None) -> None:
    agreed_dagger_cost(random_dagger_case(seed, features))


def test_a_surge_is_asked_for_where_there_is_no_zone_to_lose() -> None:
    zone = {"contingency": "zone", "pool": "p", "scope": "zone"}
    for surge, usd in ((0.0, 48.0), (0.1, None)):
        case = case_of([2.0] * 24, [], contingencies=[{**zone, "demand_surge_frac": surge}], apis=[api(1.0)])
        assert agreed_dagger_cost(case) == (usd and pytest.approx(usd))


@pytest.mark.parametrize("purchase", ["spot", "on_demand"])
def test_what_a_zone_leaves_of_several_places_carries_no_replica_of_two_nodes(purchase: str) -> None:
    """One node in each of two places is no place for it: the dear offer with two nodes must stand by."""
    tables = tables_of([1.0] * 24, [], contingencies=[{"contingency": "zone", "pool": "p", "scope": "zone"}])
    tables["Pools"][0]["spot_max_frac"] = 1
    tables["NodeTypes"][0]["replica_span_gpus"] = 2
    tables["Goodput"][0]["gpus_per_replica"] = 2
    sold = {"node_type": "n", "purchase": purchase}
    tables["Offers"] = [
        {**sold, "offer": f"o{place}", "used_usd_per_node_h": usd, "provider": f"z{place}", "max_nodes": most}
        for place, (usd, most) in enumerate([(1, 2), (1.1, 1), (1.2, 1), (5, 2)])
    ]
    assert agreed_dagger_cost(case_from_tables(tables)) == pytest.approx(24 * (2 * 1 + 2 * 5))
