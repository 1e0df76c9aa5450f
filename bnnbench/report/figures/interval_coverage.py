"""Coverage of mean ± k predictive standard deviations."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from bnnbench.report.figures.curves import panel_columns
from bnnbench.report.figures.plotting import GREY, legend, line_style, new_figure, wrap_text
from bnnbench.results.curves import Curve
from bnnbench.results.interval_coverage import HALF_WIDTHS, coverage_of_curve, gaussian_coverage


def interval_coverage_figure(curves: Sequence[Curve], title: str = "") -> Figure:
    """Draw a panel per data set and depth, and a line per run.

    Args:
        curves: curves of the runs.
        title: title of the figure.
    """
    columns_by_curve = panel_columns(curves)
    labels = [str(curve.run["label"]) for curve in curves]
    columns, names = list(dict.fromkeys(columns_by_curve)), list(dict.fromkeys(labels))
    figure, panels = new_figure(max(5.5, 3.6 * len(columns) + 0.4), 4.6, len(columns))
    for axes, column in zip(panels, columns, strict=True):
        axes.plot(
            HALF_WIDTHS,
            gaussian_coverage(HALF_WIDTHS),
            color="black",
            linewidth=1.2,
            linestyle="--",
            label="Gaussian",
        )
        for curve, place, label in zip(curves, columns_by_curve, labels, strict=True):
            if place == column:
                style = line_style(names.index(label), ("-", "-.", ":"))
                axes.plot(
                    HALF_WIDTHS, coverage_of_curve(curve), linewidth=1.2, label=label, **style
                )
        axes.axvline(1, color=GREY, linewidth=0.5)
        axes.set(xlim=(0, 3), ylim=(0, 1.02), xlabel="k [total predictive standard deviations]")
        axes.set_title(wrap_text(column, 3.0), fontsize="medium", parse_math=False)
    panels[0].set_ylabel("fraction of test targets inside")
    legend(figure, panels, columns=len(names) + 1, title=title)
    return figure
