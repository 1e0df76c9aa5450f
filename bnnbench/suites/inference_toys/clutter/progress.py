"""What an algorithm had after each of its steps, in the same shape for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bnnbench.suites.inference_toys.clutter.model import Exact

QUANTILES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Progress:
    """Estimates after each of K steps, in L repetitions (1 where nothing is random).

    Work is counted in likelihood factors that were evaluated: a factor at one value of `theta`, its
    expectation under one Gaussian, and one responsibility cost about the same two exponentials.

    Attributes:
        work: `[K]`, factors evaluated so far.
        mean: `[K, L]`, of the approximate posterior.
        scale: `[K, L]`, its standard deviation.
        log_evidence: `[K, L]`, nats.
    """

    work: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    log_evidence: np.ndarray

    def rows(self, algorithm: str, observations: int, exact: Exact) -> list[dict[str, Any]]:
        """A row per step, with the median error over repetitions between its 10 % quantiles."""
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
                **_spread("mean_error", mean_error[k]),
                **_spread("evidence_error", evidence_error[k]),
            }
            for k in range(len(self.work))
        ]


def _spread(name: str, values: np.ndarray) -> Mapping[str, float]:
    low, middle, high = np.quantile(values, QUANTILES)
    return {f"{name}_low": float(low), name: float(middle), f"{name}_high": float(high)}
