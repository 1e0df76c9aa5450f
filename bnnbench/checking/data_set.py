"""The contract of data sets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bnnbench.checking.checks import Check
from bnnbench.data import Source
from bnnbench.types import Table


@dataclass(frozen=True)
class SourceUnderTest:
    """A data source and its table.

    Attributes:
        source: the source to check.
    """

    source: Source

    @cached_property
    def table(self) -> Table:
        """The table, loaded on first use."""
        return self.source.load()


def is_consistent(subject: SourceUnderTest) -> str | None:
    """There is one target per row and one name per column, in float64."""
    table = subject.table
    if not isinstance(table, Table):
        return f"`load` must return a Table, not {type(table).__name__}"
    inputs, targets = np.asarray(table.inputs), np.asarray(table.targets)
    if inputs.ndim != 2 or 0 in inputs.shape:
        return f"`inputs` must be [rows, columns], not {list(inputs.shape)}"
    rows, columns = inputs.shape
    if targets.shape != (rows,):
        return f"`targets` must be [{rows}], one number per row, not {list(targets.shape)}"
    if len(table.features) != columns:
        return f"`features` must name {columns} columns, not {len(table.features)}"
    for name in ("truth", "groups"):
        values = getattr(table, name)
        if values is not None and np.shape(values) != (rows,):
            return f"`{name}` must be [{rows}], not {list(np.shape(values))}"
    if inputs.dtype != np.float64 or targets.dtype != np.float64:
        return f"`inputs` and `targets` must be float64, not {inputs.dtype} and {targets.dtype}"
    return None


def has_name_of_source(subject: SourceUnderTest) -> str | None:
    """The table has the name of its source, which names folders and tables."""
    if subject.table.name == subject.source.name:
        return None
    return f"the table's name is {subject.table.name!r}, but `name` is {subject.source.name!r}"


def is_finite(subject: SourceUnderTest) -> str | None:
    """Targets are finite; inputs may be missing (NaN) but not infinite."""
    not_finite = int((~np.isfinite(subject.table.targets)).sum())
    if not_finite:
        return f"{not_finite} of {len(subject.table.targets)} targets are not finite"
    infinite = int(np.isinf(subject.table.inputs).sum())
    return f"{infinite} inputs are infinite; missing values must be NaN" if infinite else None


def splits_are_disjoint(subject: SourceUnderTest) -> str | None:
    """Each split has valid, distinct row numbers, and none is in both parts."""
    table = subject.table
    if not table.splits:
        return "there are no splits"
    numbers = [split.index for split in table.splits]
    if len({*numbers}) < len(numbers):
        return f"two splits have the index {max(numbers, key=numbers.count)}"
    for split in table.splits:
        for name in ("train", "test"):
            rows = np.asarray(getattr(split, name))
            if not len(rows):
                return f"split {split.index} has no {name} rows"
            if rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= len(table.targets):
                return f"`{name}` of split {split.index} must be row numbers from 0"
            if len(np.unique(rows)) < len(rows):
                return f"`{name}` of split {split.index} contains a row twice"
        shared_rows = np.intersect1d(split.train, split.test)
        if len(shared_rows):
            return f"{len(shared_rows)} rows of split {split.index} are in both parts"
    return None


def groups_are_not_split(subject: SourceUnderTest) -> str | None:
    """No group of rows is in both parts of a split."""
    table = subject.table
    if table.groups is None:
        return None
    for split in table.splits:
        divided = np.intersect1d(table.groups[split.train], table.groups[split.test])
        if len(divided):
            return f"{len(divided)} groups are in both parts of split {split.index}"
    return None


def target_varies(subject: SourceUnderTest) -> str | None:
    """The target varies in every training part."""
    table = subject.table
    for split in table.splits:
        if len(np.unique(table.targets[split.train])) < 2:
            return f"the target is constant in the training part of split {split.index}"
    return None


def is_reproducible(subject: SourceUnderTest) -> str | None:
    """Loading twice gives the same table and splits; random data must have a fixed seed."""
    first, second = subject.table, subject.source.load()
    for name in ("inputs", "targets"):
        if not np.array_equal(getattr(first, name), getattr(second, name), equal_nan=True):
            return f"`{name}` differ when the data set is loaded again"
    for one, other in zip(first.splits, second.splits, strict=True):
        if not (np.array_equal(one.train, other.train) and np.array_equal(one.test, other.test)):
            return f"split {one.index} differs when the data set is loaded again"
    return None


DATA_SET: tuple[Check[SourceUnderTest], ...] = (
    Check(
        "it loads and has consistent shapes",
        is_consistent,
        "Return `Table(self.name, inputs, targets, splits, features, target)` from `load`, with "
        "`inputs = frame[features].to_numpy(float)` and `targets = frame[target].to_numpy(float)`",
        is_prerequisite=True,
    ),
    Check(
        "the table has the name of its source",
        has_name_of_source,
        "Write `Table(self.name, ...)` in `load`",
    ),
    Check(
        "all values are finite or missing inputs",
        is_finite,
        "In `load`, drop rows without a finite target, `frame[np.isfinite(frame['y'])]`, and write "
        "missing inputs as NaN: `inputs[np.isinf(inputs)] = np.nan`",
    ),
    Check(
        "training and test rows are valid and disjoint",
        splits_are_disjoint,
        "Return `Split(k, train, test)` with distinct row numbers from 0, such as "
        "`seeded_splits(rows, count, test_fraction, seed)` of `bnnbench.data.splits`",
    ),
    Check(
        "no group is in both parts of a split",
        groups_are_not_split,
        "Put each group into one part: `test = np.flatnonzero(np.isin(groups, test_groups))`, "
        "`train = np.flatnonzero(~np.isin(groups, test_groups))`",
    ),
    Check(
        "the target varies in every training part",
        target_varies,
        "Check the column of the target in `load`, or make the training parts of "
        "`Split(k, train, test)` larger",
    ),
    Check(
        "loading it twice gives the same data",
        is_reproducible,
        "Draw random data in `load` with a fixed seed: `random = np.random.default_rng(0)`",
    ),
)
