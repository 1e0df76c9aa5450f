"""Estimates of an algorithm after each of its steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bnnbench.suites.inference_toys.clutter.model import ExactPosterior

QUANTILES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Progress:
    """Estimates after each of K steps, in L repetitions (1 for deterministic algorithms).

    Work is the number of likelihood factors evaluated. A factor at one value of `theta`, its
    expectation under a Gaussian and a responsibility each cost about two exponentials.

    Attributes:
        work: `[K]`, cumulative.
        mean: `[K, L]`, mean of the approximate posterior.
        scale: `[K, L]`, its standard deviation.
        log_evidence: `[K, L]`, nats.
    """

    work: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    log_evidence: np.ndarray

    def rows(
        self, algorithm: str, observations: int, exact: ExactPosterior
    ) -> list[dict[str, Any]]:
        """Return a row per step, with the median and 10 % and 90 % quantiles of the errors."""
        mean_error = np.abs(self.mean - exact.mean)
        evidence_error = np.abs(self.log_evidence - exact.log_evidence)
        return [
            {
                "observations": observations,
                "algorithm": algorithm,
                "step": k + 1,
                "work": int(self.work[k]),
                "mean": float(np.median(self.mean[k])),
                "scale": float(np.median(self.scale[k])),
                "log_evidence": float(np.median(self.log_evidence[k])),
                **_quantiles("mean_error", mean_error[k]),
                **_quantiles("evidence_error", evidence_error[k]),
            }
            for k in range(len(self.work))
        ]


def _quantiles(name: str, values: np.ndarray) -> Mapping[str, float]:
    low, median, high = np.quantile(values, QUANTILES)
    return {f"{name}_low": float(low), name: float(median), f"{name}_high": float(high)}
