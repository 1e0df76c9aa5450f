"""R-hat and effective sample sizes of several chains, computed by `arviz_stats`.

Vehtari, Gelman, Simpson, Carpenter & Bürkner, "Rank-normalization, folding, and localization: An
improved R-hat", *Bayesian Analysis* 2021. Computed for predictions, because weights are not
identifiable: hidden units can be permuted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bnnbench.methods.shared.contract import Diagnosis

NAMES = ("r_hat", "bulk_ess", "tail_ess")

SUMMARY_QUANTILE = 0.99
"""The summary has this quantile of R-hat over points, and 1 minus this quantile of sample sizes."""

TAILS = (0.05, 0.95)

MIN_DRAWS = 4
"""Draws per chain; with fewer, the halves of a chain have no variance."""


def convergence_diagnostics(series: Tensor) -> dict[str, Tensor]:
    """Return rank-normalised split R-hat and effective sample sizes of the bulk and the tails.

    Args:
        series: `[C, K, ...]`, K draws of each of C chains.

    Returns:
        `r_hat`, `bulk_ess` and `tail_ess`, `[...]` each, float64; NaN for constant series, too few
        draws or a single chain.
    """
    from arviz_stats.base.array import array_stats

    chains, draws, *shape = series.shape
    if chains < 2 or draws < MIN_DRAWS:
        return {
            name: torch.full(shape, torch.nan, dtype=torch.float64, device="cpu") for name in NAMES
        }
    array, axes = series.double().cpu().numpy(), {"chain_axis": 0, "draw_axis": 1}
    spread = np.ptp(array, (0, 1))
    # A power of two changes no rank, but arviz takes any small spread for that of a constant.
    array = array / np.exp2(np.frexp(spread)[1].clip(-1000, 1000))
    with np.errstate(all="ignore"):
        values = (
            array_stats.rhat(array, **axes),
            array_stats.ess(array, **axes),
            array_stats.ess(array, method="tail", prob=TAILS, **axes),
        )
    moved = np.where(spread > 0, 1.0, np.nan)
    return {n: torch.from_numpy(np.asarray(v * moved)) for n, v in zip(NAMES, values, strict=True)}


def diagnose_predictions(predicted: Tensor, rows: Sequence[int]) -> Diagnosis:
    """Return the diagnostics at each point, and the bound met by 99 % of a replica's points.

    A point without a diagnostic meets no bound: the summary is NaN if 1 % of the points have none.

    Args:
        predicted: `[C, K, R, M]`, the prediction of each draw.
        rows: number of points of each replica, without padding.
    """
    points = convergence_diagnostics(predicted)
    summary = {}
    for name, values in points.items():
        level, worst = (
            (SUMMARY_QUANTILE, torch.inf) if name == "r_hat" else (1 - SUMMARY_QUANTILE, -torch.inf)
        )
        bounds = torch.stack([
            v[:count].nan_to_num(worst).quantile(level)
            for v, count in zip(values, rows, strict=True)
        ])  # fmt: skip
        summary[name] = bounds.where(bounds.isfinite(), torch.nan)
    return Diagnosis(points, summary)
