"""How long and how fast both networks of the sprinkler are trained: what a protocol says."""

from __future__ import annotations

from dataclasses import dataclass, fields

from bnnbench.checks import check_between, check_int
from bnnbench.identity import is_identity, no_identity
from bnnbench.types import UserError

MOST_SAMPLES = 20_000
"""Draws for each observation that fit into memory in a step."""


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Alternating training of estimator and generator (thesis, algorithms 4 to 9).

    As in the thesis's programs iterations are counted from 0 and the last one is done too, so that
    `iterations=2000` makes 2001 steps of the generator.

    Attributes:
        label: of the protocol, for folders.
        pretraining_steps: of the estimator, before the generator moves.
        estimator_steps: before each step of the generator.
        iterations: the number of the last step of the generator.
        samples: fresh draws of q, and of p, for each observation in every step.
        estimator_rate: learning rate of the estimator.
        posterior_rate: learning rate of the generator.
        decay_from: share of the iterations after which both rates fall linearly to 0; from 1 on
            they never do.
        evaluate_every: iterations between evaluations of the average KL.
        repetitions: how many the protocol asks for.
    """

    label: str = no_identity()
    pretraining_steps: int
    estimator_steps: int
    iterations: int
    samples: int
    estimator_rate: float
    posterior_rate: float
    decay_from: float = 1.0
    evaluate_every: int = 100
    repetitions: int = no_identity(30)

    def __post_init__(self) -> None:
        for name in ("estimator_steps", "iterations", "evaluate_every"):
            check_int(f"schedule.{name}", getattr(self, name))
        check_int("schedule.samples", self.samples, least=2)
        if self.samples > MOST_SAMPLES:
            raise UserError(f"schedule.samples must be at most {MOST_SAMPLES}, not {self.samples}.")
        check_int("schedule.pretraining_steps", self.pretraining_steps, least=0)
        for name in ("estimator_rate", "posterior_rate"):
            check_between(f"schedule.{name}", getattr(self, name), 0, 1)
        check_between("schedule.decay_from", self.decay_from, 0, low_included=True)

    @property
    def settings(self) -> dict[str, float]:
        """All that can change a number, by name."""
        return {one.name: getattr(self, one.name) for one in fields(self) if is_identity(one)}

    @property
    def steps(self) -> int:
        """Steps of the estimator in one repetition."""
        return self.pretraining_steps + (self.iterations + 1) * self.estimator_steps

    def pace(self, iteration: int) -> float:
        """Factor of both learning rates."""
        start = self.decay_from * self.iterations
        if iteration <= start:
            return 1.0
        return (self.iterations - iteration) / (self.iterations - start)

    def evaluates(self, iteration: int) -> bool:
        """Whether the average KL is evaluated after this iteration."""
        return iteration % self.evaluate_every == 0 or iteration == self.iterations
