"""All algorithms, run on one problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from bnnbench.suites.inference_toys.maths import Array
from bnnbench.suites.inference_toys.noise_precision import tables
from bnnbench.suites.inference_toys.noise_precision.coordinate_ascent import run_cavi
from bnnbench.suites.inference_toys.noise_precision.families import Belief, LogNormal
from bnnbench.suites.inference_toys.noise_precision.message_passing import (
    Factors,
    black_box_alpha,
    repeat_adf,
    run_adf,
    run_expectation_propagation,
)
from bnnbench.suites.inference_toys.noise_precision.model import evidence_lower_bound
from bnnbench.suites.inference_toys.noise_precision.tables import Fit, Problem

ANSWER_POWER = 0.5
"""The power reported in the answers: alpha 0, according to 3.2.4.2 usually the best."""


def cavi_fits(problem: Problem) -> Iterator[Fit]:
    """Yield coordinate ascent with (3.29) corrected and as printed."""
    for printed in (False, True):
        beliefs = run_cavi(problem.model, printed)
        setting = tables.AS_PRINTED if printed else ""
        yield trajectory_fit(problem, tables.CAVI, setting, dict(enumerate(beliefs)))


def factors_by_setting(problem: Problem) -> dict[str, Factors]:
    """Return the factors with both normalisers K, with (3.56) corrected and as printed."""
    return {
        f"{name}, {tables.AS_PRINTED}" if printed else name: Factors(
            problem.model, name == tables.EXACT_K, printed
        )
        for printed, name in product((False, True), tables.NORMALISERS)
    }


def adf_fits(problem: Problem, orders: Array, inclusions: int) -> Iterator[Fit]:
    """Yield ADF in every order of the rows, `[R, N]`, and repeated inclusion in the first order."""
    for setting, factors in factors_by_setting(problem).items():
        state = run_adf(factors, orders)
        skipped = int(state.skipped[0])
        # The product of the normalisers, in the order of inclusion.
        evidence = np.nan if skipped else float(np.cumsum(state.log_scales[0])[-1])
        repeated = repeat_adf(factors, orders[0], inclusions)
        result = (tables.ADF, setting, state.q.at(0), evidence)
        yield Fit(*result, orders=state.q, skipped=skipped, repeated=repeated)


def ep_fits(problem: Problem, orders: Array, passes: int) -> Iterator[Fit]:
    """Yield EP in every order of the rows, `[R, N]`, with the steps in the first order."""
    for setting, factors in factors_by_setting(problem).items():
        result = run_expectation_propagation(factors, orders, passes)
        skipped = int(result.last.skipped[0])
        natural, evidence = result.estimates[:, :4, 0], result.estimates[:, 4, 0]
        columns = {"mean": Belief.from_natural(natural).mean, "objective": evidence}
        yield Fit(
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


def power_fits(problem: Problem, powers: Sequence[float], passes: int) -> dict[float, list[Fit]]:
    """Return power EP and black-box alpha by power, with exact K.

    Power 0 corresponds to VI, power 1 to EP; the book's alpha is `2 power - 1`.
    """
    model, exponents = problem.model, np.array(powers)
    orders = np.tile(np.arange(model.rows), (len(exponents), 1))
    factors = Factors(model, exact=True, power=exponents)
    result = run_expectation_propagation(factors, orders, passes)
    start = run_cavi(model)[-1]
    fits = {}
    for k, power in enumerate(powers):
        setting = f"alpha {2 * power - 1:.3g}"
        evidence = float(result.estimates[-1, -1, k])
        fits[power] = [
            Fit(tables.POWER_EP, setting, result.last.q.at(k), evidence),
            Fit(tables.BLACK_BOX_ALPHA, setting, *black_box_alpha(model, power, start)),
        ]
    return fits


def power_table(fits: Mapping[float, Sequence[Fit]]) -> pd.DataFrame:
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
    problem: Problem, approximation: str, setting: str, records: Mapping[int, Belief | LogNormal]
) -> Fit:
    """Return the result of maximising the evidence lower bound, given approximations by step."""
    bounds = [evidence_lower_bound(problem.model, q) for q in records.values()]
    means = [q.mean for q in records.values()]
    steps = {"step": [*records], "mean": means, "objective": bounds}
    last = records[max(records)]
    return Fit(approximation, setting, last, bounds[-1], pd.DataFrame(steps))
