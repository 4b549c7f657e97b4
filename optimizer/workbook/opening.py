"""Opens a file as a Book: guards first, then openpyxl, else calamine with limited checks; the file itself is only ever read."""

from __future__ import annotations

import hashlib
from pathlib import Path

from optimizer.errors import Problem
from optimizer.workbook.book import Book
from optimizer.workbook.guards import FileKind, read_file, sniff
from optimizer.workbook.guards_package import PackageFacts, inspect_package
from optimizer.workbook.reader_options import ReaderOptions

#: Past these, openpyxl would take many seconds and hundreds of MB; calamine takes both in its stride.
OPENPYXL_BYTES_MAX = 32_000_000
OPENPYXL_HEAVY_BYTES_MAX = 8_000_000
OPENPYXL_ELEMENTS_MAX = 250_000
OPENPYXL_SPREAD_MAX = 250_000


def open_book(path: Path | str, options: ReaderOptions | None = None) -> Book:
    """Open a workbook or CSV file and hand on its cells; `Book.warnings` holds what a person should know of how it was read.

    Raises Refused: FILE_MISSING, FILE_LOCKED, FILE_UNREADABLE, FILE_BEING_WRITTEN, LOCK_FILE, FILE_TOO_LARGE, WRONG_FORMAT,
    CORRUPT_FILE, PASSWORD_PROTECTED, UNSAFE_FILE, RECALC_MISSING, RECALC_FAILED.
    """
    options = options or ReaderOptions()
    shown = str(path)
    path = Path(path)
    data = read_file(path, shown)
    digest = hashlib.sha256(data).hexdigest()
    kind = sniff(data, path.suffix.lower(), shown)
    if kind == "text":
        from optimizer.workbook.opening_csv import read_csv

        return Book(file=shown, sha256=digest, sheets=[read_csv(data, path.stem or "csv", shown)], kind="text")
    facts = inspect_package(data, shown) if kind != "xls" else None
    warnings = _warnings(facts, shown) if facts is not None else []
    if options.recalc:
        from optimizer.workbook.recalc import recalculate

        suffix = ".xlsm" if kind == "xlsx" and facts is not None and facts.macros else f".{kind}"
        data, kind = recalculate(data, suffix, shown), "xlsx"
        facts = inspect_package(data, shown)
    book = _parse(data, kind, facts, shown, warnings)
    book.sha256 = digest
    return book


def _warnings(facts: PackageFacts, shown: str) -> list[Problem]:
    found = []
    if facts.macros:
        found.append(Problem("MACROS_IGNORED", "holds macros; values are read, macros are neither run nor kept.", "", file=shown))
    if facts.links:
        names = ", ".join(_file_name(link) for link in facts.links[:3])
        found.append(
            Problem(
                "EXTERNAL_LINKS",
                f"takes values from other files ({names}); the values last saved are used.",
                "Check that they are current, or paste them as values.",
                file=shown,
            )
        )
    return found


def _file_name(target: str) -> str:
    return target.replace("\\", "/").rsplit("/", 1)[-1].replace("%20", " ")


def _is_too_much_for_openpyxl(facts: PackageFacts) -> bool:
    return (
        facts.sheet_bytes > OPENPYXL_BYTES_MAX
        or facts.heavy_bytes > OPENPYXL_HEAVY_BYTES_MAX
        or facts.elements > OPENPYXL_ELEMENTS_MAX
        or facts.spread_cells > OPENPYXL_SPREAD_MAX
    )


def _parse(data: bytes, kind: FileKind, facts: PackageFacts | None, shown: str, warnings: list[Problem]) -> Book:
    reason = {"xls": "an old .xls file", "xlsb": "a binary .xlsb file", "ods": "an OpenDocument file"}.get(kind, "")
    if kind == "xlsx" and facts is not None:
        if facts.strict:
            reason = "a Strict Open XML file"
        elif _is_too_much_for_openpyxl(facts):
            reason = f"a very large file ({facts.elements:,} rows and cells)"
        else:
            try:
                from optimizer.workbook.opening_openpyxl import read_with_openpyxl

                sheets, names, dates_1904 = read_with_openpyxl(data, has_formulas=facts.has_formulas)
                return Book(
                    file=shown,
                    sha256="",
                    sheets=sheets,
                    defined_names=names,
                    kind="xlsx",
                    dates_1904=dates_1904,
                    warnings=warnings,
                )
            except Exception:
                # openpyxl raises many kinds of errors on odd packages (KeyError, ValueError, ...); calamine reads most of them.
                reason = "an unusual or damaged package"
    from optimizer.workbook.opening_calamine import read_with_calamine

    sheets = read_with_calamine(data, shown)
    warnings.append(
        Problem(
            "LIMITED_CHECKS",
            f"is {reason}: hidden rows, number formats, error cells and missing formula values cannot be seen.",
            "Compare the numbers shown with what you sent, or save it as .xlsx.",
            file=shown,
        )
    )
    return Book(file=shown, sha256="", sheets=sheets, limited=True, kind=kind, warnings=warnings)
