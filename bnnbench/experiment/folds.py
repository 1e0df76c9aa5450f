"""Cross-validation folds of a training part, each standardised with its own statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bnnbench.experiment.fitting import FitSettings
from bnnbench.preprocessing import Scaler, pad, real_rows, standardise
from bnnbench.random_streams import derive_seed
from bnnbench.types import Split, Table, TrainingSet


@dataclass(frozen=True)
class Folds:
    """The cross-validation folds of some splits: one replica per split and fold.

    Attributes:
        data: standardised training folds.
        scaler: their statistics.
        inputs: standardised validation inputs `[R, M, D]`.
        targets: validation targets `[R, M]`, original units.
        real: `[R, M]`, False on padding.
        rows: per replica, the table's row numbers of the validation part.
        count: folds per split.
    """

    data: TrainingSet
    scaler: Scaler
    inputs: Tensor
    targets: Tensor
    real: Tensor
    rows: tuple[np.ndarray, ...]
    count: int


def shuffled_folds(rows: int, count: int, seed: int) -> list[np.ndarray]:
    """Return the held-out rows of each fold as masks `[rows]`.

    Equal to scikit-learn's `KFold(count, shuffle=True, random_state=seed)`, which takes a second to
    import.
    """
    order = np.random.RandomState(seed).permutation(rows)
    return [np.isin(np.arange(rows), part) for part in np.array_split(order, count)]


def grouped_folds(groups: np.ndarray, count: int, seed: int) -> list[np.ndarray]:
    """Return the held-out rows of each fold as masks `[rows]`; a group is never divided.

    Args:
        groups: `[rows]`, the group number of each row.
        count: number of folds; their numbers of groups differ by at most one.
        seed: of the shuffled order of the groups.
    """
    order = np.random.RandomState(seed).permutation(np.unique(groups))
    return [np.isin(groups, part) for part in np.array_split(order, count)]


def make_folds(fitting: FitSettings, table: Table, splits: Sequence[Split], count: int) -> Folds:
    """Make shuffled folds of each training part, the same for all evaluations of the search."""
    fits, checks, groups = [], [], []
    for g, split in enumerate(splits):
        seed = derive_seed(fitting.seed, split.index, "folds") % 2**32
        held_out = (
            shuffled_folds(len(split.train), count, seed)
            if table.groups is None
            else grouped_folds(table.groups[split.train], count, seed)
        )
        for out in held_out:
            fits.append(split.train[~out])
            checks.append(split.train[out])
            groups.append(g)
    x, y = table.inputs, table.targets
    device = torch.device(fitting.device)
    data, scaler = standardise(
        [x[i] for i in fits], [y[i] for i in fits], groups, device, fitting.dtype
    )
    checked = [y[i] for i in checks]
    return Folds(
        data,
        scaler,
        scaler.inputs([x[i] for i in checks]),
        torch.from_numpy(pad(checked)).to(device),
        torch.from_numpy(real_rows(checked)).to(device),
        tuple(checks),
        count,
    )
