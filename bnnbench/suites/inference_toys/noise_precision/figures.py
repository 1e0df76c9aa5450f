"""The figures of a run: densities, objectives, orders and repeated inclusion."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.figures.plotting import GREY, PALETTE, PlotOptions, new_figure
from bnnbench.suites.inference_toys.noise_precision import names
from bnnbench.suites.inference_toys.noise_precision.saved_run import (
    NoisePrecisionRun,
    read_run,
    select,
)

BLUE, YELLOW, GREEN, PINK, SKY, RED = PALETTE[:6]

Key = tuple[str, str]
"""Approximation and setting."""

DENSITIES: dict[Key, PlotOptions] = {
    (names.EXACT, ""): {"color": "#BBBBBB", "linewidth": 5},
    (names.EXACT, names.FACTORISED): {"color": "black", "linewidth": 1.5},
    (names.CAVI, ""): {"color": BLUE, "linewidth": 1.6},
    (names.ADVI, names.FULL): {"color": PINK, "linewidth": 1.6, "linestyle": (0, (1, 1.2))},
    (names.ADF, names.GAUSSIAN_K): {"color": YELLOW, "linewidth": 1.8, "linestyle": "-."},
    (names.EP, names.GAUSSIAN_K): {"color": RED, "linewidth": 1.6, "linestyle": (0, (5, 2))},
    (names.EP, names.EXACT_K): {"color": GREEN, "linewidth": 1.6, "linestyle": (0, (3, 1, 1, 1))},
}
"""Styles of the densities of the noise precision, in drawing order."""

STOCHASTIC: dict[Key, PlotOptions] = {
    (names.ADVI, names.MEAN_FIELD): {"color": SKY, "linewidth": 1.2},
    (names.ADVI, names.FULL): {"color": PINK, "linewidth": 1.2},
    (names.BLACK_BOX_VI, ""): {"color": YELLOW, "linewidth": 1.2},
}

EP_STYLES: dict[str, PlotOptions] = {
    names.GAUSSIAN_K: {"color": RED, "marker": "o", "markersize": 4},
    names.EXACT_K: {"color": GREEN, "marker": "s", "markersize": 4},
}

REFERENCE_STYLE: PlotOptions = {"color": GREY, "linewidth": 1.2, "linestyle": "--"}

LEGEND_STYLE: PlotOptions = {"frameon": False, "fontsize": "small"}


def densities_figure(folder: RunFolder) -> Figure:
    """Plot densities of the noise precision, their errors, and standard deviations by alpha."""
    run = read_run(folder)
    figure, panels = new_figure(13.5 if run.joint else 9.0, 3.9, 3 if run.joint else 2)
    exact_key = (names.EXACT, "" if run.joint else names.FACTORISED)
    exact = select(run.densities, *exact_key)["density"]
    for key, style in DENSITIES.items():
        rows = select(run.densities, *key)
        if len(rows):
            name = _label(key, run)
            panels[0].plot(rows["noise_precision"], rows["density"], label=name, **style)
        if len(rows) and key[0] != names.EXACT:
            panels[1].plot(rows["noise_precision"], rows["density"] - exact, **style)
    panels[0].set(xlabel="noise precision", ylabel="density", xlim=(0, None), ylim=(0, None))
    panels[0].legend(**LEGEND_STYLE)
    panels[1].axhline(0, **REFERENCE_STYLE)
    reference = "exact" if run.joint else "exact target"
    panels[1].set(xlabel="noise precision", ylabel=f"density - {reference}", xlim=(0, None))
    if run.joint:
        _plot_std_by_alpha(panels[2], run)
    return figure


def _label(key: Key, run: NoisePrecisionRun) -> str:
    approximation, setting = key
    if approximation == names.EXACT:
        return "exact, target of (3.48)" if setting else "exact posterior"
    return f"{approximation}, {setting}" if setting else approximation


def _plot_std_by_alpha(axes: Axes, run: NoisePrecisionRun) -> None:
    """Plot standard deviations from VI to EP."""
    looks: dict[str, PlotOptions] = {
        names.POWER_EP: {"color": BLUE, "marker": "o", "markersize": 4},
        names.BLACK_BOX_ALPHA: {"color": RED, "marker": "s", "markersize": 4},
    }
    for name, style in looks.items():
        rows = run.powers[run.powers["approximation"] == name]
        axes.plot(rows["alpha"], rows["std"], label=name, linewidth=1.2, **style)
    axes.axhline(run.exact(names.STD), label="exact", **REFERENCE_STYLE)
    axes.set(xlabel="alpha (-1: VI, 1: EP)", ylabel="standard deviation of noise precision")
    axes.set_xticks([-1, -0.5, 0, 0.5, 1])
    axes.legend(**LEGEND_STYLE)


def objectives_figure(folder: RunFolder) -> Figure:
    """Plot the objective of each algorithm against the exact log evidence."""
    run = read_run(folder)
    figure, panels = new_figure(12.0 if run.joint else 5.0, 3.6, 3 if run.joint else 1)
    if run.joint:
        _plot_cavi(panels[0], run)
        _plot_gradient_ascent(panels[1], run)
    _plot_energy(panels[-1], run)
    return figure


def _plot_cavi(axes: Axes, run: NoisePrecisionRun) -> None:
    """Plot the bound of coordinate ascent after every update of one factor."""
    steps = run.trajectory(names.CAVI)
    axes.axhline(run.exact(names.EVIDENCE), label="exact log evidence", **REFERENCE_STYLE)
    axes.plot(steps["step"] / 2, steps["objective"], ".-", color=BLUE, label="lower bound of CAVI")
    # The first bound is far below the others, so the limits ignore it.
    _set_limits(axes, [*steps["objective"].iloc[1:], run.exact(names.EVIDENCE)])
    axes.set(xlabel="iteration (two updates)", ylabel="log evidence [nats]", xlim=(0, None))
    axes.legend(loc="center right", **LEGEND_STYLE)


def _plot_gradient_ascent(axes: Axes, run: NoisePrecisionRun) -> None:
    """Plot the gap between the log evidence and the bounds of stochastic gradients."""
    exact = run.exact(names.EVIDENCE)
    for key, style in STOCHASTIC.items():
        steps = run.trajectory(*key)
        axes.plot(steps["step"], exact - steps["objective"], label=_label(key, run), **style)
    gap = exact - run.trajectory(names.CAVI)["objective"].iloc[-1]
    axes.axhline(gap, label="CAVI, converged", **REFERENCE_STYLE)
    axes.set(xlabel="stochastic gradient step", ylabel="log evidence - bound [nats]", yscale="log")
    axes.legend(**LEGEND_STYLE)


def _plot_energy(axes: Axes, run: NoisePrecisionRun) -> None:
    """Plot EP's estimate of the log evidence, its negative energy, after every pass."""
    values = [run.exact(names.EVIDENCE)]
    axes.axhline(values[0], label="exact log evidence", **REFERENCE_STYLE)
    for setting, style in EP_STYLES.items():
        steps = run.trajectory(names.EP, setting).iloc[1:]
        axes.plot(steps["step"], steps["objective"], label=f"EP's estimate, {setting}", **style)
        values += list(steps["objective"])
    _set_limits(axes, values)
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, 0.5), max(high, 1.5))  # there may be only one pass
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="pass over the data", ylabel="log evidence [nats]")
    axes.legend(**LEGEND_STYLE)


def _set_limits(axes: Axes, values: list[float]) -> None:
    low, high = np.nanmin(values), np.nanmax(values)
    margin = 0.1 * (high - low) or 0.1
    axes.set_ylim(low - margin, high + margin)


def orders_figure(folder: RunFolder) -> Figure:
    """Plot EP's mean by pass, and the results of ADF and EP by order of the data."""
    run = read_run(folder)
    figure, (passes, strip) = new_figure(10.0, 3.8, 2)
    exact = run.exact(names.MEAN)
    for setting, style in EP_STYLES.items():
        steps = run.trajectory(names.EP, setting)
        passes.plot(steps["step"], steps["mean"], label=f"EP, {setting}", linewidth=1.2, **style)
    passes.axhline(exact, label="exact", **REFERENCE_STYLE)
    passes.set(xlabel="pass over the data (0: prior, 1: ADF)", ylabel="mean of noise precision")
    passes.xaxis.set_major_locator(MaxNLocator(integer=True))
    passes.legend(loc="center right", **LEGEND_STYLE)
    tick_labels: list[str] = []
    for name in (names.ADF, names.EP):
        for setting, style in EP_STYLES.items():
            rows = select(run.orders, name, setting)["mean"].to_numpy()
            # Spread the orders horizontally so that equal means remain visible.
            positions = len(tick_labels) + 0.35 * np.linspace(-1, 1, len(rows) - 1)
            strip.plot(positions, rows[1:], **{**style, "linestyle": "none", "alpha": 0.6})
            strip.plot(len(tick_labels), rows[0], "kx", markersize=8)
            tick_labels.append(f"{name},\n{setting}")
    strip.axhline(exact, **REFERENCE_STYLE)
    strip.set_xticks(range(len(tick_labels)), tick_labels)
    count = int(run.orders["order"].max())
    strip.set(
        ylabel="mean of noise precision",
        title=f"{count} random orders; crosses: original order",
    )
    strip.title.set_fontsize("small")
    return figure


def _plain_ticks(axes: Axes) -> None:
    """Label logarithmic axes with numbers such as 5 and 0.2."""
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())


def repeated_figure(folder: RunFolder) -> Figure:
    """Plot the book's Fig. 3.10: repeated inclusion of the same factors."""
    run = read_run(folder)
    figure, (axes, right) = new_figure(10.0, 3.8, 2)
    single = run.repeated_inclusions(names.ONE_FACTOR)
    first, shades = single.iloc[0], colormaps["Blues"]
    grid = np.linspace(first["mean"] - 3.5 * first["std"], first["mean"] + 3.5 * first["std"], 500)
    for row in single.to_dict("records"):
        height = np.exp(-0.5 * ((grid - row["mean"]) / row["std"]) ** 2) / row["std"]
        colour = shades(0.25 + 0.75 * row["inclusions"] / len(single))
        is_labelled = row["inclusions"] in (1, len(single))
        label = f"after {row['inclusions']}" if is_labelled else ""
        axes.plot(grid, height / np.sqrt(2 * np.pi), color=colour, linewidth=1.1, label=label)
    axes.set(xlabel="weight", ylabel="density", ylim=(0, None))
    axes.set_title(f"one observation included 1 to {len(single)} times", fontsize="small")
    axes.legend(**LEGEND_STYLE)
    label = "weight, one observation"
    right.plot(single["inclusions"], single["relative"], ".-", color=BLUE, label=label)
    for setting in names.NORMALISERS:
        style: PlotOptions = {**EP_STYLES[setting], "linewidth": 1.0, "markersize": 3}
        for name, linestyle in ((names.ADF, "-"), (names.EP, ":")):
            rows = run.repeated_inclusions(f"{name}, {setting}")
            label = f"noise precision, {name} over all data, {setting}"
            right.plot(
                rows["inclusions"], rows["relative"], label=label, linestyle=linestyle, **style
            )
    exact = run.exact(names.STD) / run.exact(names.MEAN)
    right.axhline(exact, label="noise precision, exact", **REFERENCE_STYLE)
    right.set(xscale="log", yscale="log", xlabel="inclusions of the same factors")
    right.set_ylabel("standard deviation / mean")
    _plain_ticks(right)
    right.legend(loc="lower left", **{**LEGEND_STYLE, "fontsize": "x-small"})
    return figure
