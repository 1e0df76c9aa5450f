"""Grids of images as parts of figures."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes

from bnnbench.report.figures.plotting import GREY


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
