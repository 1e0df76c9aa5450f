"""One method on splits whose test part is a region of one feature, and rows outside of it.

The rows of the region and the others are scored separately.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import torch
from scipy.stats import norm, rankdata

from bnnbench.data.regions import GAP, Region, Regions
from bnnbench.experiment.splits.fitting import saved_prediction, standardised_inputs
from bnnbench.experiment.splits.split_experiment import SplitExperiment
from bnnbench.experiment.store.split_files import MIXTURE, SPLITS
from bnnbench.experiment.store.unit_store import Arrays, Rows, UnitResults
from bnnbench.identity import no_identity
from bnnbench.metrics import SCORE_FUNCTIONS
from bnnbench.search.rows_to_label import nearest_distances
from bnnbench.suites.regions import KIND, REGIONS
from bnnbench.types import Prediction, Split, Table

LEVEL = 0.9
"""Level of the central interval whose coverage and width are scored."""

PART_SCORES = (*SCORE_FUNCTIONS, "coverage", "width", "epistemic_deviation")
"""The scores of each part."""

DETECTORS = ("epistemic", "total", "distance")
"""What recognises rows of the region: the epistemic variance, the total variance, and without a
model the distance to the nearest training row in standardised inputs."""


def auroc(positive: np.ndarray, negative: np.ndarray) -> float:
    """Return the area under the ROC curve: P(positive > negative) + P(equal) / 2.

    Computed from the Mann-Whitney statistic, with mean ranks for ties. NaN without values.
    """
    n, m = len(positive), len(negative)
    if not n or not m:
        return math.nan
    ranks = rankdata(np.concatenate([positive, negative]))
    return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * m))


def split_scores(
    prediction: Prediction, targets: np.ndarray, distances: np.ndarray, region_rows: int
) -> dict[str, float]:
    """Return the columns `region.*`, `inside.*` and `auroc.*` of a split.

    Args:
        prediction: of the M test rows of one replica, in original units.
        targets: `[M]`.
        distances: `[M]`, from `split_distances`.
        region_rows: number of rows in the region, which come first.
    """
    epistemic = prediction.epistemic_variance()[0].numpy()
    total = epistemic + prediction.noise_variance()[0].numpy()
    parts = {"region": slice(None, region_rows), "inside": slice(region_rows, None)}
    scores = {
        f"{name}.{score}": value
        for name, rows in parts.items()
        for score, value in _part_scores(_rows(prediction, rows), targets[rows]).items()
    }
    areas = zip(DETECTORS, (epistemic, total, distances), strict=True)
    return scores | {
        f"auroc.{name}": auroc(values[:region_rows], values[region_rows:]) for name, values in areas
    }


def _part_scores(prediction: Prediction, targets: np.ndarray) -> Mapping[str, float]:
    """Return `PART_SCORES`, NaN without rows."""
    if not len(targets):
        return dict.fromkeys(PART_SCORES, math.nan)
    y, real = (
        torch.from_numpy(targets)[None],
        torch.ones(1, len(targets), dtype=torch.bool, device="cpu"),
    )
    epistemic = prediction.epistemic_variance()
    deviation = (epistemic + prediction.noise_variance()).sqrt()
    half_width = norm.ppf((1 + LEVEL) / 2) * deviation
    return {
        **{name: metric(prediction, y, real).item() for name, metric in SCORE_FUNCTIONS.items()},
        "coverage": ((y - prediction.mean()).abs() <= half_width).double().mean().item(),
        "width": 2 * half_width.mean().item(),
        "epistemic_deviation": epistemic.sqrt().mean().item(),
    }


def _rows(prediction: Prediction, rows: slice) -> Prediction:
    shape = prediction.loc.shape
    parts = (prediction.loc, prediction.epistemic.expand(shape), prediction.noise.expand(shape))
    return Prediction(*(part[..., rows] for part in parts))


def split_distances(table: Table, split: Split) -> np.ndarray:
    """Return the distance of each test row to the nearest training row, in standardised inputs."""
    train, test = standardised_inputs(table, split)
    return nearest_distances(test, train)


@dataclass(frozen=True, kw_only=True)
class RegionExperiment(SplitExperiment):
    """The protocol of `SplitExperiment` with one split for each feature of a data set.

    The two parts of each test set are scored separately: rows of the region, and rows outside
    of it, which are not trained on either. `splits.csv` contains scores of both together.

    Attributes:
        region: see `Regions`; part of the identity of the data set, like `inside`.
        inside: see `Regions`.
    """

    identity_name = "bnnbench.suites.regions.experiment.RegionExperiment"
    region: str = no_identity(GAP)
    inside: float = no_identity(0.1)
    kind: ClassVar[str] = KIND
    scores_mixture: ClassVar[bool] = True

    def resolved(self) -> Self:
        dataset = Regions(self.dataset, self.region, self.inside)
        return super(RegionExperiment, replace(self, dataset=dataset)).resolved()

    def metadata(self) -> dict[str, Any]:
        assert isinstance(self.dataset, Regions)
        source = self.table.name.removesuffix(f"_{self.region}")
        return {**super().metadata(), "source": source, "region": self.region}

    @cached_property
    def _regions(self) -> dict[int, Region]:
        """The regions by feature, which is the index of the split."""
        assert isinstance(self.dataset, Regions)
        return {region.feature: region for region in self.dataset.regions(self.table)}

    def score_unit(
        self, split: Split, tables: Mapping[str, Rows], arrays: Mapping[str, Arrays]
    ) -> UnitResults:
        """Add the scores of the region of a split."""
        (row,) = tables[SPLITS]
        scores = region_row(self.table, split, self._regions[split.index], arrays[MIXTURE])
        if row["diverged"]:
            scores = {k: math.nan if "." in k else value for k, value in scores.items()}
        return {**tables, REGIONS: [{"split": split.index, **scores}]}, arrays


def region_row(table: Table, split: Split, region: Region, mixture: Arrays) -> dict[str, Any]:
    """Return the row of a split in `REGIONS`.

    Args:
        table: the data set.
        split: its test part begins with the rows of the region.
        region: that is tested.
        mixture: from `fitting.mixture_arrays`, in standardised units.
    """
    rows = int(region.tested.sum())
    prediction = saved_prediction(table, split, mixture)
    facts = {
        "feature": table.features[region.feature],
        "distinct": region.distinct,
        "tied_at_edges": region.ties,
        "is_true": int(region.is_true),
        "low": region.low,
        "high": region.high,
        "region_rows": rows,
        "inside_rows": len(split.test) - rows,
    }
    distances = split_distances(table, split)
    return {**facts, **split_scores(prediction, table.targets[split.test], distances, rows)}
