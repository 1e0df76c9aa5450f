"""Deterministic variational inference: moments sent through the network in place of samples.

Wu et al., "Deterministic Variational Inference for Robust Bayesian Neural Networks", ICLR 2019.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import softplus

from bnnbench.checks import check_between, check_choice
from bnnbench.divergences.kl import kl
from bnnbench.likelihoods.base import Likelihood
from bnnbench.likelihoods.gaussian import Gaussian
from bnnbench.methods.shared.contract import LEARNT, FitTask, Posterior
from bnnbench.methods.shared.gaussian import GaussianPosterior, softplus_start
from bnnbench.methods.shared.moment_propagation import Moments
from bnnbench.methods.shared.output_moments import layers_of, propagate, slopes
from bnnbench.methods.shared.pieces import rows_at_once
from bnnbench.methods.shared.trainer import Batch, Noise, State, train
from bnnbench.nn import MLP
from bnnbench.optim import Rule, adam_on
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper, Prediction


@dataclass(frozen=True, kw_only=True)
class DVI(GaussianPosterior):
    """Diagonal Gaussian posterior `Normal(loc, softplus(rho)^2)`, by Adam and without samples.

    With the mean m and the variance v of the network's output at a row, over the weights, that
    row's expected negative log-likelihood is

        noise_precision ((y - m)^2 + v) / 2 - log(noise_precision) / 2 + log(2 pi) / 2

    whatever the output's law. m and v go through the layers by moments: those of a linear layer are
    exact for independent inputs, those of a ReLU for Gaussian ones (`moment_propagation`). The
    inputs of the first layer are data, and weights are independent, so that with up to one hidden
    layer both are exact, and so is the bound, less the KL divergence in closed form. The paper's
    covariances between units (DVI) and their neglect (dDVI) are then the same; in deeper networks
    this is dDVI.

    The paper's networks predict their noise too, and their two outputs depend on each other; this
    is its homoscedastic variant, hoDVI. It predicts one Gaussian per point.

    With `prior_precision=learnt` each layer has a prior variance s of its own, weights and biases
    together, with the hyperprior InverseGamma(1, 10); of the layer's n weights with means mu and
    deviations sigma, what maximises the bound is known at every step (empirical Bayes, section 4):

        s = (sum (mu^2 + sigma^2) + 2 * 10) / (n + 2 * 1 + 2)

    Attributes:
        prior_precision: of the weights, biases included, standardised units: a number, None to
            search it, or `learnt`.
        noise_precision: of the observations; None is searched.
        initial_precision: of the posterior.
    """

    prior_precision: float | str | None = None
    noise_precision: float | None = None
    initial_precision: float = 100.0
    own_hyper_names: ClassVar[tuple[str, ...]] = ("noise_precision", "prior_precision")
    shape: ClassVar[float] = 1.0
    scale: ClassVar[float] = 10.0
    records_objective: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.prior_precision, str):
            check_choice("method.prior_precision", self.prior_precision, (LEARNT,))
        super().__post_init__()
        check_between("method.initial_precision", self.initial_precision, 0)

    @property
    def hyper_names(self) -> tuple[str, ...]:
        """Those that are not learnt."""
        return tuple(name for name in self.own_hyper_names if getattr(self, name) != LEARNT)

    @property
    def likelihood(self) -> Likelihood:
        """The one that has this bound."""
        return Gaussian()

    @property
    def draws(self) -> bool:
        return False

    def parameters(self, mlp: MLP) -> int:
        return 2 * mlp.n_weights

    def fit(self, task: FitTask) -> Posterior:
        return train(self, task)

    def init(self, task: FitTask) -> State:
        return softplus_start(task, self.initial_precision)

    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        return ()

    def share(self, index: int, batches: int) -> float:
        """Every minibatch has the same part of the divergence."""
        return 1.0

    def rule(self) -> Rule | None:
        """None: it is stepped by `update`."""
        return None

    def hyper_of(self, state: State, hyper: Hyper) -> Hyper:
        """Those given: a learnt prior is told anew wherever it is asked for."""
        return hyper

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        loc, rho = state["loc"], state["rho"]
        scale = softplus(rho)
        layers = layers_of(mlp, (loc, scale.square()))
        (mean, _), tape, rectified = propagate(layers, batch.inputs)
        by_mean = hyper["noise_precision"] * batch.weights * (mean - batch.targets)
        by_variance = 0.5 * hyper["noise_precision"] * batch.weights
        d_loc, d_variance = slopes(
            layers, tape, rectified, (by_mean.unsqueeze(2), by_variance.unsqueeze(2))
        )
        prior = self._prior(mlp, loc, scale, hyper) / batch.counts
        d_loc = torch.addcmul(d_loc, prior, loc)
        d_scale = (2 * d_variance + prior) * scale - 1 / (batch.counts * scale)
        return {
            **adam_on("loc", state, d_loc, batch.unbias, training),
            **adam_on("rho", state, d_scale * torch.sigmoid(rho), batch.unbias, training),
        }

    def _prior(self, mlp: MLP, loc: Tensor, scale: Tensor, hyper: Hyper) -> Tensor:
        """The prior precision of every weight, `[R, 1]` or `[R, P]`."""
        if self.prior_precision != LEARNT:
            return hyper["prior_precision"]
        sizes = [(a + 1) * b for a, b in zip(mlp.sizes[:-1], mlp.sizes[1:], strict=True)]
        squares = (loc.square() + scale.square()).split(sizes, 1)
        return torch.cat(
            [
                (n + 2 * self.shape + 2) / (own.sum(1, True) + 2 * self.scale).expand_as(own)
                for n, own in zip(sizes, squares, strict=True)
            ],
            1,
        )

    def training_outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """Drawn from Gaussians with the output's moments, whose expected loss is the same."""
        mean, variance = self._outputs(posterior, inputs)
        noise = streams.normal(samples, inputs.shape[1])
        return torch.addcmul(mean, variance.sqrt(), noise).unsqueeze(3)

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor:
        """The KL divergence to the prior."""
        loc, scale = self.moments(posterior)
        width = self._prior(posterior.mlp, loc, scale, posterior.hyper).rsqrt()
        return kl(loc, scale, torch.zeros_like(width), width).sum(1)

    def moments(self, posterior: Posterior) -> tuple[Tensor, Tensor]:
        return posterior.state["loc"], softplus(posterior.state["rho"])

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """One Gaussian per test point; nothing is sampled."""
        mean, variance = self._outputs(posterior, inputs)
        return Prediction(mean[None], variance[None], 1 / posterior.hyper["noise_precision"])

    def _outputs(self, posterior: Posterior, inputs: Tensor) -> Moments:
        """Moments of the networks' output, `[R, M]` each."""
        loc, scale = self.moments(posterior)
        layers = layers_of(posterior.mlp, (loc, scale.square()))
        rows = rows_at_once(posterior.mlp, len(inputs))
        pieces = [propagate(layers, piece)[0] for piece in inputs.split(rows, 1)]
        mean, variance = (torch.cat(one, 1) for one in zip(*pieces, strict=True))
        return mean, variance
