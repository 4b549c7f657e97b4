"""What a person may say to settle how a forecast file is read: the options of `check` and `plan` that concern the reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class ReaderOptions:
    """Answers to the refusals of the reader; None or "" = not said.

    locale: how text numbers and dates are written, e.g. en-US or de-DE. unit: unit of the demand, e.g. `tok/s` or `M tok/h`.
    sheet, range, column: where the demand is (range: A1 style, with or without sheet, or a defined name or table; column: header
    text, spreadsheet letter or workload). peak: peak in tok/s for a demand given as share of peak. tokens_per_request: output
    tokens of one request. hidden: whether hidden rows and columns count. day: ISO date (or number of the day) of the one day to
    take. resample: how steps shorter than an hour become an hour. profile: weekday-weekend, percentile:N or peak-day.
    recalc: `libreoffice` computes formulas on a private copy. strict: warnings refuse.
    """

    locale: str | None = None
    unit: str | None = None
    sheet: str | None = None
    range: str | None = None
    column: str | None = None
    peak: float | None = None
    tokens_per_request: float | None = None
    hidden: Literal["include", "exclude"] | None = None
    day: str | None = None
    resample: Literal["mean", "max"] | None = None
    profile: str | None = None
    recalc: Literal["libreoffice"] | None = None
    strict: bool = False
