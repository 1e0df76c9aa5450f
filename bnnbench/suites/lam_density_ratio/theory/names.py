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

# Quantities of the answers on the six functionals; braces for "first" or "second" and the like.
OPTIMUM = "output of least loss"
PRINTED = "{} derivative as printed, greatest error"
GREATEST_STEP = "greatest ratio of the optima's steps"
LEAST_EXCESS = "least excess of a {}"
LEAST_CURVATURE = "least second derivative in the output"
IN_PRE_ACTIVATION = "{} derivative in the pre-activation, greatest difference"

ALL_ESTIMATORS = "D, r and T"
