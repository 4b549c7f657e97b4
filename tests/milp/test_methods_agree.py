"""Whatever way a pool is written, the optimum is the same: menus, loss levels, rows per loss, with and without dominance."""

from __future__ import annotations

import pytest

from optimizer.candidates.enumerate import find_candidates
from optimizer.milp import explicit, solve
from optimizer.milp.solve import solve_case
from tests.helpers.random_cases import random_case

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


@pytest.mark.parametrize("seed", range(1100, 1130))
def test_hours_solved_apart_prove_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cost never below the optimum, bound never above it, whichever way the hours are solved."""
    case = random_case(seed)
    candidates = find_candidates(case)
    optimum = solve_case(case, candidates, gap=0.0, time_limit_s=120).cost_usd_per_day
    monkeypatch.setattr(solve, "_MANY_INTEGERS", 0)
    monkeypatch.setattr(solve, "_FEW_HOURS", 2)
    monkeypatch.setattr(solve, "_AT_ONCE_SHARE", 0.0)
    apart = solve_case(case, candidates, gap=1e-3, time_limit_s=10)
    if optimum is None:
        assert apart.cost_usd_per_day is None
        return
    if apart.cost_usd_per_day is not None:
        assert apart.cost_usd_per_day >= optimum * (1 - 1e-6) - 1e-6
    assert apart.bound_usd_per_day is not None
    assert apart.bound_usd_per_day <= optimum * (1 + 1e-6) + 1e-6
    if apart.status == "optimal" and apart.cost_usd_per_day is not None:
        assert apart.cost_usd_per_day <= optimum * (1 + 1e-3) + 1e-6
