"""Constants, conversions and hedged rounding; the only place where factors of 1000, 3600 and 365 are written.

GB is 10^9 bytes, GiB is 2^30 bytes. Money is in the currency of the Policy (names say `usd`). A month is 365/12 days.
"""

from __future__ import annotations

import math

HOURS_PER_DAY = 24
SECONDS_PER_MINUTE = 60
SECONDS_PER_HOUR = 3600
SECONDS_PER_DAY = HOURS_PER_DAY * SECONDS_PER_HOUR
DAYS_PER_MONTH = 365 / 12
DAYS_PER_WEEK = 7
TOKENS_PER_MTOK = 1_000_000
BYTES_PER_GB = 1_000_000_000
BYTES_PER_GIB = 2**30
MS_PER_S = 1000
W_PER_KW = 1000

#: Relative hedge before every ceil and floor: 4.2 / 1.4 is 3.0000000000000004 in floating point and means 3.
ROUNDING_HEDGE = 1e-9


def ceil_hedged(value: float) -> int:
    """Smallest whole number not below `value`, forgiving a relative error of 1e-9.

    >>> ceil_hedged(4.2 / 1.4), ceil_hedged(5.33), ceil_hedged(0.0)
    (3, 6, 0)
    """
    return math.ceil(value - ROUNDING_HEDGE * max(1.0, abs(value)))


def floor_hedged(value: float) -> int:
    """Largest whole number not above `value`, forgiving a relative error of 1e-9.

    >>> floor_hedged(0.29 * 100), floor_hedged(2.5)
    (29, 2)
    """
    return math.floor(value + ROUNDING_HEDGE * max(1.0, abs(value)))


def mtok_per_hour(tps: float) -> float:
    """Millions of tokens in one hour at `tps` tokens per second.

    >>> round(mtok_per_hour(12_800), 6)
    46.08
    """
    return tps * SECONDS_PER_HOUR / TOKENS_PER_MTOK


def usd_per_h_of_tps(usd_per_mtok: float) -> float:
    """Cost in $/h of one token per second at a price in $/M tokens.

    >>> usd_per_h_of_tps(1.0)
    0.0036
    """
    return usd_per_mtok * SECONDS_PER_HOUR / TOKENS_PER_MTOK


def upfront_usd_per_day(upfront_usd: float, term_months: float) -> float:
    """An upfront payment spread evenly over its term, in $/day (a month is 365/12 days).

    >>> round(upfront_usd_per_day(3650, 12), 9)
    10.0
    """
    return upfront_usd / (term_months * DAYS_PER_MONTH)
