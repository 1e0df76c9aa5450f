"""Methods whose posterior is a Gaussian over the weights: base classes, and joint covariances."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench import portable_math
from bnnbench.constraints import Positive
from bnnbench.divergences.kl import kl
from bnnbench.methods.shared.contract import FitTask, Method, Posterior, State
from bnnbench.methods.shared.gauss_newton import jacobian_rows
from bnnbench.methods.shared.minibatches import Batch, Noise
from bnnbench.methods.shared.trainer import StochasticMethod
from bnnbench.nn import MLP, Layer, forward, outer_factors
from bnnbench.optim import adam_entries, adam_on, adam_state
from bnnbench.random_streams import Streams
from bnnbench.settings import Training


@dataclass(frozen=True, kw_only=True)
class GaussianPosterior(Method):
    """A method with a Gaussian posterior."""

    @abstractmethod
    def moments(self, posterior: Posterior) -> tuple[Tensor, Tensor]:
        """Return means and standard deviations of the weights, `[R, P]` each."""

    def covariance(self, posterior: Posterior) -> Tensor:
        """Return the covariance of the weights, `[R, P, P]`; diagonal by default."""
        return torch.diag_embed(self.moments(posterior)[1].square())


@dataclass(frozen=True, kw_only=True)
class GaussianMethod(GaussianPosterior, StochasticMethod):
    """A method trained by minibatch steps; samples from a diagonal posterior by default."""

    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        loc, scale = self.moments(posterior)
        # Not `addcmul`, which rounds once or twice depending on the processor.
        return loc + scale * streams.normal(samples, posterior.mlp.n_weights)


@dataclass(frozen=True, kw_only=True)
class VariationalMethod(GaussianMethod):
    """A method that learns means and deviations by minimising loss plus divergence."""

    def n_parameters(self, mlp: MLP) -> int:
        return 2 * mlp.n_weights

    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        return (streams.normal(samples, mlp.n_weights),)

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor:
        """Return the KL divergence to the Gaussian prior (book, eq. 4.7)."""
        loc, scale = self.moments(posterior)
        prior = posterior.hyper["prior_precision"].rsqrt()
        return kl(loc, scale, torch.zeros_like(prior), prior).sum(1)


@dataclass(frozen=True, kw_only=True)
class SoftplusMethod(VariationalMethod):
    """A method with the posterior `Normal(loc, softplus(rho)^2)`, trained by Adam.

    Attributes:
        initial_precision: of the posterior, the same for all weights. The means are initialised
            like the weights of a network.
        tensors: class attribute, entries of the state, in the order of native updates.
    """

    initial_precision: Positive
    tensors: ClassVar[tuple[str, ...]] = adam_entries("loc", "rho")

    def init(self, task: FitTask) -> State:
        loc = task.mlp.initial(task.streams).expand(task.data.replicas, -1).clone()
        rho = torch.full_like(loc, math.log(math.expm1(self.initial_precision**-0.5)))
        return adam_state("loc", loc) | adam_state("rho", rho)

    def descend(
        self, state: State, d_loc: Tensor, d_scale: Tensor, batch: Batch, training: Training
    ) -> State:
        """Update with the gradients with respect to means and deviations, `[R, P]` each."""
        d_rho = d_scale * torch.sigmoid(state["rho"])
        return {
            **adam_on("loc", state, d_loc, batch.bias_correction, training),
            **adam_on("rho", state, d_rho, batch.bias_correction, training),
        }

    def moments(self, posterior: Posterior) -> tuple[Tensor, Tensor]:
        return posterior.state["loc"], portable_math.softplus(posterior.state["rho"])


def mean_gradients(posterior: Posterior, inputs: Tensor) -> list[Layer]:
    """Return the gradients of the first output (the mean) of the network `loc`, float64.

    Args:
        posterior: its state has `loc`, `[R, P]`.
        inputs: `[R, B, D]`.

    Returns:
        For every row, one outer product per layer, as `outer_factors`.
    """
    outputs, tape = forward(posterior.mlp, posterior.state["loc"][None].double(), inputs.double())
    d_outputs = torch.zeros_like(outputs)
    d_outputs[..., 0] = 1
    return outer_factors(tape, d_outputs)


def linearised_covariance(posterior: Posterior, covariance: Tensor, inputs: Tensor) -> Tensor:
    """Return `J S J'`, J the gradients of the mean output at `loc` and S the weights' covariance.

    Args:
        posterior: its state has `loc`, `[R, P]`.
        covariance: of the weights, `[R, P, P]`.
        inputs: `[R, M, D]`.

    Returns:
        The covariance of the mean outputs, `[R, M, M]`.
    """
    jacobian = jacobian_rows(mean_gradients(posterior, inputs))
    return symmetric(jacobian @ covariance.double() @ jacobian.mT)


def symmetric(matrix: Tensor) -> Tensor:
    """Return a matrix without the asymmetry of rounding."""
    return (matrix + matrix.mT) / 2
