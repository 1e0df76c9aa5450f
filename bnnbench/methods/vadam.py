"""Vadam: variational inference by weight perturbation inside Adam.

Book, section 4.6.1 and Algorithm 5; Khan et al., "Fast and Scalable Bayesian Deep Learning by
Weight-Perturbation in Adam", ICML 2018.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.constraints import Positive
from bnnbench.methods.shared.contract import FitTask, Posterior, State
from bnnbench.methods.shared.gaussian import VariationalMethod
from bnnbench.methods.shared.gradients import WeightSamples, mean_and_square
from bnnbench.methods.shared.minibatches import Batch, Noise
from bnnbench.nn import MLP
from bnnbench.optim import NativeUpdate
from bnnbench.settings import Training
from bnnbench.types import Hyper


@dataclass(frozen=True, kw_only=True)
class Vadam(VariationalMethod):
    """Diagonal Gaussian posterior `Normal(loc, 1 / (N s + prior_precision))`.

    `s` is the running mean of squared gradients, which are averaged over the minibatch before and
    over weight samples after squaring (gradient magnitude, eq. 4.60). For a correct model, the mean
    squared gradient of the log-likelihood equals its second derivative. For another loss it does
    not, but still serves as a scale.

    Attributes:
        initial_precision: of the posterior. None uses the prior precision (`s = 0`), as in the
            authors' code; their paper and the book say 10, which the notes of the code call a
            mistake. A number below the prior precision is replaced by the prior precision.
    """

    identity_name = "bnnbench.methods.vadam.Vadam"
    family = "vadam"
    initial_precision: Positive | None = None

    def init(self, task: FitTask) -> State:
        loc = task.mlp.initial(task.streams).expand(task.data.replicas, -1).clone()
        s = torch.zeros_like(loc)
        if self.initial_precision is not None:
            counts = torch.tensor(task.data.counts, device=loc.device)[:, None]
            excess = (self.initial_precision - task.hyper["prior_precision"]).clamp(min=0)
            s = s + excess / counts
        return {"loc": loc, "momentum": torch.zeros_like(loc), "s": s}

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        decay_m, decay_s = training.betas
        gradient, square, decay = self.perturbed_gradient(mlp, state, hyper, batch, noise)
        momentum = torch.lerp(gradient, state["momentum"], decay_m)
        s = torch.lerp(square, state["s"], decay_s)
        correction_m, correction_s = batch.bias_correction
        scale = (s * correction_s).sqrt_().add_(decay)
        size = -training.learning_rate * correction_m
        loc = torch.addcdiv(state["loc"], size * momentum, scale)
        return {"loc": loc, "momentum": momentum, "s": s}

    def native_update(self) -> NativeUpdate:
        return NativeUpdate("vadam", ("loc", "s", "momentum"))

    def perturbed_gradient(
        self, mlp: MLP, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Compute gradients at weights drawn from the posterior.

        Returns:
            The mean gradient including the prior, the mean squared gradient without it, `[R, P]`
            each, and `prior_precision / N`, `[R, 1]`.
        """
        loc, prior = state["loc"], hyper["prior_precision"]
        weights = WeightSamples(loc, torch.rsqrt(batch.counts * state["s"] + prior), noise[0])
        mean, square = mean_and_square(mlp, self.likelihood, weights, hyper, batch)
        decay = prior / batch.counts
        return torch.addcmul(mean, decay, loc), square, decay

    def moments(self, posterior: Posterior) -> tuple[Tensor, Tensor]:
        loc, s = posterior.state["loc"], posterior.state["s"]
        return loc, torch.rsqrt(posterior.counts * s + posterior.hyper["prior_precision"])
