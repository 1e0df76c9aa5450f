"""The kind of such a run, and the names of its tables; light, so that a report needs no torch."""

from __future__ import annotations

KIND = "linear_regression"

POSTERIOR = "posterior"
"""The three posteriors, a row per weight."""

POINTS = "points"
"""The data that were fitted."""
