"""Finds an input table in a sheet or a CSV text: header row, columns, data rows; every cell keeps its address."""

from __future__ import annotations

import csv
import difflib
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from optimizer.errors import ProblemList
from optimizer.workbook.book import Cell, Sheet, address, column_letters
from optimizer.workbook.columns import Column, Table, header_key
from optimizer.workbook.near_misses import column_in_another_unit
from optimizer.workbook.values import clean_text, is_blank

#: The header may stand under titles and notes, but not lower than this many filled rows.
HEADER_SEARCH_ROWS = 15
#: Headers of columns that people add for themselves; they are passed over without a word.
EXTRA_HEADERS = frozenset(
    header_key(word)
    for word in ("note", "notes", "comment", "comments", "remark", "remarks", "label", "name", "title", "description", "owner",
                 "contact", "url", "link", "file", "row", "date", "unit", "meaning", "gpu_tdp_w", "nodes_per_rack_typical",
                 "kv_kind", "kv_cache", "layers", "instance")
)
Hidden = Literal["include", "exclude"] | None


@dataclass(frozen=True)
class RawRow:
    """A data row: its 1-based number and its cells by column key."""

    number: int
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class RawTable:
    """A table before its cells are understood. columns: key -> 1-based column. usable: False where its structure was refused."""

    table: Table
    file: str
    columns: Mapping[str, int]
    rows: tuple[RawRow, ...]
    catalog: bool = False
    usable: bool = True


def read_sheet(table: Table, sheet: Sheet, file: str, hidden: Hidden, problems: ProblemList) -> RawTable:
    """The table in a sheet. Problems: NO_HEADER, MISSING_COLUMN, DUPLICATE_COLUMN, HIDDEN_SHEET, HIDDEN_ROWS, MERGED_CELLS."""
    place = {"file": file, "sheet": table.sheet}
    filled = [key for key, cell in sheet.cells.items() if not is_blank(cell)]
    if not filled:
        problems.warn("EMPTY_SHEET", f"Sheet {table.sheet} is blank and counts as a table without rows.",
                      "Remove the sheet if it was not meant.", **place)
        return RawTable(table, file, {}, ())
    if not sheet.visible and hidden is None:
        problems.error("HIDDEN_SHEET", f"Sheet {table.sheet} is hidden, and would decide the plan unseen.",
                       "Show the sheet, or say --hidden include or --hidden exclude.", **place)
        return RawTable(table, file, {}, (), usable=False)
    by_row: dict[int, list[int]] = {}
    for row, column in filled:
        by_row.setdefault(row, []).append(column)
    numbers = sorted(by_row)
    header = _find_header(table, sheet, numbers[:HEADER_SEARCH_ROWS], by_row)
    if header is None:
        problems.error("NO_HEADER", f"Sheet {table.sheet} has no header row that names its columns.",
                       f"Name the columns: {', '.join(column.key for column in table.required)}, ...", **place)
        return RawTable(table, file, {}, (), usable=False)
    data = [number for number in numbers if number > header and number not in _totals_rows(sheet)]
    columns, usable = _columns(table, sheet, header, by_row[header], data, file, problems)
    columns = _visible_columns(table, sheet, header, columns, data, file, hidden, problems)
    data = [number for number in data if any(not is_blank(sheet.cells.get((number, column))) for column in columns.values())]
    if not data:
        return RawTable(table, file, columns, (), usable=usable)
    usable = _no_missing_columns(table, columns, f"row {header}", file, problems) and usable
    data, shown = _visible_rows(table, sheet, data, file, hidden, problems)
    unmerged = _no_merges(table, sheet, columns, data, file, problems)
    rows = tuple(
        RawRow(number, {key: sheet.cells[number, column] for key, column in columns.items() if (number, column) in sheet.cells})
        for number in data
    )
    return RawTable(table, file, columns, rows, usable=usable and shown and unmerged)


def read_csv(table: Table, text: str, file: str, problems: ProblemList,
             keep: Callable[[Callable[[str], str]], bool] | None = None) -> RawTable:
    """The table in a catalog's text; `keep` gets a function from column key to text and says whether a row is wanted.

    Problems: CORRUPT_FILE, WRONG_FORMAT, NO_HEADER, MISSING_COLUMN, DUPLICATE_COLUMN, RAGGED_ROW.
    """
    place = {"file": file, "sheet": table.sheet}
    try:
        lines = list(csv.reader(io.StringIO(text)))
    except csv.Error as error:
        problems.error("CORRUPT_FILE", f"The catalog cannot be read as CSV: {error}.", "Save it as CSV UTF-8 again.", **place)
        return RawTable(table, file, {}, (), catalog=True, usable=False)
    if lines and len(lines[0]) == 1 and lines[0][0].count(";") > 1:
        problems.error("WRONG_FORMAT", "The columns of the catalog are separated by ';'.", "Separate them by commas.", **place)
        return RawTable(table, file, {}, (), catalog=True, usable=False)
    if not lines or not any(lines[0]):
        problems.error("NO_HEADER", f"The catalog {file} has no header row.",
                       f"Name the columns in its first row: {', '.join(column.key for column in table.required)}, ...", **place)
        return RawTable(table, file, {}, (), catalog=True, usable=False)
    header = Sheet(table.sheet, {(1, number): Cell(word) for number, word in enumerate(lines[0], 1) if word.strip()})
    columns, usable = _columns(table, header, 1, [column for _, column in header.cells], [], file, problems)
    usable = _no_missing_columns(table, columns, "row 1", file, problems) and usable
    rows = []
    for number, line in enumerate(lines[1:], 2):
        if not any(line):
            continue
        if len(line) > len(lines[0]) and any(line[len(lines[0]):]):
            problems.error("RAGGED_ROW", f"Row {number} has more cells than the header has columns.",
                           "Put texts that hold a comma in quotes.", cell=address(number, len(lines[0]) + 1), **place)
            usable = False
            continue

        def text_of(key: str, line: list[str] = line) -> str:
            column = columns.get(key, 0)
            return line[column - 1] if 0 < column <= len(line) else ""

        if keep is None or keep(text_of):
            rows.append(RawRow(number, {key: Cell(line[column - 1]) for key, column in columns.items() if column <= len(line)}))
    return RawTable(table, file, columns, tuple(rows), catalog=True, usable=usable)


def _find_header(table: Table, sheet: Sheet, candidates: list[int], by_row: Mapping[int, list[int]]) -> int | None:
    """The first row that names every required column; else the row that names most columns."""
    known = table.by_header()
    required = {column.key for column in table.required}
    best, best_count = None, 0
    for row in candidates:
        values = (sheet.value(row, column) for column in by_row[row])
        named = {known[key].key for key in (header_key(value) for value in values if isinstance(value, str)) if key in known}
        if required <= named:
            return row
        if len(named) > best_count:
            best, best_count = row, len(named)
    return best


def _totals_rows(sheet: Sheet) -> frozenset[int]:
    return frozenset(area[2] for name, area in sheet.tables.items() if name in sheet.tables_with_totals)


def _columns(table: Table, sheet: Sheet, header: int, numbers: list[int], data: list[int], file: str,
             problems: ProblemList) -> tuple[dict[str, int], bool]:
    """Column numbers by key, and whether no key is named twice. Headers that nobody knows are warned of."""
    known = table.by_header()
    columns: dict[str, int] = {}
    strange: list[tuple[str, str]] = []
    usable = True
    for number in sorted(numbers):
        value = sheet.value(header, number)
        column = known.get(header_key(str(value)))
        cell = address(header, number)
        if column is None:
            strange.append((clean_text(str(value)), cell))
        elif column.key in columns:
            first = address(header, columns[column.key])
            problems.error("DUPLICATE_COLUMN", f"{column.key} stands in two columns, {first} and {cell}.", "Keep one of them.",
                           file=file, sheet=table.sheet, cell=cell)
            usable = False
        else:
            columns[column.key] = number
    for words, cell in strange:
        _report_unknown(table, words, cell, columns, file, problems)
    data_rows = set(data)
    for number in sorted({column for row, column in sheet.cells if row in data_rows} - set(numbers)):
        rows = [row for row in data if not is_blank(sheet.cells.get((row, number)))]
        if rows:
            problems.warn("UNKNOWN_COLUMN", f"Column {column_letters(number)} has values but no header, and is passed over.",
                          "Name the column if it belongs to the table.", file=file, sheet=table.sheet,
                          cell=address(rows[0], number))
    return columns, usable


def _report_unknown(table: Table, words: str, cell: str, columns: Mapping[str, int], file: str, problems: ProblemList) -> None:
    """A column that nobody knows is passed over with a warning; one that is there in another unit only is refused."""
    key = header_key(words)
    if key in EXTRA_HEADERS:
        return
    meant = column_in_another_unit(table, words)
    if meant is not None and meant.key not in columns:
        into = f" to {meant.unit}" if meant.unit else ""
        problems.error("COLUMN_UNIT", f"The column {words!r} seems to be {meant.key} in another unit, and would be passed over.",
                       f"Convert its values{into} and head it {meant.key}, or remove the column.",
                       file=file, sheet=table.sheet, cell=cell)
        return
    known = table.by_header()
    close = difflib.get_close_matches(key, list(known), n=1, cutoff=0.75)
    named = known[close[0]].key if close else ""
    then = "It has a column of its own." if named in columns else "Then rename the header."
    fix = f"Did you mean {named}? {then}" if named else ""
    problems.warn("UNKNOWN_COLUMN", f"The column {words!r} is not a column of {table.sheet}, and is passed over.", fix,
                  file=file, sheet=table.sheet, cell=cell)


def _no_missing_columns(table: Table, columns: Mapping[str, int], where: str, file: str, problems: ProblemList) -> bool:
    missing: list[Column] = [column for column in table.required if column.key not in columns]
    for column in missing:
        problems.error("MISSING_COLUMN", f"{table.sheet} has no column {column.key} in its header ({where}).",
                       f"Add a column headed {column.key} or {column.label!r}.", file=file, sheet=table.sheet)
    return not missing


def _visible_rows(table: Table, sheet: Sheet, data: list[int], file: str, hidden: Hidden,
                  problems: ProblemList) -> tuple[list[int], bool]:
    out_of_sight = [number for number in data if number in sheet.hidden_rows]
    if not sheet.visible:
        out_of_sight = data
    if not out_of_sight or hidden == "include":
        return data, True
    if hidden == "exclude":
        if not sheet.visible:
            problems.warn("HIDDEN_SHEET_IGNORED",
                          f"Sheet {table.sheet} is hidden and left out: it counts as a table without rows.",
                          "Show the sheet, or say --hidden include.", file=file, sheet=table.sheet)
        return [number for number in data if number not in set(out_of_sight)], True
    first, last = out_of_sight[0], out_of_sight[-1]
    problems.error("HIDDEN_ROWS", f"{len(out_of_sight)} rows of {table.sheet} are hidden (a filter?): do they count?",
                   "Show the rows or delete them, or say --hidden include or --hidden exclude.",
                   file=file, sheet=table.sheet, cell=f"A{first}" if first == last else f"A{first}:A{last}")
    return data, False


def _visible_columns(table: Table, sheet: Sheet, header: int, columns: dict[str, int], data: list[int], file: str, hidden: Hidden,
                     problems: ProblemList) -> dict[str, int]:
    """A hidden column counts, with a warning, until someone says whether it does."""
    out_of_sight = {
        key: column for key, column in columns.items()
        if column in sheet.hidden_columns and any(not is_blank(sheet.cells.get((row, column))) for row in data)
    }
    if hidden == "exclude":
        return {key: column for key, column in columns.items() if key not in out_of_sight}
    for key, column in out_of_sight.items() if hidden is None else ():
        problems.warn("HIDDEN_COLUMN", f"Column {column_letters(column)} ({key}) is hidden, and counts.",
                      "Show it, or say --hidden include or --hidden exclude.", file=file, sheet=table.sheet,
                      cell=address(header, column))
    return columns


def _no_merges(table: Table, sheet: Sheet, columns: Mapping[str, int], data: list[int], file: str, problems: ProblemList) -> bool:
    """Merged data cells are refused: only their first cell has the value, the others would silently take defaults."""
    found = False
    for first_row, first_column, last_row, last_column in sheet.merges:
        in_columns = any(first_column <= number <= last_column for number in columns.values())
        in_rows = any(first_row <= number <= last_row for number in data)
        if in_columns and in_rows:
            found = True
            problems.error("MERGED_CELLS", "These cells are merged; only the first of them holds a value.",
                           "Unmerge them and fill in each cell.", file=file, sheet=table.sheet,
                           cell=f"{address(first_row, first_column)}:{address(last_row, last_column)}")
    return not found
