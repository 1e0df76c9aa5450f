"""What our own data sets keep, and that every clause finds the mistake that it is for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
import pytest
from support.tables import configured

from bnnbench.checking.data_set import DATA_SET, Reading
from bnnbench.checking.verdicts import Check, verdicts
from bnnbench.data.splits import seeded_splits
from bnnbench.types import Split, Table


@pytest.mark.parametrize("check", DATA_SET, ids=lambda check: check.name)
@pytest.mark.parametrize("name", ["diabetes", "sine_20", "gp", "line"])
def test_ours_hold(name: str, check: Check[Reading]) -> None:
    assert check.find(Reading(configured(name)[0])) is None


@dataclass
class Made:
    """A data set as one might write it."""

    change: Callable[[Table], Any] = lambda table: table
    name: str = "made"
    summary: str = ""

    def load(self) -> Any:
        random = np.random.default_rng(1)
        inputs, targets = random.normal(size=(30, 2)), random.normal(size=30)
        splits = seeded_splits(30, 3, 0.2, 0)
        return self.change(Table(self.name, inputs, targets, splits, ("a", "b"), "y"))


def with_split(index: int, train: list[Any], test: list[Any]) -> Callable[[Table], Table]:
    split = Split(index, np.array(train), np.array(test))
    return lambda table: replace(table, splits=(*table.splits, split))


def with_one_infinite(table: Table) -> Table:
    inputs = table.inputs.copy()
    inputs[3, 1] = np.inf
    return replace(table, inputs=inputs)


NUMBER = count()

WRONG: dict[str, tuple[Callable[[Table], Any], str, str]] = {
    "a pair": (lambda t: (t.inputs, t.targets), "fits together", "must return a Table, not tuple"),
    "a column for all": (
        lambda t: replace(t, inputs=t.inputs[:, 0]), "fits together", "[rows, columns], not [30]",
    ),
    "targets as a column": (
        lambda t: replace(t, targets=t.targets[:, None]), "fits together", "not [30, 1]",
    ),
    "a name too few": (lambda t: replace(t, features=("a",)), "fits together", "2 columns, not 1"),
    "groups for some": (
        lambda t: replace(t, groups=np.zeros(5)), "fits together", "`groups` must be [30]",
    ),
    "float32": (
        lambda t: replace(t, inputs=t.inputs.astype(np.float32)), "fits together", "not float32",
    ),
    "another name": (lambda t: replace(t, name="x"), "name of its source", "called 'x'"),
    "a target missing": (
        lambda t: replace(t, targets=np.where(np.arange(30) < 2, np.nan, t.targets)),
        "are finite", "2 of 30 targets",
    ),
    "an infinite input": (with_one_infinite, "are finite", "1 inputs are infinite"),
    "no splits": (lambda t: replace(t, splits=()), "apart and in range", "it has no splits"),
    "a number twice": (with_split(1, [0], [1]), "apart and in range", "two splits have the number"),
    "nothing tested": (with_split(7, [0], []), "apart and in range", "no rows to test"),
    "rows from 1": (with_split(7, [1], [30]), "apart and in range", "row numbers from 0"),
    "a mask": (with_split(7, [True], [False]), "apart and in range", "row numbers from 0"),
    "a row twice": (with_split(7, [3, 3], [4]), "apart and in range", "names a row twice"),
    "a row on both sides": (
        with_split(7, [3, 4], [4, 5]), "apart and in range", "trains and tests on 1 of its rows",
    ),
    "groups torn": (
        lambda t: replace(t, groups=np.arange(30) // 15), "groups", "split 0 tears 2 groups",
    ),
    "a constant": (
        lambda t: replace(t, targets=np.ones(30)), "varies", "same in all rows that split 0",
    ),
    "other numbers each time": (
        lambda t: replace(t, targets=t.targets + next(NUMBER)), "every time", "`targets` differ",
    ),
    "other splits each time": (
        lambda t: replace(t, splits=seeded_splits(30, 3, 0.2, next(NUMBER))),
        "every time", "split 0 differs",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_found_and_named(name: str) -> None:
    change, clause, said = WRONG[name]
    (check,) = (check for check in DATA_SET if clause in check.name)
    (verdict,) = verdicts([check], Reading(Made(change)))
    assert verdict.fault is not None and said in verdict.fault


def test_what_is_right_has_no_fault() -> None:
    assert [verdict.fault for verdict in verdicts(DATA_SET, Reading(Made()))] == [None] * 7
