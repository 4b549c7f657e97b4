"""Joins names of models and GPUs that are spelled differently: without case, blanks, hyphens, underscores; through aliases."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from optimizer.domain.names import join_key


@dataclass(frozen=True)
class Spellings:
    """The names that count (canonical, as spelled first), and how others lead to them.

    A name that joins directly wins over an alias, so that two GPUs of one workbook are never merged by a catalog's alias.
    """

    by_key: Mapping[str, str]
    aliases: Mapping[str, str]

    def find(self, name: str) -> str | None:
        """The canonical name; None where the name is unknown."""
        key = join_key(name)
        if key in self.by_key:
            return self.by_key[key]
        target = self.aliases.get(key, key)
        if target in self.by_key:
            return self.by_key[target]
        cousins = {self.by_key[other] for other, goal in self.aliases.items() if goal == target and other in self.by_key}
        return cousins.pop() if len(cousins) == 1 else None

    def suggestion(self, name: str) -> str:
        """`Did you mean X?` for a name that is close to a known one; "" else."""
        close = difflib.get_close_matches(join_key(name), list(self.by_key), n=1, cutoff=0.7)
        return f"Did you mean {self.by_key[close[0]]!r}?" if close else ""


def spellings(names: Iterable[str], aliases: Mapping[str, str]) -> Spellings:
    """Spellings over canonical names; of names that join, the first is canonical.

    aliases: join key of the alias -> join key of the name.

    >>> gpus = spellings(["H100 SXM", "B300"], {"h100": "h100sxm"})
    >>> gpus.find("h100"), gpus.find("b-300"), gpus.find("B200")
    ('H100 SXM', 'B300', None)
    """
    by_key: dict[str, str] = {}
    for name in names:
        by_key.setdefault(join_key(name), name)
    return Spellings(by_key, aliases)
