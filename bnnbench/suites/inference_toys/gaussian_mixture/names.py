"""Names of the tables, parts and quantities of a run; free of heavy imports."""

from __future__ import annotations

KIND = "gaussian_mixture"

POINTS = "points"
"""The data points of each part."""

STARTS = "starts"
"""The result of coordinate ascent, one row per part and start."""

TRACE = "trace"
"""ELBO, held-out density and factors, one row per part, start and iteration."""

PRIOR_VARIANCE_PATH = "prior_variance_path"
"""The prior variance and the ELBO in each iteration of variational EM."""

PRIOR_VARIANCE_CURVE = "prior_variance_curve"
"""Exact log evidence and maximum ELBO on a grid of prior variances."""

STOCHASTIC = "stochastic"
"""Distance to CAVI's fixed point, one row per schedule, repetition and recorded step."""

FEW, MANY, FITTED, STOCHASTIC_UNIT = "few", "many", "fitted", "stochastic"
"""The parts (units) of a run. Tables list units by length of name."""

FEW_POINTS, MANY_POINTS = "few points", "many points"
"""Values of `setting` in the answers."""

DECREASING, CONSTANT, TOO_FAST = (
    "decreasing steps",
    "constant steps",
    "steps that decrease too fast",
)
"""Schedules of stochastic VI: the first meets both conditions (3.19), the others violate one."""

CAVI, STOCHASTIC_VI, VARIATIONAL_EM = "CAVI", "stochastic VI", "variational EM"
"""Approximations in the answers."""

WORST_START, TRUE_MEANS = "CAVI, worst start", "true means"
"""Baselines of the held-out density."""

EVIDENCE = "log evidence [nats]"
GAP = "gap between log evidence and ELBO [nats]"
LABELLINGS = "log number of equivalent labellings [nats]"
WORST_ELBO = "worst ELBO [nats]"
BEST_FRACTION = "fraction of starts at the best ELBO"
CONVERGED_FRACTION = "fraction of starts that converged"
LARGEST_DECREASE = "largest decrease of the ELBO in an iteration [nats]"
HELD_OUT = "held-out log density per point [nats]"
LOWEST_MEAN_STD = "standard deviation of the lowest mean"
PRIOR_VARIANCE = "prior variance of the means"
EARLY_DISTANCE = "distance to CAVI's fixed point, second tenth of the passes"
LATE_DISTANCE = "distance to CAVI's fixed point, last tenth of the passes"
PASSES = "passes until within 0.1 of CAVI's fixed point"
