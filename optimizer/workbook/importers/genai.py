"""API prices from the data that the genai-prices package ships; nothing is fetched."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from optimizer.domain.hours import format_hours
from optimizer.domain.names import join_key
from optimizer.errors import Problem, Refused
from optimizer.units import HOURS_PER_DAY
from optimizer.workbook.importers.imported import Imported, LeftOut, number_text, slug, unique
from optimizer.workbook.joining import Spellings
from optimizer.workbook.schema import API_PRICES

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, Provider

PACKAGE = "genai-prices"
#: They pass requests on to sellers at changing prices; imported only where asked for by name.
ROUTERS = frozenset({"openrouter", "github-copilot", "cursor"})
_COMMENT_LENGTH = 300


@dataclass(frozen=True)
class GenaiRequest:
    """What to import. today: the day whose prices count. as_of: date of the rows; None = the newest price change in the data.

    providers, models: only these (empty = all providers but routers, all models of the catalogs). keep_base_tier: a price that
    rises with the prompt's length is kept at its base tier, with a note, instead of being left out.
    """

    today: datetime.date
    as_of: datetime.date | None = None
    providers: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    keep_base_tier: bool = False


@dataclass(frozen=True)
class _Price:
    """One price of the text tokens of a model, and what a reader should know about it."""

    input_usd: Decimal
    cached_usd: Decimal | None
    output_usd: Decimal
    notes: tuple[str, ...]


class _NotOurs(Exception):
    """A price that our table cannot say; the argument is the reason."""


def shipped_data() -> tuple[Sequence[Provider], str]:
    """The providers in the installed package, and its version. Raises Refused (PACKAGE_MISSING) where it is not installed."""
    try:
        from genai_prices import __version__
        from genai_prices.data import providers
    except ImportError:
        fix = "Install it: pip install 'fleetsheet[import]'"
        raise Refused((Problem("PACKAGE_MISSING", f"The package {PACKAGE} is not installed.", fix),)) from None
    return providers, __version__


def import_genai_prices(
    providers: Sequence[Provider], version: str, known_models: Spellings, request: GenaiRequest
) -> Imported:
    """ApiPrices rows of the models that are wanted, a row for each window of hours (UTC) with a price of its own.

    Raises Refused: UNKNOWN_NAME (a provider or model that the package does not have), DATE_MISSING.
    """
    as_of = request.as_of or _newest_change(providers, request.today)
    wanted_providers = _wanted_providers(providers, request)
    model_of = _model_finder(known_models, request)
    left_out = LeftOut()
    ids: list[str] = []
    rows: list[dict[str, str]] = []
    found_models: set[str] = set()
    for provider in providers:
        if provider.id not in wanted_providers:
            if not request.providers:
                left_out.add("routers, imported only with --provider", provider.id)
            continue
        for info in provider.models:
            model = model_of(info)
            name = f"{provider.id}/{info.id}"
            if model is None:
                if not request.models:
                    left_out.add("models that the catalogs do not have", name)
                continue
            found_models.add(join_key(model))
            try:
                windows = _windows(info, request)
            except _NotOurs as reason:
                left_out.add(str(reason), name)
                continue
            for number, (hours, price) in enumerate(windows):
                ids.append(slug(provider.id, info.id, _window_name(windows, number)))
                rows.append(_row(provider, info, model, hours, price, version, as_of, request))
    missing = [model for model in request.models if join_key(known_models.find(model) or model) not in found_models]
    if missing:
        raise Refused(tuple(_unknown("model", model, known_models.suggestion(model)) for model in missing))
    return Imported(
        table=API_PRICES,
        rows=tuple({"api": api, **row} for api, row in zip(unique(ids), rows, strict=True)),
        left_out=left_out,
        origin=f"{PACKAGE} {version}",
    )


def _newest_change(providers: Iterable[Provider], today: datetime.date) -> datetime.date:
    """The newest dated price change up to today: the data is at least as young as that."""
    from genai_prices.types import ConditionalPrice, StartDateConstraint

    dates = [
        each.constraint.start_date
        for provider in providers
        for info in provider.models
        if isinstance(info.prices, list)
        for each in info.prices
        if isinstance(each, ConditionalPrice) and isinstance(each.constraint, StartDateConstraint)
    ]
    past = [date for date in dates if date <= today]
    if not past:
        raise Refused((Problem("DATE_MISSING", f"The data of {PACKAGE} states no date.", "Give --as-of DATE."),))
    return max(past)


def _wanted_providers(providers: Iterable[Provider], request: GenaiRequest) -> frozenset[str]:
    if not request.providers:
        return frozenset(provider.id for provider in providers if provider.id not in ROUTERS)
    by_name = {join_key(name): provider.id for provider in providers for name in (provider.name, provider.id)}
    missing = [name for name in request.providers if join_key(name) not in by_name]
    if missing:
        import difflib

        def close(name: str) -> str:
            match = difflib.get_close_matches(join_key(name), list(by_name), n=1)
            return f"Did you mean {by_name[match[0]]!r}?" if match else ""

        raise Refused(tuple(_unknown("provider", name, close(name)) for name in missing))
    return frozenset(by_name[join_key(name)] for name in request.providers)


def _unknown(what: str, name: str, fix: str) -> Problem:
    return Problem("UNKNOWN_NAME", f"{PACKAGE} has no {what} {name!r}.", fix)


def _model_finder(known: Spellings, request: GenaiRequest) -> Callable[[ModelInfo], str | None]:
    """Model name of our tables for a model that is sold; None where it is not wanted.

    The seller's id counts, without the maker before a slash, and then its title. A model asked for by name need not be in the
    catalogs.
    """
    asked = {join_key(known.find(name) or name): known.find(name) or name for name in request.models}

    def find(info: ModelInfo) -> str | None:
        for sold_as in (info.id, info.id.rsplit("/", 1)[-1], info.name or ""):
            name = known.find(sold_as) if sold_as else None
            if asked:
                name = asked.get(join_key(name or sold_as))
            if name is not None:
                return name
        return None

    return find


def _windows(info: ModelInfo, request: GenaiRequest) -> list[tuple[frozenset[int], _Price]]:
    """Hours (UTC) and their price, dearest last; prices that hold on the day asked for. Raises _NotOurs."""
    from genai_prices.types import TimeOfDateConstraint

    if info.deprecated:
        raise _NotOurs("marked deprecated by the seller")
    conditional = info.prices if isinstance(info.prices, list) else []
    for each in conditional:
        if isinstance(each.constraint, TimeOfDateConstraint):
            for time in (each.constraint.start_time, each.constraint.end_time):
                if time.minute or time.second or (time.utcoffset() or datetime.timedelta()).seconds % 3600:
                    raise _NotOurs("windows that are not whole hours")
    found: dict[_Price, set[int]] = {}
    for hour in range(HOURS_PER_DAY):
        moment = datetime.datetime.combine(request.today, datetime.time(hour), datetime.UTC)
        price = _price(info.get_prices(moment), request)
        found.setdefault(price, set()).add(hour)
    ordered = sorted(found.items(), key=lambda each: (each[0].output_usd, each[0].input_usd))
    return [(frozenset(hours), price) for price, hours in ordered]


def _price(price: ModelPrice, request: GenaiRequest) -> _Price:
    from genai_prices.types import TieredPrices

    notes = []
    parts: dict[str, Decimal | None] = {}
    steps: list[str] = []
    for key, words in (("input_mtok", "input"), ("cache_read_mtok", "cached input"), ("output_mtok", "output")):
        value = getattr(price, key)
        if isinstance(value, TieredPrices):
            steps += [f"{words} {_plain(tier.price)} above {tier.start} input tokens" for tier in value.tiers]
            value = value.base
        parts[key] = value
    if steps and not request.keep_base_tier:
        raise _NotOurs("prices that rise with the prompt's length (--tiers base keeps the base tier)")
    if steps:
        notes.append(f"base tier only: {', '.join(steps)}")
    output_usd, input_usd = parts["output_mtok"], parts["input_mtok"]
    if output_usd is None:
        raise _NotOurs("no price of output tokens (embeddings, speech, images, ...)")
    if input_usd is None:
        raise _NotOurs("no price of input tokens")
    if output_usd <= 0:
        raise _NotOurs("output at no price: a free tier, whose limits are not stated")
    if price.requests_kcount:
        raise _NotOurs("a fee for each request")
    if any(getattr(price, key) not in (None, output_usd) for key in ("output_reasoning_mtok", "output_citation_mtok")):
        raise _NotOurs("reasoning or citation tokens at a price of their own")
    written = price.cache_write_mtok
    if written is not None:
        usd = written.base if isinstance(written, TieredPrices) else written
        if usd != input_usd:
            notes.append(f"writing to the cache costs {_plain(usd)} $/Mtok, which is not counted")
    return _Price(input_usd, parts["cache_read_mtok"], output_usd, tuple(notes))


def _window_name(windows: Sequence[tuple[frozenset[int], _Price]], number: int) -> str:
    if len(windows) == 1:
        return ""
    return ("offpeak", "peak")[number] if len(windows) == 2 else f"window{number + 1}"


def _row(
    provider: Provider, info: ModelInfo, model: str, hours: frozenset[int], price: _Price, version: str, as_of: datetime.date,
    request: GenaiRequest,
) -> dict[str, str]:
    utc = format_hours(hours)
    whole_day = len(hours) == HOURS_PER_DAY
    page = f"; provider page {provider.pricing_urls[0]}" if provider.pricing_urls else ""
    notes = [f"sold as {info.id}", *price.notes, *_coming(info, request.today)]
    if request.as_of is None:
        notes.append(f"date: newest price change in {PACKAGE} {version}")
    if info.price_comments:
        comment = " ".join(info.price_comments.split())
        notes.append(comment if len(comment) <= _COMMENT_LENGTH else comment[:_COMMENT_LENGTH].rstrip() + " ...")
    return {
        "model": model,
        "output_usd_per_mtok": _plain(price.output_usd),
        "input_usd_per_mtok": _plain(price.input_usd),
        "cached_input_usd_per_mtok": "" if price.cached_usd is None else _plain(price.cached_usd),
        "hours": "" if whole_day else ";".join(f"{window}Z" for window in utc.split(";")),
        "provider": provider.name,
        "source": f"{PACKAGE} {version}{page}",
        "as_of": as_of.isoformat(),
        "label": info.name or info.id,
        "note": "; ".join(notes),
    }


def _coming(info: ModelInfo, today: datetime.date) -> list[str]:
    """A sentence for each price change that is announced but does not hold yet."""
    from genai_prices.types import StartDateConstraint

    conditional = info.prices if isinstance(info.prices, list) else []
    dates = {each.constraint.start_date for each in conditional if isinstance(each.constraint, StartDateConstraint)}
    return [f"changes on {date.isoformat()}" for date in sorted(dates) if date > today]


def _plain(price: Decimal) -> str:
    return number_text(float(price))
