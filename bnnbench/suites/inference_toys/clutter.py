"""The clutter problem as an experiment with one unit per number of observations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd

from bnnbench.constraints import Between, Finite, ListOf, Whole
from bnnbench.experiment.kinds.table_experiment import TableExperiment, Tables
from bnnbench.experiment.store.answer_tables import ANSWERS, Answer
from bnnbench.identity import no_identity
from bnnbench.suites.inference_toys import clutter_posterior
from bnnbench.suites.inference_toys.clutter_posterior import (
    ClutterModel,
    ClutterPosterior,
    exact_posterior,
    expectation_propagation,
    simulate,
)
from bnnbench.suites.inference_toys.expectation_propagation import EPResult
from bnnbench.suites.inference_toys.maths import Array

PROGRESS, ORDERS = "progress", "orders"
DENSITY, POINTS, DATA_SETS = "density", "points", "data_sets"

NUMBERS = {
    # Work, estimates and errors of every algorithm after each step. A factor at one value of theta,
    # its expectation under a Gaussian and a responsibility each cost about two exponentials, and
    # count as one unit of work.
    PROGRESS: ("observations", "step", "work", "log_evidence", "mean_error", "evidence_error"),
    # Results of ADF and EP for each random order of the factors.
    ORDERS: ("observations", "adf_mean", "adf_scale", "adf_log_evidence", "ep_mean", "n_decreases"),
    # The exact posterior density on a grid.
    DENSITY: ("observations", "theta", "density"),
    # The observations.
    POINTS: ("observations", "value", "clutter"),
    # Exact standard deviations, and by ADF and EP in the order of the data (missing if EP does not
    # converge), for many simulated data sets; in how many random orders EP does not converge to the
    # same mean.
    DATA_SETS: ("observations", "data_seed", "exact", "adf", "ep", "deviating_orders"),
}


ADF, EP, VB, GAUSSIAN_VI = "ADF", "EP", "variational Bayes", "Gaussian VI"
LAPLACE, IMPORTANCE = "Laplace", "importance sampling"

MEAN, SCALE = "posterior mean", "posterior standard deviation"
EVIDENCE = "log evidence"
MEAN_STD = "std of the mean over orders"
NEGATIVE_SITES = "sites with negative precision"
PASSES = "passes until convergence"

ESTIMATES = ("mean", "scale", "log_evidence")
"""Columns of the three estimates that every algorithm returns."""

FIXED_POINT_TOLERANCE = 1e-6
"""Distance in `theta` above which two fixed points differ."""

MAX_OBSERVATIONS = 2000
"""Limits the memory of the quadrature."""

ORDERS_PER_DATA_SET = 10
"""Number of random orders of EP for each simulated data set."""


@dataclass(frozen=True, kw_only=True)
class ClutterExperiment(TableExperiment):
    """Approximates the posterior mean of a signal among clutter with six algorithms.

    See `configs/experiment` for the settings; `seed` is that of random orders and samples.
    """

    identity_name = "bnnbench.suites.inference_toys.clutter.experiment.ClutterExperiment"
    theta: Annotated[float, Finite()]
    clutter_weight: Annotated[float, Between(0, 1)]
    clutter_variance: Annotated[float, Between(0, 1e6)]
    prior_variance: Annotated[float, Between(0, 1e4)]
    data_seed: Annotated[int, Whole(0)]
    seed: Annotated[int, Whole(0)]
    orders: Annotated[int, Whole(2)]
    passes: Annotated[int, Whole(2)]
    tolerance: Annotated[float, Between(0, 1)]
    draws: Annotated[tuple[int, ...], ListOf(Whole(), order="increasing")]
    repetitions: Annotated[int, Whole(2)]
    data_sets: Annotated[int, Whole(2)]
    sizes: Annotated[
        tuple[int, ...], ListOf(Whole(maximum=MAX_OBSERVATIONS), order="increasing")
    ] = no_identity()
    kind: ClassVar[str] = "clutter"
    name: ClassVar[str] = "the clutter problem"
    unit_noun: ClassVar[str] = "data set"
    folder_settings: ClassVar[tuple[str, ...]] = ("theta", "data_seed", "seed")
    one_process: ClassVar[bool] = True

    def cases(self) -> Mapping[str, int]:
        return {f"observations-{size}": size for size in self.sizes}

    def tables(self, case: int) -> Tables:
        """Approximate the posterior of `case` observations with every algorithm."""
        model, is_clutter = self.data_set(case, self.data_seed)
        exact, limits = exact_posterior(model), (self.passes, self.tolerance)
        data_order = np.arange(case)[None]
        random = np.random.default_rng([self.seed, case])
        orders = random.permuted(np.tile(data_order, (self.orders, 1)), axis=1)
        ep = expectation_propagation(model, data_order, *limits)
        random_orders = expectation_propagation(model, orders, *limits)
        randoms = (np.random.default_rng([self.seed, case, k]) for k in range(self.repetitions))
        importance = clutter_posterior.importance_sampling(model, self.draws, randoms)
        steps = {
            EP: random_orders.estimates[1:],
            VB: clutter_posterior.variational_bayes(model, *limits),
            LAPLACE: clutter_posterior.laplace(model, *limits),
            IMPORTANCE: importance,
        }
        vi = clutter_posterior.gaussian_vi(model, *steps[VB][-1, :2, 0])[-1]
        frames = {
            PROGRESS: progress_table(steps, self.draws, case, exact),
            ORDERS: order_table(random_orders),
            DENSITY: pd.DataFrame({"theta": exact.theta, "density": exact.density}),
            POINTS: pd.DataFrame({"value": model.observations, "clutter": is_clutter.astype(int)}),
            DATA_SETS: pd.DataFrame(self.data_set_rows(case)),
        }
        for frame in frames.values():
            frame.insert(0, "observations", case)
        return {ANSWERS: answers(ep, steps, vi, exact), **frames}

    def data_set(self, size: int, data_seed: int) -> tuple[ClutterModel, Array]:
        """Return the model of so many simulated observations, and which are clutter, `[N]`."""
        clutter = (self.clutter_weight, self.clutter_variance)
        observations, is_clutter = simulate(size, self.theta, *clutter, data_seed)
        return ClutterModel(observations, *clutter, self.prior_variance), is_clutter

    def data_set_rows(self, size: int) -> Iterator[dict[str, float]]:
        """Yield the row of each data set of this many observations."""
        for data_seed in range(self.data_seed, self.data_seed + self.data_sets):
            model, _ = self.data_set(size, data_seed)
            orders = np.tile(np.arange(size), (1 + ORDERS_PER_DATA_SET, 1))
            random = np.random.default_rng([self.seed, size, data_seed])
            orders[1:] = random.permuted(orders[1:], axis=1)
            result = expectation_propagation(model, orders, self.passes, self.tolerance)
            means, converged = result.estimates[-1, 0], np.isfinite(result.passes)
            same = converged & (np.abs(means - means[0]) <= FIXED_POINT_TOLERANCE)
            yield {
                "data_seed": data_seed,
                "exact": exact_posterior(model).scale,
                "adf": result.estimates[1, 1, 0],
                "ep": result.estimates[-1, 1, 0] if converged[0] else np.nan,
                "deviating_orders": (~same).sum(),
            }


def setting_of(observations: int) -> str:
    """Return the `setting` of answers for this number of observations."""
    return f"{observations} observations"


def answers(
    ep: EPResult[Any],
    steps: Mapping[str, Array],
    vi: Array,
    posterior: ClutterPosterior,
) -> Iterator[Answer]:
    """Yield the answers for one data set.

    Args:
        ep: EP in the order of the observations.
        steps: estimates of every algorithm by step, `[K, 3, R]`; those of EP in random orders.
        vi: estimates of Gaussian VI, `[3, 1]`.
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
    for name, step in ((ADF, 0), (EP, -1)):
        yield Answer(MEAN_STD, name, float(steps[EP][step, 0].std(ddof=1)), setting)
    yield Answer(PASSES, EP, float(ep.passes[0]), setting)
    yield Answer(NEGATIVE_SITES, EP, float((ep.last.sites[..., 0] < 0).sum()), setting)


def progress_table(
    steps: Mapping[str, Array], draws: Sequence[int], count: int, exact: ClutterPosterior
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
    n_decreases = (changes < -FIXED_POINT_TOLERANCE).sum(0)
    table = pd.concat([adf, ep], axis=1).assign(n_decreases=n_decreases)
    return table.rename_axis("order").reset_index()
