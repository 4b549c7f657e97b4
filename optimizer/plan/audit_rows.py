"""The decision as rows: every id known, one row per key, whole numbers that are not negative, counts that contain each other."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

from optimizer.candidates.option import Candidates
from optimizer.domain.case import Case
from optimizer.domain.market import HELD
from optimizer.plan.plan import Decision
from optimizer.units import HOURS_PER_DAY


def check_ids(case: Case, candidates: Candidates, decision: Decision) -> list[str]:
    """Every offer, pool, option, workload, API, day type and hour that the decision names exists, and belongs together."""
    days = {day.day_type for day in case.day_types}
    offers = {offer.offer: offer for offer in case.offers}
    apis = {api.api for api in case.api_prices}
    pool_of = {workload.workload: workload.pool for workload in case.workloads}
    options = {(option.pool, option.option) for option in candidates.options}
    node_types = {row.node_type for row in case.node_types}
    sites = {site.site for site in case.sites}
    messages = []
    for new in decision.nodes_new:
        if new.offer not in offers:
            messages.append(f"nodes_new: offer {new.offer} is not in the case")
        elif offers[new.offer].purchase not in HELD:
            messages.append(f"nodes_new: offer {new.offer} is {offers[new.offer].purchase}; only held offers are bought")
    for use in decision.node_uses:
        if use.offer not in offers:
            messages.append(f"node_uses: offer {use.offer} is not in the case")
    named = dict.fromkeys([new.offer for new in decision.nodes_new] + [use.offer for use in decision.node_uses])
    for name in (name for name in named if name in offers):
        offer = offers[name]
        if offer.node_type not in node_types:
            messages.append(f"offer {name}: node type {offer.node_type} is not in the case")
        if offer.site and offer.site not in sites:
            messages.append(f"offer {name}: site {offer.site} is not in the case")
    for count in decision.replicas:
        if (count.pool, count.option) not in options:
            messages.append(f"replicas: pool {count.pool} has no option {count.option}")
    for load in decision.loads:
        if load.workload not in pool_of:
            messages.append(f"loads: workload {load.workload} is not in the case")
        elif (pool_of[load.workload], load.option) not in options:
            messages.append(f"loads: pool {pool_of[load.workload]} of workload {load.workload} has no option {load.option}")
    for flow in decision.overflows:
        if flow.workload not in pool_of:
            messages.append(f"overflows: workload {flow.workload} is not in the case")
        if flow.api not in apis:
            messages.append(f"overflows: API {flow.api} is not in the case")
    discounted = {(row.discount, row.offer) for row in case.discounts}
    discounts = {name for name, _ in discounted}
    for commitment in decision.commitments:
        if commitment.discount not in discounts:
            messages.append(f"commitments: discount {commitment.discount} is not in the case")
    for cover in decision.covered:
        if (cover.discount, cover.offer) not in discounted:
            messages.append(f"covered: discount {cover.discount} does not cover offer {cover.offer}")
    messages += [f"discount {name}: offer {offer} is not in the case" for name, offer in discounted if offer not in offers]
    for pool in case.pools:
        if pool.fixed_nodes and pool.fixed_node_type not in node_types:
            messages.append(f"pool {pool.pool}: fixed_node_type {pool.fixed_node_type} is not in the case")
    for shift in decision.shifts:
        if shift.workload not in pool_of:
            messages.append(f"shifts: workload {shift.workload} is not in the case")
        if not 0 <= shift.run_hour < HOURS_PER_DAY:
            messages.append(f"shifts: run hour {shift.run_hour} is not in the case")
    for workload in case.workloads:
        messages += [f"workload {workload.workload}: API {api} is not in the case" for api in workload.api if api not in apis]
    for table, rows in (
        ("node_uses", decision.node_uses),
        ("replicas", decision.replicas),
        ("loads", decision.loads),
        ("overflows", decision.overflows),
        ("shifts", decision.shifts),
        ("covered", decision.covered),
    ):
        for place in dict.fromkeys((row.day_type, row.hour) for row in rows):
            if place[0] not in days or not 0 <= place[1] < HOURS_PER_DAY:
                messages.append(f"{table}: {place[0]} hour {place[1]} is not in the case")
    return list(dict.fromkeys(messages))


def check_keys(decision: Decision) -> list[str]:
    """One row per key in every table of the decision."""
    messages: list[str] = []
    tables: tuple[tuple[str, Iterable[tuple[object, ...]]], ...] = (
        ("nodes_new", ((row.offer,) for row in decision.nodes_new)),
        ("node_uses", ((row.day_type, row.hour, row.offer) for row in decision.node_uses)),
        ("replicas", ((row.day_type, row.hour, row.pool, row.option) for row in decision.replicas)),
        ("loads", ((row.day_type, row.hour, row.workload, row.option) for row in decision.loads)),
        ("overflows", ((row.day_type, row.hour, row.workload, row.api) for row in decision.overflows)),
        ("shifts", ((row.day_type, row.hour, row.run_hour, row.workload) for row in decision.shifts)),
        ("commitments", ((row.discount,) for row in decision.commitments)),
        ("covered", ((row.day_type, row.hour, row.discount, row.offer) for row in decision.covered)),
    )
    for table, keys in tables:
        seen: set[tuple[object, ...]] = set()
        for key in keys:
            if key in seen:
                messages.append(f"{table}: {' '.join(str(part) for part in key)} has two rows")
            seen.add(key)
    return messages


def check_whole(decision: Decision) -> list[str]:
    """Nodes and replicas are whole and not negative; spot is part of live and of total, and live part of total for each."""
    messages = []

    def whole(value: object, what: str) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            messages.append(f"{what} is {value!r}, not a whole number")
        elif value < 0:
            messages.append(f"{what} is {value}, below 0")

    for new in decision.nodes_new:
        whole(new.nodes_new, f"nodes_new of offer {new.offer}")
        whole(new.nodes_existing, f"nodes_existing of offer {new.offer}")
    for use in decision.node_uses:
        whole(use.used, f"nodes used of offer {use.offer}, {use.day_type} hour {use.hour},")
    for row in decision.replicas:
        where = f"of pool {row.pool}, option {row.option}, {row.day_type} hour {row.hour},"
        whole(row.live, f"live replicas {where}")
        whole(row.total, f"total replicas {where}")
        whole(row.spot_live, f"live spot replicas {where}")
        whole(row.spot_total, f"total spot replicas {where}")
        if row.spot_live > row.spot_total:
            messages.append(f"live spot replicas {where} are {row.spot_live}, more than the {row.spot_total} spot ones")
        if row.spot_live > row.live:
            messages.append(f"live spot replicas {where} are {row.spot_live}, more than the {row.live} live ones")
        if row.live - row.spot_live > row.total - row.spot_total:
            messages.append(
                f"live firm replicas {where} are {row.live - row.spot_live}, more than the {row.total - row.spot_total} firm ones"
            )
    return messages


def check_flows(decision: Decision) -> list[str]:
    """Loads, overflows, shifts, commitments and covered nodes are finite and not negative."""
    messages = []
    for load in decision.loads:
        for value, kind in ((load.firm_tps, "firm"), (load.spot_tps, "spot")):
            if not isfinite(value) or value < 0:
                where = f"{load.workload} on option {load.option}, {load.day_type} hour {load.hour}"
                messages.append(f"{kind} load of {where} is {value} tok/s")
    for flow in decision.overflows:
        if not isfinite(flow.tps) or flow.tps < 0:
            messages.append(f"overflow of {flow.workload} to {flow.api}, {flow.day_type} hour {flow.hour}, is {flow.tps} tok/s")
    for shift in decision.shifts:
        if not isfinite(shift.tps) or shift.tps < 0:
            hours = f"hour {shift.hour} to {shift.run_hour}"
            messages.append(f"shift of {shift.workload}, {shift.day_type} {hours}, is {shift.tps} tok/s")
    for commitment in decision.commitments:
        if not isfinite(commitment.usd_per_h) or commitment.usd_per_h < 0:
            messages.append(f"commitment of discount {commitment.discount} is {commitment.usd_per_h} $/h")
    for cover in decision.covered:
        if not isfinite(cover.nodes) or cover.nodes < 0:
            where = f"{cover.offer} by {cover.discount}, {cover.day_type} hour {cover.hour}"
            messages.append(f"covered nodes of {where} are {cover.nodes}")
    return messages
