"""Rows made from test rows: with permuted columns, shifted inputs, or other targets."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from bnnbench.constraints import Between, Checked, ListOf, OneOf
from bnnbench.data import Source
from bnnbench.experiment.splits.fitting import training_scaler
from bnnbench.suites.shifts import KINDS, PERMUTED, SHIFTED
from bnnbench.types import Split, Table


@dataclass(frozen=True)
class Shifts(Checked):
    """The table of another data set, with made rows at the end of every test part.

    Each variant makes one row from every test row. Random numbers depend on the split and the kind.

    Attributes:
        source: the data set.
        kinds: `permuted`: every input column is permuted; `shifted`: all inputs of a split move in
            one random direction; `targets`: the target is that of a random training row.
        strengths: how far inputs move, in standard deviations of the training inputs.
    """

    identity_name = "bnnbench.suites.shifts.made_rows.Shifts"
    source: Source
    kinds: Annotated[tuple[str, ...], ListOf(OneOf(*KINDS), order="distinct")] = KINDS
    strengths: Annotated[
        tuple[float, ...], ListOf(Between(0, low_included=True), order="increasing")
    ] = (1, 2, 4)
    key: ClassVar[str] = "experiment"

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.source.name

    @property
    def variants(self) -> tuple[tuple[str, float], ...]:
        """The kind and the strength of each variant, in the order of their rows."""
        return tuple(
            (kind, float(strength))
            for kind in self.kinds
            for strength in (self.strengths if kind == SHIFTED else (0,))
        )

    def load(self) -> Table:
        """Load the table and add the made rows."""
        table, splits, made = self.source.load(), [], []
        total = len(table.targets)
        for split in table.splits:
            made += [make_rows(table, split, *variant) for variant in self.variants]
            end = total + len(split.test) * len(self.variants)
            splits.append(replace(split, test=np.append(split.test, np.arange(total, end))))
            total = end
        copied = [np.tile(split.test, len(self.variants)) for split in table.splits]
        rows = np.concatenate([np.arange(len(table.targets)), *copied])
        inputs, targets = zip((table.inputs, table.targets), *made, strict=True)
        return replace(
            table,
            inputs=np.concatenate(inputs),
            targets=np.concatenate(targets),
            splits=tuple(splits),
            truth=None if table.truth is None else table.truth[rows],
            groups=None if table.groups is None else table.groups[rows],
        )


def make_rows(
    table: Table, split: Split, kind: str, strength: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the inputs and targets of the rows that one variant makes from the test rows."""
    random = np.random.RandomState([split.index, KINDS.index(kind)])
    inputs, targets = table.inputs[split.test], table.targets[split.test]
    if kind == PERMUTED:
        return np.stack([random.permutation(column) for column in inputs.T], 1), targets
    if kind == SHIFTED:
        direction = random.normal(size=inputs.shape[1])
        step = strength * direction / math.hypot(*direction)  # the same on every processor
        scale = training_scaler(table, split).input_scale[0]
        return inputs + step * np.where(np.isinf(scale), 0.0, scale), targets
    return inputs, random.choice(table.targets[split.train], len(targets))
