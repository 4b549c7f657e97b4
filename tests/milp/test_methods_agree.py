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
