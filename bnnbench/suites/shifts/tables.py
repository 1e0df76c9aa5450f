"""The kind of run, its table, and what it detects, without importing torch."""

from __future__ import annotations

KIND = "shifts"

PERMUTED, SHIFTED, TARGETS = "permuted", "shifted", "targets"

KINDS = (PERMUTED, SHIFTED, TARGETS)
"""Kinds of made rows; see `Shifts`."""

EPISTEMIC, DISTANCE, MAHALANOBIS, DENSITY = "epistemic", "distance", "mahalanobis", "density"

MEASURES = ("auroc", "precision", "fpr95")

OUTLIERS = "outliers"
"""Table with a row per split, variant and score: `split`, `kind`, `strength` (0 unless `shifted`),
`score`, and how well larger scores recognise the made rows among as many test rows: `auroc`, the
average `precision`, and the false-positive rate at a true-positive rate of 95 %, `fpr95`.

Scores of inputs are the variances `epistemic` and `total`, and without a model the `distance` to
the nearest training row and the `mahalanobis` distance to the mean of the training rows, both in
standardised inputs. Of `targets`, it is `density`, the negative log predictive density."""
