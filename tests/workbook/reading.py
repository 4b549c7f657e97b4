"""Reads a forged forecast the way `check` does, for tests: the demand, or the problems that refused it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from optimizer.errors import Problem, Refused
from optimizer.workbook.demand import read_demand
from optimizer.workbook.demand_model import DemandRead
from optimizer.workbook.opening import open_book
from optimizer.workbook.reader_options import ReaderOptions
from tests.workbook.forge import PROFILE, Sheet, write_xlsx

TRUTH = tuple(float(value) for value in PROFILE)


def read(
    folder: Path,
    source: bytes | Sheet | Sequence[Sheet],
    *,
    name: str = "forecast.xlsx",
    workloads: Sequence[str] | None = None,
    day_types: Any = None,
    known_tokens: Any = None,
    **options: Any,
) -> DemandRead:
    """The demand of a file written into `folder`. Raises Refused."""
    data = source if isinstance(source, bytes) else write_xlsx(*([source] if isinstance(source, Sheet) else source))
    path = folder / name
    path.write_bytes(data)
    chosen = ReaderOptions(**options)
    return read_demand(open_book(path, chosen), chosen, workloads=workloads, day_types=day_types, tokens_per_request=known_tokens)


def refused(folder: Path, source: bytes | Sheet | Sequence[Sheet], **options: Any) -> tuple[Problem, ...]:
    """The errors that refuse the file; fails where it is accepted."""
    try:
        accepted = read(folder, source, **options)
    except Refused as failure:
        return failure.errors
    raise AssertionError(f"accepted: {accepted.reports[0].demand_tps}")


def values(demand: DemandRead, workload: str = "demand", day_type: str = "day") -> tuple[float, ...]:
    """The 24 numbers, rounded to parts of a millionth."""
    return tuple(round(value, 6) for value in demand.of(workload, day_type).output_tps)


def place(problem: Problem) -> tuple[str, str]:
    """(code, Sheet!Cell)."""
    return problem.code, f"{problem.sheet}!{problem.cell}" if problem.cell else problem.sheet or ""


def warned(demand: DemandRead) -> list[tuple[str, str]]:
    """(code, Sheet!Cell) of every warning."""
    return [place(warning) for warning in demand.warnings]
