"""SGHMC: the authors' updates in plain Python, and variances for a linear model."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from support.chains import temperature
from support.draws import drawn
from support.linear_model import LAMBDA, TAU, linear_task, make_hyper, one_batch

from bnnbench.methods.sghmc import SGHMC
from bnnbench.nn import MLP
from bnnbench.settings import Training

ROWS = ((1.0, 2.0), (3.0, -1.0))
"""The minibatch of `one_batch`: two of ten rows, an input and a target each."""

STEPS, ADAPTATION_STEPS = 12, 7


def published(lr: float, mdecay: float) -> dict[str, list[float]]:
    """Run the authors' code for a line, with its variable names.

    `tau_inv` uses tau before its update; the averages are updated after tau.
    """
    theta, momentum = [0.2, -0.1], [0.0, 0.0]
    tau, g, v_hat = [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]
    for iteration in range(1, STEPS + 1):
        errors = [theta[0] * x + theta[1] - y for x, y in ROWS]
        gradients = (
            TAU * sum(e * x for e, (x, _) in zip(errors, ROWS, strict=True)) / 2,
            TAU * sum(errors) / 2,
        )
        for i, mean_gradient in enumerate(gradients):
            gradient = 10 * (mean_gradient + LAMBDA / 10 * theta[i])
            tau_inv = 1 / (tau[i] + 1)
            if iteration <= ADAPTATION_STEPS:
                tau[i] += -tau[i] * (g[i] * g[i] / (v_hat[i] + 1e-16)) + 1
                g[i] += -g[i] * tau_inv + tau_inv * gradient
                v_hat[i] += -v_hat[i] * tau_inv + tau_inv * gradient**2
            minv = 1 / (math.sqrt(v_hat[i]) + 1e-16)
            sigma = math.sqrt(max(2 * lr**2 * mdecay * minv - lr**4, 1e-16))
            noise = sigma * drawn(2, seed=iteration)[i].item()
            momentum[i] += -(lr**2) * minv * gradient - mdecay * momentum[i] + noise
        theta = [w + p for w, p in zip(theta, momentum, strict=True)]
    return {"loc": theta, "momentum": momentum, "tau": tau, "mean": g, "v": v_hat}


@pytest.mark.parametrize(("lr", "mdecay"), [(0.01, 0.05), (0.2, 0.3), (0.9, 0.001)])
def test_updates_match_the_authors_code(lr: float, mdecay: float) -> None:
    """Covers steps with and without adaptation; the last case reaches the minimum noise."""
    method = SGHMC(label="s", step_size=lr, friction=mdecay, adaptation_steps=ADAPTATION_STEPS)
    one = torch.ones(1, 2, dtype=torch.float64)
    state = {"loc": torch.tensor([[0.2, -0.1]], dtype=torch.float64), "momentum": 0 * one}
    state |= {"tau": one, "mean": one, "v": one}
    for step in range(STEPS):
        batch = one_batch()._replace(steps_taken=torch.tensor([[step]], dtype=torch.float64))
        noise = (drawn(2, seed=step + 1)[None],)
        state = method.update(MLP((1, 1)), Training(), state, make_hyper(), batch, noise)
    for name, values in published(lr, mdecay).items():
        assert state[name][0].tolist() == pytest.approx(values, rel=1e-9), name


@pytest.mark.slow
def test_variances_of_a_linear_model() -> None:
    """The ratio to the exact variances in the docstring, with the settings of the YAML file."""
    assert temperature(SGHMC(label="s"), 455, 32, 8) == pytest.approx(0.82, abs=0.06)


def test_scales_adapt_during_burn_in_only() -> None:
    settings: dict[str, Any] = {"batch_size": 10}
    method = SGHMC(label="s", burn_in=0.5, thinning=1)
    task = linear_task(method, 6, **settings)
    assert list(method.saved_steps(task)) == list(range(13, 25))
    half = method.fit(linear_task(method, 6, **settings)).state
    whole = SGHMC(label="s", burn_in=0, thinning=1)
    never = whole.fit(linear_task(whole, 6, **settings)).state
    assert torch.equal(never["v"], torch.ones_like(never["v"]))
    assert not torch.equal(half["v"], torch.ones_like(half["v"]))
    longer = method.fit(linear_task(method, 12, **settings)).state
    assert not torch.equal(longer["v"], half["v"])
