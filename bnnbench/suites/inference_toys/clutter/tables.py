"""The tables of a run on the clutter problem: names, rows and reader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.results.saved_tables import SavedTables, table_reader
from bnnbench.suites.inference_toys.clutter.model import ExactPosterior
from bnnbench.suites.inference_toys.expectation_propagation import EPResult
from bnnbench.suites.inference_toys.maths import Array

PROGRESS, ORDERS, POWERS = "progress", "orders", "powers"
DENSITY, POINTS, DATA_SETS = "density", "points", "data_sets"

NUMBERS = {
    # Work, estimates and errors of every algorithm after each step. A factor at one value of theta,
    # its expectation under a Gaussian and a responsibility each cost about two exponentials, and
    # count as one unit of work.
    PROGRESS: ("observations", "step", "work", "log_evidence", "mean_error", "evidence_error"),
    # Results of ADF and EP for each random order of the factors.
    ORDERS: ("observations", "adf_mean", "adf_scale", "adf_log_evidence", "ep_mean", "n_decreases"),
    # The fixed points of power EP.
    POWERS: ("observations", "power", "mean", "scale", "log_evidence"),
    # The exact posterior density on a grid.
    DENSITY: ("observations", "theta", "density"),
    # The observations.
    POINTS: ("observations", "value", "clutter"),
    # Exact standard deviations, and by ADF and EP in the order of the data (missing if EP does not
    # converge), for many simulated data sets; in how many random orders EP does not converge to the
    # same mean.
    DATA_SETS: ("observations", "data_seed", "exact", "adf", "ep", "deviating_orders"),
}

read_run = table_reader(NUMBERS)

ADF, EP, VB, GAUSSIAN_VI = "ADF", "EP", "variational Bayes", "Gaussian VI"
LAPLACE, IMPORTANCE = "Laplace", "importance sampling"

MEAN, SCALE = "posterior mean", "posterior standard deviation"
EVIDENCE = "log evidence"
MEAN_STD = "std of the mean over orders"
EVIDENCE_STD = "std of the log evidence over orders"
NEGATIVE_SITES = "sites with negative precision"
OTHER_FIXED_POINTS = "orders with another fixed point"
PASSES = "passes until convergence"
EFFECTIVE_SAMPLE_SIZE = "effective sample size"

ESTIMATES = ("mean", "scale", "log_evidence")
"""Columns of the three estimates that every algorithm returns."""

FIXED_POINT_TOLERANCE = 1e-6
"""Distance in `theta` above which two fixed points differ."""


def setting_of(observations: int) -> str:
    """Return the `setting` of answers for this number of observations."""
    return f"{observations} observations"


def data_sets(run: SavedTables) -> list[SavedTables]:
    """Return the tables of each data set, by increasing number of observations."""
    return [
        SavedTables({
            ANSWERS: run.rows(ANSWERS, setting=setting_of(size)),
            **{name: run.rows(name, observations=size) for name in NUMBERS},
        })
        for size in sorted(run[POINTS]["observations"].unique())
    ]  # fmt: skip


def answers(
    ep: EPResult[Any],
    steps: Mapping[str, Array],
    vi: Array,
    sample_sizes: Array,
    posterior: ExactPosterior,
) -> Iterator[Answer]:
    """Yield the answers for one data set.

    Args:
        ep: EP in the order of the observations.
        steps: estimates of every algorithm by step, `[K, 3, R]`; those of EP in random orders.
        vi: estimates of Gaussian VI, `[3, 1]`.
        sample_sizes: effective sample sizes of importance sampling, `[R]`.
        posterior: for comparison.
    """
    setting = setting_of(ep.last.log_scales.shape[1])
    exact = (posterior.mean, posterior.scale, posterior.log_evidence)
    for name, estimates in (
        (ADF, steps[EP][0]),
        (EP, ep.estimates[-1]),
        (VB, steps[VB][-1]),
        (GAUSSIAN_VI, vi),
        (LAPLACE, steps[LAPLACE][-1]),
        (IMPORTANCE, steps[IMPORTANCE][-1]),
    ):
        for quantity, values, true in zip((MEAN, SCALE, EVIDENCE), estimates, exact, strict=True):
            count = len(values)
            error = values.std(ddof=1) / np.sqrt(count) if count > 1 else np.nan
            yield Answer(quantity, name, float(values.mean()), setting, float(error), true)
    yield Answer(EFFECTIVE_SAMPLE_SIZE, IMPORTANCE, float(sample_sizes.mean()), setting)
    for name, step in ((ADF, 0), (EP, -1)):
        mean, _, log_evidence = steps[EP][step].std(axis=1, ddof=1)
        yield Answer(MEAN_STD, name, float(mean), setting)
        yield Answer(EVIDENCE_STD, name, float(log_evidence), setting)
    distances = np.abs(steps[EP][-1, 0] - ep.estimates[-1, 0])
    yield Answer(OTHER_FIXED_POINTS, EP, float((distances > FIXED_POINT_TOLERANCE).sum()), setting)
    yield Answer(PASSES, EP, float(ep.passes[0]), setting)
    yield Answer(NEGATIVE_SITES, EP, float((ep.last.sites[..., 0] < 0).sum()), setting)


def progress_table(
    steps: Mapping[str, Array], draws: Sequence[int], count: int, exact: ExactPosterior
) -> pd.DataFrame:
    """Return the work, median estimates and quantiles of absolute errors by algorithm and step.

    The estimates by step have shape `[K, 3, R]`. Importance sampling evaluates every factor once a
    draw, the other algorithms once a step.
    """
    frames = []
    for name, estimates in steps.items():
        number = np.arange(1, len(estimates) + 1)
        evaluations = np.asarray(draws) if name == IMPORTANCE else number
        columns = {"algorithm": name, "step": number, "work": count * evaluations}
        columns |= zip(ESTIMATES, np.median(estimates, axis=2).T, strict=True)
        for error, values, true in (
            ("mean_error", estimates[:, 0], exact.mean),
            ("evidence_error", estimates[:, 2], exact.log_evidence),
        ):
            quantiles = np.quantile(np.abs(values - true), (0.1, 0.5, 0.9), axis=1)
            columns |= zip((f"{error}_low", error, f"{error}_high"), quantiles, strict=True)
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames)


def order_table(result: EPResult[Any]) -> pd.DataFrame:
    """Return ADF's and EP's results per order, and in how many passes the log evidence fell."""
    adf, ep = (
        pd.DataFrame(result.estimates[step].T, columns=ESTIMATES).add_prefix(prefix)
        for step, prefix in ((1, "adf_"), (-1, "ep_"))
    )
    changes = np.diff(result.estimates[1:, 2], axis=0)
    return (
        pd.concat([adf, ep], axis=1)
        .assign(
            passes=result.passes,
            n_decreases=(changes < -FIXED_POINT_TOLERANCE).sum(0),
            skipped=result.last.skipped,
        )
        .rename_axis("order")
        .reset_index()
    )


def power_table(results: Mapping[float, EPResult[Any]]) -> pd.DataFrame:
    """Return the fixed point of power EP for each power."""
    estimates = [result.estimates[-1, :, 0] for result in results.values()]
    table = pd.DataFrame(estimates, pd.Index(results, name="power"), ESTIMATES).reset_index()
    return table.assign(passes=[result.passes[0] for result in results.values()])
