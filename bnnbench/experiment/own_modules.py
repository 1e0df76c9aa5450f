"""The files of the user's own modules that a component rests on.

Nothing is imported: the source code is read.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
)
from pathlib import Path

from bnnbench.discovery import plugin_packages

LOADERS = (ExtensionFileLoader, EXTENSION_SUFFIXES), (SourceFileLoader, SOURCE_SUFFIXES)

IMPORT_FUNCTIONS = ("import_module", "__import__")
"""Functions whose first argument is the name of a module."""

NOT_OWN = frozenset({"bnnbench", "torch", "numpy", *sys.stdlib_module_names})
"""Packages whose modules are never the user's own."""


@dataclass(frozen=True)
class Module:
    """A module of the user.

    Attributes:
        content: of its file.
        imports: full names of modules that it may import, and of members of these.
    """

    content: bytes
    imports: frozenset[str]


def own_modules(defining: Iterable[str], named: Iterable[str] = ()) -> dict[str, Module]:
    """Return modules of the user, and those of them that they import, by name.

    A module is the user's own if it is not installed, or belongs to an installed plug-in.

    Args:
        defining: modules that define classes of a component; installed ones count, too.
        named: modules that may define others; those that do not exist are left out.
    """
    found: dict[str, Module] = {}
    waiting = [(name, True) for name in defining] + [(name, False) for name in named]
    while waiting:
        name, counts = waiting.pop()
        for part in _with_parents(name):
            module = None if part in found else _read(part)
            if module is None:
                continue
            own = _is_own(part)
            if own or counts:
                found[part] = module
            if own:
                waiting += [(other, False) for other in module.imports]
    return found


def _with_parents(name: str) -> list[str]:
    words = name.split(".")
    return [".".join(words[: k + 1]) for k in range(len(words))]


def _is_own(name: str) -> bool:
    if name.partition(".")[0] in plugin_packages():
        return True
    path = _path(name)
    return path is not None and not any(map(path.is_relative_to, _installed()))


@cache
def _installed() -> tuple[Path, ...]:
    """Return the folders of installed packages."""
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = {Path(path) for name, path in sysconfig.get_paths().items() if name in names}
    others = {"site-packages", "dist-packages"}
    return (*folders, *(path for path in map(Path, sys.path) if path.name in others))


@cache  # a file may be edited after it was imported
def _read(name: str) -> Module | None:
    """Read a module's file; None if it has none, or is of a package that is never the user's."""
    path = None if name.partition(".")[0] in NOT_OWN else _path(name)
    if path is None:
        return None
    content = path.read_bytes()
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    imports = _imported(content, package) if path.suffix == ".py" else ()
    return Module(content, frozenset(imports))


def _path(name: str) -> Path | None:
    """Return the file of a module, imported or not; None if there is none, as in a notebook."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None:
        parent, _, _ = name.rpartition(".")
        finders = (FileFinder(one, *LOADERS) for one in (_folders(parent) if parent else sys.path))
        specs = (spec for finder in finders if (spec := finder.find_spec(name)))
        file = next((spec.origin for spec in specs if spec.origin), None)
    return Path(file) if file and Path(file).is_file() else None


def _folders(package: str) -> list[str]:
    """Return the folders that contain the modules of a package; empty if it is none."""
    if package in sys.modules:
        return list(getattr(sys.modules[package], "__path__", ()))
    parent, _, name = package.rpartition(".")
    above = _folders(parent) if parent else sys.path
    return [str(folder) for folder in (Path(one, name) for one in above) if folder.is_dir()]


def _imported(content: bytes, package: str) -> Iterator[str]:
    """Yield the names that a source file imports anywhere: modules, and perhaps their members.

    Args:
        content: of the file.
        package: that relative imports start from.
    """
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            base += [node.module] if node.module else []
            yield from (".".join([*base, alias.name]) for alias in node.names)
        elif isinstance(node, ast.Call) and node.args:
            function = getattr(node.func, "attr", getattr(node.func, "id", ""))
            name = getattr(node.args[0], "value", None)
            if function in IMPORT_FUNCTIONS and isinstance(name, str):
                yield name if not name.startswith(".") else f"{package}{name}"
