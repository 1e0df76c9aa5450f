"""The book's claims about numbers of latent variables, checked on the saved tables of a run."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from bnnbench.results.claims import CheckResult, Claims, NotTestable
from bnnbench.results.saved_run import CURVES, SavedRun
from bnnbench.suites.latent_models.names import BOOK, CODES

EPOCH_STEPS = 469
"""Steps of an epoch of the book's data sets: 60,000 images in minibatches of 128."""

MANY = 8
"""Number of latent variables from which the book calls the ELBO saturated."""

GARMENTS = (2, 4, 6)
"""Classes of pullovers, coats and shirts in Fashion-MNIST."""

claims = Claims()


def _around_saturation(run: SavedRun) -> tuple[int, int, int]:
    """Return the smallest number of latents, 8, and the next larger one."""
    sizes = run.sizes("vae-d")
    larger = [d for d in sizes if d > MANY]
    if MANY not in sizes or sizes[0] == MANY or not larger:
        raise NotTestable(f"needs {MANY} latent variables, fewer and more")
    return sizes[0], MANY, larger[0]


@claims(
    "The ELBO rises with the number of latent variables and saturates",
    source=f"{BOOK}, 5.6.3, Fig. 5.9",
    rule="the VAE's test ELBO rises from the fewest latents to 8 by more than two standard errors, "
    "and changes by less than half of that to the next larger number",
)
def rises_and_saturates(run: SavedRun) -> CheckResult:
    few, some, many = _around_saturation(run)
    gain = run.difference("elbo", f"vae-d{some}", f"vae-d{few}")
    more = run.difference("elbo", f"vae-d{many}", f"vae-d{some}")
    evidence = f"{few} to {some}: {gain}; {some} to {many}: {more}"
    return gain.is_positive and abs(more.mean) < gain.mean / 2, evidence


@claims(
    "It is saturated at 8 latent variables",
    source=f"{BOOK}, 5.6.3",
    rule="the VAE's test ELBO rises from 8 latents to the next larger number by at most two "
    "standard errors",
)
def saturated_at_eight(run: SavedRun) -> CheckResult:
    _, some, many = _around_saturation(run)
    more = run.difference("elbo", f"vae-d{many}", f"vae-d{some}")
    return not more.is_positive, f"{some} to {many}: {more}"


@claims(
    "The largest number of latent variables loses almost nothing",
    source=f"{BOOK}, 5.6.3, Fig. 5.9",
    rule="the VAE's test ELBO falls from the second largest number to the largest by at most 2 %",
)
def largest_loses_nothing(run: SavedRun) -> CheckResult:
    sizes = run.sizes("vae-d")
    if len(sizes) < 2:
        raise NotTestable("one number of latent variables")
    before, last = (run.sample(f"vae-d{d}", "elbo").mean for d in sizes[-2:])
    return last >= before - 0.02 * abs(before), f"{before:.2f} to {last:.2f}"


def _compare_models(run: SavedRun, column: str) -> list[tuple[int, float, float, float]]:
    """Return latents, the VAE's score, CVAE - VAE and its standard error, from 8 latents on."""
    sizes = [d for d in run.sizes("vae-d") if d >= MANY and d in run.sizes("cvae-d")]
    if not sizes:
        raise NotTestable(f"needs both models with {MANY} latents or more")
    rows = []
    for d in sizes:
        gain = run.difference(column, f"cvae-d{d}", f"vae-d{d}")
        rows.append((d, run.sample(f"vae-d{d}", column).mean, gain.mean, gain.stderr))
    return rows


@claims(
    "Labels do not improve the ELBO: CVAE about VAE, as read off the figure",
    source=f"{BOOK}, 5.6.3, Fig. 5.9",
    rule="for every number of latents from 8 on, the CVAE's bound of log p(x|y) is less than 2 % "
    "above the VAE's bound of log p(x)",
)
def labels_do_not_help_bound(run: SavedRun) -> CheckResult:
    rows = _compare_models(run, "elbo")
    evidence = "; ".join(f"d = {d}: {gain:+.2f} on {elbo:.2f}" for d, elbo, gain, _ in rows)
    return all(gain < 0.02 * abs(elbo) for _, elbo, gain, _ in rows), evidence


@claims(
    "Labels do not improve the model: CVAE about VAE in log p(x)",
    source=f"{BOOK}, 5.6.3",
    rule="for every number of latents from 8 on, log p(x) of both, by a sum over labels for the "
    "CVAE, differs by less than two standard errors",
)
def labels_do_not_help_evidence(run: SavedRun) -> CheckResult:
    rows = _compare_models(run, "log_p")
    evidence = "; ".join(f"d = {d}: {gain:+.2f} ± {error:.2f}" for d, _, gain, error in rows)
    return all(abs(gain) < 2 * error for _, _, gain, error in rows), evidence


@claims(
    "The rate is stable after the first epoch",
    source=f"{BOOK}, 5.6.3, Fig. 5.14",
    rule=f"in every setting, the mean test rate after {EPOCH_STEPS} steps, an epoch of the book, "
    "is within 10 % of the last",
)
def rate_is_stable(run: SavedRun) -> CheckResult:
    ratios = {}
    for unit in run.units:
        rows = run.rows(CURVES, unit=unit).groupby("step")["rate_test"].mean()
        if rows.index[-1] < 2 * EPOCH_STEPS:
            raise NotTestable(f"fewer than {2 * EPOCH_STEPS} steps")
        ratios[unit] = rows[rows.index >= EPOCH_STEPS].iloc[0] / rows.iloc[-1]
    evidence = ", ".join(f"{unit} {ratio:.0%}" for unit, ratio in ratios.items())
    return all(abs(ratio - 1) <= 0.1 for ratio in ratios.values()), evidence


@claims(
    "Most is learned in the first ten epochs",
    source=f"{BOOK}, 5.6.3, Fig. 5.13",
    rule=f"in every setting, more than 90 % of the fall of the test distortion after the first "
    f"evaluation is reached after {10 * EPOCH_STEPS} steps, ten epochs of the book; needs twice as "
    "many steps",
)
def learned_in_ten_epochs(run: SavedRun) -> CheckResult:
    shares = []
    for unit in run.units:
        rows = run.rows(CURVES, unit=unit).groupby("step").mean(numeric_only=True)
        if rows.index[-1] < 20 * EPOCH_STEPS:
            raise NotTestable(f"{rows.index[-1]} steps")
        distortion = -rows["elbo_test"] - rows["rate_test"]
        reached = distortion[distortion.index >= 10 * EPOCH_STEPS].iloc[0]
        shares.append((distortion.iloc[0] - reached) / (distortion.iloc[0] - distortion.iloc[-1]))
    return min(shares) > 0.9, f"smallest share {min(shares):.0%}"


@claims(
    "4 and 9, and 3 and 5, mix in the latent space",
    source=f"{BOOK}, 5.6.3, text on Fig. 5.12",
    rule="these are the two most confused pairs of a linear classifier of the test codes of the "
    "VAE with the most latents, cross-validated; on Fashion-MNIST, pairs of pullover, coat, shirt",
)
def similar_classes_mix(run: SavedRun) -> CheckResult:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    position = run.units.index(f"vae-d{run.sizes('vae-d')[-1]}")
    arrays = run.arrays(CODES)
    codes, labels = arrays["codes"][position], arrays["labels"][position]
    predicted = cross_val_predict(LogisticRegression(max_iter=2000), codes, labels, cv=5)
    pairs = {
        (a, b): int(np.sum((labels == a) & (predicted == b) | (labels == b) & (predicted == a)))
        for a, b in combinations(range(int(labels.max()) + 1), 2)
    }
    worst = sorted(pairs, key=lambda pair: -pairs[pair])[:2]
    fashion = run.folder.root.name.startswith("fashion")
    expected = set(combinations(GARMENTS, 2)) if fashion else {(3, 5), (4, 9)}
    evidence = ", ".join(f"{a} and {b}: {pairs[a, b]} of {len(labels)}" for a, b in worst)
    return set(worst) <= expected, f"most confused: {evidence}"
