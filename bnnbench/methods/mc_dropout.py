"""MC Dropout: dropout kept on at test time, read as variational inference.

Book, section 4.5 and Algorithm 4; Gal & Ghahramani, "Dropout as a Bayesian Approximation",
ICML 2016.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.likelihoods import gaussian_gradient
from bnnbench.methods.base import FitTask, Posterior
from bnnbench.methods.stochastic import Batch, Noise, State, StochasticMethod
from bnnbench.nn import MLP, backward, forward
from bnnbench.optim import adam
from bnnbench.settings import Training
from bnnbench.streams import Streams
from bnnbench.types import Hyper


@dataclass(frozen=True, kw_only=True)
class MCDropout(StochasticMethod):
    """Bernoulli noise on the input of every weight layer, `W = M diag(mask)`.

    The loss per data point is the Gaussian negative log-likelihood plus
    `keep * prior_precision / (2 N) * ||M||^2`, `keep = 1 - dropout`, biases included: the
    condition of eq. 4.52 for a Gaussian prior on W. Masks are 0 or 1, as in Algorithm 4; the
    inverted scaling of deep-learning libraries (masks 0 or 1/keep) is not applied, since the
    prior is on W.

    Attributes:
        dropout: probability that a unit is dropped; None is searched.
        prior_precision: of the weights, standardised units; None is searched.
        noise_precision: of the observations, standardised units; None is searched.
    """

    dropout: float | None = None
    prior_precision: float | None = None
    noise_precision: float | None = None
    hyper_names: ClassVar[tuple[str, ...]] = ("noise_precision", "prior_precision", "dropout")

    def start(self, task: FitTask) -> State:
        loc = task.mlp.initial(task.streams).expand(task.data.replicas, -1).clone()
        return {"loc": loc, "first": torch.zeros_like(loc), "second": torch.zeros_like(loc)}

    def noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        return tuple(streams.uniform(samples, batch, units) for units in mlp.sizes[:-1])

    def step(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        loc, dropout = state["loc"], hyper["dropout"]
        masks = [(u >= dropout[:, :, None]).to(loc.dtype) for u in noise]
        weights = loc.expand(training.samples, *loc.shape)
        outputs, tape = forward(mlp, weights, batch.inputs, masks)
        gradients = backward(
            tape,
            gaussian_gradient(outputs, batch.targets, batch.weights, hyper["noise_precision"]),
        )
        decay = (1 - dropout) * hyper["prior_precision"] / batch.counts
        updated = adam(
            loc,
            torch.addcmul(gradients.mean(0), decay, loc),
            state["first"],
            state["second"],
            batch.unbias,
            training.learning_rate,
            training.betas,
        )
        return dict(zip(("loc", "first", "second"), updated, strict=True))

    def draw(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        """One mask per sample, shared by all test points: each sample is one function."""
        loc, pieces = posterior.state["loc"], []
        for fan_in, fan_out in pairwise(posterior.mlp.sizes):
            mask = (streams.uniform(samples, fan_in) >= posterior.hyper["dropout"]).to(loc.dtype)
            mask = mask.expand(samples, loc.shape[0], fan_in)
            pieces.append(mask[..., None].expand(*mask.shape, fan_out).flatten(2))
            pieces.append(mask.new_ones(*mask.shape[:2], fan_out))
        return loc * torch.cat(pieces, 2)
