"""What was found of one data set, as the rows of a run's tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bnnbench.results.answers import Answer
from bnnbench.suites.inference_toys.clutter import names
from bnnbench.suites.inference_toys.clutter.expectation_propagation import Fit
from bnnbench.suites.inference_toys.clutter.model import Exact
from bnnbench.suites.inference_toys.clutter.progress import Progress
from bnnbench.suites.inference_toys.clutter.variational import Gaussian

ELSEWHERE = 1e-6
"""Distance in `theta` from which a fixed point counts as another one."""


@dataclass(frozen=True)
class Found:
    """Everything about one number of observations.

    Attributes:
        exact: the posterior as it is.
        own: EP in the order of the observations.
        fits: EP in random orders; the first pass is ADF.
        powers: power EP in the order of the observations, by power.
        bayes: variational Bayes.
        nearest: the Gaussian nearest in reverse KL.
        mode: the Laplace approximation.
        sampled: importance sampling.
        sample_sizes: `[K, L]`, effective, of K numbers of draws in L repetitions.
    """

    exact: Exact
    own: Fit
    fits: Fit
    powers: Mapping[float, Fit]
    bayes: Progress
    nearest: Gaussian
    mode: Progress
    sampled: Progress
    sample_sizes: np.ndarray


def answers(found: Found, size: int) -> Iterator[Answer]:
    """The numbers that a reader would quote of one data set."""
    setting, exact = names.setting(size), found.exact
    truth = {
        names.MEAN: exact.mean, names.SCALE: exact.scale, names.EVIDENCE: exact.log_evidence
    }  # fmt: skip

    def moments(name: str, progress: Progress, step: int) -> Iterator[Answer]:
        states = (progress.mean[step], progress.scale[step], progress.log_evidence[step])
        for (quantity, true), values in zip(truth.items(), states, strict=True):
            error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
            yield Answer(quantity, name, float(values.mean()), setting, float(error), true)

    yield from moments(names.ADF, found.fits.progress, 0)
    yield from moments(names.EP, found.own.progress, -1)
    yield from moments(names.VB, found.bayes, -1)
    near = (found.nearest.mean, found.nearest.scale, found.nearest.bound)
    for (quantity, true), value in zip(truth.items(), near, strict=True):
        yield Answer(quantity, names.GAUSSIAN_VI, value, setting, exact=true)
    yield from moments(names.LAPLACE, found.mode, -1)
    yield from moments(names.IMPORTANCE, found.sampled, -1)
    yield Answer(names.SAMPLE_SIZE, names.IMPORTANCE, float(found.sample_sizes[-1].mean()), setting)
    for name, step in ((names.ADF, 0), (names.EP, -1)):
        state = found.fits.progress
        spread, evidence = state.mean[step].std(ddof=1), state.log_evidence[step].std(ddof=1)
        yield Answer(names.MEAN_SPREAD, name, float(spread), setting)
        yield Answer(names.EVIDENCE_SPREAD, name, float(evidence), setting)
    yield Answer(names.OTHER_ENDS, names.EP, float(elsewhere(found).sum()), setting)
    yield Answer(names.PASSES, names.EP, float(found.own.passes[0]), setting)
    negative = (found.own.sites.precision[0] < 0).sum()
    yield Answer(names.NEGATIVE_SITES, names.EP, float(negative), setting)


def elsewhere(found: Found) -> np.ndarray:
    """The random orders in which EP ends at another fixed point than in that of the data."""
    return np.abs(found.fits.progress.mean[-1] - found.own.progress.mean[-1]) > ELSEWHERE


def progress_rows(found: Found, size: int) -> list[dict[str, Any]]:
    """Where every algorithm stood after each step; ADF is the first step of EP."""
    paths = {
        names.EP: found.fits.progress,
        names.VB: found.bayes,
        names.LAPLACE: found.mode,
        names.IMPORTANCE: found.sampled,
    }
    return [row for name, path in paths.items() for row in path.rows(name, size, found.exact)]


def order_rows(found: Found, size: int) -> list[dict[str, Any]]:
    """What each random order led to, and in how many passes the log evidence of EP fell."""
    states, fits = found.fits.progress, found.fits
    rises = np.diff(states.log_evidence, axis=0)
    falls = (rises < -ELSEWHERE).sum(0)
    return [
        {
            "observations": size,
            "order": k,
            **{
                f"{name}_{quantity}": float(getattr(states, quantity)[step, k])
                for name, step in (("adf", 0), ("ep", -1))
                for quantity in ("mean", "scale", "log_evidence")
            },
            "passes": float(fits.passes[k]),
            "falls": int(falls[k]),
            "skipped": int(fits.skipped[k]),
        }
        for k in range(len(fits.passes))
    ]


def power_rows(found: Found, size: int) -> list[dict[str, Any]]:
    """The fixed point of power EP for each power."""
    return [
        {
            "observations": size,
            "power": power,
            "mean": float(fit.progress.mean[-1, 0]),
            "scale": float(fit.progress.scale[-1, 0]),
            "log_evidence": float(fit.progress.log_evidence[-1, 0]),
            "passes": float(fit.passes[0]),
        }
        for power, fit in found.powers.items()
    ]
