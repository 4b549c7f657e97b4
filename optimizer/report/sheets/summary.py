"""Summary: the decision, its cost, its proof and what else people would do, on one landscape page."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from optimizer.domain.hardware import Site
from optimizer.report.constants import DAYS_PER_YEAR, QUARTERS_PER_YEAR
from optimizer.report.figures import Figures
from optimizer.report.grid import cell_here, range_ref
from optimizer.report.sheets.charts import capacity_chart, cost_chart
from optimizer.report.sheets.cost_layout import api_pairs, pair_price
from optimizer.report.sheets.limits import rack_rows
from optimizer.report.style import CROSS_INK, HEADER_FILL
from optimizer.report.words import (
    BASELINE_LABELS,
    PURCHASE_LABELS,
    compare_baselines,
    decision_sentences,
    group_warnings,
    status_words,
)
from optimizer.report.writer import PlanSheet
from optimizer.units import DAYS_PER_MONTH, HOURS_PER_DAY

if TYPE_CHECKING:
    from optimizer.report.places import Places

SUMMARY = "Summary"
_WIDTHS = (30, 14, 11, 13, 13, 13, 15, 15, 14, 14, 22)
_LINE_CHARS = 165
_MOST_LINES = 8
_MOST_WARNINGS = 7
_MOST_REASONS = 8
_REASON_CHARS = 185
_BLOCK_TOP = 7
_BLOCK_ROWS = 9


def fill_summary(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """The whole page."""
    formats, result = sheet.book.formats, figures.result
    start = figures.case.policy.start_date.isoformat()
    days = ", ".join(f"{day.day_type} x {day.days:g}" for day in figures.case.day_types)
    sheet.title(
        f"Fleet plan from {start}",
        f"Figures are for an average day of the horizon ({days}). Blue-filled cells are decisions of the solver.",
    )
    for col, width in enumerate(_WIDTHS):
        sheet.width(col, width)
    what, cost = decision_sentences(figures.plan, figures.currency)
    sentences = textwrap.wrap(f"As solved: {what}", _LINE_CHARS) + textwrap.wrap(cost, _LINE_CHARS)
    for place, line in enumerate(sentences[:3]):
        sheet.text(3 + place, 0, line, fmt=formats.custom(bold=True, font_size=12))
    _money(sheet, places, figures)
    _proof(sheet, places, figures)
    _baselines(sheet, places, figures)
    _peak(sheet, places, figures)
    row = _mix(sheet, places, figures, _BLOCK_TOP + _BLOCK_ROWS + 1)
    row = _why(sheet, figures, row)
    row = _charts(sheet, places, figures, row + 1)
    _warnings(sheet, result.warnings, row)
    sheet.finish(freeze=(3, 0), one_page=True, area=(0, 0, row + _MOST_WARNINGS + 1, len(_WIDTHS) - 1))


def _head(sheet: PlanSheet, row: int, first: int, last: int, words: str) -> None:
    fmt = sheet.book.formats.custom(bold=True, font_color="#FFFFFF", bg_color=HEADER_FILL, indent=1 if first else 0)
    for col in range(first, last + 1):
        sheet.raw.write_blank(row, col, None, fmt)
    sheet.text(row, first, words, fmt=fmt)


def _money(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    formats, cost, plan = sheet.book.formats, places.cost, figures.plan
    _head(sheet, _BLOCK_TOP, 0, 2, "What it costs")
    bold = formats.custom(bold=True)
    row = _BLOCK_TOP + 1
    price = plan.usd_per_mtok.forecast
    usd, year = plan.cost.total, plan.cost.total * DAYS_PER_YEAR
    lines: list[tuple[str, str, Any, str, str]] = [
        ("Output tokens of the forecast", cost.mtok.ref("price", 0), "n/a" if price is None else price, "usd_mtok", "per M"),
    ]
    api = api_price(places, figures)
    if api is not None:
        lines.append(("The same requests at the API", api[0], api[1], "usd_mtok", "per M"))
    day = cell_here(row + len(lines), 1)
    lines += [
        ("Cost", places.cost_total, usd, "usd2", "per day"),
        ("", f"{day}*days_per_month", usd * DAYS_PER_MONTH, "usd0", "per month"),
        ("", f"{day}*days_per_year/quarters_per_year", year / QUARTERS_PER_YEAR, "usd0", "per quarter"),
        ("", f"{day}*days_per_year", year, "usd0", "per year"),
    ]
    for place, (label, text, value, style, unit) in enumerate(lines):
        sheet.text(row + place, 0, label, fmt=bold if place in {0, len(lines) - 4} else formats.plain())
        number = formats.custom(bold=True, num_format=formats.number(style)) if unit in {"per day", "per M"} else None
        sheet.formula(row + place, 1, f"={text}", value, style, fmt=number)
        sheet.text(row + place, 2, unit, fmt=formats.note())
    row += len(lines)
    racks = rack_rows(figures)
    for site in list(dict.fromkeys(item.site for item in racks))[:2]:
        mine = [place for place, item in enumerate(racks) if item.site == site]
        span = places.racks.span("racks", mine[0], mine[-1] + 1), places.racks.span("kw", mine[0], mine[-1] + 1)
        sheet.text(row, 0, f"Racks at {site.site}", fmt=formats.plain())
        sheet.formula(row, 1, f"=SUM({span[0]})", sum(racks[place].racks for place in mine), "int")
        _of(sheet, row, places, site, "racks", "racks")
        if row + 1 <= _BLOCK_TOP + _BLOCK_ROWS:
            sheet.text(row + 1, 0, f"Power at {site.site}", fmt=formats.plain())
            sheet.formula(row + 1, 1, f"=SUM({span[1]})", sum(racks[place].kw * racks[place].pue for place in mine), "n1")
            _of(sheet, row + 1, places, site, "total_kw", "kW")
        row += 2


def _of(sheet: PlanSheet, row: int, places: Places, site: Site, column: str, unit: str) -> None:
    """What a site has in all, beside what is used of it; the unit alone where that is not stated."""
    formats, limit = sheet.book.formats, getattr(site, column)
    if limit is None:
        sheet.text(row, 2, unit, fmt=formats.note())
        return
    fmt = formats.custom(
        num_format=f'"of "#,##0.##" {unit}"' if limit != int(limit) else f'"of "#,##0" {unit}"', font_color=CROSS_INK,
        italic=True, font_size=9, align="left",
    )
    sheet.formula(row, 2, f"={places.inputs.sites.ref(column, site.site)}", limit, "n1", fmt=fmt)


def api_price(places: Places, figures: Figures) -> tuple[str, float] | None:
    """Formula and value of $/M tokens, were every workload with a known API price served by its cheapest; None without any."""
    pairs = api_pairs(figures)
    if not pairs:
        return None
    usd = tokens = 0.0
    for pair in pairs:
        mine = [other for other in pairs if other.workload is pair.workload]
        if pair_price(figures, pair) == min(pair_price(figures, other) for other in mine):
            amount = sum(figures.demand(pair.workload, slot) * weight for slot, weight in enumerate(figures.weights))
            usd += pair_price(figures, pair) * amount
            tokens += amount
    if not tokens:
        return None
    grid = places.cost.pairs
    text = f"SUMPRODUCT({grid.span('best')}*{grid.span('usd')})/SUMPRODUCT({grid.span('best')}*{grid.span('mtok')})"
    return text, usd / tokens


def _proof(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    formats, plan = sheet.book.formats, figures.plan
    _head(sheet, _BLOCK_TOP, 3, 5, "Proof")
    row = _BLOCK_TOP + 1
    inner = formats.custom(indent=1)
    ended = "stopped, gap open" if plan.solver.stopped else "time limit, gap open"
    words = {"optimal": "proven optimal", "gap_open": ended}[plan.status]
    audit = figures.result.audit
    right = formats.custom(bold=True, align="right")
    sheet.text(row, 3, "Status", fmt=inner)
    sheet.text(row, 5, words, fmt=right)
    sheet.text(row + 1, 3, "No plan can cost less than", fmt=inner)
    sheet.formula(row + 1, 5, f"={places.claimed('bound')}", plan.bound_usd_per_day, "usd2")
    sheet.text(row + 2, 3, "Between plan and that", fmt=inner)
    between = plan.cost.total - plan.bound_usd_per_day
    sheet.formula(row + 2, 5, f"={places.claimed('cost')}-{places.claimed('bound')}", between, "usd2")
    sheet.text(row + 3, 3, "Gap", fmt=inner)
    sheet.formula(row + 3, 5, f"={places.claimed('gap')}", plan.gap_frac, "pct2")
    sheet.text(row + 4, 3, "Audit, apart from the solver", fmt=inner)
    sheet.text(row + 4, 5, "not run" if audit is None else "passed" if audit.ok else "FAILED", fmt=right)
    sheet.text(row + 5, 3, "Checks that hold", fmt=inner)
    rows = places.check_rows
    ok = places.checks.span("ok")
    sheet.formula(row + 5, 5, f"=SUMPRODUCT({ok}*1)", sum(check.ok for check in rows), "int")
    sheet.text(row + 6, 3, "of", fmt=inner)
    sheet.formula(row + 6, 5, f"=ROWS({ok})", len(rows), "int")
    note = textwrap.wrap(status_words(plan.status, plan.gap_frac, stopped=plan.solver.stopped), 44)
    for place, line in enumerate(note[:2]):
        sheet.text(row + 7 + place, 3, line, fmt=formats.custom(indent=1, italic=True, font_size=9, font_color="#5F6B73"))


def baseline_cells() -> dict[str, tuple[int, int]]:
    """Where the cost of each baseline stands, by its name: (row, column), 0-based."""
    return {key: (_BLOCK_TOP + 1 + place, 8) for place, key in enumerate(BASELINE_LABELS)}


def _baselines(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    formats = sheet.book.formats
    _head(sheet, _BLOCK_TOP, 6, len(_WIDTHS) - 1, "Instead of the plan")
    for col, label in ((8, "$/day"), (9, "more than plan")):
        sheet.text(
            _BLOCK_TOP, col, label, fmt=formats.custom(bold=True, font_color="#FFFFFF", bg_color=HEADER_FILL, align="right")
        )
    row = _BLOCK_TOP + 1
    inner = formats.custom(indent=1)
    right = formats.custom(align="right", italic=True, font_color="#5F6B73")
    for place, item in enumerate(compare_baselines(figures.plan)):
        sheet.text(row + place, 6, item.label, fmt=inner)
        if item.usd_per_day is None or item.more_usd_per_day is None:
            sheet.text(row + place, 8, "not possible", fmt=right)
            continue
        sheet.number(row + place, 8, item.usd_per_day, "usd2")
        text = f"={cell_here(row + place, 8)}-{places.claimed('cost')}"
        sheet.formula(row + place, 9, text, item.more_usd_per_day, "usd2")
    sheet.text(
        row + 4,
        6,
        "Same rules and prices as the plan, solved to a gap of 1 %.",
        fmt=formats.custom(indent=1, italic=True, font_size=9, font_color="#5F6B73"),
    )


def _peak(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """Highest demand, and highest need with headroom, under the baselines."""
    formats, pools = sheet.book.formats, places.pools.hours.values()
    slices = range(len(figures.slices))
    for place, (label, key) in enumerate((("Peak demand", "demand"), ("Most needed, with headroom", "need"))):
        row = _BLOCK_TOP + 7 + place
        sheet.text(row, 6, label, fmt=formats.custom(indent=1))
        most = max(sum(getattr(hours[slot], key) for hours in pools) for slot in slices)
        sheet.formula(row, 8, f"=MAX({places.hourly.span(key)})", most, "int")
        sheet.text(row, 9, "tok/s", fmt=formats.note())


def _mix(sheet: PlanSheet, places: Places, figures: Figures, top: int) -> int:
    """The buy list in short; returns the next free row."""
    formats = sheet.book.formats
    heads = (
        ("Buy and use", "text"),
        ("Type", "text"),
        ("GPU", "text"),
        ("Nodes (elastic: most in an hour)", "int"),
        ("GPUs", "int"),
        ("Term, months", "int"),
        ("Order by", "date"),
        ("$/node-hour, all-in", "usd2"),
        ("$/day", "usd2"),
        ("Share of cost", "pct"),
        ("From", "text"),
    )
    for col, (label, style) in enumerate(heads):
        sheet.text(top, col, label, fmt=formats.header(style, indent=1 if col == len(heads) - 1 else 0))
    sheet.raw.set_row(top, 30)
    purchases, cost = places.purchases, places.cost.offers
    total = figures.plan.cost.total
    order = sorted(range(len(figures.lines)), key=lambda place: -figures.lines[place].usd)
    apis = [(name, PURCHASE_LABELS["api"]) for name in places.cost.apis]
    apis += [(row.discount, PURCHASE_LABELS["discount"]) for row in figures.commitments]
    shown = sorted(order[: max(1, _MOST_LINES - len(apis))])
    row = top + 1
    for place in shown:
        line = figures.lines[place]
        sheet.formula(row, 0, f"={purchases.ref('offer', place)}", line.offer.offer, "text")
        sheet.formula(row, 1, f"={purchases.ref('purchase', place)}", PURCHASE_LABELS[line.offer.purchase], "text")
        sheet.formula(row, 2, f"={purchases.ref('gpu', place)}", line.node_type.gpu, "text")
        key, nodes = ("held", line.nodes_held) if line.offer.is_held else ("peak", max(line.used))
        sheet.formula(row, 3, f"={purchases.ref(key, place)}", nodes, "int")
        sheet.formula(row, 4, f"={purchases.ref('gpus', place)}", line.purchase.gpus, "int")
        if line.offer.term_months is not None:
            sheet.formula(row, 5, f"={purchases.ref('term', place)}", line.offer.term_months, "n1")
        ordered = line.purchase.order_by
        by: Any = places.order_date(line) if ordered else "held already"
        sheet.formula(row, 6, f"={purchases.ref('order_by', place)}", by, "date")
        paid = line.paid_node_hours
        text = f"=IF({purchases.ref('paid_h', place)}=0,0,{cost.ref('total', place)}/{purchases.ref('paid_h', place)})"
        sheet.formula(row, 7, text, line.usd / paid if paid else 0.0, "usd2")
        sheet.formula(row, 8, f"={cost.ref('total', place)}", line.usd, "usd2")
        sheet.formula(row, 9, f"={cost.ref('share', place)}", line.usd / total if total else 0.0, "pct")
        sheet.text(row, 10, ", ".join(part for part in (line.offer.provider, line.offer.region or line.offer.site) if part))
        row += 1
    for offset, (name, kind) in enumerate(apis):
        place = len(figures.lines) + offset
        usd = sum(item.usd_per_day for item in figures.plan.ledger.apis if item.api == name)
        usd += sum(item.usd_per_h * HOURS_PER_DAY for item in figures.commitments if item.discount == name)
        sheet.formula(row, 0, f"={cost.ref('name', place)}", name, "text")
        sheet.formula(row, 1, f"={cost.ref('kind', place)}", kind, "text")
        sheet.formula(row, 8, f"={cost.ref('total', place)}", usd, "usd2")
        sheet.formula(row, 9, f"={cost.ref('share', place)}", usd / total if total else 0.0, "pct")
        row += 1
    hidden = [place for place in order if place not in shown]
    if hidden:
        sheet.text(row, 0, f"and {len(hidden)} smaller, on Purchases", fmt=formats.note())
        text = "+".join(cost.ref("total", place) for place in sorted(hidden))
        sheet.formula(row, 8, f"={text}", sum(figures.lines[place].usd for place in hidden), "usd2")
        row += 1
    fmt = formats.cell("text", "total")
    for col in range(len(heads)):
        sheet.raw.write_blank(row, col, None, fmt)
    sheet.text(row, 0, "Total", fmt=fmt)
    span = range_ref(SUMMARY, top + 1, 8, row - 1, 8)
    sheet.formula(row, 8, f"=SUM({span.split('!')[1]})", total, "usd2", "total")
    gpus = range_ref(SUMMARY, top + 1, 4, row - 1, 4).split("!")[1]
    sheet.formula(row, 4, f"=SUM({gpus})", sum(figures.lines[place].purchase.gpus for place in shown), "int", "total")
    return row + 1


def _why(sheet: PlanSheet, figures: Figures, row: int) -> int:
    """Why each line is in the mix; returns the next free row."""
    formats = sheet.book.formats
    _head(sheet, row, 0, len(_WIDTHS) - 1, "Why this mix, as solved")
    reasons = figures.why[:_MOST_REASONS]
    for place, line in enumerate(reasons):
        words = textwrap.shorten(line.sentence, _REASON_CHARS, placeholder=" ...")
        sheet.text(row + 1 + place, 0, words, fmt=formats.custom(font_size=9))
    row += 1 + len(reasons)
    if len(figures.why) > len(reasons):
        sheet.text(row, 0, f"and {len(figures.why) - len(reasons)} more, on Purchases", fmt=formats.note())
        row += 1
    return row


def _charts(sheet: PlanSheet, places: Places, figures: Figures, row: int) -> int:
    """Capacity against demand, and cost by part; returns the next free row."""
    sheet.raw.insert_chart(
        row,
        0,
        capacity_chart(sheet, places, figures),
        {
            "x_offset": 2,
            "y_offset": 4,
            "object_position": 2,
            "description": "Stacked columns of capacity by purchase type in tokens per second for each hour, "
            "a black line of demand, a brown dashed line of need with headroom. Data: Hourly.",
        },
    )
    sheet.raw.insert_chart(
        row,
        7,
        cost_chart(sheet, places, figures),
        {
            "x_offset": 2,
            "y_offset": 4,
            "object_position": 2,
            "description": "Bars of cost per day by part of the bill: held, used, upfront, energy, rent, API. Data: Cost.",
        },
    )
    return row + 17


def _warnings(sheet: PlanSheet, warnings: Any, row: int) -> None:
    formats = sheet.book.formats
    groups = group_warnings(warnings)
    _head(sheet, row, 0, len(_WIDTHS) - 1, "To know before signing" if groups else "No warnings")
    shown = groups[:_MOST_WARNINGS]
    for place, group in enumerate(shown):
        more = f" ({group.number} of these, see Log)" if group.number > 1 else ""
        sheet.text(
            row + 1 + place, 0, group.code.replace("_", " ").capitalize(), fmt=formats.custom(bold=group.matters, font_size=9)
        )
        words = textwrap.shorten(group.first.message, 165 - len(more), placeholder=" ...")
        sheet.text(row + 1 + place, 1, words + more, fmt=formats.custom(font_size=9))
    rest = len(groups) - len(shown)
    if rest > 0:
        sheet.text(row + 1 + len(shown), 0, f"and {rest} more kinds of warnings on Log", fmt=formats.note())
