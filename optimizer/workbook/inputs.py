"""Gathers every input table: from the workbook, the second workbook, the command line, or the catalogs, by the published rules.

A sheet that is present is the whole table and its catalog is not read; `catalogs_add` names sheets whose catalog rows come under
the workbook's; an absent sheet takes its catalog.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from optimizer.domain.names import join_key
from optimizer.errors import ProblemList
from optimizer.workbook.book import Book, Cell, Sheet
from optimizer.workbook.catalogs import Catalogs, open_catalogs
from optimizer.workbook.columns import Table, header_key
from optimizer.workbook.demand_model import ONLY_WORKLOAD
from optimizer.workbook.demand_numbers import UnknownLocale, locale_marks
from optimizer.workbook.near_misses import table_meant
from optimizer.workbook.options import LoadOptions
from optimizer.workbook.policy import PolicyRead, read_policy
from optimizer.workbook.rows import TableRow, TableRows, parse_rows, refuse_duplicates
from optimizer.workbook.schema import DAY_TYPES, DEMAND, GOODPUT, POLICY, POOLS, TABLES, WORKLOADS, table_of
from optimizer.workbook.shown import check_shown
from optimizer.workbook.tables import RawRow, RawTable, read_sheet
from optimizer.workbook.values import Reading

#: Occupancy of the pool that --model makes: 30 % of measured goodput pays for queueing and unevenness.
MODEL_OPTION_OCCUPANCY = 0.7
COMMAND_LINE = "command line"
_JOINED = frozenset({"model", "gpu", "precision"})


@dataclass(frozen=True)
class FoundSheet:
    """An input sheet and the file it stands in."""

    sheet: Sheet
    file: str


@dataclass(frozen=True)
class Inputs:
    """Every input table but Demand, parsed but not yet checked against each other."""

    tables: dict[str, TableRows]
    policy: PolicyRead
    catalogs: Catalogs
    reading: Reading
    model_aliases: dict[str, str]
    gpu_aliases: dict[str, str]

    def of(self, table: Table) -> TableRows:
        """The rows of a table; empty and not present where nobody gave it."""
        return self.tables.get(table.sheet, TableRows(table))


def find_sheets(books: Sequence[Book], problems: ProblemList) -> dict[str, FoundSheet]:
    """Input sheets by table name, from the forecast and the --policy workbook. Problems: SHEET_TWICE, SHEET_IN_BOTH."""
    found: dict[str, FoundSheet] = {}
    others: list[FoundSheet] = []
    for book in books:
        for sheet in book.sheets:
            table = table_of(sheet.name)
            if table is None:
                others.append(FoundSheet(sheet, book.file))
            elif table.sheet not in found:
                found[table.sheet] = FoundSheet(sheet, book.file)
            elif found[table.sheet].file == book.file:
                problems.error("SHEET_TWICE", f"Sheets {found[table.sheet].sheet.name} and {sheet.name} are both the table "
                               f"{table.sheet}.", "Keep one of them.", file=book.file, sheet=sheet.name)
            else:
                problems.error("SHEET_IN_BOTH", f"Sheet {table.sheet} stands in {found[table.sheet].file} too.",
                               "Remove it from one of the two files.", file=book.file, sheet=table.sheet)
    _warn_near_misses(found, others, problems)
    return found


def _warn_near_misses(found: dict[str, FoundSheet], others: Iterable[FoundSheet], problems: ProblemList) -> None:
    """A sheet that looks like a table that is absent: its catalog, or nothing, would silently be read instead."""
    absent = [table for table in TABLES if table.sheet not in found and table is not DEMAND]
    for other in others:
        meant = table_meant(other.sheet, absent) if other.sheet.visible else None
        if meant is not None:
            problems.warn("SHEET_NOT_READ", f"Sheet {other.sheet.name} is not an input sheet, and is passed over.",
                          f"Did you mean {meant.sheet}? Then rename it.", file=other.file, sheet=other.sheet.name)


def read_inputs(sheets: dict[str, FoundSheet], options: LoadOptions, problems: ProblemList) -> Inputs:
    """Every input table but Demand, wherever it comes from; all problems of their cells are collected."""
    catalogs = open_catalogs(options.catalogs, problems)
    hidden = options.reader.hidden
    raw = {
        name: read_sheet(table, found.sheet, found.file, hidden, problems)
        for table in TABLES
        if (found := sheets.get(name := table.sheet)) is not None and table is not DEMAND
    }
    plain = Reading(comma_decimal=_comma_decimal(options.reader.locale))
    policy = read_policy(raw.pop(POLICY.sheet, None) or catalogs.table(POLICY), options, plain, problems)
    check_shown(raw.values(), policy.policy.currency, problems)
    reading = Reading(policy.policy.utc_offset_h, comma_decimal=plain.comma_decimal)
    tables = {name: parse_rows(table, reading, problems) for name, table in raw.items()}
    inputs = Inputs(tables, policy, catalogs, reading, catalogs.aliases("model"), catalogs.aliases("gpu"))
    if options.model is not None:
        _add_model_option(inputs, options, problems)
    added = _catalogs_added(policy, problems)
    for table in TABLES:
        if table in (DEMAND, POLICY) or (table.sheet in tables and table.sheet not in added):
            continue
        keep = _names_model(inputs) if table is GOODPUT else None
        rows = catalogs.table(table, keep)
        if rows is not None:
            machine = Reading(policy.policy.utc_offset_h, machine=True)
            tables[table.sheet] = _under(inputs, tables.get(table.sheet), parse_rows(rows, machine, problems))
    _add_default_pools(inputs, problems)
    for found_rows in tables.values():
        words = " and ".join(found_rows.table.key_columns) if len(found_rows.table.key_columns) <= 2 else "measurement"
        refuse_duplicates(found_rows.rows, lambda row: row_key(inputs, row), words, problems)
        _report_almost_same(found_rows, problems)
    return inputs


def _report_almost_same(found: TableRows, problems: ProblemList) -> None:
    """Names that differ by case, blanks, hyphens or underscores alone: one thing counted twice, as a rule.

    DUPLICATE_KEY for workloads and day types, which the forecast's headers could not tell apart; else ALMOST_SAME_NAME.
    """
    key = found.table.key_columns[0]
    if len(found.table.key_columns) > 1 or key in _JOINED:
        return
    first: dict[str, TableRow] = {}
    for name, row in found.ids(key).items():
        earlier = first.setdefault(join_key(name), row)
        if earlier is row or (row.catalog and earlier.catalog):
            continue
        place, other = row.place(key), earlier.place(key)
        message = f"{name!r} and {earlier[key]!r} ({other['cell']}) differ by case, blanks, hyphens or underscores alone"
        fix = "Remove one of the two rows, or rename it."
        if found.table in (WORKLOADS, DAY_TYPES):
            problems.error("DUPLICATE_KEY", f"{message}; the forecast could not tell them apart.", fix, **place)
        else:
            problems.warn("ALMOST_SAME_NAME", f"{message}, and count as two.", fix, **place)


def row_key(inputs: Inputs, row: TableRow) -> Hashable:
    """What makes a row unique in its table; names of models, GPUs and precisions as they join."""
    return tuple(key_part(inputs, column, row[column]) for column in row.table.key_columns)


def key_part(inputs: Inputs, column: str, value: object) -> object:
    """A value of a key column as it is compared: names of models, GPUs and precisions as they join."""
    if column not in _JOINED or not isinstance(value, str):
        return value
    key = join_key(value)
    aliases = {"model": inputs.model_aliases, "gpu": inputs.gpu_aliases}.get(column, {})
    return aliases.get(key, key)


def _comma_decimal(locale: str | None) -> bool | None:
    """Whether the locale has a decimal comma; None where none was said. An unknown locale is refused where demand is read."""
    try:
        return None if locale is None else locale_marks(locale)[0] == ","
    except UnknownLocale:
        return None


def _catalogs_added(policy: PolicyRead, problems: ProblemList) -> frozenset[str]:
    known = {header_key(table.sheet): table for table in TABLES if table.catalog}
    added = set()
    for name in policy.policy.catalogs_add:
        table = known.get(header_key(name))
        if table is None:
            names = ", ".join(table.sheet for table in known.values())
            problems.error("UNKNOWN_TABLE", f"catalogs_add names {name!r}, which has no catalog.", f"Use: {names}.",
                           **policy.place("catalogs_add"))
        else:
            added.add(table.sheet)
    return frozenset(added)


def _names_model(inputs: Inputs) -> Callable[[Callable[[str], str]], bool]:
    """Whether a catalog row is of a model that a workload or a sheet Goodput names, directly or through an alias."""
    aliases = inputs.model_aliases
    wanted = {join_key(row["model"]) for table in (WORKLOADS, GOODPUT) for row in inputs.of(table).rows if row["model"]}
    wanted |= {aliases[key] for key in wanted if key in aliases}
    wanted |= {alias for alias, name in aliases.items() if name in wanted}
    return lambda text_of: join_key(text_of("model")) in wanted


def _under(inputs: Inputs, upper: TableRows | None, lower: TableRows) -> TableRows:
    """Rows of a catalog under the workbook's; the workbook wins by key."""
    if upper is None:
        return lower
    taken = {row_key(inputs, row) for row in upper.rows}
    rows = (*upper.rows, *(row for row in lower.rows if row_key(inputs, row) not in taken))
    return TableRows(upper.table, rows, present=True, usable=upper.usable and lower.usable, from_workbook=True)


def _assumed(table: Table, file: str, cells: Iterable[dict[str, str | float | None]]) -> RawTable:
    rows = [{key: Cell(value) for key, value in each.items() if value is not None} for each in cells]
    return RawTable(table, file, {}, tuple(RawRow(number, row) for number, row in enumerate(rows, 1)), catalog=True)


def _add_model_option(inputs: Inputs, options: LoadOptions, problems: ProblemList) -> None:
    """The one workload of --model, and its pool where there is no Pools sheet. Problem: OPTION_CLASH."""
    if WORKLOADS.sheet in inputs.tables:
        problems.error("OPTION_CLASH", "--model makes the workload of a bare forecast, and this workbook has a sheet Workloads.",
                       "Leave out --model, or remove the sheet.", sheet=WORKLOADS.sheet)
        return
    pools = inputs.of(POOLS)
    if pools.present and len(pools.rows) != 1:
        problems.error("OPTION_CLASH", f"--model makes one workload in one pool, and sheet Pools has {len(pools.rows)} rows.",
                       "Keep one pool, or write a sheet Workloads.", sheet=POOLS.sheet)
    pool = pools.rows[0]["pool"] if pools.rows else ONLY_WORKLOAD
    workload: dict[str, str | float | None] = {
        "workload": ONLY_WORKLOAD,
        "pool": pool,
        "model": options.model,
        "precision": options.precision,
        "input_tokens": options.input_tokens,
        "output_tokens": options.output_tokens,
        "ttft_ms": options.ttft_ms,
        "tpot_ms": options.tpot_ms,
        "api": ";".join(options.api),
    }
    inputs.tables[WORKLOADS.sheet] = parse_rows(_assumed(WORKLOADS, COMMAND_LINE, [workload]), inputs.reading, problems)
    if not pools.present:
        cells: dict[str, str | float | None] = {"pool": pool, "occupancy_frac": MODEL_OPTION_OCCUPANCY}
        inputs.tables[POOLS.sheet] = parse_rows(_assumed(POOLS, COMMAND_LINE, [cells]), inputs.reading, problems)


def _add_default_pools(inputs: Inputs, problems: ProblemList) -> None:
    """Without a table of pools every pool that a workload names has the defaults."""
    if inputs.of(POOLS).present:
        return
    names = dict.fromkeys(row["pool"] for row in inputs.of(WORKLOADS).rows if row["pool"])
    if names:
        cells: list[dict[str, str | float | None]] = [{"pool": name} for name in names]
        inputs.tables[POOLS.sheet] = parse_rows(_assumed(POOLS, "", cells), inputs.reading, problems)
