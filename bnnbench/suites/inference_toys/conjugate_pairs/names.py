"""The kind of such a run, and the names in its tables; light, so that a report starts fast."""

from __future__ import annotations

KIND = "conjugate_pairs"

READINGS = ("corrected", "printed")
"""Of (2.38) and (2.39)."""

MEAN_PAIR = "normal mean"
PRECISION_PAIR = "precision"

PAIRS = (MEAN_PAIR, PRECISION_PAIR)

DENSITIES = "densities"
"""Prior, likelihood and posterior of each pair, for the figure."""

RISKS = "risks"
"""Expected losses under the posterior, for the figure."""

DECISIONS = "decisions"
"""Where each expected loss is least, beside the estimate that it should lead to."""

TRANSFORMS = "transforms"
"""Estimates of the variance, directly and as one over that of the precision."""

NUMBERS = {
    DENSITIES: ("observations", "value", "prior", "likelihood", "posterior"),
    RISKS: ("observations", "value", "quadratic", "absolute", "zero_one"),
    DECISIONS: ("observations", "minimiser", "estimate", "scale"),
    TRANSFORMS: ("observations", "direct", "through_precision"),
}
"""Columns of the tables that readers go by."""

CLOSED_FORM = "closed form"
PSEUDO = "pseudo-observations"

MLE, MAP, MEAN, MEDIAN = "MLE", "MAP", "posterior mean", "posterior median"
SCALE = "posterior standard deviation"
EVIDENCE = "log evidence"

LOSSES = {"quadratic": MEAN, "absolute": MEDIAN, "zero_one": MAP}
"""Which estimate the least expected loss is said to lead to (section 2.6.4)."""


def setting(observations: int) -> str:
    """How the answers name a number of observations."""
    return f"{observations} observation{'s' if observations > 1 else ''}"


def quantity(pair: str, estimate: str) -> str:
    """How the answers name an estimate."""
    return f"{pair}: {estimate}"
