"""Grids of images as parts of figures."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes

from bnnbench.report.figures.plotting import GREY


def show_images(axes: Axes, images: np.ndarray, columns: int, title: str = "") -> None:
    """Draw images as one grid, whose axes are in units of images, with a margin around each.

    Args:
        axes: the panel.
        images: `[N, D]`, square images from 0 to their maximum, in rows of the grid.
        columns: of the grid; N is a multiple of it.
        title: of the panel.
    """
    side = math.isqrt(images.shape[1])
    padded = np.pad(images.reshape(-1, side, side), ((0, 0), (1, 1), (1, 1)))
    rows = len(images) // columns
    grid = padded.reshape(rows, columns, side + 2, -1).swapaxes(1, 2).reshape(rows * (side + 2), -1)
    axes.imshow(grid, cmap="gray_r", interpolation="nearest", extent=(0, columns, rows, 0))
    axes.set_title(title, fontsize="small")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(True)
    for k in range(1, columns):
        axes.axvline(k, color=GREY, linewidth=0.5)
    for k in range(1, rows):
        axes.axhline(k, color=GREY, linewidth=0.5)
