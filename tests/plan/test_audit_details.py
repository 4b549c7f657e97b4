"""Parts of the audit that the rich plan does not reach: shared GPUs, awkward sizes, API token classes, KV memory."""

from __future__ import annotations

from typing import Any

import pytest

from optimizer.candidates.option import Candidates
from optimizer.domain.hardware import NodeType
from optimizer.domain.market import ApiPrice
from optimizer.domain.measurement import GoodputRow
from optimizer.domain.workload import DemandDay, Workload
from optimizer.plan import audit_packing
from optimizer.plan.audit import audit_decision
from optimizer.plan.audit_nodes import check_nodes
from optimizer.plan.audit_options import check_options
from optimizer.plan.audit_service import check_api_limits, check_rollout
from optimizer.plan.index import PlanIndex
from tests.plan.builders import (
    Built,
    case,
    change,
    decision,
    goodput,
    model,
    node_type,
    offer,
    option,
    overflow,
    policy,
    replicas,
    rich,
    seed2,
    workload,
)


def nodes_of(node: NodeType, counts: list[tuple[GoodputRow, int]], nodes: int) -> PlanIndex:
    """One hour of replicas of several sizes on nodes of one on-demand offer."""
    built = case(
        workloads=[workload("a", [1.0] * 24)],
        node_types=[node],
        goodput_rows=[row for row, _ in counts],
        offers=[offer("od", "on_demand", node_type=node.node_type)],
    )
    options = tuple(option("a", {"a": row}, node) for row, _ in counts)
    made = decision(
        used={("day", 0, "od"): nodes},
        replicas=[replicas("day", 0, chosen, count) for chosen, (_, count) in zip(options, counts, strict=True)],
    )
    return PlanIndex(built, Candidates(options=options, offers=built.offers), made)


#: 15 + 10 + 10 + 4 x 6 is 59 of 60, and no way to fill two nodes of 30 takes them all: beside 15 there is 10 or 6 + 6.
AWKWARD = [(goodput(20.0, 15), 1), (goodput(12.0, 10), 2), (goodput(7.0, 6), 4)]


def test_pieces_that_do_not_fit_although_their_sum_does() -> None:
    violations, notes = check_nodes(nodes_of(node_type("g30", 30), AWKWARD, 2))
    assert violations == ["nodes of g30, day hour 0: firm replicas do not fit on 2 whole nodes, though their GPUs add up"]
    assert notes == []
    assert check_nodes(nodes_of(node_type("g30", 30), AWKWARD, 3)) == ([], [])


def test_pieces_of_two_and_three_fill_nodes_of_six() -> None:
    g6, twos, threes = node_type("g6", 6), goodput(10.0, 2), goodput(20.0, 3)
    assert check_nodes(nodes_of(g6, [(threes, 3), (twos, 4)], 3)) == ([], [])
    violations, _ = check_nodes(nodes_of(g6, [(threes, 1), (twos, 5)], 2))
    assert violations == ["nodes of g6, day hour 0: firm replicas take 13 GPUs, 2 nodes in use have 12, 1 short"]


def test_a_packing_that_is_not_proven_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_packing, "SEARCH_LIMIT", 0)
    violations, notes = check_nodes(nodes_of(node_type("g30", 30), AWKWARD, 2))
    assert violations == []
    assert notes == ["nodes of g30, day hour 0: it is not proven that the firm replicas fit on 2 whole nodes"]


def test_spanning_replicas_and_small_ones_share_the_nodes() -> None:
    g4 = node_type("g4", 4, replica_span_gpus=8)
    spanning, small = goodput(50.0, 8), goodput(10.0, 2)
    assert check_nodes(nodes_of(g4, [(spanning, 1), (small, 2)], 3)) == ([], [])
    violations, _ = check_nodes(nodes_of(g4, [(spanning, 1), (small, 3)], 3))
    assert violations == ["nodes of g4, day hour 0: firm replicas take 14 GPUs, 3 nodes in use have 12, 2 short"]


def test_replicas_that_share_a_gpu_take_their_share() -> None:
    half, third, whole = goodput(10.0, 1, replicas_per_gpu=2), goodput(5.0, 1, replicas_per_gpu=3), goodput(30.0, 1)
    g2 = node_type("g2", 2)
    assert check_nodes(nodes_of(g2, [(half, 2), (third, 3)], 1)) == ([], [])
    assert check_nodes(nodes_of(g2, [(half, 2), (whole, 1)], 1)) == ([], [])
    violations, _ = check_nodes(nodes_of(g2, [(half, 3), (whole, 1)], 1))
    assert violations == ["nodes of g2, day hour 0: firm replicas take 2.5 GPUs, 1 nodes in use have 2, 0.5 short"]


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"max_output_tps": 100.0, "max_input_tps": 800.0, "max_total_tps": 900.0, "max_rpm": 60.0}, None),
        ({"max_output_tps": 99.0}, "100 is 1 above max_output_tps 99"),
        ({"max_input_tps": 799.0}, "800 is 1 above max_input_tps 799"),
        ({"max_total_tps": 899.0}, "900 is 1 above max_total_tps 899"),
        ({"max_rpm": 59.0}, "60 is 1 above max_rpm 59"),
    ],
)
def test_api_limits_by_token_class(limits: dict[str, float], words: str | None) -> None:
    """60 tok/s at 10 input per output and 40 at 5: 800 input, 900 in all; at 100 output tokens a request 60 requests a minute."""
    built = case(
        workloads=[
            workload("a", [60.0] * 24, api=("x",), input_tokens=1000.0, output_tokens=100.0),
            workload("b", [40.0] * 24, api=("x",), input_tokens=500.0, output_tokens=100.0),
        ],
        apis=[ApiPrice(api="x", output_usd_per_mtok=1.0, **limits)],
    )
    made = decision(overflows=[overflow("day", 0, "a", "x", 60.0), overflow("day", 0, "b", "x", 40.0)])
    messages = check_api_limits(PlanIndex(built, Candidates(options=(), offers=()), made))
    assert [words in message for message in messages] == ([True] if words else []), messages


def test_api_limits_use_the_input_of_the_hour() -> None:
    day = DemandDay(day_type="day", output_tps=(10.0,) * 24, input_tps=(10.0,) * 12 + (90.0,) * 12)
    built = case(
        workloads=[Workload(workload="a", pool="a", model="m", api=("x",), demand=(day,))],
        apis=[ApiPrice(api="x", output_usd_per_mtok=1.0, max_input_tps=50.0)],
    )
    made = decision(overflows=[overflow("day", hour, "a", "x", 10.0) for hour in (0, 23)])
    (message,) = check_api_limits(PlanIndex(built, Candidates(options=(), offers=()), made))
    assert message == "API x, day hour 23: 90 is 40 above max_input_tps 50"


@pytest.mark.parametrize(
    ("served", "measured", "too_much_gb"),
    [
        ({"attention": "gqa", "kv_heads": 8}, {"tp": 4}, None),
        # tp over kv_heads: KV twice. 100 sequences of 3,000 tokens x 100 kB = 30 GB.
        ({"attention": "gqa", "kv_heads": 2}, {"tp": 4}, 1),
        ({"attention": "MLA"}, {"tp": 4}, 3),
        ({"attention": "mla", "kv_data_parallel": True}, {"tp": 4}, None),
        ({"kv_bytes_per_token": 200_000.0}, {"tp": 4}, 1),
        ({"kv_bytes_per_token": 0.0}, {"tp": 4}, None),
    ],
)
def test_kv_memory(served: dict[str, Any], measured: dict[str, Any], too_much_gb: int | None) -> None:
    """4 GPUs of 100 GB less 10 % are 360; weights 330 leave 30, which 100 sequences of 0.3 GB take exactly."""
    nodes = node_type()
    row = goodput(10.0, 4, concurrency=100.0, input_tokens=2000.0, output_tokens=1000.0, **measured)
    built = case(
        workloads=[workload("a", [1.0] * 24, input_tokens=2000.0, output_tokens=1000.0)],
        node_types=[nodes],
        models=[model(**{"weights_gb": 330.0, "kv_gb_per_seq": None, "kv_bytes_per_token": 100_000.0, **served})],
        goodput_rows=[row],
    )
    chosen = option("a", {"a": row}, nodes)
    made = decision(replicas=[replicas("day", 0, chosen, 1)])
    messages = check_options(PlanIndex(built, Candidates(options=(chosen,), offers=()), made))
    assert [f"{30 * too_much_gb:g} GB too much" in message for message in messages] == [True] if too_much_gb else messages == []


def test_tokens_of_a_sequence_come_from_the_row_the_workload_or_the_context() -> None:
    nodes, row = node_type(), goodput(10.0, 4, concurrency=100.0)
    for context, fits in ((3000.0, True), (3001.0, False)):
        built = case(
            workloads=[workload("a", [1.0] * 24)],
            node_types=[nodes],
            models=[model(weights_gb=330.0, kv_gb_per_seq=None, kv_bytes_per_token=100_000.0, context_tokens=context)],
            goodput_rows=[row],
        )
        chosen = option("a", {"a": row}, nodes)
        made = decision(replicas=[replicas("day", 0, chosen, 1)])
        assert (check_options(PlanIndex(built, Candidates(options=(chosen,), offers=()), made)) == []) is fits


def test_a_nearest_shape_passes_where_it_is_declared() -> None:
    nodes, row = node_type(), goodput(10.0, 4, input_tokens=2000.0, output_tokens=100.0)
    built = case(
        workloads=[workload("a", [1.0] * 24, input_tokens=1000.0, output_tokens=100.0)],
        node_types=[nodes],
        goodput_rows=[row],
        policy=policy(shape="nearest"),
    )
    chosen = option("a", {"a": row}, nodes)
    point = chosen.points[0].model_copy(update={"shape_distance": 0.6931471805599453})
    honest = chosen.model_copy(update={"points": (point,)})
    made = decision(replicas=[replicas("day", 0, chosen, 1)])
    assert check_options(PlanIndex(built, Candidates(options=(honest,), offers=()), made)) == []
    assert len(check_options(PlanIndex(built, Candidates(options=(chosen,), offers=()), made))) == 1


def test_rollout_is_forgiven_rounding_and_nothing_more() -> None:
    """(1 + 0.1) x 10 is 11.000000000000002 in floating point: 11 replicas are enough."""
    built = seed2()
    tenth = change(built.case.pools, lambda row: True, rollout_frac=0.1)
    for total, caught in ((11, 0), (10, 24)):
        counts = change(built.decision.replicas, lambda row: True, live=10, total=total)
        made = built.decision.model_copy(update={"replicas": counts})
        index = PlanIndex(built.case.model_copy(update={"pools": tenth}), built.candidates, made)
        assert len(check_rollout(index)) == caught


def test_a_contract_that_ends_on_the_start_date_still_counts() -> None:
    built = rich()
    ends = change(built.case.existing, lambda row: True, expires=built.case.policy.start_date)
    assert audit_decision(built.case.model_copy(update={"existing": ends}), built.candidates, built.decision, 1216.4).ok


def test_existing_nodes_of_an_offer_that_may_not_be_bought_still_serve() -> None:
    """own4 is held already: neither the policy's purchases nor its lead time matter."""
    built: Built = rich()
    case_now = built.case.model_copy(
        update={
            "offers": change(built.case.offers, lambda row: row.offer == "own4", lead_weeks=52.0, max_nodes=0),
            "policy": built.case.policy.model_copy(update={"purchases": ("reserved", "on_demand", "spot")}),
        }
    )
    assert audit_decision(case_now, built.candidates, built.decision, 1216.4).violations == ()
