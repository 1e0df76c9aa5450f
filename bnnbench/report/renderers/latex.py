"""Renders the named tables of a report in LaTeX (booktabs, longtable)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bnnbench.notes import one_line
from bnnbench.report.blocks import MISSING, Block, TableBlock

REQUIREMENTS = "% Needs \\usepackage{booktabs} and \\usepackage{longtable}.\n"

COLUMN_TYPES = {"number": "r", "label": "l", "text": "p{45mm}"}
"""LaTeX column types by kind of column."""

ESCAPES = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "±": r"$\pm$",
    "·": r"$\cdot$",
    "²": "$^2$",
    "†": r"$^\dagger$",
    "‡": r"$^\ddagger$",
    "…": r"\dots{}",
    MISSING: "--",
}
"""Replacements for characters that are special in LaTeX or not supported."""


def paper(blocks: Iterable[Block]) -> str:
    """Render all tables with a name. Tables with the same name are joined, with row groups."""
    named: dict[str, list[TableBlock]] = {}
    for block in blocks:
        if isinstance(block, TableBlock) and block.name:
            named.setdefault(block.name, []).append(block)
    return REQUIREMENTS + "\n".join(map(table, named.values()))


def table(parts: Sequence[TableBlock]) -> str:
    """Render parts with the same name as one table that may span several pages."""
    first = parts[0]
    types = "".join(COLUMN_TYPES[column.kind] for column in first.columns)
    lines = [
        rf"\begin{{longtable}}{{{types}}}",
        rf"\caption{{{cell(first.caption)}}}\label{{tab:{first.name}}} \\",
        r"\toprule",
        " & ".join(cell(column.title) for column in first.columns) + r" \\",
        r"\endhead",
    ]
    for part in parts:
        lines.append(r"\midrule")
        heading = rf"\textit{{{cell(part.group)}}}"
        lines.append(rf"\multicolumn{{{len(first.columns)}}}{{l}}{{{heading}}} \\")
        lines += [r"\quad " + " & ".join(map(cell, row)) + r" \\" for row in part.rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{longtable}", ""])


def cell(text: str) -> str:
    """Escape special and unprintable characters, and typeset numbers in math mode."""
    if re.fullmatch(r"[-+]?[\d.]+(e[-+]\d+)?( ± [\d.]+)?", text):
        return "$" + text.replace("±", r"\pm") + "$"
    return "".join(ESCAPES.get(sign, sign) for sign in one_line(text))
