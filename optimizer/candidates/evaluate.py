"""The operating point of one option for one workload: which measured rows hold and fit, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from optimizer.candidates import matching, memory
from optimizer.candidates.codes import RejectionCode
from optimizer.candidates.matching import Miss
from optimizer.candidates.option import Fit, OperatingPoint
from optimizer.domain.hardware import NodeType
from optimizer.domain.measurement import GoodputRow
from optimizer.domain.model import ServedModel
from optimizer.domain.policy import Policy
from optimizer.domain.workload import Workload

#: A measured row that meets one of these contradicts the model or node type table, or itself; that is warned of.
CONTRADICTIONS = frozenset(
    {
        RejectionCode.HEADS_NOT_DIVISIBLE,
        RejectionCode.WEIGHTS_DO_NOT_FIT,
        RejectionCode.SEQUENCES_DO_NOT_FIT,
        RejectionCode.GOODPUT_ABOVE_CONCURRENCY,
    }
)

#: The rest of a sweep: no news where another point of the same option serves the workload.
OTHER_POINTS = frozenset({RejectionCode.OTHER_SHAPE, RejectionCode.LATENCY_ABOVE_SLO})


@dataclass(frozen=True)
class Verdict:
    """What the rows of one option give for one workload: the point, if any, and every row that does not count, with its miss.

    doubt: why the point's own figures contradict each other; it counts all the same, and is warned of.
    """

    point: OperatingPoint | None
    misses: tuple[tuple[GoodputRow, Miss], ...]
    doubt: Miss | None = None


def evaluate(rows: Sequence[GoodputRow], workload: Workload, model: ServedModel, node_type: NodeType, policy: Policy) -> Verdict:
    """Goodput of an option for a workload: the highest output_tps among its rows that match and fit (INPUTS, "Goodput").

    Order of the checks: kind, conditions the row is silent on, prefix hits, size of replica, heads and memory, shape, latency,
    conditions the workload is silent on. The shape is chosen before latency is looked at: where the nearest
    measured shape is too slow, a lighter and faster one must not take its place.
    """
    misses: list[tuple[GoodputRow, Miss]] = []
    sound: list[tuple[GoodputRow, Fit]] = []
    for row in rows:
        miss = (
            matching.kind_miss(row, policy)
            or matching.not_measured_miss(row, workload)
            or matching.prefix_miss(row, workload)
            or size_miss(row, node_type)
            or heads_miss(row, model)
        )
        fit = None if miss else row_fit(row, workload, model, node_type, policy)
        if isinstance(fit, Fit):
            miss = fit_miss(row, model, node_type, fit)
        elif fit is not None:
            miss = fit
        if miss:
            misses.append((row, miss))
        elif isinstance(fit, Fit):
            sound.append((row, fit))

    choice = matching.choose_shape((row for row, _ in sound), workload, policy)
    best: tuple[GoodputRow, Fit] | None = None
    for row, fit in sound:
        miss = (
            matching.shape_miss(row, workload, choice)
            or matching.latency_miss(row, workload)
            or matching.missing_miss(row, workload)
        )
        if miss:
            misses.append((row, miss))
        elif best is None or row.output_tps > best[0].output_tps:
            best = (row, fit)
    if best is None or choice is None:
        return Verdict(None, tuple(misses))
    row, fit = best
    point = OperatingPoint(
        workload=workload.workload,
        output_tps=row.output_tps,
        input_tps=row.input_tps,
        concurrency=row.concurrency,
        row=row,
        fit=fit,
        shape_distance=choice.distance,
        shape_lighter=choice.lighter,
        unstated=matching.unstated_conditions(row, workload),
        latency_unknown=row.latency_stat == "unknown" and matching.compares_latency(row, workload),
    )
    return Verdict(point, tuple(misses), matching.concurrency_miss(row))


def size_miss(row: GoodputRow, node_type: NodeType) -> Miss | None:
    """REPLICA_SIZE where a replica of that many GPUs cannot stand on the node type."""
    gpus, share = row.gpus_per_replica, row.replicas_per_gpu
    if memory.size_allowed(node_type, gpus, share):
        return None
    numbers = (
        ("gpus_per_replica", float(gpus)),
        ("gpus_per_node", float(node_type.gpus_per_node)),
        ("replica_span_gpus", float(node_type.replica_span_gpus)),
    )
    if share > 1:
        reason = f"replicas_per_gpu {share} is a share of one GPU, and the row has {gpus} GPUs per replica"
        return Miss(RejectionCode.REPLICA_SIZE, reason, (*numbers, ("replicas_per_gpu", float(share))))
    if gpus > node_type.gpus_per_node and gpus % node_type.gpus_per_node == 0:
        reason = f"{gpus} GPUs are more than replicas on {node_type.node_type} may span ({node_type.replica_span_gpus})"
    else:
        reason = f"{gpus} GPUs neither divide the {node_type.gpus_per_node} of a {node_type.node_type} nor are a multiple of them"
    return Miss(RejectionCode.REPLICA_SIZE, reason, numbers)


def heads_miss(row: GoodputRow, model: ServedModel) -> Miss | None:
    """HEADS_NOT_DIVISIBLE where the attention heads are not a multiple of the row's tp."""
    if memory.heads_divide(model, row.tp):
        return None
    heads = model.attention_heads or 0
    return Miss(
        RejectionCode.HEADS_NOT_DIVISIBLE,
        f"{heads} attention heads are not a multiple of tp {row.tp}",
        (("attention_heads", float(heads)), ("tp", float(row.tp))),
    )


def row_fit(row: GoodputRow, workload: Workload, model: ServedModel, node_type: NodeType, policy: Policy) -> Fit | Miss:
    """The fit of a replica at the row's concurrency; a Miss KV_UNKNOWN where the memory of a sequence cannot be known."""
    per_seq = memory.gb_per_sequence(model, row.tp, memory.tokens_per_sequence(model, row, workload))
    usable = memory.usable_gb(node_type, row.gpus_per_replica, policy.overhead_frac, row.replicas_per_gpu)
    if per_seq is None:
        lacking = (
            "kv_gb_per_seq nor kv_bytes_per_token"
            if model.kv_bytes_per_token is None
            else "kv_gb_per_seq nor context_tokens, and neither row nor workload states input and output tokens"
        )
        return Miss(RejectionCode.KV_UNKNOWN, f"model {model.model} {model.precision} states neither {lacking}")
    return memory.fit_replica(model.weights_gb, usable, per_seq, row.concurrency)


def fit_miss(row: GoodputRow, model: ServedModel, node_type: NodeType, fit: Fit) -> Miss | None:
    """WEIGHTS_DO_NOT_FIT or SEQUENCES_DO_NOT_FIT, with every number of the fit."""
    if fit.fits:
        return None
    size = f"1/{row.replicas_per_gpu}" if row.replicas_per_gpu > 1 else f"{row.gpus_per_replica}"
    code, reason = misfit(fit, f"{size} x {node_type.gpu}", f"{model.model} {model.precision}")
    over = fit.sequences_asked * fit.per_seq_gb - fit.room_gb
    return Miss(code, reason, fit_numbers(fit), over / fit.usable_gb if fit.usable_gb > 0 else over)


def misfit(fit: Fit, where: str, what: str) -> tuple[RejectionCode, str]:
    """Code and sentence of a fit that does not hold."""
    if fit.binding == "weights":
        return (
            RejectionCode.WEIGHTS_DO_NOT_FIT,
            f"{what} on {where}: weights of {fit.weights_gb:,.1f} GB exceed the {fit.usable_gb:,.1f} GB usable",
        )
    return (
        RejectionCode.SEQUENCES_DO_NOT_FIT,
        f"{what} on {where}: weights of {fit.weights_gb:,.1f} GB leave {fit.room_gb:,.1f} GB of {fit.usable_gb:,.1f} GB usable, "
        f"room for {fit.sequences_left} sequences of {fit.per_seq_gb:,.3g} GB, and {fit.sequences_asked:g} were asked for",
    )


def fit_numbers(fit: Fit) -> tuple[tuple[str, float], ...]:
    """The numbers of a fit for a Rejection."""
    numbers = [
        ("usable_gb", fit.usable_gb),
        ("weights_gb", fit.weights_gb),
        ("room_gb", fit.room_gb),
        ("per_seq_gb", fit.per_seq_gb),
        ("sequences_asked", fit.sequences_asked),
    ]
    if fit.sequences_left is not None:
        numbers.append(("sequences_left", float(fit.sequences_left)))
    return tuple(numbers)


def nearest_misses(misses: Iterable[tuple[GoodputRow, Miss]]) -> list[tuple[GoodputRow, Miss, int]]:
    """Per code the row that misses by least, and how many rows miss for that reason; in order of first appearance."""
    groups: dict[RejectionCode, list[tuple[GoodputRow, Miss]]] = {}
    for row, miss in misses:
        groups.setdefault(miss.code, []).append((row, miss))
    nearest = []
    for group in groups.values():
        row, miss = min(group, key=lambda each: each[1].excess)
        nearest.append((row, miss, len(group)))
    return nearest
