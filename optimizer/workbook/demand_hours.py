"""Hours as people write them: numbers, times, datetimes, serials, text, ranges, hour-ending; a column is read as a whole."""

from __future__ import annotations

import datetime
import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from optimizer.units import HOURS_PER_DAY, SECONDS_PER_DAY, SECONDS_PER_HOUR, SECONDS_PER_MINUTE
from optimizer.workbook.book import Cell, CellValue
from optimizer.workbook.demand_words import words

Day = datetime.date | int

SERIAL_MIN, SERIAL_MAX = 20_000, 2_958_465
_EPOCH_1900 = datetime.date(1899, 12, 30)
_EPOCH_1904 = datetime.date(1904, 1, 1)
_UNIX_MIN, _UNIX_MAX = 1_000_000_000, 4_000_000_000
_MS = 1000

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar janvier enero",
            "feb february februar fevrier febrero",
            "mar march marz mrz mars marzo",
            "apr april avril abril",
            "may mai mayo",
            "jun june juni juin junio",
            "jul july juli juillet julio",
            "aug august aout agosto",
            "sep sept september septembre septiembre",
            "oct october okt oktober octobre octubre",
            "nov november novembre noviembre",
            "dec december dez dezember decembre diciembre",
        ),
        1,
    )
    for name in names.split()
}
_ZONE = r"(?P<zone>z|utc|gmt|(?:utc|gmt)?\s?[+-]\d{2}:?\d{2}|[ecmp][sd]t|ces?t|bst|jst|ist)"
_AM_PM = r"(?P<half>[ap])\.?\s?m?\.?"
_TIME = re.compile(
    rf"(?P<hour>\d{{1,2}})(?:\s?(?:[:.]|h(?=\d))\s?(?P<minute>\d{{2}})(?:[:.](?P<second>\d{{2}})(?:[.,]\d+)?)?)?\s?(?:{_AM_PM}(?![a-z]))?\s?"
    rf"(?:h|hrs?|hours?|uhr|o'clock)?\s?(?:\(?{_ZONE}\)?)?$"
)
_ISO_DATE = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:t|,?\s+|$)")
_DAY_FIRST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?:t|,?\s+|$)")
_NAMED_DATE = re.compile(r"(\d{1,2})\.?[\s-]([a-z]{3,10})\.?[\s,-]+(\d{4})(?:t|,?\s+|$)")
_US_NAMED_DATE = re.compile(r"([a-z]{3,10})\.?\s(\d{1,2}),?\s(\d{4})(?:t|,?\s+|$)")
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})(?:t?(\d{2})(\d{2}))?$")
_WEEKDAY = re.compile(r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+(?=.*\d)")
_RANGE = re.compile(r"(.+?)\s*(?:-|–|—|\bto\b|\bbis\b|\buntil\b)\s*(.+)$")
_ENDING_TEXT = re.compile(r"(?:he|h\.e\.|hour ending|ending)\s?(\d{1,2})(?::?00)?$")
_DECORATED = re.compile(r"(?:hb|hour|hr|h|t)\s?(\d{1,2})(?::00)?$")
HEADER_ENDING = re.compile(r"\b(ending|end|ends|he|until|bis)\b")
HEADER_BEGINNING = re.compile(r"\b(beginning|begin|begins|starting|start|starts|from|hb)\b")


@dataclass(frozen=True)
class Stamp:
    """A moment as written: day (a date, a number of days, or None), seconds in it (86,400 for 24:00), zone text, and what the
    form implies.

    days_either: the two dates that `03/04/2027` may be. ending: written as the end of its hour (HE 01). length_s: of a range such
    as 00:00-01:00, 0 otherwise.
    """

    second: float
    day: Day | None = None
    zone: str = ""
    days_either: tuple[datetime.date, datetime.date] | None = None
    ending: bool = False
    length_s: float = 0.0


@dataclass(frozen=True)
class HourColumn:
    """stamps: None where a cell is not an hour. serials: dates stored as plain numbers; shifted: number of rows read as hour-
    ending.

    unclear: hour-ending or hour-beginning cannot be told. both_ends: 0 and 24 appear in one column.
    """

    stamps: tuple[Stamp | None, ...]
    serials: bool = False
    hour_ending: bool = False
    unclear: bool = False
    both_ends: bool = False
    ambiguous_dates: bool = False


def looks_like_hour(cell: Cell) -> bool:
    """True where the cell alone may be an hour, a time or a date."""
    value = cell.value
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, int | float):
        return math.isfinite(value) and 0 <= value <= _UNIX_MAX * _MS
    if isinstance(value, str):
        return bool(value.strip()) and parse_text(value) is not None
    return True


def parse_text(text: str) -> Stamp | None:
    """One cell of text; None where it is not an hour.

    >>> parse_text("12 AM").second, parse_text("24:00").second, parse_text("13:00-14:00").length_s, parse_text("Total")
    (0, 86400, 3600.0, None)
    >>> parse_text("2026-12-01T05:00:00-08:00").zone
    '-08:00'
    """
    plain = words(text)
    if len(plain) > 60:
        return None
    plain = _WEEKDAY.sub("", plain, count=1) if not plain[:1].isdigit() else plain
    if plain in ("midnight", "noon", "midday"):
        return Stamp(0 if plain == "midnight" else SECONDS_PER_DAY // 2)
    if match := _ENDING_TEXT.match(plain):
        hour = int(match[1])
        return Stamp(hour * SECONDS_PER_HOUR, ending=True) if 1 <= hour <= HOURS_PER_DAY else None
    if match := _DECORATED.match(plain):
        hour = int(match[1])
        return Stamp(hour * SECONDS_PER_HOUR) if hour <= HOURS_PER_DAY else None
    dated = _parse_date(plain)
    if dated is not None:
        stamp, rest = dated
        if not rest:
            return stamp
        time = _parse_time(rest)
        if time is None:
            first, _, second = rest.partition(" - ")
            start, end = _parse_time(first), _parse_time(second)
            if start is None or end is None:
                return None
            return replace(
                stamp, second=start.second, zone=start.zone or end.zone, length_s=(end.second - start.second) % SECONDS_PER_DAY
            )
        return replace(stamp, second=time.second, zone=time.zone)
    if re.fullmatch(r"\d{4}", plain):
        hour, minute = int(plain[:2]), int(plain[2:])
        return (
            Stamp(hour * SECONDS_PER_HOUR + minute * SECONDS_PER_MINUTE) if hour * 60 + minute <= 1440 and minute < 60 else None
        )
    # Without a date `00:00-01:00` is a range, never a time with an offset.
    return _parse_range(plain) or _parse_time(plain)


def _parse_range(plain: str) -> Stamp | None:
    match = _RANGE.match(plain)
    if match is None:
        return None
    end = _parse_time(match[2])
    first = match[1]
    if end is not None and re.fullmatch(r"\d{1,2}(?::\d{2})?", first) and re.search(r"[ap]\.?\s?m", match[2]):
        # `11-12 am`: the half of the day stands once; the start is the hour before the end.
        start = Stamp((end.second - SECONDS_PER_HOUR) % SECONDS_PER_DAY)
        stated = _parse_time(first)
        if stated is None or (start.second - stated.second) % (SECONDS_PER_DAY // 2):
            return None
    else:
        parsed = _parse_time(first)
        if parsed is None:
            return None
        start = parsed
    if end is None:
        return None
    length = (end.second - start.second) % SECONDS_PER_DAY
    # `00:00-00:59` names its last minute.
    if length % SECONDS_PER_HOUR == SECONDS_PER_HOUR - SECONDS_PER_MINUTE:
        length += SECONDS_PER_MINUTE
    return Stamp(start.second, zone=start.zone or end.zone, length_s=float(length))


def _parse_time(text: str) -> Stamp | None:
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    hour, minute, second = int(match["hour"]), int(match["minute"] or 0), int(match["second"] or 0)
    if match["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match["half"] == "p" else 0)
    total = hour * SECONDS_PER_HOUR + minute * SECONDS_PER_MINUTE + second
    if minute > 59 or second > 59 or total > SECONDS_PER_DAY:
        return None
    return Stamp(total, zone=(match["zone"] or "").replace(" ", ""))


def _parse_date(plain: str) -> tuple[Stamp, str] | None:
    """A date at the start of the text, and what follows it."""
    if match := _ISO_DATE.match(plain):
        day = _date(int(match[1]), int(match[3]), int(match[4]))
        return (Stamp(0, day), plain[match.end() :].strip()) if day else None
    if match := _DAY_FIRST.match(plain):
        year = int(match[4]) + (2000 if len(match[4]) == 2 else 0)
        day_first, month_first = _date(year, int(match[3]), int(match[1])), _date(year, int(match[1]), int(match[3]))
        rest = plain[match.end() :].strip()
        if day_first and month_first and day_first != month_first and match[2] != ".":
            return Stamp(0, days_either=(day_first, month_first)), rest
        day = day_first if match[2] == "." else day_first or month_first
        if day is None:
            return None
        return Stamp(0, day, days_either=None), rest
    for pattern, order in ((_NAMED_DATE, (3, 2, 1)), (_US_NAMED_DATE, (3, 1, 2))):
        if match := pattern.match(plain):
            month = _MONTHS.get(match[order[1]])
            day = _date(int(match[order[0]]), month, int(match[order[2]])) if month else None
            return (Stamp(0, day), plain[match.end() :].strip()) if day else None
    if match := _COMPACT.match(plain):
        day = _date(int(match[1]), int(match[2]), int(match[3]))
        if day is None:
            return None
        second = int(match[4] or 0) * SECONDS_PER_HOUR + int(match[5] or 0) * SECONDS_PER_MINUTE
        return (Stamp(second, day), "") if second <= SECONDS_PER_DAY else None
    return None


def _date(year: int, month: int, day: int) -> datetime.date | None:
    try:
        return datetime.date(year, month, day) if 1990 <= year <= 2200 else None
    except ValueError:
        return None


def read_hours(cells: Sequence[Cell], header: str, *, locale: str | None = None, dates_1904: bool = False) -> HourColumn:
    """Read one column of hours. header: its header text, which may say `hour ending`. locale: settles 03/04/2027."""
    numeric = _numeric_reader([float(cell.value) for cell in cells if _is_number(cell.value)], dates_1904)
    stamps = [_stamp(cell.value, numeric, dates_1904) if not cell.error else None for cell in cells]
    serials = numeric is not None and any(
        _is_number(cell.value) and SERIAL_MIN <= float(cell.value) <= SERIAL_MAX for cell in cells
    )
    stamps, ambiguous = _settle_dates(stamps, locale)
    stamps = [_snap(stamp) if stamp is not None else None for stamp in stamps]
    read = [stamp for stamp in stamps if stamp is not None]
    has_24 = any(stamp.second == SECONDS_PER_DAY for stamp in read)
    has_0 = any(stamp.second == 0 for stamp in read)
    said = words(header)
    says_ending = bool(HEADER_ENDING.search(said)) and not HEADER_BEGINNING.search(said)
    says_beginning = bool(HEADER_BEGINNING.search(said))
    dated = any(stamp.day is not None for stamp in read)
    ending = says_ending or has_24 or (bool(read) and all(stamp.ending for stamp in read))
    both_ends = has_24 and has_0 and not dated and not any(stamp.length_s for stamp in read)
    unclear = not ending and not says_beginning and dated and _ends_at_midnight(read)
    if ending and not both_ends:
        step = _step(read)
        stamps = [_earlier(stamp, step, dated) if stamp is not None else None for stamp in stamps]
    return HourColumn(
        tuple(stamps), serials=serials, hour_ending=ending, unclear=unclear, both_ends=both_ends, ambiguous_dates=ambiguous
    )


def _is_number(value: CellValue) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _stamp(value: CellValue, numeric: Callable[[float], Stamp | None] | None, dates_1904: bool) -> Stamp | None:
    if _is_number(value):
        return numeric(float(value)) if numeric is not None else None
    if isinstance(value, str):
        return parse_text(value)
    if isinstance(value, datetime.timedelta):
        return _of_days(value.total_seconds() / SECONDS_PER_DAY)
    if isinstance(value, datetime.time):
        return Stamp(_seconds(value))
    if isinstance(value, datetime.datetime):
        # A time of day formatted as a date shows a day near the epoch.
        if value.year < 1905:
            epoch = _EPOCH_1904 if value.year == 1904 else _EPOCH_1900
            days = (value.date() - epoch).days
            if value.date() == datetime.date(1900, 1, 1) and not dates_1904:
                days = 1
            return Stamp(_seconds(value.time()) + days * SECONDS_PER_DAY) if 0 <= days <= 1 else None
        return Stamp(_seconds(value.time()), value.date())
    if isinstance(value, datetime.date):
        return _stamp(datetime.datetime(value.year, value.month, value.day), numeric, dates_1904)
    return None


def _seconds(time: datetime.time) -> float:
    return time.hour * SECONDS_PER_HOUR + time.minute * SECONDS_PER_MINUTE + time.second + time.microsecond / 1e6


def _of_days(days: float) -> Stamp:
    """A duration from midnight in days; up to and including 24:00 it is a time of day, beyond that it counts days."""
    seconds = _to_minute(days * SECONDS_PER_DAY)
    if seconds <= SECONDS_PER_DAY:
        return Stamp(seconds)
    return Stamp(seconds % SECONDS_PER_DAY, int(seconds // SECONDS_PER_DAY))


def _numeric_reader(numbers: list[float], dates_1904: bool) -> Callable[[float], Stamp | None] | None:
    """What the plain numbers of the column are: hours, day fractions, decimal hours, HHMM, an index, serials or Unix time."""
    if not numbers or min(numbers) < 0:
        return None
    low, high = min(numbers), max(numbers)
    whole = all(number == int(number) for number in numbers)
    if whole and high <= HOURS_PER_DAY:
        return lambda number: Stamp(int(number) * SECONDS_PER_HOUR)
    if not whole and high <= 1:
        return _of_days
    if not whole and high <= HOURS_PER_DAY:
        return lambda number: Stamp(number * SECONDS_PER_HOUR)
    if low >= SERIAL_MIN and high <= SERIAL_MAX:
        epoch = _EPOCH_1904 if dates_1904 else _EPOCH_1900
        return lambda number: _of_serial(number, epoch)
    if whole and high <= 2400 and all(number % 100 in (0, 15, 30, 45) for number in numbers):
        return lambda number: Stamp(number // 100 * SECONDS_PER_HOUR + number % 100 * SECONDS_PER_MINUTE)
    if whole and numbers == [low + step for step in range(len(numbers))] and low in (0, 1) and len(numbers) > HOURS_PER_DAY:
        return lambda number: Stamp((number - low) % HOURS_PER_DAY * SECONDS_PER_HOUR, int((number - low) // HOURS_PER_DAY))
    for scale in (1, _MS):
        if _UNIX_MIN * scale <= low and high <= _UNIX_MAX * scale:
            return lambda number, scale=scale: _of_unix(number / scale)  # type: ignore[misc]
    return None


def _of_serial(number: float, epoch: datetime.date) -> Stamp:
    seconds = _to_minute(number * SECONDS_PER_DAY)
    return Stamp(seconds % SECONDS_PER_DAY, epoch + datetime.timedelta(days=seconds // SECONDS_PER_DAY))


def _to_minute(seconds: float) -> int:
    """Whole seconds; a serial typed with four decimals is up to 5 s beside its minute."""
    minute = round(seconds / SECONDS_PER_MINUTE) * SECONDS_PER_MINUTE
    return minute if abs(seconds - minute) <= 5 else round(seconds)


def _of_unix(seconds: float) -> Stamp:
    moment = datetime.datetime.fromtimestamp(seconds, tz=datetime.UTC)
    return Stamp(_seconds(moment.time()), moment.date(), zone="utc")


def _settle_dates(stamps: list[Stamp | None], locale: str | None) -> tuple[list[Stamp | None], bool]:
    """Day first or month first, for the column as a whole: a date above 12 decides, else --locale, else days that follow one
    another."""
    either = [stamp for stamp in stamps if stamp is not None and stamp.days_either]
    if not either:
        return stamps, False
    choices = [0, 1]
    if locale:
        choices = [1] if locale.replace("_", "-").casefold() in ("en-us", "en-ph") else [0]
    else:
        fixed: set[Day] = {stamp.day for stamp in stamps if stamp is not None and stamp.day is not None}
        spans = [_compact_days(fixed | {stamp.days_either[choice] for stamp in either if stamp.days_either}) for choice in (0, 1)]
        if spans[0] != spans[1]:
            choices = [0 if spans[0] else 1]
        elif len({stamp.days_either for stamp in either}) == 1 and not fixed:
            # One day only: which day it is changes nothing in its hours.
            choices = [0]
    ambiguous = len(choices) > 1
    chosen = choices[0]
    return [
        replace(stamp, day=stamp.days_either[chosen], days_either=None) if stamp is not None and stamp.days_either else stamp
        for stamp in stamps
    ], ambiguous


def _compact_days(days: set[Day]) -> bool:
    dates = sorted(day for day in days if isinstance(day, datetime.date))
    return len(dates) > 1 and (dates[-1] - dates[0]).days == len(dates) - 1


def _snap(stamp: Stamp) -> Stamp:
    """Rounded to the second: day fractions accumulate parts of a microsecond, and short serials parts of a second."""
    second = round(stamp.second)
    minute = round(second / SECONDS_PER_MINUTE) * SECONDS_PER_MINUTE
    if 0 < abs(second - minute) <= 1:
        second = minute
    if second == SECONDS_PER_DAY and isinstance(stamp.day, datetime.date) and stamp.second < SECONDS_PER_DAY:
        return replace(stamp, second=0, day=stamp.day + datetime.timedelta(days=1))
    return replace(stamp, second=second)


def absolute(stamp: Stamp) -> float:
    """Seconds from an arbitrary origin, for ordering and steps."""
    day = stamp.day.toordinal() if isinstance(stamp.day, datetime.date) else stamp.day or 0
    return day * SECONDS_PER_DAY + stamp.second


def _step(stamps: Sequence[Stamp]) -> float:
    """The smallest distance between two moments of the column, at most an hour."""
    moments = sorted({absolute(stamp) for stamp in stamps})
    gaps = [later - earlier for earlier, later in itertools.pairwise(moments)]
    return min([*gaps, float(SECONDS_PER_HOUR)])


def _ends_at_midnight(stamps: Sequence[Stamp]) -> bool:
    """Dated rows that start one step after midnight and end at a midnight: whole days only when they name the ends of their
    hours."""
    moments = sorted(absolute(stamp) for stamp in stamps)
    step = _step(stamps)
    return (
        len(moments) >= HOURS_PER_DAY
        and moments[0] % SECONDS_PER_DAY == step
        and moments[-1] % SECONDS_PER_DAY == 0
        and len(moments) * step % SECONDS_PER_DAY == 0
    )


def _earlier(stamp: Stamp, step: float, dated: bool) -> Stamp:
    second = stamp.second - step
    if second >= 0:
        return replace(stamp, second=second)
    if dated and isinstance(stamp.day, datetime.date):
        return replace(stamp, second=second + SECONDS_PER_DAY, day=stamp.day - datetime.timedelta(days=1))
    if dated and isinstance(stamp.day, int):
        return replace(stamp, second=second + SECONDS_PER_DAY, day=stamp.day - 1)
    return replace(stamp, second=second + SECONDS_PER_DAY)


def clock(second: float) -> str:
    """`08:00` of seconds in the day.

    >>> clock(8 * 3600)
    '08:00'
    """
    minutes = int(second // SECONDS_PER_MINUTE)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def shown(stamp: Stamp) -> str:
    """The moment as a message shows it."""
    return f"{stamp.day} {clock(stamp.second)}" if stamp.day is not None else clock(stamp.second)
