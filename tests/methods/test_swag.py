"""SWAG: the covariance of iterates, the averaged network, updates, and MultiSWAG."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from support.draws import drawn
from support.linear_model import LAMBDA, TAU, N, linear_data, linear_task, make_hyper

from bnnbench.methods.shared.contract import Posterior
from bnnbench.methods.shared.minibatches import minibatches_by_epoch
from bnnbench.methods.shared.trainer import train
from bnnbench.methods.swag import SWAG, fit_gaussian
from bnnbench.nn import MLP, forward
from bnnbench.random_streams import Streams

COVARIANCE = torch.tensor([[1.0, 0.6, 0.0], [0.6, 2.0, -0.5], [0.0, -0.5, 0.5]]).double()


def gaussian_iterates(count: int) -> torch.Tensor:
    """Draw independently from a Gaussian with `COVARIANCE`, `[1, T, 3]`."""
    return 5 + drawn(1, count, 3, seed=4) @ torch.linalg.cholesky(COVARIANCE).T


def test_gaussian_iterates_give_their_covariance() -> None:
    """Up to the error of the running mean, which is a fraction 1/t for column t."""
    loc, deviations, factor = fit_gaussian(gaussian_iterates(20_000), 20_000)
    torch.testing.assert_close(loc[0], torch.full((3,), 5.0).double(), atol=0.04, rtol=0)
    torch.testing.assert_close(deviations[0].square(), COVARIANCE.diagonal(), rtol=0.04, atol=0)
    torch.testing.assert_close(factor[0].T @ factor[0], COVARIANCE, rtol=0.04, atol=0.03)


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_scale_multiplies_the_covariance(scale: float) -> None:
    names = ("loc", "deviations", "factor")
    state = dict(zip(names, fit_gaussian(gaussian_iterates(300), 300), strict=True))
    posterior = Posterior(state, {}, MLP((2, 1)), torch.ones(1, 1), torch.zeros(1).bool())
    streams = Streams([1], (0,), dtype=torch.float64)
    drawn = SWAG(label="s", scale=scale).sample_weights(posterior, 20_000, streams)[:, 0]
    low_rank = state["factor"][0].T @ state["factor"][0]
    expected = scale * (low_rank + state["deviations"][0].square().diag())
    torch.testing.assert_close(drawn.T.cov(), expected, rtol=0.05, atol=0.04 * scale)
    torch.testing.assert_close(drawn.mean(0), state["loc"][0], rtol=0.01, atol=0)


def test_scale_0_is_the_averaged_network() -> None:
    method = SWAG(label="swag", scale=0.0, burn_in=0.4)
    fitted = method.fit(linear_task(method, 10, batch_size=10))
    chain = train(method, linear_task(method, 10, batch_size=10), range(20, 41, 4)).state["chain"]
    torch.testing.assert_close(fitted.state["loc"], chain.mean(1))
    assert fitted.state["factor"].shape == (1, 6, 3)
    data = linear_data()
    found = method.predict(fitted, data.inputs, 9, Streams([1], (0,), dtype=torch.float64))
    outputs, _ = forward(fitted.mlp, fitted.state["loc"][None], data.inputs)
    assert torch.equal(found.loc, outputs[..., 0]) and method.point_estimate


def test_updates_match_torchs_adam_and_then_torchs_sgd() -> None:
    method = SWAG(label="swag", burn_in=0.5, step_size=0.02)
    task = linear_task(method, 4, learning_rate=0.01)
    state = method.init(task)
    weights = state["loc"][0].clone().requires_grad_()
    adam = torch.optim.Adam([weights], lr=0.01, betas=task.training.betas, eps=1e-8)
    sgd = torch.optim.SGD([weights], lr=0.02 / TAU, momentum=0.9)
    for step, batches in enumerate(minibatches_by_epoch(task, method)):
        ((batch, _),) = batches
        state = method.update(task.mlp, task.training, state, make_hyper(), batch, ())
        for optimiser in (adam, sgd):
            optimiser.zero_grad()
        error = batch.inputs[0] @ weights[:2] + weights[2] - batch.targets[0]
        loss = TAU / 2 * error.square().mean() + LAMBDA / (2 * N) * weights.square().sum()
        loss.backward()
        (adam if step < 2 else sgd).step()
        torch.testing.assert_close(state["loc"][0], weights.detach(), rtol=1e-9, atol=1e-12)


def test_multi_swag_cycles_through_members_and_the_first_is_swag() -> None:
    """Full batches, so that results do not depend on the order of rows."""
    one, two = SWAG(label="swag"), SWAG(label="multi_swag", members=2)
    single, mixture = (method.fit(linear_task(method, 30)) for method in (one, two))
    for name, value in single.state.items():
        torch.testing.assert_close(mixture.state[name][..., :3], value, rtol=1e-9, atol=1e-12)
    averaged = replace(two, scale=0.0)
    streams = Streams([1], (0,), dtype=torch.float64)
    means = averaged.sample_weights(mixture, 5, streams)[:, 0]
    first, second = mixture.state["loc"][0].split(3)
    assert not torch.equal(first, second)
    assert torch.equal(means, torch.stack([first, second, first, second, first]))
    found = averaged.predict(mixture, linear_data().inputs, 100, streams)
    assert len(found.loc) == 2 and not averaged.point_estimate
