"""What the documentation site makes by itself: a hook of MkDocs, named in `mkdocs.yml`.

The pages of the top level (README, CONTRIBUTING, CHANGELOG) become pages of the site, every module
gets one with its docstrings and the notebook one with what it shows, and `<!-- list method -->` in
a page becomes the table of what `bnnbench list method` prints.
"""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from bnnbench.cli.listing import SUITES, summaries

ROOT = Path(__file__).parents[2]

TOP_LEVEL = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages of the top level, and what the site calls them."""


NOTEBOOK = "tour.ipynb"


def modules() -> dict[str, list[str]]:
    """Dotted names of all public modules, by the part of the package that they belong to."""
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


def page_of(module: str) -> str:
    """The file of a module's page."""
    return f"api/{module}.md"


def on_config(config: MkDocsConfig) -> None:
    """Puts the reference at the end of the navigation: a section for each part of the package."""
    found = modules()
    single = [{part: page_of(names[0])} for part, names in found.items() if len(names) == 1]
    several: list[dict[str, Any]] = [
        {part: [{name.removeprefix(f"bnnbench.{part}."): page_of(name)} for name in names]}
        for part, names in found.items()
        if len(names) > 1
    ]
    assert config.nav is not None
    config.nav.append({"API reference": [*several, *single]})


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Adds the pages that no file in `docs` holds."""
    for source, page in TOP_LEVEL.items():
        text = (ROOT / source).read_text()
        files.append(File.generated(config, page, content=moved(text)))
    for names in modules().values():
        for name in names:
            content = f"# {name}\n\n::: {name}\n    options:\n      show_root_heading: false\n"
            files.append(File.generated(config, page_of(name), content=content))
    text, pictures = notebook_page(ROOT / "docs" / NOTEBOOK)
    files.append(File.generated(config, NOTEBOOK.replace(".ipynb", ".md"), content=text))
    for name, picture in pictures.items():
        files.append(File.generated(config, name, content=picture))


def notebook_page(path: Path) -> tuple[str, dict[str, bytes]]:
    """A notebook as a page, and its pictures."""
    tool = runpy.run_path(str(Path(__file__).with_name("notebook.py")))
    found: tuple[str, dict[str, bytes]] = tool["page"](json.loads(path.read_text()), path.stem)
    return found


def moved(text: str, above: str = "") -> str:
    """A page with its links to pages of the top level turned to those of the site.

    Args:
        text: Markdown.
        above: what leads from the page's folder to the top level.
    """
    for source, page in TOP_LEVEL.items():
        text = text.replace(f"]({above}{source}", f"]({page}")
    return text.replace(f"]({above}docs/", "](")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fills in the tables of what can be chosen, and turns links out of `docs` to their pages."""
    filled = re.sub(r"^<!-- list (\w+) -->$", lambda m: choices(m[1]), markdown, flags=re.M)
    return moved(filled, above="../")


def choices(group: str) -> str:
    """A table of a group's options."""
    head = "`bnnbench reproduce`" if group == SUITES else f"`{group}=`"
    rows = [f"| `{name}` | {summary} |" for name, summary in summaries(group).items()]
    return "\n".join([f"| {head} | |", "|:--|:--|", *rows])
