"""Runs the suite with pytest; leaves out what needs LibreOffice or CBC, in one printed line each, where that is missing.

Extra arguments go to pytest. With `--require-libreoffice` a missing LibreOffice is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pulp


def main(arguments: list[str]) -> int:
    """Exit code of pytest."""
    required = "--require-libreoffice" in arguments
    arguments = [argument for argument in arguments if argument != "--require-libreoffice"]
    soffice = shutil.which("soffice") or shutil.which("libreoffice")
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(os.cpu_count() or 1), "--dist", "worksteal", *arguments]
    left_out = []
    if soffice is None:
        if required:
            sys.stdout.write("LibreOffice is missing: the recalculation tests cannot run\n")
            return 1
        sys.stdout.write("LibreOffice is missing: the recalculation tests (mark libreoffice) are left out\n")
        left_out.append("not libreoffice")
    if not any("CBC" in name for name in pulp.listSolvers(onlyAvailable=True)):
        sys.stdout.write("CBC is missing: the tests that solve with it (mark cbc) are left out\n")
        left_out.append("not cbc")
    if left_out:
        command += ["-m", " and ".join(left_out)]
    sys.stdout.flush()
    return subprocess.run(command, check=False, cwd=Path(__file__).resolve().parent.parent).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
