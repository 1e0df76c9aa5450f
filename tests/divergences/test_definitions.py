"""Divergences between Gaussians against numerical integration of their definitions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from scipy.stats import norm
from support.divergences import (
    ALPHAS,
    Function,
    chernoff,
    gaussian_pairs,
    pair_parameters,
    skew_kl_density,
)

from bnnbench.divergences.jensen_shannon import alpha_js, js
from bnnbench.divergences.kl import jeffreys, kl, kl_prior_posterior
from bnnbench.divergences.renyi import alpha_divergence, chi2, hellinger
from bnnbench.divergences.total_variation import tv

# From the logarithms of the densities.
INTEGRANDS: dict[str, tuple[Function, Callable[..., np.ndarray]]] = {
    "kl": (kl, lambda q, p: np.exp(q) * (q - p - 1) + np.exp(p)),
    "kl_prior_posterior": (kl_prior_posterior, lambda q, p: np.exp(p) * (p - q - 1) + np.exp(q)),
    "jeffreys": (jeffreys, lambda q, p: (np.exp(q) - np.exp(p)) * (q - p)),
    "js": (js, lambda q, p: 0.5 * (skew_kl_density(0.5, q, p) + skew_kl_density(0.5, p, q))),
    "tv": (tv, lambda q, p: 0.5 * np.abs(np.exp(q) - np.exp(p))),
    "hellinger": (hellinger, lambda q, p: 0.5 * (np.exp(q / 2) - np.exp(p / 2)) ** 2),
    "chi2": (chi2, lambda q, p: chernoff(2.0, q, p)),
}
for a in ALPHAS:
    INTEGRANDS[f"alpha {a}"] = (
        partial(alpha_divergence, alpha=a),
        lambda q, p, a=a: chernoff(a, q, p) / (a * (a - 1)),
    )
for a in (0.01, 0.25, 0.75, 0.99):
    INTEGRANDS[f"alpha_js {a}"] = (
        partial(alpha_js, alpha=a),
        lambda q, p, a=a: 0.5 * (skew_kl_density(a, q, p) + skew_kl_density(a, p, q)),
    )


def integrate(f: Callable[..., np.ndarray], given: np.ndarray, alpha: float = 0.5) -> float:
    """Gauss-Legendre quadrature between multiples of the scales of q, p and `q^a p^(1-a)`."""
    q_loc, q_scale, p_loc, p_scale = given
    pull = alpha / q_scale**2, (1 - alpha) / p_scale**2
    middle = (pull[0] * q_loc + pull[1] * p_loc) / sum(pull)
    steps = np.linspace(-14, 14, 57)
    grids = [q_loc + q_scale * steps, p_loc + p_scale * steps, middle + sum(pull) ** -0.5 * steps]
    quadratic = [q_scale**2 - p_scale**2, 2 * (p_scale**2 * q_loc - q_scale**2 * p_loc),
                 (q_scale * p_loc) ** 2 - (p_scale * q_loc) ** 2
                 - 2 * (q_scale * p_scale) ** 2 * math.log(q_scale / p_scale)]  # fmt: skip
    crossings = np.roots(quadratic)
    edges = np.unique(np.concatenate([*grids, crossings[np.isreal(crossings)].real]))
    nodes, weights = np.polynomial.legendre.leggauss(24)
    half = np.diff(edges)[:, None] / 2
    x = edges[:-1, None] + half * (1 + nodes)
    values = f(norm.logpdf(x, q_loc, q_scale), norm.logpdf(x, p_loc, p_scale))
    return float((values * half * weights).sum())


@pytest.mark.parametrize("name", INTEGRANDS)
def test_against_numerical_integration(name: str) -> None:
    function, integrand = INTEGRANDS[name]
    alpha = float(name.split()[1]) if name.startswith("alpha ") else 2.0 * (name == "chi2") or 0.5
    given = gaussian_pairs()
    finite = alpha * given[:, 3] ** 2 + (1 - alpha) * given[:, 1] ** 2 > 0
    values = function(*pair_parameters(given[finite])).tolist()
    checked = [(v, g) for v, g in zip(values, given[finite], strict=True) if v < 1e200]
    assert len(checked) > 10
    for value, row in checked:
        assert value == pytest.approx(integrate(integrand, row, alpha), rel=1e-5)
