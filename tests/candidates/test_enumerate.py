"""Options of a case, every code of a rejected option, refusals, warnings."""

from __future__ import annotations

from typing import Any

import pytest

from optimizer.candidates.codes import RejectionCode
from optimizer.candidates.option import Candidates
from tests.candidates.build import GOODPUT, MODEL, NODE_TYPE, OFFER, POOL, WORKLOAD, case, codes, find, policy, refusals

SLO: dict[str, Any] = {"ttft_ms": 300, "tpot_ms": 50}
SHAPE: dict[str, Any] = {"input_tokens": 1000, "output_tokens": 200}
OTHER_NODE: dict[str, Any] = {**NODE_TYPE, "node_type": "other", "gpu": "X"}


def change(table: dict[str, Any], **values: Any) -> list[dict[str, Any]]:
    return [{**table, **values}]


def only_rejection(found: Candidates) -> str:
    """The code of the one rejection of workload chat (offers aside); the case has no option."""
    assert found.options == ()
    mine = found.rejections_of("chat")
    assert len(mine) == 1
    assert mine[0].model == "70b"
    assert mine[0].precision == "int8"
    assert mine[0].reason.startswith("Not used: ")
    return mine[0].code


def test_the_small_case_has_one_option() -> None:
    found = find()
    assert [option.option for option in found.options] == ["70b|int8|80gx8|2||"]
    option = found.options[0]
    assert (option.pool, option.gpu, option.gpus_per_node, option.gpus_per_replica) == ("chat", "G80", 8, 2)
    point = option.point("chat")
    assert point is not None
    assert (point.output_tps, point.concurrency, point.fit.sequences_left) == (1400, 46, 46)
    assert point.fit.room_gb == pytest.approx(74)
    assert point.unstated == ("input_tokens", "output_tokens", "ttft_ms", "tpot_ms")
    assert not point.shape_lighter
    assert not point.latency_unknown
    assert found.rejections == ()
    assert found.warnings == ()
    assert [offer.offer for offer in found.offers] == ["flat"]
    assert found.options_for("chat") == found.options
    assert found.options_for("nobody") == ()


def test_option_ids_name_engine_and_config() -> None:
    rows = [
        {**GOODPUT, "engine": "vllm", "config": "tp2"},
        {**GOODPUT, "engine": "vllm", "config": "tp2 fp8 kv", "output_tps": 1500},
    ]
    assert [option.option for option in find(goodput=rows).options] == [
        "70b|int8|80gx8|2|vllm|tp2",
        "70b|int8|80gx8|2|vllm|tp2 fp8 kv",
    ]


def test_an_option_per_node_type_with_the_gpu_and_per_size() -> None:
    nodes = [NODE_TYPE, {**NODE_TYPE, "node_type": "80gx4", "gpus_per_node": 4, "replica_span_gpus": 8}]
    rows = [GOODPUT, {**GOODPUT, "gpus_per_replica": 8, "gpu": "g-80"}]
    offers = [OFFER, {**OFFER, "offer": "small", "node_type": "80gx4"}]
    found = find(node_types=nodes, goodput=rows, offers=offers)
    assert [(option.node_type, option.gpus_per_replica, option.nodes_per_replica) for option in found.options] == [
        ("80gx8", 2, 1),
        ("80gx8", 8, 1),
        ("80gx4", 2, 1),
        ("80gx4", 8, 2),
    ]
    assert [option.spans_nodes for option in found.options] == [False, False, False, True]
    assert [option.replicas_per_node for option in found.options] == [4, 1, 2, 1]


def test_goodput_is_the_highest_row_that_matches_and_fits() -> None:
    rows = [
        {**GOODPUT, **SHAPE, "output_tps": 900, "concurrency": 20, "ttft_ms": 150, "tpot_ms": 20, "latency_stat": "p99"},
        {**GOODPUT, **SHAPE, "output_tps": 1300, "concurrency": 40, "ttft_ms": 290, "tpot_ms": 45, "latency_stat": "p99"},
        {**GOODPUT, **SHAPE, "output_tps": 1350, "concurrency": 46, "ttft_ms": 400, "tpot_ms": 50, "latency_stat": "p99"},
        {**GOODPUT, **SHAPE, "output_tps": 2000, "concurrency": 90, "ttft_ms": 200, "tpot_ms": 45, "latency_stat": "p99"},
    ]
    found = find(goodput=rows, workloads=change(WORKLOAD, **SLO, **SHAPE))
    assert len(found.options) == 1
    assert found.options[0].points[0].output_tps == 1300
    assert found.options[0].points[0].unstated == ()
    # 90 sequences do not fit in 46; that the third row is slower than asked is no news.
    assert codes(found) == ["SEQUENCES_DO_NOT_FIT"]
    assert [warning.code for warning in found.warnings] == ["MEASURED_BUT_DOES_NOT_FIT"]


def test_first_of_equal_rows_and_no_dependence_on_their_order_otherwise() -> None:
    rows = [{**GOODPUT, "source": "a"}, {**GOODPUT, "source": "b"}, {**GOODPUT, "output_tps": 1000, "source": "c"}]
    assert find(goodput=rows).options[0].points[0].row.source == "a"
    assert find(goodput=rows[::-1]).options[0].points[0].row.source == "b"


def test_workloads_of_a_pool_share_options_and_have_their_own_points() -> None:
    workloads = [{**WORKLOAD, **SHAPE}, {**WORKLOAD, "workload": "long", "input_tokens": 8000, "output_tokens": 500}]
    rows = [{**GOODPUT, **SHAPE}, {**GOODPUT, "input_tokens": 8000, "output_tokens": 500, "output_tps": 600}]
    found = find(workloads=workloads, goodput=rows)
    assert len(found.options) == 1
    assert [(point.workload, point.output_tps) for point in found.options[0].points] == [("chat", 1400), ("long", 600)]
    assert found.rejections == ()


def test_a_workload_may_lack_a_point_on_an_option() -> None:
    workloads = [{**WORKLOAD, **SHAPE}, {**WORKLOAD, "workload": "long", "input_tokens": 8000, "output_tokens": 500}]
    found = find(workloads=workloads, goodput=change(GOODPUT, **SHAPE))
    assert found.options[0].point("long") is None
    assert [rejection.code for rejection in found.rejections_of("long")] == ["OTHER_SHAPE"]
    assert found.rejections_of("chat") == ()


def test_pools_have_options_of_their_own() -> None:
    pools = [POOL, {"pool": "night", "kind": "batch"}]
    found = find(pools=pools, workloads=[WORKLOAD, {**WORKLOAD, "workload": "jobs", "pool": "night"}])
    assert [(option.pool, option.option) for option in found.options] == [
        ("chat", "70b|int8|80gx8|2||"),
        ("night", "70b|int8|80gx8|2||"),
    ]
    assert [option.pool for option in found.options_of("night")] == ["night"]


# Rejections --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "tables"),
    [
        (RejectionCode.GPU_NOT_ALLOWED, {"policy": policy(gpus="B300")}),
        (RejectionCode.NO_NODE_TYPE, {"goodput": change(GOODPUT, gpu="H100"), "offers": []}),
        (RejectionCode.NODE_TYPE_NOT_ALLOWED, {"node_types": [NODE_TYPE, OTHER_NODE], "pools": change(POOL, node_types="other")}),
        (RejectionCode.NO_OFFER, {"offers": []}),
        (RejectionCode.NO_OFFER, {"offers": change(OFFER, lead_weeks=50)}),
        (RejectionCode.REPLICA_SIZE, {"goodput": change(GOODPUT, gpus_per_replica=3)}),
        (RejectionCode.REPLICA_SIZE, {"goodput": change(GOODPUT, gpus_per_replica=16)}),
        (RejectionCode.REPLICA_SIZE, {"goodput": change(GOODPUT, replicas_per_gpu=2)}),
        (RejectionCode.NO_GOODPUT, {"goodput": []}),
        (RejectionCode.NO_GOODPUT, {"goodput": change(GOODPUT, precision="fp8")}),
        (RejectionCode.KIND_NOT_ALLOWED, {"goodput": change(GOODPUT, kind="estimated")}),
        (RejectionCode.NOT_MEASURED_THERE, {"workloads": change(WORKLOAD, **SLO)}),
        (RejectionCode.NOT_MEASURED_THERE, {"workloads": change(WORKLOAD, **SHAPE)}),
        (RejectionCode.PREFIX_HIT_HIGHER, {"goodput": change(GOODPUT, prefix_hit_frac=0.3)}),
        (
            RejectionCode.OTHER_SHAPE,
            {"workloads": change(WORKLOAD, **SHAPE), "goodput": change(GOODPUT, input_tokens=1000, output_tokens=201)},
        ),
        (
            RejectionCode.LATENCY_ABOVE_SLO,
            {"workloads": change(WORKLOAD, ttft_ms=300), "goodput": change(GOODPUT, ttft_ms=301)},
        ),
        (RejectionCode.HEADS_NOT_DIVISIBLE, {"models": change(MODEL, attention_heads=65)}),
        (RejectionCode.WEIGHTS_DO_NOT_FIT, {"models": change(MODEL, weights_gb=145)}),
        (RejectionCode.SEQUENCES_DO_NOT_FIT, {"models": change(MODEL, weights_gb=140)}),
    ],
)
def test_each_reason_that_leaves_no_option(code: RejectionCode, tables: dict[str, Any]) -> None:
    assert only_rejection(find(**tables)) == code.value


def test_every_code_has_a_meaning() -> None:
    assert all(code.meaning.endswith(".") for code in RejectionCode)
    assert len({code.meaning for code in RejectionCode}) == len(RejectionCode)


def test_rejection_says_what_and_how_far() -> None:
    rejection = find(models=change(MODEL, weights_gb=140)).rejections_of("chat")[0]
    assert (rejection.gpu, rejection.node_type, rejection.gpus_per_replica, rejection.engine) == ("G80", "80gx8", 2, "")
    numbers = dict(rejection.numbers)
    assert numbers["usable_gb"] == pytest.approx(144)
    assert numbers["room_gb"] == pytest.approx(4)
    assert (numbers["weights_gb"], numbers["per_seq_gb"], numbers["sequences_asked"], numbers["sequences_left"]) == (
        140,
        1.6,
        46,
        2,
    )
    assert rejection.reason == (
        "Not used: 70b int8 on 2 x G80: weights of 140.0 GB leave 4.0 GB of 144.0 GB usable, "
        "room for 2 sequences of 1.6 GB, and 46 were asked for."
    )


def test_of_a_sweep_the_nearest_miss_is_told() -> None:
    rows = [{**GOODPUT, "ttft_ms": ttft} for ttft in (900, 350, 600)]
    found = find(goodput=rows, workloads=change(WORKLOAD, ttft_ms=300))
    assert only_rejection(found) == "LATENCY_ABOVE_SLO"
    rejection = found.rejections_of("chat")[0]
    assert dict(rejection.numbers) == {"ttft_ms": 350, "workload_ttft_ms": 300}
    assert "the nearest of 3 such rows" in rejection.reason


def test_a_node_type_that_could_be_bought_but_was_not_measured() -> None:
    offers = [OFFER, {**OFFER, "offer": "x", "node_type": "other"}]
    found = find(node_types=[NODE_TYPE, OTHER_NODE], offers=offers)
    assert [(rejection.code, rejection.node_type) for rejection in found.rejections] == [
        ("NO_GOODPUT", "other"),
        ("UNUSED_NODE_TYPE", "other"),
    ]
    # Without an offer nobody asks.
    assert find(node_types=[NODE_TYPE, OTHER_NODE]).rejections == ()


def test_spanning_replica_up_to_the_span() -> None:
    rows = change(GOODPUT, gpus_per_replica=16)
    found = find(goodput=rows, node_types=change(NODE_TYPE, replica_span_gpus=16))
    assert [option.gpus_per_replica for option in found.options] == [16]


# Refusals ----------------------------------------------------------------------------------------------------------------------


def test_workload_silent_on_its_slo() -> None:
    problems = refusals(goodput=change(GOODPUT, ttft_ms=200, tpot_ms=30))
    assert [problem.code for problem in problems] == ["SLO_MISSING"]
    assert "ttft_ms 200 and tpot_ms 30" in problems[0].message
    assert "--tpot-ms" in problems[0].fix


def test_workload_silent_on_its_shape() -> None:
    problems = refusals(goodput=change(GOODPUT, **SHAPE))
    assert [problem.code for problem in problems] == ["SHAPE_MISSING"]
    assert "--input-tokens" in problems[0].fix


def test_workload_silent_on_both_and_every_workload_is_told() -> None:
    workloads = [WORKLOAD, {**WORKLOAD, "workload": "other"}]
    problems = refusals(goodput=change(GOODPUT, **SHAPE, ttft_ms=200), workloads=workloads)
    assert [problem.code for problem in problems] == ["SHAPE_MISSING", "SLO_MISSING"] * 2


def test_half_stated_slo_asks_for_the_other_half() -> None:
    problems = refusals(goodput=change(GOODPUT, ttft_ms=200, tpot_ms=30), workloads=change(WORKLOAD, ttft_ms=300))
    assert [problem.code for problem in problems] == ["SLO_MISSING"]
    assert "states no tpot_ms," in problems[0].message


def test_rows_that_ask_for_least_decide_what_is_asked() -> None:
    rows = [{**GOODPUT, **SHAPE, "ttft_ms": 200}, {**GOODPUT, "ttft_ms": 250}]
    assert [problem.code for problem in refusals(goodput=rows)] == ["SLO_MISSING"]


def test_silence_is_no_refusal_where_something_else_serves() -> None:
    rows = [{**GOODPUT, "ttft_ms": 200, "tpot_ms": 40, "output_tps": 1100}, {**GOODPUT, "output_tps": 800}]
    found = find(goodput=rows)
    assert found.options[0].points[0].output_tps == 800
    assert codes(found) == ["SLO_MISSING"]


def test_silence_is_no_refusal_where_stating_would_not_help() -> None:
    assert (
        only_rejection(find(goodput=change(GOODPUT, ttft_ms=200), models=change(MODEL, weights_gb=200))) == "WEIGHTS_DO_NOT_FIT"
    )
    slow = {"goodput": change(GOODPUT, ttft_ms=400, tpot_ms=30), "workloads": change(WORKLOAD, ttft_ms=300)}
    assert only_rejection(find(**slow)) == "LATENCY_ABOVE_SLO"
    assert only_rejection(find(goodput=change(GOODPUT, ttft_ms=200), offers=[])) == "NO_OFFER"


def test_an_api_does_not_excuse_silence() -> None:
    assert [
        problem.code for problem in refusals(goodput=change(GOODPUT, ttft_ms=200), workloads=change(WORKLOAD, api="api0"))
    ] == ["SLO_MISSING"]


def test_memory_of_a_sequence_must_be_stated() -> None:
    no_kv = [{"model": "70b", "precision": "int8", "weights_gb": 70}]
    assert [problem.code for problem in refusals(models=no_kv)] == ["KV_UNKNOWN"]
    per_token = [{**no_kv[0], "kv_bytes_per_token": 160_000}]
    assert [problem.code for problem in refusals(models=per_token)] == ["KV_UNKNOWN"]
    assert len(find(models=[{**per_token[0], "context_tokens": 10_000}]).options) == 1
    shaped = {"workloads": change(WORKLOAD, **SHAPE), "goodput": change(GOODPUT, **SHAPE)}
    assert len(find(models=per_token, **shaped).options) == 1


def test_precision_may_be_left_out_where_there_is_one() -> None:
    assert [option.precision for option in find(workloads=change(WORKLOAD, precision=None)).options] == ["int8"]
    two = [MODEL, {**MODEL, "precision": "fp16", "weights_gb": 140}]
    problems = refusals(workloads=change(WORKLOAD, precision=None), models=two)
    assert [problem.code for problem in problems] == ["PRECISION_MISSING"]
    assert "int8, fp16" in problems[0].message


def test_unknown_model_or_precision() -> None:
    assert [problem.code for problem in refusals(workloads=change(WORKLOAD, model="71b"))] == ["MODEL_UNKNOWN"]
    problems = refusals(workloads=change(WORKLOAD, precision="fp4"))
    assert [problem.code for problem in problems] == ["MODEL_UNKNOWN"]
    assert "it has int8" in problems[0].message


def test_names_join_without_case_and_hyphens() -> None:
    found = find(goodput=change(GOODPUT, model="70 B", precision="INT-8", gpu="g_80"), workloads=change(WORKLOAD, model="70-B"))
    assert [option.option for option in found.options] == ["70b|int8|80gx8|2||"]


# Warnings and facts for them ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tables", "code"),
    [
        ({"models": change(MODEL, weights_gb=140)}, "MEASURED_BUT_DOES_NOT_FIT"),
        ({"models": change(MODEL, weights_gb=200)}, "MEASURED_BUT_DOES_NOT_FIT"),
        ({"models": change(MODEL, attention_heads=65)}, "MEASURED_BUT_DOES_NOT_FIT"),
    ],
)
def test_measurement_that_contradicts_the_tables_is_warned_of(tables: dict[str, Any], code: str) -> None:
    assert [warning.code for warning in find(**tables).warnings] == [code]
    estimated = {**tables, "goodput": change({**GOODPUT, **tables.get("goodput", [{}])[0]}, kind="estimated")}
    found = find(**estimated, policy=policy(goodput_kinds="estimated"))
    assert len(found.rejections_of("chat")) == 1
    assert found.warnings == ()


def test_goodput_that_cannot_be_is_used_as_it_stands_and_warned_of() -> None:
    found = find(workloads=change(WORKLOAD, tpot_ms=50), goodput=change(GOODPUT, tpot_ms=50))
    assert [warning.code for warning in found.warnings] == ["GOODPUT_ABOVE_CONCURRENCY"]
    assert len(found.options) == 1 and found.rejections_of("chat") == ()


def test_contradictions_are_told_once_per_option() -> None:
    rows = [{**GOODPUT, "concurrency": sequences} for sequences in (100, 60, 80)]
    found = find(goodput=rows, workloads=[WORKLOAD, {**WORKLOAD, "workload": "other"}])
    assert len(found.warnings) == 1
    assert "60 were asked for" in found.warnings[0].message
    assert "3 measured rows" in found.warnings[0].message


def test_nearest_shape_is_flagged_on_the_point() -> None:
    nearest = policy(shape="nearest")
    asked = change(WORKLOAD, **SHAPE)
    heavier = (
        find(policy=nearest, workloads=asked, goodput=change(GOODPUT, input_tokens=2000, output_tokens=400)).options[0].points[0]
    )
    assert heavier.shape_distance == pytest.approx(1.3862943611)
    assert not heavier.shape_lighter
    lighter = (
        find(policy=nearest, workloads=asked, goodput=change(GOODPUT, input_tokens=500, output_tokens=100)).options[0].points[0]
    )
    assert lighter.shape_distance == pytest.approx(1.3862943611)
    assert lighter.shape_lighter


def test_a_lighter_shape_does_not_stand_in_for_a_nearest_one_that_is_too_slow() -> None:
    rows = [
        {**GOODPUT, "input_tokens": 1200, "output_tokens": 200, "ttft_ms": 400},
        {**GOODPUT, "input_tokens": 200, "output_tokens": 100, "ttft_ms": 90},
    ]
    found = find(goodput=rows, policy=policy(shape="nearest"), workloads=change(WORKLOAD, **SHAPE, ttft_ms=300))
    assert found.options == ()
    assert codes(found)[:2] == ["LATENCY_ABOVE_SLO", "OTHER_SHAPE"]


def test_unknown_latency_statistic_is_flagged_where_latency_was_compared() -> None:
    values = {"ttft_ms": 200}
    slo = change(WORKLOAD, ttft_ms=300)
    assert find(goodput=change(GOODPUT, **values), workloads=slo).options[0].points[0].latency_unknown
    assert not find(goodput=change(GOODPUT, **values, latency_stat="p99"), workloads=slo).options[0].points[0].latency_unknown


# Several replicas on one GPU ---------------------------------------------------------------------------------------------------

SMALL: dict[str, Any] = {**MODEL, "weights_gb": 8, "kv_gb_per_seq": 0.5}
SHARED: dict[str, Any] = {**GOODPUT, "gpus_per_replica": 1, "replicas_per_gpu": 4, "output_tps": 300, "concurrency": 20}


def test_a_replica_on_a_share_of_a_gpu_takes_that_share() -> None:
    option = find(models=[SMALL], goodput=[SHARED]).options[0]
    assert (option.option, option.gpus_per_replica, option.replicas_per_gpu, option.gpus_taken) == (
        "70b|int8|80gx8|1||",
        1,
        4,
        0.25,
    )
    assert (option.replicas_per_node, option.nodes_per_replica, option.spans_nodes) == (32, 1, False)
    # A quarter of 80 GB less 10 % is 18 GB: 8 of weights leave room for 20 sequences.
    assert option.points[0].fit.sequences_left == 20
    found = find(models=[SMALL], goodput=change(SHARED, concurrency=21))
    assert codes(found) == ["SEQUENCES_DO_NOT_FIT", "UNUSED_NODE_TYPE"]
    assert "1/4 x G80" in found.rejections[0].reason


def test_shares_of_one_id_are_options_of_their_own() -> None:
    whole = {**SHARED, "replicas_per_gpu": 1, "output_tps": 1000}
    found = find(models=[SMALL], goodput=[whole, SHARED])
    assert [(option.option, option.gpus_taken, option.points[0].output_tps) for option in found.options] == [
        ("70b|int8|80gx8|1||", 1.0, 1000),
        ("70b|int8|80gx8|1/4||", 0.25, 300),
    ]


def test_same_case_same_candidates() -> None:
    assert find() == find()
    assert case().goodput == case().goodput
