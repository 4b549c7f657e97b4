"""Rows of the plan with their arithmetic: an offer hour by hour, and replicas with the work on them."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

from optimizer.candidates.option import Option
from optimizer.domain.hardware import NodeType, Site
from optimizer.domain.market import Offer
from optimizer.plan.ledger import gpus_of_replica
from optimizer.plan.plan import Purchase, ReplicaCount
from optimizer.units import DAYS_PER_MONTH


@dataclass(frozen=True)
class Line:
    """One offer of the plan, hour by hour. Rates in $ as in the ledger.

    held, used: nodes in each slice; covered: of those used, nodes whose use a commitment pays.
    """

    offer: Offer
    node_type: NodeType
    site: Site | None
    purchase: Purchase
    new: int
    existing: int
    held: tuple[int, ...]
    used: tuple[int, ...]
    covered: tuple[float, ...]
    weights: tuple[float, ...]
    used_usd_per_h: float
    energy_usd_per_h: float

    @property
    def nodes_held(self) -> int:
        """New and existing nodes together."""
        return self.new + self.existing

    @property
    def held_node_hours(self) -> float:
        """Node-hours held in an average day."""
        return fsum(weight * nodes for weight, nodes in zip(self.weights, self.held, strict=True))

    @property
    def used_node_hours(self) -> float:
        """Node-hours used in an average day."""
        return fsum(weight * nodes for weight, nodes in zip(self.weights, self.used, strict=True))

    @property
    def covered_node_hours(self) -> float:
        """Node-hours of an average day whose use a commitment pays."""
        return fsum(weight * nodes for weight, nodes in zip(self.weights, self.covered, strict=True))

    @property
    def paid_node_hours(self) -> float:
        """Node-hours paid for: held ones used or not, others when used."""
        return self.held_node_hours if self.offer.is_held else self.used_node_hours

    @property
    def held_usd(self) -> float:
        """$/day for holding, by the hour."""
        return self.offer.held_usd_per_node_h * self.held_node_hours

    @property
    def used_usd(self) -> float:
        """$/day for using, without the nodes that a commitment covers."""
        return self.used_usd_per_h * (self.used_node_hours - self.covered_node_hours)

    @property
    def upfront_usd(self) -> float:
        """$/day of the upfront payments, spread over the term."""
        if not self.offer.is_held or not self.offer.term_months:
            return 0.0
        return self.offer.upfront_usd_per_node * self.nodes_held / (self.offer.term_months * DAYS_PER_MONTH)

    @property
    def energy_usd(self) -> float:
        """$/day of energy for the nodes used."""
        return self.energy_usd_per_h * self.used_node_hours

    @property
    def site_usd(self) -> float:
        """$/day of rent on the IT power of nodes held."""
        if self.site is None or not self.offer.is_held:
            return 0.0
        return self.site.usd_per_kw_month * (self.node_type.node_kw or 0.0) * self.nodes_held / DAYS_PER_MONTH

    @property
    def usd(self) -> float:
        """All that the offer costs, $/day."""
        return fsum((self.held_usd, self.used_usd, self.upfront_usd, self.energy_usd, self.site_usd))

    @property
    def holding_usd_per_h(self) -> float:
        """$ for each node-hour held: by the hour, upfront and rent together."""
        hours = self.held_node_hours
        return (self.held_usd + self.upfront_usd + self.site_usd) / hours if hours else 0.0

    @property
    def is_spot(self) -> bool:
        """True for spot nodes, which serve spot replicas only."""
        return self.offer.purchase == "spot"


@dataclass(frozen=True)
class ReplicaRow:
    """One option of one pool in one slice, with the work on it. busy: replicas' worth of work at full goodput."""

    place: int
    option: Option
    count: ReplicaCount
    busy: float

    @property
    def firm_gpus(self) -> float:
        """GPUs taken by firm replicas."""
        return (self.count.total - self.count.spot_total) * gpus_of_replica(self.option)

    @property
    def spot_gpus(self) -> float:
        """GPUs taken by spot replicas."""
        return self.count.spot_total * gpus_of_replica(self.option)
