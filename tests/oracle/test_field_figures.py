"""Figures that the field's modelling notes give for commitments and dispatch, each as the product's own answer.

Beside `test_closed_forms` (break-even, screening curves, caps, lots, existing nodes, seed days): merit order, dual certificates,
mixed generations, day types, stock-outs, batch, and what the worked examples cost per million tokens.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from optimizer.candidates.enumerate import find_candidates
from optimizer.domain.case import Case
from optimizer.plan.audit import audit_decision
from optimizer.plan.metrics import price_plan
from optimizer.plan.plan import Baselines, Decision
from optimizer.studies.baselines import solve_baselines
from tests.helpers.dagger_compare import agreed_dagger_cost
from tests.helpers.oracle_compare import agreed_cost, solved
from tests.helpers.refcase import case_from_tables
from tests.oracle.test_closed_forms import DAY, SEED_DAY, api, bought, case_of, flex, on_demand, reserved, tables_of
from tests.oracle.test_dagger_closed_forms import SAME, newsvendor_usd

Row = dict[str, Any]


# ---------------------------------------------------------------------- merit order


def dispatched(day: Sequence[float]) -> Case:
    """Five nodes that cost nothing more, two of spot at $1.50, two on demand at $4, an API at $9 for the rest."""
    spot = {"offer": "spot", "node_type": "n", "purchase": "spot", "used_usd_per_node_h": 1.5, "max_nodes": 2}
    offers = [reserved(0, max_nodes=5), spot, on_demand(4, max_nodes=2)]
    return case_of(list(day), offers, apis=[api(9)], pool={"spot_max_frac": 1})


def test_merit_order_takes_the_cheapest_first_in_every_hour() -> None:
    outcome = solved(dispatched(DAY))
    assert agreed_cost(dispatched(DAY)) == pytest.approx(154.0, rel=1e-9)
    assert outcome.decision is not None
    used = {offer: [0] * 24 for offer in ("spot", "od")}
    for row in outcome.decision.node_uses:
        if row.offer in used:
            used[row.offer][row.hour] += row.used
    assert used["spot"] == [min(max(need - 5, 0), 2) for need in DAY]
    assert used["od"] == [min(max(need - 7, 0), 2) for need in DAY]


@pytest.mark.parametrize(("need", "more", "less"), [(10, 9.0, 9.0), (9, 9.0, 4.0), (8, 4.0, 4.0), (7, 4.0, 1.5), (6, 1.5, 1.5)])
def test_the_price_of_an_hour_is_that_of_its_marginal_source(need: int, more: float, less: float) -> None:
    """$9 at the peak; an interval where a source is just used up: one more replica takes the next, one less frees this one."""
    hour = DAY.index(need)
    raised = [tps + (1 if at == hour else 0) for at, tps in enumerate(DAY)]
    lowered = [tps - (1 if at == hour else 0) for at, tps in enumerate(DAY)]
    assert agreed_cost(dispatched(raised)) == pytest.approx(154.0 + more, rel=1e-9)
    assert agreed_cost(dispatched(lowered)) == pytest.approx(154.0 - less, rel=1e-9)


# ---------------------------------------------------------------------- prices that prove the cost


def certified_usd(prices: Sequence[float], tariffs: dict[str, tuple[float, float]]) -> tuple[float, dict[str, float]]:
    """What hourly prices prove of the cost (sum of price x need), and what a node of each tariff (held, used) would earn at them.

    The proof holds where no tariff earns anything: then no mix costs less than its worth.
    """
    earned = {
        name: sum(max(0.0, price - used) for price in prices) - 24 * held for name, (held, used) in tariffs.items()
    }
    return sum(price * need for price, need in zip(prices, DAY, strict=True)), earned


def test_a_dual_certificate_proves_the_newsvendor() -> None:
    """Prices of $4.50 above the eight held, $4 at them, 0 below: worth $438, and no node earns at them."""
    prices = [4.5 if need > 8 else 4.0 if need == 8 else 0.0 for need in DAY]
    proven, earned = certified_usd(prices, {"res": (2.0, 0.0), "od": (0.0, 4.5)})
    assert proven == pytest.approx(438.0) and max(earned.values()) <= 1e-9
    outcome = solved(case_of(DAY, [reserved(2), on_demand(4.5)]))
    assert (outcome.cost_usd_per_day, outcome.bound_usd_per_day) == (pytest.approx(438.0), pytest.approx(438.0))


def test_a_dual_certificate_proves_the_screening_curves() -> None:
    """All that is bought earns nothing at the prices, a dominated offer would lose $11.20 a day, and $410.30 are proven."""
    of_need = {4: 1.6 / 3, 5: 1.7, 6: 1.7, 7: 1.7, 8: 1.7 + 0.8 / 3, 9: 4.0, 10: 4.0}
    tariffs = {"res": (2.0, 0.0), "flex": (0.8, 1.7), "od": (0.0, 4.0), "dominated": (1.0, 2.4)}
    proven, earned = certified_usd([of_need.get(need, 0.0) for need in DAY], tariffs)
    assert earned == pytest.approx({"res": 0.0, "flex": 0.0, "od": 0.0, "dominated": -11.2})
    assert proven == pytest.approx(410.30)
    case = case_of(DAY, [reserved(2), flex(0.8, 1.7), flex(1.0, 2.4, offer="dominated"), on_demand(4)], apis=[api(9)])
    assert agreed_cost(case) == pytest.approx(410.30, abs=1e-9)
    assert bought(solved(case).decision, "dominated") == 0


# ---------------------------------------------------------------------- two generations


def two_generations(prices: tuple[float, float], *, lost: int = 0, only: str = "") -> Case:
    """12,800 tok/s all day, by A of 2,400 tok/s a replica and B of 1,000, at so many $/h."""
    tables = tables_of([12_800] * 24, [])
    tables["NodeTypes"] = [{"node_type": gpu, "gpu": gpu, "gpus_per_node": 1, "gpu_memory_gb": 100} for gpu in "AB"]
    tables["Goodput"] = [
        {"model": "m", "precision": "x", "gpu": gpu, "gpus_per_replica": 1, "output_tps": tps}
        for gpu, tps in (("A", 2400), ("B", 1000))
    ]
    tables["Offers"] = [
        reserved(price, offer=gpu, node_type=gpu) for gpu, price in zip("AB", prices, strict=True) if only in ("", gpu)
    ]
    tables["Contingencies"] = [{"contingency": "n+1", "replicas_lost": lost}] if lost else []
    return case_from_tables(tables)


def test_headroom_is_kept_for_any_one_option_and_not_for_each() -> None:
    """$109.60 an hour without spare, $129.60 with one for the fleet (6 A + 1 B); a spare of each kind bought would be $134.40."""
    prices = (20.0, 9.6)
    assert agreed_cost(two_generations(prices)) == pytest.approx(24 * 109.6, rel=1e-9)
    assert agreed_cost(two_generations(prices, lost=1)) == pytest.approx(24 * 129.6, rel=1e-9)
    decision = solved(two_generations(prices, lost=1)).decision
    assert (bought(decision, "A"), bought(decision, "B")) == (6, 1)
    # One kind alone keeps a spare of its own: 14 B, or 7 A. With both kinds bought and a spare of each it would be 6 A + 2 B.
    assert agreed_cost(two_generations(prices, lost=1, only="B")) == pytest.approx(24 * 134.4, rel=1e-9)
    assert agreed_cost(two_generations(prices, lost=1, only="A")) == pytest.approx(24 * 140.0, rel=1e-9)


def test_a_linear_program_of_mixed_generations_rounds_to_nothing_good() -> None:
    """$97.90 an hour; the linear program says 96.00, and its 5 1/3 A rounded up cost 108."""
    assert agreed_cost(two_generations((18.0, 7.9))) == pytest.approx(24 * 97.9, rel=1e-9)
    replicas = 12_800 / 2400
    assert (replicas * 18.0, math.ceil(replicas) * 18.0) == (pytest.approx(96.0), 108.0)


# ---------------------------------------------------------------------- day types


WEEKDAY, WEEKEND, PEAK_DAY = DAY, [round(0.45 * need) for need in DAY], [round(1.3 * need) for need in DAY]
DAYS = {"weekday": 251.0, "weekend": 104.0, "peak": 10.0}
YEAR = {"weekday": WEEKDAY, "weekend": WEEKEND, "peak": PEAK_DAY}
#: Break-even at 12 hours of the average day.
RESERVED, ELASTIC = 2.0, 4.0


def year_usd(held: int) -> float:
    """$/day of the year with so many nodes held."""
    return sum(days * newsvendor_usd(YEAR[name], held, res=RESERVED, od=ELASTIC) for name, days in DAYS.items()) / 365


def test_day_types_are_weighed_and_a_weekday_or_a_mean_day_misleads() -> None:
    """Four nodes for the year. A weekday alone says seven: 4.5 % dearer, and it quotes 5.5 % too much.

    The mean day, cut to whole replicas, says five, and peaks at 8.4 where 13 are needed.
    """
    year = case_of(YEAR, [reserved(RESERVED), on_demand(ELASTIC)], days=DAYS)
    usd = agreed_cost(year)
    assert usd == pytest.approx(year_usd(4), rel=1e-9)
    assert bought(solved(year).decision, "res") == 4
    assert max(row.live for row in _replicas(year)) == 13
    weekday = case_of(WEEKDAY, [reserved(RESERVED), on_demand(ELASTIC)])
    quoted = agreed_cost(weekday)
    assert quoted is not None and bought(solved(weekday).decision, "res") == 7
    assert year_usd(7) / year_usd(4) - 1 == pytest.approx(0.045, abs=0.0005)
    assert quoted / year_usd(7) - 1 == pytest.approx(0.055, abs=0.0005)
    mean = [sum(days * YEAR[name][hour] for name, days in DAYS.items()) / 365 for hour in range(24)]
    assert max(mean) == pytest.approx(8.4, abs=0.05)
    whole = [float(int(need)) for need in mean]
    case = case_of(whole, [reserved(RESERVED), on_demand(ELASTIC)])
    assert bought(solved(case).decision, "res") == 5
    assert agreed_cost(case) == pytest.approx(newsvendor_usd(whole, 5, res=RESERVED, od=ELASTIC), rel=1e-9)


def _replicas(case: Case) -> tuple[Any, ...]:
    decision = solved(case).decision
    assert decision is not None
    return decision.replicas


# ---------------------------------------------------------------------- stock-outs, troughs, waiting


def test_a_stock_out_is_worth_a_ninth_node() -> None:
    """On demand at $4.50 that is sold out with 20 %, and then costs $15: $6.60 in the mean, nine held, $458.40."""
    price = 0.8 * 4.5 + 0.2 * 15.0
    case = case_of(DAY, [reserved(2), on_demand(price)])
    assert agreed_cost(case) == pytest.approx(458.40, rel=1e-9)
    assert bought(solved(case).decision, "res") == 9


@pytest.mark.parametrize(("held", "dearer"), [(2.0, 0.33), (3.0, 0.069), (4.275, 0.0)])
def test_reserving_the_trough_is_right_only_where_holding_costs_almost_as_much_as_using(held: float, dearer: float) -> None:
    case = case_of(DAY, [reserved(held), on_demand(4.5)])
    usd, baselines = agreed_cost(case), solve_baselines(case, find_candidates(case))
    assert usd is not None and baselines.reserved_at_trough is not None
    assert baselines.reserved_at_trough / usd - 1 == pytest.approx(dearer, abs=0.005)


def test_waiting_work_rises_like_water_over_what_is_held() -> None:
    """60 replica-hours that may wait all day fill the day up to 8.75 replicas. In quarters of a replica that is 35 nodes."""
    level = 8.75
    assert sum(max(0.0, level - need) for need in DAY) == pytest.approx(60.0)
    quarters = [4.0 * need for need in DAY]
    tables = tables_of(quarters, [reserved(0.5), on_demand(1.125)])
    tables["Workloads"].append({"workload": "batch", "pool": "batch", "model": "m", "precision": "x", "deferrable_hours": 23})
    tables["Pools"].append({"pool": "batch", "kind": "batch"})
    tables["Demand"] += [{"workload": "batch", "day_type": "", "hour": hour, "output_tps": 10.0} for hour in range(24)]
    case = case_from_tables(tables)
    assert bought(solved(case).decision, "res") == 4 * level
    assert agreed_dagger_cost(case) == pytest.approx(newsvendor_usd(quarters, 35, res=0.5, od=1.125), rel=SAME)


# ---------------------------------------------------------------------- what the worked examples cost


@pytest.mark.parametrize(
    ("offers", "lost", "usd", "per_mtok"),
    [
        ([reserved(20)], 1, 3360.0, 9.72),
        ([reserved(20), on_demand(32)], 1, 1888.0, 5.46),
        ([reserved(20), on_demand(32)], 2, 2368.0, 6.85),
    ],
)
def test_the_seed_day_per_million_tokens(offers: list[Row], lost: int, usd: float, per_mtok: float) -> None:
    """24 values of mean 4,000 and peak 12,800, goodput 2,400, a node a replica, N+1 or two spares; 345.6 M tokens a day."""
    case = case_of(SEED_DAY, offers, output_tps=2400, gpus=8, contingencies=[{"contingency": "spare", "replicas_lost": lost}])
    plan = price_plan(case, find_candidates(case), solved(case), Baselines())
    assert plan.cost.total == pytest.approx(usd, rel=1e-9)
    assert (plan.output_mtok_per_day, plan.usd_per_mtok.forecast) == (pytest.approx(345.6), pytest.approx(per_mtok, abs=0.005))


@pytest.mark.parametrize(
    ("lost", "rollout", "live", "total"),
    [(1, 0.0, 7, 7), (1, 1 / 7, 7, 8), (1, 0.1, 7, 8), (2, 0.0, 8, 8)],
)
def test_failure_rollout_and_peak_together_take_eight(lost: int, rollout: float, live: int, total: int) -> None:
    """N+1 alone is seven replicas; a failure while one is rolled out at the peak is eight, as are two losses."""
    case = case_of(
        [12_800] * 24, [reserved(20)], output_tps=2400, gpus=8, pool={"rollout_frac": rollout},
        contingencies=[{"contingency": "n+1", "replicas_lost": lost}],
    )
    assert agreed_cost(case) == pytest.approx(total * 480.0, rel=1e-9)
    assert {(row.live, row.total) for row in _replicas(case)} == {(live, total)}


@pytest.mark.parametrize(("more", "usd_per_h"), [(1, 0.02), (100, 2.0), (1000, 4.0), (2400, 20.0)])
def test_more_demand_costs_by_steps_and_not_by_a_price(more: int, usd_per_h: float) -> None:
    """12,800 tok/s: five replicas of 2,400 at $20 and 800 tok/s at an API of $0.02; the relaxation would say $0.0083 a tok/s."""
    def at(tps: float) -> float:
        usd = agreed_cost(case_of([tps] * 24, [reserved(20)], output_tps=2400, apis=[api(0.02)]))
        assert usd is not None
        return usd / 24

    assert at(12_800) == pytest.approx(116.0, rel=1e-9)
    assert at(12_800 + more) - at(12_800) == pytest.approx(usd_per_h, rel=1e-6)


# ---------------------------------------------------------------------- the auditor replays every hour


@pytest.mark.parametrize("hour", range(24))
def test_a_replica_less_in_any_hour_breaks_the_bad_day_of_that_hour(hour: int) -> None:
    bad_day = {"contingency": "n+1", "replicas_lost": 1}
    case = case_of(SEED_DAY, [reserved(20), on_demand(32)], output_tps=2400, gpus=8, contingencies=[bad_day])
    candidates, outcome = find_candidates(case), solved(case)
    assert outcome.decision is not None and outcome.cost_usd_per_day is not None
    kept = {row.hour: row.live for row in outcome.decision.replicas}
    need = math.ceil(SEED_DAY[hour] / 2400) + 1
    assert kept[hour] >= need
    broken = _with_live(outcome.decision, hour, need - 1)
    audit = audit_decision(case, candidates, broken, outcome.cost_usd_per_day)
    told = [words for words in audit.violations if "n+1" in words]
    assert told and all(f"{hour:02d}:00" in words or f"hour {hour}" in words for words in told), audit.violations


def _with_live(decision: Decision, hour: int, live: int) -> Decision:
    rows = tuple(
        row.model_copy(update={"live": live, "total": live}) if row.hour == hour else row for row in decision.replicas
    )
    return decision.model_copy(update={"replicas": rows})
