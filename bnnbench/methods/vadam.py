"""Vadam: variational inference by weight perturbation inside Adam.

Book, section 4.6.1 and Algorithm 5; Khan et al., "Fast and Scalable Bayesian Deep Learning by
Weight-Perturbation in Adam", ICML 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.checks import check_between
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.gaussian import VariationalMethod
from bnnbench.methods.shared.gradients import Draws, mean_and_square
from bnnbench.methods.shared.trainer import Batch, Noise, State
from bnnbench.nn import MLP
from bnnbench.optim import Rule
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper


@dataclass(frozen=True, kw_only=True)
class Vadam(VariationalMethod):
    """Diagonal Gaussian posterior `Normal(loc, 1 / (N s + prior_precision))`.

    `s` is the running mean of squared gradients. They are squared after the mean over the
    minibatch and before the mean over weight samples (eq. 4.60's gradient magnitude). Where the
    model is right, squared gradients of a log-likelihood average to its second derivative; those
    of another loss do not quite, and serve as a scale all the same.

    Attributes:
        prior_precision: of the weights, standardised units; None is searched.
        initial_precision: of the posterior. None starts it at the prior precision (`s = 0`), as
            the authors' code does; their paper and the book say 10, and the code's notes call
            that a mistake. A number below the prior precision starts at the prior precision.
    """

    prior_precision: float | None = None
    initial_precision: float | None = None
    own_hyper_names: ClassVar[tuple[str, ...]] = ("prior_precision",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.initial_precision is not None:
            check_between("method.initial_precision", self.initial_precision, 0)

    def init(self, task: FitTask) -> State:
        loc = task.mlp.initial(task.streams).expand(task.data.replicas, -1).clone()
        s = torch.zeros_like(loc)
        if self.initial_precision is not None:
            counts = torch.tensor(task.data.counts, device=loc.device)[:, None]
            excess = (self.initial_precision - task.hyper["prior_precision"]).clamp(min=0)
            s = s + excess / counts
        return {"loc": loc, "momentum": torch.zeros_like(loc), "s": s}

    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        return (streams.normal(samples, mlp.n_weights),)

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        decay_m, decay_s = training.betas
        gradient, square, pull = self.perturbed_gradient(mlp, state, hyper, batch, noise)
        momentum = torch.lerp(gradient, state["momentum"], decay_m)
        s = torch.lerp(square, state["s"], decay_s)
        unbias_m, unbias_s = batch.unbias
        scale = (s * unbias_s).sqrt_().add_(pull)
        size = -training.learning_rate * unbias_m
        loc = torch.addcdiv(state["loc"], size * momentum, scale)
        return {"loc": loc, "momentum": momentum, "s": s}

    def rule(self) -> Rule:
        return Rule("vadam", ("loc", "s", "momentum"))

    def perturbed_gradient(
        self, mlp: MLP, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> tuple[Tensor, Tensor, Tensor]:
        """What weights drawn from the posterior say about one minibatch.

        Returns:
            The mean's gradient with the prior's part, the mean over samples of the squared
            gradient without it, `[R, P]` each, and `prior_precision / N`, `[R, 1]`.
        """
        loc, prior = state["loc"], hyper["prior_precision"]
        draws = Draws(loc, torch.rsqrt(batch.counts * state["s"] + prior), noise[0])
        mean, square = mean_and_square(mlp, self.likelihood, draws, hyper, batch)
        pull = prior / batch.counts
        return torch.addcmul(mean, pull, loc), square, pull

    def moments(self, posterior: Posterior) -> tuple[Tensor, Tensor]:
        loc, s = posterior.state["loc"], posterior.state["s"]
        return loc, torch.rsqrt(posterior.counts * s + posterior.hyper["prior_precision"])
