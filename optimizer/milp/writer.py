"""One pool in one slice on its way into the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from optimizer.milp.frame import Frame
from optimizer.milp.prep import PoolData, PoolSlice
from optimizer.milp.program import Term


@dataclass(frozen=True)
class LiveClass:
    """A number of live replicas that may be right in a slice, its occupancy, and the 0/1 variable that chooses it."""

    live: int
    occupancy: float
    chosen: Any


@dataclass(frozen=True)
class Writer:
    """Where rows of one pool in slice t go, and what they are about. classes: of a pool whose occupancy is `auto`, else empty."""

    frame: Frame
    pool: PoolData
    piece: PoolSlice
    t: int
    classes: tuple[LiveClass, ...] = ()

    @property
    def name(self) -> str:
        """Name of the pool, part of every key."""
        return self.pool.pool.pool

    def overflow_terms(self, w: int) -> list[Term]:
        """Planned overflow of workload w over its open APIs."""
        workload = self.pool.workloads[w].workload
        return [(1.0, self.frame.program.variables[("overflow", workload, api.api, self.t)]) for api in self.piece.apis[w]]
