"""The page of a run on numbers of latent variables."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle

import numpy as np
from matplotlib.figure import Figure

from bnnbench.experiment.store.answer_tables import CURVES
from bnnbench.report.experiment_page import Figures
from bnnbench.report.figures.plotting import ORANGE, PlotOptions, legend, new_figure, show_images
from bnnbench.results.claims.saved_run import SavedRun, SourceSettings
from bnnbench.suites.latent_models.latent_sizes.claims import claims
from bnnbench.suites.latent_models.latent_sizes.experiment import (
    GRID,
    MODELS,
    PATH_STEPS,
    QUARTERS,
    LatentSizes,
)
from bnnbench.suites.latent_models.names import CODES, CVAE, IMAGES, SHOWN_LATENTS
from bnnbench.suites.latent_models.page_parts import (
    BOUNDS,
    COLOURS,
    BoundPage,
    plot_curves,
    read_run,
)
from bnnbench.suites.latent_models.published import settings_of_book
from bnnbench.suites.latent_models.stack import OTHER_LABELS

SHOWN_EPOCHS = 40
"""The first of this many parts of the training is not shown, in which curves rise steeply."""

SNAPSHOTS = 10
"""Parts of the training after which reconstructions are shown: every ten epochs in the book."""

figures = Figures(read_run)


def _units_by_model(run: SavedRun) -> dict[str, dict[str, str]]:
    """Return the label of each unit, `d = 8`, by name of the model."""
    found: dict[str, dict[str, str]] = {}
    for unit in run.units:
        model, _, size = unit.partition("-d")
        found.setdefault(MODELS[model], {})[unit] = f"d = {size}"
    return found


def _curves_figure(run: SavedRun, label: str, columns: Mapping[str, PlotOptions]) -> Figure:
    """Draw columns of the curves, with their line styles, in a panel for each model."""
    models = _units_by_model(run)
    figure, panels = new_figure(4.2 * len(models), 3.8, len(models))
    for axes, (model, units) in zip(panels, models.items(), strict=True):
        if axes is not panels[0]:
            axes.sharey(panels[0])
        for column, style in columns.items():
            lines = {
                unit: {"color": colour, **style} for unit, colour in zip(units, cycle(COLOURS))
            }
            plot_curves(axes, run, column, lines)
        axes.set(title=model, ylabel=label)
        axes.label_outer()
    for name, line in zip(next(iter(models.values())).values(), panels[0].lines, strict=False):
        line.set_label(name)
    legend(figure, panels)
    return figure


@figures(
    "ELBO by epoch and number of latent variables d, as in the book's Fig. 5.9; mean over "
    "repetitions, one sample of z per image. Solid: test images; dashed: training images. The "
    "CVAE's is a bound of log p(x|y). The first epochs are not shown"
)
def elbo_by_epoch(run: SavedRun) -> Figure:
    columns = {"elbo_test": {}, "elbo_train": {"linestyle": "--", "linewidth": 1}}
    figure = _curves_figure(run, "ELBO [nats]", columns)
    curves = run[CURVES]
    first = curves["epoch"].max() / SHOWN_EPOCHS
    means = curves[curves["epoch"] >= first].groupby(["unit", "epoch"])[[*columns]].mean()
    low, high = means.min(axis=None), means.max(axis=None)
    for axes in figure.axes:
        axes.set_xlim(first, curves["epoch"].max())
        axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    return figure


@figures(
    "Rate KL(q(z|x) || p(z)) of test images by epoch and number of latent variables d, as in the "
    "book's Fig. 5.14; mean over repetitions"
)
def rate_by_epoch(run: SavedRun) -> Figure:
    return _curves_figure(run, "rate [nats]", {"rate_test": {}})


def _shown(run: SavedRun) -> dict[str, int]:
    """Return the position of each model's unit with the book's number of latents, by its label.

    It is that with the most latents if the book's was not run.
    """
    shown = {}
    for model, units in _units_by_model(run).items():
        sizes = [unit for unit, label in units.items() if label == f"d = {SHOWN_LATENTS}"]
        unit = sizes[0] if sizes else list(units)[-1]
        shown[f"{model}, {units[unit]}"] = run.units.index(unit)
    return shown


@figures(
    "Test images, binarised (first row), and mean images of latent variables drawn from the prior "
    "(below); book, Fig. 5.10. Below the line, the columns of the CVAE are classes"
)
def samples(run: SavedRun) -> Figure:
    images, positions = run.arrays(IMAGES), _shown(run)
    figure, panels = new_figure(3.6 * len(positions), 2.2, len(positions))
    for axes, (title, k) in zip(panels, positions.items(), strict=True):
        originals = 255 * images["originals"][k].astype(np.uint8)
        show_images(axes, np.concatenate([originals, images["samples"][k]]), 10, title)
        axes.axhline(1, color=ORANGE, linewidth=1.5)
    return figure


@figures(
    "Mean images on straight lines between two draws of the prior, under one label for the CVAE "
    "(book, Fig. 5.11a)"
)
def interpolation(run: SavedRun) -> Figure:
    images, positions = run.arrays(IMAGES)["interpolation"], _shown(run)
    figure, panels = new_figure(3.6 * len(positions), 1.65, len(positions))
    for axes, (title, k) in zip(panels, positions.items(), strict=True):
        show_images(axes, images[k], PATH_STEPS, title)
    return figure


@figures(
    "Mean images at percentiles of the prior of the first two latent variables (book, Fig. 5.11b; "
    "any others are zero), for the model with the fewest latent variables. The quarters of the "
    "CVAE are the classes 0 and 1 (above), 2 and 3 (below)"
)
def manifold(run: SavedRun) -> Figure:
    images, models = run.arrays(IMAGES)["manifold"], _units_by_model(run)
    figure, panels = new_figure(4.4 * len(models), 4.6, len(models))
    for axes, (model, units) in zip(panels, models.items(), strict=True):
        unit, label = next(iter(units.items()))
        grid = images[run.units.index(unit)]
        show_images(axes, grid, GRID, f"{model}, {label}")
        if model == CVAE:
            axes.axhline(GRID / QUARTERS, color=ORANGE, linewidth=1.5)
            axes.axvline(GRID / QUARTERS, color=ORANGE, linewidth=1.5)
    return figure


@figures(
    "Means of q(z|x) of at most 2,000 test images, projected by PCA and by t-SNE (book, Fig. "
    "5.12). Colours: classes"
)
def codes(run: SavedRun) -> Figure:
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    arrays, positions = run.arrays(CODES), _shown(run)
    figure, panels = new_figure(8.4, 3.6 * len(positions) + 0.5, 2, len(positions))
    projections = {"PCA": PCA(2), "t-SNE": TSNE(random_state=0, init="pca", perplexity=30)}
    for row, (title, k) in enumerate(positions.items()):
        values, labels = arrays["codes"][k], arrays["labels"][k]
        for axes, (name, projection) in zip(
            panels[2 * row : 2 * row + 2], projections.items(), strict=True
        ):
            if isinstance(projection, TSNE):
                projection.perplexity = min(30, (len(values) - 1) // 3)
            with threadpool_limits(1):  # more threads are slow on a busy machine
                points = projection.fit_transform(values)
            for label in np.unique(labels):
                own = points[labels == label]
                axes.plot(*own.T, ".", color=COLOURS[label % 10], label=f"{label}", ms=4)
            axes.set(title=f"{title}: {name}", xticks=[], yticks=[])
    legend(figure, panels, columns=10)
    return figure


@figures(
    "Reconstructions of test images at the mean of q(z|x), by epoch (book, Fig. 5.13). First row: "
    "the images"
)
def reconstructions(run: SavedRun) -> Figure:
    arrays, positions = run.arrays(IMAGES), _shown(run)
    epochs = run[CURVES]["epoch"].drop_duplicates().to_numpy()
    tenths = epochs[-1] * np.arange(1, SNAPSHOTS + 1) / SNAPSHOTS
    shown = np.unique([0, *np.searchsorted(epochs, tenths)])
    figure, panels = new_figure(3.6 * len(positions), 0.33 * len(shown) + 0.7, len(positions))
    for axes, (title, k) in zip(panels, positions.items(), strict=True):
        originals = 255 * arrays["originals"][k].astype(np.uint8)
        rows = [originals, *arrays["reconstructions"][k][shown]]
        show_images(axes, np.concatenate(rows), len(originals), title)
    names = ["images", *(f"epoch {epochs[k]}" for k in shown)]
    panels[0].set_yticks(np.arange(len(names)) + 0.5, names, fontsize="small")
    return figure


EXPERIMENT_PAGE = BoundPage(
    kind=LatentSizes.kind,
    title="Number of latent variables",
    caption=(
        f"{BOUNDS} The CVAE's bound of log p(x) is a sum over all labels, with 1/{OTHER_LABELS} of "
        "the draws for labels other than that of the image; its ELBO and other bounds are those of "
        "log p(x|y), y being the label. Distortion: expected -log p(x|z)."
    ),
    figures=figures,
    statements=claims,
    settings=SourceSettings(free=("models", "latents"), chosen=settings_of_book),
)
