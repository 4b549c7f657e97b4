"""The short human summary for the terminal: plain text lines, no escape codes, no width assumed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from optimizer.plan.plan import Plan
from optimizer.report.result import PlanResult
from optimizer.report.words import (
    LP_NOTE,
    PURCHASE_LABELS,
    compare_baselines,
    group_warnings,
    money,
    percent,
    status_words,
    within_words,
)

if TYPE_CHECKING:
    from optimizer.studies.entry import EntryPrice
    from optimizer.studies.worth import Worth

#: So many other warnings are named besides those that belong on the first page; the rest is counted.
OTHER_WARNINGS_SHOWN = 3


def summary_lines(result: PlanResult) -> list[str]:
    """What a person at a terminal needs to know of the run, in the order in which they ask."""
    if result.plan is None:
        return _without_plan(result)
    plan = result.plan
    currency = result.case.policy.currency if result.case else "USD"
    lines = [status_words(plan.status, plan.gap_frac, stopped=plan.solver.stopped), ""]
    lines += _mix(plan, currency)
    lines += ["", f"{money(plan.cost.total, currency)}/day, {within_words(plan, currency)}"]
    lines += _per_mtok(plan, currency)
    lines += _sites(plan)
    lines += _baselines(plan, currency)
    lines += _why(result)
    lines += _explained(result, currency)
    lines += _warnings(result)
    if result.run.output:
        lines += ["", f"Workbook: {result.run.output}"]
    return lines


def _why(result: PlanResult) -> list[str]:
    from optimizer.studies.why import why_lines

    if result.plan is None or result.case is None or result.candidates is None:
        return []
    rows = why_lines(result.case, result.candidates, result.plan)
    return ["", "Why this mix:", *(f"  {row.sentence}" for row in rows)] if rows else []


def _explained(result: PlanResult, currency: str) -> list[str]:
    """What was solved again, where it was asked for."""
    explanation = result.explanation
    if explanation is None:
        return []
    lines = []
    tables: tuple[tuple[str, tuple[Worth, ...]], ...] = (
        ("One more unit of a limit:", explanation.worth), ("Without a rule of headroom:", explanation.headroom),
    )
    for heading, rows in tables:
        if rows:
            lines += ["", heading]
        for row in rows:
            change = row.found if row.usd_per_day is None else _change(row.usd_per_day, currency)
            lines.append(f"  {row.words}: {change}{_by_lp(row)}")
    joining = [row for row in explanation.entry if row.entry_usd_per_node_h]
    if joining:
        lines += ["", "What is left out would join:"]
    for entry in joining:
        at, now = money(entry.entry_usd_per_node_h or 0.0, currency), money(entry.usd_per_node_h, currency)
        more = " or more" if entry.found == "at least" else ""
        joins = f"at {at}{more} a node-hour instead of {now}"
        if entry.factor is not None and entry.factor >= 1:
            joins = f"at its list price of {now} a node-hour already"
        lines.append(f"  {entry.name}: {joins}{_by_lp(entry)}")
    told: list[Worth | EntryPrice] = [*explanation.worth, *explanation.headroom, *explanation.entry]
    if any(_by_lp(row) for row in told):
        lines += ["", LP_NOTE]
    return lines


def _by_lp(row: Worth | EntryPrice) -> str:
    from optimizer.studies.lp import LP_PRICE

    return f" ({LP_PRICE})" if row.found == LP_PRICE else ""


def _change(usd_per_day: float, currency: str) -> str:
    if usd_per_day == 0:
        return "costs the same"
    return f"{money(abs(usd_per_day), currency)}/day {'less' if usd_per_day < 0 else 'more'}"


def _without_plan(result: PlanResult) -> list[str]:
    stopped = result.run.solver is not None and result.run.solver.stopped
    lines = [status_words(result.status, stopped=stopped)]
    if result.status == "no_plan" and result.bound_usd_per_day is not None:
        longer = "Give it more time." if stopped else "Raise --time-limit."
        lines.append(f"No plan can cost less than {money(result.bound_usd_per_day)}/day. {longer}")
    for row in result.infeasible:
        at = [part for part in (row.pool, row.site, row.day_type) if part]
        if row.hour is not None:
            at.append(f"{row.hour:02d}:00")
        place = f" ({', '.join(at)})" if at else ""
        lines.append(f"  {row.limit}{place}: {row.missing:,.6g} {row.unit} missing")
        if row.relaxation:
            cost = "" if row.usd_per_day is None else f", {money(row.usd_per_day)}/day"
            lines.append(f"    would work: {row.relaxation}{cost}")
    lines += [f"  {problem.sentence()}" for problem in result.errors]
    return lines + _warnings(result)


def _mix(plan: Plan, currency: str) -> list[str]:
    rows: list[list[str]] = []
    for line in plan.purchases:
        nodes = line.nodes_new + line.nodes_existing
        shown = f"{nodes}" if nodes else f"up to {line.peak_nodes_used}"
        if line.nodes_existing and line.nodes_new:
            shown = f"{nodes} ({line.nodes_new} new)"
        elif line.nodes_existing:
            shown = f"{nodes} (held already)"
        rows.append(
            [
                line.offer,
                PURCHASE_LABELS[line.purchase],
                shown,
                line.gpu,
                f"{line.gpus:,}",
                money(line.usd_per_day, currency),
                line.order_by or "",
            ]
        )
    for api in dict.fromkeys(flow.api for flow in plan.ledger.apis):
        flows = [flow for flow in plan.ledger.apis if flow.api == api]
        usd, mtok = sum(flow.usd_per_day for flow in flows), sum(flow.mtok_per_day for flow in flows)
        rows.append([api, PURCHASE_LABELS["api"], f"{mtok:,.3g} M tok/day", "", "", money(usd, currency), ""])
    for bought in plan.ledger.discounts:
        rows.append([bought.discount, PURCHASE_LABELS["discount"], "", "", "", money(bought.usd_per_day, currency), ""])
    header = ["Offer", "Type", "Nodes", "GPU", "GPUs", "$/day" if currency == "USD" else f"{currency}/day", "Order by"]
    return _columns(header, rows, right={4, 5})


def _columns(header: Sequence[str], rows: Sequence[Sequence[str]], right: set[int]) -> list[str]:
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    lines = []
    for row in (header, *rows):
        cells = [
            text.rjust(width) if column in right else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _per_mtok(plan: Plan, currency: str) -> list[str]:
    price = plan.usd_per_mtok
    tokens = f"{plan.output_mtok_per_day:,.6g} M output tokens/day"
    lines = []
    if price.forecast is not None:
        lines.append(f"{money(price.forecast, currency)}/M output tokens of the forecast ({tokens})")
    parts = []
    if price.fleet is not None:
        parts.append(f"fleet {money(price.fleet, currency)}/M tokens it serves")
    if price.api is not None:
        parts.append(f"API {money(price.api, currency)}/M tokens it serves")
    if price.full_goodput is not None:
        parts.append(f"{money(price.full_goodput, currency)}/M if every paid GPU-hour ran at full goodput")
    if parts:
        lines.append("  " + "; ".join(parts))
    return lines


def _sites(plan: Plan) -> list[str]:
    return [f"Site {use.site}: {use.nodes} nodes, {use.racks} racks, {use.kw:,.1f} kW" for use in plan.sites]


def _baselines(plan: Plan, currency: str) -> list[str]:
    rows = compare_baselines(plan)
    if all(row.usd_per_day is None for row in rows):
        return []
    lines = ["", "Against what people do without a plan:"]
    for row in rows:
        if row.usd_per_day is None or row.more_usd_per_day is None:
            lines.append(f"  {row.label}: not possible")
            continue
        more = f"{money(abs(row.more_usd_per_day), currency)}/day {'more' if row.more_usd_per_day >= 0 else 'less'}"
        share = f" ({percent(abs(row.more_usd_per_day) / plan.cost.total)})" if plan.cost.total > 0 else ""
        lines.append(f"  {row.label}: {money(row.usd_per_day, currency)}/day, {more}{share}")
    return lines


def _warnings(result: PlanResult) -> list[str]:
    groups = group_warnings(result.warnings)
    if not groups:
        return []
    shown = [group for group in groups if group.matters]
    others = [group for group in groups if not group.matters]
    shown += others[:OTHER_WARNINGS_SHOWN]
    hidden = sum(group.number for group in others[OTHER_WARNINGS_SHOWN:])
    lines = ["", "Warnings:"] + [f"  {group.words()}" for group in shown]
    if hidden:
        lines.append(f"  ... and {hidden} more, all in the workbook's Log")
    return lines
