"""Pieces of formula text that several sheets share."""

from __future__ import annotations


def matching(target: str, *pairs: tuple[str, str]) -> str:
    """Sum of a range over the rows in which other ranges equal cells.

    Not SUMIFS, which would take a name that begins with = or holds a * for a criterion.
    """
    return f"SUMPRODUCT({'*'.join(f'({span}={wanted})' for span, wanted in pairs)}*{target})"


def round_up(text: str) -> str:
    """ROUNDUP with the hedge of the program, for what is 0 or more: 4.2 / 1.4 is 3.0000000000000004 and means 3."""
    return f"ROUNDUP(MAX(0,{text}-rounding_hedge*MAX(1,{text})),0)"
