"""Contour plots of posteriors in the plane of both causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report.figures.plotting import new_figure
from bnnbench.suites.lam_density_ratio.sprinkler import log_unnormalised

AXIS_LIMIT, GRID_POINTS = 5.0, 300
"""Square and grid of the thesis's plots."""

LEVELS = (0.02, 0.1, 0.25, 0.45, 0.7, 1.0)
"""Contour levels relative to a panel's maximum density."""

EXACT_POSTERIOR = "exact posterior"


def axis() -> np.ndarray:
    """Return the points along each side of the square, `[GRID_POINTS]`."""
    return np.linspace(-AXIS_LIMIT, AXIS_LIMIT, GRID_POINTS)


def kernel_density(samples: np.ndarray) -> np.ndarray:
    """Return the density of samples `[n, 2]` on the grid `[z1, z2]`.

    A product of Gaussian kernels with bandwidths `1.06 std n^(-1/6)`, as in the average KL.
    """
    count = len(samples)
    bandwidth = 1.06 * samples.std(0) * count ** (-1 / 6)
    standardised = (axis()[:, None, None] - samples) / bandwidth  # [GRID_POINTS, n, 2]
    kernels = np.exp(-0.5 * standardised**2) / (np.sqrt(2 * np.pi) * bandwidth)
    return np.asarray(kernels[..., 0] @ kernels[..., 1].T) / count


def true_density(x: float) -> np.ndarray:
    """Return the posterior on the grid `[z1, z2]`, scaled to a maximum of 1."""
    z = np.stack(np.meshgrid(axis(), axis(), indexing="ij"), -1)
    logs = log_unnormalised(x, z)
    return np.asarray(np.exp(logs - logs.max()))


def posteriors_figure(rows: Mapping[str, np.ndarray], observations: Sequence[float]) -> Figure:
    """Draw Figs. 5.1 and 5.4: a row per set of samples and one of the exact posterior.

    Args:
        rows: samples `[x, n, 2]` by name of the row.
        observations: the observations `[x]`, one per column.
    """
    columns, height = len(observations), len(rows) + 1
    figure, panels = new_figure(2.3 * columns + 0.8, 2.3 * height + 0.3, columns, height)
    for row, (name, samples) in enumerate({**rows, EXACT_POSTERIOR: None}.items()):
        row_axes = panels[row * columns : (row + 1) * columns]
        for k, (axes, x) in enumerate(zip(row_axes, observations, strict=True)):
            _draw(axes, true_density(x) if samples is None else kernel_density(samples[k]))
            axes.set_title(f"x = {x:g}" if row == 0 else "", fontsize="medium")
        row_axes[0].set_ylabel(f"{name}\nz2 (rain)", fontsize="small")
    for axes in panels[-columns:]:
        axes.set_xlabel("z1 (sprinkler)", fontsize="small")
    return figure


def _draw(axes: Axes, density: np.ndarray) -> None:
    scaled = density / density.max()
    axes.contourf(axis(), axis(), scaled.T, levels=LEVELS, cmap="Blues", vmin=-0.1)
    axes.contour(axis(), axis(), scaled.T, levels=LEVELS[:-1], colors="#333333", linewidths=0.4)
    limits = (-AXIS_LIMIT, AXIS_LIMIT)
    axes.set(aspect="equal", xlim=limits, ylim=limits)
    axes.tick_params(labelsize="x-small")
