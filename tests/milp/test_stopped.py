"""Ctrl-C ends a search with its best plan, and the outcome says who ended it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]

_SCRIPT = """
import os, signal
from optimizer.candidates.enumerate import find_candidates
from optimizer.milp.solve import solve_case
from tests.studies.cases import several_pools

pressed = []

def watch(best, bound, seconds):
    if best is not None and not pressed:
        pressed.append(seconds)
        os.kill(os.getpid(), signal.SIGINT)

case = several_pools()
outcome = solve_case(case, find_candidates(case), gap=0.0, time_limit_s=100.0, watch=watch)
print(outcome.status, outcome.solver.stopped, outcome.cost_usd_per_day > outcome.bound_usd_per_day > 0, len(pressed))
"""


def test_ctrl_c_keeps_the_best_plan() -> None:
    done = subprocess.run([sys.executable, "-c", _SCRIPT], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["gap_open", "True", "True", "1"], done.stderr[-2000:]
