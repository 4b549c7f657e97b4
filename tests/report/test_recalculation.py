"""LibreOffice computes every formula of the workbook anew: no cached value changes, and a changed price changes every total."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from optimizer.domain.case import Case
from optimizer.plan.ledger import price_decision
from optimizer.report.input_tables import HEADER_ROW
from optimizer.report.plan_book import plan_workbook_bytes
from optimizer.run import PlanRequest, run_plan
from optimizer.workbook.options import LoadOptions
from tests.helpers.casebook import write_casebook
from tests.helpers.recalc import Values, differences, edit_cells, recalculated, shown_values
from tests.helpers.tables import small_tables
from tests.report import plans

pytestmark = pytest.mark.libreoffice


def written(name: str, folder: Path) -> Path:
    path = folder / f"{name}.xlsx"
    path.write_bytes(plan_workbook_bytes(plans.RESULTS[name]()))
    return path


@pytest.mark.parametrize("name", list(plans.RESULTS))
def test_forced_recalculation_changes_no_cached_value(name: str, tmp_path: Path) -> None:
    path = written(name, tmp_path)
    assert differences(shown_values(path), recalculated(path)) == []


def test_twelve_pools_on_two_day_types_agree_too(tmp_path: Path) -> None:
    path = tmp_path / "many.xlsx"
    path.write_bytes(plan_workbook_bytes(plans.many(12, 2)))
    assert differences(shown_values(path), recalculated(path)) == []


def test_the_cost_of_a_standing_quota_is_computed_too(tmp_path: Path) -> None:
    """Two pools on one node type, one of them a quota: their shares of the nodes are formulas like all others."""
    tables = small_tables()
    node_type = str(tables["NodeTypes"][0]["node_type"])
    tables["Pools"].append({"pool": "lab", "kind": "experiments", "fixed_nodes": 2, "fixed_node_type": node_type})
    source, target = write_casebook(tmp_path / "quota.xlsx", tables), tmp_path / "plan.xlsx"
    result = run_plan(PlanRequest(forecast=str(source), load=LoadOptions(), output=str(target), baselines=False))
    assert result.plan is not None and any(row.pool == "lab" and row.usd_per_day > 0 for row in result.plan.ledger.pools)
    assert differences(shown_values(target), recalculated(target)) == []


def cell_of(path: Path, sheet: str, column: str, row_name: str) -> tuple[str, str]:
    """(sheet, address) of a cell of an input table, by its column key and the first cell of its row."""
    page = openpyxl.load_workbook(path)[sheet]
    header = {str(cell.value): cell.column_letter for cell in page[HEADER_ROW + 1]}
    for row in page.iter_rows(min_row=HEADER_ROW + 2, max_col=1):
        if row[0].value == row_name:
            return sheet, f"{header[column]}{row[0].row}"
    raise AssertionError(f"{sheet} has no row {row_name}")


def row_of(values: Values, sheet: str, words: str, column: str = "A") -> int:
    return next(
        int(address[len(column) :]) for address, value in values[sheet].items()
        if address.startswith(column) and address[len(column) :].isdigit() and str(value).startswith(words)
    )  # fmt: skip


def dearer(case: Case, table: str, name_field: str, name: str, **fields: Any) -> Case:
    rows = tuple(row.model_copy(update=fields) if getattr(row, name_field) == name else row for row in getattr(case, table))
    return case.model_copy(update={table: rows})


EDITS: dict[str, tuple[str, tuple[str, str, str], float, Callable[[Case], Case]]] = {
    "held": ("mixed", ("Offers", "held_usd_per_node_h", "res8"), 13.0,
             lambda case: dearer(case, "offers", "offer", "res8", held_usd_per_node_h=13.0)),
    "spot": ("mixed", ("Offers", "used_usd_per_node_h", "spot8"), 9.5,
             lambda case: dearer(case, "offers", "offer", "spot8", used_usd_per_node_h=9.5)),
    "upfront": ("mixed", ("Offers", "upfront_usd_per_node", "res8"), 3650.0,
                lambda case: dearer(case, "offers", "offer", "res8", upfront_usd_per_node=3650.0)),
    "energy": ("mixed", ("Sites", "usd_per_kwh", "dc"), 0.25, lambda case: dearer(case, "sites", "site", "dc", usd_per_kwh=0.25)),
    "rent": ("mixed", ("Sites", "usd_per_kw_month", "dc"), 73.0,
             lambda case: dearer(case, "sites", "site", "dc", usd_per_kw_month=73.0)),
    "api": ("mixed", ("ApiPrices", "output_usd_per_mtok", "cloud"), 12.0,
            lambda case: dearer(case, "api_prices", "api", "cloud", output_usd_per_mtok=12.0)),
    "covered on demand": ("discounted", ("Offers", "used_usd_per_node_h", "od"), 3.0,
                          lambda case: dearer(case, "offers", "offer", "od", used_usd_per_node_h=3.0)),
    "api input": ("api_alone", ("ApiPrices", "cached_input_usd_per_mtok", plans.HOSTILE_API), 1.5,
                  lambda case: dearer(case, "api_prices", "api", plans.HOSTILE_API, cached_input_usd_per_mtok=1.5)),
}  # fmt: skip


@pytest.mark.parametrize("edit", list(EDITS))
def test_a_changed_price_changes_every_total_as_the_ledger_says(edit: str, tmp_path: Path) -> None:
    name, place, price, change = EDITS[edit]
    path = written(name, tmp_path)
    edited = tmp_path / "edited.xlsx"
    edit_cells(path, edited, {cell_of(path, *place): price})
    before, after = shown_values(path), recalculated(edited)
    result = plans.RESULTS[name]()
    assert result.plan is not None and result.case is not None and result.candidates is not None
    parts = price_decision(change(result.case), result.candidates, result.plan.decision)
    assert parts.total != pytest.approx(result.plan.cost.total)

    row = row_of(before, "Summary", "Cost")
    mtok = result.plan.output_mtok_per_day
    for offset, factor in enumerate((1, 365 / 12, 365 / 4, 365)):
        assert after["Summary"][f"B{row + offset}"] == pytest.approx(parts.total * factor, rel=1e-9)
    headline = row_of(before, "Summary", "Output tokens of the forecast")
    assert after["Summary"][f"B{headline}"] == pytest.approx(parts.total / mtok, rel=1e-9)
    assert after["Summary"][f"I{row_of(before, 'Summary', 'Total')}"] == pytest.approx(parts.total, rel=1e-9)
    total = row_of(before, "Cost", "Total")
    names = ("held", "used", "upfront", "energy", "site", *(("discounts",) if parts.discounts else ()), "api")
    for column, part in zip("EFGHIJK", names, strict=False):
        assert after["Cost"][f"{column}{total}"] == pytest.approx(getattr(parts, part), rel=1e-9, abs=1e-9)
    by_hour = row_of(before, "Hourly", "Average day")
    column = max(
        (address for address in before["Hourly"] if address.endswith(str(by_hour)) and address.rstrip("0123456789") != "A"),
        key=lambda address: (len(address), address),
    ).rstrip("0123456789")
    assert after["Hourly"][f"{column}{by_hour}"] == pytest.approx(parts.total, rel=1e-9)
    # The proof was for the old prices, and says so; everything else still adds up.
    checks = after["Checks"]
    # LibreOffice saves logical values that have a number format as 1 and 0.
    failed = [checks[f"A{number}"] for number in range(9, 80) if f"B{number}" in checks and not checks[f"B{number}"]]
    assert [words for words in failed if not str(words).startswith("Cost = cost that was proven")] == []
    assert len(failed) == 1
    assert not after["Summary"]["B2"]


def test_a_wrong_cached_value_is_found(tmp_path: Path) -> None:
    path = written("seed1", tmp_path)
    cached = shown_values(path)
    row = row_of(cached, "Summary", "Cost")
    cached["Summary"][f"B{row}"] += 0.01
    assert [line.split(":")[0] for line in differences(cached, recalculated(path))] == [f"Summary!B{row}"]
