"""Nodes and the market: replicas against nodes in use, packing, windows, what is held, lots and limits, allow-lists, sites."""

from __future__ import annotations

import datetime
from collections import defaultdict
from math import ceil, floor, lcm

from optimizer.domain.market import Offer
from optimizer.domain.names import join_key
from optimizer.plan.audit_packing import Packing, pack
from optimizer.plan.index import PlanIndex, SliceKey

#: 60 kW / 14.3 kW and the like are compared after forgiving this much, relatively.
ROUNDING_REL = 1e-9

Market = tuple[str, bool]
#: {GPUs per replica: {replicas that share a GPU: how many}}.
Sizes = dict[int, dict[int, int]]


def _at(key: SliceKey) -> str:
    return f"{key[0]} hour {key[1]}"


def _word(spot: bool) -> str:
    return "spot" if spot else "firm"


def _needs(index: PlanIndex, key: SliceKey) -> dict[Market, Sizes]:
    """Replicas to place per node type, and firm or spot."""
    needs: dict[Market, Sizes] = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
    for option_key, count in index.replicas.get(key, {}).items():
        option = index.options[option_key]
        share = index.gpu_share(option_key)
        for spot, replicas in ((False, count.firm_total), (True, count.spot_total)):
            if replicas:
                needs[option.node_type, spot][option.gpus_per_replica][share] += replicas
    return needs


def _nodes_in_use(index: PlanIndex, key: SliceKey) -> dict[Market, dict[tuple[str, str], int]]:
    """Nodes used per node type and firm or spot, by the place where they stand."""
    nodes: dict[Market, dict[tuple[str, str], int]] = defaultdict(lambda: defaultdict(int))
    for name, used in index.used.get(key, {}).items():
        offer = index.offers[name]
        place = ("site", offer.site) if offer.site else (offer.provider or "", offer.region or "")
        nodes[offer.node_type, offer.purchase == "spot"][place] += used
    return nodes


def _standing_nodes(index: PlanIndex) -> dict[str, int]:
    """Nodes per type that pools hold in every hour, whatever runs (fixed_nodes)."""
    standing: dict[str, int] = defaultdict(int)
    for pool in index.case.pools:
        if pool.fixed_nodes and pool.fixed_node_type:
            standing[pool.fixed_node_type] += pool.fixed_nodes
    return standing


def check_nodes(index: PlanIndex) -> tuple[list[str], list[str]]:
    """Replicas of every node type fit on the nodes in use, firm and spot apart, whole replicas on whole nodes.

    Nodes of a standing quota hold no replicas. A replica larger than a node takes its nodes from one place. Returns
    (violations, notes): a packing that could be neither found nor excluded is a note.
    """
    violations, notes = [], []
    answers: dict[tuple[object, ...], Packing] = {}
    standing = _standing_nodes(index)
    for key in index.weights:
        in_use, needs = _nodes_in_use(index, key), _needs(index, key)
        for type_name in standing:
            needs.setdefault((type_name, False), {})
        for (type_name, spot), sizes in needs.items():
            per_node = index.node_types[type_name].gpus_per_node
            places = in_use.get((type_name, spot), {})
            units = lcm(*(share for shares in sizes.values() for share in shares))
            small = {
                size * units // share: count
                for size, shares in sizes.items()
                if size <= per_node
                for share, count in shares.items()
            }
            large = {size // per_node: sum(shares.values()) for size, shares in sizes.items() if size > per_node}
            quota = 0 if spot else standing.get(type_name, 0)
            nodes = sum(places.values()) - quota
            if nodes < 0:
                violations.append(
                    f"nodes of {type_name}, {_at(key)}: {nodes + quota} in use, {quota} are a standing quota (fixed_nodes), "
                    f"{-nodes} short"
                )
                continue
            needed = sum(size * count for size, count in small.items()) + per_node * units * sum(n * c for n, c in large.items())
            where = f"nodes of {type_name}, {_at(key)}"
            if needed > nodes * per_node * units:
                violations.append(
                    f"{where}: {_word(spot)} replicas take {needed / units:g} GPUs, {nodes} nodes in use have "
                    f"{nodes * per_node}, {needed / units - nodes * per_node:g} short"
                )
                continue
            whole = _answer(answers, tuple(sorted(places.values())), large)
            rest = _answer(answers, (per_node * units,) * (nodes - sum(n * c for n, c in large.items())), small)
            if whole is Packing.IMPOSSIBLE:
                violations.append(f"{where}: {_word(spot)} replicas of more than one node find no place with enough nodes in use")
            if rest is Packing.IMPOSSIBLE:
                violations.append(f"{where}: {_word(spot)} replicas do not fit on {nodes} whole nodes, though their GPUs add up")
            if Packing.UNKNOWN in (whole, rest):
                notes.append(f"{where}: it is not proven that the {_word(spot)} replicas fit on {nodes} whole nodes")
    return violations, notes


def _answer(answers: dict[tuple[object, ...], Packing], bins: tuple[int, ...], items: dict[int, int]) -> Packing:
    question = (bins, tuple(sorted(items.items())))
    if question not in answers:
        answers[question] = pack(bins, items)
    return answers[question]


def check_use(index: PlanIndex) -> list[str]:
    """Nodes used: within the offer's hours, not more than held, and of on-demand and spot not more than max_nodes."""
    messages = []
    for key, uses in index.used.items():
        for name, used in uses.items():
            offer = index.offers[name]
            if used <= 0:
                continue
            if key[1] not in offer.hours:
                messages.append(f"offer {name}, {_at(key)}: {used} nodes used outside its hours")
            limit = index.held(name) if _is_held(offer) else offer.max_nodes
            if limit is not None and used > limit:
                word = "held" if _is_held(offer) else "obtainable (max_nodes)"
                messages.append(f"offer {name}, {_at(key)}: {used} nodes used, {limit} {word}, {used - limit} too many")
    return messages


def _is_held(offer: Offer) -> bool:
    return offer.purchase not in ("on_demand", "spot")


def check_bought(index: PlanIndex) -> list[str]:
    """nodes_new: whole lots, none or at least min_nodes, at most max_nodes."""
    messages = []
    for name, nodes in index.nodes_new.items():
        offer = index.offers[name]
        if nodes % offer.lot_nodes:
            messages.append(f"offer {name}: {nodes} new nodes are not whole lots of {offer.lot_nodes}")
        if 0 < nodes < offer.min_nodes:
            messages.append(f"offer {name}: {nodes} new nodes, {offer.min_nodes - nodes} under min_nodes {offer.min_nodes}")
        if offer.max_nodes is not None and nodes > offer.max_nodes:
            messages.append(f"offer {name}: {nodes} new nodes, {nodes - offer.max_nodes} over max_nodes {offer.max_nodes}")
    return messages


def check_existing(index: PlanIndex) -> list[str]:
    """nodes_existing is what the case holds under contract on the start date, no more and no less."""
    start = index.case.policy.start_date
    counted: dict[str, int] = defaultdict(int)
    for row in index.case.existing:
        if row.expires is None or row.expires >= start:
            counted[row.offer] += row.nodes
    messages = []
    for name in dict.fromkeys((*counted, *index.nodes_existing)):
        planned = index.nodes_existing.get(name, 0)
        if planned != counted[name]:
            messages.append(f"offer {name}: {planned} existing nodes in the plan, {counted[name]} under contract on {start}")
    return messages


def check_allowed(index: PlanIndex) -> list[str]:
    """What is newly bought, or used on demand or as spot, is a candidate, allowed by the policy, and not too late to order."""
    policy = index.case.policy
    candidates = {offer.offer for offer in index.candidates.offers}
    taken = {name for name, nodes in index.nodes_new.items() if nodes > 0}
    for uses in index.used.values():
        taken |= {name for name, used in uses.items() if used > 0 and not _is_held(index.offers[name])}
    messages = []
    for name in sorted(taken):
        offer = index.offers[name]
        if name not in candidates:
            messages.append(f"offer {name}: is taken and is not among the usable offers")
        for column, value, allowed in (
            ("provider", offer.provider, policy.providers),
            ("region", offer.region, policy.regions),
            ("gpu", index.node_types[offer.node_type].gpu, policy.gpus),
            ("purchase", offer.purchase, policy.purchases),
        ):
            if allowed and join_key(value or "") not in {join_key(entry) for entry in allowed}:
                messages.append(f"offer {name}: {column} {value or 'unstated'} is not among those the policy allows")
        days_left = (policy.start_date - policy.today).days
        if 7 * offer.lead_weeks > days_left + ROUNDING_REL * max(1, abs(days_left)):
            order_by = policy.start_date - datetime.timedelta(days=ceil(7 * offer.lead_weeks))
            messages.append(f"offer {name}: should have been ordered by {order_by}, before today, {policy.today} (TOO_LATE)")
    return messages


def check_sites(index: PlanIndex) -> list[str]:
    """Racks (one node type each) and facility kW of every site, for nodes held there; nodes at a site need node_kw."""
    held: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    messages = []
    for name in dict.fromkeys((*index.nodes_new, *(offer for uses in index.used.values() for offer in uses))):
        offer = index.offers[name]
        if not offer.site:
            continue
        if index.node_types[offer.node_type].node_kw is None:
            messages.append(f"offer {name}: stands at site {offer.site}, and node type {offer.node_type} has no node_kw")
        elif index.held(name):
            held[offer.site][offer.node_type] += index.held(name)
    for site_name, types in held.items():
        site = index.sites[site_name]
        racks, rack_limit_stated, kw = 0, False, 0.0
        for type_name, nodes in types.items():
            node_kw = index.node_types[type_name].node_kw or 0.0
            kw += nodes * node_kw * (1.0 if site.pue is None else site.pue)
            per_rack = [] if site.slots_per_rack is None else [site.slots_per_rack]
            if site.kw_per_rack is not None and node_kw > 0:
                per_rack.append(floor(site.kw_per_rack / node_kw * (1.0 + ROUNDING_REL)))
            if per_rack and min(per_rack) == 0:
                messages.append(f"site {site_name}: no node of type {type_name} fits a rack, {nodes} are held")
            elif per_rack:
                racks += -(-nodes // min(per_rack))
                rack_limit_stated = True
        if site.racks is not None and rack_limit_stated and racks > site.racks:
            messages.append(f"site {site_name}: {racks} racks needed, {site.racks} there, {racks - site.racks} short")
        if site.total_kw is not None:
            if site.pue is None:
                messages.append(f"site {site_name}: total_kw binds, and pue is not stated")
            if kw > site.total_kw * (1.0 + ROUNDING_REL):
                messages.append(f"site {site_name}: {kw:.6g} kW held, {site.total_kw:.6g} there, {kw - site.total_kw:.6g} over")
    return messages
