"""Training of stacks of replicas by epochs, resumable after any of them.

All random numbers of an epoch are a function of the seed, the repetition and the epoch, so that a
saved state needs no random streams.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from bnnbench.layers import Weights
from bnnbench.optim import Adam
from bnnbench.random_streams import Streams, derive_seed
from bnnbench.suites.latent_models.networks import Shape, initial_weights, pad_weights

EVALUATIONS, EARLY = 40, (1, 2, 5)
"""Number of evenly spaced epochs at which curves are evaluated, and further ones."""

SAVE_SECONDS = 3.0
"""Seconds between saved states."""


@dataclass(frozen=True)
class Replica:
    """One network of a stack.

    Attributes:
        shape: its own sizes, at most those of the stack.
        seed: of the run.
        repetition: its number. Equal numbers start from equal weights, where shapes are equal, and
            see the same minibatches.
        beta: factor of the KL divergence.
    """

    shape: Shape
    seed: int
    repetition: int
    beta: float = 1.0

    def seed_for(self, *purpose: int | str) -> int:
        """Return the seed of a random stream."""
        return derive_seed(self.seed, self.repetition, *purpose)


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
class Log:
    """Training history of one replica.

    Attributes:
        curve: rows of the table of curves, without the number of the repetition.
        snapshots: arrays of figures, one per evaluation.
        seconds: its part of the processor time.
    """

    curve: list[dict[str, Any]] = field(default_factory=list)
    snapshots: list[Tensor] = field(default_factory=list)
    seconds: float = 0.0


class ReplicaStack(ABC):
    """Replicas that train together.

    Args:
        shape: sizes that all replicas are padded to.
        replicas: the replicas.
        data: images and labels; its device is used.
        first: position in `shape.chains` of the first network that is trained.

    Attributes:
        weights: of all replicas.
        logs: history of each replica.
    """

    def __init__(
        self, shape: Shape, replicas: Sequence[Replica], data: Data, first: int = 0
    ) -> None:
        self.shape, self.replicas, self._data = shape, tuple(replicas), data
        self.logs = [Log() for _ in replicas]
        starts = [
            pad_weights(r.shape, shape, initial_weights(r.shape.chains, r.seed_for("start")))
            for r in replicas
        ]
        self.weights = Weights(shape.chains, torch.stack(starts).to(data.train))
        self._gradients = self.weights.zeros_like()
        fixed = sum(layer[0].numel() for chain in self.weights.chains[:first] for layer in chain)
        self._trained = slice(fixed, None)
        self._adam = Adam(self.weights.flat[:, self._trained])

    @abstractmethod
    def train_epoch(self, epoch: int) -> None:
        """Train for one epoch."""

    @abstractmethod
    def evaluate(self, epoch: int) -> None:
        """Add a row to the curve of each replica."""

    def _update(self, rate: float) -> None:
        """Take a step with the gradients, given the learning rate."""
        self._adam.step(self._gradients.flat[:, self._trained], rate)

    def state(self, k: int) -> dict[str, Any]:
        """Return everything needed to resume replica `k`."""
        return {"log": vars(self.logs[k]), **self._adam.state(k)}

    @torch.inference_mode()
    def restore(self, k: int, state: Mapping[str, Any]) -> None:
        """Resume replica `k` from a saved state."""
        self.logs[k] = Log(**state["log"])
        self._adam.restore(k, state)


def evaluated_epochs(epochs: int) -> set[int]:
    """Return early and evenly spaced epochs, and the last."""
    even = (round(epochs * k / EVALUATIONS) for k in range(1, EVALUATIONS + 1))
    return {epoch for epoch in (*EARLY, *even) if 1 <= epoch <= epochs}


@torch.inference_mode()
def train(
    stack: ReplicaStack,
    evaluated: Collection[int],
    epochs: int,
    done: int,
    save: Callable[[int], None],
) -> None:
    """Train to the last epoch.

    Args:
        stack: the replicas.
        evaluated: epochs at which curves are evaluated.
        epochs: number of the last epoch.
        done: number of finished epochs.
        save: called with the number of finished epochs every few seconds and at the end.
    """
    saved, started = time.monotonic(), time.process_time()
    for epoch in range(done + 1, epochs + 1):
        stack.train_epoch(epoch)
        if epoch in evaluated:
            stack.evaluate(epoch)
        if epoch == epochs or time.monotonic() - saved > SAVE_SECONDS:
            for log in stack.logs:
                log.seconds += (time.process_time() - started) / len(stack.logs)
            saved, started = time.monotonic(), time.process_time()
            save(epoch)


def streams_for(replicas: Sequence[Replica], device: torch.device, *purpose: int | str) -> Streams:
    """Return one random stream for each replica."""
    seeds = [replica.seed_for(*purpose) for replica in replicas]
    return Streams(seeds, tuple(range(len(seeds))), device)


def minibatches(
    replicas: Sequence[Replica], rows: int, size: int, epoch: int, device: torch.device
) -> Iterator[Tensor]:
    """Yield the rows of each minibatch, `[R, B]`, in an order that each replica has for itself."""
    orders = []
    for replica in replicas:
        random = torch.Generator().manual_seed(replica.seed_for("shuffle", epoch))
        orders.append(torch.randperm(rows, generator=random))
    yield from torch.stack(orders).to(device).split(size, 1)
