"""Variational EM for the prior variance of the mixture's means.

The E-step is coordinate ascent to its end at the present prior variance, "an iterative process" as
Alvarez's lecture has it; the M-step is the prior variance with the highest ELBO under that factor
(book, section 3.2.1.4, steps 1 and 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnnbench.suites.inference_toys.gaussian_mixture.coordinate_ascent import ascend


@dataclass(frozen=True)
class PriorVarianceFit:
    """The path of one start, an entry after every E-step.

    Attributes:
        prior_variance: at which the E-step was, `[T]`.
        elbo: at its end, nats, `[T]`.
        square: sum over components of `E_q[mu_k^2]`, `[T]`.
        loc: means of the means, `[T, K]`.
        converged: whether the ELBO stood still before the iterations ran out.
    """

    prior_variance: np.ndarray
    elbo: np.ndarray
    square: np.ndarray
    loc: np.ndarray
    converged: bool

    @property
    def largest_fall(self) -> float:
        """The most by which an iteration lowered the ELBO, nats; 0 if none did."""
        return float(max(0.0, (-np.diff(self.elbo)).max(initial=0.0)))


def bound_of_prior_variance(
    prior_variance: np.ndarray, at: float, elbo: float, square: float, components: int
) -> np.ndarray:
    """The ELBO as a function of the prior variance while the factors stay as they are, nats.

    Args:
        prior_variance: where it is wanted.
        at: a prior variance at which the ELBO is known.
        elbo: there.
        square: sum over components of `E_q[mu_k^2]`.
        components: how many, `K`.
    """
    logs = -0.5 * components * np.log(prior_variance / at)
    found: np.ndarray = elbo + logs - 0.5 * square * (1 / prior_variance - 1 / at)
    return found


def fit_prior_variance(
    points: np.ndarray, start: np.ndarray, prior_variance: float, iterations: int, tolerance: float
) -> PriorVarianceFit:
    """E-steps and M-steps in turn, from one start.

    Args:
        points: `[N]`.
        start: means of the means, `[K]`.
        prior_variance: of the first E-step.
        iterations: E-steps at the most, and iterations of each.
        tolerance: change of the ELBO, relative to its size, at which it stands still.
    """
    path: list[tuple[float, float, float, np.ndarray]] = []
    loc, converged = start, False
    while len(path) < iterations and not converged:
        ascent = ascend(points, loc, prior_variance, iterations, tolerance)
        loc, bound = ascent.loc[-1], float(ascent.elbo[-1])
        square = float((loc**2 + ascent.variance[-1]).sum())
        converged = bool(path) and abs(bound - path[-1][1]) <= tolerance * abs(bound)
        path.append((prior_variance, bound, square, loc))
        prior_variance = square / len(loc)
    variances, bounds, squares, locs = map(np.array, zip(*path, strict=True))
    return PriorVarianceFit(variances, bounds, squares, locs, converged)
