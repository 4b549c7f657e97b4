"""Of rows that come from catalogs, keeps those that can matter for the case; rows of the workbook are never touched.

Catalog sites and `owned` offers are examples: they count only where the workbook names the site. Nothing that could change the
answer is left out: an offer of a GPU without any goodput of the case's models cannot serve.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from optimizer.domain.names import join_key
from optimizer.errors import ProblemList
from optimizer.workbook.checks_ids import ModelNames
from optimizer.workbook.columns import Table
from optimizer.workbook.inputs import Inputs
from optimizer.workbook.rows import TableRow
from optimizer.workbook.schema import (
    API_PRICES,
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

_MAX_LISTED = 12


@dataclass(frozen=True)
class Narrowed:
    """What was left out. sentences: on offers left out for want of measurements. examples: example offers, with their sites."""

    sentences: tuple[str, ...]
    examples: Mapping[str, str | None]


def narrow_catalogs(inputs: Inputs, names: ModelNames, problems: ProblemList) -> Narrowed:
    """Drops catalog rows that cannot matter from `inputs`, and says what a person should know of it."""
    used = _used_models(inputs, names)
    own_goodput = {_variant(row, names) for row in inputs.of(GOODPUT).rows if not row.catalog}
    _keep(inputs, MODELS, lambda row: _variant(row, names) in used | own_goodput)
    _keep(inputs, GOODPUT, lambda row: _variant(row, names) in used)
    named_sites = _named_sites(inputs)
    stray_sites = named_sites - set(inputs.of(SITES).ids("site"))
    examples = _examples(inputs, named_sites)
    # Where a name is not found its table stays whole, so that the refusal can say what there is.
    _keep(inputs, SITES, lambda row: row["site"] in named_sites or bool(stray_sites))
    _keep(inputs, OFFERS, lambda row: row["offer"] not in examples)
    sentences = _keep_measured_offers(inputs, names, problems)
    sold = {row["node_type"] for row in inputs.of(OFFERS).rows}
    named = {name for row in inputs.of(POOLS).rows for name in (*(row["node_types"] or ()), row["fixed_node_type"])}
    stray_types = (sold | named) - {None, *inputs.of(NODE_TYPES).ids("node_type")}
    _keep(inputs, NODE_TYPES, lambda row: row["node_type"] in sold | named or bool(stray_types))
    apis = {api for row in inputs.of(WORKLOADS).rows for api in row["api"] or ()}
    stray_apis = apis - set(inputs.of(API_PRICES).ids("api"))
    _keep(inputs, API_PRICES, lambda row: row["api"] in apis or bool(stray_apis))
    return Narrowed(sentences, examples)


def _keep(inputs: Inputs, table: Table, wanted: Callable[[TableRow], bool]) -> None:
    found = inputs.of(table)
    rows = tuple(row for row in found.rows if not row.catalog or row.bad or wanted(row))
    if len(rows) < len(found.rows):
        inputs.tables[table.sheet] = replace(found, rows=rows)


def _model(row: TableRow, names: ModelNames) -> str | None:
    return names.models.find(row["model"] or "")


def _variant(row: TableRow, names: ModelNames) -> tuple[str | None, str]:
    return _model(row, names), join_key(row["precision"] or "")


def _examples(inputs: Inputs, named_sites: frozenset[str]) -> dict[str, str | None]:
    """Catalog offers that do not count, and their sites: those in sites that nobody named, and owned ones without a site."""
    return {
        row["offer"]: row["site"]
        for row in inputs.of(OFFERS).rows
        if row.catalog and row["site"] not in named_sites and (row["site"] is not None or row["purchase"] == "owned")
    }


def _used_models(inputs: Inputs, names: ModelNames) -> set[tuple[str | None, str]]:
    """(model, join key of the precision) that workloads name; every precision of a model where none is stated."""
    used: set[tuple[str | None, str]] = set()
    for row in inputs.of(WORKLOADS).rows:
        model = _model(row, names)
        if model is None:
            continue
        stated = [join_key(row["precision"])] if row["precision"] else list(names.precisions.get(model, {}))
        used.update((model, precision) for precision in stated)
    return used


def _named_sites(inputs: Inputs) -> frozenset[str]:
    """Sites that the workbook itself names, in Sites or in Offers."""
    own = (row for table in (SITES, OFFERS) for row in inputs.of(table).rows if not row.catalog)
    return frozenset(row["site"] for row in own if row["site"] is not None)


def _keep_measured_offers(inputs: Inputs, names: ModelNames, problems: ProblemList) -> tuple[str, ...]:
    """Catalog offers whose GPU was measured for a model of the case, and those that hold nodes already, that a discount names or
    that sell the node type of a standing quota.

    A catalog offer of a node type that the workbook's own NodeTypes lacks is left out too, with a warning.
    """
    gpu_of = {row["node_type"]: names.gpus.find(row["gpu"]) for row in inputs.of(NODE_TYPES).rows if row["gpu"]}
    own_node_types = inputs.of(NODE_TYPES).from_workbook and inputs.of(NODE_TYPES).usable
    measured = {names.gpus.find(row["gpu"]) for row in inputs.of(GOODPUT).rows if row["gpu"]}
    named = {row["offer"] for table in (EXISTING, DISCOUNTS) for row in inputs.of(table).rows}
    quotas = {row["fixed_node_type"] for row in inputs.of(POOLS).rows if row["fixed_nodes"]}
    foreign: list[TableRow] = []
    unmeasured: dict[str, int] = {}

    def wanted(row: TableRow) -> bool:
        if row["offer"] in named:
            return True
        if row["node_type"] not in gpu_of:
            # The catalogs contradict each other where NodeTypes is a catalog too: keep the row, to be refused.
            if own_node_types:
                foreign.append(row)
            return not own_node_types
        gpu = gpu_of[row["node_type"]]
        if gpu in measured or row["node_type"] in quotas:
            return True
        unmeasured[gpu or row["node_type"]] = unmeasured.get(gpu or row["node_type"], 0) + 1
        return False

    _keep(inputs, OFFERS, wanted)
    if foreign:
        left_out = ", ".join(dict.fromkeys(row["node_type"] for row in foreign))
        problems.warn("CATALOG_OFFERS_LEFT_OUT",
                      f"{len(foreign)} offers of the catalog sell node types that sheet NodeTypes does not have: {left_out}.",
                      "Add these node types, or write your own sheet Offers.", file=foreign[0].file)
    if not unmeasured or not measured:
        return ()
    listed = [f"{gpu} ({count})" for gpu, count in sorted(unmeasured.items())]
    more = f" and {len(listed) - _MAX_LISTED} more" if len(listed) > _MAX_LISTED else ""
    gpus = ", ".join(listed[:_MAX_LISTED])
    return (f"Catalog offers of GPUs on which nothing was measured for these models are left out: {gpus}{more}.",)
