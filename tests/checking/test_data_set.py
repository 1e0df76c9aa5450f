"""The contract of data sets: the built-in ones satisfy it, and every check detects mistakes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
import pytest
from support.tables import configured_source

from bnnbench.checking.checks import Check, run_checks
from bnnbench.checking.data_set import DATA_SET, SourceUnderTest
from bnnbench.data.splits import seeded_splits
from bnnbench.types import Split, Table


@pytest.mark.parametrize("check", DATA_SET, ids=lambda check: check.name)
@pytest.mark.parametrize("name", ["diabetes", "sine_20", "gp_sample", "line"])
def test_built_in_data_sets(name: str, check: Check[SourceUnderTest]) -> None:
    assert check.run(SourceUnderTest(configured_source(name)[0])) is None


@dataclass
class ExampleSource:
    """A minimal data set of a user."""

    change: Callable[[Table], Any] = lambda table: table
    name: str = "made"

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
    "a pair": (lambda t: (t.inputs, t.targets), "consistent", "must return a Table, not tuple"),
    "a column for all":
        (lambda t: replace(t, inputs=t.inputs[:, 0]), "consistent", "[rows, columns], not [30]"),
    "targets as a column":
        (lambda t: replace(t, targets=t.targets[:, None]), "consistent", "not [30, 1]"),
    "a name too few": (lambda t: replace(t, features=("a",)), "consistent", "2 columns, not 1"),
    "groups for some":
        (lambda t: replace(t, groups=np.zeros(5)), "consistent", "`groups` must be [30]"),
    "float32":
        (lambda t: replace(t, inputs=t.inputs.astype(np.float32)), "consistent", "not float32"),
    "another name": (lambda t: replace(t, name="x"), "name of its source", "name is 'x'"),
    "a target missing": (
        lambda t: replace(t, targets=np.where(np.arange(30) < 2, np.nan, t.targets)),
        "are finite", "2 of 30 targets",
    ),
    "an infinite input": (with_one_infinite, "are finite", "1 inputs are infinite"),
    "no splits": (lambda t: replace(t, splits=()), "valid and disjoint", "no splits"),
    "a number twice": (with_split(1, [0], [1]), "valid and disjoint", "two splits have the index"),
    "nothing tested": (with_split(7, [0], []), "valid and disjoint", "no test rows"),
    "rows from 1": (with_split(7, [1], [30]), "valid and disjoint", "row numbers from 0"),
    "a mask": (with_split(7, [True], [False]), "valid and disjoint", "row numbers from 0"),
    "a row twice": (with_split(7, [3, 3], [4]), "valid and disjoint", "contains a row twice"),
    "a row on both sides": (
        with_split(7, [3, 4], [4, 5]), "valid and disjoint", "1 rows of split 7 are in both parts",
    ),
    "divided groups": (
        lambda t: replace(t, groups=np.arange(30) // 15), "no group", "2 groups are in both parts",
    ),
    "a constant":
        (lambda t: replace(t, targets=np.ones(30)), "varies", "constant in the training part"),
    "other numbers each time":
        (lambda t: replace(t, targets=t.targets + next(NUMBER)), "twice", "`targets` differ"),
    "other splits each time": (
        lambda t: replace(t, splits=seeded_splits(30, 3, 0.2, next(NUMBER))),
        "loading it twice", "split 0 differs",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_detected(name: str) -> None:
    change, clause, message = WRONG[name]
    (check,) = (check for check in DATA_SET if clause in check.name)
    (result,) = run_checks([check], SourceUnderTest(ExampleSource(change)))
    assert result.failure is not None and message in result.failure


def test_a_correct_data_set_passes() -> None:
    assert [
        result.failure for result in run_checks(DATA_SET, SourceUnderTest(ExampleSource()))
    ] == [None] * 7
