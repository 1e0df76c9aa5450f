"""Data sets as their YAML has them, and what a table must hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from bnnbench.cli.make import make
from bnnbench.data import Source
from bnnbench.types import Table
from support.config import compose_only

NOWHERE = "http://127.0.0.1:9/"  # nothing listens there: refused at once, no network needed

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


def configured(name: str, **changes: Any) -> tuple[Source, dict[str, Any]]:
    """A data set's configuration as Hydra composes it: the source, and its `protocol`."""
    config = compose_only(f"dataset={name}", "data_dir=data")["dataset"]
    protocol = config.pop("protocol")
    return make("dataset", config | changes), protocol


def check_splits(table: Table, n_splits: int) -> None:
    """Each split parts the rows: nothing shared, nothing left out."""
    assert [split.index for split in table.splits] == list(range(n_splits))
    for split in table.splits:
        rows = np.concatenate([split.train, split.test])
        assert np.array_equal(np.sort(rows), np.arange(len(table.targets)))
