"""The figures of a run of the conjugate pairs, drawn from its tables."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.figures.canvas import PALETTE, Look, legend, sketch
from bnnbench.suites.inference_toys.conjugate_pairs import names
from bnnbench.suites.inference_toys.conjugate_pairs.rules import PairsRun, read_pairs
from bnnbench.suites.inference_toys.reading import read_table

CURVES: dict[str, Look] = {
    "prior": {"color": PALETTE[1], "linestyle": "--"},
    "likelihood": {"color": PALETTE[0], "linestyle": "-."},
    "posterior": {"color": PALETTE[5]},
}

LINES: dict[str, Look] = {
    names.MLE: {"color": PALETTE[0], "linestyle": ":"},
    names.MAP: {"color": PALETTE[5], "linestyle": ":"},
}

LOSSES = {
    "quadratic": ("quadratic loss, least at the mean", PALETTE[0]),
    "absolute": ("absolute loss, least at the median", PALETTE[2]),
    "zero_one": ("0-1 loss, least at the mode", PALETTE[3]),
}

SAID = {names.MEAN_PAIR: "mean", names.PRECISION_PAIR: "precision"}


def posterior_figure(folder: RunFolder) -> Figure:
    """Prior, likelihood and posterior as observations come in, in the manner of Fig. 2.4."""
    run = read_pairs(folder)
    table = read_table(folder, names.DENSITIES, names.NUMBERS[names.DENSITIES])
    figure, panels = sketch(2.9 * len(run.sizes) + 0.6, 5.6, len(run.sizes), 2)
    for place, axes in enumerate(panels):
        pair, size = names.PAIRS[place // len(run.sizes)], run.sizes[place % len(run.sizes)]
        own = table[(table["pair"] == pair) & (table["observations"] == size)]
        _curves(axes, run, pair, size, own)
    legend(figure, panels[0], 5)
    return figure


def _curves(axes: Axes, run: PairsRun, pair: str, size: int, own: pd.DataFrame) -> None:
    for name, look in CURVES.items():
        axes.plot(own["value"], own[name], label=name, linewidth=1.6, **look)
    low, high = own["value"].iloc[0], own["value"].iloc[-1]
    for name, look in LINES.items():
        value = run.value(pair, name, size)
        if low <= value <= high:
            axes.axvline(value, label=name, linewidth=1.6, **look)
    # A prior may be infinite at 0, and says little there.
    top = own[["likelihood", "posterior"]].to_numpy().max()
    axes.set(xlim=(low, high), ylim=(0, 1.1 * top if top > 0 else 1), xlabel=SAID[pair])
    axes.set(ylabel="density", title=names.setting(size))


def risk_figure(folder: RunFolder) -> Figure:
    """Expected losses, each from its least value to 1, with the estimates they lead to."""
    run = read_pairs(folder)
    table = read_table(folder, names.RISKS, names.NUMBERS[names.RISKS])
    size = run.sizes[0]
    figure, panels = sketch(9.5, 3.8, 2)
    for axes, pair in zip(panels, names.PAIRS, strict=True):
        own = table[(table["pair"] == pair) & (table["observations"] == size)]
        decided = run.decisions[
            (run.decisions["pair"] == pair) & (run.decisions["observations"] == size)
        ].set_index("loss")
        for loss, (said, colour) in LOSSES.items():
            risk = own[loss] - own[loss].min()
            axes.plot(own["value"], risk / risk.max(), color=colour, label=said, linewidth=1.6)
            axes.axvline(decided.loc[loss, "estimate"], color=colour, linestyle=":", linewidth=1.2)
        axes.set(xlabel=f"estimate of the {SAID[pair]}", ylabel="expected loss, scaled")
        axes.set_title(f"{pair}, {names.setting(size)}")
    legend(figure, panels[0], 3)
    return figure
