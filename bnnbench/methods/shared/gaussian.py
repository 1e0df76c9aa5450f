"""The bases of methods whose posterior is a Gaussian over the weights."""

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


def softplus_start(task: FitTask, precision: float) -> State:
    """Of means and of `rho`, whose softplus are deviations, `[R, P]` each, and Adam's moments.

    The means are as a network's first weights; the deviations are all of the same precision.
    """
    loc = task.mlp.initial(task.streams).expand(task.data.replicas, -1).clone()
    rho = math.log(math.expm1(precision**-0.5))
    zeros = torch.zeros_like(loc)
    moments = {"loc_first": zeros, "loc_second": zeros, "rho_first": zeros, "rho_second": zeros}
    return {"loc": loc, "rho": torch.full_like(loc, rho), **moments}


@dataclass(frozen=True, kw_only=True)
class GaussianPosterior(Method):
    """A method that says where its Gaussian lies, however it found it."""

    @abstractmethod
    def moments(self, posterior: Posterior) -> tuple[Tensor, Tensor]:
        """Means and standard deviations of the weights, `[R, P]` each."""

    def covariance(self, posterior: Posterior) -> Tensor:
        """Of the weights, `[R, P, P]`; diagonal unless a method has more to say."""
        return torch.diag_embed(self.moments(posterior)[1].square())


@dataclass(frozen=True, kw_only=True)
class GaussianMethod(GaussianPosterior, StochasticMethod):
    """A trained one; drawing from its posterior follows if that is diagonal."""

    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        loc, scale = self.moments(posterior)
        return torch.addcmul(loc, scale, streams.normal(samples, posterior.mlp.n_weights))


@dataclass(frozen=True, kw_only=True)
class VariationalMethod(GaussianMethod):
    """A method that learns means and deviations by minimising loss and divergence together."""

    def parameters(self, mlp: MLP) -> int:
        return 2 * mlp.n_weights

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor:
        """The KL divergence to the Gaussian prior (book, eq. 4.7)."""
        loc, scale = self.moments(posterior)
        prior = posterior.hyper["prior_precision"].rsqrt()
        return kl(loc, scale, torch.zeros_like(prior), prior).sum(1)
