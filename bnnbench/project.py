"""A user's project: a folder with a `bnnbench.toml`, which locates its files.

    config_dirs = ["configs"]  # folders with method/mine.yaml, dataset/mine.yaml and so on
    path = ["."]               # folders of the Python modules that these files name
    suites = []                # modules that define SUITE

These are the defaults, so the file may be empty. Folders are relative to the file, which applies to
its folder and all folders below, like `pyproject.toml`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bnnbench.types import UserError

FILE = "bnnbench.toml"

DEFAULTS = {"config_dirs": ("configs",), "path": (".",), "suites": ()}


@dataclass(frozen=True)
class Project:
    """The content of a `bnnbench.toml`.

    Attributes:
        file: its path.
        config_dirs: existing configuration folders.
        path: existing folders of Python modules.
        suites: modules that define `SUITE`.
    """

    file: Path
    config_dirs: tuple[Path, ...]
    path: tuple[Path, ...]
    suites: tuple[str, ...]


def project() -> Project | None:
    """Read the project of the current folder or of its nearest parent that has one.

    Raises:
        UserError: if its file cannot be read or names a folder that does not exist.
    """
    current = Path.cwd()
    for folder in (current, *current.parents):
        if (folder / FILE).is_file():
            return read_project(folder / FILE)
    return None


def read_project(file: Path) -> Project:
    """Read a `bnnbench.toml`.

    Raises:
        UserError: if it cannot be read or names a folder that does not exist.
    """
    content = _parsed(file)
    for key, value in content.items():
        if key not in DEFAULTS:
            raise UserError(
                f"{file}: unknown key {key} (available: {', '.join(DEFAULTS)}).", key, "unknown"
            )
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            raise UserError(
                f'{file}: {key} must be a list of strings such as ["{_example(key)}"].', key, "type"
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
    for folder in map(str, folders):
        if folder not in sys.path:
            sys.path.append(folder)


def enter_project() -> None:
    """Make the modules of the current project importable, if there is one."""
    current = project()
    if current is not None:
        make_importable(current.path)


def _parsed(file: Path) -> Mapping[str, Any]:
    import tomllib

    try:
        return tomllib.loads(file.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{file} is not valid TOML: {error}.", code="not_toml") from None
    except UnicodeDecodeError:
        raise UserError(f"{file} is not UTF-8 text.", code="not_utf8") from None
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.", code="unreadable") from None


def _folders(file: Path, key: str, names: Iterable[str]) -> tuple[Path, ...]:
    folders = tuple((file.parent / Path(name).expanduser()).resolve() for name in names)
    for name, folder in zip(names, folders, strict=True):
        if not folder.is_dir():
            raise UserError(
                f"{file}: {key} lists {name}, but {folder} is not a folder.", key, "folder"
            )
    return folders


def _example(key: str) -> str:
    return next(iter(DEFAULTS[key]), "my_paper")
