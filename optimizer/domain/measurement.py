"""Measured goodput: what one replica sustained at a stated shape and latency."""

from __future__ import annotations

from typing import Literal

from optimizer.domain.base import Row

LatencyStat = Literal["p99", "p90", "p50", "mean", "unknown"]


class GoodputRow(Row):
    """One measured operating point of one replica.

    output_tps: output tok/s of the whole replica. input_tps: input tok/s, only where prefill was measured apart.
    concurrency: sequences in flight. tp: tensor-parallel degree. replicas_per_gpu > 1: measured on that share of one GPU.
    kind: measured or estimated (others are refused by the policy).
    """

    model: str
    precision: str
    gpu: str
    gpus_per_replica: int
    output_tps: float
    input_tokens: float | None = None
    output_tokens: float | None = None
    prefix_hit_frac: float = 0.0
    concurrency: float = 1.0
    ttft_ms: float | None = None
    tpot_ms: float | None = None
    latency_stat: LatencyStat = "unknown"
    input_tps: float | None = None
    tp: int
    replicas_per_gpu: int = 1
    engine: str = ""
    config: str = ""
    kind: str = "measured"
