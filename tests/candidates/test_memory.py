"""Memory fit against hand arithmetic (GB = 10^9 bytes, 10 % overhead unless said)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.candidates.memory import (
    fit_replica,
    gb_per_sequence,
    gpus_for_weights,
    heads_divide,
    kv_copies,
    replica_sizes,
    size_allowed,
    tokens_per_sequence,
    usable_gb,
)
from optimizer.candidates.option import Fit
from optimizer.domain.hardware import NodeType
from optimizer.domain.model import ServedModel
from tests.candidates.build import row, workload

H100, H200, B200, B300 = 85.9, 151.4, 192.3, 288.4


def node(gb: float, gpus: int = 8, span: int | None = None) -> NodeType:
    return NodeType(node_type="n", gpu="G", gpus_per_node=gpus, gpu_memory_gb=gb, replica_span_gpus=span or gpus)


def served(**values: object) -> ServedModel:
    return ServedModel(**{"model": "m", "precision": "p", "weights_gb": 10.0, **values})  # type: ignore[arg-type]


def fit(gb: float, gpus: int, weights: float, per_seq: float, sequences: float) -> Fit:
    return fit_replica(weights, usable_gb(node(gb), gpus, 0.10), per_seq, sequences)


# GB per GPU, GPUs, weights, GB per sequence, sequences asked -> room in GB, sequences left, binding
HAND = [
    (80, 2, 70, 1.6, 46, 74, 46, ""),  # a 70B at 8 bit on two 80 GB GPUs: 144 - 70
    (80, 2, 70, 1.6, 47, 74, 46, "kv"),
    (80, 2, 140, 1.6, 2, 4, 2, ""),  # at 16 bit
    (80, 2, 140, 1.6, 46, 4, 2, "kv"),
    (80, 1, 70, 1.6, 1, 2, 1, ""),  # 72 - 70
    (80, 1, 140, 1.6, 1, -68, 0, "weights"),
    (80, 4, 140, 1.6, 92, 148, 92, ""),  # 288 - 140 = 148; 92.5
    (80, 1, 35, 1.6, 23, 37, 23, ""),  # at 4 bit: 37 / 1.6 = 23.1
    (B300, 4, 760, 1.0, 278, 278.24, 278, ""),  # 1038.24 - 760
    (B300, 2, 760, 1.0, 1, -240.88, 0, "weights"),  # 519.12
    (B300, 8, 760, 1.0, 1000, 1316.48, 1316, ""),  # 2076.48
    (B300, 8, 1619, 1.0, 457, 457.48, 457, ""),
    (B300, 4, 1619, 1.0, 1, -580.76, 0, "weights"),
    (H200, 8, 760, 1.0, 330, 330.08, 330, ""),  # 1090.08
    (H200, 4, 760, 1.0, 1, -214.96, 0, "weights"),  # 545.04
    (H200, 8, 1619, 1.0, 1, -528.92, 0, "weights"),
    (H200, 16, 1619, 1.0, 561, 561.16, 561, ""),  # 2180.16
    (H100, 8, 470.2, 0.8, 185, 148.28, 185, ""),  # 618.48 - 470.2; 185.35
    (H100, 4, 236.3, 0.8, 92, 72.94, 91, "kv"),  # 309.24 - 236.3; 91.2
    (B200, 8, 1028.8, 0.5, 711, 355.76, 711, ""),  # 1384.56 - 1028.8; 711.5
    (B200, 1, 65.2, 0.25, 430, 107.87, 431, ""),  # 173.07 - 65.2; 431.5
    (H100, 1, 16.1, 0.131072, 466, 61.21, 466, ""),  # 77.31 - 16.1; 466.99
    (H100, 1, 77.31, 0.0, 256, 0.0, None, ""),  # weights fill the GPU exactly and a sequence needs nothing
    (H100, 1, 77.32, 0.0, 256, -0.01, None, "weights"),
]


@pytest.mark.parametrize(("gb", "gpus", "weights", "per_seq", "asked", "room", "left", "binding"), HAND)
def test_fit_by_hand(
    gb: float, gpus: int, weights: float, per_seq: float, asked: float, room: float, left: int | None, binding: str
) -> None:
    found = fit(gb, gpus, weights, per_seq, asked)
    assert found.room_gb == pytest.approx(room, abs=1e-9)
    assert (found.sequences_left, found.binding, found.fits) == (left, binding, binding == "")
    assert found.usable_gb == pytest.approx(room + weights)
    assert (found.weights_gb, found.per_seq_gb, found.sequences_asked) == (weights, per_seq, asked)


@pytest.mark.parametrize(
    ("weights", "gb", "gpus"), [(760, H200, 6), (760, B300, 3), (1619, B300, 7), (1619, H200, 12), (140, 80, 2), (0.5, 80, 1)]
)
def test_gpus_that_hold_the_weights_alone(weights: float, gb: float, gpus: int) -> None:
    assert gpus_for_weights(served(weights_gb=weights), node(gb), 0.10) == gpus


def test_floating_point_does_not_lose_a_sequence() -> None:
    # 0.1 x 3 is 0.30000000000000004, more than 0.3.
    assert fit_replica(0.0, 0.3, 0.1, 3).fits
    assert fit_replica(0.7, 1.0, 0.1, 3).sequences_left == 3
    assert not fit_replica(0.0, 0.3, 0.1, 4).fits
    assert not fit_replica(0.0, 0.3, 0.1001, 3).fits


@pytest.mark.parametrize(
    ("values", "tp", "copies"),
    [
        ({"attention": "gqa", "kv_heads": 8}, 4, 1.0),
        ({"attention": "gqa", "kv_heads": 8}, 8, 1.0),
        ({"attention": "gqa", "kv_heads": 8}, 16, 2.0),
        ({"attention": "GQA sliding + full", "kv_heads": 4}, 8, 2.0),
        ({"attention": "gqa", "kv_heads": 4, "kv_data_parallel": True}, 8, 2.0),
        ({"attention": "gqa"}, 8, 1.0),
        ({"attention": "mqa", "kv_heads": 1}, 8, 8.0),
        ({"attention": "mla", "kv_heads": 128}, 8, 8.0),
        ({"attention": "MLA", "kv_data_parallel": True}, 8, 1.0),
        ({"attention": "", "kv_heads": 2}, 8, 1.0),
        ({"attention": "other", "kv_heads": 1}, 8, 1.0),
    ],
)
def test_copies_of_the_kv_cache(values: dict[str, object], tp: int, copies: float) -> None:
    assert kv_copies(served(**values), tp) == copies


def test_memory_of_one_sequence() -> None:
    # 327,680 bytes x 9,216 tokens = 3.0199 GB; two copies at tp 16 over 8 KV heads; 0.5 GB of state once.
    model = served(attention="gqa", kv_heads=8, kv_bytes_per_token=327_680, state_gb_per_seq=0.5)
    assert gb_per_sequence(model, 8, 9216) == pytest.approx(3.01989888 + 0.5)
    assert gb_per_sequence(model, 16, 9216) == pytest.approx(2 * 3.01989888 + 0.5)
    assert gb_per_sequence(model, 8, None) is None


def test_stated_gb_per_sequence_stands_and_comes_first() -> None:
    model = served(attention="mla", kv_gb_per_seq=1.6, kv_bytes_per_token=1e6, state_gb_per_seq=0.4)
    assert gb_per_sequence(model, 8, 1000) == pytest.approx(2.0)


def test_memory_of_a_sequence_is_never_guessed() -> None:
    assert gb_per_sequence(served(), 1, 1000) is None
    assert gb_per_sequence(served(kv_bytes_per_token=0, state_gb_per_seq=0.25), 1, None) == 0.25


def test_tokens_of_a_sequence_come_from_row_then_workload_then_model() -> None:
    model = served(context_tokens=4096)
    with_shape = workload(input_tokens=1000, output_tokens=200)
    assert tokens_per_sequence(model, row(input_tokens=8192, output_tokens=1024), with_shape) == 9216
    assert tokens_per_sequence(model, row(), with_shape) == 1200
    assert tokens_per_sequence(model, row(input_tokens=8192), workload(output_tokens=5)) == 4096
    assert tokens_per_sequence(served(), row(), workload()) is None


def test_attention_heads_are_a_multiple_of_tp() -> None:
    assert heads_divide(served(attention_heads=64), 8)
    assert not heads_divide(served(attention_heads=40), 16)
    assert heads_divide(served(), 7)


def test_sizes_that_a_node_type_allows() -> None:
    assert replica_sizes(node(80, 8)) == (1, 2, 4, 8)
    assert replica_sizes(node(80, 6)) == (1, 2, 3, 6)
    assert replica_sizes(node(80, 4, span=12)) == (1, 2, 4, 8, 12)
    for gpus in range(20):
        assert size_allowed(node(80, 4, span=12), gpus) == (gpus in (1, 2, 4, 8, 12))


def test_a_share_of_a_gpu_is_a_share_of_its_memory() -> None:
    assert usable_gb(node(80), 1, 0.10, replicas_per_gpu=4) == pytest.approx(18.0)
    assert size_allowed(node(80), 1, 4)
    assert not size_allowed(node(80), 2, 4)


amount = st.floats(min_value=0.01, max_value=2000)
share = st.floats(min_value=0.0, max_value=0.9)


@settings(derandomize=True, deadline=None)
@given(
    gb=amount,
    more=st.floats(min_value=0, max_value=500),
    gpus=st.integers(1, 16),
    weights=amount,
    per_seq=amount,
    asked=amount,
    overhead=share,
)
def test_more_memory_never_breaks_a_fit(
    gb: float, more: float, gpus: int, weights: float, per_seq: float, asked: float, overhead: float
) -> None:
    before = fit_replica(weights, usable_gb(node(gb), gpus, overhead), per_seq, asked)
    after = fit_replica(weights, usable_gb(node(gb + more), gpus, overhead), per_seq, asked)
    assert after.fits or not before.fits
    assert (after.sequences_left or 0) >= (before.sequences_left or 0)


@settings(derandomize=True, deadline=None)
@given(usable=amount, weights=amount, per_seq=amount, asked=amount, fewer=st.floats(min_value=0, max_value=1))
def test_fewer_sequences_never_break_a_fit(usable: float, weights: float, per_seq: float, asked: float, fewer: float) -> None:
    assert fit_replica(weights, usable, per_seq, asked * fewer).fits or not fit_replica(weights, usable, per_seq, asked).fits


@settings(derandomize=True, deadline=None)
@given(
    usable=amount,
    weights=amount,
    bytes_per_token=st.floats(1, 1e6),
    tokens=st.integers(1, 200_000),
    shorter=st.integers(1, 200_000),
    asked=amount,
    tp=st.sampled_from([1, 2, 4, 8, 16]),
    attention=st.sampled_from(["gqa", "mla", ""]),
)
def test_shorter_context_never_breaks_a_fit(
    usable: float, weights: float, bytes_per_token: float, tokens: int, shorter: int, asked: float, tp: int, attention: str
) -> None:
    model = served(kv_bytes_per_token=bytes_per_token, attention=attention, kv_heads=4)
    long, short = gb_per_sequence(model, tp, max(tokens, shorter)), gb_per_sequence(model, tp, min(tokens, shorter))
    assert long is not None
    assert short is not None
    assert fit_replica(weights, usable, short, asked).fits or not fit_replica(weights, usable, long, asked).fits


@settings(derandomize=True, deadline=None)
@given(usable=amount, weights=amount, per_seq=amount, asked=st.integers(1, 5000))
def test_sequences_left_agrees_with_the_fit(usable: float, weights: float, per_seq: float, asked: int) -> None:
    found = fit_replica(weights, usable, per_seq, asked)
    margin = found.room_gb - asked * per_seq
    if found.binding != "weights" and not math.isclose(margin, 0.0, abs_tol=1e-5):
        assert found.sequences_left is not None
        assert found.fits == (found.sequences_left >= asked)
