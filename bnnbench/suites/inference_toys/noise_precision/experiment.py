"""The unknown noise precision of a linear model by all algorithms of chapter 3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd

from bnnbench.constraints import Between, ListOf, Whole
from bnnbench.experiment.kinds.table_experiment import TableExperiment, Tables
from bnnbench.experiment.store.answer_tables import ANSWERS
from bnnbench.random_streams import derive_seed
from bnnbench.suites.inference_toys.maths import Array, simulate_line
from bnnbench.suites.inference_toys.noise_precision import tables
from bnnbench.suites.inference_toys.noise_precision.message_passing import (
    LikelihoodFactors,
    black_box_alpha,
    include_repeatedly,
    repeat_adf,
    run_adf,
    run_expectation_propagation,
    tied_std_of_weight,
)
from bnnbench.suites.inference_toys.noise_precision.model import (
    Belief,
    LinearModel,
    LogNormal,
    evidence_lower_bound,
    exact_posterior,
    run_cavi,
)
from bnnbench.suites.inference_toys.noise_precision.stochastic_gradients import (
    Budget,
    advi,
    black_box_vi,
)
from bnnbench.suites.inference_toys.noise_precision.tables import AlgorithmResult, RegressionProblem

MAX_ROWS = 1000
"""Maximum number of observations; with more, message passing takes minutes."""

MAX_SIZE = 10**6
"""Maximum number of observations with known noise precision."""

MAX_MAGNITUDE = 1e4
"""Limit of precisions, rates and shapes, for quadrature."""

ANSWER_POWER = 0.5
"""The power reported in the answers: alpha 0, according to 3.2.4.2 usually the best."""

TIED_POWER = 0.5
"""Power of black-box alpha with known noise precision: alpha = 0."""

Real = Annotated[float, Between(-MAX_MAGNITUDE, MAX_MAGNITUDE)]
Positive = Annotated[float, Between(0, MAX_MAGNITUDE)]


@dataclass(frozen=True, kw_only=True)
class NoisePrecision(TableExperiment):
    """Approximates the posterior of one weight and one noise precision with all algorithms.

    See `configs/experiment` for the settings; `seed` is that of the random orders and samples.
    """

    identity_name = "bnnbench.suites.inference_toys.noise_precision.experiment.NoisePrecision"
    rows: Annotated[int, Whole(2, MAX_ROWS)]
    weight: Real
    noise_precision: Positive
    prior_shape: Annotated[float, Between(1, MAX_MAGNITUDE)]
    prior_rate: Positive
    prior_mean: Real
    prior_precision: Positive
    data_seed: Annotated[int, Whole(0)]
    seed: Annotated[int, Whole(0)]
    orders: Annotated[int, Whole(2)]
    passes: Annotated[int, Whole()]
    inclusions: Annotated[int, Whole(2)]
    powers: Annotated[
        tuple[float, ...], ListOf(Between(0, 1, high_included=True), order="increasing")
    ]
    sizes: Annotated[tuple[int, ...], ListOf(Whole(2, MAX_SIZE), order="increasing")]
    gradient_steps: Annotated[int, Whole()]
    samples: Annotated[int, Whole(2)]
    learning_rate: Annotated[float, Between(0, 1)]
    kind: ClassVar[str] = "noise_precision"
    name: ClassVar[str] = "noise precision"
    unit_noun: ClassVar[str] = "data set"
    folder_settings: ClassVar[tuple[str, ...]] = ("rows", "seed")
    top_level: ClassVar[tuple[str, ...]] = ("rows", "seed")

    def cases(self) -> Mapping[str, None]:
        """Return the only unit; all algorithms together take a few seconds."""
        return {"line": None}

    def tables(self, case: None) -> Tables:
        """Run all algorithms."""
        model = self.model(self.rows)
        problem, orders = RegressionProblem(model, exact_posterior(model)), self.all_orders()
        powers = power_fits(problem, self.powers, self.passes)
        results = [
            *cavi_fits(problem),
            *adf_fits(problem, orders, self.inclusions),
            *ep_fits(problem, orders, self.passes),
            *powers.get(ANSWER_POWER, []),
            *self.gradient_fits(problem),
        ]
        exact = AlgorithmResult(tables.EXACT, "", problem.posterior)
        saved = {
            ANSWERS: tables.answers(problem, results),
            **tables.fit_tables(problem, [exact, *results]),
            tables.POWERS: power_table(powers),
            tables.SIZES: pd.DataFrame(self.known_noise_rows()),
            tables.POINTS: pd.DataFrame({"input": model.inputs, "target": model.targets}),
        }
        inclusions = np.arange(1, self.inclusions + 1)
        q = include_repeatedly(model, self.noise_precision, 0, inclusions)
        single = tables.repeated_inclusions(tables.ONE_FACTOR, q.weight_mean, q.weight_std)
        saved[tables.REPEATED] = pd.concat([single, saved[tables.REPEATED]])
        return saved

    def known_noise_rows(self) -> Iterator[dict[str, float]]:
        """Yield the rows of `sizes.csv`."""
        for size in self.sizes:
            values = tied_std_of_weight(self.model(size), self.noise_precision, TIED_POWER)
            columns = ("observations", "power", "weight_std", "exact")
            yield dict(zip(columns, (size, TIED_POWER, *values), strict=True))

    def gradient_fits(self, problem: RegressionProblem) -> Iterator[AlgorithmResult]:
        """Yield ADVI with both families, and black-box VI."""
        model = problem.model
        for setting in (tables.MEAN_FIELD, tables.FULL):
            log_normals = advi(model, self.budget("advi"), setting == tables.FULL)
            yield trajectory_fit(problem, tables.ADVI, setting, log_normals)
        beliefs = black_box_vi(model, self.budget("black-box"))
        yield trajectory_fit(problem, tables.BLACK_BOX_VI, "", beliefs)

    def model(self, rows: int) -> LinearModel:
        """Return this number of observations, and the prior."""
        moments = (self.prior_mean, 1 / self.prior_precision)
        prior = Belief(self.prior_shape, self.prior_rate, *moments)
        data = simulate_line(rows, self.weight, self.noise_precision, self.data_seed)
        return LinearModel(*data, prior)

    def all_orders(self) -> Array:
        """Return the order of the data and random orders, `[1 + orders, N]`."""
        random = np.random.default_rng(self.seed)
        data_order = np.arange(self.rows)
        return np.stack([data_order, *(random.permutation(data_order) for _ in range(self.orders))])

    def budget(self, algorithm: str) -> Budget:
        """Return the settings of one stochastic gradient algorithm."""
        seed = derive_seed(self.seed, algorithm)
        return Budget(self.gradient_steps, self.samples, self.learning_rate, seed)


def cavi_fits(problem: RegressionProblem) -> Iterator[AlgorithmResult]:
    """Yield coordinate ascent with (3.29) corrected and as printed."""
    for printed in (False, True):
        beliefs = run_cavi(problem.model, printed)
        setting = tables.AS_PRINTED if printed else ""
        yield trajectory_fit(problem, tables.CAVI, setting, dict(enumerate(beliefs)))


def factors_by_setting(problem: RegressionProblem) -> dict[str, LikelihoodFactors]:
    """Return the factors with both normalisers K, with (3.56) corrected and as printed."""
    return {
        f"{name}, {tables.AS_PRINTED}" if printed else name: LikelihoodFactors(
            problem.model, name == tables.EXACT_K, printed
        )
        for printed, name in product((False, True), tables.NORMALISERS)
    }


def adf_fits(
    problem: RegressionProblem, orders: Array, inclusions: int
) -> Iterator[AlgorithmResult]:
    """Yield ADF in every order of the rows, `[R, N]`, and repeated inclusion in the first order."""
    for setting, factors in factors_by_setting(problem).items():
        state = run_adf(factors, orders)
        skipped = int(state.skipped[0])
        # The product of the normalisers, in the order of inclusion.
        evidence = np.nan if skipped else float(np.cumsum(state.log_scales[0])[-1])
        repeated = repeat_adf(factors, orders[0], inclusions)
        result = (tables.ADF, setting, state.q.at(0), evidence)
        yield AlgorithmResult(*result, orders=state.q, skipped=skipped, repeated=repeated)


def ep_fits(problem: RegressionProblem, orders: Array, passes: int) -> Iterator[AlgorithmResult]:
    """Yield EP in every order of the rows, `[R, N]`, with the steps in the first order."""
    for setting, factors in factors_by_setting(problem).items():
        result = run_expectation_propagation(factors, orders, passes)
        skipped = int(result.last.skipped[0])
        natural, evidence = result.estimates[:, :4, 0], result.estimates[:, 4, 0]
        columns = {"mean": Belief.from_natural(natural).mean, "objective": evidence}
        yield AlgorithmResult(
            tables.EP,
            setting,
            result.last.q.at(0),
            np.nan if skipped else float(evidence[-1]),
            pd.DataFrame({"step": range(len(evidence)), **columns}),
            orders=result.last.q,
            skipped=skipped,
            passes=float(result.passes[0]),
            repeated=Belief.from_natural(natural[1:]),
        )


def power_fits(
    problem: RegressionProblem, powers: Sequence[float], passes: int
) -> dict[float, list[AlgorithmResult]]:
    """Return power EP and black-box alpha by power, with exact K.

    Power 0 corresponds to VI, power 1 to EP; the book's alpha is `2 power - 1`.
    """
    model, exponents = problem.model, np.array(powers)
    orders = np.tile(np.arange(model.rows), (len(exponents), 1))
    factors = LikelihoodFactors(model, exact=True, power=exponents)
    result = run_expectation_propagation(factors, orders, passes)
    start = run_cavi(model)[-1]
    fits = {}
    for k, power in enumerate(powers):
        setting = f"alpha {2 * power - 1:.3g}"
        evidence = float(result.estimates[-1, -1, k])
        fits[power] = [
            AlgorithmResult(tables.POWER_EP, setting, result.last.q.at(k), evidence),
            AlgorithmResult(tables.BLACK_BOX_ALPHA, setting, *black_box_alpha(model, power, start)),
        ]
    return fits


def power_table(fits: Mapping[float, Sequence[AlgorithmResult]]) -> pd.DataFrame:
    """Return the table of power EP and black-box alpha."""
    return pd.DataFrame(
        {
            "approximation": fit.approximation,
            "power": power,
            "alpha": 2 * power - 1,
            "mean": fit.q.mean,
            "std": fit.q.std,
            "weight_std": fit.q.weight_std,
            "log_evidence": fit.log_evidence,
        }
        for power, both in fits.items()
        for fit in both
    )


def trajectory_fit(
    problem: RegressionProblem,
    approximation: str,
    setting: str,
    records: Mapping[int, Belief | LogNormal],
) -> AlgorithmResult:
    """Return the result of maximising the evidence lower bound, given approximations by step."""
    bounds = [evidence_lower_bound(problem.model, q) for q in records.values()]
    means = [q.mean for q in records.values()]
    steps = {"step": [*records], "mean": means, "objective": bounds}
    last = records[max(records)]
    return AlgorithmResult(approximation, setting, last, bounds[-1], pd.DataFrame(steps))
