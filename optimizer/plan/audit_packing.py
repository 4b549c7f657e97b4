"""Whether replicas really fit on whole nodes: GPUs may add up where the pieces do not fit.

Sizes that divide each other always fill whole nodes. Otherwise the largest go first into the tightest room; where that fails, an
exact search of limited size decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache

#: Largest number of situations the exact search looks at before it gives up with UNKNOWN; a few milliseconds.
SEARCH_LIMIT = 20_000


class Packing(Enum):
    """Answer of the packing check."""

    FITS = "fits"
    IMPOSSIBLE = "impossible"
    UNKNOWN = "unknown"


def pack(bins: Sequence[int], items: Mapping[int, int]) -> Packing:
    """Do all items (size -> how many) fit in the bins (room of each)? Sizes and rooms are whole; items are not cut."""
    wanted = {size: count for size, count in items.items() if count > 0}
    if not wanted:
        return Packing.FITS
    rooms = sorted((room for room in bins if room > 0), reverse=True)
    if sum(size * count for size, count in wanted.items()) > sum(rooms):
        return Packing.IMPOSSIBLE
    if _fits_greedily(rooms, wanted):
        return Packing.FITS
    return _search(rooms, wanted)


def _fits_greedily(rooms: Sequence[int], items: Mapping[int, int]) -> bool:
    """Largest items first, each into the tightest room. Bins of equal room left are counted: hundreds of nodes cost nothing.

    Where sizes divide each other and the bins, nothing is wasted on the way, so only the total could fail.
    """
    left: dict[int, int] = {}
    for room in rooms:
        left[room] = left.get(room, 0) + 1
    for size in sorted(items, reverse=True):
        count = items[size]
        while count:
            fitting = [room for room in left if room >= size]
            if not fitting:
                return False
            room = min(fitting)
            per_bin = room // size
            bins = min(left[room], count // per_bin) if count >= per_bin else 0
            placed = per_bin if bins else count
            taken = bins or 1
            left[room] -= taken
            if not left[room]:
                del left[room]
            rest = room - placed * size
            if rest:
                left[rest] = left.get(rest, 0) + taken
            count -= taken * placed
    return True


class _Exhausted(Exception):
    """The search looked at SEARCH_LIMIT situations without an answer."""


def _search(rooms: Sequence[int], items: Mapping[int, int]) -> Packing:
    """Exact: fill bin after bin with a maximal pattern; a situation is (bin number, items left)."""
    sizes = sorted(items, reverse=True)
    seen = 0

    @cache
    def fits(position: int, left: tuple[int, ...]) -> bool:
        nonlocal seen
        if not any(left):
            return True
        if position == len(rooms):
            return False
        seen += 1
        if seen > SEARCH_LIMIT:
            raise _Exhausted
        room_left = sum(rooms[position:])
        if sum(size * count for size, count in zip(sizes, left, strict=True)) > room_left:
            return False
        return any(
            fits(position + 1, tuple(count - took for count, took in zip(left, pattern, strict=True)))
            for pattern in _patterns(rooms[position], sizes, left)
        )

    try:
        return Packing.FITS if fits(0, tuple(items[size] for size in sizes)) else Packing.IMPOSSIBLE
    except (_Exhausted, RecursionError):
        return Packing.UNKNOWN


def _patterns(room: int, sizes: Sequence[int], left: Sequence[int]) -> list[tuple[int, ...]]:
    """All maximal ways to fill one bin: nothing that is left over would still fit."""
    if not sizes:
        return [()]
    size, count = sizes[0], left[0]
    patterns = []
    for took in range(min(count, room // size), -1, -1):
        for rest in _patterns(room - took * size, sizes[1:], left[1:]):
            free = room - took * size - sum(n * s for n, s in zip(rest, sizes[1:], strict=True))
            if took < count and free >= size:
                continue
            patterns.append((took, *rest))
    return patterns
