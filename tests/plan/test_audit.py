"""Good plans pass; for every check a plan, or its case, broken on purpose must be caught, and say so."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.candidates.option import Candidates, Option
from optimizer.domain.case import Case
from optimizer.domain.market import Existing
from optimizer.domain.policy import Policy
from optimizer.plan.audit import AuditResult, audit_decision
from optimizer.plan.plan import Decision, NodesNew, NodeUse, ReplicaCount
from tests.plan.builders import RICH_COST, Built, change, load, overflow, replicas, rich, seed1, seed2


def audit(built: Built, cost: float = RICH_COST, bound: float | None = None) -> AuditResult:
    return audit_decision(built.case, built.candidates, built.decision, cost, claimed_bound=bound)


@pytest.mark.parametrize(("built", "cost"), [(seed1(), 3360.0), (seed2(), 1800.0), (rich(), RICH_COST)])
def test_good_plans_pass(built: Built, cost: float) -> None:
    result = audit(built, cost, cost)
    assert result.violations == ()
    assert (result.ok, result.notes) == (True, ())


RICH = rich()
CHAT, BULK = RICH.candidates.options


def recase(case: Case, **tables: Any) -> Case:
    """The case with some tables replaced, built anew: a copy would keep the slices of the old day types."""
    return Case(**{field: getattr(case, field) for field in Case.model_fields} | tables)


def with_decision(**tables: Any) -> Built:
    return RICH._replace(decision=RICH.decision.model_copy(update=tables))


def with_case(**tables: Any) -> Built:
    return RICH._replace(case=recase(RICH.case, **tables))


def with_rows(table: str, wanted: Callable[[Any], bool], **fields: Any) -> Built:
    """The rich plan with fields of some rows of its decision changed."""
    return with_decision(**{table: change(getattr(RICH.decision, table), wanted, **fields)})


def with_table(table: str, wanted: Callable[[Any], bool], **fields: Any) -> Built:
    """The rich plan on a case with fields of some rows changed."""
    return with_case(**{table: change(getattr(RICH.case, table), wanted, **fields)})


def with_policy(**fields: Any) -> Built:
    return with_case(policy=RICH.case.policy.model_copy(update=fields))


def with_option(**fields: Any) -> Built:
    """The rich plan with its chat option changed."""
    options = (CHAT.model_copy(update=fields), BULK)
    return RICH._replace(candidates=RICH.candidates.model_copy(update={"options": options}))


def with_chat_row(**fields: Any) -> Built:
    """The measurement behind chat changed, in the case and in the option alike: only what it says is wrong, not who says it."""
    point = CHAT.points[0]
    row = point.row.model_copy(update=fields)
    built = with_option(points=(point.model_copy(update={"row": row}), *CHAT.points[1:]))
    return built._replace(
        case=built.case.model_copy(update={"goodput": change(built.case.goodput, lambda r: r == point.row, **fields)})
    )


def at(day: str, hour: int, **keys: Any) -> Callable[[Any], bool]:
    """Rows of one slice whose fields have these values."""
    return lambda row: row.day_type == day and row.hour == hour and all(getattr(row, key) == value for key, value in keys.items())


def named(name: str, field: str) -> Callable[[Any], bool]:
    return lambda row: getattr(row, field) == name


WEEKEND_9 = ("weekend", 9)

BROKEN: dict[str, tuple[Built, str]] = {
    # rows
    "unknown offer bought": (
        with_decision(nodes_new=(*RICH.decision.nodes_new, NodesNew(offer="ghost", nodes_new=1))),
        "nodes_new: offer ghost is not in the case",
    ),
    "elastic offer bought": (
        with_decision(nodes_new=(*RICH.decision.nodes_new, NodesNew(offer="od8", nodes_new=1))),
        "offer od8 is on_demand; only held offers are bought",
    ),
    "unknown offer used": (
        with_decision(node_uses=(*RICH.decision.node_uses, NodeUse(day_type="weekday", hour=1, offer="ghost", used=1))),
        "node_uses: offer ghost",
    ),
    "unknown option": (with_rows("replicas", at(*WEEKEND_9, pool="bulk"), option="other"), "pool bulk has no option other"),
    "option of another pool": (
        with_rows("replicas", at(*WEEKEND_9, pool="bulk"), option=CHAT.option),
        f"pool bulk has no option {CHAT.option}",
    ),
    "unknown workload": (
        with_rows("loads", at(*WEEKEND_9, workload="bulk"), workload="x"),
        "loads: workload x is not in the case",
    ),
    "load on an option of another pool": (
        with_rows("loads", at(*WEEKEND_9, workload="bulk"), option=CHAT.option),
        f"workload bulk has no option {CHAT.option}",
    ),
    "unknown API": (with_rows("overflows", at(*WEEKEND_9, workload="bulk"), api="x"), "overflows: API x is not in the case"),
    "overflow of an unknown workload": (
        with_rows("overflows", at(*WEEKEND_9, workload="bulk"), workload="x"),
        "overflows: workload x is not in the case",
    ),
    "unknown day type": (with_rows("node_uses", at("weekday", 3), day_type="holiday"), "holiday hour 3 is not in the case"),
    "hour 24": (with_rows("replicas", at("weekday", 3), hour=24), "weekday hour 24 is not in the case"),
    "workload lists an unknown API": (
        with_table("workloads", named("bulk", "workload"), api=("cloud", "x")),
        "API x is not in the case",
    ),
    "offer of an unknown node type": (
        with_table("offers", named("od8", "offer"), node_type="x"),
        "node type x is not in the case",
    ),
    "offer at an unknown site": (with_table("offers", named("res8", "offer"), site="x"), "site x is not in the case"),
    "two rows of one key": (
        with_decision(node_uses=(*RICH.decision.node_uses, RICH.decision.node_uses[0])),
        "node_uses: weekday 0 res8 has two rows",
    ),
    "two purchase rows": (with_decision(nodes_new=RICH.decision.nodes_new * 2), "nodes_new: res8 has two rows"),
    "two load rows": (with_decision(loads=(*RICH.decision.loads, RICH.decision.loads[0])), "loads: weekday 0 chat"),
    "two overflow rows": (
        with_decision(overflows=(*RICH.decision.overflows, RICH.decision.overflows[0])),
        "overflows: weekday 0",
    ),
    "two replica rows": (
        with_decision(replicas=(*RICH.decision.replicas, RICH.decision.replicas[0])),
        "replicas: weekday 0 chat",
    ),
    "negative nodes": (with_rows("nodes_new", named("res8", "offer"), nodes_new=-2), "nodes_new of offer res8 is -2, below 0"),
    "half a node": (with_rows("node_uses", at(*WEEKEND_9, offer="res8"), used=2.5), "is 2.5, not a whole number"),
    "negative replicas": (with_rows("replicas", at(*WEEKEND_9, pool="bulk"), live=-1, total=-1), "is -1, below 0"),
    "more spot live than spot": (with_rows("replicas", at(*WEEKEND_9, pool="chat"), spot_live=2), "more than the 1 spot ones"),
    "more spot live than live": (with_rows("replicas", at(*WEEKEND_9, pool="chat"), live=0), "more than the 0 live ones"),
    "more firm live than firm": (with_rows("replicas", at(*WEEKEND_9, pool="chat"), total=4), "more than the 3 firm ones"),
    "negative load": (with_rows("loads", at(*WEEKEND_9, workload="code"), firm_tps=-1.0), "firm load of code"),
    "negative spot load": (with_rows("loads", at(*WEEKEND_9, workload="code"), spot_tps=-1.0), "spot load of code"),
    "infinite load": (with_rows("loads", at(*WEEKEND_9, workload="code"), firm_tps=float("inf")), "is inf tok/s"),
    "negative overflow": (with_rows("overflows", at(*WEEKEND_9, workload="chat"), tps=-1.0), "overflow of chat to cloud"),
    # service
    "demand short": (
        with_rows("loads", at(*WEEKEND_9, workload="chat"), firm_tps=1399.0),
        "demand of chat, weekend hour 9: 1999 of 2000 tok/s served, 1 short",
    ),
    "demand served twice": (
        with_rows("overflows", at(*WEEKEND_9, workload="bulk"), tps=51.0),
        "601 of 600 tok/s served, 1 too many",
    ),
    "demand forgotten": (
        with_decision(loads=tuple(row for row in RICH.decision.loads if row.workload != "bulk")),
        "demand of bulk, weekday hour 0: 50 of 600 tok/s served",
    ),
    "API share": (
        with_table("workloads", named("chat", "workload"), api_max_frac=0.09),
        "overflow of chat, weekday hour 0: 200 tok/s is 20 above api_max_frac",
    ),
    "API not listed": (with_table("workloads", named("bulk", "workload"), api=()), "cloud, which the workload does not list"),
    "API closed": (
        with_table("api_prices", named("cloud", "api"), hours=frozenset(range(9))),
        "hour 9: 200 tok/s to cloud outside its hours",
    ),
    "API output limit": (
        with_table("api_prices", named("cloud", "api"), max_output_tps=249.0),
        "250 is 1 above max_output_tps 249",
    ),
    "API input limit not known": (
        with_table("api_prices", named("cloud", "api"), max_input_tps=1.0),
        "max_input_tps is stated, chat does not",
    ),
    "API request limit not known": (
        with_table("api_prices", named("cloud", "api"), max_rpm=1.0),
        "max_rpm is stated, chat does not",
    ),
    "firm capacity": (
        with_rows("loads", at(*WEEKEND_9, workload="chat"), firm_tps=2600.0),
        "firm load takes 4.15 live replicas, there are 4, 0.15 short",
    ),
    "spot capacity": (
        with_rows("loads", at(*WEEKEND_9, workload="chat"), firm_tps=900.0, spot_tps=900.0),
        "spot load takes 1.125 live replicas, there are 1",
    ),
    "capacity of a pool without spare": (
        with_table("workloads", named("bulk", "workload"), burst_factor=1.2),
        "capacity of pool bulk, option m|fp8|g4|8||, weekday hour 0: firm load takes 1.1 live",
    ),
    "load on no replica": (
        with_rows("replicas", at(*WEEKEND_9, pool="bulk"), live=0),
        "firm load takes 0.916666667 live replicas, there are 0",
    ),
    "load without a point": (
        with_option(points=CHAT.points[:1]),
        "load of code, weekday hour 0: 200 tok/s on m|fp8|g8|4||, without a point for it",
    ),
    "rollout": (
        with_rows("replicas", at("weekend", 4, pool="chat"), total=6),
        "rollout of pool chat, option m|fp8|g8|4||, weekend hour 4: 6 replicas, 5 live need 6.25",
    ),
    "min_live": (
        with_table("pools", named("chat", "pool"), min_live=6),
        "min_live of pool chat, weekday hour 0: 5 live replicas, 1 short",
    ),
    "min_live without a row": (
        with_case(pools=change(RICH.case.pools, named("bulk", "pool"), min_live=2)),
        "min_live of pool bulk, weekday hour 0: 1 live replicas, 1 short",
    ),
    "spot share": (
        with_table("pools", named("chat", "pool"), spot_max_frac=0.15),
        "spot share of pool chat, weekday hour 0: 400 of 2000 tok/s is 100 more than spot_max_frac allows",
    ),
    "spot where none is allowed": (with_table("pools", named("chat", "pool"), spot_max_frac=0.0), "and spot_max_frac is 0"),
    # nodes and market
    "nodes short": (
        with_rows("node_uses", at(*WEEKEND_9, offer="res8"), used=1),
        "nodes of g8, weekend hour 9: firm replicas take 16 GPUs, 1 nodes in use have 8, 8 short",
    ),
    "spot nodes short": (
        with_rows("node_uses", at(*WEEKEND_9, offer="spot8"), used=0),
        "nodes of g8, weekend hour 9: spot replicas take 4 GPUs, 0 nodes in use have 0",
    ),
    "firm nodes do not carry spot replicas": (
        with_rows("replicas", at(*WEEKEND_9, pool="chat"), spot_live=3, spot_total=3),
        "nodes of g8, weekend hour 9: spot replicas take 12 GPUs, 1 nodes in use have 8",
    ),
    "a replica over two places": (
        with_decision(
            node_uses=(
                *change(RICH.decision.node_uses, at(*WEEKEND_9, offer="own4"), used=1),
                NodeUse(day_type="weekend", hour=9, offer="od4", used=1),
            )
        ),
        "nodes of g4, weekend hour 9: firm replicas of more than one node find no place",
    ),
    "used outside the offer's hours": (
        with_rows("node_uses", at("weekday", 5, offer="od8"), hour=6),
        "hour 6: 1 nodes used outside its hours",
    ),
    "more used than held": (with_rows("node_uses", at(*WEEKEND_9, offer="res8"), used=3), "3 nodes used, 2 held, 1 too many"),
    "more used than obtainable": (with_rows("node_uses", at(*WEEKEND_9, offer="spot8"), used=2), "2 nodes used, 1 obtainable"),
    "half a lot": (with_rows("nodes_new", named("res8", "offer"), nodes_new=3), "3 new nodes are not whole lots of 2"),
    "under the minimum": (with_table("offers", named("res8", "offer"), min_nodes=4), "2 new nodes, 2 under min_nodes 4"),
    "over the maximum": (with_table("offers", named("res8", "offer"), max_nodes=1), "2 new nodes, 1 over max_nodes 1"),
    "existing nodes invented": (with_case(existing=()), "offer own4: 2 existing nodes in the plan, 0 under contract"),
    "existing nodes forgotten": (
        with_case(existing=(*RICH.case.existing, Existing(offer="res8", nodes=1))),
        "offer res8: 0 existing nodes in the plan, 1 under contract",
    ),
    "existing nodes expired": (
        with_table("existing", named("own4", "offer"), expires=datetime.date(2026, 12, 31)),
        "offer own4: 2 existing nodes in the plan, 0 under contract on 2027-01-01",
    ),
    "ordered too late": (
        with_rows("nodes_new", named("res4", "offer"), nodes_new=1),
        "offer res4: should have been ordered by 2026-07-03, before today, 2026-11-29 (TOO_LATE)",
    ),
    "not a candidate": (with_rows("nodes_new", named("res4", "offer"), nodes_new=1), "offer res4: is taken and is not among"),
    "purchase not allowed": (with_policy(purchases=("reserved", "owned", "spot")), "offer od8: purchase on_demand is not among"),
    "provider not allowed": (with_policy(providers=("p",)), "offer od8: provider unstated is not among"),
    "region not allowed": (with_policy(regions=("r",)), "offer spot8: region unstated is not among"),
    "GPU of an offer not allowed": (with_policy(gpus=("H",)), "offer res8: gpu G is not among"),
    "racks": (with_table("sites", named("dc", "site"), racks=1), "site dc: 2 racks needed, 1 there, 1 short"),
    "rack power": (with_table("sites", named("dc", "site"), kw_per_rack=19.9), "site dc: 3 racks needed, 2 there"),
    "rack slots": (with_table("sites", named("dc", "site"), slots_per_rack=1), "site dc: 4 racks needed, 2 there"),
    "no node fits a rack": (with_table("sites", named("dc", "site"), kw_per_rack=9.9), "no node of type g8 fits a rack"),
    "site power": (with_table("sites", named("dc", "site"), total_kw=35.9), "site dc: 36 kW held, 35.9 there, 0.1 over"),
    "site power times pue": (with_table("sites", named("dc", "site"), pue=1.3), "site dc: 39 kW held, 36 there, 3 over"),
    "site without pue": (with_table("sites", named("dc", "site"), pue=None), "total_kw binds, and pue is not stated"),
    "node without kW at a site": (
        with_table("node_types", named("g4", "node_type"), node_kw=None),
        "node type g4 has no node_kw",
    ),
    # options
    "id of another option": (with_option(engine="vllm"), "its id does not say what it is: m|fp8|g8|4|vllm|"),
    "option of another GPU": (with_option(gpu="X"), "is for GPU X, and the node type has G"),
    "option of a larger node": (with_option(gpus_per_node=16), "counts 16 GPUs per node, and the node type has 8"),
    "option that claims to share a GPU": (
        with_option(replicas_per_gpu=2),
        "shares a GPU among 2 replicas, and its measurement among 1",
    ),
    "replica that does not divide a node": (
        with_table("node_types", named("g8", "node_type"), gpus_per_node=6),
        "4 GPUs per replica neither divide a node of 6",
    ),
    "replica beyond the span": (
        with_table("node_types", named("g4", "node_type"), replica_span_gpus=4),
        "8 GPUs per replica neither divide a node of 4",
    ),
    "node type gone": (with_case(node_types=RICH.case.node_types[:1]), "node type g4 is not in the case"),
    "node type not allowed in the pool": (
        with_table("pools", named("chat", "pool"), node_types=("g4",)),
        "node type g8 is not among those the pool allows",
    ),
    "GPU not allowed": (with_policy(gpus=("H",)), "GPU G is not among those the policy allows"),
    "model gone": (with_table("models", named("m", "model"), precision="bf16"), "the case has 0 rows of model m fp8"),
    "workload of another model": (
        with_table("workloads", named("code", "workload"), model="n"),
        "workload code: asks for model n",
    ),
    "workload of another precision": (
        with_table("workloads", named("code", "workload"), precision="bf16"),
        "workload code: asks for precision bf16",
    ),
    "point for a workload of another pool": (
        with_option(points=(*CHAT.points, CHAT.points[0].model_copy(update={"workload": "bulk"}))),
        "has a point for bulk, which is not in the pool",
    ),
    "measurement not in the case": (
        with_table("goodput", named("G", "gpu"), output_tps=999.0),
        "workload chat: its measurement of 1000 tok/s is not in the case",
    ),
    "measured on another GPU": (with_chat_row(gpu="X"), "was measured with GPU X"),
    "measured with another model": (with_chat_row(model="n"), "was measured with model n"),
    "measured at another precision": (with_chat_row(precision="bf16"), "was measured with precision bf16"),
    "measured on more GPUs": (with_chat_row(gpus_per_replica=8), "was measured on 8 GPUs"),
    "measured with another engine": (with_chat_row(engine="vllm"), "was measured with engine 'vllm'"),
    "measured with another config": (with_chat_row(config="tp2"), "was measured with config 'tp2'"),
    "measured on a share of a GPU": (with_chat_row(replicas_per_gpu=2), "was measured with 2 replicas on one GPU"),
    "estimated": (with_chat_row(kind="estimated"), "is of kind estimated, which the policy does not use"),
    "more planned than measured": (with_chat_row(output_tps=900.0), "plans 1000 tok/s, and 900 were measured"),
    "shape stated by the row only": (with_chat_row(input_tokens=100.0), "input_tokens is stated by the measurement only"),
    "latency stated by the workload only": (
        with_table("workloads", named("chat", "workload"), ttft_ms=500.0),
        "ttft_ms is stated by the workload only",
    ),
    "latency above the limit": (
        with_chat_row(tpot_ms=31.0)._replace(
            case=with_chat_row(tpot_ms=31.0).case.model_copy(
                update={"workloads": change(RICH.case.workloads, named("chat", "workload"), tpot_ms=30.0)}
            )
        ),
        "tpot_ms 31 was measured, 1 above the limit of 30",
    ),
    "another shape": (
        with_table("workloads", named("code", "workload"), output_tokens=200.0),
        "output_tokens 100 was measured, and 200 is asked",
    ),
    "distance of the shape hidden": (
        with_table("workloads", named("code", "workload"), output_tokens=200.0),
        "its shape is 0.693147 away from the workload's, and 0 is declared",
    ),
    "lighter shape hidden": (
        with_table("workloads", named("code", "workload"), input_tokens=1600.0),
        "was measured at a lighter shape than the workload's, and does not say so",
    ),
    "measured with more prefix hits": (
        with_chat_row(prefix_hit_frac=0.4),
        "prefix_hit_frac 0.4 was measured, above the workload's 0",
    ),
    "prefill without input": (
        with_chat_row(input_tps=100.0),
        "prefill was measured apart (input_tps), and the workload states no input",
    ),
    "heads": (with_table("models", named("m", "model"), attention_heads=6), "6 attention heads are not a multiple of tp 4"),
    "weights": (
        with_table("models", named("m", "model"), weights_gb=360.0),
        "memory: 361 GB needed, 360 GB usable, 1 GB too much",
    ),
    "sequences": (with_chat_row(concurrency=400.0), "memory: 450 GB needed, 360 GB usable"),
    "state": (with_table("models", named("m", "model"), state_gb_per_seq=310.0), "memory: 361 GB needed"),
    "overhead": (with_policy(overhead_frac=0.9), "memory: 51 GB needed, 40 GB usable"),
    "KV not known": (
        with_table("models", named("m", "model"), kv_gb_per_seq=None),
        "the KV memory of a sequence of model m is not stated",
    ),
    # bad days
    "replica lost": (
        with_table("contingencies", named("n+1", "contingency"), replicas_lost=2),
        "contingency n+1, pool chat, weekday hour 0: after losing 2 of m|fp8|g8|4|| the rest is ",
    ),
    "node lost": (
        with_table("contingencies", named("n+1", "contingency"), replicas_lost=0, nodes_lost=1),
        "after losing 2 of m|fp8|g8|4||",
    ),
    "spot lost": (
        with_decision(
            replicas=change(RICH.decision.replicas, at(*WEEKEND_9, pool="chat"), spot_live=2, spot_total=2),
            node_uses=RICH.decision.node_uses,
        ),
        "contingency spot gone, pool chat, weekend hour 9: with nothing lost the rest is ",
    ),
    "surge with nothing lost": (
        with_table("contingencies", named("spot gone", "contingency"), demand_surge_frac=0.26),
        "contingency spot gone, pool chat, weekday hour 0: with nothing lost",
    ),
    "absorbed more than others leave": (
        with_table("api_prices", named("cloud", "api"), max_output_tps=385.0),
        "contingency surge, pool chat, weekday hour 0: after losing 1 of",
    ),
    "absorbed by an API without a limit": (
        with_table("api_prices", named("cloud", "api"), max_output_tps=None),
        "contingency surge, pool chat, weekday hour 0",
    ),
    "share of replicas lost": (
        with_table("contingencies", named("n+1", "contingency"), replicas_lost=0, replicas_lost_frac=0.21),
        "after losing 2 of m|fp8|g8|4||",
    ),
    "not paid ahead": (
        with_table("pools", named("chat", "pool"), ready_hours=1)._replace(
            decision=RICH.decision.model_copy(
                update={"replicas": change(RICH.decision.replicas, at("weekend", 0, pool="chat"), live=6, total=6)}
            )
        ),
        "ready_hours of pool chat, option m|fp8|g8|4||, weekend hour 23: 4 firm replicas, 5 are live in hour 0",
    ),
    "standing quota": (
        with_table("pools", named("bulk", "pool"), fixed_nodes=1, fixed_node_type="g8"),
        "nodes of g8, weekday hour 0: firm replicas take 16 GPUs, 1 nodes in use have 8, 8 short",
    ),
    "standing quota without a node": (
        with_table("pools", named("bulk", "pool"), fixed_nodes=3, fixed_node_type="g8"),
        "nodes of g8, weekday hour 0: 2 in use, 3 are a standing quota (fixed_nodes), 1 short",
    ),
    "standing quota of an unknown type": (
        with_table("pools", named("bulk", "pool"), fixed_nodes=1, fixed_node_type="x"),
        "fixed_node_type x is not in the case",
    ),
    # waiting
    "occupancy auto": (
        with_table("pools", named("bulk", "pool"), occupancy_frac=None, wait_prob_max_frac=0.5),
        "waiting in pool bulk, weekday hour 0: 1 live replicas, those of m|fp8|g4|8|| busy 0.916667 of the time; 0.879257",
    ),
    "occupancy auto in another way": (
        with_table("pools", named("bulk", "pool"), occupancy_frac=None, wait_prob_max_frac=0.5),
        "capacity of pool bulk, option m|fp8|g4|8||, weekday hour 0: firm load takes 1.507",
    ),
    "nobody may wait": (
        with_table("pools", named("bulk", "pool"), occupancy_frac=None, wait_prob_max_frac=0.0),
        "pool bulk: wait_prob_max_frac 0.0 is no share that may wait",
    ),
    # not understood
    "pool of a workload gone": (
        with_table("workloads", named("bulk", "workload"), pool="x"),
        "workload bulk: pool x is not in the case",
    ),
    # money
    "upfront without a term": (with_table("offers", named("res8", "offer"), term_months=None), "money cannot be recounted"),
    "input price without input": (
        with_table("api_prices", named("cloud", "api"), input_usd_per_mtok=1.0),
        "money cannot be recounted: API cloud prices input, and workload chat states none",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_plans_are_caught_and_say_what_is_wrong(name: str) -> None:
    built, words = BROKEN[name]
    result = audit(built)
    assert not result.ok
    assert any(words in message for message in result.violations), result.violations


@pytest.mark.parametrize(
    ("cost", "bound", "words"),
    [
        (RICH_COST * (1 + 3e-6), None, "1216.403649 is claimed, +0.003649"),
        (RICH_COST * (1 - 3e-6), None, "is claimed, -0.003649"),
        (0.0, None, "0.000000 is claimed"),
        (float("nan"), None, "cost nan"),
        (float("inf"), None, "cost inf"),
        (RICH_COST, RICH_COST + 1.0, "the bound 1217.400000 $/day is 1.000000 above the cost"),
        (RICH_COST, float("nan"), "bound nan"),
    ],
)
def test_claims_about_money_are_caught(cost: float, bound: float | None, words: str) -> None:
    result = audit(RICH, cost, bound)
    assert any(words in message for message in result.violations), result.violations


def test_claims_within_rounding_pass() -> None:
    assert audit(RICH, RICH_COST * (1 + 5e-7), RICH_COST * (1 + 5e-7)).ok


PRICES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "held": ("offers", "res8", {"held_usd_per_node_h": 10.1}),
    "used": ("offers", "spot8", {"used_usd_per_node_h": 8.1}),
    "effective": ("offers", "spot8", {"effective_frac": 0.81}),
    "upfront": ("offers", "res8", {"upfront_usd_per_node": 366.0}),
    "term": ("offers", "res8", {"term_months": 11.0}),
    "hours": ("offers", "own4", {"hours": frozenset(range(23))}),
    "api": ("api_prices", "cloud", {"output_usd_per_mtok": 10.1}),
    "energy": ("sites", "dc", {"usd_per_kwh": 0.11}),
    "rent": ("sites", "dc", {"usd_per_kw_month": 36.6}),
    "pue": ("sites", "dc", {"pue": 1.19}),
    "kw": ("node_types", "g4", {"node_kw": 4.9}),
}
KEYS = {"offers": "offer", "api_prices": "api", "sites": "site", "node_types": "node_type"}


@pytest.mark.parametrize("name", PRICES)
def test_every_price_counts(name: str) -> None:
    table, row, fields = PRICES[name]
    result = audit(with_table(table, named(row, KEYS[table]), **fields))
    assert any("is claimed" in message for message in result.violations), result.violations


def test_day_weights_count() -> None:
    """Without the rollout on weekends od8 is used 4 h on 5 of 7 days; were there 3 days of weekend it would be 5 of 8."""
    wanted = at("weekend", 3, offer="od8")
    fewer = RICH.decision.model_copy(update={"node_uses": tuple(row for row in RICH.decision.node_uses if not wanted(row))})
    case = recase(RICH.case, pools=change(RICH.case.pools, named("chat", "pool"), rollout_frac=0.0))
    replicas_now = change(RICH.decision.replicas, at("weekend", 3, pool="chat"), total=5)
    built = RICH._replace(case=case, decision=fewer.model_copy(update={"replicas": replicas_now}))
    assert audit(built, RICH_COST - 30 * 2 / 7).ok
    longer = built._replace(case=recase(case, day_types=change(case.day_types, named("weekend", "day_type"), days=3.0)))
    assert not audit(longer, RICH_COST - 30 * 2 / 7).ok
    assert audit(longer, RICH_COST - 30 * 3 / 8).ok


INTEGERS = [
    (table, position, field)
    for table, fields in (
        ("nodes_new", ("nodes_new", "nodes_existing")),
        ("node_uses", ("used",)),
        ("replicas", ("live", "total", "spot_live", "spot_total")),
    )
    for position, row in enumerate(getattr(RICH.decision, table))
    for field in fields
    if getattr(row, field) > 0
]


@settings(derandomize=True, deadline=None)
@given(st.sampled_from(INTEGERS))
def test_one_less_of_any_integer_of_a_tight_plan_is_caught(which: tuple[str, int, str]) -> None:
    table, position, field = which
    rows = list(getattr(RICH.decision, table))
    rows[position] = rows[position].model_copy(update={field: getattr(rows[position], field) - 1})
    assert not audit(with_decision(**{table: tuple(rows)})).ok


FLOWS = [("loads", position) for position in range(len(RICH.decision.loads))] + [
    ("overflows", position) for position in range(len(RICH.decision.overflows))
]


@settings(derandomize=True, deadline=None)
@given(st.sampled_from(FLOWS), st.sampled_from([0.0, 0.5, 0.9999, 1.0001, 2.0]))
def test_any_flow_that_is_off_is_caught(which: tuple[str, int], factor: float) -> None:
    table, position = which
    rows = list(getattr(RICH.decision, table))
    field = "tps" if table == "overflows" else "firm_tps"
    rows[position] = rows[position].model_copy(update={field: getattr(rows[position], field) * factor})
    assert not audit(with_decision(**{table: tuple(rows)})).ok


@settings(derandomize=True, deadline=None)
@given(st.sampled_from(["nodes_new", "node_uses", "replicas", "loads", "overflows"]), st.data())
def test_any_row_left_out_is_caught(table: str, data: st.DataObject) -> None:
    rows = [row for row in getattr(RICH.decision, table) if not (isinstance(row, NodesNew) and row.offer == "res4")]
    gone = data.draw(st.integers(0, len(rows) - 1))
    assert not audit(with_decision(**{table: tuple(rows[:gone] + rows[gone + 1 :])})).ok


def test_seed1_needs_all_its_seven_nodes() -> None:
    built = seed1()
    six = built.decision.model_copy(
        update={
            "nodes_new": change(built.decision.nodes_new, named("flat", "offer"), nodes_new=6),
            "node_uses": change(built.decision.node_uses, named("flat", "offer"), used=6),
            "replicas": change(built.decision.replicas, lambda row: True, live=6, total=6),
        }
    )
    result = audit(built._replace(decision=six), 20.0 * 6 * 24)
    assert [message.split(":")[0] for message in result.violations] == [
        f"contingency n+1, pool chat, day hour {hour}" for hour in (13, 14, 15)
    ]


def test_seed2_needs_its_rollout_and_its_spare() -> None:
    built = seed2()
    for fields, words in (({"total": 14}, "rollout"), ({"live": 11}, "contingency n+1")):
        less = built.decision.model_copy(update={"replicas": change(built.decision.replicas, lambda row: True, **fields)})
        result = audit(built._replace(decision=less), 1800.0)
        assert len(result.violations) == 24
        assert all(message.startswith(words) for message in result.violations)


def test_zero_rows_mean_nothing() -> None:
    """Rows of 0, as a solver may leave them, neither help nor hurt."""
    decision: Decision = RICH.decision
    day, hour = WEEKEND_9
    zero = ReplicaCount(day_type=day, hour=hour, pool="chat", option=CHAT.option, live=0, total=0)
    other = Option.model_validate({**CHAT.model_dump(), "option": "m|fp8|g8|4|vllm|", "engine": "vllm"})
    candidates = Candidates(options=(*RICH.candidates.options, other), offers=RICH.candidates.offers)
    padded = decision.model_copy(
        update={
            "node_uses": (*decision.node_uses, NodeUse(day_type=day, hour=hour, offer="od8", used=0)),
            "replicas": (*decision.replicas, zero.model_copy(update={"option": other.option})),
            "loads": (*decision.loads, load(day, hour, other, "chat", 0.0)),
            "overflows": (*decision.overflows, overflow("weekday", 0, "code", "cloud", 0.0)),
        }
    )
    assert audit(RICH._replace(decision=padded, candidates=candidates)).violations == ()


def test_a_millionth_of_a_replica_is_rounding_and_a_thousandth_is_not() -> None:
    """One replica of bulk serves 600: 600.0006 take 1.000001 of it, 600.6 take 1.001."""
    for demand, ok in ((600.0006, True), (600.6, False)):
        workloads = change(
            RICH.case.workloads,
            named("bulk", "workload"),
            demand=tuple(
                day.model_copy(update={"output_tps": (demand + 50.0,) * 24}) for day in RICH.case.workload("bulk").demand
            ),
        )
        loads = change(RICH.decision.loads, named("bulk", "workload"), firm_tps=demand)
        built = RICH._replace(case=recase(RICH.case, workloads=workloads))
        assert audit(built._replace(decision=RICH.decision.model_copy(update={"loads": loads}))).ok is ok


def test_more_than_needed_is_no_violation() -> None:
    extra = change(RICH.decision.replicas, at(*WEEKEND_9, pool="chat"), total=5)
    assert audit(with_decision(replicas=extra)).ok
    spare = replicas(*WEEKEND_9, CHAT, 4, 5, spot_live=1)
    assert spare.total == 5


def test_policy_lists_join_without_case_and_hyphens() -> None:
    lists = Policy(
        start_date=RICH.case.policy.start_date,
        today=RICH.case.policy.today,
        purchases=("Reserved", "OWNED", "on demand", "spot"),
        gpus=("g", "h"),
    )
    assert audit(with_case(policy=lists)).ok
