"""What would serve one more tok/s of a pool in an hour, by a plain rule over the plan as it stands; nothing is solved.

The source is the one with room that costs least for that one tok/s, without what is paid anyway: replicas that run and GPUs left
free on nodes in use cost nothing, held nodes that are idle what using a whole node costs, on-demand and spot nodes a whole node,
an API its price of one tok/s. Headroom is left whole: running replicas have room only above the need with headroom.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from optimizer.candidates.option import Option
from optimizer.domain.market import Offer
from optimizer.domain.workload import Pool, Workload
from optimizer.plan.index import SliceKey
from optimizer.plan.ledger import api_usd_per_mtok, gpus_of_replica, node_rates
from optimizer.report.figures import Figures
from optimizer.report.words import PURCHASE_LABELS
from optimizer.units import SECONDS_PER_MINUTE, usd_per_h_of_tps

if TYPE_CHECKING:
    from optimizer.report.pool_figures import PoolFigures

RUNNING, FREE, IDLE, NOTHING = "Running", "Free GPUs", "Idle held", "None"
RULE = (
    "Next tok/s: what would serve one more at least cost, headroom kept: replicas running, GPUs free on nodes used, a held node "
    "idle, a node on demand or on spot, an API (of several pools the dearest), as solved."
)


@dataclass(frozen=True)
class Source:
    """Who would serve one more tok/s. usd_per_h: what is paid for it besides what is paid anyway."""

    words: str
    usd_per_h: float


class Marginal:
    """The next source of each pool and of the fleet in each slice."""

    def __init__(self, figures: Figures, pools: PoolFigures) -> None:
        self.figures, self.pools = figures, pools

    @cached_property
    def by_pool(self) -> dict[str, tuple[Source | None, ...]]:
        """By pool and slice; None where nothing has room."""
        return {
            pool.pool: tuple(self._source(pool, place) for place in range(len(self.figures.slices)))
            for pool in self.figures.case.pools
        }

    def of_fleet(self, place: int) -> Source | None:
        """That of the pool whose next tok/s is dearest; None where a pool has none. Pools without demand then do not count."""
        found = [
            sources[place] for pool, sources in self.by_pool.items() if self.pools.hours[pool][place].demand > 0
        ] or [sources[place] for sources in self.by_pool.values()]
        known = [source for source in found if source is not None]
        return max(known, key=lambda source: source.usd_per_h) if len(known) == len(found) and known else None

    def _source(self, pool: Pool, place: int) -> Source | None:
        hour = self.pools.hours[pool.pool][place]
        if hour.live and hour.running >= hour.need + 1:
            return Source(RUNNING, 0.0)
        if self._has_free_gpus(pool, place):
            return Source(FREE, 0.0)
        found = [source for offer in self._offers[pool.pool] if (source := self._node(pool, offer, place)) is not None]
        found += self._apis(pool, place)
        return min(found, key=lambda source: source.usd_per_h, default=None)

    def _has_free_gpus(self, pool: Pool, place: int) -> bool:
        """Whether nodes in use, not on spot, have GPUs left for one more replica of the pool."""
        for (name, node_type), options in self._options.items():
            if name == pool.pool:
                used = sum(
                    line.used[place] * line.node_type.gpus_per_node
                    for line in self.figures.lines
                    if line.node_type.node_type == node_type and not line.is_spot
                )
                free = used - self.figures.market_gpus.get((node_type, False, place), 0.0)
                if free >= min(gpus_of_replica(option) for option in options):
                    return True
        return False

    @cached_property
    def _options(self) -> dict[tuple[str, str], list[Option]]:
        found: dict[tuple[str, str], list[Option]] = {}
        for option in self.figures.candidates.options:
            found.setdefault((option.pool, option.node_type), []).append(option)
        return found

    @cached_property
    def _offers(self) -> dict[str, list[Offer]]:
        return {
            pool.pool: [offer for offer in self.figures.candidates.offers if (pool.pool, offer.node_type) in self._options]
            for pool in self.figures.case.pools
        }

    def _node(self, pool: Pool, offer: Offer, place: int) -> Source | None:
        """A node more of an offer, where there is one in that hour."""
        _, hour = self.figures.slices[place]
        if hour not in offer.hours or (offer.purchase == "spot" and pool.spot_max_frac <= 0):
            return None
        line = self._lines.get(offer.offer)
        used = line.used[place] if line is not None else 0
        if offer.is_held:
            if line is None or line.held[place] <= used:
                return None
            words = IDLE
        else:
            if offer.max_nodes is not None and used >= offer.max_nodes:
                return None
            words = PURCHASE_LABELS[offer.purchase]
        return Source(words, node_rates(self.figures.case, offer).using_per_h)

    @cached_property
    def _lines(self) -> dict[str, _NodeLine]:
        return {line.offer.offer: _NodeLine(line.held, line.used) for line in self.figures.lines}

    def _apis(self, pool: Pool, place: int) -> list[Source]:
        """APIs that a workload of the pool may use and has not filled up to its share."""
        day_type, hour = self.figures.slices[place]
        found = []
        for workload in self.figures.case.workloads_of(pool.pool):
            run = self.figures.run(workload, place)
            sent = self.figures.api_tps.get((workload.workload, place), 0.0)
            if sent + 1 > workload.api_max_frac * (run + 1):
                continue
            for name in workload.api:
                api = self.figures.case.api(name)
                if hour in api.hours and self._has_room(name, workload, place):
                    price = api_usd_per_mtok(api, workload, day_type, hour)
                    found.append(Source(PURCHASE_LABELS["api"], usd_per_h_of_tps(price)))
        return found

    def _has_room(self, name: str, workload: Workload, place: int) -> bool:
        """Whether an API takes one more output tok/s of a workload, with its input, within every limit it states."""
        api, key = self.figures.case.api(name), self.figures.slices[place]
        taken = self._taken(workload, 1.0, key)
        for row in self.figures.api_rows:
            if row.api == name and (row.day_type, row.hour) == key:
                more = self._taken(self.figures.case.workload(row.workload), row.tps, key)
                taken = tuple(map(sum, zip(taken, more, strict=True)))
        limits = (api.max_output_tps, api.max_input_tps, api.max_total_tps, api.max_rpm)
        return all(limit is None or amount <= limit for amount, limit in zip(taken, limits, strict=True))

    def _taken(self, workload: Workload, tps: float, key: SliceKey) -> tuple[float, ...]:
        """Output, input and all tok/s, and requests per minute, of so much overflow."""
        given = tps * self.figures.input_per_output(workload.workload, key)
        requests = SECONDS_PER_MINUTE * tps / workload.output_tokens if workload.output_tokens else 0.0
        return tps, given, tps + given, requests


@dataclass(frozen=True)
class _NodeLine:
    """Nodes held and used of an offer by slice."""

    held: tuple[int, ...]
    used: tuple[int, ...]
