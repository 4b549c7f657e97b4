"""Where a table stands on its sheet: columns by key, cell addresses and ranges for the formulas that read it.

Rows and columns are 0-based, as XlsxWriter counts them. A grid has a header row, a row of units, then its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xlsxwriter.utility import quote_sheetname, xl_col_to_name


@dataclass(frozen=True)
class Col:
    """One column: key for formulas, label and unit for people, number style, width in characters."""

    key: str
    label: str
    unit: str = ""
    style: str = "text"
    width: float = 10.0


@dataclass(frozen=True)
class Grid:
    """A table of `count` rows whose header stands at (top, left) of `sheet`. Without rows it has a blank one for its ranges."""

    sheet: str
    top: int
    cols: tuple[Col, ...]
    count: int
    left: int = 0
    unit_row: bool = True
    _places: dict[str, int] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        self._places.update({col.key: self.left + offset for offset, col in enumerate(self.cols)})
        if len(self._places) != len(self.cols):
            raise ValueError(f"{self.sheet}: two columns of one table share a key")

    @property
    def first(self) -> int:
        """Row of the first row of figures."""
        return self.top + (2 if self.unit_row else 1)

    @property
    def last(self) -> int:
        """Row of the last row of figures (of the blank row, where there is none)."""
        return self.first + max(1, self.count) - 1

    @property
    def right(self) -> int:
        """The last column."""
        return self.left + len(self.cols) - 1

    def col(self, key: str) -> int:
        """Column number of a key."""
        return self._places[key]

    def ref(self, key: str, row: int) -> str:
        """Absolute address of one cell, with its sheet."""
        return f"{quote_sheetname(self.sheet)}!${xl_col_to_name(self._places[key])}${self.first + row + 1}"

    def here(self, key: str, row: int) -> str:
        """Address of one cell from the same sheet, column fixed."""
        return f"${xl_col_to_name(self._places[key])}{self.first + row + 1}"

    def span(self, key: str, start: int = 0, stop: int | None = None) -> str:
        """Absolute range of a column (rows start to before stop), with its sheet."""
        return f"{quote_sheetname(self.sheet)}!{self.span_here(key, start, stop)}"

    def span_here(self, key: str, start: int = 0, stop: int | None = None) -> str:
        """The same range from its own sheet."""
        name = xl_col_to_name(self._places[key])
        end = max(1, self.count) if stop is None else stop
        return f"${name}${self.first + start + 1}:${name}${self.first + end}"

    def across(self, keys: Sequence[str], row: int) -> str:
        """Range over neighbouring columns of one row, from the same sheet, columns fixed."""
        return f"{self.here(keys[0], row)}:{self.here(keys[-1], row)}"


def cell_here(row: int, col: int, *, fixed_row: bool = True) -> str:
    """Address of any cell from its own sheet, column fixed."""
    return f"${xl_col_to_name(col)}{'$' if fixed_row else ''}{row + 1}"


def cell_ref(sheet: str, row: int, col: int) -> str:
    """Absolute address of any cell, with its sheet."""
    return f"{quote_sheetname(sheet)}!{cell_here(row, col)}"


def range_ref(sheet: str, first_row: int, first_col: int, last_row: int, last_col: int) -> str:
    """Absolute range, with its sheet."""
    return (
        f"{quote_sheetname(sheet)}!${xl_col_to_name(first_col)}${first_row + 1}:${xl_col_to_name(last_col)}${last_row + 1}"
    )
