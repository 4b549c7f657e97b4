"""Computes the formulas of a workbook in LibreOffice, on a private copy, without ever touching the user's file."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from optimizer.workbook.guards import refuse

TIMEOUT_S = 120.0

#: Recalculate always (0): by default LibreOffice trusts the values cached in the file.
_SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="ODFRecalcMode" oor:op="fuse"><value>0</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting">
<prop oor:name="MacroSecurityLevel" oor:op="fuse"><value>3</value></prop></item>
<item oor:path="/org.openoffice.Office.Calc/Content/Update"><prop oor:name="Link" oor:op="fuse"><value>1</value></prop></item>
</oor:items>
"""


def recalculate(data: bytes, suffix: str, shown: str) -> bytes:
    """The workbook with every formula computed anew, as xlsx bytes. suffix: of the file's real kind, e.g. `.xlsx`.

    Raises Refused: RECALC_MISSING where LibreOffice is not installed, RECALC_FAILED.
    """
    program = shutil.which("soffice") or shutil.which("libreoffice")
    if program is None:
        refuse(
            "RECALC_MISSING",
            "has formulas to compute, and LibreOffice (soffice) is not installed here.",
            "Install LibreOffice, or open the file in Excel, save it, and run again without --recalc.",
            shown,
        )
    with tempfile.TemporaryDirectory(prefix="fleetsheet-") as folder:
        root = Path(folder)
        profile = root / "profile"
        (profile / "user").mkdir(parents=True)
        (profile / "user" / "registrymodifications.xcu").write_text(_SETTINGS, encoding="utf-8")
        copy = root / f"forecast{suffix}"
        copy.write_bytes(data)
        out = root / "out"
        command = [
            program,
            f"-env:UserInstallation={profile.as_uri()}",
            "--headless",
            "--norestore",
            "--nolockcheck",
            "--convert-to",
            "xlsx",
            "--outdir",
            str(out),
            str(copy),
        ]
        try:
            subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False, stdin=subprocess.DEVNULL)
        except (subprocess.TimeoutExpired, OSError):
            refuse(
                "RECALC_FAILED",
                f"could not be computed by LibreOffice within {TIMEOUT_S:g} s.",
                "Open it in Excel, save it, and run again without --recalc.",
                shown,
            )
        result = out / "forecast.xlsx"
        if not result.exists():
            refuse(
                "RECALC_FAILED",
                "could not be computed by LibreOffice.",
                "Open it in Excel, save it, and run again without --recalc.",
                shown,
            )
        return result.read_bytes()
