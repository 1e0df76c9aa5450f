"""SWAG and MultiSWAG: a Gaussian fitted to the iterates of stochastic gradient descent.

Maddox et al., "A Simple Baseline for Bayesian Uncertainty in Deep Learning", NeurIPS 2019, section
3 and Algorithm 1, and their code, github.com/wjmaddox/swa_gaussian. MultiSWAG: Wilson & Izmailov,
"Bayesian Deep Learning and a Probabilistic Perspective of Generalization", NeurIPS 2020.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated

import torch
from torch import Tensor

from bnnbench.constraints import Between, Count, Positive
from bnnbench.methods.map import MAP
from bnnbench.methods.shared.contract import FitTask, Posterior, State
from bnnbench.methods.shared.minibatches import Batch, Noise
from bnnbench.methods.shared.trainer import StochasticMethod, train
from bnnbench.nn import MLP
from bnnbench.optim import NativeUpdate, adam_entries, adam_on
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper

TYPICAL_PRECISION = 10.0  # used as the noise precision if networks predict the noise


@dataclass(frozen=True, kw_only=True)
class SWAG(MAP):
    """Gaussian with the mean and covariance of the networks after each epoch of SGD.

    The loss of `method=map`, the mean negative log-likelihood plus
    `prior_precision / (2 N) ||w||^2`, is first minimised by Adam, for a fraction `burn_in` of the
    epochs. Then SGD with a constant step size,

        v <- momentum v + gradient,    w <- w - step_size / noise_precision v

    gives networks w_1 to w_T, one after each epoch, and the posterior

        mean = mean_t w_t,    var = mean_t w_t^2 - mean^2,    K = min(rank, T)
        F = (w_t - mean of w_1 to w_t) / sqrt(K - 1) for the last K
        w = mean + sqrt(scale) (F z_1 + sqrt(var) z_2),    z_1, z_2 ~ Normal(0, I)

    `scale` is a factor of the covariance. The paper uses 0.5. The default of its code is 1, which
    doubles the variances, since both terms contain them. If the iterates were independent draws
    from a Gaussian with covariance C, 0.5 would give `(C + diag C) / 2`: the correct variances, and
    half of the covariances. With 0, all samples are the averaged network of SWA (Izmailov et al.
    2018).

    The covariance is that of SGD around a minimum. It depends on the step size, the momentum and
    the minibatch size as much as on the posterior, and on the prior only through the gradient. The
    step size is divided by the noise precision, as for SGLD, so that one value suits all noise
    precisions that a search tries.

    The paper divides by K - 1; its code by `rank - 1`, even if there are fewer columns; this file
    by K - 1. The authors' UCI regression experiments (github.com/wjmaddox/drbayes) use a different
    method of the same name. It has principal components instead of the last columns and, until
    its issue 6 (as in an early version of the MultiSWAG code), `var` in place of `sqrt(var)`. Rows
    are standardised before splitting, each data set has its own splits and settings, and the
    log-likelihood is that of a single Gaussian. Its results are not comparable on other splits, so
    they are not among the published values here.

    MultiSWAG is a mixture of `members` such posteriors from different initial weights.

    Attributes:
        members: number of Gaussians.
        burn_in: fraction of the epochs, at the start, that are trained by Adam.
        step_size: of SGD, for a noise precision of 1.
        momentum: of SGD.
        rank: maximum number of networks in the low-rank covariance.
        scale: factor of the covariance; 0 predicts with the averaged network.
    """

    identity_name = "bnnbench.methods.swag.SWAG"
    family = "swag"
    members: Count = 1
    burn_in: Annotated[float, Between(0, 1, low_included=True)] = 0.5
    step_size: Positive = 0.005
    momentum: Annotated[float, Between(0, 1, low_included=True)] = 0.9
    rank: Count = 20
    scale: Annotated[float, Between(0, low_included=True)] = 0.5
    portable_prediction = False
    variants = (
        {"scale": 0.0},
        {"members": 3, "rank": 2, "burn_in": 0.25},
    )

    @property
    def n_networks(self) -> int:
        return self.members

    @property
    def is_stochastic(self) -> bool:
        return self.scale > 0

    @property
    def point_estimate(self) -> bool:
        return self.scale == 0 and self.members == 1

    def n_parameters(self, mlp: MLP) -> int:
        """Return the number of means, variances and low-rank entries."""
        return self.members * mlp.n_weights * (2 + self.rank)

    def adam_epochs(self, task: FitTask) -> int:
        """Return the number of epochs trained by Adam; at least one epoch remains for SGD."""
        return min(int(self.burn_in * task.epochs), task.epochs - 1)

    def init(self, task: FitTask) -> State:
        """Return the state of `MAP`, and the number of steps of Adam."""
        epochs = self.adam_epochs(task)
        steps = [epochs * math.ceil(count / task.batch_size) for count in task.data.counts]
        state = super().init(task)
        adam_steps = state["loc"].new_tensor(steps)[:, None].expand(-1, self.members).clone()
        return {**state, "adam_steps": adam_steps}

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        loc, adam_steps, first = state["loc"], state["adam_steps"][:, :1], state["loc_first"]
        gradient = self.gradient(mlp, state, hyper, batch)
        adam = adam_on("loc", state, gradient, batch.bias_correction, training)
        velocity = torch.where(batch.steps_taken > adam_steps, self.momentum * first, 0) + gradient
        size = self.step_size / hyper.get("noise_precision", TYPICAL_PRECISION)
        sgd = {"loc": loc - size * velocity, "loc_first": velocity}
        use_adam = batch.steps_taken < adam_steps
        new = {name: torch.where(use_adam, adam[name], value) for name, value in sgd.items()}
        return {**adam, **new, "adam_steps": state["adam_steps"]}

    def native_update(self) -> NativeUpdate:
        constants = (self.step_size, self.momentum, TYPICAL_PRECISION)
        return NativeUpdate("swag", adam_entries("loc"), constants, self.members, ("adam_steps",))

    def fit(self, task: FitTask) -> Posterior:
        batches = math.ceil(task.data.inputs.shape[1] / task.batch_size)
        first = self.adam_epochs(task) + 1
        saved_steps = range(first * batches, task.epochs * batches + 1, batches)
        fitted = train(self, task, saved_steps)
        loc, deviations, factor = fit_gaussian(fitted.state["chain"], self.rank)
        return replace(fitted, state={"loc": loc, "deviations": deviations, "factor": factor})

    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        """Draw from the members in turn."""
        state = posterior.state
        owner = torch.arange(samples, device=state["loc"].device) % self.members
        means = self.by_network(state["loc"])[owner]
        if self.scale == 0:
            return means
        columns = torch.unflatten(state["factor"], 2, (self.members, -1))  # [R, K, M, P]
        low_rank = streams.normal(samples, columns.shape[1]).expand(-1, len(columns), -1)
        diagonal = streams.normal(samples, posterior.mlp.n_weights)
        networks = means.new_empty(means.shape)
        for member in range(self.members):
            own = slice(member, None, self.members)
            draws = low_rank[own].contiguous()
            networks[own] = torch.einsum("srk,rkp->srp", draws, columns[:, :, member])
        networks.addcmul_(self.by_network(state["deviations"])[owner], diagonal)
        return torch.add(means, networks, alpha=math.sqrt(self.scale))

    def outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """Use one sample per member if networks are averaged."""
        count = self.members if self.scale == 0 else samples
        return StochasticMethod.outputs(self, posterior, inputs, count, streams)

    def training_outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """Use the current networks of the members: one sample each."""
        return MAP.outputs(self, posterior, inputs, samples, streams)


def fit_gaussian(iterates: Tensor, rank: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the parameters of SWAG's Gaussian, without `scale`.

    Args:
        iterates: `[R, T, P]`, networks in the order of training.
        rank: maximum number of columns of the factor.

    Returns:
        Means and standard deviations, `[R, P]` each, and the columns of the factor as rows,
        `[R, K, P]`.
    """
    count = torch.arange(1, iterates.shape[1] + 1, device=iterates.device, dtype=iterates.dtype)
    running = iterates.cumsum(1) / count[:, None]
    columns = (iterates - running)[:, -rank:]
    deviations = iterates.var(1, correction=0).sqrt()
    return iterates.mean(1), deviations, columns / math.sqrt(max(1, columns.shape[1] - 1))
