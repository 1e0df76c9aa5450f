"""IVON: the improved variational online Newton method.

Shen et al., "Variational Learning is Effective for Large Deep Networks", ICML 2024, Algorithm 1.
Related to `vadam`, but estimates the curvature itself instead of using squared gradients.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.constraints import Positive
from bnnbench.methods.shared.contract import FitTask, Posterior, State
from bnnbench.methods.shared.gaussian import VariationalMethod
from bnnbench.methods.shared.gradients import WeightSamples, mean_and_cross
from bnnbench.methods.shared.minibatches import Batch, Noise
from bnnbench.nn import MLP
from bnnbench.optim import NativeUpdate
from bnnbench.settings import Training
from bnnbench.types import Hyper

TYPICAL_PRECISION = 10.0  # used as the noise precision if networks predict the noise


@dataclass(frozen=True, kw_only=True)
class IVON(VariationalMethod):
    """Diagonal Gaussian posterior `Normal(loc, 1 / (N (h + d)))`, `d = prior_precision / N`.

    g is the gradient of a minibatch's mean loss at `loc + scale e`, averaged over the draws e:

        f <- mean of g e / scale                                              curvature
        m <- beta_1 m + (1 - beta_1) g
        h <- beta_2 h + (1 - beta_2) f + (1 - beta_2)^2 (h - f)^2 / (2 (h + d))
        loc <- loc - learning_rate (m / (1 - beta_1^t) + d loc) / (h + d)

    By Stein's identity (Price's theorem) f is the mean second derivative of the loss, without the
    bias of Vadam's squared gradients. It may be negative. The last term of h, which makes the
    update follow a geodesic, still keeps the precision positive: the precision is multiplied by
    `1 + x + x^2 / 2 >= 1/2`, with `x = (1 - beta_2) (f - h) / (h + d)`.

    The authors' package `ivon-opt` is equivalent. Its `ess` (the paper's lambda) is N here; any
    other value would weight the likelihood by `ess / N`. The authors' UCI runs with `ess` 6000 and
    512 rows thus have a cold posterior. Its `weight_decay` is d, so the prior precision is
    `ess * weight_decay`. Its `hess_init` is the initial h, and it multiplies the learning rate by
    `hess_init + weight_decay`. Here the learning rate is that of the equation above, a fraction of
    a Newton step, and the initial h is proportional to the noise precision, like the curvature of
    the loss, so that one setting suits all values that a search tries. For the steps of the
    package, set `learning_rate = lr (hess_init + weight_decay)`.

    Attributes:
        initial_curvature: initial h for a noise precision of 1. For a likelihood without a noise
            precision, `TYPICAL_PRECISION` is used.
    """

    identity_name = "bnnbench.methods.ivon.IVON"
    family = "ivon"
    initial_curvature: Positive = 0.5

    def init(self, task: FitTask) -> State:
        loc = task.mlp.initial(task.streams).expand(task.data.replicas, -1).clone()
        noise = task.hyper.get("noise_precision", TYPICAL_PRECISION)
        h = torch.zeros_like(loc) + self.initial_curvature * noise
        return {"loc": loc, "h": h, "momentum": torch.zeros_like(loc)}

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        loc, h = state["loc"], state["h"]
        decay_m, decay_h = training.betas
        decay = hyper["prior_precision"] / batch.counts
        precision = h + decay
        scale = torch.rsqrt(batch.counts * precision)
        weights = WeightSamples(loc, scale, noise[0])
        gradient, cross = mean_and_cross(mlp, self.likelihood, weights, hyper, batch)
        momentum = torch.lerp(gradient, state["momentum"], decay_m)
        change = (1 - decay_h) * (cross / scale - h)
        h = h + change + 0.5 * change.square() / precision
        gradient = torch.addcmul(batch.bias_correction[0] * momentum, decay, loc)
        loc = torch.addcdiv(loc, gradient, h + decay, value=-training.learning_rate)
        return {"loc": loc, "h": h, "momentum": momentum}

    def native_update(self) -> NativeUpdate:
        return NativeUpdate("ivon", ("loc", "h", "momentum"))

    def moments(self, posterior: Posterior) -> tuple[Tensor, Tensor]:
        loc, h = posterior.state["loc"], posterior.state["h"]
        return loc, torch.rsqrt(posterior.counts * h + posterior.hyper["prior_precision"])
