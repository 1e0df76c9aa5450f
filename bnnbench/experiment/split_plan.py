"""The settings of a run on splits in words, for who asks before it runs."""

from __future__ import annotations

from collections.abc import Sequence

from bnnbench.settings import Dimension, Network, Training
from bnnbench.types import Split, Table


def data_in_words(table: Table, splits: Sequence[Split]) -> dict[str, str]:
    """The table, and the splits that are run."""
    rows, columns = table.inputs.shape
    trained, tested = len(splits[0].train), len(splits[0].test)
    return {
        "table": f"{rows} rows, {columns} inputs, target {table.target}",
        "splits": f"{len(splits)} of {len(table.splits)}, the first trains on {trained} rows and "
        f"tests {tested}",
    }


def search_in_words(space: Sequence[Dimension], iterations: int, folds: int) -> dict[str, str]:
    """How hyper-parameters are chosen, in standardised units."""
    if not iterations:
        return {"search": "none"}
    ranges = ", ".join(f"{d.name} {d.low:.3g} to {d.high:.3g}" for d in space)
    return {"search": f"{iterations} evaluations of {folds} folds: {ranges}"}


def training_in_words(network: Network, training: Training) -> dict[str, str]:
    """The network, and how it is trained."""
    return {
        "network": f"hidden units {' x '.join(map(str, network.widths)) or 'none'}",
        "training": f"{training.epochs} epochs, {training.final_epochs} in the final fit, "
        f"minibatches of {training.batch_size}, learning rate {training.learning_rate:g}, "
        f"{training.samples} weight samples",
    }
