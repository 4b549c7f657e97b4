"""Words as people write them in cells, brought to one form: what a header says, and which role a column plays."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from optimizer.workbook.book import CellValue

_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_KEEP = "\n\r\t"
#: No header, hour or number is longer; a cell may hold 32,767 characters.
TEXT_MAX = 1000

HOUR_WORDS = re.compile(
    r"\b(hours?|hrs?|times?|timestamps?|datetime|date|clock|period|interval|stunde|uhrzeit|zeit|zeitpunkt|datum|heure|hora|"
    r"fecha|ora|uur|tijd|timme|time\s?slot|utc|local time|he|from|start|begin(?:ning)?|hour of day|t)\b|ts$"
)
#: Words that make a column with an hour word something else: `hourly output`, `hours of use`.
_NOT_HOUR = re.compile(r"\b(tok(?:en)?s?|tps|requests?|usd|eur|price|cost|per|rate|gpu|kw)\b|/")
OUTPUT_WORDS = re.compile(r"\b(output|out|generated|generation|completion|completions|decode|decoded|response)\b")
INPUT_WORDS = re.compile(r"\b(input|prompt|prompts|prefill|context)\b|^in\b|\bin$")
DEMAND_WORDS = re.compile(
    r"\b(demand|forecast|load|traffic|volume|throughput|tokens?|toks?|tps|requests?|usage|output|nachfrage|bedarf|demande|demanda|"
    r"last|consumption|profile)\b"
)
CACHED_WORDS = re.compile(r"\b(cached|cache|cache hit|prefix hit|prefix_hit|hit rate|cache share)\b")
TOTAL_WORDS = re.compile(
    r"^(grand\s+)?(total|totals|sum|summe|gesamt|somme|suma|totale|subtotal|sub-total|all|insgesamt|day total|daily total)\b"
)
MEAN_WORDS = re.compile(r"^(average|avg|mean|mittel|mittelwert|durchschnitt|moyenne|media|promedio)\b")
PEAK_WORDS = re.compile(r"^(peak|max|maximum|maximal|spitze|highest|pic|pico)\b")
LOW_WORDS = re.compile(r"^(min|minimum|trough|low|lowest|valley)\b")
OTHER_FOOTERS = re.compile(
    r"^(note|notes|source|check|load factor|peak to mean|peak-to-mean|peak/mean|p\d\d|"
    r"median|std|stdev|count|comment|growth|yoy|end|prepared|unit)\b"
)


def has_control_characters(text: str) -> bool:
    """True where the text holds characters that no sheet shows (line breaks and tabs are fine), raw or as `_x000B_`."""
    unescaped = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    return any(unicodedata.category(ch) == "Cc" and ch not in _KEEP for ch in unescaped)


def clean(text: str) -> str:
    """Compatibility forms unified, invisible and control characters dropped, every run of blanks one space, none at the ends.

    >>> clean("Output\\ntok/s\\u00a0 "), clean("\\uff11\\uff12"), clean("Peak_x000D_\\u200f")
    ('Output tok/s', '12', 'Peak')
    """
    text = text[:TEXT_MAX]
    if text.isascii() and text.isprintable() and "_x" not in text:
        return " ".join(text.split())
    text = unicodedata.normalize("NFKC", _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text))
    kept = [
        " " if ch in _KEEP or ch.isspace() else ch for ch in text if ch in _KEEP or unicodedata.category(ch) not in ("Cc", "Cf")
    ]
    digits = [str(unicodedata.decimal(ch)) if unicodedata.category(ch) == "Nd" else ch for ch in kept]
    return " ".join("".join(digits).split())


@lru_cache(maxsize=50_000)
def words(text: str) -> str:
    """`clean` without case and with underscores as spaces: the form in which headers are compared.

    >>> words(" Output_TPS ")
    'output tps'
    """
    return " ".join(clean(text).replace("_", " ").casefold().split())


def text_of(value: CellValue) -> str:
    """The words of a text cell; "" for anything else."""
    return words(value) if isinstance(value, str) else ""


def is_hour_header(text: str) -> bool:
    """True for headers such as `Hour`, `Local time`, `Hour ending`, `Timestamp (UTC)`.

    >>> is_hour_header("local time"), is_hour_header("output tok/h"), is_hour_header("pool")
    (True, False, False)
    """
    return bool(text) and len(text) <= 60 and bool(HOUR_WORDS.search(text)) and not _NOT_HOUR.search(text)


def is_footer(text: str) -> bool:
    """True for the label of a row that is not an hour: totals, averages, peaks, notes."""
    return bool(
        TOTAL_WORDS.match(text)
        or MEAN_WORDS.match(text)
        or PEAK_WORDS.match(text)
        or LOW_WORDS.match(text)
        or OTHER_FOOTERS.match(text)
    )
