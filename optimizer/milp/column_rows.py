"""A pool that chooses one of some columns, in the program of one slice.

Variables: way[p,i] whole in 0..1. Rows: one way is chosen; its units are posted to the nodes; overflow is at least what it sends.
"""

from __future__ import annotations

from optimizer.milp.column import Column, Need
from optimizer.milp.frame import Frame
from optimizer.milp.prep import PoolData
from optimizer.milp.program import Term


def add_column_pool(frame: Frame, pool: PoolData, ways: list[Column]) -> None:
    """Post the pool into a frame whose only slice is the one the columns were made for."""
    program, name = frame.program, pool.pool.pool
    chosen = [program.add_variable(("way", name, i), up=1, integer=True) for i in range(len(ways))]
    program.add_row(("one_way", name), [(1.0, variable) for variable in chosen], "==", 1.0)
    units: dict[Need, list[Term]] = {}
    for variable, way in zip(chosen, ways, strict=True):
        for need, count in way.needs:
            units.setdefault(need, []).append((count, variable))
    for (kind, node_type), terms in units.items():
        getattr(frame, kind).setdefault((node_type, 0), []).extend(terms)
    for w, workload in enumerate(pool.workloads):
        sent = [(-way.sent_tps[w], variable) for variable, way in zip(chosen, ways, strict=True) if way.sent_tps[w] > 0]
        if sent:
            over = [(1.0, program.variables[("overflow", workload.workload, api.api, 0)]) for api in pool.slices[0].apis[w]]
            program.add_row(("sent", workload.workload), [*over, *sent], ">=", 0.0)
