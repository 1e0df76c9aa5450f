"""Claims about images that need no run, on made-up means and standard deviations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.decisions import settled

from bnnbench.experiment.store.answer_tables import CURVES, SCORES, Sample
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.results.claims.claims import CheckResult, TooFew
from bnnbench.results.claims.saved_run import SavedRun
from bnnbench.suites.lam_density_ratio.adversarial_vb import claims
from bnnbench.suites.lam_density_ratio.adversarial_vb.claims import MANY, D, gan_is_better_with_many
from bnnbench.suites.lam_density_ratio.adversarial_vb.evidence import ImageEvidence
from bnnbench.suites.lam_density_ratio.adversarial_vb.names import (
    GAN,
    REVERSE_KL,
    SCHEDULES,
    EstimatorSetting,
    settings_of_thesis,
)
from bnnbench.suites.lam_density_ratio.names import (
    DIVERGED,
    DIVERGENCES,
    ESTIMATORS,
    NOT_FINITE,
    OK,
    STUCK,
)


@pytest.mark.parametrize(
    ("schedule", "changed", "differing"),
    [
        ("published", {}, set()),
        ("published", {"evaluate_every": 1}, set()),
        ("published", {"iterations": 7, "batch_size": 8}, {"iterations", "batch_size"}),
        ("published", {"learning_rates": [1e-3, 1e-4]}, {"learning_rates"}),
        ("quick", {}, {"width", "batch_size", "pretraining_steps", "iterations"}),
        ("small", {}, {*SCHEDULES["small"]} - {"evaluate_every"}),
    ],
)
def test_claims_are_judged_on_the_settings_of_the_thesis_only(
    schedule: str, changed: dict[str, Any], differing: set[str]
) -> None:
    rates = {"latents": [2, 10], "learning_rates": [4e-4, 1e-4]}
    identity = {**SCHEDULES[schedule], **rates, **changed}
    expected = settings_of_thesis(identity["latents"])
    assert {name for name, value in expected.items() if identity[name] != value} == differing


@pytest.mark.parametrize(
    ("gan", "kl", "expected"),
    [
        (Sample(0.04, 0.002, 10), Sample(0.06, 0.01, 10), True),
        (Sample(0.06, 0.002, 10), Sample(0.04, 0.01, 10), False),  # higher
        (Sample(0.04, 0.01, 10), Sample(0.06, 0.002, 10), False),  # varies more
        (Sample(0.04, 0.0021, 10), Sample(0.06, 0.002, 10), None),  # by chance
        (Sample(0.04, 0.0019, 10), Sample(0.06, 0.002, 10), None),
        (Sample(0.04, 0.002, 10), Sample(0.041, 0.01, 10), None),
        (Sample(0.04, 0.002, 2), Sample(0.06, 0.01, 2), None),  # too few repetitions
    ],
)
def test_gan_must_be_significantly_better_and_vary_less(
    gan: Sample, kl: Sample, expected: bool | None
) -> None:
    errors = {EstimatorSetting(MANY, GAN, D): gan, EstimatorSetting(MANY, REVERSE_KL, D): kl}
    assert settled(gan_is_better_with_many(ImageEvidence(errors))[0]) is expected


def evidence_of(
    status: Sequence[str], curve: Callable[[str, int], np.ndarray] | None = None, **scores: Any
) -> ImageEvidence:
    """Return evidence without files, in which all configurations have the same scores.

    Args:
        status: of each repetition.
        curve: returns the losses and the NELBO of a divergence and repetition.
        scores: columns of the scores, by repetition.
    """
    rows, curves = [], []
    for latents, divergence, estimator in product((2, MANY), DIVERGENCES, ESTIMATORS):
        setting = EstimatorSetting(latents, divergence, estimator)
        for k, one in enumerate(status):
            own = {name: values[k] for name, values in scores.items()}
            first = {"unit": setting.unit, "repetition": k}
            rows.append({**first, **setting._asdict(), "status": one, "mae": 0.1, **own})
            values = curve(divergence, k) if curve else np.zeros(8)
            curves.append(pd.DataFrame({
                **first, "iteration": range(len(values)), "estimator_loss": values, "nelbo": values,
            }))  # fmt: skip
    tables = {SCORES: pd.DataFrame(rows), CURVES: pd.concat(curves)}
    return ImageEvidence({}, SavedRun(RunFolder(Path("nowhere")), tables))


def holds(check: Callable[..., CheckResult], *arguments: Any, **more: Any) -> bool | None:
    """Return whether a claim holds; None if this is undecided."""
    try:
        return settled(check(*arguments, **more)[0])
    except TooFew:
        return None


def settling(divergence: str, repetition: int) -> np.ndarray:
    """Return 40 losses: those of reverse KL fluctuate more, but settle in the first repetition."""
    signs = np.resize([1.0, -1.0], 40)
    if divergence == GAN:
        return signs
    late = 0.01 if repetition == 0 else 5.0 + repetition / 10
    return signs * np.repeat([20.0 if repetition == 0 else late, late], 20)


@pytest.mark.parametrize(
    "check",
    [
        claims.reverse_kl_is_less_stable,
        claims.reverse_kl_does_not_settle,
        claims.nelbo_of_reverse_kl_fluctuates,
    ],
)
@pytest.mark.parametrize("failure", [NOT_FINITE, STUCK, DIVERGED])
def test_curves_of_failed_repetitions_do_not_count(
    check: Callable[..., CheckResult], failure: str
) -> None:
    assert holds(check, evidence_of([OK] * 4, settling)) is None
    assert holds(check, evidence_of([failure, OK, OK, OK], settling)) is True
    assert holds(check, evidence_of([failure] * 4, settling)) is None


@pytest.mark.parametrize(
    ("status", "losses", "expected"),
    [
        ([OK, OK], [1e15, 1.0], True),
        ([OK, OK], [np.inf, 1.0], True),
        ([OK, OK], [2.0, 1.0], False),
        ([OK, OK], [np.nan, 1.0], False),
        ([OK, OK], [np.nan, np.nan], None),
        ([DIVERGED, OK], [1e15, 1.0], False),
        ([NOT_FINITE, STUCK], [2.0, 1.0], None),
    ],
)
def test_spikes_are_those_of_finished_repetitions(
    status: Sequence[str], losses: Sequence[float], expected: bool | None
) -> None:
    evidence = evidence_of(status, largest_loss=losses)
    assert holds(claims.reverse_kl_spikes, evidence) is expected


@pytest.mark.parametrize(
    ("status", "errors", "lemma", "is_representable"),
    [
        ([OK, OK], [0.0, 0.001], True, True),
        ([OK, OK], [0.0, 1.0], False, False),
        ([STUCK, OK], [1.0, 0.001], True, False),  # the lemma is not about failures
        ([NOT_FINITE, NOT_FINITE], [np.nan, np.nan], None, False),
    ],
)
def test_errors_of_the_log_ratio_of_d(
    status: Sequence[str],
    errors: Sequence[float],
    lemma: bool | None,
    is_representable: bool,
) -> None:
    evidence, found = evidence_of(status, error=errors, largest_log_ratio=errors), []
    for with_failed in (False, True):
        check = claims.log_ratio_is_exact
        found.append(holds(check, evidence, column="error", with_failed=with_failed))
    assert found == [lemma, is_representable]
