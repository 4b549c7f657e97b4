"""Normal hours: work shifted and served, API shares and limits, capacity firm and spot, rollout, minimum, spot share."""

from __future__ import annotations

from optimizer.plan.audit_api import api_limits
from optimizer.plan.index import PlanIndex, SliceKey
from optimizer.units import HOURS_PER_DAY

#: Loads and overflows are continuous: a row may be off by the solver's feasibility tolerance, 1e-6 of it, or by a nothing.
SERVICE_REL = 1e-6
SERVICE_ABS = 1e-9
#: A millionth of a replica: what the solver's tolerance leaves of a load on an option that it took to 0 replicas.
CAPACITY_ABS_REPLICAS = 1e-6
#: (1 + 0.25) x 12 replicas may come out as 15.000000000000002; whole replicas are compared with this hedge.
WHOLE_HEDGE = 1e-9


def _above(value: float, limit: float) -> bool:
    return value > limit + SERVICE_REL * abs(limit) + SERVICE_ABS


def _differs(value: float, wanted: float) -> bool:
    return abs(value - wanted) > SERVICE_REL * abs(wanted) + SERVICE_ABS


def _at(key: SliceKey) -> str:
    return f"{key[0]} hour {key[1]}"


def check_demand(index: PlanIndex) -> list[str]:
    """load + overflow = demand for every workload in every slice; of deferrable work, what was shifted to run there."""
    messages = []
    for key in index.weights:
        served = dict.fromkeys(index.workloads, 0.0)
        for (workload, _), (firm, spot) in index.loads.get(key, {}).items():
            served[workload] += firm + spot
        for (workload, _), tps in index.overflows.get(key, {}).items():
            served[workload] += tps
        for workload, total in served.items():
            demand = index.run_tps(workload, key)
            if _differs(total, demand):
                messages.append(
                    f"demand of {workload}, {_at(key)}: {total:.9g} of {demand:.9g} tok/s served, "
                    f"{abs(total - demand):.6g} {'short' if total < demand else 'too many'}"
                )
    return messages


def check_shifts(index: PlanIndex) -> list[str]:
    """All deferrable work that arrives in an hour runs within its hours of waiting, cyclic over the day; no other work waits."""
    messages = []
    arrived: dict[tuple[str, SliceKey], float] = {}
    for shift in index.decision.shifts:
        workload, key = index.workloads[shift.workload], (shift.day_type, shift.hour)
        arrived[shift.workload, key] = arrived.get((shift.workload, key), 0.0) + shift.tps
        wait = (shift.run_hour - shift.hour) % HOURS_PER_DAY
        if shift.tps > 0 and wait > workload.deferrable_hours:
            messages.append(
                f"shift of {shift.workload}, {_at(key)}: {shift.tps:.6g} tok/s wait {wait} hours, "
                f"{wait - workload.deferrable_hours} more than deferrable_hours"
            )
        if shift.tps > 0 and not index.input_known(shift.workload, (shift.day_type, shift.run_hour)):
            messages.append(
                f"shift of {shift.workload}, {_at(key)}: work runs in hour {shift.run_hour}, in which none arrives, so its input "
                f"tokens are not known"
            )
    for workload in index.workloads.values():
        if not workload.deferrable_hours:
            continue
        for key in index.weights:
            demand, total = index.demand_tps(workload.workload, key), arrived.get((workload.workload, key), 0.0)
            if _differs(total, demand):
                messages.append(
                    f"shift of {workload.workload}, {_at(key)}: {total:.9g} of the {demand:.9g} tok/s that arrive run some time, "
                    f"{abs(total - demand):.6g} {'are lost' if total < demand else 'too many'}"
                )
    return messages


def check_api_use(index: PlanIndex) -> list[str]:
    """Overflow goes to APIs that the workload lists, in hours that they hold, and stays within api_max_frac of the demand."""
    messages = []
    for key, flows in index.overflows.items():
        totals: dict[str, float] = {}
        for (workload, api), tps in flows.items():
            totals[workload] = totals.get(workload, 0.0) + tps
            if tps > 0 and api not in index.workloads[workload].api:
                messages.append(f"overflow of {workload}, {_at(key)}: {tps:.6g} tok/s to {api}, which the workload does not list")
            if tps > 0 and key[1] not in index.apis[api].hours:
                messages.append(f"overflow of {workload}, {_at(key)}: {tps:.6g} tok/s to {api} outside its hours")
        for workload, total in totals.items():
            allowed = index.workloads[workload].api_max_frac * index.run_tps(workload, key)
            if _above(total, allowed):
                messages.append(
                    f"overflow of {workload}, {_at(key)}: {total:.9g} tok/s is {total - allowed:.6g} above api_max_frac"
                )
    return messages


def check_api_limits(index: PlanIndex) -> list[str]:
    """Stated limits per API and slice over all workloads, by token class and requests."""
    messages = []
    for key, flows in index.overflows.items():
        for name in dict.fromkeys(api for (_, api), tps in flows.items() if tps > 0):
            for limit in api_limits(index, index.apis[name], key):
                total = 0.0
                for (workload, api), tps in flows.items():
                    use = limit.uses[workload]
                    if api == name and tps > 0 and use is None:
                        messages.append(f"API {name}, {_at(key)}: {limit.column} is stated, {workload} does not say its use")
                    elif api == name:
                        total += tps * (use or 0.0)
                if _above(total, limit.limit):
                    messages.append(
                        f"API {name}, {_at(key)}: {total:.9g} is {total - limit.limit:.6g} above {limit.column} {limit.limit:.9g}"
                    )
    return messages


def check_capacity(index: PlanIndex) -> list[str]:
    """What firm live replicas carry fits on them, and likewise spot; a load needs an operating point for its workload.

    Every load takes burst x (load / output_tps + prefill) / occupancy replicas, from the measured row itself.
    """
    messages = []
    for key, loads in index.loads.items():
        taken: dict[tuple[str, str], list[float]] = {}
        for (workload, name), (firm, spot) in loads.items():
            if firm == 0 and spot == 0:
                continue
            option = (index.workloads[workload].pool, name)
            share = index.replica_per_tps(option, workload, key)
            if share is None:
                missing = "a point for it" if index.options[option].point(workload) is None else "a live replica in the pool"
                messages.append(f"load of {workload}, {_at(key)}: {firm + spot:.6g} tok/s on {name}, without {missing}")
                continue
            replicas = taken.setdefault(option, [0.0, 0.0])
            replicas[0] += firm * share
            replicas[1] += spot * share
        for option, (firm, spot) in taken.items():
            count = index.counts(key, option)
            for kind, needed, live in (("firm", firm, count.firm_live), ("spot", spot, count.spot_live)):
                if needed > live * (1.0 + SERVICE_REL) + CAPACITY_ABS_REPLICAS:
                    messages.append(
                        f"capacity of pool {option[0]}, option {option[1]}, {_at(key)}: {kind} load takes {needed:.9g} "
                        f"live replicas, there are {live}, {needed - live:.6g} short"
                    )
    return messages


def check_rollout(index: PlanIndex) -> list[str]:
    """In rollout hours, per option, firm and spot together: total >= (1 + rollout_frac) x live."""
    messages = []
    for key, counts in index.replicas.items():
        for (pool_name, option), count in counts.items():
            pool = index.pools[pool_name]
            if key[1] not in pool.rollout_hours:
                continue
            needed = (1.0 + pool.rollout_frac) * count.live
            if count.total < needed - WHOLE_HEDGE * max(1.0, needed):
                messages.append(
                    f"rollout of pool {pool_name}, option {option}, {_at(key)}: {count.total} replicas, "
                    f"{count.live} live need {needed:.6g}"
                )
    return messages


def check_ready(index: PlanIndex) -> list[str]:
    """Replicas live in an hour are paid from ready_hours before it, firm and spot apart, around midnight of the same day type."""
    messages = []
    for key, counts in index.replicas.items():
        for option, count in counts.items():
            for ahead in range(1, min(index.pools[option[0]].ready_hours, HOURS_PER_DAY - 1) + 1):
                before = (key[0], (key[1] - ahead) % HOURS_PER_DAY)
                paid = index.counts(before, option)
                for kind, live, total in (
                    ("firm", count.firm_live, paid.firm_total),
                    ("spot", count.spot_live, paid.spot_total),
                ):
                    if total < live:
                        messages.append(
                            f"ready_hours of pool {option[0]}, option {option[1]}, {_at(before)}: {total} {kind} replicas, "
                            f"{live} are live in hour {key[1]}"
                        )
    return messages


def check_min_live(index: PlanIndex) -> list[str]:
    """Live replicas of every pool in every slice reach min_live."""
    messages = []
    for pool in index.pools.values():
        if not pool.min_live:
            continue
        for key in index.weights:
            live = sum(count.live for (name, _), count in index.replicas.get(key, {}).items() if name == pool.pool)
            if live < pool.min_live:
                messages.append(f"min_live of pool {pool.pool}, {_at(key)}: {live} live replicas, {pool.min_live - live} short")
    return messages


def check_spot_share(index: PlanIndex) -> list[str]:
    """At most spot_max_frac of the tok/s that a pool's own replicas serve is on spot; 0 = no spot replicas either."""
    messages = []
    for key, loads in index.loads.items():
        own: dict[str, list[float]] = {}
        for (workload, _), (firm, spot) in loads.items():
            sums = own.setdefault(index.workloads[workload].pool, [0.0, 0.0])
            sums[0] += firm + spot
            sums[1] += spot
        for name, (total, spot) in own.items():
            allowed = index.pools[name].spot_max_frac * total
            if _above(spot, allowed):
                messages.append(
                    f"spot share of pool {name}, {_at(key)}: {spot:.9g} of {total:.9g} tok/s is {spot - allowed:.6g} "
                    f"more than spot_max_frac allows"
                )
    for key, counts in index.replicas.items():
        for (name, option), count in counts.items():
            if count.spot_total > 0 and index.pools[name].spot_max_frac <= 0:
                messages.append(
                    f"spot share of pool {name}, {_at(key)}: {count.spot_total} spot replicas of {option}, and spot_max_frac is 0"
                )
    return messages
