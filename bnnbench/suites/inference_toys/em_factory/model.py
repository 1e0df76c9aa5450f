"""The factory of section 2.6.5.1: its model, likelihood, maximum and information.

Product i has `x_i ~ Poisson(tau_i)` impure materials and `y_i ~ Poisson(beta tau_i)` malfunctioning
items, (2.51)-(2.52). The first product's `x_1` and the last one's `y_n` were not counted. The
likelihood of what was, (2.54), is greatest where

    beta = sum_{i=2}^{n-1} y_i / sum_{i=2}^{n-1} x_i,  tau_1 = y_1 / beta,  tau_n = x_n,
    tau_i = (x_i + y_i) / (1 + beta) for the others:

`tau_1` and `tau_n` fit `y_1` and `x_n` exactly, whatever `beta` is, so that those say nothing about
it. The print of (2.63) has both sums from i = 1, which would need the missing `x_1`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln, xlogy


@dataclass(frozen=True)
class Factory:
    """Counts of n products.

    Attributes:
        impure: `[n]`, of materials, x; the first is hidden.
        faulty: `[n]`, of items, y; the last is hidden.
    """

    impure: np.ndarray
    faulty: np.ndarray

    @property
    def regular(self) -> bool:
        """Whether the likelihood has its maximum inside, where no estimate is zero."""
        middle = self.impure[1:-1] + self.faulty[1:-1]
        sums = (self.impure[1:-1].sum(), self.faulty[1:-1].sum())
        return bool(min(*sums, middle.min(), self.faulty[0], self.impure[-1]) > 0)


@dataclass(frozen=True)
class Parameters:
    """What is estimated.

    Attributes:
        beta: malfunctioning items per impure material.
        rates: `[n]`, tau, of impure materials.
    """

    beta: float
    rates: np.ndarray

    @property
    def vector(self) -> np.ndarray:
        """`[1 + n]`: beta, then the rates."""
        return np.concatenate([[self.beta], self.rates])


def simulate(products: int, beta: float, shape: float, scale: float, seed: int) -> Factory:
    """Counts of products whose rates come from a Gamma distribution.

    Args:
        products: n.
        beta: malfunctioning items per impure material.
        shape: of the distribution of rates.
        scale: of it, so that the mean rate is their product.
        seed: of NumPy's default generator.
    """
    random = np.random.default_rng(seed)
    rates = random.gamma(shape, scale, products)
    impure = random.poisson(rates)
    return Factory(impure, random.poisson(beta * rates))


def log_likelihood(factory: Factory, at: Parameters) -> float:
    """Of what was counted, (2.54), factorials included."""
    seen = (
        (factory.impure[1:], at.rates[1:]),
        (factory.faulty[:-1], at.beta * at.rates[:-1]),
    )
    return float(
        sum((xlogy(count, rate) - rate - gammaln(count + 1)).sum() for count, rate in seen)
    )


def closed_form(factory: Factory, reading: str) -> Parameters:
    """The stationary point, (2.63)-(2.66).

    Args:
        factory: the counts; the hidden `x_1` is looked at only for the printed reading.
        reading: of (2.63), `corrected` or `printed`.
    """
    first = 1 if reading == "corrected" else 0
    beta = factory.faulty[first:-1].sum() / factory.impure[first:-1].sum()
    rates = (factory.impure + factory.faulty) / (1 + beta)
    rates[0], rates[-1] = factory.faulty[0] / beta, factory.impure[-1]
    return Parameters(float(beta), rates)


def search(factory: Factory, start: Parameters) -> Parameters:
    """The maximum of (2.54) by L-BFGS over the logarithms, which knows nothing of EM."""

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        at = Parameters(float(np.exp(logs[0])), np.exp(logs[1:]))
        off_impure, off_faulty = factory.impure - at.rates, factory.faulty - at.beta * at.rates
        off_impure[0] = off_faulty[-1] = 0.0
        slope = np.concatenate([[off_faulty.sum()], off_impure + off_faulty])
        return -log_likelihood(factory, at), -slope

    options = {"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-9}
    found = minimize(loss, np.log(start.vector), jac=True, method="L-BFGS-B", options=options)
    return Parameters(float(np.exp(found.x[0])), np.exp(found.x[1:]))


def missing_information(factory: Factory, at: Parameters) -> float:
    """The largest share of the complete data's information that is missing in any direction.

    The greatest eigenvalue of `I - complete^-1 observed`, both informations at the maximum; it is
    the factor by which EM's error falls (Dempster, Laird and Rubin 1977).

    Args:
        factory: the counts that were seen.
        at: the maximum.
    """
    impure, faulty = factory.impure.astype(float), factory.faulty.astype(float)
    impure[0], faulty[-1] = at.rates[0], at.beta * at.rates[-1]
    complete = _information(impure, faulty, at, np.ones(len(impure)))
    impure[0] = faulty[-1] = 0.0
    seen = np.ones(len(impure))
    seen[-1] = 0.0
    observed = _information(impure, faulty, at, seen)
    shares = np.linalg.eigvals(np.eye(len(observed)) - np.linalg.solve(complete, observed))
    return float(shares.real.max())


def _information(
    impure: np.ndarray, faulty: np.ndarray, at: Parameters, both: np.ndarray
) -> np.ndarray:
    """Minus the second derivatives, `[1 + n, 1 + n]`; `both` is 1 where y depends on the rate."""
    matrix = np.diag(np.concatenate([[0.0], (impure + faulty) / at.rates**2]))
    matrix[0, 0] = faulty.sum() / at.beta**2
    matrix[0, 1:] = matrix[1:, 0] = both
    return matrix
