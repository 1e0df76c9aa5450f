"""Practical VI: Gaussian variational inference with squared gradients for the variance.

Book, section 4.3.1 and Algorithm 2; Graves, "Practical Variational Inference for Neural
Networks", NIPS 2011.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from bnnbench.checks import check_between, check_choice
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.gaussian import VariationalMethod
from bnnbench.methods.shared.trainer import Batch, Noise, State
from bnnbench.nn import MLP, backward, forward, squared_backward
from bnnbench.optim import adam_on
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper


@dataclass(frozen=True, kw_only=True)
class PracticalVI(VariationalMethod):
    """Diagonal Gaussian posterior `Normal(loc, exp(log_variance))`.

    With `g_n` the gradient of data point n's negative log-likelihood at weights drawn from the
    posterior, the gradients of the negative ELBO per data point are

        d/d loc        = mean_n E[g_n] + prior loc / N                          (eqs. 4.9, 4.12)
        d/d sigma^2    = (mean_n E[g_n^2] + (prior - 1 / sigma^2) / N) / 2      (eqs. 4.10, 4.11)

    `g_n^2` stands for the second derivative (eq. 4.11). It is squared data point by data point
    and then averaged: the first step of eq. 4.60, not the gradient magnitude that Vadam uses, so
    it does not depend on the minibatch size.

    The book's lines disagree. Eq. 4.12 has the sign of the likelihood's part reversed;
    Algorithm 2 has it right. Eq. 4.13 drops the 1/2 of eq. 4.11 and so counts the data twice;
    Algorithm 2 has the variance's gradient twice over, prior and data alike, which rests at the
    same point (and Adam does not see a constant factor). This file follows eqs. 4.10 and 4.11.

    The plain descent on sigma^2 of Algorithm 2 can make it negative (as the book warns). Here
    Adam descends on log sigma^2, by the chain rule `d/d log sigma^2 = sigma^2 d/d sigma^2`:
    always positive, and a step is relative to the variance it changes.

    Attributes:
        prior_precision: of the weights, standardised units; None is searched.
        initial_precision: of the posterior (book, section 4.7.4).
        curvature: `squared_gradient` is eq. 4.11; `gauss_newton` is the matrix it stands for
            (eq. A.13), free of the residuals: `noise_precision (d output / d w)^2`, or what the
            likelihood and its loss put in its place.
    """

    prior_precision: float | None = None
    initial_precision: float = 10.0
    curvature: str = "squared_gradient"
    own_hyper_names: ClassVar[tuple[str, ...]] = ("prior_precision",)
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = ({"curvature": "gauss_newton"},)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("method.initial_precision", self.initial_precision, 0)
        check_choice("method.curvature", self.curvature, ("squared_gradient", "gauss_newton"))

    def init(self, task: FitTask) -> State:
        loc = task.mlp.initial(task.streams).expand(task.data.replicas, -1).clone()
        zeros = torch.zeros_like(loc)
        return {
            "loc": loc,
            "loc_first": zeros,
            "loc_second": zeros,
            "log_variance": torch.full_like(loc, -math.log(self.initial_precision)),
            "log_variance_first": zeros,
            "log_variance_second": zeros,
        }

    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        return (streams.normal(samples, mlp.n_weights),)

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        loc, variance = state["loc"], state["log_variance"].exp()
        prior, likelihood = hyper["prior_precision"], self.likelihood
        outputs, tape = forward(mlp, torch.addcmul(loc, variance.sqrt(), noise[0]), batch.inputs)
        d_outputs = likelihood.gradient(outputs, batch.targets, batch.weights, hyper)
        # The root, since it is squared: a weighted mean over rows of squares.
        roots: tuple[Tensor, ...]
        if self.curvature == "squared_gradient":
            roots = (likelihood.gradient(outputs, batch.targets, batch.weights.sqrt(), hyper),)
        else:
            roots = likelihood.curvature_roots(outputs, batch.weights, hyper)
        g_loc = torch.addcmul(backward(tape, d_outputs).mean(0), prior / batch.counts, loc)
        squares = squared_backward(tape, roots[0])
        for root in roots[1:]:
            squares = squares + squared_backward(tape, root)
        precision = torch.addcdiv(squares.mean(0), prior, batch.counts)
        g_log = 0.5 * (variance * precision - 1 / batch.counts)
        return {
            **adam_on("loc", state, g_loc, batch.unbias, training),
            **adam_on("log_variance", state, g_log, batch.unbias, training),
        }

    def moments(self, posterior: Posterior) -> tuple[Tensor, Tensor]:
        return posterior.state["loc"], (0.5 * posterior.state["log_variance"]).exp()
