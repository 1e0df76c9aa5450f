"""The page of a run on planar flows and importance-weighted autoencoders: claims and figures.

Book, 5.4, 5.5.1 and Table 5.1.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations, cycle, pairwise

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
from bnnbench.results.claims.claims import (
    MAJORITY,
    CheckResult,
    Claims,
    NotTestable,
    all_hold,
    most_hold,
)
from bnnbench.results.claims.mean_tests import ALONE, TOGETHER, all_positive
from bnnbench.results.claims.saved_run import SavedRun, SourceSettings
from bnnbench.suites.latent_models.experiment import PlanarFlows
from bnnbench.suites.latent_models.names import (
    BOOK,
    BOUND,
    IMAGES_OF_BOOK,
    IWAE,
    PLANAR,
    quantities,
)
from bnnbench.suites.latent_models.page_parts import (
    BOUNDS,
    EQUAL,
    BoundPage,
    check_margin,
    draws_of,
    plot_curves,
    read_run,
)
from bnnbench.suites.latent_models.published import published_error, settings_of_book
from bnnbench.suites.latent_models.stack import BOUND_SIZES

SHORT = (2, 4, 8)
"""Lengths that the book finds equal."""

SAME = 0.5
"""Nats that do not count as a difference: a quarter of the smallest gain over K = 0 in Table 5.1
on MNIST, rounded up."""

COLUMNS = {"log_p": BLUE, "iwae_50": PALETTE[3], "iwae_5": PALETTE[2], "elbo": ORANGE}
"""Colours of the shown scores, the highest first."""

SIZES = ("K: number of planar steps", "T: number of samples in training of IWAEs")
"""What the labels of settings abbreviate."""

IWAE_COLOURS = (ORANGE, "#000000", PALETTE[3])


claims = Claims()

of_book = partial(claims, data=IMAGES_OF_BOOK)
"""Declares a claim about the book's images."""


@of_book(
    "Planar flows improve log p(x) over a plain VAE",
    source=f"{BOOK}, 5.6.3, Table 5.1",
    rule=f"{BOUND}, paired by repetition, is above that of K = 0 for at least {MAJORITY:.0%} of "
    f"the lengths {TOGETHER}",
)
def flows_beat_vae(run: SavedRun) -> CheckResult:
    lengths = [k for k in run.sizes("flow-") if k > 0]
    if 0 not in run.sizes("flow-") or not lengths:
        raise NotTestable("needs K = 0 and a flow")
    gains = {f"K = {k}": run.difference("log_p", f"flow-{k}", "flow-0") for k in lengths}
    better, evidence = all_positive(gains)
    return most_hold(better), evidence


@of_book(
    "Flows of 2, 4 and 8 steps do not differ",
    source=f"{BOOK}, 5.6.3, Table 5.1",
    rule=f"between any two, {BOUND}, paired by repetition, differs by less than {SAME} nats "
    f"{EQUAL}",
)
def short_flows_are_equal(run: SavedRun) -> CheckResult:
    if not set(SHORT) <= set(run.sizes("flow-")):
        raise NotTestable("needs K = 2, 4 and 8")
    gains = {
        f"{b} - {a}": run.difference("log_p", f"flow-{b}", f"flow-{a}")
        for a, b in combinations(SHORT, 2)
    }
    return check_margin(gains, SAME)


@of_book(
    "Many steps are needed for the effect",
    source=f"{BOOK}, 5.6.3",
    rule=f"for the longest flow, {BOUND}, paired by repetition, is above that of one step {ALONE}",
)
def long_flows_are_better(run: SavedRun) -> CheckResult:
    lengths = run.sizes("flow-")
    if 1 not in lengths or lengths[-1] == 1:
        raise NotTestable("needs K = 1 and a longer flow")
    gain = run.difference("log_p", f"flow-{lengths[-1]}", "flow-1")
    (better,), evidence = all_positive({f"K = {lengths[-1]} - K = 1": gain})
    return better, evidence


@of_book(
    "The bound of log p(x) rises with its number of samples, from the ELBO on",
    source=f"{BOOK}, 5.4",
    rule="the means over test images rise from the ELBO to the bounds with 5 and 50 draws and to "
    f"{BOUND}, in every setting and repetition",
)
def bounds_are_ordered(run: SavedRun) -> CheckResult:
    scores = run[SCORES]
    columns = ["elbo", *(f"iwae_{k}" for k in BOUND_SIZES if f"iwae_{k}" in scores), "log_p"]
    smallest = min((scores[b] - scores[a]).min() for a, b in pairwise(columns))
    return bool(smallest >= 0), f"smallest difference of neighbours {smallest:.3f} nats"


@of_book(
    "Training with the importance-weighted bound gives a better model with a worse ELBO",
    source=f"{BOOK}, 5.4",
    rule=f"for every number of samples, the ELBO is below and {BOUND} above that of the VAE, "
    f"paired by repetition {TOGETHER}",
)
def weighted_training_helps(run: SavedRun) -> CheckResult:
    differences = {}
    for samples in run.sizes("iwae-"):
        name, unit = f"T = {samples}", f"iwae-{samples}"
        differences[f"{name}, fall of the ELBO"] = run.difference("elbo", "flow-0", unit)
        differences[f"{name}, rise of the bound"] = run.difference("log_p", unit, "flow-0")
    holds, evidence = all_positive(differences)
    return all_hold(holds), evidence


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
