"""Number formats that show something else than what is stored: another currency, or a multiple that the number does not carry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from optimizer.errors import ProblemList
from optimizer.workbook.book import Cell, address
from optimizer.workbook.columns import Column
from optimizer.workbook.demand_numbers import format_scale, format_words
from optimizer.workbook.demand_words import words
from optimizer.workbook.tables import RawTable

_SIGNS = {"$": "USD", "\u20ac": "EUR", "\u00a3": "GBP", "\u00a5": "JPY", "\u20b9": "INR"}
_CODES = frozenset({"USD", "EUR", "GBP", "JPY", "CNY", "INR", "CHF", "CAD", "AUD", "SEK", "NOK", "DKK", "PLN"})
_MULTIPLE = re.compile(r"(?:k|m|b|mn|mm|bn|mio|mrd|tsd|thousands?|millions?|billions?)(?![a-z])")


def check_shown(tables: Iterable[RawTable], currency: str, problems: ProblemList) -> None:
    """CURRENCY_DIFFERS (warning) where a price is shown in another currency than the policy's; SCALED_FORMAT where a number is
    shown with a multiple that it does not carry, such as `0.0" k"`. One problem per column."""
    wanted = _currency_of(currency)
    for raw in tables:
        for column, at, cell in _numbers(raw):
            place = {"file": raw.file, "sheet": raw.table.sheet, "cell": at}
            beside = words(format_words(cell.number_format))
            if _MULTIPLE.match(beside) and format_scale(cell.number_format) == 1:
                stored = f"{column.key} is stored as {cell.value:,.10g}"
                message = f"{stored} and shown with {beside!r}, which the number does not carry."
                problems.error("SCALED_FORMAT", message, "Set the number format to General, and check the number.", **place)
                continue
            shown = _shown_currency(cell.number_format) if "$" in column.unit else ""
            if shown and shown != wanted:
                problems.warn("CURRENCY_DIFFERS", f"{column.key} is shown in {shown}, and counts as {currency}.",
                              f"Convert the prices to {currency}, or state currency in Policy.", **place)


def _numbers(raw: RawTable) -> Iterator[tuple[Column, str, Cell]]:
    """The first number of each column and number format."""
    seen = set()
    for row in raw.rows:
        for key, cell in row.cells.items():
            if not isinstance(cell.value, int | float) or isinstance(cell.value, bool) or not cell.number_format:
                continue
            if (key, cell.number_format) not in seen:
                seen.add((key, cell.number_format))
                yield raw.table.column(key), address(row.number, raw.columns[key]), cell


def _currency_of(text: str) -> str:
    return _SIGNS.get(text.strip(), text.strip().upper())


def _shown_currency(number_format: str) -> str:
    """The currency that a number format writes, by sign or code; "" where it writes none.

    >>> _shown_currency("[$\u20ac-407] #,##0.00"), _shown_currency('"EUR" 0.0'), _shown_currency("#,##0.00")
    ('EUR', 'EUR', '')
    """
    section = number_format.split(";")[0]
    bracket = re.search(r"\[\$([^\]-]*)", section)
    text = bracket[1] if bracket else re.sub(r"\[[^\]]*\]", "", section)
    for sign, code in _SIGNS.items():
        if sign in text:
            return code
    return next((word for word in re.findall(r"[A-Za-z]{3}", text) if word.upper() in _CODES), "").upper()
