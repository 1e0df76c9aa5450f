"""The page of a run on planar flows and importance-weighted autoencoders."""

from __future__ import annotations

from itertools import cycle

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from bnnbench.experiment.store.answer_tables import ANSWERS, SCORES
from bnnbench.experiment.store.record import read_record
from bnnbench.report.experiment_page import Figures
from bnnbench.report.figures.plotting import (
    BLUE,
    GREY,
    ORANGE,
    PALETTE,
    PlotOptions,
    legend,
    new_figure,
)
from bnnbench.results.claims.saved_run import SavedRun
from bnnbench.results.claims.source_settings import SourceSettings
from bnnbench.suites.latent_models.bound_page import BOUNDS, BoundPage
from bnnbench.suites.latent_models.names import IWAE, PLANAR, quantities
from bnnbench.suites.latent_models.planar_flows.claims import claims
from bnnbench.suites.latent_models.planar_flows.experiment import PlanarFlows
from bnnbench.suites.latent_models.plots import plot_curves
from bnnbench.suites.latent_models.published import published_error
from bnnbench.suites.latent_models.saved_run import draws_of, read_run, settings_of_book

COLUMNS = {"log_p": BLUE, "iwae_50": PALETTE[3], "iwae_5": PALETTE[2], "elbo": ORANGE}
"""Colours of the shown scores, the highest first."""

SIZES = ("K: number of planar steps", "T: number of samples in training of IWAEs")
"""What the labels of settings abbreviate."""

IWAE_COLOURS = (ORANGE, "#000000", PALETTE[3])

figures = Figures(read_run)


def _settings(run: SavedRun) -> dict[str, tuple[str, str]]:
    """Return model and setting, `K = 2`, of each unit: flows by length, then IWAEs by samples."""
    names = {"flow": (PLANAR, "K"), "iwae": (IWAE, "T")}
    parts = sorted((name, int(size)) for name, size in (unit.split("-") for unit in run.units))
    return {
        f"{name}-{size}": (names[name][0], f"{names[name][1]} = {size}") for name, size in parts
    }


@figures(
    "Bounds of log p(x) of test images by number K of planar steps (book, Table 5.1), and of IWAEs "
    "by number T of samples in training; mean ± standard error over repetitions"
)
def log_p_by_length(run: SavedRun) -> Figure:
    figure, (axes,) = new_figure(7.5, 4.2)
    settings, names = [*_settings(run).values()], quantities(draws_of(run.folder))
    places = {label: k + (model == IWAE) for k, (model, label) in enumerate(settings)}
    answers = run[ANSWERS].assign(place=run[ANSWERS]["setting"].map(places)).sort_values("place")
    book = answers.dropna(subset="published")
    if len(book):
        images = read_record(run.folder).metadata["images"]
        errors = [published_error(images, setting) for setting in book["setting"]]
        axes.errorbar(book["place"], book["published"], errors, fmt="x", color=GREY, capsize=2,
                      label="log p(x) in the book, Table 5.1")  # fmt: skip
    for column, colour in COLUMNS.items():
        rows = answers[answers["quantity"] == names[column]]
        for _, own in rows.groupby("approximation"):
            axes.errorbar(own["place"], own["value"], own["standard_error"], fmt="o-", color=colour,
                          label=names[column].removesuffix(", test"), markersize=4, linewidth=1.2,
                          capsize=2)  # fmt: skip
    axes.set_xticks([*places.values()], [*places])
    axes.set(xlabel="planar steps K, or samples T in training of IWAEs", ylabel="nats")
    legend(figure, axes, columns=2)
    return figure


@figures(
    "ELBO of test images (left) and training images (right) by epoch; mean over repetitions. Its "
    "rate is exact without planar steps, and estimated from one sample with them. The first epochs "
    "lie below the axes"
)
def elbo_by_epoch(run: SavedRun) -> Figure:
    figure, panels = new_figure(8.4, 4.0, 2)
    settings = _settings(run)
    flows = [unit for unit, (model, _) in settings.items() if model == PLANAR]
    colours = [*colormaps["viridis"](np.linspace(0, 0.75, len(flows))), *IWAE_COLOURS]
    lines: dict[str, PlotOptions] = {
        unit: {"color": colour, "label": label, "linewidth": 1.2}
        for (unit, (_, label)), colour in zip(settings.items(), cycle(colours))
    }
    for axes, part, title in zip(panels, ("test", "train"), ("test", "training"), strict=True):
        plot_curves(axes, run, f"elbo_{part}", lines)
        axes.set(title=f"{title} images", ylabel="ELBO [nats]")
    last = run[SCORES][["elbo", "elbo_train"]]
    panels[1].sharey(panels[0])
    panels[0].set_ylim(last.min(axis=None) - 3, last.max(axis=None) + 1)
    panels[1].label_outer()
    shown = {label[0] for _, label in settings.values()}
    title = "; ".join(text for text in SIZES if text[0] in shown)
    legend(figure, panels, columns=5, title=title)
    return figure


EXPERIMENT_PAGE = BoundPage(
    kind=PlanarFlows.kind,
    title="Planar flows and importance-weighted training",
    caption=(
        f"{BOUNDS} K: planar steps, whose parameters are outputs of the encoder; T: samples in the "
        "bound that training maximises."
    ),
    figures=figures,
    statements=claims,
    settings=SourceSettings(
        free=("training_samples",), grids=("lengths",), chosen=settings_of_book
    ),
)
