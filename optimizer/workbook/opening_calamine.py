"""Opens what openpyxl cannot (xls, xlsb, ods, strict or damaged packages, very large sheets) with calamine, in a process that
can be ended."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from optimizer.workbook.book import Cell, CellValue, Sheet
from optimizer.workbook.guards import refuse

CELLS_MAX = 600_000
TIMEOUT_S = 20.0


def read_with_calamine(data: bytes, shown: str) -> list[Sheet]:
    """The sheets of a workbook as calamine reads them: values, merges and sheet visibility; no formulas, formats or hidden rows.

    Raises Refused: CORRUPT_FILE, PASSWORD_PROTECTED, FILE_TOO_LARGE.
    """
    with tempfile.TemporaryDirectory(prefix="fleetsheet-") as folder:
        copy = Path(folder) / "workbook"
        copy.write_bytes(data)
        worker = str(Path(__file__).with_name("opening_worker.py"))
        try:
            # -P keeps this folder off the import path, where a module may bear the name of one that calamine needs.
            done = subprocess.run(
                [sys.executable, "-P", worker, str(copy), str(CELLS_MAX)],
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            refuse(
                "FILE_TOO_LARGE",
                f"could not be read within {TIMEOUT_S:g} s.",
                "Copy the demand as values into a new workbook and save that.",
                shown,
            )
    try:
        result = json.loads(done.stdout)
    except ValueError:
        if b"allocat" in done.stderr or b"memory" in done.stderr or done.returncode == -9:
            result = {"too_many": True}
        else:
            result = {"failure": "crash", "words": ""}
    if result.get("too_many"):
        refuse(
            "FILE_TOO_LARGE",
            f"holds more filled cells than the {CELLS_MAX:,} that are read.",
            "Keep the demand columns and hourly rows only, in a new workbook.",
            shown,
        )
    if "failure" in result:
        if "Password" in result["failure"] or "assword" in result["words"] or "ncrypted" in result["words"]:
            refuse(
                "PASSWORD_PROTECTED",
                "is protected with a password.",
                "Open it in Excel, remove the password under File > Info > Protect Workbook, and save.",
                shown,
            )
        refuse(
            "CORRUPT_FILE",
            "is damaged: no reader can make sense of it.",
            "Open it in Excel, let it repair the file, and save it as a new .xlsx.",
            shown,
        )
    return [_sheet(record) for record in result["sheets"]]


def _sheet(record: dict[str, Any]) -> Sheet:
    cells = {(row, column): Cell(_decode(kind, value)) for row, column, kind, value in record["cells"]}
    return Sheet(
        name=record["name"], cells=cells, visible=record["visible"], merges=tuple(tuple(merge) for merge in record["merges"])
    )


def _decode(kind: str, value: Any) -> CellValue:
    if kind == "d":
        return datetime.datetime.fromisoformat(value)
    if kind == "t":
        return datetime.time.fromisoformat(value)
    if kind == "s":
        return datetime.timedelta(seconds=value)
    result: CellValue = value
    return result
