"""MkDocs hook: pages that the site generates when it is built.

- README, CONTRIBUTING and CHANGELOG become pages, and so do the notebooks.
- The page on the Python API ends with the docstrings of the public interface.
- The command-line and configuration references come from the argument parsers and the YAML files.
- `$...$` and `math` blocks become MathML.
- The marks of generated blocks and values are removed, and a site over `MAX_BYTES` is refused.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from posixpath import normpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))

from notebook import page as notebook_page
from page_blocks import options_table

from bnnbench import __all__
from bnnbench.cli.main import build_parser
from bnnbench.config.configs import GROUPS, find_options
from bnnbench.report.renderers.html import mathml

ROOT = Path(__file__).parents[2]

TOP_LEVEL = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "NOTICE.md": "notice.md",
    "CITATION.cff": "CITATION.cff",
}
"""Files of the top level, and the pages that show them."""

NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))

MARK = re.compile(r"(?<!`)<!-- (?:/?\w+|value .*?) -->", re.DOTALL)
"""A mark of a generated block or value, not one that is quoted as code."""

LINK = re.compile(r"\]\(([^)#\s]+)")
"""The start of a link or a picture, up to its anchor."""

LONG_CELL = re.compile(r"<td(?=[^>]*>(?:(?!</td>).){120})", re.DOTALL)
"""The start of a cell with a text of several lines."""

PYTHON_API = "reference/python.md"

MAX_BYTES = 20_000_000

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
"""A formula as pymdownx.arithmatex marks it."""


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the generated pages."""

    def add(name: str, content: str | bytes) -> None:
        files.append(File.generated(config, name, content=content))

    for source, page in TOP_LEVEL.items():
        add(page, moved((ROOT / source).read_text()))
    for notebook in NOTEBOOKS:
        text, pictures = notebook_page(json.loads(notebook.read_text()), notebook.stem)
        add(f"tutorials/{notebook.stem}.md", text)
        for name, picture in pictures.items():
            add(f"tutorials/{name}", picture)
    add("reference/cli.md", command_line())
    add("reference/configuration.md", configuration())
    drop_unlinked(files)


def drop_unlinked(files: Files) -> None:
    """Leave out stored tables and other data to which no page links."""
    linked = {
        normpath(f"{page.src_uri}/../{address}")
        for page in files.documentation_pages()
        for address in LINK.findall(page.content_string)
    }
    for file in [*files.media_files()]:
        if file.src_uri.startswith("results/") and file.src_uri not in linked:
            files.remove(file)


def moved(text: str) -> str:
    """Return a page of the top level with its links turned to those of the site."""
    for source, page in {**TOP_LEVEL, "docs/)": "index.md)", "docs/": ""}.items():
        text = text.replace(f"]({source}", f"]({page}")
    return text


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Remove generated marks, turn links to those of the site, and add docstrings.

    Python-Markdown would take a line that begins with a mark for a block of HTML. It reads the
    Markdown inside a block of HTML, as GitHub does, only where an attribute says so.
    """
    if page.file.src_uri == PYTHON_API:
        markdown += "\n\n".join(["", "## Docstrings", *(f"::: bnnbench.{n}" for n in __all__)])
    markdown = MARK.sub("", markdown).replace("<details", '<details markdown="1"')
    for source, shown in TOP_LEVEL.items():
        markdown = markdown.replace(f"../{source}", shown)
    return markdown.replace(".ipynb)", ".md)")


def on_page_content(content: str, **_: Any) -> str:
    """Turn formulas into MathML, mark long cells, and keep an error and its sign on one line."""
    content = LONG_CELL.sub('<td class="long"', FORMULA.sub(formula, content))
    return content.replace("± ", "±&nbsp;")


@event_priority(-100)  # after the plugin that writes the search index
def on_post_build(config: MkDocsConfig) -> None:
    """Refuse a site that is too large to publish or to download.

    Raises:
        PluginError: if all files together have more than `MAX_BYTES`.
    """
    files = (path for path in Path(config.site_dir).rglob("*") if path.is_file())
    if (size := sum(path.stat().st_size for path in files)) > MAX_BYTES:
        raise PluginError(f"the site has {size / 1e6:.0f} MB, more than {MAX_BYTES / 1e6:.0f}")


def formula(match: re.Match[str]) -> str:
    """Return a formula of the text, or one on its own line, as MathML."""
    display = "inline" if match[1] == "span" else "block"
    shown = mathml(html.unescape(match[2]).strip(), display)
    return shown if display == "inline" else f'<div class="formula">{shown}</div>'


def command_line() -> str:
    """Return the reference of all commands, as `--help` prints it."""
    parser = build_parser()
    (commands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    parts = [f"# Command line\n\n```text\n{parser.format_help()}```"]
    parts += [
        f"## bnnbench {name}\n\n```text\n{command.format_help()}```"
        for name, command in commands.choices.items()
        if name != "run"
    ]
    run = "## bnnbench run\n\n`bnnbench run KEY=VALUE ...` takes overrides of the "
    return "\n\n".join([*parts, f"{run}[configuration](configuration.md).\n"])


def configuration() -> str:
    """Return the reference of all settings: the YAML files with their comments."""
    return "\n\n".join(configuration_parts()) + "\n"


def configuration_parts() -> Iterator[str]:
    """Yield the main configuration, then a section for each group of options."""
    yield "# Configuration"
    yield "Every key is an override of `bnnbench run`: `KEY=VALUE`, with dots for nested keys."
    yield f"## All runs\n\n```yaml\n{(ROOT / 'configs' / 'run.yaml').read_text()}```"
    for group in GROUPS:
        yield f"## {group}\n\n{options_table(group)}"
        for name, option in find_options(group).items():
            yield f"### {group}={name}\n\n```yaml\n{option.file.read_text()}```"
