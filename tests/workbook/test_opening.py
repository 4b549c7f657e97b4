"""Opening a file: it is read once, bounded, never written to, and whatever is wrong with it is said in a sentence."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from optimizer.errors import Refused
from optimizer.workbook import guards, guards_package, opening_calamine, recalc
from optimizer.workbook.opening import open_book
from optimizer.workbook.reader_options import ReaderOptions
from tests.workbook.forge import PROFILE, Sheet, demand_sheet, part, repack, write_xlsx
from tests.workbook.formats import inline_xlsx, ods, package, zipped
from tests.workbook.reading import TRUTH, read, refused, values


def code(folder: Path, data: bytes, name: str = "forecast.xlsx") -> str:
    path = folder / name
    path.write_bytes(data)
    return why(path)


def why(path: Path, options: ReaderOptions | None = None) -> str:
    with pytest.raises(Refused) as caught:
        open_book(path, options)
    (problem,) = caught.value.errors
    assert problem.file == str(path)
    assert problem.fix
    return problem.code


def test_a_book_is_sparse_cells_that_know_their_address(tmp_path: Path) -> None:
    sheet = demand_sheet(number_format="0.0")
    sheet.put(30, 3, "note")
    sheet.hidden_rows, sheet.hidden_columns, sheet.merges = {40}, {5}, [(32, 0, 33, 1)]
    path = tmp_path / "forecast.xlsx"
    path.write_bytes(write_xlsx(sheet, names={"Peak": "=Demand!$B$16"}))
    book = open_book(path)
    (page,) = book.sheets
    assert page.value(2, 2) == 1200
    assert page.cells[2, 2].number_format == "0.0"
    assert page.value(31, 4) == "note"
    assert page.value(99, 99) is None
    assert 41 in page.hidden_rows
    assert page.hidden_columns == {6}
    assert page.merges == ((33, 1, 34, 2),)
    assert book.defined_names == {"Peak": "Demand!$B$16"}
    assert len(book.sha256) == 64
    assert book.sheet(" demand ") is page


def test_missing_folders_and_pipes(tmp_path: Path) -> None:
    assert why(tmp_path / "nothing.xlsx") == "FILE_MISSING"
    assert why(tmp_path / "no" / "folder.xlsx") == "FILE_MISSING"
    assert why(tmp_path) == "WRONG_FORMAT"
    pipe = tmp_path / "pipe.xlsx"
    os.mkfifo(pipe)
    assert why(pipe) == "WRONG_FORMAT"


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (PermissionError(errno.EACCES, "locked"), "FILE_LOCKED"),
        (OSError(errno.EBUSY, "busy"), "FILE_LOCKED"),
        (OSError(errno.ESTALE, "stale"), "FILE_UNREADABLE"),
        (OSError(errno.EHOSTDOWN, "host is down"), "FILE_UNREADABLE"),
        (OSError(errno.EIO, "input/output error"), "FILE_UNREADABLE"),
    ],
)
def test_a_locked_file_and_a_drive_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: OSError, expected: str
) -> None:
    path = tmp_path / "forecast.xlsx"
    path.write_bytes(write_xlsx(demand_sheet()))

    def fail(self: Path) -> bytes:
        raise failure

    monkeypatch.setattr(Path, "read_bytes", fail)
    assert why(path) == expected


def test_a_drive_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "forecast.xlsx"
    path.write_bytes(b"x")
    release = threading.Event()

    def hang(self: Path) -> bytes:
        release.wait(30)
        return b""

    monkeypatch.setattr(Path, "read_bytes", hang)
    monkeypatch.setattr(guards, "READ_TIMEOUT_S", 0.05)
    assert why(path) == "FILE_UNREADABLE"
    release.set()


def test_a_file_that_is_still_being_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "forecast.xlsx"
    path.write_bytes(write_xlsx(demand_sheet()))
    plain = Path.read_bytes
    growths = []

    def grow(self: Path) -> bytes:
        data = plain(self)
        if len(growths) < growing:
            growths.append(1)
            with self.open("ab") as target:
                target.write(b"more")
        return data

    monkeypatch.setattr(Path, "read_bytes", grow)
    monkeypatch.setattr(guards, "STILL_PERIOD_S", 0.0)
    growing = 99
    assert why(path) == "FILE_BEING_WRITTEN"
    growths.clear()
    path.write_bytes(write_xlsx(demand_sheet()))
    growing = 0
    assert open_book(path).sheets


def test_sizes_are_capped_before_anything_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_xlsx(demand_sheet())
    monkeypatch.setattr(guards, "FILE_BYTES_MAX", 100)
    assert code(tmp_path, data) == "FILE_TOO_LARGE"
    monkeypatch.setattr(guards, "FILE_BYTES_MAX", 10**9)
    monkeypatch.setattr(guards_package, "PARTS_MAX", 3)
    assert code(tmp_path, data) == "FILE_TOO_LARGE"
    monkeypatch.setattr(guards, "TEXT_BYTES_MAX", 10)
    assert code(tmp_path, b"Hour;Output tok/s\n0;1\n", "a.csv") == "FILE_TOO_LARGE"


def test_many_parts_and_zips_in_zips(tmp_path: Path) -> None:
    inner = zipped({"a.txt": "x"})
    for _ in range(5):
        inner = zipped({"deeper.zip": inner})
    assert code(tmp_path, inner) == "WRONG_FORMAT"
    assert (
        code(tmp_path, zipped({"xl/workbook.xml": "<workbook/>", **{f"xl/media/{index}.xml": "<a/>" for index in range(5001)}}))
        == "FILE_TOO_LARGE"
    )


def test_a_cell_at_the_last_address_costs_nothing(tmp_path: Path) -> None:
    sheet = demand_sheet()
    sheet.put(1_048_575, 16_383, "far away")
    assert values(read(tmp_path, sheet)) == TRUTH


def test_a_far_cell_in_a_format_for_calamine_is_refused_not_hung(tmp_path: Path) -> None:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    near, far = '<row r="1"><c r="A1"><v>1</v></c></row>', '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    text = f'<worksheet xmlns="{main}"><sheetData>{near}{far}</sheetData></worksheet>'
    assert code(tmp_path, package(text, declare_strings=True)) in ("FILE_TOO_LARGE", "CORRUPT_FILE")


def test_repeated_cells_of_an_ods_do_not_fill_the_memory(tmp_path: Path) -> None:
    import zipfile

    path = tmp_path / "bomb.ods"
    path.write_bytes(ods())
    with zipfile.ZipFile(path) as source:
        content = source.read("content.xml").replace(
            b'<table:table-cell office:value-type="float" office:value="700"',
            b'<table:table-cell table:number-columns-repeated="16384" office:value-type="float" office:value="700"',
        )
        content = content.replace(b"<table:table-row>", b'<table:table-row table:number-rows-repeated="1048576">')
        data = zipped({name: content if name == "content.xml" else source.read(name) for name in source.namelist()})
    path.write_bytes(data)
    assert why(path) in ("FILE_TOO_LARGE", "CORRUPT_FILE")


def test_a_parser_that_crashes_or_never_returns_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening_calamine, "TIMEOUT_S", 0.001)
    assert code(tmp_path, ods(), "a.ods") == "FILE_TOO_LARGE"
    monkeypatch.setattr(opening_calamine, "TIMEOUT_S", 20.0)
    monkeypatch.setattr(opening_calamine, "CELLS_MAX", 5)
    assert code(tmp_path, ods(), "a.ods") == "FILE_TOO_LARGE"


def test_sixteen_thousand_columns(tmp_path: Path) -> None:
    sheet = demand_sheet()
    for column in range(3, 16_384):
        sheet.put(0, column, f"note {column}")
        sheet.put(1, column, 1)
    assert values(read(tmp_path, sheet)) == TRUTH


def test_a_wide_sheet_of_hours_across(tmp_path: Path) -> None:
    sheet = Sheet("Demand", {(0, 0): "Pool", (1, 0): "chat", (0, 1): "Unit", (1, 1): "tok/s"})
    for hour, value in enumerate(PROFILE):
        sheet.put(0, 2 + hour, f"{hour:02d}:00")
        sheet.put(1, 2 + hour, value)
    assert values(read(tmp_path, sheet)) == TRUTH


def test_digits_of_other_scripts_and_right_to_left_marks(tmp_path: Path) -> None:
    def wide(value: int, zero: int) -> str:
        return "".join(chr(zero + int(digit)) for digit in str(value))

    for zero in (0xFF10, 0x0660, 0x06F0):
        sheet = demand_sheet(
            "\u202bOutput tok/s\u202c",
            [f"\u200f{wide(value, zero)}" for value in PROFILE],
            [wide(hour, zero) for hour in range(24)],
        )
        assert values(read(tmp_path, sheet)) == TRUTH
    assert refused(tmp_path, demand_sheet(values=["\u0661\u066c\u0662\u0660\u0660", *PROFILE[1:]]))[0].code == "NOT_A_NUMBER"


def test_recalculation_without_libreoffice_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "forecast.xlsx"
    path.write_bytes(write_xlsx(demand_sheet()))
    monkeypatch.setattr(recalc.shutil, "which", lambda name: None)
    assert why(path, ReaderOptions(recalc="libreoffice")) == "RECALC_MISSING"
    monkeypatch.setattr(recalc.shutil, "which", lambda name: "/bin/false")
    assert why(path, ReaderOptions(recalc="libreoffice")) == "RECALC_FAILED"


def test_opening_imports_nothing_heavy() -> None:
    script = (
        "import sys; import optimizer.workbook.opening, optimizer.workbook.demand, optimizer.workbook.demand_text; "
        "print(sorted({'pandas', 'numpy', 'openpyxl', 'scipy', 'pulp', 'python_calamine', 'xlsxwriter'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_merges_and_links_over_the_whole_sheet_do_not_hang(tmp_path: Path) -> None:
    data = write_xlsx(demand_sheet())
    text = part(data, "xl/worksheets/sheet1.xml")
    for tag in (
        b'<mergeCells><mergeCell ref="D1:XFD1048576"/></mergeCells>',
        b'<hyperlinks><hyperlink ref="D1:XFD1048576" location="A1"/></hyperlinks>',
    ):
        changed = text.replace(b"</sheetData>", b"</sheetData>" + tag)
        demand = read(tmp_path, repack(data, {"xl/worksheets/sheet1.xml": changed}))
        assert values(demand) == TRUTH
        assert [warning.code for warning in demand.warnings] == ["LIMITED_CHECKS"]


def test_parts_that_only_slow_a_parser_are_left_to_the_fast_one(tmp_path: Path) -> None:
    data = write_xlsx(demand_sheet())
    styles = part(data, "xl/styles.xml").replace(b"</styleSheet>", b"<!--" + b"x" * 9_000_000 + b"--></styleSheet>")
    demand = read(tmp_path, repack(data, {"xl/styles.xml": styles}))
    assert values(demand) == TRUTH
    assert [warning.code for warning in demand.warnings] == ["LIMITED_CHECKS"]


def test_prefixed_and_wide_encoded_sheets_are_counted(tmp_path: Path) -> None:
    data = inline_xlsx()
    text = part(data, "xl/worksheets/sheet1.xml").decode()
    prefixed = re.sub(r"<(/?)(\w)", r"<\1x:\2", text).replace("xmlns=", "xmlns:x=")
    for variant in (prefixed.encode(), text.encode("utf-16")):
        changed = repack(data, {"xl/worksheets/sheet1.xml": variant})
        assert guards_package.inspect_package(changed, "f").elements == 75
        assert values(read(tmp_path, changed)) == TRUTH


@pytest.mark.parametrize(
    "text", ["k " * 5000, "tokens " * 5000, "(" * 9000, "1" * 32_000, "1 " * 9000, "0," * 9000, "\u200f" * 9000]
)
def test_long_cells_are_read_in_no_time(tmp_path: Path, text: str) -> None:
    sheet = demand_sheet()
    sheet.put(0, 2, text)
    sheet.put(5, 2, text)
    sheet.put(30, 0, text)
    assert values(read(tmp_path, sheet)) == TRUTH
    sheet.put(5, 1, text)
    assert refused(tmp_path, sheet)
