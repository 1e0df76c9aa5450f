"""A small network that learns `log q / p` of two Gaussians from samples, and its estimates.

For `q = Normal(d, 1)` and `p = Normal(0, 1)`, `log q / p = d u - d^2 / 2` and
`KL(q || p) = d^2 / 2`. The sample mean of the ratio over `p` has variance `(exp(d^2) - 1) / N`,
which grows exponentially with twice the divergence. Beyond a few nats the samples rarely contain
the points that dominate the mean, so that the sample estimate of the reverse KL's lower bound is
not a lower bound.
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
"""Values of the column `ratio`: the source of the ratio."""

LEARNING_RATE = 3e-3


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of the training and of the estimates.

    Attributes:
        width: width of both hidden layers.
        steps: number of Adam steps, each on fresh samples.
        samples: samples of `q` and of `p` per step and per sample set.
        sample_sets: number of sample sets from which each trained network makes estimates.
    """

    width: int
    steps: int
    samples: int
    sample_sets: int


class Network:
    """`R` networks with one input, two hidden ReLU layers and the output `log r`.

    Args:
        replicas: number of networks.
        width: width of both hidden layers.
        generator: source of the Xavier-uniform weights.
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
        """Return `log r` `[R, N]` at points `[R, N]`."""
        hidden = points[..., None]
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            hidden = torch.baddbmm(bias, relu(hidden) if layer else hidden, weight)
        return hidden[..., 0]


def sample_bounds(under_q: Tensor, under_p: Tensor) -> dict[str, Tensor]:
    """Return both lower bounds, `[R]` each, from estimates of `log q / p` at samples, `[R, N]`."""
    return {
        "kl_posterior_prior": (1 + under_q).mean(1) - under_p.exp().mean(1),
        "gan": logsigmoid(under_q).mean(1) + logsigmoid(-under_p).mean(1),
    }


def draw_samples(
    separations: Tensor, number: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Return samples of `q` and of `p`, `[R, number]` each, for the means `d` of q `[R]`."""
    q, p = torch.randn(2, len(separations), number, generator=generator)
    return separations[:, None] + q, p


def train_networks(
    separations: Tensor, divergence: str, settings: TrainingSettings, generator: torch.Generator
) -> Network:
    """Return networks that maximise the lower bound of a divergence, one per separation `[R]`."""
    network = Network(len(separations), settings.width, generator)
    optimiser = torch.optim.Adam([*network.weights, *network.biases], LEARNING_RATE)
    for _ in range(settings.steps):
        q, p = draw_samples(separations, settings.samples, generator)
        optimiser.zero_grad()
        loss = -sample_bounds(network(q), network(p))[divergence].sum()
        loss.backward()
        optimiser.step()
    return network


def estimates(
    kl_values: Sequence[float], settings: TrainingSettings, repetitions: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield the estimates of both bounds, with a trained ratio and with the exact one.

    Args:
        kl_values: `KL(q || p)` of each pair, nats.
        settings: settings of the training.
        repetitions: number of networks per pair and bound, all in one stack.
        seed: seed of the experiment.

    Yields:
        Rows `kl`, `repetition`, `sample_set`, `divergence` of the bound, `ratio` (`TRAINED` or
        `EXACT`), `bound`, and `log_ratio`, the mean of `log r` over `q`, which estimates
        `KL(q || p)`.
    """
    replicas = [(kl, repetition) for kl in kl_values for repetition in range(repetitions)]
    separations = torch.tensor([math.sqrt(2 * kl) for kl, _ in replicas])
    for divergence in ("kl_posterior_prior", "gan"):
        generator = torch.Generator().manual_seed(derive_seed(seed, "trained ratio"))
        network = train_networks(separations, divergence, settings, generator)
        for number in range(settings.sample_sets):
            samples = draw_samples(separations, settings.samples, generator)
            d = separations[:, None]
            with torch.no_grad():
                log_ratios = {
                    TRAINED: [network(u) for u in samples],
                    EXACT: [d * (u - d / 2) for u in samples],
                }
            for ratio, (under_q, under_p) in log_ratios.items():
                bound = sample_bounds(under_q, under_p)[divergence].tolist()
                means = under_q.mean(1).tolist()
                for (kl, repetition), value, mean in zip(replicas, bound, means, strict=True):
                    yield {
                        "kl": kl,
                        "repetition": repetition,
                        "sample_set": number,
                        "divergence": divergence,
                        "ratio": ratio,
                        "bound": value,
                        "log_ratio": mean,
                    }
