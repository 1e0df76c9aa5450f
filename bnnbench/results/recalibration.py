"""Maps from predicted to observed probability, fitted to the PIT values of held-out targets.

Kuleshov et al., "Accurate Uncertainties for Deep Learning Using Calibrated Regression", ICML
2018: if targets fall below the predicted quantile `p` with frequency `R(p)`, then the composition
of `R` and the predicted CDF is calibrated. The book names both ways to fit `R` (section 4.2.2,
Fig. 4.2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

MIN_PIT = 1e-6
"""PIT values are clipped to `[MIN_PIT, 1 - MIN_PIT]`, where the logit is finite."""


@dataclass(frozen=True)
class Recalibration:
    """An increasing map of `[0, 1]` onto itself, and its inverse.

    Attributes:
        forward: the map.
        inverse: its inverse.
        ends: observed probabilities between which the inverse depends on its argument.
    """

    forward: Callable[[np.ndarray], np.ndarray]
    inverse: Callable[[np.ndarray], np.ndarray]
    ends: tuple[float, float] = (0.0, 1.0)

    def __call__(self, pit: np.ndarray) -> np.ndarray:
        return self.forward(pit)


identity = Recalibration(lambda pit: pit, lambda pit: pit)


def observed_frequencies(pit: np.ndarray) -> np.ndarray:
    """Return the fraction of values below each of the sorted values, inside (0, 1)."""
    return (np.arange(len(pit)) + 0.5) / len(pit)


def isotonic(pit: np.ndarray) -> Recalibration:
    """Fit an isotonic regression of the observed frequency on the predicted probability.

    The map interpolates linearly between held-out values, so it needs many of them; beyond the
    outermost one it continues to 0 and 1.
    """
    from sklearn.isotonic import IsotonicRegression

    p = np.clip(np.sort(pit), MIN_PIT, 1 - MIN_PIT)
    fitted = IsotonicRegression(y_min=0, y_max=1).fit(p, observed_frequencies(p))
    x = np.concatenate([[0.0], fitted.X_thresholds_, [1.0]])
    y = np.concatenate([[0.0], fitted.y_thresholds_, [1.0]])

    def inverse(levels: np.ndarray) -> np.ndarray:
        # Intervals end at the outermost observed value, not at infinity.
        return np.clip(np.interp(levels, y, x), x[1], x[-2])

    return Recalibration(lambda new: np.interp(new, x, y), inverse, (y[1], y[-2]))


def platt(pit: np.ndarray) -> Recalibration:
    """Fit Platt-style scaling, `R(p) = sigmoid(slope * logit(p) + shift)`.

    Maximum-likelihood logistic regression of the observed frequency on the logit of the predicted
    probability. With two parameters it needs little data and corrects only scale and bias.
    """
    from scipy.optimize import minimize
    from scipy.special import expit, logit

    p = np.clip(np.sort(pit), MIN_PIT, 1 - MIN_PIT)
    x, y = logit(p), observed_frequencies(p)

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        slope, shift = np.exp(parameters[0]), parameters[1]  # the map must increase
        z = slope * x + shift
        error = expit(z) - y
        value = (np.logaddexp(0, z) - y * z).mean()
        return float(value), np.array([(error * x).mean() * slope, error.mean()])

    parameters = minimize(loss, np.zeros(2), jac=True, method="BFGS").x
    slope, shift = float(np.exp(parameters[0])), float(parameters[1])

    def forward(new: np.ndarray) -> np.ndarray:
        return np.asarray(expit(slope * logit(np.clip(new, MIN_PIT, 1 - MIN_PIT)) + shift))

    def inverse(levels: np.ndarray) -> np.ndarray:
        pit = expit((logit(np.clip(levels, MIN_PIT, 1 - MIN_PIT)) - shift) / slope)
        return np.asarray(np.clip(pit, MIN_PIT, 1 - MIN_PIT))

    return Recalibration(forward, inverse)


RECALIBRATIONS: dict[str, Callable[[np.ndarray], Recalibration]] = {
    "isotonic": isotonic,
    "platt": platt,
}
