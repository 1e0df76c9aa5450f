"""Finds the configuration folders and the options in them, and suggests options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bnnbench.discovery import FILE, plugin_configs, project
from bnnbench.files import read_text, shipped_folder
from bnnbench.near_names import closest_match, with_known
from bnnbench.types import UserError

CONFIG_NAME = "run"
"""The main configuration, `configs/run.yaml`."""

GROUPS = (
    *("method", "dataset", "experiment", "divergence", "prior", "likelihood", "loss", "search"),
    *("protocol", "depth", "images", "device", "engine"),
)
"""Config groups, in the order of lists."""

CLOSED_GROUPS = ("depth", "device")
"""Groups to which users cannot add options."""


@dataclass(frozen=True)
class Option:
    """An option of a config group.

    Attributes:
        file: its YAML file.
        owner: of its folder, shown in lists; empty for our own.
    """

    file: Path
    owner: str

    @property
    def summary(self) -> str:
        """The first comment of its file.

        Raises:
            UserError: if the file is not text.
        """
        try:
            lines = read_text(self.file).splitlines()
        except UnicodeDecodeError:
            raise UserError(
                f"{self.file} is not UTF-8 text; save it as UTF-8.", code="not_utf8"
            ) from None
        comments = [line[1:].strip() for line in lines if line[:1] == "#"]
        return next((c for c in comments if not c.startswith("@package")), "")


def config_folder() -> Path:
    """Return the folder `configs` of bnnbench."""
    return shipped_folder("configs")


def config_folders() -> dict[Path, str]:
    """Return our folder, those of plug-ins, and those of the current project, with their owners.

    Raises:
        UserError: if two of them have a file of the same name, or the project file is wrong.
    """
    folders = {config_folder(): ""}
    folders |= {path: name for name, path in plugin_configs().items()}
    found = project()
    folders |= dict.fromkeys(found.config_dirs if found else (), "yours")
    _check_unique([*folders])
    return folders


def find_options(group: str) -> dict[str, Option]:
    """Return all options of a group, ours first."""
    return {
        file.stem: Option(file, owner)
        for folder, owner in config_folders().items()
        for file in sorted((folder / group).glob("*.yaml"))
        if is_option(file.stem)
    }


def is_option(name: str) -> bool:
    """Whether a file is an option; a leading underscore marks a base file of other options."""
    return not name.startswith("_")


def options(group: str) -> dict[str, str]:
    """Return the summary of every option of a group."""
    return {name: option.summary for name, option in find_options(group).items()}


def unknown_option(
    group: str, value: str, names: Sequence[str], has_config_dir: bool = False
) -> UserError:
    """Return the error for an option that does not exist.

    Args:
        group: the config group.
        value: the given option.
        names: the options of the group.
        has_config_dir: whether the command line names a folder of options.
    """
    word = value.strip("[]{}'\" ")
    closed = has_config_dir or group in CLOSED_GROUPS or project() is not None
    own = (
        ""
        if closed or closest_match(word, names)
        else f"; options of your own need a {FILE} in this folder"
    )
    return UserError(f"unknown {group} {with_known(word, names)}{own}.", group, "unknown_option")


@cache
def read_option(group: str, name: str) -> dict[str, Any]:
    """Return the content of an option of ours, with those that it is based on; empty if none.

    Interpolations are not resolved, and options that it chooses in other groups are not included.
    """
    from omegaconf import OmegaConf  # slow

    file = config_folder() / group / f"{name}.yaml"
    own: Any = OmegaConf.load(file) if file.is_file() else OmegaConf.create()
    defaults = own.pop("defaults", ())
    bases = [base for base in defaults if isinstance(base, str) and base != "_self_"]
    merged: Any = OmegaConf.merge(*(read_option(group, base) for base in bases), own)
    return OmegaConf.to_container(merged)  # type: ignore[return-value]


def _check_unique(folders: Sequence[Path]) -> None:
    """Reject two files of the same name: a method must not be mistaken for another one."""
    if len(folders) < 2:
        return
    seen: dict[Path, Path] = {}
    for folder in folders:
        for file in _files(folder):
            before = seen.setdefault(file, folder)
            if before != folder:
                raise UserError(
                    f"{folder / file} has the same name as {before / file}; rename it.",
                    str(file.parent),
                    "name_taken",
                )


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of groups, but none in deeper folders, which may contain outputs."""
    return (file.relative_to(folder) for file in folder.glob("*/*.yaml"))
