"""Scores of each split of one run."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bnnbench.report.figures import plotting
from bnnbench.report.formatting import unit_suffix
from bnnbench.results.metrics import printed_in


def splits_figure(splits: pd.DataFrame, target: str, name: str = "") -> Figure:
    """Draw RMSE and log-likelihood of each split, and their means with standard errors.

    Diverged splits are marked at the bottom.
    """
    valid, diverged = splits[splits["diverged"] == 0], splits[splits["diverged"] != 0]
    figure, panels = plotting.new_figure(10, 4, 2)
    first, last = splits["split"].min(), splits["split"].max()
    side = last + max(2, 0.1 * (last - first))
    for axes, metric in zip(panels, printed_in("figures"), strict=True):
        scores = valid[metric.key]
        axes.plot(valid["split"], scores, "o", color=plotting.BLUE, label="one split")
        mean = scores.mean()
        axes.errorbar(
            side,
            mean,
            scores.std(ddof=1) / np.sqrt(max(len(valid), 1)),
            fmt="D",
            color=plotting.ORANGE,
            capsize=4,
            label="mean ± standard error",
        )
        axes.axhline(mean, color=plotting.ORANGE, linewidth=0.7, zorder=0)
        if len(diverged):
            floor: plotting.PlotOptions = {
                "transform": axes.get_xaxis_transform(),
                "clip_on": False,
            }
            axes.plot(
                diverged["split"],
                [0.02] * len(diverged),
                "x",
                color=plotting.GREY,
                label="diverged",
                **floor,
            )
        in_target = metric.unit == "target"
        plotting.label_axes(
            axes,
            "split",
            f"test {metric.inline_title}{unit_suffix(target)}" if in_target else metric.axis,
        )
        numbers = np.unique(np.linspace(first, last, 5).round().astype(int))
        axes.set_xticks([*numbers, side], [*map(str, numbers), "mean"])
    plotting.legend(figure, panels, title=name)
    return figure
