"""Training steps of the sprinkler for a stack of repetitions and configurations.

Algorithms 4 to 9 of the density-ratio thesis: several steps of the estimator on fresh draws, then
one step of the generator. Gradients are derived by hand and written to preallocated buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

from bnnbench.random_streams import derive_seed
from bnnbench.suites.lam_density_ratio.adam import Adam
from bnnbench.suites.lam_density_ratio.draws import BLOCK_STEPS, Draws
from bnnbench.suites.lam_density_ratio.networks import (
    ESTIMATOR,
    GENERATOR,
    Architecture,
    BufferedNetwork,
    Parameters,
    initial_weights,
)
from bnnbench.suites.lam_density_ratio.objectives import Objective, negative_log_likelihood
from bnnbench.suites.lam_density_ratio.schedule import Schedule


@dataclass(frozen=True)
class Problem:
    """Settings shared by all replicas of a stack.

    Attributes:
        joint: whether to contrast pairs `(z, x)` of the joint distributions, which needs no
            likelihood, instead of draws of q and of the prior at the same observation.
        from_model: whether q's observations are drawn from the model instead of the data.
        data: the observations.
        schedule: training schedule.
        device: `cpu` or `cuda`.
        dtype: type of weights and draws.
    """

    joint: bool
    from_model: bool
    data: tuple[float, ...]
    schedule: Schedule
    device: str = "cpu"
    dtype: torch.dtype = torch.float32

    @property
    def columns(self) -> int:
        """Number of draws of q, and of p, per step."""
        return len(self.data) * self.schedule.samples


@dataclass(frozen=True)
class Replica:
    """One repetition of one configuration.

    Attributes:
        objective: the losses.
        seed: seed of the run.
        repetition: number of the repetition. Equal numbers start from the same weights and see the
            same random numbers, whatever the objective.
    """

    objective: Objective
    seed: int
    repetition: int

    def seed_for(self, *purpose: str | int) -> int:
        """Return a seed of this repetition."""
        return derive_seed(self.seed, self.repetition, *purpose)


class TrainedNetwork:
    """Replicas of one network with their gradient and optimiser."""

    def __init__(
        self,
        architecture: Architecture,
        purpose: str,
        problem: Problem,
        replicas: Sequence[Replica],
    ) -> None:
        initial = [initial_weights(architecture, replica.seed_for(purpose)) for replica in replicas]
        flat = torch.stack(initial).to(problem.device, problem.dtype)
        self.parameters = Parameters(architecture, flat)
        self.gradient = self.parameters.zeros_like()
        self.adam = Adam(flat)

    def update(self, rate: float, active: Tensor) -> None:
        """Take one step with the current gradient."""
        self.adam.step(self.gradient.flat, rate, active)


class EstimatorBuffers:
    """Views of the estimator's inputs and outputs for draws of q, or of p.

    Args:
        network: the estimator.
        slopes: gradient of the loss at its outputs, `[R, 1, ...]`.
        columns: the columns of these draws.
    """

    def __init__(self, network: BufferedNetwork, slopes: Tensor, columns: slice) -> None:
        self._causes = network.inputs[:, :, columns]
        self._observations = network.observations[:, :, columns]
        self.outputs, self.slopes = network.outputs[:, 0, columns], slopes[:, 0, columns]

    def write(self, causes: Tensor, observations: Tensor | None) -> None:
        """Write draws `[R, 2, B]` and, unless these are shared, their observations."""
        self._causes.copy_(causes)
        if observations is not None:
            self._observations.copy_(observations)


class Stack:
    """Networks, optimisers and random numbers of all replicas, and their training steps.

    Args:
        problem: settings that they share.
        replicas: the replicas, those with the same objective adjacent.
    """

    def __init__(self, problem: Problem, replicas: Sequence[Replica]) -> None:
        self.problem, self.replicas = problem, tuple(replicas)
        device = torch.device(problem.device)
        self.generator = TrainedNetwork(GENERATOR, "generator", problem, replicas)
        self.estimator = TrainedNetwork(ESTIMATOR, "estimator", problem, replicas)
        seeds = [replica.seed_for("training") for replica in replicas]
        self.draws = Draws(
            seeds, problem.columns, problem.joint, problem.from_model, device, problem.dtype
        )
        self.active = torch.ones(len(replicas), 1, device=device, dtype=problem.dtype)
        self._data = torch.tensor(problem.data, device=device, dtype=problem.dtype)
        self._each = self._data.repeat_interleave(problem.schedule.samples)[None]
        self._slices = _objective_slices(replicas)
        self._allocate_buffers()

    def _allocate_buffers(self) -> None:
        """Allocate buffers for the generator, for the estimator on q and p, and on q alone."""
        columns, weights = self.problem.columns, self.estimator.parameters
        shared = None if self.problem.from_model else self._data
        self._sampler = BufferedNetwork(self.generator.parameters, columns, shared)
        self._critic = BufferedNetwork(weights, columns, shared)
        if self.problem.joint and not self.problem.from_model:
            networks = [
                BufferedNetwork(weights, columns, shared),
                BufferedNetwork(weights, columns),
            ]
            column_slices = [(0, slice(None)), (1, slice(None))]
        else:
            networks = [BufferedNetwork(weights, 2 * columns, shared, repeats=2)]
            column_slices = [(0, slice(0, columns)), (0, slice(columns, None))]
        self._networks = networks
        self._slopes = [torch.empty_like(network.outputs) for network in networks]
        self._buffers = [
            EstimatorBuffers(networks[k], self._slopes[k], column_range)
            for k, column_range in column_slices
        ]

    def estimator_steps(self, count: int, rate: float) -> Tensor:
        """Train the estimator.

        Args:
            count: number of steps.
            rate: learning rate.

        Returns:
            The loss before each step, `[count, R]`.
        """
        losses = []
        for start in range(0, count, BLOCK_STEPS):
            block = min(BLOCK_STEPS, count - start)
            self.draws.refill(block)
            losses += [self._estimator_step(step, rate) for step in range(block)]
        return torch.stack(losses) if losses else self._data.new_empty(0, len(self.replicas))

    def _estimator_step(self, step: int, rate: float) -> Tensor:
        prior = self.draws.prior(step)
        x_q, x_p = self._observations(prior, step)
        self._buffers[0].write(self._sample(step, x_q), x_q)
        self._buffers[1].write(prior, x_p)
        for network in self._networks:
            network.forward()
        loss = self._estimator_loss()
        for k, (network, slope) in enumerate(zip(self._networks, self._slopes, strict=True)):
            network.backward(slope, self.estimator.gradient, add=k > 0)
        self.estimator.update(rate, self.active)
        return loss

    def _observations(self, prior: Tensor, step: int) -> tuple[Tensor | None, Tensor | None]:
        """Return observations of draws of q and of p, `[R, 1, B]`; None for the shared data."""
        x_q = self.draws.model_observations(step) if self.problem.from_model else None
        x_p = self.draws.observations_of(prior, step) if self.problem.joint else x_q
        return x_q, x_p

    def _sample(self, step: int, observations: Tensor | None) -> Tensor:
        """Return draws of q, `[R, 2, B]`, in a buffer."""
        self._sampler.inputs.copy_(self.draws.noise(step))
        if observations is not None:
            self._sampler.observations.copy_(observations)
        return self._sampler.forward()

    def _estimator_loss(self) -> Tensor:
        """Return the loss `[R]`, and write its gradient at the outputs to the buffers."""
        on_q, on_p = self._buffers
        loss, scale = torch.empty_like(on_q.outputs[:, 0]), 1 / self.problem.columns
        for rows, objective in self._slices:
            (value_q, down_q), (value_p, down_p) = objective.terms(
                on_q.outputs[rows], on_p.outputs[rows]
            )
            torch.mul(down_q, scale, out=on_q.slopes[rows])
            torch.mul(down_p, scale, out=on_p.slopes[rows])
            loss[rows] = value_q.mean(1) + value_p.mean(1)
        return loss

    def generator_step(self, rate: float) -> Tensor:
        """Take one step of the generator against the current estimator.

        Args:
            rate: learning rate.

        Returns:
            The loss before the step, `[R]`: the negative ELBO if the estimate is exact.
        """
        self.draws.refill(1)
        x = self.draws.model_observations(0) if self.problem.from_model else None
        z, scale = self._sample(0, x), 1 / self.problem.columns
        self._critic.inputs.copy_(z)
        if x is not None:
            self._critic.observations.copy_(x)
        a, loss = self._critic.forward()[:, 0], torch.empty_like(self.active[:, 0])
        slope = torch.empty_like(a)
        for rows, objective in self._slices:
            value, down = objective.log_ratio(a[rows])
            slope[rows], loss[rows] = down * scale, value.mean(1)
        to_z = self._critic.backward(slope[:, None], None, to_inputs=True)
        if not self.problem.joint:
            value, down = negative_log_likelihood(z, self._each if x is None else x[:, 0])
            loss += value.mean(1)
            to_z.add_(down, alpha=scale)
        self._sampler.backward(to_z, self.generator.gradient)
        self.generator.update(rate, self.active)
        return loss


def _objective_slices(replicas: Sequence[Replica]) -> list[tuple[slice, Objective]]:
    """Return each objective with the slice of its replicas."""
    slices, start = [], 0
    for objective, group in groupby(replicas, lambda replica: replica.objective):
        count = len(list(group))
        slices.append((slice(start, start + count), objective))
        start += count
    return slices
