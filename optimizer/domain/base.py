"""The base of every domain object, and where a row came from."""

from __future__ import annotations

import datetime

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Immutable, hashable by value where its fields are, unknown fields refused, NaN and infinity refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Origin(Frozen):
    """The place a row was read from: file, sheet (or catalog name) and 1-based row number; None where it was assumed."""

    file: str | None = None
    sheet: str | None = None
    row: int | None = None


class Row(Frozen):
    """A domain object that stands for one row of an input table, with its provenance.

    source: where the figure comes from, in the row's own words. as_of: date of the figure; None = unknown.
    as_of_text: the cell as written, where it is not a plain date (`2026-11 (package release)`).
    """

    origin: Origin = Origin()
    source: str = ""
    as_of: datetime.date | None = None
    as_of_text: str = ""
