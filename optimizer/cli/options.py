"""Options that `check` and `plan` share, and how they become LoadOptions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from optimizer.workbook.options import LoadOptions

_Command = TypeVar("_Command", bound=Callable[..., Any])


class Finite(click.FloatRange):
    """A range without infinity and without nan, which no comparison keeps out."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


_POSITIVE = Finite(0, min_open=True)


def _names(_context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Names given one by one, or several in one text separated by ; or ,"""
    return tuple(name.strip() for text in value for name in re.split(r"[;,]", text) if name.strip())


_READER = [
    click.option("--unit", metavar="UNIT", help="Unit of the demand where the file names none: tok/s, M tok/h, ..."),
    click.option("--sheet", metavar="NAME", help="Sheet that holds the demand."),
    click.option("--range", "range_", metavar="RANGE", help="Cells that hold the demand: Model!D8:D31, a name or a table."),
    click.option("--column", metavar="HEADER", help="Demand column, by header, letter or workload."),
    click.option("--peak", type=_POSITIVE, metavar="TOK/S", help="Peak in tok/s where the demand is a share of peak."),
    click.option("--tokens-per-request", type=_POSITIVE, metavar="N", help="Output tokens per request (demand in requests)."),
    click.option("--locale", metavar="LOCALE", help="How text numbers are written: en-US, de-DE, ..."),
    click.option("--hidden", type=click.Choice(["include", "exclude"]), help="Whether hidden rows and columns count."),
    click.option("--day", metavar="DATE", help="The one day to take from a longer series."),
    click.option("--resample", type=click.Choice(["mean", "max"]), help="How steps shorter than an hour become an hour."),
    click.option("--profile", metavar="KIND", help="Day types from a longer series: weekday-weekend, percentile:95 or peak-day."),
    click.option("--recalc", type=click.Choice(["libreoffice"]), help="Compute formulas that hold no value, on a private copy."),
]
_CASE = [
    click.option("--policy", metavar="FILE", type=click.Path(), help="Second workbook with more input sheets."),
    click.option("--model", metavar="NAME", help="Plan one workload of this model (for a file with nothing but demand)."),
    click.option("--precision", metavar="NAME", help="Precision of --model, e.g. fp8."),
    click.option("--input-tokens", type=_POSITIVE, metavar="N", help="Input tokens per request of --model."),
    click.option("--output-tokens", type=_POSITIVE, metavar="N", help="Output tokens per request of --model."),
    click.option("--ttft-ms", type=_POSITIVE, metavar="MS", help="Time to first token the SLO allows."),
    click.option("--tpot-ms", type=_POSITIVE, metavar="MS", help="Time per output token the SLO allows."),
    click.option("--api", multiple=True, callback=_names, metavar="ID", help="API the workload may overflow to; several by ;"),
    click.option("--providers", multiple=True, callback=_names, metavar="NAMES", help="Only offers of these providers."),
    click.option("--regions", multiple=True, callback=_names, metavar="NAMES", help="Only offers in these regions."),
    click.option("--gpus", multiple=True, callback=_names, metavar="NAMES", help="Only these GPUs."),
    click.option("--catalogs", metavar="DIR|none", help="Folder of catalogs to read instead of the shipped ones, or none."),
    click.option("--strict", is_flag=True, help="Refuse the input where it would be accepted with a warning."),
]


def case_options(command: _Command) -> _Command:
    """Add the options that say how the input is read."""
    for option in reversed([*_CASE, *_READER]):
        command = option(command)
    return command


def load_options(chosen: dict[str, Any]) -> LoadOptions:
    """The typed options as LoadOptions. `chosen` holds at least the options of `case_options`, by parameter name."""
    from optimizer.workbook.options import LoadOptions
    from optimizer.workbook.reader_options import ReaderOptions

    reader = ReaderOptions(
        locale=chosen["locale"], unit=chosen["unit"], sheet=chosen["sheet"], range=chosen["range_"], column=chosen["column"],
        peak=chosen["peak"], tokens_per_request=chosen["tokens_per_request"], hidden=chosen["hidden"], day=chosen["day"],
        resample=chosen["resample"], profile=chosen["profile"], recalc=chosen["recalc"], strict=chosen["strict"],
    )
    return LoadOptions(
        policy=chosen["policy"], model=chosen["model"], precision=chosen["precision"], input_tokens=chosen["input_tokens"],
        output_tokens=chosen["output_tokens"], ttft_ms=chosen["ttft_ms"], tpot_ms=chosen["tpot_ms"], api=chosen["api"],
        providers=chosen["providers"], regions=chosen["regions"], gpus=chosen["gpus"], catalogs=chosen["catalogs"],
        gap=chosen.get("gap"), time_limit_s=chosen.get("time_limit"), strict=chosen["strict"], reader=reader,
    )
