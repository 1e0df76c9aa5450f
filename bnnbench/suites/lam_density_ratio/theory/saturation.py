"""Where single precision and the thesis's constant take the three estimators apart.

In exact arithmetic the losses of one divergence have the same slope in the pre-activation. The
thesis's programs compute them from T, r or D in single precision, with 1e-18 inside logarithms, and
that is the only difference between the estimators.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from bnnbench.results.answers import Answer
from bnnbench.suites.lam_density_ratio.objectives import (
    GAN,
    Objective,
    RatioDivergence,
    ReverseKL,
)
from bnnbench.suites.lam_density_ratio.theory.names import ESTIMATORS, EXACT, OFF, SIDES

LOWEST, HIGHEST, STEP = -60.0, 100.0, 0.5
"""The pre-activations that are looked at."""

DIVERGENCES: Mapping[str, RatioDivergence] = {
    "gan": GAN(label="gan"),
    "reverse_kl": ReverseKL(label="reverse_kl"),
}

WRONG = 0.01
"""An error of this share of one plus the exact slope counts."""


def slopes(divergence: str, estimator: str, pre_activation: Tensor) -> dict[str, Tensor]:
    """The slopes of a loss's terms on draws of q and of p, `[N]` by side.

    Args:
        divergence: a key of `DIVERGENCES`.
        estimator: `EXACT` is the form without saturation.
        pre_activation: `[N]`; its dtype is that of the program.
    """
    stable = estimator == EXACT
    objective = Objective(DIVERGENCES[divergence], estimator, stable, guarded=False)
    (_, on_q), (_, on_p) = objective.terms(pre_activation, pre_activation)
    return dict(zip(SIDES, (on_q, on_p), strict=True))


def saturation_rows() -> Iterator[dict[str, Any]]:
    """Rows `divergence`, `estimator` (or `EXACT`), `side`, `pre_activation`, `slope`."""
    grid = torch.arange(LOWEST, HIGHEST + STEP, STEP, dtype=torch.float64)
    for divergence in DIVERGENCES:
        for estimator in (*ESTIMATORS, EXACT):
            program = grid if estimator == EXACT else grid.float()
            for side, found in slopes(divergence, estimator, program).items():
                for place, slope in zip(grid.tolist(), found.tolist(), strict=True):
                    yield {
                        "divergence": divergence,
                        "estimator": estimator,
                        "side": side,
                        "pre_activation": place,
                        "slope": slope,
                    }


def saturation_answers(rows: pd.DataFrame) -> Iterator[Answer]:
    """Of each estimator the smallest pre-activation, in size, at which a slope is wrong.

    Those that are right everywhere have no answer.
    """
    keys = ["divergence", "side", "pre_activation"]
    exact = rows[rows["estimator"] == EXACT].set_index(keys)["slope"].rename("exact")
    own = rows[rows["estimator"] != EXACT].join(exact, on=keys)
    error = (own["slope"] - own["exact"]).abs()
    wrong = own[~(error <= WRONG * (1 + own["exact"].abs()))]  # so that NaN is wrong
    for (divergence, estimator, side), group in wrong.groupby(["divergence", "estimator", "side"]):
        name, places = f"{divergence}, {estimator}, draws of {side}", group["pre_activation"]
        if (places > 0).any():
            yield Answer(OFF, name, places[places > 0].min(), "above")
        if (places < 0).any():
            yield Answer(OFF, name, places[places < 0].max(), "below")
