"""Tables as lists of plain dicts (sheet names and column keys of the input interface), turned into a Case without a workbook.

For tests that state a case in the shortest readable form. Empty or missing cells take the default of the interface.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from optimizer.domain.case import Case
from optimizer.domain.hardware import NodeType, Site
from optimizer.domain.hours import ALL_DAY, parse_hours
from optimizer.domain.market import ApiPrice, Discount, Existing, Offer
from optimizer.domain.measurement import GoodputRow
from optimizer.domain.model import ServedModel
from optimizer.domain.policy import Policy
from optimizer.domain.workload import Contingency, DayType, DemandDay, Pool, Workload
from optimizer.units import HOURS_PER_DAY

Tables = Mapping[str, Sequence[Mapping[str, Any]]]

START_DATE = datetime.date(2027, 1, 1)
TODAY = datetime.date(2026, 11, 29)

_LIST_KEYS = {"api", "node_types", "providers", "regions", "gpus", "purchases", "goodput_kinds", "catalogs_add"}
_FLAG_KEYS = {"api_absorbs", "kv_data_parallel"}
_HOURS_KEYS = {"hours", "rollout_hours"}
_DATE_KEYS = {"expires", "start_date", "today"}


def _value(key: str, raw: Any, utc_offset_h: float, *, is_list: bool) -> Any:
    if key == "occupancy_frac" and raw == "auto":
        return None
    if is_list:
        return tuple(part.strip() for part in str(raw).split(";") if part.strip())
    if key in _FLAG_KEYS:
        return raw if isinstance(raw, bool) else str(raw).strip().lower() in {"yes", "true", "1"}
    if key in _HOURS_KEYS:
        return parse_hours(str(raw), utc_offset_h)
    if key in _DATE_KEYS and isinstance(raw, str):
        return datetime.date.fromisoformat(raw)
    return raw


def _filled(row: Mapping[str, Any], utc_offset_h: float = 0.0, lists: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The cells of a row that hold something, parsed; provenance columns become fields of the domain row."""
    fields: dict[str, Any] = {}
    for key, raw in row.items():
        if raw is None or raw == "":
            continue
        if key == "as_of":
            fields["as_of_text"] = str(raw)
            try:
                fields["as_of"] = datetime.date.fromisoformat(str(raw))
            except ValueError:
                continue
            continue
        fields[key] = _value(key, raw, utc_offset_h, is_list=key in lists)
    return fields


def _demand(rows: Sequence[Mapping[str, Any]], workload: str, day_types: Sequence[DayType]) -> tuple[DemandDay, ...]:
    days = []
    for day in day_types:
        output: dict[int, float] = {}
        inputs: dict[int, float] = {}
        for row in rows:
            if row["workload"] != workload or row.get("day_type") not in (None, "", day.day_type):
                continue
            output[row["hour"]] = float(row["output_tps"])
            if row.get("input_tps") is not None:
                inputs[row["hour"]] = float(row["input_tps"])
        if sorted(output) != list(range(HOURS_PER_DAY)):
            raise ValueError(f"workload {workload} has not 24 hours on {day.day_type}")
        if inputs and sorted(inputs) != list(range(HOURS_PER_DAY)):
            raise ValueError(f"workload {workload} has input in some hours of {day.day_type} only")
        days.append(
            DemandDay(
                day_type=day.day_type,
                output_tps=tuple(output[hour] for hour in range(HOURS_PER_DAY)),
                input_tps=tuple(inputs[hour] for hour in range(HOURS_PER_DAY)) if inputs else None,
            )
        )
    return tuple(days)


def _contingencies(tables: Tables, pools: Sequence[Pool]) -> tuple[Contingency, ...]:
    interactive = tuple(pool.pool for pool in pools if pool.kind == "interactive")
    if "Contingencies" in tables:
        rows = []
        for row in tables["Contingencies"]:
            fields = _filled(row, lists=frozenset({"pool"}))
            named = fields.pop("pool", ())
            rows.append(Contingency(pools=named or interactive, **fields))
        return tuple(rows)
    rows = []
    for pool in pools:
        if pool.kind == "interactive":
            rows.append(Contingency(contingency="replica lost", pools=(pool.pool,), replicas_lost=1, assumed=True))
            if pool.spot_max_frac > 0:
                rows.append(Contingency(contingency="spot lost", pools=(pool.pool,), spot_lost_frac=1.0, assumed=True))
    return tuple(rows)


def _node_type(row: Mapping[str, Any]) -> NodeType:
    fields = _filled(row)
    fields.setdefault("replica_span_gpus", fields["gpus_per_node"])
    return NodeType(**fields)


def _model(row: Mapping[str, Any]) -> ServedModel:
    fields = _filled(row)
    if "weights_gb" not in fields:
        fields["weights_gb"] = fields["total_params_b"] * fields["bytes_per_param"]
    return ServedModel(**fields)


def _goodput(row: Mapping[str, Any]) -> GoodputRow:
    fields = _filled(row)
    fields.setdefault("tp", fields["gpus_per_replica"])
    return GoodputRow(**fields)


def _api(row: Mapping[str, Any], utc_offset_h: float) -> ApiPrice:
    fields = _filled(row, utc_offset_h)
    fields.setdefault("cached_input_usd_per_mtok", fields.get("input_usd_per_mtok", 0.0))
    return ApiPrice(**fields)


def case_from_tables(tables: Tables) -> Case:
    """A Case from the tables of the input interface; rows are dicts by column key. Demand is in tok/s, long form.

    A missing Contingencies table means the default bad days. Raises ValueError where demand is incomplete, KeyError or a pydantic
    error where a required cell is missing: this is for tests that state good cases.
    """
    policy_fields: dict[str, Any] = {"start_date": START_DATE, "today": TODAY}
    lists = frozenset(_LIST_KEYS)
    for row in tables.get("Policy", ()):
        policy_fields.update(_filled({row["key"]: row["value"]}, lists=lists))
    policy = Policy(**policy_fields)
    offset = policy.utc_offset_h
    day_types = tuple(DayType(**_filled(row)) for row in tables.get("DayTypes", ())) or (DayType(day_type="day", days=1.0),)
    pools = tuple(Pool(**{"rollout_hours": ALL_DAY, **_filled(row, lists=lists)}) for row in tables["Pools"])
    return Case(
        day_types=day_types,
        workloads=tuple(
            Workload(**_filled(row, lists=lists), demand=_demand(tables["Demand"], row["workload"], day_types))
            for row in tables["Workloads"]
        ),
        pools=pools,
        contingencies=_contingencies(tables, pools),
        policy=policy,
        node_types=tuple(_node_type(row) for row in tables["NodeTypes"]),
        models=tuple(_model(row) for row in tables["Models"]),
        goodput=tuple(_goodput(row) for row in tables["Goodput"]),
        offers=tuple(Offer(**_filled(row, offset)) for row in tables["Offers"]),
        existing=tuple(Existing(**_filled(row)) for row in tables.get("Existing", ())),
        discounts=tuple(Discount(**_filled(row)) for row in tables.get("Discounts", ())),
        api_prices=tuple(_api(row, offset) for row in tables.get("ApiPrices", ())),
        sites=tuple(Site(**_filled(row)) for row in tables.get("Sites", ())),
    )


def case_from_json(path: Path) -> Case:
    """`case_from_tables` of a JSON file that holds one object, sheet name to rows."""
    tables: Tables = json.loads(path.read_text(encoding="utf-8"))
    return case_from_tables(tables)
