"""Occupancy `auto` in the audit: sound plans pass; a replica too few does not, nor does a program whose table is wrong."""

from __future__ import annotations

import pytest

import optimizer.domain.workload as domain
from optimizer.domain.waiting import occupancy_for, wait_prob
from optimizer.plan.audit import AuditResult, audit_decision
from optimizer.plan.audit_waiting import share_waiting
from optimizer.plan.index import PlanIndex
from tests.plan.builders import Built, seed2


def auto(built: Built, **fields: float) -> Built:
    """The case with occupancy `auto`. 12 live: 11 left at 0.62439 carry 6.87 replicas' worth, 9,000 tok/s are 6.43 of 1,400."""
    pools = tuple(row.model_copy(update={"occupancy_frac": None, **fields}) for row in built.case.pools)
    return built._replace(case=built.case.model_copy(update={"pools": pools}))


def audit(built: Built, cost: float = 1800.0) -> AuditResult:
    return audit_decision(built.case, built.candidates, built.decision, cost)


def with_live(live: int, hour: int) -> Built:
    built = auto(seed2())
    rows = tuple(
        row.model_copy(update={"live": live}) if row.hour == hour else row for row in built.decision.replicas
    )
    return built._replace(decision=built.decision.model_copy(update={"replicas": rows}))


def test_a_sound_plan_passes() -> None:
    assert audit(auto(seed2())).violations == ()


def test_a_replica_too_few_for_the_bad_day() -> None:
    """10 left of 11 at 0.60256 carry 6.03; the normal hour is carried."""
    (message,) = audit(with_live(11, 5)).violations
    assert message.startswith("contingency n+1, pool chat, day hour 5: after losing 1 of 70b|int8|80gx2|2|| the rest is ")


def test_too_few_for_the_normal_hour() -> None:
    """10 at 0.57777 carry 5.78."""
    found = audit(with_live(10, 5)).violations
    assert found[0].startswith("capacity of pool chat, option 70b|int8|80gx2|2||, day hour 5: firm load takes 11.12")
    assert found[1].startswith("waiting in pool chat, day hour 5: 10 live replicas, those of 70b|int8|80gx2|2|| busy 0.642857 ")
    assert "of the requests wait, 0.01 may" in found[1]


def test_fewer_may_wait() -> None:
    assert not audit(auto(seed2(), wait_prob_max_frac=0.001)).ok


def test_a_table_that_is_wrong_is_found_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the occupancies too high, capacity and bad days would pass; the probability of waiting does not."""
    monkeypatch.setattr(domain, "occupancy_for", lambda live, waits: 1.3 * occupancy_for(live, waits))
    found = audit(with_live(10, 5)).violations
    assert all(message.startswith("waiting in pool chat") for message in found)
    assert any("day hour 7: bad days count on occupancy 0.81171, too high for 12 live replicas" in message for message in found)


@pytest.mark.parametrize("live", [1, 3, 12, 200, 3000])
@pytest.mark.parametrize("busy", [0.01, 0.4, 0.9, 0.999])
def test_both_ways_to_the_probability_agree(live: int, busy: float) -> None:
    assert share_waiting(live, busy) == pytest.approx(wait_prob(live, busy), rel=1e-8, abs=1e-250)


def test_the_ends() -> None:
    assert (share_waiting(0, 0.5), share_waiting(4, 1.0), share_waiting(4, 0.0)) == (1.0, 1.0, 0.0)


def test_a_load_without_a_live_replica() -> None:
    found = audit(with_live(0, 5)).violations
    assert "load of chat, day hour 5: 9000 tok/s on 70b|int8|80gx2|2||, without a live replica in the pool" in found


def test_the_occupancy_is_that_of_all_live_replicas_of_the_pool() -> None:
    index = PlanIndex(*auto(seed2()))
    assert index.pool_live("chat", ("day", 3)) == 12
    assert index.occupancy("chat", ("day", 3)) == occupancy_for(12, 0.01)
    assert PlanIndex(*seed2()).occupancy("chat", ("day", 3)) == 0.6
