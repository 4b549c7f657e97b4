"""The reference of every input sheet and column as Markdown, made from the schema."""

from __future__ import annotations

from collections.abc import Iterable

from optimizer.workbook.columns import Column, Table, kind_words
from optimizer.workbook.schema import POLICY, POLICY_KEYS, TABLES

_INTRODUCTION = """# Input sheets

A header may be the column's key or its label. **Bold** columns are required; an empty cell has the default. Shares are 0..1 (a
cell formatted as a percentage is one). Lists are separated by `;`. Names of GPUs and models join without case, spaces, hyphens
and underscores, and through the catalog of aliases. Columns that nobody knows are passed over with a warning.

A sheet that is present is the whole table, with headers only it is empty; a sheet that is absent takes its catalog where there is
one.
"""


def reference_page() -> str:
    """Every sheet with its meaning, and every column with label, unit, what to type, default and meaning."""
    parts = [_INTRODUCTION]
    for table in TABLES:
        parts.append(_section(table))
        if table is POLICY:
            parts.append("Keys of Policy:\n\n" + _rows(POLICY_KEYS))
    return "\n".join(parts)


def _section(table: Table) -> str:
    lines = [f"## {table.sheet}", "", table.meaning, ""]
    if table.catalog:
        lines += [f"Catalog: `{table.catalog}`.", ""]
    lines += [f"Unique by: {', '.join(f'`{key}`' for key in table.key_columns)}.", "", _rows(table.columns)]
    return "\n".join(lines)


def _rows(columns: Iterable[Column]) -> str:
    lines = ["| column | label | unit | type | default | meaning |", "|---|---|---|---|---|---|"]
    for column in columns:
        key = f"**{column.key}**" if column.required else column.key
        default = "required" if column.required else column.default_words() or "empty"
        cells = (key, column.label, column.unit, kind_words(column), default, column.meaning)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
