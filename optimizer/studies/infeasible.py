"""Why no plan exists: which single limit, loosened by how much, would give one, and what that plan would cost.

Every limit is loosened alone. Where that makes the case solvable, the least loosening that does is found by bisection on true
re-solves, so the amounts are real and not shadow prices. Where no single limit is enough, the tok/s that cannot be served are
shown, pool by pool at their worst hour.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from optimizer.candidates.option import Candidates
from optimizer.domain.case import Case
from optimizer.domain.hardware import Site
from optimizer.domain.market import ApiPrice, Offer
from optimizer.milp.solve import solve_case
from optimizer.plan.plan import Decision, InfeasibleLimit

GAP = 0.01
#: Wall seconds spent on explanations in all; what is not reached by then is left out.
BUDGET_S = 60.0
_SOLVE_S = 15.0
_BISECTIONS = 12
_UNSERVED = "(unserved)"
#: Far above any price of a real API, so that tok/s are left unserved only where nothing else can serve them.
_UNSERVED_USD_PER_MTOK = 100_000.0

Problem = tuple[Case, Candidates]


@dataclass(frozen=True)
class _Loosening:
    """One limit that can be loosened. at: the problem with the limit at a value (None = no limit). used: what a plan takes of it.

    step: smallest useful change. value: the limit now. words: the relaxation for an amount missing.
    """

    limit: str
    unit: str
    value: float
    step: float
    at: Callable[[float | None], Problem]
    used: Callable[[Decision], float]
    words: Callable[[float], str]
    pool: str | None = None
    site: str | None = None


def explain(case: Case, candidates: Candidates) -> tuple[InfeasibleLimit, ...]:
    """Rows for the result: workloads nothing can serve, single relaxations by rising cost, or what stays unserved."""
    rows = list(_without_any_option(case, candidates))
    if rows:
        return tuple(rows)
    deadline = time.perf_counter() + BUDGET_S
    for loosening in _loosenings(case, candidates):
        if time.perf_counter() > deadline:
            break
        row = _try(loosening, deadline)
        if row is not None:
            rows.append(row)
    if rows:
        return tuple(sorted(rows, key=lambda row: row.usd_per_day if row.usd_per_day is not None else float("inf")))
    return tuple(_unserved(case, candidates))


def _solve(problem: Problem) -> tuple[Decision | None, float | None]:
    outcome = solve_case(*problem, gap=GAP, time_limit_s=_SOLVE_S, tie_break=False)
    return outcome.decision, outcome.cost_usd_per_day


def _try(loosening: _Loosening, deadline: float) -> InfeasibleLimit | None:
    """The least loosening that gives a plan, and its cost; None where even no limit gives none."""
    decision, cost = _solve(loosening.at(None))
    if decision is None:
        return None
    low, high = loosening.value, loosening.used(decision)
    for _ in range(_BISECTIONS):
        steps = int((high - low) / loosening.step + 1e-6)
        if steps <= 1 or time.perf_counter() > deadline:
            break
        middle = low + (steps // 2) * loosening.step
        decision, middle_cost = _solve(loosening.at(middle))
        if decision is None:
            low = middle
        else:
            high, cost = min(middle, loosening.used(decision)), middle_cost
    missing = max(high - loosening.value, 0.0)
    return InfeasibleLimit(
        limit=loosening.limit, pool=loosening.pool, site=loosening.site, missing=missing, unit=loosening.unit,
        relaxation=loosening.words(missing), usd_per_day=cost,
    )


def _loosenings(case: Case, candidates: Candidates) -> Iterator[_Loosening]:
    for site in case.sites:
        yield from _site_loosenings(case, candidates, site)
    for offer in candidates.offers:
        if offer.max_nodes is not None:
            yield _offer_loosening(case, candidates, offer)
    for workload in case.workloads:
        if workload.api and workload.api_max_frac < 1:
            yield _share_loosening(case, candidates, workload.workload)
    for api in case.api_prices:
        if any(api.api in workload.api for workload in case.workloads):
            yield from _api_loosenings(case, candidates, api)
    for pool in case.pools:
        if pool.spot_max_frac < 1 and any(offer.purchase == "spot" for offer in candidates.offers):
            yield _spot_loosening(case, candidates, pool.pool)
    for contingency in dict.fromkeys(row.contingency for row in case.contingencies):
        yield _contingency_loosening(case, candidates, contingency)


def _kw_per_node(case: Case, site: Site, node_type: str) -> float:
    return (case.node_type(node_type).node_kw or 0.0) * (site.pue or 1.0)


def _held(case: Case, decision: Decision, site: str) -> Iterator[tuple[Offer, int]]:
    for row in decision.nodes_new:
        offer = case.offer(row.offer)
        if offer.site == site:
            yield offer, row.nodes_new + row.nodes_existing


def _site_loosenings(case: Case, candidates: Candidates, site: Site) -> Iterator[_Loosening]:
    offers = [offer for offer in candidates.offers if offer.site == site.site and offer.is_held]
    if not offers:
        return

    def with_site(**changes: object) -> Problem:
        changed = tuple(row.model_copy(update=changes) if row.site == site.site else row for row in case.sites)
        return case.model_copy(update={"sites": changed}), candidates

    if site.total_kw is not None:
        yield _Loosening(
            limit="total_kw", unit="kW", value=site.total_kw, site=site.site,
            step=min(_kw_per_node(case, site, offer.node_type) for offer in offers) or 1.0,
            at=lambda value: with_site(total_kw=value),
            used=lambda decision: sum(
                count * _kw_per_node(case, site, offer.node_type) for offer, count in _held(case, decision, site.site)
            ),
            words=lambda missing: f"+{missing:,.4g} kW at site {site.site}",
        )
    if site.racks is not None:
        yield _Loosening(
            limit="racks", unit="racks", value=float(site.racks), site=site.site, step=1.0,
            at=lambda value: with_site(racks=None if value is None else round(value)),
            used=lambda decision: float(_racks(case, decision, site)),
            words=lambda missing: f"+{missing:,.0f} racks at site {site.site}",
        )


def _racks(case: Case, decision: Decision, site: Site) -> int:
    from optimizer.milp.frame import nodes_per_rack

    nodes: dict[str, int] = {}
    for offer, count in _held(case, decision, site.site):
        nodes[offer.node_type] = nodes.get(offer.node_type, 0) + count
    racks = 0
    for node_type, count in nodes.items():
        per_rack = nodes_per_rack(site, case.node_type(node_type).node_kw or 0.0)
        if per_rack:
            racks += -(-count // per_rack)
    return racks


def _offer_loosening(case: Case, candidates: Candidates, offer: Offer) -> _Loosening:
    def with_cap(value: float | None) -> Problem:
        cap = None if value is None else round(value)
        changed = tuple(row.model_copy(update={"max_nodes": cap}) if row is offer else row for row in candidates.offers)
        return case, candidates.model_copy(update={"offers": changed})

    def used(decision: Decision) -> float:
        if offer.is_held:
            return float(sum(row.nodes_new for row in decision.nodes_new if row.offer == offer.offer))
        return float(max((row.used for row in decision.node_uses if row.offer == offer.offer), default=0))

    return _Loosening(
        limit="max_nodes", unit="nodes", value=float(offer.max_nodes or 0), site=offer.site,
        step=float(offer.lot_nodes if offer.is_held else 1), at=with_cap, used=used,
        words=lambda missing: f"+{missing:,.0f} nodes of offer {offer.offer}",
    )


def _share_loosening(case: Case, candidates: Candidates, name: str) -> _Loosening:
    workload = case.workload(name)

    def at(value: float | None) -> Problem:
        share = 1.0 if value is None else min(value, 1.0)
        changed = tuple(
            row.model_copy(update={"api_max_frac": share}) if row.workload == name else row for row in case.workloads
        )
        return case.model_copy(update={"workloads": changed}), candidates

    def used(decision: Decision) -> float:
        most = 0.0
        for piece in case.slices:
            demand = workload.demand_on(piece.day_type).output_tps[piece.hour]
            sent = sum(
                row.tps for row in decision.overflows
                if (row.workload, row.day_type, row.hour) == (name, piece.day_type, piece.hour)
            )
            most = max(most, sent / demand if demand > 0 else 0.0)
        return most

    return _Loosening(
        limit="api_max_frac", unit="share of an hour's demand", value=workload.api_max_frac, pool=workload.pool, step=0.01,
        at=at, used=used, words=lambda missing: f"allow workload {name} {missing:.0%} more API overflow in an hour",
    )


def _api_loosenings(case: Case, candidates: Candidates, api: ApiPrice) -> Iterator[_Loosening]:
    limits = {"max_output_tps": api.max_output_tps, "max_input_tps": api.max_input_tps, "max_total_tps": api.max_total_tps}
    for name, value in limits.items():
        if value is None:
            continue

        def at(new: float | None, name: str = name) -> Problem:
            changed = tuple(row.model_copy(update={name: new}) if row.api == api.api else row for row in case.api_prices)
            return case.model_copy(update={"api_prices": changed}), candidates

        def used(decision: Decision, name: str = name) -> float:
            most: dict[tuple[str, int], float] = {}
            for row in decision.overflows:
                if row.api == api.api:
                    ratio = case.workload(row.workload).input_per_output(row.day_type, row.hour) or 0.0
                    tokens = {"max_output_tps": 1.0, "max_input_tps": ratio, "max_total_tps": 1.0 + ratio}[name]
                    most[(row.day_type, row.hour)] = most.get((row.day_type, row.hour), 0.0) + row.tps * tokens
            return max(most.values(), default=0.0)

        yield _Loosening(
            limit=name, unit="tok/s", value=value, step=max(value, 1.0) / 100, at=at, used=used,
            words=lambda missing, name=name: f"+{missing:,.0f} tok/s of {name} at API {api.api}",  # type: ignore[misc]
        )


def _spot_loosening(case: Case, candidates: Candidates, name: str) -> _Loosening:
    pool = case.pool(name)

    def at(value: float | None) -> Problem:
        share = 1.0 if value is None else min(value, 1.0)
        changed = tuple(row.model_copy(update={"spot_max_frac": share}) if row.pool == name else row for row in case.pools)
        return case.model_copy(update={"pools": changed}), candidates

    return _Loosening(
        limit="spot_max_frac", unit="share of the pool's tok/s", value=pool.spot_max_frac, pool=name, step=0.05, at=at,
        used=lambda _: 1.0, words=lambda missing: f"allow pool {name} {missing:.0%} more on spot",
    )


def _contingency_loosening(case: Case, candidates: Candidates, name: str) -> _Loosening:
    """Dropping a bad day: all or nothing."""
    kept = tuple(row for row in case.contingencies if row.contingency != name)
    return _Loosening(
        limit="contingency", unit="contingency", value=0.0, step=1.0,
        at=lambda _: (case.model_copy(update={"contingencies": kept}), candidates),
        used=lambda _: 1.0, words=lambda _: f"do without contingency {name}",
    )


def _without_any_option(case: Case, candidates: Candidates) -> Iterator[InfeasibleLimit]:
    """Workloads that no option serves and no API may carry whole."""
    for workload in case.workloads:
        if any(option.point(workload.workload) for option in candidates.options_of(workload.pool)):
            continue
        if workload.api and workload.api_max_frac >= 1:
            continue
        day, hour, peak = max(
            ((day.day_type, hour, tps) for day in workload.demand for hour, tps in enumerate(day.output_tps)),
            key=lambda item: item[2],
        )
        if peak <= 0:
            continue
        mine = ("", workload.workload)
        reasons = [row for row in candidates.rejections if row.workload in mine and row.model == workload.model]
        why = f"; the first of {len(reasons)} rejections: {reasons[0].reason}" if reasons else ""
        yield InfeasibleLimit(
            limit="options", pool=workload.pool, day_type=day, hour=hour, missing=peak, unit="tok/s",
            relaxation=f"measure a goodput of {workload.model} that meets the SLO, or allow an API for {workload.workload}{why}",
        )


def _unserved(case: Case, candidates: Candidates) -> Iterator[InfeasibleLimit]:
    """What stays unserved with everything in use: per pool, the hour with most of it."""
    stand_in = ApiPrice(api=_UNSERVED, output_usd_per_mtok=_UNSERVED_USD_PER_MTOK, max_output_tps=1e12)
    open_case = case.model_copy(update={
        "api_prices": (*case.api_prices, stand_in),
        "workloads": tuple(
            row.model_copy(update={"api": (*row.api, _UNSERVED), "api_max_frac": 1.0}) for row in case.workloads
        ),
        "contingencies": tuple(
            row.model_copy(update={"api_absorbs": True}) if row.demand_surge_frac > 0 else row for row in case.contingencies
        ),
    })
    decision, _ = _solve((open_case, candidates))
    if decision is None:
        yield InfeasibleLimit(
            limit="commitments", missing=0.0, unit="", relaxation="minimums, existing nodes and site limits contradict each other"
        )
        return
    for pool in case.pools:
        missing: dict[tuple[str, int], float] = {}
        for row in decision.overflows:
            if row.api == _UNSERVED and case.workload(row.workload).pool == pool.pool:
                missing[(row.day_type, row.hour)] = missing.get((row.day_type, row.hour), 0.0) + row.tps
        if missing:
            (day_type, hour), tps = max(missing.items(), key=lambda item: item[1])
            yield InfeasibleLimit(
                limit="capacity", pool=pool.pool, day_type=day_type, hour=hour, missing=tps, unit="tok/s",
                relaxation="no single limit is enough: loosen several, add an offer, or allow API overflow",
            )
