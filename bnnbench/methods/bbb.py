"""Bayes by Backprop: reparameterised variational inference with Adam.

Book, section 4.3 and Algorithm 1; Blundell et al., "Weight Uncertainty in Neural Networks",
ICML 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import torch
from torch import Tensor
from torch.nn.functional import softplus

from bnnbench.constraints import OneOf, Positive
from bnnbench.divergences.base import Divergence
from bnnbench.divergences.kl import KL
from bnnbench.identity import optional_identity
from bnnbench.methods.shared.contract import FitTask, Posterior, State
from bnnbench.methods.shared.gaussian import SoftplusMethod
from bnnbench.methods.shared.gradients import WeightSamples, mean_and_cross
from bnnbench.methods.shared.minibatches import Batch, Noise
from bnnbench.methods.shared.trainer import TRACE_SAMPLES
from bnnbench.nn import MLP
from bnnbench.optim import NativeUpdate
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper

FLAT_PRECISION = 1e-6
"""Precision of the almost flat prior of biases in the code of Mishkin et al. (2018)."""


@dataclass(frozen=True, kw_only=True)
class BBB(SoftplusMethod):
    """Diagonal Gaussian posterior `Normal(loc, softplus(rho)^2)`.

    The loss of one minibatch is the mean negative log-likelihood plus `kl_weight / N` times the
    divergence to the prior. Over an epoch it averages to the negative ELBO (eq. 4.3) per data
    point.

    Attributes:
        divergence: between posterior and prior. The book uses KL in closed form (eq. 4.7), or
            estimated from the weight samples of the step (eq. 4.8).
        initial_precision: of the posterior (book, section 4.7.4).
        minibatch_weights: `uniform` gives each of the M minibatches 1/M of the divergence;
            `exponential` gives minibatch j the weight 2^(M-j) / (2^M - 1) (section 4.3).
        weight_init: of the means: `fan_in`, as for other methods, or `zero`.
        bias_prior: whether the prior applies to biases too. Otherwise theirs is almost flat, with
            precision `FLAT_PRECISION`.
    """

    identity_name = "bnnbench.methods.bbb.BBB"
    family = "bbb"
    divergence: Divergence
    initial_precision: Positive = 10.0
    minibatch_weights: Annotated[str, OneOf("uniform", "exponential")] = "uniform"
    weight_init: Annotated[str, OneOf("fan_in", "zero")] = optional_identity("fan_in")
    bias_prior: bool = optional_identity(True)
    variants = (
        {"minibatch_weights": "exponential"},
        {"weight_init": "zero", "bias_prior": False},
    )

    def init(self, task: FitTask) -> State:
        state = super().init(task)
        if self.weight_init == "zero":
            state["loc"] = torch.zeros_like(state["loc"])
        return state

    def kl_weight(self, index: int, batches: int) -> float:
        if self.minibatch_weights == "uniform":
            return 1.0
        # 2^(M-j)/(2^M-1) with j from 1, in a form that cannot overflow.
        return batches * 2.0 ** -(index + 1) / (1 - 2.0**-batches)

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        loc, scale, epsilon = state["loc"], softplus(state["rho"]), noise[0]
        weights = WeightSamples(loc, scale, epsilon)
        mean, cross = mean_and_cross(mlp, self.likelihood, weights, hyper, batch)
        prior = self._precisions(mlp, hyper)
        d_loc, d_scale = self.divergence.gradient(loc, scale, prior, epsilon)
        kl_weight = batch.kl_weight / batch.counts
        g_loc = torch.addcmul(mean, kl_weight, d_loc)
        g_scale = torch.addcmul(cross, kl_weight, d_scale)
        return self.descend(state, g_loc, g_scale, batch, training)

    def native_update(self) -> NativeUpdate | None:
        if not isinstance(self.divergence, KL) or self.divergence.estimator != "closed":
            return None
        of_bias = 0.0 if self.bias_prior else FLAT_PRECISION
        constants = (self.divergence.weight, of_bias)
        return NativeUpdate("bbb", self.tensors, constants=constants)

    @property
    def native_parts(self) -> tuple[object, ...]:
        parts = super().native_parts
        return parts and (*parts, self.divergence)

    @property
    def benefits_from_compile(self) -> bool:
        return self.divergence.benefits_from_compile

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor:
        loc, scale = self.moments(posterior)
        epsilon = None
        if self.divergence.estimator == "monte_carlo":
            epsilon = streams.normal(TRACE_SAMPLES, posterior.mlp.n_weights)
        prior = self._precisions(posterior.mlp, posterior.hyper)
        return self.divergence.value(loc, scale, prior, epsilon)

    def _precisions(self, mlp: MLP, hyper: Hyper) -> Tensor:
        """Return the prior precision of each weight, `[R, P]`, or `[R, 1]` if all are equal."""
        prior = hyper["prior_precision"]
        if self.bias_prior:
            return prior
        parts = []
        for fan_in, fan_out in pairwise(mlp.sizes):
            flat = prior.new_full((len(prior), fan_out), FLAT_PRECISION)
            parts += [prior.expand(-1, fan_in * fan_out), flat]
        return torch.cat(parts, 1)
