"""Curves by epoch, parts of figures."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes

from bnnbench.experiment.store.answer_tables import CURVES
from bnnbench.report.figures.plotting import PALETTE, PlotOptions
from bnnbench.results.claims.saved_run import SavedRun

COLOURS = (*PALETTE, "#E60066", "#6A0DAD")
"""Colours of ten lines or classes."""


def plot_curves(axes: Axes, run: SavedRun, column: str, lines: Mapping[str, PlotOptions]) -> None:
    """Plot the mean over repetitions by epoch.

    Args:
        axes: the panel.
        run: the run.
        column: of the curves.
        lines: options of the lines by unit.
    """
    for unit, options in lines.items():
        means = run.rows(CURVES, unit=unit).groupby("epoch")[column].mean()
        axes.plot(means.index, means, **options)
    axes.set(xlabel="epoch")
