"""The served model as far as memory is concerned."""

from __future__ import annotations

from optimizer.domain.base import Row


class ServedModel(Row):
    """One model at one precision.

    weights_gb: all weights, from total (never active) parameters. kv_gb_per_seq: KV cache of one sequence; or kv_bytes_per_token
    with the shape's tokens, or context_tokens for traffic without a shape. state_gb_per_seq: constant state per sequence.
    attention: gqa, mla, ...; kv_heads and attention_heads bound tensor parallelism; kv_data_parallel: attention is data-parallel.
    """

    model: str
    precision: str
    weights_gb: float
    active_params_b: float | None = None
    total_params_b: float | None = None
    bytes_per_param: float | None = None
    kv_gb_per_seq: float | None = None
    kv_bytes_per_token: float | None = None
    context_tokens: float | None = None
    state_gb_per_seq: float = 0.0
    attention: str = ""
    attention_heads: int | None = None
    kv_heads: int | None = None
    experts: int | None = None
    kv_data_parallel: bool = False
