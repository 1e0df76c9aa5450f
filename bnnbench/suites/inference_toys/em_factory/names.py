"""The kind of such a run, and the names in its tables; light, so that a report starts fast."""

from __future__ import annotations

KIND = "em_factory"

READINGS = ("corrected", "printed")
"""Of (2.63): the sums of a maximum, over the products 2 to n - 1, or those in print."""

ITERATES = "iterates"
"""Where EM stood after every iteration, from every start."""

COUNTS = "counts"
"""What was counted, the two counts included that nobody sees."""

NUMBERS = {
    ITERATES: ("start", "iteration", "beta", "tau_1", "tau_n", "log_likelihood", "error"),
    COUNTS: ("start", "product", "impure", "faulty"),
}
"""Columns of the tables that readers go by."""

EM = "EM"
SEARCH = "direct search"

BETA, TAU_1, TAU_N = "beta", "tau_1", "tau_n"
LOG_LIKELIHOOD = "log-likelihood"
RATE = "rate of convergence"
ITERATIONS = "iterations"


def setting(start: int) -> str:
    """How the answers name a start."""
    return f"start {start}"
