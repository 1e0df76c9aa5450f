"""Encoders and decoders of stacked replicas as chains of layers over one flat vector of weights.

Book, 5.6.2: fully connected ReLU layers; the decoder mirrors the encoder. An encoder takes pixels
and one-hot labels (conditional models only); it returns the means and log variances of q(z|x) and
the parameters of planar steps. A decoder takes latent variables and labels; it returns logits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from bnnbench.layers import Chain, Weights


@dataclass(frozen=True)
class Shape:
    """Sizes of a model.

    Attributes:
        pixels: number of pixels, `D`.
        hidden: sizes of the encoder's hidden layers.
        latents: number of latent variables, `d`.
        labels: number of classes that encoder and decoder are conditioned on, 0 for none.
        flow: number of planar steps, `K`.
        classifier: whether there is a network q(y|x) for the classes.
    """

    pixels: int
    hidden: tuple[int, ...]
    latents: int
    labels: int = 0
    flow: int = 0
    classifier: bool = False

    @property
    def chains(self) -> tuple[Chain, ...]:
        """Sizes of the encoder, of the decoder and, if there is one, of the classifier."""
        outputs = 2 * self.latents + self.flow * (2 * self.latents + 1)
        encoder = (self.pixels + self.labels, *self.hidden, outputs)
        decoder = (self.latents + self.labels, *reversed(self.hidden), self.pixels)
        classifier = (self.pixels, *self.hidden, self.labels)
        return encoder, decoder, *([classifier] if self.classifier else [])


def initial_weights(chains: Sequence[Chain], seed: int) -> Tensor:
    """Return weights and biases uniform within `±1 / sqrt(in)`, torch's default, `[P]`, float64."""
    random, pieces = torch.Generator().manual_seed(seed), []
    for chain in chains:
        for inp, out in pairwise(chain):
            layer = torch.empty(inp + 1, out, dtype=torch.float64, device="cpu")
            bound = 1 / math.sqrt(inp)
            pieces.append(layer.uniform_(-bound, bound, generator=random).flatten())
    return torch.cat(pieces)


def pad_weights(own: Shape, padded: Shape, flat: Tensor) -> Tensor:
    """Return the weights `[P]` of a model as those of one with more latents or labels.

    Weights of and to the additional units are zero. Their gradients stay zero if the noise of the
    additional latents and the additional labels are zero: the model is the same.
    """
    if own == padded:
        return flat
    if own.flow or padded.flow:
        raise ValueError("planar steps cannot be padded")
    result = flat.new_zeros(1, sum((i + 1) * o for c in padded.chains for i, o in pairwise(c)))
    narrow, wide = Weights(own.chains, flat[None]).chains, Weights(padded.chains, result).chains
    for chain in range(len(own.chains)):
        for small, large in zip(narrow[chain], wide[chain], strict=True):
            first = small is narrow[chain][0]
            kept = (own.pixels, own.latents)[chain] if first else small.shape[1] - 1
            labels, offset = (
                (own.labels, (padded.pixels, padded.latents)[chain]) if first else (0, 0)
            )
            columns = list(range(small.shape[2]))
            if chain == 0 and small is narrow[0][-1]:  # means, then log variances
                d = own.latents
                columns = [*range(d), *range(padded.latents, padded.latents + d)]
            large[0, :kept, columns] = small[0, :kept]
            large[0, offset : offset + labels, columns] = small[0, kept : kept + labels]
            large[0, -1, columns] = small[0, -1]
    return result[0]
