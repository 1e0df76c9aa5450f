"""Names in answers and tables that the theory experiments and their pages share, without torch."""

from __future__ import annotations

# Tables.
FUNCTIONALS = "functionals"  # losses at one point: divergence, estimator, output, loss
SATURATION = "saturation"  # rounded slopes: divergence, estimator, side, pre_activation, slope
FAMILIES = "families"  # bounds: pair, divergence, family, parameter, bound, exact, distance
ESTIMATES = "estimates"  # from samples, a row per divergence, network, sample set and ratio

EXACT = "exact"
"""Value of the column `estimator` of `SATURATION` for the slope without rounding."""

SIDES = ("q", "p")
"""Draws of the posterior and of the prior."""

# Quantities and approximations of answers; some are templates.
MIN_EXCESS = "smallest excess of a {}"
IN_PRE_ACTIVATION = "{} derivative in the pre-activation, largest difference"
ALL_ESTIMATORS = "D, r and T"
DIVERGENCE_QUANTITY = {"kl_posterior_prior": "KL(q || p)", "gan": "2 JS(p, q) - log 4"}
FRACTION_ABOVE = "share of sample sets with an estimate above {}"
RATIO_MEAN_STD = "standard deviation of E_p[r*] over samples"

TRAINED, EXACT_RATIO = "trained", "exact ratio"
"""Values of the column `ratio` of `ESTIMATES`: the source of the ratio."""

OVER_SAMPLES = {
    TRAINED: "trained ratio, over samples",
    EXACT_RATIO: "exact ratio, over samples",
}
"""Approximations of the answers from samples."""

KL_PREFIX = "KL = "
"""A setting of these answers is this and the divergence of the two sampled densities."""
