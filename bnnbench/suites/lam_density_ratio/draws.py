"""The random numbers of training: a stream for every repetition, whatever it is stacked with."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from bnnbench.suites.lam_density_ratio.sprinkler import BASE_MEAN, PRIOR_VARIANCE

BLOCK = 20
"""Steps whose numbers are drawn together."""


class Draws:
    """Draws of noise, prior and observations, in blocks of steps.

    Args:
        seeds: one per replica.
        columns: draws of a step, `B`.
        joint: whether draws of p come with observations of their own.
        model: whether draws of q come with observations of the model.
        device: where numbers are made and used.
        dtype: of the numbers.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        columns: int,
        joint: bool,
        model: bool,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        self.generators = [torch.Generator(device).manual_seed(seed) for seed in seeds]
        self._joint, self._model = joint, model
        make = {"device": device, "dtype": dtype}
        size = (len(seeds), BLOCK)
        # Three of noise, two of the prior and two of causes behind the observations of q.
        self._normal = torch.empty(*size, 7 if model else 5, columns, **make)  # type: ignore[call-overload]
        self._exponential = torch.empty(*size, joint + model, columns, **make)  # type: ignore[call-overload]

    def refill(self, steps: int) -> None:
        """Draws anew for so many steps, at most `BLOCK`."""
        for k, generator in enumerate(self.generators):
            self._normal[k, :steps].normal_(generator=generator)
            if self._joint or self._model:
                self._exponential[k, :steps].exponential_(generator=generator)
        self._normal[:, :steps, 3:] *= math.sqrt(PRIOR_VARIANCE)

    def noise(self, step: int) -> Tensor:
        """Input of the generator, `[R, 3, B]`, standard normal."""
        return self._normal[:, step, :3]

    def prior(self, step: int) -> Tensor:
        """Draws of p(z), `[R, 2, B]`."""
        return self._normal[:, step, 3:5]

    def observations_of(self, causes: Tensor, step: int) -> Tensor:
        """Draws of p(x|z) for draws of p, `[R, 1, B]`."""
        return _observed(causes, self._exponential[:, step, :1])

    def model_observations(self, step: int) -> Tensor:
        """Draws of p(x) for draws of q, `[R, 1, B]`."""
        return _observed(self._normal[:, step, 5:], self._exponential[:, step, -1:])


def _observed(causes: Tensor, unit: Tensor) -> Tensor:
    """`[R, 1, B]` of causes `[R, 2, B]` and draws of the unit exponential."""
    return unit * (BASE_MEAN + causes.clamp_min(0).pow(3).sum(1, keepdim=True))
