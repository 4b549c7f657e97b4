"""The long fuzz of the forecast reader, and its bounds on time and memory.

Run `python -m tests.benchmarks.fuzz_demand [files] [seed]`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.workbook.forge import PROFILE, demand_sheet, write_xlsx
from tests.workbook.forgeries import Forged, everything
from tests.workbook.formats import package
from tests.workbook.judging import judge

FILES = 5000
HANG_S = 5.0
MILLION_S, MILLION_MB = 5.0, 200.0
READ_S = 0.5


def fuzz(files: int, start: int) -> int:
    """Judge so many files; the number of faults and hangs."""
    outcomes: Counter[str] = Counter()
    slowest = 0.0
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder:

        @seed(start)
        @settings(
            max_examples=files, database=None, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
        )
        @given(everything())
        def run(forged: Forged) -> None:
            nonlocal slowest
            verdict = judge(forged, Path(folder))
            outcomes[verdict.outcome] += 1
            slowest = max(slowest, verdict.seconds)
            if verdict.is_fault or verdict.seconds > HANG_S:
                faults.append(f"{verdict.outcome} {verdict.seconds:.2f} s {forged.story} {forged.options} {verdict.words}")

        began = time.perf_counter()
        run()
    say(f"{sum(outcomes.values())} files in {time.perf_counter() - began:.0f} s: {dict(outcomes)}; slowest {slowest:.2f} s")
    for fault in faults[:20]:
        say(fault)
    return len(faults)


def million_rows() -> int:
    """A sheet of a million formatted rows: seconds and memory of reading it in a process of its own."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    rows = [
        '<row r="1"><c r="A1" t="inlineStr"><is><t>Hour</t></is></c>'
        '<c r="B1" t="inlineStr"><is><t>Output tok/s</t></is></c></row>'
    ]
    rows += [
        f'<row r="{hour + 2}"><c r="A{hour + 2}"><v>{hour}</v></c><c r="B{hour + 2}"><v>{value}</v></c></row>'
        for hour, value in enumerate(PROFILE)
    ]
    rows += [f'<row r="{row}" spans="1:2"><c r="A{row}" s="0"/><c r="B{row}" s="0"/></row>' for row in range(26, 1_048_577)]
    return timed(
        "a million formatted rows",
        package(f'<worksheet xmlns="{main}"><sheetData>{"".join(rows)}</sheetData></worksheet>'),
        MILLION_S,
    )


_SCRIPT = """
import resource, sys, time
from optimizer.workbook.demand import read_demand
from optimizer.workbook.demand_text import demand_lines
from optimizer.workbook.opening import open_book
from optimizer.workbook.opening_openpyxl import read_with_openpyxl
import openpyxl
began = time.perf_counter()
lines = demand_lines(read_demand(open_book(sys.argv[1])).reports)
seconds = time.perf_counter() - began
# The maximum that getrusage tells of a process counts its parent at the time of the fork; this one does not.
own = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
memory = max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
print(f"{seconds:.3f} {memory / 1024:.0f}", lines[0].split(",")[0])
"""


def timed(name: str, data: bytes, limit_s: float) -> int:
    """Read the file in a new process; 1 where it is over the limit of time or memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forecast.xlsx"
        path.write_bytes(data)
        began = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", _SCRIPT, str(path)], capture_output=True, text=True, check=True)
        whole = time.perf_counter() - began
    inside, memory = (float(word) for word in done.stdout.split()[:2])
    say(
        f"{name}: {whole:.2f} s as a process, {inside:.2f} s after imports (limit {limit_s:g}), "
        f"{memory:.0f} MB at most (limit {MILLION_MB:g})"
    )
    return int(inside > limit_s or memory > MILLION_MB)


def say(text: str) -> None:
    """One line of the report."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    """0 where nothing was at fault."""
    files = int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    start = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    bad = timed("a normal forecast", write_xlsx(demand_sheet()), READ_S) + million_rows() + fuzz(files, start)
    say("ok" if not bad else f"{bad} faults")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
