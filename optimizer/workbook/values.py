"""One cell to one value: what a cell may hold for each kind of column, and the sentence when it may not.

Nothing is guessed: a number that reads two ways, a percentage outside 0..1, a window of hours that Excel turned into a date and a
formula that was never computed are refused, with what to do about it.
"""

from __future__ import annotations

import datetime
import math
import re
import unicodedata
from dataclasses import dataclass

from optimizer.domain.hours import parse_hours
from optimizer.workbook.book import Cell, CellValue
from optimizer.workbook.columns import Column

_PLAIN = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_COMMA_OR_DOT_GROUP = re.compile(r"[+-]?[1-9]\d{0,2}([.,])\d{3}")
_US_GROUPS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+\.\d+|[+-]?\d{1,3}(?:,\d{3}){2,}")
_EU_GROUPS = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+,\d+|[+-]?\d{1,3}(?:\.\d{3}){2,}")
_SPACE_GROUPS = re.compile(r"[+-]?\d{1,3}(?:[ '\u2019]\d{3})+(?:[.,]\d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_ISO_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?!\d)")
_ISO_MONTH = re.compile(r"(\d{4})-(\d{2})(?![-\d])")
_SCALED_FORMAT = re.compile(r"[0#?],+(?![0#?,])")
_WHOLE_TOLERANCE = 1e-9
_TRUE = frozenset({"yes", "true", "1"})
_FALSE = frozenset({"no", "false", "0"})

Value = str | float | int | bool | tuple[str, ...] | frozenset[int] | datetime.date | tuple[datetime.date | None, str] | None


class BadCell(Exception):
    """A cell that cannot be read: code, sentence and fix; the caller knows file, sheet and address."""

    def __init__(self, code: str, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.fix = fix or "Correct the figure."


@dataclass(frozen=True)
class Reading:
    """How cells are to be read. utc_offset_h: shift of hours with a trailing Z. machine: text numbers are plain, as in a catalog.

    comma_decimal: whether a text such as `12,800` has a decimal comma; None = nobody said.
    """

    utc_offset_h: float = 0.0
    machine: bool = False
    comma_decimal: bool | None = None


def is_blank(cell: Cell | None) -> bool:
    """True where the cell holds nothing: no value, no formula, no error."""
    if cell is None:
        return True
    if cell.error or cell.formula:
        return False
    return cell.value is None or (isinstance(cell.value, str) and not clean_text(cell.value))


def is_scaled(cell: Cell) -> bool:
    """True where the number format shows the value divided by 1000 or more (`#,##0,`).

    >>> is_scaled(Cell(12800, number_format="#,##0.0,")), is_scaled(Cell(12800, number_format="#,##0.0"))
    (True, False)
    """
    return isinstance(cell.value, (int, float)) and bool(_SCALED_FORMAT.search(cell.number_format.split(";")[0]))


def parse_cell(column: Column, cell: Cell | None, reading: Reading) -> Value:
    """The value of a cell in that column; the column's default where the cell is empty.

    Raises BadCell with code MISSING_VALUE, FORMULA_NO_VALUE, CELL_ERROR, or the code of the kind of column.
    """
    if cell is None or is_blank(cell):
        return _default(column)
    if cell.error:
        raise BadCell("CELL_ERROR", f"{column.key} holds the error {cell.error}.", "Repair the formula, or type the value.")
    if cell.value is None:
        raise BadCell("FORMULA_NO_VALUE", f"{column.key} holds a formula that was never computed.",
                      "Open the file in Excel, save it, and try again; or use --recalc libreoffice.")
    return _parse_filled(column, cell.value, reading)


def _default(column: Column) -> Value:
    if column.required:
        raise BadCell("MISSING_VALUE", f"{column.key} is empty.", f"Fill in {column.label}, or empty the row.")
    if column.kind == "hours":
        return parse_hours(str(column.default))
    return (None, "") if column.kind == "as_of" else column.default


def _parse_filled(column: Column, value: CellValue, reading: Reading) -> Value:
    match column.kind:
        case "text":
            return _as_text(value)
        case "id":
            return _as_id(column, value)
        case "list":
            return _as_list(column, value)
        case "choice":
            return _as_choice(column, _as_id(column, value))
        case "yes_no":
            return _as_yes_no(column, value)
        case "date":
            return _as_date(column, value)
        case "as_of":
            return _as_of(value)
        case "hours":
            return _as_hours(column, value, reading)
        case "whole":
            number = _number(column, value, reading)
            return None if number is None else _whole(column, number)
        case "occupancy":
            if isinstance(value, str) and clean_text(value).casefold() == "auto":
                return None
            return _number(column, value, reading)
        case "number" | "fraction":
            return _number(column, value, reading)


def clean_text(text: str) -> str:
    """Text without control and zero-width characters, with single ordinary blanks."""
    kept = "".join(ch for ch in text if ch.isspace() or unicodedata.category(ch) not in ("Cc", "Cf"))
    return " ".join(kept.split())


def _shown(value: CellValue) -> str:
    text = str(value)
    return repr(text if len(text) <= 40 else text[:37] + "...") if isinstance(value, str) else text


def _as_text(value: CellValue) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    return clean_text(str(value))


def _as_id(column: Column, value: CellValue) -> str:
    if isinstance(value, (bool, datetime.date, datetime.time, datetime.timedelta)):
        what = "yes or no" if isinstance(value, bool) else "a date or time"
        raise BadCell("NOT_A_NAME", f"{column.key} holds {what} ({value}), not a name.",
                      "Format the cell as text and type the name again.")
    text = _as_text(value)
    if ";" in text:
        raise BadCell("NOT_A_NAME", f"{column.key} is {_shown(text)}; a name holds no ';', which separates the entries of lists.",
                      "Use another name, or a row each.")
    return text


def _as_list(column: Column, value: CellValue) -> tuple[str, ...]:
    if not isinstance(value, str):
        return (_as_id(column, value),)
    entries = [clean_text(part) for part in value.split(";")]
    if column.choices:
        entries = [_as_choice(column, entry) for entry in entries if entry]
    return tuple(dict.fromkeys(entry for entry in entries if entry))


def _as_choice(column: Column, text: str) -> str:
    wanted = unicodedata.normalize("NFKC", text).casefold().replace(" ", "_").replace("-", "_")
    for choice in column.choices:
        if choice.casefold() == wanted:
            return choice
    raise BadCell("UNKNOWN_CHOICE", f"{column.key} is {_shown(text)}.", f"Use one of: {', '.join(column.choices)}.")


def _as_yes_no(column: Column, value: CellValue) -> bool:
    word = "1" if value == 1 else "0" if value == 0 else clean_text(str(value)).casefold()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise BadCell("NOT_YES_NO", f"{column.key} is {_shown(value)}.", "Write yes or no.")


def _as_date(column: Column, value: CellValue) -> datetime.date:
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, datetime.date):
        return value
    if isinstance(value, str):
        text = clean_text(value)
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}(?:[T ]00:00(?::00(?:\.0+)?)?)?", text):
            try:
                return datetime.date.fromisoformat(text[:10])
            except ValueError:
                raise BadCell("NOT_A_DATE", f"{column.key} is {_shown(text)}, and there is no such day.") from None
    raise BadCell("NOT_A_DATE", f"{column.key} is {_shown(value)}, which is not a date.",
                  "Format the cell as a date, or write it as 2027-01-31 (year-month-day).")


def _as_of(value: CellValue) -> tuple[datetime.date | None, str]:
    """A date, and the words around it. `2026-11 (package release)` counts as the first of the month: never younger than it is."""
    if isinstance(value, datetime.datetime):
        return value.date(), ""
    if isinstance(value, datetime.date):
        return value, ""
    text = _as_text(value)
    match = _ISO_DATE.match(text) or _ISO_MONTH.match(text)
    if match is None:
        return None, text
    try:
        found = datetime.date(int(match[1]), int(match[2]), int(match[3]) if match.re is _ISO_DATE else 1)
    except ValueError:
        return None, text
    return found, "" if text == found.isoformat() else text


def _as_hours(column: Column, value: CellValue, reading: Reading) -> frozenset[int]:
    if isinstance(value, (datetime.date, datetime.time, datetime.timedelta)):
        raise BadCell("HOURS_READ_AS_DATE",
                      f"{column.key} is the date or time {value}: spreadsheets turn a window such as 8-12 into a date.",
                      "Format the cell as text and type the window again, for example 8-12 or 22-6;8-12.")
    try:
        return parse_hours(clean_text(str(value)), reading.utc_offset_h)
    except ValueError as error:
        raise BadCell("NOT_HOURS", f"{column.key}: {error}.", "Write windows such as 0-24, 8-20 or 22-6;8-12.") from None


def _number(column: Column, value: CellValue, reading: Reading) -> float | None:
    if isinstance(value, str) and clean_text(value).casefold() == "none" and column.default is None and not column.required:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        hint = "Format the cell as a number and type it again."
        raise BadCell("NOT_A_NUMBER", f"{column.key} is {_shown(value)}, where a number is due.", hint)
    try:
        number = _text_number(column, value, reading) if isinstance(value, str) else float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise BadCell("NOT_A_NUMBER", f"{column.key} is {number}, which is not a finite number.")
    _check_range(column, number)
    return number


def _whole(column: Column, number: float) -> int:
    nearest = round(number)
    if abs(number - nearest) > _WHOLE_TOLERANCE * max(1.0, abs(number)):
        raise BadCell("NOT_WHOLE", f"{column.key} is {number:g}, where a whole number is due.")
    return nearest


def _check_range(column: Column, number: float) -> None:
    low, high = column.low, column.high
    below = low is not None and (number < low or (column.low_open and number == low))
    above = high is not None and number > high
    if not below and not above:
        return
    if low == 0 and number < 0:
        span = "above 0" if column.low_open else "0 or more"
        raise BadCell("NEGATIVE_VALUE", f"{column.key} is {number:g}; it must be {span}.")
    if column.kind in ("fraction", "occupancy"):
        span = "above 0 and at most 1" if column.low_open else "from 0 to 1"
        means = f" {number:g} means {100 * number:g} %." if above else ""
        percent = f"Write {number / 100:g} for {number:g} %." if number >= 2 else "Write 0.01 for 1 %, and 1 for 100 %."
        fix = percent if above and number <= 100 else ""
        raise BadCell("FRACTION_OUT_OF_RANGE", f"{column.key} is {number:g}; shares are {span}.{means}", fix)
    if low is not None and high is not None:
        span = f"{'above' if column.low_open else 'from'} {low:g} to {high:g}"
    elif low is not None:
        span = f"above {low:g}" if column.low_open else f"{low:g} or more"
    else:
        span = f"at most {high:g}"
    raise BadCell("OUT_OF_RANGE", f"{column.key} is {number:g}; it must be {span}.")


def _text_number(column: Column, raw: str, reading: Reading) -> float:
    text = clean_text(unicodedata.normalize("NFKC", raw)).replace("\u2212", "-")
    percent = text.endswith("%") and (column.kind in ("fraction", "occupancy") or column.unit == "ratio")
    digits = text[:-1].rstrip() if percent else text
    plain = digits if reading.machine else _plain_digits(column, digits, reading)
    if plain is None or not _PLAIN.fullmatch(plain):
        raise BadCell("NOT_A_NUMBER", f"{column.key} is {_shown(raw)}, where a number is due.",
                      f"Write the bare number{f' in {column.unit}' if column.unit else ''}, without units or signs.")
    number = float(plain)
    return number / 100 if percent else number


def _plain_digits(column: Column, text: str, reading: Reading) -> str | None:
    """Digits with a decimal point and no grouping; None where the text is no number."""
    group = _COMMA_OR_DOT_GROUP.fullmatch(text)
    if group:
        if reading.comma_decimal is None:
            raise BadCell("AMBIGUOUS_NUMBER",
                          f"{column.key} is the text {_shown(text)}, which reads as two numbers 1000 times apart.",
                          "Format the cell as a number, or say --locale en-US or --locale de-DE.")
        decimal = "," if reading.comma_decimal else "."
        return text.replace(",", ".") if group[1] == decimal else text.replace(group[1], "")
    if _US_GROUPS.fullmatch(text):
        return text.replace(",", "")
    if _EU_GROUPS.fullmatch(text):
        return text.replace(".", "").replace(",", ".")
    if _SPACE_GROUPS.fullmatch(text):
        return re.sub(r"[ '\u2019]", "", text).replace(",", ".")
    if _DECIMAL_COMMA.fullmatch(text):
        return text.replace(",", ".")
    return text if _PLAIN.fullmatch(text) else None
