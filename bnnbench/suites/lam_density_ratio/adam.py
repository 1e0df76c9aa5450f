"""Adam as TensorFlow 1 has it, in place over stacked replicas."""

from __future__ import annotations

import math

import torch
from torch import Tensor

BETAS, EPSILON = (0.9, 0.999), 1e-8


class Adam:
    """Adam with `epsilon` beside the root of the uncorrected second moment.

    `w -= rate sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + epsilon)`: the form that Kingma and Ba
    (2015) name at the end of section 2, and that TensorFlow's `AdamOptimizer` computes, with which
    the thesis was made. Algorithm 1 of the paper, that of `bnnbench.optim`, corrects `v` before
    `epsilon` is added.

    Args:
        parameters: `[R, P]`, changed in place.
    """

    def __init__(self, parameters: Tensor) -> None:
        self._parameters = parameters
        self.first, self.second = torch.zeros_like(parameters), torch.zeros_like(parameters)
        self.steps = 0
        self._change = torch.empty_like(parameters)

    def step(self, gradient: Tensor, rate: float, active: Tensor) -> None:
        """One step.

        Args:
            gradient: `[R, P]`.
            rate: the learning rate.
            active: `[R, 1]`, 1, or 0 for replicas that stay as they are.
        """
        self.steps += 1
        self.first.lerp_(gradient, 1 - BETAS[0])
        self.second.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        torch.sqrt(self.second, out=self._change).add_(EPSILON)
        torch.div(self.first, self._change, out=self._change)
        unbias = math.sqrt(1 - BETAS[1] ** self.steps) / (1 - BETAS[0] ** self.steps)
        self._parameters.addcmul_(self._change, active, value=-rate * unbias)
