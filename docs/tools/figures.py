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
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from downstream import FIGURES as DOWNSTREAM
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator
from PIL import Image
from published_scores import comparisons
from stored_results import SCORES, one_run_each, scored, stored_runs, table

from bnnbench.data.images.idx import IdxImages
from bnnbench.report.figures.image_grid import show_images
from bnnbench.report.figures.plotting import PALETTE, new_figure
from bnnbench.report.figures.points import points_figure
from bnnbench.report.sections.divergence_orders import divergence_orders_figure, with_orders
from bnnbench.report.sections.ranking import ranks_figure
from bnnbench.report.sections.scores import score_panels
from bnnbench.report.sections.significance import pairs_of
from bnnbench.report.sections.spread import losses_by_split, spread_figure
from bnnbench.report.sections.time_against_score import time_figure
from bnnbench.results.metrics import BY_KEY
from bnnbench.results.ranking import rankings

FIGURES = Path(__file__).parents[1] / "figures"

COLOURS = 64
"""Colours of a stored figure, which make it a third of its size."""

IMAGE_TITLES = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST"}

MAX_WIDTH = 1500  # pixels of a stored figure
DPI = 110


def agreement() -> Figure:
    """Our scores against published ones with the same settings, on two panels.

    Scores of ours far outside the range of the published ones are triangles at the edge.
    """
    rows = comparisons()
    figure = Figure(figsize=(8.2, 4.6), layout="constrained")
    panels = figure.subplots(1, 2)
    scale = rows.groupby(["dataset", "metric"])["published"].transform("mean")
    scale = scale.where(rows["metric"] == "rmse", 1.0)
    relative = rows[["published", "ours", "published_stderr", "stderr"]].div(scale, axis=0)
    for axes, metric in zip(panels, SCORES, strict=True):
        own = relative[rows["metric"].str.startswith(metric)]
        low, high = own["published"].min(), own["published"].max()
        margin = 0.08 * (high - low)
        low, high = low - margin, high + margin
        axes.plot([low, high], [low, high], color="grey", linewidth=0.8, zorder=0)
        for k, (source, group) in enumerate(rows.groupby("publication")):
            points = own.loc[own.index.intersection(group.index)]
            inside = points["ours"].between(low, high)
            x, y, x_error, y_error = points[inside].to_numpy().T
            colour, marker = PALETTE[k % len(PALETTE)], "osD"[k // len(PALETTE)]
            kwargs = {"markersize": 4, "color": colour}
            axes.errorbar(x, y, y_error, x_error, marker, elinewidth=0.8, label=source, **kwargs)
            outside = points[~inside].clip(low + margin / 4, high - margin / 4)
            axes.scatter(
                *outside[["published", "ours"]].to_numpy().T, 16, colour, marker="^", zorder=3
            )
        axes.set(xlim=(low, high), ylim=(low, high), aspect="equal")
        name = BY_KEY[metric].inline_title
        unit = "relative" if metric == "rmse" else "nats per point"
        axes.set_xlabel(f"published {name} [{unit}]")
        axes.set_ylabel(f"bnnbench {name} [{unit}]")
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        ncols=3,
        loc="outside lower center",
        frameon=False,
        fontsize="small",
    )
    return figure


def image_classes() -> Figure:
    """A test image of each class of MNIST and Fashion-MNIST, grey and binarised."""
    figure, panels = new_figure(8.2, 1.25, 2)
    for axes, (name, title) in zip(panels, IMAGE_TITLES.items(), strict=True):
        directory = os.environ.get("BNNBENCH_DATA", "data")
        grey, binary = (
            IdxImages(name=name, directory=directory, binarisation=how).load()
            for how in ("none", "threshold")
        )
        rows = np.unique(grey.test_labels, return_index=True)[1]
        show_images(axes, np.concatenate([grey.test[rows], binary.test[rows]]), len(rows), title)
    return figure


def means(folder: str, key: str) -> Figure:
    """Means of every run by data set, with published ones."""
    metric = BY_KEY[key]
    pairs = pairs_of(stored_runs(folder), (metric,))
    return points_figure(score_panels(scored(folder), pairs, metric, "stderr"), metric.axis)


def ranks(folder: str) -> Figure:
    """Mean ranks over data sets, with the critical difference."""
    (found,) = rankings(stored_runs(folder))
    return ranks_figure(found.by_metric)


def time(folder: str, metric: str) -> Figure:
    """Scores against seconds per split."""
    return time_figure(table(folder, "time_against_score"), BY_KEY[metric], "stderr")


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
    datasets = list(means["dataset"].unique())
    figure = Figure(figsize=(3 * len(datasets), 4.2), layout="constrained")
    for axes, dataset in zip(figure.subplots(1, len(datasets)), datasets, strict=True):
        own = means[means["dataset"] == dataset].sort_values("mean", ascending=False)
        places = np.arange(len(own))
        axes.errorbar(own["mean"], places, xerr=own["sem"], fmt="o", markersize=4)
        axes.set_yticks(places, own["method"], fontsize="x-small")
        axes.set(xscale="log", title=dataset)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axes.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("W1 to the HMC chains [standard deviations of the target]", fontsize="medium")
    return figure


DRAWN: dict[str, Callable[[], Figure]] = {
    "agreement": agreement,
    "book_rmse": partial(means, "book_uci", "rmse"),
    "book_log_likelihood": partial(means, "book_uci", "log_likelihood"),
    "book_ranks": partial(ranks, "book_uci"),
    "book_time": partial(time, "timing", "rmse"),
    **{
        f"gvi_boxes_{metric}_{part}": partial(boxes, "gvi_uci", metric, *datasets)
        for metric in SCORES
        for part, datasets in ((1, ("boston", "concrete")), (2, ("energy", "yacht")))
    },
    "gvi_orders": orders,
    "modern_rmse": partial(means, "modern_uci", "rmse"),
    "modern_log_likelihood": partial(means, "modern_uci", "log_likelihood"),
    "modern_ranks": partial(ranks, "modern_uci"),
    "renyi_ranks": partial(ranks, "vr_uci"),
    "posterior_w1": nearest,
    **DOWNSTREAM,
}
"""Figures by name."""


FROM_IMAGES: dict[str, Callable[[], Figure]] = {"image_classes": image_classes}
"""Figures that need images, by name."""


def png(figure: Figure) -> bytes:
    """Return a figure as PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    return buffer.getvalue()


def small(source: io.BytesIO | Path) -> Image.Image:
    """Return a PNG as an image at most `MAX_WIDTH` wide, with a palette of `COLOURS`."""
    image = Image.open(source).convert("RGB")
    image.thumbnail((MAX_WIDTH, image.height), Image.Resampling.LANCZOS)
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
