"""Small cases, candidates and decisions written by hand, straight from the domain constructors. Nothing here is solved."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from optimizer.candidates.option import Candidates, Fit, OperatingPoint, Option
from optimizer.domain.base import Origin
from optimizer.domain.case import Case
from optimizer.domain.hardware import NodeType, Site
from optimizer.domain.market import ApiPrice, Offer
from optimizer.domain.measurement import GoodputRow
from optimizer.domain.model import ServedModel
from optimizer.domain.policy import Policy
from optimizer.domain.workload import Contingency, DayType, DemandDay, Pool, Workload
from optimizer.plan.plan import Decision, Load, NodesNew, NodeUse, Overflow, ReplicaCount, SolveOutcome, SolverInfo

TODAY = datetime.date(2026, 11, 29)
START = datetime.date(2027, 1, 1)
HOURS = range(24)
SOLVER = SolverInfo(name="by hand", version="0", seconds=0.0, pulp="0")

#: Demand of seed 1: 4,000 tok/s in the mean, 12,800 at the peak, in the shape of a smooth day.
SEED1_DEMAND = tuple(
    [0.0, 0.0, 0.0, 0.0, 100.0, 300.0, 500.0, 900.0, 1800.0, 3200.0, 5400.0, 7900.0]
    + [10400.0, 12200.0, 12800.0, 12200.0, 10400.0, 7900.0, 5400.0, 3200.0, 1000.0, 300.0, 100.0, 0.0]
)


class Built(NamedTuple):
    """A case with the candidates and the decision that belong to it."""

    case: Case
    candidates: Candidates
    decision: Decision


def policy(**fields: Any) -> Policy:
    return Policy(**{"start_date": START, "today": TODAY, **fields})


def workload(name: str, output_tps: Sequence[float], *, days: Sequence[str] = ("day",), **fields: Any) -> Workload:
    """A workload of model `m` in a pool of its own name, with the same demand on every day type."""
    demand = tuple(DemandDay(day_type=day, output_tps=tuple(output_tps)) for day in days)
    return Workload(**{"workload": name, "pool": name, "model": "m", "demand": demand, **fields})


def node_type(name: str = "g8", gpus_per_node: int = 8, **fields: Any) -> NodeType:
    given = {"gpu": "G", "gpu_memory_gb": 100.0, "replica_span_gpus": gpus_per_node, **fields}
    return NodeType(node_type=name, gpus_per_node=gpus_per_node, **given)


def model(**fields: Any) -> ServedModel:
    return ServedModel(**{"model": "m", "precision": "fp8", "weights_gb": 50.0, "kv_gb_per_seq": 1.0, **fields})


def goodput(output_tps: float, gpus_per_replica: int = 8, **fields: Any) -> GoodputRow:
    given = {"model": "m", "precision": "fp8", "gpu": "G", "tp": gpus_per_replica, "as_of": TODAY, **fields}
    return GoodputRow(output_tps=output_tps, gpus_per_replica=gpus_per_replica, **given)


def offer(name: str, purchase: str = "reserved", **fields: Any) -> Offer:
    return Offer(**{"offer": name, "node_type": "g8", "purchase": purchase, "as_of": TODAY, **fields})


FIT = Fit(usable_gb=720.0, weights_gb=50.0, room_gb=670.0, per_seq_gb=1.0, sequences_asked=1.0, sequences_left=670, fits=True)


def option(pool: str, rows: Mapping[str, GoodputRow], on: NodeType) -> Option:
    """An option of one pool from the row behind each of its workloads."""
    row = next(iter(rows.values()))
    share = row.replicas_per_gpu
    size = f"1/{share}" if share > 1 else str(row.gpus_per_replica)
    points = tuple(
        OperatingPoint(
            workload=name, output_tps=row.output_tps, input_tps=row.input_tps, concurrency=row.concurrency, row=row, fit=FIT
        )
        for name, row in rows.items()
    )
    return Option(
        option="|".join((row.model, row.precision, on.node_type, size, row.engine, row.config)),
        pool=pool,
        model=row.model,
        precision=row.precision,
        node_type=on.node_type,
        gpu=on.gpu,
        gpus_per_node=on.gpus_per_node,
        gpus_per_replica=row.gpus_per_replica,
        engine=row.engine,
        config=row.config,
        points=points,
        replicas_per_gpu=share,
    )


def case(
    *,
    workloads: Iterable[Workload],
    pools: Iterable[Pool] | None = None,
    days: Mapping[str, float] | None = None,
    contingencies: Iterable[Contingency] = (),
    node_types: Iterable[NodeType] = (),
    models: Iterable[ServedModel] = (),
    goodput_rows: Iterable[GoodputRow] = (),
    offers: Iterable[Offer] = (),
    apis: Iterable[ApiPrice] = (),
    sites: Iterable[Site] = (),
    **fields: Any,
) -> Case:
    """A case; by default one day type, a plain pool per pool name, one node type of 8 GPUs and one model."""
    listed = tuple(workloads)
    names = dict.fromkeys(row.pool for row in listed)
    return Case(
        **{
            "day_types": tuple(DayType(day_type=day, days=n) for day, n in (days or {"day": 1.0}).items()),
            "workloads": listed,
            "pools": tuple(pools) if pools is not None else tuple(Pool(pool=name) for name in names),
            "contingencies": tuple(contingencies),
            "policy": policy(),
            "node_types": tuple(node_types) or (node_type(),),
            "models": tuple(models) or (model(),),
            "goodput": tuple(goodput_rows),
            "offers": tuple(offers),
            "api_prices": tuple(apis),
            "sites": tuple(sites),
            **fields,
        }
    )


def decision(
    *,
    new: Mapping[str, int] | None = None,
    existing: Mapping[str, int] | None = None,
    used: Mapping[tuple[str, int, str], int] | None = None,
    replicas: Iterable[ReplicaCount] = (),
    loads: Iterable[Load] = (),
    overflows: Iterable[Overflow] = (),
) -> Decision:
    names = dict.fromkeys([*(new or {}), *(existing or {})])
    return Decision(
        nodes_new=tuple(
            NodesNew(offer=name, nodes_new=(new or {}).get(name, 0), nodes_existing=(existing or {}).get(name, 0)) for name in names
        ),
        node_uses=tuple(NodeUse(day_type=day, hour=hour, offer=name, used=n) for (day, hour, name), n in (used or {}).items() if n),
        replicas=tuple(replicas),
        loads=tuple(loads),
        overflows=tuple(overflows),
    )


def outcome(decided: Decision, bound: float, status: str = "optimal") -> SolveOutcome:
    return SolveOutcome(status=status, decision=decided, cost_usd_per_day=None, bound_usd_per_day=bound, solver=SOLVER)  # type: ignore[arg-type]


def change(rows: Iterable[Any], wanted: Callable[[Any], bool], **fields: Any) -> tuple[Any, ...]:
    """The rows with `fields` changed in those that are wanted; at least one must be."""
    listed = tuple(rows)
    assert any(wanted(row) for row in listed), "nothing to change"
    return tuple(row.model_copy(update=fields) if wanted(row) else row for row in listed)


def seed1() -> Built:
    """Brief 1: peak 12,800 at 2,400 with N+1 is 7 replicas of 8 GPUs: 56 GPUs, 7 nodes, 2 racks of 4, 140 $/h at 2.50 $/GPU-h."""
    nodes = node_type("b300x8", 8, gpu="B300", gpu_memory_gb=288.4, node_kw=14.3)
    row = goodput(2400.0, 8, gpu="B300", model="glm-5.3", origin=Origin(file="catalogs/goodput.csv", sheet="Goodput", row=2))
    built = case(
        workloads=[workload("chat", SEED1_DEMAND, model="glm-5.3", precision="fp8")],
        contingencies=[Contingency(contingency="n+1", pools=("chat",), replicas_lost=1)],
        node_types=[nodes],
        models=[model(model="glm-5.3", weights_gb=760.0)],
        goodput_rows=[row],
        offers=[
            offer(
                "flat",
                node_type="b300x8",
                held_usd_per_node_h=20.0,
                term_months=12.0,
                site="dc",
                origin=Origin(file="plan.xlsx", sheet="Offers", row=5),
            )
        ],
        sites=[Site(site="dc", racks=10, kw_per_rack=60.0, slots_per_rack=4, origin=Origin(file="plan.xlsx", sheet="Sites", row=2))],
    )
    chosen = option("chat", {"chat": row}, nodes)
    running = [hour for hour in HOURS if SEED1_DEMAND[hour] > 0]
    made = decision(
        new={"flat": 7},
        used={("day", hour, "flat"): 7 for hour in running},
        replicas=[ReplicaCount(day_type="day", hour=hour, pool="chat", option=chosen.option, live=7, total=7) for hour in running],
        loads=[
            Load(day_type="day", hour=hour, workload="chat", option=chosen.option, firm_tps=SEED1_DEMAND[hour]) for hour in running
        ],
    )
    return Built(built, Candidates(options=(chosen,), offers=built.offers), made)


def seed2() -> Built:
    """Brief 2: 9,000 at 1,400 and occupancy 0.6 is 11 replicas, + 1 spare, + 3 for the rollout: 15 of 2 GPUs, 1,800 $/day."""
    nodes = node_type("80gx2", 2, gpu="80GB", gpu_memory_gb=80.0)
    row = goodput(1400.0, 2, gpu="80GB", model="70b", precision="int8", concurrency=46.0)
    built = case(
        workloads=[workload("chat", [9000.0] * 24, model="70b", precision="int8")],
        pools=[Pool(pool="chat", occupancy_frac=0.6, rollout_frac=0.25)],
        contingencies=[Contingency(contingency="n+1", pools=("chat",), replicas_lost=1)],
        node_types=[nodes],
        models=[model(model="70b", precision="int8", weights_gb=70.0, kv_gb_per_seq=1.6)],
        goodput_rows=[row],
        offers=[offer("flat", node_type="80gx2", held_usd_per_node_h=5.0, term_months=12.0)],
    )
    chosen = option("chat", {"chat": row}, nodes)
    made = decision(
        new={"flat": 15},
        used={("day", hour, "flat"): 15 for hour in HOURS},
        replicas=[ReplicaCount(day_type="day", hour=hour, pool="chat", option=chosen.option, live=12, total=15) for hour in HOURS],
        loads=[Load(day_type="day", hour=hour, workload="chat", option=chosen.option, firm_tps=9000.0) for hour in HOURS],
    )
    return Built(built, Candidates(options=(chosen,), offers=built.offers), made)
