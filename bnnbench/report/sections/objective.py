"""Training objective by epoch, for runs that saved it (GVI thesis, Fig. 5.3)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report.blocks import Block, FigureBlock, Heading, Paragraph, Style
from bnnbench.report.figures import plotting
from bnnbench.results.read.labels import common_settings, labels
from bnnbench.results.read.run_files import read_objective
from bnnbench.results.read.run_tables import Runs

OBJECTIVE_STATEMENT = (
    "The objective of the final fit after each epoch: the training loss, averaged over weight "
    "samples, plus the complexity cost of the method, both in nats per data point for the "
    "standardised target. Divergences differ in scale, so compare whether curves converge, not "
    "their values."
)


def median_objectives(runs: Runs) -> pd.DataFrame:
    """Return the median objective by epoch of every run that saved it.

    Returns:
        Columns `run`, `dataset`, `depth`, `label` (without the depth), `epoch` and
        `objective`, in the order of `Runs.scored`.
    """
    medians = {}
    for run in runs.scored.index:
        table = read_objective(runs.folders[str(run)])
        if table is not None:
            medians[run] = table.groupby("epoch")["objective"].median()
    if not medians:
        return pd.DataFrame()
    scored = runs.scored.loc[list(medians)]
    names = scored.assign(label=labels(scored, ignore=("depth",)))[["dataset", "depth", "label"]]
    curves = pd.concat(medians, names=["run"]).reset_index()
    return curves.join(names, on="run")


def section(runs: Runs, style: Style) -> Iterator[Block]:
    """The objective of every run that saved it."""
    medians = median_objectives(runs)
    if medians.empty:
        return
    title = common_settings(runs.scored.loc[medians["run"].unique()])
    caption = "Objective by epoch: median over splits, one line per run"
    yield Heading("Training objective")
    yield Paragraph(OBJECTIVE_STATEMENT)
    yield FigureBlock("objectives", caption, partial(objectives_figure, medians, title))


def set_limits(axes: Axes, curves: list[pd.Series]) -> None:
    """Set the y limits by the values after the first tenth of the epochs."""
    late = [curve[curve.index > 0.1 * curve.index.max()] for curve in curves]
    values = np.concatenate([c[np.isfinite(c)].to_numpy() for c in late])
    if len(values):
        low, high = values.min(), np.quantile(values, 0.99)
        margin = 0.08 * (high - low) or 0.1
        axes.set_ylim(low - margin, high + 2 * margin)


def objective_figure(table: pd.DataFrame, name: str = "") -> Figure:
    """Draw the objective of every split of a run, and the medians of its two terms."""
    figure, (axes,) = plotting.new_figure(6.4, 4.6)
    wide = table.pivot(index="epoch", columns="split", values="objective")
    for number, split in enumerate(wide):
        label = "" if number else "objective, one split"
        axes.plot(
            wide.index, wide[split], color=plotting.GREY, linewidth=0.5, alpha=0.6, label=label
        )
    options: dict[str, plotting.PlotOptions] = {
        "objective": {"color": plotting.BLUE, "linewidth": 2},
        "loss": {"color": plotting.ORANGE, "linewidth": 1.2},
        "complexity": {"color": plotting.PALETTE[2], "linewidth": 1.2},
    }
    medians = table.groupby("epoch")[list(options)].median()
    for term, kwargs in options.items():
        axes.plot(medians[term], label=f"{term}, median over splits", **kwargs)
    set_limits(axes, [*(medians[term] for term in medians), *(wide[split] for split in wide)])
    axes.set(xlabel="epoch", ylabel="nats per data point, standardised target")
    plotting.legend(figure, axes, columns=2, title=name)
    return figure


def objectives_figure(medians: pd.DataFrame, title: str = "") -> Figure:
    """Draw a row of panels per depth, a column per data set, and a line per label."""
    datasets, depths = list(medians["dataset"].unique()), sorted(medians["depth"].unique())
    names = list(medians["label"].unique())
    shape = len(depths), len(datasets)
    figure, grid = plotting.panel_grid(*shape, (3.0, 2.3), (0.4, 1.0), 5.5)
    panels = list(grid.flat)
    for axes, (depth, dataset) in zip(panels, product(depths, datasets), strict=True):
        own = medians[(medians["dataset"] == dataset) & (medians["depth"] == depth)]
        axes.set_visible(len(own) > 0)
        for _, curve in own.groupby("run", sort=False):
            label = curve["label"].iloc[0]
            style = plotting.line_style(names.index(label), ("-", "--", ":"))
            axes.plot(curve["epoch"], curve["objective"], linewidth=1.1, label=label, **style)
        # Objectives differ by orders of magnitude, and may be negative.
        axes.set_yscale("symlog", linthresh=1, subs=range(2, 10))
        axes.yaxis.set_major_formatter("{x:g}")
        plotting.panel_title(axes, f"{dataset} · depth {depth}", 2.4)
        axes.tick_params(labelsize="small")
    figure.supxlabel("epoch", fontsize="medium")
    # Two lines fit even if there is a single row of panels.
    figure.supylabel("objective [nats per data point;\nlogarithmic beyond 1]", fontsize="medium")
    plotting.legend(figure, panels, columns=len(names), title=title)
    return figure
