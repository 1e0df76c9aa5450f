"""MkDocs hook: pages that the site generates when it is built.

- README, CONTRIBUTING and CHANGELOG become pages, and so do the notebooks.
- Every module gets a page with its docstrings.
- The command-line and configuration references come from the argument parsers and the YAML files.
- The reference results get a page, and so does each of their data sets and methods.
- `$...$` and `math` blocks become MathML.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))

from notebook import page as notebook_page
from page_blocks import options_table
from reference_pages import navigation, pages

from bnnbench.cli.main import build_parser
from bnnbench.config.configs import GROUPS, find_options
from bnnbench.results.reference.results import read_reference_results

ROOT = Path(__file__).parents[2]

TOP_LEVEL = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Files of the top level, and the pages that show them."""

NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
"""A formula as pymdownx.arithmatex marks it."""


def modules() -> dict[str, list[str]]:
    """Return the dotted names of all public modules, by the part of the package they belong to."""
    parts: dict[str, list[str]] = {}
    for path in sorted((ROOT / "bnnbench").rglob("*.py")):
        words = list(path.relative_to(ROOT).with_suffix("").parts)
        if words[-1] == "__main__":
            continue
        if words[-1] == "__init__":
            words.pop()
        if len(words) > 1:
            parts.setdefault(words[1], []).append(".".join(words))
    return parts


@cache
def reference_results() -> dict[str, str | bytes]:
    """Return the pages of the reference results of the package."""
    return pages(read_reference_results())


def page_of(module: str) -> str:
    """Return the file of a module's page."""
    return f"api/{module}.md"


def on_config(config: MkDocsConfig) -> None:
    """Add the reference results and the API reference to the navigation."""
    found = modules()
    single = [{part: page_of(names[0])} for part, names in found.items() if len(names) == 1]
    several: list[dict[str, Any]] = [
        {part: [{name.removeprefix(f"bnnbench.{part}."): page_of(name)} for name in names]}
        for part, names in found.items()
        if len(names) > 1
    ]
    assert config.nav is not None
    config.nav.insert(-2, {"Reference results": navigation(reference_results())})
    config.nav.append({"API reference": [*several, *single]})


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the generated pages."""

    def add(name: str, content: str | bytes) -> None:
        files.append(File.generated(config, name, content=content))

    for source, page in TOP_LEVEL.items():
        add(page, moved((ROOT / source).read_text()))
    for names in modules().values():
        for name in names:
            options = "    options:\n      show_root_heading: false\n"
            add(page_of(name), f"# {name}\n\n::: {name}\n{options}")
    for notebook in NOTEBOOKS:
        text, pictures = notebook_page(json.loads(notebook.read_text()), notebook.stem)
        add(f"tutorials/{notebook.stem}.md", text)
        for name, picture in pictures.items():
            add(f"tutorials/{name}", picture)
    add("reference/cli.md", command_line())
    add("reference/configuration.md", configuration())
    for name, content in reference_results().items():
        add(name, content)


def moved(text: str) -> str:
    """Return a page of the top level with its links turned to those of the site."""
    for source, page in {**TOP_LEVEL, "docs/)": "index.md)", "docs/": ""}.items():
        text = text.replace(f"]({source}", f"]({page}")
    return text


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Turn links to notebooks into links to their pages."""
    return markdown.replace(".ipynb)", ".md)")


def on_page_content(content: str, **_: Any) -> str:
    """Turn formulas into MathML."""
    return FORMULA.sub(mathml, content)


def mathml(match: re.Match[str]) -> str:
    """Return a formula of the text, or one on its own line, as MathML."""
    display = "inline" if match[1] == "span" else "block"
    return convert(html.unescape(match[2]).strip(), display=display)


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
