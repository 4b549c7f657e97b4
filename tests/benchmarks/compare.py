"""Our program against the plain one, side by side: `python -m tests.benchmarks.compare [KIND] [--seeds 1-5] [--seconds S]
[--plain-seconds S]`.

Plain is the program as the interface states it (a count per option and hour, a row per loss, all hours at once), given to HiGHS.
Prints cost, bound and gap of both and the ratio of the gaps, per seed, median and worst. FILE.xlsx instead of KIND: that case.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from optimizer.candidates.enumerate import find_candidates
from optimizer.domain.case import Case
from optimizer.milp import explicit, solve
from optimizer.plan.plan import SolveOutcome
from optimizer.workbook.load import load_case
from tests.benchmarks.make import KINDS
from tests.helpers.refcase import case_from_tables


@contextmanager
def plain() -> Iterator[None]:
    """Every shortcut off."""
    kept = (
        solve.can_use_menus, explicit.add_levels, solve.drop_dominated_options, solve.drop_absorbed_days, solve.can_go_apart
    )
    solve.can_use_menus = lambda *_: False
    explicit.add_levels = lambda *_: False
    solve.drop_dominated_options = solve.drop_absorbed_days = lambda prep: prep
    solve.can_go_apart = lambda _: False
    try:
        yield
    finally:
        (
            solve.can_use_menus, explicit.add_levels, solve.drop_dominated_options, solve.drop_absorbed_days, solve.can_go_apart
        ) = kept


def run(case: Case, gap: float, seconds: float) -> tuple[SolveOutcome, float]:
    """Outcome and wall seconds."""
    started = time.perf_counter()
    outcome = solve.solve_case(case, find_candidates(case), gap=gap, time_limit_s=seconds, tie_break=False)
    return outcome, time.perf_counter() - started


def gap_of(outcome: SolveOutcome) -> float:
    """Relative gap; 1 where there is no plan."""
    if outcome.cost_usd_per_day is None or outcome.bound_usd_per_day is None:
        return 1.0
    return max(outcome.cost_usd_per_day - outcome.bound_usd_per_day, 0.0) / outcome.cost_usd_per_day


def line(label: str, outcome: SolveOutcome, seconds: float) -> str:
    """One result as a line."""
    cost, bound = outcome.cost_usd_per_day, outcome.bound_usd_per_day
    shown = "no plan" if cost is None else f"{cost:14,.2f}"
    return f"  {label:10} {shown} bound {bound or 0:14,.2f} gap {gap_of(outcome):8.3%} {seconds:7.1f} s {outcome.status}"


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", nargs="?", default="mixed")
    parser.add_argument("--seeds", default="1-5")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--plain-seconds", type=float, default=None, help="seconds for the plain program (as many)")
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--no-plain", action="store_true")
    chosen = parser.parse_args()
    first, _, last = chosen.seeds.partition("-")
    cases: dict[str, Case] = {}
    if chosen.case in KINDS:
        for seed in range(int(first), int(last or first) + 1):
            cases[f"{chosen.case} {seed}"] = case_from_tables(KINDS[chosen.case](seed))
    else:
        cases[Path(chosen.case).name] = load_case(chosen.case).case
    ours_gaps, ratios = [], []
    for name, case in cases.items():
        sys.stdout.write(f"{name}\n")
        ours, seconds = run(case, chosen.gap, chosen.seconds)
        sys.stdout.write(line("fleetsheet", ours, seconds) + "\n")
        memory_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        sys.stdout.write(f"  most memory so far {memory_gb:.2f} GB\n")
        ours_gaps.append(gap_of(ours))
        if not chosen.no_plain:
            with plain():
                other, other_seconds = run(case, chosen.gap, chosen.plain_seconds or chosen.seconds)
            sys.stdout.write(line("plain", other, other_seconds) + "\n")
            ratios.append(gap_of(other) / max(gap_of(ours), 1e-6))
            sys.stdout.write(f"  gap of plain / ours {ratios[-1]:,.1f}, seconds of plain / ours {other_seconds / seconds:,.2f}\n")
        sys.stdout.flush()
    sys.stdout.write(f"gap: median {statistics.median(ours_gaps):.3%}, worst {max(ours_gaps):.3%}\n")
    if ratios:
        sys.stdout.write(f"gap of plain / ours: median {statistics.median(ratios):,.1f}, worst {min(ratios):,.1f}\n")


if __name__ == "__main__":
    main()
