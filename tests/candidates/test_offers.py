"""Which offers can be bought, which stay because nodes are held already, and when to order."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from optimizer.candidates.offers import allowed, nodes_per_rack, order_by, usable_offers
from optimizer.candidates.option import Candidates
from optimizer.domain.hardware import NodeType, Site
from optimizer.domain.market import Offer
from optimizer.domain.policy import Policy
from tests.candidates.build import GOODPUT, NODE_TYPE, OFFER, POOL, case, codes, find, policy

SITE = {"site": "dc", "racks": 10, "kw_per_rack": 50, "slots_per_rack": 4}
ON_DEMAND = {"offer": "od", "node_type": "80gx8", "purchase": "on_demand", "used_usd_per_node_h": 30}
RULES = Policy(start_date=datetime.date(2027, 1, 1), today=datetime.date(2026, 11, 29))


def offer_names(candidates: Candidates) -> list[str]:
    return [offer.offer for offer in candidates.offers]


def with_second(values: dict[str, Any], **tables: Any) -> Candidates:
    """The small case with a second, on-demand offer besides the one under test, so that options exist without it."""
    return find(offers=[{**OFFER, **values}, ON_DEMAND], **tables)


def test_order_date() -> None:
    offer = Offer(offer="x", node_type="n", purchase="reserved", lead_weeks=4)
    assert order_by(offer, RULES) == datetime.date(2026, 12, 4)
    # 10.5 days before the start is the middle of a day: order by the day before.
    assert order_by(offer.model_copy(update={"lead_weeks": 1.5}), RULES) == datetime.date(2026, 12, 21)
    assert order_by(offer.model_copy(update={"lead_weeks": 0}), RULES) == RULES.start_date


@pytest.mark.parametrize(
    ("values", "rules", "code"),
    [
        ({"provider": "acme"}, {"providers": "globex;initech"}, "PROVIDER_NOT_ALLOWED"),
        ({}, {"providers": "globex"}, "PROVIDER_NOT_ALLOWED"),
        ({"region": "us-east-1"}, {"regions": "eu-west-1"}, "REGION_NOT_ALLOWED"),
        ({}, {"purchases": "on_demand"}, "PURCHASE_NOT_ALLOWED"),
        ({"lead_weeks": 5}, {}, "TOO_LATE"),
        ({"max_nodes": 0}, {}, "NO_WHOLE_LOT"),
        ({"lot_nodes": 4, "max_nodes": 3}, {}, "NO_WHOLE_LOT"),
        ({"lot_nodes": 4, "min_nodes": 5, "max_nodes": 7}, {}, "NO_WHOLE_LOT"),
    ],
)
def test_offer_that_cannot_be_bought(values: dict[str, Any], rules: dict[str, Any], code: str) -> None:
    extra = {**ON_DEMAND, "provider": "globex", "region": "eu-west-1"}
    found = find(offers=[{**OFFER, **values}, extra], policy=policy(**rules))
    assert codes(found) == [code]
    assert offer_names(found) == ["od"]
    rejection = found.rejections[0]
    assert (rejection.offer, rejection.node_type, rejection.gpu, rejection.workload) == ("flat", "80gx8", "G80", "")
    assert rejection.reason.startswith("Offer flat is not bought: ")


@pytest.mark.parametrize(
    ("values", "rules"),
    [
        ({"provider": "Big Cloud"}, {"providers": "big-cloud;globex"}),
        ({"region": "US East 1"}, {"regions": "us-east-1;eu-west-1"}),
        ({}, {"purchases": "reserved;on-demand"}),
        ({}, {"gpus": "g-80"}),
        ({"lead_weeks": 4.5}, {}),  # 31.5 days before 2027-01-01 is 2026-11-30, and today is the 29th
        ({"lot_nodes": 4, "max_nodes": 4}, {}),
        ({"lot_nodes": 4, "min_nodes": 5, "max_nodes": 8}, {}),
    ],
)
def test_offer_that_can_be_bought(values: dict[str, Any], rules: dict[str, Any]) -> None:
    extra = {**ON_DEMAND, "provider": "globex", "region": "eu-west-1"}
    found = find(offers=[{**OFFER, **values}, extra], policy=policy(**rules))
    assert offer_names(found) == ["flat", "od"]
    assert codes(found) == []


def test_too_late_counts_days() -> None:
    found = with_second({"lead_weeks": 5})  # 35 days before 2027-01-01 is 2026-11-27, two days before today
    assert found.rejections[0].numbers == (("lead_weeks", 5.0), ("days_late", 2.0))
    assert "2026-11-27" in found.rejections[0].reason


def test_today_is_not_too_late() -> None:
    assert codes(with_second({"lead_weeks": 4}, policy=policy(today="2026-12-04"))) == []
    assert codes(with_second({"lead_weeks": 4}, policy=policy(today="2026-12-05"))) == ["TOO_LATE"]


def test_lots_and_minimums_do_not_bind_hourly_offers() -> None:
    assert offer_names(find(offers=[{**ON_DEMAND, "lot_nodes": 4, "min_nodes": 9, "max_nodes": 3}])) == ["od"]
    assert codes(find(offers=[OFFER, {**ON_DEMAND, "max_nodes": 0}])) == ["NO_WHOLE_LOT"]


@pytest.mark.parametrize(
    ("site", "kw", "code"),
    [
        ({"kw_per_rack": 50, "slots_per_rack": 4}, 14.3, None),
        ({"kw_per_rack": 14.2}, 14.3, "NO_RACK_FITS"),
        ({"slots_per_rack": 0}, 14.3, "NO_RACK_FITS"),
        ({"slots_per_rack": 1}, 14.3, None),
        ({}, 14.3, None),
    ],
)
def test_site_whose_racks_hold_no_node(site: dict[str, Any], kw: float, code: str | None) -> None:
    tables = {"sites": [{"site": "dc", "racks": 10, **site}], "node_types": [{**NODE_TYPE, "node_kw": kw}]}
    found = with_second({"site": "dc"}, **tables)
    assert codes(found) == ([code] if code else [])
    # On-demand nodes are not held, so they stand in no rack.
    elastic = find(offers=[OFFER, {**ON_DEMAND, "site": "dc"}], **tables)
    assert codes(elastic) == []


def test_nodes_per_rack_is_the_tighter_limit() -> None:
    node = NodeType(node_type="n", gpu="G", gpus_per_node=8, gpu_memory_gb=80, replica_span_gpus=8, node_kw=14.0)
    assert nodes_per_rack(Site(site="s", kw_per_rack=60, slots_per_rack=4), node) == 4
    assert nodes_per_rack(Site(site="s", kw_per_rack=42, slots_per_rack=4), node) == 3
    assert nodes_per_rack(Site(site="s", kw_per_rack=41.9), node) == 2
    assert nodes_per_rack(Site(site="s", slots_per_rack=2), node) == 2
    assert nodes_per_rack(Site(site="s", racks=3), node) is None
    # 4.2 / 1.4 is 3.0000000000000004 and 4.2 / 0.7 is 6.000000000000001; 0.6 / 0.2 is 2.9999999999999996.
    assert nodes_per_rack(Site(site="s", kw_per_rack=0.6), node.model_copy(update={"node_kw": 0.2})) == 3


def test_offer_of_a_node_type_that_nothing_runs_on() -> None:
    idle = {**OFFER, "offer": "idle", "node_type": "other"}
    found = find(node_types=[NODE_TYPE, {**NODE_TYPE, "node_type": "other", "gpu": "X"}], offers=[OFFER, idle])
    assert offer_names(found) == ["flat"]
    assert [rejection.code for rejection in found.rejections if rejection.offer] == ["UNUSED_NODE_TYPE"]


def test_spot_needs_a_pool_that_allows_it() -> None:
    spot = {**ON_DEMAND, "offer": "spot", "purchase": "spot"}
    found = find(offers=[OFFER, spot])
    assert offer_names(found) == ["flat"]
    assert codes(found) == ["SPOT_NOT_ALLOWED"]
    assert offer_names(find(offers=[OFFER, spot], pools=[{**POOL, "spot_max_frac": 0.5}])) == ["flat", "spot"]


def test_spot_alone_is_no_offer_to_a_pool_without_spot() -> None:
    found = find(offers=[{**ON_DEMAND, "purchase": "spot"}])
    assert found.options == ()
    assert codes(found) == ["NO_OFFER", "UNUSED_NODE_TYPE"]
    assert found.rejections[0].reason == "Not used: no offer of 80gx8 can be used by pool chat: od (SPOT_NOT_ALLOWED)."


def test_a_node_type_without_an_offer_says_why_each_cannot_be_used() -> None:
    late = [{**OFFER, "offer": f"late{number}", "lead_weeks": 50} for number in range(6)]
    found = find(offers=late)
    listed = "late0 (TOO_LATE), late1 (TOO_LATE), late2 (TOO_LATE), late3 (TOO_LATE) and 2 more"
    assert found.rejections[0].reason == f"Not used: no offer of 80gx8 can be used by pool chat: {listed}."
    assert found.rejections[0].numbers == (("offers", 6.0),)
    assert find(offers=[]).rejections[0].reason == "Not used: no offer sells 80gx8."


@pytest.mark.parametrize(
    ("values", "rules", "code"),
    [
        ({"lead_weeks": 50}, {}, "TOO_LATE"),
        ({"provider": "acme"}, {"providers": "globex"}, "PROVIDER_NOT_ALLOWED"),
        ({"max_nodes": 0}, {}, "NO_WHOLE_LOT"),
        ({"lot_nodes": 9, "min_nodes": 9, "max_nodes": 9, "lead_weeks": 50}, {}, "TOO_LATE"),
    ],
)
def test_nodes_held_already_stay_and_nothing_more_is_bought(values: dict[str, Any], rules: dict[str, Any], code: str) -> None:
    found = find(offers=[{**OFFER, **values}], existing=[{"offer": "flat", "nodes": 3}], policy=policy(**rules))
    assert codes(found) == [code]
    assert [(offer.offer, offer.min_nodes, offer.max_nodes) for offer in found.offers] == [("flat", 0, 0)]
    assert ("nodes_existing", 3.0) in found.rejections[0].numbers
    # They serve, too.
    assert [option.node_type for option in found.options] == ["80gx8"]


def test_nodes_held_on_an_unused_node_type_stay() -> None:
    idle = {**OFFER, "offer": "idle", "node_type": "other"}
    found = find(
        node_types=[NODE_TYPE, {**NODE_TYPE, "node_type": "other", "gpu": "X"}],
        offers=[OFFER, idle],
        existing=[{"offer": "idle", "nodes": 2, "expires": "2027-06-30"}],
    )
    assert [(offer.offer, offer.max_nodes) for offer in found.offers] == [("flat", None), ("idle", 0)]


def test_expired_contracts_hold_nothing() -> None:
    found = with_second({"lead_weeks": 50}, existing=[{"offer": "flat", "nodes": 3, "expires": "2026-12-31"}])
    assert offer_names(found) == ["od"]


def test_gpus_left_out_by_the_policy() -> None:
    two = [NODE_TYPE, {**NODE_TYPE, "node_type": "other", "gpu": "X"}]
    rows = [GOODPUT, {**GOODPUT, "gpu": "X"}]
    found = find(
        node_types=two, goodput=rows, offers=[OFFER, {**OFFER, "offer": "x", "node_type": "other"}], policy=policy(gpus="g80")
    )
    assert offer_names(found) == ["flat"]
    assert [(rejection.code, rejection.offer, rejection.node_type) for rejection in found.rejections] == [
        ("GPU_NOT_ALLOWED", "", "other"),
        ("GPU_NOT_ALLOWED", "x", "other"),
    ]


def test_allow_list() -> None:
    assert allowed((), None)
    assert allowed(("a b",), "A-B")
    assert not allowed(("a",), None)


def test_usable_offers_leave_the_case_alone() -> None:
    before = case(offers=[{**OFFER, "lead_weeks": 50}], existing=[{"offer": "flat", "nodes": 1}])
    usable_offers(before)
    assert before.offers[0].max_nodes is None


@pytest.mark.parametrize(("purchase", "kept"), [("reserved", True), ("on_demand", True), ("spot", False)])
def test_firm_offers_of_a_standing_quota_stay_though_no_option_runs_on_them(purchase: str, kept: bool) -> None:
    lab = {"node_type": "lab", "gpu": "Z", "gpus_per_node": 8, "gpu_memory_gb": 85.9}
    price = {"held_usd_per_node_h": 0, "used_usd_per_node_h": 9}
    bench = {**OFFER, **price, "offer": "bench", "node_type": "lab", "purchase": purchase}
    quota = {"pool": "lab", "kind": "experiments", "fixed_nodes": 2, "fixed_node_type": "lab"}
    tables = {"offers": [OFFER, bench], "node_types": [NODE_TYPE, {**NODE_TYPE, **lab}], "pools": [POOL, quota]}
    assert ("bench" in offer_names(find(**tables))) is kept
    tables["pools"] = [POOL, {**quota, "fixed_nodes": 0}]
    assert "bench" not in offer_names(find(**tables))
