"""Warnings of inputs: given where the plan rests on them, with the row they come from, and not otherwise."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from optimizer.candidates.option import Candidates
from optimizer.domain.base import Origin
from optimizer.domain.case import Case
from optimizer.domain.hardware import Site
from optimizer.domain.market import ApiPrice, Existing
from optimizer.domain.workload import Contingency, DayType, Pool
from optimizer.errors import Problem
from optimizer.plan import audit_packing
from optimizer.plan.metrics import price_plan
from optimizer.plan.plan import Baselines
from optimizer.plan.warnings import plan_warnings
from tests.plan.builders import (
    HOURS,
    TODAY,
    Built,
    case,
    change,
    decision,
    goodput,
    load,
    node_type,
    offer,
    option,
    outcome,
    overflow,
    replicas,
    seed1,
    workload,
)
from tests.plan.test_discounts import discounted


def warn(built: Built) -> list[Problem]:
    plan = price_plan(built.case, built.candidates, outcome(built.decision, 0.0), Baselines())
    return list(plan_warnings(built.case, built.candidates, plan))


def codes(built: Built) -> list[str]:
    return sorted(problem.code for problem in warn(built))


def row_of(built: Built, code: str) -> Problem:
    (problem,) = [problem for problem in warn(built) if problem.code == code]
    return problem


def plain(**tables: Any) -> Built:
    """Nothing to warn of: 4 on-demand nodes of at most 9 carry a pool at occupancy 0.7; everything is stated, dated and fresh."""
    nodes = node_type()
    row = goodput(100.0, 8, input_tokens=100.0, output_tokens=10.0, ttft_ms=100.0, tpot_ms=10.0, latency_stat="p99",
                  origin=Origin(file="goodput.csv", sheet="Goodput", row=9))  # fmt: skip
    stated = {"input_tokens": 100.0, "output_tokens": 10.0, "ttft_ms": 100.0, "tpot_ms": 10.0}
    built = case(
        **{
            "workloads": [workload("a", [200.0] * 24, api=("x",), **stated)],
            "pools": [Pool(pool="a", occupancy_frac=0.7, origin=Origin(file="f.xlsx", sheet="Pools", row=2))],
            "node_types": [nodes],
            "goodput_rows": [row],
            "offers": [
                offer(
                    "od", "on_demand", used_usd_per_node_h=1.0, max_nodes=9, origin=Origin(file="f.xlsx", sheet="Offers", row=2)
                ),
                offer("dear", "on_demand", used_usd_per_node_h=9.0, as_of=None),
            ],
            "apis": [ApiPrice(api="x", output_usd_per_mtok=1.0, origin=Origin(file="api.csv", sheet="ApiPrices", row=4))],
            **tables,
        }
    )
    chosen = option("a", {"a": row}, nodes)
    made = decision(
        used={("day", hour, "od"): 4 for hour in HOURS},
        replicas=[replicas("day", hour, chosen, 4) for hour in HOURS],
        loads=[load("day", hour, chosen, "a", 200.0) for hour in HOURS],
    )
    return Built(built, Candidates(options=(chosen,), offers=built.offers), made)


def recased(built: Built, **tables: Any) -> Built:
    return built._replace(case=Case(**{field: getattr(built.case, field) for field in Case.model_fields} | tables))


def with_point(built: Built, row: dict[str, Any] | None = None, **point: Any) -> Built:
    (chosen,) = built.candidates.options
    measured = chosen.points[0].row.model_copy(update=row or {})
    changed = chosen.model_copy(update={"points": (chosen.points[0].model_copy(update={"row": measured, **point}),)})
    return built._replace(candidates=built.candidates.model_copy(update={"options": (changed,)}))


def test_nothing_to_warn_of() -> None:
    assert warn(plain()) == []


def test_seed1_warns_of_what_it_rests_on() -> None:
    """Brief 1 states no occupancy, no supply limit, one day for a year's term, no conditions, and no energy price."""
    assert codes(seed1()) == ["ENERGY_FREE", "OCCUPANCY_ONE", "ONE_DAY_FOR_TERM", "SUPPLY_UNKNOWN"]
    problem = row_of(seed1(), "ONE_DAY_FOR_TERM")
    assert (problem.file, problem.sheet, problem.cell) == ("plan.xlsx", "Offers", "A5")
    assert "12 months" in problem.message
    assert problem.fix


@pytest.mark.parametrize(
    ("built", "code", "words"),
    [
        (with_point(plain(), {"kind": "estimated"}), "GOODPUT_ESTIMATED", "is estimated, not measured"),
        (
            with_point(plain(), {"input_tokens": 50.0}, shape_distance=0.7, shape_lighter=True),
            "SHAPE_LIGHTER",
            "was measured at a shape (50 in, 10 out) lighter than the workload's (100 in, 10 out)",
        ),
        (
            with_point(plain(), {"input_tokens": 200.0}, shape_distance=0.7),
            "SHAPE_NEAREST",
            "at the nearest shape (200 in, 10 out)",
        ),
        (with_point(plain(), unstated=("ttft_ms", "tpot_ms")), "GOODPUT_CONDITIONS_UNKNOWN", "states ttft_ms, tpot_ms"),
        (with_point(plain(), latency_unknown=True), "LATENCY_STAT_UNKNOWN", "p99, a median or a mean"),
    ],
)
def test_goodput(built: Built, code: str, words: str) -> None:
    (problem,) = warn(built)
    assert (problem.code, problem.file, problem.sheet, problem.cell) == (code, "goodput.csv", "Goodput", "A9")
    assert words in problem.message
    assert problem.fix


def test_goodput_that_carries_nothing_is_not_warned_of() -> None:
    built = with_point(plain(), {"kind": "estimated"})
    idle = built.decision.model_copy(update={"loads": ()})
    assert "GOODPUT_ESTIMATED" not in codes(built._replace(decision=idle))


def test_what_nobody_stated_is_said_once_for_a_workload() -> None:
    built = with_point(plain(), unstated=("ttft_ms",))
    (chosen,) = built.candidates.options
    others = tuple(chosen.model_copy(update={"option": f"{chosen.option}{name}"}) for name in "bcd")
    candidates = built.candidates.model_copy(update={"options": (chosen, *others)})
    loads = [load("day", 0, other, "a", 1.0) for other in (chosen, *others)]
    made = built.decision.model_copy(update={"loads": tuple(loads)})
    (problem,) = warn(built._replace(candidates=candidates, decision=made))
    assert "m|fp8|g8|8||, m|fp8|g8|8||b and 2 more options" in problem.message


def test_occupancy_one() -> None:
    built = plain(pools=[Pool(pool="a", origin=Origin(file="f.xlsx", sheet="Pools", row=2))])
    problem = row_of(built, "OCCUPANCY_ONE")
    assert (problem.file, problem.sheet, problem.cell) == ("f.xlsx", "Pools", "A2")
    idle = built.decision.model_copy(update={"loads": ()})
    assert codes(built._replace(decision=idle)) == []


def spot_plan(**tables: Any) -> Built:
    built = plain(
        pools=[Pool(pool="a", occupancy_frac=0.7, spot_max_frac=0.5)],
        offers=[offer("od", "on_demand", max_nodes=9), offer("spot", "spot", max_nodes=1)],
        **tables,
    )
    counts = change(built.decision.replicas, lambda row: row.hour == 3, spot_live=1, spot_total=1)
    return built._replace(decision=built.decision.model_copy(update={"replicas": counts}))


def test_spot_counted_firm() -> None:
    assert codes(spot_plan()) == ["SPOT_COUNTED_FIRM"]
    assert codes(spot_plan(contingencies=[Contingency(contingency="n+1", pools=("a",), replicas_lost=1)])) == [
        "SPOT_COUNTED_FIRM"
    ]
    assert codes(spot_plan(contingencies=[Contingency(contingency="spot", pools=("a",), spot_lost_frac=0.5)])) == []
    batch = recased(spot_plan(), pools=(Pool(pool="a", kind="batch", occupancy_frac=0.7, spot_max_frac=0.5),))
    assert codes(batch) == []


def supply(od: int, second: int, **second_fields: Any) -> Built:
    """`od` nodes without a limit beside `second` nodes of a capped reserved offer, in every hour."""
    fields = {"max_nodes": 99, "term_months": 1.0, **second_fields}
    built = plain(offers=[offer("od", "on_demand", origin=Origin(file="f.xlsx", sheet="Offers", row=2)), offer("res", **fields)])
    uses = {("day", hour, name): nodes for hour in HOURS for name, nodes in (("od", od), ("res", second))}
    made = decision(new={"res": second}, used=uses, replicas=built.decision.replicas, loads=built.decision.loads)
    return built._replace(decision=made)


def test_supply_unknown_is_over_half_of_an_hour() -> None:
    assert codes(supply(2, 2)) == []
    problem = row_of(supply(3, 2), "SUPPLY_UNKNOWN")
    assert "carries 60% of the GPUs in use on day in hour 0 (3 nodes)" in problem.message
    assert (problem.sheet, problem.cell) == ("Offers", "A2")


def test_supply_of_held_offers_too_but_not_of_nodes_held_already() -> None:
    assert "Offer res has no max_nodes" in row_of(supply(1, 3, max_nodes=None), "SUPPLY_UNKNOWN").message
    assert (
        "in hour 8 (7 nodes)"
        in row_of(
            seed1()._replace(
                decision=seed1().decision.model_copy(
                    update={"node_uses": change(seed1().decision.node_uses, lambda row: row.hour != 8, used=2)}
                )
            ),
            "SUPPLY_UNKNOWN",
        ).message
    )
    built = supply(1, 3, max_nodes=None)
    held = recased(built, existing=(Existing(offer="res", nodes=3),))
    existing = built.decision.model_copy(update={"nodes_new": decision(existing={"res": 3}).nodes_new})
    assert codes(held._replace(decision=existing)) == []


def test_one_day_for_a_term_over_a_month() -> None:
    assert codes(supply(1, 3)) == []
    assert codes(supply(1, 3, term_months=1.5)) == ["ONE_DAY_FOR_TERM"]
    assert codes(supply(1, 3, term_months=None)) == []
    stated = DayType(day_type="day", days=90.0, origin=Origin(file="f.xlsx", sheet="DayTypes", row=2))
    assert codes(recased(supply(1, 3, term_months=12.0), day_types=(stated,))) == []
    built = supply(1, 3, term_months=12.0)
    not_bought = built.decision.model_copy(update={"nodes_new": decision(existing={"res": 3}).nodes_new})
    assert codes(built._replace(decision=not_bought)) == []


@pytest.mark.parametrize(("months", "found"), [(1.0, False), (12.0, True), (None, False)])
def test_one_day_for_a_commitment_over_a_month(months: float | None, found: bool) -> None:
    built = discounted()
    origin = Origin(file="f.xlsx", sheet="Discounts", row=4)
    built = recased(built, discounts=change(built.case.discounts, lambda row: True, term_months=months, origin=origin))
    problems = [problem for problem in warn(built) if problem.code == "ONE_DAY_FOR_TERM"]
    assert [(problem.sheet, problem.cell) for problem in problems] == ([("Discounts", "A4")] if found else [])
    assert not found or "12 months" in problems[0].message
    nothing = built.decision.model_copy(update={"commitments": (), "covered": ()})
    assert "ONE_DAY_FOR_TERM" not in codes(built._replace(decision=nothing))
    stated = (DayType(day_type="day", days=90.0, origin=Origin(file="f.xlsx", sheet="DayTypes", row=2)),)
    assert "ONE_DAY_FOR_TERM" not in codes(recased(built, day_types=stated))


def test_api_limit_unknown_only_where_it_is_to_absorb() -> None:
    absorbs = plain(contingencies=[Contingency(contingency="surge", pools=("a",), demand_surge_frac=0.1, api_absorbs=True)])
    problem = row_of(absorbs, "API_LIMIT_UNKNOWN")
    assert (problem.file, problem.sheet, problem.cell) == ("api.csv", "ApiPrices", "A4")
    assert codes(plain(contingencies=[Contingency(contingency="surge", pools=("a",), demand_surge_frac=0.1)])) == []
    limited = recased(absorbs, api_prices=change(absorbs.case.api_prices, lambda row: True, max_output_tps=10.0))
    assert codes(limited) == []
    elsewhere = plain(contingencies=[Contingency(contingency="surge", pools=("b",), api_absorbs=True)])
    assert codes(elsewhere) == []


@pytest.mark.parametrize(
    ("expires", "term_months", "ends"),
    [
        (datetime.date(2027, 1, 1), None, True),
        (datetime.date(2027, 3, 31), None, True),
        (datetime.date(2027, 4, 3), None, False),
        (datetime.date(2027, 4, 3), 12.0, True),
        (datetime.date(2028, 2, 1), 12.0, False),
        (datetime.date(2026, 12, 31), 12.0, False),
        (None, 12.0, False),
    ],
)
def test_existing_contracts_that_end_within_a_quarter_or_the_longest_term_bought(
    expires: datetime.date | None, term_months: float | None, ends: bool
) -> None:
    row = Existing(offer="old", nodes=2, expires=expires, origin=Origin(file="f.xlsx", sheet="Existing", row=3))
    built = supply(1, 2, term_months=term_months)
    built = recased(built, existing=(row,), offers=(*built.case.offers, offer("old", max_nodes=9)))
    found = [problem for problem in warn(built) if problem.code == "EXISTING_ENDS"]
    assert [(problem.sheet, problem.cell) for problem in found] == ([("Existing", "A3")] if ends else [])


@pytest.mark.parametrize(("expires", "ends"), [(datetime.date(2027, 1, 30), True), (datetime.date(2027, 1, 31), False)])
def test_the_horizon_is_that_of_day_types_where_they_are_stated(expires: datetime.date, ends: bool) -> None:
    """30 days from 2027-01-01, however long the terms bought."""
    row = Existing(offer="old", nodes=2, expires=expires)
    stated = (DayType(day_type="day", days=30.0, origin=Origin(file="f.xlsx", sheet="DayTypes", row=2)),)
    built = supply(1, 2, term_months=12.0)
    built = recased(built, existing=(row,), day_types=stated, offers=(*built.case.offers, offer("old", max_nodes=9)))
    assert ("EXISTING_ENDS" in codes(built)) is ends


def at_site(purchase: str, **site: Any) -> Built:
    built = plain(
        node_types=[node_type(node_kw=1.0)],
        offers=[offer("od", purchase, max_nodes=9, site="dc", origin=Origin(file="f.xlsx", sheet="Offers", row=2))],
        sites=[Site(**{"site": "dc", "pue": 1.2, "origin": Origin(file="f.xlsx", sheet="Sites", row=7), **site})],
    )
    new = {} if purchase == "on_demand" else {"od": 4}
    made = decision(
        new=new,
        used={("day", hour, "od"): 4 for hour in HOURS},
        replicas=built.decision.replicas,
        loads=built.decision.loads,
    )
    return built._replace(decision=made)


def test_energy_free() -> None:
    problem = row_of(at_site("reserved"), "ENERGY_FREE")
    assert (problem.sheet, problem.cell) == ("Sites", "A7")
    assert codes(at_site("reserved", usd_per_kwh=0.1)) == []
    built = at_site("reserved")
    unused = built.decision.model_copy(update={"node_uses": ()})
    assert codes(built._replace(decision=unused)) == []


def test_elastic_at_a_site() -> None:
    problem = row_of(at_site("on_demand", usd_per_kwh=0.1), "ELASTIC_AT_SITE")
    assert (problem.sheet, problem.cell) == ("Offers", "A2")
    assert "is on-demand and stands at site dc" in problem.message


def test_prices_stale_and_undated() -> None:
    """90 days is the limit: the 90th day still counts, the 91st does not. Offers not taken do not matter (`dear` has no date)."""
    for days, expected in ((90, []), (91, ["PRICE_STALE"])):
        built = plain()
        dated = change(built.case.offers, lambda row: row.offer == "od", as_of=TODAY - datetime.timedelta(days=days))
        assert codes(recased(built, offers=dated)) == expected
    built = plain()
    undated = change(built.case.offers, lambda row: row.offer == "od", as_of=None, as_of_text="autumn")
    problem = row_of(recased(built, offers=undated), "PRICE_UNDATED")
    assert (problem.file, problem.sheet, problem.cell) == ("f.xlsx", "Offers", "A2")
    assert "'autumn'" in problem.message


def test_api_prices_count_where_something_flows_there() -> None:
    built = plain()
    flows = (overflow("day", 0, "a", "x", 1.0),)
    problem = row_of(built._replace(decision=built.decision.model_copy(update={"overflows": flows})), "PRICE_UNDATED")
    assert (problem.file, problem.cell) == ("api.csv", "A4")
    assert "API x" in problem.message


def test_packing_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_packing, "SEARCH_LIMIT", 0)
    nodes = node_type("g30", 30)
    rows = [goodput(20.0, 15), goodput(12.0, 10), goodput(7.0, 6)]
    built = case(
        workloads=[workload("a", [0.0] * 24)],
        node_types=[nodes],
        goodput_rows=rows,
        offers=[offer("od", "on_demand", node_type="g30", max_nodes=2)],
    )
    options = tuple(option("a", {"a": row}, nodes) for row in rows)
    made = decision(
        used={("day", hour, "od"): 2 for hour in (4, 5)},
        replicas=[replicas("day", hour, chosen, n) for hour in (4, 5) for chosen, n in zip(options, (1, 2, 4), strict=True)],
    )
    problem = row_of(Built(built, Candidates(options=options, offers=built.offers), made), "PACKING")
    assert "whole nodes of g30 is not proven in 2 hours" in problem.message
