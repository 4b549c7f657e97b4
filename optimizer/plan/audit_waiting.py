"""Pools with occupancy `auto`: whether few enough requests wait, at the share of the time that replicas are really busy.

The program looks occupancies up by the number of live replicas. Here nothing is inverted: the probability of waiting is worked
out from the Erlang C formula as it stands in textbooks, by summing Poisson probabilities, and compared with what is allowed.
"""

from __future__ import annotations

from math import exp, fsum, lgamma, log

from optimizer.domain.workload import Pool
from optimizer.plan.audit_service import CAPACITY_ABS_REPLICAS, SERVICE_REL
from optimizer.plan.index import OptionKey, PlanIndex, SliceKey

#: Of the probability itself, for its own rounding.
PROB_REL = 1e-6


def share_waiting(live: int, busy_frac: float) -> float:
    """Share of requests that wait longer than half a mean service on `live` replicas, each busy that share of the time (M/M/c).

    ErlangC x exp(-(c - a) / 2) with c replicas, a = c x busy_frac; ErlangC = P(c) / (P(c) + (1 - busy) x sum of P(0..c-1)),
    P = Poisson(a). 1 where there is no replica or one is busy all the time.
    """
    if live < 1 or busy_frac >= 1.0:
        return 1.0
    if busy_frac <= 0.0:
        return 0.0
    work = live * busy_frac
    logs = [count * log(work) - lgamma(count + 1) for count in range(live + 1)]
    most = max(logs)
    full = exp(logs[live] - most)
    fewer = fsum(exp(value - most) for value in logs[:live])
    return full / (full + (1.0 - busy_frac) * fewer) * exp(-(live - work) / 2)


def check_waiting(index: PlanIndex) -> list[str]:
    """At the busiest option of every `auto` pool and hour few enough wait; so too at the occupancy that bad days count on."""
    messages = []
    on_bad_days = {name for row in index.case.contingencies for name in row.pools}
    known: dict[tuple[int, float], float] = {}
    for pool in index.case.pools:
        for key in index.weights if pool.is_auto else ():
            live, where = index.pool_live(pool.pool, key), f"waiting in pool {pool.pool}, {key[0]} hour {key[1]}"
            busiest = _busiest(index, pool, key)
            if busiest is not None and _too_many(pool, live, busiest[2], known):
                messages.append(
                    f"{where}: {live} live replicas, those of {busiest[0]} busy {busiest[1]:.6g} of the time; "
                    f"{share_waiting(live, busiest[1]):.6g} of the requests wait, {pool.wait_prob_max_frac:g} may"
                )
            counted_on = index.occupancy(pool.pool, key)
            if pool.pool in on_bad_days and live and _too_many(pool, live, counted_on * (1 - SERVICE_REL), known):
                messages.append(f"{where}: bad days count on occupancy {counted_on:.6g}, too high for {live} live replicas")
    return messages


def _too_many(pool: Pool, live: int, busy_frac: float, known: dict[tuple[int, float], float]) -> bool:
    """True where more requests wait than may; what was worked out before is remembered in `known`."""
    if (live, busy_frac) not in known:
        known[live, busy_frac] = share_waiting(live, busy_frac)
    return known[live, busy_frac] > pool.wait_prob_max_frac * (1 + PROB_REL)


def _busiest(index: PlanIndex, pool: Pool, key: SliceKey) -> tuple[str, float, float] | None:
    """The option (firm or spot) whose live replicas are busy most of the time, that share, and it less what rounding may add.

    None where nothing is served.
    """
    busy: dict[tuple[OptionKey, bool], float] = {}
    for (workload, name), loads in index.loads.get(key, {}).items():
        option = (index.workloads[workload].pool, name)
        per_tps = index.busy_per_tps(option, workload, key) if option[0] == pool.pool else None
        for is_spot, tps in zip((False, True), loads, strict=True):
            if per_tps is not None and tps > 0:
                busy[option, is_spot] = busy.get((option, is_spot), 0.0) + tps * per_tps
    shares = []
    for (option, is_spot), replicas in busy.items():
        count = index.counts(key, option)
        live = count.spot_live if is_spot else count.firm_live
        if live:  # a load on nothing is for `check_capacity` to find
            shares.append((option[1], replicas / live, replicas / (live * (1 + SERVICE_REL) + CAPACITY_ABS_REPLICAS)))
    return max(shares, key=lambda item: item[1], default=None)
