"""Forward and backward pass of stacked autoencoders, in buffers, with hand-derived gradients.

Book, chapter 5. Encoders and decoders are chains of fully connected ReLU layers over one flat
vector of weights; the decoder mirrors the encoder (5.6.2). An encoder takes pixels and one-hot
labels (conditional models only); it returns the means and log variances of q(z|x) and the
parameters of planar steps. A decoder takes latent variables and labels; it returns logits.

The loss of a column is `-log p(x|z) + beta KL(q(z|x) || p(z))` (5.11, 5.13) with Bernoulli pixels,
a diagonal Gaussian q and a standard normal prior. With planar steps or several samples of z per
column, the KL divergence is replaced by its estimate `log q(z|x) - log p(z)`. The gradient of a
column is multiplied by its weight; normalised importance weights give that of the
importance-weighted bound (5.14).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor

from bnnbench.layers import Chain, Layers, Weights, relu_backward
from bnnbench.suites.latent_models import planar


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


class EveryLabel:
    """An encoder of images with every label, whose first layer sees each image once.

    The layers are over `B` images, each with every one-hot label; outputs are `[R, out, L B]`.

    Args:
        weights: weights of each layer, `[R, in + 1, out]`; inputs of the first are `D` pixels and
            `L` labels.
        labels: `L`.
        columns: `B`.
        outputs: buffer for the outputs.

    Attributes:
        inputs: buffer for the pixels, `[R, D, B]`.
    """

    def __init__(
        self, weights: Sequence[Tensor], labels: int, columns: int, outputs: Tensor
    ) -> None:
        first = weights[0]
        replicas, pixels = len(first), first.shape[1] - labels - 1
        self._rows = [pixels, labels, 1]
        self._of_pixels, self._of_labels, self._bias = torch.split(first, self._rows, 1)
        self._rest = Layers(weights[1:], labels * columns, outputs, linear_output=True)
        self._hidden = torch.unflatten(self._rest.inputs, 2, (labels, columns))
        self._common = first.new_empty(replicas, first.shape[2], columns)
        self.inputs = first.new_empty(replicas, pixels, columns)

    def forward(self) -> None:
        """Compute the outputs."""
        torch.bmm(self._of_pixels.mT, self.inputs, out=self._common)
        own = (self._of_labels + self._bias).mT
        torch.add(self._common.unsqueeze(2), own.unsqueeze(3), out=self._hidden).clamp_min_(0)
        self._rest.forward()

    def backward(self, slope: Tensor, gradients: Sequence[Tensor]) -> None:
        """Compute the gradient of a loss with respect to the weights.

        Args:
            slope: gradient of the loss at the outputs; overwritten.
            gradients: buffers for the gradients of the weights, which are overwritten.
        """
        at_hidden = self._rest.backward(slope, gradients[1:])
        relu_backward(at_hidden, self._rest.inputs)
        each = torch.unflatten(at_hidden, 2, self._hidden.shape[2:])
        of_pixels, of_labels, bias = torch.split(gradients[0], self._rows, 1)
        torch.bmm(self.inputs, each.sum(2).mT, out=of_pixels)
        of_labels.copy_(each.sum(3).mT)
        torch.sum(of_labels, 1, keepdim=True, out=bias)


class Autoencoder:
    """Encoder, sampling and decoder for `B` columns with `T` samples each.

    Write `images` and, for a conditional model, call `set_labels`; then call `forward` and, if
    needed, `backward`. With `every_label`, each image has every label in turn, with one sample: `T`
    is then the number of labels, and samples differ in their q(z|x, y).

    Args:
        shape: sizes of the model.
        weights: weights of all replicas; read in every call.
        columns: `B`.
        samples: `T`; 1 with `every_label`.
        every_label: whether each image has every label.

    Attributes:
        images: buffer for the pixels, `[R, D, B]`.
        mean: means of q(z|x), `[R, d, B]`, in a buffer; `[R, d, T B]` with `every_label`.
        log_variance: log variances of q(z|x), of the same shape, in a buffer.
        latents: the last latent variables, `[R, d, T, B]`, in a buffer.
        logits: `[R, D, T, B]`, in a buffer.
    """

    def __init__(
        self,
        shape: Shape,
        weights: Weights,
        columns: int,
        samples: int = 1,
        every_label: bool = False,
    ) -> None:
        replicas, d, flat = len(weights.flat), shape.latents, weights.flat
        labels = shape.labels if every_label else 1
        self.shape, self._labellings, self._samples = shape, labels, labels * samples
        outputs = flat.new_empty(replicas, shape.chains[0][-1], labels * columns)
        logits = flat.new_empty(replicas, shape.pixels, self._samples * columns)
        self._decoder = Layers(weights.chains[1], logits.shape[2], logits, linear_output=True)
        self._encoder: Layers | EveryLabel
        if every_label:
            self._encoder = EveryLabel(weights.chains[0], labels, columns, outputs)
            self._set_decoder_labels(
                torch.eye(labels, dtype=torch.float32, device="cpu").to(flat)[:, :, None]
            )
        else:
            self._encoder = Layers(weights.chains[0], columns, outputs, linear_output=True)
        self.images = self._encoder.inputs[:, : shape.pixels]
        self.mean, self.log_variance = outputs[:, :d], outputs[:, d : 2 * d]
        self.latents = self._by_sample(self._decoder.inputs[:, :d])
        self.logits, self._slope = self._by_sample(logits), torch.empty_like(logits)
        self._output_slope = torch.empty_like(outputs)
        if shape.flow:
            parameters = outputs[:, 2 * d :], self._output_slope[:, 2 * d :]
            self._flow = planar.Flow(*parameters, d, samples)

    def _by_sample(self, tensor: Tensor) -> Tensor:
        """View `[R, F, T B]` as `[R, F, T, B]`."""
        return torch.unflatten(tensor, 2, (self._samples, -1))

    def _by_labelling(self, tensor: Tensor) -> Tensor:
        """View outputs of the encoder as `[R, F, 1, B]`, or `[R, F, T, B]` with `every_label`."""
        return torch.unflatten(tensor, 2, (self._labellings, -1))

    def set_labels(self, labels: Tensor) -> None:
        """Set one-hot or relaxed labels, `[R, L, B]`; not with `every_label`."""
        self._encoder.inputs[:, self.shape.pixels :] = labels
        self._set_decoder_labels(labels.unsqueeze(2))

    def _set_decoder_labels(self, labels: Tensor) -> None:
        self._by_sample(self._decoder.inputs)[:, self.shape.latents :] = labels

    def forward(self, noise: Tensor) -> None:
        """Compute the latent variables and logits for standard normal noise, `[R, d, T, B]`."""
        self._encoder.forward()
        self._noise, self._scale = noise, self._by_labelling((self.log_variance / 2).exp_())
        first = self._flow.first if self.shape.flow else self.latents
        torch.addcmul(self._by_labelling(self.mean), self._scale, noise, out=first)
        if self.shape.flow:
            self._flow.forward(self.latents)
        self._decoder.forward()

    def decode(self, latents: Tensor) -> Tensor:
        """Return the logits `[R, D, T, B]` of given latent variables, in a buffer."""
        self.latents.copy_(latents)
        self._decoder.forward()
        return self.logits

    def log_likelihood(self) -> Tensor:
        """Return log p(x|z), summed over pixels, `[R, T, B]`."""
        terms = torch.mul(self.logits, self.images.unsqueeze(2))
        return terms.sub_(F.softplus(self.logits)).sum(1)

    def rate(self) -> Tensor:
        """Return KL(q(z|x) || p(z)) (5.10); its estimate if there are planar steps.

        `[R, B]`, or `[R, T B]` with `every_label`.
        """
        if self.shape.flow:
            return self.sampled_rate().mean(1)
        v = self.log_variance
        return (self.mean.square() + v.exp() - 1 - v).sum(1) / 2

    def sampled_rate(self) -> Tensor:
        """Return `log q(z|x) - log p(z)` at the samples, `[R, T, B]`."""
        rate = (self.latents.square() - self._noise.square()).sum(1) / 2
        rate -= self.log_variance.sum(1, keepdim=True) / 2
        return rate - self._flow.log_determinant if self.shape.flow else rate

    def log_weights(self) -> Tensor:
        """Return `log p(x, z) - log q(z|x)` at the samples, `[R, T, B]`."""
        return self.log_likelihood() - self.sampled_rate()

    def backward(
        self,
        weight: Tensor,
        beta: Tensor,
        gradients: Weights,
        to_labels: bool = False,
        add: bool = False,
    ) -> Tensor | None:
        """Compute the gradient of the weighted sum of the columns' losses.

        Args:
            weight: of each sample and column, `[R or 1, 1, T or 1, B or 1]`.
            beta: factor of the KL divergence, `[R, 1, 1, 1]`.
            gradients: buffers for the gradients; those of encoder and decoder are overwritten.
            to_labels: whether to return the gradient at the labels; not with `every_label`.
            add: whether to add to `gradients` instead of overwriting them; not with `every_label`.

        Returns:
            The gradient at the labels, `[R, L, B]`, or None.
        """
        d, slope = self.shape.latents, torch.sigmoid(self.logits, out=self._by_sample(self._slope))
        slope.sub_(self.images.unsqueeze(2)).mul_(weight)
        at_inputs = self._decoder.backward(self._slope, gradients.chains[1], add)
        at_inputs = self._by_sample(at_inputs)
        self._latents_backward(at_inputs[:, :d], weight, weight * beta)
        if isinstance(self._encoder, EveryLabel):
            self._encoder.backward(self._output_slope, gradients.chains[0])
            return None
        at_labels = self._encoder.backward(
            self._output_slope, gradients.chains[0], add, to_labels, self.shape.pixels
        )
        return at_labels + at_inputs[:, d:].sum(2) if to_labels else None

    def _latents_backward(self, slope: Tensor, weight: Tensor, rate_weight: Tensor) -> None:
        """Write the gradient at the encoder's outputs.

        Args:
            slope: of the weighted reconstruction loss at the latents, `[R, d, T, B]`.
            weight: as in `backward`.
            rate_weight: `weight` times beta.
        """
        d, out = self.shape.latents, self._by_labelling(self._output_slope)
        spread = self._scale * self._noise
        if self._samples == self._labellings and not self.shape.flow:
            variance_slope = self._scale.square().sub_(1).mul_(rate_weight)
            torch.addcmul(variance_slope, spread, slope, out=out[:, d : 2 * d]).div_(2)
            mean = self._by_labelling(self.mean)
            torch.addcmul(slope, mean, rate_weight, out=out[:, :d])
            return
        slope = torch.addcmul(slope, self.latents, rate_weight)
        if self.shape.flow:
            slope = self._flow.backward(slope, rate_weight)
        out[:, :d] = slope.sum(2, keepdim=True)
        total = rate_weight.expand(-1, -1, self._samples, -1).sum(2, keepdim=True)
        out[:, d : 2 * d] = ((spread * slope).sum(2, keepdim=True) - total) / 2
