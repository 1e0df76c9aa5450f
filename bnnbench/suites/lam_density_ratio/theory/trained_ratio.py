"""Small networks that learn `log q / p` of two Gaussians from samples, and their estimates.

For `q = Normal(d, 1)` and `p = Normal(0, 1)`, `log q / p = d u - d^2 / 2` and
`KL(q || p) = d^2 / 2`. The sample mean of the ratio over `p` has variance `(exp(d^2) - 1) / N`,
which grows exponentially with twice the divergence. Beyond a few nats the samples rarely contain
the points that dominate the mean, so that the sample estimate of the reverse KL's lower bound is
not a lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, relu

from bnnbench.random_streams import derive_seed
from bnnbench.suites.lam_density_ratio.theory.names import EXACT_RATIO, TRAINED

LEARNING_RATE = 3e-3

Layers = list[tuple[Tensor, Tensor]]
"""Weights `[R, in, out]` and biases `[R, 1, out]` of each layer of `R` networks."""


def initial_layers(replicas: int, width: int, generator: torch.Generator) -> Layers:
    """Return networks with one input, two hidden layers and the output `log r`.

    The weights are Xavier-uniform, the biases zero.
    """
    layers = []
    for inputs, outputs in pairwise((1, width, width, 1)):
        limit = (6 / (inputs + outputs)) ** 0.5
        weight = limit * (2 * torch.rand(replicas, inputs, outputs, generator=generator) - 1)
        bias = torch.zeros(replicas, 1, outputs)
        layers.append((weight.requires_grad_(), bias.requires_grad_()))
    return layers


def log_ratio(layers: Layers, points: Tensor) -> Tensor:
    """Return the outputs of ReLU networks, `log r` `[R, N]` at points `[R, N]`."""
    hidden = points[..., None]
    for number, (weight, bias) in enumerate(layers):
        hidden = torch.baddbmm(bias, relu(hidden) if number else hidden, weight)
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


def train(
    layers: Layers,
    separations: Tensor,
    divergence: str,
    steps: int,
    samples: int,
    generator: torch.Generator,
) -> None:
    """Maximise the lower bound of a divergence with networks for the separations `[R]`."""
    weights, biases = zip(*layers, strict=True)
    optimiser = torch.optim.Adam([*weights, *biases], LEARNING_RATE)
    for _ in range(steps):
        q, p = draw_samples(separations, samples, generator)
        optimiser.zero_grad()
        loss = -sample_bounds(log_ratio(layers, q), log_ratio(layers, p))[divergence].sum()
        loss.backward()
        optimiser.step()


def estimates(
    kl_values: Sequence[float],
    *,
    repetitions: int,
    width: int,
    steps: int,
    samples: int,
    sample_sets: int,
    seed: int,
) -> pd.DataFrame:
    """Return the estimates of both bounds, with a trained ratio and with the exact one.

    Args:
        kl_values: `KL(q || p)` of each pair, nats.
        repetitions: number of networks per pair and bound, all in one stack.
        width: width of both hidden layers.
        steps: number of Adam steps, each on fresh samples.
        samples: samples of `q` and of `p` per step and per sample set.
        sample_sets: number of sample sets from which each trained network makes estimates.
        seed: seed of the experiment.

    Returns:
        Columns `kl`, `repetition`, `sample_set`, `divergence` of the bound, `ratio` (`TRAINED` or
        `EXACT_RATIO`), `bound`, and `log_ratio`, the mean of `log r` over `q`, which estimates
        `KL(q || p)`.
    """
    kls = [kl for kl in kl_values for _ in range(repetitions)]
    networks = {"kl": kls, "repetition": [*range(repetitions)] * len(kl_values)}
    separations = torch.tensor([math.sqrt(2 * kl) for kl in kls])
    d = separations[:, None]
    tables = []
    for divergence in ("kl_posterior_prior", "gan"):
        generator = torch.Generator().manual_seed(derive_seed(seed, "trained ratio"))
        layers = initial_layers(len(separations), width, generator)
        train(layers, separations, divergence, steps, samples, generator)
        for number in range(sample_sets):
            points = draw_samples(separations, samples, generator)
            labels = {**networks, "sample_set": number, "divergence": divergence}
            with torch.no_grad():
                log_ratios = {
                    TRAINED: [log_ratio(layers, u) for u in points],
                    EXACT_RATIO: [d * (u - d / 2) for u in points],
                }
            for ratio, (under_q, under_p) in log_ratios.items():
                bound = sample_bounds(under_q, under_p)[divergence].tolist()
                means = under_q.mean(1).tolist()
                tables.append(
                    pd.DataFrame({**labels, "ratio": ratio, "bound": bound, "log_ratio": means})
                )
    return pd.concat(tables, ignore_index=True)
