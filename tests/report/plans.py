"""Results of `plan` made by hand, for the report: a reserved fleet, a mixed fleet with every kind of cost, and an API alone."""

from __future__ import annotations

import datetime
import math
from dataclasses import replace
from functools import cache

from optimizer.candidates.option import Candidates, Fit, Option, Rejection
from optimizer.domain.case import InputFile
from optimizer.domain.market import ApiPrice
from optimizer.domain.workload import Contingency
from optimizer.errors import Problem
from optimizer.plan.audit import audit_decision
from optimizer.plan.ledger import price_decision
from optimizer.plan.metrics import price_plan
from optimizer.plan.plan import Baselines
from optimizer.plan.warnings import plan_warnings
from optimizer.report.result import PlanResult, RunInfo
from optimizer.units import floor_hedged
from tests.plan import builders, test_audit_shifts, test_discounts
from tests.plan.builders import HOURS, Built, case, decision, overflow, workload

RUN = RunInfo(
    version="9.9.9",
    command="fleetsheet plan forecast.xlsx -o plan.xlsx",
    start_date=builders.START,
    inputs=(InputFile(file="forecast.xlsx", sha256="ab" * 32),),
    output="plan.xlsx",
    solver=builders.SOLVER,
    run_utc=datetime.datetime(2026, 11, 29, 8, 30),
)
HOSTILE_WORKLOAD, HOSTILE_POOL, HOSTILE_API = "=cmd|' /C calc'!A0", "+1+1", "@SUM(1)*"


def with_true_fit(built: Built) -> Built:
    """The hand-made candidates with the memory fit that their models and node types have."""

    def fitted(option: Option) -> Option:
        on = built.case.node_type(option.node_type)
        served = next(row for row in built.case.models if row.model == option.model)
        usable = option.gpus_taken * on.gpu_memory_gb * (1 - built.case.policy.overhead_frac)
        per_seq = (served.kv_gb_per_seq or 0.0) + served.state_gb_per_seq
        room = usable - served.weights_gb
        points = tuple(
            point.model_copy(
                update={
                    "fit": Fit(
                        usable_gb=usable, weights_gb=served.weights_gb, room_gb=room, per_seq_gb=per_seq,
                        sequences_asked=point.concurrency, sequences_left=floor_hedged(room / per_seq),
                        fits=room >= point.concurrency * per_seq,
                    )
                }
            )
            for point in option.points
        )  # fmt: skip
        return option.model_copy(update={"points": points})

    options = tuple(fitted(option) for option in built.candidates.options)
    return built._replace(candidates=built.candidates.model_copy(update={"options": options}))


def result_of(built: Built, below: float = 0.0) -> PlanResult:
    """The result of a hand-made plan, audited and priced; its bound lies `below` $/day under its cost."""
    built = with_true_fit(built)
    cost = price_decision(built.case, built.candidates, built.decision).total
    audit = audit_decision(built.case, built.candidates, built.decision, cost)
    assert audit.ok, audit.violations
    outcome = builders.outcome(built.decision, cost - below)
    baselines = Baselines(all_api=2 * cost, all_on_demand=1.5 * cost, reserved_at_peak=1.25 * cost)
    plan = price_plan(built.case, built.candidates, outcome, baselines)
    warnings = (
        *plan_warnings(built.case, built.candidates, plan),
        Problem("SCALED_FORMAT", "12800 shows as 12.8.", "Check it.", file="forecast.xlsx", sheet="Demand", cell="B2"),
    )
    return PlanResult(
        status=plan.status, run=RUN, case=built.case, candidates=built.candidates, plan=plan, audit=audit, warnings=warnings
    )


def api_only() -> Built:
    """No fleet; names that a spreadsheet could take for formulas or criteria, input by the hour, and a control character."""
    demand = [100.0 * (hour + 1) for hour in HOURS]
    row = workload(
        HOSTILE_WORKLOAD,
        demand,
        pool=HOSTILE_POOL,
        api=(HOSTILE_API,),
        prefix_hit_frac=0.25,
        output_tokens=200.0,
        input_tokens=800.0,
    )
    days = tuple(
        day.model_copy(update={"input_tps": tuple(3.0 * tps + hour for hour, tps in enumerate(demand))}) for day in row.demand
    )
    built = case(
        workloads=[row.model_copy(update={"demand": days})],
        contingencies=[],
        apis=[
            ApiPrice(
                api=HOSTILE_API, model="m", output_usd_per_mtok=8.0, input_usd_per_mtok=2.0, cached_input_usd_per_mtok=0.5,
                max_output_tps=5000.0, max_input_tps=20000.0, max_total_tps=20000.0, max_rpm=2000.0, provider="some\x0bbody",
                source="=1+1", as_of=builders.TODAY,
            )
        ],
    )  # fmt: skip
    made = decision(overflows=[overflow("day", hour, HOSTILE_WORKLOAD, HOSTILE_API, demand[hour]) for hour in HOURS])
    rejection = Rejection(
        code="NO_OFFER", reason="-1 node types are sold.", workload=HOSTILE_WORKLOAD, numbers=(("offers", 0.0),)
    )
    return Built(built, Candidates(options=(), offers=(), rejections=(rejection,)), made)


@cache
def seed1() -> PlanResult:
    """Brief 1: seven reserved nodes at a site."""
    return result_of(builders.seed1())


@cache
def mixed() -> PlanResult:
    """Two pools, two day types, owned, reserved, on-demand and spot nodes, a site, an API; a gap left open."""
    result = result_of(builders.rich(), below=100.0)
    assert result.plan is not None
    return replace(result, status="gap_open", plan=result.plan.model_copy(update={"status": "gap_open"}))


@cache
def api_alone() -> PlanResult:
    """Everything from one API."""
    return result_of(api_only())


@cache
def discounted() -> PlanResult:
    """On-demand nodes partly covered by a commitment."""
    return result_of(test_discounts.discounted())


@cache
def deferred() -> PlanResult:
    """Work that waits over midnight."""
    return result_of(test_audit_shifts.deferred())


def many(pools: int, day_types: int) -> PlanResult:
    """Many pools and day types on two GPUs, with elastic nodes over the held ones and an API at the peak."""
    days = {f"d{number}": 30.0 + number for number in range(day_types)}
    nodes = [builders.node_type("b8", gpu="B"), builders.node_type("h8", gpu="H")]
    rows = [builders.goodput(2400.0, gpu="B"), builders.goodput(1400.0, gpu="H")]
    demand = [10.0 + tps for tps in builders.SEED1_DEMAND]
    names = [f"p{number}" for number in range(pools)]
    offers = [
        builders.offer(f"{purchase}-{on}", purchase, node_type=on, used_usd_per_node_h=20.0,
                       **({} if purchase == "on_demand" else {"held_usd_per_node_h": 9.0, "term_months": 12.0}))
        for on in ("b8", "h8") for purchase in ("reserved", "on_demand")
    ]  # fmt: skip
    built = case(
        workloads=[workload(name, demand, days=tuple(days), api=("cloud",), api_max_frac=0.1) for name in names],
        days=days, node_types=nodes, goodput_rows=rows, offers=offers,
        contingencies=[Contingency(contingency="n+1", pools=tuple(names), replicas_lost=1)],
        apis=[ApiPrice(api="cloud", output_usd_per_mtok=10.0, as_of=builders.TODAY)],
    )  # fmt: skip
    options = {
        (name, on.node_type): builders.option(name, {name: row}, on)
        for name in names
        for on, row in zip(nodes, rows, strict=True)
    }
    used: dict[tuple[str, int, str], int] = {}
    counts, loads, flows = [], [], []
    for day in days:
        for hour in HOURS:
            to_api = 0.05 * demand[hour] if demand[hour] > 9000 else 0.0
            taken = {"b8": 0, "h8": 0}
            for number, name in enumerate(names):
                both = number % 3 == 0 and demand[hour] > 3000
                for on, share in (("b8", 0.6), ("h8", 0.4)) if both else (("b8", 1.0),):
                    option, tps = options[name, on], share * (demand[hour] - to_api)
                    live = math.ceil(tps / option.points[0].output_tps) + 2
                    taken[on] += live
                    counts.append(builders.replicas(day, hour, option, live))
                    loads.append(builders.load(day, hour, option, name, tps))
                if to_api:
                    flows.append(overflow(day, hour, name, "cloud", to_api))
            for on, nodes_taken in taken.items():
                used[day, hour, f"reserved-{on}"] = min(nodes_taken, 2 * pools)
                used[day, hour, f"on_demand-{on}"] = max(0, nodes_taken - 2 * pools)
    made = builders.decision(
        new={"reserved-b8": 2 * pools, "reserved-h8": 2 * pools}, used=used, replicas=counts, loads=loads, overflows=flows
    )
    return result_of(Built(built, Candidates(options=tuple(options.values()), offers=built.offers), made))


@cache
def auto() -> PlanResult:
    """Brief 2 with occupancy `auto`: 11 left of 12 at 0.62439 carry the work of 6.43 replicas; 12 + 3 as before."""
    built = builders.seed2()
    pools = tuple(row.model_copy(update={"occupancy_frac": None}) for row in built.case.pools)
    return result_of(built._replace(case=built.case.model_copy(update={"pools": pools})))


RESULTS = {
    "seed1": seed1, "mixed": mixed, "api_alone": api_alone, "discounted": discounted, "deferred": deferred, "auto": auto,
}  # fmt: skip
