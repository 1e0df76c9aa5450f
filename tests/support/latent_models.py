"""Latent-variable models of images by autograd: references for hand-derived gradients."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from bnnbench.layers import Weights
from bnnbench.random_streams import Streams
from bnnbench.suites.latent_models.autoencoder import Shape
from bnnbench.suites.latent_models.semi_supervised.stack import (
    ENUMERATION,
    LabelledBatch,
    SemiTraining,
    enumerated_bound,
    relax,
)


def relu_chain(layers: list[Tensor], x: Tensor) -> Tensor:
    """Apply a chain to `[R, in, B]`."""
    for k, weight in enumerate(layers):
        x = torch.baddbmm(weight[:, -1].unsqueeze(-1), weight[:, :-1].mT, x)
        x = x.relu() if k < len(layers) - 1 else x
    return x


def planar_steps(z: Tensor, raw: Tensor) -> tuple[Tensor, Tensor]:
    """Apply planar steps to z, `[R, d, T, B]`; return also the log-determinant, `[R, T, B]`."""
    d, total = z.shape[1], torch.zeros((), dtype=z.dtype)
    for step in raw.unsqueeze(2).split(2 * d + 1, 1):
        u, w, b = step.split([d, d, 1], 1)
        inner = (w * u).sum(1, keepdim=True)
        u_hat = u + (F.softplus(inner) - 1 - inner) * w / w.square().sum(1, keepdim=True)
        t = ((w * z).sum(1, keepdim=True) + b).tanh()
        z, curve = z + u_hat * t, 1 - t.square()
        total = total + (1 + curve * (w * u_hat).sum(1, keepdim=True)).log()[:, 0]
    return z, total


def bound(weights: Weights, images: Tensor, labels: Tensor, noise: Tensor) -> Tensor:
    """L(x, y) + log L with one sample, `[R, B]`."""
    outputs = relu_chain(weights.chains[0], torch.cat([images, labels], 1))
    mean, v = outputs.chunk(2, 1)
    z = torch.cat([mean + (v / 2).exp() * noise, labels], 1)
    logits = relu_chain(weights.chains[1], z)
    log_p = -F.binary_cross_entropy_with_logits(logits, images, reduction="none").sum(1)
    return log_p - (mean.square() + v.exp() - 1 - v).sum(1) / 2


def semi_supervised_loss(
    shape: Shape, weights: Weights, batch: LabelledBatch, training: SemiTraining, streams: Streams
) -> Tensor:
    """Minus the semi-supervised objective of a minibatch, summed over replicas."""
    log_pi = relu_chain(weights.chains[2], batch.images).log_softmax(1)
    known, (replicas, _, columns) = batch.known[:, 0].to(log_pi), batch.images.shape
    latents, classes = shape.latents, shape.labels
    if training.method == ENUMERATION:
        summed = columns - batch.paired
        noise = streams.normal(1, latents, classes * summed + batch.paired)[0]
        one_hot = torch.eye(classes).to(log_pi)[:, None, :, None]
        each = [
            bound(weights, batch.images[:, :, :summed],
                  one_hot[y].expand(replicas, -1, summed),
                  noise[:, :, y * summed : (y + 1) * summed])
            for y in range(classes)
        ]  # fmt: skip
        unlabelled = enumerated_bound(torch.stack(each, 1), log_pi[:, :, :summed])
        paired = batch.images[:, :, summed:], batch.labels[:, :, summed:]
        labelled = bound(weights, *paired, noise[:, :, classes * summed :])
        total = torch.cat([unlabelled, labelled], 1)
    else:
        uniform = streams.uniform(1, classes, columns)[0]
        relaxed = relax(log_pi, uniform, training.temperature)
        labels = torch.where(batch.known, batch.labels, relaxed)
        noise = streams.normal(1, latents, columns)[0]
        total = bound(weights, batch.images, labels, noise)
        total = total - (1 - known) * (log_pi.exp() * log_pi).sum(1)
    total = total + known * training.weight * (batch.labels * log_pi).sum(1)
    return -(batch.weight[:, 0] * total).sum()
