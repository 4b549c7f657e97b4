"""What a reader of the first page must know about the inputs that this plan rests on. Only what the plan uses is warned of."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable

from optimizer.candidates.option import Candidates, OperatingPoint, Option
from optimizer.domain.base import Row
from optimizer.domain.case import Case
from optimizer.domain.market import ApiPrice, Offer
from optimizer.domain.measurement import GoodputRow
from optimizer.domain.workload import Workload
from optimizer.errors import Problem
from optimizer.plan.audit_nodes import check_nodes
from optimizer.plan.audit_options import options_in_use
from optimizer.plan.index import PlanIndex
from optimizer.plan.plan import Decision, Plan
from optimizer.units import DAYS_PER_MONTH

#: Plans are made each quarter: contracts that end within it matter, whatever the terms bought, where no DayTypes say otherwise.
MONTHS_PER_QUARTER = 3
#: A term over this needs more than one day of demand to stand on (INPUTS, ONE_DAY_FOR_TERM).
ONE_DAY_TERM_MONTHS = 1
#: An offer that carries more than this of an hour's GPUs must be known to be obtainable (INPUTS, SUPPLY_UNKNOWN).
SUPPLY_SHARE = 0.5


def plan_warnings(case: Case, candidates: Candidates, plan: Plan) -> tuple[Problem, ...]:
    """Warnings about inputs that the plan uses, each with the file, sheet and row it came from; once each."""
    index = PlanIndex(case, candidates, plan.decision)
    taken = _offers_taken(index)
    found = [
        *_goodput(index),
        *_occupancy(index),
        *_spot_counted_firm(index),
        *_supply_unknown(index),
        *_one_day_for_term(index, taken, plan.decision),
        *_api_limit_unknown(case),
        *_existing_ends(index),
        *_sites(index, taken),
        *_prices(index, taken),
        *_packing(index),
    ]
    return tuple(dict.fromkeys(found))


def _problem(code: str, row: Row | None, message: str, fix: str) -> Problem:
    if row is None:
        return Problem(code, message, fix)
    origin = row.origin
    cell = f"A{origin.row}" if origin.row else None
    return Problem(code, message, fix, file=origin.file, sheet=origin.sheet, cell=cell)


def _offers_taken(index: PlanIndex) -> list[Offer]:
    """Offers of which nodes are held or used, in the order of the case."""
    used = {name for uses in index.used.values() for name, nodes in uses.items() if nodes}
    return [offer for offer in index.case.offers if offer.offer in used or index.held(offer.offer)]


def _goodput(index: PlanIndex) -> Iterable[Problem]:
    """GOODPUT_ESTIMATED, SHAPE_LIGHTER, SHAPE_NEAREST by option; what nobody stated once per workload. Only points with load."""
    loaded = {(workload, name) for loads in index.loads.values() for (workload, name), tps in loads.items() if any(tps)}
    unstated: dict[tuple[str, str, tuple[str, ...]], list[tuple[Option, OperatingPoint]]] = defaultdict(list)
    for option in options_in_use(index):
        for point in option.points:
            if (point.workload, option.option) not in loaded:
                continue
            yield from _point(index, option, point)
            if point.unstated:
                unstated["GOODPUT_CONDITIONS_UNKNOWN", point.workload, point.unstated].append((option, point))
            if point.latency_unknown:
                unstated["LATENCY_STAT_UNKNOWN", point.workload, ()].append((option, point))
    for (code, workload, conditions), found in unstated.items():
        what = f"The goodput for {workload} of {_named([option.option for option, _ in found])}"
        if code == "LATENCY_STAT_UNKNOWN":
            message = f"{what} meets the latency limit, but whether its latency is a p99, a median or a mean is not said."
            fix = "Enter latency_stat (p99, p90, p50 or mean) in the row."
        else:
            message = f"{what} is taken on trust: neither the workload nor the measurement states {', '.join(conditions)}."
            fix = "State shape and latency in Workloads and in Goodput."
        yield _problem(code, found[0][1].row, message, fix)


def _named(options: list[str]) -> str:
    first = ", ".join(options[:2])
    return first if len(options) <= 2 else f"{first} and {len(options) - 2} more options"


def _point(index: PlanIndex, option: Option, point: OperatingPoint) -> Iterable[Problem]:
    row, workload = point.row, index.workloads[point.workload]
    what = f"The goodput of {option.option} for {point.workload}, {point.output_tps:g} tok/s per replica,"
    if row.kind.casefold() != "measured":
        fix = "Measure it before buying, and enter the measured row."
        yield _problem("GOODPUT_ESTIMATED", row, f"{what} is {row.kind}, not measured.", fix)
    if point.shape_distance > 0:
        measured, asked = _shape_words(row), _shape_words(workload)
        if point.shape_lighter:
            message = f"{what} was measured at a shape ({measured}) lighter than the workload's ({asked}): it is optimistic."
        else:
            message = f"{what} was measured at the nearest shape ({measured}), not at the workload's ({asked})."
        fix = "Measure at the workload's shape, and enter the row."
        yield _problem("SHAPE_LIGHTER" if point.shape_lighter else "SHAPE_NEAREST", row, message, fix)


def _shape_words(row: GoodputRow | Workload) -> str:
    stated = ((row.input_tokens, "in"), (row.output_tokens, "out"))
    return ", ".join(f"{tokens:g} {word}" for tokens, word in stated if tokens is not None)


def _occupancy(index: PlanIndex) -> Iterable[Problem]:
    loaded = {index.workloads[name].pool for loads in index.loads.values() for (name, _), tps in loads.items() if any(tps)}
    for pool in index.case.pools:
        if pool.pool in loaded and pool.occupancy_frac == 1:
            message = f"Pool {pool.pool} is planned at occupancy 1: nothing is left for queueing and uneven load inside the hour."
            fix = "Enter occupancy_frac below 1, for example 0.7, unless the goodput was measured with them."
            yield _problem("OCCUPANCY_ONE", pool, message, fix)


def _spot_counted_firm(index: PlanIndex) -> Iterable[Problem]:
    on_spot = {key[0] for counts in index.replicas.values() for key, count in counts.items() if count.spot_live}
    for pool in index.case.pools:
        covered = any(row.spot_lost_frac > 0 and pool.pool in row.pools for row in index.case.contingencies)
        if pool.kind == "interactive" and pool.pool in on_spot and not covered:
            message = f"Pool {pool.pool} is served from spot nodes, and no contingency takes them away: spot is counted as firm."
            fix = "Add a contingency with spot_lost_frac 1 for the pool, or set spot_max_frac 0."
            yield _problem("SPOT_COUNTED_FIRM", pool, message, fix)


def _supply_unknown(index: PlanIndex) -> Iterable[Problem]:
    """Offers without max_nodes that carry over half of the GPUs in use in some slice; nodes held already are certain."""
    worst: dict[str, tuple[float, int, str, int]] = {}
    for (day_type, hour), uses in index.used.items():
        gpus = {name: nodes * index.node_types[index.offers[name].node_type].gpus_per_node for name, nodes in uses.items()}
        total = sum(gpus.values())
        for name, nodes in uses.items():
            offer = index.offers[name]
            unsure = nodes - index.nodes_existing.get(name, 0) if offer.is_held else nodes
            if offer.max_nodes is not None or unsure <= 0:
                continue
            share = gpus[name] * unsure / nodes / total
            if share > SUPPLY_SHARE and (share, unsure) > worst.get(name, (0.0, 0, "", 0))[:2]:
                worst[name] = (share, unsure, day_type, hour)
    for offer in index.case.offers:
        if offer.offer in worst:
            share, nodes, day_type, hour = worst[offer.offer]
            message = (
                f"Offer {offer.offer} has no max_nodes and carries {share:.0%} of the GPUs in use on {day_type} in hour {hour} "
                f"({nodes} nodes): whether so many can be had is not known."
            )
            yield _problem("SUPPLY_UNKNOWN", offer, message, "Ask the provider, and enter max_nodes.")


def _one_day_for_term(index: PlanIndex, taken: list[Offer], decision: Decision) -> Iterable[Problem]:
    """Terms over a month that are bought on the demand of one day: of nodes, and of commitments in $/h."""
    if _days_are_stated(index.case):
        return
    fix = "Add a DayTypes sheet with weekdays, weekends and peak days, and their demand."
    for offer in taken:
        if index.nodes_new.get(offer.offer, 0) and (offer.term_months or 0) > ONE_DAY_TERM_MONTHS:
            message = f"Offer {offer.offer} is bought for {offer.term_months:g} months on the demand of a single day."
            yield _problem("ONE_DAY_FOR_TERM", offer, message, fix)
    committed = {row.discount for row in decision.commitments if row.usd_per_h > 0}
    for name in dict.fromkeys(row.discount for row in index.case.discounts if row.discount in committed):
        longest = max((row for row in index.case.discounts if row.discount == name), key=lambda row: row.term_months or 0)
        if (longest.term_months or 0) > ONE_DAY_TERM_MONTHS:
            message = f"Discount {name} is committed to for {longest.term_months:g} months on the demand of a single day."
            yield _problem("ONE_DAY_FOR_TERM", longest, message, fix)


def _days_are_stated(case: Case) -> bool:
    """True where a DayTypes sheet says how many days the horizon has."""
    return len(case.day_types) > 1 or case.day_types[0].origin.sheet is not None


def _api_limit_unknown(case: Case) -> Iterable[Problem]:
    """APIs that a contingency lets absorb, and that state no max_output_tps: they absorb nothing beyond the plan."""
    absorbing = {pool for row in case.contingencies if row.api_absorbs for pool in row.pools}
    listed = {api for workload in case.workloads if workload.pool in absorbing for api in workload.api}
    for api in case.api_prices:
        if api.api in listed and api.max_output_tps is None:
            message = f"API {api.api} states no max_output_tps: on a bad day it is counted for no more than its planned overflow."
            yield _problem("API_LIMIT_UNKNOWN", api, message, "Enter the rate limit that the provider grants.")


def _existing_ends(index: PlanIndex) -> Iterable[Problem]:
    """Contracts that end before the horizon does.

    That has the days of DayTypes from the start date. Where they are not stated it is the longest term newly bought, and at least
    a quarter.
    """
    start = index.case.policy.start_date
    if _days_are_stated(index.case):
        days = sum(day.days for day in index.case.day_types)
    else:
        terms = [offer.term_months or 0 for offer in index.case.offers if index.nodes_new.get(offer.offer, 0)]
        days = max([MONTHS_PER_QUARTER, *terms]) * DAYS_PER_MONTH
    end = start + datetime.timedelta(days=round(days))
    for row in index.case.existing:
        if row.nodes and row.expires is not None and start <= row.expires < end:
            message = f"{row.nodes} existing nodes of offer {row.offer} end on {row.expires}; the plan counts on them to {end}."
            yield _problem("EXISTING_ENDS", row, message, "Renew them, or plan again from that date.")


def _sites(index: PlanIndex, taken: list[Offer]) -> Iterable[Problem]:
    used = {name for uses in index.used.values() for name, nodes in uses.items() if nodes}
    for site in index.case.sites:
        here = [offer for offer in taken if offer.site == site.site]
        if any(offer.offer in used for offer in here) and not site.usd_per_kwh:
            message = f"Nodes are used at site {site.site}, and its energy costs nothing (usd_per_kwh 0)."
            yield _problem("ENERGY_FREE", site, message, "Enter usd_per_kwh, unless the offers' prices include power.")
        for offer in here:
            if not offer.is_held:
                kind = offer.purchase.replace("_", "-")
                message = (
                    f"Offer {offer.offer} is {kind} and stands at site {site.site}: its energy is paid, "
                    f"but it takes no rack and no kW there."
                )
                fix = "Leave its site empty, or make it owned, reserved or flex."
                yield _problem("ELASTIC_AT_SITE", offer, message, fix)


def _prices(index: PlanIndex, taken: list[Offer]) -> Iterable[Problem]:
    policy = index.case.policy
    apis = {api for flows in index.overflows.values() for (_, api), tps in flows.items() if tps > 0}
    priced: list[tuple[str, Offer | ApiPrice]] = [(f"offer {offer.offer}", offer) for offer in taken]
    priced += [(f"API {api.api}", api) for api in index.case.api_prices if api.api in apis]
    for name, row in priced:
        if row.as_of is None:
            said = f" (as_of says {row.as_of_text!r})" if row.as_of_text else ""
            message = f"The price of {name} has no date{said}."
            yield _problem("PRICE_UNDATED", row, message, "Enter as_of, the day on which the price was seen.")
        elif (policy.today - row.as_of).days > policy.price_stale_days:
            age = (policy.today - row.as_of).days
            message = f"The price of {name} is of {row.as_of}, {age} days old; more than {policy.price_stale_days:g} is stale."
            yield _problem("PRICE_STALE", row, message, "Get a fresh quote, and enter it with its date.")


def _packing(index: PlanIndex) -> Iterable[Problem]:
    _, notes = check_nodes(index)
    by_type: dict[str, list[str]] = defaultdict(list)
    for note in notes:
        by_type[note.split(",")[0]].append(note)
    for where, found in by_type.items():
        message = f"Whether the replicas fit on whole {where} is not proven in {len(found)} hours; first: {found[0]}."
        yield _problem("PACKING", None, message, "Place them by hand before buying, or allow fewer replica sizes.")
