"""CAVI: coordinate ascent variational inference for a linear model, one weight at a time.

Book, section 3.2.1.4 and Appendix A.2, eq. A.10; Marttinen, "Advanced probabilistic methods",
lecture 9, problems 1 to 3, Aalto University 2021.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.constraints import Positive
from bnnbench.divergences.kl import kl
from bnnbench.methods.shared.contract import COVARIANCE, FitTask, Posterior, State
from bnnbench.methods.shared.gaussian import GaussianPosterior, symmetric
from bnnbench.methods.shared.trainer import finite, select
from bnnbench.nn import MLP
from bnnbench.random_streams import Streams
from bnnbench.settings import Network
from bnnbench.types import Prediction, UserError


@dataclass(frozen=True, kw_only=True)
class CAVI(GaussianPosterior):
    """The mean-field Gaussian posterior of a linear model with known precisions.

    With the other factors fixed, the optimal `q(w_i)` is the Gaussian

        Normal((moment_i - sum_{j != i} precision_ij loc_j) / precision_ii, 1 / precision_ii)

    where `precision = noise_precision X'X + prior_precision I` is that of the exact posterior and
    `moment = noise_precision X'y`. The deviations are final after one sweep over the weights, and
    too small if inputs are correlated (section 3.2.1.6). The means converge linearly to the exact
    ones. The limit minimises KL(q || posterior) over all Gaussians with independent weights.

    An epoch is one sweep over the weights, the bias last, with all rows, in float64;
    `training.batch_size` has no effect. The predictive distribution is exact; nothing is sampled.

    Attributes:
        noise_precision: of the observations, standardised units; None is searched.
        prior_precision: of the weights, bias included, standardised units; None is searched.
    """

    identity_name = "bnnbench.methods.cavi.CAVI"
    family = "cavi"
    noise_precision: Positive | None = None
    prior_precision: Positive | None = None
    own_hyper_names = ("noise_precision", "prior_precision")
    records_objective = True
    linear_only = True
    is_stochastic: ClassVar[bool] = False
    joint: ClassVar[str] = COVARIANCE

    def n_parameters(self, mlp: MLP) -> int:
        return 2 * mlp.n_weights

    def check_network(self, inputs: int, network: Network) -> None:
        """Raise `UserError` if there are hidden layers."""
        if network.depth != 0:
            raise UserError(
                f"method={self.label} supports only networks without hidden layers; use depth=0, "
                f"not network.depth={network.depth}.",
                setting="network.depth",
            )

    @torch.no_grad()
    def fit(self, task: FitTask) -> Posterior:
        """Sweep over the weights; a replica that is not finite keeps the previous sweep.

        Raises:
            UserError: if the network has hidden layers.
        """
        self.check_network(task.data.inputs.shape[-1], task.network)
        model = linear_model(task)
        scale = model.prior.rsqrt().expand_as(model.moment)
        state = {"loc": task.mlp.initial(task.streams).double().expand_as(scale), "scale": scale}
        alive, curves = finite(state), []
        for _ in range(task.epochs):
            new = sweep(model, state)
            alive = alive & finite(new)
            state = select(alive, new, state)
            if task.trace_streams is not None:
                curves.append(objective(model, state))
        fitted = Posterior(state, task.hyper, task.mlp, model.counts, ~alive)
        names = curves[0] if curves else ()
        return replace(fitted, trace={n: torch.stack([one[n] for one in curves]) for n in names})

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """Predict one Gaussian per point."""
        loc, scale = self.moments(posterior)
        rows = with_ones(inputs.double())
        mean, variance = rows @ loc[..., None], rows.square() @ scale.square()[..., None]
        noise = 1 / posterior.hyper["noise_precision"].double()
        return Prediction(mean[None, ..., 0], variance[None, ..., 0], noise)

    def joint_covariance(self, posterior: Posterior, inputs: Tensor) -> Tensor:
        """Return `x' S x'`, with independent weights."""
        rows, (_, scale) = with_ones(inputs.double()), self.moments(posterior)
        return symmetric((rows * scale.square()[:, None]) @ rows.mT)

    def moments(self, posterior: Posterior) -> tuple[Tensor, Tensor]:
        return posterior.state["loc"], posterior.state["scale"]


@dataclass(frozen=True)
class StackedLinearModels:
    """R linear models and the natural parameters of their exact posteriors, float64.

    Attributes:
        rows: inputs and a one, `[R, N, P]`, zero on padding.
        targets: `[R, N]`, zero on padding.
        counts: training rows, `[R, 1]`.
        noise: precision of the observations, `[R, 1]`.
        prior: precision of the weights, `[R, 1]`.
        precision: of the exact posterior, `[R, P, P]`.
        moment: `precision` times the exact posterior's mean, `[R, P]`.
    """

    rows: Tensor
    targets: Tensor
    counts: Tensor
    noise: Tensor
    prior: Tensor
    precision: Tensor
    moment: Tensor


def linear_model(task: FitTask) -> StackedLinearModels:
    """Return the models of a fit."""
    data = task.data
    counts = torch.tensor(data.counts, device=data.inputs.device).double()[:, None]
    rows = with_ones(data.inputs.double()) * data.real[..., None]
    targets = data.targets.double()
    noise, prior = (task.hyper[name].double() for name in ("noise_precision", "prior_precision"))
    unit = torch.eye(rows.shape[2], dtype=torch.float64, device=rows.device)
    precision = noise[..., None] * (rows.mT @ rows) + prior[..., None] * unit
    moment = noise * (rows.mT @ targets[..., None])[..., 0]
    return StackedLinearModels(rows, targets, counts, noise, prior, precision, moment)


def with_ones(inputs: Tensor) -> Tensor:
    """Append a one to inputs `[..., D]`, for the bias."""
    return torch.cat([inputs, torch.ones_like(inputs[..., :1])], -1)


def sweep(model: StackedLinearModels, state: State) -> State:
    """Update every factor once, in order."""
    diagonal = model.precision.diagonal(dim1=1, dim2=2)
    loc = state["loc"].clone()
    for i in range(loc.shape[1]):
        others = (model.precision[:, i] * loc).sum(1) - diagonal[:, i] * loc[:, i]
        loc[:, i] = (model.moment[:, i] - others) / diagonal[:, i]
    return {"loc": loc, "scale": diagonal.rsqrt()}


def objective(model: StackedLinearModels, state: State) -> State:
    """Return the negative ELBO per row in two parts, `[R]` each, in closed form.

    `loss` is the expected negative log-likelihood and `complexity` is KL(q || prior), both divided
    by the number of rows, as in `objective_trace`.
    """
    loc, variance = state["loc"], state["scale"].square()
    error = model.targets - (model.rows @ loc[..., None])[..., 0]
    spread = (model.rows.square() @ variance[..., None])[..., 0]
    squares = (error.square() + spread).sum(1, keepdim=True) / model.counts
    loss = 0.5 * (math.log(2 * math.pi) - model.noise.log() + model.noise * squares)
    divergence = kl(loc, state["scale"], torch.zeros_like(model.prior), model.prior.rsqrt())
    complexity = divergence.sum(1, keepdim=True) / model.counts
    return {"loss": loss[:, 0], "complexity": complexity[:, 0]}
