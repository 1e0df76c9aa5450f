"""The sprinkler's networks as one would write them down, and small problems."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from bnnbench.suites.lam_density_ratio.networks import Parameters
from bnnbench.suites.lam_density_ratio.objectives import GAN, Objective, RatioDivergence, ReverseKL
from bnnbench.suites.lam_density_ratio.schedule import Schedule
from bnnbench.suites.lam_density_ratio.sprinkler import OBSERVED
from bnnbench.suites.lam_density_ratio.stack import Problem, Replica

DIVERGENCES: dict[str, RatioDivergence] = {
    "reverse_kl": ReverseKL(label="reverse_kl"),
    "gan": GAN(label="gan"),
}


def plain(weights: Parameters, inputs: Tensor, observations: Tensor) -> Tensor:
    """A network that autograd can follow.

    Args:
        weights: of all replicas.
        inputs: `[R, in, B]`.
        observations: `[R, 1, B]`, one for every column.

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
    divergence: str, estimator: str = "T", stable: bool = False, guarded: bool = False
) -> Objective:
    """By the names of its parts."""
    return Objective(DIVERGENCES[divergence], estimator, stable, guarded)


def problem(
    joint: bool = False, model: bool = False, dtype: torch.dtype = torch.float32, **settings: float
) -> Problem:
    """Tiny, unless its schedule is told otherwise."""
    tiny = {"pretraining_steps": 3, "estimator_steps": 2, "iterations": 4, "samples": 4}
    rates = {"estimator_rate": 1e-3, "posterior_rate": 1e-3}
    schedule = Schedule(label="tiny", **{**tiny, **rates, **settings})  # type: ignore[arg-type]
    return Problem(joint, model, OBSERVED, schedule, dtype=dtype)


def replicas(*objectives: Objective, repetition: int = 0) -> list[Replica]:
    """One of each objective, all of the same repetition."""
    return [Replica(one, seed=0, repetition=repetition) for one in objectives]
