"""Repetitions and configurations of the sprinkler, trained as replicas of one stack.

Algorithms 4 to 9 of the density-ratio thesis: steps of the estimator on fresh draws, then one of
the generator against it. No autograd; every product goes into a buffer that stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

from bnnbench.random_streams import derive_seed
from bnnbench.suites.lam_density_ratio.adam import Adam
from bnnbench.suites.lam_density_ratio.draws import BLOCK, Draws
from bnnbench.suites.lam_density_ratio.networks import (
    ESTIMATOR,
    GENERATOR,
    Architecture,
    Parameters,
    Pass,
    initial_weights,
)
from bnnbench.suites.lam_density_ratio.objectives import Objective, negative_log_likelihood
from bnnbench.suites.lam_density_ratio.schedule import Schedule


@dataclass(frozen=True)
class Problem:
    """What all replicas of a stack have in common.

    Attributes:
        joint: whether pairs `(z, x)` of the joint distributions are contrasted, which needs no
            likelihood, or draws of q and prior at the same observation.
        model: whether q sees observations drawn from the model, or the data.
        data: the observations.
        schedule: how training goes.
        device: `cpu` or `cuda`.
        dtype: of everything that is trained.
    """

    joint: bool
    model: bool
    data: tuple[float, ...]
    schedule: Schedule
    device: str = "cpu"
    dtype: torch.dtype = torch.float32

    @property
    def columns(self) -> int:
        """Draws of q, and of p, in a step."""
        return len(self.data) * self.schedule.samples


@dataclass(frozen=True)
class Replica:
    """One repetition of one configuration.

    Attributes:
        objective: what it minimises.
        seed: of the run.
        repetition: its number; those of the same number start alike and see the same numbers,
            whatever their objective.
    """

    objective: Objective
    seed: int
    repetition: int

    def seed_for(self, *purpose: str | int) -> int:
        """A seed of its own."""
        return derive_seed(self.seed, self.repetition, *purpose)


class Half:
    """One network of a stack with its gradient and its optimiser."""

    def __init__(
        self,
        architecture: Architecture,
        purpose: str,
        problem: Problem,
        replicas: Sequence[Replica],
    ) -> None:
        start = [initial_weights(architecture, one.seed_for(purpose)) for one in replicas]
        flat = torch.stack(start).to(problem.device, problem.dtype)
        self.parameters = Parameters(architecture, flat)
        self.gradient = self.parameters.like()
        self.adam = Adam(flat)

    def descend(self, rate: float, active: Tensor) -> None:
        """One step along the gradient that is there."""
        self.adam.step(self.gradient.flat, rate, active)


class Side:
    """Where draws of q, or of p, go into an estimator and come out of it.

    Args:
        one: evaluates the estimator.
        slopes: of the loss in its outputs, `[R, 1, ...]`.
        columns: those of this side.
    """

    def __init__(self, one: Pass, slopes: Tensor, columns: slice) -> None:
        self._causes, self._seen = one.inputs[:, :, columns], one.observations[:, :, columns]
        self.outputs, self.slopes = one.outputs[:, 0, columns], slopes[:, 0, columns]

    def put(self, causes: Tensor, seen: Tensor | None) -> None:
        """Hands over draws `[R, 2, B]`, and their observations unless these are built in."""
        self._causes.copy_(causes)
        if seen is not None:
            self._seen.copy_(seen)


class Stack:
    """Networks, optimisers and random numbers of all replicas, and the steps that they take.

    Args:
        problem: what they have in common.
        replicas: those of one objective side by side.
    """

    def __init__(self, problem: Problem, replicas: Sequence[Replica]) -> None:
        self.problem, self.replicas = problem, tuple(replicas)
        device = torch.device(problem.device)
        self.generator = Half(GENERATOR, "generator", problem, replicas)
        self.estimator = Half(ESTIMATOR, "estimator", problem, replicas)
        seeds = [one.seed_for("training") for one in replicas]
        self.draws = Draws(
            seeds, problem.columns, problem.joint, problem.model, device, problem.dtype
        )
        self.active = torch.ones(len(replicas), 1, device=device, dtype=problem.dtype)
        self._data = torch.tensor(problem.data, device=device, dtype=problem.dtype)
        self._each = self._data.repeat_interleave(problem.schedule.samples)[None]
        self._slices = _slices(replicas)
        self._make_passes()

    def _make_passes(self) -> None:
        """Buffers for the generator, for the estimator on q and p, and for q alone."""
        columns, weights = self.problem.columns, self.estimator.parameters
        shared = None if self.problem.model else self._data
        self._draw = Pass(self.generator.parameters, columns, shared)
        self._critic = Pass(weights, columns, shared)
        if self.problem.joint and not self.problem.model:
            self._passes = [Pass(weights, columns, shared), Pass(weights, columns)]
            cuts = [(0, slice(None)), (1, slice(None))]
        else:
            self._passes = [Pass(weights, 2 * columns, shared, turns=2)]
            cuts = [(0, slice(0, columns)), (0, slice(columns, None))]
        self._slopes = [torch.empty_like(one.outputs) for one in self._passes]
        self._sides = [Side(self._passes[k], self._slopes[k], own) for k, own in cuts]

    def estimator_steps(self, count: int, rate: float) -> Tensor:
        """Trains the estimator.

        Args:
            count: how many steps.
            rate: the learning rate.

        Returns:
            The loss before each step, `[count, R]`.
        """
        losses = []
        for start in range(0, count, BLOCK):
            block = min(BLOCK, count - start)
            self.draws.refill(block)
            losses += [self._estimator_step(step, rate) for step in range(block)]
        return torch.stack(losses) if losses else self._data.new_empty(0, len(self.replicas))

    def _estimator_step(self, step: int, rate: float) -> Tensor:
        prior = self.draws.prior(step)
        seen_q, seen_p = self._observations(prior, step)
        self._sides[0].put(self._sample(step, seen_q), seen_q)
        self._sides[1].put(prior, seen_p)
        for one in self._passes:
            one.forward()
        loss = self._estimator_loss()
        for k, (one, slope) in enumerate(zip(self._passes, self._slopes, strict=True)):
            one.backward(slope, self.estimator.gradient, add=k > 0)
        self.estimator.descend(rate, self.active)
        return loss

    def _observations(self, prior: Tensor, step: int) -> tuple[Tensor | None, Tensor | None]:
        """Those of draws of q and of p, `[R, 1, B]`; None where the data are built in."""
        seen_q = self.draws.model_observations(step) if self.problem.model else None
        seen_p = self.draws.observations_of(prior, step) if self.problem.joint else seen_q
        return seen_q, seen_p

    def _sample(self, step: int, seen: Tensor | None) -> Tensor:
        """Draws of q, `[R, 2, B]`, in a buffer."""
        self._draw.inputs.copy_(self.draws.noise(step))
        if seen is not None:
            self._draw.observations.copy_(seen)
        return self._draw.forward()

    def _estimator_loss(self) -> Tensor:
        """`[R]`; its slopes in the outputs go where `backward` takes them."""
        on_q, on_p = self._sides
        loss, scale = torch.empty_like(on_q.outputs[:, 0]), 1 / self.problem.columns
        for own, objective in self._slices:
            (value_q, down_q), (value_p, down_p) = objective.terms(
                on_q.outputs[own], on_p.outputs[own]
            )
            torch.mul(down_q, scale, out=on_q.slopes[own])
            torch.mul(down_p, scale, out=on_p.slopes[own])
            loss[own] = value_q.mean(1) + value_p.mean(1)
        return loss

    def generator_step(self, rate: float) -> Tensor:
        """Trains the generator against the estimator as it is.

        Args:
            rate: the learning rate.

        Returns:
            The loss before the step, `[R]`: the negative ELBO where the estimate is right.
        """
        self.draws.refill(1)
        seen = self.draws.model_observations(0) if self.problem.model else None
        z, scale = self._sample(0, seen), 1 / self.problem.columns
        self._critic.inputs.copy_(z)
        if seen is not None:
            self._critic.observations.copy_(seen)
        a, loss = self._critic.forward()[:, 0], torch.empty_like(self.active[:, 0])
        slope = torch.empty_like(a)
        for own, objective in self._slices:
            value, down = objective.log_ratio(a[own])
            slope[own], loss[own] = down * scale, value.mean(1)
        to_z = self._critic.backward(slope[:, None], None, to_inputs=True)
        if not self.problem.joint:
            value, down = negative_log_likelihood(z, self._each if seen is None else seen[:, 0])
            loss += value.mean(1)
            to_z.add_(down, alpha=scale)
        self._draw.backward(to_z, self.generator.gradient)
        self.generator.descend(rate, self.active)
        return loss


def _slices(replicas: Sequence[Replica]) -> list[tuple[slice, Objective]]:
    """Where the replicas of each objective are."""
    found, start = [], 0
    for objective, group in groupby(replicas, lambda one: one.objective):
        count = len(list(group))
        found.append((slice(start, start + count), objective))
        start += count
    return found
