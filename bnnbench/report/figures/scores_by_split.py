"""The scores of every split of one run."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bnnbench.report.figures.canvas import BLUE, GREY, ORANGE, Look, label_axes, legend, sketch
from bnnbench.report.numbers import unit_of
from bnnbench.results.metrics import printed_in


def splits_figure(splits: pd.DataFrame, target: str, name: str = "") -> Figure:
    """RMSE and log-likelihood of each split, with their mean and standard error beside.

    Args:
        splits: rows of `splits.csv`; the diverged ones are marked at the bottom.
        target: the target's name and unit.
        name: of the run.
    """
    kept, lost = splits[splits["diverged"] == 0], splits[splits["diverged"] != 0]
    figure, panels = sketch(10, 4, 2)
    first, last = splits["split"].min(), splits["split"].max()
    side = last + max(2, 0.1 * (last - first))
    for axes, metric in zip(panels, printed_in("figures"), strict=True):
        scores = kept[metric.key]
        axes.plot(kept["split"], scores, "o", color=BLUE, label="one split")
        mean = scores.mean()
        axes.errorbar(
            side,
            mean,
            scores.std(ddof=1) / np.sqrt(max(len(kept), 1)),
            fmt="D",
            color=ORANGE,
            capsize=4,
            label="mean ± standard error",
        )
        axes.axhline(mean, color=ORANGE, linewidth=0.7, zorder=0)
        if len(lost):
            floor: Look = {"transform": axes.get_xaxis_transform(), "clip_on": False}
            axes.plot(lost["split"], [0.02] * len(lost), "x", color=GREY, label="diverged", **floor)
        in_target = metric.unit == "target"
        label_axes(
            axes, "split", f"test {metric.word}{unit_of(target)}" if in_target else metric.axis
        )
        numbers = np.unique(np.linspace(first, last, 5).round().astype(int))
        axes.set_xticks([*numbers, side], [*map(str, numbers), "mean"])
    legend(figure, panels, title=name)
    return figure
