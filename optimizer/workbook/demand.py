"""Reads the demand of a forecast: 24 right numbers per workload and day type, or a refusal that names the cell and what settles
it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from optimizer.errors import ProblemList
from optimizer.units import HOURS_PER_DAY
from optimizer.workbook.book import Book
from optimizer.workbook.demand_columns import ColumnChooser
from optimizer.workbook.demand_days import DayMaker, Series
from optimizer.workbook.demand_find import Column, Table
from optimizer.workbook.demand_grid import Grid
from optimizer.workbook.demand_hours import Stamp
from optimizer.workbook.demand_load import ColumnLoader, Loaded
from optimizer.workbook.demand_model import (
    ONLY_DAY_TYPE,
    DemandRead,
    DemandReport,
    DemandSeries,
    DerivedDayType,
)
from optimizer.workbook.demand_place import BareRange, find_place, hours_beside
from optimizer.workbook.demand_profile import Days
from optimizer.workbook.demand_rows import HourRow, RowReader, Rows
from optimizer.workbook.demand_series import SeriesMaker
from optimizer.workbook.demand_settle import UnitSettler
from optimizer.workbook.demand_units import UnitFound, find_unit
from optimizer.workbook.demand_words import clean, words
from optimizer.workbook.reader_options import ReaderOptions


def read_demand(
    book: Book,
    options: ReaderOptions | None = None,
    *,
    workloads: Sequence[str] | None = None,
    day_types: Mapping[str, float] | Sequence[str] | None = None,
    tokens_per_request: Mapping[str, float] | None = None,
) -> DemandRead:
    """Read the demand of an opened book, in tok/s.

    workloads: names on the Workloads sheet; None = there is none, and the one demand is workload `demand`. day_types: names on
    the DayTypes sheet, with their days where the mean is to be weighted; None = there is none, and the day type is `day` (or
    those of --profile). tokens_per_request: workload -> output tokens of one request, where Workloads says so. Warnings of the
    book are handed on.
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
    if read is None and not problems.errors:
        problems.error(
            "NO_DEMAND_ROWS", "has no row of demand left to read.", "Say --hidden include, or write the 24 hours.", file=book.file
        )
    problems.raise_if_errors()
    assert read is not None
    return read


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
        settler = UnitSettler(self.book, table, self.options, self.problems)
        if rows is None:
            # Units are independent of the rows: report them in the same run.
            for pick in chosen.picks:
                settler.settle(pick.column)
            return None
        loader = ColumnLoader(self.book, table, self.options, self.tokens_per_request, self.problems)
        loaded = loader.load(chosen, rows, reader, settler)
        if loaded is None:
            return None
        self.cached = loader.cached
        series = SeriesMaker(self.book, table, self.options, self.workloads, self.day_types, self.problems).make(loaded, rows)
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

    def _finish(
        self,
        series: list[Series],
        made: list[Days],
        derived: tuple[DerivedDayType, ...] | None,
        loaded: list[Loaded],
        rows: Rows,
    ) -> DemandRead | None:
        """Spread what holds for all day types over them, and report per workload."""
        whole = derived is not None and [one.day_type for one in derived] == [ONLY_DAY_TYPE]
        if derived is not None and not whole and self.day_types is not None:
            differs = {one.day_type for one in derived} != set(self.day_types)
            if differs:
                self._error(
                    "UNKNOWN_DAY_TYPE",
                    f"--profile gives the day types {', '.join(one.day_type for one in derived)}; "
                    f"DayTypes has {', '.join(self.day_types)}.",
                    "Take the sheet DayTypes out, or name its rows like these.",
                    None,
                )
                return None
            derived = None
        if whole and self.day_types is not None:
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
            else {name: self.days.get(name) or 1.0 for name in known}
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
        loaded: list[Loaded],
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
