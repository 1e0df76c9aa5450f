"""Architecture of the code: layers, restricted imports, and length of functions."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import bnnbench
from bnnbench.config.configs import config_folder

PACKAGE = Path(bnnbench.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted(Path(__file__).parent.rglob("*.py"))

PAGE = PACKAGE.parent / "docs" / "explanation" / "architecture.md"
PRINTED = re.findall(r"^```\n(.*?)^```$", PAGE.read_text(), re.M | re.S)[0].splitlines()
TREE = [line.split("   ")[0] for line in PRINTED if line.strip() and not line.startswith("   ")]
"""The tree on that page: layers, from the lowest, and indented the folders inside a layer."""

LAYERS = [line.split() for line in TREE if line[0] != " "] + [["__main__"], ["__init__"]]
"""A module may import from its own layer and from those before it."""

LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

ROOMS: dict[str, list[str]] = {}
"""The folders inside a layer. A module in one of them may import from its own folder, from those
before it, and from the files that are in no folder."""

FILES_FIRST = ("experiment", "results")
"""Layers whose files in no folder import from no folder of the layer."""

for line in TREE:
    if line[0] != " ":
        layer = line
    else:
        ROOMS.setdefault(layer, []).append(line.strip())

OTHER_USERS_OF_HYDRA = {"experiment/store/provenance.py"}
"""For the YAML of a run's settings."""

GENERIC = ("experiment", "results", "report", "config", "prediction", "cli")
SOURCES = re.compile(r"(?<![\":])book(?!tabs)|gvi|cinelli|felekis|thesis", re.IGNORECASE)
"""Names of publications; booktabs is a LaTeX package, and a track has the name of a protocol."""

MAX_LINES = 60
"""Lines of a function, including its docstring."""


def inside(path: Path) -> str:
    """Return the path of a file in the package."""
    return path.relative_to(PACKAGE).as_posix()


def part(path: Path) -> str:
    """Return the top folder of a file in the package, or its name if it is not in a folder."""
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else path.stem


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the absolute names that a file imports anywhere: modules and their members."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module or ""}
    return frozenset(found)


def own_imports(path: Path) -> Iterator[list[str]]:
    """Return the parts of the package that a file imports."""
    for name in imports(path):
        words = name.split(".")
        if words[0] == "bnnbench" and len(words) > 1 and words[1] != "__version__":
            yield words[1:]


def module(path: Path) -> str:
    words = ("bnnbench", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(words[:-1] if words[-1] == "__init__" else words)


def test_every_part_has_a_layer() -> None:
    assert {part(path) for path in FILES} == LEVEL.keys()
    assert sum(map(len, LAYERS)) == len(LEVEL)
    folders = {path.parent.relative_to(PACKAGE).parts for path in FILES}
    found = {parts for parts in folders if len(parts) == 2 and parts[0] != "suites"}
    assert found == {(layer, name) for layer, names in ROOMS.items() for name in names}


def test_imports_follow_the_layers() -> None:
    wrong = [
        f"{inside(path)} imports {'.'.join(words)}"
        for path in FILES
        for words in own_imports(path)
        if LEVEL[words[0]] > LEVEL[part(path)]
    ]
    assert not wrong


def room(layer: str, words: Sequence[str]) -> int:
    """Return the position of the folder of a module in its layer; -1 without a folder."""
    return ROOMS[layer].index(words[1]) if (PACKAGE / layer / words[1]).is_dir() else -1


@pytest.mark.parametrize("layer", ROOMS)
def test_imports_follow_the_rooms(layer: str) -> None:
    places = {path: room(layer, path.relative_to(PACKAGE).parts) for path in FILES
              if part(path) == layer}  # fmt: skip
    wrong = [
        f"{inside(path)} imports {'.'.join(words)}"
        for path, place in places.items()
        if place >= 0 or layer in FILES_FIRST
        for words in own_imports(path)
        if words[0] == layer and len(words) > 1 and room(layer, words) > place
    ]
    assert places and not wrong


def test_the_files_on_the_page_exist() -> None:
    names = re.findall(r"`([\w*/]+\.(?:py|h|cpp)|[\w*]+/[\w*/.]+)`", PAGE.read_text())
    roots = (PACKAGE, PACKAGE.parent)
    assert len(names) > 100
    assert not {name for name in names if not any([*root.glob(name)] for root in roots)}


def test_no_modules_import_each_other() -> None:
    """There are no import cycles, not even for type checking."""
    modules = {module(path): path for path in FILES}
    graph = {
        name: {other for other in imports(path) if other in modules and other != name}
        for name, path in modules.items()
        if path.name != "__init__.py"
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        raise AssertionError(f"a circle: {circle.args[1]}") from None


def test_only_config_imports_hydra() -> None:
    libraries = {"hydra", "omegaconf"}
    users = {inside(p) for p in FILES if libraries & {name.split(".")[0] for name in imports(p)}}
    assert {name for name in users if not name.startswith("config/")} == OTHER_USERS_OF_HYDRA


def test_only_files_decompresses() -> None:
    """Within the limit of sizes; so do three modules with zip archives of a user's table."""
    users = {inside(p) for p in FILES if imports(p) & {"gzip", "bz2", "lzma", "tarfile", "zipfile"}}
    tables = {f"data/own_table/read/{name}.py" for name in ("table_file", "sizes", "file_kinds")}
    assert users == {"files.py", *tables}


def test_private_parts_of_hydra_are_not_used() -> None:
    users = [path for path in (*FILES, *TESTS) if "hydra." + "_internal" in path.read_text()]
    assert not users


def test_only_discovery_imports_suites() -> None:
    for path in FILES:
        own = path.relative_to(PACKAGE).parts[1] if part(path) == "suites" else None
        for words in own_imports(path):
            if words[0] == "suites" and len(words) > 1:
                assert words[1] == own, f"{inside(path)} imports {'.'.join(words)}"


def test_suites_import_little() -> None:
    for path in PACKAGE.glob("suites/*/__init__.py"):
        assert {words[0] for words in own_imports(path)} == {"discovery"}, inside(path)


def docstring_lines(path: Path) -> set[int]:
    """Return the lines of a file that belong to docstrings, including those of attributes."""
    found: set[int] = set()
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in (node for node in ast.walk(tree(path)) if isinstance(node, holders)):
        for child in node.body:
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                assert child.end_lineno is not None
                found |= set(range(child.lineno, child.end_lineno + 1))
    return found


def test_generic_code_mentions_no_publication() -> None:
    """Generic code mentions publications only in docstrings."""
    named = []
    for path in (p for p in FILES if part(p) in GENERIC):
        aside = docstring_lines(path)
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
            if token.start[0] not in aside and SOURCES.search(token.string):
                named.append(f"{inside(path)}:{token.start[0]}: {token.string[:60]}")
    assert not named


def test_functions_are_short() -> None:
    long = [
        f"{inside(path)}: {node.name}"
        for path in FILES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= MAX_LINES
    ]
    assert not long


def test_every_package_has_a_docstring() -> None:
    for path in (p for p in FILES if p.name == "__init__.py"):
        assert ast.get_docstring(tree(path)), inside(path)


def test_a_method_is_one_file_and_one_yaml() -> None:
    """Every module in `methods` is named by a YAML file."""
    files = {p.stem for p in (PACKAGE / "methods").glob("*.py") if p.name != "__init__.py"}
    texts = [p.read_text() for p in (config_folder() / "method").glob("*.yaml")]
    targets = {found for text in texts for found in re.findall(r"_target_: (\S+)", text)}
    assert {target.split(".")[2] for target in targets} == files
