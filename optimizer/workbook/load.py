"""Files and options to a Case: opens the workbooks, gathers every table, checks all of them, and says what was assumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from optimizer.domain.case import Case, InputFile
from optimizer.domain.workload import DayType, DemandDay
from optimizer.errors import Problem, ProblemList, Refused
from optimizer.workbook import build
from optimizer.workbook.assumptions import assumed_by_default, assumed_by_model_option
from optimizer.workbook.book import Book
from optimizer.workbook.checks_case import (
    allowed_gpus,
    check_allow_lists,
    check_api_shapes,
    check_bad_days,
    check_catalog_currency,
    check_shifted_input,
)
from optimizer.workbook.checks_ids import ModelNames, check_ids, names_of
from optimizer.workbook.checks_rows import check_commitments, check_provenance, check_rows, check_same_conditions
from optimizer.workbook.demand import read_demand
from optimizer.workbook.demand_model import ONLY_DAY_TYPE, DemandRead, DemandReport
from optimizer.workbook.inputs import COMMAND_LINE, FoundSheet, Inputs, find_sheets, read_inputs
from optimizer.workbook.narrowing import narrow_catalogs
from optimizer.workbook.opening import open_book
from optimizer.workbook.options import LoadOptions
from optimizer.workbook.schema import DAY_TYPES, DEMAND, WORKLOADS, table_of

__all__ = ["CheckedInputs", "LoadOptions", "LoadedCase", "check_books", "check_inputs", "load_case"]


@dataclass(frozen=True)
class LoadedCase:
    """A case that passed every check, the warnings about it, and what was read of the demand of each workload."""

    case: Case
    warnings: tuple[Problem, ...]
    demand: tuple[DemandReport, ...]


@dataclass(frozen=True)
class CheckedInputs:
    """Inputs that passed every check. case: None for a bare forecast, of which nobody said which model it is for."""

    case: Case | None
    warnings: tuple[Problem, ...]
    demand: tuple[DemandReport, ...]


def load_case(path: str | Path, options: LoadOptions | None = None) -> LoadedCase:
    """The planning case of a workbook. Raises Refused with every problem; MODEL_MISSING for a bare forecast without --model."""
    checked = check_inputs(path, options)
    if checked.case is None:
        problem = Problem("MODEL_MISSING", "Nothing says which model the forecast is for.",
                          "Give --model NAME, or add sheets Workloads and Pools.", file=str(path))
        raise Refused((problem,), checked.warnings)
    return LoadedCase(checked.case, checked.warnings, checked.demand)


def check_inputs(path: str | Path, options: LoadOptions | None = None) -> CheckedInputs:
    """Reads and checks everything `load_case` does, and accepts a bare forecast too. Raises Refused with every problem."""
    options = options or LoadOptions()
    return check_books(_open(path, options), options)


def check_books(books: Sequence[Book], options: LoadOptions) -> CheckedInputs:
    """The same for files that are open already: the forecast, and the --policy workbook where there is one."""
    problems = ProblemList()
    if len({(book.file, book.sha256) for book in books}) < len(books):
        message = "The workbook of --policy is the forecast itself."
        problems.error("OPTION_CLASH", message, "Leave out --policy.", file=books[1].file)
        problems.raise_if_errors()
    sheets = find_sheets(books, problems)
    _refuse_clashes(options, problems)
    inputs = read_inputs(sheets, options, problems)
    names = names_of(inputs)
    check_allow_lists(inputs, names, problems)
    narrowed = narrow_catalogs(inputs, names, problems)
    check_catalog_currency(inputs, options.catalogs is None, problems)
    assumptions = (*inputs.policy.assumptions, *assumed_by_model_option(inputs), *narrowed.sentences)
    check_rows(inputs, problems)
    check_commitments(inputs, problems)
    check_same_conditions(inputs, problems)
    check_provenance(inputs, problems)
    check_ids(inputs, names, narrowed.examples, problems)
    _check_workloads_given(inputs, sheets, problems)
    demand = _read_demand(_demand_book(books, sheets, problems), inputs, options, problems)
    case = None
    if demand is not None and not problems.errors and inputs.of(WORKLOADS).present:
        case = _build_case(books, inputs, names, demand, assumptions, problems)
    problems.raise_if_errors()
    warnings = tuple(dict.fromkeys([*(problem for book in books for problem in book.warnings), *problems.warnings]))
    if warnings and (options.strict or options.reader.strict):
        raise Refused(warnings)
    return CheckedInputs(case, warnings, demand.reports if demand is not None else ())


def _open(path: str | Path, options: LoadOptions) -> list[Book]:
    """The workbook and the one of --policy; a file that cannot be opened ends the run, after the other was tried."""
    problems = ProblemList()
    books = []
    for each in (path, options.policy):
        if each is None:
            continue
        try:
            books.append(open_book(each, options.reader))
        except Refused as refused:
            problems.errors.extend(refused.errors)
            problems.warnings.extend(refused.warnings)
    problems.raise_if_errors()
    return books


def _refuse_clashes(options: LoadOptions, problems: ProblemList) -> None:
    if options.model is not None:
        return
    values = {
        "--precision": options.precision,
        "--input-tokens": options.input_tokens,
        "--output-tokens": options.output_tokens,
        "--ttft-ms": options.ttft_ms,
        "--tpot-ms": options.tpot_ms,
        "--api": options.api or None,
    }
    stated = [name for name, value in values.items() if value is not None]
    if stated:
        problems.error("OPTION_CLASH", f"{', '.join(stated)} describe the workload of --model, which was not given.",
                       "Give --model too, or state them in Workloads.")


def _check_workloads_given(inputs: Inputs, sheets: dict[str, FoundSheet], problems: ProblemList) -> None:
    workloads = inputs.of(WORKLOADS)
    if workloads.present and workloads.usable and not workloads.rows:
        found = sheets.get(WORKLOADS.sheet)
        problems.error("NO_WORKLOADS", "Sheet Workloads has no rows.", "Write a row for each workload, or remove the sheet.",
                       file=found.file if found else None, sheet=WORKLOADS.sheet)


def _demand_book(books: Sequence[Book], sheets: dict[str, FoundSheet], problems: ProblemList) -> Book:
    """The file that holds the forecast: the first, unless only the second has a sheet Demand."""
    forecast = books[0]
    found = sheets.get(DEMAND.sheet)
    if found is None or found.file == forecast.file:
        return forecast
    others = [sheet.name for sheet in forecast.sheets if sheet.visible and table_of(sheet.name) is None]
    if others:
        problems.error("SHEET_IN_BOTH", f"The policy workbook has a sheet Demand, and {forecast.file} has {', '.join(others)}: "
                       "which is the forecast?", "Remove Demand from the policy workbook.", file=found.file, sheet=DEMAND.sheet)
    return next(book for book in books if book.file == found.file)


def _read_demand(book: Book, inputs: Inputs, options: LoadOptions, problems: ProblemList) -> DemandRead | None:
    """The forecast; None where it was refused, or where the tables that say what to look for were."""
    workloads, day_types = inputs.of(WORKLOADS), inputs.of(DAY_TYPES)
    if not (workloads.usable and day_types.usable):
        return None
    named = [str(row["workload"]) for row in workloads.rows if row["workload"] is not None]
    # Days that were refused still have a name to look for, and no weight.
    days = {str(row["day_type"]): row["days"] or 1.0 for row in day_types.rows if row["day_type"] is not None}
    tokens = {str(row["workload"]): float(row["output_tokens"]) for row in workloads.rows if row["output_tokens"] is not None}
    from_option = any(row.file == COMMAND_LINE for row in workloads.rows)
    wanted = named if workloads.present and not from_option else None
    try:
        demand = read_demand(book, options.reader, workloads=wanted, day_types=days or None, tokens_per_request=tokens)
    except Refused as refused:
        problems.errors.extend(refused.errors)
        problems.warnings.extend(refused.warnings)
        return None
    problems.warnings.extend(demand.warnings)
    return demand


def _build_case(books: Sequence[Book], inputs: Inputs, names: ModelNames, demand: DemandRead, assumptions: Sequence[str],
                problems: ProblemList) -> Case | None:
    day_types = build.day_types(inputs)
    if not day_types and demand.day_types:
        day_types = tuple(DayType(day_type=day.day_type, days=day.days) for day in demand.day_types)
    day_types = day_types or (DayType(day_type=ONLY_DAY_TYPE, days=1),)
    workloads = build.workloads(inputs, names, _demand_days(inputs, day_types, demand))
    pools = build.pools(inputs)
    contingencies = build.contingencies(inputs, pools)
    prices = build.api_prices(inputs, names)
    goodput, offers = build.goodput(inputs, names), build.offers(inputs)
    check_api_shapes(inputs, workloads, prices, problems)
    check_shifted_input(inputs, workloads, goodput, prices, problems)
    check_bad_days(inputs, pools, contingencies, offers, problems)
    if problems.errors:
        return None
    files = (InputFile(file=book.file, sha256=book.sha256) for book in books)
    return Case(
        day_types=day_types,
        workloads=workloads,
        pools=pools,
        contingencies=contingencies,
        policy=inputs.policy.policy.model_copy(update={"gpus": allowed_gpus(inputs, names)}),
        node_types=build.node_types(inputs, names),
        models=build.models(inputs, names),
        goodput=goodput,
        offers=offers,
        existing=build.existing(inputs),
        discounts=build.discounts(inputs),
        api_prices=prices,
        sites=build.sites(inputs),
        assumptions=(*assumptions, *assumed_by_default(inputs, contingencies)),
        inputs=(*files, *inputs.catalogs.read),
    )


def _demand_days(inputs: Inputs, day_types: Sequence[DayType], demand: DemandRead) -> dict[str, tuple[DemandDay, ...]]:
    """24 hours of every workload on every day type, which the reader has made sure of."""
    found = {}
    for row in inputs.of(WORKLOADS).rows:
        series = [demand.of(row["workload"], day.day_type) for day in day_types]
        found[row["workload"]] = tuple(
            DemandDay(day_type=each.day_type, output_tps=each.output_tps, input_tps=each.input_tps) for each in series
        )
    return found
