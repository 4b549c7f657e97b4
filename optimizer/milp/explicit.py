"""A pool written out in full: replicas per option and slice, loads per workload, every bad day with every option lost in turn.

Variables per slice t (firm and, where the pool is `sep`, spot):
  live[p,k,t], spot_live[p,k,t]      whole live replicas
  total[p,k,t], spot_total[p,k,t]    whole replicas with the rollout surge, only in rollout hours
  load[p,k,w,t], spot_load[p,k,w,t]  mean output tok/s
  flow[w,t,t']                       arrivals of hour t that run in hour t', of deferrable workloads
Rows:
  serve:     sum_k (load + spot_load) + sum_a overflow = demand, or = sum_t flow[w,t,t'] for deferrable work, for every w
  capacity:  sum_w load / mean <= live                                                 for every k, firm and spot apart
  spot:      sum spot_load <= spot_max_frac x sum (load + spot_load)
  rollout:   total + spot_total >= (1 + rollout_frac) x (live + spot_live)
  bad day:   the same serve and capacity rows on what is left, with loads of their own (loss by loss)
What is left of option k after losing n is max(0, stays - n): r <= stays - n b, r <= U b with b whole in 0..1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from optimizer.milp.bounds import replica_bound, spot_bound, total_replicas
from optimizer.milp.frame import Frame, api_limits
from optimizer.milp.prep import BadDay, PoolData, PoolSlice, arrival_hours
from optimizer.milp.prices import directions
from optimizer.milp.program import Term
from optimizer.units import HOURS_PER_DAY


@dataclass
class _Writer:
    """One pool in one slice on its way into the program."""

    frame: Frame
    pool: PoolData
    piece: PoolSlice
    t: int

    @property
    def name(self) -> str:
        return self.pool.pool.pool

    def overflow_terms(self, w: int) -> list[Term]:
        """Planned overflow of workload w."""
        workload = self.pool.workloads[w].workload
        return [
            (1.0, self.frame.program.variables[("overflow", workload, api.api, self.t)]) for api in self.piece.apis[w]
        ]


def add_explicit_pool(frame: Frame, pool: PoolData) -> None:
    """Write the pool out in every slice and post what it needs of each node type."""
    for t, piece in enumerate(pool.slices):
        writer = _Writer(frame, pool, piece, t)
        live = _replicas(writer, "live", "total")
        spot = _replicas(writer, "spot_live", "spot_total") if pool.spot_mode == "sep" else []
        _rollout(writer, live, spot)
        _normal_hour(writer, live, spot)
        if pool.pool.min_live > 0:
            every = [(1.0, variable) for variable in (*live, *spot)]
            frame.program.add_row(("min_live", writer.name, t), every, ">=", float(pool.pool.min_live))
        if piece.total_firm_tps > 0:
            for c, day in enumerate(pool.bad_days):
                _bad_day(writer, c, day, live, spot)


def _replicas(writer: _Writer, live_family: str, total_family: str) -> list[Any]:
    """Live replicas per option; totals too in rollout hours. Posts the need in units and, for spanning replicas, by place."""
    frame, pool, piece, t = writer.frame, writer.pool, writer.piece, writer.t
    program = frame.program
    is_spot = live_family == "spot_live"
    live: list[Any] = []
    for k, (option, size) in enumerate(zip(pool.options, pool.sizes, strict=True)):
        most = spot_bound(pool, piece, k) if is_spot else replica_bound(pool, piece, k)
        variable = program.add_variable((live_family, writer.name, k, t), up=most, integer=True)
        live.append(variable)
        held = variable
        if piece.rollout_frac > 0:
            up = total_replicas(most, piece.rollout_frac) + 1
            if pool.spot_mode == "sep":
                both = replica_bound(pool, piece, k) + spot_bound(pool, piece, k)
                up = total_replicas(both, piece.rollout_frac) + 1
            held = program.add_variable((total_family, writer.name, k, t), up=up, integer=True)
            program.add_row((f"{total_family}_live", writer.name, k, t), [(1.0, held), (-1.0, variable)], ">=", 0.0)
        needs = frame.spot if is_spot else frame.any_ if pool.spot_mode == "any" else frame.firm
        needs.setdefault((option.node_type, t), []).append((float(size), held))
        if option.spans_nodes:
            _spanning(writer, k, held, is_spot)
    return live


def _spanning(writer: _Writer, k: int, held: Any, is_spot: bool) -> None:
    """A replica larger than a node takes all its nodes from one place: split its replicas over the places that sell the type."""
    frame, option, t = writer.frame, writer.pool.options[k], writer.t
    prep, program = frame.prep, frame.program
    offers = prep.spot_offers(option.node_type) if is_spot else prep.firm_offers(option.node_type)
    places = tuple(dict.fromkeys(offer.place for offer in offers))
    if len(places) <= 1:
        return  # the node row of the type already says it all
    family = "place_spot" if is_spot else "place_firm"
    posts = frame.place_spot if is_spot else frame.place_firm
    parts: list[Term] = []
    for place in places:
        part = program.add_variable((family, writer.name, k, place, t), integer=True)
        parts.append((1.0, part))
        posts.setdefault((option.node_type, place, t), []).append((float(option.nodes_per_replica), part))
    program.add_row((f"{family}_sum", writer.name, k, t), [*parts, (-1.0, held)], "==", 0.0)


def _rollout(writer: _Writer, live: list[Any], spot: list[Any]) -> None:
    frac, t, program = writer.piece.rollout_frac, writer.t, writer.frame.program
    if frac <= 0:
        return
    for k in range(len(live)):
        terms: list[Term] = [(1.0, program.variables[("total", writer.name, k, t)]), (-(1 + frac), live[k])]
        if spot:
            terms += [(1.0, program.variables[("spot_total", writer.name, k, t)]), (-(1 + frac), spot[k])]
        program.add_row(("rollout", writer.name, k, t), terms, ">=", 0.0)


def _normal_hour(writer: _Writer, live: list[Any], spot: list[Any]) -> None:
    program, piece, t = writer.frame.program, writer.piece, writer.t
    served: list[list[Term]] = [[] for _ in writer.pool.workloads]
    on_spot: list[Term] = []
    for family, replicas in (("load", live), ("spot_load", spot)):
        for k, variable in enumerate(replicas):
            busy: list[Term] = []
            for w, mean in enumerate(piece.mean_tps[k]):
                if mean > 0 and piece.serve_max_tps[w] > 0:
                    load = program.add_variable((family, writer.name, k, w, t), up=piece.serve_max_tps[w])
                    served[w].append((1.0, load))
                    busy.append((1.0 / mean, load))
                    if family == "spot_load":
                        on_spot.append((1.0, load))
            if busy:
                program.add_row((f"{family}_capacity", writer.name, k, t), [*busy, (-1.0, variable)], "<=", 0.0)
    for w, workload in enumerate(writer.pool.workloads):
        terms = [*served[w], *writer.overflow_terms(w)]
        if workload.deferrable_hours:
            _serve_deferred(writer, w, terms)
            continue
        demand = piece.demand_tps[w]
        scale = 1.0 / demand if demand > 0 else 1.0
        row = [(c * scale, v) for c, v in terms]
        program.add_row(("serve", writer.name, w, t), row, "==", 1.0 if demand > 0 else 0.0)
    share = writer.pool.pool.spot_max_frac
    if on_spot and share < 1:
        own = [(-share, load) for loads in served for _, load in loads]
        program.add_row(("spot_share", writer.name, t), [*on_spot, *own], "<=", 0.0)


def _serve_deferred(writer: _Writer, w: int, terms: list[Term]) -> None:
    """What runs here is what arrived in the last deferrable_hours and waited until now; the API takes its share of what runs."""
    program, t = writer.frame.program, writer.t
    workload = writer.pool.workloads[w]
    day_type, hour = writer.frame.prep.groups[t].members[0]
    scale = 1.0 / max(workload.demand_on(day_type).output_tps) if max(workload.demand_on(day_type).output_tps) > 0 else 1.0
    runs = [(scale, flow(writer.frame, writer.pool, w, day_type, arrival, hour)) for arrival in arrival_hours(workload, hour)]
    minus = [(-coefficient, variable) for coefficient, variable in runs]
    program.add_row(("serve", writer.name, w, t), [*((c * scale, v) for c, v in terms), *minus], "==", 0.0)
    if workload.api_max_frac < 1 and writer.overflow_terms(w):
        sent = [(c * scale, v) for c, v in writer.overflow_terms(w)]
        share = [(-workload.api_max_frac * c, v) for c, v in runs]
        program.add_row(("overflow_share", writer.name, w, t), [*sent, *share], "<=", 0.0)


def flow(frame: Frame, pool: PoolData, w: int, day_type: str, arrival: int, run: int) -> Any:
    """The flow variable of a deferrable workload; with its first use, the row that all arrivals of that hour run some time."""
    program, workload = frame.program, pool.workloads[w]
    key = ("flow", workload.workload, day_type, arrival, run)
    known = program.variables.get(key)
    if known is not None:
        return known
    demand = workload.demand_on(day_type).output_tps[arrival]
    every: list[Term] = []
    for wait in range(min(workload.deferrable_hours, HOURS_PER_DAY - 1) + 1):
        then = (arrival + wait) % HOURS_PER_DAY
        every.append((1.0, program.add_variable(("flow", workload.workload, day_type, arrival, then), up=demand)))
    scale = 1.0 / demand if demand > 0 else 1.0
    row = [(c * scale, v) for c, v in every]
    program.add_row(("all_run", workload.workload, day_type, arrival), row, "==", 1.0 if demand > 0 else 0.0)
    return program.variables[key]


def _bad_day(writer: _Writer, c: int, day: BadDay, live: list[Any], spot: list[Any]) -> None:
    """What is left after the loss serves the surged demand less what the API takes; once without a loss, once per option lost."""
    stays: list[list[Term]] = [[(1.0, variable)] for variable in live]
    for k, variable in enumerate(spot):
        if day.spot_lost_frac <= 0:
            stays[k].append((1.0, variable))
        elif day.spot_lost_frac < 1:
            stays[k].append((1.0, _spot_left(writer, k, day.spot_lost_frac, variable)))
    if not any(day.lost):
        if day.surge_frac > 0 or day.spot_lost_frac > 0 or day.api_absorbs:
            _serves(writer, (c, None), day, stays)
        return
    # Losing one option never leaves more than losing none, so the case without a loss is covered where any option can be lost.
    for k, lost in enumerate(day.lost):
        if lost:
            left = [*stays]
            left[k] = _after_loss(writer, k, lost, day.spot_lost_frac, stays[k], bool(spot))
            _serves(writer, (c, k), day, left)


def _spot_left(writer: _Writer, k: int, lost_frac: float, spot: Any) -> Any:
    """floor((1 - s) x spot replicas) of option k, shared by the contingencies with the same s."""
    program = writer.frame.program
    key = ("spot_left", writer.name, k, lost_frac, writer.t)
    known = program.variables.get(key)
    if known is None:
        known = program.add_variable(key, integer=True)
        # The hedge forgives (1 - s) x n falling a rounding error below a whole number.
        program.add_row(("spot_left_most", *key[1:]), [(1.0, known), (-(1 - lost_frac) * (1 + 1e-12), spot)], "<=", 1e-9)
    return known


def _after_loss(writer: _Writer, k: int, lost: int, lost_frac: float, stays: list[Term], has_spot: bool) -> list[Term]:
    """max(0, stays - lost) of option k, shared by the contingencies that lose as much."""
    pool, piece, program = writer.pool, writer.piece, writer.frame.program
    most = replica_bound(pool, piece, k) + (spot_bound(pool, piece, k) if has_spot else 0)
    if most <= lost:
        return []
    key = ("after_loss", writer.name, k, lost, lost_frac if has_spot else 0.0, writer.t)
    left = program.variables.get(key)
    if left is None:
        left = program.add_variable(key, up=most - lost)
        enough = program.add_variable(("enough", *key[1:]), up=1, integer=True)
        minus = [(-coefficient, variable) for coefficient, variable in stays]
        program.add_row(("left_most", *key[1:]), [(1.0, left), *minus, (float(lost), enough)], "<=", 0.0)
        program.add_row(("left_if", *key[1:]), [(1.0, left), (-float(most - lost), enough)], "<=", 0.0)
    return [(1.0, left)]


def _serves(writer: _Writer, key: tuple[int, int | None], day: BadDay, left: list[list[Term]]) -> None:
    """Rows: what is left serves (1 + surge) x demand less the planned overflow, or what the API can absorb."""
    program, piece, t = writer.frame.program, writer.piece, writer.t
    relief = [
        _absorbed(writer, key, w, (1 + day.surge_frac) * tps) if day.api_absorbs else writer.overflow_terms(w)
        for w, tps in enumerate(piece.firm_tps)
    ]
    if day.api_absorbs:
        _absorb_limits(writer, key)
    asking = [w for w, tps in enumerate(piece.firm_tps) if tps > 0]
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


def _absorbed(writer: _Writer, key: tuple[int, int | None], w: int, asked_tps: float) -> list[Term]:
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


def _absorb_limits(writer: _Writer, key: tuple[int, int | None]) -> None:
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
