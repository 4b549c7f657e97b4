"""Rows that passed their checks, as domain objects under canonical names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from optimizer.domain.base import Row
from optimizer.domain.hardware import NodeType, Site
from optimizer.domain.market import ApiPrice, Discount, Existing, Offer
from optimizer.domain.measurement import GoodputRow
from optimizer.domain.model import ServedModel
from optimizer.domain.workload import Contingency, DayType, DemandDay, Pool, Workload
from optimizer.workbook.checks_ids import ModelNames
from optimizer.workbook.inputs import Inputs
from optimizer.workbook.joining import spellings
from optimizer.workbook.rows import TableRow
from optimizer.workbook.schema import (
    API_PRICES,
    CONTINGENCIES,
    DAY_TYPES,
    DISCOUNTS,
    EXISTING,
    GOODPUT,
    MODELS,
    NODE_TYPES,
    OFFERS,
    POOLS,
    SITES,
    WORKLOADS,
)

_Built = TypeVar("_Built", bound=Row)


def _build(kind: type[_Built], row: TableRow, **changed: Any) -> _Built:
    """A domain object from the columns it has fields for; empty cells without a default keep the field's own."""
    as_of, words = row["as_of"] or (None, "")
    fields: dict[str, Any] = {"origin": row.origin, "as_of": as_of, "as_of_text": words}
    for column in row.table.columns:
        value = row.values[column.key]
        if column.key in kind.model_fields and column.kind != "as_of" and (value is not None or column.kind == "occupancy"):
            fields[column.key] = value
    return kind.model_validate({**fields, **changed})


def day_types(inputs: Inputs) -> tuple[DayType, ...]:
    """DayTypes in reading order."""
    return tuple(_build(DayType, row) for row in inputs.of(DAY_TYPES).rows)


def node_types(inputs: Inputs, names: ModelNames) -> tuple[NodeType, ...]:
    """NodeTypes; an empty span is one node."""
    return tuple(
        _build(NodeType, row, gpu=_gpu(row, names), replica_span_gpus=row["replica_span_gpus"] or row["gpus_per_node"])
        for row in inputs.of(NODE_TYPES).rows
    )


def models(inputs: Inputs, names: ModelNames) -> tuple[ServedModel, ...]:
    """Models; weights from total parameters where they are not stated: 10^9 parameters x bytes = GB."""
    return tuple(
        _build(ServedModel, row, model=_model(row, names), precision=_precision(row, names), weights_gb=_weights_gb(row))
        for row in inputs.of(MODELS).rows
    )


def goodput(inputs: Inputs, names: ModelNames) -> tuple[GoodputRow, ...]:
    """Goodput; an empty tensor-parallel degree is the replica's GPUs."""
    return tuple(
        _build(GoodputRow, row, model=_model(row, names), precision=_precision(row, names), gpu=_gpu(row, names),
               tp=row["tp"] or row["gpus_per_replica"])
        for row in inputs.of(GOODPUT).rows
    )


def offers(inputs: Inputs) -> tuple[Offer, ...]:
    """Offers in reading order; providers and regions as spelled first, since together they are a place."""
    rows = inputs.of(OFFERS).rows
    providers = spellings((row["provider"] for row in rows if row["provider"]), {})
    regions = spellings((row["region"] for row in rows if row["region"]), {})
    return tuple(
        _build(Offer, row, provider=providers.find(row["provider"] or ""), region=regions.find(row["region"] or ""))
        for row in rows
    )


def existing(inputs: Inputs) -> tuple[Existing, ...]:
    """Existing contracts in reading order."""
    return tuple(_build(Existing, row) for row in inputs.of(EXISTING).rows)


def discounts(inputs: Inputs) -> tuple[Discount, ...]:
    """Discounts in reading order."""
    return tuple(_build(Discount, row) for row in inputs.of(DISCOUNTS).rows)


def api_prices(inputs: Inputs, names: ModelNames) -> tuple[ApiPrice, ...]:
    """ApiPrices; an empty cached price is the input price."""
    found = []
    for row in inputs.of(API_PRICES).rows:
        cached = row["cached_input_usd_per_mtok"]
        model = row["model"] or ""
        found.append(
            _build(ApiPrice, row, model=names.models.find(model) or model,
                   cached_input_usd_per_mtok=row["input_usd_per_mtok"] if cached is None else cached)
        )
    return tuple(found)


def sites(inputs: Inputs) -> tuple[Site, ...]:
    """Sites in reading order."""
    return tuple(_build(Site, row) for row in inputs.of(SITES).rows)


def pools(inputs: Inputs) -> tuple[Pool, ...]:
    """Pools in reading order."""
    return tuple(_build(Pool, row) for row in inputs.of(POOLS).rows)


def workloads(inputs: Inputs, names: ModelNames, demand: dict[str, tuple[DemandDay, ...]]) -> tuple[Workload, ...]:
    """Workloads with their demand; an empty precision becomes the model's only one."""
    found = []
    for row in inputs.of(WORKLOADS).rows:
        model = _model(row, names)
        only = next(iter(names.precisions.get(model, {}).values()), None)
        precision = _precision(row, names) if row["precision"] else only
        found.append(_build(Workload, row, model=model, precision=precision, demand=demand[row["workload"]]))
    return tuple(found)


def contingencies(inputs: Inputs, all_pools: Iterable[Pool]) -> tuple[Contingency, ...]:
    """Contingencies of the sheet; without one, N+1 for each interactive pool, and the loss of all spot where it may use spot."""
    interactive = [pool for pool in all_pools if pool.kind == "interactive"]
    table = inputs.of(CONTINGENCIES)
    if table.present:
        every = tuple(pool.pool for pool in interactive)
        return tuple(_build(Contingency, row, pools=row["pool"] or every) for row in table.rows)
    found = []
    if interactive:
        every = tuple(pool.pool for pool in interactive)
        found.append(Contingency(contingency="one replica lost", pools=every, replicas_lost=1, assumed=True))
    on_spot = tuple(pool.pool for pool in interactive if pool.spot_max_frac > 0)
    if on_spot:
        found.append(Contingency(contingency="all spot lost", pools=on_spot, spot_lost_frac=1.0, assumed=True))
    return tuple(found)


def _model(row: TableRow, names: ModelNames) -> str:
    return names.models.find(row["model"]) or str(row["model"])


def _precision(row: TableRow, names: ModelNames) -> str:
    return names.precision(_model(row, names), row["precision"]) or str(row["precision"])


def _gpu(row: TableRow, names: ModelNames) -> str:
    return names.gpus.find(row["gpu"]) or str(row["gpu"])


def _weights_gb(row: TableRow) -> float:
    stated = row["weights_gb"]
    return float(stated if stated is not None else row["total_params_b"] * row["bytes_per_param"])
