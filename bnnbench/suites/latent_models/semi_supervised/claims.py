"""Claims about semi-supervised learning, checked on the saved tables of a run."""

from __future__ import annotations

import numpy as np

from bnnbench.experiment.store.answer_tables import Sample
from bnnbench.results.claims.claims import OURS, CheckResult, Claims, NotTestable, all_hold
from bnnbench.results.claims.mean_tests import ALONE, TOGETHER, all_positive
from bnnbench.results.claims.saved_run import SavedRun
from bnnbench.suites.latent_models.margins import EQUAL, check_margin
from bnnbench.suites.latent_models.names import BOOK, IMAGES_OF_BOOK
from bnnbench.suites.latent_models.semi_supervised.stack import (
    ENUMERATION,
    MIXED,
    PAIRED,
    SUPERVISED,
)

BASELINES = {"accuracy_equal": "equal epochs", "accuracy": "all epochs"}
"""Columns of the supervised accuracy."""

POOR = 30.0
"""Accuracy in per cent below which a classifier has "about 20 %"."""

SAME = 1.0
"""Percentage points of accuracy that do not count as a loss."""

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


SOURCE = f"{BOOK}, 5.7, Table 5.2"

BEATS = (
    "for every number of labels, the accuracy is above that of the classifier alone, both after "
    f"equally many epochs and after all its epochs, paired by repetition {TOGETHER}"
)

TREND = (
    "the gain over the classifier after all its epochs falls with the number of labels: the "
    f"least-squares slope against its logarithm, of each repetition, is negative {ALONE}"
)


@claims(
    "Images without labels improve the accuracy: minibatches as (5.38) says",
    source=SOURCE,
    data=IMAGES_OF_BOOK,
    rule=BEATS,
    method=MIXED,
)
@claims(
    "Images without labels improve the accuracy: minibatches paired with labelled ones",
    source=SOURCE,
    data=IMAGES_OF_BOOK,
    rule=BEATS,
    method=PAIRED,
)
def beats_supervised(run: SavedRun, method: str) -> CheckResult:
    holds, evidence = all_positive({
        f"{labels} labels, {name}": Sample.of(gains)
        for baseline, name in BASELINES.items()
        for labels, gains in _gains(run, method, baseline).items()
    })  # fmt: skip
    return all_hold(holds), evidence


@claims(
    "The fewer the labels, the larger the improvement: minibatches as (5.38) says",
    source=SOURCE,
    data=IMAGES_OF_BOOK,
    rule=TREND,
    method=MIXED,
)
@claims(
    "The fewer the labels, the larger the improvement: minibatches paired with labelled ones",
    source=SOURCE,
    data=IMAGES_OF_BOOK,
    rule=TREND,
    method=PAIRED,
)
def fewer_labels_gain_more(run: SavedRun, method: str) -> CheckResult:
    gains = _gains(run, method, "accuracy")
    if len(gains) < 2:
        raise NotTestable("one number of labels")
    slopes = np.polyfit(np.log10(list(gains)), np.array(list(gains.values())), 1)[0]
    fall = Sample.of(-slopes)
    (falls,), evidence = all_positive({"fall in points for ten times as many labels": fall})
    listed = ", ".join(f"{labels}: {own.mean():+.1f}" for labels, own in gains.items())
    return falls, f"{evidence}; {listed}"


@claims(
    "A classifier alone has about 20 % with the fewest labels",
    source=SOURCE,
    data=IMAGES_OF_BOOK,
    rule="the supervised accuracy with the fewest labels, after as many epochs as the "
    f"semi-supervised model, is below {POOR:g} % {ALONE}",
)
def baseline_is_poor(run: SavedRun) -> CheckResult:
    labels = run.sizes(f"{SUPERVISED}-")[0]
    found = run.values(unit_of(SUPERVISED, labels), "accuracy_equal")
    (poor,), evidence = all_positive({f"{POOR:g} % less accuracy": Sample.of(POOR - found)})
    return poor, f"{labels} labels: {found.mean():.1f} %; {evidence}"


@claims(
    "The relaxation is much faster than a sum over ten classes",
    source=f"{BOOK}, 5.7",
    data=IMAGES_OF_BOOK,
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
    source=OURS,
    rule="the accuracy with the sum is above that with relaxed labels by less than "
    f"{SAME:g} point, paired by repetition {EQUAL}",
)
def relaxation_loses_nothing(run: SavedRun) -> CheckResult:
    gains = {
        f"sum - relaxation, {labels} labels": run.difference(
            "accuracy", unit_of(ENUMERATION, labels), unit_of(PAIRED, labels)
        )
        for labels in run.sizes(f"{ENUMERATION}-")
    }
    return check_margin(gains, SAME, below=False)
