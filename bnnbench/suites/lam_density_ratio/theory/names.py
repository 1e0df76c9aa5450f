"""The kinds of the exact experiments, their tables and answers; light, as pages read them."""

from __future__ import annotations

PARAMETRISATIONS = "estimator_parametrisations"
"""Kind of the experiment on the six loss functionals."""

BOUNDS = "divergence_bounds"
"""Kind of the experiment on the lower bounds."""

DIVERGENCES = ("gan", "reverse_kl")

ESTIMATORS = ("D", "r", "T")

FUNCTIONALS_TABLE = "functionals"
"""Table of the losses at one point: divergence, estimator, output, loss."""

SATURATION_TABLE = "saturation"
"""Table of slopes in single precision: divergence, estimator, side, pre_activation, slope."""

EXACT = "exact"
"""Stands where an estimator does, for the slope without rounding."""

SIDES = ("q", "p")
"""Draws of the posterior, and of the prior."""

OFF = "pre-activation from which the slope is wrong in single precision"

# Quantities of the answers on the six functionals; braces for "first" or "second" and the like.
OPTIMUM = "output of least loss"
PRINTED = "{} derivative as printed, greatest error"
GREATEST_STEP = "greatest ratio of the optima's steps"
LEAST_EXCESS = "least excess of a {}"
LEAST_CURVATURE = "least second derivative in the output"
IN_PRE_ACTIVATION = "{} derivative in the pre-activation, greatest difference"

ALL_ESTIMATORS = "D, r and T"

FAMILIES_TABLE = "families"
"""Table of the bounds over families: pair, divergence, family, amount, bound, truth."""

ESTIMATES_TABLE = "estimates"
"""Table of what samples estimate, a row per divergence, network, set and ratio."""

FAMILY_WORDS = {"power": "r*^c", "shift": "r* + delta"}
"""How an estimate departs from the exact ratio `r*`, and how it is written."""

# Quantities of the answers on the bounds.
TRUTH = {"reverse_kl": "KL(q || p)", "gan": "2 JS(p, q) - log 4"}
LOSS_AT_EQUALITY = "loss of the exact ratio where q = p"
GAP_ELSEWHERE = "least gap of {} away from the exact ratio"
AT_EXACT = "bound at the exact ratio"
OVER_SAMPLES = {
    "trained": "trained ratio, over samples",
    "exact ratio": "exact ratio, over samples",
}
LOG_RATIO_MEAN = "mean log ratio, trained by {}"
ABOVE = "share of sets that estimate more than {}"
SPREAD = "standard deviation of E_p[r*] over samples"
"""Of the exact ratio: what makes the bound of reverse KL fail."""

SETTING = "KL = {:g}"
"""Under what samples are drawn."""
