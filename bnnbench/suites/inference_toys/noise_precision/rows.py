"""What an algorithm found, as rows of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.suites.inference_toys.noise_precision import tables as words
from bnnbench.suites.inference_toys.noise_precision.belief import Array
from bnnbench.suites.inference_toys.noise_precision.exact import Posterior
from bnnbench.suites.inference_toys.noise_precision.model import Line

Row = dict[str, Any]
Tables = dict[str, list[Row]]

DRAWN = 241
"""Points of a density that is drawn, at evenly spaced noise precisions."""


class Approximation(Protocol):
    """What has moments of the noise precision and of the weight, and a density of the former."""

    @property
    def mean(self) -> Any:
        """Of the noise precision."""

    @property
    def std(self) -> Any:
        """Of the noise precision."""

    @property
    def weight_mean(self) -> Any:
        """Of the weight."""

    @property
    def weight_std(self) -> Any:
        """Of the weight."""

    def log_density_of_log(self, log_precision: Array) -> Any:
        """Log density of the logarithm of the noise precision."""


@dataclass(frozen=True)
class Scene:
    """What all algorithms are given.

    Attributes:
        line: data and prior.
        posterior: the exact one.
        target: the exact form of what is approximated; the posterior, unless (3.48) is.
        with_weight: whether the weight is unknown in the target.
        reading: of the updates, `corrected` or `printed`.
    """

    line: Line
    posterior: Posterior
    target: Posterior
    with_weight: bool
    reading: str


@dataclass(frozen=True)
class Named:
    """An approximation under its name, for rows.

    Attributes:
        approximation: the algorithm.
        setting: under what.
        q: what it came to.
        log_evidence: its own estimate, nats; NaN where it has none.
    """

    approximation: str
    setting: str
    q: Approximation
    log_evidence: float = float("nan")


def moment_answers(scene: Scene, named: Named) -> Iterator[Answer]:
    """Mean and standard deviation of both unknowns, and the estimate of the log evidence."""
    exact, q = scene.target, named.q
    quantities = [(words.MEAN, q.mean, exact.mean), (words.STD, q.std, exact.std)]
    if scene.with_weight:
        quantities += [
            (words.WEIGHT_MEAN, q.weight_mean, exact.weight_mean),
            (words.WEIGHT_STD, q.weight_std, exact.weight_std),
        ]
    quantities.append((words.EVIDENCE, named.log_evidence, exact.log_evidence))
    for quantity, value, truth in quantities:
        if np.isfinite(value):
            yield Answer(
                quantity, named.approximation, float(value), named.setting, exact=float(truth)
            )


def densities(scene: Scene, some: Iterable[Named]) -> list[Row]:
    """Densities of the noise precision where the exact one is drawn, rows of `densities.csv`."""
    exact = scene.posterior
    precision = np.linspace(0, exact.mean + 6 * exact.std, DRAWN)[1:]
    return [
        {
            "approximation": named.approximation,
            "setting": named.setting,
            "noise_precision": float(at),
            "density": float(density),
        }
        for named in some
        for at, density in zip(
            precision,
            np.exp(named.q.log_density_of_log(np.log(precision)) - np.log(precision)),
            strict=True,
        )
    ]


def step_rows(
    named: Named,
    steps: Iterable[int],
    means: Iterable[float],
    objectives: Iterable[float],
    gaps: Iterable[float] | None = None,
) -> list[Row]:
    """The way of one algorithm, rows of `steps.csv`.

    Args:
        named: the algorithm.
        steps: of its own kind.
        means: of the noise precision.
        objectives: lower bound or estimate of the log evidence, nats.
        gaps: KL to the posterior, nats, where known.
    """
    where = {"approximation": named.approximation, "setting": named.setting}
    steps, means, objectives = list(steps), list(means), list(objectives)
    gaps = [float("nan")] * len(steps) if gaps is None else list(gaps)
    return [
        {**where, "step": int(k), "mean": float(m), "objective": float(o), "gap": float(g)}
        for k, m, o, g in zip(steps, means, objectives, gaps, strict=True)
    ]


def rows_of(answers: Iterable[Answer]) -> list[Row]:
    """Rows of `answers.csv`."""
    return [answer.row() for answer in answers]


def merged(parts: Iterable[Tables]) -> Tables:
    """The tables of all algorithms, with their answers quantity by quantity."""
    whole: Tables = {}
    for part in parts:
        for name, rows in part.items():
            whole.setdefault(name, []).extend(rows)
    whole[ANSWERS].sort(key=lambda row: words.QUANTITIES.index(row["quantity"]))
    return whole
