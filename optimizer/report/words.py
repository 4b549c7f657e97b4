"""How the report puts figures and outcomes into words: money, status, warnings that belong on the first page, baselines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from optimizer.errors import Problem
from optimizer.plan.plan import Plan, Status

PURCHASE_LABELS = {
    "owned": "Owned",
    "reserved": "Reserved",
    "flex": "Flex",
    "on_demand": "On-demand",
    "spot": "Spot",
    "api": "API",
    "discount": "Commitment",
}

BASELINE_LABELS = {
    "all_api": "Everything from the API",
    "all_on_demand": "Everything on demand",
    "reserved_at_peak": "Reserve for the peak",
    "reserved_at_trough": "Reserve the trough, rest on demand",
}

#: What an LP price is, wherever one is shown.
LP_NOTE = (
    "LP price: what the change is worth in the program without whole numbers, for small changes; no proof. Its rows were not "
    "solved again, as the program is too large for that or the time ran out."
)

#: How a search ended that Ctrl-C ended.
STOPPED = "Stopped by the user"

#: Warnings that a reader of the first page must know, most serious first.
FIRST_PAGE_CODES = (
    "GOODPUT_ESTIMATED",
    "SHAPE_LIGHTER",
    "MEASURED_BUT_DOES_NOT_FIT",
    "GOODPUT_CONDITIONS_UNKNOWN",
    "LATENCY_STAT_UNKNOWN",
    "OCCUPANCY_ONE",
    "SPOT_COUNTED_FIRM",
    "SUPPLY_UNKNOWN",
    "ONE_DAY_FOR_TERM",
    "API_LIMIT_UNKNOWN",
    "ENERGY_FREE",
    "PRICE_STALE",
    "PRICE_UNDATED",
)


def currency_sign(currency: str) -> str:
    """What stands before an amount: `$` for USD, else the code and a blank.

    >>> currency_sign("USD"), currency_sign("eur")
    ('$', 'EUR ')
    """
    return "$" if currency.strip().upper() == "USD" else f"{currency.strip().upper()} "


def money(amount: float, currency: str = "USD", digits: int = 2) -> str:
    """An amount with its currency and thousands separators.

    >>> money(3360), money(-12.5), money(1234567.891, "EUR", 0)
    ('$3,360.00', '-$12.50', 'EUR 1,234,568')
    """
    rounded = f"{abs(amount):,.{digits}f}"
    negative = amount < 0 and any(digit in "123456789" for digit in rounded)
    return f"{'-' if negative else ''}{currency_sign(currency)}{rounded}"


def count(number: float, noun: str, plural: str = "") -> str:
    """A number with its noun in the right form.

    >>> count(1, "node"), count(7, "node"), count(2.5, "month")
    ('1 node', '7 nodes', '2.5 months')
    """
    shown = f"{number:,.0f}" if number == int(number) else f"{number:,g}"
    return f"{shown} {noun if number == 1 else plural or noun + 's'}"


def status_words(status: Status, gap: float | None = None, *, stopped: bool = False) -> str:
    """The status as a sentence. A search that ended early is never called optimal. stopped: a user ended it, not the time limit.

    >>> status_words("gap_open", 0.25, stopped=True)
    'Stopped by the user: a plan that works, but a plan up to 25 % cheaper may exist.'
    """
    ended = STOPPED if stopped else "Time limit reached"
    if status == "optimal":
        return f"Proven: no plan is cheaper by more than {percent(gap)}." if gap else "Proven: no plan is cheaper."
    if status == "gap_open":
        return f"{ended}: a plan that works, but a plan up to {percent(gap or 0.0)} cheaper may exist."
    if status == "no_plan":
        return f"{ended} before any plan was found; nothing was written."
    if status == "infeasible":
        return "No plan meets every limit."
    return "The input was refused."


def percent(share: float) -> str:
    """A share in percent, with digits enough to tell it from 0.

    >>> percent(0.001), percent(0.0), percent(0.25), percent(0.00004), percent(1e-9)
    ('0.1 %', '0 %', '25 %', '0.004 %', 'less than 0.001 %')
    """
    value = 100 * share
    if value == 0:
        return "0 %"
    if abs(value) < 0.001:
        return "less than 0.001 %"
    return f"{value:.2g} %" if abs(value) < 10 else f"{value:.0f} %"


@dataclass(frozen=True)
class WarningGroup:
    """All warnings of one code: the first of them, how many there are, and whether they belong on the first page."""

    code: str
    first: Problem
    number: int
    matters: bool

    def words(self) -> str:
        """One line: where, what, and how many more like it."""
        more = f" (and {self.number - 1} more like it)" if self.number > 1 else ""
        return f"{self.first.sentence()}{more}"


def group_warnings(warnings: Iterable[Problem]) -> tuple[WarningGroup, ...]:
    """Warnings by code, those of the first page first in their order, the others in the order of appearance."""
    groups: dict[str, list[Problem]] = {}
    for problem in warnings:
        groups.setdefault(problem.code, []).append(problem)
    listed = [code for code in FIRST_PAGE_CODES if code in groups]
    listed += [code for code in groups if code not in FIRST_PAGE_CODES]
    return tuple(WarningGroup(code, groups[code][0], len(groups[code]), code in FIRST_PAGE_CODES) for code in listed)


@dataclass(frozen=True)
class Comparison:
    """One baseline beside the plan: its cost and how much more it costs, $/day; None = impossible."""

    label: str
    usd_per_day: float | None
    more_usd_per_day: float | None


def compare_baselines(plan: Plan) -> tuple[Comparison, ...]:
    """What people would do without the plan, in a fixed order."""
    cost = plan.cost.total
    rows = []
    for key, label in BASELINE_LABELS.items():
        usd = getattr(plan.baselines, key)
        rows.append(Comparison(label, usd, None if usd is None else usd - cost))
    return tuple(rows)


def decision_sentences(plan: Plan, currency: str) -> tuple[str, str]:
    """The decision in two sentences, from its numbers: what to hold and use, and what it costs against the best possible."""
    parts = []
    for kind, verb in (("owned", "buy"), ("reserved", "reserve"), ("flex", "take as flex")):
        lines = [line for line in plan.purchases if line.purchase == kind]
        for words, key in ((verb, "nodes_new"), ("keep", "nodes_existing")):
            nodes = _by_gpu((line.gpu, getattr(line, key)) for line in lines)
            if nodes:
                parts.append(f"{words} {nodes}" + (" already under contract" if key == "nodes_existing" else ""))
    for kind, words in (("on_demand", "on demand"), ("spot", "on spot")):
        nodes = _by_gpu((line.gpu, line.peak_nodes_used) for line in plan.purchases if line.purchase == kind)
        if nodes:
            parts.append(f"use up to {nodes} {words}")
    committed = sum(line.usd_per_day for line in plan.ledger.discounts)
    if committed:
        parts.append(f"commit to {money(committed, currency)} a day at discounted prices")
    api_mtok = sum(line.mtok_per_day for line in plan.ledger.apis)
    if api_mtok:
        share = api_mtok / plan.output_mtok_per_day if plan.output_mtok_per_day else 0.0
        parts.append(f"send {percent(share)} of output tokens to an API")
    what = _join(parts) if parts else "nothing needs to be bought"
    price = plan.usd_per_mtok.forecast
    per_mtok = "" if price is None else f", {money(price, currency)} per million forecast output tokens"
    cost = f"It costs {money(plan.cost.total, currency)} a day{per_mtok}, {within_words(plan, currency)}."
    return what[0].upper() + what[1:] + ".", cost


def within_words(plan: Plan, currency: str) -> str:
    """`within $x/day of the best possible`, from cost and proven bound."""
    between = max(0.0, plan.cost.total - plan.bound_usd_per_day)
    return f"within {money(between, currency)}/day of the best possible"


def _by_gpu(nodes: Iterable[tuple[str, int]]) -> str:
    """`2 B200 and 1 H100 node`, summed by GPU; "" where there are none."""
    total: dict[str, int] = {}
    for gpu, number in nodes:
        total[gpu] = total.get(gpu, 0) + number
    found = [f"{number:,} {gpu}" for gpu, number in total.items() if number]
    if not found:
        return ""
    return f"{_join(found)} {'node' if sum(total.values()) == 1 else 'nodes'}"


def _join(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
