"""Rows of a demand table: which count, what hour each stands for, and whether the totals beneath agree with them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass

from optimizer.errors import ProblemList
from optimizer.units import SECONDS_PER_HOUR
from optimizer.workbook.book import Book, Cell
from optimizer.workbook.demand_columns import Pick
from optimizer.workbook.demand_find import Table
from optimizer.workbook.demand_hours import Stamp, absolute, looks_like_hour, read_hours
from optimizer.workbook.demand_numbers import UnknownLocale, locale_marks, read_numbers
from optimizer.workbook.demand_units import Unit
from optimizer.workbook.demand_words import LOW_WORDS, MEAN_WORDS, PEAK_WORDS, TOTAL_WORDS, clean, is_footer, text_of
from optimizer.workbook.reader_options import ReaderOptions

#: How many problems of one kind in one column are listed one by one.
LISTED_MAX = 5
TOTAL_TOLERANCE = 2e-3
_TOTAL_ANYWHERE = re.compile(r"\b(total|subtotal|sub-total|sum|average|avg|mean|peak|max|maximum|minimum)\b")


@dataclass(frozen=True)
class HourRow:
    """One row that stands for an hour. row: of the grid."""

    row: int
    stamp: Stamp


@dataclass(frozen=True)
class Rows:
    """hours: rows with their moments, in file order. footers: rows of totals and the like. hidden: rows left out as hidden."""

    hours: tuple[HourRow, ...]
    footers: tuple[int, ...]
    left_out: tuple[int, ...] = ()


class RowReader:
    """Reads the rows of one table; every problem goes to `problems`."""

    def __init__(self, book: Book, table: Table, options: ReaderOptions, picks: Sequence[Pick], problems: ProblemList) -> None:
        self.book, self.table, self.options, self.picks, self.problems = book, table, options, picks, problems
        self.grid = table.grid
        self.sheet = table.grid.sheet.name
        self.columns = [pick.column.column for pick in picks]

    def error(self, code: str, message: str, fix: str, row: int, column: int) -> None:
        """An error at one cell of the grid."""
        self.problems.error(code, message, fix, file=self.book.file, sheet=self.sheet, cell=self.grid.at(row, column))

    def warn(self, code: str, message: str, fix: str, row: int, column: int) -> None:
        """A warning at one cell of the grid."""
        self.problems.warn(code, message, fix, file=self.book.file, sheet=self.sheet, cell=self.grid.at(row, column))

    def read(self) -> Rows | None:
        """The rows that count; None where reading on would only repeat an error."""
        column = self.table.hour.column
        if self.options.locale:
            try:
                locale_marks(self.options.locale)
            except UnknownLocale:
                self.problems.error(
                    "LOCALE_UNKNOWN",
                    f"--locale {self.options.locale!r} is not known.",
                    "Say, for instance, --locale en-US or de-DE.",
                    file=self.book.file,
                )
                return None
        data, footers = [], []
        for row in self.table.rows:
            cell = self.grid.cell(row, column)
            if (row, column) in self.grid.cells and (
                looks_like_hour(cell) or cell.error or (cell.value is None and cell.formula)
            ):
                data.append(row)
            elif not any((row, one) in self.grid.cells for one in self.columns):
                continue
            elif is_footer(text_of(cell.value)) or _TOTAL_ANYWHERE.search(text_of(cell.value)):
                footers.append(row)
            elif (row, column) in self.grid.merges or (row, column) not in self.grid.cells:
                area = self.grid.merges.get((row, column))
                if area:
                    self.error(
                        "MERGED_CELLS",
                        f"lies in the merged range {self.grid.span(area[:2], area[2:])}, so rows of it have no hour.",
                        "Unmerge the cells and write the hour in every row.",
                        area[0],
                        area[1],
                    )
                else:
                    self.error(
                        "MISSING_HOUR_LABEL", "has a number and no hour.", "Write its hour, or delete the row.", row, column
                    )
            else:
                self._unreadable(row)
        data = self._hidden(data)
        left_out = tuple(row for row in self.table.rows if self.grid.row_hidden(row) and row not in data)
        if not data:
            return None
        self._merged_values(data)
        stamps = self._stamps(data)
        if stamps is None:
            return None
        rows = Rows(
            tuple(HourRow(row, stamp) for row, stamp in zip(data, stamps, strict=True)),
            (*footers, *self._tail_footers(data)),
            left_out,
        )
        self._order(rows)
        return rows

    def _unreadable(self, row: int) -> None:
        cell = self.grid.cell(row, self.table.hour.column)
        self.error(
            "HOUR_NOT_READABLE",
            f"holds {_short(cell)}, which is not an hour.",
            "Write hours as 0 to 23, 00:00 to 23:00, or as dates with times.",
            row,
            self.table.hour.column,
        )

    def _hidden(self, rows: list[int]) -> list[int]:
        hidden = [row for row in rows if self.grid.row_hidden(row)]
        if not hidden or self.options.hidden == "include":
            return rows
        if self.options.hidden == "exclude":
            return [row for row in rows if row not in hidden]
        last = hidden[0]
        filled = [row for row in self.table.rows if row >= last]
        for row in filled:
            if row not in hidden:
                break
            last = row
        what = "columns" if self.grid.transposed else "rows"
        first = self.table.first_column
        self.problems.error(
            f"HIDDEN_{what.upper()}",
            f"{len(hidden)} {what} of the demand are hidden (by hand or by a filter).",
            "Say --hidden exclude to leave them out or --hidden include to read them too.",
            file=self.book.file,
            sheet=self.sheet,
            cell=self.grid.span((hidden[0], first), (last, first)),
        )
        return []

    def _merged_values(self, rows: list[int]) -> None:
        for column in self.columns:
            for row in rows:
                area = self.grid.merges.get((row, column))
                if area and (area[2] > area[0]):
                    self.problems.error(
                        "MERGED_CELLS",
                        f"{self.grid.span(area[:2], area[2:])} is merged; only its first cell holds a number.",
                        "Unmerge the cells and write the number of every hour.",
                        file=self.book.file,
                        sheet=self.sheet,
                        cell=self.grid.span(area[:2], area[2:]),
                    )
                    return

    def _stamps(self, rows: list[int]) -> list[Stamp] | None:
        column = self.table.hour.column
        cells = [self.grid.cell(row, column) for row in rows]
        for row, cell in zip(rows, cells, strict=True):
            if cell.error:
                self.error(
                    "CELL_ERROR", f"holds {cell.error}.", "Write the hour or fix its formula, save, run again.", row, column
                )
            elif cell.value is None:
                self.error(
                    "FORMULA_NO_VALUE",
                    f"holds the formula {cell.formula} without a computed value.",
                    "Open the file in Excel and save it, or run with --recalc libreoffice.",
                    row,
                    column,
                )
                return None
        read = read_hours(cells, self.table.hour.header, locale=self.options.locale, dates_1904=self.book.dates_1904)
        bad = [row for row, stamp, cell in zip(rows, read.stamps, cells, strict=True) if stamp is None and not cell.error]
        for row in bad[:LISTED_MAX]:
            self._unreadable(row)
        if read.both_ends:
            self.error(
                "HOURS_0_AND_24",
                "the hours run from 0 to 24, which is 25 of them.",
                "Keep 0 to 23, or 1 to 24.",
                rows[-1],
                column,
            )
        if read.ambiguous_dates:
            self.error(
                "AMBIGUOUS_DATE",
                f"{_short(cells[0])} may be day/month or month/day.",
                "Say --locale en-US (month first) or --locale en-GB (day first).",
                rows[0],
                column,
            )
        if read.unclear:
            self.error(
                "HOUR_ENDING_UNCLEAR",
                "the rows run from 01:00 to 00:00 of the next day: they may name the end of each hour, or its beginning.",
                "Head the column `Hour ending` or `Hour beginning`.",
                rows[0],
                column,
            )
        if bad or read.both_ends or read.ambiguous_dates or read.unclear or any(stamp is None for stamp in read.stamps):
            return None
        if read.hour_ending:
            self.warn(
                "HOUR_ENDING",
                "the hours name the end of each hour (1 to 24); hour 1 is read as 00:00 to 01:00.",
                "",
                rows[0],
                column,
            )
        if read.serials:
            self.warn(
                "SERIAL_DATES",
                "dates are stored as plain numbers and were read as dates.",
                "Format the column as dates.",
                rows[0],
                column,
            )
        stamps = [stamp for stamp in read.stamps if stamp is not None]
        long = next((index for index, stamp in enumerate(stamps) if stamp.length_s > SECONDS_PER_HOUR), None)
        if long is not None:
            self.error(
                "NOT_HOURLY",
                f"covers {stamps[long].length_s / SECONDS_PER_HOUR:g} hours.",
                "Write one row for each hour.",
                rows[long],
                column,
            )
            return None
        return self._with_dates(rows, stamps)

    def _with_dates(self, rows: list[int], stamps: list[Stamp]) -> list[Stamp] | None:
        """Join a date column to the times of the hour column."""
        dates = self.table.of("date")
        if not dates or any(stamp.day is not None for stamp in stamps):
            return stamps
        cells = [self.grid.filled(row, dates[0].column) for row in rows]
        read = read_hours(cells, "", locale=self.options.locale, dates_1904=self.book.dates_1904)
        if read.ambiguous_dates:
            self.error(
                "AMBIGUOUS_DATE",
                f"{_short(cells[0])} may be day/month or month/day.",
                "Say --locale en-US (month first) or --locale en-GB (day first).",
                rows[0],
                dates[0].column,
            )
            return None
        joined = []
        for row, stamp, date in zip(rows, stamps, read.stamps, strict=True):
            if date is None or date.day is None or not isinstance(date.day, datetime.date):
                self.error(
                    "HOUR_NOT_READABLE",
                    f"holds {_short(self.grid.filled(row, dates[0].column))}, which is not a date.",
                    "Write the date of the row.",
                    row,
                    dates[0].column,
                )
                return None
            joined.append(Stamp(stamp.second, date.day, stamp.zone or date.zone, length_s=stamp.length_s))
        return joined

    def _order(self, rows: Rows) -> None:
        """Warn where hours go down within one series; several series may follow each other."""
        if self.table.of("workload") or self.table.of("day_type"):
            return
        moments = [absolute(row.stamp) for row in rows.hours]
        if len(set(moments)) == len(moments) and moments != sorted(moments):
            first = next(index for index, (have, want) in enumerate(zip(moments, sorted(moments), strict=True)) if have != want)
            self.warn(
                "UNSORTED_HOURS",
                "the hours are not in order; each number was put to its hour.",
                "",
                rows.hours[first].row,
                self.table.hour.column,
            )

    def _tail_footers(self, data: list[int]) -> list[int]:
        """Rows beneath the hours that belong to the table: up to the first gap, or with the label of a total."""
        found, previous = [], data[-1]
        for row in self.table.tail:
            label = text_of(self.grid.value(row, self.table.hour.column))
            has_number = any((row, column) in self.grid.cells for column in self.columns)
            named = is_footer(label) or bool(_TOTAL_ANYWHERE.search(label))
            if has_number and (row == previous + 1 or named):
                found.append(row)
            if row > previous + 1 and not named:
                break
            previous = row
        return found

    def check_footers(self, rows: Rows, pick: Pick, unit: Unit, values: dict[int, float]) -> None:
        """Totals, averages and peaks must agree with the hours above; then they are ignored with a warning. values: raw number
        by row."""
        column = pick.column.column
        used = [row.row for row in rows.hours if row.row in values]
        if not used or len(used) < len(rows.hours):
            return
        since: list[float] = []
        footers = set(rows.footers)
        for row in sorted([*used, *footers]):
            if row not in footers:
                since.append(values[row])
                continue
            cell = self.grid.cell(row, column)
            if (row, column) not in self.grid.cells:
                continue
            number = read_numbers([*[self.grid.cell(one, column) for one in used], cell], self.options.locale).values[-1]
            label = text_of(self.grid.value(row, self.table.hour.column))
            before = [values[one] for one in used if one < row]
            if number is not None and not _agrees(label, number, [before, since, list(values.values())], unit):
                label_text = clean(str(self.grid.value(row, self.table.hour.column) or "a number without a label"))
                last = self.grid.at(used[-1], column)
                top = self.grid.at(self.table.top, self.table.first_column)
                self.error(
                    "TOTAL_DISAGREES",
                    f"{label_text} is {number:,.10g}, which the hours above do not give.",
                    f"Correct it or the hours, or leave it out with --range {self.sheet}!{top}:{last}.",
                    row,
                    column,
                )
                return
            since = []
        named = [row for row in rows.footers if row not in self._totals_rows()]
        if named:
            self.warn(
                "FOOTER_ROWS_IGNORED",
                f"{len(named)} rows that are not hours (totals, averages, peaks) agree with the hours and were left out.",
                "",
                named[0],
                self.table.hour.column,
            )

    def _totals_rows(self) -> set[int]:
        sheet = self.grid.sheet
        return (
            {area[2] for name, area in sheet.tables.items() if name in sheet.tables_with_totals}
            if not self.grid.transposed
            else set()
        )


def _agrees(label: str, number: float, groups: list[list[float]], unit: Unit) -> bool:
    """Whether a footer follows from the hours: from all of them, those above, or those since the last footer."""
    wanted: list[float] = []
    for values in (group for group in groups if group):
        total = sum(values)
        if MEAN_WORDS.match(label):
            wanted.append(total / len(values))
        elif PEAK_WORDS.match(label):
            wanted.append(max(values))
        elif LOW_WORDS.match(label):
            wanted.append(min(values))
        else:
            # The total of a rate is its plain sum, or the tokens of the day, in whatever multiple.
            tokens = total * unit.factor * SECONDS_PER_HOUR if unit.kind == "tokens" else total
            wanted += [total, *(tokens / scale for scale in (1, 1e3, 1e6, 1e9))]
            if not TOTAL_WORDS.match(label):
                wanted += [total / len(values), max(values), min(values)]
    if label and not (_TOTAL_ANYWHERE.search(label) or TOTAL_WORDS.match(label) or MEAN_WORDS.match(label)):
        return True
    return any(abs(number - value) <= TOTAL_TOLERANCE * max(abs(value), 1e-12) for value in wanted)


def _short(cell: Cell) -> str:
    text = str(cell.value)
    return repr(text if len(text) <= 40 else text[:37] + "...")
