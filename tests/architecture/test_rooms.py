"""One room per kind of knowledge: the import direction, and which room may import which heavy package."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "optimizer"

#: Rooms from left to right; a module may import from its own room and from rooms before it.
ORDER = ["units", "errors", "domain", "workbook", "candidates", "plan", "milp", "studies", "report", "catalog_run", "run", "cli"]
#: Neighbours that know nothing of each other.
APART = {("candidates", "workbook"), ("workbook", "candidates")}
#: Package -> rooms that may import it.
ONLY = {
    "pulp": {"milp"},
    "highspy": {"milp"},
    "openpyxl": {"workbook", "report"},
    "xlsxwriter": {"report"},
    "python_calamine": {"workbook"},
    "click": {"cli"},
}


def _room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _imports(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, node.lineno


MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "_data" not in path.parts)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_left(path: Path) -> None:
    room = _room(path)
    for name, line in _imports(path):
        head, *rest = name.split(".")
        if head == "optimizer" and rest and room not in {"__init__", "__main__"}:
            other = rest[0]
            assert other in ORDER, f"{path}:{line} imports {name}, which is in no room"
            assert ORDER.index(other) <= ORDER.index(room), f"{path}:{line}: {room} must not import {other}"
            assert (room, other) not in APART, f"{path}:{line}: {room} must not import {other}"
        allowed = ONLY.get(head)
        assert allowed is None or room in allowed, f"{path}:{line}: {head} belongs in {sorted(allowed or ())}, not in {room}"


def test_every_room_is_known() -> None:
    rooms = {_room(path) for path in MODULES} - {"__init__", "__main__"}
    assert rooms <= set(ORDER), f"rooms without a place in the order: {rooms - set(ORDER)}"
