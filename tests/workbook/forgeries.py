"""Strategies of forecast files, each with the truth: whether it may be accepted, and with which numbers."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tests.workbook.forge import DAY, PROFILE, Error, Formula, Sheet, demand_sheet, part, repack, write_xlsx

UNITS = (
    ("Output tok/s", 1.0),
    ("tok/s", 1.0),
    ("Output tokens per second", 1.0),
    ("output_tps", 1.0),
    ("Output (k tok/s)", 1e3),
    ("Demand [ktok/s]", 1e3),
    ("Output tok/min", 1 / 60),
    ("Tokens per minute", 1 / 60),
    ("Output tokens/h", 1 / 3600),
    ("Output (k tokens/h)", 1e3 / 3600),
    ("Output (M tokens/h)", 1e6 / 3600),
    ("Demand, million tokens per hour", 1e6 / 3600),
    ("Output B tok/day", 1e9 / 86400),
    ("Demand (M tokens/day)", 1e6 / 86400),
    ("Output tokens/s (thousands)", 1e3),
    ("Output mn tok/h", 1e6 / 3600),
    ("Demand x1000 tok/s", 1e3),
)
#: Headers from which no unit may be guessed.
UNCLEAR = ("Demand", "Output", "Output tokens", "T tok/day", "M output tok/h", "tokens/month", "Load", "Forecast (000 tok/s) k")
HOUR_HEADERS = ("Hour", "hour", "HOUR", "Time", "Local time", "Hour of day", "Timestamp", "Hour beginning")
NOISE = ("{}", " {} ", "{}\u00a0", "\u00a0{}", "{}\n", "{}\u200b", "\u202b{}\u202c", "{}\t", "{}\u2003", "{}_x000D_", "{}\x0b")


def hour_forms(hour: int) -> dict[str, Any]:
    """The same hour in every form a column may have."""
    half = "AM" if hour < 12 else "PM"
    return {
        "int": hour,
        "float": float(hour),
        "text": f"{hour:02d}:00",
        "text_short": f"{hour}:00",
        "digits": str(hour),
        "ampm": f"{hour % 12 or 12} {half}",
        "ampm_full": f"{hour % 12 or 12}:00 {half.lower()}",
        "time": datetime.time(hour),
        "fraction": hour / 24,
        "datetime": DAY + datetime.timedelta(hours=hour),
        "serial": 46357 + hour / 24,
        "serial4": round(46357 + hour / 24, 4),
        "iso": f"2026-12-01T{hour:02d}:00:00",
        "iso_zone": f"2026-12-01T{hour:02d}:00:00-08:00",
        "german": f"01.12.2026 {hour:02d}:00",
        "range": f"{hour:02d}:00-{(hour + 1) % 24:02d}:00",
        "range_short": f"{hour}-{hour + 1}",
        "ending": hour + 1,
        "ending_text": f"{hour + 1:02d}:00",
        "he": f"HE{hour + 1:02d}",
        "h": f"{hour}h",
        "military": f"{hour:02d}00",
        "duration": datetime.timedelta(hours=hour),
        "hhmm": hour * 100,
        "full_width": "".join(chr(0xFF10 + int(ch)) for ch in str(hour)),
    }


@dataclass(frozen=True)
class Forged:
    """A file and what is true of it. truth: workload -> 24 numbers, None where it must be refused. benign: must be
    accepted. story: how it was made.

    options, workloads: what the reader is told besides.
    """

    data: bytes
    name: str
    truth: dict[str, tuple[float, ...]] | None
    benign: bool
    story: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)
    workloads: tuple[str, ...] | None = None


def _one_in(draw: st.DrawFn, count: int) -> bool:
    """True for about one file in `count`; the middle of a range, because hypothesis favours its ends."""
    return draw(st.integers(0, count - 1)) == count // 2


def _us(value: float) -> str:
    return f"{value:,.2f}"


def _eu(value: float) -> str:
    return f"{value:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")


def _swiss(value: float) -> str:
    return f"{value:,.2f}".replace(",", "\u2019")


def _french(value: float) -> str:
    return f"{value:,.2f}".replace(",", "\u202f").replace(".", ",")


NUMBER_FORMS = {"number": None, "us": _us, "eu": _eu, "swiss": _swiss, "french": _french}
CELL_DAMAGE = (
    "blank",
    "error",
    "junk",
    "negative",
    "bool",
    "suffix",
    "date",
    "infinite",
    "delete_row",
    "double_row",
    "formula",
    "grouped",
    "comment",
    "hour_blank",
    "hour_junk",
    "hour_double",
)


@st.composite
def forecasts(draw: st.DrawFn) -> Forged:
    """A forecast file: layout, hours, unit and numbers in some form, then perhaps damage to a cell, a header or the package."""
    story: list[str] = []
    truth = [
        float(value)
        for value in draw(
            st.sampled_from(
                [
                    PROFILE,
                    tuple(value / 7 for value in PROFILE),
                    tuple(10 * value for value in PROFILE),
                    tuple(value if value > 1000 else 0 for value in PROFILE),
                    tuple((value * 37) % 991 + 0.25 for value in PROFILE),
                ]
            )
        )
    ]
    unclear = _one_in(draw, 14)
    header, factor = (draw(st.sampled_from(UNCLEAR)), 1.0) if unclear else draw(st.sampled_from(UNITS))
    hour_form = draw(st.sampled_from(sorted(hour_forms(0))))
    number_form = draw(st.sampled_from(["number"] * 6 + sorted(NUMBER_FORMS)))
    story += [header, hour_form, number_form]
    stored = [value / factor for value in truth]
    write = NUMBER_FORMS[number_form]
    if write is not None:
        stored = [round(value, 2) for value in stored]
        truth = [value * factor for value in stored]
    order = list(range(24))
    if _one_in(draw, 8):
        order = draw(st.permutations(order))
        story.append("shuffled")
    sheet = Sheet("Demand")
    top, left = draw(st.integers(0, 5)), draw(st.integers(0, 3))
    if top >= 2 and draw(st.booleans()):
        sheet.put(0, 0, "LLM demand forecast FY27 Q1")
        story.append("title")
    noise = draw(st.sampled_from(NOISE))
    hour_header = draw(st.sampled_from(HOUR_HEADERS))
    sheet.put(top, left, noise.format(hour_header))
    gap = draw(st.sampled_from([1, 1, 1, 2]))
    column = left + gap
    if gap == 2:
        sheet.put(top, left + 1, "Comment")
    sheet.put(top, column, noise.format(header) if draw(st.booleans()) else header)
    row = top + 1
    blanks = draw(st.booleans())
    places: list[int] = []
    for index, hour in enumerate(order):
        if blanks and index in (6, 18):
            row += 1
        sheet.put(row, left, hour_forms(hour)[hour_form])
        sheet.put(row, column, stored[hour] if write is None else write(stored[hour]))
        places.append(row)
        row += 1
    total = sum(stored)
    for label, number in (("Total", total), ("Average", total / 24), ("Peak", max(stored))):
        if _one_in(draw, 4):
            sheet.put(row, left, label)
            sheet.put(row, column, number)
            row += 1
            story.append(label)
    extra = draw(st.sampled_from(["none"] * 6 + ["notes", "ratio", "price", "input"] * 2 + ["second", "twin"]))
    refuse = unclear
    benign = not unclear
    last = column + 1
    if extra == "notes":
        sheet.put(top, last, "Notes")
        sheet.put(places[3], last, "=cmd|' /C calc'!A0")
    elif extra == "ratio":
        sheet.put(top, last, "tok/s per k users")
        for place in places:
            sheet.put(place, last, 10)
    elif extra == "price":
        sheet.put(top, last, "USD/h")
        for place in places:
            sheet.put(place, last, 2.5)
    elif extra == "input":
        sheet.put(top, last, "Input tok/s")
        for place, hour in zip(places, order, strict=True):
            sheet.put(place, last, 4 * truth[hour])
    elif extra in ("second", "twin"):
        sheet.put(top, last, header if extra == "twin" else "High output tok/s")
        for place, hour in zip(places, order, strict=True):
            sheet.put(place, last, truth[hour] * 1.5)
        if not unclear:
            refuse, benign = True, False
    story.append(extra)
    if _one_in(draw, 10):
        sheet.put(top, last + 2, "GPU")
        sheet.put(top, last + 3, "USD per GPU-hour")
        sheet.down(top + 1, last + 2, ["H100", "B300"])
        sheet.down(top + 1, last + 3, [2.5, 4.1])
        story.append("busy")
    damage = draw(st.sampled_from(["none"] * 2 * len(CELL_DAMAGE) + list(CELL_DAMAGE)))
    victim = draw(st.integers(0, 23))
    at = (places[victim], column)
    if damage != "none":
        story.append(f"{damage}@{victim}")
        benign = False
        if damage == "grouped" and number_form != "number":
            # The other cells of the column decide what its marks mean.
            truth[order[victim]] = (12_800 if number_form in ("us", "swiss") else 12.8) * factor
        refuse = _damage_cell(
            sheet, damage, at, (places[victim], left), (places[(victim + 1) % 24], left), stored[order[victim]], write, refuse
        )
    if _one_in(draw, 16):
        sheet.hidden_rows.add(places[victim])
        refuse, benign = True, False
        story.append("hidden row")
    if _one_in(draw, 12) and damage == "none":
        sheet = sheet.turned()
        story.append("turned")
    sheets = [sheet]
    if _one_in(draw, 8):
        sheets.insert(0, Sheet("Old", dict(demand_sheet(values=[value / 2 for value in PROFILE]).cells), hidden=True))
        story.append("hidden sheet")
    if _one_in(draw, 8):
        other = Sheet("Prices")
        other.put(0, 0, "GPU")
        other.put(0, 1, "USD/h")
        other.down(1, 0, ["H100", "B300"])
        other.down(1, 1, [2.5, 4.1])
        sheets.append(other)
    data = write_xlsx(*sheets, date_1904=_one_in(draw, 8) and hour_form not in ("serial", "serial4"))
    data, name, harmed = _damage_package(draw, data, story)
    return Forged(data, name, None if refuse else {"demand": tuple(truth)}, benign and not harmed, tuple(story))


def _damage_cell(
    sheet: Sheet,
    damage: str,
    at: tuple[int, int],
    hour_at: tuple[int, int],
    next_hour: tuple[int, int],
    stored: float,
    write: Any,
    refuse: bool,
) -> bool:
    """Change one cell; True where the file must now be refused."""
    match damage:
        case "blank":
            del sheet.cells[at]
        case "error":
            sheet.put(*at, Error("#N/A"))
        case "junk":
            sheet.put(*at, "tbd")
        case "negative":
            sheet.put(*at, -5.0 if write is None else write(-5.0))
        case "bool":
            sheet.put(*at, True)
        case "suffix":
            sheet.put(*at, f"{stored / 1000:.1f}k")
        case "date":
            sheet.put(*at, DAY)
        case "infinite":
            sheet.put(*at, "1e999")
        case "delete_row":
            for key in [key for key in sheet.cells if key[0] == at[0]]:
                del sheet.cells[key]
        case "double_row":
            sheet.put(*next_hour, sheet.cells[hour_at])
        case "formula":
            sheet.put(*at, Formula("=A1*2"))
        case "grouped":
            # Text that is 12.8 or 12,800: harmless only where the column decides what its marks mean.
            sheet.put(*at, "12,800")
            return refuse or write is None
        case "comment":
            sheet.put(at[0], at[1] + 9, "checked by FP&A")
            return refuse
        case "hour_blank":
            del sheet.cells[hour_at]
        case "hour_junk":
            sheet.put(*hour_at, "morning-ish")
        case "hour_double":
            sheet.put(*hour_at, sheet.cells[next_hour])
    return True


def _damage_package(draw: st.DrawFn, data: bytes, story: list[str]) -> tuple[bytes, str, bool]:
    """Damage to the bytes or the package; (bytes, file name, whether it may be refused for it)."""
    kind = draw(
        st.sampled_from(
            ["none"] * 40
            + [
                "truncate",
                "flip",
                "no_strings",
                "no_styles",
                "no_dimension",
                "no_theme",
                "no_rels",
                "doctype",
                "renamed",
                "wrong_dimension",
                "junk_chart",
                "empty_part",
            ]
        )
    )
    if kind == "none":
        return data, "forecast.xlsx", False
    story.append(kind)
    sheet_part = "xl/worksheets/sheet1.xml"
    match kind:
        case "truncate":
            return data[: draw(st.integers(0, len(data) - 1))], "forecast.xlsx", True
        case "flip":
            where = draw(st.integers(0, len(data) - 1))
            return data[:where] + bytes([data[where] ^ (1 << draw(st.integers(0, 7)))]) + data[where + 1 :], "forecast.xlsx", True
        case "no_strings":
            return repack(data, {"xl/sharedStrings.xml": None}), "forecast.xlsx", True
        case "no_styles":
            return repack(data, {"xl/styles.xml": None}), "forecast.xlsx", True
        case "no_theme":
            return repack(data, {"xl/theme/theme1.xml": None}), "forecast.xlsx", True
        case "no_rels":
            return repack(data, {"xl/_rels/workbook.xml.rels": None}), "forecast.xlsx", True
        case "no_dimension" | "wrong_dimension":
            text = part(data, sheet_part)
            new = b"" if kind == "no_dimension" else b'<dimension ref="A1"/>'
            return repack(data, {sheet_part: re.sub(rb"<dimension[^>]*/>", new, text)}), "forecast.xlsx", False
        case "doctype":
            text = part(data, sheet_part).replace(b"<worksheet", b'<!DOCTYPE lolz [<!ENTITY a "b">]><worksheet', 1)
            return repack(data, {sheet_part: text}), "forecast.xlsx", True
        case "junk_chart":
            return repack(data, {"xl/charts/chart1.xml": b"<broken"}), "forecast.xlsx", True
        case "empty_part":
            return repack(data, {sheet_part: b""}), "forecast.xlsx", True
    return data, "forecast.csv", False


def _numbers(draw: st.DrawFn) -> tuple[float, ...]:
    """24 numbers with a shape, so that an hour out of place shows."""
    scale = draw(st.sampled_from([1.0, 0.37, 12.5, 1000.0]))
    shift = draw(st.integers(0, 23))
    return tuple(round(PROFILE[(hour + shift) % 24] * scale + hour / 8, 6) for hour in range(24))


@st.composite
def layouts(draw: st.DrawFn) -> Forged:
    """Where the unit stands, how many header levels there are, percent, requests, formats that scale, and CSV."""
    truth = _numbers(draw)
    header, factor = draw(st.sampled_from(UNITS))
    label, unit = draw(
        st.sampled_from(
            [("tok/s", 1.0), ("k tok/s", 1e3), ("M tok/h", 1e6 / 3600), ("B tokens per day", 1e9 / 86400), ("tok/min", 1 / 60)]
        )
    )
    kind = draw(
        st.sampled_from(
            [
                "unit_row",
                "unit_column",
                "unit_cell",
                "unit_text",
                "unit_option",
                "conflict",
                "levels",
                "percent",
                "percent_text",
                "requests",
                "requests_column",
                "scaled",
                "scaled_twice",
                "csv_us",
                "csv_eu",
                "csv_plain",
                "across",
                "range",
                "wrong_total",
            ]
        )
    )
    story = [kind, header, label]
    sheet = demand_sheet("Demand", [value / unit for value in truth])
    options: dict[str, Any] = {}
    name, data, refuse = "forecast.xlsx", b"", False
    shift = draw(st.integers(1, 3))
    down = Sheet("Demand", {(row + shift, column): value for (row, column), value in sheet.cells.items()})
    match kind:
        case "unit_row":
            sheet = Sheet("Demand", {(row + (row > 0), column): value for (row, column), value in sheet.cells.items()})
            sheet.put(1, 1, label)
            if draw(st.booleans()):
                sheet.put(1, 0, "h")
        case "unit_column":
            sheet.put(0, 2, "Unit")
            sheet.down(1, 2, [label] * 24)
        case "unit_cell":
            sheet = down
            sheet.put(0, 0, "Unit")
            sheet.put(0, 1, label)
        case "unit_text":
            sheet = down
            sheet.put(0, 0, f"Unit: {label}")
        case "unit_option":
            options["unit"] = label
        case "conflict":
            sheet.put(0, 1, header)
            options["unit"] = label
            refuse = abs(factor - unit) > 1e-12
            truth = tuple(value / unit * factor for value in truth)
        case "levels":
            cells = {
                (row + (row > 0), column): value
                for (row, column), value in demand_sheet("Chat", [value / factor for value in truth]).cells.items()
            }
            sheet = Sheet("Demand", cells)
            sheet.put(1, 1, header)
            sheet.merges = [(0, 0, 1, 0)] if draw(st.booleans()) else []
        case "percent" | "percent_text":
            peak = max(truth)
            shares = [value / peak for value in truth]
            sheet = demand_sheet("% of peak", shares, number_format="0.0%")
            if kind == "percent_text":
                sheet = demand_sheet("Demand", [f"{100 * share:.9f}%" for share in shares])
            options["peak"] = peak
        case "requests":
            each = draw(st.sampled_from([250.0, 12.5]))
            sheet = demand_sheet("Requests/min", [value / each * 60 for value in truth])
            options["tokens_per_request"] = each
        case "requests_column":
            sheet = demand_sheet("Requests/s", [value / (100 + hour) for hour, value in enumerate(truth)])
            sheet.put(0, 2, "Output tokens per request")
            sheet.down(1, 2, [100 + hour for hour in range(24)])
        case "scaled":
            sheet = demand_sheet("Output tok/s", truth, number_format=draw(st.sampled_from(["0.0,", "#,##0,,", '0.0,"k"'])))
        case "scaled_twice":
            sheet = demand_sheet("Output k tok/s", truth, number_format="#,##0.0,")
            refuse = True
        case "csv_us" | "csv_eu" | "csv_plain":
            name = "forecast.csv"
            truth = tuple(round(value / factor, 2) * factor for value in truth)
            texts = [f"{value / factor:.2f}" for value in truth]
            if kind == "csv_us":
                lines = [f'Hour,"{header}"', *(f'{hour},"{float(text):,.2f}"' for hour, text in enumerate(texts))]
            elif kind == "csv_eu":
                lines = [f"Hour;{header}", *(f"{hour};{_eu(float(text))}" for hour, text in enumerate(texts))]
            else:
                lines = [f"Hour\t{header}", *(f"{hour:02d}:00\t{text}" for hour, text in enumerate(texts))]
            data = "\r\n".join(lines).encode(draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])))
        case "across":
            sheet = Sheet("Demand", {(0, 0): "Pool", (0, 1): "Unit", (1, 0): "chat", (1, 1): label})
            form = draw(st.sampled_from(["text", "int", "ampm", "time", "h", "range"]))
            for hour, value in enumerate(truth):
                sheet.put(0, 2 + hour, hour_forms(hour)[form])
                sheet.put(1, 2 + hour, value / unit)
        case "range":
            options["range"], options["unit"] = "B2:B25", label
            order = draw(st.permutations(range(24)))
            sheet = demand_sheet("Demand", [truth[hour] / unit for hour in order], order)
        case "wrong_total":
            sheet = demand_sheet(header, [value / factor for value in truth])
            sheet.put(25, 0, "Total")
            sheet.put(25, 1, sum(truth) / factor * draw(st.sampled_from([1.01, 0.97, 2.0])))
            refuse = True
    return Forged(data or write_xlsx(sheet), name, None if refuse else {"demand": truth}, not refuse, tuple(story), options)


@st.composite
def series(draw: st.DrawFn) -> Forged:
    """Dated rows of several days or of steps under an hour, with the option that makes a day of them; some broken."""
    step = draw(st.sampled_from([5, 10, 15, 30, 60]))
    days = draw(st.sampled_from([1, 2, 3]))
    base = _numbers(draw)
    wave = [1 + 0.1 * ((index * 7) % 5 - 2) for index in range(60 // step)]
    start = datetime.datetime(2026, 12, draw(st.integers(1, 20)))
    rows = [
        (
            start + datetime.timedelta(minutes=step * index),
            base[(index * step // 60) % 24] * (1 + index * step // 1440) * wave[index % len(wave)],
        )
        for index in range(days * 1440 // step)
    ]
    wanted = draw(st.integers(0, days - 1))
    how = draw(st.sampled_from(["mean", "max"]))
    options: dict[str, Any] = {}
    if step < 60:
        options["resample"] = how
    if days > 1:
        options["day"] = (start + datetime.timedelta(days=wanted)).date().isoformat()
    factor = (max(wave) if how == "max" else sum(wave) / len(wave)) if step < 60 else wave[0]
    truth = tuple(value * (1 + (wanted if days > 1 else 0)) * factor for value in base)
    form = draw(st.sampled_from(["cell", "iso", "german", "serial"]))
    damage = draw(st.sampled_from(["none", "none", "gap", "repeat", "shuffle"]))
    victim = draw(st.integers(1, len(rows) - 2))
    hit = days == 1 or rows[victim][0].date().isoformat() == options.get("day")
    if damage == "gap":
        del rows[victim]
    elif damage == "repeat":
        rows.insert(victim, rows[victim])
    elif damage == "shuffle":
        rows = rows[victim:] + rows[:victim]
    write = {
        "cell": lambda moment: moment,
        "iso": lambda moment: moment.isoformat(),
        "german": lambda moment: moment.strftime("%d.%m.%Y %H:%M"),
        "serial": lambda moment: (moment - datetime.datetime(1899, 12, 30)) / datetime.timedelta(days=1),
    }[form]
    sheet = demand_sheet("Output tok/s", [value for _, value in rows], [write(moment) for moment, _ in rows], "Timestamp")
    refuse = damage in ("gap", "repeat") and hit
    return Forged(
        write_xlsx(sheet),
        "forecast.xlsx",
        None if refuse else {"demand": truth},
        damage in ("none", "shuffle"),
        (f"{step} min", f"{days} days", form, damage),
        options,
    )


NAMES = ("chat", "batch", "Code-Gen", "w1", "m", "b", "K 2", "input", "agent tok", "eu west", "total chat", "gpt 1000")


@st.composite
def fleets(draw: st.DrawFn) -> Forged:
    """Several workloads in wide or long form, as the Workloads sheet names them."""
    names = tuple(draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True)))
    truth = {name: tuple(value * (index + 1) for value in _numbers(draw)) for index, name in enumerate(names)}
    form = draw(st.sampled_from(["wide", "long", "wide_day_type", "wide_total"]))
    sheet = Sheet("Demand")
    refuse = False
    damage = draw(st.sampled_from(["none", "none", "none", "unknown", "missing", "case"]))
    shown = {name: name.upper() if damage == "case" else name for name in names}
    if form == "long":
        for column, text in enumerate(("workload", "hour", "output_tps")):
            sheet.put(0, column, text)
        rows = [(shown[name], hour, truth[name][hour]) for name in names for hour in range(24)]
        rows = draw(st.permutations(rows)) if draw(st.booleans()) else rows
        for index, cells in enumerate(rows, 1):
            for column, cell in enumerate(cells):
                sheet.put(index, column, cell)
    else:
        sheet.put(0, 0, "hour")
        sheet.down(1, 0, range(24))
        for column, name in enumerate(names, 1):
            sheet.put(0, column, f"{shown[name]} output tok/s")
            sheet.down(1, column, truth[name])
        if form == "wide_total":
            sheet.put(0, len(names) + 1, "Total output tok/s")
            sheet.down(1, len(names) + 1, [sum(truth[name][hour] for name in names) for hour in range(24)])
    workloads = names
    if damage == "unknown" and len(names) > 1:
        workloads, refuse = names[1:], True
    elif damage == "missing":
        workloads, refuse = (*names, "another"), True
    return Forged(
        write_xlsx(sheet), "forecast.xlsx", None if refuse else truth, not refuse, (form, damage, *names), {}, workloads
    )


CLUTTER = (
    "Hour",
    "Time",
    "Total",
    "Peak",
    "Unit",
    "tok/s",
    "k tok/s",
    "M tok/h",
    "Output tok/s",
    "Input tok/s",
    "Demand",
    "chat",
    "workload",
    "day_type",
    "Notes",
    "12,800",
    "12.8k",
    "00:00",
    "23:00",
    "k",
    "thousands",
    "% of peak",
    "Scenario",
    "High",
    "USD/h",
    "=A1+B1",
    "Source: FP&A",
    0,
    1,
    24,
    12_800,
    0.5,
    46357.25,
    True,
    DAY,
    datetime.time(5),
    Error("#N/A"),
    Formula("=1+1", 2),
    Formula("=1+1"),
)


@st.composite
def clutter(draw: st.DrawFn) -> Forged:
    """A good forecast with other cells strewn around it: they may refuse it, and may never change its numbers."""
    truth = _numbers(draw)
    header, factor = draw(st.sampled_from(UNITS))
    top, left = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    sheet = Sheet(
        "Demand",
        {
            (row + top, column + left): value
            for (row, column), value in demand_sheet(header, [value / factor for value in truth]).cells.items()
        },
    )
    if draw(st.booleans()):
        sheet.name = "FY27"
    around = st.tuples(st.integers(0, top + 30), st.integers(0, left + 6))
    strewn = draw(st.lists(st.tuples(around, st.sampled_from(CLUTTER)), min_size=1, max_size=12))
    if draw(st.booleans()):
        # A whole column of numbers, as a second measure would be.
        column = left + draw(st.integers(2, 4))
        sheet.put(top, column, draw(st.sampled_from([text for text in CLUTTER if isinstance(text, str)])))
        sheet.down(top + 1, column, [value * 3 for value in truth])
    for (row, column), value in strewn:
        if not (top <= row <= top + 24 and column in (left, left + 1)):
            sheet.put(row, column, value)
    return Forged(write_xlsx(sheet), "forecast.xlsx", {"demand": truth}, False, (header, str(strewn)))


def everything() -> st.SearchStrategy[Forged]:
    """All kinds of files."""
    return st.one_of(forecasts(), forecasts(), layouts(), series(), fleets(), clutter())
