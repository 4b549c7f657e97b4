"""Figures and hours as studies put them into sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from optimizer.domain.hours import ALL_DAY, format_hours


def number(value: float) -> str:
    """A figure with thousands separators and no more digits than say something.

    >>> number(24.0), number(14.3), number(12800.0), number(0.333333)
    ('24', '14.3', '12,800', '0.3333')
    """
    rounded = round(value, 6)
    if rounded == int(rounded):
        return f"{int(rounded):,}"
    if abs(rounded) >= 1000:
        return f"{rounded:,.0f}"
    return f"{rounded:.4g}"


def money(amount: float, currency: str) -> str:
    """An amount with its currency, to the cent.

    >>> money(1912.0, "USD"), money(0.5, "EUR")
    ('$1,912.00', 'EUR 0.50')
    """
    return f"{'$' if currency == 'USD' else f'{currency} '}{amount:,.2f}"


def share(value: float) -> str:
    """A share in percent.

    >>> share(0.08), share(0.0825), share(1.0), share(1e-9)
    ('8 %', '8.25 %', '100 %', 'less than 0.001 %')
    """
    shown = round(100 * value, 3)
    return "less than 0.001 %" if value > 0 and shown == 0 else f"{number(shown)} %"


def hours_words(hours: Mapping[str, Iterable[int]], day_types: Iterable[str]) -> str:
    """Hours by day type as windows of the clock; day types are named where their hours differ.

    >>> hours_words({"day": {13, 14, 15}}, ["day"]), hours_words({"weekday": {22, 23, 0}, "weekend": {9}}, ["weekday", "weekend"])
    ('13:00-16:00', 'weekday 22:00-1:00, weekend 9:00-10:00')
    >>> hours_words({"weekend": {9}}, ["weekday", "weekend"]), hours_words({"a": range(24), "b": range(24)}, ["a", "b"])
    ('weekend 9:00-10:00', 'all day')
    """
    spans = {day: frozenset(hours.get(day, ())) for day in day_types}
    if len(set(spans.values())) == 1:
        return _windows(next(iter(spans.values())))
    return ", ".join(f"{day} {_windows(found)}" for day, found in spans.items() if found)


def _windows(hours: frozenset[int]) -> str:
    if hours == ALL_DAY:
        return "all day"
    if not hours:
        return ""
    return ", ".join("-".join(f"{edge}:00" for edge in window.split("-")) for window in format_hours(hours).split(";"))
