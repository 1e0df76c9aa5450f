"""The pages of `docs` agree with what they describe."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

import pytest

import bnnbench

PACKAGE = Path(bnnbench.__file__).parent
DOCS = PACKAGE.parent / "docs"
LARGEST = 500_000
"""Bytes of a table in git: larger ones can be written again by the command that made them."""


def layers() -> list[set[str]]:
    """What the page on the architecture prints, from the first line to the last."""
    page = (DOCS / "architecture.md").read_text()
    block = re.findall(r"^```\n(.*?)^```$", page, re.M | re.S)[0]
    return [set(line.split("  ")[0].split()) for line in block.splitlines()]


def test_the_printed_layers_are_the_packages_parts() -> None:
    printed = layers()
    found = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert set().union(*printed) == {name for name in found if not name.startswith("__")}
    assert sum(map(len, printed)) == len(set().union(*printed))


@pytest.mark.parametrize("level", range(len(layers())))
def test_a_printed_layer_imports_nothing_from_those_below(level: int) -> None:
    below = set().union(*layers()[level + 1 :])
    for name in layers()[level]:
        part = PACKAGE / name
        for file in sorted(part.rglob("*.py")) or [part.with_suffix(".py")]:
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bnnbench."):
                    assert (node.module or "").split(".")[1] not in below, f"{file}: {node.module}"


def test_the_tables_of_the_pages_are_those_of_the_published_results() -> None:
    blocks = runpy.run_path(str(DOCS / "tools" / "update_readme.py"))
    for page in blocks["BLOCKS"]:
        assert page.read_text() == blocks["filled"](page), "run docs/tools/update_readme.py"


def test_no_large_table_is_published() -> None:
    large = [path for path in DOCS.rglob("*.csv") if path.stat().st_size > LARGEST]
    assert not large, "see `docs/tools/update_results.py`"
