"""Which columns of a table are the demand, whose it is, and in which unit; several candidates are refused, never chosen from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from optimizer.domain.names import join_key
from optimizer.errors import ProblemList
from optimizer.workbook.book import Book
from optimizer.workbook.demand_find import Column, Table, is_numeric_column
from optimizer.workbook.demand_model import ONLY_WORKLOAD
from optimizer.workbook.demand_words import TOTAL_WORDS, clean, words
from optimizer.workbook.reader_options import ReaderOptions

#: Characters of a header that a message shows.
HEADER_SHOWN = 60
_COUNTS = re.compile(r"\b(requests?|users?|sessions?|calls|queries)\b")


@dataclass(frozen=True)
class Pick:
    """One column to read. workload: "" in long form, where each row names its own."""

    workload: str
    is_input: bool
    column: Column


@dataclass(frozen=True)
class Chosen:
    """The columns to read, and those that only help: totals to check, tokens per request, cached share."""

    picks: tuple[Pick, ...]
    totals: tuple[Column, ...] = ()
    cached: tuple[Pick, ...] = ()
    tokens_per_request: Column | None = None


class ColumnChooser:
    """Chooses the columns of one table; every problem goes to `problems`."""

    def __init__(
        self,
        book: Book,
        table: Table,
        options: ReaderOptions,
        workloads: Sequence[str] | None,
        explicit: bool,
        problems: ProblemList,
    ) -> None:
        self.book, self.table, self.options, self.explicit, self.problems = book, table, options, explicit, problems
        self.workloads = workloads
        self.sheet = table.grid.sheet.name

    def choose(self) -> Chosen | None:
        """The columns to read; None with errors in `problems`."""
        helper = self.table.of("tokens_per_request")
        ratio = helper[0] if len(helper) == 1 else None
        if self.table.of("workload"):
            chosen = self._long()
        elif self.workloads is None:
            chosen = self._single()
        else:
            chosen = self._wide()
        return replace(chosen, tokens_per_request=ratio) if chosen is not None else None

    def _error(self, code: str, message: str, fix: str, column: Column | None = None) -> None:
        self.problems.error(
            code,
            message,
            fix,
            file=self.book.file,
            sheet=self.sheet,
            cell=self.table.grid.at(*column.header_at) if column else None,
        )

    def _candidates(self) -> list[Column]:
        """Columns that may be output demand, the best kind only: token rates, else shares, else requests, else words, else
        numbers."""
        columns = self.table.of("output", "mixed")
        if not columns and (self.explicit or not self.table.by_words):
            columns = [
                column for column in self.table.of("other") if is_numeric_column(self.table, column) and not column.unit.ratio
            ]
        columns = self._without_hidden(columns)
        kinds = {id(column): self._kind(column) for column in columns}
        for kind in ("tokens", "share", "requests", ""):
            best = [column for column in columns if kinds[id(column)] == kind]
            if best:
                # A column that reads as demand and states no unit may be the one that is meant: never chosen from.
                best = [
                    column
                    for column in columns
                    if column in best or (kinds[id(column)] == "" and not _COUNTS.search(column.words))
                ]
                for column in columns:
                    if column not in best and kind != "":
                        self.problems.warn(
                            "COLUMN_IGNORED",
                            f"({column.header!r}) was not read: {best[0].header!r} states the demand in {kind}.",
                            file=self.book.file,
                            sheet=self.sheet,
                            cell=self.table.grid.at(*column.header_at),
                        )
                return best
        return []

    def _kind(self, column: Column) -> str:
        stated = column.unit.unit or (column.unit_cell.unit if column.unit_cell else None)
        if column.unit.unclear:
            return "tokens"
        if stated is None:
            return ""
        return "tokens" if stated.kind == "tokens_per_row" else stated.kind

    def _without_hidden(self, columns: list[Column]) -> list[Column]:
        grid = self.table.grid
        hidden = [column for column in columns if grid.column_hidden(column.column)]
        if not hidden or self.options.hidden == "include":
            return columns
        if self.options.hidden == "exclude":
            return [column for column in columns if column not in hidden]
        what = "row" if grid.transposed else "column"
        self._error(
            f"HIDDEN_{what.upper()}S",
            f"({hidden[0].header!r}) is a hidden {what} with demand.",
            "Say --hidden exclude to leave it out or --hidden include to read it.",
            hidden[0],
        )
        return columns

    def _single(self) -> Chosen | None:
        """Without a Workloads sheet exactly one output column is the demand."""
        if self.options.column:
            column = self._named()
            if column is None:
                return None
        else:
            candidates = self._candidates()
            if not self._distinct(candidates):
                return None
            if not candidates:
                self._no_output()
                return None
            if len(candidates) > 1:
                self._several(candidates)
                return None
            column = candidates[0]
        if column.role == "mixed":
            self._error(
                "INPUT_AND_OUTPUT_MIXED",
                f"({column.header!r}) names input and output together; a plan needs output tokens.",
                "Give output tokens in a column of their own, headed `Output tok/s`.",
                column,
            )
            return None
        inputs = [other for other in self._without_hidden(self.table.of("input")) if other.label == column.label]
        if not inputs:
            unlabelled = self._without_hidden(self.table.of("input"))
            inputs = unlabelled if len(unlabelled) == 1 and len(self.table.of("output")) == 1 else []
        picks = [Pick(ONLY_WORKLOAD, False, column)]
        if len(inputs) == 1:
            picks.append(Pick(ONLY_WORKLOAD, True, inputs[0]))
        elif len(inputs) > 1 and self._distinct(inputs):
            self._error(
                "SEVERAL_DEMAND_COLUMNS",
                f"there are {len(inputs)} input columns ({_headers(inputs)}).",
                "Keep one, or name the others so that they do not read as input.",
                inputs[0],
            )
        cached = [Pick(ONLY_WORKLOAD, True, other) for other in self.table.of("cached")]
        return Chosen(tuple(picks), cached=tuple(cached[:1]))

    def _named(self) -> Column | None:
        wanted = words(str(self.options.column))
        pool = [column for column in self.table.columns if column.role not in ("date", "unit", "workload", "day_type")]
        for test in (
            lambda column: words(column.header),
            lambda column: words(column.header.rsplit(" / ", 1)[-1]),
            lambda column: column.label,
            lambda column: column.words,
        ):
            matches = [column for column in pool if test(column) == wanted]
            if matches:
                outputs = [column for column in matches if column.role in ("output", "mixed")] or matches
                if len(outputs) > 1:
                    self._several(outputs)
                    return None
                return outputs[0]
        letter = re.fullmatch(r"[a-z]{1,3}", wanted)
        for column in pool:
            address = self.table.grid.at(*column.header_at)
            if letter and re.sub(r"\d", "", address).casefold() == wanted and not self.table.grid.transposed:
                return column
            if self.table.grid.transposed and re.sub(r"\D", "", address) == wanted:
                return column
        self._error(
            "COLUMN_NOT_FOUND",
            f"there is no column {self.options.column!r}; there are {_headers(pool)}.",
            f"Say --column with one of these{_example(pool)}.",
        )
        return None

    def _several(self, columns: list[Column]) -> None:
        total = [column for column in columns if TOTAL_WORDS.match(column.label)] or columns
        same = len({words(column.header) for column in columns}) < len(columns)
        example = self._letter(total[0]) if same else f"'{total[0].header}'"
        self._error(
            "SEVERAL_DEMAND_COLUMNS",
            f"there are {len(columns)} columns that may be the demand ({_headers(columns)}).",
            f"Say which: --column {example}; or add a Workloads sheet with a row for each.",
            columns[0],
        )

    def _letter(self, column: Column) -> str:
        address = self.table.grid.at(*column.header_at)
        return re.sub(r"\D" if self.table.grid.transposed else r"\d", "", address)

    def _distinct(self, columns: list[Column]) -> bool:
        """Refuse two columns of one name."""
        seen: dict[str, Column] = {}
        good = True
        for column in columns:
            key = words(column.header)
            if key and key in seen and not self.options.column:
                cells = [self.table.grid.at(*one.header_at) for one in (seen[key], column)]
                self.problems.error(
                    "DUPLICATE_COLUMNS",
                    f"{cells[0]} and {cells[1]} have the same header {column.header!r}.",
                    f"Rename one of them, or say which: --column {self._letter(seen[key])}.",
                    file=self.book.file,
                    sheet=self.sheet,
                    cell=cells[1],
                )
                good = False
            seen.setdefault(key, column)
        return good

    def _no_output(self) -> None:
        inputs = self.table.of("input")
        if inputs:
            self._error(
                "NO_OUTPUT_COLUMN",
                f"has input ({inputs[0].header!r}) and no output tokens.",
                "Add a column `Output tok/s`; the fleet is sized by output tokens.",
                inputs[0],
            )
        else:
            pool = [column for column in self.table.columns if column.role == "other"]
            self._error(
                "NO_DEMAND_COLUMN",
                f"no column beside the hours reads as demand (there are {_headers(pool)}).",
                f"Head it `Output tok/s`, or say --column{_example(pool)} and --unit.",
                self.table.hour,
            )

    def _wide(self) -> Chosen | None:
        """With a Workloads sheet the columns are its workloads."""
        names = list(self.workloads or ())
        picks: list[Pick] = []
        totals: list[Column] = []
        outputs = self._candidates_wide()
        if not self._distinct(outputs):
            return None
        if self.options.column and len(names) == 1:
            column = self._named()
            if column is None:
                return None
            outputs = [column]
        if len(names) == 1 and len(outputs) == 1 and _match(outputs[0].label, names) is None and not outputs[0].label:
            outputs = [replace(outputs[0], label=words(names[0]))]
        unmatched = []
        for column in outputs:
            name = _match(column.label, names) if not (self.options.column and len(names) == 1) else names[0]
            if name is not None:
                if any(pick.workload == name for pick in picks):
                    self._error(
                        "DUPLICATE_COLUMNS",
                        f"({column.header!r}) is a second output column of workload {name!r}.",
                        "Keep one of them.",
                        column,
                    )
                picks.append(Pick(name, False, column))
            elif TOTAL_WORDS.match(column.label):
                totals.append(column)
            else:
                unmatched.append(column)
        for column in unmatched:
            self._error(
                "UNKNOWN_WORKLOAD",
                f"({column.header!r}) is no workload of the Workloads sheet ({', '.join(names)}).",
                "Head it `<workload> output tok/s` with one of them, add it to Workloads, or delete "
                f"the column{_suggest(column.label, names)}.",
                column,
            )
        for name in names:
            if not any(pick.workload == name for pick in picks):
                self._error(
                    "MISSING_WORKLOAD",
                    f"has no demand column for workload {name!r}.",
                    f"Add a column `{name} output tok/s`, or take the workload out of Workloads.",
                    self.table.hour,
                )
        cached = []
        for column in [*self._without_hidden(self.table.of("input")), *self.table.of("cached")]:
            name = _match(column.label, names) or (names[0] if len(names) == 1 and not column.label else None)
            if column.role == "cached":
                label = words(re.sub(r"\b(cached|cache|hit|share|rate|prefix|%|frac|fraction|of)\b|%", " ", column.label))
                name = _match(label, names) or (names[0] if len(names) == 1 else None)
                if name is not None:
                    cached.append(Pick(name, True, column))
            elif name is not None:
                if any(pick.workload == name and pick.is_input for pick in picks):
                    self._error(
                        "DUPLICATE_COLUMNS",
                        f"({column.header!r}) is a second input column of workload {name!r}.",
                        "Keep one of them.",
                        column,
                    )
                picks.append(Pick(name, True, column))
            elif not TOTAL_WORDS.match(column.label):
                self._error(
                    "UNKNOWN_WORKLOAD",
                    f"({column.header!r}) is no workload of the Workloads sheet ({', '.join(names)}).",
                    "Head it `<workload> input tok/s` with one of them, or delete the column.",
                    column,
                )
        return Chosen(tuple(picks), tuple(totals), tuple(cached))

    def _candidates_wide(self) -> list[Column]:
        """Every output column, and columns headed with nothing but a workload."""
        columns = self._without_hidden(self.table.of("output", "mixed"))
        known = {join_key(name) for name in self.workloads or ()}
        named = [
            column
            for column in self.table.of("other")
            if join_key(column.label) in known or join_key(clean(column.header)) in known
        ]
        if not columns and not named and self.explicit:
            return self._candidates()
        return sorted([*columns, *named], key=lambda column: column.column)

    def _long(self) -> Chosen | None:
        """Long form: each row names its workload."""
        outputs = self._candidates()
        if not self._distinct(outputs):
            return None
        if not outputs:
            self._no_output()
            return None
        if len(outputs) > 1:
            self._several(outputs)
            return None
        inputs = self._without_hidden(self.table.of("input"))
        if len(inputs) > 1:
            self._several(inputs)
            return None
        return Chosen(
            (Pick("", False, outputs[0]), *(Pick("", True, column) for column in inputs)),
            cached=tuple(Pick("", True, column) for column in self.table.of("cached")[:1]),
        )


def _headers(columns: Sequence[Column]) -> str:
    return (
        ", ".join(repr(column.header[:HEADER_SHOWN]) for column in columns[:8]) + (", ..." if len(columns) > 8 else "") or "none"
    )


def _example(columns: Sequence[Column]) -> str:
    return f" '{columns[0].header}'" if columns and columns[0].header else ""


def _match(label: str, names: Sequence[str]) -> str | None:
    """The workload a label means: equal without case and blanks, else equal without hyphens and underscores where that is
    unique."""
    exact = [name for name in names if words(name) == words(label)]
    if exact:
        return exact[0]
    loose = [name for name in names if join_key(clean(name)) == join_key(clean(label)) and label]
    return loose[0] if len(loose) == 1 else None


def match_workload(label: str, names: Sequence[str]) -> str | None:
    """The workload of that name among `names`, compared without case, blanks, hyphens and underscores."""
    return _match(clean(label), names)


def _suggest(label: str, names: Sequence[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(label, [words(name) for name in names], n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
