"""The JSON objects of `plan --json` and `check --json`, key by key as the interface page lists them.

Every key is always present. Numbers are plain Python ints and floats, never NaN and never -0.0; text that does not apply is null.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from optimizer.candidates.option import Candidates, Rejection
from optimizer.domain.case import Case
from optimizer.errors import Problem
from optimizer.plan.plan import Baselines, CostParts, InfeasibleLimit, Plan, SolverInfo, UsdPerMtok
from optimizer.report.result import PlanResult

COST_PARTS = ("held", "used", "upfront", "api", "energy", "site", "discounts")
DENOMINATORS = ("forecast", "fleet", "api", "full_goodput")
BASELINES = ("all_api", "all_on_demand", "reserved_at_peak", "reserved_at_trough")

Json = dict[str, Any]


class WorkloadDemand(Protocol):
    """What `check` says of one workload: demand in output tok/s of hours 0..23 by day type, and the unit it was given in."""

    @property
    def workload(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def demand_tps(self) -> Mapping[str, Sequence[float]]: ...
    @property
    def peak_tps(self) -> float: ...
    @property
    def mean_tps(self) -> float: ...
    @property
    def peak_to_mean(self) -> float | None: ...


def plan_json(result: PlanResult) -> Json:
    """The object of `plan --json` for any status; figures that do not exist are null, lists that do not exist are empty."""
    case, candidates, plan, run = result.case, result.candidates, result.plan, result.run
    has_case = case is not None and candidates is not None
    document: Json = {
        "status": result.status,
        "cost_usd_per_day": plan.cost.total if plan else None,
        "bound_usd_per_day": plan.bound_usd_per_day if plan else result.bound_usd_per_day,
        "gap_frac": plan.gap_frac if plan else None,
        "output_mtok_per_day": plan.output_mtok_per_day if plan else None,
        "usd_per_mtok": _fields(plan.usd_per_mtok if plan else None, DENOMINATORS),
        "cost_parts_usd_per_day": _fields(plan.cost if plan else None, COST_PARTS),
        "day_types": [{"day_type": day.day_type, "days": day.days} for day in case.day_types] if case else [],
        "purchases": _purchases(plan) if plan else [],
        "sites": [{"site": use.site, "nodes": use.nodes, "racks": use.racks, "kw": use.kw} for use in plan.sites] if plan else [],
        "nodes": _nodes(case, plan) if case and plan else [],
        "options": _options(candidates) if candidates else [],
        "hours": _hours(case, plan) if case and plan else [],
        "replicas": _replicas(case, plan) if case and plan else [],
        "contingencies": _margins(plan) if plan else [],
        "baselines_usd_per_day": _fields(plan.baselines if plan else None, BASELINES),
        "rejections": [_rejection(row) for row in candidates.rejections] if has_case and candidates else [],
        "infeasible": [_infeasible(row) for row in result.infeasible],
        "audit": {
            "ok": result.audit.ok if result.audit else None,
            "violations": [str(violation) for violation in result.audit.violations] if result.audit else [],
        },
        "warnings": problem_rows(result.warnings),
        "errors": problem_rows(result.errors),
        "inputs": [{"file": item.file, "sha256": item.sha256} for item in run.inputs],
        "start_date": run.start_date.isoformat() if run.start_date else None,
        "version": run.version,
        "command": run.command,
        "solver": _solver(plan.solver if plan else run.solver),
        "output": run.output,
    }
    return _plain_object(document)


def check_json(
    workloads: Iterable[WorkloadDemand], warnings: Iterable[Problem] = (), errors: Iterable[Problem] = ()
) -> Json:
    """The object of `check --json`: refused where there is any error, else ok."""
    refused = problem_rows(errors)
    document: Json = {
        "status": "refused" if refused else "ok",
        "workloads": [
            {
                "workload": row.workload,
                "unit": row.unit,
                "demand_tps": {day_type: list(tps) for day_type, tps in row.demand_tps.items()},
                "peak_tps": row.peak_tps,
                "mean_tps": row.mean_tps,
                "peak_to_mean": row.peak_to_mean,
            }
            for row in workloads
        ],
        "warnings": problem_rows(warnings),
        "errors": refused,
    }
    return _plain_object(document)


def _fields(source: CostParts | UsdPerMtok | Baselines | None, keys: tuple[str, ...]) -> Json:
    return {key: getattr(source, key) if source is not None else None for key in keys}


def _text(value: str | None) -> str | None:
    return value or None


def _purchases(plan: Plan) -> list[Json]:
    return [
        {
            "offer": line.offer,
            "purchase": line.purchase,
            "node_type": line.node_type,
            "gpu": line.gpu,
            "provider": _text(line.provider),
            "region": _text(line.region),
            "site": _text(line.site),
            "nodes_new": line.nodes_new,
            "nodes_existing": line.nodes_existing,
            "gpus": line.gpus,
            "term_months": line.term_months,
            "upfront_usd": line.upfront_usd,
            "node_hours_used_per_day": line.node_hours_used_per_day,
            "peak_nodes_used": line.peak_nodes_used,
            "usd_per_day": line.usd_per_day,
            "order_by": line.order_by,
        }
        for line in plan.purchases
    ]


def _slice_order(case: Case) -> dict[tuple[str, int], int]:
    return {(piece.day_type, piece.hour): place for place, piece in enumerate(case.slices)}


def _nodes(case: Case, plan: Plan) -> list[Json]:
    order = _slice_order(case)
    offers = {offer.offer: place for place, offer in enumerate(case.offers)}
    rows = [use for use in plan.decision.node_uses if use.used]
    rows.sort(key=lambda use: (order[use.day_type, use.hour], offers[use.offer]))
    return [{"day_type": use.day_type, "hour": use.hour, "offer": use.offer, "used": use.used} for use in rows]


def _options(candidates: Candidates) -> list[Json]:
    return [
        {
            "option": option.option,
            "pool": option.pool,
            "workload": point.workload,
            "output_tps": point.output_tps,
            "gpus_per_replica": option.gpus_per_replica,
            "node_type": option.node_type,
            "concurrency": point.concurrency,
            "source": _text(point.row.source),
        }
        for option in candidates.options
        for point in option.points
    ]


def _hours(case: Case, plan: Plan) -> list[Json]:
    """fleet_tps: all that own replicas serve, spot included; spot_tps: of it, on spot; run = fleet + api."""
    run: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for shift in plan.decision.shifts:
        run[shift.workload, shift.day_type, shift.run_hour].append(shift.tps)
    firm: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    spot: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    api: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for load in plan.decision.loads:
        firm[load.workload, load.day_type, load.hour].append(load.firm_tps)
        spot[load.workload, load.day_type, load.hour].append(load.spot_tps)
    for flow in plan.decision.overflows:
        api[flow.workload, flow.day_type, flow.hour].append(flow.tps)
    rows = []
    for piece in case.slices:
        for workload in case.workloads:
            key = (workload.workload, piece.day_type, piece.hour)
            demand = workload.demand_on(piece.day_type).output_tps[piece.hour]
            rows.append(
                {
                    "day_type": piece.day_type,
                    "hour": piece.hour,
                    "workload": workload.workload,
                    "demand_tps": demand,
                    "run_tps": math.fsum(run[key]) if workload.deferrable_hours else demand,
                    "fleet_tps": math.fsum(firm[key] + spot[key]),
                    "spot_tps": math.fsum(spot[key]),
                    "api_tps": math.fsum(api[key]),
                }
            )
    return rows


def _replicas(case: Case, plan: Plan) -> list[Json]:
    order = _slice_order(case)
    pools = {pool.pool: place for place, pool in enumerate(case.pools)}
    rows = [row for row in plan.decision.replicas if row.total]
    rows.sort(key=lambda row: (order[row.day_type, row.hour], pools[row.pool], row.option))
    return [
        {
            "day_type": row.day_type,
            "hour": row.hour,
            "pool": row.pool,
            "option": row.option,
            "live": row.live,
            "total": row.total,
            "spot_live": row.spot_live,
            "spot_total": row.spot_total,
        }
        for row in rows
    ]


def _margins(plan: Plan) -> list[Json]:
    return [
        {
            "contingency": row.contingency,
            "pool": row.pool,
            "day_type": row.day_type,
            "hour": row.hour,
            "margin_tps": row.margin_tps,
        }
        for row in plan.margins
    ]


def _rejection(row: Rejection) -> Json:
    return {
        "code": row.code,
        "workload": _text(row.workload),
        "model": _text(row.model),
        "precision": _text(row.precision),
        "gpu": _text(row.gpu),
        "node_type": _text(row.node_type),
        "gpus_per_replica": row.gpus_per_replica,
        "engine": _text(row.engine),
        "reason": row.reason,
        "numbers": dict(row.numbers),
    }


def _infeasible(row: InfeasibleLimit) -> Json:
    return {
        "limit": row.limit,
        "pool": _text(row.pool),
        "site": _text(row.site),
        "day_type": _text(row.day_type),
        "hour": row.hour,
        "missing": row.missing,
        "unit": row.unit,
        "relaxation": row.relaxation,
        "usd_per_day": row.usd_per_day,
    }


def problem_rows(problems: Iterable[Problem]) -> list[Json]:
    """Errors or warnings as rows of JSON."""
    return [
        {
            "code": problem.code,
            "file": problem.file,
            "sheet": problem.sheet,
            "cell": problem.cell,
            "message": problem.message,
            "fix": problem.fix,
        }
        for problem in problems
    ]


def _solver(solver: SolverInfo | None) -> Json:
    if solver is None:
        return {"name": None, "version": None, "seconds": None, "pulp": None}
    return {"name": solver.name, "version": solver.version, "seconds": solver.seconds, "pulp": solver.pulp}


def _plain_object(document: Json) -> Json:
    return {key: _plain(value) for key, value in document.items()}


def _plain(value: Any) -> Any:
    """Plain Python all the way down, -0.0 as 0.0. ValueError for NaN and infinity, TypeError for anything that is not JSON."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value!r} is no figure that a result may hold")
        return float(value) + 0.0
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} is not JSON")
