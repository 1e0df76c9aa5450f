"""Validation parts of a training part; the rest of it is standardised with its own statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bnnbench.experiment.splits.fitting import FitSettings
from bnnbench.preprocessing import Scaler, pad, real_rows, standardise
from bnnbench.random_streams import derive_seed
from bnnbench.search.base import Search
from bnnbench.types import Split, Table, TrainingSet, UserError

MIN_FITTED_ROWS = 2
"""Fewest rows to which a search fits: a single row has no standard deviation."""


@dataclass(frozen=True)
class Folds:
    """The validation parts of some splits, such as folds: one replica per split and part.

    Attributes:
        data: standardised training rows.
        scaler: their statistics.
        inputs: standardised validation inputs `[R, M, D]`.
        targets: validation targets `[R, M]`, original units.
        real: `[R, M]`, False on padding.
        rows: per replica, the table's row numbers of the validation part.
        count: validation parts per split.
    """

    data: TrainingSet
    scaler: Scaler
    inputs: Tensor
    targets: Tensor
    real: Tensor
    rows: tuple[np.ndarray, ...]
    count: int


def shuffled_folds(groups: np.ndarray, count: int, seed: int) -> list[np.ndarray]:
    """Return the held-out rows of each fold as masks `[rows]`; a group is never divided.

    If each row is a group, they equal those of scikit-learn's `KFold(count, shuffle=True,
    random_state=seed)`, which takes a second to import.

    Args:
        groups: `[rows]`, the group number of each row.
        count: number of folds; their numbers of groups differ by at most one.
        seed: of the shuffled order of the groups.
    """
    order = np.random.RandomState(seed).permutation(np.unique(groups))
    return [np.isin(groups, part) for part in np.array_split(order, count)]


def make_folds(fitting: FitSettings, table: Table, splits: Sequence[Split], count: int) -> Folds:
    """Make shuffled folds of each training part, the same in every fit."""
    masks = []
    for split in splits:
        seed = derive_seed(fitting.seed, split.index, "folds") % 2**32
        every_row = np.arange(len(split.train))
        groups = every_row if table.groups is None else table.groups[split.train]
        masks.append(shuffled_folds(groups, count, seed))
    return _held_out(fitting, table, splits, masks)


def rows_before(fraction: float, rows: int) -> int:
    """Return how many rows precede the last fraction of them."""
    return int(round((1 - fraction) * rows, 6))  # (1 - 0.8) * 10 is 1.9999999999999996


def check_folds(table: Table, count: int) -> None:
    """Raise `UserError` if a training part cannot be divided into so many folds."""
    groups = table.groups
    parts = [
        split.train if groups is None else np.unique(groups[split.train]) for split in table.splits
    ]
    least = min(len(part) for part in parts)
    if count > least:
        raise UserError(
            f"search.folds must be at most {least}, the number of training "
            f"{'rows' if groups is None else 'groups'} of {table.name}, not {count}.",
            "search.folds",
        )


def check_held_out(table: Table, fraction: float) -> None:
    """Raise `UserError` if the last fraction of a training part cannot be held out."""
    key = "search.held_out_fraction"
    if table.groups is not None:
        raise UserError(
            f"{key} would divide groups of {table.name}; set it to null to validate on "
            "folds, which keep groups together.",
            key,
            "groups",
        )
    least = min(len(split.train) for split in table.splits)
    if rows_before(fraction, least) < MIN_FITTED_ROWS:
        raise UserError(
            f"{key}={fraction:g} leaves fewer than {MIN_FITTED_ROWS} of the {least} training "
            f"rows of {table.name} to fit; choose a smaller fraction.",
            key,
            "too_large",
        )


def validation_parts(
    fitting: FitSettings, table: Table, splits: Sequence[Split], search: Search
) -> Folds:
    """Return what an evaluation of a search validates on.

    That is the folds of each training part, or the last fraction of its rows.
    """
    if search.held_out_fraction is None:
        return make_folds(fitting, table, splits, search.folds)
    sizes = [len(split.train) for split in splits]
    masks = [[np.arange(n) >= rows_before(search.held_out_fraction, n)] for n in sizes]
    return _held_out(fitting, table, splits, masks)


def _held_out(
    fitting: FitSettings,
    table: Table,
    splits: Sequence[Split],
    masks: Sequence[Sequence[np.ndarray]],
) -> Folds:
    """Return the validation parts of each split, given as masks of its training part."""
    fits, checks, groups = [], [], []
    for g, (split, held_out) in enumerate(zip(splits, masks, strict=True)):
        for out in held_out:
            fits.append(split.train[~out])
            checks.append(split.train[out])
            groups.append(g)
    device = torch.device(fitting.device)
    data, scaler = standardise(table, fits, groups, device, fitting.dtype)
    checked = [table.targets[i] for i in checks]
    return Folds(
        data,
        scaler,
        scaler.inputs([table.inputs[i] for i in checks]),
        torch.from_numpy(pad(checked)).to(device),
        torch.from_numpy(real_rows(checked)).to(device),
        tuple(checks),
        len(masks[0]),
    )
