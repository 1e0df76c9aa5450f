"""Score function against pathwise gradients: their variance, their mean, and what they cost.

Book, sections 3.2.4.1 and 3.2.4.2 and Appendix A.1. The book prints no numbers; functions and
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
from bnnbench.suites.inference_toys.gradient_variance.convergence import Ascent
from bnnbench.suites.inference_toys.gradient_variance.measured import (
    Place,
    bias_tables,
    convergence_tables,
    latent_tables,
    variance_tables,
)
from bnnbench.suites.inference_toys.gradient_variance.minibatches import MOST_BATCHES
from bnnbench.suites.inference_toys.gradient_variance.objectives import (
    Normal,
    OneWeight,
    Wave,
    simulate,
    squared_distance,
)
from bnnbench.suites.inference_toys.gradient_variance.tables import (
    KIND,
    OPTIMUM,
    QUADRATIC,
    START,
    WAVE,
)
from bnnbench.types import UserError

MOST_NUMBERS = 10**7
"""Drawn at once: 80 MB, and some times that for what is made of them."""


class Counted(NamedTuple):
    """A setting that is a whole number, and the least it may be."""

    name: str
    least: int


COUNTS = (
    Counted("draws", 100),
    Counted("rows", 2),
    Counted("minibatch", 1),
    Counted("ascent_steps", 1),
    Counted("samples_per_step", 2),
    Counted("repetitions", 2),
)


@dataclass(frozen=True, kw_only=True)
class GradientVariance(Experiment):
    """Estimates of gradients of `E_q[f]` for a quadratic, a wave and the ELBO of one weight.

    Attributes:
        seed: of all draws of z; the data have their own.
        draws: estimates that each mean and variance is measured on.
        scales: standard deviations of q on the quadratic and the wave, mean 0.
        samples: draws of z that an estimate is the mean of, on the ELBO.
        target: the quadratic is `(z - target)^2`.
        frequency: the wave is `cos(frequency z)`, at most 50.
        rows: of the regression `y = w x + noise`, inputs evenly spaced from -2 to 2.
        weight: true `w`.
        noise_precision: known.
        prior_precision: of `w`.
        data_seed: of the noise in the targets.
        minibatch: rows of a minibatch, all of which are enumerated.
        latents: numbers of independent unknowns, for Rao-Blackwellisation.
        ascent_steps: of gradient ascent on the ELBO, by Adam.
        samples_per_step: draws of z, for every estimator.
        learning_rate: of Adam.
        repetitions: of the ascent.
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
        check_int("seed", self.seed, least=0)
        check_int("experiment.data_seed", self.data_seed, least=0)
        for name, least in COUNTS:
            check_int(f"experiment.{name}", getattr(self, name), least)
        for name in ("scales", "samples", "latents"):
            values = getattr(self, name)
            if not isinstance(values, tuple) or not values:
                raise UserError(
                    f"experiment.{name} must be a list of numbers, such as [1], not {values!r}."
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
        """Raises `UserError` if more would be drawn or enumerated than a toy should."""
        if self.minibatch > self.rows:
            raise UserError(
                f"experiment.minibatch must be at most experiment.rows={self.rows}, "
                f"not {self.minibatch}."
            )
        if math.comb(self.rows, self.minibatch) > MOST_BATCHES:
            raise UserError(
                f"experiment.minibatch={self.minibatch} of experiment.rows={self.rows} makes more "
                f"than the {MOST_BATCHES} minibatches that are enumerated; use fewer rows."
            )
        largest = self.draws * max(*self.samples, *self.latents, self.rows)
        if max(largest, self.repetitions * self.samples_per_step) > MOST_NUMBERS:
            raise UserError(
                f"experiment.draws={self.draws} with these samples, latents and rows draws more "
                f"than {MOST_NUMBERS:.0e} numbers at once; use fewer."
            )

    @property
    def title(self) -> str:
        return "gradient variance"

    @property
    def line(self) -> OneWeight:
        """The regression."""
        return simulate(
            self.rows, self.weight, self.noise_precision, self.prior_precision, self.data_seed
        )

    def units(self) -> tuple[str, ...]:
        return ("variances", "bias", "latents", "convergence")

    def place(self) -> tuple[str, ...]:
        return ("one-unknown", f"seed{self.seed}")

    def names(self) -> dict[str, Any]:
        return {"draws": self.draws, "seed": self.seed}

    def run(self, unit: str, store: UnitStore) -> None:
        seed = derive_seed(self.seed, unit)
        if unit == "variances":
            tables = variance_tables(tuple(self.places()), self.draws, seed)
        elif unit == "bias":
            tables = bias_tables(self.line, self.minibatch, self.draws, seed)
        elif unit == "latents":
            q = Normal(0.0, 1.0)
            tables = latent_tables(squared_distance(self.target), q, self.latents, self.draws, seed)
        else:
            ascent = Ascent(self.ascent_steps, self.samples_per_step, self.learning_rate)
            tables = convergence_tables(self.line, ascent, self.repetitions, seed)
        store.save(unit, tables, {})

    def places(self) -> Iterator[Place]:
        """Where variances are measured."""
        for scale in self.scales:
            q = Normal(0.0, scale)
            yield Place(QUADRATIC, squared_distance(self.target), q, 1)
            yield Place(WAVE, Wave(self.frequency), q, 1)
        line = self.line
        for samples in self.samples:
            yield Place(START, line.elbo(), line.prior, samples)
        yield Place(OPTIMUM, line.elbo(), line.posterior, 1)
