"""Descriptions of a split experiment for `--dry-run`."""

from __future__ import annotations

from collections.abc import Sequence

from bnnbench.settings import Dimension, Network, Training
from bnnbench.types import Split, Table


def describe_data(table: Table, splits: Sequence[Split]) -> dict[str, str]:
    """Describe the table and the splits to run."""
    rows, columns = table.inputs.shape
    trained, tested = len(splits[0].train), len(splits[0].test)
    return {
        "table": f"{rows} rows, {columns} inputs, target {table.target}",
        "splits": f"{len(splits)} of {len(table.splits)}, the first with {trained} training "
        f"rows and {tested} test rows",
    }


def describe_search(space: Sequence[Dimension], iterations: int, folds: int) -> dict[str, str]:
    """Describe the search, with bounds in standardised units."""
    if not iterations:
        return {"search": "none"}
    ranges = ", ".join(f"{d.name} {d.low:.3g} to {d.high:.3g}" for d in space)
    return {"search": f"{iterations} evaluations with {folds} folds: {ranges}"}


def describe_training(network: Network, training: Training) -> dict[str, str]:
    """Describe the network and its training."""
    return {
        "network": f"hidden units {' x '.join(map(str, network.widths)) or 'none'}",
        "training": f"{training.epochs} epochs, {training.final_epochs} in the final fit, "
        f"minibatches of {training.batch_size}, learning rate {training.learning_rate:g}, "
        f"{training.samples} weight samples",
    }
