"""From moments with numbers to 24 hours in each day: completeness, repeats, steps under an hour, several days, and profiles."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from optimizer.errors import ProblemList
from optimizer.units import SECONDS_PER_DAY, SECONDS_PER_HOUR, SECONDS_PER_MINUTE
from optimizer.workbook.demand_hours import Day, Stamp, absolute, clock, shown
from optimizer.workbook.demand_model import DerivedDayType, ProfileStats
from optimizer.workbook.demand_profile import WEEKDAY_WEEKEND, DayPlan, Days, profile_days
from optimizer.workbook.profiles import EVENT_BIN_S, Bins, UnknownProfile, statistics
from optimizer.workbook.reader_options import ReaderOptions

STEP_MIN_S = 60
PROFILE_CHOICES = "--profile weekday-weekend, --profile percentile:95 or --profile peak-day"


@dataclass(frozen=True)
class Point:
    """One number at one moment. at: address of its hour cell. output, input: tok/s, or tokens where `counts`; None where the
    cell could not be read."""

    stamp: Stamp
    at: str
    output: float | None
    input: float | None


@dataclass(frozen=True)
class Series:
    """The rows of one workload and day type ("" = all day types), in file order. counts: tokens of a row, not rates."""

    workload: str
    day_type: str
    points: tuple[Point, ...]
    counts: bool = False


class DayMaker:
    """Makes days of all series of one file together, because a peak day is one day for all of them."""

    def __init__(self, file: str, sheet: str, options: ReaderOptions, problems: ProblemList) -> None:
        self.file, self.sheet, self.options, self.problems = file, sheet, options, problems
        self.day_types: tuple[DerivedDayType, ...] | None = None

    def _error(self, code: str, message: str, fix: str, at: str) -> None:
        self.problems.error(code, message, fix, file=self.file, sheet=self.sheet, cell=at)

    def _warn(self, code: str, message: str, fix: str, at: str | None) -> None:
        self.problems.warn(code, message, fix, file=self.file, sheet=self.sheet, cell=at)

    def make(self, series: Sequence[Series]) -> list[Days] | None:
        """Days of each series, in order; None with errors in `problems`."""
        plans = [self._read(one) for one in series]
        whole = [self._whole_file(one) if self.options.day else None for one in series]
        if any(plan is None for plan in plans):
            return None
        read = [plan for plan in plans if plan is not None]
        if self.options.profile and any(len(plan.outputs) > 1 or plan.dated for plan in read):
            return self._profile(series, read)
        if self.options.profile:
            self._warn("OPTION_UNUSED", "--profile was not needed: the file holds one day.", "", None)
        return [
            Days(
                {"": next(iter(plan.outputs.values())).hours(plan.how)},
                {"": next(iter(plan.inputs.values())).hours(plan.how)} if plan.inputs else {},
                stats or plan.stats,
            )
            for plan, stats in zip(read, whole, strict=True)
        ]

    def _profile(self, series: Sequence[Series], plans: list[DayPlan]) -> list[Days] | None:
        """Day types derived from the days that all series have."""
        profile = str(self.options.profile)
        at = series[0].points[0].at
        if any(one.day_type for one in series):
            self._error(
                "PROFILE_NOT_POSSIBLE", "the rows name day types and have dates.", "Say --day, or take one of the two out.", at
            )
            return None
        if any(set(plan.outputs) != set(plans[0].outputs) for plan in plans):
            self._error(
                "DAYS_DIFFER",
                "the workloads do not cover the same days.",
                "Give every workload rows for the same days, or choose one day with --day.",
                at,
            )
            return None
        try:
            made = profile_days(plans, profile)
        except UnknownProfile as failure:
            self._error("PROFILE_NOT_POSSIBLE", f"--profile {profile} {failure}.", f"Say {PROFILE_CHOICES}.", at)
            return None
        self.day_types = made.day_types
        for one, plan, days in zip(series, plans, made.days, strict=True):
            top = max(max(bins.hours(plan.how)) for bins in plan.outputs.values())
            shown_top = max(max(values) for values in days.output.values())
            if profile == WEEKDAY_WEEKEND and top > shown_top * (1 + 1e-9):
                self._warn(
                    "PROFILE_IS_MEAN",
                    f"the mean days of {one.workload!r} peak at {shown_top:,.6g} tok/s and its highest hour is {top:,.6g}.",
                    "Plan for busy days with --profile percentile:95 or --profile peak-day.",
                    one.points[0].at,
                )
        return list(made.days)

    def _read(self, series: Series) -> DayPlan | None:
        points = self._pick_day(series)
        if points is None:
            return None
        zones = {point.stamp.zone for point in points}
        if len(zones) > 1:
            odd = next(point for point in points if point.stamp.zone != points[0].stamp.zone)
            self._error(
                "MIXED_TIMEZONES",
                f"{shown(odd.stamp)} has time zone {odd.stamp.zone or 'none'}, and rows above have "
                f"{points[0].stamp.zone or 'none'}.",
                "Write all rows in the local time of the users, without offsets.",
                odd.at,
            )
            return None
        if zones != {""}:
            self._warn(
                "TIMEZONE_KEPT_LOCAL",
                f"the times carry a time zone ({next(iter(zones))}); their hours were kept as written.",
                "Write local hours if these are not.",
                points[0].at,
            )
        step = self._step(points, series.counts)
        if step is None:
            return None
        days = {point.stamp.day: point for point in reversed(points)}
        several = len(days) > 1 and not self.options.profile
        fine = step < SECONDS_PER_HOUR
        if fine and not (self.options.resample or self.options.profile or series.counts):
            first = points[0].stamp.second % SECONDS_PER_HOUR
            odd = next((point for point in points if point.stamp.second % SECONDS_PER_HOUR != first), points[0])
            more = f", together with --day {_example_day(days)}" if several else ""
            self._error(
                "NOT_HOURLY",
                f"the rows step by {step / SECONDS_PER_MINUTE:g} minutes; a plan takes one number for each hour.",
                f"Say --resample mean (the mean of each hour) or --resample max{more}.",
                odd.at,
            )
        if several:
            first_day = points[0].stamp.day
            odd = next(point for point in points if point.stamp.day != first_day)
            also = " together with --resample mean" if fine and not series.counts and not self.options.resample else ""
            self._error(
                "MORE_THAN_ONE_DAY",
                f"the rows cover {len(days)} days ({_span(days)}); a plan takes one day, or a profile of them.",
                f"Say --day {_example_day(days)}{also}, or {PROFILE_CHOICES}.",
                odd.at,
            )
        if several or (fine and not (self.options.resample or self.options.profile or series.counts)):
            return None
        return self._bins(series, points, step)

    def _pick_day(self, series: Series) -> list[Point] | None:
        points = list(series.points)
        if not self.options.day:
            return points
        if all(point.stamp.day is None for point in points):
            self._warn("OPTION_UNUSED", "--day was not needed: the rows have no dates.", "", points[0].at)
            return points
        wanted = _parse_day(self.options.day)
        chosen = [point for point in points if _is_day(point.stamp.day, wanted)]
        if not chosen:
            days = {point.stamp.day: point for point in points}
            self._error(
                "DAY_NOT_FOUND",
                f"has no rows for --day {self.options.day}; the days are {_span(days)}.",
                f"Say, for instance, --day {_example_day(days)}.",
                points[0].at,
            )
            return None
        return chosen

    def _whole_file(self, series: Series) -> ProfileStats | None:
        """Statistics over all whole days of the file, where --day takes one of them; None where there are not two."""
        silent = DayMaker(self.file, self.sheet, replace(self.options, day=None), ProblemList())
        by_day: dict[Day | None, list[Point]] = {}
        for point in series.points:
            by_day.setdefault(point.stamp.day, []).append(point)
        step = silent._step(list(series.points), series.counts)
        if step is None or len(by_day) < 2:
            return None
        whole: dict[Day, Bins] = {}
        for day, points in by_day.items():
            plan = silent._bins(series, points, step)
            if plan is not None and day is not None:
                whole[day] = plan.outputs[day]
        return statistics(whole, step) if len(whole) > 1 else None

    def _step(self, points: list[Point], counts: bool) -> float | None:
        """The step of the rows in seconds: an hour, a part of one, or the length of the bins for single events."""
        moments = sorted({absolute(point.stamp) for point in points})
        gaps = {later - earlier for earlier, later in itertools.pairwise(moments)}
        if not gaps:
            return SECONDS_PER_HOUR
        common = math.gcd(*(round(gap) for gap in gaps))
        if min(gaps) >= SECONDS_PER_HOUR and common % SECONDS_PER_HOUR == 0:
            return SECONDS_PER_HOUR
        offset = moments[0] % common if common else 0
        if (
            common >= STEP_MIN_S
            and SECONDS_PER_HOUR % common == 0
            and (offset == 0 or common == SECONDS_PER_HOUR)
            and min(gaps) == common
        ):
            return float(common)
        if counts:
            return EVENT_BIN_S
        irregular = next(
            (
                point
                for before, point in itertools.pairwise(points)
                if absolute(point.stamp) - absolute(before.stamp) != min(gaps)
            ),
            points[0],
        )
        self._error(
            "IRREGULAR_TIMES",
            f"{shown(irregular.stamp)} does not follow the step of the other rows ({min(gaps) / SECONDS_PER_MINUTE:g} minutes).",
            "Write one row for each hour (or each 5, 10, 15, 30 minutes); if each row is a request "
            "with its tokens, say --unit tok/row.",
            irregular.at,
        )
        return None

    def _bins(self, series: Series, points: list[Point], step: float) -> DayPlan | None:
        """Whole days of bins; a gap or a repeat is an error, a ragged first or last day of a longer series is left out."""
        by_day: dict[Day | None, dict[int, list[Point]]] = {}
        for point in points:
            by_day.setdefault(point.stamp.day, {}).setdefault(int(point.stamp.second // step), []).append(point)
        size = round(SECONDS_PER_DAY / step)
        events = series.counts and step == EVENT_BIN_S
        order = sorted(by_day, key=lambda day: day.toordinal() if isinstance(day, datetime.date) else day or 0)
        if self.options.profile and len(order) > 1:
            order = self._whole_days(order, by_day, size, events)
        good = True
        if not events:
            for day in order:
                good = self._check_day(day, by_day[day], size, step, points) and good
            good = self._check_calendar(order, by_day) and good
        if (
            not good
            or not order
            or any(point.output is None for day in order for group in by_day[day].values() for point in group)
        ):
            return None
        outputs: dict[Day, Bins] = {}
        inputs: dict[Day, Bins] = {}
        with_input = any(point.input is not None for point in points)
        for day in order:
            key: Day = 0 if day is None else day
            outputs[key] = Bins(tuple(_total(by_day[day].get(index, ()), False, series.counts, step) for index in range(size)))
            if with_input:
                inputs[key] = Bins(tuple(_total(by_day[day].get(index, ()), True, series.counts, step) for index in range(size)))
        longer = len(outputs) > 1 or step < SECONDS_PER_HOUR
        how = self.options.resample or "mean"
        if step < SECONDS_PER_HOUR and self.options.profile and not self.options.resample and not series.counts:
            self._warn(
                "RESAMPLED",
                f"hours are the mean of their {SECONDS_PER_HOUR / step:g} steps.",
                "Say --resample max to plan for the highest step.",
                points[0].at,
            )
        return DayPlan(outputs, inputs, how, order[0] is not None, statistics(outputs, step) if longer else None)

    def _whole_days(
        self, order: list[Day | None], by_day: dict[Day | None, dict[int, list[Point]]], size: int, events: bool
    ) -> list[Day | None]:
        """Leave out a first day that starts late and a last day that stops early, with a warning; gaps inside stay for the
        check."""
        kept = list(order)
        for end, name in ((0, "first"), (-1, "last")):
            if len(kept) < 2:
                break
            bins = sorted(by_day[kept[end]])
            full = set(range(bins[0] if end == 0 else 0, (size if end == 0 else bins[-1] + 1)))
            ragged = len(full) < size and (events or full == set(bins))
            if ragged:
                at = next(iter(by_day[kept[end]][bins[0]])).at
                self._warn("PARTIAL_DAY_IGNORED", f"the {name} day ({kept[end]}) is not whole and was left out.", "", at)
                kept.pop(end)
        return kept

    def _check_day(self, day: Day | None, bins: dict[int, list[Point]], size: int, step: float, points: list[Point]) -> bool:
        good = True
        on_day = f" on {day}" if day is not None else ""
        for index in sorted(bins):
            if len(bins[index]) > 1:
                first, second = bins[index][0], bins[index][1]
                self._error(
                    "DUPLICATE_HOUR",
                    f"{clock(index * step)}{on_day} stands here and in {first.at}.",
                    self._duplicate_fix(second, points),
                    second.at,
                )
                good = False
                break
        missing = [index for index in range(size) if index not in bins]
        if missing:
            names = ", ".join(clock(index * step) for index in missing[:4]) + (
                f" and {len(missing) - 4} more" if len(missing) > 4 else ""
            )
            later = [bins[index][0] for index in sorted(bins) if index > missing[0]]
            at = later[0].at if later else bins[max(bins)][0].at
            self._error(
                "MISSING_HOUR",
                f"there is no row for {names}{on_day}.",
                "Write the missing row (0 where nothing is expected; on the day clocks go forward, the hour that was skipped).",
                at,
            )
            good = False
        return good

    def _duplicate_fix(self, second: Point, points: list[Point]) -> str:
        return (
            "Keep one row for each hour: delete the other, or, where rows are scenarios, hide all "
            "but one and say --hidden exclude. "
            "On the day clocks go back, decide which of the two hours counts; they are never added up."
        )

    def _check_calendar(self, order: list[Day | None], by_day: dict[Day | None, dict[int, list[Point]]]) -> bool:
        """Weekly statistics need days that follow one another; a missing day is a warning, for it changes only what days are
        counted."""
        dates = [day for day in order if isinstance(day, datetime.date)]
        for before, after in itertools.pairwise(dates):
            if (after - before).days > 1:
                point = by_day[after][min(by_day[after])][0]
                self._warn(
                    "DAYS_MISSING",
                    f"no rows from {before + datetime.timedelta(days=1)} to "
                    f"{after - datetime.timedelta(days=1)}; those days do not count.",
                    "",
                    point.at,
                )
                break
        return True


def _total(group: Sequence[Point], is_input: bool, counts: bool, step: float) -> float:
    values = [(point.input if is_input else point.output) or 0.0 for point in group]
    return sum(values) / step if counts else sum(values)


def _span(days: Mapping[Day | None, Point]) -> str:
    names = list(days)
    ordered = sorted(
        (day for day in names if day is not None), key=lambda day: day.toordinal() if isinstance(day, datetime.date) else day
    )
    if not ordered:
        return "none"
    first, last = ordered[0], ordered[-1]
    return f"{_day_name(first)} to {_day_name(last)}"


def _day_name(day: Day) -> str:
    return day.isoformat() if isinstance(day, datetime.date) else f"day {day + 1}"


def _example_day(days: Mapping[Day | None, Point]) -> str:
    """The first day, as --day takes it."""
    ordered = sorted(
        (day for day in days if day is not None), key=lambda day: day.toordinal() if isinstance(day, datetime.date) else day
    )
    if not ordered:
        return "YYYY-MM-DD"
    return ordered[0].isoformat() if isinstance(ordered[0], datetime.date) else str(ordered[0] + 1)


def _parse_day(text: str) -> datetime.date | int | None:
    text = text.strip()
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return int(text) - 1 if text.isdigit() and len(text) < 6 else None


def _is_day(day: Day | None, wanted: datetime.date | int | None) -> bool:
    return (
        wanted is not None
        and day is not None
        and day == wanted
        and isinstance(day, datetime.date) == isinstance(wanted, datetime.date)
    )
