"""MC dropout: ridge regression with and without dropout."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from support.linear_model import (
    LAMBDA,
    TAU,
    columns,
    design,
    exact_posterior,
    fit,
    linear_data,
    linear_task,
)

from bnnbench.methods.mc_dropout import MCDropout


def test_mc_dropout_without_dropout_is_ridge_regression() -> None:
    mean, _ = exact_posterior()
    posterior = fit(MCDropout(label="m"), 600, samples=1, learning_rate=0.05)
    torch.testing.assert_close(posterior.state["loc"][0], mean, atol=1e-4, rtol=0)


@pytest.mark.parametrize("kind", ["bernoulli", "gaussian", "dropconnect"])
def test_mc_dropout_finds_the_minimum_of_its_expected_loss(kind: str) -> None:
    """With dropout the expected loss of a linear model is a ridge problem of its own."""
    data, dropout = linear_data(), 0.3
    keep = 1 - dropout
    method = MCDropout(label="m", noise=kind)
    task = linear_task(method, 1000, samples=200, learning_rate=0.008)
    posterior = method.fit(replace(task, hyper=columns(dropout=dropout)))
    x = data.inputs[0]
    # E[(z*x)(z*x)'] = E[z]^2 xx' + Var[z] diag(x^2), E[W^2] = E[z^2] M^2; no noise on the bias.
    # One z per row or per minibatch has the same expectation.
    first, variance = (1.0, dropout / keep) if kind == "gaussian" else (keep, keep * dropout)
    scale = torch.tensor([first, first, 1.0]).double()
    scaled = design() * scale
    spread = torch.diag(torch.cat([variance * x.square().sum(0), torch.zeros(1).double()]))
    decay = (first**2 + variance) * LAMBDA * torch.eye(3).double()
    precision = TAU * (scaled.T @ scaled + spread) + decay
    expected = torch.linalg.solve(precision, TAU * scaled.T @ data.targets[0])
    torch.testing.assert_close(posterior.state["loc"][0], expected, atol=0.02, rtol=0)
