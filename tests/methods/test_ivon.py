"""IVON: published updates in plain Python."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from support.linear_model import LAMBDA, TAU, linear_task, make_hyper, one_batch

from bnnbench.methods.ivon import IVON
from bnnbench.methods.shared.contract import State
from bnnbench.nn import MLP
from bnnbench.settings import Training

Pair = tuple[float, float]

ROWS = ((1.0, 2.0), (3.0, -1.0))
"""The minibatch of `one_batch`: two of ten rows, an input and a target each."""


def draws(step: int) -> list[Pair]:
    """Draw standard normal numbers for two samples of the weight and the bias."""
    generator = torch.Generator().manual_seed(step)
    return [tuple(row) for row in torch.randn(2, 2, generator=generator).double().tolist()]


def published(steps: int, lr: float, hess_init: float, betas: Pair) -> dict[str, list[float]]:
    """Run Algorithm 1 for a line, with the names of the authors' package.

    The loss is a mean over rows, `ess` is the number of training rows, `weight_decay` the prior
    precision divided by it, and the rate is multiplied by `hess_init + weight_decay`.
    """
    ess, weight_decay = 10.0, LAMBDA / 10.0
    mean, momentum, hess = [0.2, -0.1], [0.0, 0.0], [hess_init, hess_init]
    for t in range(1, steps + 1):
        deviation = [1 / math.sqrt(ess * (h + weight_decay)) for h in hess]
        gradient, product = [0.0, 0.0], [0.0, 0.0]
        for sample in draws(t):
            noise = [s * e for s, e in zip(deviation, sample, strict=True)]
            w, b = (m + n for m, n in zip(mean, noise, strict=True))
            errors = [w * x + b - y for x, y in ROWS]
            gradients = (
                TAU * sum(e * x for e, (x, _) in zip(errors, ROWS, strict=True)) / 2,
                TAU * sum(errors) / 2,
            )
            for i, sampled in enumerate(gradients):
                gradient[i] += sampled / 2
                product[i] += noise[i] * sampled / 2
        for i in range(2):
            curvature = ess * (hess[i] + weight_decay) * product[i]
            momentum[i] = betas[0] * momentum[i] + (1 - betas[0]) * gradient[i]
            correction = 0.5 * (1 - betas[1]) ** 2 * (hess[i] - curvature) ** 2
            correction /= hess[i] + weight_decay
            hess[i] = betas[1] * hess[i] + (1 - betas[1]) * curvature + correction
            debiased = momentum[i] / (1 - betas[0] ** t)
            rate = lr * (hess_init + weight_decay)
            mean[i] -= rate * (debiased + weight_decay * mean[i]) / (hess[i] + weight_decay)
    return {"loc": mean, "h": hess, "momentum": momentum}


def updated(steps: int, rate: float, betas: Pair, state: State) -> State:
    """Update with the method, with the same minibatch and the same draws."""
    method, training = IVON(label="i"), Training(learning_rate=rate, betas=betas)
    for t in range(1, steps + 1):
        first, second = (torch.tensor([[1 - beta**t]], dtype=torch.float64) for beta in betas)
        batch = one_batch()._replace(bias_correction=(1 / first, 1 / second))
        noise = torch.tensor(draws(t)).double()[:, None]
        state = method.update(MLP((1, 1)), training, state, make_hyper(), batch, (noise,))
    return state


@pytest.mark.parametrize(("steps", "betas"), [(1, (0.9, 0.999)), (25, (0.8, 0.6))])
def test_updates_match_the_paper(steps: int, betas: Pair) -> None:
    """With a small beta_2, some curvatures are negative and the correction term matters."""
    lr, hess_init = 0.05, 0.7
    loc = torch.tensor([[0.2, -0.1]], dtype=torch.float64)
    start = {"loc": loc, "h": torch.full_like(loc, hess_init), "momentum": torch.zeros_like(loc)}
    new = updated(steps, lr * (hess_init + LAMBDA / 10), betas, start)
    for name, values in published(steps, lr, hess_init, betas).items():
        assert new[name][0].tolist() == pytest.approx(values, rel=1e-9), name


def test_the_precision_stays_positive_for_negative_curvatures() -> None:
    """An update multiplies the precision by at least 1/2."""
    decay = LAMBDA / 10
    for h in (-0.999 * decay, 0.5, 100.0):
        loc = torch.tensor([[0.2, -0.1]], dtype=torch.float64)
        state = {"loc": loc, "h": torch.full_like(loc, h), "momentum": torch.zeros_like(loc)}
        for step in range(20):
            noise = torch.tensor(draws(step)).double()[:, None] * 10
            args = MLP((1, 1)), Training(betas=(0.9, 0.2)), state, make_hyper(), one_batch()
            new = IVON(label="i").update(*args, (noise,))
            assert ((new["h"] + decay) >= 0.499999 * (h + decay)).all()


def test_initial_curvature_is_proportional_to_the_noise_precision() -> None:
    method = IVON(label="i", initial_curvature=0.3)
    h = method.init(linear_task(method, 1))["h"]
    assert torch.equal(h, torch.full_like(h, 0.3 * TAU))
    task = linear_task(method, 1)
    unknown = replace(task, hyper={"prior_precision": task.hyper["prior_precision"]})
    h = method.init(unknown)["h"]
    assert torch.equal(h, torch.full_like(h, 3.0))
