"""The look of the plan workbook: colours, number formats and cell roles, each defined once.

Roles follow the convention of finance models: inputs blue on pale yellow, formulas black, formulas that read another sheet
green, decisions of the solver bold on pale blue. Purchase types keep one colour everywhere (Okabe-Ito palette, told apart by
colour-blind readers) and one fill pattern, so that charts read in greyscale too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from optimizer.report.words import currency_sign

FONT = "Calibri"
FONT_SIZE = 10
INK = "#1F2933"
MUTED = "#5F6B73"
HEADER_FILL = "#1F4E5F"
BAND_FILL = "#E8F0F2"
LINE = "#B8C4C8"
INPUT_INK, INPUT_FILL = "#0000FF", "#FFFBE0"
CROSS_INK = "#00703C"
DECISION_FILL = "#DDEBF7"
GOOD_INK, GOOD_FILL = "#1B5E20", "#D5EDDA"
ALARM_INK, ALARM_FILL = "#9C0006", "#F8C9C4"
CAUTION_FILL = "#FFF1D0"
DEMAND_INK, NEED_INK = "#000000", "#9A3B00"

CHANGED_INK = "#D55E00"

Role = Literal["calc", "cross", "input", "changed", "decision", "total"]


@dataclass(frozen=True)
class Paint:
    """How a purchase type is drawn in charts: solid colour (thinned by `clear` percent), or a pattern of colour on paper."""

    colour: str
    pattern: str = ""
    paper: str = "#FFFFFF"
    clear: int = 0


PAINTS: dict[str, Paint] = {
    # Thinned, so that the lines over it are seen in greyscale too.
    "owned": Paint("#0072B2", clear=20),
    "reserved": Paint("#56B4E9", clear=45),
    "flex": Paint("#009E73", "wide_upward_diagonal", "#BFE6DA"),
    "on_demand": Paint("#E69F00", "dark_horizontal", "#FFE3A8"),
    "spot": Paint("#F0E442", "small_check", "#8F8720"),
    "api": Paint("#CC79A7", "wide_downward_diagonal", "#F3DEEA"),
}

PART_COLOURS = {
    "held": "#0072B2",
    "used": "#E69F00",
    "upfront": "#56B4E9",
    "energy": "#009E73",
    "site": "#999999",
    "discounts": "#D55E00",
    "api": "#CC79A7",
}


def number_formats(currency: str) -> dict[str, str]:
    """Excel number formats by style name. What rounds to zero shows as "-", except where it is a name (hours) or a share."""
    sign = f'"{currency_sign(currency)}"'
    return {
        "text": "@",
        "plain": "General",
        "int": '[>=0.5]#,##0;[<=-0.5]-#,##0;"-"',
        "n1": '[>=0.05]#,##0.0;[<=-0.05]-#,##0.0;"-"',
        "n2": '[>=0.005]#,##0.00;[<=-0.005]-#,##0.00;"-"',
        "hour": "00",
        "usd0": f'[>=0.5]{sign}#,##0;[<=-0.5]-{sign}#,##0;"-"',
        "usd2": f'[>=0.005]{sign}#,##0.00;[<=-0.005]-{sign}#,##0.00;"-"',
        "usd_mtok": f'[>=1]{sign}#,##0.00;[=0]"-";{sign}0.0000',
        "pct": "0.0%",
        "pct2": "0.00%",
        "date": "yyyy-mm-dd",
        # Excel shows logical values as they are; LibreOffice 7.4 fails at printing one that has no format of its own and a rule.
        "bool": '"TRUE";"TRUE";"FALSE"',
        "sci": "0E+00",
    }


LEFT_STYLES = frozenset({"text"})
CENTRE_STYLES = frozenset({"bool", "hour", "date"})


class Formats:
    """Formats of one workbook, made once per combination."""

    def __init__(self, workbook: Any, currency: str) -> None:
        self._workbook = workbook
        self._numbers = number_formats(currency)
        self._made: dict[tuple[tuple[str, Any], ...], Any] = {}

    def custom(self, **properties: Any) -> Any:
        """A format with these properties on top of the house font."""
        key = tuple(sorted(properties.items()))
        made = self._made.get(key)
        if made is None:
            made = self._workbook.add_format(
                {"font_name": FONT, "font_size": FONT_SIZE, "font_color": INK, "valign": "vcenter", **properties}
            )
            self._made[key] = made
        return made

    def cell(self, style: str, role: Role = "calc", *, indent: int = 0) -> Any:
        """The format of a table cell: a number style in a role. indent: of text that follows a column of figures."""
        properties: dict[str, Any] = {"num_format": self._numbers[style]}
        if style in LEFT_STYLES:
            properties.update(align="left", indent=indent)
        elif style in CENTRE_STYLES:
            properties["align"] = "center"
        if style in {"pct", "pct2"}:
            properties["italic"] = True
        if role == "cross":
            properties["font_color"] = CROSS_INK
        elif role == "input":
            properties.update(font_color=INPUT_INK, bg_color=INPUT_FILL, locked=False, border=1, border_color="#E6DFB8")
        elif role == "changed":
            properties.update(
                font_color=INPUT_INK, bg_color=INPUT_FILL, locked=False, bold=True, border=2, border_color=CHANGED_INK
            )
        elif role == "decision":
            properties.update(bold=True, bg_color=DECISION_FILL)
        elif role == "total":
            properties.update(bold=True, top=1, top_color=INK, bg_color=BAND_FILL)
        return self.custom(**properties)

    def number(self, style: str) -> str:
        """The number format of a style."""
        return self._numbers[style]

    def header(self, style: str, *, indent: int = 0) -> Any:
        """The header over a column: right-aligned over numbers, as far in as the text under it."""
        align = "left" if style in LEFT_STYLES else "center" if style in CENTRE_STYLES else "right"
        return self.custom(
            bold=True, font_color="#FFFFFF", bg_color=HEADER_FILL, text_wrap=True, valign="bottom", align=align,
            indent=indent if align == "left" else 0,
        )

    def unit(self, style: str) -> Any:
        """The unit under a header."""
        align = "left" if style in LEFT_STYLES else "center" if style in CENTRE_STYLES else "right"
        return self.custom(italic=True, font_color=MUTED, bg_color=BAND_FILL, align=align, font_size=9)

    def title(self) -> Any:
        """The title of a sheet."""
        return self.custom(bold=True, font_size=16, font_color=HEADER_FILL)

    def heading(self) -> Any:
        """The heading of a table inside a sheet."""
        return self.custom(bold=True, font_size=11, font_color=HEADER_FILL)

    def note(self) -> Any:
        """A line of explanation."""
        return self.custom(font_color=MUTED, italic=True, font_size=9)

    def plain(self) -> Any:
        """Running text in one line."""
        return self.custom()
