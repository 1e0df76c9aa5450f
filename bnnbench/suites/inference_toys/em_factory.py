"""Expectation maximisation for a factory with missing counts: Cinelli et al., section 2.6.5.1.

Product i has `x_i ~ Poisson(tau_i)` impure materials and `y_i ~ Poisson(beta tau_i)` malfunctioning
items, (2.51)-(2.52). The counts `x_1` and `y_n` are missing. The observed-data likelihood, (2.54),
is maximised by

    beta = sum_{i=2}^{n-1} y_i / sum_{i=2}^{n-1} x_i,  tau_1 = y_1 / beta,  tau_n = x_n,
    tau_i = (x_i + y_i) / (1 + beta) for the others.

For any `beta`, `tau_1` and `tau_n` fit `y_1` and `x_n` exactly, so these counts carry no
information about it. As printed, the sums of (2.63) start at i = 1 and need the missing `x_1`.

The parameters are vectors `theta`, `[1 + n]`: beta followed by the rates tau.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import gammaln, xlogy

from bnnbench.constraints import Between, Whole
from bnnbench.experiment.kinds.table_experiment import TableExperiment, Tables
from bnnbench.experiment.store.answer_tables import ANSWERS, Answer
from bnnbench.identity import no_identity
from bnnbench.types import UserError

ITERATES = "iterates"
"""The parameters after every iteration of EM, by start; `error` is relative to the maximum."""

COUNTS = "counts"
"""The counts, including the two hidden ones."""

EM, LBFGS, PRINTED = "EM", "L-BFGS", "(2.63)-(2.66) as printed"
"""Approximations of answers."""

PARAMETERS = ("beta", "tau_1", "tau_n")
RATE = "rate of convergence"


@dataclass(frozen=True, kw_only=True)
class EMFactory(TableExperiment):
    """Maximises the likelihood of counts, two of which are missing, from random starts.

    See `configs/experiment` for the settings; `seed` is that of the starts.
    """

    identity_name = "bnnbench.suites.inference_toys.em_factory.experiment.EMFactory"
    products: Annotated[int, Whole(3, maximum=1000)]
    beta: Annotated[float, Between(0, 1e6)]
    rate_shape: Annotated[float, Between(0, 1e6)]
    rate_scale: Annotated[float, Between(0, 1e6)]
    data_seed: Annotated[int, Whole(0)]
    seed: Annotated[int, Whole(0)]
    iterations: Annotated[int, Whole()]
    tolerance: Annotated[float, Between(0, 1)]
    starts: Annotated[int, Whole()] = no_identity()
    kind: ClassVar[str] = "em_factory"
    name: ClassVar[str] = "EM with missing counts"
    columns: ClassVar[tuple[str, ...]] = ("data_seed", "seed")
    one_process: ClassVar[bool] = True

    def check(self) -> None:
        """Raise `UserError` if a setting is invalid or the likelihood has no interior maximum."""
        super().check()
        if not self.factory().has_interior_maximum:
            raise UserError(
                f"experiment.data_seed={self.data_seed} draws a product with zero counts, so its "
                "rate has no positive estimate; use another seed or a larger "
                "experiment.rate_scale.",
                setting="experiment.data_seed",
            )

    def cases(self) -> dict[str, int | None]:
        return {"closed_form": None, **{f"start-{k}": k for k in range(self.starts)}}

    def tables(self, case: int | None) -> Tables:
        factory = self.factory()
        if case is None:
            return closed_form_tables(factory)
        start = self.random_start(case)
        return start_tables(factory, case, start, self.iterations, self.tolerance)

    def factory(self) -> Factory:
        """Simulate the counts."""
        settings = (self.products, self.beta, self.rate_shape, self.rate_scale, self.data_seed)
        return simulate(*settings)

    def random_start(self, start: int) -> np.ndarray:
        """Draw a start with beta between 1/20 and 20 and rates between 1 and 55."""
        random = np.random.default_rng([self.seed, start])
        return np.exp([random.uniform(-3, 3), *random.uniform(0, 4, self.products)])


def closed_form_tables(factory: Factory) -> Tables:
    """Return the counts, and the closed form as printed."""
    counts = {"impure": factory.impure, "faulty": factory.faulty}
    products = np.arange(1, len(factory.impure) + 1)
    return {
        ANSWERS: [*_answers(factory, PRINTED, closed_form(factory, printed=True))],
        COUNTS: pd.DataFrame({"product": products, **counts}),
    }


def start_tables(
    factory: Factory, number: int, start: np.ndarray, iterations: int, tolerance: float
) -> Tables:
    """Run EM and L-BFGS from the start with this number."""
    maximum = closed_form(factory)
    iterates = run_em(factory, start, iterations, tolerance)
    errors = np.abs(iterates / maximum - 1).max(1)
    setting = f"start {number}"
    fraction = missing_information_fraction(factory, maximum)
    answers = [
        *_answers(factory, EM, iterates[-1], setting),
        *_answers(factory, LBFGS, maximise_numerically(factory, start), setting),
        Answer(RATE, EM, convergence_rate(errors), setting, exact=fraction),
        Answer("iterations", EM, float(len(iterates) - 1), setting),
    ]
    columns = {
        "iteration": np.arange(len(iterates)),
        **dict(zip(PARAMETERS, iterates[:, [0, 1, -1]].T, strict=True)),
        "log_likelihood": [log_likelihood(factory, theta) for theta in iterates],
        "error": errors,
    }
    return {ANSWERS: answers, ITERATES: pd.DataFrame({"start": number, **columns})}


def _answers(factory: Factory, name: str, theta: np.ndarray, setting: str = "") -> Iterator[Answer]:
    """Compare an estimate with the maximum."""
    maximum = closed_form(factory)
    for quantity, index in zip(PARAMETERS, (0, 1, -1), strict=True):
        yield Answer(quantity, name, theta[index], setting, exact=maximum[index])
    value, exact = log_likelihood(factory, theta), log_likelihood(factory, maximum)
    yield Answer("log-likelihood", name, value, setting, exact=exact)


MIN_RELATIVE_ERROR = 1e-9
"""Errors below this are rounding and excluded from the convergence rate."""


@dataclass(frozen=True)
class Factory:
    """Impure materials x and malfunctioning items y of n products, `[n]` each.

    The first count of x and the last one of y are hidden.
    """

    impure: np.ndarray
    faulty: np.ndarray

    @property
    def has_interior_maximum(self) -> bool:
        """Whether all maximum-likelihood estimates are positive."""
        middle = self.impure[1:-1] + self.faulty[1:-1]
        sums = (self.impure[1:-1].sum(), self.faulty[1:-1].sum())
        return bool(min(*sums, middle.min(), self.faulty[0], self.impure[-1]) > 0)


def simulate(products: int, beta: float, shape: float, scale: float, seed: int) -> Factory:
    """Simulate counts; the rates of the products have a Gamma distribution."""
    random = np.random.default_rng(seed)
    rates = random.gamma(shape, scale, products)
    impure = random.poisson(rates)
    return Factory(impure, random.poisson(beta * rates))


def log_likelihood(factory: Factory, theta: np.ndarray) -> float:
    """Return the observed-data log-likelihood, (2.54), including factorials, nats."""
    beta, rates = theta[0], theta[1:]
    observed = ((factory.impure[1:], rates[1:]), (factory.faulty[:-1], beta * rates[:-1]))
    return float(
        sum((xlogy(count, rate) - rate - gammaln(count + 1)).sum() for count, rate in observed)
    )


def closed_form(factory: Factory, printed: bool = False) -> np.ndarray:
    """Return the stationary point, (2.63)-(2.66).

    As printed, the sums of (2.63) start at product 1 and use its hidden count `x_1`.
    """
    first = 0 if printed else 1
    beta = factory.faulty[first:-1].sum() / factory.impure[first:-1].sum()
    rates = (factory.impure + factory.faulty) / (1 + beta)
    rates[0], rates[-1] = factory.faulty[0] / beta, factory.impure[-1]
    return np.array([beta, *rates])


def e_step(factory: Factory, theta: np.ndarray) -> Factory:
    """Replace the missing counts by their means under the current parameters."""
    impure, faulty = factory.impure.astype(float), factory.faulty.astype(float)
    impure[0], faulty[-1] = theta[1], theta[0] * theta[-1]
    return Factory(impure, faulty)


def em_step(factory: Factory, theta: np.ndarray) -> np.ndarray:
    """Perform one E-step and M-step, (2.57)-(2.60).

    The update of beta is the second form of (2.57), with the counts in the denominator; the first
    form, with the rates, agrees with it only at a fixed point.
    """
    complete = e_step(factory, theta)
    beta = complete.faulty.sum() / complete.impure.sum()
    return np.array([beta, *(complete.impure + complete.faulty) / (1 + beta)])


def run_em(factory: Factory, start: np.ndarray, iterations: int, tolerance: float) -> np.ndarray:
    """Return the iterates of EM, `[T + 1, 1 + n]`, beginning with the start.

    It stops after so many iterations, or when the relative change of every parameter is at most
    the tolerance.
    """
    iterates = [start]
    for _ in range(iterations):
        iterates.append(em_step(factory, iterates[-1]))
        if np.abs(iterates[-1] / iterates[-2] - 1).max() <= tolerance:
            break
    return np.array(iterates)


def convergence_rate(errors: np.ndarray) -> float:
    """Return the factor by which the error `[T + 1]` decreases per late iteration.

    It is NaN for short runs.
    """
    is_rounding = errors < MIN_RELATIVE_ERROR
    measurable = errors[: int(np.argmax(is_rounding))] if is_rounding.any() else errors
    late = measurable[len(measurable) // 2 :]
    if len(late) < 3:
        return float("nan")
    return float((late[-1] / late[0]) ** (1 / (len(late) - 1)))


def maximise_numerically(factory: Factory, start: np.ndarray) -> np.ndarray:
    """Maximise (2.54) over log parameters with L-BFGS, independently of EM."""

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        theta = np.exp(logs)
        impure_residuals = factory.impure - theta[1:]
        faulty_residuals = factory.faulty - theta[0] * theta[1:]
        impure_residuals[0] = faulty_residuals[-1] = 0.0
        gradient = np.array([faulty_residuals.sum(), *(impure_residuals + faulty_residuals)])
        return -log_likelihood(factory, theta), -gradient

    options = {"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-9}
    optimum = minimize(loss, np.log(start), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(np.exp(optimum.x))


def missing_information_fraction(factory: Factory, theta: np.ndarray) -> float:
    """Return the largest fraction of missing information in any direction.

    It is the largest eigenvalue of `I - complete^-1 observed`, with both information matrices at
    the maximum theta, and equals the convergence rate of EM (Dempster, Laird and Rubin 1977).
    """
    product = np.arange(len(factory.impure))
    has_impure, has_faulty = product > 0, product < len(product) - 1
    complete = e_step(factory, theta)
    observed = Factory(complete.impure * has_impure, complete.faulty * has_faulty)
    ratio = np.linalg.solve(
        _information(complete, theta, np.ones(len(product))),
        _information(observed, theta, has_faulty),
    )
    return float(np.linalg.eigvals(np.eye(len(ratio)) - ratio).real.max())


def _information(counts: Factory, theta: np.ndarray, has_faulty: np.ndarray) -> np.ndarray:
    """Return minus the Hessian, `[1 + n, 1 + n]`; `has_faulty` is 1 where y is included."""
    matrix = np.diag(np.concatenate([[0.0], (counts.impure + counts.faulty) / theta[1:] ** 2]))
    matrix[0, 0] = counts.faulty.sum() / theta[0] ** 2
    matrix[0, 1:] = matrix[1:, 0] = has_faulty
    return matrix
