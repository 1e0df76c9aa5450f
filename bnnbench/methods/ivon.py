"""IVON: variational inference by Newton's steps, as cheap as Adam's.

Shen et al., "Variational Learning is Effective for Large Deep Networks", ICML 2024, Algorithm 1. Of
the family of `vadam`, whose squared gradients it replaces by estimates of the curvature itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.checks import check_between
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.gaussian import VariationalMethod
from bnnbench.methods.shared.gradients import Draws, mean_and_cross
from bnnbench.methods.shared.trainer import Batch, Noise, State
from bnnbench.nn import MLP
from bnnbench.optim import Rule
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper

TYPICAL_PRECISION = 10.0  # of the noise, where networks predict it


@dataclass(frozen=True, kw_only=True)
class IVON(VariationalMethod):
    """Diagonal Gaussian posterior `Normal(loc, 1 / (N (h + d)))`, `d = prior_precision / N`.

    g is the gradient of a minibatch's mean loss at `loc + scale e`, averaged over the draws e:

        f <- mean of g e / scale                                              curvature
        m <- beta_1 m + (1 - beta_1) g
        h <- beta_2 h + (1 - beta_2) f + (1 - beta_2)^2 (h - f)^2 / (2 (h + d))
        loc <- loc - learning_rate (m / (1 - beta_1^t) + d loc) / (h + d)

    By Stein's identity f is the mean second derivative of the loss (Price's theorem), free of the
    bias of Vadam's squares. It may be negative; the last term of h, which makes the step one along
    a geodesic, keeps the precision positive all the same: with `x = (1 - beta_2) (f - h) / (h + d)`
    it is multiplied by `1 + x + x^2 / 2`, never less than a half.

    The authors' package `ivon-opt` says the same in other words. Its `ess` is N here, the paper's
    lambda: another number would weigh the likelihood by `ess / N`, as in the authors' runs on a UCI
    set, whose `ess` of 6000 with 512 rows is a cold posterior. Its `weight_decay` is d, of a data
    point: the prior precision is `ess * weight_decay`. Its `hess_init` is h at the start, and it
    multiplies its learning rate by `hess_init + weight_decay`. Here the learning rate is the share
    of a Newton step that the equation above says, and h starts in proportion to the noise
    precision, as the curvature of every loss does, so that one setting does for every value that a
    search tries: `learning_rate = lr (hess_init + weight_decay)` are the package's steps.

    Attributes:
        prior_precision: of the weights, standardised units; None is searched.
        initial_curvature: h at the start, for a noise precision of 1. A likelihood without one
            counts as TYPICAL_PRECISION.
    """

    prior_precision: float | None = None
    initial_curvature: float = 0.5
    own_hyper_names: ClassVar[tuple[str, ...]] = ("prior_precision",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("method.initial_curvature", self.initial_curvature, 0)

    def init(self, task: FitTask) -> State:
        loc = task.mlp.initial(task.streams).expand(task.data.replicas, -1).clone()
        noise = task.hyper.get("noise_precision", TYPICAL_PRECISION)
        h = torch.zeros_like(loc) + self.initial_curvature * noise
        return {"loc": loc, "h": h, "momentum": torch.zeros_like(loc)}

    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        return (streams.normal(samples, mlp.n_weights),)

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        loc, h = state["loc"], state["h"]
        decay_m, decay_h = training.betas
        pull = hyper["prior_precision"] / batch.counts
        precision = h + pull
        scale = torch.rsqrt(batch.counts * precision)
        draws = Draws(loc, scale, noise[0])
        gradient, cross = mean_and_cross(mlp, self.likelihood, draws, hyper, batch)
        momentum = torch.lerp(gradient, state["momentum"], decay_m)
        change = (1 - decay_h) * (cross / scale - h)
        h = h + change + 0.5 * change.square() / precision
        slope = torch.addcmul(batch.unbias[0] * momentum, pull, loc)
        loc = torch.addcdiv(loc, slope, h + pull, value=-training.learning_rate)
        return {"loc": loc, "h": h, "momentum": momentum}

    def rule(self) -> Rule:
        return Rule("ivon", ("loc", "h", "momentum"))

    def moments(self, posterior: Posterior) -> tuple[Tensor, Tensor]:
        loc, h = posterior.state["loc"], posterior.state["h"]
        return loc, torch.rsqrt(posterior.counts * h + posterior.hyper["prior_precision"])
