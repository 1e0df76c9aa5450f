"""Curves by epoch, parts of figures."""

from __future__ import annotations

from matplotlib.axes import Axes

from bnnbench.experiment.answer_tables import CURVES
from bnnbench.report.figures.plotting import PALETTE
from bnnbench.results.saved_run import SavedRun

COLOURS = (*PALETTE, "#000000", "#6A0DAD")
"""Colours of ten lines or classes."""


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
        colour = COLOURS[index % len(COLOURS)]
        axes.plot(rows.index, rows[f"{column}_test"], color=colour, label=label)
        axes.plot(rows.index, rows[f"{column}_train"], "--", color=colour, linewidth=1)
    axes.set(xlabel="epoch")
