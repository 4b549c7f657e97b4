"""What a workload must state before options can be looked for: its model and precision, its shape and its latency limits."""

from __future__ import annotations

from collections.abc import Iterable

from optimizer.candidates.codes import RejectionCode
from optimizer.candidates.matching import LATENCY, SHAPE, Miss, input_rate_known, missing_statements, stated
from optimizer.domain.base import Row
from optimizer.domain.case import Case
from optimizer.domain.measurement import GoodputRow
from optimizer.domain.model import ServedModel
from optimizer.domain.names import join_key
from optimizer.domain.workload import Workload
from optimizer.errors import ProblemList

_WHAT_TO_STATE = {
    RejectionCode.SHAPE_MISSING: (SHAPE, "State input_tokens and output_tokens in Workloads (--input-tokens, --output-tokens)."),
    RejectionCode.SLO_MISSING: (LATENCY, "State ttft_ms and tpot_ms in Workloads (--ttft-ms, --tpot-ms)."),
}


def resolve_models(case: Case, problems: ProblemList) -> dict[str, ServedModel]:
    """The row of Models that each workload runs; an empty precision is the model's only one.

    Records PRECISION_MISSING (several precisions and none named) and MODEL_UNKNOWN for those that have none.
    """
    found: dict[str, ServedModel] = {}
    for workload in case.workloads:
        rows = [model for model in case.models if join_key(model.model) == join_key(workload.model)]
        precisions = ", ".join(model.precision for model in rows)
        name = workload.workload
        if workload.precision is None and len(rows) > 1:
            message = f"Workload {name} names no precision, and model {workload.model} has several: {precisions}."
            _error(problems, workload, "PRECISION_MISSING", message, "Name one in the column precision (--precision).")
            continue
        if workload.precision is not None:
            rows = [model for model in rows if join_key(model.precision) == join_key(workload.precision)]
        if rows:
            found[name] = rows[0]
        else:
            wanted = f"model {workload.model}" + (f" at precision {workload.precision}" if workload.precision else "")
            there = f" (it has {precisions})" if precisions else ""
            message = f"Workload {name} runs {wanted}, which is not in Models{there}."
            _error(problems, workload, "MODEL_UNKNOWN", message, "Add the row to Models, or correct the name.")
    return found


def refuse_unstated(
    workload: Workload, model: ServedModel, misses: Iterable[tuple[GoodputRow, Miss]], problems: ProblemList
) -> None:
    """Record what a workload without any option must state, where that could give it one.

    Of the rows that only the workload's silence keeps out, those that ask for least decide: SLO_MISSING, SHAPE_MISSING or both.
    KV_UNKNOWN where instead the memory of a sequence is what nobody stated.
    """
    found = list(misses)
    asking = [
        (row, _unstated_kinds(row, workload))
        for row, miss in found
        if miss.code in (RejectionCode.SHAPE_MISSING, RejectionCode.SLO_MISSING)
    ]
    if asking:
        least = min(len(kinds) for _, kinds in asking)
        rows_by_code: dict[RejectionCode, list[GoodputRow]] = {}
        for row, kinds in asking:
            for code in kinds if len(kinds) == least else ():
                rows_by_code.setdefault(code, []).append(row)
        for code, rows in rows_by_code.items():
            conditions, fix = _WHAT_TO_STATE[code]
            silent = [name for name in conditions if stated(workload, name) is None]
            message = (
                f"Workload {workload.workload} states no {' or '.join(silent)}, and nothing else serves it: goodput of "
                f"{model.model} {model.precision} was measured at {_ranges(rows, silent)}."
            )
            _error(problems, workload, code.value, message, fix)
        return
    for _, miss in found:
        if miss.code is RejectionCode.KV_UNKNOWN:
            message = f"Nothing can serve workload {workload.workload}: {miss.reason}."
            fix = "State kv_gb_per_seq in Models, or kv_bytes_per_token with the workload's tokens or context_tokens."
            _error(problems, model, "KV_UNKNOWN", message, fix)
            return


def _unstated_kinds(row: GoodputRow, workload: Workload) -> tuple[RejectionCode, ...]:
    names = missing_statements(row, workload)
    kinds = []
    if any(name in SHAPE for name in names) or (row.input_tps is not None and not input_rate_known(workload)):
        kinds.append(RejectionCode.SHAPE_MISSING)
    if any(name in LATENCY for name in names):
        kinds.append(RejectionCode.SLO_MISSING)
    return tuple(kinds)


def _ranges(rows: Iterable[GoodputRow], conditions: Iterable[str]) -> str:
    """`ttft_ms 180 to 900 and tpot_ms 22`, over what the rows state; prefill measured apart is named where nothing else is."""
    rows = list(rows)
    words = []
    for name in conditions:
        values = [value for value in (stated(row, name) for row in rows) if value is not None]
        if values:
            low, high = min(values), max(values)
            words.append(f"{name} {low:g}" + (f" to {high:g}" if high > low else ""))
    return " and ".join(words) or "a prefill rate of its own, which needs the tokens per request"


def _error(problems: ProblemList, row: Row, code: str, message: str, fix: str) -> None:
    origin = row.origin
    problems.error(code, message, fix, file=origin.file, sheet=origin.sheet, cell=f"A{origin.row}" if origin.row else None)
