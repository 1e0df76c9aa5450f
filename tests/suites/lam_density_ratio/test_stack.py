"""Steps of a stack: gradients compared with autograd, and independence of replicas."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from support.sprinkler import objective, problem, reference_network, replicas
from torch import Tensor

from bnnbench.optim import Adam
from bnnbench.suites.lam_density_ratio import sprinkler
from bnnbench.suites.lam_density_ratio.networks import ESTIMATOR, GENERATOR, Parameters
from bnnbench.suites.lam_density_ratio.stack import (
    DensityRatioStack,
    Problem,
    negative_log_likelihood,
)

contrasts = pytest.mark.parametrize("joint", [False, True])
variants = pytest.mark.parametrize(("joint", "from_model"), [(False, False), (True, True)])
OBJECTIVES = [
    objective("kl_posterior_prior", "log_ratio"),
    objective("kl_posterior_prior", "class_probability"),
    objective("gan", "ratio"),
]


def make(joint: bool, from_model: bool) -> DensityRatioStack:
    return DensityRatioStack(problem(joint, from_model, torch.float64), replicas(*OBJECTIVES))


@variants
def test_gradient_of_the_estimator_agrees_with_autograd(joint: bool, from_model: bool) -> None:
    stack = make(joint, from_model)
    flat = stack.estimator.parameters.flat.clone().requires_grad_()
    loss = stack.estimator_steps(1, rate=1e-3)[0]
    draws = stack.draws  # of the last step
    prior, noise = draws.prior(0), draws.noise(0)
    own = draws.model_observations(0) if from_model else stack._each.expand(len(noise), 1, -1)
    other = draws.observations_of(prior, 0) if joint else own
    causes = reference_network(stack.generator.parameters, noise, own)
    weights = Parameters(ESTIMATOR, flat)
    a_q, a_p = (reference_network(weights, *z)[:, 0] for z in ((causes, own), (prior, other)))
    terms = [one.terms(a_q[k], a_p[k]) for k, one in enumerate(OBJECTIVES)]
    expected = torch.stack([q[0].mean() + p[0].mean() for q, p in terms])
    expected.sum().backward()
    torch.testing.assert_close(loss, expected.detach(), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(stack.estimator.gradient.flat, flat.grad, rtol=1e-9, atol=1e-11)


@variants
def test_gradient_of_the_generator_agrees_with_autograd(joint: bool, from_model: bool) -> None:
    stack = make(joint, from_model)
    flat = stack.generator.parameters.flat.clone().requires_grad_()
    loss = stack.generator_step(rate=1e-3)
    noise = stack.draws.noise(0)
    seen = (
        stack.draws.model_observations(0) if from_model else stack._each.expand(len(noise), 1, -1)
    )
    z = reference_network(Parameters(GENERATOR, flat), noise, seen)
    a = reference_network(stack.estimator.parameters, z, seen)[:, 0]
    expected = torch.stack([one.log_ratio(a[k])[0].mean() for k, one in enumerate(OBJECTIVES)])
    if not joint:
        expected = expected + negative_log_likelihood(z, seen[:, 0])[0].mean(1)
    expected.sum().backward()
    torch.testing.assert_close(loss, expected.detach(), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(stack.generator.gradient.flat, flat.grad, rtol=1e-9, atol=1e-11)


def trained(one: Problem, *members: int) -> DensityRatioStack:
    stack = DensityRatioStack(one, [replicas(o, repetition=k)[0] for k, o in enumerate(OBJECTIVES)
                        if k in members])  # fmt: skip
    for _ in range(3):
        stack.estimator_steps(25, rate=1e-3)
        stack.generator_step(rate=1e-3)
    return stack


@pytest.mark.slow
@contrasts
def test_a_stacked_replica_agrees_with_a_single_one(joint: bool) -> None:
    one = problem(joint, dtype=torch.float64)
    together = trained(one, 0, 1, 2)
    for k in range(3):
        alone = trained(one, k)
        for ours, theirs in ((together.generator, alone.generator),
                             (together.estimator, alone.estimator)):  # fmt: skip
            torch.testing.assert_close(
                ours.parameters.flat[k], theirs.parameters.flat[0], rtol=1e-8, atol=1e-10
            )


def test_the_same_repetition_has_the_same_start_for_every_objective() -> None:
    stack = make(joint=False, from_model=False)
    stack.draws.refill(2)
    for shared in (stack.generator.parameters.flat, stack.estimator.parameters.flat,
                   stack.draws.noise(1), stack.draws.prior(0)):  # fmt: skip
        assert (shared == shared[:1]).all()
    other = DensityRatioStack(problem(dtype=torch.float64), replicas(OBJECTIVES[0], repetition=1))
    assert (other.generator.parameters.flat[0] != stack.generator.parameters.flat[0]).any()


def probability_below(x: float) -> float:
    """Return P(X <= x) under the model, by quadrature over the prior."""
    points, area = sprinkler.grid()
    prior = np.exp(sprinkler.LOG_PRIOR_CONSTANT - (points**2).sum(-1) / 4)
    return float(((1 - np.exp(-x / sprinkler.observation_mean(points))) * prior).sum() * area)


class ReferenceAdam:
    """A simple implementation of TensorFlow's Adam."""

    def __init__(self) -> None:
        self.first, self.second, self.steps = torch.zeros(1), torch.zeros(1), 0

    def __call__(self, weights: Tensor, gradient: Tensor, rate: float) -> Tensor:
        self.steps += 1
        self.first = 0.9 * self.first + 0.1 * gradient
        self.second = 0.999 * self.second + 0.001 * gradient**2
        size = rate * math.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
        return (weights - size * self.first / (self.second.sqrt() + 1e-8)).detach()


def test_two_steps_of_adam_with_a_frozen_replica() -> None:
    weights = torch.ones(2, 1, dtype=torch.float64)
    adam, active = Adam(weights), torch.tensor([[1.0], [0.0]], dtype=torch.float64)
    reference, expected = ReferenceAdam(), torch.ones(1, dtype=torch.float64)
    for gradient in (2e-8, -1e-8):
        adam.step(torch.full_like(weights, gradient), 0.1, active)
        expected = reference(expected, torch.full_like(expected, gradient), 0.1)
        torch.testing.assert_close(weights[0], expected, rtol=1e-12, atol=0)
        assert weights[1].item() == 1
    # With an uncorrected second moment, small gradients move less than in Kingma's Algorithm 1.
    assert 1 - expected.item() < 0.02


def test_draws_follow_the_model() -> None:
    stack = DensityRatioStack(
        problem(joint=True, from_model=True, samples=4000), replicas(OBJECTIVES[0])
    )
    stack.draws.refill(1)
    prior = stack.draws.prior(0)
    assert prior.var().item() == pytest.approx(2, rel=0.05)
    assert stack.draws.noise(0).std().item() == pytest.approx(1, rel=0.03)
    low = stack.draws.observations_of(torch.full_like(prior, -1.0), 0)
    assert low.mean().item() == pytest.approx(3, rel=0.05)
    high = stack.draws.observations_of(torch.full_like(prior, 2.0), 0)
    assert high.mean().item() == pytest.approx(19, rel=0.05)
    model = stack.draws.model_observations(0)
    below = (model < 5).double().mean().item()
    assert below == pytest.approx(probability_below(5), abs=0.015)
    assert (model != stack.draws.observations_of(prior, 0)).all()


def test_likelihood_is_the_models_and_its_slope_that_of_autograd() -> None:
    generator = torch.Generator().manual_seed(1)
    z = 2 * torch.randn(2, 2, 50, generator=generator, dtype=torch.float64)
    x = torch.tensor(sprinkler.OBSERVATIONS, dtype=torch.float64).repeat_interleave(10)[None]
    value, slope = negative_log_likelihood(z, x)
    expected = -sprinkler.log_likelihood(x.numpy(), z.movedim(1, -1).numpy())
    torch.testing.assert_close(value, torch.from_numpy(expected))
    z.requires_grad_()
    (slopes,) = torch.autograd.grad(negative_log_likelihood(z, x)[0].sum(), z)
    torch.testing.assert_close(slope, slopes, rtol=1e-10, atol=1e-12)
