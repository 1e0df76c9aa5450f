"""Bayes by Backprop: updates, KL weights and the divergence of the objective."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from support.linear_model import LAMBDA, TAU, linear_task, make_hyper
from torch import Tensor

from bnnbench.checking.small_fits import HYPER, small_task, training_set
from bnnbench.divergences.kl import KL, kl
from bnnbench.methods.bbb import BBB, FLAT_PRECISION
from bnnbench.methods.shared.contract import Posterior
from bnnbench.methods.shared.minibatches import Batch
from bnnbench.methods.shared.trainer import TRACE_SAMPLES
from bnnbench.nn import MLP
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training


def test_initial_precision_and_kl_weights() -> None:
    method = BBB(label="b", divergence=KL(label="kl"), minibatch_weights="exponential")
    scale = torch.nn.functional.softplus(method.init(linear_task(method, 1))["rho"])
    torch.testing.assert_close(scale, torch.full_like(scale, 10**-0.5))
    weights = [method.kl_weight(j, 5) for j in range(5)]
    assert weights == pytest.approx([5 * 2 ** (5 - j) / (2**5 - 1) for j in range(1, 6)])
    assert [method.kl_weight(j, 3000) for j in (0, 2999)] == pytest.approx([1500, 0])


def test_updates_match_autograd_and_torchs_adam() -> None:
    """The loss of the code of Khan et al.: mean over samples and rows, plus KL / N."""
    generator = torch.Generator().manual_seed(2)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    mlp, inputs, targets, rows = MLP((2, 4, 1)), draw(1, 8, 2), draw(1, 8), 40
    training = Training(samples=3, learning_rate=0.01, betas=(0.9, 0.99), dtype="float64")
    method, hyper = BBB(label="b", divergence=KL(label="kl")), make_hyper()
    start = method.init(replace(linear_task(method, 1), network=Network(width=4, depth=1)))
    loc, rho = (start[name][0].clone().requires_grad_() for name in ("loc", "rho"))
    optimiser = torch.optim.Adam([loc, rho], lr=0.01, betas=(0.9, 0.99), eps=1e-8)
    state, one = start, torch.ones(1, 1).double()
    for step in range(1, 4):
        noise = draw(3, 1, mlp.n_weights)
        bias_correction = (one / (1 - 0.9**step), one / (1 - 0.99**step))
        weights = torch.full((1, 8), 1 / 8).double()
        batch = Batch(inputs, targets, weights, rows * one, (step - 1) * one, bias_correction, one)
        state = method.update(mlp, training, state, hyper, batch, (noise,))
        scale = torch.nn.functional.softplus(rho)
        drawn = loc + scale * noise[:, 0]
        hidden = inputs[0] @ drawn[:, :8].unflatten(1, (2, 4)) + drawn[:, None, 8:12]
        outputs = hidden.relu() @ drawn[:, 12:16, None] + drawn[:, None, 16:]
        loss = TAU / 2 * (outputs[..., 0] - targets).square().mean()
        ratio = scale.square() * LAMBDA
        kl = 0.5 * (ratio + LAMBDA * loc.square() - 1 - ratio.log()).sum()
        optimiser.zero_grad()
        (loss + kl / rows).backward()
        optimiser.step()
    torch.testing.assert_close(state["loc"][0], loc.detach())
    torch.testing.assert_close(state["rho"][0], rho.detach())


def test_without_a_prior_on_biases_theirs_is_almost_flat() -> None:
    """The network has layers 2 to 4 and 4 to 1."""
    biases = torch.tensor([0] * 8 + [1] * 4 + [0] * 4 + [1]).bool()
    state = {"loc": torch.linspace(-1, 1, 17).double()[None], "rho": torch.zeros(1, 17).double()}
    counts, alive = torch.full((1, 1), 10.0).double(), torch.zeros(1, dtype=torch.bool)
    posterior = Posterior(state, make_hyper(), MLP((2, 4, 1)), counts, alive)
    method = BBB(label="b", divergence=KL(label="kl"), bias_prior=False)
    precision = torch.where(biases, FLAT_PRECISION, LAMBDA).double()
    loc, scale = method.moments(posterior)
    expected = kl(loc, scale, torch.zeros_like(loc), precision.rsqrt()).sum(1)
    torch.testing.assert_close(method.complexity(posterior, Streams([0], (0,))), expected)


@pytest.mark.parametrize("init", ["fan_in", "zero"])
def test_initial_means(init: str) -> None:
    method = BBB(label="b", divergence=KL(label="kl"), weight_init=init)
    state = method.init(linear_task(method, 1))
    assert state["loc"].any().item() == (init != "zero")
    assert state["rho"].unique().numel() == 1


def test_complexity_is_the_divergence() -> None:
    method, data = BBB(label="bbb", divergence=KL(label="kl")), training_set()
    streams = Streams([5, 6], data.groups, dtype=torch.float64)
    posterior = method.fit(small_task(method, data, trace=streams))
    loc, scale = method.moments(posterior)
    prior = torch.tensor(HYPER["prior_precision"], dtype=torch.float64).rsqrt()
    expected = kl(loc, scale, torch.zeros_like(prior), prior).sum(1) / torch.tensor(data.counts)
    torch.testing.assert_close(posterior.trace["complexity"][-1], expected)


def test_complexity_of_a_monte_carlo_divergence() -> None:
    data = training_set()
    sampled = KL(label="kl", estimator="monte_carlo")
    method = BBB(label="bbb", divergence=sampled)
    posterior = method.fit(small_task(method, data))
    seeds, dtype = [5, 6], torch.float64
    drawn = method.complexity(posterior, Streams(seeds, data.groups, dtype=dtype))
    same = Streams(seeds, data.groups, dtype=dtype)
    epsilon = same.normal(TRACE_SAMPLES, posterior.mlp.n_weights)
    prior = posterior.hyper["prior_precision"]
    expected = sampled.value(*method.moments(posterior), prior, epsilon)
    torch.testing.assert_close(drawn, expected)
