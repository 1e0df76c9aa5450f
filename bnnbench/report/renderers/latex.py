"""The named tables of a report for a paper (booktabs, longtable)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bnnbench.report.numbers import MISSING
from bnnbench.report.section import Section, Table

NEEDS = "% Needs \\usepackage{booktabs} and \\usepackage{longtable}.\n"

FORMS = {"numbers": "r", "words": "l", "text": "p{45mm}"}
"""Of a column, by what it holds."""

SIGNS = {
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
    "…": r"\dots{}",
    MISSING: "--",
}
"""What LaTeX takes for something else, or does not have."""


def paper(sections: Iterable[Section]) -> str:
    """Every table that has a name; those of one name become one, their groups as row groups."""
    named: dict[str, list[Table]] = {}
    for block in (block for section in sections for block in section.blocks):
        if isinstance(block, Table) and block.name:
            named.setdefault(block.name, []).append(block)
    return NEEDS + "\n".join(map(table, named.values()))


def table(parts: Sequence[Table]) -> str:
    """A table with row groups that may run over several pages.

    Args:
        parts: of one name.
    """
    first = parts[0]
    forms = "".join(FORMS[column.holds] for column in first.columns)
    lines = [
        rf"\begin{{longtable}}{{{forms}}}",
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
    """`text` with LaTeX's special characters made plain and its numbers in math mode."""
    if re.fullmatch(r"[-+]?[\d.]+(e[-+]\d+)?( ± [\d.]+)?", text):
        return "$" + text.replace("±", r"\pm") + "$"
    return "".join(SIGNS.get(sign, sign) for sign in text)
