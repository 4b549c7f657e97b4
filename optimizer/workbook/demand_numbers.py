"""Numbers as people type them: a column of cells is read as a whole, so that one cell decides for its neighbours and nothing is
guessed."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from optimizer.workbook.book import Cell
from optimizer.workbook.demand_words import clean

#: Language (and country where it matters) -> (decimal mark, thousands marks).
_POINT = (".", ",' ")
_COMMA = (",", ".' ")
_COMMA_LANGUAGES = frozenset(
    [
        "de",
        "fr",
        "es",
        "it",
        "pt",
        "nl",
        "sv",
        "da",
        "nb",
        "nn",
        "no",
        "fi",
        "pl",
        "cs",
        "sk",
        "sl",
        "hr",
        "hu",
        "ro",
        "bg",
        "ru",
        "uk",
        "tr",
        "el",
        "id",
        "vi",
        "sr",
        "lt",
        "lv",
        "et",
        "is",
    ]
)
_POINT_LANGUAGES = frozenset(["en", "ja", "zh", "ko", "th", "he", "hi", "ms"])
_POINT_COUNTRIES = frozenset(["ch", "li", "mx", "us", "gb"])

_MARKS = str.maketrans({"\u2019": "'", "\u00b4": "'", "`": "'", "\u2212": "-", "\u2013": "-", "\u066b": "\u066b"})


class UnknownLocale(ValueError):
    """The locale asked for is not one whose numbers are known."""


def locale_marks(locale: str) -> tuple[str, str]:
    """(decimal mark, thousands marks) of a locale such as en-US, de-DE, de-CH. Raises UnknownLocale.

    >>> locale_marks("en-US")[0], locale_marks("de_DE")[0], locale_marks("de-CH")[0]
    ('.', ',', '.')
    """
    language, _, country = locale.strip().replace("_", "-").casefold().partition(".")[0].partition("-")
    if country in _POINT_COUNTRIES and language in _COMMA_LANGUAGES | _POINT_LANGUAGES:
        return _POINT
    if country == "za" or language in _COMMA_LANGUAGES:
        return _COMMA
    if language in _POINT_LANGUAGES:
        return _POINT
    raise UnknownLocale(locale)


@dataclass(frozen=True)
class NumberProblem:
    """Why a cell of the column is not a number. index: position in the column."""

    index: int
    code: str
    message: str
    fix: str


@dataclass(frozen=True)
class NumberColumn:
    """values: None where a cell could not be read. percent: how many of the cells were written in percent. texts: indexes of
    numbers that were text."""

    values: tuple[float | None, ...]
    problems: tuple[NumberProblem, ...]
    texts: tuple[int, ...]
    percent: int


def _parse(text: str, decimal: str, thousands: str) -> float | None:
    """The number under one convention; None where the text does not follow it. Thousands marks only before groups of three
    digits."""
    body, sign = text, 1.0
    if body.startswith("(") and body.endswith(")"):
        body, sign = body[1:-1].strip(), -1.0
    if body.endswith("-") and body[:1].isdigit():
        body, sign = body[:-1].strip(), -sign
    match = re.fullmatch(
        rf"([+-]?)\s?(\d+|[1-9]\d{{0,2}}(?:(?P<mark>[{re.escape(thousands)}])\d{{3}})(?:(?P=mark)\d{{3}})*)"
        rf"(?:{re.escape(decimal)}(\d*))?([eE][+-]?\d{{1,3}})?",
        body,
    )
    if match is None:
        return None
    whole = re.sub(r"\D", "", match[2])
    number = float(f"{whole}.{match[4] or '0'}{match[5] or ''}")
    if not math.isfinite(number):
        return None
    return sign * (-number if match[1] == "-" else number)


def read_numbers(cells: Sequence[Cell], locale: str | None = None) -> NumberColumn:
    """Read one column of cells. locale: settles text numbers that can be read in two ways. Raises UnknownLocale."""
    values: list[float | None] = [None] * len(cells)
    problems: list[NumberProblem] = []
    texts: dict[int, tuple[str, bool]] = {}
    percent = 0
    for index, cell in enumerate(cells):
        value = cell.value
        if cell.error:
            problems.append(
                NumberProblem(index, "CELL_ERROR", f"holds {cell.error}.", "Type the number or fix its formula, save, run again.")
            )
        elif value is None:
            problems.append(
                NumberProblem(
                    index,
                    "FORMULA_NO_VALUE",
                    f"holds the formula {_short(cell.formula)} without a computed value.",
                    "Open the file in Excel and save it, or run with --recalc libreoffice.",
                )
            )
        elif isinstance(value, bool):
            problems.append(NumberProblem(index, "NOT_A_NUMBER", f"holds {str(value).upper()}.", "Type the number."))
        elif isinstance(value, int | float):
            if math.isfinite(value):
                values[index] = float(value)
                percent += "%" in _visible_format(cell.number_format)
            else:
                problems.append(NumberProblem(index, "NOT_A_NUMBER", "holds a number without end.", "Type the number."))
        elif isinstance(value, str):
            text = clean(value).translate(_MARKS)
            is_percent = text.endswith("%")
            texts[index] = (text.rstrip("%").strip() if is_percent else text, is_percent)
            percent += is_percent
        else:
            problems.append(
                NumberProblem(
                    index, "NOT_A_NUMBER", f"holds a date or time ({value}).", "Format the cell as a number and type the number."
                )
            )
    blank = [index for index, (text, _) in texts.items() if not text]
    for index in blank:
        del texts[index]
        problems.append(
            NumberProblem(index, "MISSING_VALUE", "holds blanks only.", "Type the number; 0 where nothing is expected.")
        )
    _read_texts(texts, locale, values, problems)
    problems.sort(key=lambda problem: problem.index)
    return NumberColumn(
        tuple(values), tuple(problems), tuple(index for index in sorted(texts) if values[index] is not None), percent
    )


def _read_texts(
    texts: dict[int, tuple[str, bool]], locale: str | None, values: list[float | None], problems: list[NumberProblem]
) -> None:
    """Parse the text cells under the one convention that reads them all; the column decides, or --locale."""
    marks = [locale_marks(locale)] if locale else [_POINT, _COMMA]
    readings = {index: [_parse(text, *mark) for mark in marks] for index, (text, _) in texts.items()}
    for index, reading in readings.items():
        if all(number is None for number in reading):
            word = texts[index][0]
            hint = (
                "Type the number alone; the unit belongs in the header."
                if any(ch.isdigit() for ch in word)
                else "Type the number."
            )
            said = f" as {locale} writes numbers" if locale else ""
            problems.append(NumberProblem(index, "NOT_A_NUMBER", f"holds {_short(word)!r}, which is not a number{said}.", hint))
    good = {index: reading for index, reading in readings.items() if any(number is not None for number in reading)}
    usable = [choice for choice in range(len(marks)) if all(reading[choice] is not None for reading in good.values())]
    if not usable and good:
        first = next(index for index, reading in good.items() if reading[0] is None)
        other = next(index for index, reading in good.items() if reading[1] is None)
        problems.append(
            NumberProblem(
                max(first, other),
                "MIXED_NUMBERS",
                f"holds {texts[max(first, other)][0]!r} where another cell holds {texts[min(first, other)][0]!r}: "
                "decimal comma and decimal point in one column.",
                "Write the whole column in one way, or as plain numbers.",
            )
        )
        return
    for index, reading in good.items():
        numbers = {reading[choice] for choice in usable}
        if len(numbers) > 1:
            both = " or ".join(f"{number:,.15g}" for number in sorted(number for number in numbers if number is not None))
            problems.append(
                NumberProblem(
                    index,
                    "AMBIGUOUS_NUMBER",
                    f"holds the text {texts[index][0]!r}, which is {both}, and nothing in the column decides.",
                    "Say --locale en-US (decimal point) or --locale de-DE (decimal comma), or make the column numbers in Excel.",
                )
            )
            return
        number = reading[usable[0]]
        values[index] = number / 100 if number is not None and texts[index][1] else number


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _visible_format(number_format: str) -> str:
    """A number format without quoted and escaped characters, positive section only."""
    return re.sub(r'"[^"]*"|\\.|_.|\*.', "", number_format).split(";")[0]


def format_scale(number_format: str) -> float:
    """By how much the shown number is smaller than the stored one: 1000 for each comma after the last digit place.

    >>> format_scale("#,##0.0,"), format_scale("#,##0"), format_scale('0.0,,"M"')
    (1000.0, 1.0, 1000000.0)
    """
    match = re.search(r"[0#?](,+)(?=[^0#?,]*$)", _visible_format(number_format))
    return 1000.0 ** len(match[1]) if match else 1.0


def format_words(number_format: str) -> str:
    """What a number format writes beside the number: `0.0" k"` shows a k that is not in the file.

    >>> format_words('0.0" k tok/s"'), format_words("#,##0")
    ('k tok/s', '')
    """
    section = number_format.split(";")[0]
    parts = re.findall(r'"([^"]*)"|\\(.)', section)
    return " ".join("".join(quoted or escaped for quoted, escaped in parts).split())
