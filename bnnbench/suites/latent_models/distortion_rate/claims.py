"""Claims about the beta-VAE, checked on the saved tables of a run."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pandas as pd

from bnnbench.experiment.store.answer_tables import SCORES, Sample
from bnnbench.results.claims.claims import OURS, CheckResult, Claims, NotTestable, all_hold
from bnnbench.results.claims.mean_tests import ALONE, TOGETHER, all_positive
from bnnbench.results.claims.saved_run import SavedRun
from bnnbench.results.compare.undecided import NEVER
from bnnbench.suites.latent_models.names import BOOK, BOUND, IMAGES_OF_BOOK

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
    data=IMAGES_OF_BOOK,
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


def _difference(run: SavedRun, column: str, beta: float, other: float) -> Sample:
    """Return a score at one beta minus that at another, paired by repetition."""
    names = {beta_of(unit): unit for unit in run.units}
    return run.difference(column, names[beta], names[other])


@claims(
    "The front of distortion against rate is convex",
    source=f"{BOOK}, Fig. 5.15",
    data=IMAGES_OF_BOOK,
    rule="the slopes between neighbouring beta, of each repetition, become steeper as the rate "
    f"falls, among models that have not collapsed {TOGETHER}",
)
def front_is_convex(run: SavedRun) -> CheckResult:
    betas = list(_not_collapsed(run).index)
    slopes = {
        (low, high): _changes(run, "distortion", low, high) / _changes(run, "rate", low, high)
        for low, high in pairwise(betas)
    }
    holds, evidence = all_positive({
        f"fall of the slope at beta {first[1]:g}": Sample.of(slopes[first] - slopes[second])
        for first, second in pairwise(slopes)
    })  # fmt: skip
    listed = ", ".join(f"{slope.mean():.2f}" for slope in slopes.values())
    return all_hold(holds), f"slopes {listed}; {evidence}"


def _changes(run: SavedRun, column: str, beta: float, other: float) -> np.ndarray:
    """Return the change of a score from one beta to another, of each repetition."""
    names = {beta_of(unit): unit for unit in run.units}
    return run.values(names[other], column) - run.values(names[beta], column)


def _not_collapsed(run: SavedRun) -> pd.DataFrame:
    means = by_beta(run)
    kept = means[means["rate"] >= COLLAPSED_RATE]
    if len(kept) < 3:
        raise NotTestable("fewer than three models that have not collapsed")
    return kept


@claims(
    "A smaller factor of the KL divergence avoids collapse, a larger one causes it",
    source=f"{BOOK}, 5.5.2 and 5.6.3",
    data=IMAGES_OF_BOOK,
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


@claims(
    "Larger beta gives more disentangled codes, on which a linear classifier does better",
    source=f"{BOOK}, 5.3.2",
    data=IMAGES_OF_BOOK,
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
