"""A plan workbook read back: the decision written in it, and what was claimed of it. Every value knows its cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from xlsxwriter.utility import xl_rowcol_to_cell

from optimizer.domain.case import Case
from optimizer.errors import Problem
from optimizer.plan.plan import (
    Baselines,
    Commitment,
    Covered,
    Decision,
    Load,
    NodesNew,
    NodeUse,
    Overflow,
    ReplicaCount,
    Shift,
)
from optimizer.report.grid import Col
from optimizer.report.sheets.checks import CHECKS, CHECKS_TOP
from optimizer.report.sheets.decisions import (
    API_HOURS,
    API_HOURS_COLS,
    COVERED,
    COVERED_COLS,
    ROUTING,
    ROUTING_COLS,
    SHIFTS,
    SHIFTS_COLS,
)
from optimizer.report.sheets.hourly_layout import HOURLY, HOURLY_TOP, NODES_USED
from optimizer.report.sheets.hours import REPLICAS, REPLICAS_COLS
from optimizer.report.sheets.log import CLAIMED, LOG, STATUS_ROW
from optimizer.report.sheets.purchases import COMMITMENTS_COLS, PURCHASES, PURCHASES_COLS, PURCHASES_TOP
from optimizer.report.sheets.slices import TABLE_TOP
from optimizer.report.sheets.summary import SUMMARY, baseline_cells
from optimizer.report.words import STOPPED

_CODE = "PLAN_CELL"
_FIX = "Take the workbook as it was written, or plan again."
_MAY_BE_MISSING = frozenset({SHIFTS, COVERED})


@dataclass
class StoredPlan:
    """What a plan workbook says. cost, bound, gap: as proven; None where the cell holds no number.

    stopped: a user ended the search.
    """

    decision: Decision
    cost_usd_per_day: float | None
    bound_usd_per_day: float | None
    gap_frac: float | None
    stopped: bool
    baselines: Baselines
    problems: list[Problem] = field(default_factory=list)


class _Reader:
    """Reads cells of a workbook opened for its values, and notes what is not as it was written."""

    def __init__(self, book: Any, file: str) -> None:
        self.book, self.file = book, file
        self.problems: list[Problem] = []

    def note(self, sheet: str, row: int, col: int, message: str) -> None:
        """Something is not as it was written, at a cell (0-based)."""
        self.problems.append(Problem(_CODE, message, _FIX, file=self.file, sheet=sheet, cell=xl_rowcol_to_cell(row, col)))

    def value(self, sheet: str, row: int, col: int) -> Any:
        """What a cell shows; None where it or its sheet is missing. Rows and columns are 0-based."""
        return self.book[sheet].cell(row + 1, col + 1).value if sheet in self.book.sheetnames else None

    def number(self, sheet: str, row: int, col: int) -> float | None:
        """A number, else None."""
        value = self.value(sheet, row, col)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def decided(self, sheet: str, row: int, col: int, *, whole: bool) -> Any:
        """A decision: a number of at least 0, whole where asked; 0 and a note for anything else."""
        number = self.number(sheet, row, col)
        if number is None or number < 0 or (whole and number != int(number)):
            wanted = "a whole number of at least 0" if whole else "a number of at least 0"
            self.note(sheet, row, col, f"holds {self.value(sheet, row, col)!r}, where a decision of the plan is {wanted}.")
            return 0
        return int(number) if whole else number

    def rows(self, sheet: str, top: int, cols: tuple[Col, ...], named: tuple[str, ...]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Rows of a table whose header stands at `top`: sheet row and the texts and hours that name it."""
        if sheet not in self.book.sheetnames:
            if sheet not in _MAY_BE_MISSING:
                self.problems.append(Problem(_CODE, "is missing; it holds decisions of the plan.", _FIX, self.file, sheet))
            return
        places = {col.key: place for place, col in enumerate(cols)}
        for place, col in enumerate(cols):
            if col.label and self.value(sheet, top, place) != col.label:
                found = self.value(sheet, top, place)
                self.note(sheet, top, place, f"holds {found!r}, where the header {col.label!r} was written.")
                return
        for row in range(top + 2, self.book[sheet].max_row):
            names = {key: self.value(sheet, row, places[key]) for key in named}
            if "hour" not in named and names[named[0]] is None:
                return
            if "hour" in named and self.number(sheet, row, places["hour"]) is None:
                if any(value is not None for value in list(names.values())[1:]):
                    self.note(sheet, row, places["hour"], f"holds {names['hour']!r}, where an hour was written.")
                continue
            yield row, {key: int(value) if key in {"hour", "run_hour"} else str(value or "") for key, value in names.items()}


def read_plan(book: Any, file: str, case: Case) -> StoredPlan:
    """The decision and the claims of a plan workbook that openpyxl has opened for its values.

    Cells that do not hold what was written there are noted in `problems`; they count as 0.
    """
    reader = _Reader(book, file)
    decision = Decision(
        nodes_new=_nodes_new(reader, case),
        node_uses=tuple(_node_uses(reader)),
        replicas=tuple(_replicas(reader)),
        loads=tuple(_loads(reader)),
        overflows=tuple(_overflows(reader)),
        shifts=tuple(_shifts(reader)),
        commitments=tuple(_commitments(reader)),
        covered=tuple(_covered(reader)),
    )
    claims = {}
    for key, row in CLAIMED.items():
        claims[key] = reader.number(LOG, row, 1)
        if claims[key] is None:
            reader.note(LOG, row, 1, f"holds {reader.value(LOG, row, 1)!r}, where the {key} of the plan was written.")
    stopped = STOPPED in str(reader.value(LOG, STATUS_ROW, 1))
    baselines = {key: reader.number(SUMMARY, *cell) for key, cell in baseline_cells().items()}
    return StoredPlan(decision, claims["cost"], claims["bound"], claims["gap"], stopped, Baselines(**baselines), reader.problems)


def false_checks(book: Any) -> list[tuple[str, str]]:
    """(address, words) of every line of Checks that shows FALSE."""
    if CHECKS not in book.sheetnames:
        return []
    sheet = book[CHECKS]
    rows = range(CHECKS_TOP + 3, sheet.max_row + 1)
    # Programs other than Excel save logical values that have a number format as 1 and 0.
    return [(f"B{row}", str(sheet.cell(row, 1).value)) for row in rows if sheet.cell(row, 2).value in (False, 0)]


def _at(cols: tuple[Col, ...], key: str) -> int:
    return next(place for place, col in enumerate(cols) if col.key == key)


def _table(
    reader: _Reader, sheet: str, cols: tuple[Col, ...], named: tuple[str, ...], top: int = TABLE_TOP
) -> Iterator[tuple[dict[str, Any], Callable[..., Any]]]:
    """(names, a way to the decisions of the row by column key) for each row of a table."""
    for row, names in reader.rows(sheet, top, cols, named):

        def decided(key: str, *, whole: bool = False, row: int = row) -> Any:
            return reader.decided(sheet, row, _at(cols, key), whole=whole)

        yield names, decided


def _nodes_new(reader: _Reader, case: Case) -> tuple[NodesNew, ...]:
    """Held offers: those listed as they are, the others with what is held of them already."""
    new = {}
    held = {offer.offer for offer in case.offers if offer.is_held}
    for row, names in reader.rows(PURCHASES, PURCHASES_TOP, PURCHASES_COLS, ("offer", "purchase")):
        if names["offer"] == "Total" and not names["purchase"]:
            break
        if names["offer"] in held:
            new[names["offer"]] = reader.decided(PURCHASES, row, _at(PURCHASES_COLS, "new"), whole=True)
    return tuple(
        NodesNew(offer=name, nodes_new=new.get(name, 0), nodes_existing=case.nodes_existing(name))
        for name in (offer.offer for offer in case.offers if offer.is_held)
        if name in new or case.nodes_existing(name)
    )


def _node_uses(reader: _Reader) -> Iterator[NodeUse]:
    if HOURLY not in reader.book.sheetnames:
        reader.problems.append(Problem(_CODE, "is missing; it holds decisions of the plan.", _FIX, reader.file, HOURLY))
        return
    sheet = reader.book[HOURLY]
    columns = [
        (col, str(reader.value(HOURLY, HOURLY_TOP, col) or ""))
        for col in range(sheet.max_column)
        if reader.value(HOURLY, HOURLY_TOP + 1, col) == NODES_USED
    ]
    for row in range(HOURLY_TOP + 2, sheet.max_row):
        hour = reader.number(HOURLY, row, 1)
        if hour is None:
            return
        for col, offer in columns:
            used = reader.decided(HOURLY, row, col, whole=True)
            if used:
                day_type = str(reader.value(HOURLY, row, 0) or "")
                yield NodeUse(day_type=day_type, hour=int(hour), offer=offer, used=used)


def _replicas(reader: _Reader) -> Iterator[ReplicaCount]:
    for names, decided in _table(reader, REPLICAS, REPLICAS_COLS, ("pool", "option", "day_type", "hour")):
        counts = {key: decided(key, whole=True) for key in ("live", "total", "spot_live", "spot_total")}
        yield ReplicaCount(**names, **counts)


def _loads(reader: _Reader) -> Iterator[Load]:
    for names, decided in _table(reader, ROUTING, ROUTING_COLS, ("workload", "option", "day_type", "hour")):
        yield Load(**names, firm_tps=decided("firm"), spot_tps=decided("spot"))


def _overflows(reader: _Reader) -> Iterator[Overflow]:
    for names, decided in _table(reader, API_HOURS, API_HOURS_COLS, ("workload", "api", "day_type", "hour")):
        yield Overflow(**names, tps=decided("tps"))


def _shifts(reader: _Reader) -> Iterator[Shift]:
    for names, decided in _table(reader, SHIFTS, SHIFTS_COLS, ("workload", "day_type", "hour", "run_hour")):
        yield Shift(**names, tps=decided("tps"))


def _covered(reader: _Reader) -> Iterator[Covered]:
    for names, decided in _table(reader, COVERED, COVERED_COLS, ("discount", "offer", "day_type", "hour")):
        yield Covered(**names, nodes=decided("nodes"))


def _commitments(reader: _Reader) -> Iterator[Commitment]:
    """The table under the offers and the APIs, where there is one."""
    if PURCHASES not in reader.book.sheetnames:
        return
    label = COMMITMENTS_COLS[0].label
    for top in range(PURCHASES_TOP + 1, reader.book[PURCHASES].max_row):
        if reader.value(PURCHASES, top, 0) == label:
            for names, decided in _table(reader, PURCHASES, COMMITMENTS_COLS, ("discount",), top):
                yield Commitment(discount=names["discount"], usd_per_h=decided("usd_h"))
            return
