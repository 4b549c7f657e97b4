"""Is a folder of catalogs sound? Every rule that its rows must keep among themselves; each finding names file, row and column.

Errors are contradictions: a key twice, an unknown name, no source or date, a rate that its own latencies rule out. Warnings are
prices a person should look at again.
"""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from optimizer.domain.names import join_key
from optimizer.errors import ProblemList
from optimizer.units import MS_PER_S, W_PER_KW
from optimizer.workbook.catalogs import ALIASES_FILE, Catalogs, open_catalogs
from optimizer.workbook.checks_rows import check_rows_alone
from optimizer.workbook.columns import Table
from optimizer.workbook.rows import TableRow, TableRows, parse_rows, refuse_duplicates
from optimizer.workbook.schema import API_PRICES, GOODPUT, MODELS, NODE_TYPES, OFFERS, SITES, policy_key
from optimizer.workbook.values import Reading

CHECKED = (NODE_TYPES, MODELS, GOODPUT, OFFERS, API_PRICES, SITES)
#: All but the longest; for what has nothing to do with measurements.
WITHOUT_GOODPUT = (NODE_TYPES, MODELS, OFFERS, API_PRICES, SITES)
#: Weights may differ from parameters x bytes by so much: part of a checkpoint stays at a higher precision.
WEIGHTS_TOLERANCE = 0.15
#: A rate may exceed concurrency / TPOT by so much: rounding of the stored figures.
CEILING_TOLERANCE = 0.02
#: A rate may differ from its own latencies by so much.
LATENCY_TOLERANCE = 0.10
#: Usual bytes of one parameter, where the row does not state them. Four bits are 0.5 and scales, beside some 16-bit layers.
BYTES_PER_PARAM: Mapping[str, float] = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "fp4": 0.6, "int4": 0.6}
#: Column of node_types.csv with the watts of one GPU; for checking alone.
_TDP_COLUMN = "gpu_tdp_w"

_JOINED = frozenset({"model", "gpu", "precision"})

Tables = Mapping[str, TableRows]
Rule = Callable[[Tables, ProblemList], None]


def check_catalogs(
    folder: Path | str | None = None, *, today: datetime.date | None = None, stale_days: float | None = None
) -> ProblemList:
    """Everything wrong or doubtful in a folder of catalogs; None = the shipped ones. `cell` names row and column of the file.

    today: day from which the age of prices counts; None = ages are not looked at. stale_days: prices older than so many days are
    warned of; None = the policy's default.
    """
    problems = ProblemList()
    catalogs = open_catalogs(None if folder is None else str(folder), problems)
    tables = read_catalogs(catalogs, problems)
    if not tables and not problems.errors:
        problems.error("CATALOGS_NOT_FOUND", "The folder holds none of the catalogs.",
                       f"Catalogs are named {', '.join(table.catalog for table in CHECKED)}.", file=catalogs.label)
    check_tables(tables, problems)
    check_power(tables, problems, gpu_watts(catalogs, tables, problems))
    check_aliases(catalogs, tables, problems)
    if today is not None:
        check_ages(tables, problems, today, default_stale_days() if stale_days is None else stale_days)
    return problems


def check_tables(tables: Tables, problems: ProblemList) -> None:
    """The rules that need no more than the tables; those of `check_catalogs` but for power, aliases and age."""
    check_rows_alone(tables, problems)
    for rule in RULES:
        rule(tables, problems)


def default_stale_days() -> float:
    """price_stale_days of a policy that does not state it."""
    default = policy_key("price_stale_days").default
    assert isinstance(default, (int, float))
    return float(default)


def priced_rows(tables: Tables) -> Iterator[TableRow]:
    """Every row that is a price: offers, then API prices."""
    yield from _rows(tables, OFFERS.sheet)
    yield from _rows(tables, API_PRICES.sheet)


def age_days(row: TableRow, today: datetime.date) -> int | None:
    """Days since the date of a row; None where it has none."""
    as_of = row["as_of"]
    return None if as_of is None or as_of[0] is None else (today - as_of[0]).days


def read_catalogs(catalogs: Catalogs, problems: ProblemList, only: Iterable[Table] = CHECKED) -> dict[str, TableRows]:
    """The typed rows of every catalog that is there, by sheet name; problems of single cells are collected."""
    found = {}
    for table in only:
        raw = catalogs.table(table)
        if raw is not None:
            found[table.sheet] = parse_rows(raw, Reading(machine=True), problems)
    return found


def check_keys(tables: Tables, problems: ProblemList) -> None:
    """No key stands twice in a table; names of models, GPUs and precisions count as they join."""
    for rows in tables.values():
        refuse_duplicates(rows.rows, _key, " and ".join(rows.table.key_columns[:2]), problems)


def check_names(tables: Tables, problems: ProblemList) -> None:
    """Goodput names models and GPUs that are there, offers name node types and sites that are there."""
    models = {(join_key(row["model"]), join_key(row["precision"])) for row in _rows(tables, MODELS.sheet) if row["model"]}
    gpus = {join_key(row["gpu"]) for row in _rows(tables, NODE_TYPES.sheet) if row["gpu"]}
    node_types = {row["node_type"] for row in _rows(tables, NODE_TYPES.sheet)}
    sites = {row["site"] for row in _rows(tables, SITES.sheet)}
    for row in _rows(tables, GOODPUT.sheet):
        if row["model"] and row["precision"] and (join_key(row["model"]), join_key(row["precision"])) not in models:
            _unknown(problems, row, "model", f"{row['model']} at {row['precision']}", MODELS.sheet)
        if row["gpu"] and join_key(row["gpu"]) not in gpus:
            _unknown(problems, row, "gpu", row["gpu"], NODE_TYPES.sheet)
    for row in _rows(tables, OFFERS.sheet):
        if row["node_type"] and row["node_type"] not in node_types:
            _unknown(problems, row, "node_type", row["node_type"], NODE_TYPES.sheet)
        if row["site"] and row["site"] not in sites:
            _unknown(problems, row, "site", row["site"], SITES.sheet)


def check_sources(tables: Tables, problems: ProblemList) -> None:
    """Every row states where its figures come from and of which date they are."""
    for rows in tables.values():
        for row in rows.rows:
            if "source" not in row.stated:
                problems.error("MISSING_SOURCE", "This row has no source.", "State where its figures come from.",
                               **row.place("source"))
            as_of = row["as_of"]
            if "as_of" not in row.bad and (as_of is None or as_of[0] is None):
                problems.error("MISSING_DATE", "This row has no date (as_of).", "State the date of its figures, as 2026-11-29.",
                               **row.place("as_of"))


def check_prices(tables: Tables, problems: ProblemList) -> None:
    """Spot is dearer than on demand, for the same provider, region and node type: one of the two is probably wrong."""
    on_demand = {
        _market(row): row for row in _rows(tables, OFFERS.sheet) if row["purchase"] == "on_demand" and row["used_usd_per_node_h"]
    }
    for row in _rows(tables, OFFERS.sheet):
        other = on_demand.get(_market(row)) if row["purchase"] == "spot" else None
        if other is None or row["used_usd_per_node_h"] is None:
            continue
        if other["used_usd_per_node_h"] <= row["used_usd_per_node_h"]:
            problems.warn("SPOT_OVER_ON_DEMAND",
                          f"{row['offer']} costs {row['used_usd_per_node_h']:g} $/node-h on spot, and {other['offer']} costs "
                          f"{other['used_usd_per_node_h']:g} on demand.", "Look at both prices again.",
                          **row.place("used_usd_per_node_h"))


def check_ages(tables: Tables, problems: ProblemList, today: datetime.date, stale_days: float) -> None:
    """Warns of each price older than `stale_days` on the day `today`."""
    for row in priced_rows(tables):
        age = age_days(row, today)
        if age is not None and age > stale_days:
            problems.warn("PRICE_STALE", f"The price of {row[row.table.key_columns[0]]} is {age} days old; the policy allows "
                          f"{stale_days:g}.", "Look it up again, and date it.", **row.place("as_of"))


def gpu_watts(catalogs: Catalogs, tables: Tables, problems: ProblemList) -> dict[str, float]:
    """Watts of one GPU by node type, from the extra column `gpu_tdp_w` of node_types.csv; only where it is filled in."""
    if NODE_TYPES.sheet not in tables or catalogs.folder is None:
        return {}
    text = (catalogs.folder / NODE_TYPES.catalog).read_text(encoding="utf-8-sig")
    found = {}
    for row in csv.DictReader(io.StringIO(text)):
        stated = (row.get(_TDP_COLUMN) or "").strip()
        try:
            found[row.get("node_type") or ""] = float(stated) if stated else 0.0
        except ValueError:
            problems.error("NOT_A_NUMBER", f"{_TDP_COLUMN} of {row.get('node_type')} is {stated!r}, where a number is due.",
                           "Write the watts of one GPU.", file=catalogs.name_of(NODE_TYPES.catalog), sheet=NODE_TYPES.sheet)
    return found


def check_power(tables: Tables, problems: ProblemList, watts: Mapping[str, float]) -> None:
    """A node draws at least what its GPUs draw. watts: of one GPU, by node type."""
    for row in _rows(tables, NODE_TYPES.sheet):
        per_gpu = watts.get(row["node_type"])
        if per_gpu is None or row["node_kw"] is None or row["gpus_per_node"] is None:
            continue
        gpus_kw = per_gpu * row["gpus_per_node"] / W_PER_KW
        if row["node_kw"] < gpus_kw:
            problems.error("NODE_KW_UNDER_GPUS",
                           f"node_kw {row['node_kw']:g} is less than the {gpus_kw:g} kW of its GPUs alone.",
                           "Correct node_kw.", **row.place("node_kw"))


def check_weights(tables: Tables, problems: ProblemList) -> None:
    """weights_gb is total parameters x bytes per parameter within 15 %, and active parameters do not exceed the total."""
    for row in _rows(tables, MODELS.sheet):
        total, active, weights = row["total_params_b"], row["active_params_b"], row["weights_gb"]
        if total is not None and active is not None and active > total:
            problems.error("ACTIVE_OVER_TOTAL", f"active_params_b {active:g} is more than total_params_b {total:g}.",
                           "Weights count all parameters; correct one of the two.", **row.place("active_params_b"))
        each = row["bytes_per_param"] or BYTES_PER_PARAM.get(join_key(row["precision"] or ""))
        if total is None or weights is None or each is None:
            continue
        if abs(weights - total * each) > WEIGHTS_TOLERANCE * total * each:
            problems.error("WEIGHTS_OFF", f"weights_gb {weights:g} is not within {WEIGHTS_TOLERANCE:.0%} of {total:g} billion "
                           f"parameters x {each:g} bytes = {total * each:.1f} GB.", "Correct weights_gb, or the parameters.",
                           **row.place("weights_gb"))


def check_goodput(tables: Tables, problems: ProblemList) -> None:
    """A measured rate does not exceed concurrency / TPOT (2 %), and agrees with its own TTFT and TPOT (10 %).

    Each of `concurrency` sequences takes TTFT + TPOT x (output tokens - 1) for its output tokens.
    """
    for row in _rows(tables, GOODPUT.sheet):
        rate, tpot_ms, ttft_ms, out = row["output_tps"], row["tpot_ms"], row["ttft_ms"], row["output_tokens"]
        if rate is None or tpot_ms is None or row["concurrency"] is None:
            continue
        ceiling = row["concurrency"] * MS_PER_S / tpot_ms
        if rate > ceiling * (1 + CEILING_TOLERANCE):
            problems.error("GOODPUT_OVER_CEILING",
                           f"output_tps {rate:g} is more than {row['concurrency']:g} sequences / {tpot_ms:g} ms = {ceiling:.1f}.",
                           "Correct concurrency, tpot_ms or output_tps; data-parallel replicas are one replica each.",
                           **row.place("output_tps"))
            continue
        if ttft_ms is None or out is None:
            continue
        implied = row["concurrency"] * out * MS_PER_S / (ttft_ms + tpot_ms * (out - 1))
        if abs(rate - implied) > LATENCY_TOLERANCE * implied:
            problems.error("GOODPUT_OFF_LATENCY",
                           f"output_tps {rate:g} is not within {LATENCY_TOLERANCE:.0%} of the {implied:.1f} its latencies give.",
                           "Leave the row out, or correct it: queueing, or figures of different runs.",
                           **row.place("output_tps"))


def check_aliases(catalogs: Catalogs, tables: Tables, problems: ProblemList) -> None:
    """Every alias leads to a model or GPU that is there."""
    models = {join_key(row["model"]) for row in _rows(tables, MODELS.sheet) if row["model"]}
    gpus = {join_key(row["gpu"]) for row in _rows(tables, NODE_TYPES.sheet) if row["gpu"]}
    for kind, known in (("model", models), ("gpu", gpus)):
        for alias, name in catalogs.aliases(kind).items():
            if name not in known:
                problems.error("UNKNOWN_NAME", f"The alias {alias} leads to {name}, which is no {kind} of the catalogs.",
                               "Correct the alias.", file=catalogs.name_of(ALIASES_FILE))


RULES: tuple[Rule, ...] = (check_keys, check_names, check_sources, check_prices, check_weights, check_goodput)


def _rows(tables: Tables, sheet: str) -> tuple[TableRow, ...]:
    return tables[sheet].rows if sheet in tables else ()


def _key(row: TableRow) -> tuple[object, ...]:
    values = ((column, row[column]) for column in row.table.key_columns)
    return tuple(join_key(value) if column in _JOINED and isinstance(value, str) else value for column, value in values)


def _market(row: TableRow) -> tuple[object, ...]:
    return (row["provider"], row["region"], row["node_type"])


def _unknown(problems: ProblemList, row: TableRow, column: str, name: str, sheet: str) -> None:
    problems.error("UNKNOWN_NAME", f"{name} is not in {sheet}.", f"Add it to {sheet}, or correct the name.", **row.place(column))
