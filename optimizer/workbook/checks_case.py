"""Checks that need several tables: allow-lists against what there is, shapes against API prices, spot against bad days."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from optimizer.domain.market import ApiPrice, Offer
from optimizer.domain.measurement import GoodputRow
from optimizer.domain.names import join_key
from optimizer.domain.workload import Contingency, Pool, Workload
from optimizer.errors import ProblemList
from optimizer.units import HOURS_PER_DAY
from optimizer.workbook.checks_ids import ModelNames
from optimizer.workbook.inputs import Inputs
from optimizer.workbook.rows import TableRow
from optimizer.workbook.schema import API_PRICES, CONTINGENCIES, OFFERS, POOLS, WORKLOADS


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
        known = list(names.gpus.by_key.values()) if key == "gpus" else _named(offers, key.removesuffix("s"))
        fix = (names.gpus.suggestion(missing[0]) if key == "gpus" else "") or f"There are: {', '.join(known[:8])}" + (
            ", ..." if len(known) > 8 else "."
        )
        if any("," in entry for entry in missing):
            fix = "Separate the entries of a list by ';'. " + fix
        if len(missing) == len(entries):
            problems.error(code, message + " Nothing would be allowed.", fix, **inputs.policy.place(key))
        else:
            problems.warn(code, message, fix, **inputs.policy.place(key))


def _named(offers: Iterable[TableRow], column: str) -> list[str]:
    """The providers or regions that offers name, once each."""
    return list({join_key(row[column]): row[column] for row in offers if row[column]}.values()) or ["none"]


def check_catalog_currency(inputs: Inputs, shipped: bool, problems: ProblemList) -> None:
    """CURRENCY_DIFFERS where prices of the shipped catalogs, which are in USD, would be added to prices in another currency."""
    policy = inputs.policy.policy
    if not shipped or policy.currency.strip().upper() in ("USD", "$"):
        return
    rows = [row for table in (OFFERS, API_PRICES) for row in inputs.of(table).rows if row.catalog]
    if rows:
        sheets = " and ".join(dict.fromkeys(row.table.sheet for row in rows))
        problems.error("CURRENCY_DIFFERS",
                       f"{len(rows)} prices of the catalogs, which are in USD, would count as {policy.currency}.",
                       f"Write your own {sheets} in {policy.currency}, or leave out currency.", **inputs.policy.place("currency"))


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
            needs = [] if has_ratio else _counts_input(price, workload)
            if price.max_rpm is not None and workload.output_tokens is None:
                needs.append("max_rpm")
            if needs:
                missing = "output_tokens" if needs == ["max_rpm"] else "input_tokens and output_tokens"
                message = f"API {price.api} states {' and '.join(needs)}; workload {workload.workload} states no {missing}."
                fix = "State input_tokens and output_tokens of the workload, or input in the forecast."
                problems.error("API_NEEDS_SHAPE", message, fix, **rows[workload.workload].place("api"))


def check_shifted_input(inputs: Inputs, workloads: Iterable[Workload], goodput: Iterable[GoodputRow],
                        prices: Iterable[ApiPrice], problems: ProblemList) -> None:
    """INPUT_RATIO_UNKNOWN where deferrable work may run in an hour of which the forecast cannot say its input per output.

    The forecast gives the ratio of an hour from what arrives in it. Where nothing does, the request shape must, if a measured
    prefill rate or the price or limit of an API counts input.
    """
    by_id = {price.api: price for price in prices}
    measured_apart = {(row.model, row.precision) for row in goodput if row.input_tps is not None}
    rows = inputs.of(WORKLOADS).ids("workload")
    for workload in workloads:
        if not workload.deferrable_hours or (workload.input_tokens is not None and workload.output_tokens is not None):
            continue
        where = _runs_without_arrivals(workload)
        if where is None:
            continue
        counting = ["Goodput has input_tps of its model"] if (workload.model, workload.precision) in measured_apart else []
        for price in (by_id[api] for api in workload.api if workload.api_max_frac > 0):
            counts = _counts_input(price, workload)
            counting += [f"API {price.api} states {' and '.join(counts)}"] if counts else []
        if counting:
            message = (
                f"Work of {workload.workload} may run on {where[0]} in hour {where[1]}, in which none arrives: the forecast "
                f"gives no input per output there, and {', '.join(counting)}."
            )
            problems.error("INPUT_RATIO_UNKNOWN", message, "State input_tokens and output_tokens of the workload, or set "
                           "deferrable_hours 0.", **rows[workload.workload].place("deferrable_hours"))


def _counts_input(price: ApiPrice, workload: Workload) -> list[str]:
    """What of an API's prices and limits needs to know the input tokens of an output token."""
    counts = ["input_usd_per_mtok"] if price.input_usd_per_mtok > 0 else []
    counts += ["cached_input_usd_per_mtok"] if price.cached_input_usd_per_mtok * workload.prefix_hit_frac > 0 else []
    return counts + [key for key in ("max_input_tps", "max_total_tps") if getattr(price, key) is not None]


def _runs_without_arrivals(workload: Workload) -> tuple[str, int] | None:
    """The first hour without arrivals in which work of earlier hours may run, on a day type whose forecast has input."""
    waits = range(1, min(workload.deferrable_hours, HOURS_PER_DAY - 1) + 1)
    for day in workload.demand:
        if day.input_tps is None:
            continue
        for hour, arrives in enumerate(day.output_tps):
            if arrives == 0 and any(day.output_tps[(hour - wait) % HOURS_PER_DAY] > 0 for wait in waits):
                return day.day_type, hour
    return None


def check_bad_days(inputs: Inputs, pools: Sequence[Pool], contingencies: Sequence[Contingency], offers: Iterable[Offer],
                   problems: ProblemList) -> None:
    """SPOT_COUNTED_FIRM for an interactive pool on spot that no bad day takes it from; CONTINGENCY_WITHOUT_POOL; ZONE_UNNAMED."""
    if not inputs.of(CONTINGENCIES).present:
        return
    _check_zones(inputs, offers, problems)
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


def _check_zones(inputs: Inputs, offers: Iterable[Offer], problems: ProblemList) -> None:
    """Offers of which nobody says where they stand are lost together."""
    unplaced = [offer.offer for offer in offers if not any(offer.place)]
    rows = [row for row in inputs.of(CONTINGENCIES).rows if row["scope"] == "zone"]
    if not rows or not unplaced:
        return
    names = ", ".join(unplaced[:4]) + (", ..." if len(unplaced) > 4 else "")
    message = f"{len(unplaced)} offers name neither site nor provider nor region ({names}): they are one zone, lost together."
    problems.warn("ZONE_UNNAMED", message, "State site, or provider and region, of each offer.", **rows[0].place("scope"))
