"""What every data set is held to, each clause a function of its source as it was read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bnnbench.checking.verdicts import Check
from bnnbench.data import Source
from bnnbench.types import Table


@dataclass(frozen=True)
class Reading:
    """A source and its table, read when that is first asked for.

    Attributes:
        source: of the data set.
    """

    source: Source

    @cached_property
    def table(self) -> Table:
        """As it is read the first time."""
        return self.source.load()


def fits_together(read: Reading) -> str | None:
    """A table of rows, a target for each, and a name for each column."""
    table = read.table
    if not isinstance(table, Table):
        return f"`load` must return a Table, not {type(table).__name__}"
    inputs, targets = np.asarray(table.inputs), np.asarray(table.targets)
    if inputs.ndim != 2 or 0 in inputs.shape:
        return f"`inputs` must be [rows, columns], not {list(inputs.shape)}"
    rows, columns = inputs.shape
    if targets.shape != (rows,):
        return f"`targets` must be [{rows}], a number for each row, not {list(targets.shape)}"
    if len(table.features) != columns:
        return f"`features` must name {columns} columns, not {len(table.features)}"
    for name in ("truth", "groups"):
        own = getattr(table, name)
        if own is not None and np.shape(own) != (rows,):
            return f"`{name}` must be [{rows}], not {list(np.shape(own))}"
    if inputs.dtype != np.float64 or targets.dtype != np.float64:
        return f"`inputs` and `targets` must be float64, not {inputs.dtype} and {targets.dtype}"
    return None


def is_called_what_it_is(read: Reading) -> str | None:
    """The table has the name that the YAML gives its source: it names folders and tables."""
    if read.table.name == read.source.name:
        return None
    return f"the table is called {read.table.name!r}, and `name` is {read.source.name!r}"


def is_finite(read: Reading) -> str | None:
    """Every target is a number; an input may be missing (NaN), and is not infinite."""
    lost = int((~np.isfinite(read.table.targets)).sum())
    if lost:
        return f"{lost} of {len(read.table.targets)} targets are no finite numbers"
    infinite = int(np.isinf(read.table.inputs).sum())
    return f"{infinite} inputs are infinite; what is missing is NaN" if infinite else None


def splits_are_apart(read: Reading) -> str | None:
    """No row of a split is trained on and tested, and none is named twice or is not there."""
    table = read.table
    if not table.splits:
        return "it has no splits"
    numbers = [split.index for split in table.splits]
    if len({*numbers}) < len(numbers):
        return f"two splits have the number {max(numbers, key=numbers.count)}"
    for split in table.splits:
        for name in ("train", "test"):
            rows = np.asarray(getattr(split, name))
            if not len(rows):
                return f"split {split.index} has no rows to {name}"
            if rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= len(table.targets):
                return f"`{name}` of split {split.index} must be row numbers from 0"
            if len(np.unique(rows)) < len(rows):
                return f"`{name}` of split {split.index} names a row twice"
        both = np.intersect1d(split.train, split.test)
        if len(both):
            return f"split {split.index} trains and tests on {len(both)} of its rows"
    return None


def groups_are_whole(read: Reading) -> str | None:
    """No group of rows is on both sides of a split."""
    table = read.table
    if table.groups is None:
        return None
    for split in table.splits:
        torn = np.intersect1d(table.groups[split.train], table.groups[split.test])
        if len(torn):
            return f"split {split.index} tears {len(torn)} groups apart"
    return None


def target_varies(read: Reading) -> str | None:
    """In every part that is trained on: there is something to learn."""
    table = read.table
    for split in table.splits:
        if len(np.unique(table.targets[split.train])) < 2:
            return f"the target is the same in all rows that split {split.index} trains on"
    return None


def is_read_alike_twice(read: Reading) -> str | None:
    """The same table and splits every time: what is drawn is drawn by a seed of its own."""
    here, there = read.table, read.source.load()
    for name in ("inputs", "targets"):
        if not np.array_equal(getattr(here, name), getattr(there, name), equal_nan=True):
            return f"`{name}` differ when it is read again"
    for one, other in zip(here.splits, there.splits, strict=True):
        if not (np.array_equal(one.train, other.train) and np.array_equal(one.test, other.test)):
            return f"split {one.index} differs when it is read again"
    return None


DATA_SET: tuple[Check[Reading], ...] = (
    Check("it is read, and fits together", fits_together, basic=True),
    Check("the table has the name of its source", is_called_what_it_is),
    Check("its numbers are finite", is_finite),
    Check("its splits are apart and in range", splits_are_apart),
    Check("its groups are whole in every split", groups_are_whole),
    Check("its target varies", target_varies),
    Check("it is the same every time", is_read_alike_twice),
)
