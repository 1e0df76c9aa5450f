"""Base classes of methods whose posterior is a Gaussian over the weights."""

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
from bnnbench.methods.shared.contract import Batch, FitTask, Method, Noise, Posterior, State
from bnnbench.methods.shared.trainer import StochasticMethod
from bnnbench.nn import MLP
from bnnbench.optim import adam_on, adam_state
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
    tensors: ClassVar[tuple[str, ...]] = (
        "loc", "rho", "loc_first", "loc_second", "rho_first", "rho_second",
    )  # fmt: skip

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
