"""Checks of scores that were computed elsewhere: units, signs and what predictions say.

A finding is a fault, which refuses the scores, or a mark, which stays with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

MIN_RATIO, MAX_RATIO = 0.002, 5.0
"""Limits of an RMSE or CRPS, in standard deviations of the targets."""

MIN_OF_BEST = 0.5
"""Limit of a mean RMSE, as a fraction of the lowest one that is kept."""

MIN_WIDTH = 1e-4
"""Narrowest plausible predictive density, in standard deviations of the targets."""

MAX_NATS = 1.0
"""By how much a mean log-likelihood may exceed that of a Gaussian with the RMSE as deviation."""

TOLERANCE = 1e-5
"""Relative difference of stated scores from those of the predictions."""


@dataclass(frozen=True)
class Finding:
    """A result of a check.

    Attributes:
        text: one sentence.
        fault: whether the scores are refused; otherwise they are marked.
    """

    text: str
    fault: bool = True


def implausible(
    name: str, rows: pd.DataFrame, best_rmse: float | None, predicted: bool
) -> Iterator[Finding]:
    """Yield findings about the scores of one method on one data set.

    Args:
        name: of both, for the sentences.
        rows: a row per split, with `rmse`, `log_likelihood`, `crps` (may be missing) and
            `target_deviation`; diverged splits are left out.
        best_rmse: the lowest mean RMSE that is kept for the data set; None if unknown.
        predicted: whether predictions confirm the scores, which then need not be plausible.
    """
    deviation = rows["target_deviation"]
    for score in ("rmse", "crps"):
        ratio = rows[score] / deviation
        if outside := int((~ratio.between(MIN_RATIO, MAX_RATIO) & ratio.notna()).sum()):
            yield Finding(
                f"{name}: {score} is outside {MIN_RATIO:.1%} to {MAX_RATIO:.0%} of the targets' "
                f"standard deviation on {outside} splits; give it in original units."
            )
    rmse, value = rows["rmse"].mean(), rows["log_likelihood"].mean()
    if best_rmse is not None and rmse < MIN_OF_BEST * best_rmse and not predicted:
        yield Finding(
            f"{name}: the mean RMSE {rmse:.4g} is below {MIN_OF_BEST:.0%} of the lowest one "
            f"that is kept, {best_rmse:.4g}; give it in original units, or add predictions."
        )
    if rmse > deviation.mean():
        yield Finding(
            f"{name}: the mean RMSE {rmse:.4g} is above that of the mean of the targets, "
            f"{deviation.mean():.4g}.",
            fault=False,
        )
    gaussian = float((-0.5 * np.log(2 * math.pi * math.e * rows["rmse"].clip(1e-300) ** 2)).mean())
    highest = float((-np.log(MIN_WIDTH * deviation * math.sqrt(2 * math.pi))).mean())
    if value > highest or (value > gaussian + MAX_NATS and not predicted):
        yield Finding(
            f"{name}: the mean log-likelihood {value:.4g} is too high for the RMSE (a Gaussian has "
            f"{gaussian:.4g}); give it in nats per point and original units, not negated."
        )
    elif abs(value + gaussian) < abs(value - gaussian) - MAX_NATS:
        yield Finding(
            f"{name}: the mean log-likelihood {value:.4g} fits the RMSE better with the opposite "
            f"sign (a Gaussian has {gaussian:.4g}).",
            fault=False,
        )


def rescored(points: pd.DataFrame) -> dict[str, float]:
    """Return the scores of a split from its predictions.

    Args:
        points: `target`, `mean`, `variance` of the predictive distribution and optionally
            `log_density`, the log of its density at the target; without it, it is a Gaussian.
    """
    from scoringrules import crps_normal

    target, mean, variance = (points[n].to_numpy() for n in ("target", "mean", "variance"))
    gaussian = -0.5 * ((target - mean) ** 2 / variance + np.log(2 * math.pi * variance))
    density = points.get("log_density", gaussian)
    return {
        "rmse": float(np.sqrt(np.mean((target - mean) ** 2))),
        "log_likelihood": float(np.mean(density)),
        "log_likelihood_gaussian": float(np.mean(gaussian)),
        "crps": float(np.mean(crps_normal(target, mean, np.sqrt(variance)))),
    }


def contradictions(
    name: str, row: Mapping[str, float], points: pd.DataFrame, scores: Mapping[str, float]
) -> Iterator[Finding]:
    """Yield faults where predictions do not belong to a split or do not give the stated scores.

    Args:
        name: of method, data set and split.
        row: stated scores, and `test_rows`, `test_target_mean` and `test_target_deviation` of the
            published split.
        points: the predictions of the split.
        scores: `rescored` of them.
    """
    target = points["target"]
    stated = (row["test_rows"], row["test_target_mean"], row["test_target_deviation"])
    if not np.allclose((len(target), target.mean(), target.std(ddof=0)), stated, rtol=TOLERANCE):
        yield Finding(f"{name}: the predictions have other targets than the published test part.")
        return
    for score, value in scores.items():
        if not math.isnan(row[score]) and not math.isclose(row[score], value, rel_tol=TOLERANCE):
            yield Finding(f"{name}: {score} {row[score]:.7g} is {value:.7g} by the predictions.")
