"""Names of the tables, parts and quantities of a run, without heavy imports."""

from __future__ import annotations

KIND = "expectation_maximisation"

POINTS = "points"
"""The data: part and point."""

STARTS = "starts"
"""A row per part and start: final log-likelihood and why the fit ended."""

TRACE = "trace"
"""A row per part, start and iteration: log-likelihood, bound and parameters."""

BOUNDS = "touching_bounds"
"""Log-likelihood and bounds of the first iterations as functions of one component's mean."""

PROFILE = "collapse_profile"
"""Log-likelihood as a function of the variance of a component centred on one point."""

SYNTHETIC, PETAL_LENGTHS, COLLAPSING_START = "synthetic", "petal_lengths", "collapsing_start"
"""Parts of a run, which are its units; tables list shorter names first."""

SETTINGS = {
    SYNTHETIC: "synthetic data",
    PETAL_LENGTHS: "petal lengths",
    COLLAPSING_START: "start on one point",
}
"""Settings of answers."""

EM, SKLEARN = "EM", "scikit-learn, same start and iterations"
"""Approximations of answers."""

LOG_LIKELIHOOD = "log-likelihood [nats]"
WEIGHT = "weight of the lower component"
LOC = {0: "mean of the lower component", 1: "mean of the upper component"}
VARIANCE = {0: "variance of the lower component", 1: "variance of the upper component"}
BEST_FRACTION = "fraction of starts at the best log-likelihood"
COLLAPSED_FRACTION = "fraction of starts that collapsed"
LARGEST_DECREASE = "largest decrease of the log-likelihood in an iteration [nats]"
BOUND_GAP = "largest gap between log-likelihood and bound after an E-step [nats]"
BOUND_EXCESS = "largest excess of a bound over the log-likelihood [nats]"
GRADIENT_DIFFERENCE = "largest relative difference of the gradient from finite differences"
PARAMETER_DIFFERENCE = "largest relative difference of a parameter"
SPIKE_LOG_LIKELIHOOD = "log-likelihood with a component on one point [nats]"
FISHER = "Fisher's identity"
MIN_VARIANCE = "smallest variance"
