"""What a header or a sheet that nobody knows was probably meant to be: a column in another unit, a table under another name."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable

from optimizer.workbook.book import Sheet
from optimizer.workbook.columns import Column, Table, header_key
from optimizer.workbook.values import clean_text

#: A header row stands under titles and notes, but not lower than this many filled rows.
_HEADER_ROWS_MAX = 15
#: Words of units that measure the same thing: a header that differs from a column in these alone is that column in another unit.
_UNITS = (
    "node gpu instance server host machine device card accelerator chip",
    "nodes gpus instances servers hosts machines devices cards accelerators chips",
    "gb gib mb mib tb tib kb kib byte bytes gigabyte gigabytes bits",
    "ms s sec secs second seconds us min mins minute minutes",
    "h hr hour hours day days week weeks month months mo quarter year years yr min",
    "mtok ktok tok btok mtokens ktokens tokens token request k m million thousand",
    "kw w mw watt watts",
    "kwh wh mwh",
    "frac share pct percent percentage ratio",
    "usd eur gbp cny jpy inr chf cents cent dollar dollars euro euros",
    "tps tpm tph rps qps rpm rph",
)
_FAMILIES = {
    word: {number for number, words in enumerate(_UNITS) if word in words.split()} for words in _UNITS for word in words.split()
}
_CURRENCIES = {"$": " usd ", "\u20ac": " eur ", "\u00a3": " gbp ", "%": " pct "}


def column_in_another_unit(table: Table, header: str) -> Column | None:
    """The column of a table that the header names in another unit; None where it does not.

    >>> from optimizer.workbook.schema import table_of
    >>> column_in_another_unit(table_of("Offers"), "used_usd_per_gpu_h").key
    'used_usd_per_node_h'
    """
    said = _words(header)
    for column in table.columns:
        for name in (column.key, column.label):
            known = _words(name)
            if len(said) == len(known) and said != known and all(map(_same_kind, said, known)):
                return column
    return None


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", text).casefold()
    for sign, word in _CURRENCIES.items():
        plain = plain.replace(sign, word)
    return re.findall(r"[a-z0-9]+", plain)


def _same_kind(left: str, right: str) -> bool:
    return left == right or bool(_FAMILIES.get(left, set()) & _FAMILIES.get(right, set()))


def table_meant(sheet: Sheet, absent: Iterable[Table]) -> Table | None:
    """The absent table that a sheet was probably meant to be: by its name, or by a header row with its required columns."""
    tables = list(absent)
    name = header_key(sheet.name)
    by_key = {header_key(table.sheet): table for table in tables}
    close = difflib.get_close_matches(name, list(by_key), n=1, cutoff=0.8)
    if close:
        return by_key[close[0]]
    rows = _header_rows(sheet)
    for table in tables:
        known = table.by_header()
        wanted = {column.key for column in table.required} or {column.key for column in table.columns}
        if table.sheet == "Policy":
            wanted = {"key", "value"}
        if len(wanted) > 1 and any(wanted <= {known[key].key for key in row if key in known} for row in rows):
            return table
    return None


def _header_rows(sheet: Sheet) -> list[set[str]]:
    rows: dict[int, set[str]] = {}
    for (row, _), cell in sheet.cells.items():
        if isinstance(cell.value, str):
            rows.setdefault(row, set()).add(header_key(clean_text(cell.value)))
    return [rows[row] for row in sorted(rows)[:_HEADER_ROWS_MAX]]
