"""Stein variational gradient descent and repulsive ensembles: networks that keep apart.

Liu & Wang, "Stein Variational Gradient Descent: A General Purpose Bayesian Inference Algorithm",
NeurIPS 2016; D'Angelo & Fortuin, "Repulsive Deep Ensembles are Bayesian", NeurIPS 2021; in function
space also Wang et al., "Function Space Particle Optimization for Bayesian Neural Networks", ICLR
2019.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from bnnbench.checks import check_between, check_choice, check_int
from bnnbench.methods.shared.contract import LEARNT, FitTask, Posterior
from bnnbench.methods.shared.gradients import gradients
from bnnbench.methods.shared.particles import DRIFTS, kde_wgd
from bnnbench.methods.shared.stochastic import StochasticMethod
from bnnbench.methods.shared.trainer import Batch, Noise, State, train
from bnnbench.nn import MLP, backward, forward
from bnnbench.optim import adam_on
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper, Prediction

FUNCTION = "function"
NOISE, WEIGHTS = "noise_precision", "prior_precision"
FIRST_ROWS = 1000  # at most, by which the first noise precisions are told
FIRST_PRIOR = 0.1  # mean of the exponential law from which the first prior precisions are drawn
FUDGE = 1e-6  # beside AdaGrad's root, of a slope of the whole log-posterior


@dataclass(frozen=True, kw_only=True)
class SVGD(StochasticMethod):
    """M networks, particles, whose step is a drift of `particles`; predicts their mixture.

    The score of a particle w is the slope of its log-posterior, `-(N g + prior_precision w)` with g
    the gradient of a minibatch's mean loss. The drift is taken by Adam, as the optimiser of all
    methods here, or as in Liu & Wang's program by AdaGrad with a short memory,

        s <- phi^2 at the first step, then decay s + (1 - decay) phi^2      decay = betas[1]
        w <- w + learning_rate phi / (1e-6 + sqrt(s))

    A precision that is `learnt` is one of a particle's coordinates, as its logarithm, in the kernel
    too. Its prior is Gamma(shape, rate), and the density is that of the logarithm, so that a factor
    of it is the Jacobian: the slopes are, of n rows with errors e and of P weights,

        d / d log noise_precision = n / 2 + shape - noise_precision (|e|^2 / 2 + rate)
        d / d log prior_precision = P / 2 + shape - prior_precision (|w|^2 / 2 + rate)

    The first starts where it makes this zero, for a particle's first weights and up to 1000 rows,
    and the second at a draw from an exponential law of mean 0.1: a prior that is wide at first.

    With `drift=function` particles repel each other by what they put out for the minibatch's rows:
    `kde_wgd` of these outputs, whose score is that of the rows' likelihood, N / B times, pulled
    back to the weights by the network's Jacobian. The prior is that over weights, where D'Angelo &
    Fortuin estimate the slope of the prior over functions from draws. A precision that is learnt
    follows its own slope alone.

    With one particle every drift is its score: MAP. Few of them in many dimensions are much closer
    together than draws from the posterior (Ba et al., "Understanding the Variance Collapse of SVGD
    in High Dimensions", ICLR 2022). In a standard Gaussian of `d >= M - 1` dimensions they settle
    on the corners of a simplex, and by their equations have the variance

        log(M + 1) (1 - 1 / M) / d     for `svgd`; for `sge_wgd` over `1 + eta (1 + 1 / M)`
        half of that                   for `kde_wgd`

    which is 0.004 instead of 1 for 20 particles and the 751 weights of a network on Boston's data.

    Where Liu & Wang's program says something else than their paper, or than we do: it holds out the
    last tenth of the training rows, at most 500, and fits each particle's noise anew on them where
    that raises their likelihood, in the target's units; where not, a value in standardised units is
    used as if it were in these. Here nothing is held out. The draws of first prior precisions are
    the program's, although its prior has the rate 0.1, not the mean. Its weights start at
    `Normal(0, 1 / (fan_in + 1))` and its biases at 0, where ours start as those of all methods do.
    It goes through the rows in one order for ever, where they are shuffled here before every
    epoch. Its demo's 2000 steps by 100 rows are 400 epochs of Boston's. Steps of 0.001 take the log
    noise precision no further than about 2 in these, on yacht 1: too little for the fit there.

    Attributes:
        particles: M.
        drift: `svgd`, `kde_wgd`, `sge_wgd`, `function`.
        optimiser: `adam` or `adagrad`.
        prior_precision: of the weights, biases included, standardised units: a number, None to
            search it, or `learnt`.
        noise_precision: the same of the observations, for a likelihood that has it.
        prior_gamma: shape and rate.
        noise_gamma: shape and rate.
    """

    particles: int = 20
    drift: str = "svgd"
    optimiser: str = "adam"
    prior_precision: float | str | None = None
    noise_precision: float | str | None = None
    prior_gamma: tuple[float, float] = (1.0, 0.1)
    noise_gamma: tuple[float, float] = (1.0, 0.1)
    own_hyper_names: ClassVar[tuple[str, ...]] = (WEIGHTS,)
    records_objective: ClassVar[bool] = False
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"drift": "sge_wgd", "particles": 3},
        {"drift": FUNCTION, "particles": 3},
    )

    def __post_init__(self) -> None:
        for name in (NOISE, WEIGHTS):
            if isinstance(getattr(self, name), str):
                check_choice(f"method.{name}", getattr(self, name), (LEARNT,))
        super().__post_init__()
        check_int("method.particles", self.particles)
        check_choice("method.drift", self.drift, (*DRIFTS, FUNCTION))
        check_choice("method.optimiser", self.optimiser, ("adam", "adagrad"))
        for name in ("prior_gamma", "noise_gamma"):
            for value in getattr(self, name):
                check_between(f"method.{name}", value, 0)

    @property
    def learnt(self) -> tuple[str, ...]:
        """The precisions that are coordinates of a particle, in their order."""
        names = (*self.likelihood.hyper_names, *self.own_hyper_names)
        return tuple(name for name in names if getattr(self, name) == LEARNT)

    @property
    def hyper_names(self) -> tuple[str, ...]:
        """Those that are not learnt."""
        return tuple(name for name in super().hyper_names if name not in self.learnt)

    @property
    def draws(self) -> bool:
        return False

    @property
    def gradients(self) -> int:
        return self.particles

    @property
    def point_estimate(self) -> bool:
        return self.particles == 1

    def parameters(self, mlp: MLP) -> int:
        return self.particles * (mlp.n_weights + len(self.learnt))

    def fit(self, task: FitTask) -> Posterior:
        return train(self, replace(task, outputs=self.likelihood.outputs, trace=None))

    def init(self, task: FitTask) -> State:
        """Particles lie side by side, `[R, M Q]`: weights, then logarithms of what is learnt."""
        shape = (self.particles, task.data.replicas, -1)
        starts = [task.mlp.initial(task.streams) for _ in range(self.particles)]
        weights = torch.stack(starts).expand(shape).contiguous()
        logs = [self._first(name, task, weights).log() for name in self.learnt]
        loc = torch.cat([weights, *logs], 2).transpose(0, 1).flatten(1)
        zeros = torch.zeros_like(loc)
        first = {"loc_first": zeros} if self.optimiser == "adam" else {}
        return {"loc": loc, **first, "loc_second": zeros}

    def _first(self, name: str, task: FitTask, weights: Tensor) -> Tensor:
        """Where a learnt precision starts, `[M, R, 1]`."""
        if name == WEIGHTS:
            uniform = task.streams.uniform(self.particles, 1)
            return (-FIRST_PRIOR * torch.log1p(-uniform)).expand(-1, task.data.replicas, -1)
        shape, rate = self.noise_gamma
        inputs, targets = (one[:, :FIRST_ROWS] for one in (task.data.inputs, task.data.targets))
        real = task.data.real[:, :FIRST_ROWS]
        errors = forward(task.mlp, weights, inputs)[0].squeeze(3) - targets
        squares = torch.where(real, errors.square(), 0).sum(2, True)
        found = (shape + real.sum(1, True) / 2) / (rate + squares / 2)
        return found.nan_to_num(nan=1.0)  # a fit that is to be lost starts finite

    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        return ()

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        drift = self.drift_of(mlp, state["loc"], hyper, batch)
        if self.optimiser == "adam":
            return adam_on("loc", state, -drift, batch.unbias, training)
        square = drift.square()
        longer = torch.lerp(square, state["loc_second"], training.betas[1])
        second = torch.where(batch.taken == 0, square, longer)
        # The drift is that of a row's share of the log-posterior, and so is what is added.
        scale = second.sqrt() + FUDGE / batch.counts
        return {
            "loc": torch.addcdiv(state["loc"], drift, scale, value=training.learning_rate),
            "loc_second": second,
        }

    def drift_of(self, mlp: MLP, loc: Tensor, hyper: Hyper, batch: Batch) -> Tensor:
        """Where the particles go, over the number of rows, `[R, M Q]`."""
        weights, own = self._read(mlp, loc, hyper)
        slopes = []
        if self.drift == FUNCTION or NOISE in self.learnt:
            outputs, tape = forward(mlp, weights, batch.inputs)
            d_outputs = self.likelihood.gradient(outputs, batch.targets, batch.weights, own)
            if NOISE in self.learnt:
                slopes.append(self._noise_slope(outputs, own[NOISE], batch))
            if self.drift == FUNCTION:
                d_outputs = _repelled(outputs, d_outputs, batch)
            gradient = backward(tape, d_outputs)
        else:
            gradient = gradients(mlp, self.likelihood, weights, own, batch)
        pull = own[WEIGHTS] / batch.counts
        if WEIGHTS in self.learnt:
            shape, rate = self.prior_gamma
            half = weights.square().sum(2, True) / 2 + rate
            slopes.append((mlp.n_weights / 2 + shape) / batch.counts - pull * half)
        scores = torch.cat([-torch.addcmul(gradient, pull, weights), *slopes], 2).transpose(0, 1)
        if self.drift == FUNCTION:
            return scores.flatten(1)
        particles = loc.unflatten(1, (self.particles, -1))
        return DRIFTS[self.drift](particles, scores, 1 / batch.counts[:, :, None]).flatten(1)

    def _noise_slope(self, outputs: Tensor, precision: Tensor, batch: Batch) -> Tensor:
        """That of the log noise precision, over the number of rows, `[M, R, 1]`."""
        shape, rate = self.noise_gamma
        errors = outputs.squeeze(3) - batch.targets
        _, by_log_scale = self.likelihood.loss.slopes(errors, precision, batch.weights)
        return 0.5 * by_log_scale.sum(2, True) + (shape - rate * precision) / batch.counts

    def _read(self, mlp: MLP, loc: Tensor, hyper: Hyper) -> tuple[Tensor, Hyper]:
        """Weights of the particles, `[M, R, P]`; hyper-parameters, those learnt `[M, R, 1]`."""
        particles = loc.unflatten(1, (self.particles, -1)).transpose(0, 1)
        learnt = particles[..., mlp.n_weights :].exp().split(1, 2)
        own = dict(zip(self.learnt, learnt, strict=True)) if self.learnt else {}
        return particles[..., : mlp.n_weights], {**hyper, **own}

    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        """The particles in turn: there is nothing random about them."""
        weights, _ = self._read(posterior.mlp, posterior.state["loc"], posterior.hyper)
        return weights[torch.arange(samples, device=weights.device) % self.particles]

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """One component per particle, with its own noise where that is learnt."""
        weights, own = self._read(posterior.mlp, posterior.state["loc"], posterior.hyper)
        outputs = [forward(posterior.mlp, one[None], inputs)[0] for one in weights]
        return self.likelihood.prediction(torch.cat(outputs), own)


def _repelled(outputs: Tensor, d_outputs: Tensor, batch: Batch) -> Tensor:
    """Slopes of the loss at the outputs, `[M, R, B, O]`, less the drift that keeps these apart."""
    real = (batch.weights > 0)[:, :, None]
    functions = torch.where(real, outputs, 0).transpose(0, 1)
    scores = -d_outputs.transpose(0, 1).flatten(2)
    drift = kde_wgd(functions.flatten(2), scores, 1 / batch.counts[:, :, None])
    return -drift.view_as(functions).transpose(0, 1)
