"""What runs was really measured, for that workload, on that GPU, and fits in its memory. Checked from the rows of the case."""

from __future__ import annotations

from collections import defaultdict
from math import log

from optimizer.candidates.option import OperatingPoint, Option
from optimizer.domain.hardware import NodeType
from optimizer.domain.measurement import GoodputRow
from optimizer.domain.model import ServedModel
from optimizer.domain.names import join_key
from optimizer.domain.workload import Workload
from optimizer.plan.index import PlanIndex

#: Memory and latency are compared as written; only rounding of the arithmetic is forgiven.
ROUNDING_REL = 1e-9
BYTES_IN_GB = 10**9


def options_in_use(index: PlanIndex) -> list[Option]:
    """The options of which the plan has replicas or loads, in the order of the candidates."""
    used = {key for counts in index.replicas.values() for key, count in counts.items() if count.total or count.live}
    for loads in index.loads.values():
        used |= {(index.workloads[workload].pool, name) for (workload, name), tps in loads.items() if any(tps)}
    return [option for key, option in index.options.items() if key in used]


def check_options(index: PlanIndex) -> list[str]:
    """Every option in use against the rows of the case: id, size, allow-lists, measurement, latency, shape and memory."""
    messages = []
    for option in options_in_use(index):
        where = f"option {option.option} of pool {option.pool}"
        node_type = index.node_types.get(option.node_type)
        if node_type is None:
            messages.append(f"{where}: node type {option.node_type} is not in the case")
            continue
        messages += [f"{where}: {text}" for text in _hardware(index, option, node_type)]
        models = [row for row in index.case.models if _same_model(row, option.model, option.precision)]
        if len(models) != 1:
            messages.append(f"{where}: the case has {len(models)} rows of model {option.model} {option.precision}")
            continue
        served = {workload.workload: workload for workload in index.workloads_of[option.pool]}
        for point in option.points:
            if point.workload not in served:
                messages.append(f"{where}: has a point for {point.workload}, which is not in the pool")
                continue
            workload = served[point.workload]
            for text in (
                *_workload_model(workload, option),
                *_measurement(index, option, point),
                *_conditions(index, workload, point.row),
                *_shape(workload, point),
                *_prefill(index, workload, point.row),
                *_memory(index, models[0], node_type, workload, option, point.row),
            ):
                messages.append(f"{where}, workload {point.workload}: {text}")
    return messages


def _same_model(row: ServedModel, model: str, precision: str) -> bool:
    return join_key(row.model) == join_key(model) and join_key(row.precision) == join_key(precision)


def _hardware(index: PlanIndex, option: Option, node_type: NodeType) -> list[str]:
    texts = []
    per_gpu = index.gpu_share((option.pool, option.option))
    sizes = {str(option.gpus_per_replica), f"1/{per_gpu}"} if per_gpu > 1 else {str(option.gpus_per_replica)}
    ids = {"|".join((option.model, option.precision, option.node_type, size, option.engine, option.config)) for size in sizes}
    if option.option not in ids:
        texts.append(f"its id does not say what it is: {sorted(ids)[0]}")
    if join_key(option.gpu) != join_key(node_type.gpu):
        texts.append(f"is for GPU {option.gpu}, and the node type has {node_type.gpu}")
    if option.gpus_per_node != node_type.gpus_per_node:
        texts.append(f"counts {option.gpus_per_node} GPUs per node, and the node type has {node_type.gpus_per_node}")
    if per_gpu != option.replicas_per_gpu:
        texts.append(f"shares a GPU among {option.replicas_per_gpu} replicas, and its measurement among {per_gpu}")
    size, node = option.gpus_per_replica, node_type.gpus_per_node
    whole_nodes = size % node == 0 and size <= max(node, node_type.replica_span_gpus)
    if size < 1 or not (node % size == 0 or whole_nodes) or (per_gpu > 1 and size != 1):
        texts.append(f"{size} GPUs per replica neither divide a node of {node} nor are whole nodes within its span")
    allowed = index.pools[option.pool].node_types
    if allowed and option.node_type not in allowed:
        texts.append(f"node type {option.node_type} is not among those the pool allows")
    gpus = index.case.policy.gpus
    if gpus and join_key(node_type.gpu) not in {join_key(gpu) for gpu in gpus}:
        texts.append(f"GPU {node_type.gpu} is not among those the policy allows")
    return texts


def _workload_model(workload: Workload, option: Option) -> list[str]:
    texts = []
    if join_key(workload.model) != join_key(option.model):
        texts.append(f"asks for model {workload.model}")
    if workload.precision and join_key(workload.precision) != join_key(option.precision):
        texts.append(f"asks for precision {workload.precision}")
    return texts


def _measurement(index: PlanIndex, option: Option, point: OperatingPoint) -> list[str]:
    """The row behind a point is a row of the case, of this option, and says what the point says."""
    row = point.row
    texts = []
    if row not in _goodput_rows(index)[join_key(row.model), row.gpus_per_replica, row.output_tps]:
        texts.append(f"its measurement of {row.output_tps:g} tok/s is not in the case")
    for name, measured, planned in (
        ("model", row.model, option.model),
        ("precision", row.precision, option.precision),
        ("GPU", row.gpu, option.gpu),
    ):
        if join_key(measured) != join_key(planned):
            texts.append(f"was measured with {name} {measured}")
    for name, measured, planned in (("engine", row.engine, option.engine), ("config", row.config, option.config)):
        if measured != planned:
            texts.append(f"was measured with {name} {measured!r}")
    if row.gpus_per_replica != option.gpus_per_replica:
        texts.append(f"was measured on {row.gpus_per_replica} GPUs")
    if row.replicas_per_gpu != option.replicas_per_gpu:
        texts.append(f"was measured with {row.replicas_per_gpu} replicas on one GPU")
    if join_key(row.kind) not in {join_key(kind) for kind in index.case.policy.goodput_kinds}:
        texts.append(f"its measurement is of kind {row.kind}, which the policy does not use")
    if point.output_tps != row.output_tps or point.input_tps != row.input_tps or point.concurrency != row.concurrency:
        texts.append(f"plans {point.output_tps:g} tok/s, and {row.output_tps:g} were measured")
    return texts


def _goodput_rows(index: PlanIndex) -> dict[tuple[str, int, float], list[GoodputRow]]:
    rows: dict[tuple[str, int, float], list[GoodputRow]] = defaultdict(list)
    for row in index.case.goodput:
        rows[join_key(row.model), row.gpus_per_replica, row.output_tps].append(row)
    return rows


def _conditions(index: PlanIndex, workload: Workload, row: GoodputRow) -> list[str]:
    """Shape and latency of the measurement against the workload: stated by both or by neither; latency within the SLO."""
    texts = []
    for name, measured, asked in (
        ("input_tokens", row.input_tokens, workload.input_tokens),
        ("output_tokens", row.output_tokens, workload.output_tokens),
        ("ttft_ms", row.ttft_ms, workload.ttft_ms),
        ("tpot_ms", row.tpot_ms, workload.tpot_ms),
    ):
        if measured is None and asked is None:
            continue
        if measured is None or asked is None:
            texts.append(f"{name} is stated by the {'workload' if measured is None else 'measurement'} only")
        elif name.endswith("_ms"):
            if measured > asked * (1.0 + ROUNDING_REL):
                texts.append(f"{name} {measured:g} was measured, {measured - asked:g} above the limit of {asked:g}")
        elif index.case.policy.shape == "strict" and abs(measured - asked) > ROUNDING_REL * asked:
            texts.append(f"{name} {measured:g} was measured, and {asked:g} is asked")
    if row.prefix_hit_frac > workload.prefix_hit_frac + ROUNDING_REL:
        texts.append(f"prefix_hit_frac {row.prefix_hit_frac:g} was measured, above the workload's {workload.prefix_hit_frac:g}")
    return texts


def _shape(workload: Workload, point: OperatingPoint) -> list[str]:
    """A shape that is not the workload's is declared as such: how far off it is, and whether it is lighter."""
    row = point.row
    pairs = [(row.input_tokens, workload.input_tokens), (row.output_tokens, workload.output_tokens)]
    stated = [(measured, asked) for measured, asked in pairs if measured is not None and asked is not None]
    texts = []
    distance = sum(abs(log(measured / asked)) for measured, asked in stated if measured > 0 and asked > 0)
    if abs(distance - point.shape_distance) > ROUNDING_REL * max(1.0, distance):
        texts.append(f"its shape is {distance:.6g} away from the workload's, and {point.shape_distance:.6g} is declared")
    heavier = sum(measured for measured, _ in stated) >= sum(asked for _, asked in stated) * (1.0 - ROUNDING_REL)
    if len(stated) == 2:
        (input_measured, input_asked), (output_measured, output_asked) = stated
        heavier &= input_measured * output_asked >= input_asked * output_measured * (1.0 - ROUNDING_REL)
    if distance > ROUNDING_REL and not heavier and not point.shape_lighter:
        texts.append("was measured at a lighter shape than the workload's, and does not say so")
    return texts


def _prefill(index: PlanIndex, workload: Workload, row: GoodputRow) -> list[str]:
    if row.input_tps is None:
        return []
    days = [day.day_type for day in workload.demand]
    if all(index.input_per_output(workload.workload, (day, 0)) is not None for day in days):
        return []
    return ["prefill was measured apart (input_tps), and the workload states no input"]


def _memory(
    index: PlanIndex, model: ServedModel, node_type: NodeType, workload: Workload, option: Option, row: GoodputRow
) -> list[str]:
    """gpus x gpu_memory_gb x (1 - overhead_frac) - weights >= concurrency x (KV + state), and heads a multiple of tp."""
    texts = []
    if model.attention_heads is not None and (row.tp < 1 or model.attention_heads % row.tp):
        texts.append(f"{model.attention_heads} attention heads are not a multiple of tp {row.tp}")
    kv_gb = model.kv_gb_per_seq
    if kv_gb is None:
        tokens = model.context_tokens
        if row.input_tokens is not None and row.output_tokens is not None:
            tokens = row.input_tokens + row.output_tokens
        elif workload.input_tokens is not None and workload.output_tokens is not None:
            tokens = workload.input_tokens + workload.output_tokens
        if model.kv_bytes_per_token == 0:
            tokens = 0.0
        if model.kv_bytes_per_token is None or tokens is None:
            return [*texts, f"the KV memory of a sequence of model {model.model} is not stated"]
        kind = model.attention.casefold()
        copies = 1.0
        if "mla" in kind:
            copies = 1.0 if model.kv_data_parallel else float(row.tp)
        elif ("gqa" in kind or "mqa" in kind) and model.kv_heads and row.tp > model.kv_heads:
            copies = row.tp / model.kv_heads
        kv_gb = model.kv_bytes_per_token * tokens / BYTES_IN_GB * copies
    gpus = option.gpus_per_replica / row.replicas_per_gpu
    usable = gpus * node_type.gpu_memory_gb * (1.0 - index.case.policy.overhead_frac)
    needed = model.weights_gb + row.concurrency * (kv_gb + model.state_gb_per_seq)
    if needed > usable + ROUNDING_REL * max(1.0, usable):
        texts.append(f"memory: {needed:.6g} GB needed, {usable:.6g} GB usable, {needed - usable:.6g} GB too much")
    return texts
