"""The report as a Markdown page, with links to its figures and tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

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
from bnnbench.results.glossary import NOTATION, Term

SEE_GLOSSARY = "What each number is, with its formula: [glossary.md](glossary.md)."
"""The last line of a report's page."""


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


def glossary_page(terms: Sequence[Term]) -> str:
    """What every number is, as a page of its own."""
    return f"# Glossary\n\n{glossary(terms)}\n"


def glossary(terms: Sequence[Term]) -> str:
    """What every number is, an entry under a heading each, in their order."""
    named = {term.key: term for term in terms}
    return "\n\n".join([NOTATION, *(entry(term, named) for term in terms)])


def entry(term: Term, named: Mapping[str, Term]) -> str:
    """One of them, with links to the others that it names."""
    links = [f"[{named[key].name}](#{named[key].anchor})" for key in term.see]
    said = {
        "Computed": term.computed,
        "Where": term.where,
        "Source": term.source,
        "See also": ", ".join(links),
    }
    parts = [f"## {term.name}", term.text]
    parts += [f"```text\n{term.formula}\n```"] if term.formula else []
    return "\n\n".join([*parts, "\n".join(f"- **{k}**: {v}" for k, v in said.items() if v)])
