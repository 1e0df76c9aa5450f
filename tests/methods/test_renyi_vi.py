"""Rényi VI: gradients of the authors' objective, sample weights, and known optima."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from support.config import compose
from support.linear_model import LAMBDA, TAU, design, exact_posterior, fit, linear_data, make_hyper
from torch import Tensor

from bnnbench.checking.small_fits import small_task, training_set
from bnnbench.methods.renyi_vi import RenyiVI, bound_weights
from bnnbench.methods.shared.minibatches import Batch
from bnnbench.nn import MLP
from bnnbench.settings import Training

ORDERS = [-math.inf, -1.0, 0.0, 0.5, 1.0, 2.0, math.inf]
ROWS, RATE, BETAS = 40, 0.01, (0.9, 0.999)
GENERATOR = torch.Generator().manual_seed(2)
LEARNED = {"noise_precision": "learned", "weight_init": "normal", "initial_precision": 9.0}


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=GENERATOR, dtype=torch.float64)


def energy(alpha: float, loc: Tensor, log_variance: Tensor, log_noise: Tensor, e: Tensor,
           inputs: Tensor, targets: Tensor) -> Tensor:  # fmt: skip
    """Return the negative bound for a network with four units, as in the authors' code."""
    variance = 1 / ((-log_variance).exp() + LAMBDA)
    mean = loc * (-log_variance).exp() * variance
    w = mean + variance.sqrt() * e
    hidden = inputs @ w[:, :8].unflatten(1, (2, 4)) + w[:, None, 8:12]
    outputs = (hidden.relu() @ w[:, 12:16, None] + w[:, None, 16:])[..., 0]
    noise = torch.distributions.Normal(outputs, (0.5 * log_noise).exp())
    likelihood = ROWS * noise.log_prob(targets).mean(1)
    q = torch.distributions.Normal(mean, variance.sqrt())
    prior = torch.distributions.Normal(torch.zeros_like(mean), LAMBDA**-0.5)
    ratios = likelihood + prior.log_prob(w).sum(1) - q.log_prob(w).sum(1)
    if alpha == 1:
        return torch.distributions.kl_divergence(q, prior).sum() - likelihood.mean()
    if math.isinf(alpha):
        return -(ratios.max() if alpha < 0 else ratios.min())
    return -(((1 - alpha) * ratios).logsumexp(0) - math.log(len(e))) / (1 - alpha)


@pytest.mark.parametrize("alpha", ORDERS)
def test_updates_match_autograd_on_the_authors_objective(alpha: float) -> None:
    mlp, inputs, targets = MLP((2, 4, 1)), draw(1, 8, 2), draw(1, 8)
    training = Training(samples=6, learning_rate=RATE, betas=BETAS, dtype="float64")
    method, one = RenyiVI(label="r", alpha=alpha, **LEARNED), torch.ones(1, 1).double()
    data = replace(training_set().select([0]), groups=(0,))
    task = small_task(method, data, [1], epochs=1)
    state = method.init(replace(task, network=replace(task.network, width=4)))
    names = ("loc", "log_variance", "log_noise")
    theirs = [state[name][0].clone().requires_grad_() for name in names]
    optimiser = torch.optim.Adam(theirs, lr=RATE, betas=BETAS, eps=1e-8 * ROWS)
    for step in range(1, 4):
        noise = draw(6, 1, mlp.n_weights)
        bias_correction = (one / (1 - BETAS[0] ** step), one / (1 - BETAS[1] ** step))
        weights = torch.full((1, 8), 1 / 8).double()
        batch = Batch(inputs, targets, weights, ROWS * one, (step - 1) * one, bias_correction, one)
        hyper = make_hyper(prior_precision=LAMBDA)
        state = method.update(mlp, training, state, hyper, batch, (noise,))
        optimiser.zero_grad()
        energy(alpha, *theirs, noise[:, 0], inputs[0], targets[0]).backward()
        optimiser.step()
    for name, value in zip(names, theirs, strict=True):
        torch.testing.assert_close(state[name][0], value.detach(), rtol=1e-9, atol=1e-12)


def test_sample_weights_of_special_orders() -> None:
    ratios = draw(5, 2)
    importance = ratios.exp() / ratios.exp().sum(0)
    torch.testing.assert_close(bound_weights(ratios, 0.0), importance)
    torch.testing.assert_close(bound_weights(ratios, 1.0), torch.full_like(ratios, 0.2))
    torch.testing.assert_close(
        bound_weights(ratios, 1 - 1e-9), bound_weights(ratios, 1.0), atol=1e-8, rtol=0
    )
    for alpha, chosen in ((-math.inf, ratios.argmax(0)), (math.inf, ratios.argmin(0))):
        assert bound_weights(ratios, alpha).argmax(0).equal(chosen)
        torch.testing.assert_close(
            bound_weights(ratios, math.copysign(1e4, alpha)), bound_weights(ratios, alpha)
        )


def exact_scale(alpha: float) -> Tensor:
    """Return the deviations of the diagonal Gaussian with the least divergence of order `alpha`.

    At the optimum its variances equal those of a Gaussian with the precision
    `alpha diag(q) + (1 - alpha) P`; for order 1 its precision is the diagonal of P. For order 0
    the bound with infinitely many samples is the evidence for every q.
    """
    _, precision = exact_posterior()
    diagonal = precision.diagonal().clone()
    for _ in range(200 if alpha != 1 else 0):
        diagonal = 1 / (alpha * diagonal.diag() + (1 - alpha) * precision).inverse().diagonal()
    return diagonal.rsqrt()


@pytest.mark.slow
def test_it_finds_the_best_gaussian_of_its_order() -> None:
    alpha = 0.5
    method = RenyiVI(label="r", alpha=alpha, initial_precision=100.0)
    posterior = fit(method, 700, learning_rate=0.02, betas=(0.9, 0.99), samples=300)
    loc, scale = method.moments(posterior)
    torch.testing.assert_close(loc[0], exact_posterior()[0], atol=0.02, rtol=0)
    torch.testing.assert_close(scale[0], exact_scale(alpha), atol=0, rtol=0.03)
    assert (exact_scale(1.0) < 0.955 * exact_scale(0.5))[:2].all(), "the orders differ"


@pytest.mark.slow
def test_learned_noise_is_the_expected_mean_squared_error() -> None:
    method = RenyiVI(label="r", alpha=1.0, noise_precision="learned", initial_precision=100.0)
    posterior = fit(method, 700, learning_rate=0.01, betas=(0.9, 0.999), samples=50)
    assert set(posterior.hyper) == {"prior_precision", "noise_precision"}
    loc, scale = method.moments(posterior)
    x, y = design(), linear_data().targets[0]
    expected = ((y - x @ loc[0]).square() + x.square() @ scale[0].square()).mean()
    noise = 1 / posterior.hyper["noise_precision"][0, 0]
    torch.testing.assert_close(noise, expected, rtol=0.02, atol=0)
    assert posterior.diagnostics["learned_noise_precision"][0] == 1 / noise
    assert 0.5 * TAU < 1 / noise < 2 * TAU and method.hyper_names == ("prior_precision",)


@pytest.mark.parametrize(
    ("dataset", "samples", "epochs"), [("wine", 100, 500), ("protein", 10, 100)]
)
def test_the_preset_has_the_settings_of_the_paper(dataset: str, samples: int, epochs: int) -> None:
    config = compose("experiment=vr_uci", f"dataset={dataset}")
    training, method = config["training"], config["method"]
    assert (training["samples"], training["final_epochs"]) == (samples, epochs)
    assert config["evaluation"]["samples"] == 100
    assert (training["batch_size"], training["learning_rate"]) == (32, 0.001)
    assert training["betas"] == [0.9, 0.999]
    assert math.log(method["initial_precision"]) == pytest.approx(10)
