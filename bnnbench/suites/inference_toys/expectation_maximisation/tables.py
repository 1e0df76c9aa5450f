"""The kind of such a run, the names of its tables and the words of its answers; light."""

from __future__ import annotations

KIND = "expectation_maximisation"

POINTS = "points"
"""The data: part and point."""

STARTS = "starts"
"""A row per part and start: how it ended, and in which parameters."""

TRACE = "trace"
"""A row per part, start and iteration: log-likelihood, bound and parameters."""

TOUCH = "touching_bounds"
"""The log-likelihood and the bounds of some iterations against one component's mean."""

PROFILE = "collapse_profile"
"""The log-likelihood against the variance of a component that sits on one point."""

MADE, PETALS, COLLAPSE = "made", "petals", "collapse"
"""The parts of a run, its units: the shorter the name, the earlier in the tables."""

SETTINGS = {MADE: "made data", PETALS: "petal lengths", COLLAPSE: "start on one point"}
"""Settings of answers."""

EM, SKLEARN = "EM", "scikit-learn, same start and iterations"
"""Approximations of answers."""

LIKELIHOOD = "log-likelihood [nats]"
WEIGHT = "weight of the lower component"
LOC = {0: "mean of the lower component", 1: "mean of the upper component"}
VARIANCE = {0: "variance of the lower component", 1: "variance of the upper component"}
BEST_SHARE = "share of starts at the best log-likelihood"
COLLAPSED_SHARE = "share of starts that collapsed"
FALL = "largest fall of the log-likelihood in an iteration [nats]"
TOUCHING = "largest distance of bound and log-likelihood after an E-step [nats]"
ABOVE = "largest excess of a bound over the log-likelihood [nats]"
SLOPE = "largest difference of the slope by formula and by differences, relative"
APART = "largest difference of a parameter, relative"
SPIKE = "log-likelihood, a component on one point [nats]"
FISHER = "Fisher's identity"
SMALLEST = "smallest variance"
