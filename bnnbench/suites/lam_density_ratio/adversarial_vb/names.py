"""Names, quantities, schedules and published values of adversarial variational Bayes on images."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from bnnbench.experiment.store.answer_tables import Sample
from bnnbench.suites.lam_density_ratio import names

KIND = "adversarial_vb"

REVERSE_KL, GAN = "kl_posterior_prior", "gan"


class EstimatorSetting(NamedTuple):
    """What a unit trains: number of latent variables, divergence and estimator."""

    latents: int
    divergence: str
    estimator: str

    @property
    def label(self) -> str:
        """Name of divergence and estimator: `GAN, D`."""
        return f"{names.DIVERGENCES[self.divergence]}, {SYMBOLS[self.estimator]}"

    @property
    def unit(self) -> str:
        """Name of the unit: `d0002-js-D`. Units are sorted by length of the name, then by name."""
        divergence = {GAN: "js", REVERSE_KL: "kl"}[self.divergence]
        symbol = "relu" if self.estimator == names.RELU_RATIO else SYMBOLS[self.estimator]
        return f"d{self.latents:04d}-{divergence}-{symbol.upper()}"


STABLE = "stable"
"""The form without saturation that D, r and T share; for reverse KL it is T itself."""

SYMBOLS = {**names.SYMBOLS, STABLE: "stable"}
"""Symbols of all estimators."""

DATA, BINARISATION = ("mnist",), "none"
"""Images of the thesis, whose pixels are grey values."""

EXTRA = (STABLE, names.RELU_RATIO)
"""Estimators that the thesis does not compare. The ReLU is that of a public program of its author,
T = log(max(0, a)), whose loss is the one of the ratio max(0, a)."""

QUANTITIES = {
    "mae": "reconstruction error, mean absolute",
    "mse": "reconstruction error, mean squared",
    "estimator_loss": "estimator loss",
    "nelbo": "NELBO",
}
"""Quantities of `answers.csv` by column of the scores."""

SUCCESS_RATE = "fraction of repetitions that did not fail"

IMAGES = "images"
"""Arrays of figures, with a row per setting."""

PUBLISHED = {
    EstimatorSetting(2, REVERSE_KL, "class_probability"): Sample(0.08662, 0.00154, 30),
    EstimatorSetting(2, REVERSE_KL, "ratio"): Sample(0.08710, 0.00214, 30),
    EstimatorSetting(2, REVERSE_KL, "log_ratio"): Sample(0.08730, 0.00157, 30),
    EstimatorSetting(2, GAN, "class_probability"): Sample(0.08673, 0.00129, 30),
    EstimatorSetting(2, GAN, "ratio"): Sample(0.08716, 0.00151, 30),
    EstimatorSetting(2, GAN, "log_ratio"): Sample(0.10683, 0.00199, 30),
    EstimatorSetting(10, REVERSE_KL, "class_probability"): Sample(0.06470, 0.01949, 30),
    EstimatorSetting(10, GAN, "class_probability"): Sample(0.04440, 0.00174, 30),
}
"""Tables 10.1 and 10.2: mean and standard deviation of the reconstruction error, 30 repetitions.

The text calls it `|x - x~|^2`; the public programs that record it take the mean of `|x - x~|` over
pixels and images, which is the size of these values.
"""

SCHEDULES: Mapping[str, Mapping[str, float]] = {
    "small": {
        "width": 0.2,
        "batch_size": 64,
        "pretraining_steps": 200,
        "estimator_steps": 4,
        "iterations": 250,
        "evaluate_every": 5,
    },
    "quick": {
        "width": 0.5,
        "batch_size": 256,
        "pretraining_steps": 1000,
        "estimator_steps": 20,
        "iterations": 1000,
        "evaluate_every": 10,
    },
    "published": {
        "width": 1.0,
        "batch_size": 2048,
        "pretraining_steps": 5000,
        "estimator_steps": 20,
        "iterations": 4000,
        "evaluate_every": 10,
    },
}
"""Settings by schedule; the last are those of the thesis (10.1)."""

RATES = {2: 4e-4}
"""Learning rates by number of latent variables (thesis, 10.1)."""

OTHER_RATE = 1e-4
"""Learning rate with other numbers of latent variables, the thesis's with 10."""

NOISE = 4
"""Number of the encoder's noise inputs in the thesis."""

SMALL_RATE = 2e-3
"""Learning rate of the schedule `small`, which has few iterations."""


def published_rates(latents: Iterable[int]) -> tuple[float, ...]:
    """Return the thesis's learning rate for each number of latent variables."""
    return tuple(RATES.get(one, OTHER_RATE) for one in latents)


def settings_of_thesis(latents: Iterable[int]) -> dict[str, Any]:
    """Return the training settings of the thesis, on which alone its claims are judged.

    Args:
        latents: numbers of latent variables of a run, which the learning rates depend on.
    """
    published = {k: value for k, value in SCHEDULES["published"].items() if k != "evaluate_every"}
    return {**published, "learning_rates": [*published_rates(latents)]}


def differing_settings(
    settings: Mapping[str, Any], images: str, binarisation: str
) -> dict[str, Any]:
    """Return the settings of a run that differ from the thesis, with their values.

    Args:
        settings: fields of the experiment, or its identity.
        images: name of the images.
        binarisation: of the images.
    """
    own = {**settings, "images": images, "binarisation": binarisation}
    own["learning_rates"] = [*settings["learning_rates"]]
    source = {"images": DATA[0], "binarisation": BINARISATION, "noise": NOISE}
    thesis = {**source, **settings_of_thesis(settings["latents"])}
    return {name: own[name] for name, value in thesis.items() if own[name] != value}
