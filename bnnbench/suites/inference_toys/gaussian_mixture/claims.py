"""Claims about coordinate ascent and stochastic VI, checked on the answers of a run."""

from __future__ import annotations

import pandas as pd

from bnnbench.results.answers import value_of
from bnnbench.results.claims import CheckResult, Claims
from bnnbench.suites.inference_toys.checks import known_value
from bnnbench.suites.inference_toys.gaussian_mixture import names
from bnnbench.suites.inference_toys.saved_tables import exact_of
from bnnbench.suites.inference_toys.sources import BOOK, LECTURE, THESIS

ROUNDING_TOLERANCE = 1e-8
"""Rounding error allowed in an ELBO of thousands of nats."""

GAP_TOLERANCE = 0.1
"""Difference in nats within which the gap equals log K!."""

MAX_DISTANCE_RATIO = 0.75
"""Largest ratio of late to early distance that counts as convergence. It is about a half for steps
`t^-0.75`, whose distances decrease as `t^-0.375`, and 1 for constant steps."""

NO_DECREASE = (
    f"no iteration of any start decreases the ELBO by more than {ROUNDING_TOLERANCE:g} nats"
)
DISTANCE = "the mean distance to CAVI's fixed point in the last tenth of the passes is"
IN_SECOND_TENTH = f"{MAX_DISTANCE_RATIO:g} of that in the second tenth"

claims = Claims()


@claims(
    "Coordinate ascent increases the ELBO in every iteration",
    source=f"{THESIS}, Alg. 3; {BOOK}, 3.2.1.4",
    rule=NO_DECREASE,
    approximation=names.CAVI,
    settings=(names.FEW_POINTS, names.MANY_POINTS),
)
def elbo_never_decreases(
    answers: pd.DataFrame, approximation: str, settings: tuple[str, ...]
) -> CheckResult:
    key = (names.LARGEST_DECREASE, approximation)
    decreases = {setting: known_value(answers, *key, setting) for setting in settings}
    evidence = ", ".join(f"{value:.1e} ({setting})" for setting, value in decreases.items())
    return max(decreases.values()) <= ROUNDING_TOLERANCE, f"largest decrease {evidence}"


@claims(
    "Coordinate ascent reaches a local optimum",
    source=f"{BOOK}, 3.2.1.4",
    rule="on the many points, not all starts reach the best ELBO",
)
def has_local_optima(answers: pd.DataFrame) -> CheckResult:
    fraction = known_value(answers, names.BEST_FRACTION, names.CAVI, names.MANY_POINTS)
    best = value_of(answers, names.EVIDENCE, names.CAVI, names.MANY_POINTS)
    worst = value_of(answers, names.WORST_ELBO, names.CAVI, names.MANY_POINTS)
    return fraction < 1, f"{fraction:.0%} reach the best, {best:.1f}; the worst is {worst:.1f}"


@claims(
    "The ELBO is a lower bound of the log evidence",
    source=f"{THESIS}, 3.4; {LECTURE}, variational EM",
    rule="on the few points, the best ELBO does not exceed the exact log evidence",
)
def is_lower_bound(answers: pd.DataFrame) -> CheckResult:
    key = (names.EVIDENCE, names.CAVI, names.FEW_POINTS)
    bound, exact = known_value(answers, *key), exact_of(answers, *key)
    return bound <= exact + ROUNDING_TOLERANCE, f"{bound:.4f}, exact {exact:.4f}"


@claims(
    "The approximation matches a single mode of the posterior",
    source=f"{BOOK}, 3.2.1.6",
    rule=f"on the few points, log evidence - ELBO is within {GAP_TOLERANCE:g} nats of log K!, the "
    "gap when q fits one of K! equal and separate modes",
)
def fits_one_mode(answers: pd.DataFrame) -> CheckResult:
    gap = known_value(answers, names.GAP, names.CAVI, names.FEW_POINTS)
    labellings = known_value(answers, names.LABELLINGS, "K!", names.FEW_POINTS)
    return abs(gap - labellings) <= GAP_TOLERANCE, f"gap {gap:.4f}, log K! {labellings:.4f}"


@claims(
    "The approximation underestimates the marginal variances",
    source=f"{BOOK}, 3.2.1.6",
    rule="on the few points, the standard deviation of the lowest mean is below that of its exact "
    "posterior, with components identified by the order of their means",
)
def underestimates_variance(answers: pd.DataFrame) -> CheckResult:
    key = (names.LOWEST_MEAN_STD, names.CAVI, names.FEW_POINTS)
    std, exact = known_value(answers, *key), exact_of(answers, *key)
    return std < exact, f"{std:.4f}, exact {exact:.4f}"


@claims(
    "Stochastic VI converges if step sizes have an infinite sum and a finite sum of squares",
    source=f"{BOOK}, (3.19)",
    rule=f"{DISTANCE} at most {IN_SECOND_TENTH}",
    schedule=names.DECREASING,
    converges=True,
)
@claims(
    "Stochastic VI does not converge without a finite sum of squares: constant steps",
    source=f"{BOOK}, (3.19), second condition",
    rule=f"{DISTANCE} more than {IN_SECOND_TENTH}",
    schedule=names.CONSTANT,
    converges=False,
)
@claims(
    "Stochastic VI does not converge without an infinite sum: steps that decrease too fast",
    source=f"{BOOK}, (3.19), first condition",
    rule=f"{DISTANCE} more than {IN_SECOND_TENTH}",
    schedule=names.TOO_FAST,
    converges=False,
)
def converges_or_not(answers: pd.DataFrame, schedule: str, converges: bool) -> CheckResult:
    early = known_value(answers, names.EARLY_DISTANCE, names.STOCHASTIC_VI, schedule)
    late = known_value(answers, names.LATE_DISTANCE, names.STOCHASTIC_VI, schedule)
    return (late <= MAX_DISTANCE_RATIO * early) == converges, f"{early:.4f} to {late:.4f}"


@claims(
    "Stochastic VI is faster than processing all data in each iteration",
    source=f"{BOOK}, 3.2.1.5",
    rule="with decreasing steps, stochastic VI is within 0.1 of CAVI's fixed point after fewer "
    "passes through the data than CAVI",
)
def is_faster_than_cavi(answers: pd.DataFrame) -> CheckResult:
    stochastic = known_value(answers, names.PASSES, names.STOCHASTIC_VI, names.DECREASING)
    cavi = known_value(answers, names.PASSES, names.CAVI, names.MANY_POINTS)
    return stochastic < cavi, f"{stochastic:.2f} passes vs {cavi:.0f}"


claims(
    "Variational EM increases the ELBO in every iteration",
    source=f"{BOOK}, 3.2.1.4, steps 1 and 2; {LECTURE}",
    rule=NO_DECREASE,
    approximation=names.VARIATIONAL_EM,
    settings=(names.FEW_POINTS,),
)(elbo_never_decreases)


@claims(
    "Maximising the ELBO over a parameter approximates maximising the evidence",
    source=f"{BOOK}, 3.2.1.4, step 2",
    rule="the fitted prior variance is within 5 % of the maximiser of the exact evidence",
)
def maximises_evidence(answers: pd.DataFrame) -> CheckResult:
    key = (names.PRIOR_VARIANCE, names.VARIATIONAL_EM, names.FEW_POINTS)
    fitted, exact = known_value(answers, *key), exact_of(answers, *key)
    return abs(fitted / exact - 1) <= 0.05, f"{fitted:.4f}, exact {exact:.4f}"
