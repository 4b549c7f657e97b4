"""What may be said on the command line about a case: the options of `check` and `plan` that concern its inputs."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field

from optimizer.workbook.reader_options import ReaderOptions


@dataclass(frozen=True)
class LoadOptions:
    """Options of a load; None or () = not said.

    policy: second workbook with more input sheets. model: makes one workload `demand` of that model, with precision,
    input_tokens, output_tokens, ttft_ms, tpot_ms, api. providers, regions, gpus: allow-lists, which like gap (share) and
    time_limit_s win over Policy. catalogs: a folder, `none`, or None for the shipped ones. today: run date (None = the clock's).
    strict: warnings refuse. reader: how the forecast is read.
    """

    policy: str | None = None
    model: str | None = None
    precision: str | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    ttft_ms: float | None = None
    tpot_ms: float | None = None
    api: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    catalogs: str | None = None
    gap: float | None = None
    time_limit_s: float | None = None
    today: datetime.date | None = None
    strict: bool = False
    reader: ReaderOptions = field(default_factory=ReaderOptions)
