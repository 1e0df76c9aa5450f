"""How many splits train in one stack on a CPU, and roughly how long a group of them takes."""

from __future__ import annotations

import math
from itertools import pairwise

from bnnbench.settings import Network, Training

# Replicas to a stack without a search, and the activations of a layer that fill it before. For one
# hidden layer of 100 units, 10 weight samples and minibatches of 32 on one CPU core, 5 at once take
# 0.5 to 0.65 of the time of one by one; more gain little, and two or three layers, whose steps are
# all computing, neither gain nor lose. Of 927 rows at once 5 take 1.3 times as long as one by one.
STACK = 5
STACK_ACTIVATIONS = STACK * 10 * 32 * 100
STACK_PREDICTIONS = 20_000_000  # numbers predicted at once: 160 MB of float64


def fits_stack(network: Network, training: Training, predicted: int = 1) -> int:
    """How many replicas fit into one stack on the CPU without being slower for it.

    Args:
        network: the architecture.
        training: settings of the fits.
        predicted: numbers that a replica predicts: test samples times test rows.
    """
    width = max(network.widths, default=1)
    each = training.samples * int(training.batch_size) * width
    return max(1, min(STACK, STACK_ACTIVATIONS // each, STACK_PREDICTIONS // predicted))


MULTIPLIED = 0.35e-10  # seconds of a row and a weight, forwards and backwards
SUGGESTION = 0.01  # seconds of an evaluation's search


def step_seconds(
    network: Network, training: Training, batch: int, replicas: int, native: bool = False
) -> float:
    """Of one step of a stack: launching its operations, and computing.

    Measured on one hidden layer of 50 units and minibatches of 32 rows, and on three of 100 and all
    rows at once, where the products of layers are most of it.
    """
    widths = network.widths
    pairs = sum(a * b for a, b in pairwise(widths))
    # Weights between hidden layers cost as much as 2.5 activations each, whatever the batch.
    units = batch * (sum(widths) or 1) + 2.5 * pairs
    launched, computed = (2e-6, 1.4e-9) if native else (1e-4, 3.5e-9)
    return launched + training.samples * replicas * (computed * units + MULTIPLIED * batch * pairs)


def group_seconds(
    network: Network,
    training: Training,
    rows: int,
    batch: int,
    splits: int,
    iterations: int,
    folds: int,
    out_of_fold: bool,
    native: bool = False,
) -> float:
    """Of search, final fit and out-of-fold fit of splits that advance together.

    Args:
        network: the architecture.
        training: settings of the fits.
        rows: of a training part.
        batch: rows per step.
        splits: of the group.
        iterations: evaluations per split.
        folds: of the cross-validation.
        out_of_fold: whether the folds are fitted once more.
        native: whether whole epochs are one call of native code.
    """
    searched = step_seconds(network, training, batch, splits * folds, native)
    final = step_seconds(network, training, batch, splits * (1 + folds * out_of_fold), native)
    epochs = iterations * training.epochs * searched + training.final_epochs * final
    return math.ceil(rows / batch) * epochs + SUGGESTION * splits * iterations
