"""Which code a run was made by, so that numbers of another are never taken for its own.

A fingerprint holds what a component's classes say, their bases outside torch included: the syntax
of their files without docstrings and comments, which change no number.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.abc import InspectLoader
from importlib.util import find_spec
from typing import Any

from bnnbench import __version__

FOREIGN = ("builtins", "abc", "typing", "torch", "numpy")
"""Packages whose classes are told by their version."""


def code_of(component: Any) -> dict[str, Any]:
    """The version of the package and, by module, a digest of the code of a component.

    Args:
        component: a dataclass; those that it holds count too.
    """
    modules = {cls.__module__ for cls in _classes(component)}
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
        if cls.__module__.partition(".")[0] not in FOREIGN:
            yield cls
    for field in fields(component):
        yield from _classes(getattr(component, field.name))


@cache
def _digest(module: str) -> str:
    """Of the module's syntax; of its name where there is no source to read."""
    spec = find_spec(module) if module != "__main__" else None
    loader = spec.loader if spec else None
    source = loader.get_source(module) if isinstance(loader, InspectLoader) else None
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
