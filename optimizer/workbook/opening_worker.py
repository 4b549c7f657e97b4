"""Runs in a process of its own: reads a workbook with calamine and prints its filled cells as JSON.

A damaged or hostile file can make any parser ask for memory without end or never return; a process can be limited and ended.
Started as a script by `opening_calamine`, so it imports nothing of this package. Arguments: path of a private copy, most cells.
"""

from __future__ import annotations

import datetime
import json
import sys

MEMORY_BYTES_MAX = 1_500_000_000


def _limit_memory() -> None:
    """Cap the address space where the system can (not on Windows)."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))


def _encode(value: object) -> list[object]:
    """A value with its kind, as JSON can carry it."""
    if isinstance(value, bool):
        return ["b", value]
    if isinstance(value, int | float):
        return ["n", value if value == value and abs(value) != float("inf") else str(value)]
    if isinstance(value, datetime.datetime):
        return ["d", value.isoformat()]
    if isinstance(value, datetime.date):
        return ["d", datetime.datetime(value.year, value.month, value.day).isoformat()]
    if isinstance(value, datetime.time):
        return ["t", value.isoformat()]
    if isinstance(value, datetime.timedelta):
        return ["s", value.total_seconds()]
    return ["x", str(value)]


def _read(path: str, cells_max: int) -> dict[str, object]:
    import io
    from pathlib import Path

    import python_calamine as calamine

    workbook = calamine.load_workbook(io.BytesIO(Path(path).read_bytes()))
    sheets: list[dict[str, object]] = []
    count = 0
    for meta in workbook.sheets_metadata:
        if meta.typ != calamine.SheetTypeEnum.WorkSheet:
            continue
        sheet = workbook.get_sheet_by_name(meta.name)
        cells: list[list[object]] = []
        first_row, first_column = sheet.start or (0, 0)
        for row_index, row in enumerate(sheet.to_python(skip_empty_area=True)):
            for column_index, value in enumerate(row):
                if value == "" or value is None:
                    continue
                cells.append([first_row + row_index + 1, first_column + column_index + 1, *_encode(value)])
                count += 1
                if count > cells_max:
                    return {"too_many": True}
        merges = [[start[0] + 1, start[1] + 1, end[0] + 1, end[1] + 1] for start, end in sheet.merged_cell_ranges or []]
        sheets.append(
            {"name": meta.name, "visible": meta.visible == calamine.SheetVisibleEnum.Visible, "cells": cells, "merges": merges}
        )
    return {"sheets": sheets}


def main() -> int:
    """Print one JSON object: sheets, or why they could not be read."""
    _limit_memory()
    try:
        result = _read(sys.argv[1], int(sys.argv[2]))
    except MemoryError:
        result = {"too_many": True}
    except BaseException as failure:
        result = {"failure": type(failure).__name__, "words": str(failure)[:300]}
    sys.stdout.write(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
