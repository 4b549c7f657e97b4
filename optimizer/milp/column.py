"""Columns: one way for one pool to serve one slice, and the prices at which the next ones are looked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from optimizer.milp.prep import PoolData, Prep
from optimizer.milp.program import Key

#: (kind of node: firm, any_ or spot, as in Frame; node type).
Need = tuple[str, str]

#: Families of variables whose values a column keeps; everything else of a pool in a slice follows from them.
COLUMN_FAMILIES = frozenset({"live", "spot_live", "total", "spot_total", "load", "spot_load"})


@dataclass(frozen=True)
class Column:
    """What one way to serve slice t takes, and the values it gives to the variables of the pool written out in full.

    needs: units of every kind of node and node type. sent_tps: planned overflow of every workload of the pool, over all APIs.
    """

    pool: str
    t: int
    needs: tuple[tuple[Need, float], ...]
    sent_tps: tuple[float, ...]
    values: dict[Key, float] = field(compare=False, hash=False)


@dataclass(frozen=True)
class ColumnPrices:
    """$ per average day: unit[(need, t)] of a unit in slice t, sent[(workload, t)] of a tok/s of overflow in slice t."""

    unit: dict[tuple[Need, int], float]
    sent: dict[tuple[str, int], float]


@dataclass(frozen=True)
class Priced:
    """What a pool's best way to serve slice t costs at the prices: at least `bound`. columns: ways found, cheapest first."""

    pool: str
    t: int
    bound: float
    columns: tuple[Column, ...]


class Care(Enum):
    """How exactly ways are looked for: the more, the slower, and the nearer bounds come to the ways."""

    ROUGH = 1
    NORMAL = 2
    FINE = 3


class Pricer(Protocol):
    """Finds the cheapest ways of one pool at given prices, slice by slice."""

    def price(self, prices: ColumnPrices, care: Care = Care.NORMAL, *, many: bool = False) -> list[Priced]:
        """One entry per slice the pricer answers for; bounds hold however little care. many: more ways, cheap in their kind."""


def asks(pool: PoolData, t: int) -> bool:
    """True where the pool needs anything in slice t."""
    return pool.slices[t].total_serve_tps > 0 or pool.pool.min_live > 0


def can_use_columns(prep: Prep, pool: PoolData) -> bool:
    """True where a pool's slices hang together with everything else through nodes and overflow alone.

    Not so: work that waits, look-ahead, nodes given out anew on a bad day, replicas that span nodes of a type sold in several
    places, and APIs that other pools use too and that absorb on a bad day.
    """
    if pool.pool.ready_hours or any(workload.deferrable_hours for workload in pool.workloads) or not pool.options:
        return False
    if any(day.regiven for day in pool.bad_days):
        return False
    for option in pool.options:
        if option.spans_nodes and len({offer.place for offer in prep.offers if offer.node_type == option.node_type}) > 1:
            return False
    if any(day.api_absorbs for day in pool.bad_days):
        own = {api for workload in pool.workloads for api in workload.api}
        others = {api for other in prep.pools if other is not pool for workload in other.workloads for api in workload.api}
        return not own & others
    return True
