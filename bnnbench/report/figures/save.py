"""Draws and saves figures, in parallel processes where that is safe."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import FIGURE_FORMATS
from bnnbench.forks import run_in_forks
from bnnbench.report.figures.plotting import save_figure

Draw = Callable[[], Figure]


def save_figures(
    functions: Mapping[str, Draw],
    path_of: Callable[[str, str], Path],
    suffixes: Sequence[str] = FIGURE_FORMATS["both"],
    processes: int = 1,
) -> None:
    """Draw and save figures.

    Args:
        functions: draw the figures, by name.
        path_of: returns the path for a name and a suffix.
        suffixes: of the files to write, as for `plotting.save_figure`.
        processes: number of processes, including this one.

    Raises:
        Exception: the exception of a drawing function, from whichever process.
    """
    run_in_forks(
        [
            partial(_save, draw, partial(path_of, name), suffixes)
            for name, draw in functions.items()
        ],
        processes,
    )


def save_and_inline(
    functions: Mapping[str, Draw],
    path_of: Callable[[str, str], Path] | None = None,
    suffixes: Sequence[str] = (),
    processes: int = 1,
) -> dict[str, str]:
    """Draw figures once, save them, and return them as SVG for embedding in a page.

    The arguments are those of `save_figures`; without `path_of` no files are saved.

    Returns:
        The `<svg>` elements by name.
    """
    with tempfile.TemporaryDirectory() as temporary:

        def path(name: str, suffix: str) -> Path:
            if path_of is None or suffix == "svg":
                return Path(temporary) / f"{name}.{suffix}"
            return path_of(name, suffix)

        save_figures(functions, path, (*suffixes, "svg"), processes)
        return {name: path(name, "svg").read_text("utf-8") for name in functions}


def _save(draw: Draw, path_of: Callable[[str], Path], suffixes: Sequence[str]) -> None:
    save_figure(draw(), path_of, suffixes)
