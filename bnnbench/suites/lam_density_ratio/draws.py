"""Random numbers for training: one stream per repetition, independent of stacking."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from bnnbench.suites.lam_density_ratio.sprinkler import BASE_MEAN, PRIOR_VARIANCE

BLOCK_STEPS = 20
"""Number of steps whose random numbers are drawn together."""


class Draws:
    """Draws of noise, prior and observations, in blocks of steps.

    Args:
        seeds: one per replica.
        columns: draws per step, `B`.
        joint: whether each draw of p needs an observation of its own.
        from_model: whether draws of q use observations from the model.
        device: where the numbers are generated and used.
        dtype: type of the numbers.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        columns: int,
        joint: bool,
        from_model: bool,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        self.generators = [torch.Generator(device).manual_seed(seed) for seed in seeds]
        self._joint, self._from_model = joint, from_model
        options = {"device": device, "dtype": dtype}
        size = (len(seeds), BLOCK_STEPS)
        # Three rows of noise, two of the prior, and two of the causes of q's observations.
        self._normal = torch.empty(*size, 7 if from_model else 5, columns, **options)  # type: ignore[call-overload]
        self._exponential = torch.empty(*size, joint + from_model, columns, **options)  # type: ignore[call-overload]

    def refill(self, steps: int) -> None:
        """Draw new numbers for `steps` steps, at most `BLOCK_STEPS`."""
        for k, generator in enumerate(self.generators):
            self._normal[k, :steps].normal_(generator=generator)
            if self._joint or self._from_model:
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
