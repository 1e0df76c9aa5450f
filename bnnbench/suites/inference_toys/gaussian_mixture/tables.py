"""The kind of such a run, the names of its tables and the words of its answers; light."""

from __future__ import annotations

KIND = "gaussian_mixture"

POINTS = "points"
"""The data: part and point."""

STARTS = "starts"
"""A row per part and start: how coordinate ascent ended."""

TRACE = "trace"
"""A row per part, start and iteration: ELBO, held-out density, and each component's factor."""

PATH = "prior_variance_path"
"""A row per iteration of variational EM: the fitted prior variance and the ELBO."""

CURVE = "prior_variance_curve"
"""A row per prior variance: exact log evidence and the ELBO at its best."""

STOCHASTIC = "stochastic"
"""A row per schedule, repetition and recorded step: distance to coordinate ascent's fixed point."""

FEW, MANY, FITTED, SAMPLED = "few", "many", "fitted", "stochastic"
"""The parts of a run, its units: the shorter the name, the earlier in the tables."""

FEW_POINTS, MANY_POINTS = "few points", "many points"
"""Settings of answers."""

DECREASING, CONSTANT, TOO_FAST = "decreasing steps", "constant steps", "steps that fall too fast"
"""Schedules of stochastic VI: one that meets the conditions (3.19), one that breaks each."""

ASCENT, STOCHASTIC_VI, VARIATIONAL_EM = "CAVI", "stochastic VI", "variational EM"
"""Approximations of answers."""

EVIDENCE = "log evidence [nats]"
GAP = "log evidence missed by the ELBO [nats]"
LABELLINGS = "log of the number of equivalent labellings [nats]"
WORST = "worst ELBO [nats]"
BEST_SHARE = "share of starts at the best ELBO"
CONVERGED_SHARE = "share of starts that converged"
FALL = "largest fall of the ELBO in an iteration [nats]"
HELD_OUT = "held-out log density of a point [nats]"
SPREAD = "standard deviation of the lowest mean"
VARIANCE = "prior variance of the means"
EARLY_DISTANCE = "distance to CAVI's fixed point, second tenth of the passes"
DISTANCE = "distance to CAVI's fixed point, last tenth of the passes"
PASSES = "passes until within 0.1 of CAVI's fixed point"
