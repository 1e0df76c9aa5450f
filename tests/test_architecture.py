"""The shape of the code: which way imports flow, who knows what, how long files are."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import bnnbench

PACKAGE = Path(bnnbench.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

# A module may import from its own layer and from those before it.
LAYERS = [
    {"__init__", "types"},
    {"settings", "paths"},
    {"streams"},
    {"nn", "optim", "losses", "likelihoods", "divergences", "metrics", "data", "scaling"},
    {"methods"},
    {"search"},
    {"experiment"},
    {"report"},
    {"cli", "__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def part(path: Path) -> str:
    """The package's part a file belongs to: its folder, or its own name at the top."""
    inside = path.relative_to(PACKAGE).parts
    return inside[0] if len(inside) > 1 else path.stem


def imports(path: Path) -> set[str]:
    """Absolute names of all modules a file imports, at any depth."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names if node.module == "bnnbench" else {node.module or ""}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_flow_one_way(path: Path) -> None:
    level = LEVEL[part(path)]
    for name in imports(path):
        words = name.split(".")
        if words[0] == "bnnbench" and len(words) > 1 and words[1] != "__version__":
            assert LEVEL[words[1]] <= level, f"{path.name} must not import {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_the_command_line_knows_hydra(path: Path) -> None:
    knows = any(name.split(".")[0] == "hydra" for name in imports(path))
    assert not knows or part(path) == "cli"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_files_stay_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 300


def test_every_part_has_a_layer() -> None:
    assert {part(path) for path in FILES} <= LEVEL.keys()
