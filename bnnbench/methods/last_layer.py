"""Variational last layer: a Gaussian over the output weights, on features that are point estimates.

Harrison, Willes & Snoek, "Variational Bayesian Last Layers" (VBLL), ICLR 2024.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import pad

from bnnbench.likelihoods import Gaussian
from bnnbench.methods.shared.contract import (
    COVARIANCE,
    LEARNED,
    FitTask,
    LearnablePrecision,
    Posterior,
    State,
)
from bnnbench.methods.shared.gaussian import GaussianMethod, linearised_covariance
from bnnbench.methods.shared.minibatches import Batch, Noise
from bnnbench.methods.shared.trainer import train
from bnnbench.nn import MLP, backward, forward
from bnnbench.optim import adam_on, adam_state
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper, Prediction

NOISE = "noise_precision"


@dataclass(frozen=True, kw_only=True)
class LastLayer(GaussianMethod):
    """`Normal(m, L L')` over the K output weights, L lower triangular; other weights are points.

    With the features `phi` of a row, a one appended, and the noise precision b, the bound on its
    log likelihood is known without sampling (Harrison et al., theorem 1):

        log Normal(y; m' phi, 1 / b) - b |L' phi|^2 / 2

    Training minimises minus its sum over rows, plus the KL divergence to
    `Normal(0, I / prior_precision)`, plus `prior_precision / 2 ||w||^2` for the other weights w.
    For fixed features and noise the optimum is the exact posterior of Bayesian linear regression;
    `method=laplace method.last_layer=true` fits the features first and then uses that posterior.

    The paper has the prior variance 1 for the output weights and its own weight decay for the
    others, an inverse Wishart prior on the noise, and no bias in the last layer.

    Attributes:
        noise_precision: of the observations, standardised units: a number, None to search it, or
            `learned`: the maximiser of the bound, `1 / b = mean (y - m' phi)^2 + |L' phi|^2`, from
            an average of minibatches that forgets with a rate of one epoch.
    """

    identity_name = "bnnbench.methods.last_layer.LastLayer"
    family = "last_layer"
    noise_precision: LearnablePrecision = None
    likelihood: ClassVar[Gaussian] = Gaussian()  # type: ignore[misc]
    is_stochastic: ClassVar[bool] = False
    joint: ClassVar[str] = COVARIANCE
    variants = ({"noise_precision": LEARNED},)

    @property
    def learns_noise(self) -> bool:
        """Whether the noise precision is learned."""
        return self.noise_precision == LEARNED

    def n_parameters(self, mlp: MLP) -> int:
        size = mlp.sizes[-2] + 1
        return mlp.n_weights + size * (size + 1) // 2 + self.learns_noise

    def init(self, task: FitTask) -> State:
        """Return initial weights, `log(K) / -2` on the diagonal of L, and the noise variance 1."""
        replicas, size = task.data.replicas, task.mlp.sizes[-2] + 1
        loc = task.mlp.initial(task.streams).expand(replicas, -1).clone()
        log_diagonal = (
            -0.5
            * torch.eye(size, dtype=torch.float32, device="cpu").to(loc)
            * loc.new_tensor(float(size)).log()
        )
        root = log_diagonal.flatten().expand(replicas, -1).clone()
        noise = {"noise": loc.new_ones(replicas, 1)} if self.learns_noise else {}
        return adam_state("loc", loc) | adam_state("root", root) | noise

    def effective_hyper(self, state: State, hyper: Hyper) -> Hyper:
        return {**hyper, NOISE: 1 / state["noise"]} if self.learns_noise else hyper

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        precision = self.effective_hyper(state, hyper)[NOISE]
        decay = hyper["prior_precision"] / batch.counts
        root = _triangular(state)
        wide, weights = _with_root(mlp, state["loc"], root)
        outputs, tape = forward(wide, weights[None], batch.inputs)
        errors = torch.cat([outputs[..., :1] - batch.targets[..., None], outputs[..., 1:]], 3)
        gradient = backward(tape, (batch.weights * precision)[..., None] * errors)[0]
        fixed, size = mlp.n_weights - root.shape[1], root.shape[1]
        last = torch.unflatten(gradient[:, fixed:], 1, (size, size + 1))
        d_loc = torch.cat([gradient[:, :fixed], last[:, :, 0]], 1) + decay * state["loc"]
        d_root = last[:, :, 1:].tril() + decay[..., None] * root
        diagonal = root.diagonal(dim1=1, dim2=2)
        d_log = d_root.diagonal(dim1=1, dim2=2) * diagonal - 1 / batch.counts
        d_root = d_root.tril(-1) + torch.diag_embed(d_log)
        new = {
            **adam_on("loc", state, d_loc, batch.bias_correction, training),
            **adam_on("root", state, d_root.flatten(1), batch.bias_correction, training),
        }
        if self.learns_noise:
            squares = (batch.weights * errors.square().sum(3)[0]).sum(1, keepdim=True)
            rows = (batch.weights > 0).sum(1, keepdim=True)
            new["noise"] = torch.lerp(state["noise"], squares, rows / batch.counts)
        return new

    def fit(self, task: FitTask) -> Posterior:
        fitted = train(self, task)
        if not self.learns_noise:
            return fitted
        precision = fitted.hyper[NOISE][:, 0].masked_fill(fitted.diverged, torch.nan)
        return replace(fitted, diagnostics={f"learned_{NOISE}": precision})

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor:
        """Return the KL divergence of the output weights, and the penalty of the others."""
        prior, root = posterior.hyper["prior_precision"][:, 0], _triangular(posterior.state)
        squares = posterior.state["loc"].square().sum(1) + root.square().sum((1, 2))
        logs = root.diagonal(dim1=1, dim2=2).log().sum(1)
        return 0.5 * (prior * squares - root.shape[1] * (1 + prior.log())) - logs

    def moments(self, posterior: Posterior) -> tuple[Tensor, Tensor]:
        loc, covariance = posterior.state["loc"], self.covariance(posterior)
        return loc, covariance.diagonal(dim1=1, dim2=2).sqrt()

    def covariance(self, posterior: Posterior) -> Tensor:
        """Return the covariance of the weights, zero for those of the features."""
        root = _triangular(posterior.state)
        fixed = posterior.mlp.n_weights - root.shape[1]
        return pad(root @ root.mT, (fixed, 0, fixed, 0))

    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        root = _triangular(posterior.state)
        noise = streams.normal(samples, root.shape[1])
        offset = torch.einsum("rij,srj->sri", root, noise.expand(samples, len(root), -1))
        fixed = posterior.mlp.n_weights - root.shape[1]
        return posterior.state["loc"] + pad(offset, (fixed, 0))

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """Predict one Gaussian per point, without sampling."""
        wide, weights = _with_root(
            posterior.mlp, posterior.state["loc"], _triangular(posterior.state)
        )
        outputs, _ = forward(wide, weights[None], inputs)
        variance = outputs[..., 1:].square().sum(3)
        return Prediction(outputs[..., 0], variance, 1 / posterior.hyper[NOISE])

    def joint_covariance(self, posterior: Posterior, inputs: Tensor) -> Tensor:
        return linearised_covariance(posterior, self.covariance(posterior), inputs)


def _triangular(state: Mapping[str, Tensor]) -> Tensor:
    """Return L, `[R, K, K]`; the state has the logarithm of its diagonal."""
    size = round(state["root"].shape[1] ** 0.5)
    raw = torch.unflatten(state["root"], 1, (size, size))
    return raw.tril(-1) + torch.diag_embed(raw.diagonal(dim1=1, dim2=2).exp())


def _with_root(mlp: MLP, loc: Tensor, root: Tensor) -> tuple[MLP, Tensor]:
    """Return the network that has `L' phi` as further outputs, and its weights `[R, P']`."""
    size = root.shape[1]
    last = torch.cat([loc[:, -size:, None], root], 2)
    return (
        MLP((*mlp.sizes[:-1], 1 + size)),
        torch.cat([loc[:, :-size], last.flatten(1)], 1),
    )
