"""Names of the tables, columns and quantities of a run, without heavy imports."""

from __future__ import annotations

KIND = "conjugate_pairs"

READINGS = ("corrected", "printed")
"""Versions of (2.38) and (2.39)."""

MEAN_PAIR = "normal mean"
PRECISION_PAIR = "precision"

PAIRS = (MEAN_PAIR, PRECISION_PAIR)

DENSITIES = "densities"
"""Prior, likelihood and posterior of each pair on a grid."""

RISKS = "risks"
"""Expected losses under the posterior, by estimate."""

DECISIONS = "decisions"
"""The minimiser of each expected loss, and the estimate that it should equal."""

TRANSFORMS = "transforms"
"""Estimates of the variance, directly and as one over those of the precision."""

NUMERIC_COLUMNS = {
    DENSITIES: ("observations", "value", "prior", "likelihood", "posterior"),
    RISKS: ("observations", "value", "quadratic", "absolute", "zero_one"),
    DECISIONS: ("observations", "minimiser", "estimate", "scale"),
    TRANSFORMS: ("observations", "direct", "through_precision"),
}
"""Columns that must hold numbers, by table."""

CLOSED_FORM = "closed form"
PSEUDO = "pseudo-observations"

MLE, MAP, MEAN, MEDIAN = "MLE", "MAP", "posterior mean", "posterior median"
SCALE = "posterior standard deviation"
EVIDENCE = "log evidence"

LOSSES = {"quadratic": MEAN, "absolute": MEDIAN, "zero_one": MAP}
"""The estimate that minimises each expected loss (section 2.6.4)."""


def setting(observations: int) -> str:
    """Return the `setting` of answers for this number of observations."""
    return f"{observations} observation{'s' if observations > 1 else ''}"


def quantity(pair: str, estimate: str) -> str:
    """Return the `quantity` of answers for this estimate."""
    return f"{pair}: {estimate}"
