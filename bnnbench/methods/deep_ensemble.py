"""Deep ensembles: networks that differ in where they started, as a mixture.

Lakshminarayanan, Pritzel & Blundell, "Simple and Scalable Predictive Uncertainty Estimation using
Deep Ensembles", NIPS 2017, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from bnnbench.checks import check_between, check_bool, check_int
from bnnbench.methods.map import MAP
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.gradients import gradients
from bnnbench.methods.shared.trainer import Batch, Noise, State
from bnnbench.nn import MLP, backward, forward, input_gradient
from bnnbench.optim import Rule
from bnnbench.settings import Training
from bnnbench.types import Hyper


@dataclass(frozen=True, kw_only=True)
class DeepEnsemble(MAP):
    """M independent `MAP` networks; predicts the mixture of their Gaussians, equally weighted.

    Members meet the same minibatches: only their starts differ, where the paper shuffles the data
    anew for each. It has a network predict the noise (`likelihood=heteroscedastic`) and no prior;
    here a weight decay is searched, as for every method.

    With adversarial training, half of the loss is that at `x + step sign(d loss / d x)`: the fast
    gradient sign method. The paper adds the two losses; their mean leaves the prior its share.

    Attributes:
        members: M.
        adversarial: whether to train with adversarial inputs too.
        adversarial_step: `update` for each input, as a share of its range in the training rows.
    """

    members: int = 5
    adversarial: bool = False
    adversarial_step: float = 0.01
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = ({"adversarial": True},)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_int("method.members", self.members)
        check_bool("method.adversarial", self.adversarial)
        check_between("method.adversarial_step", self.adversarial_step, 0)

    @property
    def point_estimate(self) -> bool:
        return self.members == 1

    def init(self, task: FitTask) -> State:
        """The members' weights lie side by side, `[R, M P]`; `reach` `[R, D]` is the step."""
        starts = torch.cat([task.mlp.initial(task.streams) for _ in range(self.members)], 1)
        loc = starts.expand(task.data.replicas, -1).clone()
        zeros = torch.zeros_like(loc)
        state = {"loc": loc, "loc_first": zeros, "loc_second": zeros}
        if not self.adversarial:
            return state
        inputs = task.data.inputs
        counts = torch.tensor(task.data.counts, device=inputs.device)[:, None]
        padding = (torch.arange(inputs.shape[1], device=inputs.device) >= counts)[:, :, None]
        highest = inputs.masked_fill(padding, -torch.inf).amax(1)
        lowest = inputs.masked_fill(padding, torch.inf).amin(1)
        return {**state, "reach": self.adversarial_step * (highest - lowest)}

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        weights, kept = self._apart(state["loc"]), {}
        if self.adversarial:
            kept = {"reach": state["reach"]}
            found = self._with_adversaries(mlp, weights, state["reach"], hyper, batch)
        else:
            found = gradients(mlp, self.likelihood, weights, hyper, batch)
        gradient = found.transpose(0, 1).flatten(1)
        return {**self.descend(state, gradient, training, hyper, batch), **kept}

    def rule(self) -> Rule | None:
        alone = super().rule()
        return None if self.adversarial or not alone else replace(alone, members=self.members)

    def _with_adversaries(
        self, mlp: MLP, weights: Tensor, reach: Tensor, hyper: Hyper, batch: Batch
    ) -> Tensor:
        """Gradients of the mean of a minibatch's loss and that of its adversaries, `[M, R, P]`."""
        outputs, tape = forward(mlp, weights, batch.inputs)
        d_outputs = self.likelihood.gradient(outputs, batch.targets, batch.weights, hyper)
        here = backward(tape, d_outputs)
        moves = reach[:, None] * input_gradient(tape, d_outputs).sign()
        # Each member has inputs of its own now: members are replicas in this evaluation.
        moved = (batch.inputs + moves).flatten(0, 1)
        outputs, tape = forward(mlp, weights.flatten(0, 1)[None], moved)
        outputs = outputs.view(*weights.shape[:2], *outputs.shape[2:])
        d_outputs = self.likelihood.gradient(outputs, batch.targets, batch.weights, hyper)
        there = backward(tape, d_outputs.flatten(0, 1)[None]).view_as(here)
        return 0.5 * (here + there)

    def parameters(self, mlp: MLP) -> int:
        return self.members * mlp.n_weights

    def networks(self, posterior: Posterior) -> Tensor:
        return self._apart(posterior.state["loc"])

    def _apart(self, loc: Tensor) -> Tensor:
        """`[M, R, P]` from `[R, M P]`."""
        return loc.unflatten(1, (self.members, -1)).transpose(0, 1)
