"""Limits of APIs in plain arithmetic: what one tok/s of overflow takes of each stated token class."""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.domain.market import ApiPrice
from optimizer.plan.index import PlanIndex, SliceKey

SECONDS_PER_MINUTE = 60.0


@dataclass(frozen=True)
class ApiLimit:
    """One stated limit. uses: per workload what one output tok/s of overflow takes of it; None = the workload does not say."""

    column: str
    limit: float
    uses: dict[str, float | None]


def api_limits(index: PlanIndex, api: ApiPrice, key: SliceKey) -> list[ApiLimit]:
    """The stated limits of one API in one slice, and what every workload of the case would take of them.

    max_output_tps counts output, max_input_tps overflow x input per output, max_total_tps both, max_rpm requests per minute,
    60 x overflow / output_tokens.
    """
    users = index.workloads.values()
    ratios = {workload.workload: index.input_per_output(workload.workload, key) for workload in users}
    limits = []
    if api.max_output_tps is not None:
        limits.append(ApiLimit("max_output_tps", api.max_output_tps, dict.fromkeys(ratios, 1.0)))
    if api.max_input_tps is not None:
        limits.append(ApiLimit("max_input_tps", api.max_input_tps, dict(ratios)))
    if api.max_total_tps is not None:
        total = {name: None if ratio is None else 1.0 + ratio for name, ratio in ratios.items()}
        limits.append(ApiLimit("max_total_tps", api.max_total_tps, total))
    if api.max_rpm is not None:
        requests = {row.workload: SECONDS_PER_MINUTE / row.output_tokens if row.output_tokens else None for row in users}
        limits.append(ApiLimit("max_rpm", api.max_rpm, requests))
    return limits
