"""What people would do without fleetsheet, each priced under the same rules: a case with fewer choices, solved to 1 %.

Existing contracts are paid and usable in every baseline (unused in all_api): nobody can undo them.
"""

from __future__ import annotations

from collections.abc import Callable

from optimizer.candidates.option import Candidates
from optimizer.domain.case import Case
from optimizer.domain.hours import ALL_DAY
from optimizer.domain.market import Existing, Offer
from optimizer.domain.workload import DayType, DemandDay
from optimizer.milp.solve import solve_case
from optimizer.milp.solver import HIGHS
from optimizer.plan.plan import Baselines, Decision
from optimizer.units import HOURS_PER_DAY

GAP = 0.01


def solve_baselines(
    case: Case, candidates: Candidates, *, time_limit_s: float | None = None, solver: str = HIGHS
) -> Baselines:
    """All four baselines in $/day; None = impossible under the rules, or not found within the time limit (each its own)."""
    limit_s = case.policy.time_limit_s if time_limit_s is None else time_limit_s
    no_fleet = candidates.model_copy(update={"options": (), "offers": _offers(case, candidates)})
    return Baselines(
        all_api=_cost(_ignoring_api_max(case), no_fleet, limit_s, solver),
        all_on_demand=_cost(case, _choosing(case, candidates, lambda offer: not offer.is_held), limit_s, solver),
        reserved_at_peak=_cost(case, _choosing(case, candidates, lambda offer: offer.is_held), limit_s, solver),
        reserved_at_trough=_reserved_at_trough(case, candidates, limit_s, solver),
    )


def _cost(case: Case, candidates: Candidates, limit_s: float, solver: str) -> float | None:
    return solve_case(case, candidates, gap=GAP, time_limit_s=limit_s, tie_break=False, solver=solver).cost_usd_per_day


def _choosing(case: Case, candidates: Candidates, wanted: Callable[[Offer], bool]) -> Candidates:
    """Candidates whose offers are only those wanted, besides existing contracts."""
    return candidates.model_copy(update={"offers": _offers(case, candidates, wanted)})


def _offers(case: Case, candidates: Candidates, wanted: Callable[[Offer], bool] = lambda _: False) -> tuple[Offer, ...]:
    kept: list[Offer] = []
    for offer in candidates.offers:
        if wanted(offer):
            kept.append(offer)
        elif case.nodes_existing(offer.offer):
            kept.append(_not_bought(offer))
    return tuple(kept)


def _not_bought(offer: Offer) -> Offer:
    return offer.model_copy(update={"min_nodes": 0, "max_nodes": 0})


def _ignoring_api_max(case: Case) -> Case:
    workloads = tuple(workload.model_copy(update={"api_max_frac": 1.0}) for workload in case.workloads)
    return case.model_copy(update={"workloads": workloads})


def _without_api(case: Case) -> Case:
    return case.model_copy(update={"workloads": tuple(workload.model_copy(update={"api": ()}) for workload in case.workloads)})


def _reserved_at_trough(case: Case, candidates: Candidates, limit_s: float, solver: str) -> float | None:
    """Held nodes as the hour of least demand alone would have them; the rest on demand, no spot and no API."""
    fleet_only = _without_api(case)
    trough = solve_case(
        _trough_case(fleet_only), _choosing(case, candidates, lambda offer: offer.is_held), gap=GAP, time_limit_s=limit_s,
        tie_break=False, solver=solver,
    )
    if trough.decision is None:
        return None
    committed = _with_commitment(fleet_only, trough.decision)
    offers = tuple(
        _not_bought(offer) if offer.is_held else offer
        for offer in candidates.offers
        if offer.is_held or offer.purchase == "on_demand"
    )
    return _cost(committed, candidates.model_copy(update={"offers": offers}), limit_s, solver)


def _trough_case(case: Case) -> Case:
    """The hour of least demand over all workloads, as if it lasted all day."""
    least = min(
        case.slices, key=lambda piece: sum(w.demand_on(piece.day_type).output_tps[piece.hour] for w in case.workloads)
    )
    workloads = []
    for workload in case.workloads:
        day = workload.demand_on(least.day_type)
        flat = DemandDay(
            day_type="trough",
            output_tps=(day.output_tps[least.hour],) * HOURS_PER_DAY,
            input_tps=None if day.input_tps is None else (day.input_tps[least.hour],) * HOURS_PER_DAY,
        )
        workloads.append(workload.model_copy(update={"demand": (flat,)}))
    pools = tuple(
        pool.model_copy(update={"rollout_hours": ALL_DAY if least.hour in pool.rollout_hours else frozenset()})
        for pool in case.pools
    )
    day_types = (DayType(day_type="trough", days=1),)
    return case.model_copy(update={"workloads": tuple(workloads), "pools": pools, "day_types": day_types})


def _with_commitment(case: Case, decision: Decision) -> Case:
    """The case with the nodes of a decision already under contract."""
    held = tuple(
        Existing(offer=row.offer, nodes=row.nodes_new) for row in decision.nodes_new if row.nodes_new > 0
    )
    return case.model_copy(update={"existing": (*case.existing, *held)})
