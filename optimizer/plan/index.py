"""A case and a decision laid out by slice, for the checks that walk hour by hour. Plain dictionaries, no solver.

A slice key is (day_type, hour); an option key is (pool, option), since pools may share option ids. Every id in the decision must
be known (`audit_rows` checks that first): an unknown one raises KeyError where it is looked up.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from optimizer.candidates.option import Candidates, Option
from optimizer.domain.case import Case
from optimizer.domain.workload import Workload
from optimizer.plan.plan import Decision
from optimizer.units import HOURS_PER_DAY

SliceKey = tuple[str, int]
OptionKey = tuple[str, str]


class Replicas(NamedTuple):
    """Replicas of one option in one slice, firm and spot apart."""

    firm_live: int
    firm_total: int
    spot_live: int
    spot_total: int

    @property
    def live(self) -> int:
        """Firm and spot live replicas together."""
        return self.firm_live + self.spot_live

    @property
    def total(self) -> int:
        """Firm and spot replicas together."""
        return self.firm_total + self.spot_total


NO_REPLICAS = Replicas(0, 0, 0, 0)


class PlanIndex:
    """Look-ups that the checks share. Missing rows of a decision mean 0."""

    def __init__(self, case: Case, candidates: Candidates, decision: Decision) -> None:
        self.case = case
        self.candidates = candidates
        self.decision = decision
        days = sum(day.days for day in case.day_types)
        self.weights: dict[SliceKey, float] = {
            (day.day_type, hour): day.days / days for day in case.day_types for hour in range(HOURS_PER_DAY)
        }
        self.options: dict[OptionKey, Option] = {(option.pool, option.option): option for option in candidates.options}
        self.options_of: dict[str, list[OptionKey]] = {pool.pool: [] for pool in case.pools}
        for pool, name in self.options:
            self.options_of[pool].append((pool, name))
        self.workloads: dict[str, Workload] = {workload.workload: workload for workload in case.workloads}
        self.workloads_of: dict[str, list[Workload]] = {pool.pool: [] for pool in case.pools}
        for workload in case.workloads:
            self.workloads_of[workload.pool].append(workload)
        self.pools = {pool.pool: pool for pool in case.pools}
        self.offers = {offer.offer: offer for offer in case.offers}
        self.node_types = {row.node_type: row for row in case.node_types}
        self.apis = {row.api: row for row in case.api_prices}
        self.sites = {row.site: row for row in case.sites}
        self._demand = {
            (workload.workload, day.day_type): day.output_tps for workload in case.workloads for day in workload.demand
        }
        self._ratios: dict[tuple[str, str], tuple[float | None, ...]] = {}
        self._shares: dict[tuple[OptionKey, str], float] = {}
        self._read(decision)

    def _read(self, decision: Decision) -> None:
        self.nodes_new = {row.offer: row.nodes_new for row in decision.nodes_new}
        self.nodes_existing = {row.offer: row.nodes_existing for row in decision.nodes_new}
        self.used: dict[SliceKey, dict[str, int]] = defaultdict(dict)
        for use in decision.node_uses:
            self.used[use.day_type, use.hour][use.offer] = use.used
        self.replicas: dict[SliceKey, dict[OptionKey, Replicas]] = defaultdict(dict)
        for row in decision.replicas:
            self.replicas[row.day_type, row.hour][row.pool, row.option] = Replicas(
                row.live - row.spot_live, row.total - row.spot_total, row.spot_live, row.spot_total
            )
        self._pool_live: dict[tuple[str, SliceKey], int] = defaultdict(int)
        for row in decision.replicas:
            self._pool_live[row.pool, (row.day_type, row.hour)] += row.live
        self.loads: dict[SliceKey, dict[tuple[str, str], tuple[float, float]]] = defaultdict(dict)
        for load in decision.loads:
            self.loads[load.day_type, load.hour][load.workload, load.option] = (load.firm_tps, load.spot_tps)
        self.overflows: dict[SliceKey, dict[tuple[str, str], float]] = defaultdict(dict)
        for flow in decision.overflows:
            self.overflows[flow.day_type, flow.hour][flow.workload, flow.api] = flow.tps
        self._run: dict[tuple[str, SliceKey], float] = defaultdict(float)
        for shift in decision.shifts:
            self._run[shift.workload, (shift.day_type, shift.run_hour)] += shift.tps

    def held(self, offer: str) -> int:
        """Nodes held on an offer, new and existing."""
        return self.nodes_new.get(offer, 0) + self.nodes_existing.get(offer, 0)

    def demand_tps(self, workload: str, key: SliceKey) -> float:
        """Forecast output tok/s of one workload in one slice."""
        return self._demand[workload, key[0]][key[1]]

    def run_tps(self, workload: str, key: SliceKey) -> float:
        """Output tok/s to serve in one slice: the demand, or of deferrable work what was shifted there."""
        if self.workloads[workload].deferrable_hours:
            return self._run.get((workload, key), 0.0)
        return self.demand_tps(workload, key)

    def counts(self, key: SliceKey, option: OptionKey) -> Replicas:
        """Replicas of one option in one slice."""
        return self.replicas[key].get(option, NO_REPLICAS) if key in self.replicas else NO_REPLICAS

    def input_per_output(self, workload: str, key: SliceKey) -> float | None:
        """Input tokens per output token: that hour's where the forecast has input, else of the request shape; None if neither."""
        day_type, hour = key
        ratios = self._ratios.get((workload, day_type))
        if ratios is None:
            ratios = self._ratios[workload, day_type] = _ratios_of_day(self.workloads[workload], day_type)
        return ratios[hour]

    def input_known(self, workload: str, key: SliceKey) -> bool:
        """False where the forecast has input for the day and none of that hour, and no request shape stands in."""
        row = self.workloads[workload]
        if row.input_tokens is not None and row.output_tokens:
            return True
        with_input = any(day.day_type == key[0] and day.input_tps is not None for day in row.demand)
        return not with_input or self.demand_tps(workload, key) > 0

    def pool_live(self, pool: str, key: SliceKey) -> int:
        """Live replicas of a pool in one slice, spot included."""
        return self._pool_live.get((pool, key), 0)

    def occupancy(self, pool: str, key: SliceKey) -> float:
        """Share of goodput planned for in one slice: as stated, or with `auto` by the replicas live in the plan in that slice."""
        row = self.pools[pool]
        return row.occupancy(self.pool_live(pool, key) if row.is_auto else 0)

    def replica_per_tps(self, option: OptionKey, workload: str, key: SliceKey) -> float | None:
        """Live replicas that one hourly-mean output tok/s takes on an option; None where the option cannot serve the workload.

        `busy_per_tps` / occupancy of the slice (INPUTS, "Capacity"); with `auto` None, too, where the pool has no live replica.
        """
        busy, occupancy = self.busy_per_tps(option, workload, key), self.occupancy(option[0], key)
        return None if busy is None or occupancy <= 0 else busy / occupancy

    def busy_per_tps(self, option: OptionKey, workload: str, key: SliceKey) -> float | None:
        """Replicas kept busy all the time by one hourly-mean output tok/s on an option; None where it cannot serve the workload.

        burst x (1 / output_tps + (1 - prefix_hit_frac) x input per output / input_tps), straight from the measured row; the
        second term only where prefill was measured apart.
        """
        known = self._shares.get((option, workload))
        if known is not None:
            return known
        point = self.options[option].point(workload)
        if point is None:
            return None
        row, served = point.row, self.workloads[workload]
        if row.input_tps is None:
            share = served.burst_factor / row.output_tps
            self._shares[option, workload] = share
            return share
        ratio = self.input_per_output(workload, key) or 0.0
        return served.burst_factor * (1.0 / row.output_tps + (1.0 - served.prefix_hit_frac) * ratio / row.input_tps)

    def gpu_share(self, option: OptionKey) -> int:
        """Replicas that share one GPU, from the measured rows (1 = a replica takes whole GPUs)."""
        return max((point.row.replicas_per_gpu for point in self.options[option].points), default=1)


def _ratios_of_day(workload: Workload, day_type: str) -> tuple[float | None, ...]:
    shape = None
    if workload.input_tokens is not None and workload.output_tokens:
        shape = workload.input_tokens / workload.output_tokens
    for day in workload.demand:
        if day.day_type == day_type:
            if day.input_tps is None:
                return (shape,) * len(day.output_tps)
            return tuple(
                tokens_in / tokens_out if tokens_out > 0 else shape or 0.0
                for tokens_in, tokens_out in zip(day.input_tps, day.output_tps, strict=True)
            )
    raise KeyError(day_type)
