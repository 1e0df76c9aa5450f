"""Names of the tables, estimators and objectives of a run; free of heavy imports."""

from __future__ import annotations

KIND = "gradient_variance"

VARIANCES = "variances"
"""Gradient variances, one row per objective, q, number of samples, estimator and parameter."""

BIAS = "bias"
"""Means of many estimates and the exact gradient, with all rows and with minibatches."""

LATENTS = "latents"
"""Variance with K independent latent variables, with and without Rao-Blackwellisation."""

CONVERGENCE = "convergence"
"""KL to the exact posterior during gradient ascent, one row per estimator and step."""

SCORE = "score function"
CONTROL_VARIATE = "score, control variate"
PATHWISE = "pathwise"
PATH_DERIVATIVE = "path derivative"
"""Differentiates `log q` along the path of z; the pathwise estimator uses the exact entropy."""

ESTIMATORS = (SCORE, CONTROL_VARIATE, PATHWISE, PATH_DERIVATIVE)

RAO_BLACKWELL = "score, Rao-Blackwell"

PARAMETERS = ("mean", "log std")
"""Parameters of `q = Normal(loc, scale^2)`, in the order of the last axis of every gradient."""

QUADRATIC, COSINE, START, OPTIMUM = (
    "quadratic",
    "cosine",
    "ELBO at the prior",
    "ELBO at the posterior",
)
"""The objectives: two functions, and the ELBO of a regression at two q."""
