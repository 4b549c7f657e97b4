"""A sheet, or a part of it, seen with hours down: cells that keep their true address even where the table lies on its side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from optimizer.workbook.book import Cell, CellValue, Sheet, address

_EMPTY = Cell(None)


@dataclass(frozen=True, eq=False)
class Grid:
    """cells: by (row, column) of this view. transposed: rows of the view are columns of the sheet."""

    sheet: Sheet
    cells: dict[tuple[int, int], Cell]
    transposed: bool = False

    @cached_property
    def columns(self) -> dict[int, list[int]]:
        """Column -> its filled rows, ascending."""
        found: dict[int, list[int]] = {}
        for row, column in sorted(self.cells):
            found.setdefault(column, []).append(row)
        return found

    @cached_property
    def rows(self) -> dict[int, list[int]]:
        """Row -> its filled columns, ascending."""
        found: dict[int, list[int]] = {}
        for row, column in sorted(self.cells):
            found.setdefault(row, []).append(column)
        return found

    @cached_property
    def merges(self) -> dict[tuple[int, int], tuple[int, int, int, int]]:
        """Every cell inside a merge of a bearable size -> (top, left, bottom, right) of the view."""
        found = {}
        for top, left, bottom, right in self.sheet.merges:
            if (bottom - top + 1) * (right - left + 1) > 10_000:
                continue
            area = (left, top, right, bottom) if self.transposed else (top, left, bottom, right)
            for row in range(area[0], area[2] + 1):
                for column in range(area[1], area[3] + 1):
                    found[row, column] = area
        return found

    def cell(self, row: int, column: int) -> Cell:
        """The cell there; an empty one where nothing is."""
        return self.cells.get((row, column), _EMPTY)

    def filled(self, row: int, column: int) -> Cell:
        """The cell there, or the top left cell of the merge around it."""
        cell = self.cells.get((row, column))
        if cell is not None:
            return cell
        area = self.merges.get((row, column))
        return self.cells.get((area[0], area[1]), _EMPTY) if area else _EMPTY

    def value(self, row: int, column: int) -> CellValue:
        """The value there."""
        return self.cell(row, column).value

    def at(self, row: int, column: int) -> str:
        """A1 address in the sheet."""
        return address(column, row) if self.transposed else address(row, column)

    def span(self, first: tuple[int, int], last: tuple[int, int]) -> str:
        """A1 range in the sheet; one address where both ends are the same."""
        start, end = self.at(*first), self.at(*last)
        return start if start == end else f"{start}:{end}"

    def row_hidden(self, row: int) -> bool:
        """True where that row of the view is hidden."""
        return row in (self.sheet.hidden_columns if self.transposed else self.sheet.hidden_rows)

    def column_hidden(self, column: int) -> bool:
        """True where that column of the view is hidden."""
        return column in (self.sheet.hidden_rows if self.transposed else self.sheet.hidden_columns)

    def turned(self) -> Grid:
        """The same cells with rows and columns exchanged."""
        return Grid(self.sheet, {(column, row): cell for (row, column), cell in self.cells.items()}, not self.transposed)


def grid_of(sheet: Sheet, area: tuple[int, int, int, int] | None = None) -> Grid:
    """The sheet, or the cells of one area (top, left, bottom, right) of it. Blank cells are left out."""
    cells = {
        key: cell
        for key, cell in sheet.cells.items()
        if not (isinstance(cell.value, str) and not cell.value.strip() and not cell.formula)
    }
    if area is not None:
        top, left, bottom, right = area
        cells = {(row, column): cell for (row, column), cell in cells.items() if top <= row <= bottom and left <= column <= right}
    return Grid(sheet, cells)
