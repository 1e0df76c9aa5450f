"""Two posteriors of posteriordb, compared with means and deviations of its reference draws."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from bnnbench.methods.shared.hmc.adaptation import QuarterPeriods
from bnnbench.methods.shared.hmc.leapfrog import Target, leapfrog
from bnnbench.methods.shared.hmc.sampler import ChainSchedule, sample
from bnnbench.random_streams import Streams

STORED: dict[str, Any] = json.loads(Path(__file__).with_name("posteriordb.json").read_text())

Energy = Callable[[Tensor], Tensor]
"""Negative log density `[C, R]` of unconstrained positions `[C, R, P]`, including Jacobians."""


def target_of(energy: Energy) -> Target:
    """Return the target, with gradients by autograd."""

    def target(position: Tensor, factors: Tensor) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            place = position.detach().requires_grad_()
            value = energy(place)
            (gradient,) = torch.autograd.grad(value.sum(), place)
        return value.detach()[None], gradient

    return target


def regression(data: dict[str, Any]) -> Any:
    """Return a linear regression from sufficient statistics, whitened around least squares.

    The prior of the coefficients is flat, and that of sigma is a Cauchy.
    """
    gram, cross = (torch.tensor(data[k]).double() for k in ("gram", "cross"))
    rows, least = data["rows"], torch.linalg.solve(gram, cross)
    rest = data["square"] - least @ cross
    sigma = (rest / rows).sqrt()
    root = sigma * torch.linalg.inv(torch.linalg.cholesky(gram)).T

    def parameters(z: Tensor) -> tuple[Tensor, Tensor]:
        return least + z[..., :-1] @ root.T, z[..., -1] / math.sqrt(2 * rows) + sigma.log()

    def energy(z: Tensor) -> Tensor:
        _, log_sigma = parameters(z)
        squares = rest + sigma**2 * z[..., :-1].square().sum(-1)
        of_rows = rows * log_sigma + 0.5 * squares * (-2 * log_sigma).exp()
        return of_rows + (1 + (log_sigma.exp() / 2.5) ** 2).log() - log_sigma

    def named(z: Tensor) -> dict[str, Tensor]:
        beta, log_sigma = parameters(z)
        found = {f"beta[{k + 1}]": beta[..., k] for k in range(len(least))}
        return {**found, "sigma": log_sigma.exp()}

    return energy, named, len(least) + 1


def schools(data: dict[str, Any]) -> Any:
    y, sigma = (torch.tensor(data[k]).double() for k in ("y", "sigma"))

    def split(z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return effects divided by tau, mu = 5 z, and tau."""
        return z[..., :8], 5 * z[..., 8:9], z[..., 9:].exp()

    def energy(z: Tensor) -> Tensor:
        unit, mu, tau = split(z)
        of_data = 0.5 * ((y - unit * tau - mu) / sigma).square().sum(-1)
        of_priors = 0.5 * z[..., :9].square().sum(-1) + (1 + (tau[..., 0] / 5) ** 2).log()
        return of_data + of_priors - z[..., 9]

    def named(z: Tensor) -> dict[str, Tensor]:
        unit, mu, tau = split(z)
        effects = {f"theta[{k + 1}]": (unit * tau + mu)[..., k] for k in range(8)}
        return {**effects, "mu": mu[..., 0], "tau": tau[..., 0]}

    return energy, named, 10


MODELS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "kidiq-kidscore_momiq": regression,
    "eight_schools-eight_schools_noncentered": schools,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_means_and_deviations_are_those_of_the_reference(name: str) -> None:
    energy, named, size = MODELS[name](STORED[name]["data"])
    streams = Streams([3], (0,), dtype=torch.float64)
    chains = 40 if "schools" in name else 24
    found = sample(
        partial(leapfrog, target_of(energy)),
        streams.normal(chains, size),
        torch.ones(1, chains, 1).double(),
        QuarterPeriods(0.5, part=0),
        ChainSchedule(warm_up=100, draws=80),
        streams,
    )
    assert found.divergent.sum() <= 0.001 * chains * 80
    draws = named(found.draws.flatten(0, 2))
    reference = STORED[name]["reference"]
    assert draws.keys() == reference.keys()
    for parameter, (mean, deviation) in reference.items():
        own = draws[parameter]
        assert abs(own.mean().item() - mean) < 0.12 * deviation, parameter
        assert own.std().item() == pytest.approx(deviation, rel=0.12), parameter
