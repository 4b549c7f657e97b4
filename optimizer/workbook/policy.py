"""The Policy sheet: one key per row, each with a value of its own kind; options of the command line win."""

from __future__ import annotations

import datetime
import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optimizer.domain.policy import Policy
from optimizer.errors import ProblemList
from optimizer.workbook.book import Cell, address
from optimizer.workbook.columns import Column, header_key
from optimizer.workbook.options import LoadOptions
from optimizer.workbook.schema import POLICY, POLICY_KEYS
from optimizer.workbook.tables import RawTable
from optimizer.workbook.values import BadCell, Reading, Value, is_blank, parse_cell

MONTHS_PER_QUARTER = 3
MONTHS_PER_YEAR = 12
Place = dict[str, str | None]


@dataclass(frozen=True)
class PolicyRead:
    """The policy, where each stated key stands, and sentences about dates nobody stated."""

    policy: Policy
    places: Mapping[str, Place]
    assumptions: tuple[str, ...] = ()

    def place(self, key: str) -> Place:
        """file, sheet and cell of a key; nothing where it was not stated in a sheet."""
        return self.places.get(key, {})


def next_quarter(day: datetime.date) -> datetime.date:
    """First day of the quarter after the one that holds `day`.

    >>> next_quarter(datetime.date(2026, 11, 29)), next_quarter(datetime.date(2027, 1, 1))
    (datetime.date(2027, 1, 1), datetime.date(2027, 4, 1))
    """
    quarter = (day.month - 1) // MONTHS_PER_QUARTER + 1
    month = quarter * MONTHS_PER_QUARTER
    return datetime.date(day.year + month // MONTHS_PER_YEAR, month % MONTHS_PER_YEAR + 1, 1)


def read_policy(raw: RawTable | None, options: LoadOptions, reading: Reading, problems: ProblemList) -> PolicyRead:
    """The Policy of a sheet (None = no such sheet) and of the command line.

    Problems: UNKNOWN_KEY, DUPLICATE_KEY, and those of the cells. A key that cannot be read keeps its default, so that reading
    goes on and every other problem is found too.
    """
    values, places = _stated(raw, reading, problems) if raw is not None and raw.usable else ({}, {})
    for key, value in _from_options(options, reading, problems).items():
        values[key] = value
        places.pop(key, None)
    today = values.setdefault("today", options.today or datetime.date.today())
    assumptions = []
    if values.get("start_date") is None:
        values["start_date"] = next_quarter(today)
        assumptions.append(
            f"The plan starts on {values['start_date']}, the first day of the next quarter (no start_date in Policy)."
        )
    if "start_date" in places and values["start_date"] < today:
        problems.warn("START_IN_THE_PAST", f"start_date {values['start_date']} is before today, {today}.",
                      "Set start_date, or today, in Policy.", **places["start_date"])
    return PolicyRead(Policy.model_validate(values), places, tuple(assumptions))


def _stated(raw: RawTable, reading: Reading, problems: ProblemList) -> tuple[dict[str, Any], dict[str, Place]]:
    known = {header_key(column.label): column for column in POLICY_KEYS}
    known.update({header_key(column.key): column for column in POLICY_KEYS})
    values: dict[str, Any] = {}
    places: dict[str, Place] = {}
    seen: dict[str, str] = {}
    for row in raw.rows:
        where: Place = {"file": raw.file, "sheet": POLICY.sheet, "cell": _address(raw, row.number, "key")}
        name = _name(row.cells.get("key"))
        if not name:
            problems.error("MISSING_VALUE", "key is empty.", "Name the key of this value, or empty the row.", **where)
            continue
        column = known.get(header_key(name))
        if column is None:
            _refuse_unknown(name, list(known), known, where, problems)
            continue
        if column.key in seen:
            problems.error("DUPLICATE_KEY", f"{column.key} is stated in {seen[column.key]} already.", "Keep one of the two rows.",
                           **where)
            continue
        seen[column.key] = str(where["cell"])
        where = {**where, "cell": _address(raw, row.number, "value")}
        cell = row.cells.get("value")
        if cell is None or is_blank(cell):
            continue
        try:
            values[column.key] = parse_cell(column, cell, reading)
        except BadCell as error:
            problems.error(error.code, error.message, error.fix, **where)
            continue
        places[column.key] = where
    return values, places


def _name(cell: Cell | None) -> str:
    return "" if cell is None or cell.value is None else str(cell.value).strip()


def _address(raw: RawTable, number: int, key: str) -> str:
    return address(number, raw.columns.get(key, 1))


def _refuse_unknown(name: str, keys: list[str], known: Mapping[str, Column], where: Place, problems: ProblemList) -> None:
    """A misspelt rule would silently be a default: close to a known key it is refused, else warned of."""
    close = difflib.get_close_matches(header_key(name), keys, n=1, cutoff=0.7)
    if close:
        problems.error("UNKNOWN_KEY", f"{name!r} is not a key of Policy.", f"Did you mean {known[close[0]].key}?", **where)
    else:
        problems.warn("UNKNOWN_KEY", f"{name!r} is not a key of Policy, and is passed over.", "", **where)


def _from_options(options: LoadOptions, reading: Reading, problems: ProblemList) -> dict[str, Value]:
    """Overrides of the command line, read by the same rules as cells."""
    stated: dict[str, str | float | None] = {
        "providers": ";".join(options.providers),
        "regions": ";".join(options.regions),
        "gpus": ";".join(options.gpus),
        "gap": options.gap,
        "time_limit_s": options.time_limit_s,
    }
    values: dict[str, Value] = {}
    for column in POLICY_KEYS:
        value = stated.get(column.key)
        if value in (None, ""):
            continue
        try:
            values[column.key] = parse_cell(column, Cell(value), reading)
        except BadCell as error:
            problems.error(error.code, error.message, error.fix, file="command line")
    return values
