"""Lines of menus left out by their reduced cost: same optimum, and a bound that holds with all lines."""

from __future__ import annotations

import pytest

from optimizer.candidates.enumerate import find_candidates
from optimizer.milp import filtered
from optimizer.milp.solve import build, solve_case
from optimizer.milp.solver import Solved, solve
from tests.helpers.random_cases import random_case


@pytest.mark.parametrize("window", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("seed", range(3000, 3030))
def test_leaving_lines_out_changes_no_optimum(seed: int, window: float, monkeypatch: pytest.MonkeyPatch) -> None:
    case = random_case(seed)
    candidates = find_candidates(case)
    optimum = solve_case(case, candidates, gap=0.0, time_limit_s=60).cost_usd_per_day
    monkeypatch.setattr(filtered, "_MANY_LINES", 0)
    monkeypatch.setattr(filtered, "_WORTH_LEAVING", 0.0)
    monkeypatch.setattr(filtered, "_WINDOW_SHARE", window)
    outcome = solve_case(case, candidates, gap=0.0, time_limit_s=60)
    if optimum is None:
        assert outcome.status == "infeasible"
        return
    assert outcome.status == "optimal"
    assert outcome.cost_usd_per_day == pytest.approx(optimum, rel=1e-6, abs=1e-6)
    assert outcome.bound_usd_per_day == pytest.approx(optimum, rel=1e-6, abs=1e-6)


def test_lines_are_really_left_out_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run sees fewer lines than there are; afterwards every line may be chosen again."""
    seen: list[int] = []

    def counted(program: filtered.Program, **options: float) -> Solved:
        seen.append(sum(1 for key, variable in program.variables.items() if key[0] == "line" and variable.upBound > 0))
        return solve(program, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(filtered, "_MANY_LINES", 0)
    monkeypatch.setattr(filtered, "_WORTH_LEAVING", 0.0)
    monkeypatch.setattr(filtered, "_WINDOW_SHARE", 0.0)
    monkeypatch.setattr(filtered, "solve", counted)
    fewer = 0
    for seed in range(3000, 3020):
        case = random_case(seed)
        program = build(case, find_candidates(case))[0].program
        lines = [variable for key, variable in program.variables.items() if key[0] == "line"]
        seen.clear()
        filtered.solve_filtered(program, gap=0.0, time_limit_s=30)
        assert all(variable.upBound == 1 for variable in lines)
        fewer += bool(seen) and seen[0] < len(lines)
    assert fewer > 3


def test_a_result_for_some_lines_is_not_called_proven_beyond_what_is_known() -> None:
    found = Solved("optimal", 110.0, 110.0, 1.0)
    short = filtered._with_least(found, 100.0, 0.01)
    assert (short.status, short.bound) == ("gap_open", 100.0)
    enough = filtered._with_least(found, 109.5, 0.01)
    assert (enough.status, enough.bound) == ("optimal", 109.5)
    none = filtered._with_least(Solved("infeasible", None, None, 1.0), 100.0, 0.01)
    assert (none.status, none.bound) == ("no_plan", 100.0)
