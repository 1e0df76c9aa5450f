"""Names of the tables, columns and quantities of a run, without heavy imports."""

from __future__ import annotations

KIND = "clutter"

PROGRESS = "progress"
"""Work, estimates and errors of every algorithm after each step."""

ORDERS = "orders"
"""Results of ADF and EP for each random order of the factors."""

POWERS = "powers"
"""The fixed points of power EP."""

DENSITY = "density"
"""The exact posterior density on a grid."""

POINTS = "points"
"""The observations."""

NUMERIC_COLUMNS = {
    PROGRESS: ("observations", "step", "work", "log_evidence", "mean_error", "evidence_error"),
    ORDERS: ("observations", "adf_mean", "adf_scale", "adf_log_evidence", "ep_mean", "n_decreases"),
    POWERS: ("observations", "power", "mean", "scale", "log_evidence"),
    DENSITY: ("observations", "theta", "density"),
    POINTS: ("observations", "value", "clutter"),
}
"""Columns that must hold numbers, by table."""

ADF = "ADF"
EP = "EP"
VB = "variational Bayes"
GAUSSIAN_VI = "Gaussian VI"
LAPLACE = "Laplace"
IMPORTANCE = "importance sampling"

MEAN = "posterior mean"
SCALE = "posterior standard deviation"
EVIDENCE = "log evidence"
MEAN_STD = "std of the mean over orders"
EVIDENCE_STD = "std of the log evidence over orders"
NEGATIVE_SITES = "sites with negative precision"
OTHER_FIXED_POINTS = "orders with another fixed point"
PASSES = "passes until convergence"
EFFECTIVE_SAMPLE_SIZE = "effective sample size"


def setting(observations: int) -> str:
    """Return the `setting` of answers for this number of observations."""
    return f"{observations} observations"
