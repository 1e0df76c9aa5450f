"""SVGD: published updates in plain Python, MAP for one particle, and learned precisions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from support.draws import drawn
from support.linear_model import LAMBDA, TAU, linear_data, linear_task, make_hyper
from torch import Tensor

from bnnbench.methods.map import MAP
from bnnbench.methods.shared.minibatches import Batch
from bnnbench.methods.svgd import SVGD, kde_wgd
from bnnbench.nn import MLP
from bnnbench.random_streams import Streams
from bnnbench.settings import Training

NET = MLP((2, 3, 1))
ROWS, N = 4, 12
"""Rows of a minibatch and of the training set."""

SHAPE, RATE = 1.5, 0.2


def minibatch(step: int) -> Batch:
    """Return the minibatch of a step."""
    decays = [torch.tensor([[1 - beta ** (step + 1)]], dtype=torch.float64) for beta in (0.9, 0.9)]
    return Batch(
        inputs=drawn(1, ROWS, 2, seed=step),
        targets=drawn(1, ROWS, seed=100 + step),
        weights=torch.full((1, ROWS), 1 / ROWS, dtype=torch.float64),
        counts=torch.tensor([[N]], dtype=torch.float64),
        steps_taken=torch.tensor([[step]], dtype=torch.float64),
        bias_correction=(1 / decays[0], 1 / decays[1]),
        kl_weight=torch.ones(1, 1, dtype=torch.float64),
    )


def outputs(weights: Tensor, inputs: Tensor) -> Tensor:
    """Return the outputs of a network, `[rows]`."""
    hidden = torch.relu(inputs @ weights[:6].view(2, 3) + weights[6:9])
    return hidden @ weights[9:12] + weights[12]


def log_posterior(particle: Tensor, batch: Batch) -> Tensor:
    """Return the log posterior of weights and log precisions, as in the authors' code."""
    weights, log_gamma, log_lambda = particle[:13], particle[13], particle[14]
    errors = outputs(weights, batch.inputs[0]) - batch.targets[0]
    likelihood = 0.5 * ROWS * log_gamma - 0.5 * log_gamma.exp() * errors.square().sum()
    of_weights = 0.5 * 13 * log_lambda - 0.5 * log_lambda.exp() * weights.square().sum()
    precisions = [
        (SHAPE - 1) * log - RATE * log.exp() + log for log in (log_gamma, log_lambda)
    ]  # the last term is the Jacobian
    return likelihood * N / ROWS + of_weights + sum(precisions)


def published(particles: np.ndarray, steps: int, rate: float, decay: float) -> np.ndarray:
    """Run equation 8 with the bandwidth and AdaGrad of the authors' code."""
    count, history = len(particles), np.zeros_like(particles)
    for step in range(steps):
        scores = []
        for one in particles:
            leaf = torch.tensor(one, requires_grad=True)
            value = log_posterior(leaf, minibatch(step))
            scores.append(torch.autograd.grad(value, leaf)[0].numpy())
        distances = np.square(particles[:, None] - particles[None]).sum(2)
        width = math.sqrt(0.5 * np.median(distances) / math.log(count + 1))
        values = np.exp(-distances / (2 * width**2))
        moves = np.zeros_like(particles)
        for i in range(count):
            for j in range(count):
                repulsion = (particles[i] - particles[j]) / width**2 * values[j, i]
                moves[i] += (values[j, i] * scores[j] + repulsion) / count
        kept = decay * history + (1 - decay) * moves**2
        history = moves**2 if step == 0 else kept
        particles = particles + rate * moves / (1e-6 + np.sqrt(history))
    return particles


def test_updates_match_the_authors_code() -> None:
    """Both precisions are learned."""
    method = SVGD(
        label="s", particles=4, optimiser="adagrad", prior_precision="learned",
        noise_precision="learned", prior_gamma=(SHAPE, RATE), noise_gamma=(SHAPE, RATE),
    )  # fmt: skip
    start = drawn(4, 15, seed=7)
    training = Training(learning_rate=0.05, betas=(0.5, 0.9))
    loc = start.view(1, -1)
    state = {"loc": loc, "loc_second": torch.zeros_like(loc)}
    for step in range(6):
        state = method.update(NET, training, state, {}, minibatch(step), ())
    expected = published(start.numpy(), 6, 0.05, 0.9)
    np.testing.assert_allclose(state["loc"].view(4, 15).numpy(), expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("drift", ["svgd", "kde_wgd", "sge_wgd", "function"])
def test_one_particle_is_map(drift: str) -> None:
    one, settings = SVGD(label="s", particles=1, drift=drift), {"batch_size": 10}
    found = one.fit(linear_task(one, 3, **settings)).state["loc"]
    own = MAP(label="m")
    expected = own.fit(linear_task(own, 3, **settings)).state["loc"]
    torch.testing.assert_close(found, expected)


def test_function_drift_uses_the_jacobian() -> None:
    method = SVGD(label="s", particles=3, drift="function")
    weights, batch, hyper = drawn(3, 13, seed=3), minibatch(0), make_hyper()
    functions = torch.stack([outputs(one, batch.inputs[0]) for one in weights])
    scores = -TAU * (functions - batch.targets[0]) / ROWS
    drift = kde_wgd(functions[None], scores[None], torch.full((1, 1, 1), 1 / N).double())[0]
    found = method.drift_of(NET, weights.view(1, -1), hyper, batch).view(3, 13)
    for one, own, moved in zip(weights, drift, found, strict=True):
        jacobian = torch.autograd.functional.jacobian(lambda w: outputs(w, batch.inputs[0]), one)
        torch.testing.assert_close(moved, own @ jacobian - LAMBDA / N * one)


@pytest.mark.slow
@pytest.mark.parametrize("drift", ["svgd", "function"])
def test_noise_is_learned_from_the_data(drift: str) -> None:
    """The score is zero at `(n / 2 + shape) / (|e|^2 / 2 + rate)`."""
    method = SVGD(label="s", particles=5, drift=drift, noise_precision="learned")
    task = linear_task(method, 300, learning_rate=0.05)
    posterior, data = method.fit(task), linear_data()
    prediction = method.predict(posterior, data.inputs, 1, Streams([1], (0,)))
    errors = prediction.mean() - data.targets
    rows = data.targets.shape[1]
    expected = (rows / 2 + 1) / (errors.square().sum() / 2 + 0.1)
    assert (1 / prediction.noise).mean().item() == pytest.approx(expected.item(), rel=0.1)
    assert set(posterior.hyper) == {"prior_precision"} == set(method.hyper_names)


def test_learned_precisions_are_coordinates_of_each_particle() -> None:
    method = SVGD(label="s", particles=3, prior_precision="learned", noise_precision="learned")
    assert method.hyper_names == () and method.n_parameters(NET) == 3 * 15
    state = method.init(linear_task(method, 1))
    logs = state["loc"].view(3, 5)[:, 3:]  # two weights and a bias before
    assert (logs[:, 1].exp() < 1).all() and len(set(logs[:, 1].tolist())) == 3
    weights = state["loc"].view(3, 5)[:, :3]
    errors = torch.stack([linear_data().inputs[0] @ w[:2] + w[2] for w in weights])
    squares = (errors - linear_data().targets).square().sum(1)
    torch.testing.assert_close(logs[:, 0].exp(), (20 + 1) / (squares / 2 + 0.1))
