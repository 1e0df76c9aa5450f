"""The kind of such a run, and the names in its tables; light, so that a report starts fast."""

from __future__ import annotations

KIND = "clutter"

PROGRESS = "progress"
"""Where every algorithm stood after each step: work, estimates and how far off they were."""

ORDERS = "orders"
"""What ADF and EP came to in each random order of the factors."""

POWERS = "powers"
"""The fixed points of power EP."""

DENSITY = "density"
"""The exact posterior density on a grid."""

POINTS = "points"
"""The observations."""

NUMBERS = {
    PROGRESS: ("observations", "step", "work", "log_evidence", "mean_error", "evidence_error"),
    ORDERS: ("observations", "adf_mean", "adf_scale", "adf_log_evidence", "ep_mean", "falls"),
    POWERS: ("observations", "power", "mean", "scale", "log_evidence"),
    DENSITY: ("observations", "theta", "density"),
    POINTS: ("observations", "value", "clutter"),
}
"""Columns of the tables that readers go by."""

ADF = "ADF"
EP = "EP"
VB = "variational Bayes"
GAUSSIAN_VI = "Gaussian reverse KL"
LAPLACE = "Laplace"
IMPORTANCE = "importance sampling"

MEAN = "posterior mean"
SCALE = "posterior standard deviation"
EVIDENCE = "log evidence"
MEAN_SPREAD = "spread of the mean over orders"
EVIDENCE_SPREAD = "spread of the log evidence over orders"
NEGATIVE_SITES = "sites of negative precision"
OTHER_ENDS = "orders that end elsewhere"
PASSES = "passes to the fixed point"
SAMPLE_SIZE = "effective sample size"


def setting(observations: int) -> str:
    """How the answers name a number of observations."""
    return f"{observations} observations"
