"""A decision turned into a plan: cost, proof, $/M tokens, buy list, sites and the margin of every bad day."""

from __future__ import annotations

import datetime
import math
from collections import defaultdict

from optimizer.candidates.offers import nodes_per_rack
from optimizer.candidates.option import Candidates
from optimizer.domain.case import Case
from optimizer.domain.market import Offer
from optimizer.plan.audit_badday import replay_bad_days
from optimizer.plan.index import PlanIndex
from optimizer.plan.ledger import build_ledger, gpus_of_replica, ledger_parts
from optimizer.plan.plan import (
    Baselines,
    ContingencyMargin,
    CostLedger,
    CostParts,
    Decision,
    Plan,
    Purchase,
    SiteUse,
    SolveOutcome,
    UsdPerMtok,
)
from optimizer.units import DAYS_PER_WEEK, ceil_hedged, mtok_per_hour

#: A bound above the cost by less than this share of it is rounding in the solver, not a contradiction: the gap is then 0.
GAP_NOISE_REL = 1e-6


def price_plan(case: Case, candidates: Candidates, outcome: SolveOutcome, baselines: Baselines) -> Plan:
    """Everything the report shows of a solved case. Money comes from the decision; the solver's objective is not read.

    Raises ValueError where the outcome holds no decision or no bound, or the bound lies above the cost by more than rounding.
    """
    if outcome.decision is None or outcome.bound_usd_per_day is None:
        raise ValueError(f"an outcome that is {outcome.status} holds no plan to price")
    decision = outcome.decision
    ledger = build_ledger(case, candidates, decision)
    cost = ledger_parts(ledger)
    return Plan(
        status=outcome.status,
        decision=decision,
        cost=cost,
        bound_usd_per_day=outcome.bound_usd_per_day,
        gap_frac=gap_frac(cost.total, outcome.bound_usd_per_day),
        output_mtok_per_day=forecast_mtok_per_day(case),
        usd_per_mtok=usd_per_mtok(case, candidates, decision, cost),
        purchases=purchases(case, decision, ledger),
        sites=site_uses(case, decision),
        margins=tightest_margins(case, candidates, decision),
        baselines=baselines,
        solver=outcome.solver,
        ledger=ledger,
    )


def gap_frac(cost_usd_per_day: float, bound_usd_per_day: float) -> float:
    """(cost - bound) / cost; 0 where the cost is 0 or the bound is above it by rounding. ValueError where it is above by more."""
    if bound_usd_per_day > cost_usd_per_day + GAP_NOISE_REL * max(1.0, abs(cost_usd_per_day)):
        raise ValueError(f"the bound {bound_usd_per_day!r} is above the cost {cost_usd_per_day!r}")
    if cost_usd_per_day <= 0:
        return 0.0
    return max(0.0, (cost_usd_per_day - bound_usd_per_day) / cost_usd_per_day)


def forecast_mtok_per_day(case: Case) -> float:
    """All forecast output tokens of an average day, in millions."""
    return math.fsum(
        piece.weight * mtok_per_hour(workload.demand_on(piece.day_type).output_tps[piece.hour])
        for workload in case.workloads
        for piece in case.slices
    )


def usd_per_mtok(case: Case, candidates: Candidates, decision: Decision, cost: CostParts) -> UsdPerMtok:
    """$/M output tokens with its four denominators (INPUTS, "$/M tokens"); sums over the day, never means of hourly figures."""
    weights = {(piece.day_type, piece.hour): piece.weight for piece in case.slices}
    fleet_mtok = math.fsum(
        weights[load.day_type, load.hour] * mtok_per_hour(load.firm_tps + load.spot_tps) for load in decision.loads
    )
    api_mtok = math.fsum(weights[row.day_type, row.hour] * mtok_per_hour(row.tps) for row in decision.overflows)
    fleet_usd = cost.total - cost.api
    return UsdPerMtok(
        forecast=_ratio(cost.total, forecast_mtok_per_day(case)),
        fleet=_ratio(fleet_usd, fleet_mtok),
        api=_ratio(cost.api, api_mtok),
        full_goodput=_ratio(fleet_usd, full_goodput_mtok_per_day(case, candidates, decision)),
    )


def _ratio(usd: float, mtok: float) -> float | None:
    return usd / mtok if mtok > 0 else None


def full_goodput_mtok_per_day(case: Case, candidates: Candidates, decision: Decision) -> float:
    """Output tokens of an average day, in millions, had every paid GPU-hour run at the goodput of its node type's options.

    Per node type: paid GPU-hours x sum(replica-hours x goodput) / sum(replica-hours x GPUs per replica), over the options that
    run there. Goodput of an option = its tok/s over the replica time they take: sum(load) / sum(load / output_tps); an option
    that only ever stands by counts with equal parts of its workloads. A node type that nothing runs on adds nothing.
    """
    weights = {(piece.day_type, piece.hour): piece.weight for piece in case.slices}
    options = {(option.pool, option.option): option for option in candidates.options}
    pool_of = {workload.workload: workload.pool for workload in case.workloads}

    served: dict[tuple[str, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for load in decision.loads:
        tokens = weights[load.day_type, load.hour] * (load.firm_tps + load.spot_tps)
        served[pool_of[load.workload], load.option][load.workload] += tokens
    replica_hours: dict[tuple[str, str], float] = defaultdict(float)
    for row in decision.replicas:
        replica_hours[row.pool, row.option] += weights[row.day_type, row.hour] * row.total

    tps_hours: dict[str, float] = defaultdict(float)
    gpu_hours: dict[str, float] = defaultdict(float)
    for key, hours in replica_hours.items():
        option = options[key]
        shares = {name: tokens for name, tokens in served[key].items() if tokens > 0}
        shares = shares or {point.workload: 1.0 for point in option.points}
        goodput = {point.workload: point.output_tps for point in option.points}
        goodput_tps = math.fsum(shares.values()) / math.fsum(share / goodput[name] for name, share in shares.items())
        tps_hours[option.node_type] += hours * goodput_tps
        gpu_hours[option.node_type] += hours * gpus_of_replica(option)
    return math.fsum(
        mtok_per_hour(paid * tps_hours[node_type] / gpu_hours[node_type])
        for node_type, paid in paid_gpu_hours(case, decision).items()
        if gpu_hours[node_type] > 0
    )


def paid_gpu_hours(case: Case, decision: Decision) -> dict[str, float]:
    """GPU-hours paid for in an average day, per node type: held ones used or not, others when used."""
    weights = {(piece.day_type, piece.hour): piece.weight for piece in case.slices}
    gpus_per_node = {row.node_type: row.gpus_per_node for row in case.node_types}
    paid: dict[str, float] = defaultdict(float)
    for row in decision.nodes_new:
        offer = case.offer(row.offer)
        paid[offer.node_type] += (row.nodes_new + row.nodes_existing) * gpus_per_node[offer.node_type] * len(offer.hours)
    for use in decision.node_uses:
        offer = case.offer(use.offer)
        if not offer.is_held:
            paid[offer.node_type] += weights[use.day_type, use.hour] * use.used * gpus_per_node[offer.node_type]
    return paid


def order_by(offer: Offer, start_date: datetime.date) -> datetime.date:
    """Last day to order: start_date - 7 x lead_weeks, on the whole day before where that falls inside a day."""
    return start_date - datetime.timedelta(days=ceil_hedged(DAYS_PER_WEEK * offer.lead_weeks))


def purchases(case: Case, decision: Decision, ledger: CostLedger) -> tuple[Purchase, ...]:
    """The buy list: every offer of which nodes are held or used, in the order of the case, with all that it costs."""
    weights = {(piece.day_type, piece.hour): piece.weight for piece in case.slices}
    new = {row.offer: row.nodes_new for row in decision.nodes_new}
    existing = {row.offer: row.nodes_existing for row in decision.nodes_new}
    usd: dict[str, list[float]] = defaultdict(list)
    for line in ledger.offers:
        usd[line.offer].append(line.usd_per_day)
    node_hours: dict[str, list[float]] = defaultdict(list)
    peak: dict[str, int] = defaultdict(int)
    for use in decision.node_uses:
        node_hours[use.offer].append(weights[use.day_type, use.hour] * use.used)
        peak[use.offer] = max(peak[use.offer], use.used)
    lines = []
    for offer in case.offers:
        nodes_new, nodes_existing = new.get(offer.offer, 0), existing.get(offer.offer, 0)
        if not (nodes_new or nodes_existing or peak[offer.offer]):
            continue
        node_type = case.node_type(offer.node_type)
        nodes = nodes_new + nodes_existing if offer.is_held else peak[offer.offer]
        orders = nodes_new > 0 or not offer.is_held
        lines.append(
            Purchase(
                offer=offer.offer,
                purchase=offer.purchase,
                node_type=offer.node_type,
                gpu=node_type.gpu,
                provider=offer.provider or "",
                region=offer.region or "",
                site=offer.site or "",
                nodes_new=nodes_new,
                nodes_existing=nodes_existing,
                gpus=nodes * node_type.gpus_per_node,
                term_months=offer.term_months,
                upfront_usd=nodes_new * offer.upfront_usd_per_node if offer.is_held else 0.0,
                node_hours_used_per_day=math.fsum(node_hours[offer.offer]),
                peak_nodes_used=peak[offer.offer],
                usd_per_day=math.fsum(usd[offer.offer]),
                order_by=order_by(offer, case.policy.start_date).isoformat() if orders else None,
            )
        )
    return tuple(lines)


def site_uses(case: Case, decision: Decision) -> tuple[SiteUse, ...]:
    """Nodes held, racks and kW at every site where the plan holds nodes.

    Racks hold one node type each; a type takes ceil(nodes / nodes per rack), one rack where no limit per rack is stated.
    ValueError where held nodes fit no rack at all, or have no node_kw.
    """
    held: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in decision.nodes_new:
        offer = case.offer(row.offer)
        nodes = row.nodes_new + row.nodes_existing
        if offer.site and nodes:
            held[offer.site][offer.node_type] += nodes
    uses = []
    for site in case.sites:
        if site.site not in held:
            continue
        racks, kw = 0, 0.0
        for name, nodes in held[site.site].items():
            node_type = case.node_type(name)
            if node_type.node_kw is None:
                raise ValueError(f"node type {name} stands at site {site.site} and has no node_kw")
            per_rack = nodes_per_rack(site, node_type)
            if per_rack == 0:
                raise ValueError(f"no node of type {name} fits a rack of site {site.site}")
            racks += math.ceil(nodes / per_rack) if per_rack else 1
            kw += nodes * node_type.node_kw * (1.0 if site.pue is None else site.pue)
        uses.append(SiteUse(site=site.site, nodes=sum(held[site.site].values()), racks=racks, kw=kw))
    return tuple(uses)


def tightest_margins(case: Case, candidates: Candidates, decision: Decision) -> tuple[ContingencyMargin, ...]:
    """The tightest hour of each contingency for each pool it binds in (the first of equals); in the order of the case."""
    tightest: dict[tuple[str, str], ContingencyMargin] = {}
    for replayed in replay_bad_days(PlanIndex(case, candidates, decision)):
        key = (replayed.contingency, replayed.pool)
        best = tightest.get(key)
        if best is None or replayed.margin_tps < best.margin_tps:
            tightest[key] = ContingencyMargin(
                contingency=replayed.contingency,
                pool=replayed.pool,
                day_type=replayed.day_type,
                hour=replayed.hour,
                margin_tps=replayed.margin_tps,
            )
    order = [(row.contingency, pool.pool) for row in case.contingencies for pool in case.pools]
    return tuple(tightest[key] for key in order if key in tightest)
