"""The rules of the planning run."""

from __future__ import annotations

import datetime
from typing import Literal

from optimizer.domain.base import Frozen


class Policy(Frozen):
    """Scalar settings of a case (INPUTS, sheet Policy). Empty allow-list = everything is allowed."""

    overhead_frac: float = 0.10
    gap: float = 0.001
    time_limit_s: float = 60.0
    price_stale_days: float = 90.0
    shape: Literal["strict", "nearest"] = "strict"
    goodput_kinds: tuple[str, ...] = ("measured",)
    currency: str = "USD"
    start_date: datetime.date
    today: datetime.date
    utc_offset_h: float = 0.0
    providers: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    purchases: tuple[str, ...] = ()
    catalogs_add: tuple[str, ...] = ()
