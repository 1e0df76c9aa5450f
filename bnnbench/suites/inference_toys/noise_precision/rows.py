"""Conversion of results to rows of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.suites.inference_toys.noise_precision import names
from bnnbench.suites.inference_toys.noise_precision.belief import Array
from bnnbench.suites.inference_toys.noise_precision.exact import ExactPosterior
from bnnbench.suites.inference_toys.noise_precision.model import LinearModel

Row = dict[str, Any]
Tables = dict[str, list[Row]]

N_CURVE_POINTS = 241
"""Number of points of a density, value evenly spaced noise precisions."""


class NoiseDistribution(Protocol):
    """A distribution of noise precision and weight."""

    @property
    def mean(self) -> Any:
        """The mean of the noise precision."""

    @property
    def std(self) -> Any:
        """The standard deviation of the noise precision."""

    @property
    def weight_mean(self) -> Any:
        """The mean of the weight."""

    @property
    def weight_std(self) -> Any:
        """The standard deviation of the weight."""

    def log_density_of_log(self, log_precision: Array) -> Any:
        """Return the log density of the logarithm of the noise precision."""


@dataclass(frozen=True)
class Problem:
    """The problem that all algorithms solve.

    Attributes:
        model: data and prior.
        posterior: the exact posterior.
        target: exact form of the target; the posterior unless the target is (3.48).
        with_weight: whether the weight is unknown in the target.
        reading: reading of the updates, `corrected` or `printed`.
    """

    model: LinearModel
    posterior: ExactPosterior
    target: ExactPosterior
    with_weight: bool
    reading: str


@dataclass(frozen=True)
class Approximation:
    """The result of an algorithm.

    Attributes:
        algorithm: name of the algorithm.
        setting: variant of the algorithm.
        q: the approximate distribution.
        log_evidence: its estimate of the log evidence, nats; NaN if it has none.
    """

    algorithm: str
    setting: str
    q: NoiseDistribution
    log_evidence: float = float("nan")


def moment_answers(problem: Problem, approximation: Approximation) -> Iterator[Answer]:
    """Yield mean and standard deviation of the unknowns, and the estimate of the log evidence."""
    exact, q = problem.target, approximation.q
    quantities = [(names.MEAN, q.mean, exact.mean), (names.STD, q.std, exact.std)]
    if problem.with_weight:
        quantities += [
            (names.WEIGHT_MEAN, q.weight_mean, exact.weight_mean),
            (names.WEIGHT_STD, q.weight_std, exact.weight_std),
        ]
    quantities.append((names.EVIDENCE, approximation.log_evidence, exact.log_evidence))
    for quantity, value, exact_value in quantities:
        if np.isfinite(value):
            yield Answer(
                quantity,
                approximation.algorithm,
                float(value),
                approximation.setting,
                exact=float(exact_value),
            )


def densities(problem: Problem, approximations: Iterable[Approximation]) -> list[Row]:
    """Return densities of the noise precision on a grid, rows of `densities.csv`."""
    exact = problem.posterior
    precision = np.linspace(0, exact.mean + 6 * exact.std, N_CURVE_POINTS)[1:]
    return [
        {
            "approximation": approximation.algorithm,
            "setting": approximation.setting,
            "noise_precision": float(value),
            "density": float(density),
        }
        for approximation in approximations
        for value, density in zip(
            precision,
            np.exp(approximation.q.log_density_of_log(np.log(precision)) - np.log(precision)),
            strict=True,
        )
    ]


def step_rows(
    approximation: Approximation,
    steps: Iterable[int],
    means: Iterable[float],
    objectives: Iterable[float],
    gaps: Iterable[float] | None = None,
) -> list[Row]:
    """Return the steps of one algorithm, rows of `steps.csv`.

    Args:
        approximation: the algorithm.
        steps: step numbers.
        means: means of the noise precision.
        objectives: lower bounds or estimates of the log evidence, nats.
        gaps: KL to the posterior, nats; None if unknown.
    """
    keys = {"approximation": approximation.algorithm, "setting": approximation.setting}
    steps, means, objectives = list(steps), list(means), list(objectives)
    gaps = [float("nan")] * len(steps) if gaps is None else list(gaps)
    return [
        {**keys, "step": int(k), "mean": float(m), "objective": float(o), "gap": float(g)}
        for k, m, o, g in zip(steps, means, objectives, gaps, strict=True)
    ]


def answer_rows(answers: Iterable[Answer]) -> list[Row]:
    """Return rows of `answers.csv`."""
    return [answer.row() for answer in answers]


def merge_tables(tables: Iterable[Tables]) -> Tables:
    """Merge the tables of all algorithms, with answers sorted by quantity."""
    merged: Tables = {}
    for table in tables:
        for name, rows in table.items():
            merged.setdefault(name, []).extend(rows)
    merged[ANSWERS].sort(key=lambda row: names.QUANTITIES.index(row["quantity"]))
    return merged
