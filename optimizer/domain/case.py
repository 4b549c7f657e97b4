"""A whole planning case: everything the program, the audit and the report may know about the inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, TypeVar

from optimizer.domain.base import Frozen
from optimizer.domain.hardware import NodeType, Site
from optimizer.domain.market import ApiPrice, Discount, Existing, Offer
from optimizer.domain.measurement import GoodputRow
from optimizer.domain.model import ServedModel
from optimizer.domain.policy import Policy
from optimizer.domain.workload import Contingency, DayType, Pool, Workload
from optimizer.units import HOURS_PER_DAY


class InputFile(Frozen):
    """A file that was read, and its SHA-256."""

    file: str
    sha256: str


class Slice(Frozen):
    """One hour of one day type; weight = hours it stands for in an average day of the horizon (sums to 24)."""

    day_type: str
    hour: int
    weight: float


class Case(Frozen):
    """Cross-checked inputs: ids exist, keys are unique, every workload has 24 hours in every day type.

    Assumptions are sentences about values nobody stated (shown in the workbook). Tables are in reading order.
    """

    day_types: tuple[DayType, ...]
    workloads: tuple[Workload, ...]
    pools: tuple[Pool, ...]
    contingencies: tuple[Contingency, ...]
    policy: Policy
    node_types: tuple[NodeType, ...]
    models: tuple[ServedModel, ...]
    goodput: tuple[GoodputRow, ...]
    offers: tuple[Offer, ...]
    existing: tuple[Existing, ...] = ()
    discounts: tuple[Discount, ...] = ()
    api_prices: tuple[ApiPrice, ...] = ()
    sites: tuple[Site, ...] = ()
    assumptions: tuple[str, ...] = ()
    inputs: tuple[InputFile, ...] = ()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Case:
        """A changed copy. What was remembered of the old one (slices) is worked out anew."""
        copy = super().model_copy(update=update, deep=deep)
        copy.__dict__.pop("slices", None)
        return copy

    @cached_property
    def slices(self) -> tuple[Slice, ...]:
        """Day type by day type, hour by hour."""
        total_days = sum(day.days for day in self.day_types)
        return tuple(
            Slice(day_type=day.day_type, hour=hour, weight=day.days / total_days)
            for day in self.day_types
            for hour in range(HOURS_PER_DAY)
        )

    def pool(self, name: str) -> Pool:
        """The pool of that name; KeyError where there is none."""
        return _find(self.pools, "pool", name)

    def workload(self, name: str) -> Workload:
        """The workload of that name; KeyError where there is none."""
        return _find(self.workloads, "workload", name)

    def node_type(self, name: str) -> NodeType:
        """The node type of that name; KeyError where there is none."""
        return _find(self.node_types, "node_type", name)

    def offer(self, name: str) -> Offer:
        """The offer of that name; KeyError where there is none."""
        return _find(self.offers, "offer", name)

    def site(self, name: str) -> Site:
        """The site of that name; KeyError where there is none."""
        return _find(self.sites, "site", name)

    def api(self, name: str) -> ApiPrice:
        """The API price of that id; KeyError where there is none."""
        return _find(self.api_prices, "api", name)

    def workloads_of(self, pool: str) -> tuple[Workload, ...]:
        """The workloads that share one pool, in reading order."""
        return tuple(workload for workload in self.workloads if workload.pool == pool)

    def contingencies_of(self, pool: str) -> Iterator[Contingency]:
        """The bad days that name the pool."""
        return (row for row in self.contingencies if pool in row.pools)

    def nodes_existing(self, offer: str) -> int:
        """Nodes already held on that offer that have not expired before the start date."""
        return sum(
            row.nodes
            for row in self.existing
            if row.offer == offer and (row.expires is None or row.expires >= self.policy.start_date)
        )


_T = TypeVar("_T")


def _find(rows: tuple[_T, ...], field: str, name: str) -> _T:
    for row in rows:
        if getattr(row, field) == name:
            return row
    raise KeyError(name)
