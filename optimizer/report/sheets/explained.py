"""Tables that explain the plan: why each line is in the mix, what limits and headroom are worth, when others would join.

Sentences and re-solved figures are values: they are of the plan as solved and do not follow a change of prices.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from optimizer.report.figures import Figures
from optimizer.report.grid import Col, Grid
from optimizer.report.words import LP_NOTE
from optimizer.report.writer import PlanSheet
from optimizer.studies.entry import EntryPrice
from optimizer.studies.lp import LP_PRICE
from optimizer.studies.worth import Worth

ASK = "Plan again with --explain to see what one more unit of a limit is worth, what headroom costs, and when others would join."
_WHY_CHARS = 200


def write_why(sheet: PlanSheet, row: int, figures: Figures) -> int:
    """One sentence per purchase line; returns the last row written."""
    sheet.text(row, 0, "Why this mix, as solved", fmt=sheet.book.formats.heading())
    for line in figures.why:
        for words in textwrap.wrap(line.sentence, _WHY_CHARS, subsequent_indent="   "):
            row += 1
            sheet.text(row, 0, words, fmt=sheet.book.formats.plain())
    return row


def write_entries(sheet: PlanSheet, row: int, entries: Sequence[EntryPrice]) -> int:
    """Offers and GPU generations that are left out, and the price at which they would join; returns the last row written."""
    cols = (
        Col("name", "Left out", width=26), Col("kind", "Offer or GPU", width=12), Col("gpu", "GPU", width=12),
        Col("list", "List price", "$/node-h", "usd2", 12), Col("joins", "Joins at", "$/node-h", "usd2", 9),
        Col("share", "Of list", "share", "pct", 9), Col("found", "Found", width=8),
    )  # fmt: skip
    grid = Grid(sheet.name, row + 1, cols, len(entries))
    words = "When others would join: highest price at which a plan with them costs no more (values)"
    sheet.text(row, 0, words, fmt=sheet.book.formats.heading())
    sheet.header(grid)
    for place, entry in enumerate(entries):
        at = grid.first + place
        sheet.text(at, grid.col("name"), entry.name)
        sheet.text(at, grid.col("kind"), "GPU, all offers" if entry.kind == "gpu" else "offer")
        sheet.text(at, grid.col("gpu"), entry.gpu)
        sheet.number(at, grid.col("list"), entry.usd_per_node_h, "usd2")
        if entry.factor is not None and entry.entry_usd_per_node_h is not None:
            sheet.number(at, grid.col("joins"), entry.entry_usd_per_node_h, "usd2")
            sheet.number(at, grid.col("share"), entry.factor, "pct")
        sheet.text(at, grid.col("found"), entry.found)
    return _lp_note(sheet, grid.last, entries)


def _lp_note(sheet: PlanSheet, last: int, rows: Sequence[EntryPrice | Worth]) -> int:
    """What an LP price is, under a table that has one; returns the last row written."""
    if not any(row.found == LP_PRICE for row in rows):
        return last
    sheet.text(last + 1, 0, LP_NOTE, fmt=sheet.book.formats.note())
    return last + 1


def write_worth(sheet: PlanSheet, row: int, heading: str, rows: Sequence[Worth]) -> int:
    """What a change of each limit does to the cost; returns the last row written."""
    cols = (
        Col("words", "Change", width=26), Col("what", "Of", width=30), Col("limit", "Input", width=12),
        Col("usd", "Cost changes by", "$/day", "usd2", 12), Col("least", "At least", "$/day", "usd2", 12),
        Col("most", "At most", "$/day", "usd2", 12), Col("found", "How it was found", width=12),
    )  # fmt: skip
    grid = Grid(sheet.name, row + 1, cols, len(rows))
    sheet.text(row, 0, heading, fmt=sheet.book.formats.heading())
    sheet.header(grid)
    for place, item in enumerate(rows):
        at = grid.first + place
        for key, words in (("words", item.words), ("what", item.what), ("limit", item.limit), ("found", item.found)):
            sheet.text(at, grid.col(key), words)
        for key, value in (
            ("usd", item.usd_per_day), ("least", item.least_usd_per_day), ("most", item.most_usd_per_day),
        ):  # fmt: skip
            if value is not None:
                sheet.number(at, grid.col(key), value, "usd2")
    return _lp_note(sheet, grid.last, rows)
