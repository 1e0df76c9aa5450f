"""Input of a stack of repetitions: shared settings, replicas, and their random numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.experiment.kinds.resumable_stack import Repetition
from bnnbench.suites.lam_density_ratio.objectives import Objective
from bnnbench.suites.lam_density_ratio.schedule import Schedule
from bnnbench.suites.lam_density_ratio.sprinkler import BASE_MEAN, PRIOR_VARIANCE

BLOCK_STEPS = 20
"""Number of steps whose random numbers are drawn together."""


@dataclass(frozen=True)
class Problem:
    """Settings shared by all replicas of a stack.

    Attributes:
        joint: whether to contrast pairs `(z, x)` of the joint distributions, which needs no
            likelihood, instead of draws of q and of the prior at the same observation.
        from_model: whether q's observations are drawn from the model instead of the data.
        data: the observations.
        schedule: training schedule.
        device: `cpu` or `cuda`.
        dtype: type of weights and draws.
    """

    joint: bool
    from_model: bool
    data: tuple[float, ...]
    schedule: Schedule
    device: str = "cpu"
    dtype: torch.dtype = torch.float32

    @property
    def columns(self) -> int:
        """Number of draws of q, and of p, per step."""
        return len(self.data) * self.schedule.samples


@dataclass(frozen=True)
class Replica(Repetition):
    """One repetition of one configuration, which starts from the weights of its number.

    Attributes:
        objective: the losses; no random number depends on them.
    """

    objective: Objective


class Draws:
    """Draws of noise, prior and observations in blocks of steps, with a stream per replica."""

    def __init__(self, problem: Problem, replicas: Sequence[Replica]) -> None:
        device = torch.device(problem.device)
        self.generators = [
            torch.Generator(device).manual_seed(replica.seed_for("training"))
            for replica in replicas
        ]
        # Three rows of noise, two of the prior, and two of the causes of q's observations.
        rows = 7 if problem.from_model else 5
        self._normal, self._exponential = (
            torch.empty(
                *(len(replicas), BLOCK_STEPS, size, problem.columns),
                device=device,
                dtype=problem.dtype,
            )
            for size in (rows, problem.joint + problem.from_model)
        )

    def refill(self, steps: int) -> None:
        """Draw new numbers for `steps` steps, at most `BLOCK_STEPS`."""
        for k, generator in enumerate(self.generators):
            self._normal[k, :steps].normal_(generator=generator)
            if self._exponential.numel():
                self._exponential[k, :steps].exponential_(generator=generator)
        self._normal[:, :steps, 3:] *= math.sqrt(PRIOR_VARIANCE)

    def noise(self, step: int) -> Tensor:
        """Return the generator's standard normal input, `[R, 3, B]`."""
        return self._normal[:, step, :3]

    def prior(self, step: int) -> Tensor:
        """Return draws of p(z), `[R, 2, B]`."""
        return self._normal[:, step, 3:5]

    def observations_of(self, causes: Tensor, step: int) -> Tensor:
        """Return draws of p(x|z) for draws of p, `[R, 1, B]`."""
        return _observe(causes, self._exponential[:, step, :1])

    def model_observations(self, step: int) -> Tensor:
        """Return draws of p(x) for draws of q, `[R, 1, B]`."""
        return _observe(self._normal[:, step, 5:], self._exponential[:, step, -1:])


def _observe(causes: Tensor, unit_exponential: Tensor) -> Tensor:
    """Return observations `[R, 1, B]` for causes `[R, 2, B]`."""
    return unit_exponential * (BASE_MEAN + causes.clamp_min(0).pow(3).sum(1, keepdim=True))
