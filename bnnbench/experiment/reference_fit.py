"""A fixed computation that tells how fast a machine is at the moment."""

from __future__ import annotations

import time

import numpy as np

NETWORKS, ROWS, INPUTS, UNITS = 16, 32, 8, 50
STEPS = 150


def reference_seconds() -> float:
    """Return the CPU seconds of a fixed fit; times of different machines compare as ratios to it.

    Gradient descent of 16 networks with one hidden layer of 50 ReLU units, in numpy.
    """
    random = np.random.default_rng(0)
    inputs = random.standard_normal((NETWORKS, ROWS, INPUTS), dtype=np.float32)
    targets = inputs.sum(-1, keepdims=True)
    first = random.standard_normal((NETWORKS, INPUTS, UNITS), dtype=np.float32)
    last = random.standard_normal((NETWORKS, UNITS, 1), dtype=np.float32)
    started = time.process_time()
    for _ in range(STEPS):
        hidden = np.maximum(inputs @ first, 0)
        error = (hidden @ last - targets) / ROWS
        back = (error @ last.transpose(0, 2, 1)) * (hidden > 0)
        last -= 1e-3 * (hidden.transpose(0, 2, 1) @ error)
        first -= 1e-3 * (inputs.transpose(0, 2, 1) @ back)
    return time.process_time() - started
