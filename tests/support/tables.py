"""Data sets from their configurations, and checks of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from bnnbench.config.instantiate import instantiate
from bnnbench.data import Source
from bnnbench.preprocessing import Scaler, standardise
from bnnbench.types import Table, TrainingSet
from support.config import compose_only

SHAPES = {
    "boston": (506, 13),
    "concrete": (1030, 8),
    "energy": (768, 8),
    "kin8nm": (8192, 8),
    "naval": (11934, 16),
    "power": (9568, 4),
    "protein": (45730, 9),
    "wine": (1599, 11),
    "yacht": (308, 6),
}


def configured_source(option: str, /, **changes: Any) -> tuple[Source, dict[str, Any]]:
    """Return the source and the `protocol` of an option of `configs/dataset`."""
    config = compose_only(f"dataset={option}")["dataset"]
    protocol = config.pop("protocol")
    return instantiate("dataset", config | changes), protocol


def assert_valid_splits(table: Table, n_splits: int) -> None:
    """Assert that each split partitions the rows."""
    assert [split.index for split in table.splits] == list(range(n_splits))
    for split in table.splits:
        rows = np.concatenate([split.train, split.test])
        assert np.array_equal(np.sort(rows), np.arange(len(table.targets)))


def standardised(
    inputs: Sequence[np.ndarray], targets: Sequence[np.ndarray], groups: Sequence[int]
) -> tuple[TrainingSet, Scaler]:
    """Return `standardise` of R training parts, float64, from `[N_r, D]` and `[N_r]` of each."""
    names = tuple(f"x{k}" for k in range(inputs[0].shape[1]))
    parts = np.concatenate(inputs), np.concatenate(targets)
    table = Table("made", *parts, (), names, "y")
    ends = np.cumsum([len(part) for part in targets])[:-1]
    rows = np.split(np.arange(len(table.targets)), ends)
    return standardise(table, rows, groups, torch.device("cpu"), torch.float64)
