"""Bayes by Backprop: the mean-field optimum, where it starts, how it weighs minibatches."""

from __future__ import annotations

import pytest
import torch
from support.linear_model import N, exact_posterior, fit, linear_task
from support.methods import HYPER, small_task, training_set

from bnnbench.divergences.kl import KL, kl
from bnnbench.methods.bbb import BBB
from bnnbench.random_streams import Streams


@pytest.mark.parametrize("batch_size", [N, 10])
def test_bbb_finds_the_mean_field_optimum(batch_size: int) -> None:
    """KL(q || p) is least at the exact mean, with the diagonal of the exact precision."""
    mean, precision = exact_posterior()
    method = BBB(label="bbb", divergence=KL(label="kl"))
    settings = {"learning_rate": 0.01, "betas": (0.9, 0.999), "batch_size": batch_size}
    loc, scale = method.moments(fit(method, 1000 * batch_size // N, samples=300, **settings))
    torch.testing.assert_close(loc[0], mean, atol=0.02, rtol=0)
    torch.testing.assert_close(scale[0], precision.diagonal().rsqrt(), atol=0, rtol=0.03)


def test_bbb_starts_at_its_precision_and_weighs_minibatches() -> None:
    method = BBB(label="b", divergence=KL(label="kl"), minibatch_weights="exponential")
    scale = torch.nn.functional.softplus(method.init(linear_task(method, 1))["rho"])
    torch.testing.assert_close(scale, torch.full_like(scale, 10**-0.5))
    shares = [method.share(j, 5) for j in range(5)]
    assert shares == pytest.approx([5 * 2 ** (5 - j) / (2**5 - 1) for j in range(1, 6)])
    assert [method.share(j, 3000) for j in (0, 2999)] == pytest.approx([1500, 0])


def test_the_complexity_of_a_posterior_is_its_divergence() -> None:
    method, data = BBB(label="bbb", divergence=KL(label="kl")), training_set()
    own = Streams([5, 6], data.groups, dtype=torch.float64)
    posterior = method.fit(small_task(method, data, trace=own))
    loc, scale = method.moments(posterior)
    prior = torch.tensor(HYPER["prior_precision"], dtype=torch.float64).rsqrt()
    want = kl(loc, scale, torch.zeros_like(prior), prior).sum(1) / torch.tensor(data.counts)
    torch.testing.assert_close(posterior.trace["complexity"][-1], want)
