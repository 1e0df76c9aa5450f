"""Base classes of methods whose posterior is a Gaussian over the weights."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.divergences.kl import kl
from bnnbench.methods.shared.contract import FitTask, Method, Posterior
from bnnbench.methods.shared.stochastic import StochasticMethod
from bnnbench.methods.shared.trainer import State
from bnnbench.nn import MLP
from bnnbench.random_streams import Streams


def initial_state(task: FitTask, precision: float) -> State:
    """Return initial means `loc` and parameters `rho`, `[R, P]`, with Adam's moments.

    `softplus(rho)` are the standard deviations, all with the same precision. The means are
    initialised like the weights of a network.
    """
    loc = task.mlp.initial(task.streams).expand(task.data.replicas, -1).clone()
    rho = math.log(math.expm1(precision**-0.5))
    zeros = torch.zeros_like(loc)
    moments = {"loc_first": zeros, "loc_second": zeros, "rho_first": zeros, "rho_second": zeros}
    return {"loc": loc, "rho": torch.full_like(loc, rho), **moments}


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

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor:
        """Return the KL divergence to the Gaussian prior (book, eq. 4.7)."""
        loc, scale = self.moments(posterior)
        prior = posterior.hyper["prior_precision"].rsqrt()
        return kl(loc, scale, torch.zeros_like(prior), prior).sum(1)
