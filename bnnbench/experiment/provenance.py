"""The software and hardware that computed a run, and the version of the code behind it.

Results of changed code are not reused silently. A code version consists of the package version and
a hash of each module that defines a class of the experiment, base classes included: its syntax tree
without docstrings and comments. For modules of the user, which have no version, it includes the
local modules that they import.
"""

from __future__ import annotations

import ast
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.abc import InspectLoader
from importlib.metadata import version
from importlib.util import find_spec, resolve_name
from pathlib import Path
from sysconfig import get_paths
from typing import Any, NamedTuple

import torch

from bnnbench import __version__
from bnnbench.cpp.library import library
from bnnbench.experiment.run_folder import RunFolder, read_environment
from bnnbench.files import checksum, write_text

LIBRARIES = (
    "bnnbench",
    "torch",
    "numpy",
    "scikit-optimize",
    "scikit-learn",
    "hydra-core",
    "pandas",
)


def write_environment(folder: RunFolder, workers: int) -> None:
    """Write `environment.json`; entries of earlier processes are kept under `earlier`."""
    facts = {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "workers": workers,
        "cuda": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "native": library().status,
        "commit": _commit(),
        "versions": {name: version(name) for name in LIBRARIES},
    }
    before = read_environment(folder)
    earlier = before.pop("earlier", []) + ([before] if before else [])
    text = json.dumps({**facts, **({"earlier": earlier} if earlier else {})}, indent=2)
    write_text(folder.environment, text + "\n")


def hardware(device: str) -> dict[str, str]:
    """Return the name of the machine and the model of its processor or GPU.

    Args:
        device: `cpu` or `cuda`.
    """
    model = torch.cuda.get_device_name() if device == "cuda" else processor()
    return {"host": platform.node(), "device": model}


@cache
def processor() -> str:
    """Return the model of the CPU, which can change the last bits of a number."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _commit() -> str | None:
    """Return the commit of the source checkout, with `+` if edited; None outside a checkout."""
    source = Path(__file__).parents[2]
    if not (source / ".git").exists():
        return None

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(source), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def as_yaml(config: Mapping[str, Any]) -> str:
    from omegaconf import OmegaConf

    return OmegaConf.to_yaml(OmegaConf.create(dict(config)), sort_keys=False)


PACKAGE = Path(__file__).parents[1]

NATIVE = "bnnbench.cpp"

EXCLUDED = ("builtins", "abc", "typing", "torch", "numpy")
"""Packages whose source is not hashed."""

NUMERIC = (
    "data.splits", "divergences", "experiment.fitting", "experiment.folds", "experiment.protocol",
    "experiment.split_search", "likelihoods", "losses", "methods", "metrics", "native", "nn",
    "optim", "portable_math", "preprocessing", "random_streams", "search", "suites",
)  # fmt: skip
"""Modules and packages in `bnnbench` that are hashed where the module of a class imports them."""


def code_version_of(component: Any) -> dict[str, Any]:
    """Return the package version and the hash of each module that a component's numbers rest on.

    These are the modules of its classes, what they import from `NUMERIC` and from the user's own
    folder, and the C++ code as `NATIVE`.

    Args:
        component: a dataclass, with the dataclasses that it holds.
    """
    modules = _with_imports(cls.__module__ for cls in _classes(component))
    digests = {name: _parsed(name).digest for name in sorted(modules)}
    digests[NATIVE] = _native_digest()
    return {"version": __version__, "modules": digests}


def changed_files(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """List the files, and the package version, in which two code versions differ.

    Args:
        before: from `code_version_of`; empty if unknown.
        now: from `code_version_of`.
    """
    if not before:
        return []
    old, new = before["modules"], now["modules"]
    changed = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    files = [name.replace(".", "/") + ("" if name == NATIVE else ".py") for name in changed]
    if before["version"] != now["version"]:
        files.append(f"bnnbench {before['version']} to {now['version']}")
    return files


def _classes(component: Any) -> Iterator[type]:
    """Yield the classes of a component and of all that it holds, with their bases."""
    if not is_dataclass(component) or isinstance(component, type):
        return
    for cls in type(component).__mro__:
        if _package(cls.__module__) not in EXCLUDED:
            yield cls
    for field in fields(component):
        yield from _classes(getattr(component, field.name))


def _with_imports(modules: Iterable[str]) -> set[str]:
    """Return these modules, with the numeric and local modules that they import."""
    visited: set[str] = set()
    left = list(modules)
    while left:
        module = left.pop()
        if module not in visited:
            visited.add(module)
            left += [name for name in _parsed(module).imports if _is_local(name, module)]
    return visited


class _Parsed(NamedTuple):
    """The hash of a module's syntax, or of its name without source; the names that it imports."""

    digest: str
    imports: tuple[str, ...]


@cache  # runs of a sweep have most modules in common
def _parsed(module: str) -> _Parsed:
    source = _source(module)
    tree = ast.parse(source or "")
    imports = tuple(_imports(tree, module))
    text = ast.dump(_without_docstrings(tree)) if source else module
    return _Parsed(checksum(text.encode()), imports)


def _imports(tree: ast.Module, module: str) -> Iterator[str]:
    """Yield the names that a module imports, anywhere in its code."""
    package = getattr(sys.modules.get(module), "__package__", None)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            yield from (base, *(f"{base}.{alias.name}" for alias in node.names))


def _is_local(name: str, module: str) -> bool:
    """Whether a module is numeric, or in the same user's package or folder."""
    if _package(name) == "bnnbench":
        return _is_numeric(name.partition(".")[2])
    if _package(module) == "bnnbench" or name not in sys.modules:
        return False
    folders = [_folder(_package(one)) for one in (name, module)]
    libraries = [Path(get_paths()[kind]) for kind in ("purelib", "platlib", "stdlib")]
    same = folders[0] is not None and folders[0] == folders[1] and folders[0] not in libraries
    return _package(name) == _package(module) or same


@cache
def _is_numeric(name: str) -> bool:
    """Whether a name in `bnnbench` is a module, and one of those in `NUMERIC`."""
    path = PACKAGE.joinpath(*name.split("."))
    listed = any(f"{name}.".startswith(f"{part}.") for part in NUMERIC)
    return listed and (path.with_suffix(".py").exists() or (path / "__init__.py").exists())


def _folder(package: str) -> Path | None:
    """Return the folder that contains a package or a top-level module."""
    file = getattr(sys.modules.get(package), "__file__", None)
    if file is None:
        return None
    path = Path(file)
    return path.parents[1] if path.stem == "__init__" else path.parent


def _package(module: str) -> str:
    return module.partition(".")[0]


def _source(module: str) -> str | None:
    spec = find_spec(module) if module != "__main__" else None
    loader = spec.loader if spec else None
    return loader.get_source(module) if isinstance(loader, InspectLoader) else None


@cache
def _native_digest() -> str:
    sources = sorted([*(PACKAGE / "cpp").glob("*.cpp"), *(PACKAGE / "cpp").glob("*.h")])
    return checksum(b"\0".join(file.read_bytes() for file in sources))


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            statements = [child for child in node.body if not _is_text(child)]
            node.body = statements or [ast.Pass()]
    return tree


def _is_text(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return False
    return isinstance(node.value.value, str)
