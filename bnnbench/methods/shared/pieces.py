"""Predicting a few networks or rows at a time, so that activations fit into memory."""

from __future__ import annotations

import torch
from torch import Tensor

from bnnbench.cpp.tensors import available
from bnnbench.native import outputs as native
from bnnbench.nn import MLP, forward

PREDICTION_ELEMENTS = 4_000_000  # activations held at once: 16 MB of float32


def put_out(mlp: MLP, networks: Tensor, inputs: Tensor, outputs: Tensor) -> Tensor:
    """Writes what networks `[S, R, P]` make of `[R, M, D]` into outputs `[S, R, M, O]`.

    Those are made before: kept pieces between freed activations would fragment the heap by
    gigabytes.
    """
    if available(networks):
        native.put_out(mlp, networks, inputs, outputs)
        return outputs
    replicas, rows, _ = inputs.shape
    chunk = max(1, PREDICTION_ELEMENTS // (replicas * rows * max(mlp.sizes)))
    for piece, weights in zip(outputs.split(chunk), networks.split(chunk), strict=True):
        piece.copy_(forward(mlp, weights, inputs)[0])
    return outputs


def rows_at_once(mlp: MLP, replicas: int) -> int:
    """Of every replica's inputs, where each row is propagated once."""
    return max(1, PREDICTION_ELEMENTS // (replicas * max(mlp.sizes)))


def spread(count: int, kept: Tensor) -> Tensor:
    """At most `count` of `[K, ...]`, evenly spaced: nothing is drawn at random."""
    count = min(count, len(kept))
    places = (torch.arange(count, device=kept.device) + 0.5) * (len(kept) / count)
    return kept[places.long()]
