"""Every refusal names the option, or where there is none the edit, that settles it; the same file then works."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import optimizer.workbook
from optimizer.errors import Refused
from tests.workbook.forge import DAY, PROFILE, Error, Formula, Sheet, demand_sheet, part, repack, write_xlsx
from tests.workbook.reading import TRUTH, read, values

Change = Callable[[Sheet], None]


def edit(row: int, column: int, value: Any) -> Change:
    """Type a value into a cell."""
    return lambda sheet: sheet.put(row, column, value)


def with_column(header: str, numbers: Sequence[Any], source: Callable[[], Sheet] = demand_sheet) -> Callable[[], Sheet]:
    """The forecast with one more column."""

    def build() -> Sheet:
        sheet = source()
        column = max(column for _, column in sheet.cells) + 1
        sheet.put(0, column, header)
        sheet.down(1, column, numbers)
        return sheet

    return build


def edited(*changes: Change, source: Callable[[], Sheet] = demand_sheet) -> Callable[[], Sheet]:
    """The forecast after some edits."""

    def build() -> Sheet:
        sheet = source()
        for change in changes:
            change(sheet)
        return sheet

    return build


def delete(row: int, column: int) -> Change:
    """Empty a cell."""
    return lambda sheet: sheet.cells.pop((row, column)) and None


def delete_row(row: int) -> Change:
    """Empty a row."""

    def change(sheet: Sheet) -> None:
        for key in [key for key in sheet.cells if key[0] == row]:
            del sheet.cells[key]

    return change


def moments(days: int = 1, minutes: int = 60, start: datetime.datetime = DAY) -> list[datetime.datetime]:
    return [start + datetime.timedelta(minutes=minutes * step) for step in range(days * 1440 // minutes)]


def dated(
    hours: Sequence[Any], numbers: Sequence[float] = PROFILE, header: str = "Output tok/s", hour_header: str = "Timestamp"
) -> Callable[[], Sheet]:
    return lambda: demand_sheet(header, numbers, hours, hour_header)


def long_form(*names: str, factor: Sequence[float] = (1, 2, 3)) -> Callable[[], Sheet]:
    def build() -> Sheet:
        sheet = Sheet()
        for column, text in enumerate(("workload", "hour", "output_tps")):
            sheet.put(0, column, text)
        for block, name in enumerate(names):
            for hour, value in enumerate(PROFILE):
                for column, cell in enumerate((name, hour, value * factor[block])):
                    sheet.put(1 + 24 * block + hour, column, cell)
        return sheet

    return build


def day_types(*names: str) -> Callable[[], Sheet]:
    def build() -> Sheet:
        sheet = Sheet()
        for column, text in enumerate(("day_type", "hour", "output tok/s")):
            sheet.put(0, column, text)
        for block, name in enumerate(names):
            for hour, value in enumerate(PROFILE):
                for column, cell in enumerate((name or None, hour, value)):
                    sheet.put(1 + 24 * block + hour, column, cell)
        return sheet

    return build


def two_workloads(*headers: str) -> Callable[[], Sheet]:
    def build() -> Sheet:
        sheet = Sheet()
        sheet.put(0, 0, "Hour")
        sheet.down(1, 0, range(24))
        for column, header in enumerate(headers, 1):
            sheet.put(0, column, header)
            sheet.down(1, column, [value * column for value in PROFILE])
        return sheet

    return build


@dataclass
class Walk:
    """One refusal. bad: the file. settles: options that settle it. good: the file after the edit that the
    fix names. given: what is known besides.
    """

    code: str
    bad: Callable[[], Any]
    settles: dict[str, Any] = field(default_factory=dict)
    good: Callable[[], Any] | None = None
    before: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)
    workload: str = "demand"
    truth: tuple[float, ...] = TRUTH


PERCENT = [value / 12_800 for value in PROFILE]
ZONED = [f"2026-12-01T{hour:02d}:00:00-08:00" for hour in range(24)]
CHAT = {"workloads": ("chat",)}
BOTH = {"workloads": ("chat", "batch")}
WEEK = {"day_types": ("weekday", "weekend")}
DOUBLE = tuple(2 * value for value in PROFILE)

WALKS = [
    Walk("SHEET_NOT_FOUND", demand_sheet, {"sheet": "Demand"}, before={"sheet": "Nope"}),
    Walk("SEVERAL_SHEETS", lambda: [demand_sheet(name="Base"), demand_sheet(name="High", values=DOUBLE)], {"sheet": "Base"}),
    Walk(
        "SEVERAL_TABLES",
        edited(
            edit(0, 4, "Hour"),
            edit(0, 5, "Output tok/s"),
            *[edit(1 + h, 4, h) for h in range(24)],
            *[edit(1 + h, 5, 1) for h in range(24)],
        ),
        {"range": "A1:B25"},
    ),
    Walk("RANGE_NOT_FOUND", demand_sheet, {"range": "Demand!A1:B25"}, before={"range": "DemandProfile"}),
    Walk("RANGE_EMPTY", demand_sheet, {"range": "Demand!A1:B25"}, before={"range": "H1:I25"}),
    Walk(
        "NO_DEMAND_TABLE",
        lambda: Sheet("Plan", {(3 + h, 2): v for h, v in enumerate(PROFILE)}),
        {"range": "Plan!C4:C27", "unit": "tok/s"},
    ),
    Walk("NO_DEMAND_TABLE", lambda: Sheet("Plan", {(0, 0): "hello"}), good=demand_sheet),
    Walk("HIDDEN_ROWS", edited(lambda sheet: sheet.hidden_rows.add(4)), {"hidden": "include"}),
    Walk(
        "NO_DEMAND_ROWS",
        edited(lambda sheet: sheet.hidden_rows.update(range(1, 25))),
        {"hidden": "include"},
        before={"hidden": "exclude"},
    ),
    Walk(
        "HIDDEN_COLUMNS",
        edited(lambda sheet: sheet.hidden_columns.add(2), source=with_column("High tok/s", DOUBLE)),
        {"hidden": "exclude"},
    ),
    Walk("INPUT_AND_OUTPUT_MIXED", lambda: demand_sheet("Input + output tok/s"), good=demand_sheet),
    Walk("SEVERAL_DEMAND_COLUMNS", with_column("High tok/s", DOUBLE), {"column": "Output tok/s"}),
    Walk("SEVERAL_DEMAND_COLUMNS", long_form("chat", "batch"), {"column": "chat"}),
    Walk("SEVERAL_DEMAND_COLUMNS", with_column("Demand", DOUBLE), {"column": "Output tok/s"}),
    Walk("COLUMN_NOT_FOUND", demand_sheet, {"column": "Output tok/s"}, before={"column": "Tokens"}),
    Walk("DUPLICATE_COLUMNS", with_column("OUTPUT tok/s", DOUBLE), {"column": "B"}),
    Walk(
        "DUPLICATE_COLUMNS",
        two_workloads("chat output tok/s", "Chat  output tok/s"),
        good=two_workloads("chat output tok/s"),
        given=CHAT,
        workload="chat",
    ),
    Walk(
        "NO_OUTPUT_COLUMN",
        lambda: demand_sheet("Input tok/s"),
        good=with_column("Output tok/s", PROFILE, lambda: demand_sheet("Input tok/s")),
    ),
    Walk("NO_DEMAND_COLUMN", lambda: demand_sheet("Colour", ["red"] * 24), good=demand_sheet),
    Walk(
        "UNKNOWN_WORKLOAD",
        two_workloads("chat output tok/s", "code output tok/s"),
        good=two_workloads("chat output tok/s", "batch output tok/s"),
        given=BOTH,
        workload="chat",
    ),
    Walk("UNKNOWN_WORKLOAD", long_form("chat", "code"), good=long_form("chat", "batch"), given=BOTH, workload="chat"),
    Walk(
        "MISSING_WORKLOAD",
        two_workloads("chat output tok/s"),
        good=two_workloads("chat output tok/s", "batch output tok/s"),
        given=BOTH,
        workload="chat",
    ),
    Walk("MISSING_WORKLOAD", long_form("chat"), good=long_form("chat", "batch"), given=BOTH, workload="chat"),
    Walk("UNIT_UNKNOWN", lambda: demand_sheet("Demand"), {"unit": "tok/s"}, before={"unit": "furlongs"}),
    Walk(
        "UNIT_UNKNOWN",
        with_column("Unit", ["parsecs"] * 24, lambda: demand_sheet("Demand")),
        good=with_column("Unit", ["tok/s"] * 24, lambda: demand_sheet("Demand")),
    ),
    Walk("UNIT_UNCLEAR", lambda: demand_sheet("M output tok/s"), {"unit": "tok/s"}),
    Walk("UNIT_MISSING", lambda: demand_sheet("Demand"), {"unit": "tok/s"}),
    Walk("UNIT_CONFLICT", demand_sheet, {"unit": None}, before={"unit": "k tok/s"}),
    Walk(
        "UNIT_CONFLICT",
        edited(
            edit(0, 0, "Unit"),
            edit(0, 1, "M tok/h"),
            edit(1, 0, "Hour"),
            edit(1, 1, "Output tok/s"),
            *[edit(2 + h, 0, h) for h in range(24)],
            *[edit(2 + h, 1, v) for h, v in enumerate(PROFILE)],
        ),
        good=demand_sheet,
    ),
    Walk("UNIT_NOT_INPUT", with_column("Input requests/s", PROFILE), good=with_column("Input tok/s", PROFILE)),
    Walk("SCALED_FORMAT", lambda: demand_sheet("k tok/s", number_format="0.0,"), good=demand_sheet),
    Walk("LOCALE_UNKNOWN", demand_sheet, {"locale": "en-US"}, before={"locale": "klingon"}),
    Walk("MERGED_CELLS", edited(lambda sheet: sheet.merges.append((3, 1, 4, 1)), delete(4, 1)), good=demand_sheet),
    Walk("MERGED_CELLS", edited(lambda sheet: sheet.merges.append((3, 0, 4, 0)), delete(4, 0)), good=demand_sheet),
    Walk("MISSING_HOUR_LABEL", edited(delete(4, 0)), good=demand_sheet),
    Walk("HOUR_NOT_READABLE", edited(edit(4, 0, "morning")), good=demand_sheet),
    Walk("CELL_ERROR", edited(edit(4, 1, Error("#N/A"))), good=demand_sheet),
    Walk("CELL_ERROR", edited(edit(4, 0, Error("#N/A"))), good=demand_sheet),
    Walk("FORMULA_NO_VALUE", lambda: _no_values(), good=demand_sheet),
    Walk("FORMULA_ZERO", lambda: demand_sheet(values=[Formula("=1+1", 0)] * 24), good=demand_sheet),
    Walk("HOURS_0_AND_24", lambda: demand_sheet(hours=range(25), values=[*PROFILE, 5]), good=demand_sheet),
    Walk(
        "AMBIGUOUS_DATE",
        dated([f"{d:02d}/12/2026 {h:02d}:00" for d in (1, 5) for h in range(24)], [*PROFILE, *DOUBLE]),
        {"locale": "en-GB", "day": "2026-12-01"},
        before={"day": "2026-12-01"},
    ),
    Walk(
        "HOUR_ENDING_UNCLEAR",
        dated(moments(start=DAY + datetime.timedelta(hours=1))),
        good=dated(moments(start=DAY + datetime.timedelta(hours=1)), hour_header="Hour ending"),
    ),
    Walk("NOT_HOURLY", dated(moments(minutes=15), [v for v in PROFILE for _ in range(4)]), {"resample": "mean"}),
    Walk("NOT_HOURLY", dated(moments(minutes=5), [v for v in PROFILE for _ in range(12)]), {"resample": "max"}),
    Walk(
        "NOT_HOURLY",
        lambda: demand_sheet(hours=[f"{h:02d}:00-{h + 2:02d}:00" for h in range(0, 22, 2)], values=PROFILE[:11]),
        good=demand_sheet,
    ),
    Walk("MORE_THAN_ONE_DAY", dated(moments(days=7), list(PROFILE) * 7), {"day": "2026-12-03"}),
    Walk("MORE_THAN_ONE_DAY", dated(moments(days=7), list(PROFILE) * 7), {"profile": "peak-day"}),
    Walk("MORE_THAN_ONE_DAY", dated(moments(days=7), list(PROFILE) * 7), {"profile": "percentile:95"}),
    Walk(
        "NOT_HOURLY",
        dated(moments(days=3, minutes=30), [v for v in PROFILE for _ in range(2)] * 3),
        {"day": "2026-12-01", "resample": "mean"},
    ),
    Walk("DAY_NOT_FOUND", dated(moments(days=2), list(PROFILE) * 2), {"day": "2026-12-01"}, before={"day": "2027-12-01"}),
    Walk("TOTAL_DISAGREES", edited(edit(25, 0, "Total"), edit(25, 1, 5)), {"range": "Demand!A1:B25"}),
    Walk(
        "TOTAL_DISAGREES",
        two_workloads("chat output tok/s", "total output tok/s"),
        good=two_workloads("chat output tok/s"),
        given=CHAT,
        workload="chat",
    ),
    Walk("NEGATIVE_DEMAND", edited(edit(4, 1, -700)), good=demand_sheet),
    Walk("MISSING_VALUE", edited(delete(4, 1)), good=demand_sheet),
    Walk("MISSING_VALUE", edited(edit(4, 1, " ")), good=demand_sheet),
    Walk("MISSING_VALUE", edited(delete(4, 0), source=long_form("chat")), good=long_form("chat"), given=CHAT, workload="chat"),
    Walk("NOT_A_NUMBER", edited(edit(4, 1, "0.7k")), good=demand_sheet),
    Walk("NOT_A_NUMBER", edited(edit(4, 1, True)), good=demand_sheet),
    Walk("NOT_A_NUMBER", edited(edit(4, 1, DAY)), good=demand_sheet),
    Walk("MIXED_NUMBERS", edited(edit(4, 1, "12,80"), edit(5, 1, "12.80")), good=demand_sheet),
    Walk("AMBIGUOUS_NUMBER", edited(edit(1, 1, "1,200")), {"locale": "en-US"}),
    Walk(
        "MIXED_PERCENT",
        lambda: _mixed_percent(),
        good=lambda: demand_sheet("Demand", PERCENT, number_format="0%"),
        settles={"peak": 12_800.0},
        before={"peak": 12_800.0},
    ),
    Walk("UNIT_NEEDS_PEAK", lambda: demand_sheet("% of peak", PERCENT, number_format="0%"), {"peak": 12_800.0}),
    Walk(
        "SHARE_UNCLEAR",
        lambda: demand_sheet("% of peak", [value / 2 for value in PERCENT]),
        good=lambda: demand_sheet("% of peak", PERCENT),
        settles={"peak": 12_800.0},
        before={"peak": 12_800.0},
    ),
    Walk(
        "SHARE_ABOVE_PEAK",
        lambda: demand_sheet("% of peak", [value * 2 for value in PERCENT], number_format="0%"),
        good=lambda: demand_sheet("% of peak", PERCENT, number_format="0%"),
        settles={"peak": 12_800.0},
        before={"peak": 12_800.0},
    ),
    Walk(
        "UNIT_NEEDS_TOKENS_PER_REQUEST",
        lambda: demand_sheet("Requests/s", [value / 250 for value in PROFILE]),
        {"tokens_per_request": 250.0},
    ),
    Walk(
        "CACHED_SHARE_RANGE",
        with_column("Cached tok/s", [9 * v for v in PROFILE], with_column("Input tok/s", PROFILE)),
        good=with_column("Cached tok/s", [0.5 * v for v in PROFILE], with_column("Input tok/s", PROFILE)),
    ),
    Walk(
        "INPUT_WITHOUT_OUTPUT",
        edited(edit(4, 1, 0), source=with_column("Input tok/s", PROFILE)),
        good=with_column("Input tok/s", PROFILE),
    ),
    Walk(
        "UNKNOWN_DAY_TYPE", day_types("weekday", "holiday"), good=day_types("weekday", "weekend"), given=WEEK, workload="demand"
    ),
    Walk("DUPLICATE_HOUR", edited(edit(4, 0, 2)), good=demand_sheet),
    Walk("DUPLICATE_HOUR", day_types("weekday", "weekend", ""), good=day_types("weekday", "weekend"), given=WEEK),
    Walk("MISSING_HOUR", edited(delete_row(4)), good=demand_sheet),
    Walk("MISSING_HOUR", day_types("weekday"), good=day_types("weekday", "weekend"), given=WEEK),
    Walk("MIXED_TIMEZONES", dated([*ZONED[:20], *[text.replace("-08", "-07") for text in ZONED[20:]]]), good=dated(ZONED)),
    Walk(
        "IRREGULAR_TIMES",
        dated([*moments()[:5], DAY + datetime.timedelta(hours=5, minutes=7), *moments()[6:]]),
        good=dated(moments()),
    ),
    Walk(
        "DAYS_DIFFER",
        edited(
            *[edit(r, 1, (DAY + datetime.timedelta(days=(r - 1) // 24, hours=(r - 1) % 24)).isoformat()) for r in range(1, 49)],
            source=long_form("chat", "batch"),
        ),
        good=long_form("chat", "batch"),
        before={"profile": "peak-day"},
        given=BOTH,
        workload="chat",
    ),
    Walk(
        "PROFILE_NOT_POSSIBLE", dated(moments(days=2), list(PROFILE) * 2), {"profile": "peak-day"}, before={"profile": "busiest"}
    ),
]


def _no_values() -> bytes:
    data = write_xlsx(demand_sheet(values=[Formula("=1+1")] * 24))
    text = part(data, "xl/worksheets/sheet1.xml").replace(b' t="str"', b"").replace(b"<v></v>", b"")
    return repack(data, {"xl/worksheets/sheet1.xml": text})


def _mixed_percent() -> Sheet:
    sheet = demand_sheet("Demand", PERCENT, number_format="0%")
    del sheet.formats[5, 1]
    return sheet


@pytest.mark.parametrize("walk", WALKS, ids=[f"{index:02d}-{walk.code}" for index, walk in enumerate(WALKS)])
def test_the_fix_that_is_named_works(tmp_path: Path, walk: Walk) -> None:
    with pytest.raises(Refused) as caught:
        read(tmp_path, walk.bad(), **walk.before, **walk.given)
    problem = caught.value.errors[0]
    assert problem.code == walk.code
    assert problem.fix.endswith(".")
    assert problem.file
    for option, value in walk.settles.items():
        if value is not None and option not in walk.before:
            named = " ".join(error.fix for error in caught.value.errors)
            assert f"--{option.replace('_', '-')}" in named
    source = walk.good() if walk.good else walk.bad()
    demand = read(tmp_path, source, **walk.settles, **walk.given)
    day_type = "weekday" if walk.given.get("day_types") else "day"
    assert values(demand, walk.workload, day_type) == pytest.approx(walk.truth)


#: Refusals of the file as a whole; their fixes are walked in test_opening.py and test_demand_catalogue.py.
WHOLE_FILE = {
    "LOCK_FILE",
    "FILE_UNREADABLE",
    "FILE_TOO_LARGE",
    "WRONG_FORMAT",
    "CORRUPT_FILE",
    "FILE_BEING_WRITTEN",
    "FILE_MISSING",
    "FILE_LOCKED",
    "PASSWORD_PROTECTED",
    "UNSAFE_FILE",
    "RECALC_MISSING",
    "RECALC_FAILED",
}


def test_every_refusal_of_the_reader_is_walked() -> None:
    folder = Path(str(optimizer.workbook.__file__)).parent
    sources = [
        *folder.glob("demand*.py"),
        *folder.glob("opening*.py"),
        folder / "guards.py",
        folder / "recalc.py",
        folder / "profiles.py",
    ]
    raised: set[str] = set()
    for source in sources:
        text = " ".join(source.read_text(encoding="utf-8").split())
        raised.update(re.findall(r"(?<!def )(?<!def _)(?:error|refuse|NumberProblem)\([^\"]{0,40}\"([A-Z][A-Z0-9_]+)\"", text))
    assert raised - WHOLE_FILE <= {walk.code for walk in WALKS}
    assert {walk.code for walk in WALKS} - raised <= {"HIDDEN_ROWS", "HIDDEN_COLUMNS"}
