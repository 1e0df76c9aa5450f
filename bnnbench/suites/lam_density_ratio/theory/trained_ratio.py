"""A small network that learns `log q / p` of two Gaussians from samples, and what it estimates.

`q = Normal(d, 1)` and `p = Normal(0, 1)`, so that the truth is `log q / p = d u - d^2 / 2` and
`KL(q || p) = d^2 / 2`. A sample mean of the ratio over `p` has the variance `(exp(d^2) - 1) / N`,
which grows with the exponential of twice the divergence: beyond some nats hardly any sample holds
the points that make the mean, and the lower bound of reverse KL, taken over samples, is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, relu

from bnnbench.random_streams import derive_seed

TRAINED, EXACT = "trained", "exact ratio"
"""Where an estimate of the ratio comes from."""

RATE = 3e-3
"""Of Adam."""


@dataclass(frozen=True)
class Learner:
    """How networks are trained, and what estimates are taken over.

    Attributes:
        width: of both hidden layers.
        steps: of Adam, each on fresh samples.
        samples: of `q` and of `p` in every step, and in every set that something is estimated from.
        sets: of samples from which each network makes its estimates in the end.
    """

    width: int
    steps: int
    samples: int
    sets: int


class Network:
    """R networks of one input, two hidden layers (ReLU) and the pre-activation `log r`.

    Args:
        replicas: how many.
        width: of both hidden layers.
        generator: of the weights, by Xavier's uniform law.
    """

    def __init__(self, replicas: int, width: int, generator: torch.Generator) -> None:
        sizes = (1, width, width, 1)
        self.weights = [self._layer(replicas, *shape, generator) for shape in pairwise(sizes)]
        self.biases = [torch.zeros(replicas, 1, size, requires_grad=True) for size in sizes[1:]]

    @staticmethod
    def _layer(replicas: int, inputs: int, outputs: int, generator: torch.Generator) -> Tensor:
        limit = (6 / (inputs + outputs)) ** 0.5
        weight = limit * (2 * torch.rand(replicas, inputs, outputs, generator=generator) - 1)
        return weight.requires_grad_()

    def __call__(self, points: Tensor) -> Tensor:
        """`[R, N]` for points `[R, N]`."""
        hidden = points[..., None]
        for place, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            hidden = torch.baddbmm(bias, relu(hidden) if place else hidden, weight)
        return hidden[..., 0]


def bounds(under_q: Tensor, under_p: Tensor) -> dict[str, Tensor]:
    """Both lower bounds over samples, `[R]` each, of estimates of `log q / p` at them `[R, N]`."""
    return {
        "reverse_kl": (1 + under_q).mean(1) - under_p.exp().mean(1),
        "gan": logsigmoid(under_q).mean(1) + logsigmoid(-under_p).mean(1),
    }


def draw(separations: Tensor, number: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Samples of `q` and of `p`, `[R, number]` each, for the pairs `d` of `separations` `[R]`."""
    q, p = torch.randn(2, len(separations), number, generator=generator)
    return separations[:, None] + q, p


def learned(
    separations: Tensor, divergence: str, learner: Learner, generator: torch.Generator
) -> Network:
    """Networks trained by the lower bound of a divergence, one per separation `[R]`."""
    network = Network(len(separations), learner.width, generator)
    optimiser = torch.optim.Adam([*network.weights, *network.biases], RATE)
    for _ in range(learner.steps):
        q, p = draw(separations, learner.samples, generator)
        optimiser.zero_grad()
        loss = -bounds(network(q), network(p))[divergence].sum()
        loss.backward()
        optimiser.step()
    return network


def estimates(
    divergences: Sequence[float], learner: Learner, repetitions: int, seed: int
) -> Iterator[dict[str, Any]]:
    """What both bounds estimate, with a trained ratio and with the exact one.

    Args:
        divergences: `KL(q || p)` of each pair, nats.
        learner: how the networks are trained.
        repetitions: networks per pair and bound, all in one stack.
        seed: of the experiment.

    Yields:
        Rows `kl`, `repetition`, `set`, `divergence` of the bound, `ratio` (`TRAINED` or `EXACT`),
        `bound`, and `log_ratio`, the mean of `log r` over `q`, which estimates `KL(q || p)`.
    """
    places = [(kl, repetition) for kl in divergences for repetition in range(repetitions)]
    apart = torch.tensor([math.sqrt(2 * kl) for kl, _ in places])
    for divergence in ("reverse_kl", "gan"):
        generator = torch.Generator().manual_seed(derive_seed(seed, "trained ratio"))
        network = learned(apart, divergence, learner, generator)
        for number in range(learner.sets):
            samples = draw(apart, learner.samples, generator)
            with torch.no_grad():
                found = {
                    TRAINED: [network(u) for u in samples],
                    EXACT: [apart[:, None] * (u - apart[:, None] / 2) for u in samples],
                }
            for ratio, (under_q, under_p) in found.items():
                bound = bounds(under_q, under_p)[divergence].tolist()
                means = under_q.mean(1).tolist()
                for (kl, repetition), value, mean in zip(places, bound, means, strict=True):
                    yield {
                        "kl": kl,
                        "repetition": repetition,
                        "set": number,
                        "divergence": divergence,
                        "ratio": ratio,
                        "bound": value,
                        "log_ratio": mean,
                    }
