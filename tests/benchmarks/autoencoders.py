"""Speed of training steps of autoencoders: by hand, by stacked autograd, and in plain torch."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from benchmarks.training import Row, Workload, core_seconds
from support.latent_models import planar_steps, relu_chain, semi_supervised_loss
from torch import Tensor, nn

from bnnbench.layers import Weights
from bnnbench.optim import ADAM_BETAS, Adam
from bnnbench.suites.latent_models.autoencoder import Autoencoder, Shape, initial_weights
from bnnbench.suites.latent_models.semi_supervised.stack import (
    ENUMERATION,
    MIXED,
    UNLABELLED,
    SemiSupervisedStack,
    SemiTraining,
)
from bnnbench.suites.latent_models.training import AutoencoderReplica, Data, streams_for

REPLICAS, COLUMNS, STEPS = 3, 128, 20

SHAPES = {"digits": Shape(64, (200,), 8), "MNIST": Shape(784, (200,), 32)}

FLOW = Shape(784, (200,), 32, flow=32)

SEMI_SUPERVISED, SEMI_ROWS, SEMI_STEPS = Shape(784, (400, 200), 32, 10, classifier=True), 2000, 4


def _weights(shape: Shape) -> Weights:
    starts = [initial_weights(shape.chains, k).float() for k in range(REPLICAS)]
    return Weights(shape.chains, torch.stack(starts))


def by_hand(shape: Shape, images: Tensor) -> Workload:
    """Return steps of all replicas as in the suite; `images` are `[R, D, B]`."""
    weights = _weights(shape)
    gradients, adam = weights.zeros_like(), Adam(weights.flat)
    model = Autoencoder(shape, weights, COLUMNS)
    weight, beta = torch.full((1, 1, 1, 1), 1 / COLUMNS), torch.ones(REPLICAS, 1, 1, 1)

    @torch.inference_mode()
    def run() -> None:
        for _ in range(STEPS):
            model.images.copy_(images)
            model.forward(torch.randn(REPLICAS, shape.latents, 1, COLUMNS))
            model.backward(weight, beta, gradients)
            adam.step(gradients.flat, 1e-3)

    return run


def _loss(outputs: Tensor, decode: nn.Module | list[Tensor], images: Tensor, axis: int) -> Tensor:
    """Return the loss, summed over replicas; features are on `axis`."""
    mean, v = outputs.chunk(2, axis)
    z = mean + (v / 2).exp() * torch.randn_like(mean)
    logits = decode(z) if isinstance(decode, nn.Module) else relu_chain(decode, z)
    distortion = F.binary_cross_entropy_with_logits(logits, images, reduction="sum")
    return (distortion + (mean.square() + v.exp() - 1 - v).sum() / 2) / COLUMNS


def _flow_loss(outputs: Tensor, decoder: list[Tensor], images: Tensor, latents: int) -> Tensor:
    """Return the loss with planar steps, summed over replicas."""
    mean, v, raw = outputs.split([latents, latents, outputs.shape[1] - 2 * latents], 1)
    noise = torch.randn_like(mean)
    first = (mean + (v / 2).exp() * noise).unsqueeze(2)
    z, log_determinant = planar_steps(first, raw)
    logits = relu_chain(decoder, z[:, :, 0])
    distortion = F.binary_cross_entropy_with_logits(logits, images, reduction="sum")
    rate = (z.square().sum() - noise.square().sum() - v.sum()) / 2 - log_determinant.sum()
    return (distortion + rate) / COLUMNS


def by_autograd(shape: Shape, images: Tensor) -> Workload:
    """Return steps of all replicas in one stack, differentiated by autograd."""
    flat = _weights(shape).flat.requires_grad_()
    adam = Adam(flat.data)

    def run() -> None:
        for _ in range(STEPS):
            chains = Weights(shape.chains, flat).chains
            outputs = relu_chain(chains[0], images)
            if shape.flow:
                loss = _flow_loss(outputs, chains[1], images, shape.latents)
            else:
                loss = _loss(outputs, chains[1], images, 1)
            (gradient,) = torch.autograd.grad(loss, flat)
            adam.step(gradient, 1e-3)

    return run


def plain(shape: Shape, images: Tensor) -> Workload:
    """Return steps of the same number of networks, one after the other, with `torch.nn`."""
    networks = []
    for own in images:
        encoder, decoder = (
            nn.Sequential(nn.Linear(a, b), nn.ReLU(), nn.Linear(b, c)) for a, b, c in shape.chains
        )
        parameters = [*encoder.parameters(), *decoder.parameters()]
        adam = torch.optim.Adam(parameters, 1e-3, ADAM_BETAS)
        networks.append((encoder, decoder, adam, own.T.contiguous()))

    def run() -> None:
        for _ in range(STEPS):
            for encoder, decoder, adam, rows in networks:
                adam.zero_grad()
                _loss(encoder(rows), decoder, rows, 1).backward()
                adam.step()

    return run


def semi_supervised(method: str) -> dict[str, Workload]:
    """Return steps of all replicas of a semi-supervised VAE, by hand and by autograd."""
    shape = SEMI_SUPERVISED
    images = (torch.rand(SEMI_ROWS, shape.pixels) < 0.3).float()
    labels = torch.eye(shape.labels).repeat(SEMI_ROWS // shape.labels, 1)
    replicas = [AutoencoderReplica(0, k, shape) for k in range(REPLICAS)]
    training = SemiTraining(method, 100, COLUMNS, 3e-3, 0.6, 25.0, UNLABELLED)
    stack = SemiSupervisedStack(shape, replicas, Data(images, images, labels, labels), training)
    rows = torch.randint(SEMI_ROWS, (REPLICAS, COLUMNS))
    pairs = next(iter(stack._pairs(1)))
    streams = streams_for(replicas, images.device, "noise")
    flat = stack.weights.flat.clone().requires_grad_()
    adam = Adam(flat.data)

    @torch.inference_mode()
    def by_hand() -> None:
        for _ in range(SEMI_STEPS):
            stack._step(stack._batch(rows, pairs), streams)
            stack._update(3e-3)

    def by_autograd() -> None:
        for _ in range(SEMI_STEPS):
            weights, batch = Weights(shape.chains, flat), stack._batch(rows, pairs)
            loss = semi_supervised_loss(shape, weights, batch, training, streams)
            (gradient,) = torch.autograd.grad(loss, flat)
            adam.step(gradient, 3e-3)

    return {"by hand": by_hand, "stacked autograd": by_autograd}


def autoencoder_rows(repeats: int) -> Iterator[Row]:
    """Measure one step of three networks; ratios are speed-ups over stacked autograd."""
    makers = {"by hand": by_hand, "stacked autograd": by_autograd, "plain torch": plain}
    for name, shape in SHAPES.items():
        images = (torch.rand(REPLICAS, shape.pixels, COLUMNS) < 0.3).float()
        workloads = {how: make(shape, images) for how, make in makers.items()}
        yield from _rows(f"VAE on {name}", core_seconds(workloads, repeats), STEPS)
    workloads = {"by hand": by_hand(FLOW, images), "stacked autograd": by_autograd(FLOW, images)}
    minima = core_seconds({**workloads, "none": by_hand(SHAPES["MNIST"], images)}, repeats)
    without = minima.pop("none")
    yield from _rows("VAE on MNIST with 32 planar steps", minima, STEPS)
    yield {
        "measurement": "VAE on MNIST, one step with 32 planar steps / without",
        "value": 1e3 * minima["by hand"] / STEPS,
        "unit": "ms",
        "ratio": minima["by hand"] / without,
    }
    for method in (MIXED, ENUMERATION):
        minima = core_seconds(semi_supervised(method), repeats)
        yield from _rows(f"semi-supervised VAE on MNIST, {method}", minima, SEMI_STEPS)


def _rows(name: str, minima: dict[str, float], steps: int) -> Iterator[Row]:
    for how, seconds in minima.items():
        yield {
            "measurement": f"{name}, one step of three networks, {how}",
            "value": 1e3 * seconds / steps,
            "unit": "ms",
            "ratio": minima["stacked autograd"] / seconds,
        }
