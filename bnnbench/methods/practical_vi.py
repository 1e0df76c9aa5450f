"""Practical VI: Gaussian variational inference with squared gradients as curvature.

Book, section 4.3.1 and Algorithm 2; Graves, "Practical Variational Inference for Neural
Networks", NIPS 2011.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from bnnbench.constraints import OneOf, Positive
from bnnbench.methods.shared.contract import FitTask, Posterior, State
from bnnbench.methods.shared.gaussian import VariationalMethod
from bnnbench.methods.shared.minibatches import Batch, Noise
from bnnbench.nn import MLP, backward, forward, squared_backward
from bnnbench.optim import NativeUpdate, adam_entries, adam_on, adam_state
from bnnbench.portable_math import tensor_exp
from bnnbench.settings import Training
from bnnbench.types import Hyper


@dataclass(frozen=True, kw_only=True)
class PracticalVI(VariationalMethod):
    """Diagonal Gaussian posterior `Normal(loc, exp(log_variance))`.

    With `g_n` the gradient of data point n's negative log-likelihood at weights drawn from the
    posterior, the gradients of the negative ELBO per data point are

        d/d loc        = mean_n E[g_n] + prior loc / N                          (eqs. 4.9, 4.12)
        d/d sigma^2    = (mean_n E[g_n^2] + (prior - 1 / sigma^2) / N) / 2      (eqs. 4.10, 4.11)

    `g_n^2` approximates the second derivative (eq. 4.11). It is squared for every data point and
    then averaged, as in the first step of eq. 4.60. Unlike Vadam's gradient magnitude, it does not
    depend on the minibatch size.

    The book is inconsistent here. Eq. 4.12 has the wrong sign for the likelihood term; Algorithm 2
    has the right one. Eq. 4.13 drops the factor 1/2 of eq. 4.11 and so counts the data twice;
    Algorithm 2 doubles the whole gradient of the variance, which does not change the optimum (and
    Adam ignores constant factors). This file follows eqs. 4.10 and 4.11.

    Plain gradient descent on sigma^2, as in Algorithm 2, can make it negative, as the book warns.
    Here Adam optimises log sigma^2, with `d/d log sigma^2 = sigma^2 d/d sigma^2`, so that the
    variance stays positive and steps are relative to it.

    Attributes:
        initial_precision: of the posterior (book, section 4.7.4).
        curvature: `squared_gradient` is eq. 4.11; `gauss_newton` is the matrix it approximates
            (eq. A.13), which does not depend on the residuals:
            `noise_precision (d output / d w)^2`, or the equivalent for another likelihood or loss.
    """

    identity_name = "bnnbench.methods.practical_vi.PracticalVI"
    family = "practical_vi"
    native_cost = 2.0
    initial_precision: Positive = 10.0
    curvature: Annotated[str, OneOf("squared_gradient", "gauss_newton")] = "squared_gradient"
    variants = ({"curvature": "gauss_newton"},)

    def init(self, task: FitTask) -> State:
        loc = task.mlp.initial(task.streams).expand(task.data.replicas, -1).clone()
        log_variance = torch.full_like(loc, -math.log(self.initial_precision))
        return adam_state("loc", loc) | adam_state("log_variance", log_variance)

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        loc, variance = state["loc"], state["log_variance"].exp()
        prior, likelihood = hyper["prior_precision"], self.likelihood
        outputs, tape = forward(mlp, torch.addcmul(loc, variance.sqrt(), noise[0]), batch.inputs)
        d_outputs = likelihood.gradient(outputs, batch.targets, batch.weights, hyper)
        # Roots of the row weights, since the gradients are squared before averaging.
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
            **adam_on("loc", state, g_loc, batch.bias_correction, training),
            **adam_on("log_variance", state, g_log, batch.bias_correction, training),
        }

    def native_update(self) -> NativeUpdate:
        own = float(self.curvature == "gauss_newton")
        return NativeUpdate("practical_vi", adam_entries("loc", "log_variance"), (own,))

    def moments(self, posterior: Posterior) -> tuple[Tensor, Tensor]:
        return posterior.state["loc"], tensor_exp(0.5 * posterior.state["log_variance"])
