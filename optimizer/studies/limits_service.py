"""Limits and headroom rules of pools, workloads and bad days, each as a number that can be set otherwise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from optimizer.domain.case import Case
from optimizer.domain.market import ApiPrice
from optimizer.domain.names import join_key
from optimizer.domain.workload import Contingency, Pool, Workload
from optimizer.plan.plan import Decision
from optimizer.studies.limits import Limit, changed
from optimizer.studies.wording import number, share

#: A percentage point; and how finely shares are told apart where the least loosening is searched.
_POINT = 0.01
_FINE_SHARE = 0.001


def service_limits(case: Case) -> Iterator[Limit]:
    """API shares, pools, then bad days."""
    for workload in case.workloads:
        if workload.api and workload.api_max_frac < 1:
            yield _api_share(workload)
        if workload.burst_factor > 1:
            yield _burst(workload)
    for pool in case.pools:
        yield from _pool_limits(case, pool)
    for row in case.contingencies:
        yield from _bad_day_limits(case, row)


def api_openings(case: Case) -> Iterator[Limit]:
    """Workloads that may use no API, and the listed APIs of their model that could take a share of their demand."""
    for workload in case.workloads:
        if not workload.api:
            for api in case.api_prices:
                same_model = not api.model or join_key(api.model) == join_key(workload.model)
                if same_model and _priced(api, workload):
                    yield _opening(workload, api)


def _priced(api: ApiPrice, workload: Workload) -> bool:
    """True where the workload states the tokens that the API's prices and limits count."""
    if workload.input_tokens is not None and workload.output_tokens:
        return True
    has_input = all(day.input_tps is not None for day in workload.demand)
    counts_input = bool(api.input_usd_per_mtok or api.cached_input_usd_per_mtok or api.max_input_tps or api.max_total_tps)
    return api.max_rpm is None and (has_input or not counts_input)


def _workload_setting(name: str, **fixed: object) -> Callable[[str], Callable[[Case, float], Case]]:
    def of(field: str) -> Callable[[Case, float], Case]:
        def at(given: Case, value: float) -> Case:
            rows = changed(given.workloads, lambda row: row.workload == name, **{field: value}, **fixed)
            return given.model_copy(update={"workloads": rows})

        return at

    return of


def _overflow_shares(case: Case, decision: Decision, name: str) -> dict[tuple[str, int], float]:
    """Share of each hour's tokens of a workload that the APIs serve."""
    sent: dict[tuple[str, int], float] = defaultdict(float)
    own: dict[tuple[str, int], float] = defaultdict(float)
    for flow in decision.overflows:
        if flow.workload == name:
            sent[flow.day_type, flow.hour] += flow.tps
    for load in decision.loads:
        if load.workload == name:
            own[load.day_type, load.hour] += load.firm_tps + load.spot_tps
    return {key: tps / (tps + own[key]) for key, tps in sent.items() if tps > 0}


def _hours_over_share(name: str, now: float) -> Callable[[Case, Decision], dict[str, set[int]]]:
    def hours_over(case: Case, decision: Decision) -> dict[str, set[int]]:
        hours: dict[str, set[int]] = defaultdict(set)
        for (day_type, hour), part in _overflow_shares(case, decision, name).items():
            if part > now + 1e-6:
                hours[day_type].add(hour)
        return hours

    return hours_over


def _api_share(workload: Workload) -> Limit:
    name, now = workload.workload, workload.api_max_frac
    return Limit(
        limit="api_max_frac", what=f"workload {name}", unit="% of an hour's demand", value=now, free=1.0, step=_POINT,
        fine=_FINE_SHARE, shown_per_value=100.0, pool=workload.pool, at=_workload_setting(name)("api_max_frac"),
        used=lambda case, decision: max(_overflow_shares(case, decision, name).values(), default=0.0),
        lumpy=True, words=lambda value: f"allow {share(value - now)} more API overflow of {name}",
        hours_over=_hours_over_share(name, now),
    )


def _opening(workload: Workload, api: ApiPrice) -> Limit:
    name = workload.workload
    return Limit(
        limit="api_max_frac", what=f"workload {name}", unit="% of an hour's demand", value=0.0, free=1.0, step=_POINT,
        fine=_FINE_SHARE, shown_per_value=100.0, pool=workload.pool,
        at=_workload_setting(name, api=(api.api,))("api_max_frac"),
        used=lambda case, decision: max(_overflow_shares(case, decision, name).values(), default=0.0),
        words=lambda value: f"allow {share(value)} API overflow of {name} to {api.api}",
        hours_over=_hours_over_share(name, 0.0),
    )


def _burst(workload: Workload) -> Limit:
    name, now = workload.workload, workload.burst_factor
    return Limit(
        limit="burst_factor", what=f"workload {name}", unit="% of demand", value=now, free=1.0, step=_POINT, fine=_POINT,
        shown_per_value=100.0, pool=workload.pool, headroom=True, at=_workload_setting(name)("burst_factor"),
        words=lambda value: f"burst factor of {name} {number(value)} instead of {number(now)}",
    )


def demand_growth(workload: Workload) -> Limit:
    """Demand as if it were a limit: value is the share of it that need not be served (below 0: more demand)."""
    name = workload.workload
    peak_tps = max((tps for day in workload.demand for tps in day.output_tps), default=0.0)

    def at(given: Case, value: float) -> Case:
        found = given.workload(name)
        days = tuple(
            day.model_copy(update={
                "output_tps": tuple(tps * (1 - value) for tps in day.output_tps),
                "input_tps": None if day.input_tps is None else tuple(tps * (1 - value) for tps in day.input_tps),
            })
            for day in found.demand
        )
        return given.model_copy(update={"workloads": changed(given.workloads, lambda row: row.workload == name, demand=days)})

    return Limit(
        limit="demand", what=f"workload {name}", unit="tok/s", value=0.0, free=1.0, step=_POINT, fine=_FINE_SHARE / 10,
        shown_per_value=peak_tps, pool=workload.pool, at=at,
        words=lambda value: f"serve {share(value)} less of {name}, {number(value * peak_tps)} tok/s at its peak",
    )


def _pool_setting(name: str, field: str, *, whole: bool = False) -> Callable[[Case, float], Case]:
    def at(given: Case, value: float) -> Case:
        rows = changed(given.pools, lambda row: row.pool == name, **{field: round(value) if whole else value})
        return given.model_copy(update={"pools": rows})

    return at


def _pool_limits(case: Case, pool: Pool) -> Iterator[Limit]:
    name = pool.pool
    if pool.occupancy_frac is not None and pool.occupancy_frac < 1:
        now_occupancy = pool.occupancy_frac
        yield Limit(
            limit="occupancy_frac", what=f"pool {name}", unit="% of goodput", value=now_occupancy, free=1.0, step=_POINT,
            fine=_FINE_SHARE, shown_per_value=100.0, headroom=True, pool=name, at=_pool_setting(name, "occupancy_frac"),
            words=lambda value: f"occupancy of pool {name} {share(value)} instead of {share(now_occupancy)}",
        )
    if pool.is_auto and pool.wait_prob_max_frac < 1:
        now_waiting = pool.wait_prob_max_frac
        yield Limit(
            limit="wait_prob_max_frac", what=f"pool {name}", unit="% of requests", value=now_waiting, free=1.0, step=_POINT,
            fine=_FINE_SHARE, shown_per_value=100.0, headroom=True, pool=name, at=_pool_setting(name, "wait_prob_max_frac"),
            words=lambda value: f"{share(value)} instead of {share(now_waiting)} of the requests of pool {name} may wait",
        )
    if pool.rollout_frac > 0 and pool.rollout_hours:
        now_rollout = pool.rollout_frac
        yield Limit(
            limit="rollout_frac", what=f"pool {name}", unit="% of replicas", value=now_rollout, free=0.0, step=_POINT,
            fine=_POINT, shown_per_value=100.0, headroom=True, pool=name, at=_pool_setting(name, "rollout_frac"),
            words=lambda value: f"rollout of pool {name} {share(value)} instead of {share(now_rollout)}",
        )
    if pool.spot_max_frac < 1 and any(offer.purchase == "spot" for offer in case.offers):
        now_spot = pool.spot_max_frac
        yield Limit(
            limit="spot_max_frac", what=f"pool {name}", unit="% of the pool's tok/s", value=now_spot, free=1.0, step=_POINT,
            fine=_POINT, shown_per_value=100.0, pool=name, at=_pool_setting(name, "spot_max_frac"),
            lumpy=True, used=lambda given, decision: _spot_share(given, decision, name),
            words=lambda value: f"allow {share(value - now_spot)} more of pool {name} on spot",
        )
    counts = (
        ("min_live", "replicas", pool.min_live, True, "live replicas of pool {name} at least {new} instead of {now}"),
        ("ready_hours", "hours", pool.ready_hours, True, "replicas of pool {name} paid {new} instead of {now} hours ahead"),
        ("fixed_nodes", "nodes", pool.fixed_nodes, False, "standing quota of pool {name} {new} instead of {now} nodes"),
    )
    for field, unit, now, headroom, text in counts:
        if now > 0:
            yield Limit(
                limit=field, what=f"pool {name}", unit=unit, value=float(now), free=0.0, step=1.0, headroom=headroom, pool=name,
                at=_pool_setting(name, field, whole=True),
                words=lambda value, text=text, now=now: text.format(name=name, new=number(value), now=now),  # type: ignore[misc]
            )


def _spot_share(case: Case, decision: Decision, pool: str) -> float:
    """Largest share on spot of what the pool's own replicas serve in an hour."""
    spot: dict[tuple[str, int], float] = defaultdict(float)
    both: dict[tuple[str, int], float] = defaultdict(float)
    for load in decision.loads:
        if case.workload(load.workload).pool == pool:
            spot[load.day_type, load.hour] += load.spot_tps
            both[load.day_type, load.hour] += load.firm_tps + load.spot_tps
    return max((spot[key] / tps for key, tps in both.items() if tps > 0), default=0.0)


def bad_day_name(case: Case, row: Contingency) -> str:
    """A contingency in words; its pools are named where several rows share the name."""
    same = sum(1 for other in case.contingencies if other.contingency == row.contingency)
    return f"contingency {row.contingency}" + (f" of {', '.join(row.pools)}" if same > 1 else "")


def _bad_day_limits(case: Case, row: Contingency) -> Iterator[Limit]:
    if not row.pools:
        return
    what, pool = bad_day_name(case, row), row.pools[0] if len(row.pools) == 1 else None

    def same(other: Contingency) -> bool:
        return (other.contingency, other.pools) == (row.contingency, row.pools)

    def setting(field: str, *, whole: bool = False) -> Callable[[Case, float], Case]:
        def at(given: Case, value: float) -> Case:
            rows = changed(given.contingencies, same, **{field: round(value) if whole else value})
            return given.model_copy(update={"contingencies": rows})

        return at

    def dropped(given: Case, value: float) -> Case:
        if value > 0:
            return given
        return given.model_copy(update={"contingencies": tuple(other for other in given.contingencies if not same(other))})

    yield Limit(
        limit="contingency", what=what, unit="contingency", value=1.0, free=0.0, step=1.0, headroom=True, pool=pool, at=dropped,
        words=lambda _: f"do without {what}",
    )
    if row.replicas_lost > 1:
        yield Limit(
            limit="replicas_lost", what=what, unit="replicas", value=float(row.replicas_lost), free=0.0, step=1.0, pool=pool,
            at=setting("replicas_lost", whole=True),
            words=lambda value: f"{number(value)} instead of {row.replicas_lost} replicas lost in {what}",
        )
    if row.demand_surge_frac > 0:
        yield Limit(
            limit="demand_surge_frac", what=what, unit="% of demand", value=row.demand_surge_frac, free=0.0, step=_POINT,
            fine=_FINE_SHARE, shown_per_value=100.0, pool=pool, at=setting("demand_surge_frac"),
            words=lambda value: f"a surge of {share(value)} instead of {share(row.demand_surge_frac)} in {what}",
        )
