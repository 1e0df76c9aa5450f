"""The files of the user's own modules that a component depends on.

Nothing is imported: the source code is read.
"""

from __future__ import annotations

import ast
import os
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
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

DYNAMIC = frozenset({"importlib", "__import__", "imp", "runpy", "pkgutil", "exec", "eval"})
"""Modules and functions with which a module can execute files that its import statements do not
name. All Python files next to and below such a module count."""

NOT_SEARCHED = frozenset({"outputs", "site-packages", "dist-packages", "node_modules", "build"})
"""Folders that contain no modules of the user."""

NOT_OWN = frozenset({"bnnbench", "torch", "numpy", *sys.stdlib_module_names})
"""Packages whose modules are never the user's own."""


@dataclass(frozen=True)
class Module:
    """A module of the user.

    Attributes:
        content: of its file.
        imports: full names of modules that it may import, and of members of these.
        names: that it defines or imports.
        dynamic: whether it can execute other files.
        path: of its file.
    """

    content: bytes
    imports: frozenset[str]
    names: frozenset[str]
    dynamic: bool
    path: Path = field(compare=False)


def own_modules(defining: Iterable[str], named: Iterable[str] = ()) -> dict[str, Module]:
    """Return modules of the user, and those of them that they import, by name.

    A module is the user's own if it is not installed, or belongs to an installed plug-in.

    Args:
        defining: modules that define classes of a component; installed ones count, too.
        named: strings such as `my_module.Regressor`, which count if the module has such a name.
    """
    found: dict[str, Module] = {}
    plugins = plugin_packages()
    waiting = [(name, True) for name in defining]
    for text in named:
        name, _, member = text.rpartition(".")
        module = _read(name)
        if module is not None and member in module.names:
            waiting.append((name, False))
    while waiting:
        name, counts = waiting.pop()
        for part in _with_parents(name):
            module = None if part in found else _read(part)
            if module is None:
                continue
            own = _is_own(part, plugins)
            if own or counts:
                found[part] = module
            if own:
                waiting += [(other, False) for other in module.imports]
    for name, module in list(found.items()):
        if module.dynamic and _is_own(name, plugins):
            found |= _files_near(module.path)
    return found


def _files_near(path: Path) -> dict[str, Module]:
    """Return the Python files in the folder of a file and below it, by relative path."""
    found = {}
    for folder, folders, files in os.walk(path.parent):
        folders[:] = [one for one in folders if one not in NOT_SEARCHED and one[0] not in "._"]
        for file in (Path(folder, name) for name in files if name.endswith(".py")):
            content = file.read_bytes()
            name = file.relative_to(path.parent).as_posix()
            found[name] = Module(content, frozenset(), frozenset(), False, file)
    return found


def _with_parents(name: str) -> list[str]:
    words = name.split(".")
    return [".".join(words[: k + 1]) for k in range(len(words))]


def _is_own(name: str, plugins: Collection[str]) -> bool:
    if name.partition(".")[0] in plugins:
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


_modules: dict[str, tuple[object, Module | None]] = {}
"""Modules that were read, with their `__spec__`: a file may be edited after it was imported, but a
module that is imported again has another one."""


def _read(name: str) -> Module | None:
    """Read a module's file; None if it has none, or if its package is never the user's."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    if name in _modules and _modules[name][0] is spec:
        return _modules[name][1]
    path = None if name.partition(".")[0] in NOT_OWN or not name else _path(name)
    module = None
    if path is not None:
        package = name if path.stem == "__init__" else name.rpartition(".")[0]
        module = _parsed(path, package)
    if spec is not None:
        _modules[name] = spec, module
    return module


def _parsed(path: Path, package: str) -> Module:
    """Return a module.

    Args:
        path: its file.
        package: that relative imports start from.
    """
    content = path.read_bytes()
    try:
        tree = ast.parse(content if path.suffix == ".py" else b"")
    except (SyntaxError, ValueError):
        tree = ast.Module([], [])
    imports = frozenset(_imported(tree, package))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    dynamic = bool(DYNAMIC & {*used, *(name.partition(".")[0] for name in imports)})
    return Module(content, imports, frozenset(_bound(tree)), dynamic, path)


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


def _bound(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a module defines or imports at its top level."""
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign):
            yield from map(ast.unparse, node.targets)
        else:
            yield getattr(node, "name", "")


def _imported(tree: ast.Module, package: str) -> Iterator[str]:
    """Yield the names that a module imports anywhere: modules, and perhaps their members.

    Args:
        tree: of the module.
        package: that relative imports start from.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            base += [node.module] if node.module else []
            yield from (".".join([*base, alias.name]) for alias in node.names)
        elif isinstance(node, ast.Assign) and "__all__" in map(ast.unparse, node.targets):
            # The modules of a package that `from package import *` imports.
            names = (getattr(one, "value", None) for one in ast.walk(node.value))
            yield from (f"{package}.{name}" for name in names if isinstance(name, str))
