"""Which replicas of a model fit on which node types, independent of any workload: the table behind `catalog fit`."""

from __future__ import annotations

from collections.abc import Iterable

from optimizer.candidates import memory
from optimizer.candidates.codes import RejectionCode
from optimizer.candidates.evaluate import misfit
from optimizer.domain.base import Frozen
from optimizer.domain.hardware import NodeType
from optimizer.domain.model import ServedModel


class FitRow(Frozen):
    """One model at one precision on one size of replica of one node type. Memory in GB (10^9 bytes), over the whole replica.

    gpus_for_weights: fewest GPUs whose usable memory holds the weights alone, whatever a node allows. room_gb: usable - weights,
    for KV cache and state; negative where the weights do not fit. per_seq_gb: memory of one sequence; None where unknown.
    sequences_left: whole sequences in the room; None where a sequence is unknown or takes nothing. binding: what fails
    (weights, kv, heads), else "".
    code, reason: why it is rejected, empty where it fits.
    """

    model: str
    precision: str
    node_type: str
    gpu: str
    gpus_per_replica: int
    gpus_for_weights: int
    weights_gb: float
    usable_gb: float
    room_gb: float
    per_seq_gb: float | None
    sequences_left: int | None
    fits: bool
    binding: str = ""
    code: str = ""
    reason: str = ""


def fit_table(
    models: Iterable[ServedModel],
    node_types: Iterable[NodeType],
    *,
    overhead_frac: float = 0.10,
    context_tokens: float | None = None,
    sequences: float = 1.0,
) -> tuple[FitRow, ...]:
    """A row per model, node type and allowed size of replica, in that order; tp = GPUs per replica.

    context_tokens: input + output tokens of a sequence; None = the model's own context_tokens. Where it is given,
    kv_bytes_per_token counts before kv_gb_per_seq, which was stated for another context. sequences: how many must fit at once.
    """
    node_types = tuple(node_types)
    return tuple(
        _fit_row(model, node_type, gpus, overhead_frac, context_tokens, sequences)
        for model in models
        for node_type in node_types
        for gpus in memory.replica_sizes(node_type)
    )


def _fit_row(
    model: ServedModel, node_type: NodeType, gpus: int, overhead_frac: float, context_tokens: float | None, sequences: float
) -> FitRow:
    at_context = model
    if context_tokens is not None and model.kv_bytes_per_token is not None:
        at_context = model.model_copy(update={"kv_gb_per_seq": None})
    per_seq = memory.gb_per_sequence(at_context, gpus, model.context_tokens if context_tokens is None else context_tokens)
    usable = memory.usable_gb(node_type, gpus, overhead_frac)
    fit = memory.fit_replica(model.weights_gb, usable, per_seq or 0.0, sequences)
    code, reason, binding = "", "", fit.binding
    if not memory.heads_divide(model, gpus):
        code, binding = RejectionCode.HEADS_NOT_DIVISIBLE.value, "heads"
        reason = f"{model.attention_heads} attention heads are not a multiple of tp {gpus}."
    elif not fit.fits:
        found, words = misfit(fit, f"{gpus} x {node_type.gpu}", f"{model.model} {model.precision}")
        code, reason = found.value, f"{words}."
    elif per_seq is None:
        code, binding = RejectionCode.KV_UNKNOWN.value, "kv"
        reason = "The memory of a sequence is not known: state kv_gb_per_seq, or kv_bytes_per_token and a context."
    return FitRow(
        model=model.model,
        precision=model.precision,
        node_type=node_type.node_type,
        gpu=node_type.gpu,
        gpus_per_replica=gpus,
        gpus_for_weights=memory.gpus_for_weights(model, node_type, overhead_frac),
        weights_gb=fit.weights_gb,
        usable_gb=fit.usable_gb,
        room_gb=fit.room_gb,
        per_seq_gb=per_seq,
        sequences_left=None if per_seq is None else fit.sequences_left,
        fits=not code,
        binding=binding,
        code=code,
        reason=reason,
    )
