"""Microcanonical Langevin ensembles: an unadjusted Markov chain from each of several MAP networks.

Sommer, Robnik, Nozadze, Seljak & Rügamer, "Microcanonical Langevin Ensembles: Advancing the
Sampling of Bayesian Neural Networks", ICLR 2025. The dynamics: Robnik, De Luca, Silverstein &
Seljak, "Microcanonical Hamiltonian Monte Carlo", JMLR 2023.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated

import torch
from torch import Tensor

from bnnbench.constraints import Between, Count, ListOf, Positive, Whole
from bnnbench.methods.shared.chains import NOISE, WEIGHTS, ChainsMethod
from bnnbench.methods.shared.contract import FitTask, Posterior, check_noise_precision
from bnnbench.methods.shared.hmc.leapfrog import Target
from bnnbench.methods.shared.hmc.network import has_conjugate_noise, posterior_target
from bnnbench.random_streams import Streams

TRUST, MEMORY = 1.5, 100
"""Step-size adaptation: width of the weights in log units, and number of averaged steps."""

SHRINKAGE = 0.8
"""Factor of the step size after a step whose energy is not finite."""


MAX_MAP_STEPS = 10
"""Maximum number of `map_steps` per epoch, so that short fits are short."""


@dataclass(frozen=True, kw_only=True)
class MILE(ChainsMethod):
    """C chains with P weights w and a direction u of length 1; an epoch is one step of each.

    With the energy `U(w) = -log p(w | data)` and the step size s, a step is

        u <- turn(u, s / 2),  w <- w + s u,  u <- turn(u, s / 2)
        u <- (u + nu z) / |u + nu z|,    nu^2 = (exp(2 s / L) - 1) / P,    z ~ Normal(0, I)

        turn(u, h) = (u + e (sinh d + c (cosh d - 1))) / (cosh d + c sinh d)
        e = -U' / |U'|,    c = e' u,    d = h |U'| / (P - 1)

    (Robnik et al., equation 16). There is no acceptance test. The error of a step is its change of
    `U + (P - 1) log(cosh d + c sinh d)`, summed over both turns, which is 0 for exact dynamics.
    During warm-up each chain adapts s so that the mean square of this error is `energy_variance P`.
    L, the length after which the direction is forgotten, is `sqrt(P)` during warm-up, then the root
    of the sum of the weights' variances over its second half.

    The authors use a higher-order integrator with two gradients per step, 12 chains, 50,000 steps
    of warm-up and 10,000 more, of which every tenth is kept; they tune L further from
    autocorrelations. Their networks predict the noise (`likelihood=heteroscedastic`).

    Attributes:
        prior_precision: of the weights, standardised units; None is searched.
        noise_precision: of the observations, for a likelihood that has it; None is searched.
        warm_up: epochs of adaptation, which are discarded; at most half of all epochs.
        thinning: keep every `thinning`-th network, counted back from the last one.
        energy_variance: mean square of the energy error per weight at the start and at the end of
            the warm-up, which changes linearly. It bounds the bias of the unadjusted chain.
        initial_step_size: s at the start.
    """

    identity_name = "bnnbench.methods.mile.MILE"
    family = "mile"
    prior_precision: Annotated[float | None, Between(0)] = None
    noise_precision: Annotated[float | None, Between(0)] = None
    warm_up: Annotated[int, Whole(0)] = 5000
    thinning: Count = 10
    energy_variance: Annotated[tuple[float, float], ListOf(Between(0), length=2)] = (0.5, 0.1)
    initial_step_size: Positive = 0.001
    own_hyper_names = (WEIGHTS,)
    variants = ({"thinning": 3, "energy_variance": (0.1, 0.01)},)

    def check(self) -> None:
        check_noise_precision(self.likelihood, self.noise_precision)

    @property
    def hyper_names(self) -> tuple[str, ...]:
        return (*self.likelihood.hyper_names, *self.own_hyper_names)

    @property
    def gradients_per_epoch(self) -> int:
        return self.chains

    @torch.no_grad()
    def fit(self, task: FitTask) -> Posterior:
        task = replace(task, outputs=self.likelihood.outputs)
        one = task.data.inputs.new_ones(self.chains, task.data.replicas, dtype=torch.float64)
        conjugate = has_conjugate_noise(self.likelihood)
        noise = task.hyper[NOISE].double()[:, 0] if conjugate else 1.0
        factors = torch.stack([noise * one, task.hyper[WEIGHTS].double()[:, 0] * one])
        ensemble = replace(self, map_steps=min(self.map_steps, MAX_MAP_STEPS * task.epochs))
        position = ensemble.trained(task, self.initial_networks(task), factors)
        target = posterior_target(task.mlp, self.likelihood, task.data, task.hyper)
        chain = Chain(target, factors, position, self.initial_step_size, task.streams)
        warm_up, kept = min(self.warm_up, task.epochs // 2), []
        for k in range(task.epochs):
            if k < warm_up:
                first, last = self.energy_variance
                chain.adapt(chain.step(), first + (last - first) * k / warm_up)
                chain.measure(k - warm_up // 2)
                continue
            if k == warm_up:
                chain.end_warm_up()
            chain.step()
            if (task.epochs - 1 - k) % self.thinning == 0:
                kept.append(chain.position)
        draws = torch.stack(kept, 1).flatten(0, 1).transpose(0, 1)
        diverged = ~chain.energy.isfinite().all(0)
        diagnostics = {"step_size": chain.size.mean(0), "momentum_length": chain.length.mean(0)}
        counts = draws.new_tensor(task.data.counts)[:, None]
        return Posterior(
            {"chain": draws}, task.hyper, task.mlp, counts, diverged,
            diagnostics={n: v.masked_fill(diverged, torch.nan) for n, v in diagnostics.items()},
        )  # fmt: skip


class Chain:
    """The state of all chains.

    Args:
        target: the density.
        factors: `[2, C, R]`.
        position: initial weights, `[C, R, P]`.
        size: initial step size.
        streams: random numbers, different for the chains of a replica.

    Attributes:
        position: `[C, R, P]`.
        energy: `[C, R]`.
        size: step sizes, `[C, R]`.
        length: L of the class above, `[C, R]`.
    """

    def __init__(
        self, target: Target, factors: Tensor, position: Tensor, size: float, streams: Streams
    ) -> None:
        self.position = position
        self._target, self._factors, self._streams = target, factors, streams
        self.energy, self._gradient = self._evaluate(position)
        self._direction = unit(self._normal())
        self.size = torch.full_like(self.energy, size)
        self.length = torch.full_like(self.energy, math.sqrt(position.shape[-1]))
        self._weight, self._power = torch.zeros_like(self.size), torch.zeros_like(self.size)
        self._mean, self._squares = torch.zeros_like(position), torch.zeros_like(position)
        self._count = 1

    def step(self) -> Tensor:
        """Take a step and return its energy error, `[C, R]`; undo it where that is not finite."""
        size = self.size[..., None].to(self.position.dtype)
        direction, first = turn(self._direction, self._gradient, size / 2)
        position = self.position + size * direction
        energy, gradient = self._evaluate(position)
        direction, second = turn(direction, gradient, size / 2)
        error = energy - self.energy + first + second
        good = error.isfinite()
        column = good[..., None]
        self.position = torch.where(column, position, self.position)
        self._gradient = torch.where(column, gradient, self._gradient)
        self.energy = torch.where(good, energy, self.energy)
        direction = torch.where(column, direction, -self._direction)
        weights = position.shape[-1]
        scale = (((2 * self.size / self.length).exp() - 1) / weights).sqrt()[..., None]
        self._direction = unit(direction + scale.to(direction.dtype) * self._normal())
        return error

    def adapt(self, error: Tensor, variance: float) -> None:
        """Adapt the step size: the error grows with its third power, and is averaged.

        Args:
            error: of the last step, `[C, R]`.
            variance: target for the mean square of the error per weight.
        """
        good = error.isfinite()
        square = error.square() / (self.position.shape[-1] * variance) + 1e-8
        trust = (-0.5 * (square.log() / (6 * TRUST)).square()).exp()
        decay = (MEMORY - 1) / (MEMORY + 1)
        power = decay * self._power + trust * square / self.size**6
        self._power = torch.where(good, power, self._power)
        self._weight = torch.where(good, decay * self._weight + trust, self._weight)
        adapted = (self._power / self._weight) ** (-1 / 6)
        self.size = torch.where(good, adapted, SHRINKAGE * self.size)

    def measure(self, count: int) -> None:
        """Update means and squared deviations of the weights, if `count` is not negative."""
        if count >= 0:
            change = self.position - self._mean
            self._mean = self._mean + change / (count + 1)
            self._squares = torch.addcmul(self._squares, change, self.position - self._mean)
            self._count = count + 1

    def end_warm_up(self) -> None:
        """Set the length to the root of the sum of the variances of the weights."""
        squares = self._squares.double().sum(2)
        self.length = torch.where(squares > 0, (squares / self._count).sqrt(), self.length)

    def _evaluate(self, position: Tensor) -> tuple[Tensor, Tensor]:
        parts, gradient = self._target(position, self._factors)
        return (self._factors * parts).sum(0), gradient

    def _normal(self) -> Tensor:
        chains, replicas, weights = self.position.shape
        return self._streams.normal(chains, weights).expand(-1, replicas, -1)


def unit(vectors: Tensor) -> Tensor:
    """Return vectors `[..., P]` divided by their lengths."""
    return torch.div(vectors, vectors.norm(dim=-1, keepdim=True))


def turn(direction: Tensor, gradient: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
    """Turn directions `[..., P]` towards the negative gradient for a time `[..., 1]`.

    Returns:
        The new directions, and `(P - 1) log(cosh d + c sinh d)`, `[...]`, float64.
    """
    freedom = direction.shape[-1] - 1
    steepness = gradient.norm(dim=-1, keepdim=True)
    downhill = -gradient / steepness.clamp(min=torch.finfo(gradient.dtype).tiny)
    angle, cosine = time * steepness / freedom, (downhill * direction).sum(-1, keepdim=True)
    # All terms are multiplied by 2 exp(-angle), which cannot overflow.
    small = (-angle).exp()
    pull = (1 - small) * (1 + small + cosine * (1 - small))
    turned = unit(2 * small * direction + pull * downhill)
    growth = (1 + cosine + (1 - cosine) * small.square()).double().log() + angle.double()
    return turned, freedom * (growth - math.log(2))[..., 0]
