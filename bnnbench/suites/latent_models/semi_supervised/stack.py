"""Training of stacked semi-supervised VAEs and of classifiers alone.

With `a` the outputs of the classifier, `pi = softmax(a)` and L(x, y) the bound of log p(x, y), an
image without label has the bound `U(x) = sum_y pi_y (L(x, y) - log pi_y)` (book, 5.36). The
relaxation replaces the sum by `L(x, y~) + H(pi)` for one draw of y~ from a Concrete distribution
(5.24 to 5.26, which lacks the temperature). Functions that return slopes return gradients of
losses, minus the bounds, at the classifier's outputs. Classes are on axis 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat

import torch
from torch import Tensor

from bnnbench.layers import Layers, Weights
from bnnbench.random_streams import Streams
from bnnbench.suites.latent_models.autoencoder import Autoencoder, Shape
from bnnbench.suites.latent_models.stack import CHUNK
from bnnbench.suites.latent_models.training import (
    AutoencoderReplica,
    Data,
    ReplicaStack,
    minibatches,
    streams_for,
)


def relax(log_probabilities: Tensor, uniform: Tensor, temperature: float) -> Tensor:
    """Return a draw of the Concrete distribution (Maddison et al. 2017; Jang et al. 2017).

    Args:
        log_probabilities: `[R, L, B]`.
        uniform: draws on [0, 1), of the same shape.
        temperature: tau; 0 would give one-hot labels.
    """
    tiny = torch.finfo(uniform.dtype).tiny
    gumbel = -(-uniform.clamp_min(tiny).log()).clamp_min(tiny).log()
    return ((log_probabilities + gumbel) / temperature).softmax(1)


def relaxed_slope(
    relaxed: Tensor,
    at_labels: Tensor,
    log_probabilities: Tensor,
    weight: Tensor,
    temperature: float,
) -> Tensor:
    """Return the gradient at `a` of `-L(x, y~) - H(pi)`, times the columns' weight.

    Args:
        relaxed: y~, `[R, L, B]`.
        at_labels: gradient of the weighted -L at y~, `[R, L, B]`.
        log_probabilities: log pi, `[R, L, B]`.
        weight: of the columns, `[R or 1, 1, B]`.
        temperature: tau.
    """
    through = relaxed * (at_labels - (relaxed * at_labels).sum(1, keepdim=True)) / temperature
    pi = log_probabilities.exp()
    entropy = (pi * log_probabilities).sum(1, keepdim=True)
    return through + weight * pi * (log_probabilities - entropy)


def enumerated_bound(bounds: Tensor, log_probabilities: Tensor) -> Tensor:
    """Return U(x), `[R, B]`, given L(x, y) for every y, `[R, L, B]`."""
    return (log_probabilities.exp() * (bounds - log_probabilities)).sum(1)


def enumerated_slope(bounds: Tensor, log_probabilities: Tensor, weight: Tensor) -> Tensor:
    """Return the gradient at `a` of -U(x), times the columns' weight; arguments as above."""
    pi, terms = log_probabilities.exp(), bounds - log_probabilities
    return -weight * pi * (terms - (pi * terms).sum(1, keepdim=True))


MIXED, PAIRED, ENUMERATION, SUPERVISED = "mixed", "paired", "enumeration", "supervised"
"""One shuffled set of all images; minibatches of images with and without labels; the same with a
sum over labels in place of the relaxation; the classifier alone."""

UNLABELLED, LABELLED = "unlabelled", "labelled"
"""Minibatches with which an epoch ends: those without labels, or the labelled ones."""


@dataclass(frozen=True)
class SemiTraining:
    """Settings of training.

    Attributes:
        method: `mixed`, `paired`, `enumeration` or `supervised`.
        labels: number of labelled images, the same of each class.
        batch_size: number of images in a minibatch, and of further labelled ones in pairs.
        learning_rate: of Adam.
        temperature: of the relaxation.
        weight: of log q(y|x) of labelled images, alpha in (5.38).
        epoch_ends: with pairs, `unlabelled`: an epoch is a pass through all images, whose labels
            are not used, each minibatch with labelled images drawn with replacement; `labelled`: it
            is a pass through the labelled images, each minibatch with the next images of a new
            order of all, most of which the epoch does not use. The latter is what
            `zip(labelled_loader, unlabelled_loader)` does in PyTorch.
    """

    method: str
    labels: int
    batch_size: int
    learning_rate: float
    temperature: float
    weight: float
    epoch_ends: str

    def steps_per_epoch(self, images: int) -> int:
        """Return the number of minibatches in an epoch, given the number of training images."""
        is_labelled = self.method == SUPERVISED or self.epoch_ends == LABELLED
        return math.ceil((self.labels if is_labelled else images) / self.batch_size)


class Classifier:
    """Buffers of q(y|x) for `B` columns; `outputs` are `[R, L, B]`."""

    def __init__(self, shape: Shape, weights: Weights, columns: int) -> None:
        self.outputs = weights.flat.new_empty(len(weights.flat), shape.labels, columns)
        self.layers = Layers(weights.chains[2], columns, self.outputs, linear_output=True)

    def log_probabilities(self, images: Tensor) -> Tensor:
        """Return log q(y|x), `[R, L, B]`, of images `[R or 1, D, B]`."""
        self.layers.inputs.copy_(images)
        self.layers.forward()
        return self.outputs.log_softmax(1)


@dataclass(frozen=True)
class LabelledBatch:
    """A minibatch.

    Attributes:
        images: `[R, D, B]`.
        labels: one-hot, `[R, L, B]`.
        known: whether the label is used, `[R, 1, B]`.
        weight: of each column in the loss, `[1, 1, B]`.
        paired: number of columns at the end whose labels are known in all replicas.
    """

    images: Tensor
    labels: Tensor
    known: Tensor
    weight: Tensor
    paired: int


class SemiSupervisedStack(ReplicaStack):
    """Replicas of encoder, decoder and classifier that train together.

    The objective is (5.38) with the two sets in their right places: the sum of U(x) over images
    without label, and of `L(x, y) + alpha log q(y|x)` over those with one.

    Args:
        shape: sizes of the model.
        replicas: the replicas.
        data: images and labels; its device is used.
        training: settings of training.
    """

    def __init__(
        self,
        shape: Shape,
        replicas: Sequence[AutoencoderReplica],
        data: Data,
        training: SemiTraining,
    ) -> None:
        self._supervised = training.method == SUPERVISED
        super().__init__(shape, replicas, data, first=2 if self._supervised else 0)
        self.training = training
        self._labelled = torch.stack([self._choose_labelled(r) for r in replicas])
        self._is_labelled = torch.zeros(
            len(replicas), len(data.train), device=data.train.device, dtype=torch.float32
        )
        self._is_labelled.scatter_(1, self._labelled, 1.0)
        self._classifiers: dict[int, Classifier] = {}

    def _choose_labelled(self, replica: AutoencoderReplica) -> Tensor:
        """Return rows `[n]` of labelled images; those of fewer labels are among those of more."""
        random = torch.Generator().manual_seed(replica.seed_for("labels"))
        order = torch.randperm(len(self.data.train), generator=random, device="cpu")
        classes = self.data.train_labels.argmax(1).cpu()[order]
        each = self.training.labels // self.shape.labels
        rows = [order[classes == label][:each] for label in range(self.shape.labels)]
        return torch.cat(rows).to(self.data.train.device)

    def train_epoch(self, epoch: int) -> None:
        """Train for one epoch: of the labelled images if there is no generative model."""
        device, size = self.data.train.device, self.training.batch_size
        streams = streams_for(self.replicas, device, "noise", epoch)
        count = self._labelled.shape[1] if self._supervised else len(self.data.train)
        batches = minibatches(self.replicas, count, size, epoch, device)
        for rows, pairs in zip(batches, self._pairs(epoch), strict=False):
            if self._supervised:
                self._supervised_step(self._labelled.gather(1, rows))
            else:
                self._step(self._batch(rows, pairs), streams)
            self._update(self.training.learning_rate)

    def _pairs(self, epoch: int) -> Iterable[Tensor | None]:
        """Return the labelled rows `[R, B]` of each minibatch of an epoch; None if not paired."""
        if self.training.method not in (PAIRED, ENUMERATION):
            return repeat(None)
        count, size = self._labelled.shape[1], self.training.batch_size
        steps = self.training.steps_per_epoch(len(self.data.train))
        drawn = []
        for replica in self.replicas:
            random = torch.Generator().manual_seed(replica.seed_for("pairs", epoch))
            if self.training.epoch_ends == LABELLED:
                drawn.append(torch.randperm(count, generator=random, device="cpu"))
            else:
                shape = steps, min(count, size)
                drawn.append(torch.randint(count, shape, generator=random, device="cpu").flatten())
        positions = torch.stack(drawn).to(self._labelled.device)
        return torch.split(self._labelled.gather(1, positions), min(count, size), 1)

    def _batch(self, rows: Tensor, pairs: Tensor | None) -> LabelledBatch:
        """Return the minibatch of rows `[R, B]`, whose labels are not used if there are pairs."""
        data, count = self.data, rows.shape[1]
        known = self._is_labelled.gather(1, rows)
        weight = known.new_full((1, count), 1 / count)
        if pairs is not None:
            rows = torch.cat([rows, pairs], 1)
            known = torch.cat([torch.zeros_like(known), torch.ones_like(pairs)], 1)
            weight = torch.cat(
                [weight, weight.new_full((1, pairs.shape[1]), 1 / pairs.shape[1])], 1
            )
        return LabelledBatch(
            data.train[rows].mT, data.train_labels[rows].mT, known[:, None] > 0, weight[:, None],
            0 if pairs is None else pairs.shape[1],
        )  # fmt: skip

    def _supervised_step(self, rows: Tensor) -> None:
        """Compute the gradient of the mean of -log q(y|x) over rows `[R, B]`."""
        classifier = self._classifier(rows.shape[1])
        log_pi = classifier.log_probabilities(self.data.train[rows].mT)
        slope = (log_pi.exp() - self.data.train_labels[rows].mT) / rows.shape[1]
        classifier.layers.backward(slope, self._gradients.chains[2], to_inputs=False)

    def _classifier(self, columns: int) -> Classifier:
        """Return buffers of the classifier for this number of columns."""
        if columns not in self._classifiers:
            self._classifiers[columns] = Classifier(self.shape, self.weights, columns)
        return self._classifiers[columns]

    def _step(self, batch: LabelledBatch, streams: Streams) -> None:
        """Compute the gradient of minus the objective."""
        classifier = self._classifier(batch.images.shape[2])
        log_pi = classifier.log_probabilities(batch.images)
        if self.training.method == ENUMERATION:
            slope = self._enumerated(batch, log_pi, streams)
        else:
            slope = self._relaxed(batch, log_pi, streams)
        supervised = self.training.weight * batch.weight * (log_pi.exp() - batch.labels)
        slope = torch.where(batch.known, supervised, slope)
        classifier.layers.backward(slope, self._gradients.chains[2], to_inputs=False)

    def _relaxed(self, batch: LabelledBatch, log_pi: Tensor, streams: Streams) -> Tensor:
        """Differentiate with relaxed labels of images without one.

        Args:
            batch: the minibatch.
            log_pi: its log q(y|x), `[R, L, B]`.
            streams: of random numbers.

        Returns:
            The gradient at the classifier's outputs for images without label.
        """
        columns, temperature = batch.images.shape[2], self.training.temperature
        model = self._model(columns)
        uniform = streams.uniform(1, self.shape.labels, columns)[0]
        relaxed = relax(log_pi, uniform, temperature)
        model.images.copy_(batch.images)
        model.set_labels(torch.where(batch.known, batch.labels, relaxed))
        model.forward(streams.normal(1, self.shape.latents, 1, columns)[0])
        weight = batch.weight.unsqueeze(2)
        at_labels = model.backward(weight, torch.ones_like(weight[..., :1]), self._gradients, True)
        assert at_labels is not None
        return relaxed_slope(relaxed, at_labels, log_pi, batch.weight, temperature)

    def _enumerated(self, batch: LabelledBatch, log_pi: Tensor, streams: Streams) -> Tensor:
        """Differentiate with a sum over the labels of images without one, like `_relaxed`."""
        columns, classes = batch.images.shape[2], self.shape.labels
        summed, ones = columns - batch.paired, batch.weight.new_ones(1, 1, 1, 1)
        noise = streams.normal(1, self.shape.latents, 1, classes * summed + batch.paired)[0]
        by_label, paired = torch.split(noise, [classes * summed, batch.paired], 3)
        model = self._model(summed, every_label=True)
        model.images.copy_(batch.images[:, :, :summed])
        model.forward(torch.unflatten(by_label, 3, (classes, summed)).squeeze(2))
        bounds = torch.zeros_like(log_pi)
        rate = torch.unflatten(model.rate(), 1, (classes, summed))
        bounds[:, :, :summed] = model.log_likelihood() - rate
        share = (log_pi.exp() * batch.weight)[:, :, :summed]
        model.backward(share.unsqueeze(1), ones, self._gradients)
        model = self._model(batch.paired)
        model.images.copy_(batch.images[:, :, summed:])
        model.set_labels(batch.labels[:, :, summed:])
        model.forward(paired)
        weight = batch.weight[:, :, None, summed:]
        model.backward(weight, ones, self._gradients, add=True)
        return enumerated_slope(bounds, log_pi, batch.weight)

    def evaluate(self, epoch: int) -> None:
        """Add the accuracy on test images to the curves."""
        steps = epoch * self.training.steps_per_epoch(len(self.data.train))
        for log, accuracy in zip(self.logs, self.accuracy(), strict=True):
            log.curve.append({"epoch": epoch, "step": steps, "accuracy_test": accuracy})

    def accuracy(self) -> list[float]:
        """Return the accuracy of each replica on the test images, in per cent."""
        log_pi = Classifier(self.shape, self.weights, len(self.data.test)).log_probabilities(
            self.data.test.T
        )
        correct = log_pi.argmax(1) == self.data.test_labels.argmax(1)
        return [100 * value for value in correct.double().mean(1).tolist()]

    @torch.inference_mode()
    def unlabelled_bound(self) -> list[float]:
        """Return the mean over test images of U(x), by a sum over labels, of each replica."""
        streams = streams_for(self.replicas, self.data.test.device, "measurement")
        values = []
        for images in torch.split(self.data.test, CHUNK):
            count, classes = len(images), self.shape.labels
            log_pi = Classifier(self.shape, self.weights, count).log_probabilities(images.T)
            model = Autoencoder(self.shape, self.weights, count)
            model.images.copy_(images.T)
            noise, bounds = streams.normal(1, self.shape.latents, 1, count)[0], []
            for label in torch.eye(classes, device=images.device, dtype=torch.float32):
                model.set_labels(label[None, :, None].expand(len(self.replicas), -1, count))
                model.forward(noise)
                bounds.append(model.log_likelihood()[:, 0] - model.rate() - math.log(classes))
            values.append(enumerated_bound(torch.stack(bounds, 1), log_pi))
        return torch.cat(values, 1).mean(1).tolist()
