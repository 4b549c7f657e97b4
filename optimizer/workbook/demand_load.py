"""Columns of a demand table as numbers in tok/s: what the cells hold, what their unit makes of them, what contradicts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from optimizer.errors import ProblemList
from optimizer.workbook.book import Book, Cell
from optimizer.workbook.demand_columns import Chosen, Pick, match_workload
from optimizer.workbook.demand_find import Table
from optimizer.workbook.demand_numbers import NumberColumn, read_numbers
from optimizer.workbook.demand_rows import LISTED_MAX, HourRow, RowReader, Rows
from optimizer.workbook.demand_settle import UnitSettler
from optimizer.workbook.demand_units import Unit
from optimizer.workbook.demand_words import has_control_characters
from optimizer.workbook.reader_options import ReaderOptions

_SHARE_SLACK = 1e-6


@dataclass(frozen=True)
class Loaded:
    """One picked column with its numbers in tok/s by row (None = unreadable), its unit and its cells."""

    pick: Pick
    unit: Unit
    shown: str
    values: dict[int, float | None]


class ColumnLoader:
    """Loads the chosen columns of one table; every problem goes to `problems`. cached: workload -> share of input served from
    cache."""

    def __init__(
        self,
        book: Book,
        table: Table,
        options: ReaderOptions,
        tokens_per_request: Mapping[str, float],
        problems: ProblemList,
    ) -> None:
        self.book, self.table, self.options, self.tokens_per_request, self.problems = (
            book,
            table,
            options,
            tokens_per_request,
            problems,
        )
        self.sheet = table.grid.sheet.name
        self.cached: dict[str, float] = {}

    def load(self, chosen: Chosen, rows: Rows, reader: RowReader, settler: UnitSettler) -> list[Loaded] | None:
        """Every picked column, or None where the unit of one is not known."""
        self._control_characters(chosen)
        loaded = [one for pick in chosen.picks if (one := self._load(pick, chosen, rows, reader, settler)) is not None]
        if len(loaded) < len(chosen.picks):
            return None
        self._check_total_columns(chosen, loaded, rows)
        self._cached_share(chosen, loaded, rows)
        return loaded

    def _at(self, row: int, column: int) -> str:
        return self.table.grid.at(row, column)

    def _error(self, code: str, message: str, fix: str, cell: str | None) -> None:
        self.problems.error(code, message, fix, file=self.book.file, sheet=self.sheet, cell=cell)

    def _warn(self, code: str, message: str, fix: str, cell: str | None) -> None:
        self.problems.warn(code, message, fix, file=self.book.file, sheet=self.sheet, cell=cell)

    def _control_characters(self, chosen: Chosen) -> None:
        for column in (self.table.hour, *(pick.column for pick in chosen.picks)):
            row, number = column.header_at
            value = self.table.grid.value(row, number)
            if isinstance(value, str) and has_control_characters(value):
                self._warn(
                    "CONTROL_CHARACTERS",
                    "holds characters that no sheet shows; they were left out.",
                    "Type the header anew.",
                    self._at(row, number),
                )

    def _load(self, pick: Pick, chosen: Chosen, rows: Rows, reader: RowReader, settler: UnitSettler) -> Loaded | None:
        column = pick.column.column
        grid = self.table.grid
        numbers = self._numbers(pick, rows)
        unit_columns = self.table.of("unit")
        unit_cells = [grid.cell(row.row, unit_columns[0].column) for row in rows.hours] if unit_columns else []
        unit = self._percent_unit(pick, numbers, rows) if numbers.percent else settler.settle(pick.column, unit_cells)
        if unit is None:
            return None
        raw = {row.row: value for row, value in zip(rows.hours, numbers.values, strict=True) if value is not None}
        reader.check_footers(rows, pick, unit, raw)
        settler.check_formats(pick.column, unit, [(self._at(row.row, column), grid.cell(row.row, column)) for row in rows.hours])
        self._formulas_all_zero(pick, rows)
        factor = self._factors(pick, unit, chosen, rows, numbers)
        if factor is None:
            return None
        factors, shown = factor
        values: dict[int, float | None] = {}
        for row, value, each in zip(rows.hours, numbers.values, factors, strict=True):
            if value is not None and value < 0:
                self._error(
                    "NEGATIVE_DEMAND",
                    f"is {value:,.10g}; demand cannot be below 0.",
                    "Correct the sign.",
                    self._at(row.row, column),
                )
            values[row.row] = None if value is None else value * each
        return Loaded(pick, unit, shown, values)

    def _numbers(self, pick: Pick, rows: Rows) -> NumberColumn:
        """The raw numbers of a column; blanks and unreadable cells become problems here."""
        column, grid = pick.column.column, self.table.grid
        cells = [grid.cell(row.row, column) if (row.row, column) in grid.cells else None for row in rows.hours]
        skipped = self._outside_day(rows)
        read = read_numbers([cell if cell is not None else Cell(0.0) for cell in cells], self.options.locale)
        empty = [index for index, cell in enumerate(cells) if cell is None and index not in skipped]
        missing = empty if not pick.is_input else self._input_missing(pick, rows, empty, cells)
        for index in missing[:LISTED_MAX]:
            more = f" (as are {len(missing) - LISTED_MAX} more hours)" if len(missing) > LISTED_MAX else ""
            self._error(
                "MISSING_VALUE",
                f"is empty{more}.",
                "Type the number; 0 where nothing is expected.",
                self._at(rows.hours[index].row, column),
            )
        counts: dict[str, int] = {}
        for problem in read.problems:
            if problem.index in skipped:
                continue
            counts[problem.code] = counts.get(problem.code, 0) + 1
            if counts[problem.code] <= (1 if problem.code == "FORMULA_NO_VALUE" else LISTED_MAX):
                self._error(problem.code, problem.message, problem.fix, self._at(rows.hours[problem.index].row, column))
        if read.texts and self.book.kind != "text":
            self._warn(
                "TEXT_NUMBERS",
                f"{len(read.texts)} numbers of the column are stored as text and were read as numbers.",
                "Convert the column to numbers.",
                self._at(rows.hours[read.texts[0]].row, column),
            )
        if empty:
            without = frozenset(empty)
            values = tuple(None if index in without else value for index, value in enumerate(read.values))
            return NumberColumn(values, read.problems, read.texts, read.percent)
        return read

    def _input_missing(self, pick: Pick, rows: Rows, empty: list[int], cells: Sequence[Cell | None]) -> list[int]:
        """The empty input cells that lack a number: in the long form a workload without any input has none to lack."""
        columns = self.table.of("workload")
        if pick.workload or not columns:
            return empty

        def named(index: int) -> str:
            return str(self.table.grid.filled(rows.hours[index].row, columns[0].column).value or "").strip()

        stated = {named(index) for index, cell in enumerate(cells) if cell is not None}
        return [index for index in empty if named(index) in stated]

    def _outside_day(self, rows: Rows) -> frozenset[int]:
        """Rows that --day leaves out: what is wrong there does not matter."""
        if not self.options.day:
            return frozenset()
        wanted = self.options.day.strip()
        outside = frozenset(
            index for index, row in enumerate(rows.hours) if row.stamp.day is not None and str(row.stamp.day) != wanted
        )
        return outside if len(outside) < len(rows.hours) else frozenset()

    def _percent_unit(self, pick: Pick, numbers: NumberColumn, rows: Rows) -> Unit | None:
        """Cells in percent are a share of peak; a header that says otherwise contradicts them."""
        at = self._at(*pick.column.header_at)
        read = sum(value is not None for value in numbers.values)
        first = self._at(rows.hours[0].row, pick.column.column)
        if numbers.percent < read:
            self._error(
                "MIXED_PERCENT",
                f"{numbers.percent} of {read} numbers of the column are in percent.",
                "Format the whole column alike.",
                first,
            )
            return None
        stated = pick.column.unit.unit or (pick.column.unit_cell.unit if pick.column.unit_cell else None)
        if stated is not None and stated.kind != "share":
            self._error(
                "UNIT_CONFLICT",
                f"the header says {stated.label} and the cells are in percent.",
                "Correct the number format or the header.",
                at,
            )
            return None
        said = UnitSettler(self.book, self.table, self.options, self.problems).said
        if said is not None and said.kind != "share":
            self._error(
                "UNIT_CONFLICT",
                f"--unit says {said.label} and the cells are in percent.",
                "Leave --unit out and say --peak with the peak in tok/s.",
                at,
            )
            return None
        return stated or Unit("share", 1.0, 1.0, "% of peak")

    def _formulas_all_zero(self, pick: Pick, rows: Rows) -> None:
        cells = [self.table.grid.cell(row.row, pick.column.column) for row in rows.hours]
        if cells and all(cell.formula and cell.value == 0 for cell in cells) and not self.options.recalc:
            self._error(
                "FORMULA_ZERO",
                "every formula of the column has the saved value 0, as programs write that do not compute.",
                "Open the file in Excel and save it, or run with --recalc libreoffice.",
                self._at(rows.hours[0].row, pick.column.column),
            )

    def _factors(
        self, pick: Pick, unit: Unit, chosen: Chosen, rows: Rows, numbers: NumberColumn
    ) -> tuple[list[float], str] | None:
        """What each row's number is multiplied with to become tok/s (tokens for counts), and how the unit is shown."""
        at = self._at(*pick.column.header_at)
        if unit.kind in ("tokens", "tokens_per_row"):
            return [unit.factor] * len(rows.hours), unit.label
        if unit.kind == "share":
            scale = self._share_scale(pick, unit, numbers, at)
            if scale is None:
                return None
            peak = self.options.peak or 0.0
            return [scale * peak] * len(rows.hours), f"{unit.label} ({peak:,.10g} tok/s)"
        if pick.is_input:
            self._error(
                "UNIT_NOT_INPUT",
                f"({pick.column.header!r}) counts requests; input must be in tokens.",
                "Give input tokens, or delete the column.",
                at,
            )
            return None
        if chosen.tokens_per_request is not None and self.options.tokens_per_request is None:
            helper = chosen.tokens_per_request.column
            read = read_numbers(
                [
                    self.table.grid.cell(row.row, helper) if (row.row, helper) in self.table.grid.cells else Cell(None)
                    for row in rows.hours
                ],
                self.options.locale,
            )
            if all(value is not None and value > 0 for value in read.values):
                return [
                    unit.factor * (value or 0.0) for value in read.values
                ], f"{unit.label} x {chosen.tokens_per_request.header}"
        if self.options.tokens_per_request is not None:
            each = self.options.tokens_per_request
            return [unit.factor * each] * len(rows.hours), f"{unit.label} x {each:,.10g} tokens"
        known = [self._tokens_of(pick, row) for row in rows.hours]
        if known and all(value is not None for value in known):
            return [unit.factor * (value or 0.0) for value in known], f"{unit.label} x output_tokens of Workloads"
        self._error(
            "UNIT_NEEDS_TOKENS_PER_REQUEST",
            f"({pick.column.header!r}) counts requests, and the output tokens of a request are not known.",
            "Say --tokens-per-request with the mean output tokens of a request, for instance 250, or "
            "fill output_tokens in Workloads.",
            at,
        )
        return None

    def _tokens_of(self, pick: Pick, row: HourRow) -> float | None:
        name = pick.workload
        if not name:
            columns = self.table.of("workload")
            name = (
                match_workload(str(self.table.grid.filled(row.row, columns[0].column).value or ""), list(self.tokens_per_request))
                or ""
            )
        return self.tokens_per_request.get(name)

    def _share_scale(self, pick: Pick, unit: Unit, numbers: NumberColumn, at: str) -> float | None:
        """1 where shares are 0..1, 0.01 where they are 0..100; decided by formats, by a peak of exactly 1 or 100, or refused."""
        values = [value for value in numbers.values if value is not None]
        top = max(values, default=0.0)
        if numbers.percent or abs(top - 1) <= _SHARE_SLACK:
            scale = 1.0
        elif abs(top - 100) <= _SHARE_SLACK * 100 or (top > 1 and unit.label.startswith("%")):
            scale = 0.01
        elif top < 1 and not unit.label.startswith("%"):
            scale = 1.0
        else:
            self._error(
                "SHARE_UNCLEAR",
                f"the largest share is {top:,.10g}: of 1, or of 100?",
                "Format the column as percent in Excel and save.",
                at,
            )
            return None
        if top * scale > 1 + _SHARE_SLACK:
            self._error(
                "SHARE_ABOVE_PEAK",
                f"the largest share is {top * scale:.4%} of the peak.",
                "Shares of the peak end at 100 %; correct them.",
                at,
            )
            return None
        if self.options.peak is None:
            self._error(
                "UNIT_NEEDS_PEAK",
                f"({pick.column.header!r}) is a share of the peak, and the peak is not stated.",
                "Say --peak with the peak in tok/s, for instance --peak 12800.",
                at,
            )
            return None
        return scale

    def _check_total_columns(self, chosen: Chosen, loaded: list[Loaded], rows: Rows) -> None:
        """A total beside the workloads must be their sum; then it is left out with a warning."""
        outputs = [one for one in loaded if not one.pick.is_input]
        for column in chosen.totals:
            cells = [self.table.grid.cell(row.row, column.column) for row in rows.hours]
            read = read_numbers(cells, self.options.locale)
            at = self._at(*column.header_at)
            unit = column.unit.unit
            for row, value in zip(rows.hours, read.values, strict=True):
                parts = [one.values[row.row] for one in outputs]
                if value is None or unit is None or unit.kind != "tokens" or any(part is None for part in parts):
                    continue
                total = sum(part for part in parts if part is not None)
                if abs(value * unit.factor - total) > 2e-3 * max(abs(total), 1e-9):
                    self._error(
                        "TOTAL_DISAGREES",
                        f"({column.header!r}) is {value:,.10g} where the workloads sum to {total / unit.factor:,.10g}.",
                        "Correct it, or delete the column.",
                        self._at(row.row, column.column),
                    )
                    return
            self._warn("TOTAL_COLUMN_IGNORED", f"({column.header!r}) agrees with the workloads and was left out.", "", at)

    def _cached_share(self, chosen: Chosen, loaded: list[Loaded], rows: Rows) -> None:
        """The share of input served from cache, where a column says so: reported, because prefix_hit_frac of Workloads is what
        plans use."""
        for pick in chosen.cached:
            cells = [self.table.grid.cell(row.row, pick.column.column) for row in rows.hours]
            read = read_numbers(cells, self.options.locale)
            at = self._at(*pick.column.header_at)
            values = [value for value in read.values if value is not None]
            if len(values) < len(rows.hours):
                self._warn("COLUMN_IGNORED", f"({pick.column.header!r}) has empty or unreadable cells and was not read.", "", at)
                continue
            stated = pick.column.unit.unit
            inputs = [one for one in loaded if one.pick.is_input and one.pick.workload == pick.workload]
            weights = [inputs[0].values[row.row] or 0.0 for row in rows.hours] if inputs else [1.0] * len(values)
            if stated is not None and stated.kind == "tokens":
                if not inputs or sum(weights) <= 0:
                    self._warn(
                        "COLUMN_IGNORED",
                        f"({pick.column.header!r}) needs an input column to become a share and was not read.",
                        "",
                        at,
                    )
                    continue
                share = sum(values) * stated.factor / sum(weights)
            else:
                scale = 1.0 if read.percent or max(values) <= 1 else 0.01
                share = scale * sum(value * weight for value, weight in zip(values, weights, strict=True)) / (sum(weights) or 1.0)
            if not 0 <= share <= 1:
                self._error(
                    "CACHED_SHARE_RANGE",
                    f"({pick.column.header!r}) comes to {share:.3g} of the input.",
                    "A share of cached input lies between 0 and 1.",
                    at,
                )
                continue
            self.cached[pick.workload or ""] = share
            self._warn(
                "CACHED_SHARE_REPORTED",
                f"({pick.column.header!r}) comes to {share:.1%} of the input; a plan uses prefix_hit_frac of Workloads.",
                f"Write {share:.3g} there if this is meant.",
                at,
            )
