"""Draw the figures of the documentation from the tables in `docs/results`.

`python docs/tools/figures.py` stores all of them in `docs/figures`, and `python
docs/tools/figures.py NAME` one, also of those that need images. `python docs/tools/figures.py
REPORT/FIGURE.png NAME` stores a figure of a report whose data only the runs have.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import pandas as pd
from downstream import FIGURES as DOWNSTREAM
from image_folders import TITLES
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator
from PIL import Image
from published_scores import comparisons
from stored_results import SCORES, one_run_each, scored, stored_runs, table

from bnnbench.data.images.idx import IdxImages
from bnnbench.report.figures.plotting import (
    BLUE,
    GREY,
    METADATA,
    ORANGE,
    PALETTE,
    PlotOptions,
    legend,
    new_figure,
    show_images,
    small_multiples,
)
from bnnbench.report.figures.points import points_figure
from bnnbench.report.sections.divergence_orders import divergence_orders_figure, with_orders
from bnnbench.report.sections.ranking import ranks_figure
from bnnbench.report.sections.scores import score_panels
from bnnbench.report.sections.significance import pairs_of
from bnnbench.report.sections.spread import losses_by_split, spread_figure
from bnnbench.report.sections.time_against_score import SECONDS, time_figure, with_fronts
from bnnbench.results.compare.ranking import rankings
from bnnbench.results.metric_table import BY_KEY

FIGURES = Path(__file__).parents[1] / "figures"

COLOURS = 64
"""Colours of a stored figure, which make it a third of its size."""

DPI = 110

VERDICT_STYLES = {
    "agrees": (BLUE, "o", "within two standard errors"),
    "better": (PALETTE[2], "D", "ours is better"),
    "worse": (ORANGE, "s", "ours is worse"),
}
"""Colour, marker and label of a published score."""

MAX_DISTANCE, NEAR, MIN_ROOM = 0.15, 0.05, 0.12
"""Parts of an axis: points farther from the diagonal are named; points as near share their name;
the room that a name needs."""


def agreement() -> Figure:
    """Our scores against published ones with the same settings, on two panels.

    Scores of ours far outside the range of the published ones are triangles at the edge.
    """
    rows = comparisons()
    figure, panels = new_figure(8.2, 4.4, 2)
    scale = rows.groupby(["dataset", "metric"])["published"].transform("mean")
    scale = scale.where(rows["metric"] == "rmse", 1.0)
    numbers = ["published", "ours", "published_stderr", "stderr"]
    relative = rows.assign(**rows[numbers].div(scale, axis=0))
    for axes, metric in zip(panels, SCORES, strict=True):
        own = relative[relative["metric"].str.startswith(metric)]
        low, high = own["published"].min(), own["published"].max()
        margin = 0.08 * (high - low)
        low, high = low - margin, high + margin
        axes.set(xlim=(low, high), ylim=(low, high), aspect="equal")
        axes.plot([low, high], [low, high], color=GREY, linewidth=0.8, zorder=0)
        inside = own["ours"].between(low, high)
        edge = own.assign(ours=own["ours"].clip(low + margin / 4, high - margin / 4))
        for verdict, (colour, marker, label) in VERDICT_STYLES.items():
            x, y, x_error, y_error = own[inside & (own["verdict"] == verdict)][numbers].to_numpy().T
            style: PlotOptions = {"markersize": 4, "color": colour, "elinewidth": 0.8}
            count = (rows["verdict"] == verdict).sum()
            axes.errorbar(x, y, y_error, x_error, marker, label=f"{label} ({count})", **style)
            outside = edge[~inside & (edge["verdict"] == verdict)]
            axes.scatter(outside["published"], outside["ours"], 16, colour, marker="^", zorder=3)
        far = edge[(own["ours"] - own["published"]).abs() > MAX_DISTANCE * (high - low)]
        _name_points(axes, far)
        name = BY_KEY[metric].inline_title
        unit = "relative" if metric == "rmse" else "nats per point"
        axes.set_xlabel(f"published {name} [{unit}]")
        axes.set_ylabel(f"bnnbench {name} [{unit}]")
    legend(figure, panels, columns=3)
    return figure


def _name_points(axes: Axes, rows: pd.DataFrame) -> None:
    """Write data sets next to points on the side away from the diagonal, and methods in a corner.

    Points near each other share a name. It is on the other side if there is no room.
    """
    low, high = axes.get_xlim()
    points = ((rows.set_index("dataset")[["published", "ours"]] - low) / (high - low)).sort_values(
        "published"
    )
    steps = points.diff().abs().fillna(1.0)
    groups = [own for _, own in points.groupby((steps > NEAR).any(axis=1).cumsum())]
    for own in groups:
        level = [g for g in groups if abs(g["ours"].mean() - own["ours"].mean()) < NEAR]
        ends = [0.0, *(x for g in level if g is not own for x in g["published"]), 1.0]
        first, last = own["published"].iloc[[0, -1]]
        room = {-1: first - max(x for x in ends if x <= first),
                1: min(x for x in ends if x >= last) - last}  # fmt: skip
        side = -1 if own["ours"].mean() > own["published"].mean() else 1
        side = side if room[side] > MIN_ROOM else max(room, key=lambda side: room[side])
        place = first if side < 0 else last, own["ours"].mean()
        axes.annotate(", ".join(own.index), place, (5 * side, 0), "axes fraction",
                      textcoords="offset points", fontsize="small", va="center",
                      ha="right" if side < 0 else "left")  # fmt: skip
    above = (points["ours"] > points["published"]).mean() > 0.5
    corner: PlotOptions = {"ha": "right", "va": "bottom"} if above else {"ha": "left", "va": "top"}
    axes.text(*((0.98, 0.02) if above else (0.02, 0.98)),
              "named: " + ", ".join(rows["method"].unique()), transform=axes.transAxes,
              fontsize="small", **corner)  # fmt: skip


def image_classes() -> Figure:
    """A test image of each class of MNIST and Fashion-MNIST, grey and binarised."""
    figure, panels = new_figure(8.2, 1.25, 2)
    for axes, name in zip(panels, ("mnist", "fashion_mnist"), strict=True):
        directory = os.environ.get("BNNBENCH_DATA", "data")
        grey, binary = (
            IdxImages(name=name, directory=directory, binarisation=how).load()
            for how in ("none", "threshold")
        )
        rows = np.unique(grey.test_labels, return_index=True)[1]
        show_images(
            axes, np.concatenate([grey.test[rows], binary.test[rows]]), len(rows), TITLES[name]
        )
    return figure


def means(folder: str, key: str) -> Figure:
    """Means of every run by data set, with published ones."""
    metric = BY_KEY[key]
    pairs = pairs_of(stored_runs(folder), (metric,))
    return points_figure(score_panels(scored(folder), pairs, metric, "stderr"), metric.axis)


def ranks(folder: str, shared: str = "") -> Figure:
    """Mean ranks over data sets, with the critical difference; `shared` is left out of names."""
    (found,) = rankings(stored_runs(folder))
    short = [
        replace(one, ranks=one.ranks.rename(columns=lambda name: name.removeprefix(shared)))
        for one in found.by_metric
    ]
    return ranks_figure(short)


def time(metric: str) -> Figure:
    """Scores of the book's comparison against seconds per split, from runs on an idle machine."""
    names = ["dataset", "method"]
    seconds = table("timing", "time_against_score").set_index(names).filter(like=SECONDS)
    runs = scored("book_uci").drop(columns=seconds.columns).join(seconds, on=names)
    runs = runs.assign(label=runs["method"])
    return time_figure(with_fronts(runs, [BY_KEY[metric]]), BY_KEY[metric], "stderr")


def boxes(folder: str, metric: str, *datasets: str) -> Figure:
    """Box plots over splits, by depth and data set; more than two would not be legible."""
    losses = losses_by_split(stored_runs(folder))
    return spread_figure(losses[losses["dataset"].isin(datasets)], BY_KEY[metric])


def orders() -> Figure:
    """Scores against the order of each family of divergences."""
    runs = scored("gvi_alpha")
    return divergence_orders_figure(with_orders(runs), runs)


def nearest() -> Figure:
    """W1 to the HMC chains, by method and data set."""
    rows = one_run_each(table("gold_standard", "distances"), "dataset", "method")
    rows = rows.replace({"method": {"hmc": "hmc (half against half)"}})
    means = rows.groupby(["dataset", "method"])["w1"].agg(["mean", "sem"]).reset_index()
    panels = {str(name): own for name, own in means.groupby("dataset", sort=False)}
    figure, places = small_multiples(len(panels), 2, (4.1, 3.6), (0.0, 0.3))
    for axes, (dataset, own) in zip(places, panels.items(), strict=True):
        own = own.sort_values("mean", ascending=False)
        lines = np.arange(len(own))
        axes.errorbar(own["mean"], lines, xerr=own["sem"], fmt="o", markersize=4, color=BLUE)
        axes.set_yticks(lines, own["method"], fontsize="small")
        axes.set(xscale="log", title=dataset)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axes.grid(axis="x", linewidth=0.4, alpha=0.5)
    figure.supxlabel("W1 to the HMC chains [standard deviations of the target]", fontsize="medium")
    return figure


DRAWN: dict[str, Callable[[], Figure]] = {
    "agreement": agreement,
    "book_rmse": partial(means, "book_uci", "rmse"),
    "book_log_likelihood": partial(means, "book_uci", "log_likelihood"),
    "book_ranks": partial(ranks, "book_uci"),
    "book_time": partial(time, "rmse"),
    **{
        f"gvi_boxes_{metric}_{part}": partial(boxes, "gvi_uci", metric, *datasets)
        for metric in SCORES
        for part, datasets in ((1, ("boston", "concrete")), (2, ("energy", "yacht")))
    },
    "gvi_orders": orders,
    "modern_rmse": partial(means, "modern_uci", "rmse"),
    "modern_log_likelihood": partial(means, "modern_uci", "log_likelihood"),
    "modern_ranks": partial(ranks, "modern_uci"),
    "renyi_ranks": partial(ranks, "vr_uci", "renyi_vi_2016, method."),
    "posterior_w1": nearest,
    **DOWNSTREAM,
}
"""Figures by name."""


FROM_IMAGES: dict[str, Callable[[], Figure]] = {"image_classes": image_classes}
"""Figures that need images, by name."""


def png(figure: Figure) -> bytes:
    """Return a figure as PNG."""
    buffer = io.BytesIO()
    figure.draw_without_rendering()  # the layout changes in a second pass
    figure.savefig(buffer, format="png", dpi=DPI, metadata=METADATA["png"])
    return buffer.getvalue()


def small(source: io.BytesIO | Path) -> Image.Image:
    """Return a PNG as an image of at most `DPI`, with a palette of `COLOURS`."""
    image = Image.open(source)
    width = round(min(1, DPI / image.info["dpi"][0]) * image.width)
    image = image.convert("RGB")
    image.thumbnail((width, image.height), Image.Resampling.LANCZOS)
    # Other methods merge the colours of thin lines, which few pixels have.
    return image.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, kmeans=1)


def store(source: io.BytesIO | Path, name: str) -> None:
    """Store a PNG in `docs/figures`."""
    small(source).save(FIGURES / f"{name}.png", optimize=True)


if __name__ == "__main__":
    *source, name = sys.argv[1:] or [""]
    if source:
        store(Path(source[0]), name)
    else:
        for drawn, draw in ({name: (DRAWN | FROM_IMAGES)[name]} if name else DRAWN).items():
            store(io.BytesIO(png(draw())), drawn)
