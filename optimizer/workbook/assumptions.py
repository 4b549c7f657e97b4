"""Sentences about values that nobody stated; they are printed and stand in the plan's workbook."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.domain.workload import Contingency
from optimizer.workbook.inputs import COMMAND_LINE, Inputs
from optimizer.workbook.schema import CONTINGENCIES, DAY_TYPES, POOLS, WORKLOADS


def assumed_by_model_option(inputs: Inputs) -> tuple[str, ...]:
    """What --model stands for: one workload in one interactive pool."""
    workloads = [row for row in inputs.of(WORKLOADS).rows if row.file == COMMAND_LINE]
    if not workloads:
        return ()
    row = workloads[0]
    sentences = [f"All demand is one workload, {row['workload']}, for model {row['model']} (--model)."]
    for pool in inputs.of(POOLS).rows:
        if pool.file == COMMAND_LINE and pool["occupancy_frac"] is not None:
            share = pool["occupancy_frac"]
            sentences += [
                f"It is served by one interactive pool, {pool['pool']}.",
                f"It is planned at occupancy {share:g}: {1 - share:.0%} of measured goodput is kept for queueing and imbalance.",
                "The pool uses no spot capacity.",
            ]
    return tuple(sentences)


def assumed_by_default(inputs: Inputs, contingencies: Sequence[Contingency]) -> tuple[str, ...]:
    """Defaults that stand in for whole tables: DayTypes, Pools, Contingencies."""
    sentences = []
    if not inputs.of(DAY_TYPES).rows:
        sentences.append("Every day of the horizon is like the forecast (no DayTypes).")
    assumed_pools = [row["pool"] for row in inputs.of(POOLS).rows if not row.columns and row.file != COMMAND_LINE]
    if assumed_pools:
        sentences.append(
            f"Pools {', '.join(assumed_pools)} have the defaults: interactive, occupancy 1, no rollout, no spot (no sheet Pools)."
        )
    if not inputs.of(CONTINGENCIES).present:
        sentences += [f"{_bad_day(row)} in any hour ({', '.join(row.pools)}; no sheet Contingencies)." for row in contingencies]
    return tuple(sentences)


def _bad_day(row: Contingency) -> str:
    if row.replicas_lost:
        return f"The plan survives the loss of {row.replicas_lost} live replica (N+1)"
    return "The plan survives the loss of all spot nodes"
