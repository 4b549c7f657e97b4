"""What serves and where it stands: node types and sites."""

from __future__ import annotations

from optimizer.domain.base import Row


class NodeType(Row):
    """GPU x GPUs per node. gpu_memory_gb: usable bytes of one GPU / 10^9. node_kw: IT power of a node at load.

    replica_span_gpus: largest replica, in GPUs, that may span nodes of this type (= gpus_per_node: no spanning).
    """

    node_type: str
    gpu: str
    gpus_per_node: int
    gpu_memory_gb: float
    replica_span_gpus: int
    node_kw: float | None = None


class Site(Row):
    """Racks and power of an own site. kw_per_rack: IT power; total_kw: facility power (IT x pue); usd_per_kw_month on IT kW held.

    None = no such limit.
    """

    site: str
    racks: int | None = None
    kw_per_rack: float | None = None
    slots_per_rack: int | None = None
    total_kw: float | None = None
    pue: float | None = None
    usd_per_kwh: float = 0.0
    usd_per_kw_month: float = 0.0
