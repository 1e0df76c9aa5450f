"""Values of the sprinkler's settings, with the symbols and names that the thesis has for them."""

from __future__ import annotations

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
