"""Finds the configuration folder and reads one-line summaries from it."""

from __future__ import annotations

from pathlib import Path

GROUPS = (
    *("method", "dataset", "experiment", "divergence", "prior", "likelihood", "loss", "search"),
    *("protocol", "depth"),
    "device",
)
"""Groups of the main configuration."""

OWN_GROUPS = ("contrast", "estimator")
"""Groups that an experiment brings in by the defaults of its own file."""

ALL_GROUPS = (*GROUPS, *OWN_GROUPS)


def config_folder() -> Path:
    """`configs`: inside the package in a wheel, beside it in a checkout or editable install."""
    package = Path(__file__).parents[1]
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


def options(group: str) -> dict[str, str]:
    """Every option of a group with its summary: the first comment of its file."""
    files = sorted((config_folder() / group).glob("[!_]*.yaml"))
    return {file.stem: _summary(file) for file in files}


def bringing(group: str) -> list[str]:
    """The experiments whose own defaults bring a group in."""
    files = sorted((config_folder() / "experiment").glob("[!_]*.yaml"))
    return [file.stem for file in files if f"/{group}:" in file.read_text("utf-8")]


def _summary(file: Path) -> str:
    comments = [
        line[1:].strip() for line in file.read_text("utf-8").splitlines() if line[:1] == "#"
    ]
    return next((c for c in comments if not c.startswith("@package")), "")
