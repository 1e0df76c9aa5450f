"""Names in the answers and tables of the theory experiments, in a module without torch."""

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

# Quantities of the answers on the six functionals; some are templates.
SATURATION_POINT = "pre-activation from which the slope is wrong in single precision"
OPTIMUM = "output of least loss"
DERIVATIVE_ERROR = "{} derivative as printed, largest error"
MAX_STEP_RATIO = "largest ratio of the optima's steps"
MIN_EXCESS = "smallest excess of a {}"
MIN_CURVATURE = "smallest second derivative in the output"
IN_PRE_ACTIVATION = "{} derivative in the pre-activation, largest difference"

ALL_ESTIMATORS = "D, r and T"

FAMILY_FORMULAS = {"power": "r*^c", "shift": "r* + delta"}
"""Families of ratios that contain the exact ratio `r*`."""

# Quantities of the answers on the bounds.
DIVERGENCE_QUANTITY = {"kl_posterior_prior": "KL(q || p)", "gan": "2 JS(p, q) - log 4"}
LOSS_AT_EQUALITY = "loss of the exact ratio if q = p"
MIN_GAP = "smallest gap of {} away from the exact ratio"
LOG_RATIO_MEAN = "mean log ratio, trained by {}"
FRACTION_ABOVE = "share of sample sets with an estimate above {}"
RATIO_MEAN_STD = "standard deviation of E_p[r*] over samples"
"""For the exact ratio; the reason why the bound of reverse KL fails."""

AT_EXACT = "bound at the exact ratio"

TRAINED, EXACT_RATIO = "trained", "exact ratio"
"""Values of the column `ratio` of `ESTIMATES`: the source of the ratio."""

OVER_SAMPLES = {
    TRAINED: "trained ratio, over samples",
    EXACT_RATIO: "exact ratio, over samples",
}
"""Approximations of the answers from samples."""

KL_PREFIX = "KL = "
"""A setting of these answers is this and the divergence of the two sampled densities."""
