"""Scores against the order of families of divergences."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report.figures.plotting import GREY, PALETTE, legend, new_figure, wrap_text
from bnnbench.results.divergence_orders import kl_reference
from bnnbench.results.metrics import Metric, printed_in


def divergence_orders_figure(rows: pd.DataFrame, table: pd.DataFrame, title: str = "") -> Figure:
    """Draw a row of panels per score, a column per data set, and a line per family.

    Args:
        rows: from `with_orders`, for one method and depth.
        table: all runs, for the KL reference.
        title: title of the figure.
    """
    datasets = list(rows["dataset"].unique())
    families = list(rows["divergence_family"].unique())
    colours = {name: PALETTE[k % len(PALETTE)] for k, name in enumerate(families)}
    metrics = printed_in("figures")
    size = (max(6.0, 3.0 * len(datasets) + 0.4), 6.0)
    figure, panels = new_figure(*size, len(datasets), len(metrics))
    for i, metric in enumerate(metrics):
        for j, dataset in enumerate(datasets):
            axes, own = panels[i * len(datasets) + j], rows[rows["dataset"] == dataset]
            draw_families(axes, own, metric, colours)
            kl = kl_reference(table, own)
            if kl is not None:
                draw_reference(axes, kl, metric)
            axes.axvline(1, color=GREY, linewidth=0.5)
            heading = wrap_text(str(dataset), 2.4) if i == 0 else ""
            axes.set_title(heading, fontsize="medium", parse_math=False)
            axes.set_xlabel("alpha" if i == len(metrics) - 1 else "")
            axes.set_ylabel(metric.loss_axis if j == 0 else "")
    legend(figure, panels, title=title)
    return figure


def draw_families(
    axes: Axes, rows: pd.DataFrame, metric: Metric, colours: Mapping[str, str]
) -> None:
    """Draw mean and standard error of a score by order, with lines slightly offset."""
    for place, (family, group) in enumerate(rows.groupby("divergence_family", sort=False)):
        axes.errorbar(
            group["order"] + 0.03 * (place - 1),
            metric.sign * group[f"{metric.key}_mean"],
            group[f"{metric.key}_stderr"],
            color=colours[str(family)],
            marker="o",
            markersize=3.5,
            linewidth=1,
            elinewidth=0.8,
            capsize=2,
            label=str(family),
        )


def draw_reference(axes: Axes, kl: pd.Series, metric: Metric) -> None:
    """Draw mean and standard error of KL, which has no order, as a line and a band."""
    mean, error = metric.sign * kl[f"{metric.key}_mean"], kl[f"{metric.key}_stderr"]
    axes.axhline(mean, color=GREY, linewidth=1, linestyle="--", label="kl")
    axes.axhspan(mean - error, mean + error, color=GREY, alpha=0.15, linewidth=0)
