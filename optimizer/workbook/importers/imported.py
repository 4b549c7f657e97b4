"""What an import gives: rows under our column keys, and everything that was left out with the reason."""

from __future__ import annotations

import csv
import datetime
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from optimizer.errors import ProblemList
from optimizer.workbook.catalog_checks import WITHOUT_GOODPUT, check_ages, check_tables, read_catalogs
from optimizer.workbook.catalogs import Catalogs
from optimizer.workbook.columns import Table
from optimizer.workbook.rows import parse_rows
from optimizer.workbook.tables import read_csv
from optimizer.workbook.values import Reading

#: Columns beside those of the schema that an import fills: what a reader should know, and the seller's own name.
EXTRA_COLUMNS = ("label", "note")


@dataclass
class LeftOut:
    """Names of what was left out, by reason, in the order in which the reasons came up."""

    by_reason: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, name: str) -> None:
        """Keep a name under its reason, once."""
        names = self.by_reason.setdefault(reason, [])
        if name not in names:
            names.append(name)


@dataclass(frozen=True)
class Imported:
    """Rows for one of our tables. rows: text by column key. origin: what they were read from, for messages."""

    table: Table
    rows: tuple[Mapping[str, str], ...]
    left_out: LeftOut
    origin: str

    def csv_text(self) -> str:
        """The rows as CSV: every column of the table in its order, then what a reader should know."""
        stream = io.StringIO()
        names = [*(column.key for column in self.table.columns), *EXTRA_COLUMNS]
        writer = csv.DictWriter(stream, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return stream.getvalue()


def check_imported(imported: Imported, catalogs: Catalogs, today: datetime.date, stale_days: float) -> ProblemList:
    """The checks of `catalog check` on the imported rows, among themselves and against the other catalogs.

    today, stale_days: for the age of prices. Warns too of ids that the catalogs hold already (ALREADY_IN_CATALOG): such rows
    replace, and must not be appended.
    """
    others = read_catalogs(catalogs, ProblemList(), WITHOUT_GOODPUT)
    found = ProblemList()
    raw = read_csv(imported.table, imported.csv_text(), imported.origin, found)
    rows = parse_rows(raw, Reading(machine=True), found)
    check_tables({**others, imported.table.sheet: rows}, found)
    check_ages({imported.table.sheet: rows}, found, today, stale_days)
    key = imported.table.key_columns[0]
    known = others[imported.table.sheet].ids(key) if imported.table.sheet in others else {}
    for row in rows.rows:
        if row[key] in known:
            found.warn("ALREADY_IN_CATALOG", f"{row[key]} is in {known[row[key]].file} already.",
                       "Replace that row, or leave this one out.", **row.place(key))
    ours = ProblemList()
    ours.errors += [problem for problem in found.errors if problem.file == imported.origin]
    ours.warnings += [problem for problem in found.warnings if problem.file == imported.origin]
    return ours


def slug(*parts: str) -> str:
    """Parts as one id: lower case; letters, digits, dots and underscores stay, all else becomes a hyphen.

    >>> slug("AWS", "p5.48xlarge", "us-east-1", "on_demand"), slug("novita", "zai-org/glm-5")
    ('aws-p5.48xlarge-us-east-1-on_demand', 'novita-zai-org-glm-5')
    """
    words = (re.sub(r"[^a-z0-9._]+", "-", part.casefold()).strip("-") for part in parts)
    return "-".join(word for word in words if word)


def number_text(value: float) -> str:
    """A figure as the catalogs write it: no trailing zeros, never an exponent.

    >>> number_text(55.04), number_text(24.0), number_text(0.0000003)
    ('55.04', '24', '0.0000003')
    """
    text = f"{value:.10f}".rstrip("0").rstrip(".")
    return text or "0"


def unique(ids: Iterable[str]) -> list[str]:
    """Ids made different from each other by a trailing -2, -3, ... where they repeat.

    >>> unique(["a", "b", "a"])
    ['a', 'b', 'a-2']
    """
    taken: set[str] = set()
    found = []
    for each in ids:
        name, number = each, 2
        while name in taken:
            name, number = f"{each}-{number}", number + 1
        taken.add(name)
        found.append(name)
    return found
