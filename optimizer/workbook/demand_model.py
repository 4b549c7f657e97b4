"""What the forecast reader hands on: demand in tok/s per workload and day type, a report per workload, and derived day types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from optimizer.errors import Problem

#: The workload of a forecast that names none, and the day type of one that has no day types.
ONLY_WORKLOAD = "demand"
ONLY_DAY_TYPE = "day"


@dataclass(frozen=True)
class DemandSeries:
    """24 hourly means of one workload on one day type, in tok/s; input_tps is None where the forecast has no input."""

    workload: str
    day_type: str
    output_tps: tuple[float, ...]
    input_tps: tuple[float, ...] | None = None


@dataclass(frozen=True)
class DerivedDayType:
    """A day type made from dated rows by --profile, and how many days of the file it stands for."""

    day_type: str
    days: float


@dataclass(frozen=True)
class ProfileStats:
    """Peak-to-mean of a longer series, so that nobody assumes 2 where it is 3.2.

    days, step_minutes: how many whole days of which step were read. peak_tps, mean_tps: over all steps.
    by_day: highest hour of a day over that day's mean, on the worst day; by_day_median: on the median day. by_week: the same for
    whole weeks (7 days from the first), None under a week. by_bin: highest step of the file over the mean of the file;
    by_hour: highest hour over the mean of the file. burst_factor: highest step inside an hour over that hour's mean, among hours
    that carry at least half of the peak hour; None where the file has no steps under an hour.
    """

    days: int
    step_minutes: float
    peak_tps: float
    mean_tps: float
    by_day: float | None
    by_day_median: float | None
    by_week: float | None
    by_hour: float | None
    by_bin: float | None
    burst_factor: float | None


@dataclass(frozen=True)
class DemandReport:
    """What was read for one workload, in tok/s, for a person to compare with what they sent.

    unit: as found, e.g. `M tok/h`. demand_tps: day type -> 24 numbers. mean_tps: over the day types, weighted with their days
    where
    these are known. peak_to_mean: None where the mean is 0. peak_hour: (day type, hour) of the peak. place: range of the
    demand, e.g. `Demand!B2:B25`. cached_frac: share of input tokens served from cache, where the forecast says so.
    """

    workload: str
    unit: str
    demand_tps: Mapping[str, tuple[float, ...]]
    input_tps: Mapping[str, tuple[float, ...]]
    peak_tps: float
    mean_tps: float
    peak_to_mean: float | None
    peak_hour: tuple[str, int]
    place: str = ""
    cached_frac: float | None = None
    profile: ProfileStats | None = None


@dataclass(frozen=True)
class DemandRead:
    """Everything read from the demand of one file. day_types: those derived by --profile, None where none were derived."""

    series: tuple[DemandSeries, ...]
    reports: tuple[DemandReport, ...]
    day_types: tuple[DerivedDayType, ...] | None = None
    warnings: tuple[Problem, ...] = field(default=())

    def of(self, workload: str, day_type: str) -> DemandSeries:
        """The demand of one workload on one day type. Raises KeyError where there is none."""
        for row in self.series:
            if (row.workload, row.day_type) == (workload, day_type):
                return row
        raise KeyError((workload, day_type))
