"""Finds the folders of configurations and reads one-line summaries from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bnnbench.discovery import brought_configs
from bnnbench.project import project
from bnnbench.types import UserError

GROUPS = (
    *("method", "dataset", "experiment", "divergence", "prior", "likelihood", "loss", "search"),
    *("protocol", "depth"),
    *("device", "engine"),
)
"""Groups of the main configuration."""

OWN_GROUPS = ("contrast", "estimator")
"""Groups that an experiment brings in by the defaults of its own file."""

ALL_GROUPS = (*GROUPS, *OWN_GROUPS)


@dataclass(frozen=True)
class Folder:
    """A folder of configurations.

    Attributes:
        path: where it is.
        owner: whose it is, for a list; nothing for what comes with bnnbench.
    """

    path: Path
    owner: str = ""


@dataclass(frozen=True)
class Option:
    """What can be chosen in a group.

    Attributes:
        file: its YAML.
        owner: whose it is, as of its folder.
    """

    file: Path
    owner: str

    @property
    def summary(self) -> str:
        """The first comment of its file.

        Raises:
            UserError: if that is no text.
        """
        try:
            lines = self.file.read_text("utf-8").splitlines()
        except UnicodeDecodeError:
            raise UserError(f"{self.file} is not UTF-8 text.") from None
        comments = [line[1:].strip() for line in lines if line[:1] == "#"]
        return next((c for c in comments if not c.startswith("@package")), "")


def config_folder() -> Path:
    """`configs`: inside the package in a wheel, beside it in a checkout or editable install."""
    package = Path(__file__).parents[1]
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


def config_folders() -> tuple[Folder, ...]:
    """Ours, those that other distributions bring, and those of the current project.

    Raises:
        UserError: if two have a file of the same name, of which only one could be meant, or the
            project's file is wrong.
    """
    brought = (Folder(path, value) for value, path in brought_configs().items())
    found = project()
    own = (Folder(path, "yours") for path in found.config_dirs) if found else ()
    folders = (Folder(config_folder()), *brought, *own)
    _check_apart([folder.path for folder in folders])
    return folders


def offered(group: str) -> dict[str, Option]:
    """Every option of a group, ours first."""
    return {
        file.stem: Option(file, folder.owner)
        for folder in config_folders()
        for file in sorted((folder.path / group).glob("*.yaml"))
        if is_choice(file.stem)
    }


def is_choice(name: str) -> bool:
    """Whether a file of a group is an option, not the part of others that an underscore marks."""
    return not name.startswith("_")


def options(group: str) -> dict[str, str]:
    """Every option of a group with its summary."""
    return {name: option.summary for name, option in offered(group).items()}


def bringing(group: str) -> list[str]:
    """The experiments whose own defaults bring a group in."""
    experiments = offered("experiment").items()
    return [name for name, one in experiments if f"/{group}:" in one.file.read_text("utf-8")]


def _check_apart(folders: Sequence[Path]) -> None:
    """Refuses two files of one name: a run must never take a method for another of that name."""
    if len(folders) < 2:
        return
    seen: dict[Path, Path] = {}
    for folder in folders:
        for file in _files(folder):
            before = seen.setdefault(file, folder)
            if before != folder:
                raise UserError(
                    f"{folder / file} has the name of {before / file}; give it another."
                )


def _files(folder: Path) -> Iterator[Path]:
    """Those in groups; no deeper, for the folder may be a whole project with its outputs."""
    return (file.relative_to(folder) for file in folder.glob("*/*.yaml"))
