"""Judges what the reader made of a forged file: accepted with the truth, refused, or a fault."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from optimizer.errors import Refused
from optimizer.workbook.demand import read_demand
from optimizer.workbook.opening import open_book
from optimizer.workbook.reader_options import ReaderOptions
from tests.workbook.forgeries import Forged


@dataclass(frozen=True)
class Verdict:
    """outcome: accepted, refused, or a fault (wrong, accepted_what_must_be_refused, refused_what_is_fine, no_fix, traceback)."""

    outcome: str
    words: tuple[str, ...]
    seconds: float

    @property
    def is_fault(self) -> bool:
        """True for what must never happen."""
        return self.outcome not in ("accepted", "refused")


def judge(forged: Forged, folder: Path) -> Verdict:
    """Read the file as `check` does and compare with the truth."""
    path = folder / forged.name
    path.write_bytes(forged.data)
    options = ReaderOptions(**forged.options)
    started = time.perf_counter()
    try:
        demand = read_demand(open_book(path, options), options, workloads=forged.workloads)
    except Refused as failure:
        seconds = time.perf_counter() - started
        words = tuple(problem.sentence() for problem in failure.errors)
        if any(not problem.fix or not problem.message for problem in failure.errors):
            return Verdict("no_fix", words, seconds)
        return Verdict("refused_what_is_fine" if forged.benign else "refused", words, seconds)
    except Exception:
        return Verdict("traceback", (traceback.format_exc(),), time.perf_counter() - started)
    seconds = time.perf_counter() - started
    words = tuple(problem.sentence() for problem in demand.warnings)
    if forged.truth is None:
        return Verdict("accepted_what_must_be_refused", words, seconds)
    found = {series.workload: series.output_tps for series in demand.series}
    right = found.keys() == forged.truth.keys() and all(
        abs(have - want) <= 1e-9 * max(1.0, abs(want))
        for name in found
        for have, want in zip(found[name], forged.truth[name], strict=True)
    )
    return Verdict("accepted" if right else "wrong", words, seconds)
