"""Candidates in the plainest way: every goodput row of the pool's model is an option on every node type with that GPU.

For cases whose rows state no shape and no latency, and fit. Independent of the candidates room.
"""

from __future__ import annotations

from optimizer.candidates.option import Candidates, Fit, OperatingPoint, Option
from optimizer.domain.case import Case
from optimizer.domain.measurement import GoodputRow
from optimizer.domain.workload import Workload

_FITS = Fit(usable_gb=1.0, weights_gb=0.0, room_gb=1.0, per_seq_gb=0.0, sequences_asked=1.0, sequences_left=None, fits=True)


def _serves(row: GoodputRow, workload: Workload) -> bool:
    """Same shape (or neither states one)."""
    return (row.input_tokens, row.output_tokens) == (workload.input_tokens, workload.output_tokens)


def plain_candidates(case: Case) -> Candidates:
    """Options of every pool, best goodput per workload; all offers."""
    options = []
    for pool in case.pools:
        workloads = case.workloads_of(pool.pool)
        if not workloads:
            continue
        for node in case.node_types:
            if pool.node_types and node.node_type not in pool.node_types:
                continue
            points: dict[tuple[int, str, str], dict[str, GoodputRow]] = {}
            for row in case.goodput:
                if row.gpu != node.gpu or row.model != workloads[0].model:
                    continue
                whole = node.gpus_per_node % row.gpus_per_replica == 0
                spans = row.gpus_per_replica % node.gpus_per_node == 0 and row.gpus_per_replica <= node.replica_span_gpus
                if not whole and not spans:
                    continue
                best = points.setdefault((row.gpus_per_replica, row.engine, row.config), {})
                for workload in workloads:
                    if _serves(row, workload) and (
                        workload.workload not in best or best[workload.workload].output_tps < row.output_tps
                    ):
                        best[workload.workload] = row
            for (gpus, engine, config), best in points.items():
                if best:
                    row = next(iter(best.values()))
                    options.append(
                        Option(
                            option=f"{row.model}|{row.precision}|{node.node_type}|{gpus}|{engine}|{config}",
                            pool=pool.pool,
                            model=row.model,
                            precision=row.precision,
                            node_type=node.node_type,
                            gpu=node.gpu,
                            gpus_per_node=node.gpus_per_node,
                            gpus_per_replica=gpus,
                            engine=engine,
                            config=config,
                            points=tuple(
                                OperatingPoint(workload=name, output_tps=r.output_tps, input_tps=r.input_tps, row=r, fit=_FITS)
                                for name, r in best.items()
                            ),
                        )
                    )
    return Candidates(options=tuple(options), offers=case.offers)
