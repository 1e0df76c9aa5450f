"""Deterministic variational inference: propagates moments through the network instead of sampling.

Wu et al., "Deterministic Variational Inference for Robust Bayesian Neural Networks", ICLR 2019.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import softplus

from bnnbench.constraints import Positive
from bnnbench.cpp.library import has_native_code
from bnnbench.divergences.kl import kl
from bnnbench.likelihoods import Gaussian
from bnnbench.methods.shared.contract import LEARNED, LearnablePrecision, Posterior, State
from bnnbench.methods.shared.gaussian import SoftplusMethod
from bnnbench.methods.shared.minibatches import Batch, Noise
from bnnbench.methods.shared.moment_propagation import (
    Inputs,
    Moments,
    Rectified,
    Weights,
    forward,
    layers_of,
    linear_back,
    output_moments,
    rectify_back,
)
from bnnbench.native.networks import propagate_moments
from bnnbench.nn import MLP
from bnnbench.optim import NativeUpdate
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper, Prediction


@dataclass(frozen=True, kw_only=True)
class DVI(SoftplusMethod):
    """Diagonal Gaussian posterior `Normal(loc, softplus(rho)^2)`, trained by Adam without sampling.

    If m and v are the mean and the variance of the network's output at a row under the posterior,
    that row's expected negative log-likelihood is

        noise_precision ((y - m)^2 + v) / 2 - log(noise_precision) / 2 + log(2 pi) / 2

    for any distribution of the output. The moments of a linear layer are exact for independent
    inputs, those of a ReLU for Gaussian inputs (`moment_propagation`). Since weights are
    independent and the inputs of the first layer are data, m, v and the ELBO are exact for up to
    one hidden layer; the KL divergence has a closed form. The paper's variants with (DVI) and
    without (dDVI) covariances between units are then the same; in deeper networks this is dDVI.

    The networks of the paper also predict the noise, with two dependent outputs; this is its
    homoscedastic variant, hoDVI. It predicts one Gaussian per point.

    With `prior_precision=learned` each layer has its own prior variance s for weights and biases,
    with the hyperprior InverseGamma(1, 10). For n weights with means mu and deviations sigma, the
    maximiser of the ELBO is known at every step (empirical Bayes, section 4):

        s = (sum (mu^2 + sigma^2) + 2 * 10) / (n + 2 * 1 + 2)

    Since s is the maximiser, the gradient of the whole objective is that of the KL divergence at
    fixed s. The authors' program differentiates through s but leaves the hyperprior's density out,
    and has one s for a weight matrix and one for its biases. `complexity` records the KL
    divergence without the hyperprior.

    Attributes:
        prior_precision: of the weights, biases included, standardised units: a number, None to
            search it, or `learned`.
        initial_precision: of the posterior.
    """

    identity_name = "bnnbench.methods.dvi.DVI"
    family = "dvi"
    prior_precision: LearnablePrecision = None
    initial_precision: Positive = 100.0
    likelihood: ClassVar[Gaussian] = Gaussian()  # type: ignore[misc]
    is_stochastic: ClassVar[bool] = False
    native_cost = 4.0
    variants = ({"prior_precision": LEARNED},)
    shape: ClassVar[float] = 1.0
    scale: ClassVar[float] = 10.0

    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        return ()

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        loc, scale = state["loc"], softplus(state["rho"])
        layers = layers_of(mlp, (loc, scale.square()))
        (mean, _), tape, rectified = forward(layers, batch.inputs)
        by_mean = hyper["noise_precision"] * batch.weights * (mean - batch.targets)
        by_variance = 0.5 * hyper["noise_precision"] * batch.weights
        d_loc, d_variance = backpropagate(
            layers, tape, rectified, (by_mean.unsqueeze(2), by_variance.unsqueeze(2))
        )
        prior = self._prior(mlp, loc, scale, hyper) / batch.counts
        d_loc = torch.addcmul(d_loc, prior, loc)
        d_scale = (2 * d_variance + prior) * scale - 1 / (batch.counts * scale)
        return self.descend(state, d_loc, d_scale, batch, training)

    def native_update(self) -> NativeUpdate:
        hyperprior = (2 * self.shape + 2, 2 * self.scale)
        constants = hyperprior if self.prior_precision == LEARNED else (math.nan,)
        return NativeUpdate("dvi", self.tensors, constants=constants)

    def _prior(self, mlp: MLP, loc: Tensor, scale: Tensor, hyper: Hyper) -> Tensor:
        """Return the prior precision of every weight, `[R, 1]` or `[R, P]`."""
        if self.prior_precision != LEARNED:
            return hyper["prior_precision"]
        sizes = mlp.layer_weights
        squares = torch.split(loc.square() + scale.square(), sizes, 1)
        return torch.cat(
            [
                (n + 2 * self.shape + 2) / (square.sum(1, True) + 2 * self.scale).expand_as(square)
                for n, square in zip(sizes, squares, strict=True)
            ],
            1,
        )

    def training_outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """Sample Gaussians with the moments of the output, which have the same expected loss."""
        mean, variance = self._outputs(posterior, inputs)
        noise = streams.normal(samples, inputs.shape[1])
        return torch.addcmul(mean, variance.sqrt(), noise).unsqueeze(3)

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor:
        """Return the KL divergence to the prior."""
        loc, scale = self.moments(posterior)
        prior_scale = self._prior(posterior.mlp, loc, scale, posterior.hyper).rsqrt()
        return kl(loc, scale, torch.zeros_like(prior_scale), prior_scale).sum(1)

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """Predict one Gaussian per point, without sampling."""
        mean, variance = self._outputs(posterior, inputs)
        return Prediction(mean[None], variance[None], 1 / posterior.hyper["noise_precision"])

    def _outputs(self, posterior: Posterior, inputs: Tensor) -> Moments:
        """Return the moments of the networks' output, `[R, M]` each."""
        loc, scale = self.moments(posterior)
        if has_native_code(loc):
            return propagate_moments(posterior.mlp, loc, scale, inputs)
        layers = layers_of(posterior.mlp, (loc, scale.square()))
        return output_moments(posterior.mlp, inputs, lambda rows: forward(layers, rows)[0])


def backpropagate(
    layers: Weights, tape: list[Inputs], rectified: list[Rectified], d: Moments
) -> Moments:
    """Backpropagate derivatives from the output's moments, `[R, B, 1]` each, to the weights.

    Returns:
        Derivatives with respect to means and variances, summed over rows, `[R, P]` each.
    """
    by_means: list[Tensor] = []
    by_variances: list[Tensor] = []
    for k in range(len(layers) - 1, -1, -1):
        w = layers[k][0][0]
        (z, z_var), (d_mean, d_var) = tape[k], d
        square, by_w = z.square(), z.mT @ d_mean
        if z_var is not None:
            square = square + z_var
            by_w = by_w + 2 * w * (z_var.mT @ d_var)
        by_means[:0] = [by_w.flatten(1), d_mean.sum(1)]
        by_variances[:0] = [(square.mT @ d_var).flatten(1), d_var.sum(1)]
        if k > 0:
            d = rectify_back(rectified[k - 1], linear_back(tape[k], layers[k], d))
    return torch.cat(by_means, 1), torch.cat(by_variances, 1)
