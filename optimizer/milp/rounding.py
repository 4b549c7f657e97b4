"""Mixed-integer rounding rows for plain covers: they let the relaxation see that replicas are whole.

For sum_k g_k x_k + a >= d with whole x and a >= 0, and a divisor delta with f0 = frac(d / delta) > 0:
  sum_k (floor(g_k / delta) + min(1, frac(g_k / delta) / f0)) x_k + a / (delta f0) >= ceil(d / delta)
is valid. Divisors are g_k / j for j = 1..4 (solver.md section 1, idea 3). Covers are pools with one workload that cannot wait.
"""

from __future__ import annotations

from math import floor

from optimizer.milp.frame import Frame
from optimizer.milp.prep import PoolData, PoolSlice
from optimizer.milp.program import Term

_PARTS = (1, 2, 3, 4)
#: A remainder nearer to 0 or 1 than this gives rows that say nothing, or too large numbers.
_REMAINDER = 1e-3


def add_rounding_rows(frame: Frame) -> None:
    """Add the rows of every pool that is written out in full and has one workload that cannot wait."""
    for pool in frame.prep.pools:
        if len(pool.workloads) == 1 and not pool.workloads[0].deferrable_hours:
            for t, piece in enumerate(pool.slices):
                if piece.demand_tps[0] > 0:
                    _add(frame, pool, piece, t)


def _add(frame: Frame, pool: PoolData, piece: PoolSlice, t: int) -> None:
    program, name, demand = frame.program, pool.pool.pool, piece.demand_tps[0]
    replicas: list[Term] = []
    for k, mean in enumerate(piece.mean_tps):
        for family in ("live", "spot_live"):
            variable = program.variables.get((family, name, k, t))
            if variable is not None and mean[0] > 0:
                replicas.append((mean[0], variable))
    if not replicas:
        return  # a menu: its lines are whole already
    sent = [program.variables[("overflow", pool.workloads[0].workload, api.api, t)] for api in piece.apis[0]]
    for delta in sorted({tps / part for tps, _ in replicas for part in _PARTS}, reverse=True):
        whole = floor(demand / delta)
        rest = demand / delta - whole
        if not _REMAINDER < rest < 1 - _REMAINDER:
            continue
        terms: list[Term] = []
        for tps, variable in replicas:
            full = floor(tps / delta + 1e-9)
            terms.append((full + min(1.0, max(tps / delta - full, 0.0) / rest), variable))
        terms += [(1.0 / (delta * rest), variable) for variable in sent]
        program.add_row(("rounding", name, delta, t), [(c / (whole + 1), v) for c, v in terms], ">=", 1.0)
