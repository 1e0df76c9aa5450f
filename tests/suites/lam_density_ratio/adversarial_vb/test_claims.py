"""Claims about images that need no run, on made-up means and standard deviations."""

from __future__ import annotations

from typing import Any

import pytest
from support.decisions import settled

from bnnbench.experiment.answer_tables import Sample
from bnnbench.suites.lam_density_ratio.adversarial_vb.claims import MANY, D, gan_is_better_with_many
from bnnbench.suites.lam_density_ratio.adversarial_vb.evidence import ImageEvidence
from bnnbench.suites.lam_density_ratio.adversarial_vb.names import (
    GAN,
    REVERSE_KL,
    SCHEDULES,
    EstimatorSetting,
    settings_of_thesis,
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
