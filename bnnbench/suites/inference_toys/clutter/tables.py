"""The tables of a run on one data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bnnbench.results.answers import Answer
from bnnbench.suites.inference_toys.clutter import names
from bnnbench.suites.inference_toys.clutter.expectation_propagation import EPResult
from bnnbench.suites.inference_toys.clutter.model import ExactPosterior
from bnnbench.suites.inference_toys.clutter.progress import Progress
from bnnbench.suites.inference_toys.clutter.variational import Gaussian

FIXED_POINT_TOLERANCE = 1e-6
"""Distance in `theta` above which two fixed points differ."""


@dataclass(frozen=True)
class Approximations:
    """The exact posterior of one data set and all its approximations.

    Attributes:
        exact: the exact posterior.
        ep: EP in the order of the observations.
        ep_random_orders: EP in random orders; the first pass is ADF.
        power_ep: power EP in the order of the observations, by power.
        variational_bayes: variational Bayes.
        gaussian_vi: the Gaussian of minimum reverse KL.
        laplace: the Laplace approximation.
        importance_sampling: importance sampling.
        sample_sizes: `[K, L]`, effective sample sizes for K numbers of draws in L repetitions.
    """

    exact: ExactPosterior
    ep: EPResult
    ep_random_orders: EPResult
    power_ep: Mapping[float, EPResult]
    variational_bayes: Progress
    gaussian_vi: Gaussian
    laplace: Progress
    importance_sampling: Progress
    sample_sizes: np.ndarray


def answers(approximations: Approximations, size: int) -> Iterator[Answer]:
    """Return the answers for one data set."""
    setting, exact = names.setting(size), approximations.exact
    exact_values = {
        names.MEAN: exact.mean, names.SCALE: exact.scale, names.EVIDENCE: exact.log_evidence
    }  # fmt: skip

    def moments(name: str, progress: Progress, step: int) -> Iterator[Answer]:
        states = (progress.mean[step], progress.scale[step], progress.log_evidence[step])
        for (quantity, true), values in zip(exact_values.items(), states, strict=True):
            error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
            yield Answer(quantity, name, float(values.mean()), setting, float(error), true)

    ep, random_orders = approximations.ep, approximations.ep_random_orders
    yield from moments(names.ADF, random_orders.progress, 0)
    yield from moments(names.EP, ep.progress, -1)
    yield from moments(names.VB, approximations.variational_bayes, -1)
    gaussian = approximations.gaussian_vi
    values = (gaussian.mean, gaussian.scale, gaussian.bound)
    for (quantity, true), value in zip(exact_values.items(), values, strict=True):
        yield Answer(quantity, names.GAUSSIAN_VI, value, setting, exact=true)
    yield from moments(names.LAPLACE, approximations.laplace, -1)
    yield from moments(names.IMPORTANCE, approximations.importance_sampling, -1)
    sample_size = float(approximations.sample_sizes[-1].mean())
    yield Answer(names.EFFECTIVE_SAMPLE_SIZE, names.IMPORTANCE, sample_size, setting)
    for name, step in ((names.ADF, 0), (names.EP, -1)):
        mean, evidence = (
            values[step].std(ddof=1)
            for values in (random_orders.progress.mean, random_orders.progress.log_evidence)
        )
        yield Answer(names.MEAN_STD, name, float(mean), setting)
        yield Answer(names.EVIDENCE_STD, name, float(evidence), setting)
    others = np.abs(random_orders.progress.mean[-1] - ep.progress.mean[-1]) > FIXED_POINT_TOLERANCE
    yield Answer(names.OTHER_FIXED_POINTS, names.EP, float(others.sum()), setting)
    yield Answer(names.PASSES, names.EP, float(ep.passes[0]), setting)
    negative = (ep.sites.precision[0] < 0).sum()
    yield Answer(names.NEGATIVE_SITES, names.EP, float(negative), setting)


def progress_rows(approximations: Approximations, size: int) -> list[dict[str, Any]]:
    """Return the estimates of every algorithm after each step; ADF is the first step of EP."""
    by_algorithm = {
        names.EP: approximations.ep_random_orders.progress,
        names.VB: approximations.variational_bayes,
        names.LAPLACE: approximations.laplace,
        names.IMPORTANCE: approximations.importance_sampling,
    }
    return [
        row
        for name, progress in by_algorithm.items()
        for row in progress.rows(name, size, approximations.exact)
    ]


def order_rows(result: EPResult, size: int) -> list[dict[str, Any]]:
    """Return ADF's and EP's results per order, and in how many passes the log evidence fell."""
    progress = result.progress
    changes = np.diff(progress.log_evidence, axis=0)
    decreases = (changes < -FIXED_POINT_TOLERANCE).sum(0)
    return [
        {
            "observations": size,
            "order": k,
            **{
                f"{name}_{quantity}": float(getattr(progress, quantity)[step, k])
                for name, step in (("adf", 0), ("ep", -1))
                for quantity in ("mean", "scale", "log_evidence")
            },
            "passes": float(result.passes[k]),
            "n_decreases": int(decreases[k]),
            "skipped": int(result.skipped[k]),
        }
        for k in range(len(result.passes))
    ]


def power_rows(results: Mapping[float, EPResult], size: int) -> list[dict[str, Any]]:
    """Return the fixed point of power EP for each power."""
    return [
        {
            "observations": size,
            "power": power,
            "mean": float(result.progress.mean[-1, 0]),
            "scale": float(result.progress.scale[-1, 0]),
            "log_evidence": float(result.progress.log_evidence[-1, 0]),
            "passes": float(result.passes[0]),
        }
        for power, result in results.items()
    ]
