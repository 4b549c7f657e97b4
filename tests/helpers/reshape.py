"""Cases changed in one respect: a price raised, a limit loosened, everything scaled, rows shuffled."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from optimizer.domain.base import Frozen
from optimizer.domain.case import Case
from optimizer.domain.hours import ALL_DAY
from optimizer.domain.workload import DemandDay

T = TypeVar("T", bound=Frozen)

TABLES = (
    "day_types", "workloads", "pools", "contingencies", "node_types", "models", "goodput", "offers", "existing", "api_prices",
    "sites",
)  # fmt: skip

#: A change of a case; None where it does not apply to the case.
Change = Callable[[Case], Case | None]


def with_fields(thing: T, **fields: Any) -> T:
    """A copy with these fields replaced, checked anew."""
    kind = type(thing)
    return kind.model_validate({name: getattr(thing, name) for name in kind.model_fields} | fields)


def change_rows(table: str, change: Callable[[Any], Any]) -> Change:
    """`change` on every row of a table; a change that leaves every row equal does not apply."""

    def changed(case: Case) -> Case | None:
        before = getattr(case, table)
        after = tuple(change(row) for row in before)
        return None if after == before else with_fields(case, **{table: after})

    return changed


def scale_field(table: str, field: str, factor: float) -> Change:
    """A numeric field times `factor` in every row that states it."""

    def change(row: Any) -> Any:
        value = getattr(row, field)
        return row if not value else with_fields(row, **{field: value * factor})

    return change_rows(table, change)


def set_field(table: str, field: str, value: Any) -> Change:
    """A field set to one value in every row."""
    return change_rows(table, lambda row: with_fields(row, **{field: value}))


def more_of(table: str, field: str, extra: int) -> Change:
    """A whole-numbered limit raised where it is stated."""

    def change(row: Any) -> Any:
        value = getattr(row, field)
        return row if value is None else with_fields(row, **{field: value + extra})

    return change_rows(table, change)


def map_demand(case: Case, change: Callable[[str, str, int, float], float]) -> Case:
    """Output and input of every workload, day type and hour, as changed(workload, day_type, hour, tps)."""

    def day(name: str, row: DemandDay) -> DemandDay:
        inputs = None
        if row.input_tps is not None:
            inputs = tuple(change(name, row.day_type, hour, tps) for hour, tps in enumerate(row.input_tps))
        outputs = tuple(change(name, row.day_type, hour, tps) for hour, tps in enumerate(row.output_tps))
        return DemandDay(day_type=row.day_type, output_tps=outputs, input_tps=inputs)

    return with_fields(
        case,
        workloads=tuple(with_fields(w, demand=tuple(day(w.workload, row) for row in w.demand)) for w in case.workloads),
    )


def scale_throughput(case: Case, factor: float) -> Case:
    """Demand, goodput and API limits times `factor`, API prices by 1 / `factor`: the same fleet at the same cost."""

    def scaled(row: T, up: Iterable[str], down: Iterable[str] = ()) -> T:
        fields = {name: getattr(row, name) * factor for name in up if getattr(row, name) is not None}
        fields |= {name: getattr(row, name) / factor for name in down}
        return with_fields(row, **fields)

    limits = ("max_output_tps", "max_input_tps", "max_total_tps", "max_rpm")
    prices = ("output_usd_per_mtok", "input_usd_per_mtok", "cached_input_usd_per_mtok")
    return with_fields(
        map_demand(case, lambda _w, _d, _h, tps: tps * factor),
        goodput=tuple(scaled(row, ("output_tps", "input_tps")) for row in case.goodput),
        api_prices=tuple(scaled(row, limits, prices) for row in case.api_prices),
    )


def scale_money(case: Case, factor: float) -> Case:
    """Every price times `factor`."""
    changed = case
    for table, fields in {
        "offers": ("held_usd_per_node_h", "used_usd_per_node_h", "upfront_usd_per_node"),
        "api_prices": ("output_usd_per_mtok", "input_usd_per_mtok", "cached_input_usd_per_mtok"),
        "sites": ("usd_per_kwh", "usd_per_kw_month"),
    }.items():
        for field in fields:
            changed = scale_field(table, field, factor)(changed) or changed
    return changed


def shuffle_rows(case: Case, seed: int) -> Case:
    """The same case with the rows of every table in another order."""
    rng = random.Random(seed)
    fields = {}
    for table in TABLES:
        rows = list(getattr(case, table))
        rng.shuffle(rows)
        fields[table] = tuple(rows)
    order = [day.day_type for day in fields["day_types"]]
    fields["workloads"] = tuple(
        with_fields(w, demand=tuple(sorted(w.demand, key=lambda row: order.index(row.day_type))), api=tuple(reversed(w.api)))
        for w in fields["workloads"]
    )
    return with_fields(case, **fields)


def rotate_day(case: Case, hours: int) -> Case:
    """The same case with the clock put on by `hours`: demand and every window move together."""

    def window(kept: frozenset[int]) -> frozenset[int]:
        return kept if kept == ALL_DAY else frozenset((hour + hours) % 24 for hour in kept)

    def moved(values: tuple[float, ...] | None) -> tuple[float, ...] | None:
        return None if values is None else tuple(values[(hour - hours) % 24] for hour in range(24))

    def moved_day(day: DemandDay) -> DemandDay:
        return with_fields(day, output_tps=moved(day.output_tps), input_tps=moved(day.input_tps))

    return with_fields(
        case,
        workloads=tuple(with_fields(w, demand=tuple(moved_day(day) for day in w.demand)) for w in case.workloads),
        pools=tuple(with_fields(row, rollout_hours=window(row.rollout_hours)) for row in case.pools),
        offers=tuple(with_fields(row, hours=window(row.hours)) for row in case.offers),
        api_prices=tuple(with_fields(row, hours=window(row.hours)) for row in case.api_prices),
    )


def split_day_types(case: Case) -> Case:
    """Every day type in two of the same kind, with a third and two thirds of its days."""
    halves = {day.day_type: (f"{day.day_type}-a", f"{day.day_type}-b") for day in case.day_types}
    return with_fields(
        case,
        day_types=tuple(
            with_fields(day, day_type=name, days=day.days * part)
            for day in case.day_types
            for name, part in zip(halves[day.day_type], (1 / 3, 2 / 3), strict=True)
        ),
        workloads=tuple(
            with_fields(w, demand=tuple(with_fields(row, day_type=name) for row in w.demand for name in halves[row.day_type]))
            for w in case.workloads
        ),
    )
