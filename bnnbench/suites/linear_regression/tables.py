"""The kind of run and the names of its tables, without importing torch."""

from __future__ import annotations

KIND = "linear_regression"

POSTERIOR = "posterior"
"""Table of the three posteriors, one row per weight."""

POINTS = "points"
"""Table of the fitted data."""
