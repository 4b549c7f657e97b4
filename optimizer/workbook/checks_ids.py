"""Checks between tables: every id that a row names must exist, and rows that meet must agree."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from optimizer.domain.market import DISCOUNTED, HELD
from optimizer.domain.names import join_key
from optimizer.errors import ProblemList
from optimizer.workbook.columns import Table
from optimizer.workbook.inputs import Inputs
from optimizer.workbook.joining import Spellings, spellings
from optimizer.workbook.rows import TableRow
from optimizer.workbook.schema import (
    API_PRICES,
    CONTINGENCIES,
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


@dataclass(frozen=True)
class ModelNames:
    """Canonical names of models and GPUs of one case, and the precisions each model has."""

    models: Spellings
    gpus: Spellings
    precisions: dict[str, dict[str, str]]

    def precision(self, model: str, name: str) -> str | None:
        """The precision as Models spells it; None where the model has no such precision."""
        return self.precisions.get(model, {}).get(join_key(name))


def names_of(inputs: Inputs) -> ModelNames:
    """Canonical names: those of Models and NodeTypes, first spelling first."""
    models = spellings((row["model"] for row in inputs.of(MODELS).rows if row["model"]), inputs.model_aliases)
    gpus = spellings((row["gpu"] for row in inputs.of(NODE_TYPES).rows if row["gpu"]), inputs.gpu_aliases)
    precisions: dict[str, dict[str, str]] = {}
    for row in inputs.of(MODELS).rows:
        if row["model"] and row["precision"]:
            model = models.find(row["model"]) or row["model"]
            precisions.setdefault(model, {}).setdefault(join_key(row["precision"]), row["precision"])
    return ModelNames(models, gpus, precisions)


def check_ids(inputs: Inputs, names: ModelNames, examples: Mapping[str, str | None], problems: ProblemList) -> None:
    """Ids that nobody defines (UNKNOWN_POOL, UNKNOWN_MODEL, UNKNOWN_OFFER, ...), and rows that do not agree.

    examples: example offers of the catalog that do not count, with their sites.
    """
    _check_workloads(inputs, names, problems)
    _check_pools(inputs, names, problems)
    _check_goodput(inputs, names, problems)
    _check_offers(inputs, problems)
    _check_existing(inputs, examples, problems)
    _check_discounts(inputs, examples, problems)


def _known(inputs: Inputs, table: Table) -> dict[str, TableRow] | None:
    """Ids of a table; None where its structure was refused, so that nothing that names it is blamed."""
    rows = inputs.of(table)
    return rows.ids(table.key_columns[0]) if rows.usable else None


def _unknown(row: TableRow, key: str, name: str, table: Table, known: Iterable[str], code: str, problems: ProblemList) -> None:
    ids = list(known)
    close = difflib.get_close_matches(name.casefold(), [each.casefold() for each in ids], n=1, cutoff=0.6)
    if close:
        fix = f"Did you mean {next(each for each in ids if each.casefold() == close[0])!r}?"
    elif not ids:
        fix = f"{table.sheet} has no rows."
    else:
        fix = f"{table.sheet} has: {', '.join(ids[:8])}{', ...' if len(ids) > 8 else ''}."
    if "," in name and row.table.column(key).kind == "list":
        fix = "Separate the entries of a list by ';'. " + fix
    problems.error(code, f"{key} names {name!r}, which is not in {table.sheet}.", fix, **row.place(key))


def _check_names(row: TableRow, key: str, table: Table, known: dict[str, TableRow] | None, code: str,
                 problems: ProblemList) -> None:
    value = row[key]
    if known is None or value is None:
        return
    for name in value if isinstance(value, tuple) else (value,):
        if name not in known:
            _unknown(row, key, name, table, known, code, problems)


def _check_workloads(inputs: Inputs, names: ModelNames, problems: ProblemList) -> None:
    pools, apis = _known(inputs, POOLS), _known(inputs, API_PRICES)
    models_usable = inputs.of(MODELS).usable
    for row in inputs.of(WORKLOADS).rows:
        _check_names(row, "pool", POOLS, pools, "UNKNOWN_POOL", problems)
        _check_names(row, "api", API_PRICES, apis, "UNKNOWN_API", problems)
        if row["model"] is None or not models_usable:
            continue
        model = names.models.find(row["model"])
        if model is None:
            _unknown_model(row, names, problems)
            continue
        _check_precision(row, model, names, problems)
        for api in row["api"] or ():
            _check_api_model(row, model, api, inputs, names, problems)


def _unknown_model(row: TableRow, names: ModelNames, problems: ProblemList) -> None:
    known = list(names.models.by_key.values())
    listed = f"Models has: {', '.join(known[:8])}." if known else "Add it to a sheet Models."
    problems.error("UNKNOWN_MODEL", f"Model {row['model']!r} is not in Models.", names.models.suggestion(row["model"]) or listed,
                   **row.place("model"))


def _check_precision(row: TableRow, model: str, names: ModelNames, problems: ProblemList) -> None:
    known = names.precisions.get(model, {})
    listed = ", ".join(known.values())
    if row["precision"] is None:
        if "precision" not in row.bad and len(known) > 1:
            problems.error("PRECISION_MISSING", f"{model} has several precisions in Models ({listed}), and none is chosen.",
                           "Fill in precision (--precision).", **row.place("precision"))
    elif names.precision(model, row["precision"]) is None and known:
        problems.error("UNKNOWN_MODEL", f"{model} has no precision {row['precision']!r} in Models.", f"It has: {listed}.",
                       **row.place("precision"))


def _check_api_model(row: TableRow, model: str, api: str, inputs: Inputs, names: ModelNames, problems: ProblemList) -> None:
    """An API of another model may be meant, but is worth a word."""
    price = inputs.of(API_PRICES).ids("api").get(api)
    if price is None or not price["model"]:
        return
    if join_key(price["model"]) != join_key(model) and names.models.find(price["model"]) != model:
        problems.warn("API_OTHER_MODEL", f"API {api} serves {price['model']}, and workload {row['workload']} asks for {model}.",
                      "Check that this overflow is meant.", **row.place("api"))


def _check_pools(inputs: Inputs, names: ModelNames, problems: ProblemList) -> None:
    node_types, pools = _known(inputs, NODE_TYPES), _known(inputs, POOLS)
    by_pool: dict[str, list[TableRow]] = {}
    for workload in inputs.of(WORKLOADS).rows:
        if workload["pool"] is not None:
            by_pool.setdefault(workload["pool"], []).append(workload)
    for row in inputs.of(POOLS).rows:
        _check_names(row, "node_types", NODE_TYPES, node_types, "UNKNOWN_NODE_TYPE", problems)
        _check_names(row, "fixed_node_type", NODE_TYPES, node_types, "UNKNOWN_NODE_TYPE", problems)
        _check_quota_sold(row, inputs, problems)
        if row["pool"] is not None and row["pool"] not in by_pool:
            _pool_without_workload(row, problems)
    for pool, rows in by_pool.items():
        models = {names.models.find(row["model"]) or join_key(row["model"]): row for row in rows if row["model"] is not None}
        if len(models) > 1:
            listed = ", ".join(f"{row['workload']} {row['model']}" for row in models.values())
            problems.error("POOL_SEVERAL_MODELS", f"The workloads of pool {pool} name different models: {listed}.",
                           "Replicas of a pool serve one model: give each model a pool of its own.",
                           **list(models.values())[1].place("model"))
    for row in inputs.of(CONTINGENCIES).rows:
        _check_names(row, "pool", POOLS, pools, "UNKNOWN_POOL", problems)


def _check_quota_sold(row: TableRow, inputs: Inputs, problems: ProblemList) -> None:
    """A standing quota of a node type of which there is no firm offer makes every plan impossible."""
    node_type, offers = row["fixed_node_type"], inputs.of(OFFERS)
    if not row["fixed_nodes"] or node_type is None or not offers.usable:
        return
    if not any(offer["node_type"] == node_type and offer["purchase"] != "spot" for offer in offers.rows):
        message = f"Pool {row['pool']} has a quota of {row['fixed_nodes']} nodes {node_type}, which no offer sells (spot apart)."
        problems.warn("FIXED_NODES_NOT_SOLD", message, "Add an offer of the node type, or empty fixed_nodes.",
                      **row.place("fixed_nodes"))


def _pool_without_workload(row: TableRow, problems: ProblemList) -> None:
    if row["min_live"]:
        problems.error("POOL_WITHOUT_WORKLOAD", f"Pool {row['pool']} asks for live replicas, but no workload names it.",
                       "Name the pool in Workloads, or empty min_live.", **row.place("min_live"))
    elif not row["fixed_nodes"]:
        problems.warn("POOL_WITHOUT_WORKLOAD", f"No workload names pool {row['pool']}; it gets nothing.", "", **row.place("pool"))


def _check_goodput(inputs: Inputs, names: ModelNames, problems: ProblemList) -> None:
    models_usable, node_types_usable = inputs.of(MODELS).usable, inputs.of(NODE_TYPES).usable
    for row in inputs.of(GOODPUT).rows:
        if row.catalog:
            continue
        if row["model"] is not None and models_usable:
            model = names.models.find(row["model"])
            if model is None:
                _unknown_model(row, names, problems)
            elif row["precision"] is not None:
                _check_precision(row, model, names, problems)
        if row["gpu"] is not None and node_types_usable and names.gpus.find(row["gpu"]) is None:
            problems.warn("UNKNOWN_GPU", f"No node type has GPU {row['gpu']!r}; its measurements are not used.",
                          names.gpus.suggestion(row["gpu"]), **row.place("gpu"))


def _check_offers(inputs: Inputs, problems: ProblemList) -> None:
    node_types, sites = _known(inputs, NODE_TYPES), _known(inputs, SITES)
    for row in inputs.of(OFFERS).rows:
        _check_names(row, "node_type", NODE_TYPES, node_types, "UNKNOWN_NODE_TYPE", problems)
        _check_names(row, "site", SITES, sites, "UNKNOWN_SITE", problems)
        node_type = (node_types or {}).get(row["node_type"])
        if row["site"] is not None and node_type is not None and node_type["node_kw"] is None and "node_kw" not in node_type.bad:
            problems.error("SITE_NEEDS_NODE_KW", f"Offer {row['offer']} stands in site {row['site']}, and node type "
                           f"{row['node_type']} has no node_kw.", "State node_kw in NodeTypes.", **row.place("site"))


def _check_existing(inputs: Inputs, examples: Mapping[str, str | None], problems: ProblemList) -> None:
    offers = _known(inputs, OFFERS)
    for row in inputs.of(EXISTING).rows:
        if _is_example(row, examples, problems):
            continue
        _check_names(row, "offer", OFFERS, offers, "UNKNOWN_OFFER", problems)
        offer = (offers or {}).get(row["offer"])
        if offer is not None and offer["purchase"] is not None and offer["purchase"] not in HELD:
            problems.error("EXISTING_NOT_HELD", f"Offer {row['offer']} is {offer['purchase']}, which is not held.",
                           "Name an owned, reserved or flex offer.", **row.place("offer"))


def _is_example(row: TableRow, examples: Mapping[str, str | None], problems: ProblemList) -> bool:
    """EXAMPLE_OFFER where a row names an offer of the catalog that does not count."""
    if row["offer"] not in examples:
        return False
    site = examples[row["offer"]]
    fix = f"Name its site {site} in a sheet Sites, or write" if site else "Write"
    problems.error("EXAMPLE_OFFER", f"Offer {row['offer']} is an example of the catalog, with an example's price.",
                   f"{fix} the offer with your own price in a sheet Offers.", **row.place("offer"))
    return True


def _check_discounts(inputs: Inputs, examples: Mapping[str, str | None], problems: ProblemList) -> None:
    """A discount covers what is paid by use: on-demand and flex offers with a use price, which it should undercut."""
    offers = _known(inputs, OFFERS)
    for row in inputs.of(DISCOUNTS).rows:
        if _is_example(row, examples, problems):
            continue
        _check_names(row, "offer", OFFERS, offers, "UNKNOWN_OFFER", problems)
        offer = (offers or {}).get(row["offer"])
        if offer is None or offer["purchase"] is None or offer["used_usd_per_node_h"] is None:
            continue
        if offer["purchase"] not in DISCOUNTED:
            problems.error("DISCOUNT_NOT_COVERED", f"Offer {row['offer']} is {offer['purchase']}, which discounts do not cover.",
                           "Name an on_demand or flex offer.", **row.place("offer"))
        elif offer["used_usd_per_node_h"] == 0:
            problems.error("DISCOUNT_NOT_COVERED", f"Offer {row['offer']} has no use price that a discount could replace.",
                           "State used_usd_per_node_h of the offer, or leave it out of Discounts.", **row.place("offer"))
        elif row["discounted_usd_per_node_h"] is not None and offer["effective_frac"]:
            paid = offer["used_usd_per_node_h"] / offer["effective_frac"]
            if row["discounted_usd_per_node_h"] >= paid:
                problems.warn("DISCOUNT_SAVES_NOTHING", f"Discount {row['discount']} covers offer {row['offer']} at "
                              f"{row['discounted_usd_per_node_h']:g} $/node-hour, and its use costs {paid:g}.",
                              "Check the two prices.", **row.place("discounted_usd_per_node_h"))
            elif row["discounted_usd_per_node_h"] == 0:
                problems.warn("PRICE_ZERO", f"Discount {row['discount']} makes offer {row['offer']} free.", "State its price.",
                              **row.place("discounted_usd_per_node_h"))
