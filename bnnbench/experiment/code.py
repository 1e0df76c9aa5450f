"""Which code a run was made by, so that numbers of another are never taken for its own.

A fingerprint holds what a component's classes say, their bases outside torch included: the syntax
of their files without docstrings and comments, which change no number. Of a user's own it holds the
files beside them too that they import, which no version tells apart.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.abc import InspectLoader
from importlib.util import find_spec, resolve_name
from pathlib import Path
from sysconfig import get_paths
from typing import Any

from bnnbench import __version__

FOREIGN = ("builtins", "abc", "typing", "torch", "numpy")
"""Packages whose classes are told by their version."""


def code_of(component: Any) -> dict[str, Any]:
    """The version of the package and, by module, a digest of the code of a component.

    Args:
        component: a dataclass; those that it holds count too.
    """
    modules = _with_imports(cls.__module__ for cls in _classes(component))
    return {"version": __version__, "modules": {name: _digest(name) for name in sorted(modules)}}


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The files, or the package's version, in which two codes differ.

    Args:
        before: of `code_of`, perhaps in another process; empty if unknown.
        now: of `code_of`.
    """
    if not before:
        return []
    old, new = before["modules"], now["modules"]
    changed = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    files = [f"{name.replace('.', '/')}.py" for name in changed]
    if before["version"] != now["version"]:
        files.append(f"bnnbench {before['version']} to {now['version']}")
    return files


def _classes(component: Any) -> Iterator[type]:
    """The classes of a component and of all that it holds, with their bases."""
    if not is_dataclass(component) or isinstance(component, type):
        return
    for cls in type(component).__mro__:
        if _top(cls.__module__) not in FOREIGN:
            yield cls
    for field in fields(component):
        yield from _classes(getattr(component, field.name))


def _with_imports(modules: Iterable[str]) -> set[str]:
    """These and, of a user's own, what they import that is hers too."""
    found: set[str] = set()
    left = list(modules)
    while left:
        module = left.pop()
        if module not in found:
            found.add(module)
            left += [name for name in _imports(module) if _beside(name, module)]
    return found


def _imports(module: str) -> Iterator[str]:
    """All names that a user's module imports, at any depth; of others nothing is asked."""
    source = None if _top(module) in (*FOREIGN, "bnnbench") else _source(module)
    package = getattr(sys.modules.get(module), "__package__", None)
    for node in ast.walk(ast.parse(source or "")):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            yield from (base, *(f"{base}.{alias.name}" for alias in node.names))


def _beside(name: str, module: str) -> bool:
    """Whether a name is of a module of the same package or, but for libraries, the same folder."""
    if name not in sys.modules:
        return False
    folders = [_folder(_top(one)) for one in (name, module)]
    libraries = [Path(get_paths()[kind]) for kind in ("purelib", "platlib", "stdlib")]
    same = folders[0] is not None and folders[0] == folders[1] and folders[0] not in libraries
    return _top(name) == _top(module) or same


def _folder(package: str) -> Path | None:
    """The folder in which a package or a module on top of its own lies."""
    file = getattr(sys.modules.get(package), "__file__", None)
    if file is None:
        return None
    path = Path(file)
    return path.parents[1] if path.stem == "__init__" else path.parent


def _top(module: str) -> str:
    return module.partition(".")[0]


def _source(module: str) -> str | None:
    spec = find_spec(module) if module != "__main__" else None
    loader = spec.loader if spec else None
    return loader.get_source(module) if isinstance(loader, InspectLoader) else None


@cache
def _digest(module: str) -> str:
    """Of the module's syntax; of its name where there is no source to read."""
    source = _source(module)
    text = ast.dump(_without_docstrings(ast.parse(source))) if source else module
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            kept = [one for one in node.body if not _is_text(one)]
            node.body = kept or [ast.Pass()]
    return tree


def _is_text(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return False
    return isinstance(node.value.value, str)
