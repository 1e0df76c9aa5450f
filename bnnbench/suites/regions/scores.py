"""Scores of the two parts of a test set: a region of one feature, and rows outside of it."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from scipy.stats import norm, rankdata

from bnnbench.experiment.splits.fitting import standardised_inputs
from bnnbench.metrics import SCORE_FUNCTIONS
from bnnbench.search.acquisition import nearest_distances
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
