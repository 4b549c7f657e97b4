"""Multiples written beside demand and not in its unit: `All figures in thousands`, `Demand (k)`, a cell `Scale` with 1000."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from optimizer.workbook.demand_find import Table
from optimizer.workbook.demand_grid import Grid, grid_of
from optimizer.workbook.demand_units import MULTIPLE, find_unit, multiple_scale
from optimizer.workbook.demand_words import words

#: A note stands alone in its row, or beside one value; a row with more is a table of its own.
NOTE_CELLS_MAX = 2
NOTE_LENGTH_MAX = 200

_END = r"(?![a-z0-9])"
_WORD = rf"(?P<multiple>{MULTIPLE}){_END}"
_LETTER = r"(?P<letter>[kmb])"
#: In a header: in brackets, after `in`, or a word of its own; a single letter only in brackets, before `tokens`, or as a k
#: at the end.
_IN_HEADER = re.compile(
    rf"(?<![a-z0-9.-]){_WORD}|[(\[]\s*(?:in\s+)?{_LETTER}\s*[)\]]|(?<![a-z0-9.-])(?P<last>k)$"
    r"|(?<![a-z0-9.-])(?P<before>[kmb])\s?(?=(?:output\s|input\s)?(?:tok|requests?\b))"
)
_FIGURES = r"(?:figures?|numbers?|values?|amounts?|units?|data|tokens?|tok|demand|volumes?)"
_VERB = r"(?:are\s+|is\s+)?(?:shown\s+|given\s+)?"
_STATED = rf"(?:units? of\s+)?(?<![a-z0-9])(?:{_WORD}|{_LETTER}(?=\W*$|\s+tok))"
_SCALE_LABEL = r"(?:scale|scaling|scale factor|multiplier|multiple|factor|units?(?: of demand)?)"
_NOTES = (
    re.compile(rf"^\W*(?:all\s+)?(?:{_FIGURES}\s+)?{_VERB}in\s+{_STATED}"),
    re.compile(rf"\b{_FIGURES}\s+{_VERB}(?:in\s+|as\s+|x\s?|\*\s?)?{_STATED}"),
    re.compile(rf"^\W*{_SCALE_LABEL}\s*[:=]\s*(?:in\s+)?(?:{_WORD}|{_LETTER}\W*$)"),
    re.compile(rf"[(\[]\s*(?:in\s+)?(?:{_WORD}|{_LETTER})\s*[)\]]\s*$"),
)
_LABEL = re.compile(rf"{_SCALE_LABEL}\s*:?$")
_MONEY = re.compile(r"[$\u20ac\u00a3]|\b(?:usd|eur|gbp|dollars?|euros?|revenues?|costs?|prices?|spend|budget|capex|opex|sales)\b")


@dataclass(frozen=True)
class Multiple:
    """A multiple that a cell states. scale: 0 where the word is a multiple whose scale is not known."""

    at: str
    text: str
    scale: float


def multiple_in_header(text: str) -> tuple[str, float] | None:
    """The multiple that a header without a unit names, and its scale (0 = not known); None where it names none.

    >>> multiple_in_header("Demand (k)"), multiple_in_header("Demand in mil"), multiple_in_header("Plan B")
    (('k', 1000.0), ('mil', 0.0), None)
    """
    match = _IN_HEADER.search(words(text))
    if match is None:
        return None
    found = next(group for group in match.groups() if group)
    return found, multiple_scale(found)


def noted_multiples(table: Table) -> Iterator[Multiple]:
    """Multiples in notes above and below the table, in its columns of words, and beside labels such as `Scale`."""
    grid = table.grid if table.grid.transposed else grid_of(table.grid.sheet)
    last = table.rows[-1]
    wordy = {column.column for column in table.columns if column.role == "other"}
    for (row, column), cell in sorted(grid.cells.items()):
        if not isinstance(cell.value, str) or len(cell.value) > NOTE_LENGTH_MAX:
            continue
        if table.top <= row <= last:
            if column not in wordy or row < table.rows[0]:
                continue
        elif len(grid.rows[row]) > NOTE_CELLS_MAX:
            continue
        found = _beside(grid, row, column) or _in_note(cell.value)
        if found is not None:
            at = grid.at(row, column + 1 if _LABEL.match(words(cell.value)) else column)
            yield Multiple(at, *found)


def _beside(grid: Grid, row: int, column: int) -> tuple[str, float] | None:
    """The multiple right of a label such as `Scale` or `Unit`."""
    if not _LABEL.match(words(str(grid.value(row, column)))):
        return None
    value = grid.value(row, column + 1)
    if isinstance(value, str):
        if find_unit(value).unit is not None:
            return None
        match = re.match(rf"(?:in\s+)?(?:{_WORD}|{_LETTER}$)", words(value))
        found = (match["multiple"] or match["letter"]) if match else None
        return (value, multiple_scale(found)) if found else None
    if isinstance(value, int | float) and not isinstance(value, bool) and value in (1e3, 1e6, 1e9):
        return f"{value:,.0f}", float(value)
    return None


def _in_note(text: str) -> tuple[str, float] | None:
    plain = words(text)
    if _MONEY.search(plain):
        return None
    for pattern in _NOTES:
        match = pattern.search(plain)
        if match is not None:
            found = match["multiple"] or match["letter"]
            return text, multiple_scale(found)
    return None
