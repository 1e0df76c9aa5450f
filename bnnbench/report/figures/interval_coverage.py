"""The share of targets within k predicted deviations."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from bnnbench.report.figures.canvas import GREY, folded, legend, line_look, sketch
from bnnbench.report.figures.curves import columns_of
from bnnbench.results.curves import Curve
from bnnbench.results.interval_coverage import STEPS, gaussian, inside


def sigma_figure(curves: Sequence[Curve], title: str = "") -> Figure:
    """A panel per data set and depth, a line per run.

    Args:
        curves: of the runs.
        title: what the figure is of.
    """
    standing = columns_of(curves)
    labels = [str(curve.run["label"]) for curve in curves]
    columns, names = list(dict.fromkeys(standing)), list(dict.fromkeys(labels))
    figure, panels = sketch(max(5.5, 3.6 * len(columns) + 0.4), 4.6, len(columns))
    for axes, column in zip(panels, columns, strict=True):
        axes.plot(
            STEPS, gaussian(STEPS), color="black", linewidth=1.2, linestyle="--", label="Gaussian"
        )
        for curve, place, label in zip(curves, standing, labels, strict=True):
            if place == column:
                look = line_look(names.index(label), ("-", "-.", ":"))
                axes.plot(STEPS, inside(curve), linewidth=1.2, label=label, **look)
        axes.axvline(1, color=GREY, linewidth=0.5)
        axes.set(xlim=(0, 3), ylim=(0, 1.02), xlabel="k, in predicted total deviations")
        axes.set_title(folded(column, 3.0), fontsize="medium", parse_math=False)
    panels[0].set_ylabel("share of test targets inside")
    legend(figure, panels, columns=len(names) + 1, title=title)
    return figure
