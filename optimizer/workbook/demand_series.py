"""Rows of demand grouped by workload and day type, with names that the other sheets know."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.errors import ProblemList
from optimizer.workbook.book import Book
from optimizer.workbook.demand_columns import match_workload
from optimizer.workbook.demand_days import Point, Series
from optimizer.workbook.demand_find import Table
from optimizer.workbook.demand_load import Loaded
from optimizer.workbook.demand_model import ONLY_DAY_TYPE, ONLY_WORKLOAD
from optimizer.workbook.demand_rows import LISTED_MAX, Rows
from optimizer.workbook.demand_words import clean, words
from optimizer.workbook.reader_options import ReaderOptions

#: Stands for the workload of rows that --column leaves out.
LEFT_OUT = "\0"


class SeriesMaker:
    """Groups the rows of one table; every problem goes to `problems`."""

    def __init__(
        self,
        book: Book,
        table: Table,
        options: ReaderOptions,
        workloads: Sequence[str] | None,
        day_types: Sequence[str] | None,
        problems: ProblemList,
    ) -> None:
        self.book, self.table, self.options, self.problems = book, table, options, problems
        self.workloads, self.day_types = workloads, day_types
        self.sheet = table.grid.sheet.name

    def _at(self, row: int, column: int) -> str:
        return self.table.grid.at(row, column)

    def _error(self, code: str, message: str, fix: str, cell: str | None) -> None:
        self.problems.error(code, message, fix, file=self.book.file, sheet=self.sheet, cell=cell)

    def make(self, loaded: list[Loaded], rows: Rows) -> list[Series] | None:
        """Group rows by workload and day type; names must be known."""
        names = self._row_workloads(rows)
        kinds = self._row_day_types(rows)
        if names is None or kinds is None:
            return None
        outputs = [one for one in loaded if not one.pick.is_input]
        inputs = {one.pick.workload: one for one in loaded if one.pick.is_input}
        result: list[Series] = []
        for one in outputs:
            given = inputs.get(one.pick.workload)
            counts = one.unit.kind == "tokens_per_row"
            if given is not None and (given.unit.kind == "tokens_per_row") != counts:
                self._error(
                    "UNIT_CONFLICT",
                    f"output is in {one.unit.label} and input in {given.unit.label}.",
                    "Give both as rates, or both for each row.",
                    self._at(*given.pick.column.header_at),
                )
                return None
            groups: dict[tuple[str, str], list[Point]] = {}
            for row, name, kind in zip(rows.hours, names, kinds, strict=True):
                key = (name or one.pick.workload, kind)
                value_in = given.values[row.row] if given is not None else None
                value_out = one.values[row.row]
                if value_out == 0 and value_in is not None and value_in > 0 and not counts:
                    self._error(
                        "INPUT_WITHOUT_OUTPUT",
                        "has input tokens in an hour without output tokens, which cannot be planned.",
                        "Correct one of them.",
                        self._at(row.row, given.pick.column.column if given else one.pick.column.column),
                    )
                at = self._at(row.row, self.table.hour.column)
                groups.setdefault(key, []).append(Point(row.stamp, at, value_out, value_in))
            groups = {key: points for key, points in groups.items() if key[0] != LEFT_OUT}
            result += [Series(workload, kind, tuple(points), counts) for (workload, kind), points in groups.items()]
        return self._check_coverage(result)

    def _row_workloads(self, rows: Rows) -> list[str] | None:
        """The workload of each row in long form; "" where columns are the workloads."""
        columns = self.table.of("workload")
        if not columns:
            return [""] * len(rows.hours)
        column = columns[0].column
        texts = [
            clean(str(value)) if (value := self.table.grid.filled(row.row, column).value) is not None else ""
            for row in rows.hours
        ]
        blank = next((row for row, text in zip(rows.hours, texts, strict=True) if not text), None)
        if blank is not None:
            self._error("MISSING_VALUE", "names no workload.", "Write the workload in every row.", self._at(blank.row, column))
            return None
        if self.workloads is None:
            return self._single_of_long(rows, texts, column)
        names = []
        unknown: set[str] = set()
        for row, text in zip(rows.hours, texts, strict=True):
            name = match_workload(text, list(self.workloads))
            if name is None and text not in unknown:
                unknown.add(text)
                self._error(
                    "UNKNOWN_WORKLOAD",
                    f"{text!r} is no workload of the Workloads sheet ({', '.join(self.workloads)}).",
                    "Correct the name, add it to Workloads, or delete its rows.",
                    self._at(row.row, column),
                )
            names.append(name or text)
        return None if unknown else names

    def _single_of_long(self, rows: Rows, texts: list[str], column: int) -> list[str] | None:
        """Without a Workloads sheet the rows name one workload, or --column says which of them counts."""
        distinct = list(dict.fromkeys(words(text) for text in texts))
        wanted = words(self.options.column or "")
        if wanted in distinct:
            return [ONLY_WORKLOAD if words(text) == wanted else LEFT_OUT for text in texts]
        if len(distinct) > 1:
            first = next(row for row, text in zip(rows.hours, texts, strict=True) if words(text) != distinct[0])
            self._error(
                "SEVERAL_DEMAND_COLUMNS",
                f"the rows name {len(distinct)} workloads ({', '.join(dict.fromkeys(texts))}), and there is no Workloads sheet.",
                f"Say which: --column '{texts[0]}'; or add a Workloads sheet with a row for each.",
                self._at(first.row, column),
            )
            return None
        return [ONLY_WORKLOAD] * len(texts)

    def _row_day_types(self, rows: Rows) -> list[str] | None:
        """The day type of each row; "" = all."""
        columns = self.table.of("day_type")
        if not columns:
            return [""] * len(rows.hours)
        column = columns[0].column
        known = list(self.day_types) if self.day_types is not None else [ONLY_DAY_TYPE]
        kinds = []
        unknown: set[str] = set()
        for row in rows.hours:
            value = self.table.grid.filled(row.row, column).value
            text = clean(str(value)) if value is not None else ""
            name = match_workload(text, known) if text else ""
            if name is None and text not in unknown:
                unknown.add(text)
                if len(unknown) > LISTED_MAX:
                    continue
                fix = (
                    f"Use one of {', '.join(known)}, or add it to DayTypes."
                    if self.day_types is not None
                    else "Add a sheet DayTypes with columns day_type and days, so that it is known how many such days there are."
                )
                self._error("UNKNOWN_DAY_TYPE", f"day type {text!r} is not on a sheet DayTypes.", fix, self._at(row.row, column))
            kinds.append(name or "")
        return None if unknown else kinds

    def _check_coverage(self, series: list[Series]) -> list[Series] | None:
        """Every workload has every day type once: rows without day type hold for all and may not stand beside rows with one."""
        known = list(self.day_types) if self.day_types is not None else [ONLY_DAY_TYPE]
        good = True
        for name in list(self.workloads) if self.workloads is not None else [ONLY_WORKLOAD]:
            have = {one.day_type: one for one in series if one.workload == name}
            if not have:
                self._error(
                    "MISSING_WORKLOAD",
                    f"has no demand rows for workload {name!r}.",
                    "Add its 24 rows, or take it out of Workloads.",
                    self._at(*self.table.hour.header_at),
                )
                good = False
                continue
            if "" in have and len(have) > 1:
                point = have[""].points[0]
                self._error(
                    "DUPLICATE_HOUR",
                    f"workload {name!r} has rows without day type, which hold for all, beside rows with one.",
                    "Write the day type in every row, or in none.",
                    point.at,
                )
                good = False
            elif "" not in have:
                for kind in known:
                    if kind not in have:
                        last = next(reversed(have.values())).points[-1]
                        self._error(
                            "MISSING_HOUR", f"workload {name!r} has no rows for day type {kind!r}.", "Add its 24 rows.", last.at
                        )
                        good = False
        return series if good else None
