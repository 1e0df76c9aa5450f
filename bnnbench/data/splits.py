"""Published and random train/test splits, the choice of splits to run, and fingerprints."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from bnnbench.constraints import Between, Whole
from bnnbench.data.errors import invalid
from bnnbench.types import Split, Table, UserError

MAX_SPLITS = 10_000

MIN_TRAINING_ROWS = 5  # one for each cross-validation fold


NumberOfSplits = Annotated[int, Whole(1, MAX_SPLITS)]
TestFraction = Annotated[float, Between(0, 1)]


def published_splits(n_rows: int, n_splits: int) -> tuple[Split, ...]:
    """Return the splits of the UCI sets of Hernández-Lobato & Adams (2015).

    One generator permutes the rows for each split in turn. The first `round(0.9 * n_rows)` rows
    are for training, the others for testing.
    """
    random, n_train = np.random.RandomState(1), round(0.9 * n_rows)
    orders = [random.choice(n_rows, n_rows, replace=False) for _ in range(n_splits)]
    return tuple(Split(k, order[:n_train], order[n_train:]) for k, order in enumerate(orders))


def seeded_splits(n_rows: int, n_splits: int, test_fraction: float, seed: int) -> tuple[Split, ...]:
    """Draw random splits that depend on the arguments only, not on the run's seed.

    Split `k` permutes the rows with a generator seeded with `(seed, k)`, so it does not depend on
    `n_splits`. The first `round((1 - test_fraction) * n_rows)` rows are for training, with the
    rounding of the published UCI splits, and the others for testing.

    Raises:
        UserError: if fewer than five training rows or no test rows would be left.
    """
    n_train = round((1 - test_fraction) * n_rows)
    if n_train >= n_rows:
        raise invalid(
            "test_fraction",
            "no_test_rows",
            f"{test_fraction:g} of {n_rows} rows leaves no test rows; "
            f"choose at least {1 / n_rows:.2g}.",
        )
    if n_train < MIN_TRAINING_ROWS:
        raise invalid(
            "test_fraction",
            "too_few_training_rows",
            f"{test_fraction:g} of {n_rows} rows leaves {n_train} training "
            f"rows; choose a fraction that leaves at least {MIN_TRAINING_ROWS}.",
        )
    # RandomState, because NumPy freezes its stream: `default_rng` may change between versions.
    orders = [np.random.RandomState([seed, k]).permutation(n_rows) for k in range(n_splits)]
    return tuple(Split(k, order[:n_train], order[n_train:]) for k, order in enumerate(orders))


def select_splits(table: Table, requested: Any) -> tuple[int, ...]:
    """Return the split numbers for the setting `splits`: `all`, a count (`5`) or a list (`[0,3]`).

    Raises:
        UserError: if the setting is invalid or a split does not exist.
    """
    available = [split.index for split in table.splits]
    if requested == "all":
        return tuple(available)
    if isinstance(requested, int) and not isinstance(requested, bool):
        if not 1 <= requested <= len(available):
            raise UserError(
                f"splits must be 1 to {len(available)} for {table.name}, not {requested}.",
                setting="splits",
                code="count_out_of_range",
            )
        return tuple(available[:requested])
    is_list = isinstance(requested, list) and all(type(k) is int for k in requested)
    if not is_list or not requested:
        raise UserError(
            f"splits must be all, a count or a list such as [0,3], not {requested!r}.",
            setting="splits",
            code="invalid",
        )
    repeated = [k for k in requested if requested.count(k) > 1]
    if repeated:
        raise UserError(
            f"splits must not repeat split {repeated[0]}.", setting="splits", code="repeated"
        )
    missing = [k for k in requested if k not in available]
    if missing:
        raise UserError(
            f"splits: {table.name} has no split {missing[0]}, only 0 to {available[-1]}.",
            setting="splits",
            code="unknown_split",
        )
    return tuple(sorted(set(requested)))


def fingerprint(table: Table) -> str:
    """Return a hash of the data and its splits, so that edited data makes a different run."""
    state = hashlib.sha256()
    arrays = [table.inputs, table.targets]
    arrays += [part.astype(np.int64) for s in table.splits for part in (s.train, s.test)]
    for array in arrays:
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()[:16]


def data_fingerprint(table: Table) -> str:
    """Return a hash of the data alone, which is the same for all splits of them."""
    return subset_fingerprints(table, [np.arange(len(table.targets))])[0]


def subset_fingerprints(table: Table, parts: Sequence[np.ndarray]) -> list[str]:
    """Return one hash per subset of rows, of the row numbers and of the whole table's data.

    Two runs have the same test points where the fingerprints of their test parts agree, whatever
    the numbers of their splits and the order of the rows.

    Args:
        table: the data set.
        parts: the row numbers of each subset.
    """
    data = hashlib.sha256()
    for array in (table.inputs, table.targets):
        data.update(np.ascontiguousarray(array).tobytes())
    fingerprints = []
    for rows in parts:
        state = data.copy()
        state.update(np.sort(rows).astype(np.int64).tobytes())
        fingerprints.append(state.hexdigest()[:16])
    return fingerprints
