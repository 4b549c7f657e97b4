"""Day types made of the dated days of all series of a file together, with their input."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from optimizer.units import HOURS_PER_DAY
from optimizer.workbook.demand_hours import Day
from optimizer.workbook.demand_model import ONLY_DAY_TYPE, DerivedDayType, ProfileStats
from optimizer.workbook.profiles import SATURDAY, WEEKDAY, WEEKEND, Bins, derive

WEEKDAY_WEEKEND = "weekday-weekend"

Derived = dict[str, tuple[float, dict[str, tuple[float, ...]]]]


@dataclass(frozen=True)
class DayPlan:
    """The whole days of one series. how: mean or max of the bins in an hour. dated: the days are real ones."""

    outputs: dict[Day, Bins]
    inputs: dict[Day, Bins]
    how: str
    dated: bool
    stats: ProfileStats | None


@dataclass(frozen=True)
class Days:
    """24 hours of one series for each derived day type ("" where none was derived)."""

    output: Mapping[str, tuple[float, ...]]
    input: Mapping[str, tuple[float, ...]]
    stats: ProfileStats | None


@dataclass(frozen=True)
class Profile:
    """Days of each series, in order, and the day types with the days they stand for."""

    days: tuple[Days, ...]
    day_types: tuple[DerivedDayType, ...]


def profile_days(plans: Sequence[DayPlan], profile: str) -> Profile:
    """Derive day types from series that cover the same days. Raises UnknownProfile.

    A profile that gives the one day type `day` holds for all day types of the case, and is keyed "".
    """
    outputs = {str(index): {day: bins.hours(plan.how) for day, bins in plan.outputs.items()} for index, plan in enumerate(plans)}
    derived = derive(outputs, profile)
    inputs = _inputs(plans, outputs, derived, profile)
    keys = {name: "" if list(derived) == [ONLY_DAY_TYPE] else name for name in derived}
    days = tuple(
        Days(
            {keys[name]: derived[name][1][str(index)] for name in derived},
            {keys[name]: inputs[name][1][str(index)] for name in derived} if plan.inputs else {},
            plan.stats,
        )
        for index, plan in enumerate(plans)
    )
    return Profile(days, tuple(DerivedDayType(name, count) for name, (count, _) in derived.items()))


def _inputs(
    plans: Sequence[DayPlan], outputs: Mapping[str, Mapping[Day, tuple[float, ...]]], derived: Derived, profile: str
) -> Derived:
    """Input of the same days: on a peak day that day's, else the profile's output times the ratio of means in that hour."""
    result: dict[str, tuple[float, dict[str, tuple[float, ...]]]] = {}
    for name, (count, values) in derived.items():
        per_series: dict[str, tuple[float, ...]] = {}
        for index, plan in enumerate(plans):
            if not plan.inputs:
                continue
            key = str(index)
            given = {day: bins.hours(plan.how) for day, bins in plan.inputs.items()}
            ratios = []
            for hour in range(HOURS_PER_DAY):
                days = [day for day in given if _belongs(day, name)]
                if profile == "peak-day":
                    days = [day for day in days if outputs[key][day] == values[key]]
                made = sum(outputs[key][day][hour] for day in days)
                ratios.append(sum(given[day][hour] for day in days) / made if made > 0 else 0.0)
            per_series[key] = tuple(value * ratio for value, ratio in zip(values[key], ratios, strict=True))
        result[name] = (count, per_series)
    return result


def _belongs(day: Day, day_type: str) -> bool:
    """True where the day is one of those that the day type stands for."""
    if day_type not in (WEEKDAY, WEEKEND) or not isinstance(day, datetime.date):
        return True
    return (day.weekday() >= SATURDAY) == (day_type == WEEKEND)
