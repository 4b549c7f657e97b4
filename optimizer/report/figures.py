"""The plan in Python numbers, laid out as the sheets need it: the cached values of the workbook's formulas.

Slices are numbered in the order of the case; offers, options and rows are in the order in which the sheets list them.
"""

from __future__ import annotations

from functools import cached_property
from math import fsum

from optimizer.candidates.option import Candidates, OperatingPoint, Option
from optimizer.domain.case import Case
from optimizer.domain.hardware import NodeType
from optimizer.domain.workload import Pool, Workload
from optimizer.plan.index import PlanIndex, SliceKey
from optimizer.plan.ledger import api_usd_per_mtok, gpus_of_replica, node_rates
from optimizer.plan.plan import Commitment, Covered, Load, Overflow, Plan, Shift
from optimizer.report.plan_lines import Line, ReplicaRow
from optimizer.report.result import PlanResult
from optimizer.studies.why import WhyLine, why_lines
from optimizer.units import SECONDS_PER_HOUR, TOKENS_PER_MTOK, ceil_hedged

PURCHASE_ORDER = ("owned", "reserved", "flex", "on_demand", "spot")


class Figures:
    """Everything the sheets show of one plan. Raises ValueError where the result carries no plan."""

    def __init__(self, result: PlanResult) -> None:
        if result.plan is None or result.case is None or result.candidates is None:
            raise ValueError(f"a result that is {result.status} has no figures")
        self.result = result
        self.plan: Plan = result.plan
        self.case: Case = result.case
        self.candidates: Candidates = result.candidates
        self.index = PlanIndex(self.case, self.candidates, self.plan.decision)
        self.slices: tuple[SliceKey, ...] = tuple((piece.day_type, piece.hour) for piece in self.case.slices)
        self.weights: tuple[float, ...] = tuple(piece.weight for piece in self.case.slices)
        self.place_of: dict[SliceKey, int] = {key: place for place, key in enumerate(self.slices)}
        self.currency = self.case.policy.currency

    @cached_property
    def why(self) -> tuple[WhyLine, ...]:
        """Why each line is in the mix."""
        return why_lines(self.case, self.candidates, self.plan)

    # ------------------------------------------------------------------ offers

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The offers of the plan by purchase type, then in the order of the case."""
        found = []
        for purchase in self.plan.purchases:
            offer = self.case.offer(purchase.offer)
            nodes = self.index.held(offer.offer)
            rates = node_rates(self.case, offer)
            found.append(
                Line(
                    offer=offer,
                    node_type=self.case.node_type(offer.node_type),
                    site=self.case.site(offer.site) if offer.site else None,
                    purchase=purchase,
                    new=purchase.nodes_new,
                    existing=purchase.nodes_existing,
                    held=tuple(nodes if offer.is_held and hour in offer.hours else 0 for _, hour in self.slices),
                    used=tuple(self.index.used[key].get(offer.offer, 0) if key in self.index.used else 0 for key in self.slices),
                    covered=tuple(self.covered.get((offer.offer, place), (0.0, 0.0))[0] for place in range(len(self.slices))),
                    weights=self.weights,
                    used_usd_per_h=rates.used_per_h,
                    energy_usd_per_h=rates.energy_per_h,
                )
            )
        return tuple(sorted(found, key=lambda line: PURCHASE_ORDER.index(line.offer.purchase)))

    @cached_property
    def covered_rows(self) -> tuple[Covered, ...]:
        """Nodes that commitments cover, above 0, by discount, slice and offer."""
        rows = [row for row in self.plan.decision.covered if row.nodes > 0]
        return tuple(sorted(rows, key=lambda row: (row.discount, self.place_of[row.day_type, row.hour], row.offer)))

    @cached_property
    def covered(self) -> dict[tuple[str, int], tuple[float, float]]:
        """(nodes covered, $/h of the commitment that they take) by offer and slice."""
        found: dict[tuple[str, int], tuple[float, float]] = {}
        for row in self.covered_rows:
            key = (row.offer, self.place_of[row.day_type, row.hour])
            nodes, usd = found.get(key, (0.0, 0.0))
            found[key] = (nodes + row.nodes, usd + row.nodes * self.discounted_price(row.discount, row.offer))
        return found

    def discounted_price(self, discount: str, offer: str) -> float:
        """$/node-h of an offer under a commitment."""
        return next(
            row.discounted_usd_per_node_h for row in self.case.discounts if (row.discount, row.offer) == (discount, offer)
        )

    @cached_property
    def commitments(self) -> tuple[Commitment, ...]:
        """Commitments above 0 $/h, in the order of the case."""
        bought = {row.discount: row for row in self.plan.decision.commitments if row.usd_per_h > 0}
        return tuple(bought[name] for name in dict.fromkeys(row.discount for row in self.case.discounts) if name in bought)

    def commitment_node_type(self, discount: str) -> NodeType:
        """Node type of the first offer that a commitment could cover, which stands for it in tables by node type and GPU."""
        offer = next(row.offer for row in self.case.discounts if row.discount == discount)
        return self.case.node_type(self.case.offer(offer).node_type)

    @cached_property
    def cost_parts(self) -> tuple[str, ...]:
        """Parts of the bill that the sheets show: commitments only where there are any."""
        return ("held", "used", "upfront", "energy", "site", *(("discounts",) if self.commitments else ()), "api")

    @cached_property
    def node_types(self) -> tuple[NodeType, ...]:
        """Node types that the plan pays for or runs on, in the order of the case."""
        named = {self.commitment_node_type(row.discount).node_type for row in self.commitments}
        named |= {line.node_type.node_type for line in self.lines} | {row.option.node_type for row in self.replica_rows}
        return tuple(row for row in self.case.node_types if row.node_type in named)

    @cached_property
    def markets(self) -> tuple[tuple[str, bool], ...]:
        """(node type, spot) pairs in which nodes are used or replicas run."""
        found = {(line.node_type.node_type, line.is_spot) for line in self.lines}
        for row in self.replica_rows:
            found |= {(row.option.node_type, spot) for spot, gpus in ((False, row.firm_gpus), (True, row.spot_gpus)) if gpus}
        return tuple((row.node_type, spot) for row in self.node_types for spot in (False, True) if (row.node_type, spot) in found)

    # ------------------------------------------------------------------ replicas and tokens

    @cached_property
    def options(self) -> dict[tuple[str, str], Option]:
        """Options by pool and id."""
        return self.index.options

    @cached_property
    def load_rows(self) -> tuple[Load, ...]:
        """Loads above 0 by pool, slice, option and workload."""
        pools = {row.pool: place for place, row in enumerate(self.case.pools)}
        workloads = {row.workload: (pools[row.pool], place) for place, row in enumerate(self.case.workloads)}

        def order(row: Load) -> tuple[int, int, str, int]:
            pool, workload = workloads[row.workload]
            return pool, self.place_of[row.day_type, row.hour], row.option, workload

        return tuple(sorted((row for row in self.plan.decision.loads if row.firm_tps + row.spot_tps > 0), key=order))

    @cached_property
    def api_rows(self) -> tuple[Overflow, ...]:
        """API overflow above 0 by workload, slice and api."""
        workloads = {row.workload: place for place, row in enumerate(self.case.workloads)}
        rows = [row for row in self.plan.decision.overflows if row.tps > 0]
        return tuple(sorted(rows, key=lambda row: (workloads[row.workload], self.place_of[row.day_type, row.hour], row.api)))

    @cached_property
    def replica_rows(self) -> tuple[ReplicaRow, ...]:
        """Replicas above 0 by pool, slice and option."""
        busy: dict[tuple[str, str, str, int], list[float]] = {}
        for load in self.load_rows:
            pool = self.case.workload(load.workload).pool
            key = (pool, load.option, load.day_type, load.hour)
            busy.setdefault(key, []).append(self.busy_replicas(load))
        pools = {row.pool: place for place, row in enumerate(self.case.pools)}
        found = [
            ReplicaRow(
                place=self.place_of[row.day_type, row.hour],
                option=self.options[row.pool, row.option],
                count=row,
                busy=fsum(busy.get((row.pool, row.option, row.day_type, row.hour), ())),
            )
            for row in self.plan.decision.replicas
            if row.total
        ]
        return tuple(sorted(found, key=lambda row: (pools[row.count.pool], row.place, row.count.option)))

    def point_of(self, load: Load) -> OperatingPoint:
        """The operating point at which a load is served."""
        point = self.options[self.case.workload(load.workload).pool, load.option].point(load.workload)
        if point is None:
            raise KeyError(load.workload)
        return point

    def prefill_per_token(self, load: Load) -> float:
        """Replica-seconds of prefill for one output token, where prefill was measured apart; else 0."""
        point = self.point_of(load)
        if point.input_tps is None:
            return 0.0
        ratio = self.input_per_output(load.workload, (load.day_type, load.hour))
        return (1.0 - self.case.workload(load.workload).prefix_hit_frac) * ratio / point.input_tps

    def busy_replicas(self, load: Load) -> float:
        """Replicas' worth of work in a load at full goodput: burst x load x (1 / goodput + prefill)."""
        workload = self.case.workload(load.workload)
        per_token = 1.0 / self.point_of(load).output_tps + self.prefill_per_token(load)
        return workload.burst_factor * (load.firm_tps + load.spot_tps) * per_token

    def input_per_output(self, workload: str, key: SliceKey) -> float:
        """Input tokens per output token in a slice; 0 where nobody states any."""
        return self.index.input_per_output(workload, key) or 0.0

    def api_price(self, row: Overflow) -> float:
        """$/M output tokens of an overflow, its input included."""
        return api_usd_per_mtok(self.case.api(row.api), self.case.workload(row.workload), row.day_type, row.hour)

    @cached_property
    def goodput_tps(self) -> dict[tuple[str, str], float]:
        """Goodput of an option over what it serves: tokens / replica time they take; equal parts where it serves nothing."""
        tokens: dict[tuple[str, str], dict[str, float]] = {}
        for load in self.load_rows:
            key = (self.case.workload(load.workload).pool, load.option)
            weight = self.weights[self.place_of[load.day_type, load.hour]]
            part = tokens.setdefault(key, {})
            part[load.workload] = part.get(load.workload, 0.0) + weight * (load.firm_tps + load.spot_tps)
        goodput = {}
        for key, option in self.options.items():
            shares = tokens.get(key) or {point.workload: 1.0 for point in option.points}
            per_token = {point.workload: 1.0 / point.output_tps for point in option.points}
            goodput[key] = fsum(shares.values()) / fsum(share * per_token[name] for name, share in shares.items())
        return goodput

    def needed(self, row: ReplicaRow) -> int:
        """Whole replicas that a normal hour needs at the planned occupancy."""
        return ceil_hedged(row.busy / self.occupancy(row.count.pool, row.place)) if row.busy else 0

    def occupancy(self, pool: str, place: int) -> float:
        """Planned occupancy of a pool in a slice; 0 with `auto` where no replica is live."""
        return self.index.occupancy(pool, self.slices[place])

    # ------------------------------------------------------------------ demand

    def demand(self, workload: Workload, place: int) -> float:
        """Forecast output tok/s in a slice."""
        return self.index.demand_tps(workload.workload, self.slices[place])

    def run(self, workload: Workload, place: int) -> float:
        """Output tok/s to serve in a slice: the demand, or what was shifted there of deferrable work."""
        return self.index.run_tps(workload.workload, self.slices[place])

    @cached_property
    def shift_rows(self) -> tuple[Shift, ...]:
        """Deferrable work above 0 by workload, day type, hour of arrival and hour of running."""
        workloads = {row.workload: place for place, row in enumerate(self.case.workloads)}
        rows = [row for row in self.plan.decision.shifts if row.tps > 0]
        return tuple(sorted(rows, key=lambda row: (workloads[row.workload], self.place_of[row.day_type, row.hour], row.run_hour)))

    @cached_property
    def own_tps(self) -> dict[tuple[str, int], tuple[float, float]]:
        """Firm and spot tok/s by workload and slice."""
        found: dict[tuple[str, int], tuple[float, float]] = {}
        for load in self.load_rows:
            key = (load.workload, self.place_of[load.day_type, load.hour])
            firm, spot = found.get(key, (0.0, 0.0))
            found[key] = (firm + load.firm_tps, spot + load.spot_tps)
        return found

    @cached_property
    def api_tps(self) -> dict[tuple[str, int], float]:
        """API tok/s by workload and slice."""
        found: dict[tuple[str, int], float] = {}
        for row in self.api_rows:
            key = (row.workload, self.place_of[row.day_type, row.hour])
            found[key] = found.get(key, 0.0) + row.tps
        return found

    # ------------------------------------------------------------------ money by market

    @cached_property
    def market_gpus(self) -> dict[tuple[str, bool, int], float]:
        """GPUs taken by replicas and standing quotas, by node type, spot and slice."""
        found = dict(self.replica_gpus)
        for pool in self.quota_pools:
            node_type = pool.fixed_node_type or ""
            for place in range(len(self.weights)):
                key = (node_type, False, place)
                found[key] = found.get(key, 0.0) + self.quota_gpus(pool)
        return found

    @property
    def quota_pools(self) -> tuple[Pool, ...]:
        """Pools with a standing quota of nodes."""
        return tuple(pool for pool in self.case.pools if pool.fixed_nodes and pool.fixed_node_type)

    def quota_gpus(self, pool: Pool) -> float:
        """GPUs of a pool's standing quota."""
        return float(pool.fixed_nodes * self.case.node_type(pool.fixed_node_type or "").gpus_per_node)

    @cached_property
    def replica_gpus(self) -> dict[tuple[str, bool, int], float]:
        """GPUs that replicas take, by node type, spot and slice."""
        found: dict[tuple[str, bool, int], float] = {}
        for row in self.replica_rows:
            for spot, gpus in ((False, row.firm_gpus), (True, row.spot_gpus)):
                key = (row.option.node_type, spot, row.place)
                found[key] = found.get(key, 0.0) + gpus
        return found

    def market_usd(self, node_type: str, spot: bool, place: int) -> float:
        """$/h of the nodes in use of one market in a slice: what they cost to hold and to use."""
        usd = []
        for line in self.lines:
            if line.node_type.node_type == node_type and line.is_spot == spot:
                covered, committed = self.covered.get((line.offer.offer, place), (0.0, 0.0))
                usd.append(line.used[place] * (line.used_usd_per_h + line.energy_usd_per_h + line.holding_usd_per_h))
                usd.append(committed - covered * line.used_usd_per_h)
        return fsum(usd)

    def market_rate(self, node_type: str, spot: bool, place: int) -> float:
        """$ per GPU-hour that is taken in a market, in a slice; 0 where none is."""
        gpus = self.market_gpus.get((node_type, spot, place), 0.0)
        return self.market_usd(node_type, spot, place) / gpus if gpus else 0.0

    @cached_property
    def _market_tps(self) -> dict[tuple[str, bool, int], float]:
        found: dict[tuple[str, bool, int], float] = {}
        for row in self.replica_rows:
            goodput = self.goodput_tps[row.count.pool, row.count.option]
            for spot, count in ((False, row.count.total - row.count.spot_total), (True, row.count.spot_total)):
                key = (row.option.node_type, spot, row.place)
                found[key] = found.get(key, 0.0) + count * goodput
        return found

    def market_tps_per_gpu(self, node_type: str, spot: bool, place: int) -> float:
        """Goodput of a GPU that replicas take in a market in a slice; that of the day where none run."""
        gpus = self.replica_gpus.get((node_type, spot, place), 0.0)
        return self._market_tps[node_type, spot, place] / gpus if gpus else self.tps_per_gpu[node_type]

    @cached_property
    def tps_per_gpu(self) -> dict[str, float]:
        """Goodput of one GPU by node type: replica-hours x goodput / replica-hours x GPUs, over the day; 0 where nothing runs."""
        found = {}
        for node_type in self.node_types:
            rows = [row for row in self.replica_rows if row.option.node_type == node_type.node_type]
            hours = [self.weights[row.place] * row.count.total for row in rows]
            gpu_hours = fsum(hour * gpus_of_replica(row.option) for hour, row in zip(hours, rows, strict=True))
            tps_hours = fsum(
                hour * self.goodput_tps[row.count.pool, row.count.option] for hour, row in zip(hours, rows, strict=True)
            )
            found[node_type.node_type] = tps_hours / gpu_hours if gpu_hours else 0.0
        return found


def mtok(tps_hours: float) -> float:
    """Millions of tokens in so many tok/s x hours."""
    return tps_hours * SECONDS_PER_HOUR / TOKENS_PER_MTOK
