"""MILE: dynamics against their equations, a Gaussian posterior in closed form, settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from support.linear_model import N, exact_posterior, linear_data, make_hyper

from bnnbench.methods.mile import MILE, Chain, turn, unit
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training


def method(**settings: Any) -> MILE:
    return MILE(label="mile", **settings)


def fit(own: MILE, epochs: int) -> Posterior:
    hyper = {name: make_hyper()[name] for name in own.hyper_names}
    streams, training = Streams([1], (0,), dtype=torch.float64), Training(dtype="float64")
    data, training = linear_data(), replace(training, batch_size=N, learning_rate=0.05)
    return own.fit(FitTask(data, hyper, Network(depth=0), training, epochs, streams))


@pytest.mark.slow
def test_it_finds_the_exact_posterior_of_a_linear_model() -> None:
    mean, precision = exact_posterior()
    own = method(chains=600, warm_up=200, map_steps=100, energy_variance=(0.01, 0.001))
    posterior = fit(own, 400)
    draws = posterior.state["chain"][0]
    assert draws.shape == (600 * 20, 3)
    root = torch.linalg.cholesky(precision)
    whitened = (draws - mean) @ root
    torch.testing.assert_close(whitened.mean(0), torch.zeros(3).double(), atol=0.06, rtol=0)
    torch.testing.assert_close(whitened.T.cov(), torch.eye(3).double(), atol=0.08, rtol=0)
    assert not posterior.diverged.any() and (posterior.diagnostics["step_size"] > 0.01).all()


def test_turning_follows_the_equation() -> None:
    generator = torch.Generator().manual_seed(0)
    direction, gradient = torch.randn(2, 4, 5, generator=generator, dtype=torch.float64)
    direction, time = unit(direction), torch.tensor([0.0, 0.3, 2.0, 900.0]).double()[:, None]
    turned, growth = turn(direction, gradient, time)
    downhill, angle = -unit(gradient), time * gradient.norm(dim=1, keepdim=True) / 4
    cosine = (downhill * direction).sum(1, keepdim=True)
    divisor = angle.cosh() + cosine * angle.sinh()
    expected = (direction + downhill * (angle.sinh() + cosine * (angle.cosh() - 1))) / divisor
    torch.testing.assert_close(turned[:3], expected[:3])
    torch.testing.assert_close(growth[:3], 4 * divisor.log()[:3, 0])
    torch.testing.assert_close(turned[3], downhill[3])
    assert growth.isfinite().all()


def test_the_energy_error_is_of_third_order() -> None:
    """Without noise in the direction, an eighth for half the step size."""
    scales = torch.tensor([1.0, 2.0, 3.0, 4.0]).double()

    def target(position: torch.Tensor, factors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        energy = 0.5 * (scales * position.square()).sum(2)
        return torch.stack([energy, 0 * energy]), scales * position

    errors = []
    for size in (0.01, 0.005):
        streams = Streams([5], (0,), dtype=torch.float64)
        start = torch.ones(1, 1, 4).double()
        chain = Chain(target, torch.ones(2, 1, 1).double(), start, size, streams)
        errors.append(chain.step().item())
    assert errors[0] / errors[1] == pytest.approx(8, rel=0.2)


def test_a_step_that_is_not_finite_is_undone() -> None:
    def target(position: torch.Tensor, factors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        energy = torch.where(position.abs().amax(2) < 1.5, 1.0, torch.nan).double()
        return torch.stack([energy, 0 * energy]), torch.ones_like(position)

    streams, start = Streams([5], (0,), dtype=torch.float64), torch.ones(3, 1, 4).double()
    chain = Chain(target, torch.ones(2, 3, 1).double(), start, 100.0, streams)
    error = chain.step()
    chain.adapt(error, 0.1)
    assert not error.isfinite().any() and torch.equal(chain.position, start)
    assert (chain.size == 80).all()
