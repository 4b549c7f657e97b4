"""The scalar inputs of the plan workbook: constants, tolerances and study points, each a named cell on the Inputs sheet.

No formula holds a literal other than 0 and 1; whatever else it needs has a name here.
"""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.domain.waiting import WAIT_IN_SERVICES
from optimizer.units import (
    BYTES_PER_GB,
    DAYS_PER_MONTH,
    DAYS_PER_WEEK,
    HOURS_PER_DAY,
    ROUNDING_HEDGE,
    SECONDS_PER_HOUR,
    TOKENS_PER_MTOK,
)

SECONDS_PER_MINUTE = 60
DAYS_PER_YEAR = 365
MONTHS_PER_YEAR = 12
QUARTERS_PER_YEAR = 4
TOLERANCE = 1e-6
#: Shares of peak demand at which the brief prices a fleet.
UTILISATIONS = {"utilisation_low": 0.2, "utilisation_mid": 0.4, "utilisation_high": 0.7}


@dataclass(frozen=True)
class Scalar:
    """A named cell. formula: set where it follows from others; free: may be changed by the reader."""

    name: str
    value: float | str
    unit: str
    note: str
    formula: str = ""
    free: bool = False


SCALARS: tuple[Scalar, ...] = (
    Scalar("hours_per_day", HOURS_PER_DAY, "h", "Hours of a day."),
    Scalar("seconds_per_hour", SECONDS_PER_HOUR, "s", "Seconds of an hour."),
    Scalar("seconds_per_minute", SECONDS_PER_MINUTE, "s", "Seconds of a minute, for request limits."),
    Scalar("tokens_per_mtok", TOKENS_PER_MTOK, "tokens", "Tokens of one M tokens."),
    Scalar("bytes_per_gb", BYTES_PER_GB, "bytes", "Bytes of one GB (a GiB has 2^30)."),
    Scalar("days_per_week", DAYS_PER_WEEK, "days", "For lead times."),
    Scalar("days_per_year", DAYS_PER_YEAR, "days", "For months, quarters and years."),
    Scalar("months_per_year", MONTHS_PER_YEAR, "months", "Months of a year."),
    Scalar("quarters_per_year", QUARTERS_PER_YEAR, "quarters", "Quarters of a year."),
    Scalar("days_per_month", DAYS_PER_MONTH, "days", "A month is 365/12 days.", formula="=days_per_year/months_per_year"),
    Scalar("tolerance", TOLERANCE, "share", "Differences up to this share count as rounding in every check.", free=True),
    Scalar(
        "rounding_hedge", ROUNDING_HEDGE, "share", "Taken off before rounding up: 4.2 / 1.4 is 3.0000000000000004 and means 3."
    ),
    Scalar("wait_in_services", WAIT_IN_SERVICES, "services", "With occupancy auto: what waits longer counts as waiting."),
    Scalar("utilisation_low", UTILISATIONS["utilisation_low"], "share of peak", "First utilisation priced on Sizing.", free=True),
    Scalar(
        "utilisation_mid", UTILISATIONS["utilisation_mid"], "share of peak", "Second utilisation priced on Sizing.", free=True
    ),
    Scalar(
        "utilisation_high", UTILISATIONS["utilisation_high"], "share of peak", "Third utilisation priced on Sizing.", free=True
    ),
    Scalar("not_applicable", "n/a", "text", "Shown where a ratio has no denominator."),
)

#: Points of the curve of $/M tokens against utilisation, shares of peak demand.
CURVE_POINTS: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
