"""BB-alpha dropout: the gradient of the energy, and MC dropout for alpha = 0."""

from __future__ import annotations

import pytest
import torch
from support.linear_model import linear_task, make_hyper

from bnnbench.methods.bb_alpha_dropout import BBAlphaDropout
from bnnbench.methods.mc_dropout import MCDropout
from bnnbench.methods.shared.minibatches import minibatches_by_epoch
from bnnbench.nn import forward


@pytest.mark.parametrize("alpha", [-1.0, 0.5, 1.0])
def test_gradient_of_the_energy(alpha: float) -> None:
    method, hyper = BBAlphaDropout(label="b", alpha=alpha), make_hyper(dropout=0.2)
    task = linear_task(method, 1, samples=6)
    ((batch, _),) = next(minibatches_by_epoch(task, method))
    weights = torch.randn(6, 1, 3, dtype=torch.float64).requires_grad_()
    outputs, _ = forward(task.mlp, weights, batch.inputs)
    losses = method.likelihood.value(outputs, batch.targets, hyper)
    energy = -((-alpha * losses).exp().mean(0).log() / alpha * batch.weights).sum()
    (expected,) = torch.autograd.grad(energy, outputs)
    found = method.output_gradients(outputs.detach(), hyper, batch)
    torch.testing.assert_close(found / 6, expected)


def test_alpha_0_is_mc_dropout() -> None:
    hyper, fits = make_hyper(dropout=0.2), []
    for method in (BBAlphaDropout(label="b", alpha=0.0), MCDropout(label="m")):
        task = linear_task(method, 3, samples=4, batch_size=8)
        fits.append(method.fit(task).state["loc"])
        assert set(task.hyper) == set(hyper)
    torch.testing.assert_close(*fits)
