"""Names of the theory experiments, their tables and answers, in a module without torch."""

from __future__ import annotations

PARAMETRISATIONS = "estimator_parametrisations"
"""Kind of the experiment on the six loss functionals."""

BOUNDS = "divergence_bounds"
"""Kind of the experiment on the lower bounds."""

FUNCTIONALS_TABLE = "functionals"
"""Table of the losses at one point: divergence, estimator, output, loss."""

SATURATION_TABLE = "saturation"
"""Table of slopes in single precision: divergence, estimator, side, pre_activation, slope."""

EXACT = "exact"
"""Value of the column `estimator` for the slope without rounding."""

SIDES = ("q", "p")
"""Draws of the posterior and of the prior."""

SATURATION_POINT = "pre-activation from which the slope is wrong in single precision"

# Quantities of the answers on the six functionals; some are templates.
OPTIMUM = "output of least loss"
DERIVATIVE_ERROR = "{} derivative as printed, largest error"
MAX_STEP_RATIO = "largest ratio of the optima's steps"
MIN_EXCESS = "smallest excess of a {}"
MIN_CURVATURE = "smallest second derivative in the output"
IN_PRE_ACTIVATION = "{} derivative in the pre-activation, largest difference"

# Approximations of these answers.
ALL_ESTIMATORS = "D, r and T"
D_OVER_R = "GAN, D over r"
KL_OVER_GAN = "r, reverse KL over GAN"

FAMILIES_TABLE = "families"
"""Table of the bounds over families: pair, divergence, family, parameter, bound, exact."""

ESTIMATES_TABLE = "estimates"
"""Table of sample estimates, a row per divergence, network, sample set and ratio."""

FAMILY_FORMULAS = {"power": "r*^c", "shift": "r* + delta"}
"""Families of ratios that contain the exact ratio `r*`."""

# Quantities of the answers on the bounds.
DIVERGENCE_QUANTITY = {"kl_posterior_prior": "KL(q || p)", "gan": "2 JS(p, q) - log 4"}
LOSS_AT_EQUALITY = "loss of the exact ratio if q = p"
MIN_GAP = "smallest gap of {} away from the exact ratio"
AT_EXACT = "bound at the exact ratio"
OVER_SAMPLES = {
    "trained": "trained ratio, over samples",
    "exact ratio": "exact ratio, over samples",
}
LOG_RATIO_MEAN = "mean log ratio, trained by {}"
FRACTION_ABOVE = "share of sample sets with an estimate above {}"
RATIO_MEAN_STD = "standard deviation of E_p[r*] over samples"
"""For the exact ratio; the reason why the bound of reverse KL fails."""

SETTING = "KL = {:g}"
"""The divergence of the two densities that are sampled."""
