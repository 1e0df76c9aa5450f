"""Claims about EM, checked on the answers of a run."""

from __future__ import annotations

import pandas as pd

from bnnbench.results.claims import CheckResult, Claims, NotTestable
from bnnbench.suites.inference_toys.checks import known_value
from bnnbench.suites.inference_toys.expectation_maximisation import names
from bnnbench.suites.inference_toys.sources import BOOK, LECTURE

ROUNDING_TOLERANCE = 1e-8
"""Rounding error allowed in a log-likelihood of hundreds, nats."""

SYNTHETIC = names.SETTINGS[names.SYNTHETIC]

FITTED_SETTINGS = (SYNTHETIC, names.SETTINGS[names.PETAL_LENGTHS])
"""Settings with random starts."""

claims = Claims()


@claims(
    "No iteration decreases the log-likelihood",
    source=f"{LECTURE}, parameter estimation; {BOOK}, (2.49)-(2.50)",
    rule=f"the {names.LARGEST_DECREASE} is at most {ROUNDING_TOLERANCE:g}",
    quantity=names.LARGEST_DECREASE,
)
@claims(
    "Jensen's inequality gives a lower bound of the log-likelihood",
    source=f"{LECTURE}, Jensen's inequality",
    rule=f"the {names.BOUND_EXCESS} is at most {ROUNDING_TOLERANCE:g}",
    quantity=names.BOUND_EXCESS,
    settings=(SYNTHETIC,),
)
@claims(
    "The bound is tight when q is the posterior of z given theta",
    source=f"{LECTURE}, Jensen's inequality",
    rule=f"the {names.BOUND_GAP} is at most {ROUNDING_TOLERANCE:g}",
    quantity=names.BOUND_GAP,
)
@claims(
    "The steps of the pseudo-code are those of EM in other software",
    source=f"{LECTURE}, pseudo-code",
    rule="after the same number of iterations from the same start, every parameter agrees with "
    f"scikit-learn's GaussianMixture to a relative {ROUNDING_TOLERANCE:g}",
    quantity=names.PARAMETER_DIFFERENCE,
    approximation=names.SKLEARN,
)
def is_zero_up_to_rounding(
    answers: pd.DataFrame,
    quantity: str,
    approximation: str = names.EM,
    settings: tuple[str, ...] = FITTED_SETTINGS,
) -> CheckResult:
    values = {name: known_value(answers, quantity, approximation, name) for name in settings}
    evidence = ", ".join(f"{name} {value:.1e}" for name, value in values.items())
    return max(values.values()) <= ROUNDING_TOLERANCE, evidence


@claims(
    "Maximising the simpler objective maximises the likelihood",
    source=f"{LECTURE}, summary of EM",
    rule="BFGS, started near the result of EM, gains at most 1e-6 nats",
)
def reaches_maximum(answers: pd.DataFrame) -> CheckResult:
    selected = (answers["quantity"] == names.LOG_LIKELIHOOD) & (
        answers["approximation"] == names.EM
    )
    rows = answers[selected & answers["setting"].isin(FITTED_SETTINGS)]
    if len(rows) < len(FITTED_SETTINGS):
        raise NotTestable("not run")
    gains = rows["exact"] - rows["value"]
    return bool(gains.max() <= 1e-6), f"gains at most {gains.max():.1e} nats"


@claims(
    "Gradients of the log-likelihood have no closed form",
    source=f"{LECTURE}, problem definition",
    rule="the gradient by Fisher's identity differs from central differences by more than a "
    "relative 1e-5",
)
def has_no_gradient_in_closed_form(answers: pd.DataFrame) -> CheckResult:
    difference = known_value(answers, names.GRADIENT_DIFFERENCE, names.FISHER)
    return difference > 1e-5, f"relative difference {difference:.1e}"


@claims(
    "The likelihood has a maximum",
    source=f"{LECTURE}, problem definition",
    rule="a component centred on one point, however narrow, has at most the log-likelihood of "
    "EM's result",
)
def has_maximum(answers: pd.DataFrame) -> CheckResult:
    best = known_value(answers, names.LOG_LIKELIHOOD, names.EM, SYNTHETIC)
    spikes = answers[answers["quantity"] == names.SPIKE_LOG_LIKELIHOOD]
    if spikes.empty:
        raise NotTestable("not run")
    spike = spikes.iloc[0]
    evidence = f"{spike['value']:.1f} with {spike['approximation']}, EM {best:.1f}"
    return bool(spike["value"] <= best), evidence
