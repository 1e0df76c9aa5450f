"""Maps from predicted to observed probability, learned on ranks of held-out targets.

Kuleshov et al., "Accurate Uncertainties for Deep Learning Using Calibrated Regression", ICML
2018: if targets fall below the predicted quantile `p` with frequency `R(p)`, then `R` after the
predicted distribution function is calibrated. The book (section 4.2.2, Fig. 4.2) names the two
ways to learn `R` that stand here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

EDGE = 1e-6
"""Ranks are kept this far from 0 and 1, where the logit and the Gaussian quantile are infinite."""


@dataclass(frozen=True)
class Recalibration:
    """An increasing map of `[0, 1]` onto itself, and its inverse."""

    forward: Callable[[np.ndarray], np.ndarray]
    inverse: Callable[[np.ndarray], np.ndarray]

    def __call__(self, ranks: np.ndarray) -> np.ndarray:
        return self.forward(ranks)


identity = Recalibration(lambda ranks: ranks, lambda ranks: ranks)


def observed_frequencies(ranks: np.ndarray) -> np.ndarray:
    """For each of the sorted ranks the share of all ranks below it, ends kept inside (0, 1)."""
    return (np.arange(len(ranks)) + 0.5) / len(ranks)


def isotonic(ranks: np.ndarray) -> Recalibration:
    """Isotonic regression of the observed frequency on the predicted probability.

    It is exact where held-out ranks lie and straight between them, so it needs many; beyond the
    outermost rank it runs to 0 and 1.

    Args:
        ranks: predicted distribution functions at held-out targets.
    """
    from sklearn.isotonic import IsotonicRegression

    p = np.clip(np.sort(ranks), EDGE, 1 - EDGE)
    fitted = IsotonicRegression(y_min=0, y_max=1).fit(p, observed_frequencies(p))
    x = np.concatenate([[0.0], fitted.X_thresholds_, [1.0]])
    y = np.concatenate([[0.0], fitted.y_thresholds_, [1.0]])

    def inverse(levels: np.ndarray) -> np.ndarray:
        # Past the outermost rank nothing was seen: the interval ends there, not at infinity.
        return np.clip(np.interp(levels, y, x), x[1], x[-2])

    return Recalibration(lambda new: np.interp(new, x, y), inverse)


def platt(ranks: np.ndarray) -> Recalibration:
    """Platt-style scaling, `R(p) = sigmoid(slope * logit(p) + shift)`.

    Logistic regression of the observed frequency on the logit of the predicted probability, by
    maximum likelihood; two numbers, so it needs few ranks and corrects scale and bias only.

    Args:
        ranks: predicted distribution functions at held-out targets.
    """
    from scipy.optimize import minimize
    from scipy.special import expit, logit

    p = np.clip(np.sort(ranks), EDGE, 1 - EDGE)
    x, y = logit(p), observed_frequencies(p)

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        slope, shift = np.exp(parameters[0]), parameters[1]  # a falling map is no recalibration
        z = slope * x + shift
        error = expit(z) - y
        value = (np.logaddexp(0, z) - y * z).mean()
        return float(value), np.array([(error * x).mean() * slope, error.mean()])

    parameters = minimize(loss, np.zeros(2), jac=True, method="BFGS").x
    slope, shift = float(np.exp(parameters[0])), float(parameters[1])

    def forward(new: np.ndarray) -> np.ndarray:
        return np.asarray(expit(slope * logit(np.clip(new, EDGE, 1 - EDGE)) + shift))

    def inverse(levels: np.ndarray) -> np.ndarray:
        there = expit((logit(np.clip(levels, EDGE, 1 - EDGE)) - shift) / slope)
        return np.asarray(np.clip(there, EDGE, 1 - EDGE))

    return Recalibration(forward, inverse)


RECALIBRATIONS: dict[str, Callable[[np.ndarray], Recalibration]] = {
    "isotonic": isotonic,
    "platt": platt,
}
