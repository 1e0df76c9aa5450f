"""Deep ensembles: mixtures of networks trained from different initial weights.

Lakshminarayanan, Pritzel & Blundell, "Simple and Scalable Predictive Uncertainty Estimation using
Deep Ensembles", NIPS 2017, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from bnnbench.constraints import Count, Positive
from bnnbench.methods.map import MAP
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.gradients import gradients
from bnnbench.methods.shared.trainer import Batch, Noise, State
from bnnbench.nn import MLP, backward, forward, input_gradient
from bnnbench.optim import NativeUpdate
from bnnbench.settings import Training
from bnnbench.types import Hyper


@dataclass(frozen=True, kw_only=True)
class DeepEnsemble(MAP):
    """M independent `MAP` networks; predicts with an equally weighted mixture.

    Members use the same minibatches and differ only in their initial weights; in the paper the data
    are also shuffled separately for each. The paper's networks predict the noise
    (`likelihood=heteroscedastic`) and have no prior; here a weight decay is searched, as for every
    method.

    Adversarial training uses the mean of the loss at x and at `x + step sign(d loss / d x)` (fast
    gradient sign method). The paper uses the sum; the mean does not change the relative weight of
    the prior.

    Attributes:
        members: M.
        adversarial: whether to train with adversarial inputs too.
        adversarial_step: size of the step, as a fraction of each input's range in the training
            rows.
    """

    members: Count = 5
    adversarial: bool = False
    adversarial_step: Positive = 0.01
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = ({"adversarial": True},)

    @property
    def point_estimate(self) -> bool:
        return self.members == 1

    def init(self, task: FitTask) -> State:
        """Return the members' weights, `[R, M P]`, and adversarial steps, `[R, D]`."""
        initial = torch.cat([task.mlp.initial(task.streams) for _ in range(self.members)], 1)
        loc = initial.expand(task.data.replicas, -1).clone()
        zeros = torch.zeros_like(loc)
        state = {"loc": loc, "loc_first": zeros, "loc_second": zeros}
        if not self.adversarial:
            return state
        inputs = task.data.inputs
        counts = torch.tensor(task.data.counts, device=inputs.device)[:, None]
        padding = (torch.arange(inputs.shape[1], device=inputs.device) >= counts)[:, :, None]
        highest = inputs.masked_fill(padding, -torch.inf).amax(1)
        lowest = inputs.masked_fill(padding, torch.inf).amin(1)
        return {**state, "step": self.adversarial_step * (highest - lowest)}

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        weights, constants = self._by_member(state["loc"]), {}
        if self.adversarial:
            constants = {"step": state["step"]}
            by_member = self._adversarial_gradients(mlp, weights, state["step"], hyper, batch)
        else:
            by_member = gradients(mlp, self.likelihood, weights, hyper, batch)
        gradient = by_member.transpose(0, 1).flatten(1)
        return {**self.descend(state, gradient, training, hyper, batch), **constants}

    def native_update(self) -> NativeUpdate | None:
        single = super().native_update()
        return None if self.adversarial or not single else replace(single, members=self.members)

    def _adversarial_gradients(
        self, mlp: MLP, weights: Tensor, step: Tensor, hyper: Hyper, batch: Batch
    ) -> Tensor:
        """Return gradients of the mean loss at clean and adversarial inputs, `[M, R, P]`."""
        outputs, tape = forward(mlp, weights, batch.inputs)
        d_outputs = self.likelihood.gradient(outputs, batch.targets, batch.weights, hyper)
        clean = backward(tape, d_outputs)
        perturbation = step[:, None] * input_gradient(tape, d_outputs).sign()
        # Adversarial inputs differ between members, so members are evaluated as replicas.
        perturbed = (batch.inputs + perturbation).flatten(0, 1)
        outputs, tape = forward(mlp, weights.flatten(0, 1)[None], perturbed)
        outputs = outputs.view(*weights.shape[:2], *outputs.shape[2:])
        d_outputs = self.likelihood.gradient(outputs, batch.targets, batch.weights, hyper)
        adversarial = backward(tape, d_outputs.flatten(0, 1)[None]).view_as(clean)
        return 0.5 * (clean + adversarial)

    def n_parameters(self, mlp: MLP) -> int:
        return self.members * mlp.n_weights

    def networks(self, posterior: Posterior) -> Tensor:
        return self._by_member(posterior.state["loc"])

    def _by_member(self, loc: Tensor) -> Tensor:
        """Reshape `[R, M P]` into `[M, R, P]`."""
        return loc.unflatten(1, (self.members, -1)).transpose(0, 1)
