"""Variational last layer: the bound, its gradient, and the exact posterior of a linear model."""

from __future__ import annotations

import math

import pytest
import torch
from support.linear_model import (
    ADAM_TO_CONVERGENCE,
    LAMBDA,
    design,
    exact_posterior,
    fit,
    linear_data,
    make_hyper,
    one_batch,
)
from torch import Tensor
from torch.distributions import MultivariateNormal, kl_divergence

from bnnbench.methods.last_layer import LastLayer
from bnnbench.methods.shared.contract import LEARNED, FitTask, Posterior
from bnnbench.nn import MLP, forward
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training

METHOD = LastLayer(label="l")
MLP_1 = MLP((1, 3, 1))
SIZE = 4  # of the last layer


def posterior() -> Posterior:
    """Return a posterior of a small network, with correlated output weights."""
    training, streams = Training(dtype="float64"), Streams([3], (0,), dtype=torch.float64)
    task = FitTask(linear_data(), make_hyper(), Network(width=3), training, 1, streams)
    generator = torch.Generator().manual_seed(1)
    state = {
        "loc": torch.randn(1, MLP_1.n_weights, generator=generator).double(),
        "root": torch.randn(1, SIZE * SIZE, generator=generator).double(),
    }
    counts = torch.tensor([[10.0]]).double()
    return Posterior(state, task.hyper, MLP_1, counts, torch.zeros(1, dtype=torch.bool))


def objective(loc: Tensor, root: Tensor, prior: float, precision: float) -> Tensor:
    """Return minus the bound per training row, with the rows of `one_batch`."""
    batch = one_batch()
    features = forward(MLP_1, loc[None], batch.inputs)[1].layer_inputs[-1][0]
    phi = torch.cat([features, torch.ones(2, 1).double()], 1)
    raw = root.view(SIZE, SIZE)
    triangular = raw.tril(-1) + raw.diagonal().exp().diag()
    mean, variance = phi @ loc[0, -SIZE:], (phi @ triangular).square().sum(1)
    error = (batch.targets[0] - mean).square()
    losses = 0.5 * (precision * (error + variance) - math.log(precision / (2 * math.pi)))
    law = MultivariateNormal(loc[0, -SIZE:], scale_tril=triangular)
    prior_law = MultivariateNormal(torch.zeros(SIZE).double(), torch.eye(SIZE).double() / prior)
    penalty = 0.5 * prior * loc[0, :-SIZE].square().sum()
    return losses.mean() + (kl_divergence(law, prior_law) + penalty) / batch.counts[0, 0]


def test_the_update_follows_the_gradient_of_the_bound() -> None:
    start, batch = posterior(), one_batch()
    hyper = {"noise_precision": 5.0, "prior_precision": 0.7}
    columns = {name: torch.full((1, 1), value).double() for name, value in hyper.items()}
    loc, root = (start.state[name].clone().requires_grad_() for name in ("loc", "root"))
    objective(loc, root, prior=0.7, precision=5.0).backward()
    zeros = {f"{n}_{m}": 0 * v for n, v in start.state.items() for m in ("first", "second")}
    training = Training(betas=(0.5, 0.5))
    new = METHOD.update(MLP_1, training, {**start.state, **zeros}, columns, batch, ())
    assert loc.grad is not None and root.grad is not None
    torch.testing.assert_close(new["loc_first"], 0.5 * loc.grad)
    expected = root.grad.view(SIZE, SIZE).tril().view(1, -1)
    torch.testing.assert_close(new["root_first"], 0.5 * expected)


def test_the_bound_is_the_expected_loss_plus_the_complexity() -> None:
    """The expectation by 100,000 draws of weights."""
    own, batch = posterior(), one_batch()
    streams = Streams([1], (0,), dtype=torch.float64)
    weights = METHOD.sample_weights(own, 100_000, streams)
    outputs = forward(MLP_1, weights, batch.inputs)[0]
    losses = METHOD.likelihood.value(outputs, batch.targets, own.hyper)[:, 0].mean(1)
    bound = objective(own.state["loc"], own.state["root"], prior=2.0, precision=4.0)
    by_draws = losses.mean() + METHOD.complexity(own, streams)[0] / 10
    error = (losses.std() / len(losses) ** 0.5).item()
    assert error < 0.01 * bound
    assert by_draws.item() == pytest.approx(bound.item(), abs=4 * error)


def test_a_linear_model_has_the_exact_posterior() -> None:
    mean, precision = exact_posterior()
    fitted = fit(METHOD, 600, **ADAM_TO_CONVERGENCE)
    covariance = torch.linalg.inv(precision)
    torch.testing.assert_close(fitted.state["loc"][0], mean, atol=1e-3, rtol=0)
    torch.testing.assert_close(METHOD.covariance(fitted)[0], covariance, atol=1e-5, rtol=1e-3)
    prediction = METHOD.predict(fitted, linear_data().inputs, 1, Streams([0], (0,)))
    expected = (design() @ covariance * design()).sum(1)
    torch.testing.assert_close(prediction.epistemic[0, 0], expected, atol=0, rtol=2e-3)


@pytest.mark.slow
def test_learned_noise_maximises_the_bound() -> None:
    """Its precision and the posterior of the linear model given it agree."""
    learning = LastLayer(label="l", noise_precision=LEARNED)
    fitted = fit(learning, 600, **ADAM_TO_CONVERGENCE)
    noise = 1 / fitted.diagnostics["learned_noise_precision"].item()
    prediction = learning.predict(fitted, linear_data().inputs, 1, Streams([0], (0,)))
    squares = (linear_data().targets - prediction.loc[0]).square() + prediction.epistemic[0]
    assert noise == pytest.approx(squares.mean().item(), rel=1e-4)
    precision = design().T @ design() / noise + LAMBDA * torch.eye(3).double()
    exact = torch.linalg.inv(precision)
    torch.testing.assert_close(learning.covariance(fitted)[0], exact, atol=1e-5, rtol=1e-3)
