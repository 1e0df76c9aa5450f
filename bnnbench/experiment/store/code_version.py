"""The version of the code that computed a run's numbers.

Results of changed code are not reused silently. Code is compared by its files, not by its commit,
which also changes with files that affect no number.
"""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bnnbench import __version__
from bnnbench.experiment.store.own_modules import own_modules
from bnnbench.files import checksum

PACKAGE = Path(__file__).parents[2]

NO_NUMBERS = ("checking", "cli", "report", "results", "configs", "data/uci", "cpp/prebuilt")
"""Folders of the package that cannot change a number of a run; all others count.

The first four are not used while a run is computed. A wheel also contains the last three: settings
and data are part of a run's identity, and every processor gives the same bits.
"""

SUITES = "suites"
"""Folder of the package in which only the suites used by a run count."""

SUFFIXES = (".py", ".cpp", ".h", ".csv", ".npz")
"""Files that count. The compiler's flags are constants in a Python file."""


def code_version_of(component: Any) -> dict[str, Any]:
    """Return the version of the code that determines a component's numbers.

    Args:
        component: a dataclass, with the components that it holds.

    Returns:
        `version` of the package; `commit` of its checkout, with `+` if edited, None outside a
        checkout; `digest` of its files that can change a number; `own`, the digest of the user's
        modules that define classes of the component, and of all that they import from his project,
        None if there are none.
    """
    classes = {*_classes(component)}
    own = own_modules(classes, _named(component))
    imported = {name for module in own.values() for name in module.imports}
    contents = {name: module.content for name, module in own.items()}
    return {
        "version": __version__,
        "commit": source_commit(),
        "digest": _package_digest(_suites_of(classes | imported)),
        "own": _digest(contents) if own else None,
    }


def code_label(code: Mapping[str, Any]) -> str:
    """Return a short label of a code version, to print next to times: `0.1.0+3f2a...`.

    Equal labels mean code that computes the same.
    """
    parts = (str(code[name]) for name in ("digest", "own") if code[name])
    return f"{code['version']}+{'.'.join(parts)}"


def describe_other_code(code: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Describe a code version in a few words; empty if it computes the same as another one.

    Args:
        code: from `code_version_of`, or from the record of a run.
        now: the code version to compare with.
    """
    if any(code.get(name) != now.get(name) for name in ("version", "digest")):
        commit = f", commit {code['commit']}" if code.get("commit") else ""
        return f"another version of the code (bnnbench {code.get('version')}{commit})"
    return "another version of your own code" if code.get("own") != now.get("own") else ""


def distinct_versions(codes: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Return the code versions without those that compute the same as an earlier one."""
    found: list[Mapping[str, Any]] = []
    for code in codes:
        if all(describe_other_code(code, other) for other in found):
            found.append(code)
    return tuple(found)


def mixed_code_note(count: int) -> str:
    """Say that the means of a run mix the results of several code versions; empty for one."""
    if count < 2:
        return ""
    return (
        f"{count} versions of the code computed parts of this run, so its results belong to none "
        "of them; run all of it again with resume=false."
    )


@cache
def source_commit() -> str | None:
    """Return the commit of the source checkout, with `+` if edited; None outside a checkout."""
    source = PACKAGE.parent
    if not (source / ".git").exists():
        return None

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(source), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def counted_files(suites: Collection[str]) -> dict[str, Path]:
    """Return the files of the package that count, by their path in it.

    Args:
        suites: names of the suites that count.
    """
    left_out = {folder.name for folder in (PACKAGE / SUITES).glob("*/")} - {*suites}
    ignored = {*NO_NUMBERS, *(f"{SUITES}/{name}" for name in left_out)}
    files: dict[str, Path] = {}
    for path in sorted(PACKAGE.rglob("*")):
        inside = path.relative_to(PACKAGE)
        if path.suffix in SUFFIXES and not ignored & {part.as_posix() for part in inside.parents}:
            files[inside.as_posix()] = path
    return files


@cache
def _package_digest(suites: frozenset[str]) -> str:
    return _digest({name: path.read_bytes() for name, path in counted_files(suites).items()})


def _digest(contents: Mapping[str, bytes]) -> str:
    parts = (part for name in sorted(contents) for part in (name.encode(), contents[name]))
    return checksum(b"\0".join(parts))


def _suites_of(modules: Iterable[str]) -> frozenset[str]:
    prefix = f"bnnbench.{SUITES}."
    return frozenset(name.split(".")[2] for name in modules if name.startswith(prefix))


def _classes(component: Any) -> Iterator[str]:
    """Yield the modules of the classes of a component and of all that it holds, and their bases."""
    for part in _parts(component):
        if is_dataclass(part) and not isinstance(part, type):
            yield from (base.__module__ for base in type(part).__mro__)


def _named(component: Any) -> Iterator[str]:
    """Yield strings in a component such as `my_module.Regressor`."""
    for text in _parts(component):
        if isinstance(text, str) and "." in text and all(map(str.isidentifier, text.split("."))):
            yield text


def _parts(component: Any) -> Iterator[Any]:
    """Yield a component, and everything inside it."""
    yield component
    inside: Iterable[Any] = ()
    if is_dataclass(component) and not isinstance(component, type):
        inside = (getattr(component, field.name) for field in fields(component))
    elif isinstance(component, Mapping):
        inside = component.values()
    elif isinstance(component, list | tuple):
        inside = component
    for part in inside:
        yield from _parts(part)
