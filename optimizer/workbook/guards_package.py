"""What a zip package holds, learned by unpacking it in pieces before any parser sees it: sizes, DOCTYPEs, rows and cells."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from optimizer.workbook.guards import refuse, refuse_damaged_package, refuse_doctype

UNPACKED_BYTES_MAX = 250_000_000
PARTS_MAX = 5_000
PROLOG_BYTES_MAX = 65_536
CHUNK_BYTES = 1 << 20
ELEMENTS_ENOUGH = 300_000

_ROOT = re.compile(rb"<[A-Za-z_]")
#: Parts that are not sheets. Those that openpyxl parses as well are heavy when they are large.
_HEAVY = re.compile(
    r"/?xl/(sharedstrings\.xml|styles\.xml|pivot.*|comments.*|threadedcomments.*|charts?/.*|drawings/.*|queryTables/.*|tables/.*)$",
    re.I,
)
_NO_SHEET = re.compile(
    r"/?(docprops/.*|customxml/.*|_rels/.*|.*/_rels/.*|xl/(theme|media|externallinks|workbook).*|\[content_types\]\.xml)$", re.I
)
_SPREAD = re.compile(rb'<(?:\w+:)?(?:mergeCell|hyperlink)\s[^>]*?ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')


@dataclass(frozen=True)
class PackageFacts:
    """What the guards learned about a package without parsing it.

    sheet_bytes: unpacked sheet XML. heavy_bytes: shared strings, styles, comments, charts, pivots. elements: rows and cells in
    the sheets (counting stops at ELEMENTS_ENOUGH in each). spread_cells: cells under merges and hyperlinks. has_formulas: a
    sheet holds a formula. strict: strict OOXML. macros: macro parts. links: targets of external links.
    """

    sheet_bytes: int
    heavy_bytes: int
    elements: int
    spread_cells: int
    has_formulas: bool
    strict: bool
    macros: bool
    links: tuple[str, ...]


def inspect_package(data: bytes, shown: str) -> PackageFacts:
    """Check sizes and DOCTYPEs and count what there is to parse. Raises Refused: FILE_TOO_LARGE, UNSAFE_FILE, CORRUPT_FILE."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            infos = package.infolist()
            _check_sizes(infos, shown)
            parts = [info for info in infos if info.filename.lower().endswith((".xml", ".rels", ".vml"))]
            for info in parts:
                _check_prolog(package, info, shown)
            heavy = [info for info in parts if _HEAVY.match(info.filename)]
            sheets = [info for info in parts if not _HEAVY.match(info.filename) and not _NO_SHEET.match(info.filename)]
            counts = [_count(package, info) for info in sheets]
            book = next((info for info in infos if info.filename.lower().lstrip("/") == "xl/workbook.xml"), None)
            start = b""
            if book is not None:
                with package.open(book) as part:
                    start = part.read(4096)
            return PackageFacts(
                sheet_bytes=sum(info.file_size for info in sheets),
                heavy_bytes=sum(info.file_size for info in heavy),
                elements=sum(count[0] for count in counts),
                spread_cells=sum(count[1] for count in counts),
                has_formulas=any(count[2] for count in counts),
                strict=b"purl.oclc.org/ooxml" in start,
                macros=any("vbaproject" in info.filename.lower() or "/macrosheets/" in info.filename.lower() for info in infos),
                links=_external_links(package, infos),
            )
    except (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError, KeyError):
        # NotImplementedError (an unknown compression) is a RuntimeError.
        refuse_damaged_package(shown)


def _check_sizes(infos: list[zipfile.ZipInfo], shown: str) -> None:
    total = sum(info.file_size for info in infos)
    fix = "Copy the demand as values into a new workbook and save that."
    if total > UNPACKED_BYTES_MAX:
        limit = f"the most that is read is {UNPACKED_BYTES_MAX / 1e6:,.0f} MB"
        refuse("FILE_TOO_LARGE", f"unpacks to {total / 1e6:,.0f} MB; {limit}.", fix, shown)
    if len(infos) > PARTS_MAX:
        refuse("FILE_TOO_LARGE", f"holds {len(infos):,} parts; the most that is read is {PARTS_MAX:,}.", fix, shown)


def _check_prolog(package: zipfile.ZipFile, info: zipfile.ZipInfo, shown: str) -> None:
    """Refuse a DOCTYPE: it can only stand before the root element, so only that much is unpacked."""
    prolog = b""
    with package.open(info) as part:
        while len(prolog) < PROLOG_BYTES_MAX:
            chunk = part.read(2048)
            if not chunk:
                return
            prolog += chunk.replace(b"\x00", b"")
            if b"<!doctype" in prolog.lower():
                refuse_doctype(shown)
            body = re.sub(rb"<\?.*?\?>|<!--.*?-->", b"", prolog, flags=re.DOTALL)
            if _ROOT.search(body):
                return
    refuse_doctype(shown)


def _pieces(package: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """The part in pieces that end with a tag, without the zero bytes of UTF-16."""
    rest = b""
    with package.open(info) as part:
        while chunk := part.read(CHUNK_BYTES):
            piece = rest + chunk.replace(b"\x00", b"")
            cut = piece.rfind(b">") + 1
            rest = piece[cut:] if len(piece) - cut < CHUNK_BYTES else b""
            yield piece[:cut]
    yield rest


def _count(package: zipfile.ZipFile, info: zipfile.ZipInfo) -> tuple[int, int, bool]:
    """Rows and cells of a sheet, cells under its merges and hyperlinks, and whether it holds a formula."""
    elements, spread, has_formulas, prefix = 0, 0, False, None
    for piece in _pieces(package, info):
        if prefix is None:
            root = re.search(rb"<(\w+:)?worksheet[\s>]", piece)
            prefix = (root[1] or b"") if root else b""
        cell, row, formula = b"<" + prefix + b"c", b"<" + prefix + b"row", b"<" + prefix + b"f"
        elements += sum(piece.count(tag + end) for tag in (cell, row) for end in (b" ", b">", b"\n", b"\r", b"\t"))
        has_formulas = has_formulas or any(formula + end in piece for end in (b">", b" ", b"/"))
        for left, top, right, bottom in _SPREAD.findall(piece):
            spread += (abs(int(bottom) - int(top)) + 1) * (abs(_column(right) - _column(left)) + 1)
        if elements >= ELEMENTS_ENOUGH:
            break
    return elements, spread, has_formulas


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number


def _external_links(package: zipfile.ZipFile, infos: list[zipfile.ZipInfo]) -> tuple[str, ...]:
    targets = []
    for info in infos:
        if re.match(r"/?xl/externallinks/_rels/[^/]+\.rels$", info.filename, re.IGNORECASE) and info.file_size < 1_000_000:
            text = package.read(info).decode("utf-8", "replace")
            targets += re.findall(r'Target="([^"]+)"', text)
    return tuple(dict.fromkeys(targets))
