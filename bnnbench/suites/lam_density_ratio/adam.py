"""Adam as implemented in TensorFlow 1, for stacked replicas."""

from __future__ import annotations

import math

import torch
from torch import Tensor

BETAS, EPSILON = (0.9, 0.999), 1e-8


class Adam:
    """Adam with `epsilon` added to the root of the uncorrected second moment.

    `w -= rate sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + epsilon)`: the variant at the end of
    section 2 of Kingma and Ba (2015), and that of TensorFlow's `AdamOptimizer`, which the thesis
    used. Algorithm 1 of the paper, and `bnnbench.optim`, correct `v` before adding `epsilon`.

    Args:
        parameters: `[R, P]`, updated in place.
    """

    def __init__(self, parameters: Tensor) -> None:
        self._parameters = parameters
        self.first, self.second = torch.zeros_like(parameters), torch.zeros_like(parameters)
        self.steps = 0
        self._update = torch.empty_like(parameters)

    def step(self, gradient: Tensor, rate: float, active: Tensor) -> None:
        """Take one step.

        Args:
            gradient: `[R, P]`.
            rate: learning rate.
            active: `[R, 1]`, 1, or 0 for frozen replicas.
        """
        self.steps += 1
        self.first.lerp_(gradient, 1 - BETAS[0])
        self.second.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        torch.sqrt(self.second, out=self._update).add_(EPSILON)
        torch.div(self.first, self._update, out=self._update)
        correction = math.sqrt(1 - BETAS[1] ** self.steps) / (1 - BETAS[0] ** self.steps)
        self._parameters.addcmul_(self._update, active, value=-rate * correction)
