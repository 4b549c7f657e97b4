"""Commitment discounts: what they cost, who bears it, and what the audit catches."""

from __future__ import annotations

from math import fsum
from typing import Any

import pytest

from optimizer.candidates.option import Candidates
from optimizer.domain.case import Case
from optimizer.domain.market import Discount
from optimizer.domain.workload import Pool
from optimizer.plan.audit import AuditResult, audit_decision
from optimizer.plan.ledger import IDLE, build_ledger, price_decision
from optimizer.plan.plan import Commitment, Covered, Decision
from tests.plan.builders import HOURS, Built, case, change, decision, goodput, load, node_type, offer, option, replicas, workload

#: 3 nodes at 4 $/h less the 2.5 that are covered in hours 0-11, 2 nodes in the other hours; 6 $/h committed.
COST = 12 * (3 - 2.5) * 4.0 + 12 * (2 - 2) * 4.0 + 24 * 6.0


def cover(hour: int, nodes: float, **fields: Any) -> Covered:
    return Covered(**{"day_type": "day", "hour": hour, "discount": "sp", "offer": "od", "nodes": nodes, **fields})


def discounted(**pool: Any) -> Built:
    """Two replicas of 8 GPUs of pool a all day, a third in hours 0-11; 2.4 $/h instead of 4: 6 $/h cover 2.5 nodes, then 2."""
    nodes, row = node_type(), goodput(100.0, 8)
    demand = [300.0] * 12 + [200.0] * 12
    built = case(
        workloads=[workload("a", demand)],
        pools=[Pool(pool="a", kind="batch", **pool)],
        node_types=[nodes],
        goodput_rows=[row],
        offers=[offer("od", "on_demand", used_usd_per_node_h=2.0, effective_frac=0.5)],
        discounts=(
            Discount(
                discount="sp", offer="od", discounted_usd_per_node_h=2.4, min_commit_usd_per_h=6.0, max_commit_usd_per_h=6.0
            ),
        ),
    )
    chosen = option("a", {"a": row}, nodes)
    counts = [3] * 12 + [2] * 12
    made = decision(
        used={("day", hour, "od"): counts[hour] for hour in HOURS},
        replicas=[replicas("day", hour, chosen, counts[hour]) for hour in HOURS],
        loads=[load("day", hour, chosen, "a", demand[hour]) for hour in HOURS],
    )
    bought = {
        "commitments": (Commitment(discount="sp", usd_per_h=6.0),),
        "covered": tuple(cover(hour, 2.5 if hour < 12 else 2.0) for hour in HOURS),
    }
    return Built(built, Candidates(options=(chosen,), offers=built.offers), made.model_copy(update=bought))


def audit(built: Built, cost: float = COST, **tables: Any) -> AuditResult:
    made: Decision = built.decision.model_copy(update=tables)
    return audit_decision(built.case, built.candidates, made, cost)


def test_covered_nodes_pay_out_of_the_commitment() -> None:
    built = discounted()
    parts = price_decision(*built)
    assert (parts.used, parts.discounts) == (pytest.approx(24.0), pytest.approx(144.0))
    assert parts.total == pytest.approx(COST)
    assert audit(built).violations == ()


def test_what_a_commitment_does_not_cover_is_idle() -> None:
    """In hours 12-23 only 4.8 of the 6 $/h are spent."""
    ledger = build_ledger(*discounted())
    assert [(line.discount, line.usd_per_day) for line in ledger.discounts] == [("sp", pytest.approx(144.0))]
    lines = {(line.pool, line.gpu): line.usd_per_day for line in ledger.pools}
    assert lines == pytest.approx({("a", "G"): 24.0 + 12 * 6.0 + 12 * 4.8, (IDLE, "G"): 12 * 1.2})
    paid = [line.usd_per_day for line in (*ledger.offers, *ledger.discounts)]
    assert fsum(paid) == pytest.approx(fsum(lines.values())) == pytest.approx(COST)


def test_a_commitment_that_covers_nothing_is_paid() -> None:
    built = discounted()
    bare = built.decision.model_copy(update={"covered": ()})
    parts = price_decision(built.case, built.candidates, bare)
    assert (parts.used, parts.discounts) == (pytest.approx(12 * 12.0 + 12 * 8.0), pytest.approx(144.0))


COVERED = discounted().decision.covered


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"commitments": ()}, "discount sp, day hour 0: 6 $/h of nodes covered, 0 committed"),
        ({"commitments": (Commitment(discount="sp", usd_per_h=5.0),)}, "5 $/h committed, 1 under min_commit_usd_per_h"),
        ({"commitments": (Commitment(discount="sp", usd_per_h=7.0),)}, "7 $/h committed, 1 over max_commit_usd_per_h"),
        ({"commitments": (Commitment(discount="x", usd_per_h=6.0),)}, "commitments: discount x is not in the case"),
        ({"commitments": (Commitment(discount="sp", usd_per_h=-6.0),)}, "commitment of discount sp is -6.0 $/h"),
        ({"commitments": (Commitment(discount="sp", usd_per_h=3.0),) * 2}, "commitments: sp has two rows"),
        ({"covered": (*COVERED[1:], cover(0, 2.6))}, "day hour 0: 6.24 $/h of nodes covered, 6 committed"),
        ({"covered": (*COVERED[:23], cover(23, 2.2))}, "discount on offer od, day hour 23: 2.2 nodes covered, 2 used"),
        ({"covered": (*COVERED[1:], cover(0, 1.0, offer="x"))}, "covered: discount sp does not cover offer x"),
        ({"covered": (*COVERED[1:], cover(0, -1.0))}, "covered nodes of od by sp, day hour 0 are -1.0"),
        ({"covered": (*COVERED[1:], cover(24, 1.0))}, "covered: day hour 24 is not in the case"),
        ({"covered": (*COVERED, COVERED[0])}, "covered: day 0 sp od has two rows"),
        ({"covered": COVERED[1:]}, "is claimed"),
    ],
)
def test_broken_discounts_are_caught(tables: dict[str, Any], words: str) -> None:
    result = audit(discounted(), **tables)
    assert any(words in message for message in result.violations), result.violations


def test_an_offer_of_a_discount_must_exist() -> None:
    built = discounted()
    rows = change(built.case.discounts, lambda row: True, offer="x")
    ghost = built._replace(case=Case(**{field: getattr(built.case, field) for field in Case.model_fields} | {"discounts": rows}))
    assert "discount sp: offer x is not in the case" in audit(ghost).violations


def test_standing_nodes_are_paid_by_their_pool() -> None:
    """One of three nodes is a standing quota of its own pool: a third of the cost, all day."""
    nodes, row = node_type(), goodput(100.0, 8)
    built = case(
        workloads=[workload("a", [200.0] * 24)],
        pools=[Pool(pool="a", kind="batch"), Pool(pool="lab", kind="experiments", fixed_nodes=1, fixed_node_type="g8")],
        node_types=[nodes],
        goodput_rows=[row],
        offers=[offer("od", "on_demand", used_usd_per_node_h=1.0)],
    )
    chosen = option("a", {"a": row}, nodes)
    made = decision(
        used={("day", hour, "od"): 3 for hour in HOURS},
        replicas=[replicas("day", hour, chosen, 2) for hour in HOURS],
        loads=[load("day", hour, chosen, "a", 200.0) for hour in HOURS],
    )
    held = Built(built, Candidates(options=(chosen,), offers=built.offers), made)
    assert audit(held, 72.0).violations == ()
    lines = {line.pool: (line.usd_per_day, line.gpu_hours_per_day) for line in build_ledger(*held).pools}
    assert lines == {"a": pytest.approx((48.0, 384.0)), "lab": pytest.approx((24.0, 192.0))}
