"""Names of the tables, columns and quantities of a run, without heavy imports."""

from __future__ import annotations

KIND = "em_factory"

READINGS = ("corrected", "printed")
"""Versions of (2.63): sums over products 2 to n - 1, or from product 1 as printed."""

ITERATES = "iterates"
"""The parameters after every iteration of EM, by start."""

COUNTS = "counts"
"""The counts, including the two hidden ones."""

NUMERIC_COLUMNS = {
    ITERATES: ("start", "iteration", "beta", "tau_1", "tau_n", "log_likelihood", "error"),
    COUNTS: ("start", "product", "impure", "faulty"),
}
"""Columns that must hold numbers, by table."""

EM = "EM"
LBFGS = "L-BFGS"

BETA, TAU_1, TAU_N = "beta", "tau_1", "tau_n"
LOG_LIKELIHOOD = "log-likelihood"
RATE = "rate of convergence"
ITERATIONS = "iterations"


def setting(start: int) -> str:
    """Return the `setting` of answers for this start."""
    return f"start {start}"
