"""Prediction in chunks of networks or rows, so that activations fit into memory."""

from __future__ import annotations

import torch
from torch import Tensor

from bnnbench.cpp.library import has_native_code
from bnnbench.native import networks as native
from bnnbench.nn import MLP, forward

MAX_ACTIVATIONS = 4_000_000  # held at once: 16 MB of float32


def predict_outputs(mlp: MLP, networks: Tensor, inputs: Tensor, outputs: Tensor) -> Tensor:
    """Write the outputs of networks `[S, R, P]` for inputs `[R, M, D]` into `outputs`.

    The caller allocates `outputs` `[S, R, M, O]`: chunks allocated between freed activations would
    fragment the heap by gigabytes.
    """
    if has_native_code(networks):
        native.predict_outputs(mlp, networks, inputs, outputs)
        return outputs
    replicas, rows, _ = inputs.shape
    chunk = max(1, MAX_ACTIVATIONS // (replicas * rows * max(mlp.sizes)))
    parts = zip(torch.split(outputs, chunk), torch.split(networks, chunk), strict=True)
    for part, weights in parts:
        part.copy_(forward(mlp, weights, inputs)[0])
    return outputs


def network_outputs(mlp: MLP, networks: Tensor, inputs: Tensor) -> Tensor:
    """Return the outputs `[S, R, M, O]` of networks `[S, R, P]` for inputs `[R, M, D]`."""
    outputs = inputs.new_empty(len(networks), *inputs.shape[:2], mlp.sizes[-1])
    return predict_outputs(mlp, networks, inputs, outputs)


def rows_per_chunk(mlp: MLP, replicas: int) -> int:
    """Return how many rows of every replica fit into memory at once."""
    return max(1, MAX_ACTIVATIONS // (replicas * max(mlp.sizes)))


def evenly_spaced(count: int, items: Tensor) -> Tensor:
    """Return at most `count` evenly spaced entries of `[K, ...]`."""
    count = min(count, len(items))
    steps = torch.arange(count, dtype=torch.float32, device=items.device)
    positions = (steps + 0.5) * (len(items) / count)
    return items[positions.long()]
