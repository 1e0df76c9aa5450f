"""The kind of run, its table and its baseline, without importing torch."""

from __future__ import annotations

KIND = "active_learning"

RANDOM = "random"
"""The rule with which the others are compared."""

LABELS = "labels"
"""Table with a row per repetition, arm and number of labels: `repetition`, `arm`, `labels`, `row`
(the row of the data set that is labelled next; missing at the end), `rmse`, `log_likelihood`,
`crps`, and `epistemic_deviation`, the mean over test rows."""
