"""Draws the figures of a page and saves them, in several processes where that is safe."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import FIGURES
from bnnbench.forks import in_forks
from bnnbench.report.figures.canvas import save

Draw = Callable[[], Figure]


def save_all(
    drawings: Mapping[str, Draw],
    path_of: Callable[[str, str], Path],
    suffixes: Sequence[str] = FIGURES["both"],
    processes: int = 1,
) -> None:
    """Draws and saves figures.

    Args:
        drawings: what draws each of them, by its name.
        path_of: where the figure of some name goes, with some suffix.
        suffixes: of the files wanted, as for `canvas.save`.
        processes: that may draw side by side, this one included.

    Raises:
        Exception: what a drawing raises, whichever process it is in.
    """
    works = [
        partial(_save, draw, partial(path_of, name), suffixes) for name, draw in drawings.items()
    ]
    in_forks(works, processes)


def save_for_page(
    drawings: Mapping[str, Draw],
    path_of: Callable[[str, str], Path] | None = None,
    suffixes: Sequence[str] = (),
    processes: int = 1,
) -> dict[str, str]:
    """Draws figures once, saves them as `save_all` does and returns them for a page.

    Args:
        drawings: as there.
        path_of: as there; None saves nothing.
        suffixes: as there.
        processes: as there.

    Returns:
        The `<svg>` element of each, by name.
    """
    with tempfile.TemporaryDirectory() as aside:

        def place(name: str, suffix: str) -> Path:
            if path_of is None or suffix == "svg":
                return Path(aside) / f"{name}.{suffix}"
            return path_of(name, suffix)

        save_all(drawings, place, (*suffixes, "svg"), processes)
        return {name: place(name, "svg").read_text("utf-8") for name in drawings}


def _save(draw: Draw, path_of: Callable[[str], Path], suffixes: Sequence[str]) -> None:
    save(draw(), path_of, suffixes)
