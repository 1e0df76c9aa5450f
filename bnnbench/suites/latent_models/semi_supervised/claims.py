"""The book's claims about semi-supervised learning, checked on the saved tables of a run."""

from __future__ import annotations

import numpy as np

from bnnbench.results.claims import CheckResult, Claims, NotTestable
from bnnbench.results.saved_run import SavedRun
from bnnbench.suites.latent_models.names import BOOK
from bnnbench.suites.latent_models.semi_supervised.stack import (
    ENUMERATION,
    MIXED,
    PAIRED,
    SUPERVISED,
)

BASELINES = {"accuracy_equal": "equal epochs", "accuracy": "all epochs"}
"""Columns of the supervised accuracy."""

claims = Claims()


def unit_of(method: str, labels: int) -> str:
    """Return the name of a unit."""
    return f"{method}-{labels:05d}"


def _gains(run: SavedRun, method: str, baseline: str) -> dict[int, np.ndarray]:
    """Return the accuracy above the supervised one, of each repetition, by number of labels."""
    return {
        labels: run.values(unit_of(method, labels), "accuracy")
        - run.values(unit_of(SUPERVISED, labels), baseline)
        for labels in run.sizes(f"{method}-")
    }


SOURCE = f"{BOOK}, 5.6.4, Table 5.2"

BEATS = (
    "for every number of labels, the accuracy is above that of the classifier alone, both after "
    "equally many epochs and after all its epochs, by more than two standard errors, paired by "
    "repetition"
)


@claims(
    "Images without labels improve the accuracy: minibatches as (5.38) says",
    source=SOURCE,
    rule=BEATS,
    method=MIXED,
)
@claims(
    "Images without labels improve the accuracy: minibatches paired with labelled ones",
    source=SOURCE,
    rule=BEATS,
    method=PAIRED,
)
def beats_supervised(run: SavedRun, method: str) -> CheckResult:
    verdicts, evidence = [], []
    for baseline, name in BASELINES.items():
        for labels, gains in _gains(run, method, baseline).items():
            error = gains.std(ddof=1) / np.sqrt(len(gains))
            verdicts.append(gains.mean() > 2 * error)
            evidence.append(f"{labels} labels, {name}: {gains.mean():+.1f} ± {error:.1f}")
    return bool(all(verdicts)), "; ".join(evidence)


@claims(
    "The fewer the labels, the larger the improvement: minibatches as (5.38) says",
    source=SOURCE,
    rule="the mean gain over the classifier after all its epochs falls from each number of labels "
    "to the next larger one",
    method=MIXED,
)
@claims(
    "The fewer the labels, the larger the improvement: minibatches paired with labelled ones",
    source=SOURCE,
    rule="the mean gain over the classifier after all its epochs falls from each number of labels "
    "to the next larger one",
    method=PAIRED,
)
def fewer_labels_gain_more(run: SavedRun, method: str) -> CheckResult:
    gains = {labels: own.mean() for labels, own in _gains(run, method, "accuracy").items()}
    if len(gains) < 2:
        raise NotTestable("one number of labels")
    evidence = ", ".join(f"{labels}: {gain:+.1f}" for labels, gain in gains.items())
    return bool((np.diff(list(gains.values())) < 0).all()), evidence


@claims(
    "A classifier alone has about 20 % with the fewest labels",
    source=SOURCE,
    rule="the supervised accuracy with the fewest labels, after as many epochs as the "
    "semi-supervised model, is below 30 %",
)
def baseline_is_poor(run: SavedRun) -> CheckResult:
    labels = run.sizes(f"{SUPERVISED}-")[0]
    found = run.sample(unit_of(SUPERVISED, labels), "accuracy_equal")
    return found.mean < 30, f"{labels} labels: {found.mean:.1f} ± {found.stderr:.1f} %"


@claims(
    "The relaxation is much faster than a sum over ten classes",
    source=f"{BOOK}, 5.5.3 and 5.7",
    rule="training with relaxed labels takes at most half of the processor time of training with "
    "the sum, with the same numbers of labels and minibatches",
)
def relaxation_is_faster(run: SavedRun) -> CheckResult:
    ratios = {
        labels: run.values(unit_of(PAIRED, labels), "seconds").mean()
        / run.values(unit_of(ENUMERATION, labels), "seconds").mean()
        for labels in run.sizes(f"{ENUMERATION}-")
    }
    evidence = ", ".join(f"{n} labels: {1 / ratio:.1f} times" for n, ratio in ratios.items())
    return max(ratios.values()) <= 0.5, evidence


@claims(
    "The relaxation loses no accuracy against the sum over classes",
    source=f"{BOOK}, 5.5.3",
    rule="the accuracy with the sum is above that with relaxed labels by at most two standard "
    "errors, paired by repetition",
)
def relaxation_loses_nothing(run: SavedRun) -> CheckResult:
    gains = {
        labels: run.difference("accuracy", unit_of(ENUMERATION, labels), unit_of(PAIRED, labels))
        for labels in run.sizes(f"{ENUMERATION}-")
    }
    evidence = ", ".join(f"{labels} labels: {gain} points" for labels, gain in gains.items())
    return not any(gain.is_positive for gain in gains.values()), f"sum - relaxation, {evidence}"
