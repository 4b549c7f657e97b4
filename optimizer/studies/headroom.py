"""What headroom costs: the least cost of the case without each rule that keeps capacity spare."""

from __future__ import annotations

from optimizer.domain.case import Case
from optimizer.studies.limits_service import service_limits
from optimizer.studies.lp import LpPrices
from optimizer.studies.resolve import Clock, Reference
from optimizer.studies.worth import Worth, price_changes


def cost_of_headroom(case: Case, reference: Reference, clock: Clock, lp: LpPrices | None = None) -> tuple[Worth, ...]:
    """Each bad day dropped, occupancy (or what may wait) and burst at 1, rollout, live minimum and look-ahead at 0, one by one.

    usd_per_day of a row is what the cost changes by without the rule; what the rule costs is the same with the sign turned.
    Rules taken away together may save more, or less, than the sum of the rows.
    """
    rules = [limit for limit in service_limits(case) if limit.headroom]
    changes = [(rule, rule.free, rule.words(rule.free)) for rule in rules]
    return price_changes(case, changes, reference, clock, lp, removed=True)
