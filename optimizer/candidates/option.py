"""Options, operating points, fits and rejections, as data."""

from __future__ import annotations

from pydantic import ConfigDict

from optimizer.domain.base import Frozen
from optimizer.domain.market import Offer
from optimizer.domain.measurement import GoodputRow
from optimizer.domain.workload import Pool, Workload
from optimizer.errors import Problem


class Fit(Frozen):
    """Memory of one replica, in GB (10^9 bytes).

    usable_gb = gpus_per_replica x gpu_memory_gb x (1 - overhead_frac); room_gb = usable_gb - weights_gb;
    per_seq_gb = KV + state of one sequence; sequences_asked = concurrency of the operating point;
    sequences_left = floor(room_gb / per_seq_gb), None where a sequence needs nothing; binding: weights, kv, or "" when it fits.
    """

    usable_gb: float
    weights_gb: float
    room_gb: float
    per_seq_gb: float
    sequences_asked: float
    sequences_left: int | None
    fits: bool
    binding: str = ""


class OperatingPoint(Frozen):
    """The measured point an option runs at for one workload.

    output_tps: output tok/s of one replica. input_tps: prefill rate where it was measured apart, else None.
    row: the measurement. fit: memory at that point. shape_distance: |ln(in/in')| + |ln(out/out')|, 0 where equal or unstated.
    shape_lighter: the measured shape is lighter than the workload's, so the goodput is optimistic (SHAPE_LIGHTER).
    unstated: those of input_tokens, output_tokens, ttft_ms, tpot_ms that neither workload nor row states
    (GOODPUT_CONDITIONS_UNKNOWN). latency_unknown: latencies were compared, and the row does not say which statistic its own are
    (LATENCY_STAT_UNKNOWN).
    """

    workload: str
    output_tps: float
    input_tps: float | None = None
    concurrency: float = 1.0
    row: GoodputRow
    fit: Fit
    shape_distance: float = 0.0
    shape_lighter: bool = False
    unstated: tuple[str, ...] = ()
    latency_unknown: bool = False


class Option(Frozen):
    """model x precision x node type x GPUs per replica x engine x config, for one pool, with a point per workload it can serve.

    option: `model|precision|node_type|gpus_per_replica|engine|config`. A workload without a point cannot run on this option.
    replicas_per_gpu k > 1: each replica takes 1/k of one GPU (gpus_per_replica is then 1), so k of them share it. Where rows of
    one id were measured on different shares, each share is an option of its own and `1/k` stands in the id for gpus_per_replica.
    """

    option: str
    pool: str
    model: str
    precision: str
    node_type: str
    gpu: str
    gpus_per_node: int
    gpus_per_replica: int
    engine: str
    config: str
    points: tuple[OperatingPoint, ...]
    replicas_per_gpu: int = 1

    def point(self, workload: str) -> OperatingPoint | None:
        """The operating point for that workload, or None where the option cannot serve it."""
        for point in self.points:
            if point.workload == workload:
                return point
        return None

    @property
    def gpus_taken(self) -> float:
        """GPUs that one replica takes of its node: gpus_per_replica, or 1/k where k replicas share one GPU."""
        return self.gpus_per_replica / self.replicas_per_gpu

    @property
    def nodes_per_replica(self) -> int:
        """Whole nodes that one replica takes; 1 where several replicas share a node."""
        return max(1, self.gpus_per_replica // self.gpus_per_node)

    @property
    def replicas_per_node(self) -> int:
        """Replicas on one node, at least one each (INPUTS, nodes_lost)."""
        return max(1, self.gpus_per_node * self.replicas_per_gpu // self.gpus_per_replica)

    @property
    def spans_nodes(self) -> bool:
        """True where one replica takes more than one node, all from one place."""
        return self.gpus_per_replica > self.gpus_per_node


def mean_tps_per_replica(point: OperatingPoint, workload: Workload, pool: Pool, day_type: str, hour: int) -> float:
    """Hourly-mean output tok/s of `workload` that one live replica carries when it serves nothing else.

    From burst x (load / output_tps + (1 - prefix_hit_frac) x input rate / input_tps) <= occupancy x replicas
    (INPUTS, "Capacity"). The second term only where prefill was measured apart. Where the pool's occupancy is `auto` the figure
    is for occupancy 1, and `pool.occupancy` of the replicas live in the hour is still to be multiplied in.
    """
    replica_seconds_per_token = 1.0 / point.output_tps
    if point.input_tps is not None:
        ratio = workload.input_per_output(day_type, hour) or 0.0
        replica_seconds_per_token += (1.0 - workload.prefix_hit_frac) * ratio / point.input_tps
    fixed = 1.0 if pool.occupancy_frac is None else pool.occupancy_frac
    return fixed / (workload.burst_factor * replica_seconds_per_token)


class Rejection(Frozen):
    """Something that could have served and does not: code, reason in words, and the numbers behind it. Empty = not applicable.

    offer: set where an offer (not an option) was rejected, e.g. TOO_LATE.
    """

    code: str
    reason: str
    workload: str = ""
    model: str = ""
    precision: str = ""
    gpu: str = ""
    node_type: str = ""
    gpus_per_replica: int | None = None
    engine: str = ""
    offer: str = ""
    numbers: tuple[tuple[str, float], ...] = ()


class Candidates(Frozen):
    """Everything the program may choose from: options of every pool, usable offers; and the rejections and warnings."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    options: tuple[Option, ...]
    offers: tuple[Offer, ...]
    rejections: tuple[Rejection, ...] = ()
    warnings: tuple[Problem, ...] = ()

    def options_of(self, pool: str) -> tuple[Option, ...]:
        """The options of one pool, in order."""
        return tuple(option for option in self.options if option.pool == pool)

    def options_for(self, workload: str) -> tuple[Option, ...]:
        """The options that can serve one workload, in order; empty where only an API could."""
        return tuple(option for option in self.options if option.point(workload) is not None)

    def rejections_of(self, workload: str) -> tuple[Rejection, ...]:
        """Everything that was looked at for one workload and does not serve it, in order."""
        return tuple(rejection for rejection in self.rejections if rejection.workload == workload)
