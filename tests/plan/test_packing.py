"""Whether whole replicas fit on whole nodes, against a brute force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.plan import audit_packing
from optimizer.plan.audit_packing import Packing, pack


def brute(bins: Sequence[int], items: Mapping[int, int]) -> bool:
    """Place the items one by one, largest first, in every bin that has room."""
    pieces = [size for size in sorted(items, reverse=True) for _ in range(items[size])]

    def place(position: int, rooms: tuple[int, ...]) -> bool:
        if position == len(pieces):
            return True
        size = pieces[position]
        return any(
            place(position + 1, tuple(sorted((*rooms[:i], room - size, *rooms[i + 1 :]))))
            for i, room in enumerate(rooms)
            if room >= size and room not in rooms[:i]
        )

    return place(0, tuple(sorted(bins)))


@pytest.mark.parametrize(
    ("bins", "items", "answer"),
    [
        ([8, 8], {4: 2, 2: 3, 1: 2}, Packing.FITS),
        ([8, 8], {4: 2, 2: 3, 1: 3}, Packing.IMPOSSIBLE),
        ([6], {3: 1, 2: 1}, Packing.FITS),
        ([6, 6], {3: 2, 2: 3}, Packing.FITS),
        ([6, 6], {3: 1, 2: 4}, Packing.FITS),
        ([6, 6], {3: 3, 2: 1}, Packing.FITS),
        ([6, 6, 6], {3: 3, 2: 4}, Packing.FITS),
        ([6, 6, 6], {3: 1, 2: 7}, Packing.FITS),
        ([12], {4: 1, 3: 2, 2: 1}, Packing.FITS),
        ([6], {3: 1, 2: 2}, Packing.IMPOSSIBLE),
        ([6, 6], {3: 1, 2: 5}, Packing.IMPOSSIBLE),
        ([6, 6, 6], {3: 5, 2: 1, 1: 1}, Packing.FITS),
        ([6, 6, 6], {3: 5, 2: 2}, Packing.IMPOSSIBLE),
        ([3, 1], {2: 2}, Packing.IMPOSSIBLE),
        ([3, 2, 0], {2: 2}, Packing.FITS),
        ([5, 2], {2: 3}, Packing.FITS),
        ([], {4: 0}, Packing.FITS),
        ([], {4: 1}, Packing.IMPOSSIBLE),
    ],
)
def test_known_packings(bins: list[int], items: dict[int, int], answer: Packing) -> None:
    assert pack(bins, items) is answer
    assert brute(bins, items) is (answer is Packing.FITS)


def test_largest_first_fails_where_a_packing_exists() -> None:
    """10 = 5 + 3 + 2 and 10 = 4 + 4 + 2: largest first puts 4 beside 5 and wastes 1."""
    assert pack([10, 10], {5: 1, 4: 2, 3: 1, 2: 2}) is Packing.FITS


@settings(derandomize=True, deadline=None)
@given(
    st.lists(st.integers(0, 12), max_size=4),
    st.dictionaries(st.sampled_from([1, 2, 3, 4, 5, 6, 12]), st.integers(0, 3), max_size=3),
)
def test_the_answer_is_that_of_a_brute_force(bins: list[int], items: dict[int, int]) -> None:
    assert pack(bins, items) is (Packing.FITS if brute(bins, items) else Packing.IMPOSSIBLE)


def test_hundreds_of_nodes_are_packed_at_once() -> None:
    assert pack([6] * 500, {3: 501, 2: 747}) is Packing.FITS
    assert pack([8] * 2000, {4: 1500, 2: 3000, 1: 4000}) is Packing.FITS


def test_a_search_that_is_cut_short_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_packing, "SEARCH_LIMIT", 0)
    assert pack([10, 10], {5: 1, 4: 2, 3: 1, 2: 2}) is Packing.UNKNOWN
