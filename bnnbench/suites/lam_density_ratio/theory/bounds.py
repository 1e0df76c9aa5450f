"""The two lower bounds of section 4.2 by quadrature, for any estimate of a density ratio.

With `q` and `p` on the real line and an estimate `a` of `log q / p`:

- reverse KL: `E_q[1 + a] - E_p[exp a] <= KL(q || p)`, (4.2.1) with `a = log r`;
- GAN: `E_q[log sigmoid a] + E_p[log sigmoid(-a)] <= 2 JS(p, q) - log 4` (section 4.2.4).

Equality holds only at `a = log q / p`. One line of the thesis's derivation of the GAN divergence
prints `- log 2` inside the logarithm; the next line is correct.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.integrate import trapezoid
from scipy.special import log_expit, logsumexp

QUADRATURE_STDS, QUADRATURE_POINTS = 15.0, 6001
"""Standard deviations on each side of all components, and number of points.

The trapezium rule is exact to rounding for smooth functions that vanish at both ends.
"""

LogRatio = Callable[[np.ndarray], np.ndarray]
"""Estimates of `log q / p` at points `[N]` for each member of a family, `[K, N]`."""


@dataclass(frozen=True)
class Mixture:
    """A mixture of `C` Gaussians on the real line.

    Attributes:
        loc: means.
        scale: standard deviations.
        weight: weights, which sum to one.
    """

    loc: tuple[float, ...]
    scale: tuple[float, ...]
    weight: tuple[float, ...] = (1.0,)

    def log_density(self, u: np.ndarray) -> np.ndarray:
        """Return the log density `[...]` at points `[...]`."""
        standard = (u[..., None] - self.loc) / np.array(self.scale)
        log_densities = -0.5 * standard**2 - np.log(self.scale) - 0.5 * np.log(2 * np.pi)
        return np.asarray(logsumexp(log_densities + np.log(self.weight), axis=-1))


def gaussian(loc: float, scale: float) -> Mixture:
    """Return a single Gaussian."""
    return Mixture((loc,), (scale,))


@dataclass(frozen=True)
class DensityPair:
    """Two densities, `q` for the posterior and `p` for the prior."""

    q: Mixture
    p: Mixture

    def log_ratio(self, u: np.ndarray) -> np.ndarray:
        """Return `log q / p`."""
        return self.q.log_density(u) - self.p.log_density(u)

    def points(self) -> np.ndarray:
        """Return the points of the quadrature, `[QUADRATURE_POINTS]`."""
        ends = [
            loc + sign * QUADRATURE_STDS * scale
            for side in (self.q, self.p)
            for loc, scale in zip(side.loc, side.scale, strict=True)
            for sign in (-1, 1)
        ]
        return np.linspace(min(ends), max(ends), QUADRATURE_POINTS)


def kl_posterior_prior(pair: DensityPair) -> float:
    """Return `KL(q || p)` from its definition, nats."""
    u = pair.points()
    return float(trapezoid(np.exp(pair.q.log_density(u)) * pair.log_ratio(u), u))


def gan(pair: DensityPair) -> float:
    """Return `2 JS(p, q) - log 4` from its definition, nats."""
    u = pair.points()
    sides = np.stack([pair.q.log_density(u), pair.p.log_density(u)])
    middle = logsumexp(sides, axis=0) - np.log(2)
    return float(trapezoid((np.exp(sides) * (sides - middle)).sum(0), u)) - np.log(4)


def kl_posterior_prior_bound(pair: DensityPair, log_ratio: LogRatio) -> np.ndarray:
    """Return the bound (4.2.1) for every member of a family of estimates, `[K]`, nats."""
    u = pair.points()
    estimate, q, p = log_ratio(u), pair.q.log_density(u), pair.p.log_density(u)
    return np.asarray(trapezoid(np.exp(q) * (1 + estimate) - np.exp(p + estimate), u))


def gan_bound(pair: DensityPair, log_ratio: LogRatio) -> np.ndarray:
    """Return the bound of section 4.2.4 for every member of a family, `[K]`, nats."""
    u = pair.points()
    estimate, q, p = log_ratio(u), pair.q.log_density(u), pair.p.log_density(u)
    terms = np.exp(q) * log_expit(estimate) + np.exp(p) * log_expit(-estimate)
    return np.asarray(trapezoid(terms, u))


DIVERGENCES: Mapping[str, Callable[[DensityPair], float]] = {
    "kl_posterior_prior": kl_posterior_prior,
    "gan": gan,
}

BOUNDS: Mapping[str, Callable[[DensityPair, LogRatio], np.ndarray]] = {
    "kl_posterior_prior": kl_posterior_prior_bound,
    "gan": gan_bound,
}


def powers(pair: DensityPair, exponents: np.ndarray) -> LogRatio:
    """Return the estimates `r*^c`, exact at `c = 1`."""
    return lambda u: exponents[:, None] * pair.log_ratio(u)


def shifts(pair: DensityPair, deltas: np.ndarray) -> LogRatio:
    """Return the estimates `r* + delta`, exact at `delta = 0`."""
    with np.errstate(divide="ignore"):
        logs = np.log(deltas)
    return lambda u: np.logaddexp(pair.log_ratio(u), logs[:, None])
