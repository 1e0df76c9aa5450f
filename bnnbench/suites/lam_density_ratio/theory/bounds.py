"""The two lower bounds of section 4.2, exact by quadrature, for any estimate of a density ratio.

With `q` and `p` on the real line and an estimate `a` of `log q / p`:

- reverse KL: `E_q[1 + a] - E_p[exp a] <= KL(q || p)`, (4.2.1) with `a = log r`;
- GAN: `E_q[log sigmoid a] + E_p[log sigmoid(-a)] <= 2 JS(p, q) - log 4` (section 4.2.4).

Both hold with equality at `a = log q / p` alone. The thesis's "reverse KL" is `KL(q || p)`, the
divergence that this package calls `kl` elsewhere. Its display of the GAN divergence as Jensen-
Shannon puts `- log 2` inside the logarithm in one line; the next line is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.integrate import trapezoid
from scipy.special import log_expit, logsumexp

REACH, POINTS = 15.0, 6001
"""Of the quadrature: deviations to each side of all components, and points between.

The trapezium rule is exact to rounding for smooth functions that vanish at both ends.
"""

LogRatio = Callable[[np.ndarray], np.ndarray]
"""Estimates of `log q / p` at points `[N]`, one per member of a family, `[K, N]`."""


@dataclass(frozen=True)
class Mixture:
    """A mixture of Gaussians on the real line, components `[C]` each.

    Attributes:
        loc: means.
        scale: standard deviations.
        weight: of each component; they sum to one.
    """

    loc: tuple[float, ...]
    scale: tuple[float, ...]
    weight: tuple[float, ...] = (1.0,)

    def log_density(self, u: np.ndarray) -> np.ndarray:
        """`[...]` for points `[...]`."""
        standard = (u[..., None] - self.loc) / np.array(self.scale)
        each = -0.5 * standard**2 - np.log(self.scale) - 0.5 * np.log(2 * np.pi)
        return np.asarray(logsumexp(each + np.log(self.weight), axis=-1))


def gaussian(loc: float, scale: float) -> Mixture:
    """A single Gaussian."""
    return Mixture((loc,), (scale,))


@dataclass(frozen=True)
class Pair:
    """Two densities, the posterior's side `q` and the prior's side `p`."""

    q: Mixture
    p: Mixture

    def log_ratio(self, u: np.ndarray) -> np.ndarray:
        """`log q / p`."""
        return self.q.log_density(u) - self.p.log_density(u)

    def points(self) -> np.ndarray:
        """Where both densities are integrated, `[POINTS]`."""
        ends = [
            loc + sign * REACH * scale
            for side in (self.q, self.p)
            for loc, scale in zip(side.loc, side.scale, strict=True)
            for sign in (-1, 1)
        ]
        return np.linspace(min(ends), max(ends), POINTS)


def reverse_kl(pair: Pair) -> float:
    """`KL(q || p)` from its definition, nats."""
    u = pair.points()
    return float(trapezoid(np.exp(pair.q.log_density(u)) * pair.log_ratio(u), u))


def gan(pair: Pair) -> float:
    """`2 JS(p, q) - log 4` from its definition, nats: both sides against their mean."""
    u = pair.points()
    sides = np.stack([pair.q.log_density(u), pair.p.log_density(u)])
    middle = logsumexp(sides, axis=0) - np.log(2)
    return float(trapezoid((np.exp(sides) * (sides - middle)).sum(0), u)) - np.log(4)


def reverse_kl_bound(pair: Pair, log_ratio: LogRatio) -> np.ndarray:
    """(4.2.1) for every member of a family of estimates, `[K]`, nats."""
    u = pair.points()
    estimate, q, p = log_ratio(u), pair.q.log_density(u), pair.p.log_density(u)
    return np.asarray(trapezoid(np.exp(q) * (1 + estimate) - np.exp(p + estimate), u))


def gan_bound(pair: Pair, log_ratio: LogRatio) -> np.ndarray:
    """The bound of section 4.2.4 for every member of a family of estimates, `[K]`, nats."""
    u = pair.points()
    estimate, q, p = log_ratio(u), pair.q.log_density(u), pair.p.log_density(u)
    terms = np.exp(q) * log_expit(estimate) + np.exp(p) * log_expit(-estimate)
    return np.asarray(trapezoid(terms, u))


DIVERGENCES: Mapping[str, Callable[[Pair], float]] = {"reverse_kl": reverse_kl, "gan": gan}

BOUNDS: Mapping[str, Callable[[Pair, LogRatio], np.ndarray]] = {
    "reverse_kl": reverse_kl_bound,
    "gan": gan_bound,
}


def powers(pair: Pair, exponents: np.ndarray) -> LogRatio:
    """Estimates `r*^c`, exact at `c = 1`."""
    return lambda u: exponents[:, None] * pair.log_ratio(u)


def shifts(pair: Pair, amounts: np.ndarray) -> LogRatio:
    """Estimates `r* + delta`, exact at `delta = 0`."""
    with np.errstate(divide="ignore"):
        logs = np.log(amounts)
    return lambda u: np.logaddexp(pair.log_ratio(u), logs[:, None])
