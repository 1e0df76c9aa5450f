"""Train/test splits: for the sources that publish none of their own, and which of them to run."""

from __future__ import annotations

from typing import Any

import numpy as np

from bnnbench.checks import check_between, check_int
from bnnbench.types import Split, Table, UserError

MOST_SPLITS = 10_000

LEAST_TRAINING_ROWS = 5  # one for each cross-validation fold


def check_split_settings(n_splits: int, test_fraction: float, seed: int) -> None:
    """Raises `UserError` unless the three settings of `seeded_splits` make sense."""
    check_int("dataset.n_splits", n_splits)
    check_between("dataset.n_splits", n_splits, 0, MOST_SPLITS + 1)
    check_between("dataset.test_fraction", test_fraction, 0, 1)
    check_seed("dataset.split_seed", seed)


def check_seed(key: str, seed: int) -> None:
    """Raises `UserError` unless `seed` is one that the generators of data and splits take."""
    check_int(key, seed, least=0)
    check_between(key, seed, -1, 2**32)


def seeded_splits(n_rows: int, n_splits: int, test_fraction: float, seed: int) -> tuple[Split, ...]:
    """Random splits that depend on these four numbers only, never on the run's seed.

    Split `k` permutes the rows by a generator seeded with `(seed, k)`; the first
    `round((1 - test_fraction) * n_rows)` train and the rest test: the rounding of the published
    UCI splits. Split `k` is the same however many splits are asked for.

    Raises:
        UserError: if fewer than five rows would be left to train on, or none to test on.
    """
    n_train = round((1 - test_fraction) * n_rows)
    if n_train >= n_rows:
        raise UserError(
            f"dataset.test_fraction: {test_fraction:g} of {n_rows} rows leaves none to test on; "
            f"choose at least {1 / n_rows:.2g}."
        )
    if n_train < LEAST_TRAINING_ROWS:
        raise UserError(
            f"dataset.test_fraction: {test_fraction:g} of {n_rows} rows leaves {n_train} "
            f"to train on; choose a fraction that leaves at least {LEAST_TRAINING_ROWS}."
        )
    return tuple(_split(k, n_rows, n_train, seed) for k in range(n_splits))


def _split(index: int, n_rows: int, n_train: int, seed: int) -> Split:
    # RandomState, because NumPy freezes its stream: `default_rng` may change between versions.
    order = np.random.RandomState([seed, index]).permutation(n_rows)
    return Split(index, order[:n_train], order[n_train:])


def choose_splits(table: Table, wanted: Any) -> tuple[int, ...]:
    """Split numbers from `splits=all`, a count (`5`) or a list (`[0,3]`).

    Raises:
        UserError: if they are not all there.
    """
    available = [split.index for split in table.splits]
    last = f"{table.name} has splits 0 to {available[-1]}"
    if wanted == "all":
        return tuple(available)
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        if not 1 <= wanted <= len(available):
            raise UserError(f"splits must be 1 to {len(available)} for {table.name}, not {wanted}.")
        return tuple(available[:wanted])
    if not isinstance(wanted, list) or not wanted or not all(type(k) is int for k in wanted):
        raise UserError(f"splits must be all, a count or a list such as [0,3], not {wanted!r}.")
    repeated = [k for k in wanted if wanted.count(k) > 1]
    if repeated:
        raise UserError(f"splits must name each split once, not {repeated[0]} more often.")
    missing = [k for k in wanted if k not in available]
    if missing:
        raise UserError(f"splits: {last}, not {missing[0]}.")
    return tuple(sorted(set(wanted)))
