"""The catalogs as text tables and as JSON: rows, fits, ages of prices, findings, imports."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from optimizer.candidates.fit_table import FitRow
from optimizer.domain.model import ServedModel
from optimizer.errors import Problem
from optimizer.workbook.book import column_letters
from optimizer.workbook.columns import Table
from optimizer.workbook.rows import TableRow
from optimizer.workbook.schema import API_PRICES, GOODPUT, MODELS, NODE_TYPES, OFFERS, POLICY, POLICY_KEYS, SITES, TABLES

if TYPE_CHECKING:
    from optimizer.workbook.columns import Column
    from optimizer.workbook.importers.imported import Imported

#: Columns that a terminal shows, by sheet; --json gives all of them.
SHOWN: Mapping[str, tuple[str, ...]] = {
    NODE_TYPES.sheet: ("node_type", "gpu", "gpus_per_node", "gpu_memory_gb", "replica_span_gpus", "node_kw", "as_of"),
    MODELS.sheet: (
        "model", "precision", "weights_gb", "total_params_b", "active_params_b", "kv_bytes_per_token", "context_tokens",
        "attention", "attention_heads", "kv_heads", "as_of",
    ),
    GOODPUT.sheet: (
        "model", "precision", "gpu", "gpus_per_replica", "engine", "config", "input_tokens", "output_tokens", "concurrency",
        "ttft_ms", "tpot_ms", "output_tps", "as_of",
    ),
    OFFERS.sheet: (
        "offer", "node_type", "purchase", "held_usd_per_node_h", "used_usd_per_node_h", "upfront_usd_per_node", "term_months",
        "provider", "region", "site", "as_of",
    ),
    API_PRICES.sheet: (
        "api", "model", "output_usd_per_mtok", "input_usd_per_mtok", "cached_input_usd_per_mtok", "max_rpm", "hours", "provider",
        "as_of",
    ),
    SITES.sheet: (
        "site", "racks", "kw_per_rack", "slots_per_rack", "total_kw", "pue", "usd_per_kwh", "usd_per_kw_month", "as_of",
    ),
}
#: Headers by letters of their column, by the name that a file has in messages.
Headers = Mapping[str, Mapping[str, str]]
_NUMBERS = frozenset({"number", "whole", "fraction", "occupancy"})
_SIZES = ("gpus_for_weights", "gpus_per_replica_weights", "gpus_per_replica")
#: So many names of what an import left out are shown for each reason.
NAMES_SHOWN = 4
#: So many findings of one code are shown one by one after an import.
FINDINGS_SHOWN = 5


@dataclass(frozen=True)
class Listed:
    """Rows of one catalog. texts: their cells as written, by column key. gpus: of offers, GPU and GPUs per node."""

    table: Table
    file: str
    rows: tuple[TableRow, ...]
    texts: tuple[Mapping[str, str], ...]
    gpus: tuple[tuple[str, int | None], ...] = ()


@dataclass(frozen=True)
class FitReport:
    """The table of fits of one model. context_tokens: as asked; None = the model's own. weights_alone: sequences take nothing."""

    models: tuple[ServedModel, ...]
    rows: tuple[FitRow, ...]
    context_tokens: float | None
    sequences: float
    overhead_frac: float
    weights_alone: bool = False


@dataclass(frozen=True)
class PriceAge:
    """One price and how old it is in days; None where it has no date."""

    table: str
    name: str
    provider: str
    price: str
    as_of: datetime.date | None
    days: int | None


def aligned(headers: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> list[str]:
    """A table as lines of aligned columns, numbers (columns `right`) to the right. Columns without any value are left out.

    >>> aligned(["name", "gpus", "note"], [["a", "8", ""], ["bcdef", "16", ""]], right=[1])
    ['name   gpus', 'a         8', 'bcdef    16']
    """
    rows = [list(row) for row in rows]
    kept = [number for number in range(len(headers)) if not rows or any(row[number] for row in rows)]
    to_right = set(right)
    width = {number: max(len(headers[number]), *(len(row[number]) for row in rows), 0) for number in kept}

    def line(cells: Sequence[str]) -> str:
        parts = (cells[n].rjust(width[n]) if n in to_right else cells[n].ljust(width[n]) for n in kept)
        return "  ".join(parts).rstrip()

    return [line(headers), *(line(row) for row in rows)]


def list_lines(listed: Listed) -> list[str]:
    """The rows as a table, and how many they are."""
    shown = SHOWN[listed.table.sheet]
    headers = list(shown)
    rows = [[text.get(key, "") for key in shown] for text in listed.texts]
    right = [n for n, key in enumerate(shown) if listed.table.column(key).kind in _NUMBERS]
    if listed.gpus:
        at = shown.index("node_type") + 1
        headers.insert(at, "gpu")
        rows = [[*row[:at], gpu, *row[at:]] for row, (gpu, _) in zip(rows, listed.gpus, strict=True)]
        right = [number + 1 if number >= at else number for number in right]
        headers.append("$/GPU-h")
        right.append(len(headers) - 1)
        rows = [[*row, _per_gpu(each, gpus)] for row, each, (_, gpus) in zip(rows, listed.rows, listed.gpus, strict=True)]
    count = f"{len(rows)} row{'' if len(rows) == 1 else 's'} of {listed.file}"
    return [*(aligned(headers, rows, right) if rows else []), "", count]


def list_json(listed: Listed) -> dict[str, Any]:
    """`table`, `file`, and `rows` with every column of the schema under its key; null where a cell is empty."""
    rows = [
        {column.key: _json_value(column, row, text) for column in listed.table.columns}
        for row, text in zip(listed.rows, listed.texts, strict=True)
    ]
    return {"table": listed.table.sheet, "file": listed.file, "rows": rows}


def fit_lines(report: FitReport) -> list[str]:
    """For each precision: what was asked, the smallest replica per GPU, then every size of replica with its verdict."""
    lines: list[str] = []
    for model in report.models:
        rows = [row for row in report.rows if (row.model, row.precision) == (model.model, model.precision)]
        lines += [*([""] if lines else []), _fit_title(model, report), ""]
        smallest = _smallest(rows)
        lines += aligned(
            ["gpu", "GPUs for weights", "size that holds them", "smallest that fits"],
            [[each["gpu"], *(str(each[key] or "none") for key in _SIZES)] for each in smallest],
            [1, 2, 3],
        )
        cells = [
            [
                row.node_type, str(row.gpus_per_replica), f"{row.usable_gb:.1f}", f"{row.weights_gb:.1f}", f"{row.room_gb:.1f}",
                "" if row.per_seq_gb is None else f"{row.per_seq_gb:.4g}",
                "" if row.sequences_left is None else str(row.sequences_left),
                "fits" if row.fits else f"{row.code}: {row.reason}",
            ]
            for row in rows
        ]
        headers = ["node type", "GPUs", "usable GB", "weights GB", "room GB", "GB/sequence", "sequences", "verdict"]
        lines += ["", *aligned(headers, cells, range(1, 7))]
    return lines


def fit_json(report: FitReport) -> dict[str, Any]:
    """`model`, what was asked, `smallest` (per precision and GPU) and `rows` (one per node type and size of replica)."""
    smallest = [
        {"precision": model.precision, **each}
        for model in report.models
        for each in _smallest([row for row in report.rows if row.precision == model.precision])
    ]
    return {
        "model": report.models[0].model if report.models else None,
        "context_tokens": report.context_tokens,
        "sequences": report.sequences,
        "overhead_frac": report.overhead_frac,
        "smallest": smallest,
        "rows": [row.model_dump() for row in report.rows],
    }


def price_lines(ages: Sequence[PriceAge], stale_days: float) -> list[str]:
    """Every price with its age, oldest first, and how many are older than the policy allows."""
    cells = [
        [
            "?" if each.days is None else str(each.days), "" if each.as_of is None else each.as_of.isoformat(),
            "stale" if is_stale(each, stale_days) else "", each.table, each.name, each.price, each.provider,
        ]
        for each in ages
    ]
    stale = sum(is_stale(each, stale_days) for each in ages)
    summary = f"{len(ages)} prices, {stale} of them older than {stale_days:g} days"
    return [*aligned(["days", "as_of", "", "catalog", "name", "price", "provider"], cells, [0]), "", summary]


def price_json(ages: Sequence[PriceAge], stale_days: float, today: datetime.date) -> dict[str, Any]:
    """`today`, `price_stale_days`, and `prices` oldest first."""
    return {
        "today": today.isoformat(),
        "price_stale_days": stale_days,
        "prices": [
            {
                "table": each.table, "name": each.name, "provider": each.provider, "price": each.price,
                "as_of": None if each.as_of is None else each.as_of.isoformat(), "days": each.days,
                "stale": is_stale(each, stale_days),
            }
            for each in ages
        ],
    }


def is_stale(each: PriceAge, stale_days: float) -> bool:
    """Whether a price is older than the policy allows; one without a date counts as old."""
    return each.days is None or each.days > stale_days


def problem_json(problem: Problem, headers: Headers | None = None) -> dict[str, Any]:
    """A finding with the row of its file (1 = header) and its column: the header where the file is known, else the letters."""
    row, column = _place(problem, headers or {})
    return {
        "code": problem.code, "file": problem.file, "sheet": problem.sheet, "cell": problem.cell, "row": row, "column": column,
        "message": problem.message, "fix": problem.fix,
    }


def header_letters(header: Sequence[str]) -> dict[str, str]:
    """A header row by the letters of its columns.

    >>> header_letters(["offer", "", "purchase"])
    {'A': 'offer', 'C': 'purchase'}
    """
    return {column_letters(number): name for number, name in enumerate(header, 1) if name}


def in_words(problem: Problem, headers: Headers) -> Problem:
    """The finding with file, row and column as a person looks for them in a CSV file, in place of sheet and cell."""
    row, column = _place(problem, headers)
    if row is None or problem.file is None:
        return problem
    return replace(problem, file=f"{problem.file} row {row}, column {column}", sheet=None, cell=None)


def _place(problem: Problem, headers: Headers) -> tuple[int | None, str | None]:
    match = re.fullmatch(r"([A-Z]+)(\d+)", problem.cell or "")
    if match is None:
        return None, None
    return int(match[2]), headers.get(problem.file or "", {}).get(match[1], match[1])


def check_lines(errors: Sequence[Problem], warnings: Sequence[Problem]) -> list[str]:
    """The verdict in one line."""
    if not errors and not warnings:
        return ["No problem found."]
    counts = ((len(errors), "error"), (len(warnings), "warning"))
    return [", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts if count)]


def left_out_lines(imported: Imported) -> list[str]:
    """How many rows there are, and what was left out, by reason with a few names."""
    rows = len(imported.rows)
    lines = [f"{rows} row{'' if rows == 1 else 's'} of {imported.table.sheet} from {imported.origin}"]
    for reason, names in imported.left_out.by_reason.items():
        more = f", and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        lines.append(f"left out, {reason}: {len(names)} ({', '.join(names[:NAMES_SHOWN])}{more})")
    return lines


def import_json(imported: Imported, output: str | None) -> dict[str, Any]:
    """`table`, `origin`, `output`, `rows` (text by column key) and `left_out` (every name, by reason)."""
    left_out = [
        {"reason": reason, "count": len(names), "names": names} for reason, names in imported.left_out.by_reason.items()
    ]
    return {
        "table": imported.table.sheet, "origin": imported.origin, "output": output, "rows": [dict(row) for row in imported.rows],
        "left_out": left_out,
    }


def few_of_each(problems: Iterable[Problem]) -> list[Problem]:
    """The first few findings of each code; one more says how many are not shown."""
    by_code: dict[str, list[Problem]] = {}
    for problem in problems:
        by_code.setdefault(problem.code, []).append(problem)
    shown = []
    for code, found in by_code.items():
        shown += found[:FINDINGS_SHOWN]
        if len(found) > FINDINGS_SHOWN:
            more = f"{len(found) - FINDINGS_SHOWN} more rows like this (--json shows all)."
            shown.append(Problem(code, more, file=found[0].file))
    return shown


def columns_json() -> dict[str, Any]:
    """`tables`: every input sheet with its columns, and the keys of Policy."""
    tables = [
        {
            "sheet": table.sheet, "catalog": table.catalog or None, "meaning": table.meaning,
            "unique_by": list(table.key_columns),
            "columns": [_column_json(column) for column in table.columns],
            **({"keys": [_column_json(column) for column in POLICY_KEYS]} if table is POLICY else {}),
        }
        for table in TABLES
    ]
    return {"tables": tables}


def _column_json(column: Column) -> dict[str, Any]:
    return {
        "key": column.key, "label": column.label, "kind": column.kind, "unit": column.unit or None, "required": column.required,
        "default": column.default_words() or None, "choices": list(column.choices), "meaning": column.meaning,
    }


def _json_value(column: Column, row: TableRow, text: Mapping[str, str]) -> Any:
    written = text.get(column.key, "").strip()
    if not written:
        return None
    value = row[column.key]
    if column.kind == "list" and isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, (bool, int, float)) else written


def _per_gpu(row: TableRow, gpus: int | None) -> str:
    """$ per GPU-hour of a node used every hour of its term; "" where GPUs or term are not known."""
    from optimizer.units import HOURS_PER_DAY, upfront_usd_per_day

    if not gpus:
        return ""
    upfront = row["upfront_usd_per_node"]
    if upfront and not row["term_months"]:
        return ""
    per_h = row["held_usd_per_node_h"] + row["used_usd_per_node_h"] / row["effective_frac"]
    if upfront:
        per_h += upfront_usd_per_day(upfront, row["term_months"]) / HOURS_PER_DAY
    return f"{per_h / gpus:.3f}"


def _fit_title(model: ServedModel, report: FitReport) -> str:
    context = model.context_tokens if report.context_tokens is None else report.context_tokens
    name = " ".join(part for part in (model.model, model.precision) if part)
    if report.weights_alone:
        asked = "weights alone"
    else:
        stated = context is None or model.kv_bytes_per_token is None
        size = "the memory stated for one" if stated else f"{context:,.0f} tokens"
        asked = f"{report.sequences:g} sequence{'' if report.sequences == 1 else 's'} of {size}"
    return f"{name}: {model.weights_gb:g} GB of weights, {asked}, {report.overhead_frac:.0%} of memory kept free"


def _smallest(rows: Sequence[FitRow]) -> list[dict[str, Any]]:
    """Per GPU: GPUs whose memory holds the weights; the smallest size of replica that holds them; that fits all (None = none)."""
    found = []
    for gpu in dict.fromkeys(row.gpu for row in rows):
        same = [row for row in rows if row.gpu == gpu]
        holding = [row.gpus_per_replica for row in same if row.binding in ("", "kv")]
        fitting = [row.gpus_per_replica for row in same if row.fits]
        sizes = (same[0].gpus_for_weights, min(holding, default=None), min(fitting, default=None))
        found.append({"gpu": gpu, **dict(zip(_SIZES, sizes, strict=True))})
    return found
