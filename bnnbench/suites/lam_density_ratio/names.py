"""Tables and settings of the sprinkler, with the thesis's names, in a module without torch."""

from __future__ import annotations

KIND = "sprinkler"

CURVES = "curves"
"""Table with a row per repetition and evaluation: `repetition`, `iteration` and `MEASURES`."""

MEASURES = {
    "average_kl": "average KL",
    "estimator_loss": "estimator loss",
    "nelbo": "NELBO",
}
"""Names of the measures of the training, in nats, by column."""

REPETITIONS = "repetitions"
"""Table with a row per repetition: its final scores and its status."""

OK = "ok"
NOT_FINITE = "not finite"
STUCK = "stuck"
DIVERGED = "diverged"
"""Values of the column `status`; a repetition failed unless it is `OK`."""


SAMPLES = "samples"
"""Array `samples` `[repetition, x, n, 2]`, float32: final draws of q."""

DIVERGENCES = {"gan": "GAN", "kl_posterior_prior": "reverse KL"}
"""The thesis calls KL(q || p) "reverse KL", and `2 JS - log 4` the GAN divergence."""

ESTIMATORS = {"class_probability": "D", "ratio": "r", "log_ratio": "T"}
"""The three estimators that chapters 8 and 9 compare, in the order of their tables."""

RELU_RATIO = "relu_ratio"

SYMBOLS = {**ESTIMATORS, RELU_RATIO: "ReLU"}
"""All estimators; the last is the ratio of chapter 5."""

CONTRASTS = {"prior": "prior contrast", "joint": "joint contrast"}


def label(divergence: str, estimator: str) -> str:
    """Return `GAN, D` for `gan` and `class_probability`."""
    return f"{DIVERGENCES[divergence]}, {SYMBOLS[estimator]}"
