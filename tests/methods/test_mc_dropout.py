"""MC dropout: ridge regression with dropout, and the prior."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from support.linear_model import LAMBDA, TAU, design, linear_data, linear_task, make_hyper

from bnnbench.methods.mc_dropout import MCDropout
from bnnbench.methods.shared.contract import Posterior
from bnnbench.nn import MLP
from bnnbench.random_streams import Streams
from bnnbench.settings import Network


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bernoulli", "gaussian"])
def test_mc_dropout_finds_the_minimum_of_its_expected_loss(kind: str) -> None:
    """For a linear model, the expected loss with dropout is another ridge regression."""
    data, dropout = linear_data(), 0.3
    keep = 1 - dropout
    method = MCDropout(label="m", noise=kind)
    task = linear_task(method, 1000, samples=200, learning_rate=0.008)
    posterior = method.fit(replace(task, hyper=make_hyper(dropout=dropout)))
    x = data.inputs[0]
    # E[(z*x)(z*x)'] = E[z]^2 xx' + Var[z] diag(x^2), E[W^2] = E[z^2] M^2; no noise on the bias.
    # One z per row or per minibatch has the same expectation.
    first, variance = (1.0, dropout / keep) if kind == "gaussian" else (keep, keep * dropout)
    scale = torch.tensor([first, first, 1.0]).double()
    scaled = design() * scale
    spread = torch.diag(torch.cat([variance * x.square().sum(0), torch.zeros(1).double()]))
    moment = first**2 + variance
    decay = LAMBDA * torch.diag(torch.tensor([moment, moment, 1.0]).double())
    precision = TAU * (scaled.T @ scaled + spread) + decay
    expected = torch.linalg.solve(precision, TAU * scaled.T @ data.targets[0])
    torch.testing.assert_close(posterior.state["loc"][0], expected, atol=0.02, rtol=0)


@pytest.mark.parametrize(("kind", "moment"), [("gaussian", 1 / 0.7), ("dropconnect", 0.7)])
def test_biases_are_not_dropped_and_have_the_full_prior(kind: str, moment: float) -> None:
    """Half the prior precision times the expected squares, for layers 3 to 2 and 2 to 1."""
    weights = torch.arange(1.0, 12.0).double()
    biases = torch.tensor([0] * 6 + [1, 1] + [0] * 2 + [1]).bool()
    counts = torch.full((1, 1), 10.0).double()
    alive = torch.zeros(1, dtype=torch.bool)
    posterior = Posterior(
        {"loc": weights[None]}, make_hyper(dropout=0.3), MLP((3, 2, 1)), counts, alive
    )
    squares = weights.square() * torch.where(biases, 1.0, moment)
    cost = MCDropout(label="m", noise=kind).complexity(posterior, Streams([0], (0,)))
    torch.testing.assert_close(cost, LAMBDA / 2 * squares.sum()[None])
    free = MCDropout(label="m", noise=kind, bias_prior=False)
    cost = free.complexity(posterior, Streams([0], (0,)))
    torch.testing.assert_close(cost, LAMBDA / 2 * squares[~biases].sum()[None])


def test_glorot_initialisation() -> None:
    """Weights are uniform on ±sqrt(6 / (fan_in + fan_out)); biases are zero."""
    task = linear_task(MCDropout(label="m", weight_init="glorot"), 1)
    task = replace(task, network=Network(width=200, depth=1))
    (initial,) = MCDropout(label="m", weight_init="glorot").init(task)["loc"]
    first, second = initial[:400], initial[600:800]
    for matrix, units in ((first, 2 + 200), (second, 200 + 1)):
        bound = (6 / units) ** 0.5
        assert 0.97 * bound < matrix.abs().max() <= bound
        assert matrix.square().mean() == pytest.approx(bound**2 / 3, rel=0.2)
    assert not initial[400:600].any() and not initial[800:].any()
