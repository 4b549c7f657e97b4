"""The unit of each demand column from everything that states it, and number formats that show something else than is stored."""

from __future__ import annotations

import re
from collections.abc import Sequence

from optimizer.errors import ProblemList
from optimizer.workbook.book import Book, Cell
from optimizer.workbook.demand_find import Column, Table
from optimizer.workbook.demand_grid import grid_of
from optimizer.workbook.demand_multiples import Multiple, multiple_in_header, noted_multiples
from optimizer.workbook.demand_numbers import format_scale, format_words
from optimizer.workbook.demand_units import KNOWN_UNITS, Unit, UnitFound, find_unit, parse_unit
from optimizer.workbook.demand_words import clean, words
from optimizer.workbook.reader_options import ReaderOptions


class UnitSettler:
    """Settles the unit of each column from header, unit row, unit column, labelled cell and --unit; they may not differ."""

    def __init__(self, book: Book, table: Table, options: ReaderOptions, problems: ProblemList) -> None:
        self.book, self.table, self.options, self.problems = book, table, options, problems
        self.sheet = table.grid.sheet.name
        self.said: Unit | None = None
        if options.unit:
            self.said = parse_unit(options.unit)
            if self.said is None:
                problems.error(
                    "UNIT_UNKNOWN",
                    f"--unit {options.unit!r} is not a unit of demand that is known.",
                    f"Known are {KNOWN_UNITS}.",
                    file=book.file,
                )
        self.labelled = _labelled_unit(table)
        self._notes_checked = False

    def settle(self, column: Column, unit_column: Sequence[Cell] = ()) -> Unit | None:
        """The unit of that column; None with an error in `problems`. unit_column: cells of a column headed Unit, in the rows
        read."""
        grid = self.table.grid
        at = grid.at(*column.header_at)
        sources: list[tuple[str, Unit]] = []
        unclear = ""
        for found, where in ((column.unit, at), (column.unit_cell, grid.at(*column.unit_at) if column.unit_at else at)):
            if found is not None and found.unit is not None:
                sources.append((where, found.unit))
            elif found is not None and found.unclear:
                unclear = found.unclear
        texts = dict.fromkeys(clean(str(cell.value)) for cell in unit_column if cell.value is not None)
        for text in texts:
            unit = parse_unit(text)
            if unit is None:
                self._error("UNIT_UNKNOWN", f"the unit {text!r} is not known.", f"Write one of {KNOWN_UNITS}.", at)
                return None
            sources.append(("the unit column", unit))
        if self.labelled is not None and (not sources or sources[0][1].kind != "share"):
            where, found = self.labelled
            if found.unit is not None:
                sources.append((where, found.unit))
            elif not sources:
                unclear = found.unclear or f"{where} does not hold a unit that is known"
        if self.said is not None:
            sources.append(("--unit", self.said))
        if not sources:
            if unclear:
                self._error(
                    "UNIT_UNCLEAR", f"{unclear}.", "Write the unit as `tok/s`, `k tok/s` or `M tok/h`, or say --unit.", at
                )
            else:
                named = f"header {column.header!r} states" if column.header else "nothing beside the numbers states"
                again = f"--range {self.options.range} " if self.options.range else ""
                empty = _empty_unit_cell(self.table)
                where = f"in {empty}" if empty else "in the header"
                self._error(
                    "UNIT_MISSING",
                    f"{named} no unit.",
                    f"Say {again}--unit tok/s (or {', '.join(KNOWN_UNITS.split(', ')[1:5])}, ...), or write it {where}.",
                    at,
                )
            return None
        units = {(unit.kind, round(unit.factor, 15)) for _, unit in sources}
        if len(units) > 1:
            said = "; ".join(f"{where} says {unit.label}" for where, unit in sources)
            self._error("UNIT_CONFLICT", f"the unit is stated twice and differs: {said}.", self._conflict_fix(sources), at)
            return None
        settled = sources[0][1]
        return settled if self._multiples_agree(column, settled) else None

    def _multiples_agree(self, column: Column, unit: Unit) -> bool:
        """Whether every multiple that stands beside the numbers, and not in their unit, is the one of the unit."""
        stated: list[Multiple] = []
        # What may be a multiple or a name is settled by --unit.
        settled = column.unit.unit is not None or (bool(column.unit.unclear) and self.said is not None)
        in_header = None if settled else multiple_in_header(column.header)
        if in_header is not None:
            stated.append(Multiple(self.table.grid.at(*column.header_at), *in_header))
        if self.said is None and not self._notes_checked:
            self._notes_checked = True
            stated += noted_multiples(self.table)
        other = next((each for each in stated if each.scale != unit.scale), None)
        if other is None:
            return True
        settle = f"take it out, or say --unit '{unit.label}'" if in_header is None else "take it out of the header"
        self._error(
            "UNIT_CONFLICT",
            f"{other.text!r} names a multiple, and the unit of the demand is {unit.label}.",
            f"Write the unit with its multiple, for instance `k tok/s`; or, if the numbers are in {unit.label}, {settle}.",
            other.at,
        )
        return False

    def _conflict_fix(self, sources: list[tuple[str, Unit]]) -> str:
        return "Leave --unit out, or correct the unit in the file." if sources[-1][0] == "--unit" else "Keep one of them."

    def _error(self, code: str, message: str, fix: str, cell: str) -> None:
        self.problems.error(code, message, fix, file=self.book.file, sheet=self.sheet, cell=cell)

    def check_formats(self, column: Column, unit: Unit, cells: Sequence[tuple[str, Cell]]) -> None:
        """Compare what number formats show with what is stored: a comma at the end shows 1/1000, a quoted k adds one that is not
        there."""
        for at, cell in cells:
            if not isinstance(cell.value, int | float) or isinstance(cell.value, bool) or not cell.number_format:
                continue
            shrunk = format_scale(cell.number_format)
            beside = format_words(cell.number_format)
            stated = find_unit(beside).unit if beside else None
            bare = re.fullmatch(r"\s*(k|m|b|mn|bn|thousand|million|billion)\s*", words(beside)) if beside else None
            shown_scale = (
                stated.scale if stated else {"k": 1e3, "t": 1e3, "m": 1e6, "b": 1e9}[words(beside).strip()[0]] if bare else None
            )
            if (
                stated is not None
                and shrunk == 1
                and (stated.kind, round(stated.factor, 15)) != (unit.kind, round(unit.factor, 15))
            ):
                self._error(
                    "UNIT_CONFLICT",
                    f"is shown as {beside!r} while the unit is {unit.label}.",
                    "Correct the number format or the unit.",
                    at,
                )
                return
            if shown_scale is not None and shown_scale != shrunk * (1 if shrunk > 1 else unit.scale):
                self._error(
                    "SCALED_FORMAT",
                    f"is shown with {beside!r}, which the stored number {cell.value:,.10g} does not carry.",
                    "Set the number format to General, check the numbers, and save.",
                    at,
                )
                return
            if shrunk > 1:
                if unit.scale != 1:
                    self._error(
                        "SCALED_FORMAT",
                        f"is stored as {cell.value:,.10g} and shown divided by {shrunk:,.0f}, and the unit {unit.label} "
                        "multiplies as well.",
                        "Set the number format to General, or write the unit without its multiple; then save.",
                        at,
                    )
                else:
                    self.problems.warn(
                        "SCALED_FORMAT",
                        f"is stored as {cell.value:,.10g} and shown divided by {shrunk:,.0f}; the stored number is "
                        f"read as {unit.label}.",
                        "Check the peak below.",
                        file=self.book.file,
                        sheet=self.sheet,
                        cell=at,
                    )
                return


def _empty_unit_cell(table: Table) -> str:
    """The cell right of a label `Unit` above the table, where nothing stands in it."""
    grid = table.grid if table.grid.transposed else grid_of(table.grid.sheet)
    for row, column in sorted(grid.cells):
        if row < table.top and re.match(r"units?(?: of demand)?\s*:?$", words(str(grid.value(row, column)))):
            return grid.at(row, column + 1) if grid.value(row, column + 1) is None else ""
    return ""


def _labelled_unit(table: Table) -> tuple[str, UnitFound] | None:
    """A cell `Unit` with the unit beside it, or `Unit: tok/s`, above the table, also outside a ListObject."""
    grid = table.grid if table.grid.transposed else grid_of(table.grid.sheet)
    for (row, column), cell in sorted(grid.cells.items()):
        if row >= table.top or not isinstance(cell.value, str):
            continue
        match = re.match(r"units?(?: of demand)?\s*[:=]?\s*(.*)$", words(cell.value))
        if match is None:
            continue
        text = match[1]
        if not text:
            column += 1
            beside = grid.value(row, column)
            text = beside if isinstance(beside, str) else ""
        if text:
            unit = parse_unit(text)
            return grid.at(row, column), UnitFound(unit, "") if unit else find_unit(text)
    return None
