"""Case -> every option that could serve, the offers that could carry it, and a reason for everything else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from optimizer.candidates.codes import RejectionCode
from optimizer.candidates.evaluate import CONTRADICTIONS, OTHER_POINTS, evaluate, nearest_misses
from optimizer.candidates.matching import Miss
from optimizer.candidates.offers import allowed, needed_offers, offer_serves, usable_offers
from optimizer.candidates.option import Candidates, OperatingPoint, Option, Rejection
from optimizer.candidates.refusals import refuse_unstated, resolve_models
from optimizer.domain.case import Case
from optimizer.domain.hardware import NodeType
from optimizer.domain.market import Offer
from optimizer.domain.measurement import GoodputRow
from optimizer.domain.model import ServedModel
from optimizer.domain.names import join_key
from optimizer.domain.workload import Pool, Workload
from optimizer.errors import ProblemList

#: So many offers are named in a NO_OFFER sentence; each has a rejection of its own besides.
OFFERS_NAMED = 4


@dataclass(frozen=True)
class _Layout:
    """What makes an option besides its pool; hashable and in table order."""

    model: str
    precision: str
    node_type: str
    gpus_per_replica: int
    engine: str
    config: str
    replicas_per_gpu: int

    def plain_id(self) -> str:
        size = str(self.gpus_per_replica)
        return "|".join((self.model, self.precision, self.node_type, size, self.engine, self.config))

    def shared_id(self) -> str:
        size = f"1/{self.replicas_per_gpu}" if self.replicas_per_gpu > 1 else str(self.gpus_per_replica)
        return "|".join((self.model, self.precision, self.node_type, size, self.engine, self.config))


@dataclass
class _Search:
    """Lookups of one case, and what was found so far."""

    case: Case
    offers: tuple[Offer, ...]
    offer_codes: dict[str, str]
    rows: dict[tuple[str, str], list[GoodputRow]]
    rejections: list[Rejection]
    contradictions: dict[tuple[str, RejectionCode], dict[int, tuple[GoodputRow, Miss]]] = field(default_factory=dict)


@dataclass
class _Found:
    """What was found for one workload: a point per layout, and every row that does not count."""

    points: dict[_Layout, OperatingPoint] = field(default_factory=dict)
    misses: list[tuple[GoodputRow, Miss]] = field(default_factory=list)


def find_candidates(case: Case) -> Candidates:
    """Every option of every pool, the offers worth a column in the program, and why the rest was rejected.

    An option needs a measured row that matches the workload's conditions and fits in memory (`evaluate`), a node type that the
    policy and the pool allow, and a usable offer of it. A workload may end without one; `Candidates.rejections_of` says why.
    Raises Refused, with every problem: MODEL_UNKNOWN, PRECISION_MISSING, and, where a workload is left with no option but stating
    them could give one, SLO_MISSING, SHAPE_MISSING, KV_UNKNOWN.
    """
    problems = ProblemList()
    models = resolve_models(case, problems)
    problems.raise_if_errors()

    offers, offer_rejections = usable_offers(case)
    offer_codes = {rejection.offer: rejection.code for rejection in offer_rejections}
    search = _Search(case=case, offers=offers, offer_codes=offer_codes, rows=_rows_by_model(case), rejections=[])
    options: list[Option] = []
    for pool in case.pools:
        points: dict[_Layout, list[OperatingPoint]] = {}
        for workload in case.workloads_of(pool.pool):
            model = models[workload.workload]
            found = _search_workload(search, pool, workload, model)
            for layout, point in found.points.items():
                points.setdefault(layout, []).append(point)
            if not found.points:
                refuse_unstated(workload, model, found.misses, problems)
        options += _options(case, pool, points)
    _warn_of_contradictions(search, problems)
    problems.raise_if_errors()

    needed, more_rejections = needed_offers(case, offers, options)
    return Candidates(
        options=tuple(options),
        offers=needed,
        rejections=(*search.rejections, *offer_rejections, *more_rejections),
        warnings=tuple(problems.warnings),
    )


def _rows_by_model(case: Case) -> dict[tuple[str, str], list[GoodputRow]]:
    rows: dict[tuple[str, str], list[GoodputRow]] = {}
    for row in case.goodput:
        rows.setdefault((join_key(row.model), join_key(row.precision)), []).append(row)
    return rows


def _search_workload(search: _Search, pool: Pool, workload: Workload, model: ServedModel) -> _Found:
    rows_by_gpu: dict[str, list[GoodputRow]] = {}
    for row in search.rows.get((join_key(model.model), join_key(model.precision)), ()):
        rows_by_gpu.setdefault(join_key(row.gpu), []).append(row)
    if not rows_by_gpu:
        reason = f"no row of Goodput is for model {model.model} at precision {model.precision}"
        _reject(search, workload, model, RejectionCode.NO_GOODPUT, reason)
        return _Found()
    known = {join_key(node_type.gpu) for node_type in search.case.node_types}
    for gpu, rows in rows_by_gpu.items():
        if gpu not in known:
            _reject(search, workload, model, RejectionCode.NO_NODE_TYPE, f"no node type has GPU {rows[0].gpu}", gpu=rows[0].gpu)
    found = _Found()
    for node_type in search.case.node_types:
        rows = rows_by_gpu.get(join_key(node_type.gpu), [])
        if not _place_allowed(search, pool, workload, model, node_type, measured=bool(rows)):
            continue
        for layout, group in _layouts(model, node_type, rows).items():
            verdict = evaluate(group, workload, model, node_type, search.case.policy)
            for row, miss, count in nearest_misses(verdict.misses):
                if verdict.point is not None and miss.code in OTHER_POINTS:
                    continue
                reason = miss.reason if count == 1 else f"{miss.reason} (the nearest of {count} such rows)"
                _reject(
                    search,
                    workload,
                    model,
                    miss.code,
                    reason,
                    gpu=node_type.gpu,
                    node_type=node_type.node_type,
                    gpus_per_replica=row.gpus_per_replica,
                    engine=row.engine,
                    numbers=miss.numbers,
                )
            doubts = [(verdict.point.row, verdict.doubt)] if verdict.point and verdict.doubt else []
            _note_contradictions(search, layout, [*verdict.misses, *doubts])
            found.misses += verdict.misses
            if verdict.point is not None:
                found.points[layout] = verdict.point
    return found


def _place_allowed(
    search: _Search, pool: Pool, workload: Workload, model: ServedModel, node_type: NodeType, *, measured: bool
) -> bool:
    """True where rows of this GPU are worth a look; else the one reason why not is kept."""
    case, name = search.case, node_type.node_type
    offers = [offer for offer in search.offers if offer.node_type == name and offer_serves(case, offer, pool)]
    numbers: tuple[tuple[str, float], ...] = ()
    if not allowed(case.policy.gpus, node_type.gpu):
        listed = ", ".join(case.policy.gpus)
        code, reason = RejectionCode.GPU_NOT_ALLOWED, f"GPU {node_type.gpu} is not in the policy's gpus ({listed})"
    elif pool.node_types and name not in pool.node_types:
        listed = ", ".join(pool.node_types)
        code, reason = RejectionCode.NODE_TYPE_NOT_ALLOWED, f"{name} is not in the node_types of pool {pool.pool} ({listed})"
    elif not offers:
        sold = [offer.offer for offer in case.offers if offer.node_type == name]
        numbers = (("offers", float(len(sold))),)
        code, reason = RejectionCode.NO_OFFER, f"no offer sells {name}"
        if sold:
            # What is usable and still does not serve the pool is spot.
            why = [f"{offer} ({search.offer_codes.get(offer, RejectionCode.SPOT_NOT_ALLOWED.value)})" for offer in sold]
            rest = f" and {len(why) - OFFERS_NAMED} more" if len(why) > OFFERS_NAMED else ""
            reason = f"no offer of {name} can be used by pool {pool.pool}: {', '.join(why[:OFFERS_NAMED])}{rest}"
    elif not measured:
        code = RejectionCode.NO_GOODPUT
        reason = f"no row of Goodput is for model {model.model} at precision {model.precision} on GPU {node_type.gpu}"
    else:
        return True
    # Of the node types nobody measured, only those that could be bought are news.
    if measured or code is RejectionCode.NO_GOODPUT:
        _reject(search, workload, model, code, reason, gpu=node_type.gpu, node_type=name, numbers=numbers)
    return False


def _layouts(model: ServedModel, node_type: NodeType, rows: Iterable[GoodputRow]) -> dict[_Layout, list[GoodputRow]]:
    groups: dict[_Layout, list[GoodputRow]] = {}
    for row in rows:
        layout = _Layout(
            model.model, model.precision, node_type.node_type, row.gpus_per_replica, row.engine, row.config, row.replicas_per_gpu
        )
        groups.setdefault(layout, []).append(row)
    return groups


def _options(case: Case, pool: Pool, points: dict[_Layout, list[OperatingPoint]]) -> list[Option]:
    """One Option per layout, by node type, then in the order of the Goodput rows."""
    order = {node_type.node_type: place for place, node_type in enumerate(case.node_types)}
    shares: dict[str, set[int]] = {}
    for layout in points:
        shares.setdefault(layout.plain_id(), set()).add(layout.replicas_per_gpu)
    options = []
    for layout in sorted(points, key=lambda each: order[each.node_type]):
        node_type = case.node_type(layout.node_type)
        several = len(shares[layout.plain_id()]) > 1
        options.append(
            Option(
                option=layout.shared_id() if several else layout.plain_id(),
                pool=pool.pool,
                model=layout.model,
                precision=layout.precision,
                node_type=layout.node_type,
                gpu=node_type.gpu,
                gpus_per_node=node_type.gpus_per_node,
                gpus_per_replica=layout.gpus_per_replica,
                engine=layout.engine,
                config=layout.config,
                points=tuple(points[layout]),
                replicas_per_gpu=layout.replicas_per_gpu,
            )
        )
    return options


def _reject(
    search: _Search,
    workload: Workload,
    model: ServedModel,
    code: RejectionCode,
    reason: str,
    *,
    gpu: str = "",
    node_type: str = "",
    gpus_per_replica: int | None = None,
    engine: str = "",
    numbers: tuple[tuple[str, float], ...] = (),
) -> None:
    search.rejections.append(
        Rejection(
            code=code.value,
            reason=f"Not used: {reason}.",
            workload=workload.workload,
            model=model.model,
            precision=model.precision,
            gpu=gpu,
            node_type=node_type,
            gpus_per_replica=gpus_per_replica,
            engine=engine,
            numbers=numbers,
        )
    )


def _note_contradictions(search: _Search, layout: _Layout, misses: Iterable[tuple[GoodputRow, Miss]]) -> None:
    for row, miss in misses:
        if miss.code in CONTRADICTIONS and join_key(row.kind) == "measured":
            search.contradictions.setdefault((layout.plain_id(), miss.code), {})[id(row)] = (row, miss)


def _warn_of_contradictions(search: _Search, problems: ProblemList) -> None:
    """A measurement that the tables say cannot be: one warning per option and reason, at its nearest row."""
    for (option, code), found in search.contradictions.items():
        row, miss = min(found.values(), key=lambda each: each[1].excess)
        rest = f" {len(found)} measured rows of this option are like that." if len(found) > 1 else ""
        origin = row.origin
        cell = f"A{origin.row}" if origin.row else None
        if code is RejectionCode.GOODPUT_ABOVE_CONCURRENCY:
            fix = "Check output_tps (of one replica), concurrency and tpot_ms of the row; it was used as it stands."
            problems.warn(
                code.value,
                f"Measured goodput of {option} cannot be: {miss.reason}.{rest}",
                fix,
                file=origin.file,
                sheet=origin.sheet,
                cell=cell,
            )
        else:
            fix = "It was measured, so a figure of the model, node type or row, or overhead_frac, must be wrong."
            problems.warn(
                "MEASURED_BUT_DOES_NOT_FIT",
                f"Measured row of {option} is not used: {miss.reason}.{rest}",
                fix,
                file=origin.file,
                sheet=origin.sheet,
                cell=cell,
            )
