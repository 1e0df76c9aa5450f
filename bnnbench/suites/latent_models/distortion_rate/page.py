"""The page of a run on the beta-VAE."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bnnbench.experiment.store.answer_tables import SCORES
from bnnbench.report.experiment_page import Figures
from bnnbench.report.figures.plotting import BLUE, GREY, ORANGE, PALETTE, legend, new_figure
from bnnbench.results.claims.saved_run import SavedRun
from bnnbench.results.claims.source_settings import SourceSettings
from bnnbench.suites.latent_models.bound_page import BOUNDS, BoundPage
from bnnbench.suites.latent_models.distortion_rate.claims import (
    COLLAPSED_RATE,
    beta_of,
    by_beta,
    claims,
)
from bnnbench.suites.latent_models.distortion_rate.experiment import DistortionRate
from bnnbench.suites.latent_models.names import quantities
from bnnbench.suites.latent_models.saved_run import draws_of, read_run, settings_of_book

AXES = ["rate", "distortion"]

LEVELS = (0.0, 0.2, 0.4, 0.8)
"""Lines of equal ELBO: below the best one by these parts of the range of distortions."""

figures = Figures(read_run)


@figures(
    "Distortion against rate of test images by beta (book, Fig. 5.15). Dots: repetitions; blue "
    "numbers: beta; line: means. Dashed lines: equal ELBO"
)
def distortion_rate(run: SavedRun) -> Figure:
    figure, (axes,) = new_figure(5.6, 4.6)
    means, scores = by_beta(run), run[SCORES]
    axes.plot(means["rate"], means["distortion"], "-", color=BLUE, linewidth=1.2)
    axes.plot(scores["rate"], scores["distortion"], "o", color=BLUE, markersize=4)
    best = (means["rate"] + means["distortion"]).min()
    rates = np.array([0.0, means["rate"].max() * 1.05])
    low, high = means["distortion"].min(), means["distortion"].max()
    bottom, top = low - 0.1 * (high - low), high + 0.15 * (high - low)
    for excess in LEVELS:
        level = best + excess * (high - low)
        axes.plot(rates, level - rates, "--", color=GREY, linewidth=0.8, zorder=0)
        # The line of the best ELBO touches the front, so its label is below; others are above.
        ends = max(0.0, level - top), min(rates[-1], level - low)
        rate = sum(ends) / 2 if excess else min(rates[-1], level - (bottom + low) / 2)
        axes.text(rate, level - rate, f"ELBO {-level:.0f}", fontsize="small", color=GREY,
                  ha="center", va="center", zorder=1,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
    collapsed = means["rate"] < COLLAPSED_RATE
    labels = [(f"{beta:g}", *means.loc[beta, AXES]) for beta in means.index[~collapsed]]
    if collapsed.any():
        names = ", ".join(f"{beta:g}" for beta in means.index[collapsed])
        labels.append((names, *means.loc[collapsed, AXES].mean()))
    for k, (name, rate, distortion) in enumerate(sorted(labels, key=lambda label: -label[2])):
        axes.annotate(name if k else f"beta {name}", (rate, distortion), (6, 5),
                      textcoords="offset points", fontsize="small", color=BLUE)  # fmt: skip
    axes.set(ylim=(bottom, top))
    axes.set(xlabel="rate [nats]", ylabel="distortion [nats]")
    return figure


@figures(
    "Bound of log p(x) and ELBO of test images, active units, and accuracy of a linear classifier "
    "of the codes, by beta. Dots: repetitions; lines: means"
)
def by_factor(run: SavedRun) -> Figure:
    figure, panels = new_figure(9, 3.2, 3)
    means, scores = by_beta(run), run[SCORES]
    beta = scores["unit"].map(beta_of)
    bound = quantities(draws_of(run.folder))["log_p"].removesuffix(", test")
    columns = {
        "nats": {"log_p": (bound, BLUE), "elbo": ("ELBO", ORANGE)},
        "active units": {"active_units": ("active units", PALETTE[2])},
        "accuracy [%]": {"probe_accuracy": ("probe", PALETTE[3])},
    }
    for axes, (label, lines) in zip(panels, columns.items(), strict=True):
        for column, (name, colour) in lines.items():
            axes.plot(beta, scores[column], "o", color=colour, markersize=3)
            axes.plot(means.index, means[column], color=colour, label=name, linewidth=1.2)
        axes.set(xscale="log", xlabel="beta", ylabel=label)
        axes.set_xticks(means.index, [f"{one:g}" for one in means.index], fontsize="small")
        axes.minorticks_off()
    panels[1].yaxis.set_major_locator(MaxNLocator(integer=True))
    legend(figure, panels[0])
    return figure


EXPERIMENT_PAGE = BoundPage(
    kind=DistortionRate.kind,
    title="Distortion against rate",
    caption=(
        f"{BOUNDS} The gap grows where q(z|x) is far from the posterior, as for beta far from 1. "
        "All bounds are computed with factor 1 of the rate."
    ),
    figures=figures,
    statements=claims,
    settings=SourceSettings(grids=("betas",), chosen=settings_of_book),
)
