"""Score-function and pathwise gradients: variance, bias and convergence.

Book, sections 3.2.4.1 and 3.2.4.2 and Appendix A.1. The book prints no numbers; the functions and
settings are ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from bnnbench.checks import check_between, check_finite, check_int
from bnnbench.experiment.base import Experiment
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.random_streams import derive_seed
from bnnbench.suites.inference_toys.gradient_variance.convergence import AscentSettings
from bnnbench.suites.inference_toys.gradient_variance.minibatches import MAX_MINIBATCHES
from bnnbench.suites.inference_toys.gradient_variance.names import (
    COSINE,
    KIND,
    OPTIMUM,
    QUADRATIC,
    START,
)
from bnnbench.suites.inference_toys.gradient_variance.objectives import (
    Cosine,
    LinearModel,
    Normal,
    simulate,
    squared_distance,
)
from bnnbench.suites.inference_toys.gradient_variance.tables import (
    Setup,
    bias_tables,
    convergence_tables,
    latent_tables,
    variance_tables,
)
from bnnbench.types import UserError

MAX_SAMPLED_VALUES = 10**7
"""Maximum number of values sampled at once: 80 MB, and a few times that for derived arrays."""


class IntegerSetting(NamedTuple):
    """An integer setting and its minimum."""

    name: str
    minimum: int


INTEGER_SETTINGS = (
    IntegerSetting("draws", 100),
    IntegerSetting("rows", 2),
    IntegerSetting("minibatch", 1),
    IntegerSetting("ascent_steps", 1),
    IntegerSetting("samples_per_step", 2),
    IntegerSetting("repetitions", 2),
)


@dataclass(frozen=True, kw_only=True)
class GradientVariance(Experiment):
    """Estimates gradients of `E_q[f]` for a quadratic, a cosine and the ELBO of one weight.

    Attributes:
        seed: seed of all samples of z.
        draws: number of estimates behind each mean and variance.
        scales: standard deviations of q for the quadratic and the cosine; the mean is 0.
        samples: numbers of samples of z per estimate, for the ELBO.
        target: the quadratic is `(z - target)^2`.
        frequency: the cosine is `cos(frequency z)`; below 50.
        rows: observations of the regression `y = w x + noise`, inputs evenly spaced from -2 to 2.
        weight: true `w`.
        noise_precision: known precision of the noise.
        prior_precision: prior precision of `w`.
        data_seed: seed of the noise in the targets.
        minibatch: minibatch size; all minibatches are enumerated.
        latents: numbers of independent latent variables, for Rao-Blackwellisation.
        ascent_steps: number of Adam steps on the ELBO.
        samples_per_step: samples of z per step, for every estimator.
        learning_rate: learning rate of Adam.
        repetitions: repetitions of the ascent.
    """

    seed: int
    draws: int
    scales: tuple[float, ...]
    samples: tuple[int, ...]
    target: float
    frequency: float
    rows: int
    weight: float
    noise_precision: float
    prior_precision: float
    data_seed: int
    minibatch: int
    latents: tuple[int, ...]
    ascent_steps: int
    samples_per_step: int
    learning_rate: float
    repetitions: int
    kind: ClassVar[str] = KIND
    unit_noun: ClassVar[str] = "part"
    step_noun: ClassVar[str] = "parts"

    def check(self) -> None:
        check_int("seed", self.seed, minimum=0)
        check_int("experiment.data_seed", self.data_seed, minimum=0)
        for name, minimum in INTEGER_SETTINGS:
            check_int(f"experiment.{name}", getattr(self, name), minimum)
        for name in ("scales", "samples", "latents"):
            values = getattr(self, name)
            if not isinstance(values, tuple) or not values:
                raise UserError(
                    f"experiment.{name} must be a non-empty list of numbers, not {values!r}.",
                    setting=f"experiment.{name}",
                    code="not_a_list",
                )
        for value in self.scales:
            check_between("experiment.scales", value, 0)
        for name in ("samples", "latents"):
            for value in getattr(self, name):
                check_int(f"experiment.{name}", value)
        check_finite("experiment.target", self.target)
        check_finite("experiment.weight", self.weight)
        check_between("experiment.frequency", self.frequency, 0, 50)
        for name in ("noise_precision", "prior_precision", "learning_rate"):
            check_between(f"experiment.{name}", getattr(self, name), 0)
        self._check_sizes()

    def _check_sizes(self) -> None:
        """Raise `UserError` if the settings would need too much memory or time."""
        if self.minibatch > self.rows:
            raise UserError(
                f"experiment.minibatch must be at most experiment.rows={self.rows}, "
                f"not {self.minibatch}.",
                setting="experiment.minibatch",
                code="too_large",
            )
        if math.comb(self.rows, self.minibatch) > MAX_MINIBATCHES:
            raise UserError(
                f"experiment.minibatch={self.minibatch} with experiment.rows={self.rows} gives "
                f"more than {MAX_MINIBATCHES} minibatches to enumerate; use fewer rows.",
                setting="experiment.minibatch",
                code="too_many",
            )
        largest = self.draws * max(*self.samples, *self.latents, self.rows)
        if max(largest, self.repetitions * self.samples_per_step) > MAX_SAMPLED_VALUES:
            raise UserError(
                f"experiment.draws={self.draws} with these samples, latents, rows and repetitions "
                f"would sample more than {MAX_SAMPLED_VALUES:.0e} values at once; use fewer.",
                setting="experiment.draws",
                code="too_many",
            )

    @property
    def title(self) -> str:
        return "gradient variance"

    @property
    def model(self) -> LinearModel:
        """The regression model with its data."""
        return simulate(
            self.rows, self.weight, self.noise_precision, self.prior_precision, self.data_seed
        )

    def units(self) -> tuple[str, ...]:
        return ("variances", "bias", "latents", "convergence")

    def path_parts(self) -> tuple[str, ...]:
        return ("one-unknown", f"seed{self.seed}")

    def metadata(self) -> dict[str, Any]:
        return {"draws": self.draws, "seed": self.seed}

    def run(self, unit: str, store: UnitStore) -> None:
        seed = derive_seed(self.seed, unit)
        if unit == "variances":
            tables = variance_tables(tuple(self.setups()), self.draws, seed)
        elif unit == "bias":
            tables = bias_tables(self.model, self.minibatch, self.draws, seed)
        elif unit == "latents":
            q = Normal(0.0, 1.0)
            tables = latent_tables(squared_distance(self.target), q, self.latents, self.draws, seed)
        else:
            ascent = AscentSettings(self.ascent_steps, self.samples_per_step, self.learning_rate)
            tables = convergence_tables(self.model, ascent, self.repetitions, seed)
        store.save(unit, tables, {})

    def setups(self) -> Iterator[Setup]:
        """Yield the setups in which variances are measured."""
        for scale in self.scales:
            q = Normal(0.0, scale)
            yield Setup(QUADRATIC, squared_distance(self.target), q, 1)
            yield Setup(COSINE, Cosine(self.frequency), q, 1)
        model = self.model
        for samples in self.samples:
            yield Setup(START, model.elbo(), model.prior, samples)
        yield Setup(OPTIMUM, model.elbo(), model.posterior, 1)
