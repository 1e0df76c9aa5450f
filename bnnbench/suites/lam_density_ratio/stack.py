"""Training steps of the sprinkler for a stack of repetitions.

Algorithms 4 to 9 of the density-ratio thesis: several steps of the estimator on fresh draws, then
one step of the generator. Gradients are derived by hand and written to preallocated buffers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bnnbench.experiment.kinds.resumable_stack import State
from bnnbench.suites.lam_density_ratio import posterior_distances
from bnnbench.suites.lam_density_ratio.adversaries import Adversaries, Replica, TrainedNetwork
from bnnbench.suites.lam_density_ratio.networks import ESTIMATOR, GENERATOR, BufferedNetwork
from bnnbench.suites.lam_density_ratio.objectives import StackedObjectives, Terms
from bnnbench.suites.lam_density_ratio.schedule import Schedule
from bnnbench.suites.lam_density_ratio.sprinkler import BASE_MEAN, PRIOR_VARIANCE

BLOCK_STEPS = 20
"""Number of steps whose random numbers are drawn together."""

SAMPLES = 1000
"""Draws of q per observation in one evaluation, as in the thesis's programs."""


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


class Draws:
    """Draws of noise, prior and observations in blocks of steps, with a stream per replica."""

    def __init__(self, problem: Problem, replicas: Sequence[Replica]) -> None:
        device = torch.device(problem.device)
        self.generators = [
            torch.Generator(device).manual_seed(replica.seed_for("training"))
            for replica in replicas
        ]
        # Three rows of noise, two of the prior, and two of the causes of q's observations.
        rows = 7 if problem.from_model else 5
        self._normal, self._exponential = (
            torch.empty(
                *(len(replicas), BLOCK_STEPS, size, problem.columns),
                device=device,
                dtype=problem.dtype,
            )
            for size in (rows, problem.joint + problem.from_model)
        )

    def refill(self, steps: int) -> None:
        """Draw new numbers for `steps` steps, at most `BLOCK_STEPS`."""
        for k, generator in enumerate(self.generators):
            self._normal[k, :steps].normal_(generator=generator)
            if self._exponential.numel():
                self._exponential[k, :steps].exponential_(generator=generator)
        self._normal[:, :steps, 3:] *= math.sqrt(PRIOR_VARIANCE)

    def noise(self, step: int) -> Tensor:
        """Return the generator's standard normal input, `[R, 3, B]`."""
        return self._normal[:, step, :3]

    def prior(self, step: int) -> Tensor:
        """Return draws of p(z), `[R, 2, B]`."""
        return self._normal[:, step, 3:5]

    def observations_of(self, causes: Tensor, step: int) -> Tensor:
        """Return draws of p(x|z) for draws of p, `[R, 1, B]`."""
        return _observe(causes, self._exponential[:, step, :1])

    def model_observations(self, step: int) -> Tensor:
        """Return draws of p(x) for draws of q, `[R, 1, B]`."""
        return _observe(self._normal[:, step, 5:], self._exponential[:, step, -1:])


def _observe(causes: Tensor, unit_exponential: Tensor) -> Tensor:
    """Return observations `[R, 1, B]` for causes `[R, 2, B]`."""
    return unit_exponential * (BASE_MEAN + causes.clamp_min(0).pow(3).sum(1, keepdim=True))


class Columns(NamedTuple):
    """The estimator's inputs and outputs for draws of q, or of p.

    Attributes:
        causes: `[R, 2, B]`.
        observations: `[R, 1, B]`, unless they are shared.
        outputs: `[R, B]`.
        slopes: gradient of the loss at the outputs, `[R, B]`.
    """

    causes: Tensor
    observations: Tensor
    outputs: Tensor
    slopes: Tensor


class DensityRatioStack(Adversaries):
    """Networks, optimisers and random numbers of all replicas, and their training steps.

    Args:
        problem: settings that they share.
        replicas: the replicas, those with the same objective adjacent.
    """

    networks = ("generator", "estimator")
    score = "average_kl"

    def __init__(self, problem: Problem, replicas: Sequence[Replica]) -> None:
        like = torch.empty(0, device=problem.device, dtype=problem.dtype)
        super().__init__(replicas, problem.schedule, like)
        self.problem = problem
        self.generator = TrainedNetwork(GENERATOR, "generator", replicas, self.active)
        self.estimator = TrainedNetwork(ESTIMATOR, "estimator", replicas, self.active)
        self.draws = Draws(problem, replicas)
        self._data = self.active.new_tensor(problem.data)
        self._each = self._data.repeat_interleave(problem.schedule.samples)[None]
        self._objectives = StackedObjectives([replica.objective for replica in replicas])
        self._allocate_buffers()

    def _allocate_buffers(self) -> None:
        """Allocate buffers for the generator, for the estimator on q and p, and on q alone."""
        columns, weights = self.problem.columns, self.estimator.parameters
        shared = None if self.problem.from_model else self._data
        self._sampler = BufferedNetwork(self.generator.parameters, columns, shared)
        self._critic = BufferedNetwork(weights, columns, shared)
        if self.problem.joint and shared is not None:
            on_q, on_p = (BufferedNetwork(weights, columns, seen) for seen in (shared, None))
            self._networks, places = [on_q, on_p], [(0, slice(None)), (1, slice(None))]
        else:
            repeats = 1 if shared is None else 2
            self._networks = [BufferedNetwork(weights, 2 * columns, shared, repeats)]
            places = [(0, slice(0, columns)), (0, slice(columns, None))]
        self._slopes = [torch.empty_like(network.outputs) for network in self._networks]
        self._columns = [
            Columns(
                self._networks[k].inputs[:, :, part],
                self._networks[k].observations[:, :, part],
                self._networks[k].outputs[:, 0, part],
                self._slopes[k][:, 0, part],
            )
            for k, part in places
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
        x_q = self.draws.model_observations(step) if self.problem.from_model else None
        x_p = self.draws.observations_of(prior, step) if self.problem.joint else x_q
        draws = (self._sample(step, x_q), x_q), (prior, x_p)
        for columns, (causes, observations) in zip(self._columns, draws, strict=True):
            columns.causes.copy_(causes)
            if observations is not None:
                columns.observations.copy_(observations)
        for network in self._networks:
            network.forward()
        on_q, on_p = self._columns
        loss = self._objectives.estimator_loss(
            (on_q.outputs, on_q.slopes), (on_p.outputs, on_p.slopes)
        )
        for k, (network, slope) in enumerate(zip(self._networks, self._slopes, strict=True)):
            network.backward(slope, self.estimator.gradient, add=k > 0)
        self.estimator.update(rate, self.active)
        return loss

    def _sample(self, step: int, observations: Tensor | None) -> Tensor:
        """Return draws of q, `[R, 2, B]`, in a buffer.

        Args:
            step: step of the block whose noise to use.
            observations: `[R, 1, B]`; None for the shared data.
        """
        self._sampler.inputs.copy_(self.draws.noise(step))
        if observations is not None:
            self._sampler.observations.copy_(observations)
        return self._sampler.forward()

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
        loss, slope = self._objectives.log_ratio(self._critic.forward()[:, 0])
        to_z = self._critic.backward(slope[:, None], None, to_inputs=True)
        if not self.problem.joint:
            value, down = negative_log_likelihood(z, self._each if x is None else x[:, 0])
            loss += value.mean(1)
            to_z.add_(down, alpha=scale)
        self._sampler.backward(to_z, self.generator.gradient)
        self.generator.update(rate, self.active)
        return loss

    @cached_property
    def _evaluated(self) -> BufferedNetwork:
        return BufferedNetwork(self.generator.parameters, SAMPLES * len(self._data), self._data)

    @torch.inference_mode()
    def samples(self, *purpose: str | int) -> Tensor:
        """Return draws of the current q, `[R, K, SAMPLES, 2]`.

        Args:
            purpose: name of the random stream; equal names give equal random numbers.
        """
        for k, replica in enumerate(self.replicas):
            random = torch.Generator(self.active.device).manual_seed(replica.seed_for(*purpose))
            self._evaluated.inputs[k].normal_(generator=random)
        z = self._evaluated.forward()
        return z.view(len(z), 2, -1, SAMPLES).permute(0, 2, 3, 1).contiguous()

    def evaluate(self, iteration: int) -> dict[str, Tensor]:
        """Return the average KL, `[R]`."""
        samples = self.samples("evaluation", iteration)
        return {"average_kl": posterior_distances.average_kl(samples, self.problem.data)}

    def replica_state(self, k: int) -> dict[str, Any]:
        return {"random": self.draws.generators[k].get_state(), **super().replica_state(k)}

    def restore_replica(self, k: int, state: State) -> None:
        super().restore_replica(k, state)
        self.draws.generators[k].set_state(state["random"])


def negative_log_likelihood(z: Tensor, x: Tensor) -> Terms:
    """Return `-log p(x|z)` of the sprinkler `[R, B]` and its gradient at `z` `[R, 2, B]`.

    Args:
        z: `[R, 2, B]`.
        x: `[R or 1, B]`.
    """
    positive = z.clamp_min(0)
    mean = BASE_MEAN + positive.pow(3).sum(1)
    slope = ((1 - x / mean) / mean).unsqueeze(1) * (3 * positive.square())
    return mean.log() + x / mean, slope
