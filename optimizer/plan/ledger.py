"""The cost ledger: every dollar of a decision, by offer and part, by API and workload, by pool and GPU generation.

Rules of INPUTS, "Money": held offers pay in every hour of their window for new and existing nodes alike; every offer pays
used_usd_per_node_h / effective_frac per node used; upfront is spread over the term; sites add energy (nodes used) and rent
(nodes held). A discount is a commitment in $/h, paid in every hour; nodes that it covers do not pay their use price. All figures
are for an average day of the horizon: slice weights sum to 24 hours.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import fsum

from optimizer.candidates.option import Candidates, Option
from optimizer.domain.case import Case
from optimizer.domain.market import ApiPrice, Offer
from optimizer.domain.workload import Workload
from optimizer.plan.plan import ApiCost, CostLedger, CostParts, Decision, DiscountCost, OfferCost, PoolCost
from optimizer.units import DAYS_PER_MONTH, HOURS_PER_DAY, mtok_per_hour, upfront_usd_per_day, usd_per_h_of_tps

#: The "pool" that pays for nodes held and not used.
IDLE = "idle"
#: The "GPU" of API overflow in the cost by pool.
API = "API"

NODE_PARTS = ("held", "used", "upfront", "energy", "site")


@dataclass(frozen=True)
class NodeRates:
    """What one node of an offer costs. `*_per_day`: per node held and day; `*_per_h`: per node used and hour."""

    held_per_day: float
    upfront_per_day: float
    site_per_day: float
    used_per_h: float
    energy_per_h: float

    @property
    def holding_per_day(self) -> float:
        """All that is paid for a node held, used or not."""
        return self.held_per_day + self.upfront_per_day + self.site_per_day

    @property
    def using_per_h(self) -> float:
        """All that is paid besides for each hour a node is used."""
        return self.used_per_h + self.energy_per_h


def node_rates(case: Case, offer: Offer) -> NodeRates:
    """Rates of one node of an offer (INPUTS, "Money").

    Raises ValueError where the case lacks a figure that the loader refuses to go without (term of an upfront payment, node_kw of
    a node type at a site, pue where energy is priced).
    """
    held_per_day = upfront_per_day = site_per_day = energy_per_h = 0.0
    if offer.is_held:
        held_per_day = offer.held_usd_per_node_h * len(offer.hours)
        if offer.upfront_usd_per_node:
            if not offer.term_months:
                raise ValueError(f"offer {offer.offer} has an upfront payment and no term to spread it over")
            upfront_per_day = upfront_usd_per_day(offer.upfront_usd_per_node, offer.term_months)
    if offer.site:
        site = case.site(offer.site)
        node_kw = case.node_type(offer.node_type).node_kw
        if node_kw is None:
            raise ValueError(f"offer {offer.offer} stands at site {offer.site} and node type {offer.node_type} has no node_kw")
        if offer.is_held:
            site_per_day = site.usd_per_kw_month * node_kw / DAYS_PER_MONTH
        if site.usd_per_kwh:
            if site.pue is None:
                raise ValueError(f"site {site.site} prices energy and has no pue")
            energy_per_h = node_kw * site.pue * site.usd_per_kwh
    return NodeRates(held_per_day, upfront_per_day, site_per_day, offer.used_usd_per_node_h / offer.effective_frac, energy_per_h)


def api_usd_per_mtok(api: ApiPrice, workload: Workload, day_type: str, hour: int) -> float:
    """Price of a million output tokens at an API, its input tokens included.

    output + i x ((1 - hit) x input + hit x cached), i = input per output token of that hour. Raises ValueError where input is
    priced and the workload states no input.
    """
    ratio = workload.input_per_output(day_type, hour)
    hit = workload.prefix_hit_frac
    input_usd = (1.0 - hit) * api.input_usd_per_mtok + hit * api.cached_input_usd_per_mtok
    if ratio is None:
        if input_usd > 0:
            raise ValueError(f"API {api.api} prices input and workload {workload.workload} states none")
        return api.output_usd_per_mtok
    return api.output_usd_per_mtok + ratio * input_usd


def gpus_of_replica(option: Option) -> float:
    """GPUs that one replica takes: its share of a GPU where several were measured on one."""
    return option.gpus_per_replica / max((point.row.replicas_per_gpu for point in option.points), default=1)


def price_decision(case: Case, candidates: Candidates, decision: Decision) -> CostParts:
    """Cost of a decision by part, $/day of an average day of the horizon."""
    return ledger_parts(build_ledger(case, candidates, decision))


def ledger_parts(ledger: CostLedger) -> CostParts:
    """The ledger summed by part."""
    parts = {part: fsum(line.usd_per_day for line in ledger.offers if line.part == part) for part in NODE_PARTS}
    return CostParts(
        held=parts["held"],
        used=parts["used"],
        upfront=parts["upfront"],
        api=fsum(line.usd_per_day for line in ledger.apis),
        energy=parts["energy"],
        site=parts["site"],
        discounts=fsum(line.usd_per_day for line in ledger.discounts),
    )


@dataclass(frozen=True)
class _Books:
    """The decision by offer and slice. covered: nodes whose use a commitment pays; committed: that payment, $/h of the slice."""

    weights: dict[tuple[str, int], float]
    nodes_held: dict[str, int]
    used: dict[str, dict[tuple[str, int], int]]
    covered: dict[str, dict[tuple[str, int], float]]
    committed: dict[str, dict[tuple[str, int], float]]


def _books(case: Case, decision: Decision) -> _Books:
    used: dict[str, dict[tuple[str, int], int]] = defaultdict(dict)
    for use in decision.node_uses:
        if use.used:
            used[use.offer][use.day_type, use.hour] = use.used
    rates = {(row.discount, row.offer): row.discounted_usd_per_node_h for row in case.discounts}
    covered: dict[str, dict[tuple[str, int], float]] = defaultdict(lambda: defaultdict(float))
    committed: dict[str, dict[tuple[str, int], float]] = defaultdict(lambda: defaultdict(float))
    for row in decision.covered:
        covered[row.offer][row.day_type, row.hour] += row.nodes
        committed[row.offer][row.day_type, row.hour] += row.nodes * rates[row.discount, row.offer]
    return _Books(
        weights={(piece.day_type, piece.hour): piece.weight for piece in case.slices},
        nodes_held={row.offer: row.nodes_new + row.nodes_existing for row in decision.nodes_new},
        used=used,
        covered=covered,
        committed=committed,
    )


def build_ledger(case: Case, candidates: Candidates, decision: Decision) -> CostLedger:
    """All lines of the bill that are not 0, in the order of the case's tables. KeyError for an id that the case does not know."""
    books = _books(case, decision)
    named = set(books.nodes_held) | set(books.used)
    offers = [offer for offer in case.offers if offer.offer in named]
    for name in named - {offer.offer for offer in offers}:
        raise KeyError(name)
    rates = {offer.offer: node_rates(case, offer) for offer in offers}

    lines = []
    for offer in offers:
        held, rate = books.nodes_held.get(offer.offer, 0), rates[offer.offer]
        node_hours = fsum(books.weights[key] * nodes for key, nodes in books.used[offer.offer].items())
        covered_hours = fsum(books.weights[key] * nodes for key, nodes in books.covered[offer.offer].items())
        for part, usd in (
            ("held", held * rate.held_per_day),
            ("used", (node_hours - covered_hours) * rate.used_per_h),
            ("upfront", held * rate.upfront_per_day),
            ("energy", node_hours * rate.energy_per_h),
            ("site", held * rate.site_per_day),
        ):
            if usd:
                lines.append(OfferCost(offer=offer.offer, part=part, usd_per_day=usd))
    apis = _api_lines(case, decision, books.weights)
    discounts = tuple(
        DiscountCost(discount=row.discount, usd_per_day=row.usd_per_h * HOURS_PER_DAY)
        for row in decision.commitments
        if row.usd_per_h
    )
    pools = _pool_lines(case, candidates, decision, books, offers, rates)
    return CostLedger(offers=tuple(lines), apis=apis, discounts=discounts, pools=(*pools, *_api_pool_lines(case, apis)))


def _api_lines(case: Case, decision: Decision, weights: dict[tuple[str, int], float]) -> tuple[ApiCost, ...]:
    usd: dict[tuple[str, str], list[float]] = defaultdict(list)
    mtok: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in decision.overflows:
        if not row.tps:
            continue
        price = api_usd_per_mtok(case.api(row.api), case.workload(row.workload), row.day_type, row.hour)
        hours = weights[row.day_type, row.hour]
        usd[row.api, row.workload].append(hours * row.tps * usd_per_h_of_tps(price))
        mtok[row.api, row.workload].append(hours * mtok_per_hour(row.tps))
    return tuple(
        ApiCost(api=api, workload=workload, usd_per_day=fsum(usd[api, workload]), mtok_per_day=fsum(mtok[api, workload]))
        for api, workload in sorted(usd)
    )


def _api_pool_lines(case: Case, apis: tuple[ApiCost, ...]) -> list[PoolCost]:
    usd: dict[str, list[float]] = defaultdict(list)
    for line in apis:
        usd[case.workload(line.workload).pool].append(line.usd_per_day)
    return [
        PoolCost(pool=pool.pool, gpu=API, usd_per_day=fsum(usd[pool.pool]), gpu_hours_per_day=0.0)
        for pool in case.pools
        if pool.pool in usd
    ]


def _pool_lines(
    case: Case,
    candidates: Candidates,
    decision: Decision,
    books: _Books,
    offers: list[Offer],
    rates: dict[str, NodeRates],
) -> list[PoolCost]:
    """Node cost by pool and GPU. A market is one node type, firm or spot, in one slice; its nodes in use are shared by GPUs."""
    gpu_of = {row.node_type: row.gpu for row in case.node_types}
    gpus_per_node = {row.node_type: row.gpus_per_node for row in case.node_types}
    market_usd: dict[tuple[str, bool, str, int], float] = defaultdict(float)
    usd: dict[tuple[str, str], list[float]] = defaultdict(list)
    gpu_hours: dict[tuple[str, str], list[float]] = defaultdict(list)

    for offer in offers:
        rate, name = rates[offer.offer], offer.offer
        held = books.nodes_held.get(name, 0)
        # What is paid by the day is owed for the hours in which the nodes can be used.
        holding_per_h = rate.holding_per_day / len(offer.hours) if offer.is_held else 0.0
        idle = (IDLE, gpu_of[offer.node_type])
        for key, weight in books.weights.items():
            nodes, in_window = books.used[name].get(key, 0), key[1] in offer.hours
            if nodes:
                covered, committed = books.covered[name].get(key, 0.0), books.committed[name].get(key, 0.0)
                paid = nodes * (rate.using_per_h + (holding_per_h if in_window else 0.0)) - covered * rate.used_per_h + committed
                market_usd[offer.node_type, offer.purchase == "spot", *key] += weight * paid
            if held and in_window and held != nodes:
                usd[idle].append(weight * (held - nodes) * holding_per_h)
                gpu_hours[idle].append(weight * (held - nodes) * gpus_per_node[offer.node_type])

    takers = _takers(case, candidates, decision, gpus_per_node)
    for market, shares in takers.items():
        gpu, weight = gpu_of[market[0]], books.weights[market[2], market[3]]
        total = fsum(shares.values())
        for pool, gpus in shares.items():
            usd[pool, gpu].append(market_usd[market] * gpus / total)
            gpu_hours[pool, gpu].append(weight * gpus)
    for market, market_total in market_usd.items():
        if market not in takers:
            usd[IDLE, gpu_of[market[0]]].append(market_total)
    for gpu, unused in _unused_commitments(case, decision, books, gpu_of):
        usd[IDLE, gpu].append(unused)

    order = [(pool.pool, gpu) for pool in case.pools for gpu in dict.fromkeys(gpu_of.values())]
    order += [(IDLE, gpu) for gpu in dict.fromkeys(gpu_of.values())]
    return [
        PoolCost(pool=pool, gpu=gpu, usd_per_day=fsum(usd[pool, gpu]), gpu_hours_per_day=fsum(gpu_hours[pool, gpu]))
        for pool, gpu in dict.fromkeys(order)
        if (pool, gpu) in usd
    ]


def _takers(
    case: Case, candidates: Candidates, decision: Decision, gpus_per_node: dict[str, int]
) -> dict[tuple[str, bool, str, int], dict[str, float]]:
    """GPUs that each pool takes of each market: its replicas, and the nodes of its standing quota in every slice."""
    takers: dict[tuple[str, bool, str, int], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    options = {(option.pool, option.option): option for option in candidates.options}
    for row in decision.replicas:
        option = options[row.pool, row.option]
        for spot, replicas in ((False, row.total - row.spot_total), (True, row.spot_total)):
            if replicas:
                takers[option.node_type, spot, row.day_type, row.hour][row.pool] += replicas * gpus_of_replica(option)
    for pool in case.pools:
        if pool.fixed_nodes and pool.fixed_node_type:
            gpus = pool.fixed_nodes * gpus_per_node[pool.fixed_node_type]
            for piece in case.slices:
                takers[pool.fixed_node_type, False, piece.day_type, piece.hour][pool.pool] += gpus
    return takers


def _unused_commitments(case: Case, decision: Decision, books: _Books, gpu_of: dict[str, str]) -> list[tuple[str, float]]:
    """What of each commitment covers no node, $/day, with the GPU of the first offer that it could cover."""
    node_type_of = {offer.offer: offer.node_type for offer in case.offers}
    unused = []
    for commitment in decision.commitments:
        rows = {row.offer: row.discounted_usd_per_node_h for row in case.discounts if row.discount == commitment.discount}
        spent = fsum(
            books.weights[row.day_type, row.hour] * row.nodes * rows[row.offer]
            for row in decision.covered
            if row.discount == commitment.discount
        )
        gpu = gpu_of[node_type_of[next(iter(rows))]]
        unused.append((gpu, commitment.usd_per_h * HOURS_PER_DAY - spent))
    return [(gpu, usd) for gpu, usd in unused if usd]
