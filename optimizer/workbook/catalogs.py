"""The catalogs folder: CSV files with the same tables as sheets, shipped with the product or given by --catalogs."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import optimizer
from optimizer.domain.case import InputFile
from optimizer.domain.names import join_key
from optimizer.errors import ProblemList
from optimizer.workbook.columns import Table
from optimizer.workbook.tables import RawTable, read_csv

NO_CATALOGS = "none"
ALIASES_FILE = "aliases.csv"
ALIAS_COLUMNS = ("alias", "name", "kind")


@dataclass
class Catalogs:
    """A folder of catalogs, or none. read: the files that were read, in order, with their SHA-256."""

    folder: Path | Traversable | None
    label: str
    problems: ProblemList
    read: list[InputFile] = field(default_factory=list)
    _texts: dict[str, str | None] = field(default_factory=dict)

    def has(self, table: Table) -> bool:
        """Whether there is a catalog of that table."""
        return bool(table.catalog) and self.folder is not None and (self.folder / table.catalog).is_file()

    def table(self, table: Table, keep: Callable[[Callable[[str], str]], bool] | None = None) -> RawTable | None:
        """The rows of a catalog that `keep` wants (see `read_csv`); None where there is no such catalog."""
        text = self._text(table.catalog) if table.catalog else None
        return None if text is None else read_csv(table, text, self.name_of(table.catalog), self.problems, keep)

    def aliases(self, kind: str) -> dict[str, str]:
        """Other names of models or gpus (`kind` is model or gpu): join key of the alias -> join key of the name."""
        text = self._text(ALIASES_FILE)
        if text is None:
            return {}
        try:
            rows = list(csv.DictReader(io.StringIO(text)))
        except csv.Error as error:
            self.problems.error("CORRUPT_FILE", f"The catalog cannot be read as CSV: {error}.", file=self.name_of(ALIASES_FILE))
            return {}
        missing = [column for column in ALIAS_COLUMNS if rows and column not in rows[0]]
        if missing:
            self.problems.error("MISSING_COLUMN", f"The aliases have no column {', '.join(missing)}.",
                                f"Name the columns {', '.join(ALIAS_COLUMNS)}.", file=self.name_of(ALIASES_FILE))
            return {}
        return {join_key(row["alias"] or ""): join_key(row["name"] or "") for row in rows if (row["kind"] or "").strip() == kind}

    def header(self, file_name: str) -> list[str]:
        """The first row of a catalog; empty where there is no such file."""
        return next(csv.reader(io.StringIO(self._text(file_name) or "")), [])

    def name_of(self, file_name: str) -> str:
        """The file as it is named in messages and in the record of inputs."""
        return f"{self.label}/{file_name}"

    def _text(self, file_name: str) -> str | None:
        if file_name not in self._texts:
            self._texts[file_name] = self._load(file_name)
        return self._texts[file_name]

    def _load(self, file_name: str) -> str | None:
        path = None if self.folder is None else self.folder / file_name
        if path is None or not path.is_file():
            return None
        content = path.read_bytes()
        self.read.append(InputFile(file=self.name_of(file_name), sha256=hashlib.sha256(content).hexdigest()))
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError:
            self.problems.error("WRONG_FORMAT", "The catalog is not UTF-8 text.", "Save it as CSV UTF-8.",
                                file=self.name_of(file_name))
            return None


def open_catalogs(choice: str | None, problems: ProblemList) -> Catalogs:
    """The catalogs of --catalogs DIR, none for `none`, the shipped ones for None. Problem: CATALOGS_NOT_FOUND."""
    if choice == NO_CATALOGS:
        return Catalogs(None, "", problems)
    if choice is not None:
        folder = Path(choice)
        if not folder.is_dir():
            problems.error("CATALOGS_NOT_FOUND", "There is no such folder of catalogs.", "Give a folder of CSV files, or none.",
                           file=choice)
            return Catalogs(None, choice, problems)
        return Catalogs(folder, choice.rstrip("/\\") or choice, problems)
    return Catalogs(_shipped_folder(), "catalogs", problems)


def _shipped_folder() -> Path | Traversable | None:
    """Inside the installed package, else beside it in a checkout."""
    installed = resources.files("optimizer") / "_data" / "catalogs"
    if installed.is_dir():
        return installed
    checkout = Path(optimizer.__file__).resolve().parent.parent / "catalogs"
    return checkout if checkout.is_dir() else None
