"""Reference implementation of the sprinkler experiment's networks, and small problems."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from bnnbench.suites.lam_density_ratio.adversaries import Replica
from bnnbench.suites.lam_density_ratio.networks import Parameters
from bnnbench.suites.lam_density_ratio.objectives import Objective
from bnnbench.suites.lam_density_ratio.schedule import Schedule
from bnnbench.suites.lam_density_ratio.sprinkler import OBSERVATIONS
from bnnbench.suites.lam_density_ratio.stack import Problem


def reference_network(weights: Parameters, inputs: Tensor, observations: Tensor) -> Tensor:
    """Return the outputs of a network, with operations that autograd supports.

    Args:
        weights: weights of all replicas.
        inputs: `[R, in, B]`.
        observations: `[R, 1, B]`, one per column.

    Returns:
        `[R, out, B]`.
    """

    def layer(weight: Tensor, x: Tensor) -> Tensor:
        return weight[:, :-1].mT @ x + weight[:, -1:].mT

    def branch(layers: Sequence[Tensor], x: Tensor) -> Tensor:
        for weight in layers:
            x = layer(weight, x).relu()
        return x

    joint = torch.cat([branch(weights.main, inputs), branch(weights.observation, observations)], 1)
    return layer(weights.head[-1], branch(weights.head[:-1], joint))


def objective(
    divergence: str, estimator: str = "log_ratio", stable: bool = False, guarded: bool = False
) -> Objective:
    """Return an objective, by default of the log ratio in published numerics."""
    return Objective(divergence, estimator, stable, guarded)


def problem(
    joint: bool = False,
    from_model: bool = False,
    dtype: torch.dtype = torch.float32,
    **settings: float,
) -> Problem:
    """Return a tiny problem; `settings` override its schedule."""
    tiny = {"pretraining_steps": 3, "estimator_steps": 2, "iterations": 4, "samples": 4}
    rates = {"estimator_rate": 1e-3, "posterior_rate": 1e-3}
    schedule = Schedule(**{**tiny, **rates, **settings})  # type: ignore[arg-type]
    return Problem(joint, from_model, OBSERVATIONS, schedule, dtype=dtype)


def replicas(*objectives: Objective, repetition: int = 0) -> list[Replica]:
    """Return one replica per objective, all of the same repetition."""
    return [Replica(0, repetition, one) for one in objectives]
