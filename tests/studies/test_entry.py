"""Prices at which what the plan leaves out would join it, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from optimizer.domain.case import Case
from optimizer.studies import entry
from optimizer.studies.entry import EntryPrice, entry_prices
from optimizer.studies.resolve import Clock, Reference, Resolved, resolve
from tests.studies.cases import PEAK, case, goodput, offer, replicas, solved_plan

LONG = 600.0


def entries(given: Case, seconds: float = LONG) -> dict[str, EntryPrice]:
    candidates, plan = solved_plan(given)
    reference = Reference(plan.cost.total, plan.bound_usd_per_day)
    return {row.name: row for row in entry_prices(given, candidates, plan.decision, reference, Clock.of(seconds))}


def test_a_dominated_offer_joins_at_the_price_of_the_other() -> None:
    row = entries(case(PEAK, Offers=[offer(), offer("dear", held_usd_per_node_h=25.0)]))["dear"]
    assert (row.kind, row.found, row.usd_per_node_h) == ("offer", "re-solved", 25.0)
    assert (row.factor, row.most_factor, row.entry_usd_per_node_h) == pytest.approx((0.8, 0.8, 20.0), rel=1e-4)


def test_an_upfront_payment_counts_by_the_hour() -> None:
    """$87,600 for a year is $10 an hour: $25 in all."""
    dear = offer("dear", held_usd_per_node_h=15.0, upfront_usd_per_node=87_600.0)
    row = entries(case(PEAK, Offers=[offer(), dear]))["dear"]
    assert (row.usd_per_node_h, row.entry_usd_per_node_h) == pytest.approx((25.0, 20.0), rel=1e-4)


def test_on_demand_under_a_flat_demand() -> None:
    """Every node is needed all day, so on demand joins where it costs what holding costs."""
    row = entries(case(PEAK, Offers=[offer(), offer("od", "on_demand")]))["od"]
    assert (row.usd_per_node_h, row.entry_usd_per_node_h) == pytest.approx((30.0, 20.0), rel=1e-4)


def test_a_gpu_generation() -> None:
    """5.33 replicas of 2,400 tok/s: one H200 node of 1,200 saves the sixth B300 node at $20; two or more save less each."""
    offers = [
        offer(), offer("h one", node_type="h200x8", held_usd_per_node_h=22.0),
        offer("h two", node_type="h200x8", held_usd_per_node_h=26.0),
    ]
    models = [{"model": "m", "precision": "fp8", "weights_gb": 700, "kv_gb_per_seq": 1.0}]
    found = entries(case(PEAK, Offers=offers, Models=models, Goodput=[goodput("B300", 2400.0), goodput("H200", 1200.0)]))
    assert list(found) == ["H200", "h one", "h two"]
    assert (found["H200"].kind, found["H200"].offers) == ("gpu", ("h one", "h two"))
    for name, price in (("H200", 22.0), ("h one", 22.0), ("h two", 26.0)):
        assert found[name].usd_per_node_h == price
        assert found[name].entry_usd_per_node_h == pytest.approx(20.0, rel=1e-4)
        assert found[name].factor == pytest.approx(20 / price, rel=1e-4)


def test_an_offer_that_saves_nothing_joins_at_no_price() -> None:
    """Nodes held all day serve the one hour in which it could be used."""
    found = entries(case(replicas(*[6] * 24), Offers=[offer(), offer("hour", "on_demand", hours="3-4")]))["hour"]
    assert (found.found, found.entry_usd_per_node_h) == ("at no price", None)


def test_lots_cost_more_than_they_replace() -> None:
    """A lot of 4 replaces 4 of 6 nodes at $20; a lot of 8 replaces 6, so it joins at $15."""
    found = entries(case(PEAK, Offers=[offer(), offer("four", lot_nodes=4, held_usd_per_node_h=30.0),
                                       offer("eight", lot_nodes=8, held_usd_per_node_h=30.0)]))
    assert found["four"].entry_usd_per_node_h == pytest.approx(20.0, rel=1e-4)
    assert found["eight"].entry_usd_per_node_h == pytest.approx(15.0, rel=1e-4)


def test_a_price_that_is_not_proven_exact_is_a_least_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """With proofs that leave $60 open it may join at up to 0.8 + 60 / (24 x 25) of the list price."""
    def loosely(*args: Any, **limits: Any) -> Resolved | None:
        found = resolve(*args, **limits)
        return replace(found, bound=found.bound - 60.0) if found is not None else None

    monkeypatch.setattr(entry, "resolve", loosely)
    row = entries(case(PEAK, Offers=[offer(), offer("dear", held_usd_per_node_h=25.0)]))["dear"]
    assert (row.found, row.entry_usd_per_node_h) == ("at least", pytest.approx(20.0, rel=1e-4))
    assert row.most_factor == pytest.approx(0.9, rel=1e-4)


def test_without_time_nothing_is_claimed() -> None:
    row = entries(case(PEAK, Offers=[offer(), offer("od", "on_demand")]), seconds=0.0)["od"]
    assert (row.found, row.factor, row.entry_usd_per_node_h) == ("not computed: time", None, None)
