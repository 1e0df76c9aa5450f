"""The book's claims about the beta-VAE, checked on the saved tables of a run."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bnnbench.results.claims import CheckResult, Claims, NotTestable
from bnnbench.results.saved_run import SCORES, SavedRun
from bnnbench.suites.latent_models.names import BOOK

COLLAPSED_RATE = 0.01
"""Rate in nats below which a model has collapsed."""

claims = Claims()


def beta_of(unit: str) -> float:
    """Return the beta of a unit."""
    return float(unit.removeprefix("beta-").replace("_", "."))


def by_beta(run: SavedRun) -> pd.DataFrame:
    """Return the mean of every score over repetitions, with a row for each beta."""
    scores = run[SCORES]
    means = scores.groupby(scores["unit"].map(beta_of)).mean(numeric_only=True)
    return means.rename_axis("beta")


@claims(
    "Larger beta gives less rate and more distortion",
    source=f"{BOOK}, 5.3.2 and Fig. 5.15",
    rule="the mean test rate falls and the mean distortion rises from each beta to the next, among "
    "models that have not collapsed (rate of at least 0.01 nats)",
)
def moves_along_the_front(run: SavedRun) -> CheckResult:
    means = _not_collapsed(run)
    falls = (np.diff(means["rate"]) < 0).all() and (np.diff(means["distortion"]) > 0).all()
    low, high = means.iloc[0], means.iloc[-1]
    return bool(falls), (
        f"beta {means.index[0]:g} to {means.index[-1]:g}: rate {low['rate']:.2f} to "
        f"{high['rate']:.2f}, distortion {low['distortion']:.2f} to {high['distortion']:.2f}"
    )


@claims(
    "The front of distortion against rate is convex",
    source=f"{BOOK}, Fig. 5.15",
    rule="the slopes between neighbouring beta become steeper as the rate falls, among models that "
    "have not collapsed",
)
def front_is_convex(run: SavedRun) -> CheckResult:
    means = _not_collapsed(run)
    slopes = np.diff(means["distortion"]) / np.diff(means["rate"])
    listed = ", ".join(f"{slope:.2f}" for slope in slopes)
    return bool((np.diff(slopes) < 0).all()), f"slopes {listed}"


def _not_collapsed(run: SavedRun) -> pd.DataFrame:
    means = by_beta(run)
    kept = means[means["rate"] >= COLLAPSED_RATE]
    if len(kept) < 3:
        raise NotTestable("fewer than three models that have not collapsed")
    return kept


@claims(
    "A smaller factor of the KL divergence avoids collapse, a larger one causes it",
    source=f"{BOOK}, 5.5.2",
    rule="the mean number of active units does not rise with beta, and is lower at the largest "
    "beta than at the smallest",
)
def large_beta_collapses(run: SavedRun) -> CheckResult:
    active = by_beta(run)["active_units"]
    falls = (np.diff(active) <= 0).all() and active.iloc[-1] < active.iloc[0]
    return bool(falls), ", ".join(f"beta {beta:g}: {count:.1f}" for beta, count in active.items())


@claims(
    "Larger beta gives more disentangled codes, on which a linear classifier does better",
    source=f"{BOOK}, 5.3.2 and 5.2",
    rule="the accuracy of a linear classifier of the codes is higher at the largest beta above 1 "
    "that has not collapsed than at beta = 1, by more than two standard errors",
)
def large_beta_helps_a_probe(run: SavedRun) -> CheckResult:
    betas = [beta for beta in _not_collapsed(run).index if beta > 1]
    if not betas or 1.0 not in by_beta(run).index:
        raise NotTestable("needs beta = 1 and a larger one that has not collapsed")
    names = {beta_of(unit): unit for unit in run.units}
    gain = run.difference("probe_accuracy", names[betas[-1]], names[1.0])
    means = by_beta(run)["probe_accuracy"]
    return gain.is_positive, (
        f"beta {betas[-1]:g} - beta 1: {gain} points; best at beta {means.idxmax():g}, "
        f"{means.max():.1f} %"
    )


@claims(
    "log p(x) is highest at beta = 1, whose objective is its bound",
    source=f"{BOOK}, 5.3.2",
    rule="the mean estimate of log p(x) is highest at beta = 1",
)
def beta_one_is_best(run: SavedRun) -> CheckResult:
    means = by_beta(run)["log_p"]
    if 1.0 not in means.index:
        raise NotTestable("needs beta = 1")
    best = means.idxmax()
    return best == 1.0, f"beta 1: {means[1.0]:.2f}; best beta {best:g}: {means[best]:.2f}"
