"""Who asks for tokens: workloads with their demand, the pools that serve them, day types, and the bad days to survive."""

from __future__ import annotations

from typing import Literal

from optimizer.domain.base import Frozen, Row
from optimizer.domain.hours import ALL_DAY
from optimizer.domain.waiting import occupancy_for

PoolKind = Literal["interactive", "batch", "small", "experiments"]


class DayType(Row):
    """A kind of day and how many such days the horizon has (`days` > 0, may be fractional)."""

    day_type: str
    days: float


class DemandDay(Frozen):
    """Demand of one workload on one day type: hourly mean output tok/s of hours 0..23; input tok/s where the forecast has it."""

    day_type: str
    output_tps: tuple[float, ...]
    input_tps: tuple[float, ...] | None = None


class Workload(Row):
    """A stream of requests for one model with its shape, SLO and demand.

    input_tokens, output_tokens: mean tokens per request. prefix_hit_frac: share of input tokens served from a prefix cache.
    ttft_ms, tpot_ms: the SLO. burst_factor >= 1: peak to mean inside the hour. deferrable_hours: how long work may wait.
    api: ids of ApiPrices it may overflow to. api_max_frac: largest share of an hour's demand that may overflow.
    demand: one DemandDay per day type of the case, in the case's order.
    """

    workload: str
    pool: str
    model: str
    precision: str | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    prefix_hit_frac: float = 0.0
    ttft_ms: float | None = None
    tpot_ms: float | None = None
    burst_factor: float = 1.0
    deferrable_hours: int = 0
    api: tuple[str, ...] = ()
    api_max_frac: float = 1.0
    demand: tuple[DemandDay, ...]

    def demand_on(self, day_type: str) -> DemandDay:
        """The demand of one day type. Raises KeyError where the workload has none."""
        for day in self.demand:
            if day.day_type == day_type:
                return day
        raise KeyError(day_type)

    def input_per_output(self, day_type: str, hour: int) -> float | None:
        """Input tokens per output token in that hour: of the forecast where it has input, else of the request shape, else None.

        An hour without output has no ratio of its own; the request shape, or else 0, stands in (it multiplies a load of 0).
        """
        day = self.demand_on(day_type)
        if day.input_tps is not None:
            if day.output_tps[hour] > 0:
                return day.input_tps[hour] / day.output_tps[hour]
            return self._shape_ratio() or 0.0
        return self._shape_ratio()

    def _shape_ratio(self) -> float | None:
        if self.input_tokens is None or not self.output_tokens:
            return None
        return self.input_tokens / self.output_tokens


class Pool(Row):
    """Replicas that serve together.

    occupancy_frac: share of goodput planned for; None = `auto`: by the live replicas of the hour (waiting.py), so that at most
    wait_prob_max_frac of the requests wait longer than half a mean service. rollout_frac: surge of a new version beside the old
    one, in rollout_hours. spot_max_frac: share of the pool's own tok/s that may be on spot in any hour. node_types: allowed;
    empty = all. min_live: live replicas in every hour. ready_hours, fixed_nodes, fixed_node_type: look-ahead, standing quota.
    """

    pool: str
    kind: PoolKind = "interactive"
    occupancy_frac: float | None = 1.0
    wait_prob_max_frac: float = 0.01
    rollout_frac: float = 0.0
    rollout_hours: frozenset[int] = ALL_DAY
    spot_max_frac: float = 0.0
    node_types: tuple[str, ...] = ()
    min_live: int = 0
    ready_hours: int = 0
    fixed_nodes: int = 0
    fixed_node_type: str | None = None

    @property
    def is_auto(self) -> bool:
        """True where the occupancy follows from the live replicas of the hour."""
        return self.occupancy_frac is None

    def occupancy(self, live: int) -> float:
        """Share of goodput planned for where `live` replicas of the pool are live, spot included; with `auto` 0 where none is."""
        return occupancy_for(live, self.wait_prob_max_frac) if self.occupancy_frac is None else self.occupancy_frac


class Contingency(Row):
    """One bad day that the named pools must survive in every hour with demand (INPUTS, "Bad day")."""

    contingency: str
    pools: tuple[str, ...]
    replicas_lost: int = 0
    replicas_lost_frac: float = 0.0
    nodes_lost: int = 0
    scope: Literal["pool", "zone"] = "pool"
    spot_lost_frac: float = 0.0
    on_demand_obtainable_frac: float = 1.0
    demand_surge_frac: float = 0.0
    api_absorbs: bool = False
    assumed: bool = False
