"""Stack size, estimated time and description of groups of splits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from bnnbench.notes import quantity
from bnnbench.search.base import Search
from bnnbench.settings import Dimension, Network, Training
from bnnbench.types import Split, Table

# Limits of a stack without a search: replicas, and activations of a layer. With one hidden layer of
# 100 units, 10 weight samples and minibatches of 32 on one CPU core, a stack of 5 takes 0.5 to 0.65
# times as long as 5 single fits. Larger stacks gain little. With two or three layers computation
# dominates, and a stack gains nothing. With batches of 927 rows it takes 1.3 times as long.
MAX_REPLICAS = 5
MAX_ACTIVATIONS = MAX_REPLICAS * 10 * 32 * 100
MAX_PREDICTIONS = 20_000_000  # numbers predicted at once: 160 MB of float64


def max_stacked_replicas(network: Network, training: Training, predicted: int = 1) -> int:
    """Return how many replicas can be stacked on a CPU without being slower.

    Args:
        network: the architecture.
        training: settings of the fits.
        predicted: number of predictions of a replica: test samples times test rows.
    """
    width = max(network.widths, default=1)
    each = training.samples * int(training.batch_size) * width
    return max(1, min(MAX_REPLICAS, MAX_ACTIVATIONS // each, MAX_PREDICTIONS // predicted))


# Measured on an idle core, for the runs of docs/results/timing and of `make bench`, on a faster
# machine than that of docs/results/speed.csv; the time of an evaluation, on a busy machine.
PRODUCT_SECONDS = 0.35e-10  # per row and weight, forward and backward pass
PREDICTION_SECONDS = 1e-9  # per test sample, row and hidden unit
EVALUATION_SECONDS = 0.006  # per evaluation of the search, besides training and predicting
COMPILATION_SECONDS = 2.0  # per process that compiles the step

EAGER_STEP_SECONDS = 6e-4
"""Overhead of a step that is neither native nor compiled: 50 to 150 PyTorch operations. Measured
for `dvi`, `practical_vi` and `svgd` without native code, and an ensemble written by a user."""


def step_seconds(
    network: Network, training: Training, batch: int, replicas: float, native: float = 0
) -> float:
    """Estimate the seconds of one training step of a stack: overhead and computation.

    Calibrated on one hidden layer of 50 units with minibatches of 32 rows, and on three layers of
    100 units with all rows, where matrix products dominate. `group_seconds` describes `native`.
    """
    widths = network.widths
    pairs = sum(a * b for a, b in pairwise(widths))
    # Weights between hidden layers cost as much as 2.5 activations each, whatever the batch.
    units = batch * (sum(widths) or 1) + 2.5 * pairs
    launched, computed = (1.2e-5, 0.5e-9) if native else (1.5e-4, 3.5e-9)
    if not native and training.compile != "always":
        launched = EAGER_STEP_SECONDS
    return launched + training.samples * replicas * (native or 1) * (
        computed * units + PRODUCT_SECONDS * batch * pairs
    )


def group_seconds(
    network: Network,
    training: Training,
    rows: int,
    batch: int,
    splits: int,
    iterations: int,
    folds: int,
    searched: float,
    validated: float,
    out_of_fold: bool,
    native: float = 0,
    test_samples: int = 1,
) -> float:
    """Estimate the seconds of search, final fit and out-of-fold fit of a group of splits.

    Args:
        network: the architecture.
        training: settings of the fits.
        rows: number of training rows.
        batch: rows per step.
        splits: splits in the group.
        iterations: evaluations per split.
        folds: folds of the out-of-fold fit.
        searched: fits of an evaluation, relative to the networks of a final fit.
        validated: rows that an evaluation predicts, as a fraction of the training rows.
        out_of_fold: whether the folds are fitted once more.
        native: `Method.native_cost` if native code runs whole epochs, else 0.
        test_samples: networks that predict each row.
    """
    tried = step_seconds(network, training, batch, splits * searched, native)
    final = step_seconds(network, training, batch, splits * (1 + folds * out_of_fold), native)
    epochs = iterations * training.epochs * tried + training.final_epochs * final
    predicted = PREDICTION_SECONDS * test_samples * rows * (sum(network.widths) or 1)
    each = EVALUATION_SECONDS * iterations + predicted * (iterations * validated + 1 + out_of_fold)
    return math.ceil(rows / batch) * epochs + splits * each


def group_bytes(table: Table, splits: int, folds: int, samples: int) -> float:
    """Estimate the bytes that a group of splits needs.

    Args:
        table: the data set.
        splits: splits in the group.
        folds: folds that are fitted in one stack.
        samples: Monte Carlo weight samples at test time.
    """
    rows, columns = map(int, table.inputs.shape)
    tested = max(len(split.test) for split in table.splits)
    data = 3 * 4.0 * splits * folds * rows * (columns + 1)  # as read, standardised and shuffled
    predicted = 3 * 8.0 * splits * tested * samples
    return data + predicted


def describe_data(table: Table, splits: Sequence[Split]) -> dict[str, str]:
    """Describe the table and the splits to run."""
    rows, columns = table.inputs.shape
    trained, tested = len(splits[0].train), len(splits[0].test)
    return {
        "table": f"{rows} rows, {columns} inputs, target {table.target}",
        "splits": f"{len(splits)} of {len(table.splits)}, the first with {trained} training "
        f"rows and {tested} test rows",
    }


def describe_search(space: Sequence[Dimension], search: Search) -> dict[str, str]:
    """Describe the search, with values in standardised units unless it names others."""
    if not space:
        return {"search": "none"}
    fraction = search.held_out_fraction
    parts = f"{search.folds} folds" if fraction is None else f"the last {fraction:.3g} of the rows"
    ranges = ", ".join(map(_describe_dimension, space))
    return {"search": f"{search.iterations} evaluations with {parts}: {ranges}"}


def _describe_dimension(dimension: Dimension) -> str:
    listed = "/".join(f"{value:.3g}" for value in dimension.values)
    values = listed or f"{dimension.low:.3g} to {dimension.high:.3g}"
    return f"{dimension.name} {values}{' (original units)' * dimension.original_units}"


def describe_training(
    network: Network, training: Training, batch: int | str | None
) -> dict[str, str]:
    """Describe the network and its training.

    Args:
        network: the architecture.
        training: settings of the fits.
        batch: rows per minibatch; None if they are searched.
    """
    return {
        "network": f"hidden units {' x '.join(map(str, network.widths)) or 'none'}",
        "training": f"{quantity(training.epochs, 'epoch')}, {training.final_epochs} in the final "
        f"fit, minibatches of {batch or 'a searched size'}, "
        f"learning rate {training.learning_rate:g}, "
        f"{quantity(training.samples, 'weight sample')}",
    }
