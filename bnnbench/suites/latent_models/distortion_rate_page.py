"""The page of a run on the beta-VAE: claims, and figures of distortion against rate.

Book, 5.3.2, 5.5.2 and Fig. 5.15.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bnnbench.experiment.store.answer_tables import SCORES, Sample
from bnnbench.report.experiment_page import Figures
from bnnbench.report.figures.plotting import BLUE, GREY, ORANGE, PALETTE, legend, new_figure
from bnnbench.results.claims.claims import OURS, CheckResult, Claims, NotTestable, all_hold
from bnnbench.results.claims.mean_tests import ALONE, TOGETHER, all_positive
from bnnbench.results.claims.saved_run import SavedRun, SourceSettings
from bnnbench.results.compare.undecided import NEVER
from bnnbench.suites.latent_models.experiment import DistortionRate
from bnnbench.suites.latent_models.names import BOOK, BOUND, IMAGES_OF_BOOK, quantities
from bnnbench.suites.latent_models.page_parts import BOUNDS, BoundPage, draws_of, read_run
from bnnbench.suites.latent_models.published import settings_of_book

COLLAPSED_RATE = 0.01
"""Rate in nats below which a model has collapsed."""

AXES = ["rate", "distortion"]

LEVELS = (0.0, 0.2, 0.4, 0.8)
"""Lines of equal ELBO: below the best one by these parts of the range of distortions."""


claims = Claims()

of_book = partial(claims, data=IMAGES_OF_BOOK)
"""Declares a claim about the book's images."""


def beta_of(unit: str) -> float:
    """Return the beta of a unit."""
    return float(unit.removeprefix("beta-").replace("_", "."))


def by_beta(run: SavedRun) -> pd.DataFrame:
    """Return the mean of every score over repetitions, with a row for each beta."""
    scores = run[SCORES]
    means = scores.groupby(scores["unit"].map(beta_of)).mean(numeric_only=True)
    return means.rename_axis("beta")


@of_book(
    "Larger beta gives less rate and more distortion",
    source=f"{BOOK}, 5.3.2 and Fig. 5.15",
    rule="the test rate falls and the distortion rises from each beta to the next, paired by "
    "repetition, among models that have not collapsed (mean rate of at least 0.01 nats) "
    f"{TOGETHER}",
)
def moves_along_the_front(run: SavedRun) -> CheckResult:
    means, steps = _not_collapsed(run), {}
    for low, high in pairwise(means.index):
        name = f"from beta {low:g} to {high:g}"
        steps[f"fall of the rate {name}"] = _difference(run, "rate", low, high)
        steps[f"rise of the distortion {name}"] = _difference(run, "distortion", high, low)
    holds, _ = all_positive(steps)
    worst = min(steps, key=lambda name: _statistic(steps[name]))
    first, last = means.iloc[0], means.iloc[-1]
    return all_hold(holds), (
        f"beta {means.index[0]:g} to {means.index[-1]:g}: rate {first['rate']:.2f} to "
        f"{last['rate']:.2f}, distortion {first['distortion']:.2f} to {last['distortion']:.2f}; "
        f"least clear: {worst}: {steps[worst]}"
    )


def _statistic(sample: Sample) -> float:
    """Return the mean in standard errors."""
    return sample.mean / sample.stderr if sample.stderr else math.copysign(math.inf, sample.mean)


def _differences(run: SavedRun, column: str, beta: float, other: float) -> np.ndarray:
    """Return a score at one beta minus that at another, of each repetition."""
    names = {beta_of(unit): unit for unit in run.units}
    return np.asarray(run.values(names[beta], column) - run.values(names[other], column))


def _difference(run: SavedRun, column: str, beta: float, other: float) -> Sample:
    """Return mean and spread of `_differences`."""
    return Sample.of(_differences(run, column, beta, other))


@of_book(
    "The front of distortion against rate is convex",
    source=f"{BOOK}, Fig. 5.15",
    rule="the slopes between neighbouring beta, of each repetition, become steeper as the rate "
    f"falls, among models that have not collapsed {TOGETHER}",
)
def front_is_convex(run: SavedRun) -> CheckResult:
    betas = list(_not_collapsed(run).index)
    slopes = {
        (low, high): _differences(run, "distortion", high, low)
        / _differences(run, "rate", high, low)
        for low, high in pairwise(betas)
    }
    holds, evidence = all_positive({
        f"fall of the slope at beta {first[1]:g}": Sample.of(slopes[first] - slopes[second])
        for first, second in pairwise(slopes)
    })  # fmt: skip
    listed = ", ".join(f"{slope.mean():.2f}" for slope in slopes.values())
    return all_hold(holds), f"slopes {listed}; {evidence}"


def _not_collapsed(run: SavedRun) -> pd.DataFrame:
    means = by_beta(run)
    kept = means[means["rate"] >= COLLAPSED_RATE]
    if len(kept) < 3:
        raise NotTestable("fewer than three models that have not collapsed")
    return kept


@of_book(
    "A smaller factor of the KL divergence avoids collapse, a larger one causes it",
    source=f"{BOOK}, 5.5.2 and 5.6.3",
    rule="the mean number of active units does not rise with beta, and is lower at the largest "
    f"beta than at the smallest, paired by repetition {ALONE}",
)
def large_beta_collapses(run: SavedRun) -> CheckResult:
    active = by_beta(run)["active_units"]
    first, last = active.index[[0, -1]]
    (lower,), evidence = all_positive(
        {f"{first:g} less {last:g}": _difference(run, "active_units", first, last)}
    )
    listed = ", ".join(f"beta {beta:g}: {count:.1f}" for beta, count in active.items())
    falls = bool((np.diff(active) <= 0).all())
    return lower and (falls or NEVER), f"{listed}; {evidence}"


@of_book(
    "Larger beta gives more disentangled codes, on which a linear classifier does better",
    source=f"{BOOK}, 5.3.2",
    rule="the accuracy of a linear classifier of the standardised codes is higher at the largest "
    f"beta above 1 that has not collapsed than at beta = 1, paired by repetition {ALONE}",
)
def large_beta_helps_a_probe(run: SavedRun) -> CheckResult:
    betas = [beta for beta in _not_collapsed(run).index if beta > 1]
    if not betas or 1.0 not in by_beta(run).index:
        raise NotTestable("needs beta = 1 and a larger one that has not collapsed")
    gain = _difference(run, "probe_accuracy", betas[-1], 1.0)
    (better,), evidence = all_positive({f"beta {betas[-1]:g} - beta 1, points": gain})
    means = by_beta(run)["probe_accuracy"]
    return better, f"{evidence}; best at beta {means.idxmax():g}, {means.max():.1f} %"


@claims(
    f"{BOUND.capitalize()} is highest at beta = 1, whose objective is the ELBO",
    source=OURS,
    rule=f"{BOUND} is higher at beta = 1 than at every other beta, paired by repetition {TOGETHER}",
)
def beta_one_is_best(run: SavedRun) -> CheckResult:
    betas = list(by_beta(run).index)
    if 1.0 not in betas:
        raise NotTestable("needs beta = 1")
    holds, evidence = all_positive({
        f"beta 1 - beta {beta:g}": _difference(run, "log_p", 1.0, beta)
        for beta in betas
        if beta != 1
    })  # fmt: skip
    return all_hold(holds), evidence


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
