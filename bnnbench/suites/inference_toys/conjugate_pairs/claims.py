"""Claims about conjugate pairs, checked on the saved tables of a run."""

from __future__ import annotations

from itertools import product

import numpy as np

from bnnbench.results.answers import ANSWERS
from bnnbench.results.claims import CheckResult, Claims
from bnnbench.results.saved_tables import SavedTables
from bnnbench.suites.inference_toys.checks import BOOK, for_every
from bnnbench.suites.inference_toys.conjugate_pairs import model, tables

QUADRATURE_TOLERANCE = 1e-5
"""Relative error allowed for the quadrature."""

MINIMISER_TOLERANCE = 0.02
"""Error allowed for a minimiser, in posterior standard deviations."""

TO_TOLERANCE = f"to a relative {QUADRATURE_TOLERANCE:g} for every number of observations"
IS_NEAR = f"is within {MINIMISER_TOLERANCE} posterior standard deviations of the"
FOR_ALL = "for both pairs and every number of observations"

claims = Claims()


@claims(
    "The posterior of a normal mean is normal with (2.38) and (2.39) as printed",
    source=f"{BOOK}, 2.5.2",
    rule=f"their mean and standard deviation agree with quadrature {TO_TOLERANCE}",
)
def printed_equations_give_the_posterior(run: SavedTables) -> CheckResult:
    rows = run.rows(ANSWERS, approximation=model.AS_PRINTED)
    errors = (rows["value"] - rows["exact"]).abs() / rows["exact"].abs()
    worst = rows.loc[errors.idxmax()]
    evidence = f"{worst['quantity']} {worst['value']:.5g} vs {worst['exact']:.5g}"
    holds = bool((errors <= QUADRATURE_TOLERANCE).all())
    return holds, f"largest error for {worst['setting']}: {evidence}"


@claims(
    "MLE and MAP differ in general and converge as the number of observations grows",
    source=f"{BOOK}, Fig. 2.4",
    rule="MLE and MAP differ for every pair and number of observations N, and from the fewest to "
    "the most observations the difference decreases at least as fast as 1 / sqrt(N)",
)
@for_every(lambda run: product([run], (model.MeanPair.name, model.PrecisionPair.name)))
def mle_and_map_converge(run: SavedTables, pair: str) -> CheckResult:
    rows = run.rows(ANSWERS, approximation=model.CLOSED_FORM)
    mle, map_ = (
        rows.loc[rows["quantity"] == f"{pair}: {name}", "value"].to_numpy()
        for name in (model.MLE, model.MAP)
    )
    differences, sizes = np.abs(map_ - mle), np.unique(run[tables.DECISIONS]["observations"])
    scaled = differences * np.sqrt(sizes)
    evidence = ", ".join(
        f"{value:.2g} (N = {size})" for value, size in zip(differences, sizes, strict=True)
    )
    return bool(differences.min() > 0 and scaled[-1] <= scaled[0]), f"{pair} {evidence}"


@claims(
    "The MLE is invariant under reparametrisation",
    source=f"{BOOK}, 2.6.2",
    rule=f"the MLE of the variance equals one over that of the precision {TO_TOLERANCE}",
    estimate=model.MLE,
    is_invariant=True,
)
@claims(
    "The MAP estimate is not invariant under reparametrisation",
    source=f"{BOOK}, 2.6.3",
    rule=f"the MAP of the variance differs from one over that of the precision {TO_TOLERANCE}",
    estimate=model.MAP,
    is_invariant=False,
)
def is_invariant_or_not(run: SavedTables, estimate: str, is_invariant: bool) -> CheckResult:
    rows = run.rows(tables.TRANSFORMS, estimate=estimate)
    same = (rows["direct"] / rows["through_precision"] - 1).abs() <= QUADRATURE_TOLERANCE
    pairs = zip(rows["direct"], rows["through_precision"], strict=True)
    evidence = ", ".join(f"{a:.4g} and {b:.4g}" for a, b in pairs)
    return bool((same == is_invariant).all()), evidence


@claims(
    "The posterior mean minimises the expected quadratic loss",
    source=f"{BOOK}, 2.6.4",
    rule=f"the numerical minimiser of the quadratic loss {IS_NEAR} posterior mean {FOR_ALL}",
    loss="quadratic",
)
@claims(
    "The posterior median minimises the expected absolute loss",
    source=f"{BOOK}, 2.6.4",
    rule=f"the numerical minimiser of the absolute loss {IS_NEAR} posterior median {FOR_ALL}",
    loss="absolute",
)
@claims(
    "The posterior mode minimises the expected 0-1 loss",
    source=f"{BOOK}, 2.6.4",
    rule="the numerical minimiser of the 0-1 loss (zero within 0.01 standard deviations) "
    f"{IS_NEAR} MAP {FOR_ALL}",
    loss="zero_one",
)
def estimate_minimises(run: SavedTables, loss: str) -> CheckResult:
    rows = run.rows(tables.DECISIONS, loss=loss)
    errors = (rows["minimiser"] - rows["estimate"]).abs() / rows["scale"]
    holds = bool((errors <= MINIMISER_TOLERANCE).all())
    return holds, f"they differ by at most {errors.max():.1g} standard deviations"
