"""Opens CSV text as one sheet: byte order mark, delimiter from the header, quoted fields."""

from __future__ import annotations

import csv
import io

from optimizer.workbook.book import Cell, Sheet
from optimizer.workbook.guards import decode_text, refuse

DELIMITERS = (";", "\t", "|", ",")
CELLS_MAX = 600_000


def read_csv(data: bytes, name: str, shown: str) -> Sheet:
    """The text as a sheet of text cells. Raises Refused: CORRUPT_FILE where it holds no table, FILE_TOO_LARGE."""
    text = decode_text(data)
    lines = text.splitlines()
    first_row = 1
    delimiter = ""
    if lines and lines[0].strip().casefold().startswith("sep=") and len(lines[0].strip()) == 5:
        # Excel's own hint; the line counts as a row of the file, so that addresses stay true.
        delimiter = lines[0].strip()[4]
        first_row = 2
        text = text.split("\n", 1)[1] if "\n" in text else ""
    delimiter = delimiter or _delimiter(lines)
    cells: dict[tuple[int, int], Cell] = {}
    try:
        for row_index, row in enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)):
            for column_index, field in enumerate(row):
                if field.strip():
                    cells[first_row + row_index, column_index + 1] = Cell(field)
            if len(cells) > CELLS_MAX:
                refuse(
                    "FILE_TOO_LARGE",
                    f"holds more filled cells than the {CELLS_MAX:,} that are read.",
                    "Keep the demand columns and hourly rows only.",
                    shown,
                )
    except csv.Error as failure:
        refuse("CORRUPT_FILE", f"is not readable as CSV ({failure}).", "Save it again as CSV or as .xlsx.", shown)
    if not cells:
        refuse("CORRUPT_FILE", "holds no cells.", "Save or send it again.", shown)
    return Sheet(name=name, cells=cells)


def _delimiter(lines: list[str]) -> str:
    """The delimiter that splits most of the first lines alike; a comma in `12,8` must not beat the semicolons around it."""
    sample = [line for line in lines[:40] if line.strip()]
    best, best_score = ",", 0.0
    for delimiter in DELIMITERS:
        counts = [len(next(csv.reader([line], delimiter=delimiter), [])) - 1 for line in sample]
        split = [count for count in counts if count > 0]
        if not split:
            continue
        common = max(set(split), key=split.count)
        score = split.count(common) / len(sample)
        if score > best_score:
            best, best_score = delimiter, score
    return best
