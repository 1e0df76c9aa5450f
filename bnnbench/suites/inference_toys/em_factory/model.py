"""The factory of section 2.6.5.1: model, likelihood, maximum and information.

Product i has `x_i ~ Poisson(tau_i)` impure materials and `y_i ~ Poisson(beta tau_i)` malfunctioning
items, (2.51)-(2.52). The counts `x_1` and `y_n` are missing. The observed-data likelihood, (2.54),
is maximised by

    beta = sum_{i=2}^{n-1} y_i / sum_{i=2}^{n-1} x_i,  tau_1 = y_1 / beta,  tau_n = x_n,
    tau_i = (x_i + y_i) / (1 + beta) for the others:

For any `beta`, `tau_1` and `tau_n` fit `y_1` and `x_n` exactly, so these counts carry no
information about it. As printed, the sums of (2.63) start at i = 1 and need the missing `x_1`.
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
        impure: `[n]`, impure materials x; the first count is hidden.
        faulty: `[n]`, malfunctioning items y; the last count is hidden.
    """

    impure: np.ndarray
    faulty: np.ndarray

    @property
    def has_interior_maximum(self) -> bool:
        """Whether all maximum-likelihood estimates are positive."""
        middle = self.impure[1:-1] + self.faulty[1:-1]
        sums = (self.impure[1:-1].sum(), self.faulty[1:-1].sum())
        return bool(min(*sums, middle.min(), self.faulty[0], self.impure[-1]) > 0)


@dataclass(frozen=True)
class Parameters:
    """The parameters of the model.

    Attributes:
        beta: malfunctioning items per impure material.
        rates: `[n]`, rates of impure materials, tau.
    """

    beta: float
    rates: np.ndarray

    @property
    def vector(self) -> np.ndarray:
        """Beta followed by the rates, `[1 + n]`."""
        return np.concatenate([[self.beta], self.rates])


def simulate(products: int, beta: float, shape: float, scale: float, seed: int) -> Factory:
    """Simulate counts of products with Gamma-distributed rates.

    Args:
        products: n.
        beta: malfunctioning items per impure material.
        shape: shape of the Gamma distribution.
        scale: scale of the Gamma distribution.
        seed: seed of NumPy's default generator.
    """
    random = np.random.default_rng(seed)
    rates = random.gamma(shape, scale, products)
    impure = random.poisson(rates)
    return Factory(impure, random.poisson(beta * rates))


def log_likelihood(factory: Factory, parameters: Parameters) -> float:
    """Return the observed-data log-likelihood, (2.54), including factorials."""
    observed = (
        (factory.impure[1:], parameters.rates[1:]),
        (factory.faulty[:-1], parameters.beta * parameters.rates[:-1]),
    )
    return float(
        sum((xlogy(count, rate) - rate - gammaln(count + 1)).sum() for count, rate in observed)
    )


def closed_form(factory: Factory, reading: str) -> Parameters:
    """Return the stationary point, (2.63)-(2.66).

    Args:
        factory: the counts; the hidden `x_1` is used only by the printed equations.
        reading: use (2.63) `corrected` or as `printed`.
    """
    first = 1 if reading == "corrected" else 0
    beta = factory.faulty[first:-1].sum() / factory.impure[first:-1].sum()
    rates = (factory.impure + factory.faulty) / (1 + beta)
    rates[0], rates[-1] = factory.faulty[0] / beta, factory.impure[-1]
    return Parameters(float(beta), rates)


def maximise_numerically(factory: Factory, start: Parameters) -> Parameters:
    """Maximise (2.54) over log parameters with L-BFGS, independently of EM."""

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        parameters = Parameters(float(np.exp(logs[0])), np.exp(logs[1:]))
        impure_residuals = factory.impure - parameters.rates
        faulty_residuals = factory.faulty - parameters.beta * parameters.rates
        impure_residuals[0] = faulty_residuals[-1] = 0.0
        gradient = np.concatenate([[faulty_residuals.sum()], impure_residuals + faulty_residuals])
        return -log_likelihood(factory, parameters), -gradient

    options = {"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-9}
    optimum = minimize(loss, np.log(start.vector), jac=True, method="L-BFGS-B", options=options)
    return Parameters(float(np.exp(optimum.x[0])), np.exp(optimum.x[1:]))


def missing_information_fraction(factory: Factory, parameters: Parameters) -> float:
    """Return the largest fraction of missing information in any direction.

    It is the largest eigenvalue of `I - complete^-1 observed`, with both information matrices at
    the maximum, and equals the convergence rate of EM (Dempster, Laird and Rubin 1977).

    Args:
        factory: the counts.
        parameters: the maximum.
    """
    impure, faulty = factory.impure.astype(float), factory.faulty.astype(float)
    impure[0], faulty[-1] = parameters.rates[0], parameters.beta * parameters.rates[-1]
    complete = _information(impure, faulty, parameters, np.ones(len(impure)))
    impure[0] = faulty[-1] = 0.0
    has_faulty = np.ones(len(impure))
    has_faulty[-1] = 0.0
    observed = _information(impure, faulty, parameters, has_faulty)
    fractions = np.linalg.eigvals(np.eye(len(observed)) - np.linalg.solve(complete, observed))
    return float(fractions.real.max())


def _information(
    impure: np.ndarray, faulty: np.ndarray, parameters: Parameters, has_faulty: np.ndarray
) -> np.ndarray:
    """Return minus the Hessian, `[1 + n, 1 + n]`; `has_faulty` is 1 where y is included."""
    matrix = np.diag(np.concatenate([[0.0], (impure + faulty) / parameters.rates**2]))
    matrix[0, 0] = faulty.sum() / parameters.beta**2
    matrix[0, 1:] = matrix[1:, 0] = has_faulty
    return matrix
