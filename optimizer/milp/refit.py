"""For given ways of the pools: commitments, nodes used, overflow and the work that waits, decided all hours at once."""

from __future__ import annotations

from optimizer.milp.column import Column
from optimizer.milp.explicit import add_explicit_pool
from optimizer.milp.frame import build_frame, close_frame
from optimizer.milp.left_nodes import add_left_nodes
from optimizer.milp.prep import PoolData, Prep
from optimizer.milp.program import Key
from optimizer.milp.solver import solve


def refit(
    prep: Prep, column_pools: tuple[PoolData, ...], ways: list[Column], gap: float, time_limit_s: float
) -> tuple[dict[Key, float], dict[str, int]] | None:
    """Values of the whole program and the lots, at the best found for these ways; None where nothing was found in time."""
    frame = build_frame(prep)
    program = frame.program
    names = {pool.pool.pool for pool in column_pools}
    workloads = {pool.pool.pool: pool.workloads for pool in column_pools}
    for pool in prep.pools:
        if pool.pool.pool not in names:
            add_explicit_pool(frame, pool)
    one = program.add_variable(("one",), low=1.0, up=1.0)
    for way in ways:
        for (kind, node_type), units in way.needs:
            getattr(frame, kind).setdefault((node_type, way.t), []).append((units, one))
        pool = next(pool for pool in column_pools if pool.pool.pool == way.pool)
        for w, workload in enumerate(workloads[way.pool]):
            if way.sent_tps[w] > 0:
                apis = pool.slices[way.t].apis[w]
                terms = [(1.0, program.variables[("overflow", workload.workload, api.api, way.t)]) for api in apis]
                program.add_row(("sent", workload.workload, way.t), terms, ">=", way.sent_tps[w])
    close_frame(frame)
    add_left_nodes(frame)
    program.close_with_cost()
    solved = solve(program, gap=gap * 0.3, time_limit_s=time_limit_s)
    if solved.objective is None:
        return None
    values = {key: program.value(key) for key in program.variables}
    for way in ways:
        values.update(way.values)
    return values, {key[1]: program.whole(key) for key in program.variables if key[0] == "lots"}
