"""The book's claims about numbers of latent variables, checked on the saved tables of a run."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np
from scipy.stats import binomtest

from bnnbench.experiment.store.answer_tables import CURVES, Sample
from bnnbench.experiment.store.record import read_record
from bnnbench.results.claims.claims import (
    CheckResult,
    Claims,
    NotTestable,
    all_hold,
    undecided_share,
)
from bnnbench.results.claims.mean_tests import LEVEL, TOGETHER, all_positive, significant
from bnnbench.results.claims.saved_run import SavedRun
from bnnbench.suites.latent_models.names import (
    BOOK,
    BOUND,
    CODES,
    FASHION_MNIST,
    IMAGES_OF_BOOK,
    SHOWN_LATENTS,
)
from bnnbench.suites.latent_models.page_parts import EQUAL, check_margin
from bnnbench.suites.latent_models.stack import linear_probe

EPOCH_STEPS = 469
"""Steps of an epoch of the book's data sets: 60,000 images in minibatches of 128."""

MANY = 8
"""Number of latent variables from which the book calls the ELBO saturated."""

STABLE = 0.1
"""Fraction of the last rate by which a stable one may differ."""

LEARNED = 0.9
"""Fraction of what is learned that counts as most of it."""

SAME = 0.02
"""Fraction of a bound of log p(x) that does not count as a difference: about the thickness of a
curve in Fig. 5.9."""

GARMENTS = (2, 4, 6)
"""Classes of pullovers, coats and shirts in Fashion-MNIST."""

claims = Claims()

of_book = partial(claims, data=IMAGES_OF_BOOK)
"""Declares a claim about the book's images."""


def _around_saturation(run: SavedRun) -> tuple[int, int, int]:
    """Return the smallest number of latents, 8, and the next larger one."""
    sizes = run.sizes("vae-d")
    larger = [d for d in sizes if d > MANY]
    if MANY not in sizes or sizes[0] == MANY or not larger:
        raise NotTestable(f"needs {MANY} latent variables, fewer and more")
    return sizes[0], MANY, larger[0]


@of_book(
    "The ELBO rises with the number of latent variables and saturates",
    source=f"{BOOK}, 5.6.3, Fig. 5.9",
    rule="the VAE's test ELBO rises from the fewest latents to 8, and changes by less than half of "
    f"that to the next larger number {TOGETHER}",
)
def rises_and_saturates(run: SavedRun) -> CheckResult:
    few, some, many = _around_saturation(run)
    elbo = {d: run.values(f"vae-d{d}", "elbo") for d in (few, some, many)}
    gain, more = elbo[some] - elbo[few], elbo[many] - elbo[some]
    holds, evidence = all_positive({
        f"{few} to {some}": Sample.of(gain),
        f"half of that less {some} to {many}": Sample.of(gain / 2 - more),
        "and plus": Sample.of(gain / 2 + more),
    })  # fmt: skip
    return all_hold(holds), evidence


@of_book(
    "It is saturated at 8 latent variables",
    source=f"{BOOK}, 5.6.3",
    rule=f"the VAE's test ELBO rises from 8 latents to the next larger number by less than "
    f"{SAME:.0%} {EQUAL}",
)
def saturated_at_eight(run: SavedRun) -> CheckResult:
    _, some, many = _around_saturation(run)
    rise = _relative(run, "elbo", f"vae-d{many}", f"vae-d{some}")
    return check_margin({f"{some} to {many}": rise}, SAME, below=False)


def _relative(run: SavedRun, column: str, unit: str, other: str) -> Sample:
    """Return `unit - other` as a fraction of the mean of `other`, paired by repetition."""
    reference = run.values(other, column)
    return Sample.of((run.values(unit, column) - reference) / abs(reference.mean()))


@of_book(
    "The largest number of latent variables loses almost nothing",
    source=f"{BOOK}, 5.6.3, Fig. 5.9",
    rule="the VAE's test ELBO falls from the second largest number to the largest by less than "
    f"{SAME:.0%} {EQUAL}",
)
def largest_loses_nothing(run: SavedRun) -> CheckResult:
    sizes = run.sizes("vae-d")
    if len(sizes) < 2:
        raise NotTestable("one number of latent variables")
    before, last = sizes[-2:]
    rise = _relative(run, "elbo", f"vae-d{last}", f"vae-d{before}")
    return check_margin({f"{before} to {last}": rise}, SAME, above=False)


def _compare_models(run: SavedRun, column: str) -> dict[str, Sample]:
    """Return CVAE - VAE as a fraction of the VAE's score, by number of latents from 8 on."""
    sizes = [d for d in run.sizes("vae-d") if d >= MANY and d in run.sizes("cvae-d")]
    if not sizes:
        raise NotTestable(f"needs both models with {MANY} latents or more")
    return {f"d = {d}": _relative(run, column, f"cvae-d{d}", f"vae-d{d}") for d in sizes}


@of_book(
    "Labels do not improve the ELBO: CVAE about VAE, as read off the figure",
    source=f"{BOOK}, 5.6.3, Fig. 5.9",
    rule="for every number of latents from 8 on, the CVAE's bound of log p(x|y) is less than "
    f"{SAME:.0%} above the VAE's bound of log p(x) {EQUAL}",
)
def labels_do_not_help_bound(run: SavedRun) -> CheckResult:
    return check_margin(_compare_models(run, "elbo"), SAME, below=False)


@of_book(
    "Labels do not improve the model: CVAE about VAE in log p(x)",
    source=f"{BOOK}, 5.6.3",
    rule=f"for every number of latents from 8 on, {BOUND}, for the CVAE by a sum over labels, "
    f"differs by less than {SAME:.0%} between the models {EQUAL}",
)
def labels_do_not_help_evidence(run: SavedRun) -> CheckResult:
    return check_margin(_compare_models(run, "log_p"), SAME)


@of_book(
    "The rate is stable after the first epoch",
    source=f"{BOOK}, 5.6.3, Fig. 5.14",
    rule=f"in every setting, the test rate after {EPOCH_STEPS} steps, an epoch of the book, is "
    f"within {STABLE:.0%} of the last {EQUAL}",
)
def rate_is_stable(run: SavedRun) -> CheckResult:
    changes = {}
    for unit in run.units:
        rates = run.rows(CURVES, unit=unit).pivot(
            index="step", columns="repetition", values="rate_test"
        )
        if rates.index[-1] < 2 * EPOCH_STEPS:
            raise NotTestable(f"fewer than {2 * EPOCH_STEPS} steps")
        change = rates[rates.index >= EPOCH_STEPS].iloc[0] / rates.iloc[-1] - 1
        changes[unit] = Sample.of(change.to_numpy())
    return check_margin(changes, STABLE)


@claims(
    "Most is learned in the first ten epochs",
    source=f"{BOOK}, 5.6.3, Fig. 5.13",
    data=(FASHION_MNIST,),
    rule=f"in every setting, more than {LEARNED:.0%} of the fall of the test distortion after the "
    f"first evaluation is reached after {10 * EPOCH_STEPS} steps, ten epochs of the book "
    f"{TOGETHER}; needs twice as many steps",
)
def learned_in_ten_epochs(run: SavedRun) -> CheckResult:
    excess, shares = {}, {}
    for unit in run.units:
        rows = run.rows(CURVES, unit=unit)
        rows = rows.assign(distortion=-rows["elbo_test"] - rows["rate_test"])
        distortion = rows.pivot(index="step", columns="repetition", values="distortion")
        if distortion.index[-1] < 20 * EPOCH_STEPS:
            raise NotTestable(f"{distortion.index[-1]} steps")
        first, last = distortion.iloc[0], distortion.iloc[-1]
        reached = distortion[distortion.index >= 10 * EPOCH_STEPS].iloc[0]
        share = (first - reached) / (first - last)
        excess[unit], shares[unit] = Sample.of((share - LEARNED).to_numpy()), share.mean()
    holds, _ = all_positive(excess)
    worst = min(shares, key=lambda unit: shares[unit])
    return all_hold(holds), f"smallest share {shares[worst]:.0%} ({worst})"


@of_book(
    "4 and 9, and 3 and 5, mix in the latent space",
    source=f"{BOOK}, 5.6.3, text on Fig. 5.12",
    rule="a linear classifier of the test codes of the VAE with "
    f"{SHOWN_LATENTS} latents, cross-validated, confuses these pairs (on Fashion-MNIST the three "
    "of pullover, coat and shirt) more often than the mean pair (two-sided binomial tests, "
    f"p below {LEVEL} after Holm's correction)",
)
def similar_classes_mix(run: SavedRun) -> CheckResult:
    from sklearn.model_selection import cross_val_predict

    unit = f"vae-d{SHOWN_LATENTS}"
    if unit not in run.units:
        raise NotTestable(f"needs {SHOWN_LATENTS} latent variables")
    position = run.units.index(unit)
    arrays = run.arrays(CODES)
    codes, labels = arrays["codes"][position], arrays["labels"][position]
    predicted = cross_val_predict(linear_probe(), codes, labels, cv=5)
    pairs = {
        (a, b): int(np.sum((labels == a) & (predicted == b) | (labels == b) & (predicted == a)))
        for a, b in combinations(range(int(labels.max()) + 1), 2)
    }
    fashion = read_record(run.folder).metadata["images"] == FASHION_MNIST
    named = [*combinations(GARMENTS, 2)] if fashion else [(3, 5), (4, 9)]
    total = sum(pairs.values())
    p = [binomtest(pairs[one], total, 1 / len(pairs)).pvalue for one in named]
    evidence = ", ".join(f"{a} and {b}: {pairs[a, b]}" for a, b in named)
    mean = f"mean pair: {total / len(pairs):.1f} of {len(labels)}"
    share, level = 1 / len(pairs), LEVEL / len(named)
    decisions = (
        pairs[one] > share * total
        if shown
        else undecided_share(pairs[one], total, "confused images", share, level=level)
        for one, shown in zip(named, significant(p), strict=True)
    )
    return all_hold(decisions), f"confused: {evidence}; {mean}"
