"""Names in answers and tables that the theory experiments and their pages share, without torch."""

from __future__ import annotations

# Tables.
FUNCTIONALS = "functionals"  # losses at one point: divergence, estimator, output, loss
SATURATION = "saturation"  # rounded slopes: divergence, estimator, side, pre_activation, slope

EXACT = "exact"
"""Value of the column `estimator` of `SATURATION` for the slope without rounding."""

SIDES = ("q", "p")
"""Draws of the posterior and of the prior."""

# Quantities and approximations of answers; some are templates.
MIN_EXCESS = "smallest excess of a {}"
IN_PRE_ACTIVATION = "{} derivative in the pre-activation, largest difference"
ALL_ESTIMATORS = "D, r and T"
