"""Forced recalculation in LibreOffice: every formula computed anew by an independent program, cell by cell.

By default LibreOffice trusts the values cached in the file, which would prove nothing; the private profile here says otherwise
(OOXMLRecalcMode 0, always).
"""

from __future__ import annotations

import math
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import openpyxl

_SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
 <prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop>
</item>
</oor:items>
"""

#: Sheet name -> A1 address -> value shown.
Values = dict[str, dict[str, Any]]


def shown_values(path: Path) -> Values:
    """What every cell of a workbook shows: values as typed, formulas by their cached value."""
    book = openpyxl.load_workbook(path, data_only=True)
    return {
        sheet.title: {cell.coordinate: cell.value for row in sheet.iter_rows() for cell in row if cell.value is not None}
        for sheet in book.worksheets
    }


def recalculated(path: Path) -> Values:
    """What every cell shows after LibreOffice has computed every formula anew. The file itself is not touched."""
    program = shutil.which("soffice") or shutil.which("libreoffice")
    assert program is not None, "LibreOffice (soffice) is not installed"
    with tempfile.TemporaryDirectory(prefix="recalc-") as folder:
        root = Path(folder)
        profile = root / "profile"
        (profile / "user").mkdir(parents=True)
        (profile / "user" / "registrymodifications.xcu").write_text(_SETTINGS, encoding="utf-8")
        source = root / "in.xlsx"
        shutil.copyfile(path, source)
        out = root / "out"
        command = [
            program, f"-env:UserInstallation={profile.as_uri()}", "--headless", "--norestore", "--convert-to", "xlsx",
            "--outdir", str(out), str(source),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, timeout=300, check=False, stdin=subprocess.DEVNULL)
        result = out / "in.xlsx"
        assert result.exists(), done.stderr.decode("utf-8", "replace")
        return shown_values(result)


def differences(cached: Values, computed: Values, relative: float = 1e-9) -> list[str]:
    """Cells that do not agree; numbers within `relative` of their size (of 1 where they are smaller)."""
    found = []
    for sheet, cells in cached.items():
        for address, value in cells.items():
            other = computed[sheet].get(address)
            if not _same(value, other, relative):
                found.append(f"{sheet}!{address}: cached {value!r}, computed {other!r}")
    return found


def _same(value: Any, other: Any, relative: float) -> bool:
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other or (isinstance(other, (int, float)) and bool(other) == value)
    if isinstance(value, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(value, other, rel_tol=relative, abs_tol=relative)
    return bool(value == other) or (value == "" and other is None)


def edit_cells(path: Path, target: Path, edits: Mapping[tuple[str, str], float]) -> None:
    """A copy of the workbook with cells (sheet, address) set to numbers, for LibreOffice to compute; caches are lost."""
    book = openpyxl.load_workbook(path)
    for (sheet, address), number in edits.items():
        book[sheet][address] = number
    book.save(target)
