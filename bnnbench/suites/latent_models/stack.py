"""A stack of variational autoencoders: training steps and measurements of all replicas at once.

Measured are bounds of log p(x) from importance weights, and quantities of posteriors (book, 5.2 to
5.4).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline
from collections.abc import Iterator, Sequence

from bnnbench.suites.latent_models.autoencoder import Autoencoder, Shape
from bnnbench.suites.latent_models.training import (
    AutoencoderReplica,
    Data,
    ReplicaStack,
    minibatches,
    streams_for,
)

BOUND_SIZES = (5, 50)
"""Numbers of samples of the importance-weighted bounds that are reported."""

ACTIVE_VARIANCE = 0.01
"""Variance over images of the mean of an active latent variable (Burda et al. 2016)."""


def importance_weighted_bound(log_weights: Tensor, samples: int) -> Tensor:
    """Return the mean over groups of the bound with `samples` samples (5.14).

    Args:
        log_weights: `log p(x, z) - log q(z|x)`, `[R, T, B]`.
        samples: size of a group; the last T mod samples weights are not used. With 1 the result
            is the ELBO.

    Returns:
        `[R, B]`.
    """
    groups = log_weights.shape[1] // samples
    grouped = torch.unflatten(log_weights[:, : groups * samples], 1, (groups, samples))
    return (grouped.logsumexp(2) - math.log(samples)).mean(1)


def all_bounds(log_weights: Tensor) -> dict[str, Tensor]:
    """Return the ELBO and the bounds with `BOUND_SIZES` and with all samples, `[R, B]` each."""
    samples = log_weights.shape[1]
    sizes = {"elbo": 1, **{f"iwae_{k}": k for k in BOUND_SIZES if k < samples}, "log_p": samples}
    return {name: importance_weighted_bound(log_weights, k) for name, k in sizes.items()}


def count_active_units(means: np.ndarray) -> int:
    """Return the number of active latent variables; `means` of q(z|x) are `[N, d]`."""
    return int((means.var(0) > ACTIVE_VARIANCE).sum())


def probe_predictions(codes: np.ndarray, labels: np.ndarray, test_codes: np.ndarray) -> np.ndarray:
    """Return the classes that a linear classifier trained on codes predicts for test codes.

    Both are standardised with the statistics of the training codes, because the classifier's
    penalty depends on their scale.
    """
    return np.asarray(linear_probe().fit(codes, labels).predict(test_codes))


def linear_probe() -> Pipeline:
    """Return a linear classifier that standardises its inputs."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))


CHUNK = 512
"""Images in one forward pass of a measurement with one sample each."""

CHUNK_LOGITS = 2**21
"""Logits of a replica in one forward pass with many samples for each image."""

SHOWN = 10
"""Test images whose reconstructions are shown."""

OTHER_LABELS = 8
"""The bound of log p(x|y) has one of this many draws if y is not the label of x; these terms add
little to log p(x)."""

TRAIN_ROWS = 10_000
"""Maximum number of training images on which curves and codes are computed."""


class AutoencoderStack(ReplicaStack):
    """Replicas of autoencoders that train together.

    Args:
        shape: sizes that all replicas are padded to.
        replicas: the replicas.
        data: images and labels; its device is used.
        batch_size: number of images in a minibatch.
        learning_rate: of Adam.
        samples: number of samples of z in the bound; above 1 it is importance-weighted.
    """

    def __init__(
        self,
        shape: Shape,
        replicas: Sequence[AutoencoderReplica],
        data: Data,
        batch_size: int,
        learning_rate: float,
        samples: int = 1,
    ) -> None:
        super().__init__(shape, replicas, data)
        self._batch_size, self._rate, self._samples = batch_size, learning_rate, samples
        own = [replica.shape for replica in replicas]
        self._beta = data.train.new_tensor([r.beta for r in replicas]).view(-1, 1, 1, 1)
        used = [[k < one.latents for k in range(shape.latents)] for one in own]
        padded = any(one.latents < shape.latents for one in own)
        self._mask = data.train.new_tensor(used)[:, :, None, None] if padded else None
        self._conditional = data.train.new_tensor([one.labels > 0 for one in own]).view(-1, 1, 1)

    def part(self, members: range) -> AutoencoderStack:
        """Return a stack of some replicas, to measure them without the others."""
        if len(members) == len(self.replicas):
            return self
        replicas = [self.replicas[k] for k in members]
        training = self._batch_size, self._rate, self._samples
        own = AutoencoderStack(self.shape, replicas, self.data, *training)
        own.weights.flat.copy_(self.weights.flat[list(members)])
        own.logs = [self.logs[k] for k in members]
        return own

    def train_epoch(self, epoch: int) -> None:
        """Train for one epoch."""
        device, samples = self.data.train.device, self._samples
        streams = streams_for(self.replicas, device, "noise", epoch)
        sizes = len(self.data.train), self._batch_size
        for rows in minibatches(self.replicas, *sizes, epoch, device):
            columns = rows.shape[1]
            model = self._model(columns, samples)
            model.images.copy_(self.data.train[rows].mT)
            if self.shape.labels:
                model.set_labels(self.data.train_labels[rows].mT * self._conditional)
            model.forward(self._masked(streams.normal(1, self.shape.latents, samples, columns)))
            weight = self._beta.new_full((1, 1, 1, 1), 1 / columns)
            if samples > 1:
                weight = model.log_weights().softmax(1).unsqueeze(1) / columns
            model.backward(weight, self._beta, self._gradients)
            self._update(self._rate)

    def _masked(self, draws: Tensor) -> Tensor:
        """Return noise `[R, d, T, B]`, zero for padded latents."""
        return draws[0] if self._mask is None else draws[0] * self._mask

    def evaluate(self, epoch: int) -> None:
        """Add ELBO and rate, each a mean over images, to the curves, and reconstructions."""
        data, steps = self.data, math.ceil(len(self.data.train) / self._batch_size)
        values: dict[str, Tensor] = {}
        for part, images, labels in (
            ("train", data.train[:TRAIN_ROWS], data.train_labels),
            ("test", data.test, data.test_labels),
        ):
            pairs = [(m.rate(), m.log_likelihood()[:, 0]) for m in self._encode(images, labels)]
            rate, log_likelihood = (torch.cat(each, 1).mean(1) for each in zip(*pairs, strict=True))
            values |= {f"elbo_{part}": log_likelihood - rate, f"rate_{part}": rate}
        shown = self.reconstruct(data.test[:SHOWN], data.test_labels[:SHOWN])
        for k, log in enumerate(self.logs):
            own = {name: value[k].item() for name, value in values.items()}
            log.curve.append({"epoch": epoch, "step": epoch * steps, **own})
            log.snapshots.append(shown[k].cpu())

    def _encode(self, images: Tensor, labels: Tensor) -> Iterator[Autoencoder]:
        """Yield models after a forward pass with one sample, for one chunk of images after another.

        Args:
            images: `[N, D]`.
            labels: one-hot, `[N or more, L]`.
        """
        streams = streams_for(self.replicas, images.device, "measurement")
        for chunk in range(0, len(images), CHUNK):
            model = self._model_of(images[chunk : chunk + CHUNK])
            columns = model.mean.shape[2]
            model.set_labels(self._labels(labels[chunk : chunk + columns]))
            model.forward(self._masked(streams.normal(1, self.shape.latents, 1, columns)))
            yield model

    def _model_of(self, images: Tensor, samples: int = 1) -> Autoencoder:
        """Return a model for these images, `[B, D]`."""
        model = self._model(len(images), samples)
        model.images.copy_(images.T)
        return model

    def _labels(self, labels: Tensor) -> Tensor:
        """Return labels `[B, L]` as the input of conditional replicas; none without them."""
        return labels.T[: self.shape.labels] * self._conditional

    @torch.inference_mode()
    def codes(self, images: Tensor, labels: Tensor) -> np.ndarray:
        """Return the means of q(z|x), `[R, N, d]`."""
        means = [model.mean.clone() for model in self._encode(images, labels)]
        return torch.cat(means, 2).mT.cpu().numpy()

    def reconstruct(self, images: Tensor, labels: Tensor) -> Tensor:
        """Return the mean images of at most `CHUNK` images, at the means of q(z|x), `[R, N, D]`."""
        model = next(self._encode(images, labels))
        return model.decode(model.mean.unsqueeze(2))[:, :, 0].sigmoid().mT

    @torch.inference_mode()
    def decode(self, latents: Tensor, labels: Tensor) -> Tensor:
        """Return mean images `[R, N, D]` of latent variables `[N, d]` and labels `[N, L]`."""
        model = Autoencoder(self.shape, self.weights, len(latents))
        model.set_labels(self._labels(labels))
        return model.decode(latents.T[None, :, None])[:, :, 0].sigmoid().mT

    @torch.inference_mode()
    def importance_sampling(
        self, images: Tensor, labels: Tensor, samples: int
    ) -> dict[str, np.ndarray]:
        """Compute bounds of log p(x) of each image from `samples` draws of q(z|x).

        For conditional replicas the bounds are those of log p(x|y) at the true label y, and
        `log_p`, that of `log p(x) = log mean_y p(x|y)`, is a sum over all labels.

        Args:
            images: `[N, D]`.
            labels: one-hot, `[N, L]`.
            samples: draws for each image.

        Returns:
            `[R, N]` each: those of `all_bounds`, `log_p_given_label`, `rate` and `distortion`.
        """
        streams = streams_for(self.replicas, images.device, "importance", samples)
        size = max(1, CHUNK_LOGITS // (samples * self.shape.pixels))
        results: dict[str, Tensor] = {}
        for chunk in range(0, len(images), size):
            model = self._model_of(images[chunk : chunk + size], samples)
            columns = model.mean.shape[2]
            noise = self._masked(streams.normal(1, self.shape.latents, samples, columns))
            own = slice(chunk, chunk + size)
            for name, found in self._bounds(model, noise, images[own], labels[own]).items():
                if name not in results:
                    results[name] = found.new_empty(len(found), len(images))
                results[name][:, own] = found
        return {name: values.cpu().numpy() for name, values in results.items()}

    def _bounds(
        self, model: Autoencoder, noise: Tensor, images: Tensor, labels: Tensor
    ) -> dict[str, Tensor]:
        """Return the results of `importance_sampling` for the images of a model, `[R, B]` each."""
        if not self.shape.labels:
            return _measure(model, noise)
        model.set_labels(self._labels(labels))
        found = _measure(model, noise)
        given_label, each = found["log_p"], []
        fewer = noise[:, :, : max(1, noise.shape[2] // OTHER_LABELS)].contiguous()
        model = self._model_of(images, fewer.shape[2])
        for label in torch.eye(self.shape.labels, device=labels.device, dtype=torch.float32):
            model.set_labels(self._labels(label.expand(len(labels), -1)))
            model.forward(fewer)
            log_p = importance_weighted_bound(model.log_weights(), fewer.shape[2])
            each.append(torch.where(labels @ label > 0, given_label, log_p))
        log_p = torch.stack(each, 1).logsumexp(1) - math.log(self.shape.labels)
        conditional = self._conditional[:, 0] > 0
        return {
            **found,
            "log_p": torch.where(conditional, log_p, given_label),
            "log_p_given_label": torch.where(conditional, given_label, math.nan),
        }


def _measure(model: Autoencoder, noise: Tensor) -> dict[str, Tensor]:
    """Return the bounds, the rate and the distortion of each image, `[R, B]`."""
    model.forward(noise)
    log_likelihood = model.log_likelihood()
    bounds = all_bounds(log_likelihood - model.sampled_rate())
    return {**bounds, "rate": model.rate(), "distortion": -log_likelihood.mean(1)}
