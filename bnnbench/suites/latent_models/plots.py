"""Parts of figures: grids of images, and curves by epoch."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes

from bnnbench.report.figures.plotting import GREY, PALETTE
from bnnbench.suites.latent_models.names import CURVES
from bnnbench.suites.latent_models.saved_run import SavedRun


def show_images(axes: Axes, images: np.ndarray, columns: int, title: str = "") -> None:
    """Draw images as one grid.

    Args:
        axes: the panel.
        images: `[N, D]`, square images from 0 to their maximum, in rows of the grid.
        columns: of the grid; N is a multiple of it.
        title: of the panel.
    """
    side = math.isqrt(images.shape[1])
    grid = images.reshape(-1, columns, side, side).swapaxes(1, 2).reshape(-1, columns * side)
    axes.imshow(grid, cmap="gray_r", interpolation="nearest")
    axes.set_title(title, fontsize="small")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(True)
    for k in range(1, columns):
        axes.axvline(k * side - 0.5, color=GREY, linewidth=0.5)
    for k in range(1, len(images) // columns):
        axes.axhline(k * side - 0.5, color=GREY, linewidth=0.5)


def plot_curves(axes: Axes, run: SavedRun, column: str, units: dict[str, str]) -> None:
    """Plot the mean over repetitions by epoch: training dashed, test solid.

    Args:
        axes: the panel.
        run: the run.
        column: of the curves, without `_train` or `_test`.
        units: labels of the lines by unit.
    """
    for index, (unit, label) in enumerate(units.items()):
        rows = run.rows(CURVES, unit=unit).groupby("epoch").mean(numeric_only=True)
        colour = PALETTE[index % len(PALETTE)]
        axes.plot(rows.index, rows[f"{column}_test"], color=colour, label=label)
        axes.plot(rows.index, rows[f"{column}_train"], "--", color=colour, linewidth=1)
    axes.set(xscale="log", xlabel="epoch")
