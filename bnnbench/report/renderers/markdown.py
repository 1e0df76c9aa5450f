"""The report as a Markdown page, with links to its figures and tables."""

from __future__ import annotations

from collections.abc import Iterable

from tabulate import tabulate

from bnnbench.report.section import (
    Block,
    Data,
    Drawing,
    Heading,
    Items,
    Paragraph,
    Section,
    Table,
)


def page(sections: Iterable[Section]) -> str:
    """The whole page."""
    return "\n\n".join(text(block) for one in sections for block in one.blocks) + "\n"


def text(block: Block) -> str:
    """One block."""
    match block:
        case Heading():
            return f"{'#' * block.level} {block.text}"
        case Paragraph():
            return block.text
        case Items():
            return "\n".join(f"- {item}" for item in block.texts)
        case Table():
            return table(block)
        case Drawing():
            return f"![{block.caption}]({block.name}.png)"
        case Data():
            return f"{block.text} [{block.name}.csv]({block.name}.csv)."


def table(block: Table) -> str:
    """Words to the left, numbers to the right; what the numbers are a paragraph says."""
    align = ["right" if column.holds == "numbers" else "left" for column in block.columns]
    names = [column.title for column in block.columns]
    rows = [[cell.replace("|", "\\|") for cell in row] for row in block.rows]
    return tabulate(rows, names, tablefmt="pipe", colalign=align, disable_numparse=True)
