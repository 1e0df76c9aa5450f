"""Posteriors in the plane of both causes: what samples of q look like, and the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report.figures.canvas import sketch
from bnnbench.suites.lam_density_ratio.sprinkler import log_unnormalised

REACH, POINTS = 5.0, 300
"""The square and the grid on which the thesis's programs draw."""

LEVELS = (0.02, 0.1, 0.25, 0.45, 0.7, 1.0)
"""Shares of a panel's greatest density between which it is filled."""

TRUTH = "true posterior"


def axis() -> np.ndarray:
    """The points along each side of the square, `[POINTS]`."""
    return np.linspace(-REACH, REACH, POINTS)


def kernel_density(samples: np.ndarray) -> np.ndarray:
    """Density of samples `[n, 2]` on the grid, `[POINTS, POINTS]`, z1 along the first axis.

    A product of Gaussian kernels with bandwidths `1.06 std n^(-1/6)`, as in the average KL.
    """
    count = len(samples)
    bandwidth = 1.06 * samples.std(0) * count ** (-1 / 6)
    each = (axis()[:, None, None] - samples) / bandwidth  # [POINTS, n, 2]
    kernels = np.exp(-0.5 * each**2) / (np.sqrt(2 * np.pi) * bandwidth)
    return np.asarray(kernels[..., 0] @ kernels[..., 1].T) / count


def true_density(x: float) -> np.ndarray:
    """The posterior up to a factor on the grid, `[POINTS, POINTS]`."""
    z = np.stack(np.meshgrid(axis(), axis(), indexing="ij"), -1)
    logs = log_unnormalised(x, z)
    return np.asarray(np.exp(logs - logs.max()))


def posteriors_figure(rows: Mapping[str, np.ndarray], observations: Sequence[float]) -> Figure:
    """A row of panels per set of samples and one of the truth, a column per observation.

    Thesis, Figs. 5.1 and 5.4.

    Args:
        rows: samples `[x, n, 2]` by what they are called.
        observations: the values `[x]`.
    """
    columns, height = len(observations), len(rows) + 1
    figure, panels = sketch(2.3 * columns + 0.8, 2.3 * height + 0.3, columns, height)
    for row, (name, samples) in enumerate({**rows, TRUTH: None}.items()):
        own = panels[row * columns : (row + 1) * columns]
        for place, (axes, x) in enumerate(zip(own, observations, strict=True)):
            _draw(axes, true_density(x) if samples is None else kernel_density(samples[place]))
            axes.set_title(f"x = {x:g}" if row == 0 else "", fontsize="medium")
        own[0].set_ylabel(f"{name}\nz2 (rain)", fontsize="small")
    for axes in panels[-columns:]:
        axes.set_xlabel("z1 (sprinkler)", fontsize="small")
    return figure


def _draw(axes: Axes, density: np.ndarray) -> None:
    scaled = density / density.max()
    axes.contourf(axis(), axis(), scaled.T, levels=LEVELS, cmap="Blues", vmin=-0.1)
    axes.contour(axis(), axis(), scaled.T, levels=LEVELS[:-1], colors="#333333", linewidths=0.4)
    axes.set(aspect="equal", xlim=(-REACH, REACH), ylim=(-REACH, REACH))
    axes.tick_params(labelsize="x-small")
