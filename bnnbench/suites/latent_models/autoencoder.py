"""Forward and backward pass of stacked autoencoders, in buffers, with hand-derived gradients.

Book, chapter 5. The loss of a column is `-log p(x|z) + beta KL(q(z|x) || p(z))` (5.11, 5.13) with
Bernoulli pixels, a diagonal Gaussian q and a standard normal prior. With planar steps or several
samples of z per column, the KL divergence is replaced by its estimate `log q(z|x) - log p(z)`. The
gradient of a column is multiplied by its weight; normalised importance weights give that of the
importance-weighted bound (5.14).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from bnnbench.layers import Layers, Weights
from bnnbench.suites.latent_models import planar
from bnnbench.suites.latent_models.networks import Shape


class Autoencoder:
    """Encoder, sampling and decoder for `B` columns with `T` samples each.

    Write `images` and, for a conditional model, call `set_labels`; then call `forward` and, if
    needed, `backward`.

    Args:
        shape: sizes of the model.
        weights: weights of all replicas; read in every call.
        columns: `B`.
        samples: `T`.

    Attributes:
        images: buffer for the pixels, `[R, D, B]`.
        mean: means of q(z|x), `[R, d, B]`, in a buffer.
        log_variance: log variances of q(z|x), `[R, d, B]`, in a buffer.
        latents: the last latent variables, `[R, d, T, B]`, in a buffer.
        logits: `[R, D, T, B]`, in a buffer.
    """

    def __init__(self, shape: Shape, weights: Weights, columns: int, samples: int = 1) -> None:
        replicas, d, flat = len(weights.flat), shape.latents, weights.flat
        self.shape, self._samples = shape, samples
        self._outputs = flat.new_empty(replicas, shape.chains[0][-1], columns)
        logits = flat.new_empty(replicas, shape.pixels, samples * columns)
        self._encoder = Layers(weights.chains[0], columns, self._outputs, linear_output=True)
        self._decoder = Layers(weights.chains[1], samples * columns, logits, linear_output=True)
        self.images = self._encoder.inputs[:, : shape.pixels]
        self.mean, self.log_variance = self._outputs[:, :d], self._outputs[:, d : 2 * d]
        self.latents, self.logits = (
            self._by_sample(self._decoder.inputs[:, :d]),
            self._by_sample(logits),
        )
        self._slope = torch.empty_like(logits)
        self._output_slope = torch.empty_like(self._outputs)
        if shape.flow:
            parameters = self._outputs[:, 2 * d :], self._output_slope[:, 2 * d :]
            self._flow = planar.Flow(*parameters, d, samples)

    def _by_sample(self, tensor: Tensor) -> Tensor:
        """View `[R, F, T B]` as `[R, F, T, B]`."""
        return tensor.unflatten(2, (self._samples, -1))

    def set_labels(self, labels: Tensor) -> None:
        """Set one-hot or relaxed labels, `[R, L, B]`."""
        self._encoder.inputs[:, self.shape.pixels :] = labels
        self._by_sample(self._decoder.inputs)[:, self.shape.latents :] = labels.unsqueeze(2)

    def forward(self, noise: Tensor) -> None:
        """Compute the latent variables and logits for standard normal noise, `[R, d, T, B]`."""
        self._encoder.forward()
        self._noise, self._scale = noise, (self.log_variance / 2).exp_().unsqueeze(2)
        first = self._flow.first if self.shape.flow else self.latents
        torch.addcmul(self.mean.unsqueeze(2), self._scale, noise, out=first)
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
        """Return KL(q(z|x) || p(z)) (5.10), `[R, B]`; its estimate if there are planar steps."""
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
        self, weight: Tensor, beta: Tensor, gradients: Weights, to_labels: bool = False
    ) -> Tensor | None:
        """Compute the gradient of the weighted sum of the columns' losses.

        Args:
            weight: of each sample and column, `[R or 1, 1, T or 1, B or 1]`.
            beta: factor of the KL divergence, `[R, 1, 1, 1]`.
            gradients: buffers for the gradients; those of encoder and decoder are overwritten.
            to_labels: whether to return the gradient at the labels.

        Returns:
            The gradient at the labels, `[R, L, B]`, or None.
        """
        d, slope = self.shape.latents, torch.sigmoid(self.logits, out=self._by_sample(self._slope))
        slope.sub_(self.images.unsqueeze(2)).mul_(weight)
        at_inputs = self._decoder.backward(self._slope, gradients.chains[1])
        at_inputs = self._by_sample(at_inputs)
        self._latents_backward(at_inputs[:, :d], weight, weight * beta)
        encoder = self._encoder.backward(
            self._output_slope, gradients.chains[0], to_inputs=to_labels
        )
        if not to_labels:
            return None
        return encoder[:, self.shape.pixels :] + at_inputs[:, d:].sum(2)

    def _latents_backward(self, slope: Tensor, weight: Tensor, rate_weight: Tensor) -> None:
        """Write the gradient at the encoder's outputs.

        Args:
            slope: of the weighted reconstruction loss at the latents, `[R, d, T, B]`.
            weight: as in `backward`.
            rate_weight: `weight` times beta.
        """
        d, out = self.shape.latents, self._output_slope
        spread = self._scale * self._noise
        if self._samples == 1 and not self.shape.flow:
            slope, factor, spread = slope[:, :, 0], rate_weight[:, :, 0], spread[:, :, 0]
            variance_slope = self._scale[:, :, 0].square().sub_(1).mul_(factor)
            torch.addcmul(variance_slope, spread, slope, out=out[:, d : 2 * d]).div_(2)
            torch.addcmul(slope, self.mean, factor, out=out[:, :d])
            return
        slope = torch.addcmul(slope, self.latents, rate_weight)
        if self.shape.flow:
            slope = self._flow.backward(slope, rate_weight)
        out[:, :d] = slope.sum(2)
        total = rate_weight.expand(-1, -1, self._samples, -1).sum(2)
        out[:, d : 2 * d] = ((spread * slope).sum(2) - total) / 2
