"""Why something that could have served does not: the fixed list of rejection codes, each with its meaning."""

from __future__ import annotations

from enum import StrEnum


class RejectionCode(StrEnum):
    """Codes of rejected combinations of workload, option and measurement, and of rejected offers; `meaning` has the words."""

    # Where it could stand.
    GPU_NOT_ALLOWED = "GPU_NOT_ALLOWED"
    NO_NODE_TYPE = "NO_NODE_TYPE"
    NODE_TYPE_NOT_ALLOWED = "NODE_TYPE_NOT_ALLOWED"
    NO_OFFER = "NO_OFFER"
    REPLICA_SIZE = "REPLICA_SIZE"
    # Whether it was measured.
    NO_GOODPUT = "NO_GOODPUT"
    KIND_NOT_ALLOWED = "KIND_NOT_ALLOWED"
    NOT_MEASURED_THERE = "NOT_MEASURED_THERE"
    PREFIX_HIT_HIGHER = "PREFIX_HIT_HIGHER"
    OTHER_SHAPE = "OTHER_SHAPE"
    LATENCY_ABOVE_SLO = "LATENCY_ABOVE_SLO"
    SHAPE_MISSING = "SHAPE_MISSING"
    SLO_MISSING = "SLO_MISSING"
    GOODPUT_ABOVE_CONCURRENCY = "GOODPUT_ABOVE_CONCURRENCY"
    # Whether it fits in memory.
    HEADS_NOT_DIVISIBLE = "HEADS_NOT_DIVISIBLE"
    KV_UNKNOWN = "KV_UNKNOWN"
    WEIGHTS_DO_NOT_FIT = "WEIGHTS_DO_NOT_FIT"
    SEQUENCES_DO_NOT_FIT = "SEQUENCES_DO_NOT_FIT"
    # Whether it can be bought.
    PROVIDER_NOT_ALLOWED = "PROVIDER_NOT_ALLOWED"
    REGION_NOT_ALLOWED = "REGION_NOT_ALLOWED"
    PURCHASE_NOT_ALLOWED = "PURCHASE_NOT_ALLOWED"
    TOO_LATE = "TOO_LATE"
    NO_WHOLE_LOT = "NO_WHOLE_LOT"
    NO_RACK_FITS = "NO_RACK_FITS"
    UNUSED_NODE_TYPE = "UNUSED_NODE_TYPE"
    SPOT_NOT_ALLOWED = "SPOT_NOT_ALLOWED"

    @property
    def meaning(self) -> str:
        """One sentence for readers of the Options sheet."""
        return _MEANINGS[self]


_MEANINGS: dict[RejectionCode, str] = {
    RejectionCode.GPU_NOT_ALLOWED: "The policy's list of GPUs leaves this one out.",
    RejectionCode.NO_NODE_TYPE: "Goodput was measured on a GPU that no node type has.",
    RejectionCode.NODE_TYPE_NOT_ALLOWED: "The pool's list of node types leaves this one out.",
    RejectionCode.NO_OFFER: "No usable offer sells this node type to this pool.",
    RejectionCode.REPLICA_SIZE: "The replica neither divides a node, nor is whole nodes within the span, nor a share of one GPU.",
    RejectionCode.NO_GOODPUT: "Nothing was measured for this model and precision on this GPU.",
    RejectionCode.KIND_NOT_ALLOWED: "The measurement is of a kind (such as estimated) that the policy does not use.",
    RejectionCode.NOT_MEASURED_THERE: "The workload states a shape or latency limit at which the row was not measured.",
    RejectionCode.PREFIX_HIT_HIGHER: "It was measured with more prefix-cache hits than the workload has.",
    RejectionCode.OTHER_SHAPE: "It was measured at other input and output lengths.",
    RejectionCode.LATENCY_ABOVE_SLO: "The measured TTFT or TPOT is above the workload's limit.",
    RejectionCode.SHAPE_MISSING: "The row was measured at a shape, and the workload states none.",
    RejectionCode.SLO_MISSING: "The row was measured at a latency, and the workload states no limit.",
    RejectionCode.GOODPUT_ABOVE_CONCURRENCY: "The stated goodput is more than its concurrency and TPOT can deliver.",
    RejectionCode.HEADS_NOT_DIVISIBLE: "The attention heads are not a multiple of the tensor-parallel degree.",
    RejectionCode.KV_UNKNOWN: "The memory of one sequence cannot be computed from what is stated.",
    RejectionCode.WEIGHTS_DO_NOT_FIT: "The weights alone exceed the usable memory of a replica.",
    RejectionCode.SEQUENCES_DO_NOT_FIT: "The weights leave too little room for the concurrency it was measured at.",
    RejectionCode.PROVIDER_NOT_ALLOWED: "The policy's list of providers leaves this offer out.",
    RejectionCode.REGION_NOT_ALLOWED: "The policy's list of regions leaves this offer out.",
    RejectionCode.PURCHASE_NOT_ALLOWED: "The policy's list of purchase types leaves this offer out.",
    RejectionCode.TOO_LATE: "It would have had to be ordered before today.",
    RejectionCode.NO_WHOLE_LOT: "No whole number of lots lies between its minimum and its maximum.",
    RejectionCode.NO_RACK_FITS: "No rack of its site holds even one such node.",
    RejectionCode.UNUSED_NODE_TYPE: "No option runs on its node type.",
    RejectionCode.SPOT_NOT_ALLOWED: "No pool with an option on its node type allows spot.",
}
