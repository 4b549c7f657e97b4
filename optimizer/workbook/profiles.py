"""From a longer series to 24 hours: whole days of hourly means, day types by a profile, and how peaky the series is."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from optimizer.units import DAYS_PER_WEEK, HOURS_PER_DAY, SECONDS_PER_HOUR, SECONDS_PER_MINUTE
from optimizer.workbook.demand_hours import Day
from optimizer.workbook.demand_model import ONLY_DAY_TYPE, ProfileStats

WEEKDAY, WEEKEND = "weekday", "weekend"
SATURDAY = 5
#: Hours that carry at least this share of the peak hour size the fleet; the burst factor is taken among them.
BUSY_FRAC = 0.5
#: Length of the bins into which single events are counted.
EVENT_BIN_S = 300.0


@dataclass(frozen=True)
class Bins:
    """One day of one series in bins of equal length: tok/s of each bin, 24 x bins per hour of them."""

    values: tuple[float, ...]

    @property
    def per_hour(self) -> int:
        """Bins in an hour."""
        return len(self.values) // HOURS_PER_DAY

    def hours(self, how: str = "mean") -> tuple[float, ...]:
        """24 values: the mean, or the highest bin, of each hour."""
        size = self.per_hour
        groups = [self.values[hour * size : (hour + 1) * size] for hour in range(HOURS_PER_DAY)]
        return tuple(max(group) if how == "max" else sum(group) / size for group in groups)


class UnknownProfile(ValueError):
    """The profile asked for is not one of weekday-weekend, percentile:N, peak-day, or the file's days do not allow it."""


def derive(
    days: Mapping[str, Mapping[Day, tuple[float, ...]]], profile: str
) -> dict[str, tuple[float, dict[str, tuple[float, ...]]]]:
    """Day type -> (days it stands for, {series: 24 values}). days: series -> day -> 24 hourly values; all series have the
    same days.

    weekday-weekend: the mean of each kind of day. percentile:N: in each hour the N-th percentile over the days (linear between
    ranks). peak-day: the day that holds the highest hour of all series together. Raises UnknownProfile with a sentence.
    """
    every = sorted(next(iter(days.values())), key=_order)
    count = float(len(every))
    if profile == "weekday-weekend":
        if not all(isinstance(day, datetime.date) for day in every):
            raise UnknownProfile("needs dates to tell weekdays from weekends, and the rows have none")
        groups = {
            WEEKDAY: [day for day in every if isinstance(day, datetime.date) and day.weekday() < SATURDAY],
            WEEKEND: [day for day in every if isinstance(day, datetime.date) and day.weekday() >= SATURDAY],
        }
        return {
            name: (float(len(group)), {series: _mean([values[day] for day in group]) for series, values in days.items()})
            for name, group in groups.items()
            if group
        }
    if match := re.fullmatch(r"percentile:(\d+(?:\.\d+)?)", profile):
        rank = float(match[1])
        if not 0 <= rank <= 100:
            raise UnknownProfile(f"asks for percentile {rank:g}, which is not between 0 and 100")
        return {
            ONLY_DAY_TYPE: (
                count,
                {
                    series: tuple(percentile([values[day][hour] for day in every], rank) for hour in range(HOURS_PER_DAY))
                    for series, values in days.items()
                },
            )
        }
    if profile == "peak-day":
        totals = {day: max(sum(values[day][hour] for values in days.values()) for hour in range(HOURS_PER_DAY)) for day in every}
        busiest = max(every, key=lambda day: totals[day])
        return {ONLY_DAY_TYPE: (count, {series: values[busiest] for series, values in days.items()})}
    raise UnknownProfile("is not weekday-weekend, percentile:N or peak-day")


def _order(day: Day) -> int:
    return day.toordinal() if isinstance(day, datetime.date) else day


def _mean(rows: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(sum(column) / len(rows) for column in zip(*rows, strict=True))


def percentile(values: Sequence[float], rank: float) -> float:
    """The rank-th percentile, linear between order statistics (0 = least, 100 = greatest).

    >>> percentile([1.0, 2.0, 3.0, 4.0], 50), percentile([5.0], 95)
    (2.5, 5.0)
    """
    ordered = sorted(values)
    position = (len(ordered) - 1) * rank / 100
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def statistics(days: Mapping[Day, Bins], step_s: float) -> ProfileStats:
    """Peak-to-mean of one series by day, week, hour and bin, and the burst factor inside busy hours. days: whole days, at least
    one."""
    every = sorted(days, key=_order)
    hours = {day: days[day].hours() for day in every}
    all_hours = [value for day in every for value in hours[day]]
    all_bins = [value for day in every for value in days[day].values]
    mean = sum(all_hours) / len(all_hours)
    peak_hour = max(all_hours)
    by_day = sorted(ratio for day in every if (ratio := _ratio(max(hours[day]), sum(hours[day]) / HOURS_PER_DAY)) is not None)
    weeks = [every[start : start + DAYS_PER_WEEK] for start in range(0, len(every) - DAYS_PER_WEEK + 1, DAYS_PER_WEEK)]
    by_week = [
        ratio
        for week in weeks
        if (
            ratio := _ratio(
                max(max(hours[day]) for day in week), sum(sum(hours[day]) for day in week) / (DAYS_PER_WEEK * HOURS_PER_DAY)
            )
        )
        is not None
    ]
    return ProfileStats(
        days=len(every),
        step_minutes=step_s / SECONDS_PER_MINUTE,
        peak_tps=max(all_bins),
        mean_tps=mean,
        by_day=by_day[-1] if by_day else None,
        by_day_median=percentile(by_day, 50) if by_day else None,
        by_week=max(by_week) if by_week else None,
        by_hour=_ratio(peak_hour, mean),
        by_bin=_ratio(max(all_bins), mean),
        burst_factor=_burst(days, peak_hour) if step_s < SECONDS_PER_HOUR else None,
    )


def _ratio(peak: float, mean: float) -> float | None:
    return peak / mean if mean > 0 else None


def _burst(days: Mapping[Day, Bins], peak_hour: float) -> float | None:
    """Highest bin over the mean of its hour, among busy hours."""
    ratios = [
        high / mean
        for bins in days.values()
        for high, mean in zip(bins.hours("max"), bins.hours(), strict=True)
        if mean > 0 and mean >= BUSY_FRAC * peak_hour
    ]
    return max(ratios) if ratios else None
