"""What must hold before a parser may touch a file: it can be read, it is what it says, and it stays small when unpacked."""

from __future__ import annotations

import errno
import io
import stat
import threading
import time
import zipfile
from pathlib import Path
from typing import Literal, NoReturn

from optimizer.errors import Problem, Refused

FILE_BYTES_MAX = 100_000_000
TEXT_BYTES_MAX = 32_000_000
READ_TIMEOUT_S = 15.0
STILL_PERIOD_S = 0.2

FileKind = Literal["xlsx", "xlsb", "ods", "xls", "text"]

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def refuse(code: str, message: str, fix: str, file: str) -> NoReturn:
    """Refuse the whole file with one problem."""
    raise Refused((Problem(code, message, fix, file=file),))


def read_file(path: Path, shown: str) -> bytes:
    """The bytes of the file, read once. Raises Refused where it is missing, locked, being written, too large or out of reach.

    The reading happens in a thread of its own, because a drive that has gone away may never answer.
    """
    if path.name.startswith(("~$", ".~lock.")):
        original = path.name.removeprefix("~$").removeprefix(".~lock.").rstrip("#")
        refuse(
            "LOCK_FILE",
            "is the small owner file that an office program leaves beside an open workbook, not the workbook.",
            f"Name the workbook itself ({original}).",
            shown,
        )
    outcome: list[bytes | BaseException] = []

    def work() -> None:
        try:
            outcome.append(_read_when_still(path, shown))
        except BaseException as failure:
            outcome.append(failure)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(READ_TIMEOUT_S)
    if not outcome:
        refuse(
            "FILE_UNREADABLE",
            f"did not answer within {READ_TIMEOUT_S:g} s; the drive may be gone.",
            "Copy it to a local folder and run again.",
            shown,
        )
    result = outcome[0]
    if isinstance(result, bytes):
        return result
    if isinstance(result, OSError):
        _refuse_os_error(result, shown)
    raise result


def _read_when_still(path: Path, shown: str) -> bytes:
    """Read; where size or time changed meanwhile, wait a little and read again, three times at most."""
    for _attempt in range(3):
        before = path.stat()
        if stat.S_ISDIR(before.st_mode):
            refuse("WRONG_FORMAT", "is a folder.", "Name the workbook inside it.", shown)
        if not stat.S_ISREG(before.st_mode):
            refuse("WRONG_FORMAT", "is not a file (a pipe or a device).", "Save it as a file and name that.", shown)
        if before.st_size > FILE_BYTES_MAX:
            refuse(
                "FILE_TOO_LARGE",
                f"has {before.st_size / 1e6:,.0f} MB; the largest that is read is {FILE_BYTES_MAX / 1e6:,.0f} MB.",
                "Save the demand sheet alone as a new workbook.",
                shown,
            )
        data = path.read_bytes()
        after = path.stat()
        if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns) and len(data) == after.st_size:
            return data
        time.sleep(STILL_PERIOD_S)
    refuse(
        "FILE_BEING_WRITTEN",
        "changed while it was read; another program is still writing it.",
        "Wait until it is saved, then run again.",
        shown,
    )


def _refuse_os_error(failure: OSError, shown: str) -> NoReturn:
    if isinstance(failure, FileNotFoundError | NotADirectoryError):
        refuse("FILE_MISSING", "does not exist.", "Check the name and the folder.", shown)
    if isinstance(failure, PermissionError) or failure.errno in (errno.EBUSY, errno.ETXTBSY, errno.EAGAIN):
        refuse(
            "FILE_LOCKED",
            "may not be read: it is locked by another program, or you have no permission.",
            "Close it in the other program, or copy it and name the copy.",
            shown,
        )
    refuse(
        "FILE_UNREADABLE",
        f"cannot be read ({failure.strerror or type(failure).__name__}); the drive may be gone.",
        "Copy it to a local folder and run again.",
        shown,
    )


def sniff(data: bytes, suffix: str, shown: str) -> FileKind:
    """What the bytes are, whatever the extension says. Raises Refused with the real kind where it is not a readable table."""
    if not data:
        refuse("CORRUPT_FILE", "is empty (0 bytes).", "Save or send it again.", shown)
    if data.startswith(_OLE):
        return _sniff_ole(data, shown)
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _sniff_zip(data, shown)
    for start, name in (
        (b"%PDF", "a PDF"),
        (b"\x1f\x8b", "a gzip archive"),
        (b"PAR1", "a Parquet file"),
        (b"7z\xbc\xaf", "a 7z archive"),
        (b"Rar!", "a RAR archive"),
        (b"\x89PNG", "a picture"),
        (b"\xff\xd8\xff", "a picture"),
        (b"{\\rtf", "an RTF text"),
    ):
        if data.startswith(start):
            _wrong(name, shown)
    head = decode_text(data[:4096]).lstrip("\ufeff \r\n\t").casefold()
    if head.startswith(("<?xml", "<")):
        if "<html" in head or "<table" in head or "<!doctype html" in head or "<body" in head:
            _wrong("an HTML page (a web report or an error page)", shown)
        if "urn:schemas-microsoft-com:office:spreadsheet" in head:
            _wrong("an Excel 2003 XML file", shown)
        if "<!doctype" in head:
            refuse_doctype(shown)
        _wrong("an XML file", shown)
    if head.startswith(("{", "[")):
        _wrong("a JSON file", shown)
    if b"\x00" in data[:4096] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        damaged = suffix in (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
        if damaged:
            refuse("CORRUPT_FILE", "is damaged: its first bytes are not those of a workbook.", "Save or send it again.", shown)
        _wrong("a binary file of an unknown kind", shown)
    if suffix not in (".csv", ".tsv", ".txt", ".tab", ""):
        printable = sum(ch.isprintable() or ch in "\r\n\t" for ch in head) >= 0.95 * max(1, len(head))
        if printable and "\n" in head:
            _wrong(
                "a plain text file (CSV) with another extension",
                shown,
                "Rename it to .csv, or open it in Excel and save it as .xlsx.",
            )
        refuse("CORRUPT_FILE", "is damaged: its first bytes are not those of a workbook.", "Save or send it again.", shown)
    if len(data) > TEXT_BYTES_MAX:
        refuse(
            "FILE_TOO_LARGE",
            f"has {len(data) / 1e6:,.0f} MB of text; the largest that is read is {TEXT_BYTES_MAX / 1e6:,.0f} MB.",
            "Keep the demand columns and hourly rows only.",
            shown,
        )
    return "text"


def _wrong(name: str, shown: str, fix: str = "Open it in Excel and save it as .xlsx.") -> NoReturn:
    refuse("WRONG_FORMAT", f"is {name}, not a workbook.", fix, shown)


def refuse_doctype(shown: str) -> NoReturn:
    """Refuse a part that declares a DOCTYPE."""
    refuse(
        "UNSAFE_FILE",
        "declares a DOCTYPE, which no spreadsheet program writes; entities in it could fill the memory.",
        "Open it in Excel and save it as a new .xlsx.",
        shown,
    )


def _refuse_password(shown: str) -> NoReturn:
    refuse(
        "PASSWORD_PROTECTED",
        "is protected with a password.",
        "Open it in Excel, remove the password under File > Info > Protect Workbook, and save.",
        shown,
    )


def _sniff_ole(data: bytes, shown: str) -> FileKind:
    """Old binary office files and encrypted new ones share a container; its directory names the streams in UTF-16."""
    if "EncryptedPackage".encode("utf-16-le") in data or "EncryptionInfo".encode("utf-16-le") in data:
        _refuse_password(shown)
    if "Workbook".encode("utf-16-le") in data or "Book\0".encode("utf-16-le") in data:
        return "xls"
    for stream, name in (
        ("WordDocument", "a Word document"),
        ("PowerPoint Document", "a presentation"),
        ("__substg1.0", "an e-mail"),
    ):
        if stream.encode("utf-16-le") in data:
            _wrong(name, shown)
    refuse("CORRUPT_FILE", "is an old office file without a workbook in it.", "Open it in Excel and save it as .xlsx.", shown)


def _sniff_zip(data: bytes, shown: str) -> FileKind:
    encrypted = False
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            names = {info.filename for info in package.infolist()}
            if any(info.flag_bits & 1 for info in package.infolist()):
                _refuse_password(shown)
            manifest = "META-INF/manifest.xml"
            if manifest in names and package.getinfo(manifest).file_size < 1_000_000:
                encrypted = b"encryption-data" in package.read(manifest)
            mimetype = (
                package.read("mimetype")[:100] if "mimetype" in names and package.getinfo("mimetype").file_size < 1000 else b""
            )
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError, RuntimeError, KeyError):
        refuse_damaged_package(shown)
    if encrypted:
        _refuse_password(shown)
    if b"opendocument.spreadsheet" in mimetype:
        return "ods"
    if any(name.lower() == "xl/workbook.bin" for name in names):
        return "xlsb"
    if any(name.lower().startswith("xl/") for name in names):
        return "xlsx"
    if "content.xml" in names:
        if b"opendocument" in mimetype:
            _wrong("an OpenDocument file that holds no sheets", shown)
        return "ods"
    for start, name in (("word/", "a Word document"), ("ppt/", "a presentation"), ("Index/", "an Apple Numbers document")):
        if any(part.startswith(start) for part in names):
            _wrong(name, shown, "Export it as an Excel workbook (.xlsx).")
    if any(part.lower().endswith((".xlsx", ".xls", ".xlsm", ".csv", ".zip")) for part in names):
        _wrong("a zip archive with files in it", shown, "Unpack it and name the workbook inside.")
    if "[Content_Types].xml" in names or not names:
        refuse_damaged_package(shown)
    _wrong("a zip archive without a workbook in it", shown)


def refuse_damaged_package(shown: str) -> NoReturn:
    """Refuse a package that cannot be unpacked."""
    refuse("CORRUPT_FILE", "is damaged or incomplete: the package cannot be unpacked.", "Save, send or download it again.", shown)


def decode_text(data: bytes) -> str:
    """Text of a CSV file: a byte order mark decides, else UTF-8, else Windows Western European."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
