"""The kind of such a run, and the names of its tables, estimators and objectives; light."""

from __future__ import annotations

KIND = "gradient_variance"

VARIANCES = "variances"
"""A row per objective, q, number of samples, estimator and parameter."""

BIAS = "bias"
"""The mean of many estimates beside the exact gradient, a row per way to take them."""

LATENTS = "latents"
"""The variance among K independent unknowns, with and without Rao-Blackwellisation."""

CONVERGENCE = "convergence"
"""The distance to the exact posterior against samples spent, a row per estimator and step."""

SCORE = "score function"
CONTROLLED = "score, control variate"
PATHWISE = "pathwise"
PATH_DERIVATIVE = "path derivative"

"""The last differentiates `log q` along the path of z, where the one before knows the entropy."""

ESTIMATORS = (SCORE, CONTROLLED, PATHWISE, PATH_DERIVATIVE)

RAO_BLACKWELL = "score, Rao-Blackwell"

PARAMETERS = ("mean", "log deviation")
"""Of `q = Normal(loc, scale^2)`, in the order of the last axis of every gradient."""

QUADRATIC, WAVE, START, OPTIMUM = (
    "quadratic",
    "wave",
    "ELBO at the prior",
    "ELBO at the posterior",
)
"""Where variances are measured: two functions, and the regression's ELBO at two q."""
