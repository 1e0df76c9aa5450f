"""Finds suites, and configurations from outside: what is there plugs in by being there.

A suite, all that belongs to one publication, is a folder of `bnnbench.suites`, a package that
another distribution names as an entry point of the group `bnnbench.suites`, or a module that a
`bnnbench.toml` names. Its `__init__` is light and holds `SUITE`; a module `page`, if it has one,
holds `SECTIONS` of the report and `PAGES` for the kinds of its own experiments.

A folder of configurations, laid out like `configs`, is brought by an entry point of the group
`bnnbench.configs`: `my_package.configs` is the folder `configs` of the package `my_package`.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from bnnbench.project import make_importable, project
from bnnbench.types import UserError

GROUP = "bnnbench.suites"

CONFIGS = "bnnbench.configs"

SIZES = ("small", "full")


@dataclass(frozen=True)
class Sweep:
    """One step of a reproduction: what follows `bnnbench run`.

    Attributes:
        experiment: option of the configuration group `experiment`.
        overrides: further words, beside the sweep that the experiment's own file declares.
        sizes: `small` where a quick reproduction has it, `full` where the whole one has.
        report: whether its runs are gathered into one report; those of others show themselves.
    """

    experiment: str
    overrides: str = ""
    sizes: tuple[str, ...] = SIZES
    report: bool = True


@dataclass(frozen=True)
class Suite:
    """What belongs to one publication.

    Attributes:
        name: of its folder, and what follows `bnnbench reproduce`.
        summary: one line, with how long it takes.
        sweeps: in the order in which they run.
        together: whether one report gathers the runs of all sweeps, in a folder of the suite's
            name, instead of one for each experiment.
    """

    name: str
    summary: str
    sweeps: tuple[Sweep, ...]
    together: bool = False


def suites() -> tuple[Suite, ...]:
    """Every suite that is there.

    Raises:
        UserError: if one that a `bnnbench.toml` names is none.
    """
    return tuple(module.SUITE for module in _modules())


def plugins(module: str) -> Iterator[ModuleType]:
    """The module of this name of every suite that has one, imported."""
    for package in _modules():
        name = f"{package.__name__}.{module}"
        if hasattr(package, "__path__") and find_spec(name):
            yield import_module(name)


@cache
def brought_configs() -> dict[str, Path]:
    """Folders of configurations that other distributions bring, by the entry point's value."""
    found = {}
    for value in sorted({point.value for point in entry_points(group=CONFIGS)}):
        folder = _folder(value)
        if folder is None:
            print(f"bnnbench: there is no folder of configurations {value}", file=sys.stderr)
        else:
            found[value] = folder
    return found


def _folder(value: str) -> Path | None:
    """Where `my_package.configs` is; nothing is imported, for a package may be slow to."""
    package, *inside = value.split(".")
    spec = find_spec(package)
    places = spec.submodule_search_locations if spec else None
    folders = (Path(place, *inside) for place in places or ())
    return next((folder for folder in folders if folder.is_dir()), None)


def _modules() -> Iterator[ModuleType]:
    """Every suite, imported: ours, those of other distributions, those of the current project."""
    for package in _packages():
        module = _imported(package)
        if module is not None:
            yield module
    own = project()
    if own is not None:
        make_importable(own.path)
        for name in own.suites:
            yield _own(own.file, name)


@cache
def _packages() -> tuple[str, ...]:
    """Import names of all installed suites, our own first, in alphabetical order."""
    folders = list(import_module(GROUP).__path__)
    own = sorted(f"{GROUP}.{found.name}" for found in pkgutil.iter_modules(folders))
    return (*own, *sorted(point.value for point in entry_points(group=GROUP)))


@cache
def _imported(package: str) -> ModuleType | None:
    """The package; None, said once, if it is another's and broken: the rest goes on without it."""
    try:
        return import_module(package)
    except Exception as error:
        if package.startswith(f"{GROUP}."):
            raise
        print(f"bnnbench: the suite {package} cannot be imported: {error}", file=sys.stderr)
        return None


def _own(file: Path, name: str) -> ModuleType:
    """A suite of the project whose file this is.

    Raises:
        UserError: if it cannot be imported or holds no `SUITE`: it is being written.
    """
    try:
        module = import_module(name)
    except Exception as error:
        raise UserError(f"{file}: the suite {name} cannot be imported: {error}.") from None
    if not isinstance(getattr(module, "SUITE", None), Suite):
        raise UserError(f"{file}: {name} is no suite: it holds no SUITE.")
    return module
