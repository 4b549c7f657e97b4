"""The one way in: a case and its candidates to a proven decision. Callers do not know which method ran."""

from __future__ import annotations

import time
from collections.abc import Iterable

from optimizer.candidates.option import Candidates
from optimizer.domain.case import Case
from optimizer.milp.absorbed import drop_absorbed_days
from optimizer.milp.apart import Best, at_once_share, can_go_apart, solve_apart
from optimizer.milp.discounts import add_discounts
from optimizer.milp.dominance import drop_dominated_options, unit_steps
from optimizer.milp.explicit import add_explicit_pool
from optimizer.milp.extract import extract
from optimizer.milp.filtered import solve_filtered
from optimizer.milp.frame import Frame, build_frame, close_frame
from optimizer.milp.left_nodes import add_left_nodes
from optimizer.milp.menu import Menu, can_use_menus, menus
from optimizer.milp.menu_pairs import pair_menus
from optimizer.milp.menu_rows import add_menu_pool
from optimizer.milp.prep import prepare, settle_spot_modes
from optimizer.milp.program import Term
from optimizer.milp.solver import HIGHS, Solved, Watch, pulp_version, solve, solver_version
from optimizer.plan.ledger import price_decision
from optimizer.plan.plan import Decision, SolveOutcome, SolverInfo, Status

#: The tie-break is tried where the first solve was easy, and for so many nodes: counts, not seconds, so that equal inputs give
#: equal plans. On a hard program it would take longer than the plan itself.
_TIE_BREAK_ITERATIONS = 2_000
_TIE_BREAK_NODES = 300
_TIE_BREAK_COST = 1e-9
_NEXT_TO_NOTHING = 1e-3
#: A menu with more lines than this is written out in full instead.
_MANY_LINES = 6_000


def solve_case(
    case: Case, candidates: Candidates, *, gap: float | None = None, time_limit_s: float | None = None, tie_break: bool = True,
    solver: str = HIGHS, watch: Watch | None = None,
) -> SolveOutcome:
    """The cheapest plan of the case and its proof.

    gap: relative gap that counts as optimal, 0 asks for a full proof (default: the policy's). time_limit_s: wall seconds for
    building and solving (default: the policy's). tie_break: among plans of equal cost prefer the one with fewest offers in use.
    solver: one that PuLP finds. watch: told how far the search is (best cost, bound, seconds); Ctrl-C then ends it with its best.
    The cost is recomputed from the decision; the bound holds for the whole program.
    """
    gap = case.policy.gap if gap is None else gap
    limit_s = case.policy.time_limit_s if time_limit_s is None else time_limit_s
    started = time.perf_counter()
    frame, pool_menus = build(case, candidates)
    apart = solver.casefold() == HIGHS.casefold() and can_go_apart(frame)
    at_once_s = limit_s * (at_once_share(frame) if apart else 1.0) - (time.perf_counter() - started)
    shown = _with_constant(watch, frame) if watch is not None else None
    if solver.casefold() == HIGHS.casefold():
        solved = solve_filtered(frame.program, gap=gap, time_limit_s=at_once_s, watch=shown)
    else:
        solved = solve(frame.program, gap=gap, time_limit_s=at_once_s, solver=solver)
    if solved.status == "infeasible":
        return _outcome("infeasible", None, None, None, started, solver)
    decision = extract(frame, pool_menus) if solved.objective is not None else None
    cost = price_decision(case, candidates, decision).total if decision is not None else float("inf")
    bound = _bound(frame, solved, cost)
    stopped = solved.stopped
    if solved.status != "optimal" and apart and not stopped:
        known = Best(decision, cost, bound)
        known = solve_apart(case, candidates, frame, pool_menus, known, gap=gap, deadline=started + limit_s, watch=watch)
        decision, cost, bound, stopped = known.decision, known.cost, known.bound, known.stopped
    if decision is None:
        return _outcome("no_plan", None, None, bound if bound > 0 else None, started, solver, stopped=stopped)
    closed = solved.status == "optimal" or _is_closed(cost, bound, gap)
    easy = solved.status == "optimal" and solved.iterations <= _TIE_BREAK_ITERATIONS
    if easy and tie_break and solver.casefold() == HIGHS.casefold():
        left_s = limit_s - (time.perf_counter() - started)
        decision, cost = _fewest_offers(case, candidates, frame, pool_menus, decision, cost, left_s)
        bound = min(bound, cost)
    return _outcome("optimal" if closed else "gap_open", decision, cost, bound, started, solver, stopped=stopped)


def _with_constant(watch: Watch, frame: Frame) -> Watch:
    constant = frame.program.constant_usd_per_day

    def shown(best: float | None, bound: float | None, seconds: float) -> None:
        watch(None if best is None else best + constant, None if bound is None else bound + constant, seconds)

    return shown


def _is_closed(cost: float, bound: float, gap: float) -> bool:
    return cost <= 0 or (cost - bound) / cost <= gap + 1e-9


def build(case: Case, candidates: Candidates) -> tuple[Frame, dict[str, tuple[Menu, ...]]]:
    """The whole program, closed with its cost, and the menus of the pools that use them."""
    prep = settle_spot_modes(drop_dominated_options(drop_absorbed_days(prepare(case, candidates))))
    with_menus = frozenset(pool.pool.pool for pool in prep.pools if can_use_menus(prep, pool))
    steps = unit_steps(prep, with_menus)
    frame = build_frame(prep)
    pool_menus: dict[str, tuple[Menu, ...]] = {}
    for pool in prep.pools:
        made = None
        if pool.pool.pool in with_menus:
            made = pair_menus(pool, steps) if len(pool.workloads) == 2 or pool.pool.is_auto else menus(pool, steps)
        if made is None or sum(len(menu.lines) for menu in made) > _MANY_LINES:
            add_explicit_pool(frame, pool)
        else:
            pool_menus[pool.pool.pool] = made
            add_menu_pool(frame, pool, made)
    close_frame(frame)
    add_left_nodes(frame)
    add_discounts(frame)
    frame.program.close_with_cost()
    return frame, pool_menus


def _bound(frame: Frame, solved: Solved, cost: float) -> float:
    if solved.bound is None:
        return 0.0  # no cost is negative
    return min(solved.bound + frame.program.constant_usd_per_day, cost)


def _outcome(
    status: str, decision: Decision | None, cost: float | None, bound: float | None, started: float, solver: str, *,
    stopped: bool = False,
) -> SolveOutcome:
    names: dict[str, Status] = {
        "optimal": "optimal", "gap_open": "gap_open", "no_plan": "no_plan", "infeasible": "infeasible",
    }
    return SolveOutcome(
        status=names[status], decision=decision, cost_usd_per_day=cost, bound_usd_per_day=bound,
        solver=SolverInfo(
            name=solver, version=solver_version() if solver.casefold() == HIGHS.casefold() else "",
            seconds=time.perf_counter() - started, pulp=pulp_version(), stopped=stopped,
        ),
    )


def _fewest_offers(
    case: Case, candidates: Candidates, frame: Frame, pool_menus: dict[str, tuple[Menu, ...]], decision: Decision, cost: float,
    time_left_s: float,
) -> tuple[Decision, float]:
    """The plan with fewest offers in use (then fewest nodes bought) at cost <= best x (1 + 1e-9), if another can be found."""
    if _offers_in_use(decision) <= 1 or time_left_s <= 0:
        return decision, cost
    program = frame.program
    budget = cost - program.constant_usd_per_day
    scale = budget if budget > _NEXT_TO_NOTHING else 1.0  # a tiny one would make coefficients that no solver takes
    terms: list[Term] = []
    most_nodes = 1.0
    for offer in frame.prep.offers:
        in_use = program.add_variable(("in_use", offer.offer), up=1, integer=True)
        terms.append((1.0, in_use))
        for key, variable in list(program.variables.items()):
            if key[:2] in (("lots", offer.offer), ("used", offer.offer)) and variable.upBound:
                program.add_row(("in_use", *key), [(1.0, variable), (-float(variable.upBound), in_use)], "<=", 0.0)
                if key[0] == "lots":
                    most_nodes += offer.lot_nodes * variable.upBound
    lots: Iterable[Term] = (
        (offer.lot_nodes / (2 * most_nodes), program.variables[("lots", offer.offer)])
        for offer in frame.prep.offers if offer.is_held
    )
    most = max(budget, 0.0) / scale + _TIE_BREAK_COST
    program.add_row(("best_cost",), [(c / scale, v) for c, v in program.cost_terms], "<=", most)
    program.close_with([*terms, *lots])
    solved = solve(program, gap=0.0, time_limit_s=time_left_s, max_nodes=_TIE_BREAK_NODES)
    if solved.objective is None:
        return decision, cost
    # The slack in the cost was for comparing, not for spending: least cost again, with no more offers and lots than found.
    for key, variable in list(program.variables.items()):
        if key[0] in ("in_use", "lots"):
            program.add_row(("found", *key), [(1.0, variable)], "<=", float(program.whole(key)))
    program.close_with_cost()
    again = solve(program, gap=0.0, time_limit_s=time_left_s, max_nodes=_TIE_BREAK_NODES)
    if again.objective is None:
        return decision, cost
    other = extract(frame, pool_menus)
    other_cost = price_decision(case, candidates, other).total
    if other_cost <= cost * (1 + _TIE_BREAK_COST) and _offers_in_use(other) <= _offers_in_use(decision):
        return other, other_cost
    return decision, cost


def _offers_in_use(decision: Decision) -> int:
    held = {row.offer for row in decision.nodes_new if row.nodes_new > 0}
    return len(held | {row.offer for row in decision.node_uses if row.used > 0})
