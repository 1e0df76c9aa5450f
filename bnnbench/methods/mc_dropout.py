"""MC dropout: dropout at test time, interpreted as variational inference.

Book, section 4.5, Algorithm 4 and Fig. 4.10; Gal & Ghahramani, "Dropout as a Bayesian
Approximation", ICML 2016. Gaussian noise: Srivastava et al., "Dropout", JMLR 2014. DropConnect:
Wan et al., "Regularization of Neural Networks using DropConnect", ICML 2013.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor

from bnnbench.constraints import Between, OneOf
from bnnbench.methods.shared.contract import FitTask, Posterior, State
from bnnbench.methods.shared.gradients import gradients
from bnnbench.methods.shared.minibatches import Batch, Noise
from bnnbench.methods.shared.trainer import StochasticMethod
from bnnbench.nn import MLP, backward, forward
from bnnbench.optim import NativeUpdate, adam_entries, adam_on, adam_state
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper


@dataclass(frozen=True, kw_only=True)
class MCDropout(StochasticMethod):
    """Multiplicative noise on the weights of every layer: `W = M * z`; biases have no noise.

    The loss per data point is the negative log-likelihood plus
    `prior_precision / (2 N) * E||W||^2`, the part of the KL term due to the Gaussian prior on W
    (condition of eq. 4.52). `E[W^2] = E[z^2] M^2`, so the square of a weight has the factor

        bernoulli    z = 0 or 1, P(1) = keep              E[z^2] = keep
        dropconnect  the same                             E[z^2] = keep
        gaussian     z ~ Normal(1, dropout / keep)        E[z^2] = 1 + dropout / keep = 1 / keep

    with `keep = 1 - dropout`, and that of a bias has the factor 1, or 0 without `bias_prior`. Masks
    are 0 or 1, as in Algorithm 4. The inverted scaling of deep-learning libraries (masks 0 or
    1/keep) is not used, since the prior is on W; Gaussian noise has the mean and variance of the
    scaled mask. The entropy of W is omitted, as required by eq. 4.52, although it depends on M for
    Gaussian noise (see section 4.5.2 of the book).

    Attributes:
        noise: `bernoulli` and `gaussian` draw one z per input unit of a layer, and per row in
            training; `dropconnect` draws one per weight, shared by the rows of a minibatch.
        dropout: probability that a unit or weight is dropped; None is searched.
        weight_init: `fan_in`, as for other methods, or `glorot`.
        bias_prior: whether the prior applies to biases too.
    """

    identity_name = "bnnbench.methods.mc_dropout.MCDropout"
    family = "mc_dropout"
    dropout: Annotated[float | None, Between(0, 1)] = None
    noise: Annotated[str, OneOf("bernoulli", "gaussian", "dropconnect")] = "bernoulli"
    weight_init: Annotated[str, OneOf("fan_in", "glorot")] = "fan_in"
    bias_prior: bool = True
    own_hyper_names = ("prior_precision", "dropout")
    native_cost = 1.5
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"noise": "gaussian"},
        {"noise": "dropconnect", "weight_init": "glorot", "bias_prior": False},
    )

    def init(self, task: FitTask) -> State:
        init = task.mlp.glorot if self.weight_init == "glorot" else task.mlp.initial
        loc = init(task.streams).expand(task.data.replicas, -1).clone()
        return adam_state("loc", loc)

    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        if self.noise == "dropconnect":
            return tuple(self._raw(streams, samples, i * o) for i, o in pairwise(mlp.sizes))
        return tuple(self._raw(streams, samples, batch, units) for units in mlp.sizes[:-1])

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        loc, dropout = state["loc"], hyper["dropout"]
        if self.noise == "dropconnect":
            mask = _flat(mlp, [self._factor(u, dropout) for u in noise])
            gradient = mask * gradients(mlp, self.likelihood, loc * mask, hyper, batch)
        else:
            masks = [self._factor(u, dropout[:, :, None]) for u in noise]
            weights = loc.expand(training.samples, *loc.shape)
            outputs, tape = forward(mlp, weights, batch.inputs, masks)
            gradient = backward(tape, self.output_gradients(outputs, hyper, batch))
        decay = self._penalty(mlp, hyper) / batch.counts
        total = torch.addcmul(gradient.mean(0), decay, loc)
        return adam_on("loc", state, total, batch.bias_correction, training)

    def output_gradients(self, outputs: Tensor, hyper: Hyper, batch: Batch) -> Tensor:
        """Return the gradients of S times the minibatch's loss at the outputs, `[S, R, B, O]`."""
        return self.likelihood.gradient(outputs, batch.targets, batch.weights, hyper)

    def native_update(self) -> NativeUpdate | None:
        if self.noise == "dropconnect":
            return None
        constants = float(self.bias_prior), float(self.noise == "gaussian")
        return NativeUpdate("mc_dropout", adam_entries("loc"), constants)

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor:
        """Return `prior_precision / 2 E||W||^2`."""
        penalty = self._penalty(posterior.mlp, posterior.hyper)
        return 0.5 * (penalty * posterior.state["loc"].square()).sum(1)

    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        """Draw one mask per sample, shared by all test points: each sample is one function."""
        mlp, dropout, factors = posterior.mlp, posterior.hyper["dropout"], []
        for fan_in, fan_out in pairwise(mlp.sizes):
            count = fan_out if self.noise == "dropconnect" else 1
            factor = self._factor(self._raw(streams, samples, fan_in * count), dropout)
            factors.append(factor.repeat_interleave(fan_out // count, 2))
        return posterior.state["loc"] * _flat(mlp, factors)

    def _raw(self, streams: Streams, *shape: int) -> Tensor:
        return streams.normal(*shape) if self.noise == "gaussian" else streams.uniform(*shape)

    def _factor(self, raw: Tensor, dropout: Tensor) -> Tensor:
        """Return z for the numbers drawn by `_raw`."""
        if self.noise == "gaussian":
            return 1 + raw * (dropout / (1 - dropout)).sqrt()
        return (raw >= dropout).to(raw.dtype)

    def _penalty(self, mlp: MLP, hyper: Hyper) -> Tensor:
        """Return the factor of half the square of each weight, `[R, P]`."""
        moment = self._second_moment(hyper["dropout"])
        factors = [moment.expand(-1, i * o)[None] for i, o in pairwise(mlp.sizes)]
        return hyper["prior_precision"] * _flat(mlp, factors, float(self.bias_prior))[0]

    def _second_moment(self, dropout: Tensor) -> Tensor:
        """Return `E[z^2]`."""
        return 1 / (1 - dropout) if self.noise == "gaussian" else 1 - dropout


def _flat(mlp: MLP, factors: list[Tensor], bias: float = 1.0) -> Tensor:
    """Concatenate the layers' factors `[S, R, fan_in fan_out]`, with `bias` for every bias."""
    parts = []
    for factor, fan_out in zip(factors, mlp.sizes[1:], strict=True):
        parts += [factor, factor.new_full((*factor.shape[:2], fan_out), bias)]
    return torch.cat(parts, 2)
