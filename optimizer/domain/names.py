"""How names join: without case, spaces, hyphens and underscores (INPUTS, `hours`, last sentence)."""

from __future__ import annotations


def join_key(name: str) -> str:
    """The form in which gpu and model names are compared.

    >>> join_key("GLM-5.3 "), join_key("h100_SXM"), join_key("H100 sxm")
    ('glm5.3', 'h100sxm', 'h100sxm')
    """
    return "".join(ch for ch in name.casefold() if ch not in " -_\u00a0\u2010\u2011\u2013\t")
