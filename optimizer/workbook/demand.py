"""Reads the demand of a forecast: 24 right numbers per workload and day type, or a refusal that names the cell and what settles it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from optimizer.errors import ProblemList
from optimizer.units import HOURS_PER_DAY
from optimizer.workbook.book import Book, Cell
from optimizer.workbook.demand_columns import Chosen, ColumnChooser, Pick, UnitSettler, match_workload
from optimizer.workbook.demand_days import DayMaker, Days, Point, Series
from optimizer.workbook.demand_find import Column, Table
from optimizer.workbook.demand_grid import Grid
from optimizer.workbook.demand_hours import Stamp
from optimizer.workbook.demand_model import (
    ONLY_DAY_TYPE,
    ONLY_WORKLOAD,
    DemandRead,
    DemandReport,
    DemandSeries,
    DerivedDayType,
)
from optimizer.workbook.demand_numbers import NumberColumn, read_numbers
from optimizer.workbook.demand_place import BareRange, find_place, hours_beside
from optimizer.workbook.demand_rows import LISTED_MAX, HourRow, RowReader, Rows
from optimizer.workbook.demand_units import Unit, UnitFound, find_unit
from optimizer.workbook.demand_words import clean, has_control_characters, words
from optimizer.workbook.reader_options import ReaderOptions

_SHARE_SLACK = 1e-6
#: Stands for the workload of rows that --column leaves out.
LEFT_OUT = "\0"


def read_demand(
    book: Book,
    options: ReaderOptions | None = None,
    *,
    workloads: Sequence[str] | None = None,
    day_types: Mapping[str, float] | Sequence[str] | None = None,
    tokens_per_request: Mapping[str, float] | None = None,
) -> DemandRead:
    """Read the demand of an opened book, in tok/s.

    workloads: names on the Workloads sheet; None = there is none, and the one demand is workload `demand`. day_types: names on the
    DayTypes sheet, with their days where the mean is to be weighted; None = there is none, and the day type is `day` (or those of
    --profile). tokens_per_request: workload -> output tokens of one request, where Workloads says so. Warnings of the book are handed on.
    Raises Refused with every problem found, and with the warnings as errors under `options.strict`.
    """
    options = options or ReaderOptions()
    problems = ProblemList()
    problems.warnings += book.warnings
    reader = _DemandReader(book, options, workloads, day_types, tokens_per_request or {}, problems)
    read = reader.read()
    if options.strict and problems.warnings:
        problems.errors += problems.warnings
        problems.warnings = []
    problems.raise_if_errors()
    if read is None:
        raise AssertionError("a forecast was neither read nor refused")
    return read


@dataclass(frozen=True)
class _Loaded:
    """One picked column with its numbers in tok/s by row (None = unreadable), its unit and its cells."""

    pick: Pick
    unit: Unit
    shown: str
    values: dict[int, float | None]


class _DemandReader:
    def __init__(
        self,
        book: Book,
        options: ReaderOptions,
        workloads: Sequence[str] | None,
        day_types: Mapping[str, float] | Sequence[str] | None,
        tokens_per_request: Mapping[str, float],
        problems: ProblemList,
    ) -> None:
        self.book, self.options, self.workloads = book, options, workloads
        self.day_types = list(day_types) if day_types is not None else None
        self.days = dict(day_types) if isinstance(day_types, Mapping) else {}
        self.tokens_per_request, self.problems = tokens_per_request, problems
        self.sheet = ""
        self.cached: dict[str, float] = {}

    def read(self) -> DemandRead | None:
        place = find_place(self.book, self.options, self.workloads or (), self.problems)
        if place is None:
            return None
        self.sheet = place.sheet.name
        if place.bare is not None:
            table = self._bare_table(place.bare)
            rows: Rows | None = Rows(tuple(HourRow(key[0], Stamp(hour * 3600)) for hour, key in enumerate(place.bare.cells)), ())
        else:
            if place.table is None:
                return None
            table, rows = place.table, None
        self.table = table
        chosen = ColumnChooser(
            self.book, table, self.options, self.workloads, place.explicit or place.bare is not None, self.problems
        ).choose()
        if chosen is None or not chosen.picks:
            return None
        reader = RowReader(self.book, table, self.options, chosen.picks, self.problems)
        if rows is None:
            rows = reader.read()
        settler = UnitSettler(self.book, table, self.options, self.tokens_per_request, self.problems)
        if rows is None:
            # Units are independent of the rows: report them in the same run.
            for pick in chosen.picks:
                settler.settle(pick.column)
            return None
        self._control_characters(chosen)
        loaded = [one for pick in chosen.picks if (one := self._load(pick, chosen, rows, reader, settler)) is not None]
        if len(loaded) < len(chosen.picks):
            return None
        self._check_total_columns(chosen, loaded, rows)
        self._cached_share(chosen, loaded, rows)
        series = self._series(loaded, rows)
        if series is None or not series:
            return None
        maker = DayMaker(self.book.file, self.sheet, self.options, self.problems)
        made = maker.make(series)
        if made is None or self.problems.errors:
            return None
        return self._finish(series, made, maker.day_types, loaded, rows)

    def _bare_table(self, bare: BareRange) -> Table:
        """24 numbers without header as a table whose only column they are; a text just above them may state the unit."""
        row, column = bare.cells[0]
        if hours_beside(bare):
            self.problems.warn(
                "HOURS_BESIDE_RANGE",
                "hours seem to stand beside the range; the numbers were taken as hours 0 to 23 in order.",
                "Name a range with the hours and the header in it.",
                file=self.book.file,
                sheet=self.sheet,
                cell=bare.grid.at(row, column),
            )
        sheet_grid = Grid(bare.grid.sheet, bare.grid.sheet.cells)
        above = sheet_grid.turned() if bare.grid.transposed else sheet_grid
        header = above.value(row - 1, column)
        text = clean(header) if isinstance(header, str) else ""
        one = Column(
            column,
            "output",
            text,
            words(text),
            "",
            (row - 1, column) if text else (row, column),
            find_unit(text) if text else UnitFound(None, ""),
        )
        hour = Column(column, "hour", "", "", "", (row, column), UnitFound(None, ""))
        return Table(bare.grid, row, hour, (one,), tuple(key[0] for key in bare.cells), by_words=False)

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

    def _load(self, pick: Pick, chosen: Chosen, rows: Rows, reader: RowReader, settler: UnitSettler) -> _Loaded | None:
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
        return _Loaded(pick, unit, shown, values)

    def _numbers(self, pick: Pick, rows: Rows) -> NumberColumn:
        """The raw numbers of a column; blanks and unreadable cells become problems here."""
        column, grid = pick.column.column, self.table.grid
        cells = [grid.cell(row.row, column) if (row.row, column) in grid.cells else None for row in rows.hours]
        skipped = self._outside_day(rows)
        read = read_numbers([cell if cell is not None else Cell(0.0) for cell in cells], self.options.locale)
        missing = [index for index, cell in enumerate(cells) if cell is None and index not in skipped]
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
        if missing:
            values = tuple(None if index in missing else value for index, value in enumerate(read.values))
            return NumberColumn(values, read.problems, read.texts, read.percent)
        return read

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
        said = UnitSettler(self.book, self.table, self.options, {}, self.problems).said
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
            "Say --tokens-per-request with the mean output tokens of a request, for instance 250, or fill output_tokens in Workloads.",
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

    def _check_total_columns(self, chosen: Chosen, loaded: list[_Loaded], rows: Rows) -> None:
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

    def _cached_share(self, chosen: Chosen, loaded: list[_Loaded], rows: Rows) -> None:
        """The share of input served from cache, where a column says so: reported, because prefix_hit_frac of Workloads is what plans use."""
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

    def _series(self, loaded: list[_Loaded], rows: Rows) -> list[Series] | None:
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

    def _finish(
        self,
        series: list[Series],
        made: list[Days],
        derived: tuple[DerivedDayType, ...] | None,
        loaded: list[_Loaded],
        rows: Rows,
    ) -> DemandRead | None:
        """Spread what holds for all day types over them, and report per workload."""
        if derived is not None and len(derived) > 1 and self.day_types is not None:
            differs = {one.day_type for one in derived} != set(self.day_types)
            if differs:
                self._error(
                    "UNKNOWN_DAY_TYPE",
                    f"--profile gives the day types {', '.join(one.day_type for one in derived)}; DayTypes has {', '.join(self.day_types)}.",
                    "Take the sheet DayTypes out, or name its rows like these.",
                    None,
                )
                return None
            derived = None
        if derived is not None and len(derived) == 1 and derived[0].day_type == ONLY_DAY_TYPE and self.day_types is not None:
            derived = None
        known = (
            [one.day_type for one in derived]
            if derived is not None
            else list(self.day_types)
            if self.day_types is not None
            else [ONLY_DAY_TYPE]
        )
        weights = (
            {one.day_type: one.days for one in derived}
            if derived is not None
            else {name: self.days.get(name, 1.0) for name in known}
        )
        found: dict[tuple[str, str], DemandSeries] = {}
        for one, days in zip(series, made, strict=True):
            for key, output in days.output.items():
                given = days.input.get(key)
                for day_type in [key] if key else [one.day_type] if one.day_type else known:
                    found[one.workload, day_type] = DemandSeries(one.workload, day_type, output, given)
        names = list(dict.fromkeys(one.workload for one in series))
        if self.workloads is not None:
            names = [name for name in self.workloads if name in names]
        ordered = tuple(found[name, day_type] for name in names for day_type in known)
        reports = tuple(
            self._report(
                name,
                [row for row in ordered if row.workload == name],
                weights,
                loaded,
                next((days for one, days in zip(series, made, strict=True) if one.workload == name and days.stats), None),
                rows,
            )
            for name in names
        )
        return DemandRead(ordered, reports, derived, tuple(self.problems.warnings))

    def _report(
        self,
        name: str,
        rows_of: list[DemandSeries],
        weights: Mapping[str, float],
        loaded: list[_Loaded],
        days: Days | None,
        rows: Rows,
    ) -> DemandReport:
        one = next((each for each in loaded if not each.pick.is_input and each.pick.workload in (name, "")), loaded[0])
        peak_tps, peak_type, peak_hour = max(
            ((value, row.day_type, -hour) for row in rows_of for hour, value in enumerate(row.output_tps)),
            key=lambda entry: (entry[0], entry[2]),
        )
        total = sum(weights[row.day_type] for row in rows_of)
        mean = sum(weights[row.day_type] * sum(row.output_tps) for row in rows_of) / (HOURS_PER_DAY * total)
        if peak_tps == 0:
            self._warn("ZERO_DEMAND", f"workload {name!r} has no demand in any hour.", "", self._at(*one.pick.column.header_at))
        column = one.pick.column.column
        place = f"{self.sheet}!{self.table.grid.span((rows.hours[0].row, column), (rows.hours[-1].row, column))}"
        return DemandReport(
            workload=name,
            unit=one.shown,
            demand_tps={row.day_type: row.output_tps for row in rows_of},
            input_tps={row.day_type: row.input_tps for row in rows_of if row.input_tps is not None},
            peak_tps=peak_tps,
            mean_tps=mean,
            peak_to_mean=peak_tps / mean if mean > 0 else None,
            peak_hour=(peak_type, -peak_hour),
            place=place,
            cached_frac=self.cached.get(name, self.cached.get("")),
            profile=days.stats if days is not None else None,
        )
