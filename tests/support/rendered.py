"""Pages as GitHub renders them, by its program `cmark-gfm`."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from cmarkgfm.cmark import Options, markdown_to_html_with_extensions
from latex2mathml.converter import convert

ROOT = Path(__file__).parents[2]

PAGES = sorted(
    page
    for pattern in ("*.md", ".github/**/*.md", "data/**/*.md", "docs/**/*.md", "docs/**/*.ipynb")
    for page in ROOT.glob(pattern)
)
"""All pages of the repository."""

EXTENSIONS = ("table", "strikethrough", "autolink", "tagfilter", "tasklist")

OPTIONS = Options.CMARK_OPT_FOOTNOTES | Options.CMARK_OPT_GITHUB_PRE_LANG

FENCED = re.compile(r"^ *(`{3,})([^\n]*)\n(.*?)^ *\1$", re.M | re.S)

FORMULA = re.compile(r"(?<![\\$\w-])\$(?![\s$])([^$`\n]+)(?<!\s)\$(?![$\w-])")
"""A formula in a line. GitHub requires a blank or punctuation next to the dollar signs."""

NOT_PROSE = re.compile(r"<(pre|code|summary)\b.*?</\1>", re.S)
"""Code, and the headings of folded parts."""

TABLE = re.compile(r"(?:^ *\|.*\n)+", re.M)

NO_WORD = re.compile(
    r"\\(text|math\w+|begin|end)\{[^}]*\}|\\, d[a-z]\b|\\[a-zA-Z]+|[_^]\{[a-z]{2}\}"
)
"""Letters in formulas that are no word: commands, their text, differentials and two indices."""

LITERAL = re.compile(r"\]\(|\[\^|`|~~|\*\*|__|(?<!\w)[*_]\w|</?[a-z]|<!--|^ *[#|]", re.M)
"""Marks of Markdown and HTML that a reader must not see."""


def text_of(shown: str) -> str:
    """Return the text of HTML."""
    return html.unescape(re.sub(r"<[^>]*>", "", re.sub(r"<!--.*?-->", "", shown, flags=re.S)))


@dataclass(frozen=True)
class Rendered:
    """What a reader sees of a text in Markdown."""

    source: str

    @cached_property
    def html(self) -> str:
        """The page without blocks of code."""
        options = OPTIONS | Options.CMARK_OPT_UNSAFE
        shown = markdown_to_html_with_extensions(self.source, options, EXTENSIONS)
        return re.sub(r"<pre.*?</pre>", "", shown, flags=re.S)

    @cached_property
    def prose(self) -> str:
        """The text that is neither code nor a formula."""
        return FORMULA.sub("", text_of(NOT_PROSE.sub("", self.html)))

    @cached_property
    def code(self) -> list[str]:
        """Code within lines."""
        return [text_of(span) for span in re.findall(r"<code>(.*?)</code>", self.html, re.S)]

    @cached_property
    def links(self) -> list[str]:
        """Addresses of links and pictures."""
        return [html.unescape(link) for link in re.findall(r'(?:href|src)="(.*?)"', self.html)]

    @cached_property
    def anchors(self) -> set[str]:
        """The anchors that GitHub gives to headings."""
        found: dict[str, int] = {}
        for heading in re.findall(r"<h\d>(.*?)</h\d>", self.html, re.S):
            slug = re.sub(r"[^\w\- ]", "", text_of(heading).lower()).replace(" ", "-")
            found[slug] = found.get(slug, 0) + 1
        return {f"{slug}-{k}" if k else slug for slug, n in found.items() for k in range(n)}

    @cached_property
    def formulas(self) -> list[str]:
        """Formulas of lines and blocks, as the source has them."""
        blocks = [text for _, kind, text in FENCED.findall(self.source) if kind == "math"]
        return [*FORMULA.findall(re.sub(r"`[^`]*`", "", FENCED.sub("", self.source))), *blocks]

    def faults(self) -> list[str]:
        """Return what GitHub does not show as the source means it."""
        return [*self._literal_text(), *self._broken_tables(), *self._broken_formulas()]

    def _literal_text(self) -> Iterator[str]:
        """Yield lines that are shown as they are: in blocks of HTML, or with marks left over."""
        safe = markdown_to_html_with_extensions(self.source, OPTIONS, EXTENSIONS)
        of_markdown = text_of(NOT_PROSE.sub("", safe)).splitlines()
        for line in text_of(NOT_PROSE.sub("", self.html)).splitlines():
            if line not in of_markdown:
                yield f"in a block of HTML: {line}"
        yield from (f"literal: {line}" for line in self.prose.splitlines() if LITERAL.search(line))

    def _broken_tables(self) -> Iterator[str]:
        """Yield tables that are not shown, and rows that lose or lack cells."""
        tables = TABLE.findall(FENCED.sub("", self.source) + "\n")
        if len(tables) != self.html.count("<table>"):
            yield f"{self.html.count('<table>')} of {len(tables)} tables are shown"
        for rows in map(str.splitlines, tables):
            bars = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
            yield from (f"cells: {row}" for row, n in zip(rows, bars, strict=True) if n != bars[0])

    def _broken_formulas(self) -> Iterator[str]:
        """Yield formulas that Markdown changes, that do not compile or that hold prose."""
        shown = FORMULA.findall(text_of(NOT_PROSE.sub("", self.html)))
        for formula in self.formulas:
            if "\n" not in formula and formula not in shown:
                yield f"changed by Markdown: {formula}"
            if (
                not formula.isascii()
                or re.search("[a-zA-Z]{2}", NO_WORD.sub(" ", formula))
                or r"\operatorname" in formula
            ):
                yield f"not LaTeX that GitHub knows: {formula}"
            braces = re.sub(r"\\.", "", formula)
            if braces.count("{") != braces.count("}") or "\\" in convert(formula):
                yield f"does not compile: {formula}"
        if "$" in self.prose:
            yield "a dollar sign that does not mark a formula"


@cache
def rendered(page: Path) -> Rendered:
    """Return a page, or the text cells of a notebook."""
    if page.suffix == ".md":
        return Rendered(page.read_text())
    cells = json.loads(page.read_text())["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    return Rendered("\n\n".join(texts))
