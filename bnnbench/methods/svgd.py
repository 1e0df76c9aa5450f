"""Stein variational gradient descent and repulsive ensembles: particles that repel each other.

Liu & Wang, "Stein Variational Gradient Descent: A General Purpose Bayesian Inference Algorithm",
NeurIPS 2016; D'Angelo & Fortuin, "Repulsive Deep Ensembles are Bayesian", NeurIPS 2021; in function
space also: Wang et al., "Function Space Particle Optimization for Bayesian Neural Networks", ICLR
2019.

Particles follow the score s(x), the gradient of the log density. The kernel of M particles is
`k(x, y) = exp(-|x - y|^2 / (2 h^2))` with the bandwidth `h^2 = median |x - y|^2 / (2 log(M + 1))`.
A particle x_i moves along one of

    svgd     1/M sum_j (k(x_i, x_j) s(x_j) + grad_j k(x_i, x_j))
    kde_wgd  s(x_i) - sum_j grad_i k(x_i, x_j) / sum_j k(x_i, x_j)
    sge_wgd  s(x_i) - [(K + eta I)^-1 G]_i,   G_i = sum_j grad_i k(x_i, x_j)

`svgd` is Stein variational gradient descent: Liu & Wang, eq. 8, and section 5 for the bandwidth.
The other two are Wasserstein gradient flows, with the score of the particles' own density estimated
from a kernel density or by Stein's identity: D'Angelo & Fortuin, section 3. Shapes of particles and
scores in the functions of drifts: `[R, M, Q]`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from bnnbench.constraints import Count, OneOf
from bnnbench.methods.map import MAP
from bnnbench.methods.shared.contract import (
    DRAWS,
    LEARNED,
    FitTask,
    LearnablePrecision,
    Posterior,
    ShapeAndRate,
    State,
)
from bnnbench.methods.shared.gradients import gradients
from bnnbench.methods.shared.minibatches import Batch, Noise
from bnnbench.methods.shared.trainer import train
from bnnbench.nn import MLP, backward, forward
from bnnbench.optim import NativeUpdate, adam_entries, adam_on, adam_state
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper, Prediction

ETA = 0.01
"""Regularisation of `sge_wgd`, as in the authors' code."""

Drift = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Function of the particles, their scores, and the weight of the repulsion, `[R, 1, 1]`."""


def squared_distances(particles: Tensor) -> Tensor:
    """Return the squared distances of all pairs, `[R, M, M]`."""
    # Centred, since a large common offset would cancel badly.
    centred = particles - particles.mean(1, keepdim=True)
    squares = centred.square().sum(2)
    products = torch.bmm(centred, centred.mT)
    distances = (squares[:, :, None] + squares[:, None, :] - 2 * products).clamp(min=0)
    identity = torch.eye(len(distances[0]), dtype=distances.dtype, device=distances.device)
    return distances * (1 - identity)


def squared_bandwidth(distances: Tensor) -> Tensor:
    """Return `h^2` from the median of all `M^2` squared distances, zeros included, `[R, 1, 1]`."""
    count = distances.shape[1] ** 2
    ordered = distances.flatten(1).sort(1).values
    median = 0.5 * (ordered[:, (count - 1) // 2] + ordered[:, count // 2])
    tiny = torch.finfo(distances.dtype).tiny  # a single particle has no distances
    return (0.5 * median / math.log(distances.shape[1] + 1)).clamp(min=tiny)[:, None, None]


def kernel(particles: Tensor) -> tuple[Tensor, Tensor]:
    """Return the kernel matrix, `[R, M, M]`, and the repulsion `sum_j grad_j k(x_i, x_j)`.

    The repulsion `[R, M, Q]` points away from the other particles. The bandwidth is treated as a
    constant.
    """
    distances = squared_distances(particles)
    bandwidth = squared_bandwidth(distances)
    values = torch.exp(-0.5 * distances / bandwidth)
    centred = particles - particles.mean(1, keepdim=True)
    repulsion = values.sum(2, keepdim=True) * centred - torch.bmm(values, centred)
    return values, repulsion / bandwidth


def svgd(particles: Tensor, scores: Tensor, weight: Tensor) -> Tensor:
    """Follow the scores of all particles, weighted by the kernel."""
    values, repulsion = kernel(particles)
    return (torch.bmm(values, scores) + weight * repulsion) / particles.shape[1]


def kde_wgd(particles: Tensor, scores: Tensor, weight: Tensor) -> Tensor:
    """Follow the score of the target minus that of the particles' kernel density."""
    values, repulsion = kernel(particles)
    return scores + weight * repulsion / values.sum(2, keepdim=True)


def sge_wgd(particles: Tensor, scores: Tensor, weight: Tensor) -> Tensor:
    """Like `kde_wgd`, with Stein's estimate of the score of the particles' density."""
    values, repulsion = kernel(particles)
    ridge = ETA * torch.eye(particles.shape[1], dtype=values.dtype, device=values.device)
    estimate: Tensor = torch.linalg.solve_ex(values + ridge, repulsion).result
    return scores + weight * estimate


DRIFTS: Mapping[str, Drift] = {"svgd": svgd, "kde_wgd": kde_wgd, "sge_wgd": sge_wgd}


FUNCTION = "function"
NATIVE_DRIFTS = (*DRIFTS, FUNCTION)  # in the order of particles.h
NOISE, WEIGHTS = "noise_precision", "prior_precision"
MAX_INIT_ROWS = 1000  # used to initialise noise precisions
INIT_PRIOR_MEAN = 0.1  # mean of the exponential distribution of initial prior precisions
ADAGRAD_EPSILON = 1e-6  # for the gradient of the whole log-posterior


@dataclass(frozen=True, kw_only=True)
class SVGD(MAP):
    """M networks, the particles, that follow one of `DRIFTS`; predicts their mixture.

    The score of a particle w is the gradient of the log-posterior, `-(N g + prior_precision w)`
    with the gradient g of a minibatch's mean loss. The drift phi is applied by Adam, like in other
    methods, or as in the code of Liu & Wang by AdaGrad with a decaying average,

        s <- phi^2 at the first step, then decay s + (1 - decay) phi^2      decay = betas[1]
        w <- w + learning_rate phi / (1e-6 + sqrt(s))

    The logarithm of a `learned` precision is a coordinate of each particle, and part of the kernel.
    Its prior is Gamma(shape, rate). The density of the logarithm includes the Jacobian, so the
    scores for n rows with errors e, and for P weights, are

        d / d log noise_precision = n / 2 + shape - noise_precision (|e|^2 / 2 + rate)
        d / d log prior_precision = P / 2 + shape - prior_precision (|w|^2 / 2 + rate)

    The noise precision starts at the value where this is zero, for the initial weights of the
    particle and up to 1000 rows. The prior precision is drawn from an exponential distribution with
    mean 0.1, so that the prior is wide at first.

    With `drift=function`, particles repel each other in the space of their outputs for a minibatch.
    The drift is `kde_wgd` of these outputs with the score of the rows' likelihood, times N / B,
    mapped to the weights by the network's Jacobian. The prior is that over weights; D'Angelo &
    Fortuin estimate the gradient of the prior over functions from samples. A learned precision only
    follows its own score.

    With one particle every drift equals the score, which gives MAP. A few particles in many
    dimensions are much closer together than draws from the posterior (Ba et al., "Understanding
    the Variance Collapse of SVGD in High Dimensions", ICLR 2022). For a standard Gaussian of
    `d >= M - 1` dimensions they converge to the corners of a simplex, with the variance

        log(M + 1) (1 - 1 / M) / d     for `svgd`; for `sge_wgd` divided by `1 + eta (1 + 1 / M)`
        half of that                   for `kde_wgd`

    This is 0.004 instead of 1 for 20 particles and the 751 weights of a network on Boston.

    The code of Liu & Wang differs from their paper and from this file. It holds out the last tenth
    of the training rows, at most 500, and refits each particle's noise on them, in the units of the
    target, if that increases their likelihood; otherwise it uses a value in standardised units as
    if it were in target units. Here nothing is held out. The initial prior precisions are those of
    the code, although its prior has the rate 0.1, not the mean. Its weights start at
    `Normal(0, 1 / (fan_in + 1))` and its biases at 0; ours are initialised as for other methods. It
    never reshuffles the rows; here they are shuffled before every epoch. The 2000 steps of 100 rows
    in its demo are 400 epochs on Boston. With a learning rate of 0.001 the log noise precision
    changes by at most about 2 in these steps, on yacht by 1, which is too little to fit yacht.

    Attributes:
        particles: M.
        drift: `svgd`, `kde_wgd`, `sge_wgd` or `function`.
        optimiser: `adam` or `adagrad`.
        prior_precision: of the weights, biases included, standardised units: a number, None to
            search it, or `learned`.
        noise_precision: of the observations, for a likelihood that has it: as `prior_precision`.
        prior_gamma: shape and rate of the prior of a learned `prior_precision`.
        noise_gamma: shape and rate of the prior of a learned `noise_precision`.
    """

    identity_name = "bnnbench.methods.svgd.SVGD"
    family = "svgd"
    particles: Count = 20
    drift: Annotated[str, OneOf(*NATIVE_DRIFTS)] = "svgd"
    optimiser: Annotated[str, OneOf("adam", "adagrad")] = "adam"
    prior_precision: LearnablePrecision = None
    noise_precision: LearnablePrecision = None
    prior_gamma: ShapeAndRate = (1.0, 0.1)
    noise_gamma: ShapeAndRate = (1.0, 0.1)
    records_objective = False
    native_cost = 2.0
    joint: ClassVar[str] = DRAWS
    variants = (
        {"drift": "sge_wgd", "particles": 3},
        {"drift": FUNCTION, "particles": 3},
    )

    @property
    def learned(self) -> tuple[str, ...]:
        """The learned precisions, in the order of a particle's coordinates."""
        names = (*self.likelihood.hyper_names, *self.own_hyper_names)
        return tuple(name for name in names if getattr(self, name) == LEARNED)

    def native_update(self) -> NativeUpdate | None:
        if self.drift not in NATIVE_DRIFTS:  # of a subclass
            return None
        is_adam = self.optimiser == "adam"
        priors = (self.prior_precision, self.prior_gamma), (self.noise_precision, self.noise_gamma)
        # Not `self.learned`: native code knows only the order of this class.
        are_learned = [precision == LEARNED for precision, _ in priors]
        none = math.nan, math.nan
        own = (g if learned else none for learned, (_, g) in zip(are_learned, priors, strict=True))
        return NativeUpdate(
            "svgd" if is_adam else "svgd_adagrad",
            adam_entries("loc") if is_adam else ("loc", "loc_second"),
            (float(NATIVE_DRIFTS.index(self.drift)), *chain(*own)),
            members=self.particles,
            coordinates=sum(are_learned),
        )

    @property
    def portable(self) -> bool:
        """As for other methods, unless torch computes initial values of learned precisions."""
        return super().portable and not self.learned

    @property
    def gradients_per_epoch(self) -> int:
        return self.particles

    @property
    def n_networks(self) -> int:
        return self.particles

    @property
    def point_estimate(self) -> bool:
        return self.particles == 1

    def n_parameters(self, mlp: MLP) -> int:
        return self.particles * (mlp.n_weights + len(self.learned))

    def fit(self, task: FitTask) -> Posterior:
        return train(self, replace(task, trace_streams=None))

    def init(self, task: FitTask) -> State:
        """Return concatenated particles, `[R, M Q]`: weights, then logs of learned precisions."""
        shape = (self.particles, task.data.replicas, -1)
        initial = [task.mlp.initial(task.streams) for _ in range(self.particles)]
        weights = torch.stack(initial).expand(shape).contiguous()
        logs = [self._initial_precision(name, task, weights).log() for name in self.learned]
        loc = torch.cat([weights, *logs], 2).transpose(0, 1).flatten(1)
        state = adam_state("loc", loc)
        if self.optimiser == "adagrad":
            del state["loc_first"]
        return state

    def _initial_precision(self, name: str, task: FitTask, weights: Tensor) -> Tensor:
        """Return the initial value of a learned precision, `[M, R, 1]`."""
        if name == WEIGHTS:
            uniform = task.streams.uniform(self.particles, 1)
            return (-INIT_PRIOR_MEAN * torch.log1p(-uniform)).expand(-1, task.data.replicas, -1)
        shape, rate = self.noise_gamma
        data = (task.data.inputs, task.data.targets, task.data.real)
        inputs, targets, real = (tensor[:, :MAX_INIT_ROWS] for tensor in data)
        errors = forward(task.mlp, weights, inputs)[0].squeeze(3) - targets
        squares = torch.where(real, errors.square(), 0).sum(2, True)
        precision = (shape + real.sum(1, True).to(squares) / 2) / (rate + squares / 2)
        return precision.nan_to_num(nan=1.0)  # the initial state must be finite

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        drift = self.drift_of(mlp, state["loc"], hyper, batch)
        if self.optimiser == "adam":
            return adam_on("loc", state, -drift, batch.bias_correction, training)
        square = drift.square()
        average = torch.lerp(square, state["loc_second"], training.betas[1])
        second = torch.where(batch.steps_taken == 0, square, average)
        # The drift is that of the log-posterior divided by N, so epsilon is divided by N too.
        scale = second.sqrt() + ADAGRAD_EPSILON / batch.counts
        return {
            "loc": torch.addcdiv(state["loc"], drift, scale, value=training.learning_rate),
            "loc_second": second,
        }

    def drift_of(self, mlp: MLP, loc: Tensor, hyper: Hyper, batch: Batch) -> Tensor:
        """Return the drift of the particles, divided by the number of rows, `[R, M Q]`."""
        weights, effective = self._unpack(mlp, loc, hyper)
        log_scores = []
        if self.drift == FUNCTION or NOISE in self.learned:
            outputs, tape = forward(mlp, weights, batch.inputs)
            d_outputs = self.likelihood.gradient(outputs, batch.targets, batch.weights, effective)
            if NOISE in self.learned:
                log_scores.append(self._noise_score(outputs, effective[NOISE], batch))
            if self.drift == FUNCTION:
                d_outputs = _with_repulsion(outputs, d_outputs, batch)
            gradient = backward(tape, d_outputs)
        else:
            gradient = gradients(mlp, self.likelihood, weights, effective, batch)
        decay = effective[WEIGHTS] / batch.counts
        if WEIGHTS in self.learned:
            shape, rate = self.prior_gamma
            half = weights.square().sum(2, True) / 2 + rate
            log_scores.append((mlp.n_weights / 2 + shape) / batch.counts - decay * half)
        weight_scores = -torch.addcmul(gradient, decay, weights)
        scores = torch.cat([weight_scores, *log_scores], 2).transpose(0, 1)
        if self.drift == FUNCTION:
            return scores.flatten(1)
        particles = torch.unflatten(loc, 1, (self.particles, -1))
        return DRIFTS[self.drift](particles, scores, 1 / batch.counts[:, :, None]).flatten(1)

    def _noise_score(self, outputs: Tensor, precision: Tensor, batch: Batch) -> Tensor:
        """Return the score of the log noise precision, divided by N, `[M, R, 1]`."""
        shape, rate = self.noise_gamma
        errors = outputs.squeeze(3) - batch.targets
        _, by_log_scale = self.likelihood.loss.slopes(errors, precision, batch.weights)
        return 0.5 * by_log_scale.sum(2, True) + (shape - rate * precision) / batch.counts

    def _unpack(self, mlp: MLP, loc: Tensor, hyper: Hyper) -> tuple[Tensor, Hyper]:
        """Return weights `[M, R, P]` and hyper-parameters, learned ones `[M, R, 1]`."""
        particles = self.by_network(loc)
        learned = torch.split(particles[..., mlp.n_weights :].exp(), 1, 2)
        precisions = dict(zip(self.learned, learned, strict=True)) if self.learned else {}
        return particles[..., : mlp.n_weights], {**hyper, **precisions}

    def networks(self, posterior: Posterior) -> Tensor:
        return self._unpack(posterior.mlp, posterior.state["loc"], posterior.hyper)[0]

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """Predict one mixture component per particle, with its own noise if that is learned."""
        _, effective = self._unpack(posterior.mlp, posterior.state["loc"], posterior.hyper)
        return self.likelihood.prediction(
            self.outputs(posterior, inputs, samples, streams), effective
        )


def _with_repulsion(outputs: Tensor, d_outputs: Tensor, batch: Batch) -> Tensor:
    """Add the repulsion between outputs to their loss gradients, `[M, R, B, O]`."""
    real = (batch.weights > 0)[:, :, None]
    functions = torch.where(real, outputs, 0).transpose(0, 1)
    scores = -d_outputs.transpose(0, 1).flatten(2)
    drift = kde_wgd(functions.flatten(2), scores, 1 / batch.counts[:, :, None])
    return -drift.view_as(functions).transpose(0, 1)
