"""The table of fits without a workload."""

from __future__ import annotations

import pytest

from optimizer.candidates.fit_table import FitRow, fit_table
from optimizer.domain.hardware import NodeType
from optimizer.domain.model import ServedModel

H200 = NodeType(node_type="h200x8", gpu="H200", gpus_per_node=8, gpu_memory_gb=151.4, replica_span_gpus=16)
B300 = NodeType(node_type="b300x8", gpu="B300", gpus_per_node=8, gpu_memory_gb=288.4, replica_span_gpus=8)
G80 = NodeType(node_type="80gx2", gpu="G80", gpus_per_node=2, gpu_memory_gb=80, replica_span_gpus=2)
GLM = ServedModel(model="glm-5.3", precision="fp8", weights_gb=760, attention="mla", attention_heads=64, kv_gb_per_seq=1.0)
KIMI = ServedModel(model="kimi-k3", precision="mxfp4", weights_gb=1619, attention="mla", attention_heads=96, kv_gb_per_seq=1.0)


def smallest(rows: tuple[FitRow, ...]) -> tuple[int, int]:
    """Fewest GPUs for the weights alone, and the smallest size that a node allows and that fits."""
    return rows[0].gpus_for_weights, min(row.gpus_per_replica for row in rows if row.fits)


@pytest.mark.parametrize(
    ("model", "node_type", "expected"), [(GLM, H200, (6, 8)), (GLM, B300, (3, 4)), (KIMI, B300, (7, 8)), (KIMI, H200, (12, 16))]
)
def test_smallest_replica_of_large_sparse_models(model: ServedModel, node_type: NodeType, expected: tuple[int, int]) -> None:
    assert smallest(fit_table([model], [node_type])) == expected


def test_a_70b_on_two_gpus_of_80_gb() -> None:
    models = [
        ServedModel(model="70b", precision=precision, weights_gb=gb, kv_gb_per_seq=1.6)
        for precision, gb in (("int8", 70), ("fp16", 140))
    ]
    rows = fit_table(models, [G80])
    assert [(row.precision, row.gpus_per_replica, row.sequences_left, row.code) for row in rows] == [
        ("int8", 1, 1, ""),
        ("int8", 2, 46, ""),
        ("fp16", 1, 0, "WEIGHTS_DO_NOT_FIT"),
        ("fp16", 2, 2, ""),
    ]
    assert rows[1].room_gb == pytest.approx(74)
    assert rows[3].room_gb == pytest.approx(4)
    assert rows[3].usable_gb == pytest.approx(144)
    asked = fit_table(models, [G80], sequences=46)
    assert [row.code for row in asked] == ["SEQUENCES_DO_NOT_FIT", "", "WEIGHTS_DO_NOT_FIT", "SEQUENCES_DO_NOT_FIT"]
    assert [row.binding for row in asked] == ["kv", "", "weights", "kv"]


def test_context_sets_the_memory_of_a_sequence() -> None:
    model = ServedModel(
        model="m",
        precision="p",
        weights_gb=70,
        kv_gb_per_seq=1.6,
        kv_bytes_per_token=200_000,
        attention="gqa",
        kv_heads=1,
        context_tokens=100,
    )
    assert [row.per_seq_gb for row in fit_table([model], [G80])] == [1.6, 1.6]
    # 10,000 tokens x 200,000 bytes is 2 GB; twice on two GPUs, which share one KV head.
    assert [row.per_seq_gb for row in fit_table([model], [G80], context_tokens=10_000)] == [2.0, 4.0]
    stated_only = model.model_copy(update={"kv_bytes_per_token": None})
    assert [row.per_seq_gb for row in fit_table([stated_only], [G80], context_tokens=10_000)] == [1.6, 1.6]
    per_token_only = model.model_copy(update={"kv_gb_per_seq": None})
    assert [row.per_seq_gb for row in fit_table([per_token_only], [G80])] == [0.02, 0.04]


def test_unknown_memory_of_a_sequence_is_no_fit() -> None:
    rows = fit_table([ServedModel(model="m", precision="p", weights_gb=70)], [G80])
    assert [(row.fits, row.code, row.per_seq_gb, row.sequences_left) for row in rows] == [(False, "KV_UNKNOWN", None, None)] * 2
    assert rows[1].room_gb == pytest.approx(74)


def test_heads_and_overhead() -> None:
    model = ServedModel(model="m", precision="p", weights_gb=70, kv_gb_per_seq=1, attention_heads=5)
    rows = fit_table([model], [G80], overhead_frac=0.0)
    assert [(row.code, row.binding, row.sequences_left) for row in rows] == [("", "", 10), ("HEADS_NOT_DIVISIBLE", "heads", 90)]
    assert rows[1].reason == "5 attention heads are not a multiple of tp 2."
