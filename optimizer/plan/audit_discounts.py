"""Discounts: commitments within their limits, and in every hour no more covered than is used or than the commitment pays."""

from __future__ import annotations

from collections import defaultdict

from optimizer.plan.index import PlanIndex

#: Commitments and covered nodes are continuous: off by the solver's feasibility tolerance at most.
SPEND_REL = 1e-6
SPEND_ABS = 1e-9


def _above(value: float, limit: float) -> bool:
    return value > limit + SPEND_REL * abs(limit) + SPEND_ABS


def check_discounts(index: PlanIndex) -> list[str]:
    """Every commitment lies between its minimum and maximum; covered nodes are used and paid out of it, hour by hour."""
    case, decision = index.case, index.decision
    rates = {(row.discount, row.offer): row.discounted_usd_per_node_h for row in case.discounts}
    committed = {row.discount: row.usd_per_h for row in decision.commitments}
    messages = []
    for name, usd_per_h in committed.items():
        rows = [row for row in case.discounts if row.discount == name]
        least = max(row.min_commit_usd_per_h for row in rows)
        most = min((row.max_commit_usd_per_h for row in rows if row.max_commit_usd_per_h is not None), default=None)
        if usd_per_h > 0 and _above(least, usd_per_h):
            messages.append(f"discount {name}: {usd_per_h:.6g} $/h committed, {least - usd_per_h:.6g} under min_commit_usd_per_h")
        if most is not None and _above(usd_per_h, most):
            messages.append(f"discount {name}: {usd_per_h:.6g} $/h committed, {usd_per_h - most:.6g} over max_commit_usd_per_h")
    nodes: dict[tuple[str, int, str], float] = defaultdict(float)
    spent: dict[tuple[str, int, str], float] = defaultdict(float)
    for row in decision.covered:
        nodes[row.day_type, row.hour, row.offer] += row.nodes
        spent[row.day_type, row.hour, row.discount] += row.nodes * rates[row.discount, row.offer]
    for (day_type, hour, offer), count in nodes.items():
        used = index.used.get((day_type, hour), {}).get(offer, 0)
        if _above(count, used):
            messages.append(f"discount on offer {offer}, {day_type} hour {hour}: {count:.6g} nodes covered, {used} used")
    for (day_type, hour, name), usd in spent.items():
        if _above(usd, committed.get(name, 0.0)):
            paid = committed.get(name, 0.0)
            messages.append(f"discount {name}, {day_type} hour {hour}: {usd:.6g} $/h of nodes covered, {paid:.6g} committed")
    return messages
