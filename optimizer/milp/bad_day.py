"""The bad days of a pool that is written out in full: what is left after each loss must serve, with every option lost in turn.

First spot is lost, then on-demand nodes or a zone (what is left of the firm nodes is given out anew in whole replicas, to all
pools of the contingency at once), then replicas of any one option. What is left of option k after losing n of the replicas that
stay is max(0, stays - n), written as left <= stays - n + n_max (1 - enough), left <= most x enough with enough whole in 0..1.
What is left serves one or two workloads iff it is worth their demand at all prices of `directions`; three or more get loads.
With occupancy `auto` all this is at the occupancy of the replicas live before the loss (occupancy.py).
"""

from __future__ import annotations

from typing import Any

from optimizer.milp.bounds import anew_bound, replica_bound, spot_bound
from optimizer.milp.frame import api_limits
from optimizer.milp.occupancy import all_relieved, relief_at, worth_rows
from optimizer.milp.prep import BadDay
from optimizer.milp.prices import directions
from optimizer.milp.program import Key, Term
from optimizer.milp.writer import Writer
from optimizer.units import ROUNDING_HEDGE


def add_bad_day(writer: Writer, c: int, day: BadDay, live: list[Any], spot: list[Any]) -> None:
    """Rows of one contingency (number c of the pool) in one slice. live, spot: variables per option (spot empty: none apart)."""
    if not day.regiven:
        stays: list[list[Term]] = [[(1.0, variable)] for variable in live]
        for k, variable in enumerate(spot):
            stays[k] += _spot_stays(writer, k, day.spot_lost_frac, variable)
        _survives(writer, (c,), day, stays, bool(spot), day.spot_lost_frac if spot else 0.0)
        return
    for zone in writer.frame.zones() if day.zone else (None,):
        label: Key = (c, zone)
        stays = _given_out_anew(writer, day, label, zone, spot)
        _survives(writer, label, day, stays, bool(spot), label)


def _survives(writer: Writer, label: Key, day: BadDay, stays: list[list[Term]], has_spot: bool, same: object) -> None:
    """What stays must serve without a loss, and with any one option lost. same: what the loss variables may be shared over."""
    losing = [k for k in range(len(stays)) if day.can_lose(k)]
    if not losing:
        if day.surge_frac > 0 or day.spot_lost_frac > 0 or day.regiven or day.api_absorbs:
            _serves(writer, (*label, None), day, stays)
        return
    # Losing one option never leaves more than losing none, so the case without a loss is covered where any option can be lost.
    for k in losing:
        left = [*stays]
        left[k] = _after_loss(writer, k, day, stays[k], has_spot, same)
        _serves(writer, (*label, k), day, left)


def _spot_stays(writer: Writer, k: int, lost_frac: float, spot: Any) -> list[Term]:
    """floor((1 - s) x spot replicas) of option k, shared by the contingencies with the same s."""
    if lost_frac <= 0:
        return [(1.0, spot)]
    if lost_frac >= 1:
        return []
    program = writer.frame.program
    key = ("spot_left", writer.name, k, lost_frac, writer.t)
    known = program.variables.get(key)
    if known is None:
        known = program.add_variable(key, integer=True)
        # The hedge forgives (1 - s) x n falling a rounding error below a whole number.
        terms = [(1.0, known), (-(1 - lost_frac) * (1 + ROUNDING_HEDGE), spot)]
        program.add_row(("spot_left_most", *key[1:]), terms, "<=", ROUNDING_HEDGE)
    return [(1.0, known)]


def _given_out_anew(writer: Writer, day: BadDay, label: Key, zone: tuple[str, str] | None, spot: list[Any]) -> list[list[Term]]:
    """Replicas per option on what is left of the nodes; posts what they take of each type, for all pools of the contingency."""
    frame, pool, t = writer.frame, writer.pool, writer.t
    program = frame.program
    stays: list[list[Term]] = []
    for k, (option, size) in enumerate(zip(pool.options, pool.sizes, strict=True)):
        terms: list[Term] = []
        key = (day.contingency, zone, option.node_type, t)
        anew = program.add_variable(("anew", writer.name, label, k, t), up=anew_bound(pool, writer.piece, k), integer=True)
        frame.anew_firm.setdefault((*key, day.obtainable_frac), []).append((float(size), anew))
        frame.split_over_places(
            ("anew_place", writer.name, label, k, t), option, anew, frame.prep.firm_offers(option.node_type), frame.anew_place,
            (*key, day.obtainable_frac),
        )
        terms.append((1.0, anew))
        if spot:
            staying = _spot_stays(writer, k, day.spot_lost_frac, spot[k])
            if zone is None or not staying:
                terms += staying
            else:
                most = spot_bound(pool, writer.piece, k)
                anew_spot = program.add_variable(("anew_spot", writer.name, label, k, t), up=most, integer=True)
                minus = [(-coefficient, variable) for coefficient, variable in staying]
                program.add_row(("anew_spot_most", writer.name, label, k, t), [(1.0, anew_spot), *minus], "<=", 0.0)
                frame.anew_spot.setdefault(key, []).append((float(size), anew_spot))
                frame.split_over_places(
                    ("anew_spot_place", writer.name, label, k, t), option, anew_spot, frame.prep.spot_offers(option.node_type),
                    frame.anew_spot_place, key,
                )
                terms.append((1.0, anew_spot))
        stays.append(terms)
    return stays


def _after_loss(writer: Writer, k: int, day: BadDay, stays: list[Term], has_spot: bool, same: object) -> list[Term]:
    """max(0, stays - n) of option k, shared by the contingencies that lose as much of the same replicas."""
    pool, piece, program = writer.pool, writer.piece, writer.frame.program
    firm = anew_bound(pool, piece, k) if day.regiven else replica_bound(pool, piece, k)
    most = firm + (spot_bound(pool, piece, k) if has_spot else 0)
    most_left = max((live - day.lost(k, live) for live in range(most + 1)), default=0)
    if most_left <= 0:
        return []
    key = ("after_loss", writer.name, k, day.replicas_lost, day.lost_frac, day.on_nodes[k], same, writer.t)
    left = program.variables.get(key)
    if left is not None:
        return [(1.0, left)]
    left = program.add_variable(key, up=most_left)
    enough = program.add_variable(("enough", *key[1:]), up=1, integer=True)
    program.add_row(("left_if", *key[1:]), [(1.0, left), (-float(most_left), enough)], "<=", 0.0)
    minus = [(-coefficient, variable) for coefficient, variable in stays]
    fixed = day.replicas_lost + day.on_nodes[k]
    if day.lost_frac <= 0:
        program.add_row(("left_most", *key[1:]), [(1.0, left), *minus, (float(fixed), enough)], "<=", 0.0)
        return [(1.0, left)]
    # n = max(replicas_lost, ceil(lost_frac x stays)) + those on lost nodes; only counted where enough = 1.
    share = program.add_variable(("share_lost", *key[1:]), low=float(day.replicas_lost), up=float(max(most, fixed)), integer=True)
    hedged = day.lost_frac * (1 - ROUNDING_HEDGE)
    program.add_row(
        ("share_least", *key[1:]), [(1.0, share), *((hedged * c, v) for c, v in minus)], ">=", -ROUNDING_HEDGE
    )
    slack = float(max(most, day.replicas_lost) + day.on_nodes[k])
    program.add_row(
        ("left_most", *key[1:]), [(1.0, left), *minus, (1.0, share), (slack, enough)], "<=", slack - day.on_nodes[k]
    )
    return [(1.0, left)]


def _serves(writer: Writer, key: Key, day: BadDay, left: list[list[Term]]) -> None:
    """Rows: what is left serves (1 + surge) x demand less the planned overflow, or what the API can absorb."""
    program, piece, t = writer.frame.program, writer.piece, writer.t
    relief = [
        _absorbed(writer, key, w, (1 + day.surge_frac) * tps) if day.api_absorbs else writer.overflow_terms(w)
        for w, tps in enumerate(piece.firm_tps)
    ]
    if day.api_absorbs:
        _absorb_limits(writer, key)
    asking = [w for w, tps in enumerate(piece.firm_tps) if tps > 0]
    if writer.classes:
        _serves_at_class(writer, key, day, left, asking, relief)
        return
    if len(asking) <= 2:
        # Exact without loads for up to two workloads: what is left serves them iff it does so at every price of `directions`.
        for i, prices in enumerate(directions(len(asking), [tuple(mean[w] for w in asking) for mean in piece.mean_tps])):
            asked = sum(price * piece.firm_tps[w] for price, w in zip(prices, asking, strict=True))
            worth = [max(price * piece.mean_tps[k][w] for price, w in zip(prices, asking, strict=True)) for k in range(len(left))]
            terms = [(c * worth[k] / asked, v) for k, stays in enumerate(left) for c, v in stays]
            terms += [(c * price / asked, v) for price, w in zip(prices, asking, strict=True) for c, v in relief[w]]
            program.add_row(("bad_day", writer.name, key, i, t), terms, ">=", 1 + day.surge_frac)
        return
    served: list[list[Term]] = [[] for _ in piece.demand_tps]
    for k, stays in enumerate(left):
        busy: list[Term] = []
        for w, mean in enumerate(piece.mean_tps[k]):
            if mean > 0 and piece.firm_tps[w] > 0:
                load = program.add_variable(("bad_load", writer.name, key, k, w, t))
                served[w].append((1.0, load))
                busy.append((1.0 / mean, load))
        if busy:
            minus = [(-c, v) for c, v in stays]
            program.add_row(("bad_capacity", writer.name, key, k, t), [*busy, *minus], "<=", 0.0)
    for w, demand in enumerate(piece.firm_tps):
        if demand > 0:
            terms = [(c / demand, v) for c, v in (*served[w], *relief[w])]
            program.add_row(("bad_day", writer.name, key, w, t), terms, ">=", 1 + day.surge_frac)


def _serves_at_class(
    writer: Writer, key: Key, day: BadDay, left: list[list[Term]], asking: list[int], relief: list[list[Term]]
) -> None:
    """The rows of `_serves` with occupancy `auto`: what is asked is divided by the occupancy of the live class."""
    program, piece, t = writer.frame.program, writer.piece, writer.t
    surged = 1 + day.surge_frac
    parts = {
        w: relief_at(writer, key, w, relief[w] if day.api_absorbs else None, surged * piece.firm_tps[w]) for w in asking
    }
    for w in asking:
        all_relieved(writer, (writer.name, key, t), w, surged * piece.firm_tps[w], parts[w])
    if len(asking) <= 2:
        for i, prices in enumerate(directions(len(asking), [tuple(mean[w] for w in asking) for mean in piece.mean_tps])):
            priced = list(zip(prices, asking, strict=True))
            worth = [max(price * piece.mean_tps[k][w] for price, w in priced) for k in range(len(left))]
            terms = [(c * worth[k], v) for k, stays in enumerate(left) for c, v in stays]
            asked = sum(price * piece.firm_tps[w] for price, w in priced)
            worth_rows(writer, (writer.name, key, i, t), terms, asked, surged, [(price, parts[w]) for price, w in priced])
        return
    served: dict[tuple[int, int], list[Term]] = {}
    for k, stays in enumerate(left):
        busy: list[Term] = []
        for w in asking:
            for i, each in enumerate(writer.classes):
                if piece.mean_tps[k][w] > 0 and each.occupancy > 0:
                    load = program.add_variable(("bad_load", writer.name, key, k, w, each.live, t))
                    served.setdefault((w, i), []).append((1.0, load))
                    busy.append((1.0 / (piece.mean_tps[k][w] * each.occupancy), load))
        if busy:
            minus = [(-c, v) for c, v in stays]
            program.add_row(("bad_capacity", writer.name, key, k, t), [*busy, *minus], "<=", 0.0)
    for w in asking:
        for i, each in enumerate(writer.classes):
            terms = [(c / piece.firm_tps[w], v) for c, v in (*served.get((w, i), ()), *parts[w][i])]
            row = ("bad_day", writer.name, key, w, each.live, t)
            program.add_row(row, [*terms, (-surged, each.chosen)], ">=", 0.0)


def _absorbed(writer: Writer, key: Key, w: int, asked_tps: float) -> list[Term]:
    """What the APIs take of workload w on the bad day: up to their stated limits, else at most what is planned there."""
    program, prep = writer.frame.program, writer.frame.prep
    workload = writer.pool.workloads[w].workload
    terms: list[Term] = []
    for api in writer.piece.apis[w]:
        flow = program.add_variable(("absorbed", writer.name, key, workload, api.api, writer.t), up=asked_tps)
        terms.append((1.0, flow))
        if prep.case.api(api.api).max_output_tps is None:
            planned = program.variables[("overflow", workload, api.api, writer.t)]
            row = ("absorbed_planned", writer.name, key, workload, api.api, writer.t)
            program.add_row(row, [(1.0, flow), (-1.0, planned)], "<=", 0.0)
    if len(terms) > 1:
        program.add_row(("absorbed_most", writer.name, key, workload, writer.t), terms, "<=", asked_tps)
    return terms


def _absorb_limits(writer: Writer, key: Key) -> None:
    """The API's stated limits less what other pools plan there."""
    program, prep, t = writer.frame.program, writer.frame.prep, writer.t
    own: dict[str, list[tuple[Any, float, float]]] = {}
    others: dict[str, list[tuple[Any, float, float]]] = {}
    for pool in prep.pools:
        for w, workload in enumerate(pool.workloads):
            for api in pool.slices[t].apis[w]:
                mine = pool is writer.pool
                family: tuple[Any, ...] = ("absorbed", writer.name, key) if mine else ("overflow",)
                flow = program.variables[(*family, workload.workload, api.api, t)]
                (own if mine else others).setdefault(api.api, []).append((flow, api.input_per_output, api.rpm_per_tps))
    for api_name, flows in own.items():
        every = flows + others.get(api_name, [])
        for limit, (coefficients, right) in api_limits(prep, api_name, [(ratio, rpm) for _, ratio, rpm in every]).items():
            terms = [(coefficient, flow) for coefficient, (flow, _, _) in zip(coefficients, every, strict=True)]
            program.add_row((f"absorb_{limit}", writer.name, key, api_name, t), terms, "<=", right)
