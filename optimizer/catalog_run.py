"""The verbs behind `fleetsheet catalog`: from a folder of catalogs to what can be shown."""

from __future__ import annotations

import datetime
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from optimizer.domain.names import join_key
from optimizer.errors import CannotWrite, Problem, ProblemList, Refused
from optimizer.report.catalog_text import FitReport, Headers, Listed, PriceAge, header_letters
from optimizer.workbook import build
from optimizer.workbook.catalog_checks import (
    CHECKED,
    WITHOUT_GOODPUT,
    age_days,
    check_catalogs,
    default_stale_days,
    priced_rows,
    read_catalogs,
)
from optimizer.workbook.catalogs import ALIASES_FILE, Catalogs, open_catalogs
from optimizer.workbook.checks_ids import ModelNames, names_of
from optimizer.workbook.checks_rows import check_rows_alone
from optimizer.workbook.columns import Table, header_key
from optimizer.workbook.inputs import Inputs
from optimizer.workbook.joining import Spellings
from optimizer.workbook.options import LoadOptions
from optimizer.workbook.policy import read_policy
from optimizer.workbook.rows import TableRow, parse_rows
from optimizer.workbook.schema import API_PRICES, MODELS, NODE_TYPES, OFFERS
from optimizer.workbook.values import Reading

if TYPE_CHECKING:
    from optimizer.domain.hardware import NodeType
    from optimizer.domain.model import ServedModel
    from optimizer.workbook.importers.genai import GenaiRequest
    from optimizer.workbook.importers.imported import Imported
    from optimizer.workbook.importers.price_lists import PriceListRequest

#: Column that each filter of `catalog list` looks at.
FILTERS = {"gpu": "gpu", "model": "model", "provider": "provider", "region": "region"}


class UnknownTable(Exception):
    """There is no such catalog, or the table has nothing to filter so; the argument is a sentence."""


@dataclass(frozen=True)
class ImportResult:
    """What an import gave. problems: of the checks; with an error nothing was written. output: file written, None = none."""

    imported: Imported
    warnings: tuple[Problem, ...]
    errors: tuple[Problem, ...]
    output: str | None


def run_check_catalogs(folder: str | None, today: datetime.date, stale_days: float | None) -> tuple[ProblemList, Headers]:
    """Every finding about a folder of catalogs (None = the shipped ones), prices older than the policy allows among them.

    And the headers of its files, so that a finding can name its column.
    """
    return check_catalogs(folder, today=today, stale_days=stale_days), _headers(open_catalogs(folder, ProblemList()))


def _headers(catalogs: Catalogs) -> Headers:
    names = (*(table.catalog for table in CHECKED), ALIASES_FILE)
    return {catalogs.name_of(name): header_letters(catalogs.header(name)) for name in names}


def table_named(name: str) -> Table:
    """The catalog of that name, as a person types it: `offers`, `ApiPrices`, `api-prices.csv`. Raises UnknownTable."""
    known = {header_key(spelling): table for table in CHECKED for spelling in (table.sheet, table.catalog.removesuffix(".csv"))}
    wanted = header_key(name.removesuffix(".csv"))
    for spelling in (wanted, f"{wanted}s"):
        if spelling in known:
            return known[spelling]
    names = [table.catalog.removesuffix(".csv") for table in CHECKED]
    close = difflib.get_close_matches(wanted, list(known), n=1, cutoff=0.5)
    hint = f"Did you mean {known[close[0]].catalog.removesuffix('.csv')}? " if close else ""
    raise UnknownTable(f"There is no catalog {name!r}. {hint}Catalogs: {', '.join(names)}.")


def list_rows(name: str, folder: str | None, filters: Mapping[str, str | None]) -> Listed:
    """Rows of a catalog, those that match every filter (gpu, model, provider, region). Raises UnknownTable, Refused."""
    table = table_named(name)
    wanted = {key: value for key, value in filters.items() if value is not None}
    for key in wanted:
        if not (_has(table, FILTERS[key]) or (table is OFFERS and key == "gpu")):
            raise UnknownTable(f"{table.catalog.removesuffix('.csv')} cannot be filtered by {key}: it has no such column.")
    problems = ProblemList()
    inputs, names = _open(folder, problems)
    raw = inputs.catalogs.table(table)
    if raw is None:
        raise Refused((Problem("CATALOGS_NOT_FOUND", f"There is no catalog {table.catalog}.", file=inputs.catalogs.label),))
    rows = parse_rows(raw, Reading(machine=True), problems).rows
    problems.raise_if_errors()
    node_gpu = {row["node_type"]: str(row["gpu"]) for row in inputs.of(NODE_TYPES).rows}
    for key, value in wanted.items():
        spellings = {"gpu": names.gpus, "model": _all_models(inputs, names)}.get(key)
        rows = _filtered(rows, key, value, node_gpu, spellings)
    numbers = {row.number for row in rows}
    texts = tuple(
        {key: "" if cell.value is None else str(cell.value) for key, cell in each.cells.items()}
        for each in raw.rows
        if each.number in numbers
    )
    gpus = tuple(_gpus_of(row, inputs) for row in rows) if table is OFFERS else ()
    return Listed(table=table, file=raw.file, rows=rows, texts=texts, gpus=gpus)


def fit_models(
    name: str,
    folder: str | None,
    *,
    precision: str | None = None,
    gpu: str | None = None,
    context_tokens: float | None = None,
    sequences: float = 1.0,
    overhead_frac: float = 0.10,
    weights_gb: float | None = None,
    kv_gb_per_seq: float | None = None,
    span_gpus: int | None = None,
) -> FitReport:
    """The table of fits of a model of the catalogs, or of one that is described by its weights. Raises Refused (UNKNOWN_NAME).

    weights_gb: weights of a model that need not be in the catalogs; kv_gb_per_seq: its memory per sequence, 0 = weights alone.
    span_gpus: as if replicas could span nodes up to so many GPUs. overhead_frac: share of memory kept free.
    """
    from optimizer.candidates.fit_table import fit_table

    problems = ProblemList()
    inputs, names = _open(folder, problems)
    problems.raise_if_errors()
    if weights_gb is not None:
        models: tuple[ServedModel, ...] = (_described(name, precision, weights_gb, kv_gb_per_seq or 0.0),)
    else:
        models = _models_named(name, precision, inputs, names)
    node_types = build.node_types(inputs, names)
    if gpu is not None:
        rows = _filtered(inputs.of(NODE_TYPES).rows, "gpu", gpu, {}, names.gpus)
        kept = {row["node_type"] for row in rows}
        node_types = tuple(each for each in node_types if each.node_type in kept)
    if span_gpus is not None:
        node_types = tuple(_spanning(each, span_gpus) for each in node_types)
    rows_of_fit = fit_table(
        models, node_types, overhead_frac=overhead_frac, context_tokens=context_tokens, sequences=sequences
    )
    return FitReport(
        models=models, rows=rows_of_fit, context_tokens=context_tokens, sequences=sequences, overhead_frac=overhead_frac,
        weights_alone=weights_gb is not None and not kv_gb_per_seq,
    )


def price_ages(folder: str | None, today: datetime.date) -> tuple[PriceAge, ...]:
    """Every offer and API price with its age on the day `today`, oldest first."""
    problems = ProblemList()
    catalogs = open_catalogs(folder, problems)
    tables = read_catalogs(catalogs, problems, (OFFERS, API_PRICES))
    problems.raise_if_errors()
    ages = [
        PriceAge(
            table=row.table.catalog.removesuffix(".csv"), name=str(row[row.table.key_columns[0]]), provider=row["provider"] or "",
            as_of=row["as_of"][0], days=age_days(row, today), price=_price_words(row),
        )
        for row in priced_rows(tables)
    ]
    return tuple(sorted(ages, key=lambda each: (each.days is not None, -(each.days or 0), each.table, each.name)))


def stale_days_of(asked: float | None) -> float:
    """Days after which a price counts as old: as asked, else the policy's default."""
    return default_stale_days() if asked is None else asked


def import_api_prices(request: GenaiRequest, folder: str | None, output: str | None, *, force: bool) -> ImportResult:
    """API prices of the genai-prices package as rows of ApiPrices. Raises Refused, CannotWrite."""
    from optimizer.workbook.importers.genai import import_genai_prices, shipped_data

    problems = ProblemList()
    inputs, names = _open(folder, problems)
    problems.raise_if_errors()
    providers, version = shipped_data()
    imported = import_genai_prices(providers, version, _all_models(inputs, names), request)
    return _checked(imported, inputs.catalogs, request.today, output, force=force)


def import_offers(
    kind: str, path: str, request: PriceListRequest, said: Sequence[str], folder: str | None, output: str | None, *,
    today: datetime.date, force: bool,
) -> ImportResult:
    """GPU offers of a price list (kind `skypilot` or `gpuhunt`) as rows of Offers. Raises Refused, CannotWrite.

    said: `NAME=GPU`, what a name of the list means among the GPUs of the catalogs.
    """
    from dataclasses import replace

    from optimizer.workbook.importers.instances import NodeTypeFinder
    from optimizer.workbook.importers.price_lists import import_gpuhunt, import_skypilot

    problems = ProblemList()
    inputs, names = _open(folder, problems)
    meant = _said(said, names.gpus, problems)
    gpus = tuple(_one_gpu(gpu, names.gpus, problems) for gpu in request.gpus)
    problems.raise_if_errors()
    finder = NodeTypeFinder(build.node_types(inputs, names), names.gpus, meant)
    request = replace(request, gpus=gpus, provider=_provider(request.provider, inputs))
    read = {"skypilot": import_skypilot, "gpuhunt": import_gpuhunt}[kind]
    return _checked(read(Path(path), finder, request), inputs.catalogs, today, output, force=force)


def _open(folder: str | None, problems: ProblemList) -> tuple[Inputs, ModelNames]:
    """Every catalog but Goodput, as inputs of a case that has nothing else."""
    catalogs = open_catalogs(folder, problems)
    tables = read_catalogs(catalogs, problems, WITHOUT_GOODPUT)
    check_rows_alone(tables, problems)
    policy = read_policy(None, LoadOptions(), Reading(), problems)
    inputs = Inputs(tables, policy, catalogs, Reading(machine=True), catalogs.aliases("model"), catalogs.aliases("gpu"))
    return inputs, names_of(inputs)


def _has(table: Table, key: str) -> bool:
    return any(column.key == key for column in table.columns)


def _all_models(inputs: Inputs, names: ModelNames) -> Spellings:
    """Names of models anywhere in the catalogs: APIs sell models that have no row in Models."""
    more = {join_key(row["model"]): row["model"] for row in _rows_with(inputs, "model") if row["model"]}
    return Spellings({**more, **names.models.by_key}, names.models.aliases)


def _rows_with(inputs: Inputs, key: str) -> Iterable[TableRow]:
    for found in inputs.tables.values():
        if _has(found.table, key):
            yield from found.rows


def _filtered(
    rows: Sequence[TableRow], key: str, value: str, node_gpu: Mapping[str, str], spellings: Spellings | None
) -> tuple[TableRow, ...]:
    """Rows whose name is the one asked for, or, where there is no such name, has all of its words. Raises Refused."""

    def name_of(row: TableRow) -> str:
        if key == "gpu" and row.table is OFFERS:
            return node_gpu.get(row["node_type"], "")
        return str(row[FILTERS[key]] or "")

    names = list(dict.fromkeys(name for row in rows if (name := name_of(row))))
    canonical = (spellings.find(value) if spellings is not None else None) or value
    wanted = [name for name in names if name.casefold() == canonical.casefold()]
    wanted = wanted or [name for name in names if join_key(name) == join_key(canonical)]
    wanted = wanted or [name for name in names if _words(value) <= _words(name)]
    if not wanted and rows and canonical == value:
        close = difflib.get_close_matches(value.casefold(), [name.casefold() for name in names], n=1, cutoff=0.5)
        meant = next((name for name in names if close and name.casefold() == close[0]), None)
        shown = ", ".join(sorted(names)[:12]) + (", ..." if len(names) > 12 else "")
        fix = f"Did you mean {meant!r}?" if meant else f"There are: {shown}."
        raise Refused((Problem("UNKNOWN_NAME", f"There is no {key} {value!r} in {rows[0].file}.", fix),))
    return tuple(row for row in rows if name_of(row) in wanted)


def _words(text: str) -> set[str]:
    return {word for word in re.split(r"[\s_\-]+", text.casefold()) if word}


def _gpus_of(row: TableRow, inputs: Inputs) -> tuple[str, int | None]:
    node = inputs.of(NODE_TYPES).ids("node_type").get(row["node_type"])
    return ("", None) if node is None else (str(node["gpu"]), node["gpus_per_node"])


def _models_named(name: str, precision: str | None, inputs: Inputs, names: ModelNames) -> tuple[ServedModel, ...]:
    canonical = names.models.find(name)
    if canonical is None:
        known = sorted({str(row["model"]) for row in inputs.of(MODELS).rows})
        fix = names.models.suggestion(name) or f"Models: {', '.join(known)}; or describe yours with --weights-gb."
        file = inputs.catalogs.name_of(MODELS.catalog)
        raise Refused((Problem("UNKNOWN_NAME", f"{name!r} is not in Models.", fix, file=file),))
    found = tuple(model for model in build.models(inputs, names) if model.model == canonical)
    if precision is None:
        return found
    kept = tuple(model for model in found if join_key(model.precision) == join_key(precision))
    if not kept:
        fix = f"It has: {', '.join(model.precision for model in found)}."
        problem = Problem("UNKNOWN_NAME", f"{canonical} has no precision {precision!r}.", fix,
                          file=inputs.catalogs.name_of(MODELS.catalog))
        raise Refused((problem,))
    return kept


def _described(name: str, precision: str | None, weights_gb: float, kv_gb_per_seq: float) -> ServedModel:
    from optimizer.domain.model import ServedModel

    return ServedModel(model=name, precision=precision or "", weights_gb=weights_gb, kv_gb_per_seq=kv_gb_per_seq)


def _spanning(node_type: NodeType, span_gpus: int) -> NodeType:
    return node_type.model_copy(update={"replica_span_gpus": max(span_gpus, node_type.replica_span_gpus)})


def _price_words(row: TableRow) -> str:
    if row.table is not OFFERS:
        return f"{row['output_usd_per_mtok']:g} $/Mtok out"
    if row["upfront_usd_per_node"]:
        return f"{row['upfront_usd_per_node']:g} $/node upfront"
    return f"{row['held_usd_per_node_h'] or row['used_usd_per_node_h']:g} $/node-h"


def _said(said: Sequence[str], gpus: Spellings, problems: ProblemList) -> dict[str, str]:
    meant = {}
    for text in said:
        name, equals, gpu = text.partition("=")
        if not equals or not name.strip():
            problems.error("MAP_UNREADABLE", f"--map {text!r} does not say NAME=GPU.",
                           "Write, for example, --map 'H100=H100 SXM'.")
        else:
            meant[join_key(name.strip())] = _one_gpu(gpu.strip(), gpus, problems)
    return meant


def _one_gpu(name: str, gpus: Spellings, problems: ProblemList) -> str:
    found = gpus.find(name)
    if found is None:
        fix = gpus.suggestion(name) or f"GPUs: {', '.join(gpus.by_key.values())}."
        problems.error("UNKNOWN_NAME", f"{name!r} is not a GPU of the catalogs.", fix)
    return found or name


def _provider(name: str | None, inputs: Inputs) -> str | None:
    """A provider as the catalogs spell it, so that its rows join theirs."""
    known = {join_key(row["provider"]): str(row["provider"]) for row in inputs.of(OFFERS).rows if row["provider"]}
    return None if name is None else known.get(join_key(name), name)


def _checked(
    imported: Imported, catalogs: Catalogs, today: datetime.date, output: str | None, *, force: bool
) -> ImportResult:
    """The rows after their checks, written where they pass."""
    from optimizer.workbook.importers.imported import check_imported

    if output is not None:
        _check_target(Path(output), force=force)
    found = check_imported(imported, catalogs, today, default_stale_days())
    written = None
    if output is not None and not found.errors:
        _write(Path(output), imported.csv_text())
        written = output
    return ImportResult(imported, tuple(found.warnings), tuple(found.errors), written)


def _check_target(path: Path, *, force: bool) -> None:
    if path.is_dir():
        raise CannotWrite(f"{path} is a folder; name a file such as {path / 'rows.csv'}")
    if not path.parent.is_dir():
        raise CannotWrite(f"the folder {path.parent} does not exist; make it first")
    if path.exists() and not force:
        raise CannotWrite(f"{path} exists already; add --force to overwrite it")


def _write(path: Path, text: str) -> None:
    """The whole text or nothing: to a temporary file beside it, then renamed."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        temporary.write_text(text, encoding="utf-8", newline="")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise CannotWrite(f"{path} cannot be written: {error.strerror or error}") from error
