"""Ways of pools priced slice by slice: bounds never above what a pool must cost, ways that do what they say, nothing left out."""

from __future__ import annotations

import random

import pytest

from optimizer.candidates.enumerate import find_candidates
from optimizer.milp.absorbed import drop_absorbed_days
from optimizer.milp.column import Care, ColumnPrices, Need, asks, can_use_columns
from optimizer.milp.covering import CoveringPricer, can_cover
from optimizer.milp.dominance import drop_dominated_options
from optimizer.milp.extract import extract
from optimizer.milp.frame import Frame
from optimizer.milp.pool_hour import PoolHour
from optimizer.milp.prep import Prep, prepare, settle_spot_modes
from optimizer.milp.program import Program
from optimizer.milp.refit import refit
from optimizer.milp.sharing import Sharing
from optimizer.milp.solver import solve
from optimizer.plan.audit import audit_decision
from optimizer.plan.ledger import price_decision
from tests.helpers.random_auto import random_auto_case
from tests.helpers.random_cases import random_case

SEEDS = range(2000, 2120)


def prep_of(seed: int) -> Prep:
    case = random_case(seed)
    return settle_spot_modes(drop_absorbed_days(drop_dominated_options(prepare(case, find_candidates(case)))))


def prices_of(prep: Prep, seed: int) -> ColumnPrices:
    """Any prices will do."""
    rng = random.Random(seed)
    unit: dict[tuple[Need, int], float] = {}
    sent: dict[tuple[str, int], float] = {}
    for t in range(len(prep.groups)):
        for row in prep.node_types:
            unit.update({((kind, row.node_type), t): rng.uniform(1, 20) for kind in ("firm", "any_", "spot")})
        for workload in prep.case.workloads:
            sent[(workload.workload, t)] = rng.uniform(0.001, 0.1)
    return ColumnPrices(unit, sent)


def limited(prep: Prep, apis: tuple[str, ...]) -> bool:
    """True where an API states a limit: the tables leave limits to the master program."""
    rows = [prep.case.api(api) for api in apis]
    return any(
        limit is not None for row in rows for limit in (row.max_output_tps, row.max_input_tps, row.max_total_tps, row.max_rpm)
    )


def exact(prep: Prep, p: int, t: int, prices: ColumnPrices) -> float | None:
    """Least cost of the pool in the slice by the program written out in full, proven; None where it cannot be served."""
    hour = PoolHour(prep, p, t)
    priced = hour.price(prices, 0.0)
    if priced.bound == float("inf"):
        return None
    way = priced.columns[0]
    cost = sum(prices.unit[(need, t)] * units for need, units in way.needs)
    cost += sum(
        prices.sent[(row.workload, t)] * tps for row, tps in zip(prep.pools[p].workloads, way.sent_tps, strict=True)
    )
    assert priced.bound <= cost + 1e-6 and cost <= priced.bound * (1 + 1e-6) + 1e-6
    return cost


def test_covering_tables_bound_the_program_written_out_and_their_ways_nearly_reach_it() -> None:
    compared = tight = 0
    for seed in SEEDS:
        prep = prep_of(seed)
        prices = prices_of(prep, seed)
        for p, pool in enumerate(prep.pools):
            if not can_use_columns(prep, pool) or not can_cover(pool):
                continue
            for priced in CoveringPricer(pool).price(prices, Care.FINE):
                least = exact(prep, p, priced.t, prices)
                if least is None:
                    continue  # more than can be had of its nodes; the tables leave that to the master program
                assert priced.bound <= least * (1 + 1e-9) + 1e-9
                if not limited(prep, pool.workloads[0].api):
                    assert priced.bound >= least * 0.99 - 1e-9
                    tight += 1
                for way in priced.columns:
                    cost = sum(prices.unit[(need, priced.t)] * units for need, units in way.needs)
                    cost += prices.sent[(pool.workloads[0].workload, priced.t)] * way.sent_tps[0]
                    assert cost >= priced.bound * (1 - 1e-9) - 1e-9
                compared += 1
    assert compared > 100 and tight > 50


@pytest.mark.parametrize("many", [False, True])
def test_every_way_does_what_its_pool_needs(many: bool) -> None:
    """A plan made of ways alone is one that the program written out accepts: its rows hold with the replicas fixed."""
    compared = 0
    for seed in SEEDS[:50]:
        prep = prep_of(seed)
        prices = prices_of(prep, seed)
        for p, pool in enumerate(prep.pools):
            if not can_use_columns(prep, pool):
                continue
            found = []
            if can_cover(pool):
                found = [way for priced in CoveringPricer(pool).price(prices, many=many) for way in priced.columns]
            else:
                slices = [t for t in range(len(pool.slices)) if asks(pool, t)]
                ways = [way for t in slices for way in PoolHour(prep, p, t).price(prices, 1e-3).columns]
                found = [*ways, *Sharing((pool,)).spread(ways)]
            for way in found:
                if any(way.sent_tps) and any(limited(prep, row.api) for row in pool.workloads):
                    continue  # limits of APIs are the master program's
                hour = PoolHour(prep, p, way.t)
                program, wasteful = hour.program, False
                for k in range(len(pool.options)):
                    for family in ("live", "spot_live"):
                        variable = program.variables.get((family, pool.pool.pool, k, 0))
                        if variable is not None:
                            count = round(way.values.get((family, pool.pool.pool, k, way.t), 0.0))
                            wasteful |= count > variable.upBound
                            program.add_row(("given", family, k), [(1.0, variable)], "==", count)
                for w, workload in enumerate(pool.workloads):
                    flows = [(1.0, v) for key, v in program.variables.items() if key[:2] == ("overflow", workload.workload)]
                    if flows:
                        program.add_row(("given sent", w), flows, "<=", way.sent_tps[w] * (1 + 1e-6) + 1e-6)
                if wasteful:
                    continue  # more replicas than are ever useful there; the program does not go so far
                assert solve(program, gap=0.0, time_limit_s=20).status == "optimal", (seed, way)
                compared += 1
    assert compared > 60


def test_ways_of_pools_with_auto_occupancy_are_checked_too() -> None:
    case = random_auto_case(3)
    prep = settle_spot_modes(drop_absorbed_days(drop_dominated_options(prepare(case, find_candidates(case)))))
    assert any(pool.pool.is_auto for pool in prep.pools)
    assert not any(can_cover(pool) for pool in prep.pools if pool.pool.is_auto)


def test_refit_of_ways_is_a_plan_of_the_whole_case_that_passes_the_audit() -> None:
    refits = 0
    for seed in SEEDS[:12]:
        prep = prep_of(seed)
        prices = prices_of(prep, 1)
        pools = tuple(pool for pool in prep.pools if can_use_columns(prep, pool))
        ways = [
            way
            for p, pool in enumerate(prep.pools)
            if pool in pools
            for t in range(len(pool.slices))
            if asks(pool, t)
            for way in PoolHour(prep, p, t).price(prices, 1e-3).columns
        ]
        refitted = refit(prep, pools, ways, 0.0, 20.0)
        if refitted is None:
            continue  # these ways take more nodes than can be had
        program = Program("plan")
        program.take_values(refitted[0])
        decision = extract(Frame(prep, program), {})
        candidates = find_candidates(prep.case)
        cost = price_decision(prep.case, candidates, decision).total
        assert audit_decision(prep.case, candidates, decision, cost).violations == ()
        refits += 1
    assert refits > 4


def test_a_program_without_any_cost_keeps_the_numbers_of_its_columns() -> None:
    """PuLP adds a column of its own to an empty objective; every number after it would be one too low."""
    program = Program("empty")
    low = program.add_variable(("low",), low=2.0, up=3.0)
    high = program.add_variable(("high",), low=5.0, up=6.0)
    program.add_row(("sum",), [(1.0, low), (1.0, high)], ">=", 7.0)
    program.close_with_cost()
    solve(program, gap=0.0, time_limit_s=5)
    values = program.problem.solverModel.getSolution().col_value
    numbers = program.column_numbers()
    assert 2.0 <= values[numbers[("low",)]] <= 3.0
    assert 5.0 <= values[numbers[("high",)]] <= 6.0
    assert program.problem.solverModel.getNumCol() == len(numbers)


def test_the_same_way_found_twice_is_one_column() -> None:
    prep, p = next(
        (prep, p) for prep in map(prep_of, SEEDS) for p, pool in enumerate(prep.pools) if can_use_columns(prep, pool)
    )
    t = next(t for t in range(len(prep.groups)) if asks(prep.pools[p], t))
    prices = prices_of(prep, 1)
    first, second = (PoolHour(prep, p, t).price(prices, 0.0).columns[0] for _ in range(2))
    assert first == second and len({first, second}) == 1
