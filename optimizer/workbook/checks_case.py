"""Checks that need several tables: allow-lists against what there is, shapes against API prices, spot against bad days."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from optimizer.domain.market import ApiPrice
from optimizer.domain.names import join_key
from optimizer.domain.workload import Contingency, Pool, Workload
from optimizer.errors import ProblemList
from optimizer.workbook.checks_ids import ModelNames
from optimizer.workbook.inputs import Inputs
from optimizer.workbook.schema import CONTINGENCIES, OFFERS, POOLS, WORKLOADS


def allowed_gpus(inputs: Inputs, names: ModelNames) -> tuple[str, ...]:
    """The policy's GPUs under canonical names; names that nobody knows stay as they are."""
    return tuple(names.gpus.find(gpu) or gpu for gpu in inputs.policy.policy.gpus)


def check_allow_lists(inputs: Inputs, names: ModelNames, problems: ProblemList) -> None:
    """An entry that matches nothing is warned of; a list of which no entry matches would allow nothing, and is refused.

    Problems: UNKNOWN_GPU, UNKNOWN_PROVIDER, UNKNOWN_REGION.
    """
    offers = inputs.of(OFFERS).rows
    if not offers:
        return
    policy = inputs.policy.policy
    providers = {join_key(row["provider"]) for row in offers if row["provider"]}
    regions = {join_key(row["region"]) for row in offers if row["region"]}
    for key, entries, found in (
        ("gpus", policy.gpus, [names.gpus.find(gpu) is not None for gpu in policy.gpus]),
        ("providers", policy.providers, [join_key(name) in providers for name in policy.providers]),
        ("regions", policy.regions, [join_key(name) in regions for name in policy.regions]),
    ):
        missing = [entry for entry, known in zip(entries, found, strict=True) if not known]
        if not missing:
            continue
        code = f"UNKNOWN_{key.upper().rstrip('S')}"
        message = f"The allow-list {key} names {', '.join(missing)}, which no {'node type' if key == 'gpus' else 'offer'} has."
        fix = names.gpus.suggestion(missing[0]) if key == "gpus" else "Correct the name, or leave it out."
        if len(missing) == len(entries):
            problems.error(code, message + " Nothing would be allowed.", fix, **inputs.policy.place(key))
        else:
            problems.warn(code, message, fix, **inputs.policy.place(key))


def check_api_shapes(inputs: Inputs, workloads: Iterable[Workload], prices: Iterable[ApiPrice],
                     problems: ProblemList) -> None:
    """API_NEEDS_SHAPE where a price or limit of an API counts input tokens or requests, and nobody states how many there are."""
    by_id = {price.api: price for price in prices}
    rows = inputs.of(WORKLOADS).ids("workload")
    for workload in workloads:
        if workload.api_max_frac == 0:
            continue
        has_input = all(day.input_tps is not None for day in workload.demand)
        has_ratio = has_input or (workload.input_tokens is not None and workload.output_tokens is not None)
        for price in (by_id[api] for api in workload.api):
            needs = []
            if not has_ratio:
                needs += ["input_usd_per_mtok"] if price.input_usd_per_mtok > 0 else []
                cached = price.cached_input_usd_per_mtok * workload.prefix_hit_frac
                needs += ["cached_input_usd_per_mtok"] if cached > 0 else []
                needs += [key for key in ("max_input_tps", "max_total_tps") if getattr(price, key) is not None]
            if price.max_rpm is not None and workload.output_tokens is None:
                needs.append("max_rpm")
            if needs:
                missing = "output_tokens" if needs == ["max_rpm"] else "input_tokens and output_tokens"
                message = f"API {price.api} states {' and '.join(needs)}; workload {workload.workload} states no {missing}."
                fix = "State input_tokens and output_tokens of the workload, or input in the forecast."
                problems.error("API_NEEDS_SHAPE", message, fix, **rows[workload.workload].place("api"))


def check_bad_days(inputs: Inputs, pools: Sequence[Pool], contingencies: Iterable[Contingency],
                   problems: ProblemList) -> None:
    """SPOT_COUNTED_FIRM for an interactive pool on spot that no bad day takes it from; CONTINGENCY_WITHOUT_POOL."""
    if not inputs.of(CONTINGENCIES).present:
        return
    covered = {pool for row in contingencies if row.spot_lost_frac > 0 for pool in row.pools}
    rows = inputs.of(POOLS).ids("pool")
    for pool in pools:
        if pool.kind == "interactive" and pool.spot_max_frac > 0 and pool.pool not in covered:
            problems.warn("SPOT_COUNTED_FIRM",
                          f"Pool {pool.pool} may be served from spot, and no contingency takes it away: spot is counted as firm.",
                          "Add a contingency with spot_lost_frac 1 for the pool, or set spot_max_frac 0.",
                          **rows[pool.pool].place("spot_max_frac"))
    for row in inputs.of(CONTINGENCIES).rows:
        if not row["pool"] and not any(pool.kind == "interactive" for pool in pools):
            message = f"{row['contingency']} holds for all interactive pools, and there are none."
            problems.warn("CONTINGENCY_WITHOUT_POOL", message, "Name its pools.", **row.place("pool"))
