"""Whatever way a pool is written, the optimum is the same: menus, loss levels, rows per loss, with and without dominance."""

from __future__ import annotations

import pytest

from optimizer.candidates.enumerate import find_candidates
from optimizer.milp import apart, explicit, solve
from optimizer.milp.solve import solve_case
from optimizer.plan.audit import audit_decision
from tests.helpers.random_auto import random_auto_case
from tests.helpers.random_cases import random_case
from tests.helpers.random_dagger import random_dagger_case

PLAIN = {"menus": (solve, "can_use_menus"), "levels": (explicit, "add_levels")}


@pytest.mark.parametrize("seed", range(1000, 1060))
def test_plain_program_costs_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = random_case(seed)
    candidates = find_candidates(case)
    quick = solve_case(case, candidates, gap=0.0, time_limit_s=120).cost_usd_per_day
    for module, name in PLAIN.values():
        monkeypatch.setattr(module, name, lambda *_: False)
    monkeypatch.setattr(solve, "drop_dominated_options", lambda prep: prep)
    plain = solve_case(case, candidates, gap=0.0, time_limit_s=120).cost_usd_per_day
    assert (quick is None) == (plain is None)
    if quick is not None:
        assert quick == pytest.approx(plain, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(1060, 1080))
@pytest.mark.parametrize("method", sorted(PLAIN))
def test_each_shortcut_alone_changes_nothing(seed: int, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = random_case(seed)
    candidates = find_candidates(case)
    quick = solve_case(case, candidates, gap=0.0, time_limit_s=120).cost_usd_per_day
    monkeypatch.setattr(*PLAIN[method], lambda *_: False)
    other = solve_case(case, candidates, gap=0.0, time_limit_s=120).cost_usd_per_day
    assert (quick is None) == (other is None)
    if quick is not None:
        assert quick == pytest.approx(other, rel=1e-6, abs=1e-6)


CASES = {
    "general": random_case,
    "waiting": lambda seed: random_dagger_case(seed, ["deferrable", "quota", "lost_frac"]),
    "given out anew": lambda seed: random_dagger_case(seed, ["zone", "shortage"]),
    "auto": random_auto_case,
}
#: Are pools priced first, and the size of an hour that is still solved exactly: all three ways through apart.py.
WAYS = {"hours": (False, 10**9), "columns": (True, 0), "columns, then hours": (True, 10**9)}


@pytest.mark.parametrize("kind", sorted(CASES))
@pytest.mark.parametrize("way", sorted(WAYS))
@pytest.mark.parametrize("seed", range(1100, 1112))
def test_programs_taken_apart_prove_the_same(seed: int, way: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cost never below the optimum, bound never above it, whichever way the program is taken apart; plans pass the audit."""
    case = CASES[kind](seed)
    candidates = find_candidates(case)
    optimum = solve_case(case, candidates, gap=0.0, time_limit_s=120).cost_usd_per_day
    monkeypatch.setattr(apart, "_MANY_INTEGERS", 0)
    monkeypatch.setattr(apart, "_FEW_HOURS", 2)
    monkeypatch.setattr(apart, "_AT_ONCE_SHARE", 0.0)
    monkeypatch.setattr(apart, "_LOOK_SHARE", 0.0)
    if not WAYS[way][0]:
        monkeypatch.setattr(apart, "solve_by_columns", lambda *_, **__: None)
    monkeypatch.setattr(apart, "_LARGE_HOUR", WAYS[way][1])
    found = solve_case(case, candidates, gap=1e-3, time_limit_s=10)
    if optimum is None:
        assert found.cost_usd_per_day is None
        return
    if found.decision is not None and found.cost_usd_per_day is not None:
        assert found.cost_usd_per_day >= optimum * (1 - 1e-6) - 1e-6
        audit = audit_decision(
            case, candidates, found.decision, found.cost_usd_per_day, claimed_bound=found.bound_usd_per_day
        )
        assert audit.violations == ()
    if found.bound_usd_per_day is not None:
        assert found.bound_usd_per_day <= optimum * (1 + 1e-6) + 1e-6
    if found.status == "optimal" and found.cost_usd_per_day is not None:
        assert found.cost_usd_per_day <= optimum * (1 + 1e-3) + 1e-6
