"""The kind of run, its table and its rules, without importing torch."""

from __future__ import annotations

KIND = "active_learning"

RANDOM, VARIANCE, DISTANCE = "random", "variance", "distance"
"""The rules; the others are compared with the first."""

LABELS = "labels"
"""Table with a row per repetition, arm and number of labels: `repetition`, `arm`, `labels`, `row`
(the row of the data set that is labelled next; missing at the end), `rmse`, `log_likelihood`,
`crps`, and `epistemic_deviation`, the mean over test rows."""
