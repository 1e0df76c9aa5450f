"""What training minimised, epoch by epoch."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report.figures.canvas import (
    BLUE,
    GREY,
    ORANGE,
    PALETTE,
    SMALL,
    Look,
    folded,
    legend,
    line_look,
    sketch,
)
from bnnbench.results.objectives import medians_by_epoch


def settle(axes: Axes, curves: list[pd.Series]) -> None:
    """Sets the y axis by what lies after the first tenth of the epochs, where starts are gone."""
    late = [curve[curve.index > 0.1 * curve.index.max()] for curve in curves]
    values = np.concatenate([c[np.isfinite(c)].to_numpy() for c in late])
    if len(values):
        low, high = values.min(), np.quantile(values, 0.99)
        margin = 0.08 * (high - low) or 0.1
        axes.set_ylim(low - margin, high + 2 * margin)


def objective_figure(table: pd.DataFrame, name: str = "") -> Figure:
    """One run: every split's objective, and the medians of its two parts.

    Args:
        table: of `read_objective`.
        name: of the run.
    """
    figure, (axes,) = sketch(6.4, 4.6)
    wide = table.pivot(index="epoch", columns="split", values="objective")
    for number, split in enumerate(wide):
        said = "" if number else "objective, one split"
        axes.plot(wide.index, wide[split], color=GREY, linewidth=0.5, alpha=0.6, label=said)
    looks: dict[str, Look] = {
        "objective": {"color": BLUE, "linewidth": 2},
        "loss": {"color": ORANGE, "linewidth": 1.2},
        "complexity": {"color": PALETTE[2], "linewidth": 1.2},
    }
    medians = {part: medians_by_epoch(table, part) for part in looks}
    for part, look in looks.items():
        axes.plot(medians[part], label=f"{part}, median", **look)
    settle(axes, [*medians.values(), *(wide[split] for split in wide)])
    axes.set(xlabel="epoch", ylabel="nats per data point, standardised target")
    legend(figure, axes, columns=2, title=name)
    return figure


def objectives_figure(medians: pd.DataFrame, title: str = "") -> Figure:
    """Panels by depth and data set, a line per label.

    Args:
        medians: of `results.objectives.median_objectives`.
        title: what the figure is of.
    """
    datasets, depths = list(medians["dataset"].unique()), sorted(medians["depth"].unique())
    names = list(medians["label"].unique())
    size = (max(5.5, 3.0 * len(datasets) + 0.4), 2.3 * len(depths) + 1)
    figure, panels = sketch(*size, len(datasets), len(depths))
    for axes, (depth, dataset) in zip(panels, product(depths, datasets), strict=True):
        own = medians[(medians["dataset"] == dataset) & (medians["depth"] == depth)]
        axes.set_visible(len(own) > 0)
        for _, curve in own.groupby("run", sort=False):
            label = curve["label"].iloc[0]
            look = line_look(names.index(label), ("-", "--", ":"))
            axes.plot(curve["epoch"], curve["objective"], linewidth=1.1, label=label, **look)
        # Objectives differ by orders of magnitude, and may be negative.
        axes.set_yscale("symlog", linthresh=1, subs=range(2, 10))
        head = folded(f"{dataset} · depth {depth}", 2.4, SMALL)
        axes.set_title(head, fontsize="small", parse_math=False)
        axes.tick_params(labelsize=7)
    figure.supxlabel("epoch", fontsize="medium")
    # On two lines, which a single row of panels is high enough for.
    figure.supylabel("objective [nats per data point;\nlogarithmic beyond 1]", fontsize="medium")
    legend(figure, panels, columns=len(names), title=title)
    return figure
