"""Training of stacks of replicas by epochs, resumable after any of them.

All random numbers of an epoch are a function of the seed, the repetition and the epoch, so that a
saved state needs no random streams.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from bnnbench.experiment.kinds.resumable_stack import Log, Repetition, ResumableStack, State
from bnnbench.layers import Weights
from bnnbench.optim import Adam
from bnnbench.random_streams import Streams
from bnnbench.suites.latent_models.autoencoder import (
    Autoencoder,
    Shape,
    initial_weights,
    pad_weights,
)

EVALUATIONS, EARLY = 40, (1, 2, 5)
"""Number of evenly spaced epochs at which curves are evaluated, and further ones."""


@dataclass(frozen=True)
class AutoencoderReplica(Repetition):
    """One network of a stack, which starts from the weights of its number and shape.

    Attributes:
        shape: its own sizes, at most those of the stack.
        beta: factor of the KL divergence.
    """

    shape: Shape
    beta: float = 1.0


@dataclass(frozen=True)
class Data:
    """Images and labels on a device.

    Attributes:
        train: `[N, D]`.
        test: `[M, D]`.
        train_labels: one-hot, `[N, L]`.
        test_labels: one-hot, `[M, L]`.
    """

    train: Tensor
    test: Tensor
    train_labels: Tensor
    test_labels: Tensor


@dataclass
class SnapshotLog(Log):
    """Training history of one replica.

    Attributes:
        snapshots: arrays of figures, one per evaluation.
    """

    snapshots: list[Tensor] = field(default_factory=list)


class ReplicaStack(ResumableStack[SnapshotLog]):
    """Replicas that train together; a step is an epoch.

    Args:
        shape: sizes that all replicas are padded to.
        replicas: the replicas.
        data: images and labels; its device is used.
        first: position in `shape.chains` of the first network that is trained.

    Attributes:
        data: images and labels.
        weights: of all replicas.
        evaluated: epochs after which curves are evaluated.
    """

    def __init__(
        self, shape: Shape, replicas: Sequence[AutoencoderReplica], data: Data, first: int = 0
    ) -> None:
        super().__init__([SnapshotLog() for _ in replicas])
        self.shape, self.replicas, self.data = shape, tuple(replicas), data
        self.evaluated: Collection[int] = ()
        starts = [
            pad_weights(r.shape, shape, initial_weights(r.shape.chains, r.seed_for("start")))
            for r in replicas
        ]
        self.weights = Weights(shape.chains, torch.stack(starts).to(data.train))
        self._gradients = self.weights.zeros_like()
        fixed = sum(layer[0].numel() for chain in self.weights.chains[:first] for layer in chain)
        self._trained = slice(fixed, None)
        self._adam = Adam(self.weights.flat[:, self._trained])
        self._models: dict[tuple[int, int, bool], Autoencoder] = {}

    @abstractmethod
    def train_epoch(self, epoch: int) -> None:
        """Train for one epoch."""

    @abstractmethod
    def evaluate(self, epoch: int) -> None:
        """Add a row to the curve of each replica."""

    def _model(self, columns: int, samples: int = 1, every_label: bool = False) -> Autoencoder:
        """Return the model of this size; its buffers are allocated once."""
        key = columns, samples, every_label
        if key not in self._models:
            self._models[key] = Autoencoder(self.shape, self.weights, *key)
        return self._models[key]

    def _update(self, rate: float) -> None:
        """Take a step with the gradients, given the learning rate."""
        self._adam.step(self._gradients.flat[:, self._trained], rate)

    def take_step(self) -> None:
        """Train for the next epoch, and evaluate if due."""
        epoch = self.steps + 1
        self.train_epoch(epoch)
        if epoch in self.evaluated:
            self.evaluate(epoch)

    def replica_state(self, k: int) -> dict[str, Any]:
        return self._adam.state(k)

    def restore_replica(self, k: int, state: State) -> None:
        self._adam.restore(k, state)


def evaluated_epochs(epochs: int) -> set[int]:
    """Return early and evenly spaced epochs, and the last."""
    even = (round(epochs * k / EVALUATIONS) for k in range(1, EVALUATIONS + 1))
    return {epoch for epoch in (*EARLY, *even) if 1 <= epoch <= epochs}


def streams_for(
    replicas: Sequence[AutoencoderReplica], device: torch.device, *purpose: int | str
) -> Streams:
    """Return one random stream for each replica."""
    seeds = [replica.seed_for(*purpose) for replica in replicas]
    return Streams(seeds, tuple(range(len(seeds))), device)


def minibatches(
    replicas: Sequence[AutoencoderReplica], rows: int, size: int, epoch: int, device: torch.device
) -> Iterator[Tensor]:
    """Yield the rows of each minibatch, `[R, B]`, in an order that each replica has for itself."""
    orders = []
    for replica in replicas:
        random = torch.Generator().manual_seed(replica.seed_for("shuffle", epoch))
        orders.append(torch.randperm(rows, generator=random, device="cpu"))
    yield from torch.split(torch.stack(orders).to(device), size, 1)
