"""Ways to pay: offers of nodes, contracts that exist already, discounts, and API prices."""

from __future__ import annotations

import datetime
from typing import Literal

from optimizer.domain.base import Row
from optimizer.domain.hours import ALL_DAY

Purchase = Literal["owned", "reserved", "flex", "on_demand", "spot"]
HELD: frozenset[str] = frozenset({"owned", "reserved", "flex"})
#: What a discount may cover: offers paid by use under a contract of the provider.
DISCOUNTED: frozenset[str] = frozenset({"on_demand", "flex"})


class Offer(Row):
    """One way to pay for one node type.

    held_usd_per_node_h: paid for each node held, in every hour of `hours`. used_usd_per_node_h: paid per node used and hour,
    divided by effective_frac. upfront_usd_per_node: spread over term_months. lot_nodes, min_nodes, max_nodes bind nodes_new of
    held offers; max_nodes of on_demand and spot caps the nodes used in each hour.
    """

    offer: str
    node_type: str
    purchase: Purchase
    held_usd_per_node_h: float = 0.0
    used_usd_per_node_h: float = 0.0
    upfront_usd_per_node: float = 0.0
    term_months: float | None = None
    lead_weeks: float = 0.0
    lot_nodes: int = 1
    min_nodes: int = 0
    max_nodes: int | None = None
    effective_frac: float = 1.0
    hours: frozenset[int] = ALL_DAY
    site: str | None = None
    provider: str | None = None
    region: str | None = None
    evidence: str = ""

    @property
    def is_held(self) -> bool:
        """True for owned, reserved and flex: nodes paid whether used or not."""
        return self.purchase in HELD

    @property
    def place(self) -> tuple[str, str]:
        """Where its nodes stand: the site, else provider and region. A replica larger than a node stays in one place."""
        if self.site:
            return ("site", self.site)
        return (self.provider or "", self.region or "")


class Existing(Row):
    """Nodes already under contract on a held offer, until `expires` (None = open-ended)."""

    offer: str
    nodes: int
    expires: datetime.date | None = None


class Discount(Row):
    """A commitment in $/h at discounted rates; capacity comes from the offers it covers."""

    discount: str
    offer: str
    discounted_usd_per_node_h: float
    min_commit_usd_per_h: float = 0.0
    max_commit_usd_per_h: float | None = None
    term_months: float | None = None


class ApiPrice(Row):
    """Price and stated rate limits of a hosted API, in the hours it holds. None = no stated limit."""

    api: str
    model: str = ""
    output_usd_per_mtok: float
    input_usd_per_mtok: float = 0.0
    cached_input_usd_per_mtok: float = 0.0
    max_output_tps: float | None = None
    max_input_tps: float | None = None
    max_total_tps: float | None = None
    max_rpm: float | None = None
    hours: frozenset[int] = ALL_DAY
    provider: str = ""
