"""Scores of predictions of several points at once, which depend on how they vary together.

Wen, Osband et al., "From Predictions to Decisions: The Importance of Joint Predictive
Distributions", 2021; Osband et al., "Evaluating High-Order Predictive Distributions in Deep
Learning", UAI 2022 (dyadic sampling, here with each anchor's nearest test points in place of
repeated targets).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial import KDTree
from scipy.special import logsumexp

from bnnbench.portable_math import log_density
from bnnbench.results.mixtures import Mixture
from bnnbench.results.split_predictions import SplitPredictions

TAU = 10
"""Points that are predicted at once."""

SETS = 200
"""Sets of points of each split."""

MIN_DRAWS = 100
"""Fewer draws give no `sampled` estimate, which is biased downwards."""

RANDOM, DYADIC = "random", "dyadic"


def input_sets(predictions: SplitPredictions) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name and the points, `[K, TAU]`, of sets of distinct test points.

    `random` sets, and `dyadic` ones of the nearest points of two random anchors. There are none
    if a split has fewer than `TAU` points, and no dyadic ones if inputs are not known.
    """
    random, count = np.random.RandomState([predictions.split]), len(predictions.points)
    if count < TAU:
        return
    yield RANDOM, random.uniform(size=(SETS, count)).argsort(1)[:, :TAU]
    if predictions.inputs is not None:
        nearest = KDTree(predictions.inputs).query(predictions.inputs, TAU // 2)[1]
        sets = nearest[random.randint(count, size=(20 * SETS, 2))].reshape(-1, TAU)
        distinct = (np.diff(np.sort(sets, 1), axis=1) > 0).all(1)
        if distinct.any():
            yield DYADIC, sets[distinct][:SETS]


def split_joint(predictions: SplitPredictions) -> list[dict[str, Any]]:
    """Return a row per kind of sets with the scores of `joint_scores`, means over sets.

    Columns: `split`, `inputs` (`random` or `dyadic`), `tau`, `draws` (components of the mixtures)
    and the scores. Empty unless mixtures were saved and their components are functions: a single
    component with an epistemic variance does not say how points vary together.
    """
    mixture = predictions.mixture
    if not predictions.saved or (mixture.components == 1 and mixture.epistemic.any()):
        return []
    targets = predictions.points["target"].to_numpy()
    shared = {"split": predictions.split, "tau": TAU, "draws": mixture.components}
    return [
        {**shared, "inputs": name, **joint_scores(mixture, targets, sets)}
        for name, sets in input_sets(predictions)
    ]


def joint_scores(mixture: Mixture, targets: np.ndarray, sets: np.ndarray) -> dict[str, float]:
    """Return log-likelihoods of sets of points, in nats per point.

    Args:
        mixture: component s is the same function at all M points.
        targets: `[M]`.
        sets: the points of each set, `[K, T]`.

    Returns:
        `marginal`, the sum of the points' own log densities; `sampled`, the log of the mean over
        components of the joint density, missing for 2 to `MIN_DRAWS` - 1 components; `gaussian`,
        the log density of the Gaussian with the mean and covariance of the components.
    """
    loc = mixture.loc[sets]
    logs = log_density(mixture.loc, mixture.epistemic + mixture.noise, targets[:, None])[sets]
    size, draws = sets.shape[1], mixture.components
    enough = draws == 1 or draws >= MIN_DRAWS
    marginal = logsumexp(logs, axis=2, b=1 / draws).sum(1)
    sampled = logsumexp(logs.sum(1), axis=1, b=1 / draws) if enough else np.array([math.nan])
    centred = loc - loc.mean(2, keepdims=True)
    noise = (mixture.epistemic + mixture.noise).mean(1)[sets]
    covariance = centred @ centred.transpose(0, 2, 1) / draws + noise[:, :, None] * np.eye(size)
    error = (targets[sets] - loc.mean(2))[..., None]
    distance = (error * np.linalg.solve(covariance, error)).sum((1, 2))
    log_determinant = np.linalg.slogdet(2 * math.pi * covariance)[1]
    gaussian = -0.5 * (distance + log_determinant)
    values = {"marginal": marginal, "sampled": sampled, "gaussian": gaussian}
    return {name: float(value.mean()) / size for name, value in values.items()}
