"""What a column and a table of the inputs are: the building blocks of the schema."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

#: How a cell is read. `occupancy`: a fraction or `auto`; `as_of`: a date, or words that begin with one; `hours`: windows.
Kind = Literal["text", "id", "list", "number", "whole", "fraction", "occupancy", "yes_no", "date", "as_of", "hours", "choice"]
PURCHASES = ("owned", "reserved", "flex", "on_demand", "spot")
GOODPUT_KINDS = ("measured", "estimated")
HOURS_MEANING = (
    "hours of the day, `22-6;8-12` = from hour a to before hour b, over midnight where a > b; local time of the forecast, "
    "a trailing Z = UTC."
)

Default = str | float | int | bool | tuple[str, ...] | None


@dataclass(frozen=True)
class Column:
    """One column of an input table (or one key of the Policy sheet).

    label: header shown in the template, with its unit. default: value of an empty cell; default_text: the default in words where
    it is not a plain value. low, high: allowed range, low_open: low itself is not allowed. choices: allowed words of a choice or
    list. names: table whose ids the cell must name.
    """

    key: str
    label: str
    kind: Kind
    meaning: str
    unit: str = ""
    required: bool = False
    default: Default = None
    default_text: str = ""
    low: float | None = None
    low_open: bool = False
    high: float | None = None
    choices: tuple[str, ...] = ()
    names: str = ""

    def default_words(self) -> str:
        """The default as a person would type it; "" where there is none."""
        if self.default_text:
            return self.default_text
        if self.default is None or self.default == ():
            return ""
        if isinstance(self.default, bool):
            return "yes" if self.default else "no"
        if isinstance(self.default, tuple):
            return ";".join(self.default)
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default)


@dataclass(frozen=True)
class Table:
    """One input sheet. catalog: file name in the catalogs folder, "" where the sheet has none.

    key_columns: columns that together are unique. provenance: rows carry source and as_of, which a catalog must fill.
    """

    sheet: str
    meaning: str
    columns: tuple[Column, ...]
    key_columns: tuple[str, ...]
    catalog: str = ""
    provenance: bool = False

    def column(self, key: str) -> Column:
        """The column of that key; KeyError where there is none."""
        for column in self.columns:
            if column.key == key:
                return column
        raise KeyError(f"{self.sheet} has no column {key}")

    def by_header(self) -> dict[str, Column]:
        """Columns by `header_key` of their key and of their label."""
        found = {header_key(column.label): column for column in self.columns}
        found.update({header_key(column.key): column for column in self.columns})
        return found

    @property
    def required(self) -> tuple[Column, ...]:
        """The columns that must be there and filled."""
        return tuple(column for column in self.columns if column.required)


def header_key(text: str) -> str:
    """The form in which headers are compared: NFKC, without case, spaces, underscores and hyphens.

    >>> header_key("GPUs per\\n node "), header_key("gpus_per_node")
    ('gpuspernode', 'gpuspernode')
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(ch for ch in folded if not ch.isspace() and ch not in "_-\u2010\u2011\u200b\ufeff")


def kind_words(column: Column) -> str:
    """What to type in the column, in a few words."""
    if column.choices:
        words = "one of" if column.kind == "choice" else "list of"
        return f"{words} {', '.join(column.choices)}"
    words = _KIND_WORDS[column.kind]
    if column.names:
        words = f"name of {column.names}" if column.kind == "id" else f"names of {column.names}, separated by `;`"
    low, high = column.low, column.high
    if column.kind in ("fraction", "occupancy") or low is None:
        return words
    if high is not None:
        return f"{words}, {low:g} to {high:g}"
    return f"{words}, above {low:g}" if column.low_open else f"{words}, {low:g} or more"


_KIND_WORDS: dict[Kind, str] = {
    "text": "text",
    "id": "name",
    "list": "names, separated by `;`",
    "number": "number",
    "whole": "whole number",
    "fraction": "share 0..1",
    "occupancy": "share 0..1 or `auto`",
    "yes_no": "yes or no",
    "date": "date",
    "as_of": "date",
    "hours": "hours of the day",
    "choice": "word",
}

#: Where a row comes from; the same two columns in every table with provenance.
SOURCE = Column("source", "Source", "text", "Where the figures of this row come from.")
AS_OF = Column("as_of", "As of (date)", "as_of", "Date of the figures; a date, or words that begin with one.")
