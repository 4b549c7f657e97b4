"""Forecasts in formats that no library here writes: xls (saved by LibreOffice, packed); xlsb, ods, strict OOXML by hand."""

from __future__ import annotations

import base64
import io
import struct
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

from tests.workbook.forge import PROFILE, demand_sheet, part, repack, write_xlsx

_RELATIONSHIPS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def zipped(parts: dict[str, str | bytes]) -> bytes:
    """A zip package of these parts."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return stream.getvalue()


def xls() -> bytes:
    """The plain forecast as Excel 97-2003 writes it."""
    return zlib.decompress(base64.b85decode(_XLS))


def ods(values: Sequence[Any] = PROFILE, *, encrypted: bool = False) -> bytes:
    """The plain forecast as an OpenDocument sheet."""

    def cell(value: Any) -> str:
        if isinstance(value, str):
            return f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'
        return f'<table:table-cell office:value-type="float" office:value="{value}"><text:p>{value}</text:p></table:table-cell>'

    lines = [("Hour", "Output tok/s"), *enumerate(values)]
    body = "".join(f"<table:table-row>{cell(first)}{cell(second)}</table:table-row>" for first, second in lines)
    start = "urn:oasis:names:tc:opendocument:xmlns:"
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content xmlns:office="{start}office:1.0" '
        f'xmlns:table="{start}table:1.0" '
        f'xmlns:text="{start}text:1.0" office:version="1.2"><office:body><office:spreadsheet>'
        f'<table:table table:name="Demand">{body}'
        "</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    lock = f'<manifest:encryption-data xmlns:manifest="{start}manifest:1.0"/>' if encrypted else ""
    manifest = (
        f'<?xml version="1.0" encoding="UTF-8"?><manifest:manifest xmlns:manifest="{start}manifest:1.0" manifest:version="1.2">'
        '<manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/>'
        f'<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml">{lock}</manifest:file-entry>'
        "</manifest:manifest>"
    )
    return zipped(
        {"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "content.xml": content, "META-INF/manifest.xml": manifest}
    )


def _record(kind: int, body: bytes = b"") -> bytes:
    """One record of a binary workbook: kind and length in 7-bit groups."""
    head = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
    size, length = len(body), b""
    while True:
        group, size = size & 0x7F, size >> 7
        length += bytes([group | (0x80 if size else 0)])
        if not size:
            return head + length + body


def _text(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def xlsb(values: Sequence[float] = PROFILE) -> bytes:
    """The plain forecast as a binary workbook."""
    book = (
        _record(131)
        + _record(143)
        + _record(156, struct.pack("<II", 0, 1) + _text("rId1") + _text("Demand"))
        + _record(144)
        + _record(132)
    )

    def row(index: int) -> bytes:
        return _record(0, struct.pack("<IIHBBBI", index, 0, 300, 0, 0, 0, 0))

    def cell(column: int, value: float | str) -> bytes:
        body = _text(value) if isinstance(value, str) else struct.pack("<d", value)
        return _record(6 if isinstance(value, str) else 5, struct.pack("<II", column, 0) + body)

    sheet = _record(129) + _record(148, struct.pack("<IIII", 0, 24, 0, 1)) + _record(145)
    for index, (first, second) in enumerate([("Hour", "Output tok/s"), *enumerate(values)]):
        sheet += row(index) + cell(0, first) + cell(1, second)
    sheet += _record(146) + _record(130)
    types = (
        '<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="bin" ContentType="application/vnd.ms-excel.sheet.binary.macroEnabled.main"/></Types>'
    )

    def relation(kind: str, target: str) -> str:
        return (
            f'<?xml version="1.0"?><Relationships xmlns="{_RELATIONSHIPS}"><Relationship Id="rId1" Type="{_OFFICE}/{kind}" '
            f'Target="{target}"/></Relationships>'
        )

    return zipped(
        {
            "[Content_Types].xml": types,
            "_rels/.rels": relation("officeDocument", "xl/workbook.bin"),
            "xl/_rels/workbook.bin.rels": relation("worksheet", "worksheets/sheet1.bin"),
            "xl/workbook.bin": book,
            "xl/worksheets/sheet1.bin": sheet,
        }
    )


def strict_xlsx() -> bytes:
    """The plain forecast as Excel's `Strict Open XML` writes it: other namespaces."""
    data = write_xlsx(demand_sheet())
    change: dict[str, bytes | None] = {}
    for name in (
        "xl/workbook.xml",
        "xl/worksheets/sheet1.xml",
        "xl/sharedStrings.xml",
        "xl/styles.xml",
        "xl/_rels/workbook.xml.rels",
        "_rels/.rels",
    ):
        text = part(data, name)
        text = text.replace(
            b"http://schemas.openxmlformats.org/spreadsheetml/2006/main", b"http://purl.oclc.org/ooxml/spreadsheetml/main"
        )
        text = text.replace(
            b"http://schemas.openxmlformats.org/officeDocument/2006/relationships",
            b"http://purl.oclc.org/ooxml/officeDocument/relationships",
        )
        change[name] = text
    return repack(data, change)


def inline_xlsx(header: str = "Output tok/s", values: Sequence[Any] = PROFILE, *, declare_strings: bool = False) -> bytes:
    """The plain forecast from a minimal generator: inline strings, no styles, no dimension; perhaps a missing part."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    rows = (
        f'<row r="1"><c r="A1" t="inlineStr"><is><t>Hour</t></is></c><c r="B1" t="inlineStr"><is><t>{header}</t></is></c></row>'
        + "".join(
            f'<row r="{hour + 2}"><c r="A{hour + 2}"><v>{hour}</v></c><c r="B{hour + 2}"><v>{value}</v></c></row>'
            for hour, value in enumerate(values)
        )
    )
    return package(f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>', declare_strings=declare_strings)


def package(sheet: str | bytes, *, declare_strings: bool = False) -> bytes:
    """A minimal xlsx around one sheet part."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    strings = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kinds}.sharedStrings+xml"/>' if declare_strings else ""
    return zipped(
        {
            "[Content_Types].xml": '<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/>'
            f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kinds}.worksheet+xml"/>{strings}</Types>',
            "_rels/.rels": f'<Relationships xmlns="{_RELATIONSHIPS}"><Relationship Id="rId1" Type="{_OFFICE}/officeDocument" '
            'Target="xl/workbook.xml"/>'
            "</Relationships>",
            "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{_OFFICE}"><sheets>'
            '<sheet name="Demand" sheetId="1" r:id="rId1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_RELATIONSHIPS}">'
            f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" '
            'Target="worksheets/sheet1.xml"/></Relationships>',
            "xl/worksheets/sheet1.xml": sheet,
        }
    )


def ole(*streams: str) -> bytes:
    """The start of an OLE container whose directory names these streams."""
    return (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + b"".join(stream.encode("utf-16-le") + bytes(64) for stream in streams)
    )


_XLS = (
    "c-rk)T})g>6h8Ov4|kV^y}SHx5m##YT`06kOVt(%^v|d?*w&_Llm!+<7M3iF(M036l?NM}So_eICZ>irjXyEb2Q`9EjnQaK`e368<-"
    "us`!`f&}6XAO1%nZHIAz{H7wVazXGv}NCnRCv}+;6@P%wB#!bRCw_gW!M#%L8s3rXhQ!U;^j@Td*uk!qx`;r)XZpY!98de=cOU=Q+p*vPbN1u8242|3%%9z%"
    "K=1*axE+C*gU>hKf;R?Cq_l&cZ6ot(G?WUwi+|e=|SsKwioIna^kT??cW*&PVq1BLD)(LF5ADLgXUS34jvhQsgq^5b`GEa^!oEE0FI+4kO=(T#39H`F`Xr$W"
    "_SI$TecDbs}cmfayjdH(}ho;g{A$9s_sL?ShZ<zGPcYdw(4@;yvdK>BSuKNf=|g(GiXJh5spPr!hn|Hil_b(%qQS;1Z(w@GhaBP`I1452+2pEkdJ@>uogla}"
    "-umm=CP}M^xt;A<d|V-;<WVMn<4Pj@AKDh{F){q8}W>5+S(4?CT{e!K_2uOF696dU7kAKA2)Qb|5wyOGe|fWII#vyA`(C>2#RktUBSptq#|-"
    "#Nn>Pr*Q35>s-&vXO`o&E8vk8@VXUn&mH&$9qlR&7K_cagW^EiO>r>oq_`lRLvdl+W%ZE$PNFtXI=QuW#zvx}{jZ{ZYWU4)1~R~ra~j-"
    "$6U<9zx~VUBhIwOV#`4x~=k1W2VRrNxT7v<nH1zt$wAO}U8&v#ia=&k&|2NRD8-"
    "Jkd{}Zi87iR}HdN47O#O$t#)YwESoJtID9k=k@Frd@P&y7B#2>JG!7l~MBhYNQ?<`O65!>0Rj0?cd!)QySFHFT8UnA;I*eTwij+-"
    "`9TTS|y%r!Z&6Sw}VMDLhSO<>7ROu$L*U!uo>)jDBpbwxw$p+x@Av)|S4E&cuVG0$OYxdy8nLKKGfKp4nCzYj6~E40w^I4cb}5FJ_ugQ5hGQ<Izo#j&K*D`3"
    "ch$n6AJa3e2g%Tnfysz;YCrp};%}%&Wk16_`(f<teay1?E>^rUDBnu%H4fP+)}$tVn?sE3gs;R=NzE7Y}Hz6I{|zVg)|MQEHT@Q}}t1<uR1YZVIpEOVmNKm%"
    "?p6i8@K<SG1d6iMmJ*QrMm=QQl%Ph24IM=8zns@QX5u8YEZnvJDdTkX%XO+yRO5F;!8R?3HLP$#r~g&q~xsawBgiEzvwaD+*7)B2hl89UOgAqJEMe;461Uq9"
    ")0ED17~*L<4*U_;`CH%GYH-"
    "h2QRyXaUI&^Of8z(L$0R<L!ndTEy3d!m|Yu<tuxPx3IXrB_yBVt>;O!l;kIE`}PYQW;4nh<i0Os2xrZ<*bk0O6P0ylY6$maOvP1S2QSrQb(jw9(Sz`zo8OlJ"
    "9wJ}HF6DmGCfNbfAbR>i!`_f4pBG+O@=s{Na(MY0#58n%uJNq>?9Tt_P+u}Jo)}1l_dVAai-"
    "&jZY&a6_jm6_J(!Tbgfq|CwynQt8OV>;b7LY4fv<tJ7Z`{1q^|blcc?0UJKlqL<_zU8AV)-"
    "rNebgov<q`2tIxgNy{o=heCLI3H^Zf0@(oLeCq&w2(M;o`Nf6(mdY{pLq#?`N`UTWNAUbu+kkKB5vlifm>VJF2qP2L1d+gJ~acOi(knw+yP#wg#8Y|eYf#*W"
    "33<3owjrE_H})V!^+2?;jn-$#Gv{~ywyWj;Vvhv`(>$J0+>?@1WO7Z)4HaMt5zhoiWIf|bR8m7QK`=N;JZ2-"
    ";{Dj^UX#_3yC#gIP_TTI55Eex?iGgRwR5pBMYj_Ww`4_*X-(Qg|FDaQ-9sE@gXv2(@5<_JkoRe6J=DS($1?|E?_7KZ5-"
    "BV*j1kLm!PHMjDvicv{vl|E;$E@Am(He*uOq4b}"
)
