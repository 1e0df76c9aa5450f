"""SWAG: the covariance of what it visits, the averaged network, its steps, and a mixture of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from support.config import compose
from support.linear_model import LAMBDA, TAU, N, columns, linear_data, linear_task
from support.refusals import assert_refused

from bnnbench.methods.shared.contract import Posterior
from bnnbench.methods.shared.trainer import epochs_of, train
from bnnbench.methods.swag import SWAG, covariance_of
from bnnbench.nn import MLP, forward
from bnnbench.random_streams import Streams

COVARIANCE = torch.tensor([[1.0, 0.6, 0.0], [0.6, 2.0, -0.5], [0.0, -0.5, 0.5]]).double()


def visited(count: int) -> torch.Tensor:
    """Independent draws of a Gaussian with that covariance, `[1, T, 3]`."""
    generator = torch.Generator().manual_seed(4)
    normal = torch.randn(1, count, 3, generator=generator, dtype=torch.float64)
    return 5 + normal @ torch.linalg.cholesky(COVARIANCE).T


def test_gaussian_iterates_give_their_covariance() -> None:
    """Up to the running mean's own error, a share of 1/t of the t-th column."""
    loc, deviations, factor = covariance_of(visited(20_000), 20_000)
    torch.testing.assert_close(loc[0], torch.full((3,), 5.0).double(), atol=0.04, rtol=0)
    torch.testing.assert_close(deviations[0].square(), COVARIANCE.diagonal(), rtol=0.04, atol=0)
    torch.testing.assert_close(factor[0].T @ factor[0], COVARIANCE, rtol=0.04, atol=0.03)


def test_only_the_last_columns_are_kept_and_all_of_the_mean() -> None:
    iterates = visited(30)
    loc, _, factor = covariance_of(iterates, 4)
    assert factor.shape == (1, 4, 3)
    torch.testing.assert_close(loc, iterates.mean(1))
    torch.testing.assert_close(factor[0, -1] * 3**0.5, iterates[0, -1] - iterates[0].mean(0))
    torch.testing.assert_close(factor[0, 0] * 3**0.5, (iterates - iterates[:, :27].mean(1))[0, 26])


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_samples_have_its_scale_of_both_parts(scale: float) -> None:
    """The variances twice, the covariances once: at a half the mean of C and its diagonal."""
    names = ("loc", "deviations", "factor")
    state = dict(zip(names, covariance_of(visited(300), 300), strict=True))
    posterior = Posterior(state, {}, MLP((2, 1)), torch.ones(1, 1), torch.zeros(1).bool())
    streams = Streams([1], (0,), dtype=torch.float64)
    drawn = SWAG(label="s", scale=scale).sample_weights(posterior, 20_000, streams)[:, 0]
    low_rank = state["factor"][0].T @ state["factor"][0]
    expected = scale * (low_rank + state["deviations"][0].square().diag())
    torch.testing.assert_close(drawn.T.cov(), expected, rtol=0.05, atol=0.04 * scale)
    torch.testing.assert_close(drawn.mean(0), state["loc"][0], rtol=0.01, atol=0)


def test_at_scale_zero_it_is_the_average_of_what_it_visits() -> None:
    method = SWAG(label="swag", scale=0.0, burn_in=0.4)
    fitted = method.fit(linear_task(method, 10, batch_size=10))
    chain = train(method, linear_task(method, 10, batch_size=10), range(20, 41, 4)).state["chain"]
    torch.testing.assert_close(fitted.state["loc"], chain.mean(1))
    assert fitted.state["factor"].shape == (1, 6, 3)
    data = linear_data()
    found = method.predict(fitted, data.inputs, 9, Streams([1], (0,), dtype=torch.float64))
    outputs, _ = forward(fitted.mlp, fitted.state["loc"][None], data.inputs)
    assert torch.equal(found.loc, outputs[..., 0]) and method.point_estimate


def test_its_steps_are_adams_and_then_those_of_torchs_momentum() -> None:
    method = SWAG(label="swag", burn_in=0.5, step_size=0.02)
    task = linear_task(method, 4, learning_rate=0.01)
    state = method.init(task)
    weights = state["loc"][0].clone().requires_grad_()
    adam = torch.optim.Adam([weights], lr=0.01, betas=task.training.betas, eps=1e-8)
    descent = torch.optim.SGD([weights], lr=0.02 / TAU, momentum=0.9)
    for step, batches in enumerate(epochs_of(task, method)):
        ((batch, _),) = batches
        state = method.update(task.mlp, task.training, state, columns(), batch, ())
        for optimiser in (adam, descent):
            optimiser.zero_grad()
        error = batch.inputs[0] @ weights[:2] + weights[2] - batch.targets[0]
        loss = TAU / 2 * error.square().mean() + LAMBDA / (2 * N) * weights.square().sum()
        loss.backward()
        (adam if step < 2 else descent).step()
        torch.testing.assert_close(state["loc"][0], weights.detach(), rtol=1e-9, atol=1e-12)


def test_a_mixture_begins_with_the_single_one_and_draws_from_its_members_in_turn() -> None:
    """Batches of all rows, so that the order in which they are visited means nothing."""
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


def test_multi_swag_is_swag_but_for_its_members() -> None:
    single, mixture = (compose(f"method={name}")["method"] for name in ("swag", "multi_swag"))
    differ = {name for name, value in single.items() if mixture[name] != value}
    assert differ == {"label", "summary", "members"}


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("method.members=0", ["method.members", "at least 1"]),
        ("method.burn_in=1", ["method.burn_in", "less than 1"]),
        ("method.step_size=0", ["method.step_size"]),
        ("method.momentum=1", ["method.momentum"]),
        ("method.rank=0", ["method.rank"]),
        ("method.scale=-1", ["method.scale", "at least 0"]),
    ],
)
def test_what_is_refused(setting: str, words: list[str]) -> None:
    assert_refused(["method=swag", setting], *words)
