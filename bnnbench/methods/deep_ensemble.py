"""Deep ensembles: mixtures of networks trained from different initial weights.

Lakshminarayanan, Pritzel & Blundell, "Simple and Scalable Predictive Uncertainty Estimation using
Deep Ensembles", NIPS 2017, Algorithm 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import torch
from torch import Tensor

from bnnbench.constraints import Count, OneOf, Positive, Whole
from bnnbench.identity import optional_identity
from bnnbench.methods.map import MAP
from bnnbench.methods.shared.contract import FitTask, State
from bnnbench.methods.shared.minibatches import Batch
from bnnbench.nn import MLP, backward, forward, input_gradient
from bnnbench.optim import NativeUpdate
from bnnbench.types import Hyper


@dataclass(frozen=True, kw_only=True)
class DeepEnsemble(MAP):
    """M independent `MAP` networks; predicts with an equally weighted mixture.

    Members use the same minibatches and differ only in their initial weights; in the paper the data
    are also shuffled separately for each. The paper's networks predict the noise variance
    (`likelihood=heteroscedastic_softplus`) and have no prior; here a weight decay is searched, as
    for every method.

    Adversarial training uses the mean of the loss at x and at `x + step sign(d loss / d x)` (fast
    gradient sign method). The paper uses the sum; the mean does not change the relative weight of
    the prior.

    Attributes:
        members: M.
        searched_members: members of the ensembles that a search fits and scores; None for M.
        adversarial: whether to train with adversarial inputs too.
        adversarial_step: size of the step, as a fraction of each input's range in the training
            rows.
        weight_init: `fan_in`, as for other methods, or `glorot`.
    """

    identity_name = "bnnbench.methods.deep_ensemble.DeepEnsemble"
    family = "deep_ensemble"
    members: Count = 5
    searched_members: Annotated[int | None, Whole()] = optional_identity(None)
    adversarial: bool = False
    adversarial_step: Positive = 0.01
    weight_init: Annotated[str, OneOf("fan_in", "glorot")] = optional_identity("fan_in")
    variants = ({"adversarial": True}, {"weight_init": "glorot"})

    @property
    def search_method(self) -> DeepEnsemble:
        return replace(self, members=self.searched_members or self.members)

    @property
    def n_networks(self) -> int:
        return self.members

    @property
    def point_estimate(self) -> bool:
        return self.members == 1

    def init(self, task: FitTask) -> State:
        """Return the members' weights, `[R, M P]`, and adversarial steps, `[R, D]`."""
        state = super().init(task)
        if not self.adversarial:
            return state
        inputs, padding = task.data.inputs, ~task.data.real[:, :, None]
        highest = inputs.masked_fill(padding, -torch.inf).amax(1)
        lowest = inputs.masked_fill(padding, torch.inf).amin(1)
        return {**state, "step": self.adversarial_step * (highest - lowest)}

    def initial_weights(self, task: FitTask) -> Tensor:
        if self.weight_init == "glorot":
            return task.mlp.glorot(task.streams)
        return super().initial_weights(task)

    def native_update(self) -> NativeUpdate | None:
        return None if self.adversarial else super().native_update()

    def loss_gradient(self, mlp: MLP, state: State, hyper: Hyper, batch: Batch) -> Tensor:
        """Return the gradient of the mean loss at clean and adversarial inputs, `[M, R, P]`."""
        if not self.adversarial:
            return super().loss_gradient(mlp, state, hyper, batch)
        weights = self.by_network(state["loc"])
        outputs, tape = forward(mlp, weights, batch.inputs)
        d_outputs = self.likelihood.gradient(outputs, batch.targets, batch.weights, hyper)
        clean = backward(tape, d_outputs)
        perturbation = state["step"][:, None] * input_gradient(tape, d_outputs).sign()
        # Adversarial inputs differ between members, so members are evaluated as replicas.
        perturbed = (batch.inputs + perturbation).flatten(0, 1)
        outputs, tape = forward(mlp, weights.flatten(0, 1)[None], perturbed)
        outputs = outputs.view(*weights.shape[:2], *outputs.shape[2:])
        d_outputs = self.likelihood.gradient(outputs, batch.targets, batch.weights, hyper)
        adversarial = backward(tape, d_outputs.flatten(0, 1)[None]).view_as(clean)
        return 0.5 * (clean + adversarial)
