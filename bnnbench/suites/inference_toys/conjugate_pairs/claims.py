"""Claims about conjugate pairs, checked on the saved tables of a run."""

from __future__ import annotations

import numpy as np

from bnnbench.results.claims import CheckResult, Claims
from bnnbench.suites.inference_toys.checks import for_every
from bnnbench.suites.inference_toys.conjugate_pairs import names
from bnnbench.suites.inference_toys.conjugate_pairs.saved_run import ConjugatePairsRun
from bnnbench.suites.inference_toys.sources import BOOK

QUADRATURE_TOLERANCE = 1e-5
"""Relative error allowed for the quadrature."""

MINIMISER_TOLERANCE = 0.02
"""Error allowed for a minimiser, in posterior standard deviations."""

TO_TOLERANCE = f"to a relative {QUADRATURE_TOLERANCE:g} for every number of observations"
IS_NEAR = f"is within {MINIMISER_TOLERANCE} posterior standard deviations of the"
FOR_ALL = "for both pairs and every number of observations"

claims = Claims()


@claims(
    "The posterior of a normal mean is normal with (2.38) and (2.39)",
    source=f"{BOOK}, 2.5.2",
    rule=f"{names.MEAN} and {names.SCALE} agree with quadrature {TO_TOLERANCE}",
    pair=names.MEAN_PAIR,
    estimates=(names.MEAN, names.SCALE),
)
@claims(
    "The posterior of a precision is Gamma with (2.42)",
    source=f"{BOOK}, 2.5.2",
    rule=f"{names.MEAN} and {names.SCALE} agree with quadrature {TO_TOLERANCE}",
    pair=names.PRECISION_PAIR,
    estimates=(names.MEAN, names.SCALE),
)
@claims(
    "The Gamma prior is worth 2 alpha observations with sample variance beta / alpha",
    source=f"{BOOK}, 2.5.2",
    rule=f"{names.MEAN} agree with quadrature {TO_TOLERANCE}",
    pair=names.PRECISION_PAIR,
    estimates=(names.MEAN,),
    approximation=names.PSEUDO,
)
def matches_quadrature(
    run: ConjugatePairsRun,
    pair: str,
    estimates: tuple[str, ...],
    approximation: str = names.CLOSED_FORM,
) -> CheckResult:
    rows = run.answers[run.answers["approximation"] == approximation]
    rows = rows[rows["quantity"].isin([names.quantity(pair, name) for name in estimates])]
    errors = (rows["value"] - rows["exact"]).abs() / rows["exact"].abs()
    worst = rows.loc[errors.idxmax()]
    evidence = f"{worst['quantity']} {worst['value']:.5g} vs {worst['exact']:.5g}"
    holds = bool((errors <= QUADRATURE_TOLERANCE).all())
    return holds, f"largest error for {worst['setting']}: {evidence}"


@claims(
    "MLE and MAP differ in general and converge as the number of observations grows",
    source=f"{BOOK}, Fig. 2.4",
    rule="MLE and MAP differ for every pair and number of observations, and the difference "
    "decreases with the number of observations",
)
@for_every(lambda run: names.PAIRS)
def mle_and_map_converge(run: ConjugatePairsRun, pair: str) -> CheckResult:
    differences = [
        abs(run.value(pair, names.MAP, size) - run.value(pair, names.MLE, size))
        for size in run.sizes
    ]
    holds = min(differences) > 0 and bool((np.diff(differences) < 0).all())
    return holds, f"{pair} {', '.join(f'{value:.2g}' for value in differences)}"


@claims(
    "The MLE is invariant under reparametrisation",
    source=f"{BOOK}, 2.6.2",
    rule=f"the MLE of the variance equals one over that of the precision {TO_TOLERANCE}",
    estimate=names.MLE,
    is_invariant=True,
)
@claims(
    "The MAP estimate is not invariant under reparametrisation",
    source=f"{BOOK}, 2.6.3",
    rule=f"the MAP of the variance differs from one over that of the precision {TO_TOLERANCE}",
    estimate=names.MAP,
    is_invariant=False,
)
def is_invariant_or_not(run: ConjugatePairsRun, estimate: str, is_invariant: bool) -> CheckResult:
    rows = run.transforms[run.transforms["estimate"] == estimate]
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
def estimate_minimises(run: ConjugatePairsRun, loss: str) -> CheckResult:
    rows = run.decisions[run.decisions["loss"] == loss]
    errors = (rows["minimiser"] - rows["estimate"]).abs() / rows["scale"]
    holds = bool((errors <= MINIMISER_TOLERANCE).all())
    return holds, f"they differ by at most {errors.max():.1g} standard deviations"
