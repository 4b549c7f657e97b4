"""Windows of the day: `22-6;8-12` is from hour a to before hour b, over midnight where a > b; a trailing Z means UTC."""

from __future__ import annotations

import re

from optimizer.units import HOURS_PER_DAY

ALL_DAY: frozenset[int] = frozenset(range(HOURS_PER_DAY))

_WINDOW = re.compile(r"^(\d{1,2})(?::00)?\s*[-\u2013]\s*(\d{1,2})(?::00)?\s*(z)?$", re.IGNORECASE)


def parse_hours(text: str, utc_offset_h: float = 0.0) -> frozenset[int]:
    """Hours 0..23 (local time of the forecast) in which the window holds.

    A window with a trailing Z is in UTC and is shifted by `utc_offset_h` (local = UTC + offset); a Z at the end of the whole
    text holds for all its windows. Raises ValueError with a sentence where the text cannot be read, or where a UTC window
    would not fall on whole local hours.

    >>> sorted(parse_hours("22-2;8-10")), sorted(parse_hours("0-2Z", -8))
    ([0, 1, 8, 9, 22, 23], [16, 17])
    """
    parts = [part.strip() for part in text.split(";") if part.strip()]
    if not parts:
        raise ValueError("holds no hours; write a window such as 0-24 or 22-6;8-12")
    all_utc = parts[-1][-1:] in "zZ"
    hours: set[int] = set()
    for part in parts:
        match = _WINDOW.match(part)
        if match is None:
            raise ValueError(f"{part!r} is not a window of hours such as 8-20 or 22-6")
        start, end = int(match[1]), int(match[2])
        if start > HOURS_PER_DAY or end > HOURS_PER_DAY:
            raise ValueError(f"{part!r} names an hour past 24")
        if start % HOURS_PER_DAY == end % HOURS_PER_DAY and (start, end) != (0, HOURS_PER_DAY):
            raise ValueError(f"{part!r} is an empty window; write 0-24 for the whole day")
        length = (end - start) % HOURS_PER_DAY or HOURS_PER_DAY
        shift = 0
        if match[3] or all_utc:
            if utc_offset_h != int(utc_offset_h):
                raise ValueError(f"{part!r} is in UTC, and utc_offset_h {utc_offset_h:g} does not shift it to whole local hours")
            shift = int(utc_offset_h)
        hours.update((start + step + shift) % HOURS_PER_DAY for step in range(length))
    return frozenset(hours)


def format_hours(hours: frozenset[int]) -> str:
    """The shortest text that `parse_hours` reads back as `hours`.

    >>> format_hours(frozenset({22, 23, 0, 1, 8, 9})), format_hours(ALL_DAY)
    ('8-10;22-2', '0-24')
    """
    if hours == ALL_DAY:
        return f"0-{HOURS_PER_DAY}"
    starts = sorted(hour for hour in hours if (hour - 1) % HOURS_PER_DAY not in hours)
    windows = []
    for start in starts:
        end = start
        while end % HOURS_PER_DAY in hours:
            end += 1
        windows.append(f"{start}-{end if end <= HOURS_PER_DAY else end % HOURS_PER_DAY}")
    return ";".join(windows)
