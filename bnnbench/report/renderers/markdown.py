"""Renders a report as a Markdown page with links to its figures and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tabulate import tabulate

from bnnbench.report.blocks import (
    Block,
    DataFile,
    FigureBlock,
    Heading,
    ItemList,
    Paragraph,
    TableBlock,
)
from bnnbench.results.glossary import NOTATION, Term

SEE_GLOSSARY = "Definitions and formulas: [glossary.md](glossary.md)."
"""The last line of a report."""


def page(blocks: Iterable[Block]) -> str:
    """Render a whole page; no text of it is HTML."""
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", "\n\n".join(map(text, blocks)) + "\n")


def text(block: Block) -> str:
    """Render one block."""
    match block:
        case Heading():
            return f"{'#' * block.level} {block.text}"
        case Paragraph():
            return block.text
        case ItemList():
            return "\n".join(f"- {item}" for item in block.texts)
        case TableBlock():
            return table(block)
        case FigureBlock():
            return f"![{block.name.replace('_', ' ')}]({block.name}.png)\n\n{block.caption}."
        case DataFile():
            return f"{block.text} [{block.name}.csv]({block.name}.csv)."


def table(block: TableBlock) -> str:
    """Render a table, without its title and caption."""
    align = ["right" if column.kind == "number" else "left" for column in block.columns]
    names = [column.title for column in block.columns]
    rows = [[cell(content) for content in row] for row in block.rows]
    return str(tabulate(rows, names, tablefmt="pipe", colalign=align, disable_numparse=True))


def cell(content: str) -> str:
    """Return the content of a cell of a table."""
    return content.replace("|", "\\|")


def glossary(terms: Sequence[Term]) -> str:
    """All entries of the glossary, each under a heading."""
    named = {term.key: term for term in terms}
    return "\n\n".join([NOTATION, *(entry(term, named) for term in terms)])


def entry(term: Term, named: Mapping[str, Term]) -> str:
    """One entry, with links to related entries."""
    links = [f"[{named[key].name}](#{named[key].anchor})" for key in term.see]
    fields = {
        "Computed": term.computed,
        "Where": term.where,
        "Source": term.source,
        "See also": ", ".join(links),
    }
    parts = [f"## {term.name}", term.text]
    parts += [f"```math\n{term.formula}\n```"] if term.formula else []
    return "\n\n".join([*parts, "\n".join(f"- **{k}**: {v}" for k, v in fields.items() if v)])
