"""Speed of training steps of autoencoders: by hand, by stacked autograd, and in plain torch."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from benchmarks.training import Row, Workload, core_seconds
from torch import Tensor, nn

from bnnbench.layers import Weights
from bnnbench.optim import ADAM_BETAS, Adam
from bnnbench.suites.latent_models.autoencoder import Autoencoder
from bnnbench.suites.latent_models.networks import Shape, initial_weights

REPLICAS, COLUMNS, STEPS = 3, 128, 20

SHAPES = {"digits": Shape(64, (200,), 8), "MNIST": Shape(784, (200,), 32)}


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


def _chain(layers: list[Tensor], x: Tensor) -> Tensor:
    for k, weight in enumerate(layers):
        x = torch.baddbmm(weight[:, -1].unsqueeze(-1), weight[:, :-1].mT, x)
        x = x.relu() if k < len(layers) - 1 else x
    return x


def _loss(outputs: Tensor, decode: nn.Module | list[Tensor], images: Tensor, axis: int) -> Tensor:
    """Return the loss, summed over replicas; features are on `axis`."""
    mean, v = outputs.chunk(2, axis)
    z = mean + (v / 2).exp() * torch.randn_like(mean)
    logits = decode(z) if isinstance(decode, nn.Module) else _chain(decode, z)
    distortion = F.binary_cross_entropy_with_logits(logits, images, reduction="sum")
    return (distortion + (mean.square() + v.exp() - 1 - v).sum() / 2) / COLUMNS


def by_autograd(shape: Shape, images: Tensor) -> Workload:
    """Return steps of all replicas in one stack, differentiated by autograd."""
    flat = _weights(shape).flat.requires_grad_()
    adam = Adam(flat.data)

    def run() -> None:
        for _ in range(STEPS):
            chains = Weights(shape.chains, flat).chains
            loss = _loss(_chain(chains[0], images), chains[1], images, 1)
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


def autoencoder_rows(repeats: int) -> Iterator[Row]:
    """Measure one step of three networks; ratios are speed-ups over stacked autograd."""
    makers = {"by hand": by_hand, "stacked autograd": by_autograd, "plain torch": plain}
    for name, shape in SHAPES.items():
        images = (torch.rand(REPLICAS, shape.pixels, COLUMNS) < 0.3).float()
        workloads = {how: make(shape, images) for how, make in makers.items()}
        minima = core_seconds(workloads, repeats)
        for how, seconds in minima.items():
            yield {
                "measurement": f"VAE on {name}, one step of three networks, {how}",
                "value": 1e3 * seconds / STEPS,
                "unit": "ms",
                "ratio": minima["stacked autograd"] / seconds,
            }
