"""Copies of weights during training."""

from __future__ import annotations

import torch

from bnnbench.methods.shared.trainer import Snapshots


def weights(step: int) -> torch.Tensor:
    """Return the weights of two replicas with one weight each."""
    return torch.tensor([[1.0], [10.0]]) * step


def test_copies_of_diverged_replicas_are_those_of_the_previous_epoch() -> None:
    snapshots = Snapshots(range(2, 8, 2), weights(0))
    for step in (1, 2, 3, 4):
        snapshots.record(step, weights(step))
    snapshots.end_epoch(torch.tensor([True, True]), weights(0))
    snapshots.record(6, weights(6))
    snapshots.end_epoch(torch.tensor([True, False]), weights(4))
    assert snapshots.weights.tolist() == [[[2.0], [4.0], [6.0]], [[20.0], [40.0], [40.0]]]
