"""Small cases, candidates and decisions written by hand, straight from the domain constructors. Nothing here is solved."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from optimizer.candidates.option import Candidates, Fit, OperatingPoint, Option
from optimizer.domain.base import Origin
from optimizer.domain.case import Case
from optimizer.domain.hardware import NodeType, Site
from optimizer.domain.market import ApiPrice, Existing, Offer
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
SEED1_DEMAND = (
    *(0.0, 0.0, 0.0, 0.0, 100.0, 300.0, 500.0, 900.0, 1800.0, 3200.0, 5400.0, 7900.0),
    *(10400.0, 12200.0, 12800.0, 12200.0, 10400.0, 7900.0, 5400.0, 3200.0, 1000.0, 300.0, 100.0, 0.0),
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
    """A decision; `used` is keyed by (day type, hour, offer)."""
    bought, there = new or {}, existing or {}
    return Decision(
        nodes_new=tuple(
            NodesNew(offer=name, nodes_new=bought.get(name, 0), nodes_existing=there.get(name, 0))
            for name in dict.fromkeys([*bought, *there])
        ),
        node_uses=tuple(
            NodeUse(day_type=day, hour=hour, offer=name, used=nodes) for (day, hour, name), nodes in (used or {}).items() if nodes
        ),
        replicas=tuple(replicas),
        loads=tuple(loads),
        overflows=tuple(overflows),
    )


def replicas(day: str, hour: int, of: Option, live: int, total: int | None = None, spot_live: int = 0) -> ReplicaCount:
    """Replicas of an option in one hour; as many in total as live unless said, all spot ones live."""
    return ReplicaCount(
        day_type=day,
        hour=hour,
        pool=of.pool,
        option=of.option,
        live=live,
        total=live if total is None else total,
        spot_live=spot_live,
        spot_total=spot_live,
    )


def load(day: str, hour: int, on: Option, name: str, firm_tps: float, spot_tps: float = 0.0) -> Load:
    return Load(day_type=day, hour=hour, workload=name, option=on.option, firm_tps=firm_tps, spot_tps=spot_tps)


def overflow(day: str, hour: int, name: str, api: str, tps: float) -> Overflow:
    return Overflow(day_type=day, hour=hour, workload=name, api=api, tps=tps)


def outcome(decided: Decision, bound: float) -> SolveOutcome:
    return SolveOutcome(status="optimal", decision=decided, cost_usd_per_day=None, bound_usd_per_day=bound, solver=SOLVER)


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
        sites=[
            Site(site="dc", racks=10, kw_per_rack=60.0, slots_per_rack=4, origin=Origin(file="plan.xlsx", sheet="Sites", row=2))
        ],
    )
    chosen = option("chat", {"chat": row}, nodes)
    running = [hour for hour in HOURS if SEED1_DEMAND[hour] > 0]
    made = decision(
        new={"flat": 7},
        used={("day", hour, "flat"): 7 for hour in running},
        replicas=[replicas("day", hour, chosen, 7) for hour in running],
        loads=[load("day", hour, chosen, "chat", SEED1_DEMAND[hour]) for hour in running],
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
        replicas=[replicas("day", hour, chosen, 12, 15) for hour in HOURS],
        loads=[load("day", hour, chosen, "chat", 9000.0) for hour in HOURS],
    )
    return Built(built, Candidates(options=(chosen,), offers=built.offers), made)


#: What `rich` costs in each part, $/day, by hand (see there).
RICH_PARTS = {"held": 492.0, "used": 384.0, "upfront": 2.0, "api": 216.0, "energy": 86.4, "site": 36.0, "discounts": 0.0}
RICH_COST = 1216.4
RICH_ROLLOUT_HOURS = frozenset(range(2, 6))


def rich() -> Built:
    """Two pools, two day types, six offers, an API and a site; every integer of the plan binds: one less must be caught.

    Pool chat (occupancy 0.8) on g8 in replicas of 4 GPUs. A tok/s of chat takes 1 / (1,000 x 0.8) = 0.00125 replicas; one of
    code, with prefill apart, 1.2 x (1/500 + 0.5 x 8/4,000) / 0.8 = 0.0045. 1,800 chat (200 more go to the API) and 200 code take
    2.25 + 0.9 = 3.15 replicas. There are 4 firm and 1 spot: losing any one leaves 4, and so does losing spot. Rollout of 25 % in
    hours 2-5: 7 in total, 6 of them firm on 3 nodes. Bad day surge: 2,600 chat and 260 code; code takes 1.17 of the 4 replicas
    left, the other 2.83 serve 2,264 chat, and the API 400 less the 50 of bulk.
    Pool bulk (batch) on g4: one replica over two nodes of one place, 550 of 600 tok/s, 50 to the API.
    Money: res8 2 x 10 x 24 = 480 held, 2 x 24 x 0.5 = 24 used, 2 x 1 upfront, 2 x 24 x 10 kW x 1.2 x 0.1 = 57.6 energy, and
    20 kW x 1.2 rent; own4 2 x 0.25 x 24 = 12 held, 28.8 energy, 10 kW x 1.2 rent; od8 4 h x 30 = 120; spot8 24 x 8 / 0.8 = 240;
    API 250 tok/s at 10 $/M = 9 $/h.
    """
    days = {"weekday": 5.0, "weekend": 2.0}
    g8, g4 = node_type("g8", 8, node_kw=10.0), node_type("g4", 4, gpu="H", replica_span_gpus=8, node_kw=5.0)
    chat_row = goodput(1000.0, 4)
    code_row = goodput(500.0, 4, input_tokens=800.0, output_tokens=100.0, input_tps=4000.0)
    bulk_row = goodput(600.0, 8, gpu="H")
    chat = option("chat", {"chat": chat_row, "code": code_row}, g8)
    bulk = option("bulk", {"bulk": bulk_row}, g4)
    built = case(
        workloads=[
            workload("chat", [2000.0] * 24, days=tuple(days), api=("cloud",), api_max_frac=0.1),
            workload(
                "code",
                [200.0] * 24,
                days=tuple(days),
                pool="chat",
                input_tokens=800.0,
                output_tokens=100.0,
                prefix_hit_frac=0.5,
                burst_factor=1.2,
            ),
            workload("bulk", [600.0] * 24, days=tuple(days), api=("cloud",)),
        ],
        pools=[
            Pool(
                pool="chat",
                occupancy_frac=0.8,
                rollout_frac=0.25,
                rollout_hours=RICH_ROLLOUT_HOURS,
                spot_max_frac=0.2,
                min_live=5,
            ),
            Pool(pool="bulk", kind="batch"),
        ],
        days=days,
        contingencies=[
            Contingency(contingency="n+1", pools=("chat",), replicas_lost=1),
            Contingency(contingency="spot gone", pools=("chat",), spot_lost_frac=1.0),
            Contingency(contingency="surge", pools=("chat",), replicas_lost=1, demand_surge_frac=0.3, api_absorbs=True),
        ],
        node_types=[g8, g4],
        goodput_rows=[chat_row, code_row, bulk_row],
        offers=[
            offer(
                "res8",
                held_usd_per_node_h=10.0,
                used_usd_per_node_h=0.5,
                upfront_usd_per_node=365.0,
                term_months=12.0,
                lot_nodes=2,
                min_nodes=2,
                max_nodes=2,
                site="dc",
            ),
            offer("own4", "owned", node_type="g4", held_usd_per_node_h=0.25, site="dc"),
            offer("od8", "on_demand", used_usd_per_node_h=30.0, max_nodes=1, hours=RICH_ROLLOUT_HOURS),
            offer("spot8", "spot", used_usd_per_node_h=8.0, effective_frac=0.8, max_nodes=1),
            offer("od4", "on_demand", node_type="g4", used_usd_per_node_h=9.0, provider="p", region="r"),
            offer("res4", node_type="g4", held_usd_per_node_h=5.0, term_months=12.0, site="dc", lead_weeks=26.0),
        ],
        existing=(Existing(offer="own4", nodes=2, expires=datetime.date(2030, 1, 1)),),
        apis=[ApiPrice(api="cloud", output_usd_per_mtok=10.0, max_output_tps=400.0, as_of=TODAY)],
        sites=[
            Site(
                site="dc",
                racks=2,
                kw_per_rack=20.0,
                slots_per_rack=4,
                total_kw=36.0,
                pue=1.2,
                usd_per_kwh=0.1,
                usd_per_kw_month=36.5,
            )
        ],
    )
    slices = [(day, hour) for day in days for hour in HOURS]
    used = {}
    for day, hour in slices:
        rolling = hour in RICH_ROLLOUT_HOURS
        used.update({(day, hour, "res8"): 2, (day, hour, "own4"): 2, (day, hour, "spot8"): 1, (day, hour, "od8"): int(rolling)})
    made = decision(
        new={"res8": 2, "res4": 0},
        existing={"own4": 2},
        used=used,
        replicas=[
            count
            for day, hour in slices
            for count in (
                replicas(day, hour, chat, 5, 7 if hour in RICH_ROLLOUT_HOURS else 5, spot_live=1),
                replicas(day, hour, bulk, 1),
            )
        ],
        loads=[
            row
            for day, hour in slices
            for row in (
                load(day, hour, chat, "chat", 1400.0, 400.0),
                load(day, hour, chat, "code", 200.0),
                load(day, hour, bulk, "bulk", 550.0),
            )
        ],
        overflows=[
            row
            for day, hour in slices
            for row in (overflow(day, hour, "chat", "cloud", 200.0), overflow(day, hour, "bulk", "cloud", 50.0))
        ],
    )
    usable = tuple(row for row in built.offers if row.offer != "res4")
    return Built(built, Candidates(options=(chat, bulk), offers=usable), made)
