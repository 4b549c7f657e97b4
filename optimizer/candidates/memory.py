"""Whether a replica fits in memory: weights, KV cache and constant state against usable GPU memory. Plain arithmetic.

    gpus_per_replica x gpu_memory_gb x (1 - overhead_frac) - weights_gb >= concurrency x (KV + state)        (GB = 10^9 bytes)

Source: INPUTS, "Exact meanings / Fit". Weights count all parameters, never the active ones alone.
"""

from __future__ import annotations

from optimizer.candidates.option import Fit
from optimizer.domain.hardware import NodeType
from optimizer.domain.measurement import GoodputRow
from optimizer.domain.model import ServedModel
from optimizer.domain.workload import Workload
from optimizer.units import BYTES_PER_GB, ROUNDING_HEDGE, ceil_hedged, floor_hedged


def kv_copies(model: ServedModel, tp: int) -> float:
    """How many times the KV cache of a sequence is held over the GPUs of one tensor-parallel group.

    Grouped-query attention (multi-query too: one head) repeats its KV heads once there are more GPUs than heads: tp / kv_heads.
    Latent attention (MLA) has one latent per token, which every GPU holds: tp, unless attention is data-parallel. Else 1.
    """
    kind = model.attention.casefold()
    if "mla" in kind:
        return 1.0 if model.kv_data_parallel else float(tp)
    if ("gqa" in kind or "mqa" in kind) and model.kv_heads and tp > model.kv_heads:
        return tp / model.kv_heads
    return 1.0


def tokens_per_sequence(model: ServedModel, row: GoodputRow, workload: Workload) -> float | None:
    """Input plus output tokens of the row, else of the workload, else the model's context_tokens; None where none is stated."""
    for stated in (row, workload):
        if stated.input_tokens is not None and stated.output_tokens is not None:
            return stated.input_tokens + stated.output_tokens
    return model.context_tokens


def gb_per_sequence(model: ServedModel, tp: int, tokens: float | None) -> float | None:
    """GB that one sequence takes over all GPUs of the replica: KV cache and constant state; None where it cannot be known.

    A stated kv_gb_per_seq stands as it is (it is the replica's); kv_bytes_per_token is multiplied by tokens and by `kv_copies`.
    """
    if model.kv_gb_per_seq is not None:
        return model.kv_gb_per_seq + model.state_gb_per_seq
    if model.kv_bytes_per_token is None:
        return None
    if model.kv_bytes_per_token == 0:
        return model.state_gb_per_seq
    if tokens is None:
        return None
    return model.kv_bytes_per_token * tokens / BYTES_PER_GB * kv_copies(model, tp) + model.state_gb_per_seq


def usable_gb(node_type: NodeType, gpus_per_replica: int, overhead_frac: float, replicas_per_gpu: int = 1) -> float:
    """Memory that weights and sequences of one replica may take, in GB; a replica on a share of one GPU has that share."""
    return gpus_per_replica / replicas_per_gpu * node_type.gpu_memory_gb * (1.0 - overhead_frac)


def fit_replica(weights_gb: float, usable: float, per_seq_gb: float, sequences: float) -> Fit:
    """The fit of a replica with `usable` GB that is asked to hold `sequences` sequences of `per_seq_gb` GB beside its weights.

    Comparisons forgive 1e-9 of the usable memory.
    """
    room = usable - weights_gb
    hedge = ROUNDING_HEDGE * max(1.0, usable)
    if room < -hedge:
        binding = "weights"
    elif sequences * per_seq_gb > room + hedge:
        binding = "kv"
    else:
        binding = ""
    return Fit(
        usable_gb=usable,
        weights_gb=weights_gb,
        room_gb=room,
        per_seq_gb=per_seq_gb,
        sequences_asked=sequences,
        sequences_left=sequences_left(room, per_seq_gb),
        fits=not binding,
        binding=binding,
    )


def sequences_left(room_gb: float, per_seq_gb: float) -> int | None:
    """Whole sequences that fit in the room beside the weights; None where a sequence takes no memory.

    >>> sequences_left(74.0, 1.6), sequences_left(4.0, 1.6), sequences_left(-3.0, 1.6), sequences_left(5.0, 0.0)
    (46, 2, 0, None)
    """
    if per_seq_gb <= 0:
        return None
    return max(0, floor_hedged(room_gb / per_seq_gb))


def gpus_for_weights(model: ServedModel, node_type: NodeType, overhead_frac: float) -> int:
    """The fewest GPUs whose usable memory holds the weights alone, whatever sizes of replica a node allows."""
    return max(1, ceil_hedged(model.weights_gb / usable_gb(node_type, 1, overhead_frac)))


def heads_divide(model: ServedModel, tp: int) -> bool:
    """True where every GPU of the tensor-parallel group gets equally many attention heads, or the heads are not stated."""
    return model.attention_heads is None or model.attention_heads % tp == 0


def replica_sizes(node_type: NodeType) -> tuple[int, ...]:
    """GPUs per replica that the node type allows: divisors of a node, then whole nodes up to replica_span_gpus."""
    node = node_type.gpus_per_node
    within = [size for size in range(1, node + 1) if node % size == 0]
    across = range(2 * node, node_type.replica_span_gpus + 1, node)
    return (*within, *across)


def size_allowed(node_type: NodeType, gpus_per_replica: int, replicas_per_gpu: int = 1) -> bool:
    """True where a replica of that size (or k to one GPU) can stand on the node type."""
    if gpus_per_replica < 1 or replicas_per_gpu < 1 or (replicas_per_gpu > 1 and gpus_per_replica != 1):
        return False
    node = node_type.gpus_per_node
    if gpus_per_replica <= node:
        return node % gpus_per_replica == 0
    return gpus_per_replica % node == 0 and gpus_per_replica <= node_type.replica_span_gpus
