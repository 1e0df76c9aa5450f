"""Discovery of the user's project, of suites, and of configuration folders of plug-ins.

A project is a folder with a `bnnbench.toml`, which locates its files:

    config_dirs = ["configs"]  # folders with method/mine.yaml, dataset/mine.yaml and so on
    path = ["."]               # folders of the Python modules that these files name
    suites = []                # modules that define SUITE

These are the defaults, so the file may be empty; `configs` may be missing. Folders are relative to
the file. It is used only in its own folder, or in the one that `BNNBENCH_PROJECT` names, and only
if the user trusts it (`trust`).

A suite contains everything that belongs to one publication. It is a folder in `bnnbench.suites`, a
package that another distribution declares as an entry point in the group `bnnbench.suites`, or a
module listed in a `bnnbench.toml`. Its `__init__` imports little and defines `SUITE`; an optional
module `page` defines `SECTIONS` of the report and `PAGES` for the kinds of its experiments. It is
imported only for runs that the suite presents (`Suite.presents`).

A plug-in declares a configuration folder, structured like `configs`, as an entry point in the group
`bnnbench.configs`: `my_package.configs` is the folder `configs` of the package `my_package`.
"""

from __future__ import annotations

import os
import pkgutil
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from bnnbench.files import expand, read_text, real_path, user_path
from bnnbench.near_names import with_known
from bnnbench.notes import note
from bnnbench.types import UserError

FILE = "bnnbench.toml"

PROJECT_VARIABLE = "BNNBENCH_PROJECT"

DEFAULTS = {"config_dirs": ("configs",), "path": (".",), "suites": ()}

SUITE_GROUP = "bnnbench.suites"

CONFIG_GROUP = "bnnbench.configs"

SIZES = ("small", "full")


@dataclass(frozen=True)
class Project:
    """The content of a `bnnbench.toml`.

    Attributes:
        file: its path.
        config_dirs: configuration folders; all exist, except perhaps the default one.
        path: existing folders of Python modules.
        suites: modules that define `SUITE`.
    """

    file: Path
    config_dirs: tuple[Path, ...]
    path: tuple[Path, ...]
    suites: tuple[str, ...]


@dataclass(frozen=True)
class Sweep:
    """One step of a reproduction: the arguments of `bnnbench run`.

    Attributes:
        experiment: option of the configuration group `experiment`.
        overrides: overrides in addition to the sweep declared in the experiment's YAML file.
        sizes: the sizes of reproduction, `small` and `full`, that include this step.
        report: whether there is a report over its runs; otherwise each run has only its own page.
    """

    experiment: str
    overrides: str = ""
    sizes: tuple[str, ...] = SIZES
    report: bool = True


@dataclass(frozen=True)
class Suite:
    """A publication to reproduce.

    Attributes:
        name: of its folder, and the argument of `bnnbench reproduce`.
        summary: one line.
        sweeps: in the order in which they run.
        single_report: whether there is one report over all sweeps, in a folder named after the
            suite, instead of one for each experiment.
        further_kinds: kinds of experiments, besides the experiments of the sweeps, whose runs
            `page` presents; `splits` for any run on train/test splits.
        minutes: of each of `SIZES` on two idle cores, as `reproduce --dry-run` estimates them from
            measured times; empty if unknown.
    """

    name: str
    summary: str
    sweeps: tuple[Sweep, ...]
    single_report: bool = False
    further_kinds: tuple[str, ...] = ()
    minutes: tuple[float, ...] = ()

    @property
    def description(self) -> str:
        """The summary, with the time of each size that has runs."""
        known = zip(SIZES, self.minutes, strict=False)
        times = {size: time_text(value) for size, value in known if value}
        texts = set(times.values())
        if len(texts) > 1:
            texts = {", ".join(f"{size}: {text}" for size, text in times.items())}
        return " ".join([self.summary, *(f"({text})" for text in texts)])

    def presents(self, experiments: Collection[str]) -> bool:
        """Return whether `page` presents runs of any of these kinds or labels of experiments."""
        own = {*self.further_kinds, *(sweep.experiment for sweep in self.sweeps)}
        return not own.isdisjoint(experiments)


def time_text(minutes: float) -> str:
    """Format `1 min`, `43 min` or `2.6 h`."""
    return f"{minutes / 60:.2g} h" if minutes >= 60 else f"{max(1, round(minutes))} min"


def project() -> Project | None:
    """Read the project in the current folder, or in the folder that `BNNBENCH_PROJECT` names.

    Raises:
        UserError: if the user does not trust it, its file cannot be read, or the file names a
            folder that does not exist.
    """
    named = os.environ.get(PROJECT_VARIABLE)
    file = real_path(user_path(PROJECT_VARIABLE, named or ".")) / FILE
    if file.is_file():
        from bnnbench.trust import check_trusted

        check_trusted(file)
        return read_project(file)
    if named:
        message = f"{PROJECT_VARIABLE}: {file} does not exist; name the folder of a {FILE}."
        raise UserError(message, PROJECT_VARIABLE, "no_file")
    return None


def read_project(file: Path) -> Project:
    """Read a `bnnbench.toml`.

    Raises:
        UserError: if it cannot be read or names a folder that does not exist.
    """
    content = _parsed(file)
    for key, value in content.items():
        if key not in DEFAULTS:
            raise UserError(f"{file}: unknown key {with_known(key, DEFAULTS)}.", key, "unknown")
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            example = next(iter(DEFAULTS[key]), "my_paper")
            raise UserError(
                f'{file}: {key} must be a list of strings such as ["{example}"].', key, "type"
            )
    names = {key: tuple(content.get(key, default)) for key, default in DEFAULTS.items()}
    return Project(
        file,
        _folders(file, "config_dirs", names["config_dirs"]),
        _folders(file, "path", names["path"]),
        names["suites"],
    )


def make_importable(folders: Iterable[Path]) -> None:
    """Append folders to the module search path.

    Appended, so that a file of the user never shadows a library.
    """
    folders = tuple(folders)
    _own_folders.update(dict.fromkeys(map(str, folders)))
    for folder in map(str, folders):
        if folder not in sys.path:
            sys.path.append(folder)


def use_config_dir(folder: str | None) -> None:
    """Make the modules of a `--config-dir` importable, and those next to it.

    Raises:
        UserError: if it is not a folder.
    """
    if folder is None:
        return
    if not os.path.isdir(folder):
        raise UserError(f"--config-dir must be a folder, but {folder} is not.", "--config-dir")
    make_importable([Path(folder).resolve(), Path.cwd()])


def enter_project() -> None:
    """Make the modules of the current project importable, if there is one."""
    current = project()
    if current is not None:
        make_importable(current.path)


_own_folders: dict[str, None] = {}
"""The folders that `make_importable` was given."""


def is_own_module(module: str) -> bool:
    """Return whether a module belongs to the current project, `--config-dir` or a plug-in.

    Nothing is imported. A folder without `__init__.py` is not a package here: otherwise every
    folder with Python files below a project would be one, including received runs.
    """
    enter_project()
    top = module.partition(".")[0]
    if top in plugin_packages():
        return True
    found = PathFinder.find_spec(top, list(_own_folders))
    return found is not None and found.loader is not None


def plugin_packages() -> frozenset[str]:
    """Return the packages of other distributions that declare configurations or suites."""
    groups = (CONFIG_GROUP, SUITE_GROUP)
    points = (point.value for group in groups for point in entry_points(group=group))
    return frozenset(value.partition(".")[0] for value in points)


def built_in_suites() -> tuple[Suite, ...]:
    """Return the suites of bnnbench, for help and completion, which import nothing else."""
    own = (name for name in _packages() if name.startswith(f"{SUITE_GROUP}."))
    return tuple(import_module(name).SUITE for name in own)


def suites() -> tuple[Suite, ...]:
    """Return all suites.

    Raises:
        UserError: if a module listed in a `bnnbench.toml` is not a suite.
    """
    return tuple(module.SUITE for module in _modules())


def plugins(module: str, experiments: Collection[str] | None = None) -> Iterator[ModuleType]:
    """Import the module of this name from every suite that has one.

    Args:
        module: its name, such as `page`.
        experiments: kinds or labels of experiments; suites that present none of them are left out.
    """
    for package in _modules():
        if experiments is not None and not package.SUITE.presents(experiments):
            continue
        name = f"{package.__name__}.{module}"
        if hasattr(package, "__path__") and find_spec(name):
            yield import_module(name)


@cache
def plugin_configs() -> dict[str, Path]:
    """Return the configuration folders of other distributions, by value of the entry point."""
    folders = {}
    for value in sorted({point.value for point in entry_points(group=CONFIG_GROUP)}):
        folder = _folder(value)
        if folder is None:
            note(f"the configuration folder {value} does not exist")
        else:
            folders[value] = folder
    return folders


def _folder(value: str) -> Path | None:
    """Locate `my_package.configs` without importing the package, which may be slow."""
    package, *inside = value.split(".")
    spec = find_spec(package)
    locations = spec.submodule_search_locations if spec else None
    folders = (Path(location, *inside) for location in locations or ())
    return next((folder for folder in folders if folder.is_dir()), None)


def _modules() -> Iterator[ModuleType]:
    """Import all suites: built-in, of other distributions, and of the current project."""
    for package in _packages():
        module = _imported(package)
        if module is not None:
            yield module
    user_project = project()
    if user_project is not None:
        make_importable(user_project.path)
        for name in user_project.suites:
            yield _own(user_project.file, name)


@cache
def _packages() -> tuple[str, ...]:
    """Return the import names of all installed suites, built-in ones first."""
    folders = list(import_module(SUITE_GROUP).__path__)
    built_in = sorted(f"{SUITE_GROUP}.{module.name}" for module in pkgutil.iter_modules(folders))
    return (*built_in, *sorted(point.value for point in entry_points(group=SUITE_GROUP)))


@cache
def _imported(package: str) -> ModuleType | None:
    """Import a package; print a message and return None if it is a broken plug-in."""
    try:
        return import_module(package)
    except Exception as error:
        if package.startswith(f"{SUITE_GROUP}."):
            raise
        note(f"the suite {package} cannot be imported: {error}")
        return None


def _own(file: Path, name: str) -> ModuleType:
    """Import a suite of the current project.

    Raises:
        UserError: if it cannot be imported or does not define `SUITE`.
    """
    try:
        module = import_module(name)
    except Exception as error:
        raise UserError(
            f"{file}: the suite {name} cannot be imported: {error}.", "suites", "import_failed"
        ) from None
    if not isinstance(getattr(module, "SUITE", None), Suite):
        raise UserError(f"{file}: the module {name} does not define SUITE.", "suites", "no_suite")
    return module


def _parsed(file: Path) -> Mapping[str, Any]:
    import tomllib

    try:
        return tomllib.loads(read_text(file))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UserError(f"{file} is not valid TOML: {error}.", code="not_toml") from None
    except UnicodeDecodeError:
        raise UserError(f"{file} is not UTF-8 text; save it as UTF-8.", code="not_utf8") from None
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.", code="unreadable") from None


def _folders(file: Path, key: str, names: Iterable[str]) -> tuple[Path, ...]:
    folders = []
    for name in names:
        try:
            folder = real_path(file.parent / expand(name))
        except ValueError as error:
            raise UserError(f"{file}: {key}: {error}.", key, "folder") from None
        if not folder.is_dir() and names != DEFAULTS[key]:  # defaults may be created later
            raise UserError(
                f"{file}: {key} lists {name}, but {folder} is not a folder.", key, "folder"
            )
        folders.append(folder)
    return tuple(folders)
