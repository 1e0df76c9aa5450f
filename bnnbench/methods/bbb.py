"""Bayes by Backprop: reparameterised variational inference with Adam.

Book, section 4.3 and Algorithm 1; Blundell et al., "Weight Uncertainty in Neural Networks",
ICML 2015.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import softplus

from bnnbench.checks import check_between, check_choice
from bnnbench.divergences.base import Divergence
from bnnbench.divergences.kl import KL
from bnnbench.divergences.stacked import StackedDivergences
from bnnbench.methods.shared.contract import FitTask, Method, Posterior
from bnnbench.methods.shared.gaussian import VariationalMethod, softplus_start
from bnnbench.methods.shared.gradients import Draws, mean_and_cross
from bnnbench.methods.shared.objective_trace import TRACED_SAMPLES
from bnnbench.methods.shared.trainer import Batch, Noise, State
from bnnbench.native.moments import covers
from bnnbench.nn import MLP
from bnnbench.optim import Rule, adam_on
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper


@dataclass(frozen=True, kw_only=True)
class BBB(VariationalMethod):
    """Diagonal Gaussian posterior `Normal(loc, softplus(rho)^2)`.

    The loss of one minibatch is the mean negative log-likelihood plus `share / N` times the
    divergence to the prior, so that it sums to the negative ELBO (eq. 4.3) over an epoch, per
    data point.

    Attributes:
        divergence: from posterior to prior, which it holds, with its weight; the book's is KL in
            closed form (eq. 4.7), or from the weight samples of the step (eq. 4.8).
            `StackedDivergences` give replicas divergences of their own.
        prior_precision: of the weights, standardised units; None is searched.
        initial_precision: of the posterior (book, section 4.7.4).
        minibatch_weights: `uniform` gives each of the M minibatches 1/M of the divergence;
            `exponential` gives minibatch j the share 2^(M-j) / (2^M - 1) (section 4.3).
    """

    divergence: Divergence | StackedDivergences
    prior_precision: float | None = None
    initial_precision: float = 10.0
    minibatch_weights: str = "uniform"
    own_hyper_names: ClassVar[tuple[str, ...]] = ("prior_precision",)
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = ({"minibatch_weights": "exponential"},)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("method.initial_precision", self.initial_precision, 0)
        check_choice("method.minibatch_weights", self.minibatch_weights, ("uniform", "exponential"))

    def together(self, others: Sequence[Method], each: int) -> Method | None:
        """Replicas of one stack may differ in their divergence, but for its estimator."""
        members = [self.divergence]
        for other in others:
            if not isinstance(other, BBB) or replace(other, divergence=self.divergence) != self:
                return None
            members.append(other.divergence)
        single = tuple(member for member in members if isinstance(member, Divergence))
        if len(single) < len(members) or len({member.estimator for member in single}) > 1:
            return None
        return replace(self, divergence=StackedDivergences(single, each))

    def share(self, index: int, batches: int) -> float:
        if self.minibatch_weights == "uniform":
            return 1.0
        # 2^(M-j)/(2^M-1) with j from 1, written so that a large M cannot overflow.
        return batches * 2.0 ** -(index + 1) / (1 - 2.0**-batches)

    def init(self, task: FitTask) -> State:
        return softplus_start(task, self.initial_precision)

    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        return (streams.normal(samples, mlp.n_weights),)

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        loc, rho, epsilon = state["loc"], state["rho"], noise[0]
        scale = softplus(rho)
        draws = Draws(loc, scale, epsilon)
        mean, cross = mean_and_cross(mlp, self.likelihood, draws, hyper, batch)
        prior = hyper["prior_precision"]
        d_loc, d_scale = self.divergence.gradient(loc, scale, prior, epsilon)
        share = batch.share / batch.counts
        g_loc = torch.addcmul(mean, share, d_loc)
        g_scale = torch.addcmul(cross, share, d_scale)
        return {
            **adam_on("loc", state, g_loc, batch.unbias, training),
            **adam_on("rho", state, g_scale * torch.sigmoid(rho), batch.unbias, training),
        }

    def rule(self) -> Rule | None:
        if type(self.divergence) is not KL or self.divergence.estimator != "closed":
            return None
        moments = ("loc_first", "loc_second", "rho_first", "rho_second")
        return Rule("bbb", ("loc", "rho", *moments), own=(self.divergence.weight,))

    @property
    def fusible(self) -> bool:
        return not (self.divergence.native and covers(self.likelihood, torch.zeros(1)))

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor:
        loc, scale = self.moments(posterior)
        epsilon = None
        if self.divergence.estimator == "monte_carlo":
            epsilon = streams.normal(TRACED_SAMPLES, posterior.mlp.n_weights)
        prior = posterior.hyper["prior_precision"]
        return self.divergence.value(loc, scale, prior, epsilon)

    def moments(self, posterior: Posterior) -> tuple[Tensor, Tensor]:
        return posterior.state["loc"], softplus(posterior.state["rho"])
