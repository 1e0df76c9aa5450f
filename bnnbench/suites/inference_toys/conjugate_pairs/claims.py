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

claims = Claims()


@claims(
    "The posterior of a normal mean is normal with (2.38) and (2.39) as printed",
    source=f"{BOOK}, 2.5.2",
    rule="their mean and standard deviation agree with quadrature to a relative "
    f"{QUADRATURE_TOLERANCE:g} for every number of observations",
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
