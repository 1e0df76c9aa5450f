"""Figures of a run of the conjugate pairs."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.figures.plotting import PALETTE, PlotOptions, legend, new_figure
from bnnbench.suites.inference_toys.conjugate_pairs import names
from bnnbench.suites.inference_toys.conjugate_pairs.saved_run import ConjugatePairsRun, read_run
from bnnbench.suites.inference_toys.saved_tables import read_table

CURVE_OPTIONS: dict[str, PlotOptions] = {
    "prior": {"color": PALETTE[1], "linestyle": "--"},
    "likelihood": {"color": PALETTE[0], "linestyle": "-."},
    "posterior": {"color": PALETTE[5]},
}

ESTIMATE_OPTIONS: dict[str, PlotOptions] = {
    names.MLE: {"color": PALETTE[0], "linestyle": ":"},
    names.MAP: {"color": PALETTE[5], "linestyle": ":"},
}

LOSSES = {
    "quadratic": ("quadratic loss, minimised by the mean", PALETTE[0]),
    "absolute": ("absolute loss, minimised by the median", PALETTE[2]),
    "zero_one": ("0-1 loss, minimised by the mode", PALETTE[3]),
}

PARAMETER_LABELS = {names.MEAN_PAIR: "mean", names.PRECISION_PAIR: "precision"}


def posterior_figure(folder: RunFolder) -> Figure:
    """Plot prior, likelihood and posterior for each number of observations, like Fig. 2.4."""
    run = read_run(folder)
    table = read_table(folder, names.DENSITIES, names.NUMERIC_COLUMNS[names.DENSITIES])
    figure, panels = new_figure(2.9 * len(run.sizes) + 0.6, 5.6, len(run.sizes), 2)
    for index, axes in enumerate(panels):
        pair, size = names.PAIRS[index // len(run.sizes)], run.sizes[index % len(run.sizes)]
        rows = table[(table["pair"] == pair) & (table["observations"] == size)]
        _curves(axes, run, pair, size, rows)
    legend(figure, panels[0], 5)
    return figure


def _curves(axes: Axes, run: ConjugatePairsRun, pair: str, size: int, rows: pd.DataFrame) -> None:
    for name, options in CURVE_OPTIONS.items():
        axes.plot(rows["value"], rows[name], label=name, linewidth=1.6, **options)
    low, high = rows["value"].iloc[0], rows["value"].iloc[-1]
    for name, options in ESTIMATE_OPTIONS.items():
        value = run.value(pair, name, size)
        if low <= value <= high:
            axes.axvline(value, label=name, linewidth=1.6, **options)
    # The prior is left out because it may be infinite at 0.
    top = rows[["likelihood", "posterior"]].to_numpy().max()
    axes.set(xlim=(low, high), ylim=(0, 1.1 * top if top > 0 else 1), xlabel=PARAMETER_LABELS[pair])
    axes.set(ylabel="density", title=names.setting(size))


def risk_figure(folder: RunFolder) -> Figure:
    """Plot expected losses, scaled to [0, 1], with the estimates that minimise them."""
    run = read_run(folder)
    table = read_table(folder, names.RISKS, names.NUMERIC_COLUMNS[names.RISKS])
    size = run.sizes[0]
    figure, panels = new_figure(9.5, 3.8, 2)
    for axes, pair in zip(panels, names.PAIRS, strict=True):
        rows = table[(table["pair"] == pair) & (table["observations"] == size)]
        decisions = run.decisions[
            (run.decisions["pair"] == pair) & (run.decisions["observations"] == size)
        ].set_index("loss")
        for loss, (label, colour) in LOSSES.items():
            risk = rows[loss] - rows[loss].min()
            axes.plot(rows["value"], risk / risk.max(), color=colour, label=label, linewidth=1.6)
            estimate = decisions.loc[loss, "estimate"]
            axes.axvline(estimate, color=colour, linestyle=":", linewidth=1.2)
        axes.set(xlabel=f"estimate of the {PARAMETER_LABELS[pair]}", ylabel="expected loss, scaled")
        axes.set_title(f"{pair}, {names.setting(size)}")
    legend(figure, panels[0], 3)
    return figure
