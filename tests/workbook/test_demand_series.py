"""Longer series: days, steps under an hour, single events; profiles with their day counts, and how peaky the series is."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from optimizer.workbook.profiles import Bins, UnknownProfile, derive, percentile, statistics
from tests.workbook.forge import DAY, PROFILE, Sheet, demand_sheet
from tests.workbook.reading import TRUTH, place, read, refused, values, warned


def series(
    days: int = 14,
    minutes: int = 60,
    factor: Any = lambda day, index: 1.0,
    start: datetime.datetime = DAY,
    header: str = "Output tok/s",
) -> Sheet:
    """PROFILE on every day times factor(day, step in the hour)."""
    steps = 60 // minutes
    moments = [start + datetime.timedelta(minutes=minutes * index) for index in range(days * 24 * steps)]
    numbers = [PROFILE[moment.hour] * factor((moment - start).days, moment.minute // minutes) for moment in moments]
    return demand_sheet(header, numbers, moments, "Timestamp")


def test_weekday_and_weekend_are_means_with_their_day_counts(tmp_path: Path) -> None:
    def factor(day: int, step: int) -> float:
        weekend = (DAY + datetime.timedelta(days=day)).weekday() >= 5
        return (0.5 if weekend else 1.0) + 0.1 * (day >= 7)

    demand = read(tmp_path, series(14, factor=factor), profile="weekday-weekend")
    assert demand.day_types is not None
    assert [(one.day_type, one.days) for one in demand.day_types] == [("weekday", 10.0), ("weekend", 4.0)]
    assert values(demand, day_type="weekday") == pytest.approx([1.05 * value for value in TRUTH])
    assert values(demand, day_type="weekend") == pytest.approx([0.55 * value for value in TRUTH])
    assert demand.reports[0].mean_tps == pytest.approx(4000 * (10 * 1.05 + 4 * 0.55) / 14)
    assert "PROFILE_IS_MEAN" in [warning.code for warning in demand.warnings]


def test_a_percentile_in_each_hour(tmp_path: Path) -> None:
    demand = read(tmp_path, series(5, factor=lambda day, step: 1 + day), profile="percentile:75")
    assert values(demand) == pytest.approx([4 * value for value in TRUTH])
    assert demand.day_types is not None
    assert demand.day_types[0].days == 5
    assert values(read(tmp_path, series(5, factor=lambda day, step: 1 + day), profile="percentile:100")) == pytest.approx(
        [5 * value for value in TRUTH]
    )


def test_the_day_that_holds_the_highest_hour(tmp_path: Path) -> None:
    demand = read(tmp_path, series(5, factor=lambda day, step: 3 if day == 2 else 1), profile="peak-day")
    assert values(demand) == pytest.approx([3 * value for value in TRUTH])


def test_a_profile_of_several_workloads_takes_one_day_for_all(tmp_path: Path) -> None:
    sheet = series(3, factor=lambda day, step: 1 + (day == 0), header="chat output tok/s")
    sheet.put(0, 2, "batch output tok/s")
    sheet.down(1, 2, [value * (10 if day == 1 else 1) for day in range(3) for value in PROFILE])
    demand = read(tmp_path, sheet, workloads=("chat", "batch"), profile="peak-day")
    assert values(demand, "batch") == pytest.approx([10 * value for value in TRUTH])
    assert values(demand, "chat") == TRUTH


def test_input_follows_the_profile(tmp_path: Path) -> None:
    sheet = series(4, factor=lambda day, step: 1 + day)
    sheet.put(0, 2, "Input tok/s")
    sheet.down(1, 2, [value * (1 + day) * 4 for day in range(4) for value in PROFILE])
    for profile, factor in (("peak-day", 4), ("percentile:100", 4), ("percentile:50", 2.5)):
        demand = read(tmp_path, sheet, profile=profile)
        given = demand.series[0].input_tps
        assert given is not None
        assert given == pytest.approx([4 * factor * value for value in TRUTH])


def test_peak_to_mean_by_day_week_and_bin(tmp_path: Path) -> None:
    demand = read(
        tmp_path, series(14, 15, lambda day, step: (2.0 if day == 3 else 1.0) * (1.3 if step == 0 else 0.9)), profile="peak-day"
    )
    stats = demand.reports[0].profile
    assert stats is not None
    mean = 4000 * 15 / 14
    assert (stats.days, stats.step_minutes) == (14, 15)
    assert stats.by_day == pytest.approx(3.2)
    assert stats.by_day_median == pytest.approx(3.2)
    assert stats.by_week == pytest.approx(25_600 / (4000 * 8 / 7))
    assert stats.by_hour == pytest.approx(25_600 / mean)
    assert stats.by_bin == pytest.approx(1.3 * 25_600 / mean)
    assert stats.burst_factor == pytest.approx(1.3)


def test_one_day_of_a_month_still_tells_how_peaky_the_month_is(tmp_path: Path) -> None:
    demand = read(tmp_path, series(30, factor=lambda day, step: 2.0 if day == 20 else 1.0), day="2026-12-01")
    assert values(demand) == TRUTH
    stats = demand.reports[0].profile
    assert stats is not None
    assert stats.by_hour == pytest.approx(25_600 / (4000 * 31 / 30))


@pytest.mark.parametrize(("minutes", "how", "factor"), [(5, "mean", 1.0), (15, "mean", 1.0), (30, "max", 1.5), (10, "max", 1.5)])
def test_steps_under_an_hour(tmp_path: Path, minutes: int, how: str, factor: float) -> None:
    steps = 60 // minutes
    sheet = series(1, minutes, lambda day, step: 1.5 if step == 0 else (steps - 1.5) / (steps - 1))
    assert [place(problem) for problem in refused(tmp_path, sheet)] == [("NOT_HOURLY", "Demand!A3")]
    assert values(read(tmp_path, sheet, resample=how)) == pytest.approx([factor * value for value in TRUTH])


def test_quarter_hours_without_dates_and_hour_ending(tmp_path: Path) -> None:
    numbers = [value for value in PROFILE for _ in range(4)]
    plain = [f"{step // 4:02d}:{step % 4 * 15:02d}" for step in range(96)]
    assert values(read(tmp_path, demand_sheet(hours=plain, values=numbers), resample="mean")) == TRUTH
    ending = [*plain[1:], "24:00"]
    assert values(read(tmp_path, demand_sheet(hours=ending, values=numbers), resample="mean")) == TRUTH
    decimal = [step / 4 for step in range(96)]
    assert values(read(tmp_path, demand_sheet(hours=decimal, values=numbers), resample="mean")) == TRUTH


def test_single_events_become_hours_only_when_it_is_said_that_rows_count_tokens(tmp_path: Path) -> None:
    moments = [DAY + datetime.timedelta(seconds=37 * index) for index in range(2 * 86_400 // 37 + 1)]
    tokens = [(moment.hour + 1) * 10 for moment in moments]
    sheet = demand_sheet("Generated tokens", tokens, moments, "TIMESTAMP")
    assert refused(tmp_path, sheet)[0].code == "UNIT_MISSING"
    demand = read(tmp_path, sheet, unit="tok/row", day="2026-12-01")
    wanted = [
        sum(count for moment, count in zip(moments, tokens, strict=True) if (moment.day, moment.hour) == (1, hour)) / 3600
        for hour in range(24)
    ]
    assert values(demand) == pytest.approx(wanted, abs=1e-6)
    assert refused(tmp_path, demand_sheet("Output tok/s", tokens, moments, "TIMESTAMP"))[0].code == "IRREGULAR_TIMES"


def test_unix_timestamps_are_utc_and_kept_with_a_warning(tmp_path: Path) -> None:
    start = 1_796_083_200
    demand = read(tmp_path, demand_sheet(hours=[start + 3600 * hour for hour in range(24)], hour_header="timestamp"))
    assert values(demand) == TRUTH
    assert "TIMEZONE_KEPT_LOCAL" in [warning.code for warning in demand.warnings]


def test_hours_of_a_week_as_an_index(tmp_path: Path) -> None:
    sheet = demand_sheet(hours=range(168), values=list(PROFILE) * 7)
    (problem,) = refused(tmp_path, sheet)
    assert place(problem) == ("MORE_THAN_ONE_DAY", "Demand!A26")
    assert values(read(tmp_path, sheet, day="3")) == TRUTH
    assert refused(tmp_path, sheet, profile="weekday-weekend")[0].code == "PROFILE_NOT_POSSIBLE"


def test_ragged_ends_are_left_out_and_gaps_inside_refused(tmp_path: Path) -> None:
    sheet = series(5, start=DAY + datetime.timedelta(hours=7))
    demand = read(tmp_path, sheet, profile="peak-day")
    assert demand.day_types is not None
    assert demand.day_types[0].days == 4
    assert [code for code, _ in warned(demand)] == ["PARTIAL_DAY_IGNORED", "PARTIAL_DAY_IGNORED"]
    for key in [key for key in sheet.cells if key[0] == 50]:
        del sheet.cells[key]
    assert refused(tmp_path, sheet, profile="peak-day")[0].code == "MISSING_HOUR"


def test_whole_days_missing_are_said(tmp_path: Path) -> None:
    sheet = series(5)
    for row in range(1 + 24, 1 + 48):
        del sheet.cells[row, 0], sheet.cells[row, 1]
    demand = read(tmp_path, sheet, profile="peak-day")
    assert demand.day_types is not None
    assert demand.day_types[0].days == 4
    assert "DAYS_MISSING" in [warning.code for warning in demand.warnings]


def test_dates_and_hours_in_two_columns(tmp_path: Path) -> None:
    sheet = Sheet()
    for column, text in enumerate(("Date", "Hour", "Output tok/s")):
        sheet.put(0, column, text)
    for index in range(48):
        sheet.put(1 + index, 0, (DAY + datetime.timedelta(days=index // 24)).date(), "yyyy-mm-dd")
        sheet.put(1 + index, 1, index % 24)
        sheet.put(1 + index, 2, PROFILE[index % 24] * (1 + index // 24))
    assert [place(problem) for problem in refused(tmp_path, sheet)] == [("MORE_THAN_ONE_DAY", "Demand!B26")]
    assert values(read(tmp_path, sheet, day="2026-12-02")) == tuple(2 * value for value in TRUTH)


def test_a_profile_must_give_the_day_types_of_the_case(tmp_path: Path) -> None:
    demand = read(tmp_path, series(14), profile="weekday-weekend", day_types={"weekend": 2, "weekday": 5})
    assert [row.day_type for row in demand.series] == ["weekend", "weekday"]
    assert demand.day_types is None
    whole = read(tmp_path, series(14), profile="peak-day", day_types=("weekday", "weekend"))
    assert [values(whole, day_type=name) for name in ("weekday", "weekend")] == [TRUTH, TRUTH]
    assert refused(tmp_path, series(4), profile="weekday-weekend", day_types=("weekday", "weekend"))[0].code == "UNKNOWN_DAY_TYPE"
    named = series(14)
    named.put(0, 2, "day_type")
    named.down(1, 2, ["weekday"] * 336)
    problems = refused(tmp_path, named, profile="weekday-weekend", day_types=("weekday",))
    assert [problem.code for problem in problems] == ["PROFILE_NOT_POSSIBLE"]


def test_derive_and_statistics_in_plain_numbers() -> None:
    days = {"w": {0: (1.0,) * 24, 1: (3.0,) * 24}}
    assert derive(days, "percentile:50")["day"] == (2.0, {"w": (2.0,) * 24})
    assert derive(days, "peak-day")["day"] == (2.0, {"w": (3.0,) * 24})
    for wrong in ("weekday-weekend", "percentile:101", "percentile:", "mean"):
        with pytest.raises(UnknownProfile):
            derive(days, wrong)
    assert percentile([10.0, 20.0], 95) == pytest.approx(19.5)
    zero = statistics({0: Bins((0.0,) * 24)}, 3600.0)
    assert (zero.by_day, zero.by_week, zero.by_hour, zero.burst_factor) == (None, None, None, None)
