"""One method on standard splits, and how well its uncertainty recognises made rows.

They are made from test rows: with permuted columns, shifted inputs, or other targets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from scipy.special import logsumexp

from bnnbench.constraints import Between, Checked, ListOf, OneOf
from bnnbench.data import Source
from bnnbench.experiment.splits.fitting import (
    saved_prediction,
    score,
    standardised_inputs,
    training_scaler,
)
from bnnbench.experiment.splits.split_experiment import SplitExperiment
from bnnbench.experiment.store.split_files import DIAGNOSIS, MIXTURE, PREDICTIONS, SPLITS
from bnnbench.experiment.store.unit_store import Arrays, Rows, UnitResults
from bnnbench.identity import no_identity
from bnnbench.portable_math import log_density
from bnnbench.search.rows_to_label import nearest_distances
from bnnbench.suites.shifts import (
    DENSITY,
    DISTANCE,
    EPISTEMIC,
    KIND,
    KINDS,
    MAHALANOBIS,
    MEASURES,
    OUTLIERS,
    PERMUTED,
    SHIFTED,
    TARGETS,
)
from bnnbench.types import Prediction, Split, Table


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


PER_POINT = (PREDICTIONS, DIAGNOSIS, MIXTURE)
"""Files with an entry per test row."""

TRUE_POSITIVE_RATE = 0.95


@dataclass(frozen=True, kw_only=True)
class ShiftedExperiment(SplitExperiment):
    """The protocol of `SplitExperiment`, with made rows that are predicted but not scored.

    Attributes:
        kinds: see `Shifts`; part of the identity of the data set, like `strengths`.
        strengths: see `Shifts`.
    """

    identity_name = "bnnbench.suites.shifts.experiment.ShiftedExperiment"
    kinds: tuple[str, ...] = no_identity()
    strengths: tuple[float, ...] = no_identity()
    kind: ClassVar[str] = KIND
    scores_mixture: ClassVar[bool] = True

    def resolved(self) -> Self:
        dataset = Shifts(self.dataset, self.kinds, self.strengths)
        return super(ShiftedExperiment, replace(self, dataset=dataset)).resolved()

    def score_unit(
        self, split: Split, tables: Mapping[str, Rows], arrays: Mapping[str, Arrays]
    ) -> UnitResults:
        """Add the scores of the made rows of a split, and leave them out of all other files."""
        assert isinstance(self.dataset, Shifts)
        table, variants = self.table, self.dataset.variants
        (row,) = tables[SPLITS]
        count = len(split.test) // (1 + len(variants))
        prediction = saved_prediction(table, split, arrays[MIXTURE])
        if row["diverged"]:
            prediction = replace(prediction, loc=prediction.loc * math.nan)
        scores, _ = score(table, split, split.test[:count], prediction, 0, bool(row["diverged"]))
        found = detect(row_scores(table, split, prediction), variants, count)
        kept = {
            name: {k: a[:count] for k, a in own.items()} if name in PER_POINT else own
            for name, own in arrays.items()
        }
        rows = [{**row, **scores, "test_rows": count}]
        outliers = [{"split": split.index, **one} for one in found]
        return {**tables, SPLITS: rows, OUTLIERS: outliers}, kept


def row_scores(table: Table, split: Split, prediction: Prediction) -> dict[str, np.ndarray]:
    """Return the scores of all rows of a test part, `[M]`; larger ones are more suspicious.

    Args:
        table: the data set.
        split: the training part and the rows.
        prediction: of the rows, of one replica, original units.
    """
    train, test = standardised_inputs(table, split)
    precision = np.linalg.pinv(np.atleast_2d(np.cov(train.T)))
    epistemic = prediction.epistemic_variance()[0].numpy()
    loc, variance = prediction.loc[:, 0].numpy(), prediction.variance[:, 0].numpy()
    densities = log_density(loc, variance, table.targets[split.test])
    return {
        EPISTEMIC: epistemic,
        "total": epistemic + prediction.noise_variance()[0].numpy(),
        DISTANCE: nearest_distances(test, train),
        MAHALANOBIS: np.einsum("md,de,me->m", test, precision, test),
        DENSITY: -logsumexp(densities, axis=0, b=1 / len(loc)),
    }


def detect(
    scores: Mapping[str, np.ndarray], variants: Sequence[tuple[str, float]], count: int
) -> list[dict[str, Any]]:
    """Return the rows of `OUTLIERS` of one split.

    Args:
        scores: from `row_scores`; the test rows come first, then those of each variant.
        variants: kind and strength of each.
        count: number of test rows.
    """
    return [
        {"kind": kind, "strength": strength, "score": name}
        | detection(values[number * count : (number + 1) * count], values[:count])
        for number, (kind, strength) in enumerate(variants, 1)
        for name, values in scores.items()
        if (name == DENSITY) == (kind == TARGETS)
    ]


def detection(positive: np.ndarray, negative: np.ndarray) -> dict[str, float]:
    """Return `MEASURES` of how well larger scores recognise positive rows; ties count half.

    NaN if a score is not finite.
    """
    from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

    made = np.repeat([1, 0], [len(positive), len(negative)])
    values = np.concatenate([positive, negative])
    if not np.isfinite(values).all():
        return dict.fromkeys(MEASURES, math.nan)
    false, true, _ = roc_curve(made, values, drop_intermediate=False)
    areas = roc_auc_score(made, values), average_precision_score(made, values)
    fpr95 = false[np.argmax(true >= TRUE_POSITIVE_RATE)]
    return dict(zip(MEASURES, map(float, (*areas, fpr95)), strict=True))
