"""One method on standard splits, and how well its uncertainty recognises made rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import logsumexp

from bnnbench.experiment.splits.fitting import saved_prediction, score, standardised_inputs
from bnnbench.experiment.splits.split_experiment import SplitExperiment
from bnnbench.experiment.store.split_files import DIAGNOSIS, MIXTURE, PREDICTIONS, SPLITS
from bnnbench.experiment.store.unit_store import Arrays, Rows, UnitResults
from bnnbench.identity import no_identity
from bnnbench.portable_math import log_density
from bnnbench.search.acquisition import nearest_distances
from bnnbench.suites.shifts import (
    DENSITY,
    DISTANCE,
    EPISTEMIC,
    KIND,
    MAHALANOBIS,
    MEASURES,
    OUTLIERS,
    TARGETS,
)
from bnnbench.suites.shifts.made_rows import Shifts
from bnnbench.types import Prediction, Split, Table

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
