"""Files of every shape with noise and damage: no traceback, and no accepted file whose numbers differ from the truth."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings

from tests.workbook.forgeries import Forged, everything
from tests.workbook.judging import judge

#: The long run is in tests/benchmarks/fuzz_demand.py.
FILES = 300


def test_no_accepted_file_differs_from_the_truth() -> None:
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:

        @settings(
            max_examples=FILES,
            derandomize=True,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        )
        @given(everything())
        def run(forged: Forged) -> None:
            verdict = judge(forged, Path(folder))
            outcomes[verdict.outcome] += 1
            assert not verdict.is_fault, (verdict.outcome, forged.story, forged.options, verdict.words)

        run()
    assert outcomes["accepted"] > FILES / 4
    assert outcomes["refused"] > FILES / 8
