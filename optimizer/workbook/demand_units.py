"""Units of demand as people write them: from the words of a header, a unit cell or --unit to a factor to tok/s. Never guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from optimizer.units import HOURS_PER_DAY, SECONDS_PER_HOUR, SECONDS_PER_MINUTE
from optimizer.workbook.demand_words import words

UnitKind = Literal["tokens", "requests", "share", "tokens_per_row"]

KNOWN_UNITS = (
    "tok/s, k tok/s, tok/min, tok/h, k tok/h, M tok/h, B tok/h, M tok/day, B tok/day, requests/s, requests/min, % of peak"
)


@dataclass(frozen=True)
class Unit:
    """factor: value x factor = tok/s (tokens), requests/s (requests), fraction (share) or tokens (tokens_per_row).

    scale: the k, M or B in it. label: how it is shown.
    """

    kind: UnitKind
    factor: float
    scale: float
    label: str


@dataclass(frozen=True)
class UnitFound:
    """What a text says about its unit. rest: the words without it. ratio: it is a rate per something else (tok/s per user).

    unclear: why the unit cannot be taken although there is one.
    """

    unit: Unit | None
    rest: str
    ratio: bool = False
    unclear: str = ""


_SCALES = {
    **dict.fromkeys(("k", "thousand", "thousands", "tsd", "'000", "000", "000s", "'000s", "x1000", "x1,000"), (1e3, "k ")),
    **dict.fromkeys(("m", "mm", "mn", "mio", "million", "millions", "mill"), (1e6, "M ")),
    **dict.fromkeys(("b", "bn", "billion", "billions", "g", "mrd"), (1e9, "B ")),
}
_PERIODS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds", "sek", "sekunde"), (1, "s")),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), (SECONDS_PER_MINUTE, "min")),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours", "stunde", "heure"), (SECONDS_PER_HOUR, "h")),
    **dict.fromkeys(("d", "day", "days", "tag", "jour"), (HOURS_PER_DAY * SECONDS_PER_HOUR, "day")),
}


def _alternatives(table: Mapping[str, tuple[float, str]]) -> str:
    return "|".join(re.escape(word) for word in sorted(table, key=len, reverse=True))


_SCALE = _alternatives(_SCALES)
_PERIOD = _alternatives(_PERIODS)
_BETWEEN = r"(?:output|generated|completion|input|prompt|decode|prefill)"
_TOKEN = r"(?:tokens?|toks?|tkns?|tks?)"
_REQUEST = r"(?:requests?|reqs?|queries|calls)"
_PER = r"\s*(?:/|\bper\b|\ba\b)\s*"
_END = r"(?![a-z0-9])"
_START = r"(?<![a-z0-9])"

#: `million output tokens per hour`, `k tok/s`, `tokens (M/h)`, `tok s-1`.
_RATE = re.compile(
    rf"(?<![a-z0-9,.])(?:(?P<scale>{_SCALE})[\s.]*)?(?:of\s+)?(?P<between>{_BETWEEN}\s+)?(?P<noun>{_TOKEN}|{_REQUEST})\s*"
    rf"(?:\s*(?:in\s+)?(?P<scale2>{_SCALE}))?(?P<open>[(\[]\s*)?(?:(?P<scale3>{_SCALE})\s*)?"
    rf"(?:{_PER}(?P<period>{_PERIOD})|[\s.·*]*(?P<inverse>s|min|h|d)\s?\^?\s?[-−]\s?1){_END}"
)
_SHORT = re.compile(rf"{_START}(?P<scale>k|m|b)?\s?(?P<short>tps|tpm|tph|tpd|qps|rps|rph){_END}")
_SHARE = re.compile(
    rf"(?:%|{_START}(?:percent|pct|share|fraction))\s*(?:of\s+(?:the\s+)?(?:daily\s+)?(?:peak|max(?:imum)?))?{_END}|%"
)
_ROW = re.compile(rf"{_START}(?:(?P<scale>{_SCALE})\s*)?{_TOKEN}{_PER}row{_END}")
_SHORTS = {
    "tps": ("tokens", "s"),
    "tpm": ("tokens", "min"),
    "tph": ("tokens", "h"),
    "tpd": ("tokens", "d"),
    "qps": ("requests", "s"),
    "rps": ("requests", "s"),
    "rph": ("requests", "h"),
}
_STRAY_SCALE = re.compile(rf"(?:[(\[]\s*(?:in\s+|x\s*)?|\bin\s+)(?P<scale>{_SCALE}){_END}\s*[)\]]?")
#: Words of multiples that are no part of a unit here: of other languages, or with two meanings (`mil` is 1000 in Spanish).
_OTHER_MULTIPLES = (
    "tens dozens? hundreds? hecto kilos? mega megs? giga tera thou thous thsd? ths thds tausend mille milliers? mil miles? "
    "mill[a-z]+ mlns? blns? bil mia milliards? mds? milli micro trillions? tn lakhs? lacs? crores? crs? ks"
)
#: Numbers that are multiples: 1000, 1,000, x1000, '000s, 1k, 10^3, 1e3, e3.
_MULTIPLE_NUMBER = (
    r"'?0{2,}s?|(?:[x*]\s?)?10{1,}(?:,0{3})*s?|(?:[x*]\s?)?1(?:[.,' ]0{3})+s?|10*[kmbgt]|10\^?[2-9]s?|10\*\*[2-9]|"
    r"(?:10?)?e[2-9]s?|1e1[0-9]"
)
#: Multiples of two letters or more, and numbers that are multiples.
MULTIPLE = "|".join([*(re.escape(word) for word in _SCALES if len(word) > 1), *_OTHER_MULTIPLES.split(), _MULTIPLE_NUMBER])
#: A multiple, or a single letter that may be one, left over beside the unit: `1000 tok/s`, `T tok/day`, `M output tok/h`.
_STRAY_WORD = re.compile(rf"(?<![a-z0-9.-])(?:{MULTIPLE}|[kmbgt])(?![a-z0-9])")
_RATIO = re.compile(r"^\s*[)\]]?\s*(?:/|per\b|each\b|x\b|\*)")


def find_unit(text: str) -> UnitFound:
    """The unit that a header or cell names, if any.

    >>> find_unit("Output (M tokens/h)").unit.label, find_unit("chat output tok/s").rest, find_unit("Demand").unit
    ('M tok/h', 'chat output', None)
    >>> find_unit("tok/s per k users").ratio, find_unit("tokens/h (millions)").unit.factor == 1e6 / 3600
    (True, True)
    """
    plain = words(text).replace("²", "2")
    found: list[Unit] = []
    rest = plain
    for pattern in (_RATE, _SHORT, _ROW):
        while match := pattern.search(rest):
            if _RATIO.match(rest[match.end() :]):
                return UnitFound(None, plain, ratio=True)
            between = match.groupdict().get("between") or ""
            unit = _unit_of(match)
            if unit is None:
                return UnitFound(None, plain, unclear=f"{text!r} names a multiple twice")
            if between and len(match["scale"] or "") == 1:
                return UnitFound(None, plain, unclear=f"the {match['scale'].upper()} in {text!r} may be a multiple or a name")
            found.append(unit)
            rest = f"{rest[: match.start()]} {between} {rest[match.end() :]}"
    if not found and (share := _SHARE.search(plain)):
        return UnitFound(
            Unit("share", 1.0, 1.0, "% of peak" if "%" in plain or "p" in share[0][:1] else "share of peak"),
            _tidy(plain[: share.start()] + " " + plain[share.end() :]),
        )
    if not found:
        return UnitFound(None, plain)
    if len({(unit.kind, unit.factor) for unit in found}) > 1:
        return UnitFound(None, _tidy(rest), unclear=f"{text!r} names two units")
    unit = found[0]
    if stray := _STRAY_SCALE.search(rest):
        if unit.scale != 1:
            return UnitFound(None, _tidy(rest), unclear=f"{text!r} names a multiple twice")
        scale, prefix = _SCALES[stray["scale"]]
        unit = Unit(unit.kind, unit.factor * scale, scale, prefix + unit.label)
        rest = rest[: stray.start()] + " " + rest[stray.end() :]
    if stray_word := _STRAY_WORD.search(rest):
        return UnitFound(None, _tidy(rest), unclear=f"{stray_word[0]!r} in {text!r} may be a multiple or a name")
    return UnitFound(unit, _tidy(rest))


def multiple_scale(text: str) -> float:
    """The scale of a multiple such as `k`, `thousands` or `x1,000`; 0 where it is one whose scale is not known here.

    >>> multiple_scale("thousands"), multiple_scale("x 1,000"), multiple_scale("mil")
    (1000.0, 1000.0, 0.0)
    """
    word = words(text).strip(" .")
    if word in _SCALES:
        return _SCALES[word][0]
    digits = re.sub(r"[x*\s,.']", "", word)
    return float(digits) if digits.isdigit() and float(digits) > 0 else 0.0


def parse_unit(text: str) -> Unit | None:
    """The unit of a cell or option that holds a unit and nothing else; None where it is not one.

    >>> parse_unit("tok/s").factor, parse_unit("k tok/min").kind, parse_unit("furlongs")
    (1.0, 'tokens', None)
    """
    found = find_unit(text)
    leftover = re.sub(r"\b(output|generated|demand|in|unit|units)\b|[:()\[\]]", " ", found.rest)
    return found.unit if not leftover.strip() else None


def _tidy(rest: str) -> str:
    """The words that remain, without empty brackets and hanging punctuation."""
    rest = re.sub(r"[(\[]\s*[)\]]|[(\[]\s*$|(?<![(\[\w])[)\]]", " ", rest)
    rest = re.sub(r"\(\s*,?\s*|\s*,?\s*\)", lambda match: match[0].strip(" ,"), rest)
    if rest.count("(") != rest.count(")"):
        rest = rest.replace("(", " ").replace(")", " ")
    return " ".join(rest.split()).strip(" ,;:-–—|/")


def _unit_of(match: re.Match[str]) -> Unit | None:
    groups = match.groupdict()
    scales = [groups[name] for name in ("scale", "scale2", "scale3") if groups.get(name)]
    if len(scales) > 1:
        return None
    scale, prefix = _SCALES[scales[0]] if scales else (1.0, "")
    if "short" in groups:
        kind, period_word = _SHORTS[groups["short"]]
    elif "noun" in groups:
        kind = "tokens" if groups["noun"].startswith("t") else "requests"
        period_word = groups["period"] or groups["inverse"]
    else:
        return Unit("tokens_per_row", scale, scale, f"{prefix}tok/row")
    seconds, period = _PERIODS[period_word]
    noun = "tok" if kind == "tokens" else "requests"
    return Unit("tokens" if kind == "tokens" else "requests", scale / seconds, scale, f"{prefix}{noun}/{period}")
