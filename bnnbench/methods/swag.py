"""SWAG and MultiSWAG: a Gaussian about the networks that stochastic gradient descent goes through.

Maddox et al., "A Simple Baseline for Bayesian Uncertainty in Deep Learning", NeurIPS 2019, section
3 and Algorithm 1, and their program, github.com/wjmaddox/swa_gaussian; Wilson & Izmailov, "Bayesian
Deep Learning and a Probabilistic Perspective of Generalization", NeurIPS 2020, for more than one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from bnnbench.checks import check_between, check_int
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.gradients import gradients
from bnnbench.methods.shared.stochastic import StochasticMethod
from bnnbench.methods.shared.trainer import Batch, Noise, State, train
from bnnbench.nn import MLP, forward
from bnnbench.optim import Rule, adam_on
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper

TYPICAL_PRECISION = 10.0  # where networks predict their noise, as for SGLD


@dataclass(frozen=True, kw_only=True)
class SWAG(StochasticMethod):
    """The mean and a covariance of one network after every epoch of descent by steps of one size.

    `method=map`'s loss, the mean negative log-likelihood plus `prior_precision / (2 N) ||w||^2`,
    is first minimised by Adam, for the share `burn_in` of the epochs. Then

        v <- momentum v + slope,    w <- w - step_size / noise_precision v

    and of w_1 to w_T, the networks after each further epoch, a posterior is made:

        mean = mean_t w_t,    var = mean_t w_t^2 - mean^2,    K = min(rank, T)
        F = (w_t - mean of w_1 to w_t) / sqrt(K - 1) for the last K
        w = mean + sqrt(scale) (F z_1 + sqrt(var) z_2),    z_1, z_2 ~ Normal(0, I)

    `scale` is a factor of the variance. The paper has two halves, which is `scale=0.5`; its program
    calls that 0.5 too, and its own default of 1 is twice the covariance: both parts hold all of the
    variances. Of iterates that are independent draws of a Gaussian with covariance C, 0.5 gives
    `(C + diag C) / 2`: its variances, and half of its covariances. With 0 all samples are the
    averaged network of SWA (Izmailov et al. 2018).

    The width is that of the descent about a minimum, and follows its step size, momentum and
    minibatch as much as the posterior's: no prior is in it but by the slope. Dividing by the noise
    precision, as SGLD does, has one step size do for every value that a search tries.

    Where text and programs disagree: the paper divides by K - 1, its program by `rank - 1`, even
    while there are fewer columns, and this by the K - 1 of those there are. The authors' regression
    on UCI sets (github.com/wjmaddox/drbayes) is another method under the name: principal components
    for the last columns; until its issue 6, as in MultiSWAG's program once, `var` for `sqrt(var)`;
    rows standardised before they are split, splits and settings of its own for each set, and a
    log-likelihood of one Gaussian. Its table cannot be had on other splits, and is not among the
    published values here.

    MultiSWAG is the mixture of `members` such posteriors from starts of their own, and draws from
    them in turn.

    Attributes:
        prior_precision: of the weights, biases included, standardised units; None is searched.
        members: how many.
        burn_in: share of a fit's epochs, from its start, that Adam takes.
        step_size: of the descent, for a noise precision of 1.
        momentum: of the descent.
        rank: at most so many networks make the covariances.
        scale: factor of the variance; 0 averages the network.
    """

    prior_precision: float | None = None
    members: int = 1
    burn_in: float = 0.5
    step_size: float = 0.005
    momentum: float = 0.9
    rank: int = 20
    scale: float = 0.5
    own_hyper_names: ClassVar[tuple[str, ...]] = ("prior_precision",)
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"scale": 0.0},
        {"members": 3, "rank": 2, "burn_in": 0.25},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_int("method.members", self.members)
        check_between("method.burn_in", self.burn_in, 0, 1, low_included=True)
        check_between("method.step_size", self.step_size, 0)
        check_between("method.momentum", self.momentum, 0, 1, low_included=True)
        check_int("method.rank", self.rank)
        check_between("method.scale", self.scale, 0, low_included=True)

    @property
    def draws(self) -> bool:
        return self.scale > 0

    @property
    def point_estimate(self) -> bool:
        return self.scale == 0 and self.members == 1

    def parameters(self, mlp: MLP) -> int:
        """Means, variances and the columns beside them."""
        return self.members * mlp.n_weights * (2 + self.rank)

    def epochs_of_adam(self, task: FitTask) -> int:
        """Of a fit: at least one epoch is left for the descent."""
        return min(int(self.burn_in * task.epochs), task.epochs - 1)

    def init(self, task: FitTask) -> State:
        """The members' weights lie side by side, `[R, M P]`."""
        starts = torch.cat([task.mlp.initial(task.streams) for _ in range(self.members)], 1)
        loc = starts.expand(task.data.replicas, -1).clone()
        zeros = torch.zeros_like(loc)
        epochs = self.epochs_of_adam(task)
        steps = [epochs * math.ceil(count / task.batch_size) for count in task.data.counts]
        by_adam = loc.new_tensor(steps)[:, None].expand(-1, self.members).clone()
        return {"loc": loc, "loc_first": zeros, "loc_second": zeros, "by_adam": by_adam}

    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        return ()

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        loc, by_adam, first = state["loc"], state["by_adam"][:, :1], state["loc_first"]
        found = gradients(mlp, self.likelihood, self._apart(loc), hyper, batch)
        decay = hyper["prior_precision"] / batch.counts
        slope = torch.addcmul(found.transpose(0, 1).flatten(1), decay, loc)
        warm = adam_on("loc", state, slope, batch.unbias, training)
        velocity = torch.where(batch.taken > by_adam, self.momentum * first, 0) + slope
        size = self.step_size / hyper.get("noise_precision", TYPICAL_PRECISION)
        steady = {"loc": loc - size * velocity, "loc_first": velocity}
        still = batch.taken < by_adam
        new = {name: torch.where(still, warm[name], value) for name, value in steady.items()}
        return {**warm, **new, "by_adam": state["by_adam"]}

    def rule(self) -> Rule:
        names = ("loc", "loc_first", "loc_second", "by_adam")
        own = (self.step_size, self.momentum, TYPICAL_PRECISION)
        return Rule("swag", names, own, self.members)

    def fit(self, task: FitTask) -> Posterior:
        task = replace(task, outputs=self.likelihood.outputs)
        batches = math.ceil(task.data.inputs.shape[1] / task.batch_size)
        first = self.epochs_of_adam(task) + 1
        kept = range(first * batches, task.epochs * batches + 1, batches)
        fitted = train(self, task, kept)
        loc, deviations, factor = covariance_of(fitted.state["chain"], self.rank)
        return replace(fitted, state={"loc": loc, "deviations": deviations, "factor": factor})

    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        """Of the members in turn."""
        state = posterior.state
        owner = torch.arange(samples, device=state["loc"].device) % self.members
        means = self._apart(state["loc"])[owner]
        if self.scale == 0:
            return means
        columns = state["factor"].unflatten(2, (self.members, -1))  # [R, K, M, P]
        low = streams.normal(samples, columns.shape[1]).expand(-1, len(columns), -1)
        wide = streams.normal(samples, posterior.mlp.n_weights)
        drawn = means.new_empty(means.shape)
        for member in range(self.members):
            own = owner == member
            drawn[own] = torch.einsum("srk,rkp->srp", low[own], columns[:, :, member])
        drawn.addcmul_(self._apart(state["deviations"])[owner], wide)
        return torch.add(means, drawn, alpha=math.sqrt(self.scale))

    def outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """Averaged networks are all alike: one sample for each member."""
        count = self.members if self.scale == 0 else samples
        return super().outputs(posterior, inputs, count, streams)

    def training_outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """Of the members' present networks: one sample each."""
        own = self._apart(posterior.state["loc"])
        return torch.cat([forward(posterior.mlp, w[None], inputs)[0] for w in own])

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor:
        """`prior_precision / 2 ||w||^2` of the present networks, averaged over the members."""
        squares = self._apart(posterior.state["loc"]).square().sum(2).mean(0)
        return 0.5 * posterior.hyper["prior_precision"][:, 0] * squares

    def _apart(self, flat: Tensor) -> Tensor:
        """`[M, R, P]` from `[R, M P]`."""
        return flat.unflatten(1, (self.members, -1)).transpose(0, 1)


def covariance_of(iterates: Tensor, rank: int) -> tuple[Tensor, Tensor, Tensor]:
    """The parts of SWAG's Gaussian, before its scale.

    Args:
        iterates: `[R, T, P]`, networks in the order in which they were visited.
        rank: at most so many of the last make the factor.

    Returns:
        Means and the roots of the variances, `[R, P]` each, and the factor's columns as rows,
        `[R, K, P]`.
    """
    count = torch.arange(1, iterates.shape[1] + 1, device=iterates.device, dtype=iterates.dtype)
    running = iterates.cumsum(1) / count[:, None]
    away = (iterates - running)[:, -rank:]
    deviations = iterates.var(1, correction=0).sqrt()
    return iterates.mean(1), deviations, away / math.sqrt(max(1, away.shape[1] - 1))
