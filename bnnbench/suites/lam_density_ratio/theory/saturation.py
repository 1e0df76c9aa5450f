"""Pre-activations at which rounding makes the three estimators differ.

In exact arithmetic the losses of one divergence have the same derivative at the pre-activation.
The thesis's programs compute them from T, r or D in single precision, with 1e-18 inside logarithms.
This is the only difference between the estimators.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from bnnbench.results.answers import Answer
from bnnbench.suites.lam_density_ratio.names import DIVERGENCES, ESTIMATORS, label
from bnnbench.suites.lam_density_ratio.objectives import Objective
from bnnbench.suites.lam_density_ratio.theory.names import EXACT, SATURATION_POINT, SIDES

GRID_START, GRID_STOP, GRID_STEP = -60.0, 100.0, 0.5
"""Grid of pre-activations."""

ERROR_TOLERANCE = 0.01
"""Largest accepted error of a slope, relative to one plus its exact size."""


def slopes(divergence: str, estimator: str, pre_activation: Tensor) -> dict[str, Tensor]:
    """Return the slopes of a loss's terms on draws of q and of p, `[N]` by side.

    Args:
        divergence: a key of `DIVERGENCES`.
        estimator: a key of `ESTIMATORS`, or `EXACT` for the form without saturation.
        pre_activation: `[N]`; its dtype is that of the computation.
    """
    stable = estimator == EXACT
    objective = Objective(divergence, estimator, stable, guarded=False)
    (_, on_q), (_, on_p) = objective.terms(pre_activation, pre_activation)
    return dict(zip(SIDES, (on_q, on_p), strict=True))


def saturation_rows() -> Iterator[dict[str, Any]]:
    """Yield rows `divergence`, `estimator` (or `EXACT`), `side`, `pre_activation`, `slope`."""
    grid = torch.arange(GRID_START, GRID_STOP + GRID_STEP, GRID_STEP, dtype=torch.float64)
    for divergence in DIVERGENCES:
        for estimator in (*ESTIMATORS, EXACT):
            inputs = grid if estimator == EXACT else grid.float()
            for side, values in slopes(divergence, estimator, inputs).items():
                for pre_activation, slope in zip(grid.tolist(), values.tolist(), strict=True):
                    yield {
                        "divergence": divergence,
                        "estimator": estimator,
                        "side": side,
                        "pre_activation": pre_activation,
                        "slope": slope,
                    }


def saturation_answers(rows: pd.DataFrame) -> Iterator[Answer]:
    """Yield the pre-activation closest to zero at which each estimator's slope is wrong.

    Estimators whose slopes are right everywhere have no answer.
    """
    keys = ["divergence", "side", "pre_activation"]
    exact = rows[rows["estimator"] == EXACT].set_index(keys)["slope"].rename("exact")
    compared = rows[rows["estimator"] != EXACT].join(exact, on=keys)
    error = (compared["slope"] - compared["exact"]).abs()
    wrong = compared[
        ~(error <= ERROR_TOLERANCE * (1 + compared["exact"].abs()))
    ]  # NaN counts as wrong
    for (divergence, estimator, side), group in wrong.groupby(["divergence", "estimator", "side"]):
        name, points = f"{label(divergence, estimator)}, draws of {side}", group["pre_activation"]
        if (points > 0).any():
            yield Answer(SATURATION_POINT, name, points[points > 0].min(), "above")
        if (points < 0).any():
            yield Answer(SATURATION_POINT, name, points[points < 0].max(), "below")
