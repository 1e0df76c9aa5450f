"""Finds suites: what belongs to one publication plugs in by being there.

A suite is a folder of `bnnbench.suites`, or a package that another distribution names as an entry
point of the group `bnnbench.suites`. Its `__init__` is light and holds `SUITE`; a module `page`, if
it has one, holds `SECTIONS` of the report and `PAGES` for the kinds of its own experiments.
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
from types import ModuleType

GROUP = "bnnbench.suites"

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


@cache
def _packages() -> tuple[str, ...]:
    """Import names of all suites, our own first, in alphabetical order."""
    folders = list(import_module(GROUP).__path__)
    own = sorted(f"{GROUP}.{found.name}" for found in pkgutil.iter_modules(folders))
    return (*own, *sorted(point.value for point in entry_points(group=GROUP)))


def suites() -> tuple[Suite, ...]:
    """Every suite that is there."""
    return tuple(module.SUITE for module in map(_imported, _packages()) if module)


def plugins(module: str) -> Iterator[ModuleType]:
    """The module of this name of every suite that has one, imported."""
    for package in _packages():
        if _imported(package) and find_spec(f"{package}.{module}"):
            yield import_module(f"{package}.{module}")


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
