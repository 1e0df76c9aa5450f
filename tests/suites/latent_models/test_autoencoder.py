"""Hand-derived gradients of autoencoders against autograd, and padded models."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from support.latent_models import planar_steps, relu_chain
from torch import Tensor

from bnnbench.layers import Weights
from bnnbench.suites.latent_models.autoencoder import (
    Autoencoder,
    Shape,
    initial_weights,
    pad_weights,
)
from bnnbench.suites.latent_models.planar import Flow

REPLICAS, COLUMNS = 2, 5
PLAIN = Shape(6, (7, 4), 3)
CONDITIONAL = Shape(6, (7,), 3, labels=2)
FLOW, LONG_FLOW = Shape(6, (7,), 3, flow=4), Shape(6, (7,), 3, flow=32)
BETA = torch.tensor([1.0, 0.3], dtype=torch.float64).view(-1, 1, 1, 1)


def make_weights(shape: Shape, seeds: tuple[int, ...] = (0, 1)) -> Weights:
    return Weights(shape.chains, torch.stack([initial_weights(shape.chains, s) for s in seeds]))


def draw(*shape: int, seed: int = 3) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def close(found: Tensor, expected: Tensor) -> None:
    """Compare to 1e-12, relative to the largest element."""
    scale = max(1, expected.abs().max().item())
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12 * scale)


def reference_loss(
    shape: Shape, flat: Tensor, images: Tensor, labels: Tensor, noise: Tensor, log_mean: bool
) -> Tensor:
    """The mean over columns of the loss by autograd: one sample, or `T` in a bound (5.14)."""
    weights, d = Weights(shape.chains, flat), shape.latents
    outputs = relu_chain(weights.chains[0], torch.cat([images, labels], 1))
    mean, v = outputs[:, :d].unsqueeze(2), outputs[:, d : 2 * d].unsqueeze(2)
    z = mean + (v / 2).exp() * noise
    log_q = (-noise.square() / 2 - v / 2).sum(1)
    if shape.flow:
        z, log_determinant = planar_steps(z, outputs[:, 2 * d :])
        log_q = log_q - log_determinant
    inputs = torch.cat([z, labels.unsqueeze(2).expand(-1, -1, z.shape[2], -1)], 1)
    logits = relu_chain(weights.chains[1], inputs.flatten(2)).view(len(flat), -1, *z.shape[2:])
    pixels = images.unsqueeze(2).expand_as(logits)
    log_p = -F.binary_cross_entropy_with_logits(logits, pixels, reduction="none").sum(1)
    rate = log_q + z.square().sum(1) / 2
    if log_mean:
        samples = z.shape[2]
        return -((log_p - rate).logsumexp(1) - math.log(samples)).mean(1).sum()
    if not shape.flow:
        rate = (mean.square() + v.exp() - 1 - v).sum(1) / 2
    return (-log_p + BETA[:, 0] * rate).mean((1, 2)).sum()


@pytest.mark.parametrize(
    ("shape", "samples"),
    [(PLAIN, 1), (CONDITIONAL, 1), (FLOW, 1), (LONG_FLOW, 1), (PLAIN, 4), (FLOW, 4)],
)
def test_gradients_equal_those_of_autograd(shape: Shape, samples: int) -> None:
    weights, gradients = make_weights(shape), make_weights(shape).zeros_like()
    images = (draw(REPLICAS, shape.pixels, COLUMNS) > 0).double()
    labels = draw(REPLICAS, shape.labels, COLUMNS, seed=4).softmax(1).requires_grad_()
    noise = draw(REPLICAS, shape.latents, samples, COLUMNS, seed=5)
    flat = weights.flat.clone().requires_grad_()
    reference_loss(shape, flat, images, labels, noise, samples > 1).backward()

    model = Autoencoder(shape, weights, COLUMNS, samples)
    model.images.copy_(images)
    model.set_labels(labels.detach())
    model.forward(noise)
    weight, beta = torch.full((1, 1, 1, 1), 1 / COLUMNS, dtype=torch.float64), BETA
    if samples > 1:
        weight = model.log_weights().softmax(1).unsqueeze(1) / COLUMNS
        beta = torch.ones_like(BETA)
    at_labels = model.backward(weight, beta, gradients, to_labels=True)
    close(gradients.flat, flat.grad)
    if shape.labels:
        close(at_labels, labels.grad)


@pytest.mark.parametrize(("length", "samples"), [(1, 1), (32, 1), (3, 4)])
def test_planar_steps_equal_those_of_autograd(length: int, samples: int) -> None:
    d, parameters = 5, length * 11
    raw = draw(REPLICAS, parameters, COLUMNS, seed=6).requires_grad_()
    z = draw(REPLICAS, d, samples, COLUMNS, seed=7).requires_grad_()
    last, log_determinant = planar_steps(z, raw)
    slope, factor = draw(*last.shape, seed=8), draw(REPLICAS, 1, 1, COLUMNS, seed=9)
    loss = (slope * last).sum() - (factor[:, 0] * log_determinant).sum()
    expected = torch.autograd.grad(loss, (z, raw))

    raw_slope, found = torch.empty_like(raw.detach()), torch.empty_like(slope)
    flow = Flow(raw.detach(), raw_slope, d, samples)
    for _ in range(2):
        flow.first.copy_(z.detach())
        flow.forward(found)
        at_first = flow.backward(slope, factor)
    close(found, last.detach())
    close(flow.log_determinant, log_determinant.detach())
    close(at_first, expected[0])
    close(raw_slope, expected[1])


def test_planar_log_determinant_equals_that_of_the_jacobian() -> None:
    d, steps = 5, 4
    for seed in range(5):
        raw = 3 * draw(1, steps * (2 * d + 1), 1, seed=seed)
        z = draw(1, d, 1, 1, seed=seed + 10)

        def flat_map(x: Tensor, raw: Tensor = raw) -> Tensor:
            return planar_steps(x.view(1, d, 1, 1), raw)[0].flatten()

        jacobian = torch.autograd.functional.jacobian(flat_map, z.flatten())
        flow = Flow(raw, torch.empty_like(raw), d, 1)
        flow.first.copy_(z)
        flow.forward(torch.empty_like(z))
        found = flow.log_determinant.item()
        assert found == pytest.approx(jacobian.det().log().item(), abs=1e-10)
        inner = (flow._w * flow._u_hat).sum(2)
        assert (inner > -1).all()
        torch.testing.assert_close(inner, flow._m.sum(2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("at", [0.0, 1e-6, 1e-3, 0.05, 2.0])
@pytest.mark.parametrize("inner", [-4.0, -7.0, -20.0, -40.0, -79.0, -200.0])
def test_steps_that_nearly_collapse_a_direction(
    inner: float, at: float, dtype: torch.dtype
) -> None:
    """With u = (q, 0), w = (1, 0) and b = 0, the determinant is `t^2 + (1 - t^2) softplus(q)`."""
    raw = torch.tensor([inner, 0.5, 1, 0, 0], dtype=dtype).view(1, 5, 1)
    raw_slope = torch.zeros_like(raw)
    flow = Flow(raw, raw_slope, 2, 1)
    flow.first.copy_(torch.tensor([at, 0.3], dtype=dtype).view(1, 2, 1, 1))
    flow.forward(torch.zeros_like(flow.first))
    q, z = (torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (inner, at))
    t = z.tanh()
    expected = (t.square() + (1 - t.square()) * F.softplus(q.clamp(min=-80))).log()
    rounding = 1e-4 if dtype == torch.float32 else 1e-9
    assert flow.log_determinant.item() == pytest.approx(expected.item(), rel=rounding, abs=rounding)
    at_first = flow.backward(torch.zeros_like(flow.first), raw.new_full((1, 1, 1, 1), -1.0))
    by_q, by_z = torch.autograd.grad(expected, (q, z))
    assert at_first[0, 0].item() == pytest.approx(by_z.item(), rel=1e-3, abs=1e-3)
    assert raw_slope[0, 0].item() == pytest.approx(by_q.item(), rel=1e-3, abs=1e-3)


def test_a_padded_model_is_the_same_model() -> None:
    own, padded = Shape(6, (7,), 2), Shape(6, (7,), 3, labels=2)
    narrow = Weights(own.chains, initial_weights(own.chains, 0)[None])
    wide = Weights(padded.chains, pad_weights(own, padded, narrow.flat[0])[None])
    images, noise = (draw(1, 6, COLUMNS) > 0).double(), draw(1, 3, 1, COLUMNS)
    noise[:, 2] = 0
    results = []
    for shape, weights in ((own, narrow), (padded, wide)):
        model = Autoencoder(shape, weights, COLUMNS)
        model.images.copy_(images)
        model.set_labels(torch.zeros(1, shape.labels, COLUMNS))
        model.forward(noise[:, : shape.latents])
        gradients = weights.zeros_like()
        model.backward(torch.ones(1, 1, 1, 1), BETA[:1], gradients)
        results.append((model.log_weights(), model.rate(), gradients.flat))
    torch.testing.assert_close(results[0][:2], results[1][:2])
    torch.testing.assert_close(pad_weights(own, padded, results[0][2][0]), results[1][2][0])
