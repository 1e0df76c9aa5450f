"""The tables of a run on the unknown noise precision: their names and rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.experiment.store.answer_tables import Answer
from bnnbench.suites.inference_toys.maths import Array
from bnnbench.suites.inference_toys.noise_precision.model import (
    Belief,
    GridPosterior,
    LinearModel,
    LogNormal,
    factorised_posterior,
    kl_to_posterior,
)

POINTS, DENSITIES, STEPS = "points", "densities", "steps"
ORDERS, REPEATED, POWERS, SIZES = "orders", "repeated", "powers", "sizes"


QUANTITIES = (
    MEAN := "mean of noise precision",
    STD := "std of noise precision",
    WEIGHT_MEAN := "mean of weight",
    WEIGHT_STD := "std of weight",
    EVIDENCE := "log evidence",
    GAP := "KL(q || posterior)",
    MEAN_STD := "std of the mean over orders",
    PASSES := "passes until convergence",
    SKIPPED := "updates skipped",
)
"""Quantities of `answers.csv`, in order; log evidence and KL in nats."""

ONE_FACTOR = "one observation"
"""Value of `factors` in `repeated.csv` for repeated inclusion of one observation."""

EXACT, CAVI, ADF, EP, ADVI = "exact", "CAVI", "ADF", "EP", "ADVI"
BLACK_BOX_VI, POWER_EP, BLACK_BOX_ALPHA = "black-box VI", "power EP", "black-box alpha"
"""Names of the approximations."""

NORMALISERS = (GAUSSIAN_K := "Gaussian K", EXACT_K := "exact K")
"""Settings of ADF and EP: the normaliser K by (3.52), or by quadrature."""

MEAN_FIELD, FULL = "mean field", "full covariance"
"""Settings of ADVI."""

AS_PRINTED = "as printed"
"""Setting of CAVI, ADF and EP with (3.29) and (3.56) as printed, which are wrong."""

N_CURVE_POINTS = 241
"""Number of points of a density, at evenly spaced noise precisions."""


@dataclass(frozen=True)
class RegressionProblem:
    """Data and prior, and the exact posterior."""

    model: LinearModel
    posterior: GridPosterior


@dataclass(frozen=True)
class AlgorithmResult:
    """The result of an algorithm.

    Attributes:
        approximation: the algorithm.
        setting: its variant; empty if it has only one.
        q: the distribution, a `Belief` or `LogNormal`.
        log_evidence: its estimate of the log evidence, nats; NaN if it has none.
        steps: columns `step`, `mean` and `objective` of `steps.csv`.
        orders: results of message passing in every order, the first that of the data, `[1 + R]`.
        skipped: number of updates skipped in the order of the data.
        passes: passes of EP until convergence, infinite without; NaN for other algorithms.
        repeated: beliefs after each pass over the same data, `[K]`.
    """

    approximation: str
    setting: str
    q: Any
    log_evidence: float = np.nan
    steps: pd.DataFrame = field(default_factory=pd.DataFrame)
    orders: Belief | None = None
    skipped: int = 0
    passes: float = np.nan
    repeated: Belief | None = None

    def labelled(self, columns: Mapping[str, Any] | pd.DataFrame) -> pd.DataFrame:
        """Return columns of a table, with the algorithm and its setting in front."""
        keys = {"approximation": self.approximation, "setting": self.setting}
        return pd.DataFrame({**keys, **columns})

    def answer(self, quantity: str, value: Any, exact: float = np.nan) -> Answer:
        return Answer(quantity, self.approximation, float(value), self.setting, exact=exact)


def fit_tables(
    problem: RegressionProblem, fits: Sequence[AlgorithmResult]
) -> dict[str, pd.DataFrame]:
    """Return the tables that describe every algorithm in the same way."""
    return {
        DENSITIES: pd.concat(fit.labelled(density(problem, fit.q)) for fit in fits),
        STEPS: pd.concat(fit.labelled(fit.steps) for fit in fits if len(fit.steps)),
        ORDERS: pd.concat(
            fit.labelled({"order": range(len(q.mean)), "mean": q.mean, "std": q.std})
            for fit in fits
            if (q := fit.orders) is not None
        ),
        REPEATED: pd.concat(
            repeated_inclusions(f"{fit.approximation}, {fit.setting}", q.mean, q.std)
            for fit in fits
            if (q := fit.repeated) is not None
        ),
    }


def density(problem: RegressionProblem, q: Belief | LogNormal | GridPosterior) -> dict[str, Array]:
    """Return the density of the noise precision on a grid, columns of `densities.csv`."""
    exact = problem.posterior
    precision = np.linspace(0, exact.mean + 6 * exact.std, N_CURVE_POINTS)[1:]
    log_density = q.log_density_of_log(np.log(precision)) - np.log(precision)
    return {"noise_precision": precision, "density": np.exp(log_density)}


def repeated_inclusions(factors: str, mean: Array, std: Array) -> pd.DataFrame:
    """Return moments after 1 to K inclusions of the same factors, `[K]`."""
    inclusions = np.arange(1, len(mean) + 1)
    return pd.DataFrame({"factors": factors, "inclusions": inclusions, "mean": mean, "std": std})


def answers(problem: RegressionProblem, fits: Iterable[AlgorithmResult]) -> list[Answer]:
    """Return the answers of all algorithms, sorted by quantity."""
    target = AlgorithmResult(EXACT, "target of (3.48)", factorised_posterior(problem.model))
    target = replace(target, log_evidence=target.q.log_evidence)
    found = [*moment_answers(target, problem.posterior)]
    for fit in fits:
        found += moment_answers(fit, problem.posterior)
        found.append(fit.answer(GAP, kl_to_posterior(problem.model, problem.posterior, fit.q)))
        if fit.skipped:
            found.append(fit.answer(SKIPPED, fit.skipped))
        if not np.isnan(fit.passes):
            found.append(fit.answer(PASSES, fit.passes))
        if fit.orders is not None:
            found += order_answers(fit, fit.orders, problem.posterior)
    return sorted(found, key=lambda answer: QUANTITIES.index(answer.quantity))


def moment_answers(fit: AlgorithmResult, exact: GridPosterior) -> Iterator[Answer]:
    """Yield moments of the unknowns, and the estimate of the log evidence if there is one."""
    quantities = {
        MEAN: "mean", STD: "std", WEIGHT_MEAN: "weight_mean", WEIGHT_STD: "weight_std"
    }  # fmt: skip
    for quantity, name in quantities.items():
        yield fit.answer(quantity, getattr(fit.q, name), getattr(exact, name))
    if np.isfinite(fit.log_evidence):
        yield fit.answer(EVIDENCE, fit.log_evidence, exact.log_evidence)


def order_answers(fit: AlgorithmResult, orders: Belief, exact: GridPosterior) -> Iterator[Answer]:
    """Yield how the result depends on the order, and the means of ADF over random orders."""
    mean, std = orders.mean[1:], orders.std[1:]
    over_orders = replace(fit, setting=f"{fit.setting}, {len(mean)} orders")
    yield over_orders.answer(MEAN_STD, mean.std(ddof=1))
    if fit.approximation == ADF:
        for quantity, values, true in ((MEAN, mean, exact.mean), (STD, std, exact.std)):
            error = float(values.std(ddof=1) / np.sqrt(len(values)))
            yield replace(over_orders.answer(quantity, values.mean(), true), standard_error=error)
