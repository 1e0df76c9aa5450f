"""The figures of a run: densities, objectives, orders, and a factor that comes again and again."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.figures.canvas import GREY, PALETTE, Look, sketch
from bnnbench.suites.inference_toys.noise_precision import tables as words
from bnnbench.suites.inference_toys.noise_precision.rules import SETTINGS
from bnnbench.suites.inference_toys.noise_precision.run_tables import NoiseRun, chosen, read_run

BLUE, YELLOW, GREEN, PINK, SKY, RED = PALETTE[:6]

Key = tuple[str, str]
"""Approximation and setting."""

DENSITIES: dict[Key, Look] = {
    (words.EXACT, ""): {"color": "#BBBBBB", "linewidth": 5},
    (words.EXACT, words.FACTORISED): {"color": "black", "linewidth": 1.5},
    (words.CAVI, ""): {"color": BLUE, "linewidth": 1.6},
    (words.ADVI, words.FULL): {"color": PINK, "linewidth": 1.6, "linestyle": (0, (1, 1.2))},
    (words.ADF, words.GAUSSIAN_K): {"color": YELLOW, "linewidth": 1.8, "linestyle": "-."},
    (words.EP, words.GAUSSIAN_K): {"color": RED, "linewidth": 1.6, "linestyle": (0, (5, 2))},
    (words.EP, words.EXACT_K): {"color": GREEN, "linewidth": 1.6, "linestyle": (0, (3, 1, 1, 1))},
}
"""Curves of the density of the noise precision, those below first."""

STOCHASTIC: dict[Key, Look] = {
    (words.ADVI, words.MEAN_FIELD): {"color": SKY, "linewidth": 1.2},
    (words.ADVI, words.FULL): {"color": PINK, "linewidth": 1.2},
    (words.SCORE, ""): {"color": YELLOW, "linewidth": 1.2},
}

BY_K: dict[str, Look] = {
    words.GAUSSIAN_K: {"color": RED, "marker": "o", "markersize": 4},
    words.EXACT_K: {"color": GREEN, "marker": "s", "markersize": 4},
}

LINE: Look = {"color": GREY, "linewidth": 1.2, "linestyle": "--"}

SMALL: Look = {"frameon": False, "fontsize": "small"}


def densities_figure(folder: RunFolder) -> Figure:
    """The density of the noise precision, how far approximations are off, spread by alpha."""
    run = read_run(folder)
    figure, panels = sketch(13.5 if run.joint else 9.0, 3.9, 3 if run.joint else 2)
    truth = (words.EXACT, "" if run.joint else words.FACTORISED)
    exact = chosen(run.densities, *truth)["density"]
    for key, look in DENSITIES.items():
        own = chosen(run.densities, *key)
        if len(own):
            name = _named(key, run)
            panels[0].plot(own["noise_precision"], own["density"], label=name, **look)
        if len(own) and key[0] != words.EXACT:
            panels[1].plot(own["noise_precision"], own["density"] - exact, **look)
    panels[0].set(xlabel="noise precision", ylabel="density", xlim=(0, None), ylim=(0, None))
    panels[0].legend(**SMALL)
    panels[1].axhline(0, **LINE)
    of = "exact" if run.joint else "exact of the target"
    panels[1].set(xlabel="noise precision", ylabel=f"density - {of}", xlim=(0, None))
    if run.joint:
        _by_alpha(panels[2], run)
    return figure


def _named(key: Key, run: NoiseRun) -> str:
    approximation, setting = key
    if approximation == words.EXACT:
        return "exact, target of (3.48)" if setting else "exact posterior"
    return f"{approximation}, {setting}" if setting else approximation


def _by_alpha(axes: Axes, run: NoiseRun) -> None:
    """Standard deviations from VI to EP."""
    looks: dict[str, Look] = {
        words.POWER_EP: {"color": BLUE, "marker": "o", "markersize": 4},
        words.BLACK_BOX_ALPHA: {"color": RED, "marker": "s", "markersize": 4},
    }
    for name, look in looks.items():
        own = run.powers[run.powers["approximation"] == name]
        axes.plot(own["alpha"], own["std"], label=name, linewidth=1.2, **look)
    axes.axhline(run.exact(words.STD), label="exact", **LINE)
    axes.set(xlabel="alpha (-1: VI, 1: EP)", ylabel="standard deviation of noise precision")
    axes.set_xticks([-1, -0.5, 0, 0.5, 1])
    axes.legend(**SMALL)


def objectives_figure(folder: RunFolder) -> Figure:
    """What each algorithm climbs, beside the exact log evidence."""
    run = read_run(folder)
    figure, panels = sketch(12.0 if run.joint else 5.0, 3.6, 3 if run.joint else 1)
    if run.joint:
        _ascent(panels[0], run)
        _climbs(panels[1], run)
    _energy(panels[-1], run)
    return figure


def _ascent(axes: Axes, run: NoiseRun) -> None:
    """The bound of coordinate ascent after every update of one factor."""
    way = run.way(words.CAVI)
    axes.axhline(run.exact(words.EVIDENCE), label="exact log evidence", **LINE)
    axes.plot(way["step"] / 2, way["objective"], ".-", color=BLUE, label="lower bound of CAVI")
    # The start is far below: what matters is what comes after.
    _limits(axes, [*way["objective"].iloc[1:], run.exact(words.EVIDENCE)])
    axes.set(xlabel="iteration (two updates)", ylabel="nats", xlim=(0, None))
    axes.legend(loc="center right", **SMALL)


def _climbs(axes: Axes, run: NoiseRun) -> None:
    """How far the bounds of stochastic gradients lie below the log evidence."""
    exact = run.exact(words.EVIDENCE)
    for key, look in STOCHASTIC.items():
        way = run.way(*key)
        axes.plot(way["step"], exact - way["objective"], label=_named(key, run), **look)
    gap = exact - run.way(words.CAVI)["objective"].iloc[-1]
    axes.axhline(gap, label="CAVI, at rest", **LINE)
    axes.set(xlabel="stochastic gradient step", ylabel="log evidence - bound [nats]", yscale="log")
    axes.legend(**SMALL)


def _energy(axes: Axes, run: NoiseRun) -> None:
    """EP's estimate of the log evidence after every pass; its energy is minus that."""
    seen = [run.exact(words.EVIDENCE)]
    axes.axhline(seen[0], label="exact log evidence", **LINE)
    for setting, look in BY_K.items():
        way = run.way(words.EP, setting).iloc[1:]
        axes.plot(way["step"], way["objective"], label=f"EP's estimate, {setting}", **look)
        seen += list(way["objective"])
    _limits(axes, seen)
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, 0.5), max(high, 1.5))  # where nothing moves, one pass is all
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="pass over the data", ylabel="nats (EP's energy is minus this)")
    axes.legend(**SMALL)


def _limits(axes: Axes, values: list[float]) -> None:
    low, high = np.nanmin(values), np.nanmax(values)
    margin = 0.1 * (high - low) or 0.1
    axes.set_ylim(low - margin, high + margin)


def orders_figure(folder: RunFolder) -> Figure:
    """EP's mean from pass to pass, and where ADF and EP end by the order of the data."""
    run = read_run(folder)
    figure, (passes, strip) = sketch(10.0, 3.8, 2)
    exact = run.exact(words.MEAN)
    for setting, look in BY_K.items():
        way = run.way(words.EP, setting)
        passes.plot(way["step"], way["mean"], label=f"EP, {setting}", linewidth=1.2, **look)
    passes.axhline(exact, label="exact", **LINE)
    passes.set(xlabel="pass over the data (0: prior, 1: ADF)", ylabel="mean of noise precision")
    passes.xaxis.set_major_locator(MaxNLocator(integer=True))
    passes.legend(loc="center right", **SMALL)
    places: list[str] = []
    for name in (words.ADF, words.EP):
        for setting, look in BY_K.items():
            own = chosen(run.orders, name, setting)["mean"].to_numpy()
            # Side by side in the order of the draws, so that equal means are told apart.
            across = len(places) + 0.35 * np.linspace(-1, 1, len(own) - 1)
            strip.plot(across, own[1:], **{**look, "linestyle": "none", "alpha": 0.6})
            strip.plot(len(places), own[0], "kx", markersize=8)
            places.append(f"{name},\n{setting}")
    strip.axhline(exact, **LINE)
    strip.set_xticks(range(len(places)), places)
    count = int(run.orders["order"].max())
    strip.set(
        ylabel="mean of noise precision",
        title=f"{count} random orders; x: that of the data",
    )
    strip.title.set_fontsize("small")
    return figure


def _plain_ticks(axes: Axes) -> None:
    """Numbers such as 5 and 0.2 along logarithmic axes."""
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())


def repeated_figure(folder: RunFolder) -> Figure:
    """The book's Fig. 3.10: the same factor comes again and again, nothing is taken out."""
    run = read_run(folder)
    figure, (axes, falls) = sketch(10.0, 3.8, 2)
    single = run.again(words.ONE_FACTOR)
    first, shades = single.iloc[0], colormaps["Blues"]
    grid = np.linspace(first["mean"] - 3.5 * first["std"], first["mean"] + 3.5 * first["std"], 500)
    for row in single.to_dict("records"):
        height = np.exp(-0.5 * ((grid - row["mean"]) / row["std"]) ** 2) / row["std"]
        colour = shades(0.25 + 0.75 * row["times"] / len(single))
        label = f"after {row['times']}" if row["times"] in (1, len(single)) else ""
        axes.plot(grid, height / np.sqrt(2 * np.pi), color=colour, linewidth=1.1, label=label)
    axes.set(xlabel="weight", ylabel="density", ylim=(0, None))
    axes.set_title(f"one observation included 1 to {len(single)} times", fontsize="small")
    axes.legend(**SMALL)
    label = "weight, one observation"
    falls.plot(single["times"], single["relative"], ".-", color=BLUE, label=label)
    for setting in SETTINGS:
        look: Look = {**BY_K[setting], "linewidth": 1.0, "markersize": 3}
        for name, line in ((words.ADF, "-"), (words.EP, ":")):
            own = run.again(f"{name}, {setting}")
            label = f"noise precision, {name} over all data, {setting}"
            falls.plot(own["times"], own["relative"], label=label, linestyle=line, **look)
    exact = run.exact(words.STD) / run.exact(words.MEAN)
    falls.axhline(exact, label="noise precision, exact", **LINE)
    falls.set(xscale="log", yscale="log", xlabel="inclusions of the same factors")
    falls.set_ylabel("standard deviation / mean")
    _plain_ticks(falls)
    falls.legend(loc="lower left", **{**SMALL, "fontsize": "x-small"})
    return figure
