"""A researcher's own project: a folder with a `bnnbench.toml`, which says where her files are.

    config_dirs = ["configs"]  # folders with method/mine.yaml, dataset/hers.yaml and so on
    path = ["."]               # folders of the Python modules that those files name
    suites = []                # modules that hold a SUITE

These are what holds where a line is left out, so that an empty file does; folders are relative to
the file. It counts in its folder and in all below, as `pyproject.toml` does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bnnbench.types import UserError

FILE = "bnnbench.toml"

USUAL = {"config_dirs": ("configs",), "path": (".",), "suites": ()}
"""What holds where the file says nothing."""


@dataclass(frozen=True)
class Project:
    """What a `bnnbench.toml` says.

    Attributes:
        file: itself.
        config_dirs: folders of configurations, which are there.
        path: folders of modules, which are there.
        suites: modules that hold a `SUITE`.
    """

    file: Path
    config_dirs: tuple[Path, ...]
    path: tuple[Path, ...]
    suites: tuple[str, ...]


def project() -> Project | None:
    """The project of the current folder or of the nearest above it that has one.

    Raises:
        UserError: if its file cannot be read, or names what is not there.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / FILE).is_file():
            return read_project(folder / FILE)
    return None


def read_project(file: Path) -> Project:
    """What the file says.

    Raises:
        UserError: if it cannot be read, or names what is not there.
    """
    said = _parsed(file)
    for key, value in said.items():
        if key not in USUAL:
            raise UserError(f"{file}: {key} is no key of it; it has {', '.join(USUAL)}.")
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            raise UserError(f'{file}: {key} must be a list of texts such as ["{_example(key)}"].')
    names = {key: tuple(said.get(key, usual)) for key, usual in USUAL.items()}
    return Project(
        file,
        _folders(file, "config_dirs", names["config_dirs"]),
        _folders(file, "path", names["path"]),
        names["suites"],
    )


def make_importable(folders: Iterable[Path]) -> None:
    """Has Python find modules in these folders too, after all that is installed.

    Afterwards, so that a file of hers that is named like a library never takes its place.
    """
    for folder in map(str, folders):
        if folder not in sys.path:
            sys.path.append(folder)


def enter_project() -> None:
    """Makes the modules of the current project importable, if there is one."""
    found = project()
    if found is not None:
        make_importable(found.path)


def _parsed(file: Path) -> Mapping[str, Any]:
    import tomllib

    try:
        return tomllib.loads(file.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{file} is no TOML: {error}.") from None
    except UnicodeDecodeError:
        raise UserError(f"{file} is not UTF-8 text.") from None
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.") from None


def _folders(file: Path, key: str, names: Iterable[str]) -> tuple[Path, ...]:
    folders = tuple((file.parent / Path(name).expanduser()).resolve() for name in names)
    for name, folder in zip(names, folders, strict=True):
        if not folder.is_dir():
            raise UserError(f"{file}: {key} names {name}, and {folder} is no folder.")
    return folders


def _example(key: str) -> str:
    return next(iter(USUAL[key]), "my_paper")
