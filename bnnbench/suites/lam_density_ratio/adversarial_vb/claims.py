"""The thesis's claims about adversarial variational Bayes on images, checked by rules."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise

import numpy as np
import pandas as pd

from bnnbench.experiment.store.answer_tables import SCORES, Sample
from bnnbench.notes import quantity
from bnnbench.results.claims.claims import (
    MAJORITY,
    OURS,
    CheckResult,
    Claims,
    NotTestable,
    TooFew,
    all_hold,
)
from bnnbench.results.claims.mean_tests import (
    F_TEST,
    LEVEL,
    TOGETHER,
    MeanTest,
    SpreadTest,
    all_positive,
    are_within,
    one_sample,
    positive,
    welch,
)
from bnnbench.results.claims.saved_run import summarise
from bnnbench.results.compare.significance import INTERVAL
from bnnbench.results.compare.undecided import NO_SPREAD
from bnnbench.suites.lam_density_ratio.adversarial_vb.evidence import ImageEvidence
from bnnbench.suites.lam_density_ratio.adversarial_vb.names import (
    DATA,
    GAN,
    REVERSE_KL,
    SYMBOLS,
    EstimatorSetting,
)
from bnnbench.suites.lam_density_ratio.names import (
    DIVERGENCES,
    ESTIMATORS,
    NOT_FINITE,
    OK,
    RELU_RATIO,
)

FEW, MANY = 2, 10
"""Numbers of latent variables of the thesis."""

D, _, T = ESTIMATORS

MAX_ERROR, SPIKE = 0.01, 1e14
"""Limits on errors of the log ratio (A8) and on the loss (A7), as in the rules."""

MARGIN = 0.002
"""Difference of reconstruction errors within which estimators are equal, a tenth of the excess of T
with GAN in Table 10.1."""

WELCH = f"Welch's p below {LEVEL}"

FAR_MORE = 2.0
"""Ratio of standard deviations from which on a curve fluctuates far more (A11)."""

PAIRED = f"(paired by repetition; t-test, p below {LEVEL})"
"""Description of a test of repetitions of the same number, which share their starts."""

MAJORITY_RULE = (
    f"at more than {MAJORITY:.0%} of the evaluations it is above that of D, and above that of r, "
    f"{PAIRED[:-1]} after Holm's correction)"
)

claims = Claims()

of_thesis = partial(claims, data=DATA)
"""Declares a claim about the thesis's images."""


def _test(evidence: ImageEvidence, latents: int, *pair: tuple[str, str]) -> MeanTest:
    """Test the error of the first configuration against that of the second."""
    return welch(*(evidence.error(latents, *one) for one in pair))


@of_thesis(
    "A1: With GAN, T has a significantly higher reconstruction error than D.",
    source="10.2, Table 10.1",
    rule=f"higher mean absolute error with 2 latent variables, {WELCH}",
)
def is_worse_than_d(evidence: ImageEvidence) -> CheckResult:
    test = _test(evidence, FEW, (GAN, T), (GAN, D))
    return positive([test])[0], f"T less D: {test}"


@claims(
    "A1, explained: a T = log(max(0, a)), as in a public program of the author, has it.",
    source=OURS,
    rule="higher error than D in the repetitions with the same starts, p of the paired t-test "
    f"below {LEVEL}",
)
def relu_is_worse_than_d(evidence: ImageEvidence) -> CheckResult:
    relu, d = (evidence.finished("mae", FEW, GAN, name) for name in (RELU_RATIO, D))
    sample = summarise((relu - d).tolist())
    if sample.size < 2:
        count = quantity(sample.size, "finished repetition")
        raise TooFew(f"{count} of ReLU and D", NO_SPREAD)
    test = one_sample(sample)
    return positive([test])[0], f"ReLU less D: {sample}, p {test.p:.2g}"


@of_thesis(
    "A2: Reverse KL has consistently lower reconstruction errors than GAN.",
    source="10.2",
    rule=f"lower with 2 latent variables and each of D, r and T, {WELCH} after Holm's correction",
)
def reverse_kl_is_better(evidence: ImageEvidence) -> CheckResult:
    tests = {name: _test(evidence, FEW, (GAN, name), (REVERSE_KL, name)) for name in ESTIMATORS}
    listed = "; ".join(f"{SYMBOLS[name]}: {test}" for name, test in tests.items())
    return all_hold(positive(tests.values())), f"GAN less reverse KL, {listed}"


@of_thesis(
    "A3: D is the most accurate, followed by r and T.",
    source="10.2",
    rule="mean errors with 2 latent variables are in this order for both divergences, "
    f"{WELCH} after Holm's correction",
)
def estimators_are_ordered(evidence: ImageEvidence) -> CheckResult:
    means = {k: [evidence.error(FEW, k, name).mean for name in ESTIMATORS] for k in DIVERGENCES}
    steps = [
        _test(evidence, FEW, (k, after), (k, before))
        for k in DIVERGENCES
        for before, after in pairwise(ESTIMATORS)
    ]
    listed = {DIVERGENCES[k]: " ".join(f"{mean:.4f}" for mean in own) for k, own in means.items()}
    evident = "; ".join(f"{name}, D r T: {own}" for name, own in listed.items())
    return all_hold(positive(steps)), evident


@of_thesis(
    "A3: Apart from T with GAN, the differences between estimators are insignificant.",
    source="10.2",
    rule=f"the difference of every other pair of one divergence is within {MARGIN} of zero, with "
    f"its whole {INTERVAL} (Welch); contradicted if it is significantly larger, by "
    "Holm's correction",
)
def others_do_not_differ(evidence: ImageEvidence) -> CheckResult:
    pairs = [(k, pair) for k in DIVERGENCES for pair in combinations(ESTIMATORS, 2)]
    tests = {
        f"{DIVERGENCES[k]}, {SYMBOLS[a]} {SYMBOLS[b]}": _test(evidence, FEW, (k, a), (k, b))
        for k, (a, b) in pairs
        if (k, b) != (GAN, T)
    }
    holds = are_within(tests.values(), MARGIN)
    return holds, "; ".join(f"{name}: {test}" for name, test in tests.items())


def _spread(
    evidence: ImageEvidence, column: str, setting: EstimatorSetting, low: float, high: float
) -> pd.Series:
    """Return the deviation of a column of the curves in a part of the training, by repetition.

    Args:
        evidence: the evidence; repetitions that failed are left out.
        column: of the curves.
        setting: the configuration.
        low: fraction of the iterations at which the part begins.
        high: fraction at which it ends.

    Raises:
        NotTestable: if there are fewer than two evaluations in it.
        TooFew: if all repetitions failed.
    """
    curves = evidence.finished_curves(column, setting)
    last = curves.index.max()
    spread = curves[(low * last <= curves.index) & (curves.index <= high * last)].std()
    if spread.isna().all():
        raise NotTestable("fewer than two evaluations in a part of the training")
    return spread


def _loss_spread(
    evidence: ImageEvidence, divergence: str, estimator: str, low: float, high: float
) -> pd.Series:
    """Return the deviation of the estimator's loss with few latent variables, as `_spread`."""
    return _spread(
        evidence, "estimator_loss", EstimatorSetting(FEW, divergence, estimator), low, high
    )


@of_thesis(
    "A4: The loss of reverse KL is less stable than that of GAN.",
    source="10.2, Fig. 10.7",
    rule="its standard deviation in the second half of the training, paired by repetition, is "
    f"larger with 2 latent variables and each of D, r and T {TOGETHER}",
)
def reverse_kl_is_less_stable(evidence: ImageEvidence) -> CheckResult:
    return _all_larger({
        name: [_loss_spread(evidence, k, name, 0.5, 1) for k in (REVERSE_KL, GAN)]
        for name in ESTIMATORS
    })  # fmt: skip


def _all_larger(pairs: Mapping[str, Sequence[pd.Series]]) -> CheckResult:
    """Check whether the first numbers are larger than the second, paired by repetition."""
    differences: dict[str, Sample] = {
        SYMBOLS[name]: summarise((first - second).tolist())
        for name, (first, second) in pairs.items()
    }
    holds, evident = all_positive(differences)
    return all_hold(holds), evident


@of_thesis(
    "A4: The loss of reverse KL does not settle.",
    source="10.2, Fig. 10.7",
    rule="its standard deviation in the last quarter of the training, less half of that in the "
    f"second quarter, is positive with 2 latent variables and each of D, r and T {TOGETHER}",
)
def reverse_kl_does_not_settle(evidence: ImageEvidence) -> CheckResult:
    return _all_larger({
        name: [
            _loss_spread(evidence, REVERSE_KL, name, 0.75, 1),
            _loss_spread(evidence, REVERSE_KL, name, 0.25, 0.5) / 2,
        ]
        for name in ESTIMATORS
    })  # fmt: skip


@of_thesis(
    "A5: With 10 latent variables r and T overflow, D does not.",
    source="10.3",
    rule="every repetition of r and T ends in numbers that are not finite, none of D",
)
def only_d_is_finite(evidence: ImageEvidence) -> CheckResult:
    counts, verdicts = [], []
    for divergence in DIVERGENCES:
        for name in ESTIMATORS:
            status = evidence.repetitions(MANY, divergence, name).scores["status"]
            failed = int((status == NOT_FINITE).sum())
            verdicts.append(failed == (0 if name == D else len(status)))
            counts.append(
                f"{EstimatorSetting(MANY, divergence, name).label}: {failed} of {len(status)}"
            )
    return all(verdicts), "not finite: " + "; ".join(counts)


@of_thesis(
    "A6: With 10 latent variables and D, GAN has a lower reconstruction error, and varies less.",
    source="10.3, Table 10.2",
    rule=f"lower mean and standard deviation (Welch's test; {F_TEST} after Holm's correction of "
    "both)",
)
def gan_is_better_with_many(evidence: ImageEvidence) -> CheckResult:
    test = _test(evidence, MANY, (REVERSE_KL, D), (GAN, D))
    gan, kl = (evidence.error(MANY, k, D) for k in (GAN, REVERSE_KL))
    spread = SpreadTest(kl, gan)
    evident = f"GAN {gan.with_std}; reverse KL {kl.with_std}; {test}, of the sd p {spread.p:.2g}"
    return all_hold(positive([test, spread])), evident


@of_thesis(
    "A7: With 10 latent variables and D, the loss of reverse KL spikes above 1e14.",
    source="10.3, Fig. 10.10",
    rule="the largest absolute loss after pre-training, over the repetitions that did not fail, is "
    "above 1e14",
)
def reverse_kl_spikes(evidence: ImageEvidence) -> CheckResult:
    losses = evidence.finished("largest_loss", MANY, REVERSE_KL, D)
    largest = float(losses.max())
    return largest > SPIKE, f"{largest:.3g} in {quantity(len(losses), 'finished repetition')}"


@of_thesis(
    "A8: The pre-activation of D is the estimated log density ratio.",
    source="10.3, Lemma 10.3.1",
    rule="the log ratio computed from D differs from it by less than 0.01 on all final draws of q "
    "at which it is at most 10, in every repetition that did not fail",
    column="moderate_error",
    with_failed=False,
)
@of_thesis(
    "A8: Calculations with D stay representable in single precision.",
    source="10.3, Remark 10.3.2",
    rule="the log ratio computed from D in single precision differs from the pre-activation by "
    "less than 0.01 on all final draws of q, in every repetition",
    column="log_ratio_error",
    with_failed=True,
)
def log_ratio_is_exact(evidence: ImageEvidence, column: str, with_failed: bool) -> CheckResult:
    if evidence.run is None:
        raise NotTestable("not printed")
    scores = evidence.run.rows(SCORES, estimator=D)
    if scores.empty:
        raise NotTestable("not run")
    scores = scores[with_failed | (scores["status"] == OK)]
    if scores.empty:
        raise TooFew("0 finished repetitions of D", NO_SPREAD)
    larger, known = int((~(scores[column] < MAX_ERROR)).sum()), scores.dropna(subset=column)
    text = f"larger or not finite in {larger} of {quantity(len(scores), 'repetition')}"
    if len(known):
        worst = known.loc[known[column].idxmax()]
        text += (
            f"; largest error {worst[column]:.2g}, pre-activations up to "
            f"{worst['largest_log_ratio']:.3g} ({worst['unit']})"
        )
    return larger == 0, text


def _shares_above(
    evidence: ImageEvidence,
    column: str,
    upper: EstimatorSetting,
    lowers: Sequence[EstimatorSetting],
    share: float,
) -> CheckResult:
    """Check at which share of the evaluations a curve is above others, paired by repetition.

    Args:
        evidence: the evidence; repetitions that failed are left out.
        column: of the curves.
        upper: the configuration whose curve is claimed to be above.
        lowers: the others.
        share: the share that must be exceeded.
    """
    first, shares = evidence.finished_curves(column, upper), {}
    for lower in lowers:
        difference = first - evidence.finished_curves(column, lower)
        above = (difference > 0).astype(float).where(difference.notna()).mean()
        shares[lower.label] = summarise(above.tolist())
    holds, _ = all_positive({
        name: replace(sample, mean=sample.mean - share) for name, sample in shares.items()
    })  # fmt: skip
    listed = ", ".join(
        f"{name} at {one.mean:.0%} ± {one.stderr:.0%}" for name, one in shares.items()
    )
    return all_hold(holds), f"{upper.label} is above {listed} of the evaluations"


@of_thesis(
    "A9: With GAN, the loss of T is consistently higher than those of D and r.",
    source="10.2, caption of Fig. 10.7a",
    rule=f"{MAJORITY_RULE} with 2 latent variables",
    column="estimator_loss",
)
@of_thesis(
    "A9: So is its NELBO, which the high losses overestimate.",
    source="10.3, caption of Fig. 10.8a",
    rule=f"{MAJORITY_RULE} with 2 latent variables",
    column="nelbo",
)
def log_ratio_is_above_others(evidence: ImageEvidence, column: str) -> CheckResult:
    upper, *lowers = (EstimatorSetting(FEW, GAN, name) for name in reversed(ESTIMATORS))
    return _shares_above(evidence, column, upper, lowers, MAJORITY)


@of_thesis(
    "A10: With 10 latent variables and D, reverse KL has a consistently higher reconstruction "
    "error than GAN for most of the training.",
    source="10.3, caption of Fig. 10.9",
    rule=f"its error is the higher one at more than half of the evaluations {PAIRED}",
)
def reverse_kl_is_mostly_worse(evidence: ImageEvidence) -> CheckResult:
    upper, lower = (EstimatorSetting(MANY, divergence, D) for divergence in (REVERSE_KL, GAN))
    return _shares_above(evidence, "mae", upper, [lower], 0.5)


@of_thesis(
    "A11: With 10 latent variables and D, the NELBO of reverse KL fluctuates far more than that of "
    "GAN.",
    source="10.3, caption of Fig. 10.11",
    rule="its standard deviation in the second half of the training is more than "
    f"{FAR_MORE:g} times as large {PAIRED}",
)
def nelbo_of_reverse_kl_fluctuates(evidence: ImageEvidence) -> CheckResult:
    kl, gan = (
        _spread(evidence, "nelbo", EstimatorSetting(MANY, divergence, D), 0.5, 1)
        for divergence in (REVERSE_KL, GAN)
    )
    ratios = summarise(np.log(kl / gan).tolist())
    excess = replace(ratios, mean=ratios.mean - math.log(FAR_MORE))
    (holds,), _ = all_positive({"reverse KL and GAN": excess})
    size = quantity(ratios.size, "repetition")
    return holds, f"{math.exp(ratios.mean):.3g} times as large, {size}"
